"""Rows that share patients: 300 rows, 2, 5 or 10 of a patient, alike by an ICC of .2 or .5.

kinds of dependence: all rows of a patient are of one class (class); a model is right in rows of
some patients and wrong in those of others (right); some patients' rows score higher (shift).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.inference.influence_and_clusters import count_divisor, design_effect
from clfeval.inference.proportions import clopper_pearson, flip_test
from clfeval.inference.rank_statistics import clustered_auc, delong_auc
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.confidence_limits import measure_limits
from clfeval.methods.estimates import Cells
from clfeval.methods.measurement.label_measures import label_estimates
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from tests.benchmarks.coverage import Line

ROWS, LEAST, SLOWER = 300, 0.92, 10
SLOW = ("f1", "mcc")  # of a tenth of the replicates
SIZES, ICCS, KINDS = (2, 5, 10), (0.2, 0.5), ("class", "right", "shift")
RATES = (
    (0.3, 0.8, 0.9),
    (0.5, 0.6, 0.7),
    (0.3, 0.95, 0.98),
)  # prevalence, sensitivity, specificity


@dataclass(frozen=True, slots=True)
class Rows:
    """Simulated rows: truth (r, c, m) and votes (k, r, c, m) of r tables with c clusters of m."""

    truth: Floats
    votes: Floats

    def cells(self, model: int = 0) -> Floats:
        """Return TP, FP, P and N of each cluster: (r, c, 4)."""
        t, v = self.truth, self.votes[model]
        return np.stack([(t & v).sum(2), (~t & v).sum(2), t.sum(2), (~t).sum(2)], 2) * 1.0


def simulated(
    replicates: int,
    size: int,
    icc: float,
    kind: str,
    rates: tuple[float, float, float],
    models: int = 1,
    rng: np.random.Generator | None = None,
) -> Rows:
    """Draw tables in which two rows of a patient are alike with the correlation `icc`.

    Each row takes its own uniform number, or with probability sqrt(icc) that of its patient.
    """
    draw = rng or np.random.default_rng(1)
    prevalence, sens, spec = rates
    shape = (replicates, ROWS // size, size)
    truth = draw.random((*shape[:2], 1 if kind == "class" else size)) < prevalence
    truth = np.broadcast_to(truth, shape)
    votes = []
    for _ in range(models):
        shared = draw.random(shape) < np.sqrt(icc)
        u = np.where(shared, draw.random((*shape[:2], 1)), draw.random(shape))
        if kind == "shift":
            votes.append(np.where(truth, u < sens, u < 1 - spec))
        else:
            votes.append((u < np.where(truth, sens, spec)) == truth)
    return Rows(truth, np.array(votes))


def sums(k: Floats, n: Floats) -> tuple[Floats, ...]:
    """Return the totals over clusters (r, c) of k, n, k², k n and n²."""
    return k.sum(1), n.sum(1), (k * k).sum(1), (k * n).sum(1), (n * n).sum(1)


def held(
    interval: str,
    setting: str,
    low: Floats,
    high: Floats,
    truth: float,
    *,
    least: float | None = LEAST,
) -> Line:
    """Return the share of the intervals that hold the truth; undefined ones are left out."""
    return Line.of(interval, setting, np.stack([low, high], axis=1), truth, least)


def settings() -> Iterator[tuple[int, float, str, tuple[float, float, float], str]]:
    """Yield size, ICC, kind, rates and how the setting is called."""
    for kind in KINDS:
        for rates in RATES:
            for size in SIZES:
                for icc in ICCS:
                    shown = "{:g} {:g}/{:g}".format(*rates)
                    yield size, icc, kind, rates, f"{kind}, {size} of a patient, ICC {icc}, {shown}"


def lines(replicates: int) -> list[Line]:
    """Return how often intervals by clusters, and of independent rows, hold the truth."""
    found: list[Line] = []
    for size, icc, kind, rates, name in settings():
        rows = simulated(replicates, size, icc, kind, rates)
        found += [*shares(name, rows, rates), *measures(name, rows, rates)]
    for size in SIZES:
        for icc in ICCS:
            name = f"{size} of a patient, ICC {icc}"
            found += shine_through(name, simulated(replicates, size, icc, "right", RATES[0], 4))
            found += areas(name, max(replicates // 2, 1), size, icc)
            found.append(signs(name, simulated(replicates, size, icc, "right", RATES[0], 2)))
            for kind in KINDS:
                rows = simulated(replicates, size, icc, kind, RATES[0], 2)
                found += differences(f"{kind}, {name}", rows)
    return found


def measures(name: str, rows: Rows, rates: tuple[float, float, float]) -> Iterator[Line]:
    """Return the coverage of measures of one model: of both rates, at the rows' ratio, at 1 %."""
    prevalence, sens, spec = rates
    x = rows.cells()
    cells = x.sum(1)
    tp, fp, p, n = cells.T
    sums = np.einsum("rci,rcj->rij", x, x)
    models = tuple(map(str, range(len(tp))))
    plain = ConfusionCounts(models, tp, fp, p - tp, n - fp, p, n)
    table = {None: prevalence, 0.01: 0.01}
    for measure, at in (
        ("delta", None),
        ("phi", None),
        ("mcc", 0.5),
        ("accuracy", None),
        ("f1", None),
        ("mcc", None),
        ("precision", None),
        ("precision", 0.01),
        ("npv", 0.01),
    ):
        few = SLOWER if measure in SLOW else 1
        some = slice(0, max(len(tp) // few, 1))
        true = Confusion.from_prevalence(sens, 1 - spec, table.get(at, at))
        value = float(CATALOG[measure].function(true))
        shown = measure if at is None else f"{measure} at {at:g}"
        for counts, more, least in (
            (replace(plain, sums=sums), "", LEAST),
            (plain, ", rows independent", None),
        ):
            here = Cells.at_prevalence(counts, at).select(some)
            low, high = measure_limits(measure, here, level=0.95)
            yield held(shown + more, name, low, high, value, least=least)


def differences(name: str, rows: Rows, level: float = 0.95) -> Iterator[Line]:
    """Return the coverage of the differences in delta and phi of two models alike, paired."""
    (tables, c, m), ends = rows.truth.shape, dict[tuple[str, bool], list[Floats]]()
    owners, one = [f"{i}" for i in range(c) for _ in range(m)], np.ones(c * m, np.int64)
    places = np.array([0]), np.array([1])
    for r in range(tables):
        truth, votes = rows.truth[r].ravel(), rows.votes[:, r].reshape(2, -1).T
        for of in (owners, None):
            patterns = PatternCounts.from_votes(("a", "b"), truth, votes, one, owners=of)
            for metric in ("delta", "phi"):
                found = label_estimates(patterns, RequestedMeasure(metric, CATALOG[metric], {}))
                low = high = np.full(1, np.nan)
                if found is not None:
                    _, low, high, _ = found.intervals(*places, level=level)
                ends.setdefault((metric, of is None), []).append(np.array([low[0], high[0]]))
    for (metric, alone), each in ends.items():
        low, high = np.array(each).T
        shown = f"difference in {metric}{', rows independent' * alone}"
        yield held(shown, name, low, high, 0.0, least=None if alone else LEAST)


def shares(name: str, rows: Rows, rates: tuple[float, float, float]) -> Iterator[Line]:
    """Return the coverage of a model's sensitivity."""
    tp, _, p, _ = np.moveaxis(rows.cells(), 2, 0)
    found = sums(tp, p)
    by = count_divisor(*design_effect(*found), level=0.95)
    yield held(
        "sensitivity", name, *clopper_pearson(found[0] / by, found[1] / by, level=0.95), rates[1]
    )
    plain = clopper_pearson(*found[:2], level=0.95)
    yield held("sensitivity, rows independent", name, *plain, rates[1], least=None)


def shine_through(name: str, rows: Rows) -> Iterator[Line]:
    """Return the coverage of ShineThrough of the first of four models alike."""
    hits = rows.votes & rows.truth
    alone, some = hits[0] & ~hits[1:].any(0), hits.any(0)
    found = sums(alone.sum(2) * 1.0, some.sum(2) * 1.0)
    sens = RATES[0][1]
    truth = sens * (1 - sens) ** 3 / (1 - (1 - sens) ** 4)
    by = count_divisor(*design_effect(*found), level=0.95)
    limits = clopper_pearson(found[0] / by, found[1] / by, level=0.95)
    yield held("ShineThrough", name, *limits, truth)
    plain = clopper_pearson(*found[:2], level=0.95)
    yield held("ShineThrough, rows independent", name, *plain, truth, least=None)


def areas(name: str, replicates: int, size: int, icc: float) -> Iterator[Line]:
    """Return the coverage of the area under the curve: normal scores, patients shifted by ICC."""
    from scipy.stats import norm

    rng, gap = np.random.default_rng(2), 1.2
    ends = np.empty((4, replicates))
    for i in range(replicates):
        patient = np.repeat(np.arange(ROWS // size), size)
        truth = rng.random(ROWS) < 0.3
        shift = rng.normal(size=ROWS // size)[patient]
        score = np.sqrt(icc) * shift + np.sqrt(1 - icc) * rng.normal(size=ROWS) + gap * truth
        order = np.argsort(score)
        t, owner = truth[order], patient[order]
        at = np.where(t, np.arange(ROWS), np.arange(ROWS) + ROWS)
        owned = ClusterCounts.from_entries(list(map(str, owner)), at, np.ones(ROWS, np.int64))
        mine = clustered_auc(t * 1, ~t * 1, owned, level=0.95)
        plain = delong_auc(t * 1, ~t * 1, level=0.95)
        ends[:, i] = mine.low, mine.high, plain.low, plain.high
    truth_ = float(norm.cdf(gap / np.sqrt(2)))
    yield held("AUC", name, ends[0], ends[1], truth_)
    yield held("AUC, rows independent", name, ends[2], ends[3], truth_, least=None)


def signs(name: str, rows: Rows) -> Line:
    """Return how often the test of signs tells two equal models apart."""
    a, b = rows.votes & rows.truth
    more = (a & ~b).sum(2) - (b & ~a).sum(2)
    p = np.array([flip_test(one) for one in more])
    return Line("false: models differ", name, len(p), float((p <= 0.05).mean()), most=0.05)
