"""Models in populations: flat arrays of 2 x 2 tables, each with the odds it is to be read at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.counts.patterns import ConfusionCounts
from clfeval.inference.proportions import clopper_pearson
from clfeval.inference.resampling import percentiles, resampled_rates, stream
from clfeval.inference.score_region import range_over_region
from clfeval.inference.shares import combination, odds_ratio, predictive_value, rate_ratio
from clfeval.measures.catalog import CATALOG
from clfeval.measures.jpt import Jpt, over
from clfeval.measures.table import Measure, Stakes, measures
from clfeval.methods.estimates import rate


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """m tables: what was counted (m,), and the odds of positives to negatives (m,) to tune to."""

    tp: Counts
    fp: Counts
    positives: Counts
    negatives: Counts
    ratio: Floats

    @classmethod
    def of(cls, counts: ConfusionCounts, ratios: Sequence[float] | Floats) -> Cells:
        """Return k models at each of g odds, population by population: g k tables."""
        g, k = len(ratios), len(counts.models)
        return cls(
            np.tile(counts.tp, g),
            np.tile(counts.fp, g),
            np.tile(counts.positives, g),
            np.tile(counts.negatives, g),
            np.repeat(np.asarray(ratios, np.float64), k),
        )

    @classmethod
    def as_counted(cls, counts: ConfusionCounts) -> Cells:
        """Return k models, each at the odds of its own rows."""
        ratio = np.where(
            counts.negatives > 0, counts.positives / np.maximum(counts.negatives, 1e-300), np.nan
        )
        return cls(counts.tp, counts.fp, counts.positives, counts.negatives, ratio)

    @property
    def counted(self) -> Jpt:
        """The tables as they were counted."""
        return Jpt(self.tp, self.fp, self.positives - self.tp, self.negatives - self.fp)

    @property
    def tuned(self) -> Jpt:
        """The tables at their odds, total 1."""
        return self.counted.tuned(self.ratio)

    @property
    def rates(self) -> tuple[Floats, Floats]:
        """The true and the false positive rate, NaN without the class."""
        return rate(self.tp, self.positives), rate(self.fp, self.negatives)

    def where(self, index: Counts) -> Cells:
        """Return some of the tables."""
        return self.at(index, self.ratio[index])

    def at(self, index: Counts, ratio: Floats) -> Cells:
        """Return some of the tables at other odds."""
        return Cells(
            self.tp[index], self.fp[index], self.positives[index], self.negatives[index], ratio
        )


Limits = tuple[Floats, Floats]

METHODS = {
    "sensitivity, specificity; tar, ppv, npv as counted": "Clopper-Pearson",
    "ppv, npv and their odds elsewhere": "Mercaldo logit",
    "lr_pos, lr_neg, dor, dp": "log (Woolf)",
    "tar, tor, j_index, phi, delta, cost, net benefit": "square-and-add of Wilson limits",
    "f_beta, mcc, ic, epa; ratios with an empty cell": "range over the score region (Newcombe)",
    "differences of models": "square-and-add with the correlation of the rows they share",
}


def limits(
    name: str,
    cells: Cells,
    *,
    level: float,
    beta: float,
    stakes: Stakes | None,
    known: Mapping[str, Limits] | None = None,
) -> Limits:
    """Return the lower and upper limit of a measure of tuned tables, (m,) each; NaN: undefined.

    known: limits of other measures of the same tables, to be transformed rather than made again.
    Shapes: (m,) each. Range: that of the measure, infinite ends included; NaN where the measure or
    a class is missing. Errors: KeyError for an unknown measure, ValueError unless 0 < level < 1.
    Source: each method's own, see `inference`; the score region: Newcombe 2011, Communications in
    Statistics - Theory and Methods 40:3154.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if name in ("tor", "f_odds", "dp"):
            base, transform = _TRANSFORMED[name]
            low, high = (known or {}).get(base) or limits(
                base, cells, level=level, beta=beta, stakes=stakes
            )
            return transform(low), transform(high)
        if name in _LINEAR:
            return _linear(name, cells, level, stakes)
        if name in ("sensitivity", "specificity"):
            part = cells.tp if name == "sensitivity" else cells.negatives - cells.fp
            whole = cells.positives if name == "sensitivity" else cells.negatives
            return clopper_pearson(part, whole, level=level)
        found = _RATIOS[name](cells, level) if name in _RATIOS else None
        if found is None:
            return _region(name, cells, level, beta, stakes)
        lost = np.isnan(found[0])
        if lost.any():
            region = _region(name, cells.where(lost), level, beta, stakes)
            for side, other in zip(found, region, strict=True):
                side[lost] = other
        return found


def counted_limits(cells: Cells, *, level: float) -> dict[str, Limits]:
    """Return exact limits at the class ratio of the rows: tar, ppv, npv are shares of rows there.

    Their odds, tor, ppv_odds and npv_odds, have the same ones, transformed.
    """
    t, found = cells.counted, {}
    for name, odds, part, whole in (
        ("tar", "tor", t.tp + t.tn, cells.positives + cells.negatives),
        ("ppv", "ppv_odds", t.tp, t.tp + t.fp),
        ("npv", "npv_odds", t.tn, t.tn + t.fn),
    ):
        low, high = found[name] = clopper_pearson(part, whole, level=level)
        found[odds] = _odds(low), _odds(high)
    return found


