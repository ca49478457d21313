"""What `clfeval report` prints by default: limits, the set of the best, the winner less its luck.

Tables are those of `probabilities`, cut at .5. Limits are found as the report finds them, whatever
their method is in a table. Net benefit is that at the prevalence. A model that is as good as all
others must be in the set of those that may be the best, however the others come out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from clfeval.counts.clusters import ClusterCounts
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.best import contest
from clfeval.inference.delong import delong_auc
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.ranking import roc_auc, roc_auc_influence
from clfeval.methods.estimates import Cells
from clfeval.methods.measured.asked import Asked
from clfeval.methods.measured.decisions import net_benefit
from clfeval.methods.measured.hard import HardLimits
from clfeval.methods.measured.hard import measured as measured_hard
from clfeval.methods.measured.scored import measured
from clfeval.methods.options import Certainty
from clfeval.methods.report.together import of_rows
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
SCORED, HARD = ("roc_auc", "brier", "log_loss", "calibration_slope"), ("mcc", "f1", "sensitivity")
SURE = Certainty(LEVEL, resamples=300)
EQUAL, CORRELATION = (3, 10), 0.5
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines by measure, prevalence and number of rows; by clusters; of equal models."""
    found: list[Line] = []
    for prevalence in PREVALENCES:
        setting = (APART, prevalence, prevalence)
        for rows in SIZES:
            made = list(_tables(rows, APART, prevalence, replicates))
            counts = [ScoreCounts.of(*table) for table in made]
            found += [*_of_scores(rows, setting, counts), *_of_votes(rows, setting, made)]
        for clusters in CLUSTERS:
            rng = np.random.default_rng([12, clusters, round(100 * prevalence)])
            counts = [_clustered(rng, clusters, prevalence) for _ in range(replicates)]
            found += _of_scores(clusters * MEMBERS, setting, counts, f", {clusters} clusters")
    for k in EQUAL:
        for rows in SIZES[1:]:
            found += _equal(k, rows, replicates)
    return found


def _of_scores(
    rows: int, setting: tuple[float, ...], counts: list[ScoreCounts], more: str = ""
) -> Iterator[Line]:
    for name in SCORED:
        measure = CATALOG[name]
        found = [measured(measure, one, SURE, "").value for one in counts]
        yield _held(
            f"{name}{more}", rows, setting, _true(measure, *setting[:2]), _ends(found), LEAST
        )
    measure = CATALOG["net_benefit@t"].given(t=setting[2])
    ends = _ends(net_benefit(one, setting[2], LEVEL)[0] for one in counts)
    yield _held(f"net_benefit{more}", rows, setting, _true(measure, *setting[:2]), ends, LEAST)


def _ends(found: Iterable[Estimate]) -> Arrays:
    return np.array([(np.nan, np.nan) if one.low is None else (one.low, one.high) for one in found])


def _of_votes(rows: int, setting: tuple[float, ...], made: Arrays) -> Iterator[Line]:
    cells = []
    for p, pos, neg in made:
        tp, fp = pos[p >= 0.5].sum(), neg[p >= 0.5].sum()
        cells.append([int(tp), int(fp), int(pos.sum() - tp), int(neg.sum() - fp)])
    names = [f"m{i}" for i in range(len(cells))]
    counts = Cells.at_prevalence(ConfusionCounts.of_cells(names, cells))
    sure = HardLimits(SURE, names, [None] * len(names), [0] * len(names))
    for name in HARD:
        measure = CATALOG[name]

        def of(scores: Arrays, pos: Arrays, neg: Arrays, measure: Any = measure) -> Arrays:
            tp, fp = pos[scores >= 0.5].sum(), neg[scores >= 0.5].sum()
            return measure.function(Confusion(tp, fp, pos.sum() - tp, neg.sum() - fp))

        population = _true(replace(measure, of=of), *setting[:2])
        found = map(estimate, measured_hard(Asked(name, measure, {}), counts, sure).values)
        yield _held(name, rows, setting, population, _ends(found), LEAST)


def _clustered(rng: np.random.Generator, clusters: int, prevalence: float) -> ScoreCounts:
    """Draw a table of clusters, alike as in `probabilities`."""
    rows = clusters * MEMBERS
    owner = np.repeat(np.arange(clusters), MEMBERS)
    alike = rng.beta(prevalence / 0.3 * 0.7, (1 - prevalence) / 0.3 * 0.7, clusters)[owner]
    truth = rng.random(rows) < alike
    noise = (rng.standard_normal(clusters)[owner] + rng.standard_normal(rows)) / sqrt(2)
    p = _probabilities(noise + APART * truth, APART, prevalence)
    order = np.argsort(p)
    pos, place = truth[order] * 1, np.arange(rows)
    at = np.where(pos, place, place + rows)
    owned = ClusterCounts.of(list(map(str, owner[order])), at, np.ones(rows, np.int64))
    return ScoreCounts(p[order], pos, 1 - pos, clusters=owned)


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
        found = contest(values, of_rows(influence, None, None), level=LEVEL, rng=rng, draws=2000)
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
