"""A population: its prevalence and its odds of positives to negatives."""

from __future__ import annotations

import math

from clfeval.errors import UsageError
from clfeval.records import dataclass


@dataclass(frozen=True, slots=True)
class Population:
    """The share of positives, 0..1 exclusive, and `odds`, the text positives:negatives.

    ratio: the odds as a number, positives / negatives, without loss where negatives are rare.
    """

    prevalence: float
    odds: str
    ratio: float

    @classmethod
    def from_counts(cls, positives: float, negatives: float, unit: float = 1) -> Population:
        """Return the population of a sample with both classes, counted in units."""
        odds = f"{positives / unit:.10g}:{negatives / unit:.10g}"
        return cls(positives / (positives + negatives), odds, positives / negatives)

    @classmethod
    def from_prevalence(cls, prevalence: float, option: str = "--prevalence") -> Population:
        """Return the population with this share of positives; UsageError unless inside 0..1."""
        if not 0 < prevalence < 1:
            lacks = "positives" if prevalence <= 0 else "negatives"
            why = f": the population would have no {lacks}" if prevalence in (0, 1) else ""
            example = f"{option} 0.01" if option == "--prevalence" else "0.01"
            hint = f"write {example} for 1 positive in 100"
            if 1 <= prevalence < 100:
                hint = f"write {prevalence / 100:g} for {prevalence:g}%"
            what = f"{option} {prevalence:g} is not between 0 and 1{why}"
            raise UsageError.new(what, "bad-prevalence", hint=hint)
        others = (1 - prevalence) / prevalence
        if math.isinf(others):
            raise UsageError.new(f"{option} {prevalence:g} is too small", "bad-prevalence")
        ratio = prevalence / (1 - prevalence)
        return cls(prevalence, _format_odds(ratio), ratio)

    @classmethod
    def from_ratio(cls, ratio: float) -> Population:
        """Return the population with this ratio of positives to negatives, above 0 and finite."""
        return cls(1 / (1 + 1 / ratio), _format_odds(ratio), ratio)

    @classmethod
    def from_odds(cls, text: str, option: str = "--prevalence") -> Population:
        """Return the population of `positives:negatives`; UsageError for other texts."""
        left, colon, right = text.partition(":")
        example = "--sweep 1:100..1:1" if option == "--sweep" else f"{option} 1:100"
        try:
            positives, negatives = float(left), float(right)
        except ValueError:
            positives = negatives = math.nan
        if not colon or not (0 < positives < math.inf and 0 < negatives < math.inf):
            what = f"{option} '{text}' is not positives:negatives, two numbers above 0"
            hint = f"write both numbers: {example} for 1 positive to 100 negatives"
            raise UsageError.new(what, "bad-odds", hint=hint)
        odds, total = f"{left.strip()}:{right.strip()}", positives + negatives
        prevalence = positives / total if total < math.inf else 1 / (1 + negatives / positives)
        if not 0 < prevalence < 1:
            lacks = "positives" if prevalence <= 0 else "negatives"
            what = f"{option} {odds} rounds to a population without {lacks}"
            raise UsageError.new(what, "bad-odds")
        return cls(prevalence, odds, positives / negatives)

    @classmethod
    def from_text(cls, text: str, option: str = "--prevalence") -> Population:
        """Return the population of a share (0.02, 2%, 1/50) or odds (1:49); else UsageError."""
        if ":" in text:
            return cls.from_odds(text, option)
        number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
        part, slash, whole = number.partition("/")
        try:
            share = float(part) / (float(whole) if slash else 1.0) / (100 if percent else 1)
        except (ValueError, ZeroDivisionError):
            hint = f"write {option} 0.005, 0.5%, 1/200 or 1:199 for 1 positive in 200"
            what = f"{option} '{text}' is not a share of positives"
            raise UsageError.new(what, "bad-prevalence", hint=hint) from None
        return cls.from_prevalence(share, option)

    @property
    def rough(self) -> str:
        """The odds with three digits, for sentences."""
        many = max(self.ratio, 1 / self.ratio)
        text = f"{many:.0f}" if many >= 1000 else f"{many:.3g}"
        return f"1:{text}" if self.ratio <= 1 else f"{text}:1"


def _format_odds(ratio: float) -> str:
    """Return odds as text: six digits, 1 on the rarer side, no exponent up to a million."""
    many = max(ratio, 1 / ratio)
    text = f"{many:.0f}" if many.is_integer() and many < 1e15 else f"{many:.6g}"
    return f"1:{text}" if ratio <= 1 else f"{text}:1"


BALANCED = Population(0.5, "1:1", 1.0)
