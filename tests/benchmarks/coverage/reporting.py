"""What `clfeval report` prints by default: limits of each model.

Tables are those of `probabilities`, cut at .5. Limits are found as the report finds them, whatever
their method is in a table. Net benefit is that at the prevalence.
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
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
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
Arrays = Any
Owning = list[str] | Arrays | None  # whose rows are, or their squared weights


def lines(replicates: int) -> list[Line]:
    """Return lines by measure, prevalence and number of rows; by clusters."""
    found: list[Line] = []
    for prevalence in PREVALENCES:
        for rows in SIZES:
            made = [(*table, None) for table in _tables(rows, APART, prevalence, replicates)]
            found += measures("", rows, prevalence, made)
        for clusters in CLUSTERS:
            rng = np.random.default_rng([12, clusters, round(100 * prevalence)])
            made = [_clustered(rng, clusters, prevalence) for _ in range(replicates)]
            found += measures(f", {clusters} clusters", clusters * MEMBERS, prevalence, made)
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
