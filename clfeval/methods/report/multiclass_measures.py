"""Measures that a report of more than two classes accepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from re import fullmatch, sub

from clfeval.errors import UsageError, format_option, list_names
from clfeval.measures.catalog import CATALOG, find_measure
from clfeval.measures.record import Measure
from clfeval.methods.measurement.requested_measures import (
    FLAG,
    NEEDS,
    ORDINAL,
    SETS,
    AvailableMeasures,
    RequestedMeasure,
    find_measure_by_name,
    format_measure_name,
    is_two_class_measure,
    parse_measure_settings,
    parse_measures,
    refuse_measure,
    unknown_measure,
)

# of more than two classes, and of those whose order was declared
OF_CLASSES = ("roc_auc", "brier", "brier_skill", "log_loss", "overconfidence", "top_k_accuracy",
              "accuracy", "balanced_accuracy", "kappa", "mcc", "f1", "sensitivity", "specificity",
              "precision", "npv")  # fmt: skip
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
    found = {name: RequestedMeasure(name, CATALOG[name], {}, "default") for name in default}
    for text in names:
        name, _, settings = text.strip().partition(":")
        folded = name.casefold()
        if folded == "default":
            continue
        if folded in (*NEEDS, ORDINAL):
            several = [*_of_set(folded, ordered=ordered)]
        else:
            several = [_parse_measure(text, name, settings, classes)]
        for one in several:
            if one.measure.ordered and not ordered:
                what = f"{FLAG}: {one.measure.id} needs ordered classes"
                order = guess_class_order(classes)
                fixes = None if order is None else {"classes": order}
                known = "" if order is None else f": {list_names(order, 5)}"
                hint = f"repeat --classes for each class, lowest first{known}"
                raise UsageError.new(what, "needs-order", file, hint=hint, fixes=fixes)
            if one.by == "name" or one.name not in found:
                found[one.name] = one
    return tuple(found.values())


def guess_class_order(classes: Sequence[str]) -> tuple[str, ...] | None:
    """Return the order of few numbered or graded classes, lowest first; else None."""
    places = {word: place for place, words in enumerate(GRADES) for word in words.split()}
    plain = {one: sub(r"[ -]", "_", sub(r"^no \w+$", "no", one.casefold())) for one in classes}
    place = {one: places.get(word, -1) for one, word in plain.items()}
    stems = {one: fullmatch(LEVELS, word) for one, word in plain.items()}
    if len({found[1] for found in stems.values() if found}) == 1 and all(stems.values()):
        place = {one: int(found[2]) for one, found in stems.items() if found}
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
                of_more = measure is not None and measure.of is None
                raise (other if of_more else error) from None


def _of_set(name: str, *, ordered: bool) -> Iterator[RequestedMeasure]:
    """Yield the measures of a set that apply to more than two classes."""
    for measure in CATALOG.values():
        needs = measure.needs if measure.needs != "classes" else "confusion"
        there = measure.ordered if name == ORDINAL else needs in NEEDS[name]
        plain = _is_computable(measure) and measure.twin is None and not measure.takes
        if there and plain and (ordered or name == ORDINAL or not measure.ordered):
            yield RequestedMeasure(measure.id, measure, {}, "set")


def _is_computable(measure: Measure) -> bool:
    """Return whether a measure of more than two classes can be computed from predictions."""
    return measure.classes is not None and "costs" not in measure.classes.takes


def _parse_measure(text: str, name: str, settings: str, classes: Sequence[str]) -> RequestedMeasure:
    refuse_measure(name)
    measure = find_measure_by_name(name)
    if measure is None or measure.classes is None or not _is_computable(measure):
        ids = [one.id for one in CATALOG.values() if _is_computable(one)]
        known = AvailableMeasures("report", ids, SETS)
        error = unknown_measure(measure, text, known, "more than two classes")
        if measure is not None and is_two_class_measure(measure) and classes:
            one = format_option("--positive", classes[-1])
            error.hint = f"add {one} to measure that class against the rest"
        raise error
    found = parse_measure_settings(text, settings, measure)
    return RequestedMeasure(format_measure_name(measure, found), measure.given(**found), found)
