"""Who may be the best by each measure, in which place, and how much too good the best one looks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from clfeval.methods.report.together import Race, Together
from clfeval.result import Estimate, Row

FEW = 3  # models, from which on the best one looks too good


def best_rows(metric: str, race: Race) -> Iterator[Row]:
    """Yield, for each of several models, whether it may be the best, and the limits of its place.

    may_be_best: it is in the set that holds the best one with the probability of the level (Hsu).
    p_first, rank_low, rank_high: of draws of all values together, with their covariance.
    """
    if len(race.models) < 2:
        return
    found = race.found
    columns = (found.may_be_best, found.first, found.low_rank, found.high_rank)
    for model, may, first, low, high in zip(
        race.models, *(one.tolist() for one in columns), strict=True
    ):
        yield {
            "metric": metric, "model": model, "may_be_best": may, "p_first": first,
            "rank_low": low, "rank_high": high,
        }  # fmt: skip


def winner_rows(
    stood: Iterable[tuple[Together, Race]], values: Mapping[tuple[str, str], Estimate]
) -> Iterator[Row]:
    """Yield the best of three models or more by each measure, less its luck.

    corrected: the value and its limits less the optimism: how much too good the best of so many
    looks on the same rows, on average. values: by model and measure.
    """
    for one, race in stood:
        if len(race.models) < FEW:
            continue
        winner, luck = race.models[race.found.winner], one.sign * race.found.optimism
        value = values[winner, one.metric]
        yield {
            "metric": one.metric, "model": winner, "value": value,
            "optimism": race.found.optimism, "corrected": less(value, luck),
        }  # fmt: skip


def less(value: Estimate, luck: float) -> Estimate:
    """Return an estimate and its limits less the luck that it holds."""
    value_, low, high = (
        None if end is None else end - luck for end in (value.value, value.low, value.high)
    )
    return Estimate(value_, low, high, value.reason)
