"""Real outputs of every table kind validate against the JSON Schema kept in fixtures.

`python -m tests.test_schema` writes into it what the pages declare of their tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import clfeval
from clfeval import COMMANDS
from clfeval.api.result import Result
from clfeval.document.cells import TEXT_COLUMNS, Estimate
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import (
    CHANGES,
    COMMON,
    DRY_RUN,
    HISTORY,
    SUITE,
    certain_columns,
    gateable_names,
    holds_estimates,
)
from tests.table_schema import json_schema
from tests.thoroughness import thinned

FIXTURES = Path(__file__).parent.parent / "fixtures"
WIDE = 500  # about a table a line
KEPT = FIXTURES.parent / "clfeval" / "document" / "result-1.json"
SCHEMA = json.loads(KEPT.read_text(encoding="utf-8"))


def inlined(schema: dict[str, Any]) -> Any:
    """Return a schema with the parts that it refers to in place: validated in half the time."""
    known: dict[str, Any] = {}

    def of(part: Any) -> Any:
        if isinstance(part, list):
            return [*map(of, part)]
        if not isinstance(part, dict):
            return part
        rest = {key: of(one) for key, one in part.items() if key not in ("$ref", "$defs", "$id")}
        if (name := part.get("$ref")) is None:
            return rest
        if name not in known:
            known[name] = {}  # it may refer to itself
            known[name].update(of(reduce(getitem, name.split("/")[1:], schema)))
        return rest | {"allOf": [known[name], *rest.get("allOf", [])]} if rest else known[name]

    return of(schema)


VALIDATOR = jsonschema.Draft202012Validator(inlined(SCHEMA))

F1 = {"measure": "f1", "reference": "C1"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("mars-paper/wide.csv", {}),
    "everything asked for": (
        "mars-paper/wide.parquet",
        {"subsets": "all", "best": 4, "max_effort": 5, "list": ["found", "missed"], **F1},
    ),
    "negative target, any": (
        "mars-paper/long.csv",
        {"target": "negative", "occlusion": "any", "subsets": 2},
    ),
    "one model": ("mars-paper/scores.csv", {"model": "C1", "sweep": "threshold"}),
    "slices": ("breast-cancer/scores.csv", {"positive": "malignant", "by": "svm:2", "best": 2}),
    "sweep of ranks": ("breast-cancer/scores.parquet", {"positive": "malignant", "sweep": "top"}),
    "no intervals": ("mars-paper/weighted.csv", {"weight": "n", "interval": "none"}),
    "nobody is found": ("mars-paper/scores.csv", {"threshold": 0.999}),
    "many classes": ("digits/probabilities.csv", {"positive": "8"}),
}

CANCER = "breast-cancer/scores.csv"
POSITIVE = {"positive": "malignant"}
TERMS = {"features": True, "truth_table": FIXTURES / "manual-pages" / "classes.csv"}
PHIDELTA: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("mars-paper/wide.csv", {}),
    "everything asked for": (
        CANCER,
        {
            **POSITIVE,
            "curve": True,
            "reference": "svm",
            "prevalence": ["1:100", 0.3],
            "isometrics": {"precision": [0.5], "mutual_information": [0.2], "accuracy": [0.9]},
        },
    ),
    "slices": (CANCER, {**POSITIVE, "by": "svm:2", "curve": True, "prevalence": "1:2"}),
    "runs": ("armano/runs.csv", {"run": "run"}),
    "no intervals": ("mars-paper/weighted.csv", {"weight": "n", "interval": "none"}),
    "many classes": ("digits/probabilities.csv", {"positive": "8"}),
    "text": ("manual-pages/terms.parquet", {**TERMS, "positive": "function", "select": "all"}),
    "values": ("manual-pages/terms.parquet", {**TERMS, "positive": "command", "cut": "soft"}),
    "text of some words": (
        "manual-pages/terms.parquet",
        {**TERMS, "positive": "function", "select": "all", "feature": ["st*", "te*"]},
    ),
    "values of some words": (
        "manual-pages/terms.parquet",
        {**TERMS, "positive": "command", "cut": "soft", "feature": ["st*", "te*"]},
    ),
    "numbers": (CANCER, {**POSITIVE, "features": True, "cut": "best", "prevalence": "2:1"}),
}
ALL_WORDS = {"text", "values"}  # ten thousand rows each

INTERVAL = {"value": None, "low": 1, "high": 2}
BOTH = {"ccp": (67, 5, 33, 95), "rf": (69, 15, 31, 85)}
OF_TWO = {**POSITIVE, "model": ["svm", "tree"]}
ODDS: dict[str, Any] = {"prevalence": ["1:100", "1:1000000"], "points": 3}
TUNED: dict[str, tuple[str | None, dict[str, Any]]] = {
    "counts": (None, {"counts": BOTH, **ODDS}),
    "labels": ("breast-cancer/labels.csv", {**POSITIVE, **ODDS, "population": 50_000}),
    "scores with cost": (CANCER, {**OF_TWO, **ODDS, "measure": "cost:fp=1,fn=10,tp=2,tn=0.5"}),
    "slices": (CANCER, {**POSITIVE, **ODDS, "by": "svm:2"}),
    "everything asked for": (
        CANCER,
        {
            **OF_TWO,
            "points": 3,
            "population": 1e6,
            "prevalence_beta": (2, 98),
            "reference": "svm",
            "prevalence": ["1:100", "1:1000000", "0.001..0.02"],
            "measure": ["mcc", "cost:fp=1,fn=9", "f_beta:beta=2"],
        },
    ),
    "a range": (None, {"counts": BOTH, "prevalence": "0.000001..0.9"}),
    "a prior": (None, {"counts": (0, 60, 60, 0), "prevalence_beta": (0.5, 0.5), "points": 2}),
    "rates alone": (None, {"sensitivity": 0.67, "specificity": 1.0, "prevalence": "1:100"}),
    "bootstrap": (None, {"counts": (9, 1, 1, 9), **ODDS, "interval": "bootstrap"}),
    "no sweep": ("mars-paper/wide.csv", {"sweep": None, "prevalence": 0.01}),
    "no intervals": ("mars-paper/weighted.csv", {"weight": "n", "interval": "none"}),
    "fractional weights": ("fractions.csv", {"weight": "n", "prevalence": "1:9", "points": 3}),
    "probabilities": ("digits/probabilities.csv", {"positive": "8", "points": 3}),
    "one measure": (CANCER, {**POSITIVE, "measure": "dp", "model": "svm", "points": 3}),
    "all right": (None, {"counts": {"a": (60, 0, 0, 60), "b": (60, 0, 0, 60)}, "sweep": None}),
    "all wrong": (None, {"counts": (0, 9, 9, 0), "population": 9, "prevalence": "0.1..0.2"}),
    "never positive": (None, {"counts": {"a": (0, 0, 9, 9), "b": (9, 9, 0, 0)}, "points": 3}),
    "a class absent": (None, {"counts": {**BOTH, "x": (0, 1, 0, 9), "y": (0, 0, 0, 0)}, **ODDS}),
    "invariant": (None, {"counts": BOTH, "measure": "sensitivity", "points": 3}),
}


def json_text(value: Any, indent: int = 0) -> str:
    """Return JSON: as much on a line as fits there."""
    whole = json.dumps(value, ensure_ascii=False)
    if indent + len(whole) < WIDE or not isinstance(value, (dict, list)):
        return whole
    inner, gap = indent + 1, "\n" + " " * (indent + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {json_text(part, inner)}" for key, part in value.items()]
    else:
        parts = [json_text(part, inner) for part in value]
    lines = [""]
    for part in parts:
        fits = inner + len(lines[-1]) + len(part) < WIDE and "\n" not in part + lines[-1]
        if lines[-1] and not fits:
            lines.append("")
        lines[-1] += f"{' ' * bool(lines[-1])}{part},"
    first, last = "[]" if isinstance(value, list) else "{}"
    return f"{first}{gap}{gap.join(lines)[:-1]}\n{' ' * indent}{last}"


def wrong_with(document: dict[str, Any]) -> list[str]:
    """Return where a document breaks the schema, and which tables are not as they are declared."""
    found = [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(document)]
    result, page = Result.from_dict(document), page_of(document["command"])
    for name, rows in result.tables.items():
        for row in rows[:1]:
            table = page.table(name)
            named = [column for column in table.columns if column.name in row]
            wide = [column.name for column in named if holds_estimates(column)]
            if [column.name for column in named] != list(row):
                found.append(f"{name} has columns that are not declared, or in another order")
            if wide != [column for column, cell in row.items() if isinstance(cell, Estimate)]:
                found.append(f"{name} has other estimates than are declared")
            if not {column.name for column in certain_columns(table, result)} <= row.keys():
                found.append(f"{name} without rows would have more columns")
    return found


def declared() -> dict[str, Any]:
    """Return the schema that is kept, its tables as the pages declare them."""
    of_tables = {
        f"{name.replace('-', '_')}_tables": json_schema(page_of(name))
        for name in sorted((*COMMANDS, DRY_RUN, HISTORY, SUITE))
    }
    return {**SCHEMA, "$defs": {**SCHEMA["$defs"], **of_tables}}


def test_the_schema_kept_is_what_the_pages_declare() -> None:
    assert KEPT.read_text(encoding="utf-8") == f"{json_text(declared())}\n"
    measures = [
        column.name for column in page_of("tune-jpt").tables[0].columns if holds_estimates(column)
    ]
    assert SCHEMA["$defs"]["measure"]["enum"] == measures


TEXTS = {"code", "measure", "text"}  # kinds of columns that hold a text


@pytest.mark.parametrize("column", sorted(TEXT_COLUMNS))
def test_a_text_column_is_declared_as_text_in_every_table(column: str) -> None:
    """No table has a number or an empty cell where rows are read as text.

    But `gates` of a batch, which is read by nothing that reads text: a gate may be of a whole run.
    """
    columns = [
        declared_column
        for name in (*COMMANDS, DRY_RUN, HISTORY, SUITE)
        for table in (*page_of(name).tables, *COMMON)
        for declared_column in table.columns
        if declared_column.name == column and (name, table.name) != (SUITE, "gates")
    ]
    words = [word for declared_column in columns for word in declared_column.among]
    assert columns
    assert {declared_column.kind for declared_column in columns} <= TEXTS
    assert all(isinstance(word, str) for word in words)


def test_the_guide_names_the_tables_the_pages_declare() -> None:
    guide = (FIXTURES.parent / "clfeval/guide/gates.md").read_text(encoding="utf-8")
    text = " ".join(guide[guide.index("Tables of `mars` are") :].split())
    text = text[: text.index(". On a screen")]
    _, *parts = re.split("of `([a-z-]+)` ", text)
    named = dict(
        zip(parts[::2], (re.findall("`([a-z_]+)`", part) for part in parts[1::2]), strict=True)
    )
    assert sorted(named) == sorted(COMMANDS)
    for command, tables in named.items():
        assert sorted(tables) == sorted(table.name for table in page_of(command).tables), command


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_gate_may_limit_is_completed(command: str) -> None:
    known = gateable_names(page_of(command))
    assert len(known) == len(set(known))
    wanted = {
        "mars": ["accuracy", "occlusion", "found", "missed_by_all"],
        "phidelta": ["delta", "phi_b", "mcc_u"],
        "tune-jpt": ["tar", "net_benefit", "lr_neg"],
        "mlcps": ["mlcps", "sd", "desirability", "first"],
        "report": ["roc_auc", "brier", "net_benefit", "mcc"],
        "recalibrate": ["gain", "log_loss_gain", "brier_gain"],
        "count": [],
    }
    assert set(wanted[command]) <= set(known)
    assert not {"model", "tp", "rows", "threshold"} & set(known)


def test_the_schema_is_itself_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert (
        SCHEMA["properties"]["schema"]["const"]
        == clfeval.mars(FIXTURES / "mars-paper" / "wide.csv").to_dict()["schema"]
    )


@pytest.mark.parametrize("options", [{}, {"positive": "malignant"}, {"ignore": ["id", "t*"]}])
def test_a_dry_run_is_valid(options: dict[str, Any]) -> None:
    result = clfeval.mars(FIXTURES / CANCER, dry_run=True, **options)
    assert wrong_with(json.loads(result.to_json())) == []


@pytest.mark.parametrize("case", CASES)
def test_an_output_is_valid(case: str) -> None:
    name, options = CASES[case]
    assert wrong_with(json.loads(clfeval.mars(FIXTURES / name, **options).to_json())) == []


@pytest.mark.parametrize("case", thinned(PHIDELTA, [*PHIDELTA.keys() - ALL_WORDS]))
def test_a_place_in_the_diamond_is_valid(case: str) -> None:
    name, options = PHIDELTA[case]
    assert wrong_with(json.loads(clfeval.phidelta(FIXTURES / name, **options).to_json())) == []


Documents = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Documents:
    """A function that returns the document of a case, each computed once."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "fractions.csv").write_text("truth,s,n\n1,.9,1.5\n0,.1,2\n1,.2,.5\n0,.7,1\n")

    @cache
    def text_of(case: str) -> str:
        name, options = TUNED[case]
        table = None if name is None else FIXTURES / name
        table = table if table is None or table.exists() else folder / str(name)
        return clfeval.tune_jpt(table, **options).to_json()

    return lambda case: json.loads(text_of(case))


