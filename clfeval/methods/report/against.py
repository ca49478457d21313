"""Models against a reference, or any two, by each measure: differences, p-values, verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isnan, nan

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.units import shown
from clfeval.inference.best import detectable
from clfeval.inference.chance import cochran_q, mid_p
from clfeval.inference.redrawn import OfDraws
from clfeval.inference.shared import farther
from clfeval.inference.shares import clopper_pearson, holm
from clfeval.methods.report.together import BEST, Together
from clfeval.methods.verdict import UNDECIDED, verdict
from clfeval.result import Cell, Estimate, Row

DELONG, INFLUENCE_T, NONE = "DeLong, t", "influence, t", "none"
FARTHER = f"{DELONG}, out to square-and-add of logits"
MCNEMAR, NO_CHANGE = "influence, t; p of McNemar, mid-p", "Clopper-Pearson: no row differs"
COCHRAN, NO_ROW = "Cochran's Q, chi²", "no row differs"
NOT_ALIKE = "none: Cochran's Q takes rows that are independent and count one each"
ENOUGH = 24  # answers in rows that not all models have right or wrong (Tate and Brown 1970)
# shares of rows that both models are judged on: which class is wanted, None for both
OF_ROWS: Mapping[str, bool | None] = {
    "accuracy": None, "error_rate": None, "sensitivity": True, "recall": True, "fnr": True,
    "specificity": False, "fpr": False,
}  # fmt: skip


def comparison_rows(
    one: Together, patterns: PatternCounts | ClassPatterns, reference: str, level: float,
    margin: float | None, without: Collection[str] = (),
) -> Iterator[Row]:  # fmt: skip
    """Yield how far models lie from a reference by a measure, on the same rows.

    difference = the model's value - the reference's, with its own interval: d -+ t s, s² = V_ii +
    V_jj - 2 V_ij. difference_adjusted: at 1 - (1 - level) / comparisons, so that all hold together.
    p_adjusted: by Holm's rule over all comparisons by this measure: with `best`, which is chosen on
    these rows, over any two models. detectable: the smallest difference seen with a power of .8.
    without: models without a threshold, whose answers nobody knows.
    verdict: better or worse where p_adjusted is below 1 - level; else by the margin and the
    adjusted interval; None where neither more nor less is better.
    """
    if not one.pairs:
        return
    tested = Tested.of(one, patterns)
    adjusted = holm_known(tested.p)
    ends, reaching = tested.ends((level, 1 - (1 - level) / len(one.pairs)))
    best = None if reference != BEST else int((one.sign * one.values).argmax())
    for q, pair in enumerate(one.pairs):
        if best not in (None, *pair):
            continue
        model, other = pair if best != pair[0] else pair[::-1]  # the best one is the reference
        known = not {one.models[model], one.models[other]} & {*without}
        error, df = float(one.shared.errors[q]), float(one.shared.df[q])
        yield {
            "metric": one.metric,
            **tested.row(q, other, ends, adjusted[q], level, margin, known=known),
            "se": error or None,
            "detectable": detectable(error, level=level, df=df) if error else None,
            "method": FARTHER if reaching[q] else _method(one, tested.share, error, q),
        }  # fmt: skip


def holm_known(p: Sequence[float]) -> list[float]:
    """Return p by Holm's rule; what nobody knows, NaN, is looked at all the same."""
    found = holm([1.0 if isnan(one) else one for one in p])
    return [nan if isnan(own) else one for own, one in zip(p, found, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """The differences of pairs of models by a measure, with the p-value of each.

    share: it is a share of rows that both are judged on, tested by McNemar.
    """

    one: Together
    changed: Sequence[Changed]
    share: bool
    apart: Floats
    p: list[float]
    unit: float

    @classmethod
    def of(cls, one: Together, patterns: PatternCounts | ClassPatterns) -> Tested:
        """Test every pair by itself."""
        first, second = (np.array([pair[at] for pair in one.pairs], np.int64) for at in (0, 1))
        apart = one.values[first] - one.values[second]
        changed = [Changed.of(patterns, one.models[i], one.models[j]) for i, j in one.pairs]
        share = patterns.clusters is None and one.measure.id in OF_ROWS
        if isinstance(patterns, ClassPatterns) and OF_ROWS.get(one.measure.id) is not None:
            share = False  # a mean over classes
        p = one.shared.chances(apart).tolist()
        if share:
            p = [each.chance(OF_ROWS[one.measure.id]) for each in changed]
        return cls(one, changed, share, apart, p, patterns.unit)

    def ends(self, levels: Sequence[float]) -> tuple[list[Floats], Bools]:
        """Return the limits of all differences at each level, (2, q), and which reach farther."""
        found, reaching = _ends(self.one, self.apart, levels)
        for both, at in zip(found if self.share else (), levels, strict=False):
            _unseen(both, self.changed, OF_ROWS[self.one.measure.id], at)
        return found, reaching

    def row(
        self, q: int, reference: int, ends: Sequence[Floats], adjusted: float, level: float,
        margin: float | None, *, known: bool,
    ) -> dict[str, Cell]:  # fmt: skip
        """Return what is said of one pair, of which a model is the reference.

        ends: the limits of each by itself, and of all together; adjusted: p by Holm's rule.
        """
        one, pair = self.one, self.one.pairs[q]
        turn = 1 if reference == pair[1] else -1
        d = turn * float(self.apart[q])
        own, together = (_estimate(d, *(turn * both[::turn, q]).tolist()) for both in ends)
        told = one.sign * int(np.sign(d)) if adjusted < 1 - level and _sure(own) else 0
        return {
            "model": one.models[pair[0] if turn > 0 else pair[1]],
            "reference": one.models[reference],
            "difference": own, "p": or_none(self.p[q]), "p_adjusted": or_none(adjusted),
            "difference_adjusted": together, "verdict": _verdict(one.sign, together, told, margin),
            **_newly(self.changed[q], turn, self.unit, known),
        }  # fmt: skip


def _ends(one: Together, apart: Floats, levels: Sequence[float]) -> tuple[list[Floats], Bools]:
    """Return limits of differences at levels, (2, q) each, and which of the first reach farther."""
    if one.measure.interval != "delong" or isinstance(one.shared, OfDraws):
        none = np.zeros(len(apart), bool)
        return [np.stack(one.shared.limits(apart, level=level)) for level in levels], none
    found = [
        farther(one.values, one.shared, one.pairs, level=level, fewest=one.fewest,
                low=one.measure.low, high=one.measure.high)
        for level in levels
    ]  # fmt: skip
    return [np.stack([low, high]) for low, high, _ in found], found[0][2]


def together_rows(
    patterns: PatternCounts | ClassPatterns, without: Collection[str] = ()
) -> Iterator[Row]:
    """Yield whether three models or more are right in as many rows, all together.

    without: models without a threshold. Of rows in clusters or with weights Q says nothing.
    """
    places = [i for i, model in enumerate(patterns.models) if model not in without]
    if len(places) < 3:
        return
    right = patterns.votes[:, places] == patterns.truth[:, None]
    differ = int(patterns.n[right.any(axis=1) & ~right.all(axis=1)].sum())
    q, p = cochran_q(right, patterns.n)
    method = f"{COCHRAN}, rough: few rows differ" if len(places) * differ < ENOUGH else COCHRAN
    if not differ:
        method = NO_ROW
    if patterns.clusters is not None:
        q, p, method = nan, nan, NOT_ALIKE
    yield {
        "metric": "accuracy", "models": len(places), "differ": shown(differ, patterns.unit),
        "statistic": or_none(q), "p": or_none(p), "method": method,
    }  # fmt: skip


def resolution_rows(
    compared: Sequence[Row], wanted: Mapping[str, float], rows: float, level: float
) -> Iterator[Row]:
    """Yield at how many rows a difference of a measure would be seen, of models as these are.

    rows needed = rows (detectable / wanted)², detectable = (z at (1 + level) / 2 + z at .8) s, the
    smallest difference seen with a power of .8. With the classes, and clusters, of this table.
    Source: Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, chapter 2.
    """
    for row in compared:
        least, error = wanted.get(str(row["metric"])), row["se"]
        if least is not None and isinstance(error, float):
            seen = detectable(error, level=level)
            yield {
                "metric": row["metric"], "model": row["model"], "reference": row["reference"],
                "detectable": seen, "wanted": least,
                "rows_needed": ceil(rows * (seen / least) ** 2),
            }  # fmt: skip


def _newly(changed: Changed, turn: int, unit: float, known: bool) -> dict[str, float | None]:
    """Return how many rows change sides; None where a model has no threshold, and no answers."""
    sides = {"newly_right": turn, "newly_wrong": -turn}
    return {name: shown(changed.right(at), unit) if known else None for name, at in sides.items()}


def _sure(one: Estimate) -> bool:
    """Tell whether an interval of a difference excludes 0."""
    return one.low is not None and one.high is not None and not one.low <= 0 <= one.high


def _verdict(sign: int, together: Estimate, told: int, margin: float | None) -> str | None:
    """Name what is known of a difference, by its interval; None where neither side is better."""
    if not sign:
        return None
    if together.low is None or together.high is None:
        return UNDECIDED
    low, high = sorted((sign * together.low, sign * together.high))
    return verdict(low, high, told, margin)


def _method(one: Together, share: bool, error: float, q: int) -> str:
    if isinstance(one.shared, OfDraws):
        return one.shared.how[q] if error else NONE
    if not error:
        return NO_CHANGE if share else NONE
    if one.measure.interval == "delong":
        return DELONG
    return MCNEMAR if share else INFLUENCE_T


def _estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, or_none(low), or_none(high))


def or_none(number: float) -> float | None:
    """Return a number, None for NaN."""
    return None if isnan(number) else float(number)


@dataclass(frozen=True, slots=True, eq=False)
class Changed:
    """Which of m kinds of rows each of two models has right: all (m,).

    n: how many rows are of each kind, in units.
    """

    truth: Bools | Ints
    n: Counts
    first: Bools
    second: Bools

    @classmethod
    def of(cls, patterns: PatternCounts | ClassPatterns, model: str, reference: str) -> Changed:
        """Compare the labels of two models of a table."""
        places = [patterns.models.index(name) for name in (model, reference)]
        mine, theirs = (patterns.votes[:, place] == patterns.truth for place in places)
        return cls(patterns.truth, patterns.n, mine, theirs)

    def right(self, turn: int = 1, wanted: bool | None = None) -> int:
        """Return how many rows the first alone has right; turn -1: the second. In units."""
        alone = self.first & ~self.second if turn > 0 else self.second & ~self.first
        return self._rows(alone, wanted)

    def chance(self, wanted: bool | None) -> float:
        """Return McNemar's mid-p in rows of one class, or of all."""
        return mid_p(self.right(1, wanted), self.right(-1, wanted))

    def unseen(self, wanted: bool | None, level: float) -> float:
        """Return what share of rows may differ where none does; NaN where some do."""
        if self._rows(self.first != self.second, wanted):
            return nan
        n = self._rows(np.ones(len(self.n), bool), wanted)
        return float(clopper_pearson(0, n, level=level)[1])

    def _rows(self, which: Bools, wanted: bool | None) -> int:
        some = which if wanted is None else which & (self.truth == wanted)
        found: int = self.n[some].sum().item()
        return found


def _unseen(ends: Floats, changed: Sequence[Changed], wanted: bool | None, level: float) -> None:
    """Set the limits of shares where no row differs, (2, q), to how many rows may."""
    most = np.array([each.unseen(wanted, level) for each in changed])
    ends[:] = np.where(np.isnan(most), ends, [-most, most])
