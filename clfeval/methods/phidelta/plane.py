"""What classifiers and features share in a Result: corners, lines of equal measure, settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clfeval.measures.population import BALANCED
from clfeval.methods.phidelta.isometrics import corner_rows, isometric_rows
from clfeval.methods.phidelta.options import PlaneOptions
from clfeval.result import Table, Warn

# which interval belongs to what
INTERVAL_METHODS = {
    "shares of rows": "Clopper-Pearson",
    "phi, delta and what is linear in them": "Newcombe square-and-add of Wilson limits",
    "differences on the same rows": "Newcombe paired square-and-add",
    "other measures": "range over the score region (Newcombe 2011)",
    "gini, roc_auc": "DeLong, logit",
    "means over runs": "corrected resampled t (Nadeau-Bengio)",
    "joint region": "two Clopper-Pearson intervals at the square root of the level",
}


def plane_tables(plane: PlaneOptions) -> dict[str, Table]:
    """Return the corners of the diamonds to draw, and the lines asked for in each."""
    populations = [BALANCED, *(one for one in plane.populations if one.prevalence != 0.5)]
    tables: dict[str, Table] = {"corners": corner_rows(populations)}
    if plane.isometrics:
        tables["isometrics"] = isometric_rows(plane.isometrics, populations)
    return tables


def lines_missing(plane: PlaneOptions, tables: Mapping[str, Table], odds: str | None) -> list[Warn]:
    """Say which lines are nowhere in the diamond, and at which class ratio lines were taken."""
    drawn = {(row["measure"], row["value"]) for row in tables.get("isometrics", ())}
    said = []
    free = ("sensitivity", "specificity")
    if not plane.populations and any(name not in free for name, _ in plane.isometrics):
        text = (
            f"lines are drawn at equal classes (1:1); at the sample's ratio: --odds {odds or 'P:N'}"
        )
        said.append(Warn("lines-at-one-to-one", text))
    for name, values in plane.isometrics:
        lost = [f"{value:g}" for value in values if (name, value) not in drawn]
        if lost:
            text = f"no line of {name} {', '.join(lost)}: no more than a corner has it"
            said.append(Warn("no-line", text))
    return said


def plane_parameters(plane: PlaneOptions) -> dict[str, Any]:
    """Return the settings classifiers and features share."""
    return {
        "level": plane.level,
        "interval": plane.interval,
        "interval_methods": INTERVAL_METHODS if plane.confidence is not None else {},
        "prevalences": [
            {"prevalence": one.prevalence, "odds": one.odds} for one in plane.populations
        ],
        "isometrics": {name: list(values) for name, values in plane.isometrics},
    }
