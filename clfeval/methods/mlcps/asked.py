"""Measures that mlcps computes from predictions: by which names, and what of sets can be folded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from clfeval.errors import UsageError
from clfeval.measures.catalog import CATALOG, one_of, same_thing
from clfeval.measures.parameters import parameters_of
from clfeval.measures.record import Measure
from clfeval.methods.measured.asked import (
    AT_RISK,
    NEEDS,
    NET_BENEFIT,
    ORDINAL,
    SETS,
    Askable,
    asked_of,
    called,
    filled,
    instead,
    measure_called,
    refuse,
    settings_of,
)

FLAG = "--metric"
DEFAULT = ("sensitivity", "specificity", "precision", "npv")
# f_beta is f1 without a parameter; the others tell what stands there by another name
_ALIKE = ("f_beta", "delta_b", "mutual_information_u")


def _computed(measure: Measure) -> bool:
    """Tell whether it is made of predictions of two classes alone, and one way of it is better."""
    made = measure.of is not None and measure.needs in NEEDS["all"] and measure.id != NET_BENEFIT
    return made and measure.best in ("max", "min")


KNOWN = Askable(
    "mlcps",
    [one.id for one in CATALOG.values() if _computed(one) and one.id not in _ALIKE[1:]],
    [name for name in SETS if name != ORDINAL],
)
MEASURED = tuple(  # without a parameter
    one
    for one in KNOWN.ids
    if one not in _ALIKE
    and None not in [each.default for each in parameters_of(CATALOG[one]).values()]
)


@cache
def measure_named(name: str) -> Measure:
    """Return a measure by its id and parameters, as `measure_names` writes them."""
    text, _, settings = name.partition(":")
    measure = CATALOG[text]
    given = settings_of(name, settings, measure) if settings else {}
    return measure.given(**filled(measure, given))


def needing(names: Sequence[str], *needs: str) -> list[str]:
    """Return those measures that are made of one of these statistics."""
    return [name for name in names if measure_named(name).needs in needs]


def measure_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return measures by id and parameters, each once; UsageError for what is not computed here."""
    found: dict[str, None] = {}
    for text in names:
        key = text.strip().casefold()
        found |= dict.fromkeys(_of_set(key) if key in SETS else [_named(text)])
    return tuple(found)


def _of_set(name: str) -> list[str]:
    """Return the measures of a set that lie within 0..1, without duplicates."""
    if name == "default":
        return [*DEFAULT]
    found: list[str] = []
    for one in asked_of((name,), FLAG):
        known = one.name in MEASURED and (one.measure.low, one.measure.high) == (0, 1)
        if known and not any(same_thing(other, one.name) for other in found):
            found.append(one.name)
    if not found:
        what = f"{FLAG}: set '{name}' has no measure that mlcps computes"
        raise UsageError.of(what, "unknown-measure", hint="name measures or another set")
    return found


def _named(text: str) -> str:
    name, _, settings = text.strip().partition(":")
    refuse(name, FLAG)
    measure = measure_called(name)
    if measure is None:
        what = f"{FLAG}: '{name}' is not a measure"
        raise UsageError.of(what, "unknown-measure", hint=instead(text, KNOWN, FLAG))
    if measure.id == NET_BENEFIT and settings:
        measure = CATALOG[AT_RISK]
    asks = measure.id in KNOWN.ids and measure.id not in (*MEASURED, *_ALIKE)  # for a parameter
    known = None if settings or asks else one_of(name, MEASURED)
    if known is not None:
        measure = CATALOG[known]
    elif not _computed(measure):
        what = f"{FLAG}: {measure.id} is not available in mlcps"
        raise UsageError.of(what, "unknown-measure", hint=_why(measure))
    return called(measure, settings_of(text, settings, measure, flag=FLAG))


def _why(measure: Measure) -> str | None:
    if measure.id == NET_BENEFIT:
        return f"give a threshold probability, for example {AT_RISK}:t=0.1"
    if measure.needs in NEEDS["all"]:
        return "neither higher nor lower values of it are better"
    return "for the available measures: clfeval mlcps --explain measures"
