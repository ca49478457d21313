"""Measures that options request, of two classes and of several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from re import fullmatch, sub
from typing import TYPE_CHECKING, Any, Literal

from clfeval.errors import OfferedReading, UsageError, bad_option, list_names, quote_name
from clfeval.measures.catalog import (
    CATALOG,
    TWO_AREAS,
    all_spellings,
    find_measure,
    normalize_name,
    suggest_name,
    threshold_hint,
)
from clfeval.measures.odds import OutcomeCosts
from clfeval.measures.other_names import macro_stem, missing_measure, plain_heading
from clfeval.measures.record import PARAMETERS, STAKES, Measure, parameters_of
from clfeval.placeholders import COMMAND, END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables.readings.reading import MOST_OFFERED

if TYPE_CHECKING:
    from clfeval.counts.prediction_counts import PredictionCounts

NEEDS = {  # statistics of the measures in each set
    "hard": ("confusion",),
    "probability": ("probabilities",),
    "ranking": ("scores",),
    "all": ("confusion", "scores", "probabilities"),
}
HARD = (
    "sensitivity",
    "specificity",
    "precision",
    "npv",
    "balanced_accuracy",
    "mcc",
    "f1",
    "kappa",
    "accuracy",
)
OF_SCORES = (
    "roc_auc",
    "brier",
    "brier_skill",
    "log_loss",
    "calibration_slope",
    "calibration_intercept",
    "calibration_in_the_large",
    "oe_ratio",
    "net_benefit",
)
DEFAULT = (*OF_SCORES, *HARD, "prevalence", "mean_score")  # the last two describe the rows
ORDINAL = "ordinal"
SETS = ("default", "hard", "probability", "ranking", ORDINAL, "all")
OF_TWO = {  # equivalents with two classes
    "kappa_linear": "kappa",
    "kappa_quadratic": "kappa",
    "ordinal_mae": "error_rate",
    "ordinal_mse": "error_rate",
    "rps": "brier",
    "brier_per_class": "brier",
    "roc_auc_ovr": "roc_auc",
}
# with two classes these are constant or functions of other measures
OF_MORE = {
    "ordinal_rmse": f"with two classes use {OPTION}--measure ordinal_mse{END}, of which it is the "
    "square root",
    "accuracy_within_1": "with two classes it is always 1",
    "top_k_accuracy": f"with two classes it is always 1; use {OPTION}--measure accuracy{END}",
}
_GAINS = "it favours miscalibrated models; use net_benefit or log_loss"
_TIMES = "it needs times to an event; use roc_auc for two classes"
_DISTINCT_SCORES = "each distinct score would be a bin; use brier and ece"
REFUSED = {
    "brier_reliability": _DISTINCT_SCORES,
    "brier_resolution": _DISTINCT_SCORES,
    "brier_refinement": _DISTINCT_SCORES,
    "nri": _GAINS,
    "idi": _GAINS,
    "net_reclassification_improvement": _GAINS,
    "integrated_discrimination_improvement": _GAINS,
    "c_index": _TIMES,
    "concordance_index": _TIMES,
    "harrell_c": _TIMES,
}
# common spellings of measures with a parameter, and their names here
SPELT = (
    (r"f_?0([1-9]\d*)(?:_?(?:score|measure))?", "f_beta:beta=0.{}"),
    (r"f_?(\d+(?:\.\d+)?)(?:_?(?:score|measure))?", "f_beta:beta={}"),
    (r"(precision|recall|gain|lift)_?(?:@|at_?)(\d*\.?\d+)", "{}@k:k={}"),
)
FLAG = "--measure"
OPERATING_POINT = ("sensitivity", "specificity")  # a family of its own, with a reference
NET_BENEFIT, AT_RISK = "net_benefit", "net_benefit@t"  # at the threshold in force, or at t


@dataclass(frozen=True, slots=True, eq=False)
class AvailableMeasures:
    """The measures a command accepts: their ids, and the sets of them."""

    command: str
    ids: Sequence[str]
    sets: Sequence[str]

    @property
    def names(self) -> list[str]:
        """All accepted names: sets, ids and aliases."""
        return [*self.sets, *all_spellings(self.ids)]


@dataclass(frozen=True, slots=True, eq=False)
class RequestedMeasure:
    """A measure with its parameters; name: as in tables; by: the options that request it."""

    name: str
    measure: Measure
    settings: Mapping[str, Any]
    by: Literal["default", "set", "name"] = "name"

    @property
    def needs(self) -> str:
        """The statistic it is computed from."""
        return self.measure.needs


def parse_measures(names: Sequence[str], flag: str = FLAG) -> tuple[RequestedMeasure, ...]:
    """Return the named measures without duplicates; UsageError for an unknown name."""
    requested: dict[str, RequestedMeasure] = {}
    for name in names:
        for measure in _parse_measure_or_set(name, flag):
            if measure.by == "name" or measure.name not in requested:
                requested[measure.name] = measure
    return tuple(requested.values())


def set_row_units(
    requested: Sequence[RequestedMeasure], predictions: PredictionCounts | None
) -> tuple[RequestedMeasure, ...]:
    """Return measures with the units of a row set, where they are not ratios of counts."""
    if predictions is None or not any(measure.measure.fills for measure in requested):
        return tuple(requested)
    row = predictions.units_per_row
    return tuple(
        replace(measure, measure=measure.measure.with_settings(row=row)) for measure in requested
    )


def find_measure_by_name(name: str) -> Measure | None:
    """Return the measure of a name, also with the suffix `_score`; None if unknown."""
    return find_measure(name) or find_measure(normalize_name(name).removesuffix("_score"))


def is_two_class_measure(measure: Measure) -> bool:
    """Return whether a measure is defined for predictions of two classes."""
    return measure.compute is not None and measure.needs in NEEDS["all"]


OF_PREDICTIONS = AvailableMeasures(
    "report", [one.id for one in CATALOG.values() if one.needs in (*NEEDS["all"], "classes")], SETS
)
_IDS = [one for one in OF_PREDICTIONS.ids if is_two_class_measure(CATALOG[one]) or one in OF_TWO]
OF_TWO_CLASSES = replace(OF_PREDICTIONS, ids=_IDS)


def _parse_measure_or_set(text: str, flag: str) -> Iterator[RequestedMeasure]:
    name, _, settings = plain_heading(text).partition(":")
    key = name.strip().casefold()
    if key == "default":
        for default in DEFAULT:
            yield RequestedMeasure(default, CATALOG[default], {}, "default")
        return
    if key in NEEDS:
        for measure in CATALOG.values():
            plain = measure.compute is not None and measure.twin is None and not measure.takes
            if plain and measure.needs in NEEDS[key] and measure.id != "hosmer_lemeshow":
                yield RequestedMeasure(measure.id, measure, {}, "set")
        return
    if key == ORDINAL:
        for measure in CATALOG.values():
            if measure.ordered and measure.id in OF_TWO:
                yield RequestedMeasure(measure.id, CATALOG[OF_TWO[measure.id]], {}, "set")
        return
    refuse_measure(name, flag)
    yield _parse_measure(text, name, settings, flag)


def refuse_measure(name: str, flag: str = FLAG) -> None:
    """Raise UsageError for a misleading or ambiguous measure, with an alternative."""
    key = normalize_name(name)
    if key in REFUSED:
        message = f"{OPTION}{flag}{END}: {name.strip().upper()} is not available"
        raise UsageError.new(message, "refused-measure", hint=REFUSED[key])
    if key in TWO_AREAS:
        message = (
            f"{OPTION}{flag}{END}: {name.strip()} is ambiguous: average_precision (steps) or "
            "pr_auc "
        )
        hint = f"use {OPTION}{flag} average_precision{END} or {OPTION}{flag} pr_auc{END}"
        raise UsageError.new(f"{message}(trapezoids)", "unknown-measure", hint=hint)
    reason = missing_measure(key) if find_measure_by_name(name) is None else None
    if reason is not None:
        message = f"{OPTION}{flag}{END}: {name.strip()} {reason[0]}"
        raise UsageError.new(message, "unknown-measure", hint=reason[1])


def _parse_measure(text: str, name: str, settings: str, flag: str) -> RequestedMeasure:
    measure = find_measure_by_name(name)
    if measure is not None and measure.id in OF_TWO:
        parameters = parse_measure_settings(text, settings, measure, flag=flag)
        return RequestedMeasure(measure.id, CATALOG[OF_TWO[measure.id]], parameters)
    if measure is not None and measure.id == NET_BENEFIT:
        if not settings:
            return RequestedMeasure(NET_BENEFIT, measure, {})
        measure = CATALOG[AT_RISK]
    if measure is None or not is_two_class_measure(measure):
        error = unknown_measure_error(measure, text, OF_TWO_CLASSES, "two classes", flag)
        error.hint = OF_MORE.get(measure.id if measure else "", error.hint)
        raise error
    parameters = parse_measure_settings(text, settings, measure, flag=flag)
    arguments = measure_arguments(measure, parameters)
    return RequestedMeasure(
        format_measure_name(measure, parameters), measure.with_settings(**arguments), arguments
    )


def unknown_measure_error(
    measure: Measure | None, text: str, available: AvailableMeasures, classes: str, flag: str = FLAG
) -> UsageError:
    """Build the error for an unknown or unavailable measure, with a hint."""
    name = text.strip().partition(":")[0]
    message = f"no measure '{name}'"
    if measure is not None:
        message = f"{measure.id} is not available for predictions of {classes}"
    hint = suggest_measure(text, available, flag)
    return UsageError.new(f"{OPTION}{flag}{END}: {message}", "unknown-measure", hint=hint)


def suggest_measure(text: str, available: AvailableMeasures, flag: str = FLAG) -> str:
    """Return the hint for an unknown measure."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) > 1:
        return f"repeat the option: {' '.join(f'{OPTION}{flag} {part}{END}' for part in parts)}"
    name = text.strip().partition(":")[0]
    plain = re.sub(r"[\s\-]+", "_", name.strip().casefold())
    for pattern, ask in SPELT:
        spelling = re.fullmatch(pattern, plain)
        if spelling:
            return f"did you mean '{ask.format(*spelling.groups())}'?"
    close = threshold_hint(name) or suggest_name(name, available.names)
    return close or f"{COMMAND}clfeval {available.command} --explain measures{END}"


