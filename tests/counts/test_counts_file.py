"""Counts files: what they hold, that they add up, and that results from them are those of rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import clfeval
from clfeval.counts.read_files import digests, exact_keys, file_digest
from clfeval.tables.layouts.counts_file import METADATA
from tests.results import problem_codes
from tests.samples import detections, informed_scores
from tests.thoroughness import examples, full

ROWS = """id,truth,a,b,site
1,1,0.9,1,x
2,1,0.9,0,x
3,0,0.2,0,y
4,0,0.9,0,y
5,1,0.5,1,y
"""
# what a result has only where rows are known: who is tied with the best, by comparisons of scores
OF_ROWS = ("best", "winner", "comparisons")
ABOUT = ("signature", "inputs", "answer", "truth")


def table_of(dice: np.random.Generator, rows: int) -> pl.DataFrame:
    truth = dice.random(rows) < 0.4
    return pl.DataFrame(
        {
            "truth": np.where(truth, "yes", "no"),
            "few": informed_scores(dice, truth, 0.4, 1),
            "many": informed_scores(dice, truth, 0.3),
            "rule": detections(dice, truth, 0.8),
            "site": dice.choice(["a", "b b", "c"], rows),
        }
    )


def counts_of(table: Any, place: Path, **options: Any) -> Path:
    if isinstance(table, pl.DataFrame) and not options.get("by"):
        table = table.drop("site")
    clfeval.count(table, **options).save(place)
    return place


def content(place: Path) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    about = json.loads(pl.read_parquet_metadata(place)[METADATA])
    return pl.read_parquet(place).rows(), about


def test_a_small_table_by_hand(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(ROWS)
    place = counts_of(
        tmp_path / "t.csv", tmp_path / "t.counts.parquet", by="site", model=("a", "b")
    )
    rows, about = content(place)
    assert pl.read_parquet(place).columns == [
        "block",
        "b0",
        "model",
        "truth",
        "pattern",
        "key",
        "n",
        "m1",
        "m2",
        "lo",
        "hi",
    ]
    assert {row[1:7] for row in rows if row[0] == "patterns"} == {
        ("x", None, True, "11", None, 1),
        ("x", None, True, "10", None, 1),
        ("y", None, False, "00", None, 1),
        ("y", None, False, "10", None, 1),
        ("y", None, True, "11", None, 1),
    }
    of_a = {(b, truth, n, lo, hi) for what, b, model, truth, _, _, n, _, _, lo, hi in rows if model}
    assert of_a == {
        ("x", True, 2, 0.9, 0.9),
        ("y", False, 1, 0.2, 0.2),
        ("y", False, 1, 0.9, 0.9),
        ("y", True, 1, 0.5, 0.5),
    }
    assert about["positive"] == "1"
    assert about["classes"] == ["0", "1"]
    assert about["thresholds"] == {"a": 0.5, "b": None}
    assert about["facets"] == [["site"]]
    assert about["rows"] == 5
    assert "id" not in str(rows)


@examples(30, gate=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 2**32),
    st.integers(1, 50),
    st.booleans(),
    st.sampled_from([("exact",), ("buckets:8",), ("buckets:8", "exact", "buckets:10")]),
)
def test_shards_in_any_order_give_the_counts_of_the_table(
    tmp_path: Path, seed: int, shards: int, by: bool, kinds: tuple[str, ...]
) -> None:
    """Addition of counts is associative and commutative: also of sums of some with the others.

    Smaller buckets and single scores are added to larger buckets.
    """
    dice = np.random.default_rng(seed)
    table = table_of(dice, int(dice.integers(shards, 200)))
    said: dict[str, Any] = {"positive": "yes", "by": "site" if by else (), "classes": ["yes", "no"]}
    said["model"] = ["few", "many", "rule"]  # of few rows it is not clear
    whole = counts_of(table, tmp_path / "whole.counts.parquet", scores=kinds[0], **said)
    part = dice.permutation(np.arange(len(table)) % shards)
    places = [
        counts_of(
            table.filter(part == k),
            tmp_path / f"{k}.counts.parquet",
            scores=kinds[k % len(kinds)],
            **said,
        )
        for k in dice.permutation(shards).tolist()
    ]
    together = counts_of([*map(str, places)], tmp_path / "together.counts.parquet")
    first = int(dice.integers(0, shards))
    groups = [some for some in (places[:first], places[first:]) if some]
    sums = [
        counts_of([*map(str, some)], tmp_path / f"sum{i}.counts.parquet")
        for i, some in enumerate(groups)
    ]
    again = counts_of([*map(str, sums)], tmp_path / "again.counts.parquet")
    rows, about = content(whole)
    for place in (together, again):
        found, said_of = content(place)
        assert found == rows
        own = {"parts": 0, "digest": 0}
        assert {**said_of, **own} == {**about, **own}
    assert together.read_bytes() == again.read_bytes()
    for place in tmp_path.iterdir():
        place.unlink()


EVERY = ("report", "mars", "phidelta", "tune_jpt")
# in the gate fewer draws and populations than by default
FEWER: dict[str, dict[str, Any]] = (
    {} if full() else {"report": {"resamples": 200}, "tune_jpt": {"points": 20}}
)


def untested(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without what depends on which models are tied: counts compare no scores."""
    return {key: cell for key, cell in row.items() if key not in ("tied", "q", "worse")}


