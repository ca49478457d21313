"""The record of a measure: names, function, parameters; and populations that it is tuned to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf, isinf, nan
from typing import TYPE_CHECKING, Any, Literal

from clfeval.errors import UsageError
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace

if TYPE_CHECKING:  # options take populations: a start must not load numpy
    from clfeval.arrays import Bools, Floats, Influence

Needs = Literal["confusion", "classes", "scores", "probabilities", "patterns", "metrics"]
_OfCounts = Literal["share", "linear", "logit", "ratio", "log", "region", "derived"]
IntervalKind = Literal[_OfCounts, "delong", "influence", "drawn", "null", "permuted", "none"]
ScaleKind = Literal["identity", "logit", "fisher", "log"]


@dataclass(frozen=True, slots=True)
class Multiclass:
    """A measure of C classes, two or more.

    compute: its function: of the table n (..., C, C) where the measure needs a confusion or
    classes; of truth (m,), p (m, C) and n (..., m) where it needs scores or probabilities; None for
    one that is averaged over one-vs-rest. influence: with the same arguments, f of the cells
    (..., C C), or of the rows (..., m); None where it is not smooth. share: numerator and
    denominator as counts of rows, with the same arguments. parts: of an average, numerator and
    denominator as sums of cells. undefined: reasons. takes: settings.
    """

    compute: Callable[..., Floats] | None = None
    influence: Callable[..., Floats] | None = None
    undefined: tuple[str, ...] = ("too_few_rows",)
    share: Callable[..., tuple[Any, Any]] | None = None
    parts: Callable[..., tuple[Any, Any]] | None = None
    takes: tuple[str, ...] = ()

    def with_settings(self, **settings: object) -> Multiclass:
        """Return the definition with the given settings filled in."""
        taken_settings = _settings_taken(self.takes, settings)
        if not taken_settings:
            return self
        functions: dict[str, Any] = {}
        for name in ("compute", "influence", "share", "parts"):
            function = getattr(self, name)
            functions[name] = function and partial(function, **taken_settings)
        return replace(self, **functions)


def _settings_taken(names: Sequence[str], settings: Mapping[str, object]) -> dict[str, Any]:
    """Return the settings of these names that are not None."""
    return {name: settings[name] for name in names if settings.get(name) is not None}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure: its names, function, range, direction, interval and caveats.

    compute: its function of the statistic that `needs` names, or None; by default the quotient of
    `share`. best: the better direction, zero or one as a target, or none. low, high: its range.
    undefined: the reasons why it may be. interval: the method of its limits. invariant: independent
    of prevalence, given sensitivity and specificity. twin: the id of which this is another name.
    takes: settings of `compute` and `terms`. fills: settings known from the table (row: counts per
    row).

    share: numerator and denominator as counts of rows, for exact limits. terms: what its interval
    is made from: of the class shares p and n (linear: a, b, shift of a tp + b fp + shift) or of the
    table and its odds (log, logit: see `methods.estimates`). base: the id of the measure from whose
    limits its own derive (else only as counted), by `through`; of one that takes beta, only where
    that is 1. kinked: its minimum is at tp = fp. random_totals: binomial only with
    random class totals.

    loss: the loss of a row, of p and truth, of which it is the mean. influence: the influence
    function of a smooth measure of scores (see `scored`). scale: of its interval by influence.
    caveat: how it misleads. classes: its definition for more than two classes, or None. ordered: it
    takes the positions of ordered classes.
    """

    id: str
    title: str
    compute: Callable[..., Floats] | None
    needs: Needs
    undefined: tuple[str, ...]
    interval: IntervalKind
    formula: str
    source: str = "textbook"
    aliases: tuple[str, ...] = ()
    best: Literal["max", "min", "zero", "one", "none"] = "max"
    low: float = 0
    high: float = 1
    invariant: bool = False
    twin: str | None = None
    takes: tuple[str, ...] = ()
    fills: tuple[str, ...] = ()
    share: Callable[[Any], tuple[Any, Any]] | None = None
    terms: Callable[..., tuple[Any, ...]] = lambda *_, **__: ()
    base: str | None = None
    through: Callable[[Floats], Floats] = lambda limits: limits
    kinked: bool = False
    random_totals: bool = False
    loss: Callable[..., Floats] | None = None
    influence: Callable[..., Influence] | None = None
    scale: ScaleKind = "identity"
    caveat: str | None = None
    classes: Multiclass | None = None
    ordered: bool = False

    @property
    def has_interval(self) -> bool:
        """Whether it has one; noise increases the others, most of which have a p-value instead.

        null: against calibrated probabilities; permuted: against permuted classes; none: no p.
        """
        return self.interval not in ("null", "permuted", "none")

    @property
    def arrow(self) -> str:
        """The direction sign of table headers, empty where no value is better."""
        return {"max": "↑", "min": "↓", "zero": "→0", "one": "→1", "none": ""}[self.best]

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is, 0 where neither is."""
        return {"max": 1, "min": -1}.get(self.best, 0)

    @property
    def aim(self) -> int | None:
        """The best value of a measure that has a target, 0 or 1; None for others."""
        return AIMS.get(self.best)

    @property
    def limit_scale(self) -> ScaleKind:
        """The scale of confidence limits by influence: its own, else that of its range."""
        by_range: dict[tuple[float, float], ScaleKind] = {
            (0, 1): "logit",
            (-1, 1): "fisher",
            (0, inf): "log",
        }
        range_scale = by_range.get((self.low, self.high), "identity")
        return range_scale if self.scale == "identity" else self.scale

    @property
    def function(self) -> Callable[..., Floats]:
        """The function that computes the measure; KeyError where there is none."""
        if self.compute is None:
            raise KeyError(f"{self.id} has no function")
        return self.compute

    @property
    def undefined_at_odds(self) -> tuple[str, ...]:
        """The reasons why it may be undefined at other odds: its own if they name a class, else
        both too.
        """
        return self.undefined if _CLASSES & {*self.undefined} else (*CLASS_REASONS, *self.undefined)

    def with_settings(self, **settings: object) -> Measure:
        """Return the measure with the given settings filled in; None is ignored."""
        classes = None if self.classes is None else self.classes.with_settings(**settings)
        taken_settings = _settings_taken((*self.takes, *self.fills), settings)
        if not taken_settings:
            return self if classes == self.classes else replace(self, classes=classes)
        return replace(
            self,
            compute=self.compute and partial(self.compute, **taken_settings),
            influence=self.influence and partial(self.influence, **taken_settings),
            terms=partial(self.terms, **taken_settings),
            classes=classes,
        )


AIMS = {"zero": 0, "one": 1}  # best values of measures with a target
CLASS_REASONS = ("no_positive_truth", "no_negative_truth")
_CLASSES = {*CLASS_REASONS, "single_class"}
NO_TN = "no_tn"  # the true negatives were not counted: NaN

# of a 2 x 2 table; the last reason of a measure applies without a check
REASONS: Mapping[str, Callable[[Any], Bools]] = {
    "no_positive_truth": lambda t: t.tp + t.fn == 0,
    "no_negative_truth": lambda t: t.fp + t.tn == 0,
    "no_positive_prediction": lambda t: t.tp + t.fp == 0,
    "no_negative_prediction": lambda t: t.fn + t.tn == 0,
    "single_class": lambda t: (t.tp + t.fn == 0) | (t.fp + t.tn == 0),
    "too_few_rows": lambda t: t.tp + t.fp + t.fn + t.tn == 0,
    NO_TN: lambda t: t.tn != t.tn,
}


def undefined_reason(undefined: Sequence[str], table: object) -> str:
    """Return why a measure of one 2 x 2 table is undefined: the first reason that applies."""
    unknown_tn = table is not None and bool(REASONS[NO_TN](table))
    possible_reasons = (*undefined[:-1], NO_TN) if unknown_tn else undefined[:-1]
    return next((reason for reason in possible_reasons if REASONS[reason](table)), undefined[-1])


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter: its meaning (words), range and default; without a default it must be given.

    includes: whether the lower and the upper end of the range belong to it. integer: no fractions.
    pair: two of them, ascending.
    """

    words: str
    low: float
    high: float
    default: float | tuple[float, float] | None
    includes: tuple[bool, bool] = (True, False)
    integer: bool = False
    pair: bool = False

    def takes(self, value: float) -> bool:
        """Return whether a number lies in the range; False for NaN."""
        includes_low, includes_high = self.includes
        is_high_enough = value >= self.low if includes_low else value > self.low
        is_low_enough = value <= self.high if includes_high else value < self.high
        return is_high_enough and is_low_enough and (not self.integer or value == int(value))

    @property
    def range(self) -> str:
        """The range in words."""
        number_noun = "a whole number" if self.integer else "a number"
        includes_low, _ = self.includes
        if self.high == inf:
            return (
                f"{number_noun} from {self.low:g} up"
                if includes_low
                else f"{number_noun} above {self.low:g}"
            )
        if includes_low:
            return f"{number_noun} from {self.low:g} to {self.high:g}"
        return f"{number_noun} between {self.low:g} and {self.high:g}"


