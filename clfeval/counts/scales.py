"""What numbers beyond 0..1 may be: scores of another scale, ratings, measurements, strays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clfeval.counts.settle import CountSettings
from clfeval.shell import format_option
from clfeval.tables.input import ColumnNames, find_column
from clfeval.tables.prediction import ModelColumns

MAX_NEAR_PROBABILITY = (
    1.5  # numbers up to which are probabilities that rounding or a slip has carried beyond 1
)
PERCENT = 50.0  # half-way of percentages
RATED = 20  # numbers up to which are ratings and no percentages
MEASUREMENT_SPREAD, MANY_MEASUREMENTS = (
    2,
    10,
)  # measurements are that much wider than each other, or that many
Range = tuple[float, float]
Guess = tuple[str, dict[str, Any]]  # a hint, and the options it proposes


def alternative_roles(settled: CountSettings, name: str) -> str:
    """Say what a column may be instead of a model."""
    if looks_like_cluster(settled, name):
        return f"{format_option('--cluster', name)} (mars, phidelta, tune-jpt, report)"
    by = format_option("--by", name)
    if settled.layout.joined or not settled.peeks[name].distinct:
        return by
    return f"{format_option('--id', name)}, {by}"


def looks_like_cluster(settled: CountSettings, name: str) -> bool:
    """Tell whether a column is called as if rows of one value belonged together, and has such."""
    return bool(find_column([name], ColumnNames.CLUSTER)) and not settled.peeks[name].distinct


def scale_midpoint(low: float, high: float) -> float | None:
    """Return the cut that is half-way on the scale that numbers from low to high seem to have."""
    if low < 0 < high:
        return 0.0  # log-odds, margins
    if low >= 0 and high <= MAX_NEAR_PROBABILITY:
        return 0.5
    return PERCENT if low >= 0 and RATED < high <= 100 else None


def guess_score_scale(settled: CountSettings, found: Mapping[ModelColumns, Range]) -> Guess:
    """Say what models may be that say numbers beyond 0..1, and which options take them so."""
    wide, others = not settled.columns.answer, settled.columns.models
    inside = [m for m in others if m.kind != "label" and m not in found]
    labels = [m for m in others if m.kind == "label"]
    cuts = {model: scale_midpoint(*ends) for model, ends in found.items()}
    first, names = next(iter(found)), [model.columns[0] for model in found]
    whole = [n for m, n in zip(found, names, strict=True)
             if wide and found[m][0] >= 0 and settled.peeks[n].whole]  # fmt: skip
    percent = {*cuts.values()} == {PERCENT}
    if not (inside or (len(whole) < len(names) and not percent)):
        whole = []
    if wide and len(labels) >= len(found):
        whole = names
    cut = f"{format_option('--threshold', f'{first.name}=T')} with its threshold T"
    fixes: dict[str, Any] = {}
    if whole:
        shared = [name for name in whole if looks_like_cluster(settled, name)]
        ways = f"{alternative_roles(settled, shared[0])} or " if shared else ""
        hint = f"add {ways}{format_option('--ignore', whole[0])} if it is not a model, or {cut}"
        fixes["ignore"] = tuple(whole)
        if shared and settled.columns.cluster is None:
            fixes["cluster"] = shared[0]
    scores = {m: c for m, c in cuts.items() if m.columns[0] not in whole and c is not None}
    if scores:
        alone = not (inside or whole) and len({*scores.values()}) == 1 and len(scores) == len(found)
        middle = next(iter(scores.values()))
        fixes["threshold"] = {None: middle} if alone else {m.name: c for m, c in scores.items()}
        one = f"{next(iter(scores)).name}={middle:g}"
        said = f"--threshold {middle:g}" if alone else format_option("--threshold", one)
        over = any(found[model][1] > 1 for model in scores)
        kind = {PERCENT: "percentages", 0.0: "log-odds or margins"}.get(
            middle, "probabilities with rounding errors" if over else "probabilities"
        )
        divided = " or divide them by 100" if percent and alone else ""
        hint = f"if they are {kind}, add {said}{divided}; otherwise add {cut}"
    elif not whole:
        hint = f"add {cut}, or --classes CLASS for each value if the values are classes"
    highs = [max(abs(end) for end in ends) for ends in found.values()]
    apart = max(highs) > MEASUREMENT_SPREAD * min(highs) or (
        len(found) >= MANY_MEASUREMENTS and not percent
    )
    if wide and len(found) > 2 and apart:
        hint = f"if the columns are features, run phidelta with --features; {hint}"
        fixes["features"] = True
        fixes.pop("threshold", None)
    return hint, fixes
