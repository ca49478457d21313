"""A history as the baseline of command lines and batches: which line counts, and which never."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.history.lines import json_lines
from tests.process.program import Done, clfeval, json_document
from tests.texts import check_text, problem_places

HELD = ("--baseline", "h.jsonl", "--max-drop", "roc_auc=0.01")
SKIP = ("--baseline-missing", "skip")


def write_table(name: str, scores: str, model: str = "m", more: str = "") -> None:
    """Write three positive rows, then three negative ones, with their scores."""
    head, cells = f"id,truth,{model}", scores.split()
    rows = [f"{i},{int(i < 3)},{cells[i]}" for i in range(6)]
    if more:
        head, rows = f"{head},site", [f"{row},{site}" for row, site in zip(rows, more, strict=True)]
    Path(name).write_text("\n".join([head, *rows, ""]), encoding="utf-8")


@pytest.fixture(autouse=True)
def old_and_new() -> None:
    """Of 9 pairs `old.csv` orders 9, `new.csv` 8: roc_auc 1 and 8/9."""
    write_table("old.csv", ".9 .8 .7 .3 .2 .1")
    write_table("new.csv", ".9 .8 .3 .4 .2 .1")


def run_report(name: str, label: str, *words: str) -> Done:
    return clfeval("report", name, "--id", "id", "--append", "h.jsonl", "--label", label, *words)


def test_a_job_that_failed_fails_again() -> None:
    assert run_report("old.csv", "w1").code == 0
    codes = [run_report("new.csv", "w2", *HELD).code for _ in range(3)]
    assert codes == [1, 1, 1]
    assert [(one["label"], one["gates"]) for one in json_lines()][1:] == [
        ("w2", {"roc_auc": False})
    ] * 3
    assert run_report("new.csv", "w3", *HELD).code == 1  # and w2 is none to be held to
    assert clfeval("history", "h.jsonl", "--accept", "--label", "w2").code == 0
    assert run_report("new.csv", "w2", *HELD).code == 0
    assert run_report("new.csv", "w4", *HELD).code == 0


def test_without_an_accepted_label_the_first_line_is_the_baseline() -> None:
    assert [run_report("old.csv", "w1").code, run_report("new.csv", "w2").code] == [0, 0]
    done = clfeval("report", "new.csv", "--id", "id", *HELD, "-f", "json")
    assert done.code == 1
    answer = {one["code"]: one["text"] for one in json_document(done)["answer"]}
    assert "w1 of h.jsonl" in answer["baseline"]
    assert "clfeval history h.jsonl --accept --label LABEL" in answer["baseline-choice"]
    check_text(answer["baseline-choice"])


def test_a_first_line_that_missed_its_gate_gives_way_to_the_next() -> None:
    limit = ("--fail-under", "roc_auc=0.95")
    assert run_report("new.csv", "w1", *limit).code == 1
    assert run_report("old.csv", "w2", *limit).code == 0
    done = clfeval("report", "new.csv", "--id", "id", *HELD, "-f", "json")
    assert done.code == 1
    assert "w2 of h.jsonl" in done.out


def test_where_every_line_missed_a_gate_the_error_names_the_remedy() -> None:
    limit = ("--fail-under", "roc_auc=0.95")
    assert run_report("new.csv", "w1", *limit).code == 1
    done = run_report("new.csv", "w2", *HELD)
    assert (done.code, problem_places(done.err)) == (2, ["h.jsonl: [history]"])
    check_text(done.err)
    done = run_report("old.csv", "w2", *HELD, *SKIP)
    assert done.code == 0
    check_text(done.err)
    assert clfeval("history", "h.jsonl", "--accept", "--label", "w1").code == 0
    assert run_report("new.csv", "w3", *HELD).code == 0


@pytest.mark.parametrize("content", ["", "\n", None])
def test_no_line_that_fits_is_a_missing_baseline(content: str | None) -> None:
    if content is None:  # lines of another command
        assert clfeval("mars", "t.csv", "-q", "--append", "h.jsonl", "--label", "w0").code == 0
    else:
        Path("h.jsonl").write_text(content, encoding="utf-8")
    done = run_report("old.csv", "w1", *HELD)
    assert (done.code, "h.jsonl" in done.err) == (1, True)
    assert run_report("old.csv", "w1", *HELD, *SKIP).code == 0  # nor is the line of w1 one
    assert run_report("new.csv", "w2", *HELD, *SKIP).code == 1


def test_blank_lines_at_the_top_hide_no_history() -> None:
    run_report("old.csv", "w1")
    whole = Path("h.jsonl").read_text(encoding="utf-8")
    Path("h.jsonl").write_text(f"\n{whole}", encoding="utf-8")
    assert run_report("new.csv", "w2", *HELD).code == 1


def test_lines_of_other_settings_are_refused_with_the_model_and_the_setting() -> None:
    assert run_report("old.csv", "w1", "--level", "0.9").code == 0
    done = run_report("new.csv", "w2", *HELD)
    assert (done.code, problem_places(done.err)[-1]) == (2, "h.jsonl: [baseline]")
    check_text(done.err)
    # of a model that is gone it matters to nobody
    write_table("one.csv", ".9 .8 .7 .3 .2 .1", model="other")
    assert run_report("one.csv", "w2").code == 0
    done = run_report("one.csv", "w3", *HELD, "-f", "json")
    assert done.code == 0
    found = json_document(done)
    rows = [row for row in found["tables"]["comparisons"] if row["against"] == "baseline"]
    assert {(row["model"], str(row["reference"])[:2]) for row in rows} == {("other", "w2")}


def test_a_week_that_is_in_the_history_is_compared_with_one_of_other_rows() -> None:
    write_table("week.csv", ".9 .8 .7 .3 .2 .1")
    assert run_report("new.csv", "w2").code == 0
    text = Path("week.csv").read_text(encoding="utf-8").replace("\n0,", "\n9,")
    Path("week.csv").write_text(text, encoding="utf-8")  # other ids
    assert run_report("week.csv", "w3").code == 0
    words = ("--baseline", "h.jsonl", "--max-drop", "roc_auc=0.01", "-f", "json")
    for name, label in (("week.csv", "w2"), ("old.csv", "w2"), ("new.csv", "w3")):
        done = clfeval("report", name, "--id", "id", *words)
        found = json_document(done)
        texts = {one["code"]: one["text"] for one in found["answer"]}
        assert f"{label} of h.jsonl" in texts["baseline"]
        if "baseline-rows" in texts:  # else the answer has no room for it
            check_text(texts["baseline-rows"])
        else:
            assert "more-results" in texts
        assert "baseline-same-rows" in done.err
        assert done.code == (name == "new.csv")  # 8/9 where w3 has 1


def test_gates_of_slices_are_not_those_of_the_whole() -> None:
    # of x all 4 pairs are in order, of y the only one is not: 8 of the 9 of all
    write_table("new.csv", ".9 .8 .3 .4 .2 .1", more="xxyyxx")
    limits = ("--fail-under", "roc_auc=0.5", "--fail-under", "roc_auc[site=*]=0.9")
    assert run_report("new.csv", "w1", "--by", "site", *limits).code == 1
    assert [one["gates"] for one in json_lines()] == [{"roc_auc": True}]


SUITE = """\
version: 1
defaults:
  command: report
  id: id
  baseline: {input: h.jsonl, max-drop: {roc_auc: 0.01}, missing: skip}