@pytest.mark.parametrize(
    ("command", "by", "scores"),
    [
        *((one, by, None) for one in EVERY for by in ((), "site")),
        ("report", "site", "buckets:6"),
        ("tune_jpt", (), "buckets:6"),
    ],
)
def test_results_are_those_of_the_rows(
    command: str, by: Any, scores: str | None, tmp_path: Path
) -> None:
    table = table_of(np.random.default_rng(3), 400)
    half = len(table) // 2
    said: dict[str, Any] = {"positive": "yes", "by": by}
    said |= {} if scores is None else {"scores": scores}
    places = [
        str(counts_of(some, tmp_path / f"{name}.counts.parquet", **said))
        for name, some in (("a", table[:half]), ("b", table[half:]))
    ]
    function = partial(getattr(clfeval, command), **FEWER.get(command, {}))
    table = table if by else table.drop("site")
    of_rows, of_counts = function(table, **said).to_dict(), function(places).to_dict()
    scored = command == "report"
    lacking = {*of_rows["tables"]} - {*of_counts["tables"]}
    assert lacking <= ({*OF_ROWS} if scored else set())
    for key in of_rows.keys() - {*ABOUT, "tables", "warnings"}:
        assert of_rows[key] == of_counts[key], key
    for name, rows in of_counts["tables"].items():
        if scored and name == "comparisons":
            continue
        for row, other in zip(of_rows["tables"][name], rows, strict=True):
            assert untested(row) == untested(other)
    if not scored:
        assert of_rows["answer"] == of_counts["answer"]


def test_options_of_the_count_hold_for_what_reads_it(tmp_path: Path) -> None:
    """Thresholds, missing values and slices are those of the rows, as are notes and parameters."""
    table = table_of(np.random.default_rng(4), 300).drop("site")
    table = table.with_columns(
        few=pl.when(pl.col("many") > 0.05).then("few"), age=pl.Series(range(300))
    )
    said: dict[str, Any] = {
        "positive": "yes",
        "threshold": {"few": 0.3, None: 0.6},
        "by": "age:3",
        "missing": "drop",
    }
    clfeval.count(table, **said).save(place := tmp_path / "t.counts.parquet")
    for command in ("tune_jpt", "mars", "report"):
        function = partial(getattr(clfeval, command), **FEWER.get(command, {}))
        of_rows, of_counts = function(table, **said).to_dict(), function(place).to_dict()
        for key in ("parameters", "summary", "warnings"):
            assert of_rows[key] == of_counts[key]
        for name, rows in of_counts["tables"].items():
            if name != "comparisons":
                others = of_rows["tables"][name]
                assert [*map(untested, rows)] == [*map(untested, others)]
        one, other = (found["signature"].split("|data:")[0] for found in (of_rows, of_counts))
        assert one == other


def test_files_of_sites_are_slices(tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(8), 400)
    whole = clfeval.report(table, positive="yes", by="site").to_dict()
    places = []
    for name in ("a", "b b", "c"):
        (tmp_path / name).mkdir()
        mine = table.filter(pl.col("site") == name)
        for place in (tmp_path / name / "x.counts.parquet", tmp_path / f"{name}.counts.parquet"):
            counts_of(mine, place, positive="yes")
        places.append(tmp_path / f"{name}.counts.parquet")
    result = clfeval.report([*map(str, places)], by="file").to_dict()
    text = json.dumps(result["tables"]["slices"]).replace("file=", "site=")
    rows_of_counts = json.loads(text)
    assert [*map(untested, rows_of_counts)] == [*map(untested, whole["tables"]["slices"])]
    text = json.dumps(result["tables"]["heterogeneity"]).replace('"file"', '"site"')
    assert json.loads(text) == whole["tables"]["heterogeneity"]
    folders = [str(tmp_path / name / "x.counts.parquet") for name in ("a", "b b", "c")]
    again = clfeval.report(folders, by="file").to_dict()  # named by their folders
    assert [row["rows"] for row in again["tables"]["slices"]] == [
        row["rows"] for row in result["tables"]["slices"]
    ]