def format_measure_name(measure: Measure, parameters: Mapping[str, Any]) -> str:
    """Return the name of a measure with its parameters in a fixed order."""
    parts = []
    for key, value in sorted(parameters.items()):
        text = f"{value[0]:g}..{value[1]:g}" if isinstance(value, tuple) else f"{value:g}"
        parts.append(f"{key}={text}")
    return f"{measure.id}:{','.join(parts)}" if parts else measure.id


def measure_arguments(measure: Measure, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a measure from its parameters."""
    if "stakes" not in measure.takes or not parameters:
        return dict(parameters)
    costs = {name: parameters.get(name, PARAMETERS[name].default or 0.0) for name in STAKES}
    return {"stakes": OutcomeCosts(**costs)}


def parse_measure_settings(
    text: str, settings: str, measure: Measure, flag: str = FLAG
) -> dict[str, Any]:
    """Return the parameters in a measure's name; UsageError if unknown, missing or out of range."""
    parameters = parameters_of(measure)
    values = dict[str, Any]()
    for part in filter(None, settings.split(",")):
        key, equals, value = map(str.strip, part.partition("="))
        if not equals and find_measure(key) is not None:
            message = f"{OPTION}{flag}{END}: no measure '{text}'"
            hint = suggest_measure(text, OF_TWO_CLASSES, flag)
            raise UsageError.new(message, "unknown-measure", hint=hint)
        if key not in parameters:
            example = ",".join(f"{name}=1" for name in [*parameters][:2])
            takes = (
                f"{', '.join(parameters)}, as in {measure.id}:{example}" if parameters else "none"
            )
            message = f"{OPTION}{flag}{END} '{text}': {measure.id} has no parameter '{key}'"
            hint = threshold_hint(f"{measure.id}:{part}") or f"its parameters: {takes}"
            two = re.fullmatch(r"([\d.]+)[:/]([\d.]+)", part)
            if measure.id == "expected_cost" and two:
                hint = (
                    f"name the costs, as in {OPTION}{flag} cost:fp={two[1]},fn={two[2]}{END} "
                    "(false "
                )
                hint += f"positives cost {two[1]}) or cost:fp={two[2]},fn={two[1]} (misses cost "
                hint += f"{two[1]})"
            raise bad_option(message, hint)
        values[key] = _parse_setting(text, key, value, measure, flag)
    missing = [
        name
        for name, parameter in parameters.items()
        if parameter.default is None and name not in values
    ]
    if missing:
        example = ",".join(f"{name}={0.01 if name == 'prevalence' else 1:g}" for name in missing)
        message = f"{OPTION}{flag}{END} '{text}': {measure.id} needs {' and '.join(missing)}"
        raise bad_option(message, f"for example {measure.id}:{example}")
    return values


def _parse_setting(text: str, key: str, value: str, measure: Measure, flag: str) -> Any:
    """Return the value of a parameter; UsageError if it is out of range."""
    parameter = parameters_of(measure)[key]
    try:
        numbers = [float(part) for part in (value.split("..") if parameter.pair else [value])]
    except ValueError:
        example = parameter.default
        example = 0.1 if example is None or isinstance(example, tuple) else example
        hint = f"for example {measure.id}:{key}={example:g}"
        raise bad_option(f"{OPTION}{flag}{END} '{text}': '{value}' is not a number", hint) from None
    if parameter.pair:
        low, high = numbers if len(numbers) == 2 else (0.0, numbers[0])
        if len(numbers) > 2 or not (parameter.takes(low) and parameter.takes(high) and low < high):
            limits = f"{parameter.low:g} to {parameter.high:g}"
            message = f"{OPTION}{flag}{END} '{text}': {key} is not a range within {limits}"
            raise bad_option(message, f"{key}: {parameter.words}")
        return low, high
    if not parameter.takes(numbers[0]):
        message = f"{OPTION}{flag}{END} '{text}': {key} is {parameter.range}, not {value}"
        raise bad_option(message, f"{key}: {parameter.words}")
    return int(numbers[0]) if parameter.integer else numbers[0]


# of more than two classes, and of those whose order was declared
OF_CLASSES = (
    "roc_auc",
    "brier",
    "brier_skill",
    "log_loss",
    "overconfidence",
    "top_k_accuracy",
    "accuracy",
    "balanced_accuracy",
    "kappa",
    "mcc",
    "f1",
    "sensitivity",
    "specificity",
    "precision",
    "npv",
)
IN_ORDER = ("kappa_quadratic", "ordinal_mae", "accuracy_within_1", "rps")
GRADES = (
    "none no normal negative very_low very_poor",
    "minimal low mild i poor benign",
    "moderate medium middle mid neutral ii fair average probably_benign",
    "high severe positive iii good suspicious",
    "critical iv very_high very_severe excellent malignant",
    "v",
)  # words for a grade, the least first
LEVELS = r"(g|t|grade|stage|level|score|risk|birads|bi_rads)_?(\d)"


def parse_multiclass_measures(
    names: Sequence[str], classes: Sequence[str], *, ordered: bool, file: str | None = None
) -> tuple[RequestedMeasure, ...]:
    """Return the measures of more than two classes; UsageError if unknown or in need of order."""
    default = (*OF_CLASSES, *(IN_ORDER if ordered else ()))
    requested = {name: RequestedMeasure(name, CATALOG[name], {}, "default") for name in default}
    for text in names:
        name, _, settings = plain_heading(text).partition(":")
        folded = name.casefold()
        if folded == "default":
            continue
        if folded in (*NEEDS, ORDINAL):
            several = [*_of_set(folded, ordered=ordered)]
        else:
            several = [_parse_multiclass_measure(text, name, settings, classes)]
        for measure in several:
            if measure.measure.ordered and not ordered:
                message = f"{OPTION}{FLAG}{END}: {measure.measure.id} needs ordered classes"
                order = guess_class_order(classes)
                fixes = None if order is None else {"classes": order}
                order_text = "" if order is None else f": {list_names(order, 5)}"
                hint = f"repeat {OPTION}--classes{END} for each class, lowest first{order_text}"
                raise UsageError.new(message, "needs-order", file, hint=hint, fixes=fixes)
            if measure.by == "name" or measure.name not in requested:
                requested[measure.name] = measure
    return tuple(requested.values())


def guess_class_order(classes: Sequence[str]) -> tuple[str, ...] | None:
    """Return the order of few numbered or graded classes, lowest first; else None."""
    places = {word: place for place, words in enumerate(GRADES) for word in words.split()}
    plain = {name: sub(r"[ -]", "_", sub(r"^no \w+$", "no", name.casefold())) for name in classes}
    place = {name: places.get(word, -1) for name, word in plain.items()}
    levels = {name: fullmatch(LEVELS, word) for name, word in plain.items()}
    stems = {level[1] for level in levels.values() if level}
    if len(stems) == 1 and all(levels.values()):
        place = {name: int(level[2]) for name, level in levels.items() if level}
    first = int("0" not in place)
    numbered = (*map(str, range(first, first + len(place))),)
    if -1 not in place.values() and len({*place.values()}) == len(place):
        numbered = (*sorted(place, key=place.__getitem__),)
    return numbered if {*place} == {*numbered} and len(place) <= 7 else None


def check_measure_names(names: Sequence[str], flag: str = FLAG) -> None:
    """Raise UsageError for names that are measures neither of two classes nor of more."""
    for name in names:
        try:
            parse_measures((name,), flag)
        except UsageError as error:
            try:
                parse_multiclass_measures((name,), (), ordered=True)
            except UsageError as other:
                measure = find_measure(name.partition(":")[0])
                of_more = measure is not None and measure.compute is None
                raise (other if of_more else error) from None


def _of_set(name: str, *, ordered: bool) -> Iterator[RequestedMeasure]:
    """Yield the measures of a set that apply to more than two classes."""
    for measure in CATALOG.values():
        needs = measure.needs if measure.needs != "classes" else "confusion"
        is_in_set = measure.ordered if name == ORDINAL else needs in NEEDS[name]
        plain = _is_computable(measure) and measure.twin is None and not measure.takes
        if is_in_set and plain and (ordered or name == ORDINAL or not measure.ordered):
            yield RequestedMeasure(measure.id, measure, {}, "set")


def _is_computable(measure: Measure) -> bool:
    """Return whether a measure of more than two classes can be computed from predictions."""
    return measure.classes is not None and "costs" not in measure.classes.takes


def _parse_multiclass_measure(
    text: str, name: str, settings: str, classes: Sequence[str]
) -> RequestedMeasure:
    stem = find_measure(macro_stem(normalize_name(name)) or "")
    if find_measure(name) is None and stem is not None and stem.classes is not None:
        name = stem.id
    refuse_measure(name)
    measure = find_measure_by_name(name)
    if measure is None or measure.classes is None or not _is_computable(measure):
        ids = [candidate.id for candidate in CATALOG.values() if _is_computable(candidate)]
        available = AvailableMeasures("report", ids, SETS)
        error = unknown_measure_error(measure, text, available, "more than two classes")
        if measure is not None and is_two_class_measure(measure) and classes:
            error.hint = None
            error.readings = tuple(
                OfferedReading(f"{quote_name(label)} against the rest", {"positive": label})
                for label in reversed(classes[-MOST_OFFERED:])
            )
        raise error
    parameters = parse_measure_settings(text, settings, measure)
    return RequestedMeasure(
        format_measure_name(measure, parameters), measure.with_settings(**parameters), parameters
    )
