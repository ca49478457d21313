"""What `clfeval report` says of models together: differences, verdicts, the best, the winner.

Tables are those of `probabilities`: k models share a part of their noise row by row (`alike`), are
cut at the prevalence, and are equal or less far apart one after the other. By clusters: ten rows
each, classes alike by an ICC of .3, scores by .5. Everything is found as the report finds it; the
contest draws less often. A table for which there are no limits is left out; of verdicts none is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import norm

from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.rows import ScoredRows
from clfeval.inference.best import contest
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.clustered import fewest
from clfeval.methods.estimates import end_to_end
from clfeval.methods.measured.asked import Asked, asked_of
from clfeval.methods.measured.hard import HardLimits
from clfeval.methods.measured.hard import measured as measured_hard
from clfeval.methods.measured.scored import measured
from clfeval.methods.report.against import comparison_rows
from clfeval.methods.report.best import less
from clfeval.methods.report.together import (
    ALL_PAIRS,
    Together,
    as_delong,
    by_rows,
    by_votes,
    of_scores,
    spread,
)
from clfeval.methods.verdict import BETTER, EQUIVALENT, UNDECIDED, WORSE
from clfeval.result import Estimate, estimate
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.probabilities import LEVEL, MEMBERS, _probabilities, _true
from tests.benchmarks.coverage.reporting import SURE

BEST_APART, LESS_APART = 1.3, 1.0
DIFFERING = ("roc_auc", "brier", "net_benefit", "mcc", "f1", "precision", "sensitivity",
             "accuracy")  # fmt: skip
LEADING = ("roc_auc", "brier", "mcc", "sensitivity")
SCORED = ("roc_auc", "brier", "net_benefit")
FEW_DRAWS, MOST = 2000, 30
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines of two models, of several with Holm's rule, of the best among many."""
    found: list[Line] = []
    sizes = ((50, 0), (200, 0), (1000, 0), (200, 20), (500, 50))
    for (rows, clusters), prevalence in product(sizes, (0.5, 0.05)):
        for alike, equal in product((0.9, 0.5), (True, False)):
            found += _differing(_Setting(2, rows, clusters, prevalence, alike, equal), replicates)
    for k, rows, prevalence in product((5, 10), (200, 1000), (0.5, 0.05)):
        found += _claims(_Setting(k, rows, 0, prevalence, 0.5, True), replicates)
    for k, equal in product((3, 10, MOST), (True, False)):
        for rows, clusters in ((200, 0), (1000, 0), (400, 40)):
            one = _Setting(k, rows, clusters, 0.3, 0.5, equal)
            found += _leading(one, replicates // (2 if k == MOST else 1))
    return found


@dataclass(frozen=True, slots=True)
class _Setting:
    """What tables are drawn: k models, the first the best, `alike` of whose noise is shared."""

    k: int
    rows: int
    clusters: int
    prevalence: float
    alike: float
    equal: bool

    @property
    def apart(self) -> Sequence[float]:
        """How far apart the classes are for each model."""
        least = BEST_APART if self.equal else LESS_APART
        return tuple(np.linspace(BEST_APART, least, self.k).tolist())

    def __str__(self) -> str:
        told = f"{self.clusters} clusters" if self.clusters else f"{self.rows} rows"
        equal = "equal" if self.equal else "unequal"
        return (
            f"{self.k} {equal} models, {told}, prevalence {self.prevalence:g}, {self.alike:g} alike"
        )

    def tables(self, replicates: int) -> Iterator[_Table]:
        seed = [23, self.k, self.rows, self.clusters, round(100 * self.prevalence),
                round(10 * self.alike), self.equal]  # fmt: skip
        rng = np.random.default_rng(seed)
        for _ in range(replicates):
            yield self._drawn(rng)

    def _drawn(self, rng: np.random.Generator) -> _Table:
        owner: Arrays = None
        share: Arrays = self.prevalence
        noise = rng.standard_normal((self.k + 1, self.rows))
        if self.clusters:
            owner = np.repeat(np.arange(self.clusters), MEMBERS)
            share = rng.beta(share / 0.3 * 0.7, (1 - share) / 0.3 * 0.7, self.clusters)[owner]
            noise = (noise + rng.standard_normal((self.k + 1, self.clusters))[:, owner]) / sqrt(2)
        truth = rng.random(self.rows) < share
        noise = sqrt(self.alike) * noise[0] + sqrt(1 - self.alike) * noise[1:]
        p = [
            _probabilities(own + apart * truth, apart, self.prevalence)
            for own, apart in zip(noise, self.apart, strict=True)
        ]
        return _Table(truth, np.array(p), owner, self.prevalence)


class _Table:
    """A table as the report counts it."""

    def __init__(self, truth: Arrays, p: Arrays, owner: Arrays, cut: float) -> None:
        self.models, self.cut = [f"m{i}" for i in range(len(p))], cut
        self.both = bool(truth.any() and not truth.all())
        self.every = ScoredRows(
            models=(*range(len(p)),), scores=tuple(p), truth=truth, weights=None, slices={},
            owners=owner,
        )  # fmt: skip
        self.patterns = PatternCounts.of(
            self.models, truth, (p >= cut).T, np.ones(len(truth), np.int64),
            owners=None if owner is None else list(map(str, owner)),
        )  # fmt: skip
        self.ranked = [self.every.ranked(j) for j in range(len(p))] if self.both else []

    def together(self, one: Asked, reference: str | None) -> Together | None:
        """Return how the models stand by a measure."""
        if not self.both:
            return None
        if one.name not in SCORED:
            return by_votes(self.patterns, one, reference)
        moved = {}
        for model, (whole, place) in zip(self.models, self.ranked, strict=True):
            found = of_scores(one, self.cut, whole)
            if found is not None:
                value, each = found
                if one.name == "roc_auc":
                    each = as_delong(each, whole)
                moved[model] = value, spread(each, place, self.every.truth)
        return by_rows(None, self.every.owners, one, moved, reference, fewest(self.patterns),
                       sampling=False)  # fmt: skip


@cache
def _of_population(name: str, apart: float, prevalence: float) -> float:
    """Return a measure of the population of a model that is cut at the prevalence."""
    if name == "net_benefit":
        return _true(CATALOG["net_benefit@t"].given(t=prevalence), apart, prevalence)
    if name in SCORED:
        return _true(CATALOG[name], apart, prevalence)
    odds = np.log(prevalence / (1 - prevalence))  # p = prevalence where 1.25 log odds + .2 is this
    z = ((odds - 0.2) / 1.25 - odds + apart**2 / 2) / apart
    tp, fp = prevalence * norm.sf(z - apart), (1 - prevalence) * norm.sf(z)
    return float(CATALOG[name].function(Confusion(tp, fp, prevalence - tp, 1 - prevalence - fp)))


def _differing(one: _Setting, replicates: int) -> Iterator[Line]:
    """Yield how often the interval of the second less the first holds, and what is falsely said."""
    for asked, told in _told(one, replicates).items():
        best, least = (_of_population(asked, apart, one.prevalence) for apart in one.apart)
        ends = np.array([(low, high) for low, high, _ in told if low is not None], float)
        if len(ends):
            (low, high), true = ends.T, least - best
            held = float(((low <= true) & (true <= high)).mean())
            width = float(np.median(high - low))
            yield Line(f"difference of {asked}", str(one), len(ends), held, 0.93, width=width)
        verdicts = [verdict for *_, verdict in told]
        if one.equal:
            false = float(np.mean([verdict in (BETTER, WORSE) for verdict in verdicts]))
            yield Line(f"{asked} better or worse (false)", str(one), replicates, false, most=0.05)
        else:
            false = float(np.mean([verdict == EQUIVALENT for verdict in verdicts]))
            yield Line(f"{asked} equivalent (false)", str(one), replicates, false, most=0.05)
            false = float(np.mean([verdict not in (UNDECIDED, WORSE) for verdict in verdicts]))
            yield Line(f"{asked} not worse (false)", str(one), replicates, false, most=0.05)


def _told(one: _Setting, replicates: int) -> dict[str, list[tuple[Any, Any, str]]]:
    """Return the limits and the verdicts of each measure, at the margin that is the truth."""
    every = asked_of(DIFFERING)
    found: dict[str, list[tuple[Any, Any, str]]] = {asked.name: [] for asked in every}
    for table in one.tables(replicates):
        for asked in every:
            first, second = (_of_population(asked.name, a, one.prevalence) for a in one.apart)
            margin = None if one.equal else abs(first - second)
            stood = table.together(asked, "m0")
            rows = [] if stood is None else [
                *comparison_rows(stood, table.patterns, "m0", LEVEL, margin)
            ]  # fmt: skip
            apart = estimate(rows[0]["difference"]) if rows else Estimate(None)
            verdict = str(rows[0]["verdict"]) if rows else UNDECIDED
            found[asked.name].append((apart.low, apart.high, verdict))
    return found


def _claims(one: _Setting, replicates: int) -> Iterator[Line]:
    """Yield in how many tables of equal models any is called better or worse, by Holm's rule."""
    every, false = asked_of(LEADING), dict[tuple[str, str], int]()
    for table in one.tables(replicates):
        for asked, reference in product(every, ("m0", ALL_PAIRS)):
            stood = table.together(asked, reference)
            key = asked.name, reference
            false[key] = false.get(key, 0) + (stood is not None and any(
                row["verdict"] in (BETTER, WORSE)
                for row in comparison_rows(stood, table.patterns, reference, LEVEL, None)
            ))  # fmt: skip
    for (name, reference), many in false.items():
        what = "all pairs" if reference == ALL_PAIRS else "one reference"
        told = f"{name}, any better or worse of {what} (false)"
        yield Line(told, str(one), replicates, many / replicates, most=0.05)


def _leading(one: _Setting, replicates: int) -> Iterator[Line]:
    """Yield how often the best may be the best, and of equal models what the winner's limits do."""
    every = asked_of(LEADING)
    kept: dict[str, list[bool]] = {asked.name: [] for asked in every}
    won: dict[str, list[tuple[Any, float]]] = {asked.name: [] for asked in every}
    rng = np.random.default_rng(29)
    for table in one.tables(replicates):
        for asked in every:
            stood = table.together(asked, None)
            if stood is None or stood.models[0] != "m0":
                continue
            found = contest(
                stood.sign * stood.values, stood.shared.covariance, level=LEVEL, rng=rng,
                df=stood.fewest - 1, draws=FEW_DRAWS,
            )  # fmt: skip
            kept[asked.name].append(bool(found.may_be_best[0]))
            place = table.models.index(stood.models[found.winner])
            won[asked.name].append((_alone(table, place, asked.name), stood.sign * found.optimism))
    for asked in every:
        held = float(np.mean(kept[asked.name]))
        yield Line(f"may be the best by {asked.name}", str(one), len(kept[asked.name]), held, 0.93)
        if not one.equal:
            continue
        true = _of_population(asked.name, BEST_APART, one.prevalence)
        values = _limits(asked, [what for what, _ in won[asked.name]])
        lucks = [luck for _, luck in won[asked.name]]
        for told, moved in (("as printed", 0), ("less its luck", 1)):
            ends = [less(value, moved * luck) for value, luck in zip(values, lucks, strict=True)]
            sure = [(e.low, e.high) for e in ends if e.low is not None and e.high is not None]
            share = float(np.mean([low <= true <= high for low, high in sure]))
            yield Line(f"the winner's {asked.name}, {told}", str(one), len(sure), share,
                       0.9 if moved else None)  # fmt: skip


def _alone(table: _Table, place: int, name: str) -> Any:
    """Return what limits of one model are found from."""
    if name in SCORED:
        return table.ranked[place][0]
    p, every = table.every.scores[place], table.every
    return PatternCounts.of(
        ["m"], every.truth, (p >= table.cut)[:, None], np.ones(len(p), np.int64),
        owners=None if every.owners is None else list(map(str, every.owners)),
    )  # fmt: skip


def _limits(asked: Asked, models: Sequence[Any]) -> Sequence[Estimate]:
    """Return what the report prints of each model by itself."""
    if asked.name in SCORED:
        return [measured(asked.measure, one, SURE, "").value for one in models]
    _, cells = end_to_end(dict(enumerate(map(ConfusionCounts.of_patterns, models))))
    many = [0.0 if one.clusters is None else one.clusters.size for one in models]
    sure = HardLimits(SURE, cells.models, [None] * len(models), many)
    return [*map(estimate, measured_hard(asked, cells, sure).values)]
