"""The signature: what changes it, what must not, and documents that are the same to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from tests.samples import informed_scores

DICE = np.random.default_rng(4)
TRUTH = DICE.integers(0, 2, 80)
FRAME = pl.DataFrame(
    {
        "truth": TRUTH,
        "a": informed_scores(DICE, TRUTH, 0.3, 2),
        "b": np.round(DICE.random(80), 2),
        "n": DICE.integers(1, 4, 80),
        "fold": DICE.integers(1, 4, 80),
        "seed": DICE.integers(1, 4, 80),
    }
)
PLAIN = FRAME.drop("fold", "seed", "n")
MODELS: dict[str, Any] = {"model": ["a", "b"]}


def signature_parts(result: clfeval.Result) -> dict[str, str]:
    return dict(part.split(":", 1) for part in result.signature.split("|"))


def tables_of(result: clfeval.Result) -> Any:
    """Return the tables as they are in a document."""
    return result.to_dict()["tables"]


def test_row_order_changes_the_data_and_never_the_statistics(tmp_path: Path) -> None:
    options: dict[str, Any] = {"run": "fold", "reference": "a", "curve": True, **MODELS}
    FRAME.write_csv(tmp_path / "one.csv")
    FRAME.sample(fraction=1, shuffle=True, seed=3).write_csv(tmp_path / "two.csv")
    FRAME.write_parquet(tmp_path / "one.parquet")
    FRAME.reverse().write_ndjson(tmp_path / "two.ndjson")
    names = ["one.csv", "two.csv", "one.parquet", "two.ndjson"]
    results = [clfeval.phidelta(tmp_path / name, **options) for name in names]
    assert len({signature_parts(result)["data"] for result in results}) == 4
    assert len({signature_parts(result)["stats"] for result in results}) == 1
    settings = [{k: v for k, v in signature_parts(r).items() if k != "data"} for r in results]
    assert all(parts == settings[0] for parts in settings)
    assert all(tables_of(result) == tables_of(results[0]) for result in results)


SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "level": ({"level": 0.9}, {"level": 0.95}),
    "interval": ({"interval": "none"}, {}),
    "threshold": ({"threshold": 0.4}, {"threshold": 0.5}),
    "one threshold": ({"threshold": {"a": 0.4}}, {"threshold": {"b": 0.4}}),
    "positive": ({"positive": 0}, {"positive": 1}),
    "weight": ({"weight": "n"}, {}),
    "models": ({"model": "a"}, {"model": "b"}),
    "which runs": ({"run": "fold"}, {"run": "seed"}),
    "which slices": ({"by": "fold"}, {"by": "seed"}),
    "reference": ({"reference": "a"}, {"reference": "b"}),
    "prevalence": ({"prevalence": 0.1}, {"prevalence": 0.2}),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_that_changes_numbers_changes_the_signature(setting: str) -> None:
    """DESIGN 5: the settings that change numbers stand in the signature."""
    result, changed = (
        clfeval.phidelta(FRAME, **(MODELS | options)) for options in SETTINGS[setting]
    )
    assert tables_of(result) != tables_of(changed)
    assert result.signature != changed.signature


@pytest.mark.parametrize(
    "options", [{"points": 5}, {"isometrics": {"precision": [0.5]}}, {"id": "row"}], ids=str
)
def test_a_setting_that_only_lists_more_or_less_changes_nothing(options: dict[str, Any]) -> None:
    frame = PLAIN.with_row_index("row")
    result = clfeval.phidelta(frame, curve=True, **MODELS, **options)
    plain = clfeval.phidelta(frame, curve=True, **MODELS)
    assert result.signature == plain.signature


def test_the_statistics_of_a_curve_are_its_scores() -> None:
    """Two tables with the same votes at the threshold and other scores have other curves."""
    pushed = PLAIN.with_columns(a=pl.when(pl.col("a") >= 0.5).then(1.0).otherwise(0.0))
    result, changed = (clfeval.phidelta(frame, curve=True) for frame in (PLAIN, pushed))
    assert result.tables["models"] == changed.tables["models"]
    assert result.tables["curves"] != changed.tables["curves"]
    assert signature_parts(result)["stats"] != signature_parts(changed)["stats"]


def test_the_statistics_of_a_comparison_are_the_votes_together() -> None:
    """Two tables whose models agree on other rows have other paired intervals."""
    truth = [1, 1, 1, 1, 0, 0, 0, 0]
    a = [1, 1, 0, 0, 1, 1, 0, 0]
    result, changed = (
        clfeval.phidelta(pl.DataFrame({"truth": truth, "a": a, "b": b}), reference="a")
        for b in ([1, 1, 0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0, 1, 1])
    )
    assert result.tables["comparisons"] != changed.tables["comparisons"]
    assert signature_parts(result)["stats"] != signature_parts(changed)["stats"]


def test_the_statistics_of_runs_are_those_of_each_run() -> None:
    """The same rows dealt to the runs in another way spread in another way."""
    frame = FRAME.select("truth", "a", "fold")
    dealt = frame.with_columns(fold=pl.col("fold").reverse())
    result, changed = (clfeval.phidelta(table, run="fold") for table in (frame, dealt))
    assert result.tables["run_spread"] != changed.tables["run_spread"]
    assert signature_parts(result)["stats"] != signature_parts(changed)["stats"]
