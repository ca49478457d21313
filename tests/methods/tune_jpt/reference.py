"""Joint probability tables by hand: METHODS section 3 in fractions, one cell after the other."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import polars as pl

from clfeval.document.cells import Estimate
from tests.results import Line

Value = Fraction | Decimal | str  # a str is the reason why there is no finite number

MEASURES = (
    "tar",
    "tor",
    "ppv",
    "npv",
    "ppv_odds",
    "npv_odds",
    "epa",
    "f_beta",
    "f_odds",
    "mcc",
    "ic",
    "sensitivity",
    "specificity",
    "j_index",
    "phi",
    "delta",
    "lr_pos",
    "lr_neg",
    "dor",
    "dp",
)
INVARIANT = (
    "sensitivity",
    "specificity",
    "j_index",
    "phi",
    "delta",
    "lr_pos",
    "lr_neg",
    "dor",
    "dp",
)
NO_HIT, NO_DENIAL = "no_positive_prediction", "no_negative_prediction"
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


@dataclass(frozen=True)
class Cells:
    """A 2 x 2 table of counts or shares; P = tp + fn positives, N = fp + tn negatives."""

    tp: Fraction | int
    fp: Fraction | int
    fn: Fraction | int
    tn: Fraction | int

    @property
    def positives(self) -> Fraction:
        return Fraction(self.tp + self.fn)

    @property
    def negatives(self) -> Fraction:
        return Fraction(self.fp + self.tn)

    @property
    def ratio(self) -> Fraction:
        return self.positives / self.negatives

    def tuned(self, ratio: Fraction | int, total: Fraction | int = 1) -> Cells:
        """Divide each class by its total, give the positives the weight r, scale to the total."""
        factor = total / (Fraction(ratio) + 1)
        p, n = factor * ratio / self.positives, factor / self.negatives
        return Cells(self.tp * p, self.fp * n, self.fn * p, self.tn * n)

    def values(self, beta: Fraction | int = 1) -> dict[str, Value]:
        """Return every measure of METHODS section 3 of this table as it stands."""
        tp, fp, fn, tn = (Fraction(x) for x in (self.tp, self.fp, self.fn, self.tn))
        p, n, b = self.positives, self.negatives, Fraction(beta) ** 2
        x, y = tp / p, fp / n
        ppv_odds, npv_odds = over(tp, fp, NO_HIT), over(tn, fn, NO_DENIAL)
        dor = over(tp * tn, fp * fn, "zero_margin")
        return {
            "tar": (tp + tn) / (p + n),
            "tor": over(tp + tn, fp + fn, ""),
            "ppv": over(tp, tp + fp, NO_HIT),
            "npv": over(tn, tn + fn, NO_DENIAL),
            "ppv_odds": ppv_odds,
            "npv_odds": npv_odds,
            "epa": _mean(ppv_odds, npv_odds),
            "f_beta": (1 + b) * tp / ((1 + b) * tp + b * fn + fp),
            "f_odds": over((1 + b) * tp, b * fn + fp, ""),
            "mcc": _mcc(tp, fp, fn, tn),
            "ic": _ic(tp, fp, fn, tn),
            "sensitivity": x,
            "specificity": 1 - y,
            "j_index": x - y,
            "phi": x + y - 1,
            "delta": x - y,
            "lr_pos": over(x, y, NO_HIT),
            "lr_neg": over(1 - x, 1 - y, NO_DENIAL),
            "dor": dor,
            "dp": _dp(dor),
        }

    def stakes(self, fp: int, fn: int, tp: int = 0, tn: int = 0) -> dict[str, Fraction]:
        """Return the cost of a row, and true positives a row less those false ones undo."""
        total = self.positives + self.negatives
        cost = fp * self.fp + fn * self.fn - tp * self.tp - tn * self.tn
        exchange = Fraction(fp + tn, fn + tp)
        return {
            "expected_cost": cost / total,
            "net_benefit": (self.tp - exchange * self.fp) / total,
        }


def over(part: Fraction, whole: Fraction, reason: str) -> Value:
    """Return part / whole, why there is none, or that it is infinite."""
    if whole:
        return part / whole
    return "infinite" if part else reason


def _mean(a: Value, b: Value) -> Value:
    for undefined in (NO_HIT, NO_DENIAL, "infinite"):
        if undefined in (a, b):
            return undefined
    assert isinstance(a, Fraction)
    assert isinstance(b, Fraction)
    return (a + b) / 2


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def _mcc(tp: Fraction, fp: Fraction, fn: Fraction, tn: Fraction) -> Value:
    margins = (tp + fp) * (fn + tn) * (tp + fn) * (fp + tn)
    if not margins:
        return "zero_margin"
    with localcontext(prec=50):
        return decimal(tp * tn - fp * fn) / decimal(margins).sqrt()


def _ic(tp: Fraction, fp: Fraction, fn: Fraction, tn: Fraction) -> Value:
    """Return (H(truth) + H(answer) - H(both)) / H(truth)."""
    if tp * tn == fp * fn:
        return Fraction(0)
    m = tp + fp + fn + tn
    with localcontext(prec=60):
        truth = _entropy((tp + fn) / m, (fp + tn) / m)
        answer = _entropy((tp + fp) / m, (fn + tn) / m)
        return (truth + answer - _entropy(tp / m, fp / m, fn / m, tn / m)) / truth


def _entropy(*shares: Fraction) -> Decimal:
    return -sum((decimal(q) * decimal(q).ln() for q in shares if q), Decimal(0))


def _dp(dor: Value) -> Value:
    if dor == 0:
        return "minus_infinite"
    if not isinstance(dor, Fraction):
        return dor
    with localcontext(prec=50):
        return Decimal(3).sqrt() / PI * decimal(dor).ln()


def ratio_of(odds: str) -> Fraction:
    """Read positives:negatives."""
    positives, negatives = odds.split(":")
    return Fraction(positives) / Fraction(negatives)


def counts_frame(tables: dict[str, Cells]) -> pl.DataFrame:
    """Write tables as a counts table, one row per model."""
    lines = [(name, int(c.tp), int(c.fp), int(c.fn), int(c.tn)) for name, c in tables.items()]
    return pl.DataFrame(lines, schema=["model", "tp", "fp", "fn", "tn"], orient="row")


def four(cells: Cells) -> tuple[int, int, int, int]:
    return int(cells.tp), int(cells.fp), int(cells.fn), int(cells.tn)


def without_limits(row: Line) -> Line:
    """Return a row with the values and reasons of its estimates only."""
    return {
        key: Estimate(cell.value, reason=cell.reason) if isinstance(cell, Estimate) else cell
        for key, cell in row.items()
    }
