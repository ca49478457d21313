"""Measures that options of tune-jpt request, with their settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clfeval.errors import UsageError, bad_option
from clfeval.measures.catalog import CATALOG, match_measure
from clfeval.measures.odds import JPT, TUNABLE
from clfeval.measures.record import Measure
from clfeval.methods.measurement.requested_measures import (
    AT_RISK,
    NEEDS,
    SETS,
    AvailableMeasures,
    find_measure_by_name,
    format_measure_name,
    parse_measure_settings,
    refuse_measure,
    suggest_measure,
)

if TYPE_CHECKING:
    pass

HARD = ("hard", "all")  # sets of measures; those of scores are not tuned


TUNE_JPT_MEASURES = AvailableMeasures("tune-jpt", TUNABLE, ("default", *HARD))


MADE_OF_SCORES = (
    "tune-jpt has measures of 2 x 2 tables only; clfeval report computes it at the prevalence of "
    "these rows"
)


def parse_tuned_measures(flag: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return measures by id and parameters without duplicates; UsageError if not tunable."""
    found: dict[str, None] = {}
    for text in names:
        key = text.strip().casefold()
        if key not in SETS:
            found[_parse_measure_name(flag, text)] = None
            continue
        if key not in ("default", *HARD):
            what = f"{flag}: set '{key}' has no measure of a 2 x 2 table alone"
            raise UsageError.new(what, "unknown-measure", hint=MADE_OF_SCORES)
        plain = (one for one in TUNABLE if "stakes" not in CATALOG[one].takes)
        found |= dict.fromkeys(one for one in plain if one in JPT or key != "default")
    return tuple(found)


def _parse_measure_name(flag: str, text: str) -> str:
    name, _, settings = text.strip().partition(":")
    refuse_measure(name, flag)
    measure = find_measure_by_name(name)
    if measure is None:
        hint = suggest_measure(text, TUNE_JPT_MEASURES, flag)
        raise UsageError.new(f"{flag}: '{name}' is not a measure", "unknown-measure", hint=hint)
    known = match_measure(name, TUNABLE) or match_measure(measure.id, TUNABLE)
    if known is None or (settings and measure.takes and not CATALOG[known].takes):
        what = f"{flag}: {measure.id} is not available in tune-jpt"
        raise UsageError.new(what, "unknown-measure", hint=_explain_unavailable(measure))
    found = parse_measure_settings(text, settings, CATALOG[known], flag=flag) if settings else {}
    return format_measure_name(CATALOG[known], found)


def _explain_unavailable(measure: Measure) -> str:
    """Return the hint for a measure that is not tuned."""
    if "prevalence" in measure.takes:
        return f"use --measure {measure.id[:3]} --prevalence 0.01"
    if measure.id == AT_RISK:
        return "for threshold probability 0.1 use --measure net_benefit:fp=1,fn=9 (odds 1 to 9)"
    if measure.best == "none":
        return "it does not rate a model; --population N shows the number of flagged rows"
    if measure.needs == "scores" and measure.invariant:
        return "it is the same at every class ratio; clfeval report computes it"
    if measure.needs not in NEEDS["all"]:
        return "for the available measures: clfeval tune-jpt --explain measures"
    return MADE_OF_SCORES


def options_from_measures(given: Sequence[str]) -> dict[str, Any]:
    """Return the options set by parameters of measures; UsageError if two differ."""
    found: dict[str, Any] = {}
    for text in given:
        name, _, settings = text.partition(":")
        numbers = parse_measure_settings(text, settings, CATALOG[name]) if settings else {}
        means: dict[str, Any] = {"beta": numbers["beta"]} if "beta" in numbers else {}
        for option, pair in (("cost", ("fp", "fn")), ("benefit", ("tp", "tn"))):
            if {*pair} & {*numbers}:
                means[option] = tuple(numbers.get(one, 0.0) for one in pair)
        for option, value in means.items():
            if found.setdefault(option, value) != value:
                what = f"--measure {text} has a different {option} than an earlier measure"
                raise bad_option(what, f"use one {option} per run")
    return found
