"""The one table of measures: what each is called, which way is better, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure's record; `best` says which way is better, `low` and `high` are its range."""

    id: str
    title: str
    best: Literal["max", "min"]
    low: float
    high: float
    formula: str
    undefined: str
    source: str
    aliases: tuple[str, ...] = ()

    @property
    def arrow(self) -> str:
        """The direction sign of table headers."""
        return "↑" if self.best == "max" else "↓"


_MARS = "Restrepo et al. 2022, F1000Research 11:391 v2"

CATALOG: dict[str, Measure] = {
    measure.id: measure
    for measure in (
        Measure(
            "accuracy", "accuracy", "max", 0, 1, "(TP + TN) / (P + N)",
            "too_few_rows", "textbook", ("acc",),
        ),
        Measure(
            "precision", "precision", "max", 0, 1, "TP / (TP + FP)",
            "no_positive_prediction", "textbook", ("ppv",),
        ),
        Measure(
            "recall", "recall", "max", 0, 1, "TP / P",
            "no_positive_truth", "textbook", ("sensitivity", "sens", "tpr"),
        ),
        Measure(
            "shine_through", "ShineThrough", "max", 0, 1,
            "rows of the target class found by S and by no model outside / rows found by any model",
            "nothing_found", _MARS,
        ),
        Measure(
            "occlusion", "Occlusion", "min", 0, 1,
            "rows of the target class missed by S and found by every model outside (rule all; some"
            " model outside under rule any) / rows found by any model",
            "nothing_found, or no_other_model when S holds every model", _MARS,
        ),
        Measure(
            "yield", "yield", "max", 0, 1, "covered / effort", "zero_margin", _MARS,
        ),
    )
}  # fmt: skip


def find_measure(name: str) -> Measure | None:
    """Look a measure up by id or alias."""
    folded = name.casefold()
    if folded in CATALOG:
        return CATALOG[folded]
    return next((m for m in CATALOG.values() if folded in m.aliases), None)
