"""What phidelta answers: who discriminates best, who cannot be told from it, who leans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clfeval.counts.patterns import PatternCounts
from clfeval.inference.shares import holm
from clfeval.methods.phidelta.tables import LEAN, Points, comparison_rows, run_comparison_rows
from clfeval.result import Answer, Estimate, Row, estimate
from clfeval.words import between, many, named, number, quoted

RATES = ("sensitivity", "specificity")


def classifier_answer(
    models: Sequence[Row], patterns: PatternCounts | None, level: float | None
) -> tuple[Answer, ...]:
    """Say who discriminates best, who cannot be told from it on the same rows, and who leans.

    models: the rows that speak for the whole table. Another model can be told from the best where
    the paired interval of the difference of delta excludes 0, each at 1 - (1 - level) / comparisons
    (Bonferroni), so that all hold together.
    """
    known = [row for row in models if estimate(row["delta"]).value is not None]
    if not known:
        return (Answer("no-position", "δ is undefined for every model: one class has no row."),)
    ranked = sorted(known, key=lambda row: -_value(row["delta"]))
    best, name = ranked[0], str(ranked[0]["model"])
    delta = estimate(best["delta"])
    most = "discriminates best:" if len(known) > 1 else "has"
    rates = ", ".join(f"{one} {number(_value(best[one]))}" for one in RATES)
    value = between(_value(delta), delta.low, delta.high)
    text = f"{quoted(name)} {most} δ {value} ({rates})."
    said = [Answer("best-delta", text, (name,), "delta", delta.value, delta.low, delta.high)]
    if patterns is not None and level is not None and len(known) > 1:
        said.append(_told_apart(name, ranked[1:], patterns, level))
    return (*said, *_useless(ranked), *_leaning(ranked))


def _told_apart(best: str, others: Sequence[Row], patterns: PatternCounts, level: float) -> Answer:
    each = 1 - (1 - level) / len(others)
    rows = {row["model"]: row for row in comparison_rows(None, patterns, best, each)}
    high = {
        str(row["model"]): estimate(rows[row["model"]]["delta_difference"]).high for row in others
    }
    return _equal(
        best, [name for name, end in high.items() if end is None or end >= 0], "On the same rows"
    )


def _equal(best: str, equal: Sequence[str], where: str) -> Answer:
    """Say who may be as good."""
    if not equal:
        text = f"{where} each other model discriminates less, for certain."
        return Answer("told-apart", text, (best,))
    names = named(equal, word="or")
    return Answer("not-told-apart", f"{where} it cannot be told from {names}.", tuple(equal))


def _useless(ranked: Sequence[Row]) -> list[Answer]:
    names = [str(row["model"]) for row in ranked if _covers(estimate(row["delta"]), 0.0)]
    if not names:
        return []
    text = f"{named(names)} cannot be told from chance (δ 0)."
    return [Answer("like-chance", text, tuple(names))]


def _leaning(ranked: Sequence[Row]) -> list[Answer]:
    """Name who leans for certain: the interval of phi lies beyond a tenth."""
    said = []
    for code, sign, errs in (
        ("leans-positive", 1, "more false alarms than misses"),
        ("leans-negative", -1, "more misses than false alarms"),
    ):
        names = [str(row["model"]) for row in ranked if _beyond(row["phi"], sign)]
        if names:
            lean = "lean" if len(names) > 1 else "leans"
            text = f"{named(names)} {lean} towards {code[6:]}: at equal classes {errs}."
            said.append(Answer(code, text, tuple(names), "phi"))
    return said


def run_answer(
    points: Points, spread: Sequence[Row], train_fraction: float | None, level: float | None
) -> tuple[Answer, ...]:
    """Say who discriminates best on average over runs, and whether a test tells the others from it.

    The corrected resampled t-tests of the differences from the best, under Holm's rule; there are
    none where nobody knows what share of the rows models were trained on.
    """
    known = [row for row in spread if estimate(row["delta_mean"]).value is not None]
    if not known:
        return (Answer("no-position", "δ is undefined in every run."),)
    best = max(known, key=lambda row: _value(row["delta_mean"]))
    name, mean = str(best["model"]), estimate(best["delta_mean"])
    most = "discriminates best on average" if len(known) > 1 else "has on average"
    runs = many(float(str(best["runs"])), "run")
    text = f"{quoted(name)} {most} over {runs}: δ {between(_value(mean), mean.low, mean.high)}."
    said = [Answer("best-delta", text, (name,), "delta", mean.value, mean.low, mean.high)]
    tested = {
        str(row["model"]): float(str(row["p_value"]))
        for row in run_comparison_rows(points, name, train_fraction, level)
        if row["p_value"] is not None
    }
    if tested and level is not None:
        adjusted = holm([*tested.values()])
        equal = [other for other, p in zip(tested, adjusted, strict=True) if p > 1 - level]
        said.append(_equal(name, equal, "Over these runs"))
    elif len(known) > 1 and train_fraction is None:
        text = "Whether that is chance needs the share of rows trained on: --train-fraction."
        said.append(Answer("untested", text))
    return tuple(said)


def feature_answer(
    best: Row | None, useless: int, features: int, selected: int | None
) -> tuple[Answer, ...]:
    """Say which feature discriminates most, and how many do no better than chance.

    useless: how many have an interval of delta that covers 0.
    """
    delta = Estimate(None) if best is None else estimate(best["delta"])
    if best is None or delta.value is None:
        return (Answer("no-position", "δ is undefined for every feature."),)
    name, side = str(best["feature"]), "positive" if delta.value > 0 else "negative"
    text = (
        f"{quoted(name)} discriminates most: δ {between(delta.value, delta.low, delta.high)}; "
        f"where it is true, the {side} class is likelier."
    )
    said = [Answer("strongest-feature", text, (name,), "delta", delta.value, delta.low, delta.high)]
    if useless:
        text = f"{useless:,} of {many(features, 'feature')} cannot be told from chance (δ 0)."
        said.append(Answer("useless-features", text))
    if selected is not None:
        text = f"{selected:,} of {many(features, 'feature')} are selected."
        said.append(Answer("selected", text))
    return tuple(said)


def _value(cell: Any) -> float:
    return estimate(cell).value or 0.0


def _covers(cell: Estimate, value: float) -> bool:
    return cell.low is not None and cell.high is not None and cell.low <= value <= cell.high


def _beyond(cell: Any, sign: int) -> bool:
    end = cell.low if sign > 0 else cell.high
    return end is not None and sign * end > LEAN