history: {file: h.jsonl, label: w0}
runs:
  one: {input: one.csv}
  two: {input: two.csv}
"""


def batch(label: str, *words: str) -> Done:
    return clfeval("batch", "s.yaml", "--label", label, *words)


def test_each_run_of_a_batch_is_held_to_its_own_lines_of_other_labels() -> None:
    Path("s.yaml").write_text(SUITE, encoding="utf-8")
    write_table("one.csv", ".9 .8 .7 .3 .2 .1")  # 1
    write_table(
        "two.csv", ".9 .8 .3 .4 .2 .1"
    )  # 8/9: worse than the other run, which is none of its own
    assert [batch("w1").code, batch("w2").code] == [0, 0]
    write_table("two.csv", ".9 .8 .1 .4 .3 .2")  # 6/9
    assert [batch("w3").code for _ in range(2)] == [1, 1]
    missed = [(one["run"], one["gates"]) for one in json_lines() if one["label"] == "w3"]
    assert missed == [("one", {"roc_auc": True}), ("two", {"roc_auc": False})] * 2
    alone = clfeval("report", "one.csv", "--id", "id", *HELD)
    assert alone.code == 2
    check_text(alone.err)


def test_a_batch_is_accepted_where_all_of_it_is_fine() -> None:
    Path("s.yaml").write_text(SUITE, encoding="utf-8")
    write_table("one.csv", ".9 .8 .7 .3 .2 .1")
    write_table("two.csv", ".9 .8 .3 .4 .2 .1")
    done = batch("w1", "--accept")
    assert (done.code, [one["accepted"] for one in json_lines() if "accepted" in one]) == (
        0,
        ["w1"],
    )
    check_text(done.err)
    write_table("two.csv", ".9 .8 .1 .4 .3 .2")
    done = batch("w2", "--accept")
    assert done.code == 1
    check_text(done.err)
    assert [one["accepted"] for one in json_lines() if "accepted" in one] == ["w1"]
    assert len(json_lines()) == 5
