"""What `clfeval report` says of models together: differences, verdicts, the best, the winner.

Tables are those of `reporting`: k models share a part of their noise row by row (`alike`), are
cut at the prevalence, and are equal or less far apart one after the other. By clusters: ten rows
each, classes alike by an ICC of .3, scores by .5. By weights: of the negatives one in five is kept,
and has a sampling weight of 5. Everything is found as the report finds it. A table for which there
are no limits is left out; of verdicts and families none is. Families draw less often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import sqrt
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import norm

from clfeval.compare import families
from clfeval.compare.change import BETTER, EQUIVALENT, UNDECIDED, WORSE
from clfeval.compare.families import BestSet, PairFamily, adjusted_family, best_set, family_pairs
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.clusters_and_weights import squares_and_weights
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.rows import ScoredRows
from clfeval.document.cells import Estimate, as_estimate
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.estimates import concatenate_counts
from clfeval.methods.measurement.label_measures import (
    LabelLimitSettings,
    effective_class_sizes,
    label_estimates,
)
from clfeval.methods.measurement.label_measures import estimate_label_measure as measured_hard
from clfeval.methods.measurement.requested_measures import RequestedMeasure, parse_measures
from clfeval.methods.measurement.score_measures import estimate_score_measure
from clfeval.methods.report.comparisons import subtract_bias
from clfeval.methods.report.model_estimates import row_score_influence, score_estimates
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.reporting import LEVEL, MEMBERS, SURE, _probabilities, _true

BEST_APART, FAR_APART, LESS = 1.3, 3.3, 0.3
DIFFERING = (
    "roc_auc",
    "average_precision",
    "brier",
    "net_benefit",
    "mcc",
    "f1",
    "precision",
    "sensitivity",
    "accuracy",
)
LEADING = ("roc_auc", "brier", "mcc", "sensitivity")
SCORED = ("roc_auc", "average_precision", "brier", "net_benefit")
KEPT, UNIT = 0.2, 1e6  # of the negatives, where rows have weights
MODELS, MOST, FEW_DRAWS = (2, 5, 10, 30), 30, 2000
SIZES = ((50, ""), (200, ""), (1000, ""), (200, "clusters"), (500, "clusters"), (200, "weights"))
LEADERS = (
    (200, "", 0.3),
    (1000, "", 0.3),
    (1000, "", 0.05),
    (400, "clusters", 0.3),
    (400, "weights", 0.1),
)
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines of two models, and of families of several."""
    found: list[Line] = []
    for (rows, kind), prevalence in product(SIZES, (0.5, 0.05)):
        for alike, equal in product((0.9, 0.5), (True, False)):
            found += _differing(_Setting(2, rows, kind, prevalence, alike, equal), replicates)
    for rows, prevalence, equal in product((200, 1000), (0.5, 0.05), (True, False)):
        far = _Setting(2, rows, "", prevalence, 0.5, equal, FAR_APART)  # areas near .99
        found += _differing(far, replicates)
    for k, equal, (rows, kind, prevalence) in product(MODELS, (True, False), LEADERS):
        one = _Setting(k, rows, kind, prevalence, 0.5, equal)
        found += _families(one, replicates // (2 if k == MOST else 1))
    return found


@dataclass(frozen=True, slots=True)
class _Setting:
    """What tables are drawn: k models, the first the best, `alike` of whose noise is shared."""

    k: int
    rows: int
    kind: str
    prevalence: float
    alike: float
    equal: bool
    best: float = BEST_APART

    @property
    def apart(self) -> Sequence[float]:
        """How far apart the classes are for each model."""
        least = self.best if self.equal else self.best - LESS
        return tuple(np.linspace(self.best, least, self.k).tolist())

    def __str__(self) -> str:
        kinds = {
            "clusters": f"{self.rows // MEMBERS} clusters",
            "weights": f"{self.rows} weighted rows",
        }
        told = kinds.get(self.kind, f"{self.rows} rows")
        equal = "equal" if self.equal else "unequal"
        far = f", {self.best:g} apart" * (self.best != BEST_APART)
        how = f"prevalence {self.prevalence:g}, {self.alike:g} alike{far}"
        return f"{self.k} {equal} models, {told}, {how}"

    def tables(self, replicates: int) -> Iterator[_Table]:
        """Yield tables that have rows of both classes."""
        seed = [
            23,
            self.k,
            self.rows,
            len(self.kind),
            round(100 * self.prevalence),
            round(10 * self.alike),
            self.equal,
        ]
        rng, left = np.random.default_rng(seed), replicates
        while left:
            if (table := self._drawn(rng)) is not None:
                left -= 1
                yield table

    def _drawn(self, rng: np.random.Generator) -> _Table | None:
        owner: Arrays = None
        weights: Arrays = None
        rows, share = self.rows, self.prevalence
        if self.kind == "clusters":
            owner = np.repeat(np.arange(rows // MEMBERS), MEMBERS)
            share = rng.beta(share / 0.3 * 0.7, (1 - share) / 0.3 * 0.7, rows // MEMBERS)[owner]
        elif self.kind == "weights":
            share = share / (share + KEPT * (1 - share))
        truth = rng.random(rows) < share
        if truth.all() or not truth.any():
            return None
        noise = rng.standard_normal((self.k + 1, rows))
        if owner is not None:
            noise = (noise + rng.standard_normal((self.k + 1, owner[-1] + 1))[:, owner]) / sqrt(2)
        if self.kind == "weights":
            weights = np.where(truth, UNIT, UNIT / KEPT).astype(np.int64)
        noise = sqrt(self.alike) * noise[0] + sqrt(1 - self.alike) * noise[1:]
        p = [
            _probabilities(own + apart * truth, apart, self.prevalence)
            for own, apart in zip(noise, self.apart, strict=True)
        ]
        return _Table(truth, np.array(p), owner, weights, self.prevalence)


class _Table:
    """A table as the report counts it."""

    def __init__(self, truth: Arrays, p: Arrays, owner: Arrays, weights: Arrays, cut: float):
        self.models, self.cut = [f"m{i}" for i in range(len(p))], cut
        n = np.ones(len(truth), np.int64) if weights is None else weights
        self.unit, self.n = 1 if weights is None else UNIT, n
        self.owners: Arrays = None if weights is None else squares_and_weights(n)
        if owner is not None:
            self.owners = list(map(str, owner))
        self.every = ScoredRows(
            models=(*range(len(p)),),
            scores=tuple(p),
            truth=truth,
            weights=weights,
            slices={},
            owners=owner,
            unit=self.unit,
        )
        self.patterns = self.voted(self.models, (p >= cut).T)
        self.ranked = [self.every.ranked(j) for j in range(len(p))]

    def voted(self, models: Sequence[str], votes: Arrays) -> PatternCounts:
        return PatternCounts.from_votes(
            models, self.every.truth, votes, self.n, self.unit, owners=self.owners
        )

    def estimates(self, one: RequestedMeasure) -> PairedEstimates | None:
        """Return the models by a measure."""
        if one.name not in SCORED:
            return label_estimates(self.patterns, one)
        every, moved = self.every, {}
        for model, (whole, place) in zip(self.models, self.ranked, strict=True):
            if (found := row_score_influence(one, self.cut, whole, place, every.truth)) is not None:
                moved[model] = found
        sizes = effective_class_sizes(self.patterns, 2)
        return score_estimates(
            every.weights, every.owners, one, moved, sizes, sampling=every.weighed
        )

    def alone(self, place: int, name: str) -> Any:
        """Return what limits of one model are found from."""
        if name in SCORED:
            return self.ranked[place][0]
        return self.voted(["m"], (self.every.scores[place] >= self.cut)[:, None])


@cache
def _of_population(name: str, apart: float, prevalence: float) -> float:
    """Return a measure of the population of a model that is cut at the prevalence."""
    if name == "net_benefit":
        return _true(CATALOG["net_benefit@t"].with_settings(t=prevalence), apart, prevalence)
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
            yield Line.of(f"difference of {asked}", str(one), ends, least - best, 0.93)
        claims = {"better or worse": lambda verdict: verdict in (BETTER, WORSE)}
        if not one.equal:
            claims = {
                "equivalent": lambda verdict: verdict == EQUIVALENT,
                "not worse": lambda verdict: verdict not in (UNDECIDED, WORSE),
            }
        for claim, said in claims.items():
            false = float(np.mean([said(verdict) for *_, verdict in told]))
            yield Line(f"{asked} {claim} (false)", str(one), replicates, false, most=0.05)


def _told(one: _Setting, replicates: int) -> dict[str, list[tuple[Any, Any, str]]]:
    """Return the limits and the verdicts of each measure, at the margin that is the truth."""
    every = parse_measures(DIFFERING)
    found: dict[str, list[tuple[Any, Any, str]]] = {asked.name: [] for asked in every}
    for table in one.tables(replicates):
        for asked in every:
            first, second = (_of_population(asked.name, a, one.prevalence) for a in one.apart)
            margin, verdict = None if one.equal else abs(first - second), UNDECIDED
            apart, family = Estimate(None), _family(table.estimates(asked), "m0")
            if family is not None:
                (change,) = family.changes()
                apart = change.difference
                verdict = change.verdict(asked.name, LEVEL, margin=margin) or UNDECIDED
            found[asked.name].append((apart.low, apart.high, verdict))
    return found


def _family(one: PairedEstimates | None, reference: str | None) -> PairFamily | None:
    if one is None:
        return None
    return adjusted_family(one, family_pairs(reference, one.models), level=LEVEL, seed=0)


def _families(one: _Setting, replicates: int) -> Iterator[Line]:
    """Yield what is said of all pairs, and of those with a reference, as one family each.

    Of equal models: how often any is left out of the tied set, called better or worse than the
    reference, and what the winner's limits hold. Else how often the best is not among the tied.
    """
    every, many = parse_measures(LEADING), dict[tuple[str, str], list[bool]]()
    won: dict[str, list[tuple[Any, float]]] = {asked.name: [] for asked in every}
    with patch.object(families, "DRAWS", FEW_DRAWS):
        for table in one.tables(replicates):
            for asked in every:
                estimates = table.estimates(asked)
                pairs, some = (_family(estimates, reference) for reference in (None, "m0"))
                found = (
                    None if estimates is None else best_set(pairs, estimates, level=0.95, seed=0)
                )
                for claim, said in _claims(one, asked.name, pairs, some, found).items():
                    many.setdefault((asked.name, claim), []).append(said)
                if found is not None and one.equal:
                    place = table.models.index(found.models[found.leader])
                    sign = CATALOG[asked.name].sign
                    won[asked.name].append((table.alone(place, asked.name), sign * found.optimism))
    for (name, claim), said in many.items():
        false = float(np.mean(said))
        yield Line(f"{name}: {claim} (false)", str(one), len(said), false, most=1 - LEVEL)
    for asked in every if one.equal and one.k > 2 else ():
        true = _of_population(asked.name, BEST_APART, one.prevalence)
        values = _limits(asked, [what for what, _ in won[asked.name]])
        lucks = [luck for _, luck in won[asked.name]]
        for told, moved in (("as printed", 0), ("corrected", 1)):
            ends = [
                subtract_bias(value, moved * luck)
                for value, luck in zip(values, lucks, strict=True)
            ]
            sure = [(e.low, e.high) for e in ends if e.low is not None and e.high is not None]
            share = float(np.mean([low <= true <= high for low, high in sure]))
            yield Line(
                f"the winner's {asked.name}, {told}",
                str(one),
                len(sure),
                share,
                0.9 if moved else None,
            )


def _claims(
    one: _Setting,
    name: str,
    pairs: PairFamily | None,
    some: PairFamily | None,
    found: BestSet | None,
) -> dict[str, bool]:
    """Return which claims are false."""
    claims = {
        "a simultaneous interval misses": _misses(one, name, pairs),
        "one with the reference misses": _misses(one, name, some),
        "the best is not tied": found is not None and not found.ties.get("m0", True),
    }
    if one.equal:
        claims["any is not tied"] = found is not None and not found.tied.all()
        claims["any better or worse"] = some is not None and bool(some.significant.any())
    return claims


def _misses(one: _Setting, name: str, family: PairFamily | None) -> bool:
    """Tell whether any simultaneous interval does not hold the true difference."""
    if family is None:
        return False
    models = family.estimates.models
    true = [_of_population(name, one.apart[int(model[1:])], one.prevalence) for model in models]
    ends = [change.simultaneous or Estimate(None) for change in family.changes()]
    return any(
        end.low is not None and not end.low <= true[i] - true[j] <= (end.high or 0.0)
        for (i, j), end in zip(family.pairs, ends, strict=True)
    )


def _limits(asked: RequestedMeasure, models: Sequence[Any]) -> Sequence[Estimate]:
    """Return what the report prints of each model by itself."""
    if asked.name in SCORED:
        return [estimate_score_measure(asked.measure, one, SURE, "").value for one in models]
    _, cells = concatenate_counts(dict(enumerate(map(ConfusionCounts.from_patterns, models))))
    many = [0.0 if one.clusters is None else one.clusters.size for one in models]
    sure = LabelLimitSettings(SURE, cells.models, [None] * len(models), many)
    return [as_estimate(one.value) for one in measured_hard(asked, cells, sure)]
