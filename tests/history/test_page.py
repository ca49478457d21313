"""The page of a history, in every format, and what its command line refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from clfeval.api.result import Result
from clfeval.compare.history.file import read_history
from tests.history.weeks import KEPT, write
from tests.process.program import clfeval
from tests.test_schema import wrong_with
from tests.texts import check_text, problem_places

WEEKS = "weeks.jsonl"


@pytest.fixture(autouse=True)
def weeks(folder: Path) -> Path:
    """The history of the fixtures, in the folder of the test."""
    path = folder / WEEKS
    path.write_bytes(KEPT.read_bytes())
    return path


def test_the_fixture_is_what_a_run_writes_today(folder: Path) -> None:
    write(folder / "new.jsonl")
    old, new = read_history(WEEKS), read_history(str(folder / "new.jsonl"))
    assert [(one.label, one.model, one.truth) for one in old.lines] == [
        (one.label, one.model, one.truth) for one in new.lines
    ]
    for one, other in zip(old.lines, new.lines, strict=True):
        assert one.settings == other.settings
        assert list(one.measures) == list(other.measures)
        for name, cell in one.measures.items():
            assert cell.value == pytest.approx(other.measures[name].value, rel=1e-9)
            assert cell.se == pytest.approx(other.measures[name].se, rel=1e-6)


def test_the_document_is_valid_and_the_same_for_the_same_file() -> None:
    done = clfeval("history", WEEKS, "-f", "json")
    assert done.code == 0
    document = json.loads(done.out)
    assert wrong_with(document) == []
    check_text(one["text"] for one in document["answer"])
    assert Result.from_json(done.out).to_json() == done.out
    assert clfeval("history", WEEKS, "-f", "json").out == done.out
    assert "/" not in document["inputs"][0]["name"]


def test_a_screen_has_the_weeks_of_changes() -> None:
    out = clfeval("history", WEEKS, COLUMNS="200").out
    check_text(out)
    rows = [line.split()[:3] for line in out.splitlines() if line.startswith("2026-W")]
    assert ["2026-W05", "svm", "rows"] in rows
    assert ["2026-W09", "rf", "model"] in rows
    assert ["2026-W02", "rf", "accepted"] in rows
    assert "2026-W03" not in out  # nothing happened
    assert len(clfeval("history", WEEKS, COLUMNS="80").out.splitlines()) <= 45


def test_tables_are_had_as_csv() -> None:
    out = clfeval("history", WEEKS, "-f", "csv", "--show", "events").out
    assert list(csv.DictReader(io.StringIO(out))) == [
        {"label": "2026-W05", "model": "rf", "changed": "rows"},
        {"label": "2026-W05", "model": "svm", "changed": "rows"},
        {"label": "2026-W09", "model": "rf", "changed": "model"},
    ]
    rows = list(
        csv.DictReader(io.StringIO(clfeval("history", WEEKS, "-f", "csv", "--show", "history").out))
    )
    assert len(rows) == 12 * 2 * 20
    auc = [row for row in rows if (row["model"], row["measure"]) == ("rf", "roc_auc")]
    assert [row["label"] for row in auc if row["marks"]] == ["2026-W05", "2026-W09"]
    assert [row["label"] for row in auc if row["accepted"] == "true"] == ["2026-W02"]
    values = [float(row["value"]) for row in auc]
    change = float(auc[8]["change"])
    assert change == pytest.approx(values[8] - values[7])


def test_other_formats_and_pictures() -> None:
    names = ("r.md", "r.html", "r.json")
    words = [word for name in names for word in ("--save", name)]
    done = clfeval("history", WEEKS, "--show", "trend", "--show", "events", *words)
    assert (done.code, done.err.splitlines()) == (0, [f"wrote {name}" for name in names])
    check_text(done.out)
    assert "0.735" in Path("r.md").read_text(encoding="utf-8")
    assert Path("r.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_why_a_measure_moved_has_room_beside_long_names() -> None:
    name = "gradient_booster"
    text = Path(WEEKS).read_text(encoding="utf-8").replace('"rf"', f'"{name}"')
    Path(WEEKS).write_text(text, encoding="utf-8")
    out = clfeval("history", WEEKS, COLUMNS="80").out
    (row,) = [one for one in out.splitlines() if one.startswith("gradient") and "roc_auc" in one]
    assert row.split()[-1] == "model"


def test_an_earlier_label_may_be_looked_at_as_the_last() -> None:
    old = Path(WEEKS).read_text(encoding="utf-8")
    late = [one for one in old.splitlines() if '"2026-W03"' in one]  # as after a merge
    kept = [one for one in old.splitlines() if one not in late]
    Path(WEEKS).write_text("\n".join([*kept, *late, ""]), encoding="utf-8")
    assert clfeval("history", WEEKS, "-f", "json").out.count('"last": "2026-W03"') == 1
    done = clfeval("history", WEEKS, "--label", "2026-W12", "-f", "json")
    found = json.loads(done.out)
    check_text(found["answer"][0]["text"])
    assert found["summary"]["labels"] == 11
    check_text(clfeval("history", WEEKS, "--label", "2026-W04").out)
    wrong = clfeval("history", WEEKS, "--label", "2026-W44")
    assert (wrong.code, problem_places(wrong.err)) == (2, [f"{WEEKS}: [history]"])


def test_accepting_adds_a_line_and_no_more() -> None:
    old = Path(WEEKS).read_bytes()
    done = clfeval("history", WEEKS, "--accept")
    added = b'{"accepted": "2026-W12", "command": "report", "schema": "clfeval.history/1"}\n'
    assert done.code == 0
    check_text(done.err)
    assert clfeval("history", WEEKS, "--accept").code == 0  # is so already
    assert Path(WEEKS).read_bytes() == old + added
    check_text(done.out)
    assert clfeval("history", WEEKS, "--accept", "--label", "2026-W10").code == 0


REFUSED = {
    "a table": ("t.csv",),
    "an option of tables": ("--positive", "x"),
    "a gate": ("--fail-under", "a=1"),
    "no such label": ("--accept", "--label", "2026-W21"),
    "no such table": ("--show", "eventz"),
    "its own file": ("--save", WEEKS),
}


@pytest.mark.parametrize("how", REFUSED)
def test_what_is_not_of_a_history_is_refused(how: str) -> None:
    done = clfeval("history", WEEKS, *REFUSED[how])
    assert (done.code, done.out) == (2, "")
    check_text(done.err)
    assert Path(WEEKS).read_bytes() == KEPT.read_bytes()
