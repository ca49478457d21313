"""The file: places of what is wrong, repeated labels, acceptance, merges, what to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clfeval.compare.baseline.read import baseline_lines
from clfeval.compare.history.file import AcceptedLabel, HistoryLine, append_entries, read_history
from clfeval.errors import UsageError
from tests.history.lines import history_measure, history_of, line
from tests.texts import check_text, problem_places

A, B = history_measure(0.8, 0.02), history_measure(0.7, 0.02)


def refused(name: str = "h.jsonl", **asked: str) -> list[str]:
    """Return the places of what is wrong with a history; what is said is kept."""
    with pytest.raises(UsageError) as caught:
        baseline_lines(name, asked.pop("command", "report"), {}, **asked)
    check_text(str(caught.value))
    return problem_places(str(caught.value))


def compared_lines(
    name: str, command: str, models: Sequence[str] = (), **asked: Any
) -> dict[str, HistoryLine]:
    """Return what models of today, on rows of their own, are compared with."""
    now = {model: line("now", model, "ids:now") for model in models}
    return baseline_lines(name, command, now, **asked)[0]


WHOLE = line("W1", auc=A).text().encode()
NEWER = WHOLE.replace(b"history/1", b"history/7")
BROKEN: dict[str, tuple[bytes, list[str]]] = {  # where
    "lines": (WHOLE + b"{\n\n  \n" + NEWER + b"\xff\n" + WHOLE, [":2", ":5", ":6"]),
    "a newer program": (WHOLE + NEWER, [":2"]),
    "a merge": (b"<<<<<<< ours\n" + WHOLE + b"=======\n" + WHOLE + b">>>>>>> b\n", [":1"]),
    "no history": (b"version: 1\nruns: {}\n", [""]),
    "a label that no line has": (AcceptedLabel("report", "W9").text().encode(), [":1"]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_every_broken_line_is_named_with_its_number(case: str) -> None:
    content, places = BROKEN[case]
    Path("h.jsonl").write_bytes(content)
    assert refused()[: len(places)] == [f"h.jsonl{place}: [history]" for place in places]


def test_lines_of_both_sides_of_a_merge_are_read_in_any_order() -> None:
    one, other = line("W1", auc=A).text(), line("W2", auc=B).text()
    for text in (one + other, other + one):
        Path("h.jsonl").write_text(text, encoding="utf-8")
        assert {item.label for item in read_history("h.jsonl").lines} == {"W1", "W2"}


def test_a_run_that_is_repeated_replaces_its_lines_in_their_place() -> None:
    found = history_of([line("W1", auc=A), line("W2", auc=A), line("W1", auc=B)])
    assert [(one.label, one.measures["auc"]) for one in found.lines] == [("W1", B), ("W2", A)]


def test_what_was_accepted_stays_as_it_was_then() -> None:
    found = history_of([line("W1", auc=A), AcceptedLabel("report", "W1"), line("W1", auc=B)])
    (held,) = found.accepted.values()
    assert held.measures["auc"] == A


def test_the_last_acceptance_counts() -> None:
    found = history_of(
        [
            line("W1", auc=A),
            line("W2", auc=B),
            AcceptedLabel("report", "W2"),
            AcceptedLabel("report", "W1"),
        ]
    )
    assert [one.label for one in found.accepted.values()] == ["W1"]


def test_an_acceptance_may_stand_above_its_lines_as_where_a_merge_sorted_them() -> None:
    entries = [line("W1", auc=A), AcceptedLabel("report", "W1"), line("W2", auc=B)]
    texts = sorted(one.text() for one in entries)
    assert '"accepted"' in texts[0]
    Path("h.jsonl").write_text("".join(texts), encoding="utf-8")
    found = read_history("h.jsonl")
    assert [(one.label, one.measures["auc"]) for one in found.accepted.values()] == [("W1", A)]


def auc_of(found: dict[str, HistoryLine], model: str) -> float | None:
    return found[model].measures["auc"].value


def test_each_model_is_held_to_its_accepted_line_else_to_its_first() -> None:
    history_of(
        [
            line("W1", auc=A),
            line("W1", "svm", auc=A),
            AcceptedLabel("report", "W1"),
            line("W2", auc=B),
            line("W2", "svm", auc=B),
            line("W2", "new", auc=B),
        ]
    )
    found = compared_lines("h.jsonl", "report", ["new", "other"])
    assert [auc_of(found, one) for one in ("rf", "svm", "new")] == [0.8, 0.8, 0.7]
    assert "other" not in found
    assert [*compared_lines("h.jsonl", "report", but="W2")] == ["rf", "svm"]
    assert auc_of(compared_lines("h.jsonl", "report", but="W1"), "rf") == 0.8  # it was accepted


def test_where_none_was_accepted_a_line_that_missed_a_gate_is_none_to_be_held_to() -> None:
    history_of(
        [
            line("W1", auc=A, gates={"auc": True}),
            line("W2", auc=B, gates={"auc": False}),
            line("W1", "svm", auc=A, gates={"auc": False}),
        ]
    )
    found = compared_lines("h.jsonl", "report")
    assert {name: one.label for name, one in found.items()} == {"rf": "W1"}


SAME = {  # accepted, rows and value of today -> label it is compared with, labels of the same rows
    "a week that is there already": (None, "ids:c", A, "W1", ["W3"]),
    "the same rows by another model": (None, "ids:c", B, "W1", ["W3"]),
    "the same rows under an earlier label": (None, "ids:a", A, "W2", ["W1"]),
    "rows of their own": (None, "ids:x", A, "W1", []),
    "the accepted week": ("W3", "ids:c", A, "W3", ["W3"]),
    "rows nobody can tell": (None, None, A, "W1", []),
}


@pytest.mark.parametrize("case", SAME)
def test_a_run_is_not_compared_with_itself_where_there_is_another(case: str) -> None:
    accepted, truth, auc, label, same = SAME[case]
    weeks = [
        line("W1", truth="ids:a", auc=A),
        line("W2", truth="ids:b", auc=B),
        line("W3", truth="ids:c", auc=A),
    ]
    history_of([*weeks, *([AcceptedLabel("report", accepted)] if accepted else [])])
    now = {"rf": replace(line("now", truth=truth, auc=auc), data=("other",))}
    found, known, _ = baseline_lines("h.jsonl", "report", now)
    assert (found["rf"].label, known) == (label, same)
    history_of(weeks[2:])  # there is no other
    found, known, _ = baseline_lines("h.jsonl", "report", {"rf": weeks[2]})
    assert (found["rf"].label, known) == ("W3", ["W3"])
    assert baseline_lines("h.jsonl", "report", {"rf": weeks[2]}, but="W3") == ({}, [], set())


def test_a_model_that_was_given_up_counts_until_a_label_without_it_is_accepted() -> None:
    weeks = [line("W1", auc=A), line("W1", "svm", auc=A), AcceptedLabel("report", "W1")]
    history_of([*weeks, line("W2", auc=A)])
    assert [*compared_lines("h.jsonl", "report", ["rf"])] == ["rf", "svm"]
    history_of([*weeks, line("W2", auc=A), AcceptedLabel("report", "W2")])
    assert [*compared_lines("h.jsonl", "report", ["rf"])] == ["rf"]
    assert [*compared_lines("h.jsonl", "report", ["svm"])] == ["rf", "svm"]  # it is here again


def test_where_none_is_accepted_the_last_label_says_which_models_there_are() -> None:
    history_of([line("W1", auc=A), line("W1", "svm", auc=A), line("W2", auc=A)])
    assert [*compared_lines("h.jsonl", "report", ["rf"])] == ["rf"]
    assert [*compared_lines("h.jsonl", "report", ["rf"], but="W2")] == ["rf", "svm"]


def test_lines_of_a_run_are_for_that_run() -> None:
    history_of(
        [line("W1", auc=A, run="one"), line("W1", auc=B, run="two"), AcceptedLabel("report", "W1")]
    )
    assert auc_of(compared_lines("h.jsonl", "report", run="two"), "rf") == 0.7
    assert compared_lines("h.jsonl", "report", run="three") == {}
    assert compared_lines("h.jsonl", "mars") == {}
    assert refused() == ["h.jsonl: [history]"]
    refused("gone.jsonl")


def test_a_last_line_without_its_end_is_ended_or_refused() -> None:
    whole = WHOLE
    Path("h.jsonl").write_bytes(whole.rstrip(b"\n"))
    append_entries("h.jsonl", [line("W2", auc=A)])
    assert [one.label for one in read_history("h.jsonl").lines] == ["W1", "W2"]
    torn = whole + whole[: len(whole) // 2]
    Path("h.jsonl").write_bytes(torn)
    with pytest.raises(UsageError) as caught:
        append_entries("h.jsonl", [line("W2", auc=A)])
    assert problem_places(str(caught.value)) == ["h.jsonl:2: [history]"]
    check_text(str(caught.value))
    assert Path("h.jsonl").read_bytes() == torn


def test_a_link_and_permissions_stay() -> None:
    Path("real").mkdir()
    append_entries("real/h.jsonl", [line("W1", auc=A)])
    Path("real/h.jsonl").chmod(0o640)
    Path("h.jsonl").symlink_to("real/h.jsonl")
    append_entries("h.jsonl", [line("W2", auc=A)])
    assert Path("h.jsonl").is_symlink()
    assert Path("real/h.jsonl").stat().st_mode & 0o777 == 0o640
    assert len(read_history("real/h.jsonl").lines) == 2


def test_a_device_is_no_history() -> None:
    """Some never end."""
    with pytest.raises(UsageError, match="it is a device"):
        read_history("/dev/zero")
