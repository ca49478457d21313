"""Every file a run: the same numbers as --run on the files put under one another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from tests.methods.phidelta.byhand import Cells, cells_shown, counts_frame
from tests.methods.phidelta.repeats import (
    COUNTS,
    EXPECTED,
    FOLDS,
    LONG,
    WIDE,
    cells_by_run,
    refusal,
)
from tests.results import problem_codes, row_of, rows_of


@pytest.fixture
def folds(tmp_path: Path) -> list[Path]:
    """The table WIDE, one file for each fold."""
    return write_folds(tmp_path, WIDE)


def write_folds(folder: Path, frame: pl.DataFrame, suffix: str = "csv") -> list[Path]:
    """Write a file for each fold; return their paths."""
    paths = []
    for fold in FOLDS:
        paths.append(folder / f"fold{fold}.{suffix}")
        part = frame.filter(pl.col("fold") == fold).drop("fold")
        getattr(part, f"write_{suffix}")(paths[-1])
    return paths


def tables_by_fold(result: Result) -> dict[str, Any]:
    """Return the tables with files called by their fold."""
    tables = {}
    for name, rows in result.to_dict()["tables"].items():
        for row in rows:
            if "run" in row:
                row["run"] = row["run"].removeprefix("fold").split(".")[0]
        tables[name] = rows
    return tables


@pytest.mark.parametrize("layout", ["wide", "long", "counts"])
@pytest.mark.parametrize("options", [{}, {"reference": "b"}], ids=str)
def test_run_files_equal_run_on_the_whole(
    layout: str, options: dict[str, Any], tmp_path: Path
) -> None:
    frame = {"wide": WIDE, "long": LONG, "counts": COUNTS}[layout]
    by_file = clfeval.phidelta(write_folds(tmp_path, frame), run_files=True, **options)
    together = clfeval.phidelta(frame, run="fold", **options)
    assert tables_by_fold(by_file) == tables_by_fold(together)
    assert by_file.summary == together.summary
    assert by_file.parameters["run_files"] is True


def test_runs_are_called_by_their_files_in_natural_order(folds: list[Path]) -> None:
    result = clfeval.phidelta(folds[::-1], run_files=True)
    names = [row["run"] for row in rows_of(result, "runs", model="a")]
    assert names == ["fold1.csv", "fold2.csv", "fold10.csv"]
    assert [file.name for file in result.inputs] == names[::-1]


def test_a_report_takes_files_as_runs_too(folds: list[Path]) -> None:
    """Means, runs and comparisons are those of one table with a column of runs."""
    by_file = clfeval.report(folds, run_files=True, reference="b")
    together = clfeval.report(WIDE, run="fold", reference="b")
    assert tables_by_fold(by_file)["runs"] == tables_by_fold(together)["runs"]
    for name in ("run_spread", "comparisons"):
        assert by_file.tables[name] == together.tables[name]
    assert {row["slice"] for row in by_file.tables["confusion"]} == {
        f"file=fold{fold}.csv" for fold in FOLDS
    }
    assert by_file.parameters["run_files"] is True
    assert "|run:file|" in by_file.signature


def test_two_files_of_one_name_are_two_runs(tmp_path: Path) -> None:
    paths = []
    for fold in FOLDS:
        (tmp_path / fold).mkdir()
        paths.append(tmp_path / fold / "preds.csv")
        WIDE.filter(pl.col("fold") == fold).drop("fold").write_csv(paths[-1])
    result = clfeval.phidelta(paths, run_files=True)
    assert len(cells_by_run(result)) == 2 * 3
    assert sorted(map(str, cells_by_run(result).values())) == sorted(map(str, EXPECTED.values()))


def test_files_with_different_models_are_refused(tmp_path: Path) -> None:
    paths = write_folds(tmp_path, LONG)
    LONG.filter((pl.col("fold") == "2") & (pl.col("model") == "a")).drop("fold").write_csv(paths[1])
    error = refusal(paths, run_files=True)
    assert {*problem_codes(error)} == {"unequal-ids"}
    assert all(str(problem.file).endswith("fold2.csv") for problem in error.problems)


def test_counts_files_may_hold_different_models(tmp_path: Path) -> None:
    three, four = Cells(3, 1, 2, 4), Cells(4, 2, 1, 3)
    counts_frame({"a": three, "b": four}).write_csv(tmp_path / "x.csv")
    counts_frame({"a": four}).write_csv(tmp_path / "y.csv")
    result = clfeval.phidelta([tmp_path / "x.csv", tmp_path / "y.csv"], run_files=True)
    assert cells_by_run(result) == {
        ("a", "x.csv"): three,
        ("a", "y.csv"): four,
        ("b", "x.csv"): four,
    }
    assert cells_shown(row_of(result, "models", model="a")) == three + four


def test_a_class_that_a_later_file_brings_needs_a_positive(tmp_path: Path) -> None:
    """METHODS 0: the positive class defaults for {0, 1} only; the first file alone looks so."""
    pl.DataFrame({"truth": [0, 1], "m": [0, 1]}).write_csv(tmp_path / "x.csv")
    pl.DataFrame({"truth": [0, 1, 2], "m": [0, 1, 1]}).write_csv(tmp_path / "y.csv")
    paths = [tmp_path / "x.csv", tmp_path / "y.csv"]
    assert "positive-needed" in str(refusal(paths))  # read together
    assert "positive-needed" in str(refusal(paths[::-1], run_files=True))
    assert "positive-needed" in str(refusal(paths, run_files=True))
    result = clfeval.phidelta(paths, run_files=True, positive=1)
    assert cells_by_run(result)["m", "y.csv"] == Cells(1, 1, 0, 1)


@pytest.mark.parametrize("threshold", [None, 0.3, {"m": 0.3}], ids=str)
def test_scores_that_look_like_labels_in_the_first_file(threshold: Any, tmp_path: Path) -> None:
    """A tree may say 0 and 1 throughout one fold; the files together hold scores."""
    frames = {"x": ["1", "0", "0", "1"], "y": ["0.4", "0.2", "0.9", "0.6"]}
    folds = {
        name: pl.DataFrame({"truth": [1, 0, 1, 0], "m": scores}) for name, scores in frames.items()
    }
    for name, frame in folds.items():
        frame.write_csv(tmp_path / f"{name}.csv")
    whole = pl.concat(frame.with_columns(fold=pl.lit(name)) for name, frame in folds.items())
    whole.write_csv(tmp_path / "whole.csv")
    together = clfeval.phidelta(tmp_path / "whole.csv", run="fold", threshold=threshold)
    paths = [tmp_path / "x.csv", tmp_path / "y.csv"]
    by_file = clfeval.phidelta(paths, run_files=True, threshold=threshold)
    assert list(cells_by_run(by_file).values()) == list(cells_by_run(together).values())
    for result in (by_file, together):
        thresholds = [row["threshold"] for row in result.tables["runs"]]
        assert thresholds == [0.3 if threshold else 0.5] * 2


@pytest.mark.parametrize("layout", ["predictions", "counts"])
def test_one_file_is_no_several_runs(layout: str, tmp_path: Path) -> None:
    """The same mistake gets the same answer, whatever the table holds."""
    frame = WIDE.filter(pl.col("fold") == "1").drop("fold")
    if layout == "counts":
        frame = counts_frame({"a": Cells(3, 1, 2, 4)})
    frame.write_csv(tmp_path / "one.csv")
    error = refusal([tmp_path / "one.csv"], run_files=True)
    assert "--run COLUMN" in str(error.hint)


@pytest.mark.parametrize("layout", ["predictions", "counts"])
def test_run_files_with_by_is_refused(layout: str, tmp_path: Path, folds: list[Path]) -> None:
    paths = folds
    if layout == "counts":
        paths = [tmp_path / "x.csv", tmp_path / "y.csv"]
        for path in paths:
            counts_frame({"a": Cells(3, 1, 2, 4)}).with_columns(id=pl.lit("s")).write_csv(path)
    assert "--by" in str(refusal(paths, run_files=True, by="id"))


def test_counts_files_without_run_files_are_refused_and_it_is_offered(tmp_path: Path) -> None:
    for name in ("x.csv", "y.csv"):
        counts_frame({"a": Cells(3, 1, 2, 4)}).write_csv(tmp_path / name)
    error = refusal([tmp_path / "x.csv", tmp_path / "y.csv"])
    assert error.problems[0].code == "duplicate-row"
    assert "--run-files" in str(error.hint)


def test_one_file_twice_is_no_two_runs(folds: list[Path]) -> None:
    error = refusal([folds[0], folds[0]], run_files=True)
    assert "fold1.csv" in str(error)
    assert isinstance(error, clfeval.UsageError)
