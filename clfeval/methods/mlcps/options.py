"""What mlcps is asked for, checked before any table is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal, TypeVar, get_args

from clfeval.errors import bad_option
from clfeval.measures.catalog import folded, same_measure
from clfeval.methods.estimates import check_level
from clfeval.methods.mlcps.wishes import Wish

From = Literal["metrics", "predictions"]
ZeroWeight = Literal["drop", "ray"]
Direction = Literal["max", "min"]
Interval = Literal["bootstrap", "none"]

T = TypeVar("T")

DRAWS = 10_000
MOST_DRAWS = 1_000_000
LEAST_WEIGHT = 1e-6
MOST = 1e15  # of a scale's ends


@dataclass(frozen=True, slots=True)
class MlcpsOptions:
    """Weights, scales and wishes, what to try out, and how sure the numbers are to be.

    draws: of weights for the sensitivity, None without it. resamples: of the bootstrap, None for as
    many as the table bears.
    """

    source: From = "metrics"
    weights: Mapping[str, float] = field(default_factory=dict)
    zero_weight: ZeroWeight = "drop"
    directions: Mapping[str, Direction] = field(default_factory=dict)
    rescale: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    draws: int | None = None
    wishes: tuple[Wish, ...] = ()
    interval: Interval = "bootstrap"
    level: float = 0.95
    resamples: int | None = None
    seed: int = 0

    @property
    def replicates(self) -> int | None:
        """How many bootstrap replicates are wanted: None for as many as the table bears."""
        return 0 if self.interval == "none" else self.resamples

    @property
    def unused(self) -> set[str]:
        """The metrics that nothing is made of: dropped by weight 0, and not wished for."""
        wished = {wish.metric for wish in self.wishes}
        dropped = self.weights if self.zero_weight == "drop" else {}
        return {name for name, weight in dropped.items() if weight == 0} - wished

    def over(self, metrics: Sequence[str]) -> MlcpsOptions:
        """Return the options with globs written out: a metric's own name goes before them."""
        return replace(
            self,
            weights=_written_out(self.weights, metrics),
            directions=_written_out(self.directions, metrics),
            rescale=_written_out(self.rescale, metrics),
            wishes=tuple(
                replace(wish, metric=next(iter(_meant(wish.metric, metrics)), wish.metric))
                for wish in self.wishes
            ),
        )

    def check(self) -> None:
        """Raise UsageError for values no computation accepts."""
        for option, value, known in (
            ("--from", self.source, get_args(From)),
            ("--zero-weight", self.zero_weight, get_args(ZeroWeight)),
            ("--interval", self.interval, get_args(Interval)),
            *((f"--direction {n}=", x, get_args(Direction)) for n, x in self.directions.items()),
        ):
            if value not in known:
                raise bad_option(f"{option} is one of {', '.join(known)}, not '{value}'")
        for name, weight in self.weights.items():
            if weight != 0 and not LEAST_WEIGHT <= weight <= 1 / LEAST_WEIGHT:
                raise bad_option(
                    f"--weight {name}={weight:g} is neither 0 nor a number from "
                    f"{LEAST_WEIGHT:g} to {1 / LEAST_WEIGHT:g}"
                )
        for name, (low, high) in self.rescale.items():
            if not (-MOST <= low < high <= MOST):
                hint = " (--direction says which end is better)" if low > high else ""
                raise bad_option(
                    f"--rescale {name}={low:g}:{high:g} does not go from lower to higher within "
                    f"-{MOST:g} to {MOST:g}{hint}"
                )
        check_level(self.level)
        counts = (
            ("--draws", self.draws, 100, MOST_DRAWS),
            ("--resamples", self.resamples, 100, 10**6),
            ("--seed", self.seed, 0, 2**63),
        )
        for option, count, least, most in counts:
            if count is not None and not least <= count <= most:
                raise bad_option(f"{option} {count} is not a whole number from {least} to {most:,}")


def _written_out(given: Mapping[str, T], metrics: Sequence[str]) -> dict[str, T]:
    """Replace each glob by the metrics it matches, and other names of a measure by the one here.

    What means no metric stays, to be refused.
    """
    found: dict[str, T] = {}
    for name, value in given.items():
        meant = _meant(name, metrics)
        found |= {metric: value for metric in meant if metric == name or metric not in given}
        if not meant:
            found[name] = value
    return found


def _meant(name: str, metrics: Sequence[str]) -> list[str]:
    """Return the metrics a name means: itself, what it matches, or the same measure."""
    if name in metrics:
        return [name]
    matched = [metric for metric in metrics if fnmatchcase(metric, name)]
    same = same_measure(folded(name))
    return matched or [metric for metric in metrics if metric in same][:1]
