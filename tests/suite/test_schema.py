"""The JSON Schema of batches: what is kept is what the declarations say, and what is read fits it.

`python -m tests.suite.test_schema` writes it anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from clfeval.cli.output import Output
from clfeval.suite.schema import suite_schema
from clfeval.tables.yaml import read_yaml
from tests.process.program import clfeval
from tests.suite.mutants import ROOT, SUITE
from tests.test_schema import json_text

KEPT = ROOT / "fixtures" / "schema" / "suite-1.json"
EXAMPLES = sorted((ROOT / "fixtures" / "suite").glob("*.yaml"))
RUN = {"command": "report", "input": "t.csv"}


def text() -> str:
    return f"{json_text(suite_schema(Output))}\n"


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(KEPT.read_text(encoding="utf-8")))


def test_the_schema_kept_is_what_the_options_declare() -> None:
    declared = text()
    assert KEPT.read_text(encoding="utf-8") == declared
    jsonschema.Draft202012Validator.check_schema(json.loads(declared))


def test_the_shell_prints_the_same_schema() -> None:
    done = clfeval("batch", "--print-schema")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_fit_the_schema(path: Path, validator: jsonschema.Draft202012Validator) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=../schema/suite-1.json"
    assert [error.message for error in validator.iter_errors(read_yaml(path).value)] == []
    assert SUITE in EXAMPLES


@pytest.mark.parametrize(
    "run",
    [
        {},
        {"threshold": 0.5},
        {"threshold": "${t}", "fold-labels": "${yes}"},
        {"threshold": {"a": 0.5}},
        {"positive": 1, "classes": [0, 1]},
        {"fail-under": {"roc_auc.low": 0.8}, "max_drop": ["f1=0.1"], "baseline": "b.json"},
        {"baseline": {"input": "b.json", "max-drop": {"roc_auc": 0.01}}},
        {"matrix": {"threshold": [0.1, 0.5]}, "exclude": [{"threshold": 0.1}]},
        {"save": "x.json", "digits": 4, "x-note": {"a": 1}},
        {"command": "tune_jpt", "prevalence": 0.01},
    ],
)
def test_what_a_run_takes_fits(
    run: dict[str, Any], validator: jsonschema.Draft202012Validator
) -> None:
    assert validator.is_valid({"version": 1, "runs": {"a": {**RUN, **run}}})


@pytest.mark.parametrize(
    "document",
    [
        {"runs": {}},
        {"version": 2},
        {"version": 1, "run": {}},
        {"version": 1, "set": {"a": [1]}},
        {"version": 1, "runs": {"a": 3}},
        {"version": 1, "runs": {"a": {**RUN, "command": "raport"}}},
        {"version": 1, "runs": {"a": {**RUN, "treshold": 0.5}}},
        {"version": 1, "runs": {"a": {**RUN, "threshold": "high"}}},
        {"version": 1, "runs": {"a": {**RUN, "truth": 3}}},
        {"version": 1, "runs": {"a": {**RUN, "matrix": {"threshold": 0.5}}}},
        {"version": 1, "runs": {"a": {**RUN, "input": {"table": "models"}}}},
        {"version": 1, "runs": {"a": {**RUN, "baseline": {"max-drop": {"f1": 0.1}}}}},
        {"version": 1, "defaults": {"matrix": {}}},
        {"version": 1, "defaults": {"treshold": 0.5}},
    ],
)
def test_what_no_batch_takes_does_not_fit(
    document: dict[str, Any], validator: jsonschema.Draft202012Validator
) -> None:
    assert not validator.is_valid(document)


if __name__ == "__main__":
    KEPT.write_text(text(), encoding="utf-8")
