"""One question has one answer: the same comparison by two commands, and of files or one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from tests.results import rows_by, rows_of, value_of
from tests.samples import labels_right_at

SHOWN = ("difference", "p", "p_adjusted", "difference_adjusted", "verdict")


def predictions(rows: int = 240) -> pl.DataFrame:
    """Return labels of models, one of them twice, with sites, patients, folds and weights."""
    dice = np.random.default_rng(28)
    truth = (dice.random(rows) < 0.4).astype(int)
    labels = {
        name: labels_right_at(dice, truth, rate)
        for name, rate in {"old": 0.85, "new": 0.8, "far": 0.65}.items()
    }
    return pl.DataFrame(
        {
            "id": np.arange(rows),
            "truth": truth,
            **labels,
            "twin": labels["old"],
            "site": [f"s{i % 3}" for i in range(rows)],
            "patient": [f"p{i // 4}" for i in range(rows)],
            "fold": np.arange(rows) % 4,
            "often": dice.integers(1, 5, rows),
            "share": dice.gamma(3, 1, rows),
        }
    )


def differences(result: Result) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return what is known of each difference, slices against the rest of them left out."""
    return {
        (row["against"], row["slice"], row["measure"], row["model"], row["reference"]): {
            name: row[name] for name in SHOWN
        }
        for row in result.tables["comparisons"]
        if row["against"] != "slice"
    }


@pytest.mark.parametrize(
    ("used", "options"),
    [
        ((), {}),
        (("site",), {"by": "site"}),
        (("patient",), {"cluster": "patient"}),
        (("often",), {"weight": "often"}),
        (("share",), {"weight": "share"}),
        (("site", "patient", "share"), {"weight": "share", "cluster": "patient", "by": "site"}),
        (("site", "often"), {"weight": "often", "by": "site", "level": 0.8}),
        (("fold",), {"run": "fold"}),
    ],
    ids=lambda columns: " ".join(columns) or "plain",
)
def test_phidelta_and_report_compare_alike_to_the_last_digit(
    used: tuple[str, ...], options: dict[str, Any]
) -> None:
    table = predictions()
    frame = table.select("id", "truth", "old", "new", "far", "twin", *used)
    compared = differences(clfeval.phidelta(frame, reference="old", **options))
    report = clfeval.report(frame, reference="old", measure=["delta", "phi"], **options)
    expected = {key: row for key, row in differences(report).items() if key[2] in ("delta", "phi")}
    assert len(compared) == 3 * 2 * (4 if "by" in options else 1)
    assert compared == expected
    twins = [row for key, row in compared.items() if key[3] == "twin"]
    assert all(row["p"] == 1 and row["difference"].low < 0 for row in twins)


def runs_of_seeds() -> pl.DataFrame:
    dice = np.random.default_rng(3)
    truth = np.arange(60) % 2
    return pl.concat(
        [
            pl.DataFrame(
                {
                    "id": np.arange(60),
                    "seed": seed,
                    "truth": truth,
                    **{
                        name: labels_right_at(dice, truth, rate)
                        for name, rate in {"old": 0.85, "new": 0.75}.items()
                    },
                }
            )
            for seed in range(5)
        ]
    )


def test_runs_of_the_same_rows_have_the_same_means_and_differences() -> None:
    result = clfeval.phidelta(runs_of_seeds(), run="seed", reference="old")
    report = clfeval.report(runs_of_seeds(), run="seed", reference="old", measure=["delta", "phi"])
    reported = differences(report)
    for key, row in differences(result).items():
        assert row == reported[key]
        assert row["p"] is not None
    means = rows_by(report, "run_spread", "measure", "model")
    for row in rows_of(result, "run_spread"):
        for metric in ("delta", "phi"):
            mean = means[metric, row["model"]]
            assert (row[f"{metric}_sd"], row["runs"]) == (mean["sd"], mean["runs"])
            assert value_of(row[f"{metric}_mean"]) == value_of(mean["mean"])


CASES = {
    "scores": ("scores.csv", {"measure": ["all"], "positive": "malignant", "resamples": 100}),
    "labels": ("labels.csv", {"measure": ["all"], "positive": "malignant"}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "shuffled",
    [*(pytest.param(one, marks=pytest.mark.slow) for one in ((), ("old",))), ("new", "old")],
    ids=str,
)
def test_files_joined_by_id_compare_as_one_table_to_the_last_digit(
    case: str, shuffled: tuple[str, ...], fixtures: Path, tmp_path: Path
) -> None:
    name, options = CASES[case]
    table = pl.read_csv(fixtures / "breast-cancer" / name)
    one = table.select("id", "truth", new="svm", tree="tree", old="logreg")
    parts = {
        "new": one.select("id", "truth", "new", "tree"),
        "old": one.select("id", "truth", "old"),
    }
    files = []
    for part, frame in parts.items():
        mixed = frame.sample(fraction=1, shuffle=True, seed=5) if part in shuffled else frame
        mixed.rename({part: f"{part}_"}).write_csv(tmp_path / f"{part}.csv")
        files.append(str(tmp_path / f"{part}.csv"))
    whole = clfeval.report(one.rename({"new": "new_", "old": "old_"}), reference="old_", **options)
    joined = clfeval.report(files, join="id", reference="old_", **options)
    assert differences(joined) == differences(whole)
    assert len(differences(whole)) > 20
    mixed = one.sample(fraction=1, shuffle=True, seed=9)
    again = clfeval.report(
        mixed.rename({"new": "new_", "old": "old_"}), reference="old_", **options
    )
    assert differences(again) == differences(whole)


def test_files_of_class_probabilities_compare_as_one_table(tmp_path: Path) -> None:
    dice, ids = np.random.default_rng(1), [f"r{i}" for i in range(120)]
    truth, parts = dice.choice(["a", "b", "c"], 120), {}
    for name, apart in (("new", 1.5), ("old", 1.0)):
        z = np.exp(dice.normal(size=(120, 3)) + apart * (truth[:, None] == ["a", "b", "c"]))
        parts[name] = {
            f"_{k}": p for k, p in zip("abc", (z / z.sum(1, keepdims=True)).T, strict=True)
        }
        frame = pl.DataFrame(
            {"id": ids, "truth": truth, **{f"m{k}": p for k, p in parts[name].items()}}
        )
        frame.sample(fraction=1, shuffle=True, seed=2).write_csv(tmp_path / f"{name}.csv")
    columns = {f"{name}{k}": p for name, one in parts.items() for k, p in one.items()}
    whole = pl.DataFrame({"id": ids, "truth": truth, **columns})
    options: dict[str, Any] = {"reference": "old", "measure": ["all"], "renormalize": True}
    files = [f"{name}={tmp_path / name}.csv" for name in parts]
    joined = clfeval.report(files, join="id", **options)
    assert differences(joined) == differences(clfeval.report(whole, **options))
