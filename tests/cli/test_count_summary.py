"""A file of `count` that holds no counts says so when it is written, and when it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

import clfeval
from clfeval.errors import DataError, UsageError
from clfeval.placeholders import fill_for_shell
from clfeval.views.files import summary_notes
from tests.results import estimate_of, rows_by

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


@pytest.mark.parametrize("name", ["a.json", "a.csv", "a.counts.json"])
@pytest.mark.parametrize("command", ["report", "mars", "mlcps", "count"])
def test_a_summary_is_named_by_every_command_that_reads_tables(
    name: str, command: str, tmp_path: Path
) -> None:
    counts = clfeval.count(LABELS, positive="malignant")
    path = tmp_path / name
    with pytest.warns(UserWarning, match="is a summary without the counts"):
        counts.save(path)
    with pytest.raises(
        UsageError, match="a summary of clfeval count, which holds no counts"
    ) as error:
        getattr(clfeval, command)([str(path), str(LABELS)] if command == "report" else str(path))
    assert "a.counts.parquet" in str(error.value.hint)


def test_parquet_of_counts_has_its_own_suffix(tmp_path: Path) -> None:
    counts = clfeval.count(LABELS, positive="malignant")
    with pytest.raises(UsageError, match=r"write counts as .*cnt\.counts\.parquet"):
        counts.save(tmp_path / "cnt.parquet")


def test_columns_in_one_option_are_named_one_by_one(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("site,sex,truth,m\n" + "a,f,1,.9\nb,m,0,.2\na,m,1,.4\nb,f,0,.6\n" * 3)
    with pytest.raises(DataError) as error:
        clfeval.count(table, by="site,sex")
    assert error.value.hint == "repeat the option: by=['site', 'sex']"
    saved = clfeval.count(table, by=["site", "sex"])
    saved.save(tmp_path / "t.counts.parquet")
    options = {"interval": "none"}
    of_counts = clfeval.report(tmp_path / "t.counts.parquet", **options)
    of_rows = clfeval.report(table, by=["site", "sex"], **options)
    areas, areas_of_rows = (
        {
            label: estimate_of(row["roc_auc"]).value
            for label, row in rows_by(result, "slices", "slice").items()
        }
        for result in (of_counts, of_rows)
    )
    assert areas == areas_of_rows
    assert len(areas) == 4