def bootstrap_limits(
    known: Mapping[str, Measure], cells: Cells, names: tuple[str, ...], *, level: float,
    resamples: int, seed: int,
) -> tuple[dict[str, Limits], int]:  # fmt: skip
    """Return percentile limits by measure, (m,) each, and the most undefined replicates of any.

    names (k,) are the models whose tables repeat in `cells`; each has a stream of its own. NaN for
    models without a class. An empty cell stays empty in every replicate: limits are too narrow.
    Errors: ValueError for counts that are not whole.
    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapters 8 and 13.
    """
    k = len(names)
    out = {name: (np.full(len(cells.tp), np.nan), np.full(len(cells.tp), np.nan)) for name in known}
    failed = 0
    for i, model in enumerate(names):
        if not (cells.positives[i] and cells.negatives[i]):
            continue
        tp, fp = resampled_rates(
            int(cells.tp[i]), int(cells.positives[i]), int(cells.fp[i]), int(cells.negatives[i]),
            resamples=resamples, rng=stream(seed, model),
        )  # fmt: skip
        drawn = Jpt.of_rates(tp[:, None], fp[:, None], cells.ratio[i::k])
        for name, measure in known.items():
            low, high, lost = percentiles(measure(drawn), level=level)
            out[name][0][i::k], out[name][1][i::k] = low, high
            failed = max(failed, int(np.max(lost)))
    return out, failed


def _odds(share: Floats) -> Floats:
    """Return x / (1 - x), infinite at 1."""
    return over(share, np.maximum(1 - share, 0.0))


def _power(ratio: Floats) -> Floats:
    return np.asarray(np.sqrt(3) / np.pi * np.log(ratio))


_TRANSFORMED: Mapping[str, tuple[str, Callable[[Floats], Floats]]] = {
    "tor": ("tar", _odds), "f_odds": ("f_beta", _odds), "dp": ("dor", _power),
}  # fmt: skip
_LINEAR = ("tar", "j_index", "delta", "phi", "expected_cost", "net_benefit")


def _linear(name: str, cells: Cells, level: float, stakes: Stakes | None) -> Limits:
    """Return limits of a tp + b fp + shift."""
    r = cells.ratio
    p, n = 1 / (1 + 1 / r), 1 / (1 + r)
    s = stakes or Stakes(1, 1)
    terms: dict[str, tuple[Floats | float, Floats | float, Floats | float]] = {
        "tar": (p, -n, n),
        "j_index": (1.0, -1.0, 0.0),
        "delta": (1.0, -1.0, 0.0),
        "phi": (1.0, 1.0, -1.0),
        "expected_cost": (-p * (s.fn + s.tp), n * (s.fp + s.tn), p * s.fn - n * s.tn),
        "net_benefit": (p, -n * s.exchange, 0.0),
    }
    a, b, shift = terms[name]
    _, low, high = combination(
        a, b, cells.tp, cells.positives, cells.fp, cells.negatives, level=level
    )
    record = CATALOG[name]  # its range, which rounding may leave
    return np.clip(low + shift, record.low, None), np.clip(high + shift, None, record.high)


def _scaled(limits_: tuple[Floats, Floats, Floats], factor: Floats | float) -> Limits:
    return np.array(limits_[1] * factor), np.array(limits_[2] * factor)


def _plain(limits_: tuple[Floats, Floats, Floats]) -> Limits:
    return _scaled(limits_, 1.0)


_RATIOS: Mapping[str, Callable[[Cells, float], Limits]] = {
    "ppv": lambda c, level: _plain(
        predictive_value(c.tp, c.positives, c.fp, c.negatives, c.ratio, level=level)
    ),
    "npv": lambda c, level: _plain(
        predictive_value(
            c.negatives - c.fp, c.negatives, c.positives - c.tp, c.positives, 1 / c.ratio,
            level=level,
        )
    ),
    "ppv_odds": lambda c, level: _scaled(
        rate_ratio(c.tp, c.positives, c.fp, c.negatives, level=level), c.ratio
    ),
    "npv_odds": lambda c, level: _scaled(
        rate_ratio(c.negatives - c.fp, c.negatives, c.positives - c.tp, c.positives, level=level),
        1 / c.ratio,
    ),
    "lr_pos": lambda c, level: _plain(
        rate_ratio(c.tp, c.positives, c.fp, c.negatives, level=level)
    ),
    "lr_neg": lambda c, level: _plain(
        rate_ratio(c.positives - c.tp, c.positives, c.negatives - c.fp, c.negatives, level=level)
    ),
    "dor": lambda c, level: _plain(
        odds_ratio(c.tp, c.fp, c.positives - c.tp, c.negatives - c.fp, level=level)
    ),
}  # fmt: skip


def _region(name: str, cells: Cells, level: float, beta: float, stakes: Stakes | None) -> Limits:
    """Return the range over the score region of the two rates."""
    measure = measures(beta, stakes)[name]

    def at(tp: Floats, fp: Floats) -> Floats:
        return measure(Jpt.of_rates(tp, fp, cells.ratio))

    return range_over_region(
        at, cells.tp, cells.positives, cells.fp, cells.negatives, level=level,
        kink=(lambda tp, fp: tp - fp) if name == "ic" else None,
    )  # fmt: skip
