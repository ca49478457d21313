"""What measures take beside their table: the meaning and the range of each parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from clfeval.measures.record import Measure


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A number: what it means, its range, and what it is where none is given; None: to be given.

    ends: which ends of the range belong to it. whole: no fractions. pair: two of them, ascending.
    """

    words: str
    low: float
    high: float
    default: float | tuple[float, float] | None
    ends: tuple[bool, bool] = (True, False)
    whole: bool = False
    pair: bool = False

    def takes(self, value: float) -> bool:
        """Tell whether a number lies in the range; NaN does in none."""
        above = value >= self.low if self.ends[0] else value > self.low
        below = value <= self.high if self.ends[1] else value < self.high
        return above and below and (not self.whole or value == int(value))

    @property
    def range(self) -> str:
        """The range in words."""
        kind = "a whole number" if self.whole else "a number"
        if self.high == inf:
            return f"{kind} from {self.low:g} up" if self.ends[0] else f"{kind} above {self.low:g}"
        between = "from" if self.ends[0] else "between"
        return f"{kind} {between} {self.low:g} {'to' if self.ends[0] else 'and'} {self.high:g}"


PARAMETERS: Mapping[str, Parameter] = {
    "beta": Parameter("weight of recall relative to precision", 0, 1e6, 1.0,
                      (True, True)),
    "k": Parameter("share of the rows (up to 1) or number of rows (above 1)", 0, inf, 0.1,
                   (False, False)),
    "t": Parameter("threshold probability of treatment", 0, 1, 0.5, (False, False)),
    "coverage": Parameter("share of rows classified, the most confident ones", 0, 1, 0.8,
                          (False, True)),
    "bins": Parameter("number of bins of equal width", 1, inf, 10, whole=True),
    "fpr": Parameter("range of false positive rates, up to x or x..y", 0, 1, (0.0, 0.1),
                     (True, True), pair=True),
    "prevalence": Parameter("share of positives", 0, 1, None, (False, False)),
    "fp": Parameter("cost of a false positive", 0, inf, None),
    "fn": Parameter("cost of a false negative", 0, inf, None),
    "tp": Parameter("benefit of a true positive", 0, inf, 0.0),
    "tn": Parameter("benefit of a true negative", 0, inf, 0.0),
}  # fmt: skip
STAKES = ("fp", "fn", "tp", "tn")  # of which `stakes` are made
_OF_ONE = {
    ("top_k_accuracy", "k"): Parameter(
        "number of the most probable classes", 1, inf, 2, whole=True
    ),
}


def parameters_of(measure: Measure) -> dict[str, Parameter]:
    """Return the numbers that a measure takes, of two classes or of more, by name."""
    takes = (*measure.takes, *(() if measure.classes is None else measure.classes.takes))
    named = (name for one in takes for name in (STAKES if one == "stakes" else (one,)))
    return {
        name: _OF_ONE.get((measure.id, name), PARAMETERS[name])
        for name in named
        if name in PARAMETERS
    }
