"""The history among the fixtures: `python -m tests.history.weeks` writes it anew.

Twelve weeks of two models on 800 rows: other rows from week 5 on, another model from week 9 on.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from clfeval import report
from clfeval.api.baseline import history_entries
from clfeval.compare.history.file import AcceptedLabel, append_entries
from tests.samples import logistic

KEPT = Path(__file__).parent.parent.parent / "fixtures" / "history" / "weeks.jsonl"
WEEKS, ROWS_CHANGE, MODEL_CHANGES, ACCEPTED = 12, 5, 9, 2


def predictions_of_week(rows: int, *, broken: bool) -> pl.DataFrame:
    """Return predictions of 800 rows, which a seed draws; broken: `rf` knows less of them."""
    rng = np.random.default_rng([16, rows])
    truth = rng.random(800) < 0.3
    good, poor, other = (rng.normal(size=800) for _ in range(3))
    rf = 0.9 * truth + poor if broken else 1.6 * truth + good
    scores = {"rf": rf, "svm": 1.5 * truth + other}
    return pl.DataFrame(
        {
            "id": np.arange(800) + 1000 * rows,
            "truth": truth.astype(int),
            **{name: logistic(1.3 * z - 1.6, 4) for name, z in scores.items()},
        }
    )


def write(path: Path) -> None:
    """Write the history."""
    path.unlink(missing_ok=True)
    for week in range(1, WEEKS + 1):
        predictions = predictions_of_week(
            1 if week < ROWS_CHANGE else 2, broken=week >= MODEL_CHANGES
        )
        asked = report.compute  # type: ignore[attr-defined]
        found = asked(predictions, {"id": "id"}, lambda _: None, lambda _: "", truth=True)
        label = f"2026-W{week:02}"
        marks = [AcceptedLabel(found.command, label)] if week == ACCEPTED else []
        append_entries(str(path), [*history_entries(found, label), *marks])


if __name__ == "__main__":
    write(KEPT)
