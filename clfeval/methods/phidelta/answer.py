"""What phidelta answers: who discriminates best, who cannot be told from it, who leans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from math import isclose
from typing import Any

from clfeval.compare.change import BETTER, EQUIVALENT, NOT_WORSE, UNDECIDED, WORSE
from clfeval.counts.patterns import PatternCounts
from clfeval.inference.shares import holm
from clfeval.measures.plane import LEAN
from clfeval.methods.phidelta.comparisons import tied_with_best
from clfeval.methods.phidelta.tables import Points, run_comparison_rows
from clfeval.result import Answer, Estimate, Row, Rows, estimate, whole
from clfeval.words import between, exact, many, named, number, percent, quoted

MOST = 5  # sentences
LISTED = 6  # models that may be as good, by name
EQUAL = 1e-12  # values that differ by less differ by rounding
MISSING = {"no_positive_truth": "no row is positive", "no_negative_truth": "no row is negative"}


def classifier_answer(
    tables: Mapping[str, Rows], patterns: PatternCounts | None, level: float | None,
    reference: str | None = None, margin: float | None = None,
) -> tuple[Answer, ...]:  # fmt: skip
    """Say who discriminates best, who is not significantly different from it, and who is biased.

    All pairs of models are compared by delta on the same rows, and adjusted together.
    """
    models = whole(tables["models"])
    ranked = _ranked(models, "delta")
    if not ranked:
        reasons = {MISSING.get(estimate(row["delta"]).reason or "", "") for row in models}
        why = "".join(reasons) if len(reasons) == 1 else ""
        text = f"δ is undefined for every model: {why or 'a class has no row'}."
        return (Answer("no-position", text),)
    leaders = _leaders(ranked, "delta")
    first = reference if reference in leaders else leaders[0]
    others = [str(row["model"]) for row in ranked[len(leaders) :]]
    said = [_best(ranked, leaders), *_told_apart(first, len(leaders), others, patterns, level)]
    compared = [row for row in tables.get("comparisons", ())
                if row["metric"] == "delta" and row["slice"] is None]  # fmt: skip
    if reference is not None and compared and level is not None:
        said = [said[0], _compared_with(reference, compared)]
        said += [] if margin is None else _that_matters(reference, compared, margin)
    said += [
        *_on_curves(whole(tables.get("curves", ()))),
        *_right(first, tables.get("populations", ())),
        *_useless(ranked), *_inverted(ranked), *_leaning(ranked, "phi"),
    ]  # fmt: skip
    return tuple(said[:MOST])


def _best(ranked: Sequence[Row], leaders: Sequence[str]) -> Answer:
    """Name the one with the largest delta; several where they have the same."""
    delta, name = estimate(ranked[0]["delta"]), named(leaders)
    value, low, high = _value(delta), delta.low, delta.high
    better = all(_better(row["delta"]) for row in ranked[: len(leaders)])
    if len(leaders) == 1:
        rates = f"(sensitivity {_rate(ranked[0], 'sensitivity')}, specificity "
        rates += f"{_rate(ranked[0], 'specificity')})"
        has = "discriminates best: δ" if better else "has the largest δ,"
        has = has if len(ranked) > 1 else "has δ"
        text = f"{name} {has} {between(value, low, high)} {rates}."
        return Answer("best-delta", text, tuple(leaders), "delta", value, low, high)
    if any((estimate(r["delta"]).low, estimate(r["delta"]).high) != (low, high)
           for r in ranked[: len(leaders)]):  # fmt: skip
        low = high = None
    each = f"{between(value, low, high)} each"
    text = f"{name} discriminate best, alike: δ {each}."
    if not better:
        text = f"{name} have the largest δ, {each}."
    if len(leaders) == len(ranked):
        text = f"No model discriminates more than another: δ {each}."
    return Answer("best-delta", text, tuple(leaders), "delta", value, low, high)


def _told_apart(
    best: str, leaders: int, others: Sequence[str], patterns: PatternCounts | None,
    level: float | None,
) -> list[Answer]:  # fmt: skip
    if not others:
        return []
    if level is None:
        text = "No intervals are computed: whether the others are worse by chance is not tested."
        return [Answer("untested", text)]
    if patterns is None:
        text = (
            "Counts do not tell which rows the models share: whether the others are worse by "
            "chance is not tested."
        )
        return [Answer("untested", text)]
    found = tied_with_best(patterns, level)
    ties = {} if found is None else found.ties
    equal = [name for name in others if ties.get(name, True)]
    return [_equal(best, leaders, equal, len(others), "On the same rows")]


def _equal(best: str, leaders: int, equal: Sequence[str], compared: int, where: str) -> Answer:
    """Say who may be as good."""
    if not equal:
        text = f"{where} each other model discriminates less, and chance does not explain it."
        return Answer("told-apart", text, (best,))
    who = "it" if leaders == 1 else quoted(best)
    others = named(equal, most=LISTED, word="or")
    if len(equal) == compared > LISTED:
        others = f"any of the {compared:,} others"
    text = f"{where} {who} cannot be told from {others}."
    return Answer("not-told-apart", text, tuple(equal))


def _compared_with(reference: str, compared: Sequence[Row]) -> Answer:
    """Say who discriminates more than the model asked for, and who less."""
    more, less, same = (
        [str(row["model"]) for row in compared if row["verdict"] in kinds]
        for kinds in ((BETTER,), (WORSE,), (UNDECIDED, EQUIVALENT, NOT_WORSE))
    )
    parts = [
        f"{named(names)} discriminate{'s' * (len(names) == 1)} significantly {word}"
        for names, word in ((more, "more"), (less, "less")) if names
    ]  # fmt: skip
    who = named(same) if more or less or len(same) == 1 else "no other model"
    if same:
        verb = "is" if len(same) == 1 or who.startswith("no") else "are"
        parts.append(f"{who} {verb} {'not ' * (not who.startswith('no '))}significantly different")
    text = f"Compared with {quoted(reference)} on the same rows, {'; '.join(parts)}."
    return Answer("compared", text, tuple(more), "delta")


def _that_matters(reference: str, compared: Sequence[Row], margin: float) -> list[Answer]:
    """Say who differs by less than matters, is at least not worse by so much, or may be."""
    kinds: dict[tuple[str, bool], list[str]] = {}
    for row in compared:
        found, apart = str(row["verdict"]), estimate(row["difference_adjusted"])
        low, high = apart.low or 0.0, apart.high or 0.0
        sides = {BETTER: low > margin, WORSE: high < -margin, UNDECIDED: high < margin}
        kinds.setdefault((found, sides.get(found, False)), []).append(str(row["model"]))
    to, said = quoted(reference), []
    for kind, words in (
        ((BETTER, True), f"better than {to} by more"),
        ((BETTER, False), f"better than {to}, perhaps by less"),
        ((WORSE, True), f"worse than {to} by more"),
        ((WORSE, False), f"worse than {to}, perhaps by less"),
        ((EQUIVALENT, False), f"equivalent to {to}"),
        ((NOT_WORSE, False), f"not worse than {to} by so much"),
        ((UNDECIDED, True), f"not better than {to} by so much, and perhaps worse"),
    ):
        names = kinds.get(kind, [])
        said += [f"{named(names)} {'is' if len(names) == 1 else 'are'} {words}"] if names else []
    if names := kinds.get((UNDECIDED, False), []):
        said.append(f"{named(names)} may be worse than {to} by so much, or better")
    text = f"If δ has to differ by {exact(margin)} to matter: {'; '.join(said)}."
    return [Answer("that-matters", text, tuple(kinds.get((EQUIVALENT, False), [])), "delta")]


def _on_curves(curves: Sequence[Row]) -> list[Answer]:
    """Name whose scores separate the classes best over all thresholds."""
    ranked = _ranked(curves, "gini")
    if not ranked:
        return []
    leaders, gini = _leaders(ranked, "gini"), estimate(ranked[0]["gini"])
    value, has = between(_value(gini), gini.low, gini.high), "has"
    if len(leaders) > 1:
        value, has, gini = f"{number(_value(gini))} each", "have", Estimate(gini.value)
    largest = "the largest Gini," if len(ranked) > 1 else "Gini"
    text = f"Over all thresholds {named(leaders)} {has} {largest} {value}."
    return [Answer("best-curve", text, tuple(leaders), "gini", gini.value, gini.low, gini.high)]


def _right(name: str, populations: Sequence[Row]) -> list[Answer]:
    """Say how many positive answers of the best model are right where that is asked for."""
    rows = (row for row in populations if row["slice"] is None and row["model"] == name)
    row = next(rows, None)
    precision = estimate(row["precision"] if row else None)
    if row is None or precision.value is None:
        return []
    ends = ""
    if precision.low is not None and precision.high is not None:
        ends = f" ({percent(precision.low)} to {percent(precision.high)})"
    right = percent(precision.value)
    text = (
        f"At prevalence {exact(float(str(row['prevalence'])))} ({row['odds']}) of 100 positive "
        f"answers of {quoted(name)} {right} {'is' if right == '1' else 'are'} right{ends}."
    )
    value, low, high = precision.value, precision.low, precision.high
    return [Answer("right", text, (name,), "precision", value, low, high)]


def _useless(ranked: Sequence[Row]) -> list[Answer]:
    names = [str(row["model"]) for row in ranked if _covers(estimate(row["delta"]), 0.0)]
    if not names:
        return []
    text = f"{named(names)} cannot be told from chance (δ 0)."
    if 1 < len(names) == len(ranked):
        text = "No model can be told from chance (δ 0)."
    return [Answer("like-chance", text, tuple(names))]


def _inverted(ranked: Sequence[Row]) -> list[Answer]:
    """Name whose answers are wrong more often than chance would have it."""
    ends = ((str(row["model"]), estimate(row["delta"]).high) for row in ranked)
    names = [name for name, high in ends if high is not None and high < 0]
    if not names:
        return []
    do, whose = ("do", "their") if len(names) > 1 else ("does", "its")
    text = f"{named(names)} {do} worse than chance: {whose} answers inverted would discriminate."
    return [Answer("better-inverted", text, tuple(names), "delta")]


def _leaning(ranked: Sequence[Row], column: str) -> list[Answer]:
    """Name who leans for certain: the interval of phi lies beyond a tenth."""
    said = []
    for code, sign, errs in (
        ("leans-positive", 1, "more false alarms than misses"),
        ("leans-negative", -1, "more misses than false alarms"),
    ):
        names = [str(row["model"]) for row in ranked if _beyond(row[column], sign)]
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
    ranked = _ranked(spread, "delta_mean")
    if not ranked:
        return (Answer("no-position", "δ is undefined in every run: each lacks a class."),)
    leaders, mean = _leaders(ranked, "delta_mean"), estimate(ranked[0]["delta_mean"])
    runs = dict.fromkeys(many(float(str(row["runs"])), "run") for row in ranked[: len(leaders)])
    over = f"on average over {next(iter(runs)) if len(runs) == 1 else 'its runs'}"
    value, low, high = _value(mean), mean.low, mean.high
    if len(leaders) > 1:
        low = high = None
    best = "discriminate best, alike," if len(leaders) > 1 else "discriminates best"
    text = f"{named(leaders)} {best if len(ranked) > 1 else 'has'} {over}: δ "
    if len(ranked) > 1 and not all(_better(row["delta_mean"]) for row in ranked[: len(leaders)]):
        has = "has" if len(leaders) == 1 else "have"
        text = f"{named(leaders)} {has} the largest δ {over}: "
    said = [Answer("best-delta", f"{text}{between(value, low, high)}.", tuple(leaders), "delta",
                   value, low, high)]  # fmt: skip
    others = [str(row["model"]) for row in ranked[len(leaders) :]]
    if others:
        compared = run_comparison_rows(points, leaders[0], train_fraction, level)
        rows = {str(row["model"]): row for row in compared}
        said.append(_over_runs(leaders, [rows[name] for name in others], train_fraction, level))
    return tuple([*said, *_leaning(ranked, "phi_mean")][:MOST])


def _over_runs(
    leaders: Sequence[str], others: Sequence[Row], train_fraction: float | None, level: float | None
) -> Answer:
    """Say whom a test tells from the best; nobody it tests not, or only the other way round."""
    chance = [row["p_value"] for row in others]
    if level is None:
        text = "No intervals are computed: whether the others are worse by chance is not tested."
        return Answer("untested", text)
    if train_fraction is None:
        text = (
            "Whether the others are worse by chance is not tested: that needs the share of rows "
            "the models were trained on."
        )
        return Answer("untested", text)
    if not any(isinstance(p, float) for p in chance):
        text = "These runs are too few, or too much alike, to test whether others are worse."
        return Answer("untested", text)
    adjusted = holm([p if isinstance(p, float) else 1.0 for p in chance])
    equal = [
        str(row["model"]) for row, p in zip(others, adjusted, strict=True)
        if p > 1 - level or _value(row["delta_difference"]) >= 0
    ]  # fmt: skip
    return _equal(leaders[0], len(leaders), equal, len(others), "Over these runs")


def feature_answer(
    best: Sequence[Row], alike: int, useless: int, features: int, selected: int | None,
    *, by_chance: bool, expected: float = 0.0,
) -> tuple[Answer, ...]:  # fmt: skip
    """Say which feature discriminates most, and how many do no better than chance.

    best: the first of those whose delta is farthest from 0; alike: how many there are. useless:
    how many are not told from chance, all taken together. by_chance: the strongest of so many
    features may be as strong by chance. expected: how many would be told, one by one, by chance.
    """
    delta = estimate(best[0]["delta"]) if best else Estimate(None)
    if delta.value is None:
        return (Answer("no-position", "δ is undefined for every feature."),)
    chance = ""
    if by_chance:
        may = "that may be chance"
        judged = estimate(best[0].get("honest_delta", delta))
        chance = (
            may if _covers(judged, 0.0) else f"of {features:,} features one may be so by chance"
        )
    said = [_strongest(best, alike, delta, chance and f"; {chance}")]
    if useless:
        of = many(features, "feature")
        together = f"; one by one {round(expected):,} could by chance alone" * (expected >= 1)
        text = f"{useless:,} of {of} cannot be told from chance (δ 0){together}."
        said.append(Answer("useless-features", text))
    if selected is not None:
        are = "is" if selected == 1 else "are"
        text = f"{selected or 'None'} of {many(features, 'feature')} {are} selected."
        said.append(Answer("selected", text))
    return tuple(said)


def _strongest(best: Sequence[Row], alike: int, delta: Estimate, chance: str) -> Answer:
    value, low, high = _value(delta), delta.low, delta.high
    names = [str(row["feature"]) for row in best]
    if not value:
        text = f"No feature discriminates: δ is 0 for {'each' if alike > 1 else 'it'}."
        return Answer("none-discriminates", text, (), "delta", value)
    if alike > 1:
        left = [f"{alike - len(names):,} more"] if alike > len(names) else []
        *others, last = [*map(quoted, names), *left]
        text = f"{', '.join(others)} and {last} discriminate most, alike: |δ| "
        chosen = any(row.get("honest_delta", row["delta"]) != row["delta"] for row in best)
        text += f"{number(abs(value))}{' with cuts chosen on these rows' * chosen}{chance}."
        return Answer("strongest-feature", text, tuple(names), "delta", abs(value))
    row, cut = best[0], ""
    if row["rule"] in (">", ">=") and isinstance(row["cut"], float):
        cut = f" ({row['rule']} {row['cut']:.4g})"
    side = "positive" if value > 0 else "negative"
    likelier = f"where it is {'high' if row['rule'] == 'soft' else 'true'}, the {side} class is "
    text = f"{quoted(names[0])}{cut} discriminates most: δ {between(value, low, high)}; "
    honest = estimate(row.get("honest_delta"))
    if honest.value is not None and honest != delta:
        other = between(honest.value, honest.low, honest.high)
        text = text[:-2] + f" with the cut chosen on these rows, {other} cross-fitted; "
        value, low, high = honest.value, honest.low, honest.high
    text += f"{likelier}likelier{chance}."
    return Answer("strongest-feature", text, (names[0],), "delta", value, low, high)


def _ranked(rows: Sequence[Row], column: str) -> list[Row]:
    """Return the rows that have a value, the largest first."""
    known = [row for row in rows if estimate(row[column]).value is not None]
    return sorted(known, key=lambda row: -_value(row[column]))


def _leaders(ranked: Sequence[Row], column: str) -> list[str]:
    """Name the first, and those with the same value."""
    most = _value(ranked[0][column])
    same = takewhile(
        lambda row: isclose(_value(row[column]), most, rel_tol=0, abs_tol=EQUAL), ranked
    )
    return [str(row["model"]) for row in same]


def _value(cell: Any) -> float:
    return estimate(cell).value or 0.0


def _better(cell: Any) -> bool:
    """Say whether delta is above chance, for certain where it has an interval."""
    low = estimate(cell).low
    return (_value(cell) if low is None else low) > 0


def _rate(row: Row, name: str) -> str:
    return number(_value(row[name]))


def _covers(cell: Estimate, value: float) -> bool:
    return cell.low is not None and cell.high is not None and cell.low <= value <= cell.high


def _beyond(cell: Any, sign: int) -> bool:
    end = estimate(cell).low if sign > 0 else estimate(cell).high
    return end is not None and sign * end > LEAN