PARAMETERS: Mapping[str, Parameter] = {
    "beta": Parameter("weight of recall relative to precision", 0, 1e6, 1.0, (True, True)),
    "k": Parameter(
        "share of the rows (up to 1) or number of rows (above 1)", 0, inf, 0.1, (False, False)
    ),
    "t": Parameter("threshold probability of treatment", 0, 1, 0.5, (False, False)),
    "coverage": Parameter(
        "share of rows classified, the most confident ones", 0, 1, 0.8, (False, True)
    ),
    "bins": Parameter("number of bins of equal width", 1, inf, 10, integer=True),
    "fpr": Parameter(
        "range of false positive rates, up to x or x..y", 0, 1, (0.0, 0.1), (True, True), pair=True
    ),
    "prevalence": Parameter("share of positives", 0, 1, None, (False, False)),
    "fp": Parameter("cost of a false positive", 0, inf, None),
    "fn": Parameter("cost of a false negative", 0, inf, None),
    "tp": Parameter("benefit of a true positive", 0, inf, 0.0),
    "tn": Parameter("benefit of a true negative", 0, inf, 0.0),
}
STAKES = ("fp", "fn", "tp", "tn")  # of which `stakes` are made
_TOP_CLASSES = Parameter("number of the most probable classes", 1, inf, 2, integer=True)


