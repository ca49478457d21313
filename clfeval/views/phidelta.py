"""How a phi-delta result of classifiers reads: positions, rates, measures, runs, curves."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.result import Result, Row
from clfeval.views import phidelta_features as features
from clfeval.views.rows import DIGITS, Section, section

LISTED = 60  # rows of a table shown to a person; files get them all
_DELTA = "δ ↑  sensitivity + specificity - 1: 1 oracle, 0 chance, -1 anti-oracle"
_PHI = "φ    sensitivity - specificity: 1 always positive, 0 no lean, -1 always negative"


def headline(result: Result) -> list[str]:
    """Say what was read, what is positive, and what the two measures mean."""
    if result.parameters["mode"] == "features":
        return features.headline(result)
    summary, names = result.summary, ", ".join(item.name for item in result.inputs)
    first = f"φ-δ of {names}: {classes(result)}"
    if summary.get("runs"):
        first += f", {summary['runs']} runs"
    return [first, _DELTA, _PHI]


def classes(result: Result) -> str:
    """Say how many rows there are of each class."""
    summary, parameters = result.summary, result.parameters
    if summary["rows"] is None:
        return "models with class totals of their own"
    negative = [f"'{name}'" for name in parameters["negative"]]
    others = " and ".join(negative) if len(negative) < 3 else f"{len(negative)} other classes"
    rows = f"{summary['rows']:,.10g} row{'s' * (summary['rows'] != 1)}"
    return (
        f"{rows}, {summary['positives']:,.10g} positive ('{parameters['positive']}'), "
        f"{summary['negatives']:,.10g} negative ({others or 'none'})"
    )


def sections(result: Result, *, digits: int = DIGITS) -> list[Section]:
    """Return the tables in reading order."""
    if result.parameters["mode"] == "features":
        return features.sections(result, digits=digits)
    models = list(result.tables["models"])
    sliced = ["slice"] if any(row["slice"] is not None for row in models) else []
    cut = ["threshold"] if any(row["threshold"] is not None for row in models) else []
    named, level = [*sliced, "model"], result.parameters["level"]

    def part(title: str, columns: list[str], rows: Sequence[Row], name: str = "") -> Section:
        shown = [whole(row) for row in rows[:LISTED]]
        note = f"all of them: --format csv{' --table ' + name if name else ''}"
        return section(
            title, shown, columns, digits=digits, level=level, total=len(rows),
            note=note if len(rows) > LISTED else "",
        )  # fmt: skip

    def given(title: str, name: str, columns: list[str]) -> list[Section]:
        return [part(title, columns, result.tables[name], name)] if name in result.tables else []

    pooled = ", all runs' rows together" if "runs" in result.tables else ""
    position = f"Position in the diamond{pooled}"
    ratio = result.summary["odds"]
    at = f"at the sample's class ratio, {ratio}" if ratio else "at each model's class ratio"
    return [
        part(position, [*named, "phi", "delta", "reading"], _read(models)),
        *given(
            f"Difference from {result.parameters['reference']}, on the same rows", "comparisons",
            [*named, "phi_difference", "delta_difference", "differing_positives",
             "differing_negatives"],
        ),
        *given(
            "Runs together", "run_spread",
            ["model", "runs", "phi_mean", "phi_sd", "delta_mean", "delta_sd", "covariance",
             "accuracy_u_mean", "accuracy_u_sd", "bias", "variance"],
        ),
        *given(
            "Models over the runs", "run_comparisons",
            ["model", "reference", "runs", "delta_difference", "phi_difference", "t", "df",
             "p_value"],
        ),
        *given("Each run", "runs", ["model", "run", "sensitivity", "specificity", "phi", "delta"]),
        *given(
            "Curves", "curves",
            [*named, "gini", "roc_auc", "best_delta", "best_phi", "best_threshold",
             "break_even_delta", "break_even_threshold"],
        ),
        *given(
            "In other populations", "populations",
            [*named, "prevalence", "odds", "phi_b", "delta_b", "accuracy", "precision", "npv",
             "mutual_information"],
        ),
        part(
            "Rates",
            [*named, *cut, "tp", "fp", "fn", "tn", "sensitivity", "specificity"], models,
        ),
        part(
            "Without the class ratio (1:1)",
            [*named, "accuracy_u", "precision_u", "npv_u", "f1_u", "mcc_u",
             "mutual_information_u"], models,
        ),
        part(
            f"With it: {at}",
            [*named, "accuracy", "precision", "npv", "f1", "mcc", "mutual_information", "phi_b",
             "delta_b"], models,
        ),
        *_region(models, named, digits, level),
    ]  # fmt: skip


def whole(row: Row) -> Row:
    """Name the whole table among its slices."""
    return {**row, "slice": row["slice"] or "(all)"} if "slice" in row else row


def _read(models: Sequence[Row]) -> list[Row]:
    return [
        {**row, "reading": row["reading"] or f"withheld: {row['reading_withheld']}"}
        for row in models
    ]


def _region(models: Sequence[Row], named: list[str], digits: int, level: float) -> list[Section]:
    """Show the joint region, where there are intervals."""
    part = section(
        f"Joint {level * 100:g} % region of the point", [whole(row) for row in models[:LISTED]],
        [*named, "region_sensitivity", "region_specificity"], digits=digits, level=level**0.5,
    )  # fmt: skip
    if len(part.headings) < len(named) + 4:
        return []
    headings = tuple("from .. to" if "%" in title else title for title in part.headings)
    note = "both intervals exact, each at the square root of the level"
    return [Section(part.title, headings, part.rows, part.numeric, note)]
