"""What intervals do not exclude where no difference is significant: the size of silence."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.document.cells import Row, as_estimate
from clfeval.formatting import format_number, quote_if_ambiguous
from clfeval.inference.distributions import critical_value
from clfeval.records import dataclass

_SIGNS = {"max": -1, "min": 1}  # of a difference for the worse, by the better direction


@dataclass(frozen=True, slots=True)
class LargestHarm:
    """The largest change for the worse inside simultaneous intervals of several models.

    size: above 0; word: drop or rise; several: of more than one model.
    """

    model: str
    size: float
    word: str
    several: bool

    @classmethod
    def from_differences(cls, rows: Sequence[Row], best: str, level: float) -> LargestHarm | None:
        """Return it from differences of one measure, whose intervals hold one by one.

        bound = difference -+ c (limit - difference), c the ratio of the normal quantiles of
        1 - (1 - level) / len(rows) and of the level. None without a direction, if an interval is
        missing, or if no interval reaches to the worse side.
        """
        sign = _SIGNS.get(best)
        if sign is None or not rows:
            return None
        widening = critical_value(1 - (1 - level) / len(rows)) / critical_value(level)
        harm_by_model: dict[str, float] = {}
        for row in rows:
            difference = as_estimate(row["difference"])
            limit = difference.low if sign < 0 else difference.high
            if difference.value is None or limit is None:
                return None
            bound = difference.value + widening * (limit - difference.value)
            harm_by_model[row["model"]] = sign * bound
        model = max(harm_by_model, key=harm_by_model.__getitem__)
        if not harm_by_model[model] > 0:
            return None
        return cls(model, harm_by_model[model], "drop" if sign < 0 else "rise", len(rows) > 1)

    def sentence(self, title: str) -> str:
        """Return the clause on it, without its first article; title: of the measure."""
        subject = f"{title} of {quote_if_ambiguous(self.model)}" if self.several else title
        return f"{self.word} of up to {format_number(self.size)} in {subject} is not excluded"
