"""The page of a history, in every format, and what its command line refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from clfeval.history.file import read_past
from clfeval.result import Result
from tests.history.weeks import KEPT, write
from tests.process.program import clfeval
from tests.test_schema import wrong_with

WEEKS = "weeks.jsonl"
FIRST = (
    "Compared with 2026-W02 (accepted), rf is significantly worse by ROC AUC 0.735 (was 0.885, p "
    "<0.001), Brier 0.181 (was 0.124, p <0.001), balanced accuracy 0.642 (was 0.764, p <0.001) "
    "and 7 more measures; changed in calibration slope 0.678 (was 1.419, p <0.001)."
)


@pytest.fixture(autouse=True)
def weeks(folder: Path) -> Path:
    """The history of the fixtures, in the folder of the test."""
    path = folder / WEEKS
    path.write_bytes(KEPT.read_bytes())
    return path


def test_the_fixture_is_what_a_run_writes_today(folder: Path) -> None:
    write(folder / "new.jsonl")
    old, new = read_past(WEEKS), read_past(str(folder / "new.jsonl"))
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
    assert document["answer"][0]["text"] == FIRST
    assert Result.from_json(done.out).to_json() == done.out
    assert clfeval("history", WEEKS, "-f", "json").out == done.out
    assert "/" not in document["inputs"][0]["name"]


def test_a_screen_opens_with_the_answer_and_has_the_weeks_that_tell() -> None:
    out = clfeval("history", WEEKS, COLUMNS="200").out
    assert out.splitlines()[1] + " " + out.splitlines()[2] == FIRST
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
    rows = list(csv.DictReader(io.StringIO(
        clfeval("history", WEEKS, "-f", "csv", "--show", "history").out
    )))  # fmt: skip
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
    assert "roc_auc over labels" in done.out
    assert "What changed when" in done.out
    assert "rf is significantly worse by ROC AUC 0.735" in Path("r.md").read_text(encoding="utf-8")
    page = Path("r.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "roc_auc over labels" in page  # drawn as those of other pages are


def test_why_a_measure_moved_has_room_beside_long_names() -> None:
    name = "gradient_booster"
    text = Path(WEEKS).read_text(encoding="utf-8").replace('"rf"', f'"{name}"')
    Path(WEEKS).write_text(text, encoding="utf-8")
    out = clfeval("history", WEEKS, COLUMNS="80").out
    (row,) = [one for one in out.splitlines() if one.startswith("gradient") and "roc_auc" in one]
    assert row.split()[-2:] == ["worse", "model"]


def test_an_earlier_label_may_be_looked_at_as_the_last() -> None:
    old = Path(WEEKS).read_text(encoding="utf-8")
    late = [one for one in old.splitlines() if '"2026-W03"' in one]  # as after a merge
    kept = [one for one in old.splitlines() if one not in late]
    Path(WEEKS).write_text("\n".join([*kept, *late, ""]), encoding="utf-8")
    assert clfeval("history", WEEKS, "-f", "json").out.count('"last": "2026-W03"') == 1
    done = clfeval("history", WEEKS, "--label", "2026-W12", "-f", "json")
    found = json.loads(done.out)
    assert found["answer"][0]["text"] == FIRST
    assert found["summary"]["labels"] == 11
    done = clfeval("history", WEEKS, "--label", "2026-W04")
    assert "Compared with 2026-W02 (accepted), no measure of rf and svm is signif" in done.out
    wrong = clfeval("history", WEEKS, "--label", "2026-W44")
    assert (wrong.code, "--label: no label '2026-W44'" in wrong.err) == (2, True)


def test_accepting_adds_a_line_and_no_more() -> None:
    old = Path(WEEKS).read_bytes()
    done = clfeval("history", WEEKS, "--accept")
    added = b'{"accepted": "2026-W12", "command": "report", "schema": "clfeval.history/1"}\n'
    assert (done.code, done.err) == (0, f"accepted 2026-W12 in {WEEKS}\n")
    assert clfeval("history", WEEKS, "--accept").code == 0  # is so already
    assert Path(WEEKS).read_bytes() == old + added
    assert "2026-W12 is accepted, and nothing came after it." in done.out
    done = clfeval("history", WEEKS, "--accept", "--label", "2026-W10")
    assert "Compared with 2026-W10 (accepted), no measure of rf and svm is signif" in done.out


REFUSED = {
    "a table": (("t.csv",), "history takes one file [bad-option]"),
    "an option of tables": (("--positive", "x"), "history has no --positive: report, mars, phi"),
    "a gate": (("--fail-under", "a=1"), "history has no --fail-under: report, mars, phi"),
    "no such label": (
        ("--accept", "--label", "2026-W21"), f"{WEEKS}: --label: no label '2026-W21' [history]\n"
        "hint: did you mean '2026-W"
    ),
    "no such table": (("--show", "eventz"), "--show 'eventz': history has no such table or plot"),
    "its own file": (("--save", WEEKS), f"--save '{WEEKS}': the suffix says no format"),
}  # fmt: skip


@pytest.mark.parametrize("how", REFUSED)
def test_what_says_nothing_of_a_history_is_refused(how: str) -> None:
    words, message = REFUSED[how]
    done = clfeval("history", WEEKS, *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(message)
    assert Path(WEEKS).read_bytes() == KEPT.read_bytes()


def test_a_history_that_is_not_there_is_refused() -> None:
    missing = clfeval("history", "gone.jsonl")
    assert (missing.code, missing.err) == (
        2, "cannot read 'gone.jsonl': No such file or directory [history]\n"
    )  # fmt: skip


def test_a_table_is_still_needed_where_no_history_is_read() -> None:
    done = clfeval("report")
    assert done.code == 2
    assert "Missing argument 'TABLE...'" in done.err
