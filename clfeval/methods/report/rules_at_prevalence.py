"""Rules of thresholds at a requested prevalence, and estimates of measures there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.sample import Sample
from clfeval.document.cells import Estimate
from clfeval.errors import bad_option, format_option
from clfeval.measures.catalog import match_measure
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import TUNABLE, OutcomeCosts
from clfeval.measures.record import Measure, Population
from clfeval.methods.estimates import Cells
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.options import Interval
from clfeval.methods.other_prevalences import TunedModels, prevalence_options
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.threshold_optimism import ThresholdRule
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace

FLAGGED = "detection_prevalence"


def rules_in_force(options: ReportOptions) -> list[ThresholdRule]:
    """Return the rules; those that depend on the prevalence hold at the requested one.

    Errors: UsageError for such a rule with several prevalences, or without limits at another one.
    """
    populations = options.populations
    if not populations:
        return [*options.rules]
    return [_rule_at(rule, populations) for rule in options.rules]


def _rule_at(rule: ThresholdRule, populations: Sequence[Population]) -> ThresholdRule:
    """Return a rule whose measures are those at a prevalence."""
    measures = [rule.best] if rule.limited is None else [rule.best, rule.limited]
    dependent_measures = [measure for measure in measures if not measure.measure.invariant]
    if not dependent_measures:
        return rule
    if len(populations) > 1:
        option_text = format_option("--best-threshold", rule.name, bare=True)
        message = f"{option_text} depends on the prevalence, and {OPTION}--prevalence{END} names "
        message += f"{len(populations)}"
        raise bad_option(message, "give one prevalence per run")
    for requested in dependent_measures:
        _tunable_name(requested)
    odds = populations[0].ratio
    limited_measure = None if rule.limited is None else _measure_at(rule.limited, odds)
    return replace(rule, best=_measure_at(rule.best, odds), limited=limited_measure, ratio=odds)


def _measure_at(requested: RequestedMeasure, odds: float) -> RequestedMeasure:
    """Return a measure of the table at these odds of positives."""
    measure = requested.measure
    if measure.invariant:
        return requested
    tuned_measure = replace(measure, compute=partial(_tuned_value, measure, odds))
    return replace(requested, measure=tuned_measure)


def _tuned_value(measure: Measure, odds: float, table: Confusion) -> Floats:
    return measure.function(table.tuned(odds))


def _tunable_name(requested: RequestedMeasure) -> str:
    """Return the name of a measure at other prevalences; UsageError if it has none."""
    measure = requested.measure
    if measure.id == FLAGGED or measure.invariant:
        return measure.id
    tunable_name = match_measure(measure.id, TUNABLE)
    if tunable_name is None:
        option_text = format_option("--best-threshold", requested.name, bare=True)
        message = f"{option_text} cannot be computed at another prevalence"
        hint = f"leave {OPTION}--prevalence{END} out, or use "
        hint += format_option("--best-threshold", "ppv>=.3")
        raise bad_option(message, hint)
    return tunable_name


@dataclass(frozen=True, slots=True, eq=False)
class EstimatesAtPrevalence:
    """Estimates of measures that depend on the prevalence, of one model, at another one."""

    sample: Sample
    options: ReportOptions
    population: Population

    def estimate(
        self, requested: RequestedMeasure, expected: ConfusionCounts, observed: ConfusionCounts
    ) -> Estimate:
        """Return a measure expected on new data; its limits include that of these rows."""
        tunable_name = _tunable_name(requested)
        interval: Interval = "none" if self.options.confidence is None else "exact"
        tune_options = prevalence_options((), self.options.level, self.options.totals, interval)
        tuner = TunedModels(
            self.sample, replace(tune_options, **_settings(requested)), (None,), expected
        )
        model_indices = np.array([0])
        odds = np.array([self.population.ratio])
        observed_cells = Cells.at_odds(observed, model_indices, odds)
        return tuner.estimates(
            tunable_name, Cells.at_odds(expected, model_indices, odds), observed_cells
        )[0]


def rule_costs(rule: ThresholdRule) -> OutcomeCosts | None:
    """Return the costs by which a rule chooses; None for other rules."""
    costs = rule.best.settings.get("stakes")
    return costs if isinstance(costs, OutcomeCosts) else None


def _settings(requested: RequestedMeasure) -> dict[str, Any]:
    """Return the settings of a measure as options of other prevalences."""
    settings: dict[str, Any] = {}
    costs = requested.settings.get("stakes")
    if isinstance(costs, OutcomeCosts):
        settings |= {"cost": (costs.fp, costs.fn), "benefit": (costs.tp, costs.tn)}
    if "beta" in requested.settings:
        settings["beta"] = requested.settings["beta"]
    return settings
