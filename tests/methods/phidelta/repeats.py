"""Cross-validation repeated three times, in every layout, and what phidelta makes of it."""

from __future__ import annotations

import numpy as np
import polars as pl

import clfeval
from clfeval.api.result import Result
from tests.methods.phidelta.byhand import Cells, cells_shown
from tests.results import rows_by
from tests.shell import at_shell
from tests.tables.door import Door

# the same ids stand once in each run
DICE = np.random.default_rng(8)
FOLDS = ["1", "2", "10"]
WIDE = pl.DataFrame(
    {
        "id": [f"r{i}" for i in range(20)] * 3,
        "fold": np.repeat(FOLDS, 20),
        "truth": np.tile(DICE.integers(0, 2, 20), 3),
        "a": DICE.integers(0, 2, 60),
        "b": DICE.integers(0, 2, 60),
    }
)
LONG = WIDE.unpivot(
    index=["id", "fold", "truth"], variable_name="model", value_name="prediction"
).sample(fraction=1, shuffle=True, seed=1)


def cells_of_model(frame: pl.DataFrame, model: str) -> Cells:
    """Count one model's cells in a wide table."""
    pairs = list(zip(frame["truth"].to_list(), frame[model].to_list(), strict=True))
    return Cells(pairs.count((1, 1)), pairs.count((0, 1)), pairs.count((1, 0)), pairs.count((0, 0)))


EXPECTED = {
    (model, fold): cells_of_model(WIDE.filter(pl.col("fold") == fold), model)
    for model in ("a", "b")
    for fold in FOLDS
}
COUNTS = pl.DataFrame(
    [(m, r, c.tp, c.fp, c.fn, c.tn) for (m, r), c in EXPECTED.items()],
    schema=["model", "fold", "tp", "fp", "fn", "tn"],
    orient="row",
)


def cells_by_run(result: Result) -> dict[tuple[str, str], Cells]:
    """Return the cells of each model and run."""
    return {key: cells_shown(row) for key, row in rows_by(result, "runs", "model", "run").items()}


refusal = Door(at_shell(clfeval.phidelta)).refusal