def parameters_of(measure: Measure) -> dict[str, Parameter]:
    """Return the parameters of a measure, of two classes or of more, by name."""
    setting_names = (*measure.takes, *(() if measure.classes is None else measure.classes.takes))
    names = (
        name
        for setting in setting_names
        for name in (STAKES if setting == "stakes" else (setting,))
    )
    parameters = {name: PARAMETERS[name] for name in names if name in PARAMETERS}
    if measure.id == "top_k_accuracy":
        parameters["k"] = _TOP_CLASSES
    return parameters


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
            absent_class = "positives" if prevalence <= 0 else "negatives"
            reason = (
                f": the population would have no {absent_class}" if prevalence in (0, 1) else ""
            )
            example = f"{OPTION}{option} 0.01{END}" if option == "--prevalence" else "0.01"
            hint = f"write {example} for 1 positive in 100"
            if 1 <= prevalence < 100:
                hint = f"write {prevalence / 100:g} for {prevalence:g}%"
            message = f"{OPTION}{option}{END} {prevalence:g} is not between 0 and 1{reason}"
            raise UsageError.new(message, "bad-prevalence", hint=hint)
        negatives_per_positive = (1 - prevalence) / prevalence
        if isinf(negatives_per_positive):
            raise UsageError.new(
                f"{OPTION}{option}{END} {prevalence:g} is too small", "bad-prevalence"
            )
        ratio = prevalence / (1 - prevalence)
        return cls(prevalence, _format_odds(ratio), ratio)

    @classmethod
    def from_ratio(cls, ratio: float) -> Population:
        """Return the population with this ratio of positives to negatives, above 0 and finite."""
        return cls(1 / (1 + 1 / ratio), _format_odds(ratio), ratio)

    @classmethod
    def from_odds(cls, text: str, option: str = "--prevalence") -> Population:
        """Return the population of `positives:negatives`; UsageError for other texts."""
        positives_text, colon, negatives_text = text.partition(":")
        odds_or_range = "1:100..1:1" if option == "--sweep" else "1:100"
        example = f"{OPTION}{option} {odds_or_range}{END}"
        try:
            positives = float(positives_text)
            negatives = float(negatives_text)
        except ValueError:
            positives = negatives = nan
        if not colon or not (0 < positives < inf and 0 < negatives < inf):
            message = (
                f"{OPTION}{option}{END} '{text}' is not positives:negatives, two numbers above 0"
            )
            hint = f"write both numbers: {example} for 1 positive to 100 negatives"
            raise UsageError.new(message, "bad-odds", hint=hint)
        odds = f"{positives_text.strip()}:{negatives_text.strip()}"
        total = positives + negatives
        prevalence = positives / total if total < inf else 1 / (1 + negatives / positives)
        if not 0 < prevalence < 1:
            absent_class = "positives" if prevalence <= 0 else "negatives"
            message = f"{OPTION}{option}{END} {odds} rounds to a population without {absent_class}"
            raise UsageError.new(message, "bad-odds")
        return cls(prevalence, odds, positives / negatives)

    @classmethod
    def from_text(cls, text: str, option: str = "--prevalence") -> Population:
        """Return the population of a share (0.02, 2%, 1/50) or odds (1:49); else UsageError."""
        if ":" in text:
            return cls.from_odds(text, option)
        number_text = text.strip().removesuffix("%")
        is_percent = text.strip().endswith("%")
        numerator, slash, denominator = number_text.partition("/")
        divisor = 100 if is_percent else 1
        try:
            share = float(numerator) / (float(denominator) if slash else 1.0) / divisor
        except (ValueError, ZeroDivisionError):
            hint = f"write {OPTION}{option} 0.005{END}, 0.5%, 1/200 or 1:199 for 1 positive in 200"
            message = f"{OPTION}{option}{END} '{text}' is not a share of positives"
            raise UsageError.new(message, "bad-prevalence", hint=hint) from None
        return cls.from_prevalence(share, option)

    @property
    def rough(self) -> str:
        """The odds with three digits, for sentences."""
        larger_ratio = max(self.ratio, 1 / self.ratio)
        ratio_text = f"{larger_ratio:.0f}" if larger_ratio >= 1000 else f"{larger_ratio:.3g}"
        return f"1:{ratio_text}" if self.ratio <= 1 else f"{ratio_text}:1"


def _format_odds(ratio: float) -> str:
    """Return odds as text: six digits, 1 on the rarer side, no exponent up to a million."""
    larger_ratio = max(ratio, 1 / ratio)
    ratio_text = (
        f"{larger_ratio:.0f}"
        if larger_ratio.is_integer() and larger_ratio < 1e15
        else f"{larger_ratio:.6g}"
    )
    return f"1:{ratio_text}" if ratio <= 1 else f"{ratio_text}:1"


BALANCED = Population(0.5, "1:1", 1.0)