def test_a_table_of_one_model_s_counts(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("model,tp,fp,fn,tn\nA,50,30,20,90\n")
    result = clfeval.count(tmp_path / "t.csv")
    summary = {"rows": 190, "positives": 70, "negatives": 120}
    assert {**result.summary, **summary} == result.summary
    result.save(place := tmp_path / "t.counts.parquet")
    assert {**clfeval.mars(place).summary, "rows": 190} == clfeval.mars(place).summary


def with_cell(column: str, value: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return a function that changes the first cell of a column among the counts of scores."""

    def change(table: pl.DataFrame) -> pl.DataFrame:
        first = table["block"].to_list().index("scores")
        values = table[column].to_list()
        values[first] = value
        return table.with_columns(pl.Series(column, values, table[column].dtype))

    return change


# changes of the description, each with the key that is named
DESCRIPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "no rows": ({"rows": None}, "'rows' is null"),
    "schema": ({"schema": True}, "'schema' is true"),
    "parts": ({"parts": None}, "'parts' is null"),
    "a part": ({"parts": ["x"]}, "'parts[0]' is 'x'"),
    "thresholds": ({"thresholds": {}}, "'thresholds' is not of the models"),
    "a threshold": ({"thresholds": {"few": "x", "many": 0.5, "rule": None}}, "'thresholds.few'"),
    "least": ({"min_cell": "5"}, "'min_cell' is '5'"),
    "hidden": ({"min_cell": 5}, "'scores' is not 'runs'"),
    "scores": ({"scores": "buckets:x"}, "'scores' is 'buckets:x'"),
    "small buckets": ({"scores": "buckets:3"}, "'scores' is 'buckets:3'"),
    "slices": ({"facets": [["zz"]]}, "column 'b0' is missing"),
    "joint": ({"joint": [1]}, "'joint' is a list"),
    "a model": ({"models": [{"kind": "score"}]}, "'models[0].name' is missing"),
    "a kind": ({"models": [{"name": "few", "kind": "x"}]}, "'models[0].kind' is 'x'"),
    "classes": ({"classes": ["no"]}, "column 'truth': "),
    "uncut": ({"uncut": {"few": [1]}}, "'uncut.few' has fewer entries than 2"),
    "dropped": ({"dropped": -1}, "'dropped' is -1"),
    "digest": ({"digest": 1}, "'digest' is 1"),
}
# changes of the counts, each with the column that is named
COLUMNS: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "a row less": (lambda table: table[1:], "they do not add up"),
    "no scores": (lambda table: table.filter(block="patterns"), "they do not add up"),
    "no patterns": (lambda table: table.filter(block="scores"), "they do not add up"),
    "no n": (lambda table: table.drop("n"), "column 'n' is missing"),
    "negative": (lambda table: table.with_columns(n=-pl.col("n")), ":2: column 'n': "),
    "null": (with_cell("n", None), "column 'n': "),
    "too large": (with_cell("n", 2**62), "column 'n': "),
    "few bits": (lambda table: table.with_columns(pattern=pl.lit("0")), "column 'pattern': "),
    "type": (lambda table: table.with_columns(pl.col("n").cast(pl.Float64)), "column 'n': "),
    "NaN": (with_cell("lo", float("nan")), "column 'lo': "),
    "lo above hi": (with_cell("lo", 2.0), "column 'lo': "),
    "another key": (with_cell("key", 1), "column 'key': "),
    "no key": (with_cell("key", None), "column 'key': "),
    "a block": (with_cell("block", "x"), "column 'block': "),
    "a model": (with_cell("model", "x"), "column 'model': "),
    "no truth": (with_cell("truth", None), "column 'truth': "),
}


def test_what_breaks_the_format_of_counts_is_refused_with_its_place(tmp_path: Path) -> None:
    """Also where the digest is that of the changed file."""
    table = table_of(np.random.default_rng(2), 90)
    place = counts_of(table, tmp_path / "t.counts.parquet", positive="yes")
    counts, about = pl.read_parquet(place), json.loads(pl.read_parquet_metadata(place)[METADATA])
    cases = {f"description: {name}": (counts, *case) for name, case in DESCRIPTIONS.items()}
    cases |= {f"column: {name}": (make(counts), {}, text) for name, (make, text) in COLUMNS.items()}
    for name, (changed, changes, text) in cases.items():
        description = {**about, **changes}
        if "digest" not in changes:
            description["digest"] = file_digest(changed, description)
        metadata = {METADATA: json.dumps(description)}
        changed.write_parquet(tmp_path / "x.counts.parquet", metadata=metadata)
        with pytest.raises(clfeval.DataError) as caught:
            clfeval.report(tmp_path / "x.counts.parquet")
        assert text in str(caught.value), name
        assert problem_codes(caught.value) == ["damaged-file"], name
    for text, code in (("{", "damaged-file"), ('{"schema": 99}', "other-schema")):
        counts.write_parquet(tmp_path / "x.counts.parquet", metadata={METADATA: text})
        with pytest.raises(clfeval.DataError) as caught:
            clfeval.report(tmp_path / "x.counts.parquet")
        assert problem_codes(caught.value) == [code]
    counts.write_parquet(tmp_path / "x.counts.parquet")
    with pytest.raises(clfeval.DataError, match="description is missing"):
        clfeval.report(tmp_path / "x.counts.parquet")


# what stays a valid file, of other counts
CHANGES: dict[
    str, Callable[[pl.DataFrame, dict[str, Any]], tuple[pl.DataFrame, dict[str, Any]]]
] = {
    "truth": lambda counts, about: (counts.with_columns(~pl.col("truth")), about),
    "positive": lambda counts, about: (counts, {**about, "positive": "no"}),
    "threshold": lambda counts, about: (
        counts,
        {**about, "thresholds": {**about["thresholds"], "few": 0.9}},
    ),
    "a score": lambda counts, about: (
        counts.with_columns(lo=pl.col("lo").clip(0.1, 2), hi=pl.col("hi").clip(0.1, 2)),
        about,
    ),
    "a key": lambda counts, about: (counts.with_columns(key=pl.col("key") + 1), about),
    "a part": lambda counts, about: (counts, {**about, "parts": []}),
}


OPTIONS_OF_KINDS: list[dict[str, Any]] = [{}, {"scores": "buckets"}, {"min_cell": 5}]


@pytest.mark.parametrize("options", OPTIONS_OF_KINDS, ids=str)
def test_counts_in_another_order_are_the_same(options: dict[str, Any], tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(4), 120)
    place = counts_of(table, tmp_path / "t.counts.parquet", positive="yes", **options)
    counts, about = pl.read_parquet(place), json.loads(pl.read_parquet_metadata(place)[METADATA])
    whole = clfeval.report(place).to_dict()["tables"]
    counts.sample(fraction=1, shuffle=True, seed=1).write_parquet(
        place, metadata={METADATA: json.dumps(about)}
    )
    assert clfeval.report(place).to_dict()["tables"] == whole


@pytest.mark.parametrize("options", OPTIONS_OF_KINDS, ids=str)
@pytest.mark.parametrize("name", CHANGES)
def test_changed_counts_have_another_digest(
    name: str, options: dict[str, Any], tmp_path: Path
) -> None:
    table = table_of(np.random.default_rng(4), 120)
    place = counts_of(table, tmp_path / "t.counts.parquet", positive="yes", **options)
    counts, about = pl.read_parquet(place), json.loads(pl.read_parquet_metadata(place)[METADATA])
    changed, description = CHANGES[name](counts, about)
    changed.write_parquet(place, metadata={METADATA: json.dumps(description)})
    with pytest.raises(clfeval.DataError) as caught:
        clfeval.report(place)
    assert problem_codes(caught.value) == ["damaged-file"]


def test_scores_are_not_compared_and_it_is_said(tmp_path: Path) -> None:
    place = counts_of(
        table_of(np.random.default_rng(5), 300), tmp_path / "t.counts.parquet", positive="yes"
    )
    result = clfeval.report(place, reference="few")
    assert "they do not pair the rows of the models" in str(result.answer)
    compared = {row["measure"] for row in result.tables["comparisons"]}
    assert "sensitivity" in compared
    assert "roc_auc" not in compared


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "positive": ({"positive": "no"}, "its positive class: 'no'; in .*a.counts.parquet: 'yes'"),
    "slices": ({"by": "site"}, "its slices"),
    "threshold": ({"threshold": 0.3}, "its thresholds: "),
    "models": (
        {"ignore": "many"},
        r"its models: 'few \(scores\)', 'rule \(labels\)'; in .*a.counts.parquet",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_files_that_do_not_fit_are_refused_by_name(name: str, tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(1), 60)
    first = counts_of(table[:30], tmp_path / "a.counts.parquet", positive="yes")
    said, text = CASES[name]
    second = counts_of(table[30:], tmp_path / "b.counts.parquet", **{"positive": "yes", **said})
    with pytest.raises(clfeval.DataError, match="b.counts.parquet: " + text):
        clfeval.report([str(first), str(second)])


# options that change neither models nor thresholds, so that the counts could be added
AGAIN: dict[str, dict[str, Any]] = {
    "the same": {},
    "missing": {"missing": "drop"},
    "threshold": {"threshold": 0.5},
    "buckets": {"scores": "buckets"},
    "small buckets": {"scores": "buckets:4"},
    "named": {"model": ["few", "many", "rule"]},
}


@pytest.mark.parametrize("name", AGAIN)
def test_the_same_rows_are_not_counted_twice(name: str, tmp_path: Path) -> None:
    """Nor with other options, nor those of a part of a sum."""
    table = table_of(np.random.default_rng(1), 200)
    options = {"positive": "yes", **AGAIN[name]}
    first = counts_of(table, tmp_path / "a.counts.parquet", positive="yes")
    second = counts_of(table, tmp_path / "b.counts.parquet", **options)
    with pytest.raises(clfeval.DataError, match=r"b\.counts.* counts rows that .*a\.counts"):
        clfeval.mars([str(first), str(second)])
    other = counts_of(table[:100], tmp_path / "c.counts.parquet", **options)
    both = counts_of([str(first), str(other)], tmp_path / "both.counts.parquet")
    with pytest.raises(clfeval.DataError, match=r"counts rows that .* counts as well"):
        clfeval.count([str(both), str(other)])
    assert clfeval.mars([str(first), str(other)]).summary["rows"] == 300


def test_equal_counts_of_few_rows_are_added(tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(1), 20)
    places = [
        str(counts_of(table, tmp_path / f"{name}.counts.parquet", positive="yes")) for name in "ab"
    ]
    assert clfeval.mars(places).summary["rows"] == 40  # which may be equal by chance


@pytest.mark.parametrize("options", [{}, {"by": "site"}], ids=str)
def test_digests_of_hidden_counts_follow_from_what_is_published(
    options: dict[str, Any], tmp_path: Path
) -> None:
    """Of exact rows anybody could try which rows have the digest."""
    table = table_of(np.random.default_rng(9), 400)
    said = {"positive": "yes", "min_cell": 5, **options}
    place = counts_of(table, tmp_path / "h.counts.parquet", **said)
    counts, about = pl.read_parquet(place), json.loads(pl.read_parquet_metadata(place)[METADATA])
    assert about["parts"] == digests(counts, about)
    assert about["digest"] == file_digest(counts, about)
    exact = counts_of(table, tmp_path / "e.counts.parquet", positive="yes", **options)
    assert not {*about["parts"]} & {*content(exact)[1]["parts"]}


def test_what_needs_rows_is_refused(tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(1), 60).drop("site")
    clfeval.count(table, positive="yes").save(place := tmp_path / "t.counts.parquet")
    table.write_csv(tmp_path / "t.csv")
    for call, text in (
        (lambda: clfeval.report(place, by="site"), "by needs rows, but .*t.counts.parquet holds"),
        (lambda: clfeval.report(place, threshold=0.2), "threshold needs rows"),
        (lambda: clfeval.report(place, model=["few"]), "model needs rows"),
        (lambda: clfeval.mlcps(place), "holds counts of predictions"),
        (lambda: clfeval.phidelta(place, features=True), "holds counts of predictions"),
        (lambda: clfeval.mars(place, top="5%"), "top needs rows"),
        (lambda: clfeval.mars(place, list="found"), "this needs rows"),
        (lambda: clfeval.report(place, positive="no"), "its positive class is 'yes', not 'no'"),
        (lambda: clfeval.report([str(place), str(tmp_path / "t.csv")]), "is a table of rows, but"),
        (
            lambda: clfeval.report(table, positive="yes").save(tmp_path / "r.counts.parquet"),
            "only `count` writes counts",
        ),
    ):
        with pytest.raises(clfeval.ClfevalError, match=text):
            call()
    assert not (tmp_path / "r.counts.parquet").exists()


@examples(200)
@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=20, unique=True))
def test_keys_have_the_order_of_the_scores(values: list[float]) -> None:
    scores = np.array(sorted({value + 0.0 for value in values}))
    keys = exact_keys(scores)
    assert (np.diff(keys.astype(object)) > 0).all()
