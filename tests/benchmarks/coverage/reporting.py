"""What `clfeval report` prints by default: limits, the set of the best, the winner less its luck.

Tables are those of `probabilities`, cut at .5. Limits are found as the report finds them, whatever
their method is in a table. Net benefit is that at the prevalence. A model that is as good as all
others must be in the set of those that may be the best, however the others come out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.weights import gathered
from clfeval.inference.best import contest
from clfeval.inference.delong import delong_auc
from clfeval.inference.shared import of_rows
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.ranking import roc_auc, roc_auc_influence
from clfeval.methods.estimates import end_to_end
from clfeval.methods.measured.asked import Asked
from clfeval.methods.measured.decisions import net_benefit
from clfeval.methods.measured.hard import HardLimits
from clfeval.methods.measured.hard import measured as measured_hard
from clfeval.methods.measured.scored import measured
from clfeval.methods.options import Certainty
from clfeval.result import Estimate, estimate
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.probabilities import (
    CLUSTERS,
    LEAST,
    LEVEL,
    MEMBERS,
    SIZES,
    _held,
    _probabilities,
    _tables,
    _true,
)

APART, PREVALENCES = 1.3, (0.5, 0.05)
SCORED = ("roc_auc", "brier", "log_loss", "calibration_slope")
HARD = ("mcc", "f1", "sensitivity", "specificity", "precision", "accuracy")
SURE = Certainty(LEVEL, resamples=300)
EQUAL, CORRELATION = (3, 10), 0.5
Arrays = Any
Owning = list[str] | Arrays | None  # whose rows are, or their squared weights


def lines(replicates: int) -> list[Line]:
    """Return lines by measure, prevalence and number of rows; by clusters; of equal models."""
    found: list[Line] = []
    for prevalence in PREVALENCES:
        for rows in SIZES:
            made = [(*table, None) for table in _tables(rows, APART, prevalence, replicates)]
            found += measures("", rows, prevalence, made)
        for clusters in CLUSTERS:
            rng = np.random.default_rng([12, clusters, round(100 * prevalence)])
            made = [_clustered(rng, clusters, prevalence) for _ in range(replicates)]
            found += measures(f", {clusters} clusters", clusters * MEMBERS, prevalence, made)
    for k in EQUAL:
        for rows in SIZES[1:]:
            found += _equal(k, rows, replicates)
    return found


def measures(
    more: str, rows: int, prevalence: float, made: Sequence[tuple[Arrays, Arrays, Arrays, Owning]],
    unit: float = 1, least: float | None = LEAST,
) -> Iterator[Line]:  # fmt: skip
    """Yield the coverage of scores and of votes; tables are p, weights of positives, of negatives.

    Of each row its owner, or the square of its weight: as of `counts.weights.Owners`.
    """
    setting = (APART, prevalence, prevalence)
    counts = [_counted(*table, unit) for table in made]
    for name in SCORED:
        measure = CATALOG[name]
        found = [measured(measure, one, SURE, "").value for one, _ in counts]
        yield _held(
            f"{name}{more}", rows, setting, _true(measure, *setting[:2]), _ends(found), least
        )
    measure = CATALOG["net_benefit@t"].given(t=prevalence)
    ends = _ends(net_benefit(one, prevalence, LEVEL)[0] for one, _ in counts)
    yield _held(f"net_benefit{more}", rows, setting, _true(measure, *setting[:2]), ends, least)
    patterns = [one for _, one in counts]
    _, cells = end_to_end(dict(enumerate(map(ConfusionCounts.of_patterns, patterns))))
    many, size = [0.0 if one.clusters is None else one.clusters.size for one in patterns], len(made)
    sure = HardLimits(SURE, cells.models, [None] * size, many)
    for name in HARD:
        measure = CATALOG[name]

        def of(scores: Arrays, pos: Arrays, neg: Arrays, measure: Any = measure) -> Arrays:
            tp, fp = pos[scores >= 0.5].sum(), neg[scores >= 0.5].sum()
            return measure.function(Confusion(tp, fp, pos.sum() - tp, neg.sum() - fp))

        true = _true(replace(measure, of=of), *setting[:2])
        found = map(estimate, measured_hard(Asked(name, measure, {}), cells, sure).values)
        yield _held(f"{name}{more}", rows, setting, true, _ends(found), least)


def _ends(found: Iterable[Estimate]) -> Arrays:
    return np.array([(np.nan, np.nan) if one.low is None else (one.low, one.high) for one in found])


def _counted(
    p: Arrays, pos: Arrays, neg: Arrays, owners: Owning, unit: float
) -> tuple[ScoreCounts, PatternCounts]:
    """Count a table, whose probabilities ascend and differ, as the report does."""
    n, truth = pos + neg, pos > 0
    place = np.arange(len(p)) + np.where(truth, 0, len(p))
    owned = gathered(owners, place, n, 2 * len(p))
    votes = PatternCounts.of(["m"], truth, (p >= 0.5)[:, None], n, unit, owners=owners)
    return ScoreCounts(p, pos, neg, unit, owned), votes


def _clustered(
    rng: np.random.Generator, clusters: int, prevalence: float
) -> tuple[Arrays, Arrays, Arrays, Owning]:
    """Draw a table of clusters, alike as in `probabilities`."""
    rows = clusters * MEMBERS
    owner = np.repeat(np.arange(clusters), MEMBERS)
    alike = rng.beta(prevalence / 0.3 * 0.7, (1 - prevalence) / 0.3 * 0.7, clusters)[owner]
    truth = rng.random(rows) < alike
    noise = (rng.standard_normal(clusters)[owner] + rng.standard_normal(rows)) / sqrt(2)
    p = _probabilities(noise + APART * truth, APART, prevalence)
    order = np.argsort(p)
    pos = truth[order] * 1
    return p[order], pos, 1 - pos, list(map(str, owner[order]))


def _equal(k: int, rows: int, replicates: int) -> Iterator[Line]:
    """Yield how often the first of k equal models may be the best, and what the winner's hold."""
    rng = np.random.default_rng([13, k, rows])
    area = _true(CATALOG["roc_auc"], APART, 0.3)
    kept, ends, moved = [], [], []
    for _ in range(replicates):
        truth = rng.random(rows) < 0.3
        noise = sqrt(CORRELATION) * rng.standard_normal(rows)
        noise = noise + sqrt(1 - CORRELATION) * rng.standard_normal((k, rows))
        values, influence, limits = [], [], []
        for x in noise + APART * truth:
            order = np.argsort(x)
            pos = truth[order] * 1
            f = np.asarray(roc_auc_influence(x[order], pos, 1 - pos))
            each = np.empty(rows)
            each[order] = np.where(pos, f[:rows], f[rows:])
            values.append(float(roc_auc(x[order], pos, 1 - pos)))
            influence.append(each)
            limits.append(delong_auc(pos, 1 - pos, level=LEVEL))
        found = contest(
            values, of_rows(influence, None, None).covariance, level=LEVEL, rng=rng, draws=2000
        )
        kept.append(found.may_be_best[0])
        winner = limits[found.winner]
        ends.append((winner.low, winner.high))
        moved.append((winner.low - found.optimism, winner.high - found.optimism))
    name = f"{k} equal models, {rows} rows, prevalence 0.3"
    yield Line("may be the best", name, replicates, float(np.mean(kept)), LEVEL)
    for told, both in (("as printed", ends), ("less its luck", moved)):
        low, high = np.array(both).T
        share = float(((low <= area) & (area <= high)).mean())
        least = LEAST if both is moved else None
        yield Line(f"the winner's AUC, {told}", name, replicates, share, least)
