"""`--with`: other commands about the rows a report has counted, each as it is by itself."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.counts import count as counting
from clfeval.errors import DataError, UsageError
from clfeval.methods.report.options import METHODS
from clfeval.views.documents import markdown_lines
from clfeval.views.page import as_html
from tests.process.program import clfeval as program
from tests.test_schema import wrong_with
from tests.texts import check_text
from tests.thoroughness import thinned

FIXTURES = Path(__file__).parents[3] / "fixtures"
CANCER = FIXTURES / "breast-cancer" / "scores.csv"
OF_THREE: dict[str, Any] = {"positive": "malignant", "model": ["svm", "tree", "knn"]}
ALONE: dict[str, dict[str, Any]] = {"mlcps": {"source": "predictions"}}


@cache
def cancer_report(*methods: str) -> Result:
    """Return a report of the models with other commands, computed once."""
    return clfeval.report(CANCER, **OF_THREE, methods=methods)


def result_of(name: str, table: Any, **options: Any) -> Result:
    """Return the result of another command by itself."""
    command = getattr(clfeval, name.replace("-", "_"))
    result: Result = command(table, **options, **ALONE.get(name, {}))
    return result


@pytest.mark.parametrize(
    "options", thinned([{}, {"level": 0.9, "seed": 3}, {"interval": "none"}], [{}])
)
def test_each_is_what_its_own_command_gives(options: dict[str, Any]) -> None:
    found = (
        clfeval.report(CANCER, **OF_THREE, methods="all", **options)
        if options
        else cancer_report("all")
    )
    assert list(found.methods) == list(METHODS)
    for name, one in found.methods.items():
        known = {k: v for k, v in options.items() if (name, k) != ("phidelta", "seed")}
        expected = result_of(name, CANCER, **OF_THREE, **known)
        assert one.to_dict() == expected.to_dict(), name


def test_of_labels_and_slices_too() -> None:
    frame = pl.DataFrame(
        {
            "truth": ["no", "yes", "yes", "no"] * 30,
            "model a": ["no", "yes", "no", "no"] * 30,
            "01": ["yes", "yes", "yes", "no"] * 30,
            "site": ["x"] * 60 + ["y"] * 60,
        }
    )
    options = {"positive": "yes", "by": "site"}
    found = clfeval.report(frame, methods=["mlcps", "tune-jpt", "mars", "phidelta"], **options)
    assert list(found.methods) == list(METHODS)  # in one order, however they are asked for
    for name in ("mars", "phidelta", "tune-jpt"):
        assert found.methods[name].to_dict() == result_of(name, frame, **options).to_dict(), name


def test_rows_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    group = counting.group_rows
    monkeypatch.setattr(counting, "group_rows", lambda settled: passes.append(1) or group(settled))
    clfeval.report(CANCER, **OF_THREE, methods="all")
    assert len(passes) == 1


def test_the_document_holds_theirs_and_comes_back() -> None:
    found = cancer_report("mars", "mlcps")
    document = json.loads(found.to_json())
    assert wrong_with(document) == []
    assert document == json.loads(json.dumps(found.to_dict()))
    assert list(document["methods"]) == ["mars", "mlcps"]
    assert Result.from_json(found.to_json()).to_dict() == found.to_dict()
    bare = cancer_report()
    assert "methods" not in bare.to_dict()
    del document["methods"]
    assert document == json.loads(bare.to_json())


@pytest.mark.parametrize("view", [str, as_html, lambda found: "".join(markdown_lines(found))])
def test_every_page_has_their_answers_and_main_tables(view: Any) -> None:
    found = cancer_report("all")
    page = " ".join(view(found).replace("\\", "").split())
    for one in found.methods.values():
        first = one.answer[0].text.replace("'", "").split(" [")[0].split(" (")[0]
        assert " ".join(first.split()[:4]) in page, first


def test_the_first_screen_says_what_they_would_tell() -> None:
    (note,) = [
        line for line in str(cancer_report()).splitlines() if "'mars'" in line and "'all'" in line
    ]
    check_text(note)
    start = note.split(",")[0]
    for other in (
        clfeval.report(CANCER, positive="malignant", model="svm"),
        cancer_report("mars"),
        clfeval.report(FIXTURES / "digits" / "labels.csv"),
    ):
        assert start not in str(other)


@pytest.mark.parametrize("words", [("-f", "csv"), ("--save", "r.csv")])
def test_csv_says_what_it_has_no_room_for(
    words: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--positive", "malignant", "--with", "mars", "--interval", "none")
    words_of_report = ("report", str(CANCER), *options)
    more, less = (
        program(*words_of_report, *some).err.splitlines() for some in (words, ("-f", "json"))
    )
    (line,) = (line for line in more if line not in less and "CSV" in line)
    check_text(line)
    assert program(*words_of_report, *words, "-q").err == ""


def test_a_gate_is_of_the_report() -> None:
    found = cancer_report("mars").check(fail_under={"mcc": 0})
    assert found.passed
    assert not found.methods["mars"].gates


def test_what_is_no_command_is_refused_by_name() -> None:
    with pytest.raises(UsageError) as caught:
        clfeval.report(CANCER, positive="malignant", methods=["marss"])
    check_text(str(caught.value))


def test_counts_have_no_rows_to_find_alone(tmp_path: Path) -> None:
    table = tmp_path / "counts.csv"
    table.write_text("model,tp,fp,fn,tn\na,40,10,5,60\nb,30,5,15,65\n")
    found = clfeval.report(table, methods=["phidelta", "tune-jpt"])
    assert list(found.methods) == ["phidelta", "tune-jpt"]
    with pytest.raises(UsageError) as caught:
        clfeval.report(table, methods="all")
    check_text(str(caught.value))


def test_of_many_classes_one_has_to_be_named() -> None:
    with pytest.raises(DataError, match="positive"):
        clfeval.report(FIXTURES / "digits" / "labels.csv", methods="mars")
    found = clfeval.report(FIXTURES / "digits" / "labels.csv", methods="mars", positive="8")
    assert found.methods["mars"].tables["models"]


def test_mlcps_says_what_it_does_not_look_at() -> None:
    """Rows eight times over, in clusters of one row's copies, tell no more than the rows."""
    data = pl.read_csv(CANCER).select("truth", "svm", "knn").with_row_index("patient")
    found = clfeval.report(
        pl.concat([data] * 8), positive="malignant", cluster="patient", methods=["mlcps", "mars"]
    )
    one = found.methods["mlcps"]
    assert {row["mlcps"].low for row in one.tables["models"]} == {None}
    check_text(note.message for note in one.warnings)
