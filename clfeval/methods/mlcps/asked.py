"""Measures that mlcps computes from predictions: by which names, and what of sets can be folded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from clfeval.errors import UsageError
from clfeval.measures.catalog import CATALOG, equivalence_formula, match_measure
from clfeval.measures.parameters import parameters_of
from clfeval.measures.record import Measure
from clfeval.methods.measured.asked import (
    AT_RISK,
    NEEDS,
    NET_BENEFIT,
    ORDINAL,
    SETS,
    AvailableMeasures,
    find_measure_by_name,
    format_measure_name,
    measure_arguments,
    parse_measure_settings,
    parse_measures,
    refuse_misleading_measure,
    suggest_measure,
)

FLAG = "--metric"
DEFAULT = ("sensitivity", "specificity", "precision", "npv")
# f_beta is f1 without a parameter; the others tell what stands there by another name
_DUPLICATE_MEASURES = ("f_beta", "delta_b", "mutual_information_u")


def _is_computable(measure: Measure) -> bool:
    """Tell whether it is made of predictions of two classes alone, and one way of it is better."""
    made = measure.of is not None and measure.needs in NEEDS["all"] and measure.id != NET_BENEFIT
    return made and measure.best in ("max", "min")


MLCPS_MEASURES = AvailableMeasures(
    "mlcps",
    [
        one.id
        for one in CATALOG.values()
        if _is_computable(one) and one.id not in _DUPLICATE_MEASURES[1:]
    ],
    [name for name in SETS if name != ORDINAL],
)
MEASURED = tuple(  # without a parameter
    one
    for one in MLCPS_MEASURES.ids
    if one not in _DUPLICATE_MEASURES
    and None not in [each.default for each in parameters_of(CATALOG[one]).values()]
)


@cache
def measure_by_id(name: str) -> Measure:
    """Return a measure by its id and parameters, as `parse_measure_names` writes them."""
    text, _, settings = name.partition(":")
    measure = CATALOG[text]
    given = parse_measure_settings(name, settings, measure) if settings else {}
    return measure.given(**measure_arguments(measure, given))


def measures_needing(names: Sequence[str], *needs: str) -> list[str]:
    """Return those measures that are made of one of these statistics."""
    return [name for name in names if measure_by_id(name).needs in needs]


def parse_measure_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return measures by id and parameters, each once; UsageError for what is not computed here."""
    found: dict[str, None] = {}
    for text in names:
        key = text.strip().casefold()
        found |= dict.fromkeys(_of_set(key) if key in SETS else [_parse_measure_name(text)])
    return tuple(found)


def _of_set(name: str) -> list[str]:
    """Return the measures of a set that lie within 0..1, without duplicates."""
    if name == "default":
        return [*DEFAULT]
    found: list[str] = []
    for one in parse_measures((name,), FLAG):
        known = one.name in MEASURED and (one.measure.low, one.measure.high) == (0, 1)
        if known and not any(equivalence_formula(other, one.name) for other in found):
            found.append(one.name)
    if not found:
        what = f"{FLAG}: set '{name}' has no measure that mlcps computes"
        raise UsageError.new(what, "unknown-measure", hint="name measures or another set")
    return found


def _parse_measure_name(text: str) -> str:
    name, _, settings = text.strip().partition(":")
    refuse_misleading_measure(name, FLAG)
    measure = find_measure_by_name(name)
    if measure is None:
        what = f"{FLAG}: '{name}' is not a measure"
        raise UsageError.new(
            what, "unknown-measure", hint=suggest_measure(text, MLCPS_MEASURES, FLAG)
        )
    if measure.id == NET_BENEFIT and settings:
        measure = CATALOG[AT_RISK]
    asks = measure.id in MLCPS_MEASURES.ids and measure.id not in (
        *MEASURED,
        *_DUPLICATE_MEASURES,
    )  # for a parameter
    known = None if settings or asks else match_measure(name, MEASURED)
    if known is not None:
        measure = CATALOG[known]
    elif not _is_computable(measure):
        what = f"{FLAG}: {measure.id} is not available in mlcps"
        raise UsageError.new(what, "unknown-measure", hint=_explain_unavailable(measure))
    return format_measure_name(measure, parse_measure_settings(text, settings, measure, flag=FLAG))


def _explain_unavailable(measure: Measure) -> str | None:
    if measure.id == NET_BENEFIT:
        return f"give a threshold probability, for example {AT_RISK}:t=0.1"
    if measure.needs in NEEDS["all"]:
        return "neither higher nor lower values of it are better"
    return "for the available measures: clfeval mlcps --explain measures"
