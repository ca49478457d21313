"""The measures a report of more than two classes is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from re import fullmatch, sub

from clfeval.errors import UsageError, listing
from clfeval.measures.catalog import CATALOG, find_measure
from clfeval.measures.record import Measure
from clfeval.methods.measured.asked import (
    FLAG,
    NEEDS,
    ORDINAL,
    SETS,
    Askable,
    Asked,
    asked_of,
    called,
    measurable,
    measure_called,
    refuse,
    settings_of,
    unknown,
)
from clfeval.shell import given

# of more than two classes, and of those whose order was declared
OF_CLASSES = ("roc_auc", "brier", "brier_skill", "log_loss", "overconfidence", "top_k_accuracy",
              "accuracy", "balanced_accuracy", "kappa", "mcc", "f1", "sensitivity", "specificity",
              "precision", "npv")  # fmt: skip
IN_ORDER = ("kappa_quadratic", "ordinal_mae", "accuracy_within_1", "rps")
SPELLED = 5  # classes of an order that is asked for
FEW_CLASSES = 7  # that may be grades
GRADES = (
    "none no normal negative very_low very_poor",
    "minimal low mild i poor benign",
    "moderate medium middle mid neutral ii fair average probably_benign",
    "high severe positive iii good suspicious",
    "critical iv very_high very_severe excellent malignant",
    "v",
)  # words for a grade, the least first
LEVELS = r"(g|t|grade|stage|level|score|risk|birads|bi_rads)_?(\d)"


def asked_of_classes(
    names: Sequence[str], classes: Sequence[str], *, ordered: bool, file: str | None = None
) -> tuple[Asked, ...]:
    """Return the measures of more than two classes; UsageError, also for an order undeclared."""
    default = (*OF_CLASSES, *(IN_ORDER if ordered else ()))
    found = {name: Asked(name, CATALOG[name], {}, "default") for name in default}
    for text in names:
        name, _, settings = text.strip().partition(":")
        folded = name.casefold()
        if folded == "default":
            continue
        if folded in (*NEEDS, ORDINAL):
            several = [Asked(one.id, one, {}, "set") for one in _of_set(folded, ordered=ordered)]
        else:
            several = [_named(text, name, settings, classes)]
        for one in several:
            if one.measure.ordered and not ordered:
                what = f"{FLAG}: {one.measure.id} needs ordered classes"
                order = likely_order(classes)
                fixes = None if order is None else {"classes": order}
                known = "" if order is None else f": {listing(order, SPELLED)}"
                hint = f"repeat --classes for each class, lowest first{known}"
                raise UsageError.of(what, "needs-order", file, hint=hint, fixes=fixes)
            if one.by == "name" or one.name not in found:
                found[one.name] = one
    return tuple(found.values())


def likely_order(classes: Sequence[str]) -> tuple[str, ...] | None:
    """Return few classes in their order if they are numbered or graded, lowest first; else None."""
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
    return numbered if {*place} == {*numbered} and len(place) <= FEW_CLASSES else None


def check_names(names: Sequence[str], flag: str = FLAG) -> None:
    """Raise UsageError for what is no measure of two classes, and none of more."""
    for name in names:
        try:
            asked_of((name,), flag)
        except UsageError as error:
            try:
                asked_of_classes((name,), (), ordered=True)
            except UsageError as other:
                measure = find_measure(name.partition(":")[0])
                of_more = measure is not None and measure.of is None
                raise (other if of_more else error) from None


def _of_set(name: str, *, ordered: bool) -> Iterator[Measure]:
    """Yield what a set holds of more than two classes."""
    for measure in CATALOG.values():
        needs = measure.needs if measure.needs != "classes" else "confusion"
        there = measure.ordered if name == ORDINAL else needs in NEEDS[name]
        plain = _computable(measure) and measure.twin is None and not measure.takes
        if there and plain and (ordered or name == ORDINAL or not measure.ordered):
            yield measure


def _computable(measure: Measure) -> bool:
    """Tell whether it can be computed of more than two classes, from a table of predictions."""
    return measure.classes is not None and "costs" not in measure.classes.takes


def _named(text: str, name: str, settings: str, classes: Sequence[str]) -> Asked:
    refuse(name)
    measure = measure_called(name)
    if measure is None or measure.classes is None or not _computable(measure):
        known = Askable("report", [one.id for one in CATALOG.values() if _computable(one)], SETS)
        error = unknown(measure, text, known, "more than two classes")
        if measure is not None and measurable(measure) and classes:
            one = given("--positive", classes[-1])
            error.hint = f"add {one} to measure that class against the rest"
        raise error
    found = settings_of(text, settings, measure)
    return Asked(called(measure, found), measure.given(**found), found)