@pytest.mark.parametrize("case", thinned(TUNED, [*TUNED.keys() - {"slices", "labels"}]))
def test_a_tuned_table_is_valid(case: str, tuned: Documents) -> None:
    document = tuned(case)
    assert wrong_with(document) == []
    shown = document["parameters"]["measures"]
    for table in ("models", "sweep"):
        for row in document["tables"].get(table, ()):
            assert list(row)[-len(shown) :] == shown


def test_every_table_of_tuned_tables_is_among_the_cases(tuned: Documents) -> None:
    described = set(SCHEMA["$defs"]["tune_jpt_tables"]["properties"]["tables"]["properties"])
    some = ("scores with cost", "everything asked for")
    there = {name for case in some for name in tuned(case)["tables"]}
    assert there == described - {CHANGES}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tables", "models", 0, "tp"), None),
        (("tables", "models", 0, "population"), "swept"),
        (("tables", "models", 1, "prevalence"), 0),
        (("tables", "models", 1, "odds"), "100"),
        (("tables", "models", 1, "ppv", "value"), 1.5),
        (("tables", "models", 1, "epa"), {**INTERVAL, "reason": "infinite"}),
        (("tables", "models", 1, "dp"), {**INTERVAL, "reason": "zero_margin"}),
        (("tables", "sweep", 0, "ratio"), 0),
        (("tables", "winners", 0, "tied"), None),
        (("tables", "crossovers", 0, "crossing", "reason"), "infinite"),
        (("tables", "crossings"), []),
        (("parameters", "targets", 0), "1:100"),
    ],
)
def test_the_schema_refuses_what_is_no_tuned_table(
    path: tuple[Any, ...], value: object, tuned: Documents
) -> None:
    assert not VALIDATOR.is_valid(changed(tuned("counts"), path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "clfeval.result/2"),
        (("inputs", 0, "name"), "/a/path.csv"),
        (("tables", "models", 0, "tp"), -1),
        (("tables", "models", 0, "recall"), 0.5),
        (("tables", "models", 0, "recall", "value"), 1.5),
        (("tables", "pairs", 0, "models"), []),
        (("tables", "models", 0, "occlusion", "reason"), "because"),
    ],
)
def test_the_schema_refuses_what_is_wrong(path: tuple[Any, ...], value: object) -> None:
    document = json.loads(clfeval.mars(FIXTURES / "mars-paper" / "wide.csv").to_json())
    assert not VALIDATOR.is_valid(changed(document, path, value))


def changed(document: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    """Return the document with another value in one place."""
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return document


if __name__ == "__main__":
    KEPT.write_text(f"{json_text(declared())}\n", encoding="utf-8")
