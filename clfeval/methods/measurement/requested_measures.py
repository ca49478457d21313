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
    units_per_row = predictions.units_per_row
    return tuple(
        replace(measure, measure=measure.measure.with_settings(row=units_per_row))
        for measure in requested
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
    """Yield the measures that a text requests: a set, or NAME, or NAME:PARAMETER=VALUE,..."""
    name, _, settings = plain_heading(text).partition(":")
    normalized_name = name.strip().casefold()
    if normalized_name == "default":
        for default in DEFAULT:
            yield RequestedMeasure(default, CATALOG[default], {}, "default")
        return
    if normalized_name in NEEDS:
        for measure in CATALOG.values():
            is_plain = measure.compute is not None and measure.twin is None and not measure.takes
            if (
                is_plain
                and measure.needs in NEEDS[normalized_name]
                and measure.id != "hosmer_lemeshow"
            ):
                yield RequestedMeasure(measure.id, measure, {}, "set")
        return
    if normalized_name == ORDINAL:
        for measure in CATALOG.values():
            if measure.ordered and measure.id in OF_TWO:
                yield RequestedMeasure(measure.id, CATALOG[OF_TWO[measure.id]], {}, "set")
        return
    refuse_measure(name, flag)
    yield _parse_measure(text, name, settings, flag)


def refuse_measure(name: str, flag: str = FLAG) -> None:
    """Raise UsageError for a misleading or ambiguous measure, with an alternative."""
    normalized_name = normalize_name(name)
    if normalized_name in REFUSED:
        message = f"{OPTION}{flag}{END}: {name.strip().upper()} is not available"
        raise UsageError.new(message, "refused-measure", hint=REFUSED[normalized_name])
    if normalized_name in TWO_AREAS:
        message = (
            f"{OPTION}{flag}{END}: {name.strip()} is ambiguous: average_precision (steps) or "
            "pr_auc "
        )
        hint = f"use {OPTION}{flag} average_precision{END} or {OPTION}{flag} pr_auc{END}"
        raise UsageError.new(f"{message}(trapezoids)", "unknown-measure", hint=hint)
    missing = missing_measure(normalized_name) if find_measure_by_name(name) is None else None
    if missing is not None:
        reason, hint = missing
        message = f"{OPTION}{flag}{END}: {name.strip()} {reason}"
        raise UsageError.new(message, "unknown-measure", hint=hint)


def _parse_measure(text: str, name: str, settings: str, flag: str) -> RequestedMeasure:
    """Return the requested measure of two classes; text: NAME:SETTINGS as given."""
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
    texts = [single_text.strip() for single_text in text.split(",") if single_text.strip()]
    if len(texts) > 1:
        options = " ".join(f"{OPTION}{flag} {single_text}{END}" for single_text in texts)
        return f"repeat the option: {options}"
    name = text.strip().partition(":")[0]
    plain_name = re.sub(r"[\s\-]+", "_", name.strip().casefold())
    for pattern, suggestion in SPELT:
        spelling = re.fullmatch(pattern, plain_name)
        if spelling:
            return f"did you mean '{suggestion.format(*spelling.groups())}'?"
    hint = threshold_hint(name) or suggest_name(name, available.names)
    return hint or f"{COMMAND}clfeval {available.command} --explain measures{END}"


def format_measure_name(measure: Measure, parameters: Mapping[str, Any]) -> str:
    """Return the name of a measure with its parameters in a fixed order."""
    settings = []
    for key, value in sorted(parameters.items()):
        value_text = f"{value[0]:g}..{value[1]:g}" if isinstance(value, tuple) else f"{value:g}"
        settings.append(f"{key}={value_text}")
    return f"{measure.id}:{','.join(settings)}" if settings else measure.id


def measure_arguments(measure: Measure, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a measure from its parameters."""
    if "stakes" not in measure.takes or not parameters:
        return dict(parameters)
    costs = {name: parameters.get(name, PARAMETERS[name].default or 0.0) for name in STAKES}
    return {"stakes": OutcomeCosts(**costs)}


def parse_measure_settings(
    text: str, settings: str, measure: Measure, flag: str = FLAG
) -> dict[str, Any]:
    """Return the parameters in a measure's name; UsageError if unknown, missing or out of range.

    text: the name as given, for errors. settings: its part after the colon.
    """
    parameters = parameters_of(measure)
    parameter_values = dict[str, Any]()
    for setting in filter(None, settings.split(",")):
        parameter_name, separator, value_text = map(str.strip, setting.partition("="))
        if not separator and find_measure(parameter_name) is not None:
            message = f"{OPTION}{flag}{END}: no measure '{text}'"
            hint = suggest_measure(text, OF_TWO_CLASSES, flag)
            raise UsageError.new(message, "unknown-measure", hint=hint)
        if parameter_name not in parameters:
            example = ",".join(f"{name}=1" for name in [*parameters][:2])
            parameters_text = (
                f"{', '.join(parameters)}, as in {measure.id}:{example}" if parameters else "none"
            )
            message = (
                f"{OPTION}{flag}{END} '{text}': {measure.id} has no parameter '{parameter_name}'"
            )
            hint = threshold_hint(f"{measure.id}:{setting}") or f"its parameters: {parameters_text}"
            two_costs = re.fullmatch(r"([\d.]+)[:/]([\d.]+)", setting)
            if measure.id == "expected_cost" and two_costs:
                first_cost, second_cost = two_costs.groups()
                hint = (
                    f"name the costs, as in {OPTION}{flag} cost:fp={first_cost},fn={second_cost}"
                    f"{END} (false positives cost {first_cost}) or "
                    f"cost:fp={second_cost},fn={first_cost} (misses cost {first_cost})"
                )
            raise bad_option(message, hint)
        parameter_values[parameter_name] = _parse_setting(
            text, parameter_name, value_text, measure, flag
        )
    missing_names = [
        name
        for name, parameter in parameters.items()
        if parameter.default is None and name not in parameter_values
    ]
    if missing_names:
        example = ",".join(
            f"{name}={0.01 if name == 'prevalence' else 1:g}" for name in missing_names
        )
        message = f"{OPTION}{flag}{END} '{text}': {measure.id} needs {' and '.join(missing_names)}"
        raise bad_option(message, f"for example {measure.id}:{example}")
    return parameter_values


def _parse_setting(
    text: str, parameter_name: str, value_text: str, measure: Measure, flag: str
) -> Any:
    """Return the value of a parameter; UsageError if it is no number or out of range.

    text: the name of the measure as given, for errors.
    """
    parameter = parameters_of(measure)[parameter_name]
    try:
        numbers = [
            float(number_text)
            for number_text in (value_text.split("..") if parameter.pair else [value_text])
        ]
    except ValueError:
        example = parameter.default
        example = 0.1 if example is None or isinstance(example, tuple) else example
        hint = f"for example {measure.id}:{parameter_name}={example:g}"
        raise bad_option(
            f"{OPTION}{flag}{END} '{text}': '{value_text}' is not a number", hint
        ) from None
    if parameter.pair:
        low, high = numbers if len(numbers) == 2 else (0.0, numbers[0])
        if len(numbers) > 2 or not (parameter.takes(low) and parameter.takes(high) and low < high):
            range_text = f"{parameter.low:g} to {parameter.high:g}"
            message = (
                f"{OPTION}{flag}{END} '{text}': {parameter_name} is not a range within {range_text}"
            )
            raise bad_option(message, f"{parameter_name}: {parameter.words}")
        return low, high
    if not parameter.takes(numbers[0]):
        message = (
            f"{OPTION}{flag}{END} '{text}': {parameter_name} is {parameter.range}, not {value_text}"
        )
        raise bad_option(message, f"{parameter_name}: {parameter.words}")
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
# words for a grade, the least first
GRADES = (
    "none no normal negative very_low very_poor",
    "minimal low mild i poor benign",
    "moderate medium middle mid neutral ii fair average probably_benign",
    "high severe positive iii good suspicious",
    "critical iv very_high very_severe excellent malignant",
    "v",
)
LEVELS = r"(g|t|grade|stage|level|score|risk|birads|bi_rads)_?(\d)"


def parse_multiclass_measures(
    names: Sequence[str], classes: Sequence[str], *, ordered: bool, file: str | None = None
) -> tuple[RequestedMeasure, ...]:
    """Return the measures of more than two classes; UsageError if unknown or in need of order."""
    default = (*OF_CLASSES, *(IN_ORDER if ordered else ()))
    requested = {name: RequestedMeasure(name, CATALOG[name], {}, "default") for name in default}
    for text in names:
        name, _, settings = plain_heading(text).partition(":")
        folded_name = name.casefold()
        if folded_name == "default":
            continue
        if folded_name in (*NEEDS, ORDINAL):
            measures = [*_of_set(folded_name, ordered=ordered)]
        else:
            measures = [_parse_multiclass_measure(text, name, settings, classes)]
        for measure in measures:
            if measure.measure.ordered and not ordered:
                message = f"{OPTION}{FLAG}{END}: {measure.measure.id} needs ordered classes"
                guessed_order = guess_class_order(classes)
                fixes = None if guessed_order is None else {"classes": guessed_order}
                order_text = "" if guessed_order is None else f": {list_names(guessed_order, 5)}"
                hint = f"repeat {OPTION}--classes{END} for each class, lowest first{order_text}"
                raise UsageError.new(message, "needs-order", file, hint=hint, fixes=fixes)
            if measure.by == "name" or measure.name not in requested:
                requested[measure.name] = measure
    return tuple(requested.values())


def guess_class_order(classes: Sequence[str]) -> tuple[str, ...] | None:
    """Return the order of few numbered or graded classes, lowest first; else None."""
    word_grades = {
        class_word: grade for grade, words in enumerate(GRADES) for class_word in words.split()
    }
    class_words = {
        name: sub(r"[ -]", "_", sub(r"^no \w+$", "no", name.casefold())) for name in classes
    }
    class_grades = {
        name: word_grades.get(class_word, -1) for name, class_word in class_words.items()
    }
    levels = {name: fullmatch(LEVELS, class_word) for name, class_word in class_words.items()}
    level_stems = {level[1] for level in levels.values() if level}
    if len(level_stems) == 1 and all(levels.values()):
        class_grades = {name: int(level[2]) for name, level in levels.items() if level}
    first_number = int("0" not in class_grades)
    class_order = (*map(str, range(first_number, first_number + len(class_grades))),)
    if -1 not in class_grades.values() and len({*class_grades.values()}) == len(class_grades):
        class_order = (*sorted(class_grades, key=class_grades.__getitem__),)
    return class_order if {*class_grades} == {*class_order} and len(class_grades) <= 7 else None


def check_measure_names(names: Sequence[str], flag: str = FLAG) -> None:
    """Raise UsageError for names that are measures neither of two classes nor of more."""
    for name in names:
        try:
            parse_measures((name,), flag)
        except UsageError as two_class_error:
            try:
                parse_multiclass_measures((name,), (), ordered=True)
            except UsageError as multiclass_error:
                measure = find_measure(name.partition(":")[0])
                is_multiclass = measure is not None and measure.compute is None
                raise (multiclass_error if is_multiclass else two_class_error) from None


def _of_set(name: str, *, ordered: bool) -> Iterator[RequestedMeasure]:
    """Yield the measures of a set that apply to more than two classes."""
    for measure in CATALOG.values():
        needs = measure.needs if measure.needs != "classes" else "confusion"
        is_in_set = measure.ordered if name == ORDINAL else needs in NEEDS[name]
        is_plain = _is_computable(measure) and measure.twin is None and not measure.takes
        if is_in_set and is_plain and (ordered or name == ORDINAL or not measure.ordered):
            yield RequestedMeasure(measure.id, measure, {}, "set")


def _is_computable(measure: Measure) -> bool:
    """Return whether a measure of more than two classes can be computed from predictions."""
    return measure.classes is not None and "costs" not in measure.classes.takes


def _parse_multiclass_measure(
    text: str, name: str, settings: str, classes: Sequence[str]
) -> RequestedMeasure:
    """Return the requested measure of more than two classes; text: NAME:SETTINGS as given."""
    stem = find_measure(macro_stem(normalize_name(name)) or "")
    if find_measure(name) is None and stem is not None and stem.classes is not None:
        name = stem.id
    refuse_measure(name)
    measure = find_measure_by_name(name)
    if measure is None or measure.classes is None or not _is_computable(measure):
        available_ids = [
            candidate.id for candidate in CATALOG.values() if _is_computable(candidate)
        ]
        available = AvailableMeasures("report", available_ids, SETS)
        error = unknown_measure_error(measure, text, available, "more than two classes")
        if measure is not None and is_two_class_measure(measure) and classes:
            error.hint = None
            error.readings = tuple(
                OfferedReading(
                    f"{quote_name(class_name)} against the rest", {"positive": class_name}
                )
                for class_name in reversed(classes[-MOST_OFFERED:])
            )
        raise error
    parameters = parse_measure_settings(text, settings, measure)
    return RequestedMeasure(
        format_measure_name(measure, parameters), measure.with_settings(**parameters), parameters
    )
