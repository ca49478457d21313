"""What `clfeval report` prints by default: limits of each model.

Log odds of the truth are normal in each class, `apart` from each other; the model's are 1.25 times
as far from 0 and .2 higher: its calibration slope is .8. Scores crowd, rows are few, positives
rare, values near ends. Models are cut at .5. Limits are found as the report finds them, whatever
their method is in a table; tables without are left out. Net benefit and its kin are those at t,
where so stated a threshold that few rows reach.

By clusters: ten rows each, whose classes are alike by an ICC of .3, and scores in a class by .5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import sqrt
from typing import Any

import numpy as np

from clfeval.counts.clusters_and_weights import clusters_or_weights
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate, as_estimate
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure
from clfeval.methods.estimates import concatenate_counts
from clfeval.methods.measurement.label_measures import LabelLimitSettings
from clfeval.methods.measurement.label_measures import estimate_label_measure as measured_hard
from clfeval.methods.measurement.net_benefits import net_benefit
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import estimate_score_measure
from clfeval.methods.options import IntervalSettings
from tests.benchmarks.coverage import Line

LEVEL, LEAST = 0.95, 0.92
SCORED = (
    "roc_auc",
    "brier",
    "log_loss",
    "brier_skill",
    "log_loss_skill",
    "calibration_slope",
    "calibration_intercept",
    "calibration_in_the_large",
    "oe_ratio",
    "average_precision",
    "pr_auc",
    "net_benefit_standardised",
    "interventions_avoided",
)
HARD = ("mcc", "f1", "sensitivity", "specificity", "precision", "accuracy")
SIZES, CLUSTERS, MEMBERS = (50, 200, 1000), (20, 50, 100), 10
APART, PREVALENCES = 1.3, (0.5, 0.05)
# distance of the classes, prevalence, t; of the far ones few rows reach t
SETTINGS = ((APART, 0.5, 0.5), (APART, 0.05, 0.05), (3.0, 0.5, 0.5), (3.0, 0.05, 0.05))
FAR = ((APART, 0.5, 0.95), (APART, 0.05, 0.3))
SURE = IntervalSettings(LEVEL, resamples=300)
Arrays = Any
Owning = list[str] | Arrays | None  # whose rows are, or their squared weights


def lines(replicates: int) -> list[Line]:
    """Return lines by measure, setting and number of rows; by clusters."""
    found: list[Line] = []
    for (apart, prevalence, t), rows in [*product(SETTINGS, SIZES), *product(FAR, SIZES[1:])]:
        made = [(*table, None) for table in _tables(rows, apart, prevalence, replicates)]
        found += measures("", rows, prevalence, made, apart=apart, t=t)
    for prevalence, clusters in product(PREVALENCES, CLUSTERS):
        rng = np.random.default_rng([12, clusters, round(100 * prevalence)])
        made = [_clustered(rng, clusters, prevalence) for _ in range(replicates)]
        found += measures(f", {clusters} clusters", clusters * MEMBERS, prevalence, made)
    return found


def measures(
    more: str,
    rows: int,
    prevalence: float,
    made: Sequence[tuple[Arrays, Arrays, Arrays, Owning]],
    unit: float = 1,
    least: float | None = LEAST,
    apart: float = APART,
    t: float | None = None,
) -> Iterator[Line]:
    """Yield the coverage of scores and of votes; tables are p, weights of positives, of negatives.

    Of each row its owner, or the square of its weight: as of `counts.weights.Owners`. t: of net
    benefit, by default the prevalence.
    """
    t = prevalence if t is None else t
    counts = [_counted(*table, unit) for table in made]

    def line(measure: Measure, found: Iterable[Estimate]) -> Line:
        true = _true(measure, apart, prevalence)
        name = f"{rows} rows, prevalence {prevalence:g}, {apart:g} apart, t {t:g}, at {true:.3f}"
        return Line.of(f"{measure.id}{more}", name, _ends(found), true, least)

    for name in SCORED:
        measure = CATALOG[name].with_settings(t=t)
        yield line(
            measure, [estimate_score_measure(measure, one, SURE, "").value for one, _ in counts]
        )
    measure = CATALOG["net_benefit@t"].with_settings(t=t)
    yield line(measure, [net_benefit(one, t, LEVEL)[0] for one, _ in counts])
    patterns = [one for _, one in counts]
    _, cells = concatenate_counts(dict(enumerate(map(ConfusionCounts.from_patterns, patterns))))
    many, size = [0.0 if one.clusters is None else one.clusters.size for one in patterns], len(made)
    sure = LabelLimitSettings(SURE, cells.models, [None] * size, many)
    for name in HARD:
        measure = CATALOG[name]

        def of(scores: Arrays, pos: Arrays, neg: Arrays, measure: Any = measure) -> Arrays:
            tp, fp = pos[scores >= 0.5].sum(), neg[scores >= 0.5].sum()
            return measure.function(Confusion(tp, fp, pos.sum() - tp, neg.sum() - fp))

        found = measured_hard(RequestedMeasure(name, measure, {}), cells, sure)
        yield line(replace(measure, compute=of), (as_estimate(one.value) for one in found))


def _ends(found: Iterable[Estimate]) -> Arrays:
    return np.array([(np.nan, np.nan) if one.low is None else (one.low, one.high) for one in found])


def _counted(
    p: Arrays, pos: Arrays, neg: Arrays, owners: Owning, unit: float
) -> tuple[ScoreCounts, PatternCounts]:
    """Count a table, whose probabilities ascend and differ, as the report does."""
    n, truth = pos + neg, pos > 0
    place = np.arange(len(p)) + np.where(truth, 0, len(p))
    owned = clusters_or_weights(owners, place, n, 2 * len(p))
    votes = PatternCounts.from_votes(["m"], truth, (p >= 0.5)[:, None], n, unit, owners=owners)
    return ScoreCounts(p, pos, neg, unit, owned), votes


def _clustered(
    rng: np.random.Generator, clusters: int, prevalence: float
) -> tuple[Arrays, Arrays, Arrays, Owning]:
    """Draw a table of clusters."""
    rows = clusters * MEMBERS
    owner = np.repeat(np.arange(clusters), MEMBERS)
    alike = rng.beta(prevalence / 0.3 * 0.7, (1 - prevalence) / 0.3 * 0.7, clusters)[owner]
    truth = rng.random(rows) < alike
    noise = (rng.standard_normal(clusters)[owner] + rng.standard_normal(rows)) / sqrt(2)
    p = _probabilities(noise + APART * truth, APART, prevalence)
    order = np.argsort(p)
    pos = truth[order] * 1
    return p[order], pos, 1 - pos, list(map(str, owner[order]))


def _tables(
    rows: int, apart: float, prevalence: float, replicates: int
) -> Iterator[tuple[Arrays, Arrays, Arrays]]:
    """Yield tables: ascending probabilities, and which row is of which class."""
    rng = np.random.default_rng([7, rows, round(100 * prevalence), round(10 * apart)])
    for _ in range(replicates):
        truth = rng.random(rows) < prevalence
        p = _probabilities(rng.standard_normal(rows) + apart * truth, apart, prevalence)
        order = np.argsort(p)
        yield p[order], truth[order] * 1, ~truth[order] * 1


def _probabilities(z: Arrays, apart: float, prevalence: float) -> Arrays:
    odds = np.log(prevalence / (1 - prevalence)) + apart * z - apart**2 / 2
    return 1 / (1 + np.exp(-0.2 - 1.25 * odds))


def _true(measure: Measure, apart: float, prevalence: float) -> float:
    """Return the measure of the population, on a grid of 200,001 scores."""
    z = np.linspace(-9, 9 + apart, 200_001)
    pos, neg = np.exp(-((z - apart) ** 2) / 2), np.exp(-(z**2) / 2)
    pos, neg = prevalence * pos / pos.sum(), (1 - prevalence) * neg / neg.sum()
    return float(measure.function(_probabilities(z, apart, prevalence), pos, neg))
