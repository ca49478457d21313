"""A file of `count` that holds no counts says so when it is written, and when it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

import clfeval
from clfeval.errors import UsageError
from clfeval.placeholders import fill_for_shell
from clfeval.views.files import summary_notes

LABELS = Path(__file__).parents[2] / "fixtures" / "breast-cancer" / "labels.csv"


def test_a_summary_is_announced_when_it_is_saved(tmp_path: Path) -> None:
    counts = clfeval.count(LABELS, positive="malignant")
    with pytest.warns(UserWarning, match=r"a\.json is a summary without the counts"):
        counts.save(tmp_path / "a.json")


def test_counts_beside_a_summary_need_no_word() -> None:
    assert summary_notes(["a.json", "a.counts.parquet"]) == ()
    assert summary_notes(["page.html"]) == ()
    (note,) = summary_notes(["counts.json"])
    assert fill_for_shell(note.message).endswith("--save counts.counts.parquet")


def test_two_summaries_are_refused_with_the_right_remedy(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.json", "b.json")]
    counts = clfeval.count(LABELS, positive="malignant")
    with pytest.warns(UserWarning, match="are summaries without the counts"):
        counts.save(*paths)
    for command in (clfeval.report, clfeval.mars):
        with pytest.raises(UsageError) as error:
            command(paths)
        assert "holds no counts" in str(error.value)
        assert "a.counts.parquet" in str(error.value.hint)
