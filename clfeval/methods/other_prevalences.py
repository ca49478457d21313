"""Models in other populations: measures at every class ratio, and their PPV, NPV and alarms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from clfeval.arrays import Floats, Ints, divide
from clfeval.counts.patterns import CELLS, ConfusionCounts
from clfeval.counts.sample import Sample
from clfeval.document import Answer
from clfeval.document.cells import CellsByColumn, Estimate, Row, as_estimate, as_row, cell_number
from clfeval.formatting import (
    format_class_ratio,
    format_close,
    format_exact,
    format_share,
    join_words,
    quote_if_ambiguous,
    with_interval,
)
from clfeval.measures.catalog import CATALOG
from clfeval.measures.odds import OutcomeCosts
from clfeval.measures.record import BALANCED, Population
from clfeval.methods.confidence_limits import measure_limits
from clfeval.methods.estimates import (
    Cells,
    Design,
    Estimates,
    Limits,
    concatenate_counts,
    estimate_column,
    make_estimate,
    rows_from_columns,
)
from clfeval.methods.measurement.label_measures import TableResampler
from clfeval.methods.measurement.score_measures import bootstrap_limits
from clfeval.methods.options import Interval, IntervalSettings, Totals
from clfeval.methods.tune_jpt.options import ROWS, TuneOptions
from clfeval.records import dataclass

Place = tuple[str, Population]  # sample, 1:1, target or sweep; and the population
MODELS = "slice model population prevalence odds rows tp fp fn tn threshold"  # then the measures
SWEEP = "slice model prevalence odds ratio"
RATES = ("sensitivity", "specificity", "ppv", "npv")
RULES = {"j_index": "largest J", "expected_cost": "lowest expected cost"}


class _ModelPlace(NamedTuple):
    """A model, by index, in a population: sample, 1:1, target or sweep."""

    model: int
    kind: str
    population: Population | None


@dataclass(frozen=True, slots=True)
class TunedModels:
    """Models of slices, concatenated; labels: the slice of each, None for the whole table."""

    sample: Sample
    options: TuneOptions
    labels: tuple[str | None, ...]
    counts: ConfusionCounts

    @property
    def level(self) -> float | None:
        """The level of intervals; None without intervals or counts."""
        return self.options.confidence if self.sample.sampled else None

    def model_columns(self, models: Sequence[int]) -> dict[str, list[Any]]:
        """Return the columns of slice and model."""
        names = self.counts.models
        return {
            "slice": [self.labels[model_index] for model_index in models],
            "model": [names[model_index] for model_index in models],
        }

    def limits(
        self, name: str, cells: Cells, computed: Mapping[str, Limits] | None = None
    ) -> Limits:
        """Return the limits of a measure by formula, NaN without intervals."""
        options = self.options
        if self.level is None:
            return np.full(len(cells.tp), np.nan), np.full(len(cells.tp), np.nan)
        # measures that are not resampled have exact limits
        method = "exact" if options.interval == "bootstrap" else options.interval
        return measure_limits(
            name,
            cells,
            level=self.level,
            design=Design(options.totals, method),
            beta=options.beta,
            stakes=options.outcome_costs,
            computed=computed,
        )

    def estimates(
        self, name: str, cells: Cells, observed: Cells | None = None, times: Floats | float = 1.0
    ) -> Estimates:
        """Return a measure of tables, times `times`; limits reach to the value of `observed`."""
        values, observed_values = (
            self.values(name, tables) * times for tables in (cells, observed or cells)
        )
        low, high = (limit * times for limit in self.limits(name, cells))
        limits = np.minimum(low, observed_values), np.maximum(high, observed_values)
        return estimate_column(values, limits, cells, CATALOG[name].undefined_at_odds)

    def values(self, name: str, cells: Cells) -> Floats:
        """Return a measure of tables, all digits kept where it does not depend on the ratio."""
        formula = self.options.formulas[name]
        is_fixed = cells.sampled | CATALOG[name].invariant
        return np.where(is_fixed, formula(cells.observed), formula(cells.tuned))

    def rows(self) -> tuple[list[Row], list[Row], int]:
        """Return tables `models` and `sweep`, and the most undefined replicates of any measure.

        A row per model in the sample, at 1:1 and each target, and per swept population and model.
        """
        places = self._places()
        models = [place.model for place in places]
        cells = self._cells(places)
        estimates, most_undefined = self._estimates(cells, np.array(models))
        population_kinds = [place.kind for place in places]
        row_counts = self.counts.rows.tolist()
        thresholds = self.sample.thresholds
        columns: dict[str, Sequence[Any]] = {
            **self.model_columns(models),
            "population": population_kinds,
            "prevalence": [place.population and place.population.prevalence for place in places],
            "odds": [place.population and place.population.odds for place in places],
            "ratio": cells.ratio.tolist(),
            "rows": [
                row_counts[place.model] if place.kind == "sample" else ROWS for place in places
            ],
            "threshold": [
                thresholds.get(self.counts.models[model_index]) for model_index in models
            ],
            **estimates,
            **self._cell_columns(places, cells),
        }
        sweep_start = len(places) - population_kinds.count("sweep")
        model_rows, sweep_rows = (
            rows_from_columns(
                {name: columns[name][row_slice] for name in (*column_names.split(), *estimates)}
            )
            for column_names, row_slice in (
                (MODELS, slice(sweep_start)),
                (SWEEP, slice(sweep_start, None)),
            )
        )
        return model_rows, sweep_rows, most_undefined

    def _places(self) -> list[_ModelPlace]:
        """Return each model in the sample, at 1:1 and each target, then the swept populations."""
        counts = self.counts
        targets = [("1:1", BALANCED), *(("target", target) for target in self.options.populations)]
        places = list[_ModelPlace]()
        class_counts = zip(counts.positives.tolist(), counts.negatives.tolist(), strict=True)
        for model_index, (positives, negatives) in enumerate(class_counts):
            if self.sample.sampled:
                population = (
                    Population.from_counts(positives, negatives, counts.unit)
                    if positives and negatives
                    else None
                )
                places.append(_ModelPlace(model_index, "sample", population))
            places += [_ModelPlace(model_index, kind, target) for kind, target in targets]
        for population in self.options.swept:
            whole_table_models = range(self.labels.count(None))
            places += [
                _ModelPlace(model_index, "sweep", population) for model_index in whole_table_models
            ]
        return places

    def _cells(self, places: Sequence[_ModelPlace]) -> Cells:
        """Return the tables of models at the class ratios of populations."""
        counts = self.counts
        models = np.array([place.model for place in places])
        sampled = np.array([place.kind == "sample" for place in places])
        observed = divide(counts.positives, counts.negatives)[models]
        populations = [place.population for place in places]
        ratios = np.array(
            [population and population.ratio for population in populations], np.float64
        )
        ratios = np.where(sampled & ~np.isnan(ratios), observed, ratios)
        return Cells.picked(counts, models, ratios, sampled)

    def _cell_columns(self, places: Sequence[_ModelPlace], cells: Cells) -> dict[str, list[Any]]:
        """Return the columns TP, FP, FN and TN: rows of the sample, elsewhere of 1,000 rows."""
        tuned_tables = cells.tuned.per(ROWS)
        columns = dict[str, list[Any]]()
        for name in CELLS:
            row_counts = self.counts.display_units(name).tolist()
            tuned_counts = getattr(tuned_tables, name).tolist()
            # NaN, which differs from itself, is None
            columns[name] = [
                row_counts[place.model]
                if place.kind == "sample"
                else None
                if tuned_count != tuned_count
                else tuned_count
                for place, tuned_count in zip(places, tuned_counts, strict=True)
            ]
        return columns

    def _estimates(self, cells: Cells, models: Ints) -> tuple[dict[str, Estimates], int]:
        """Return every measure shown, and the most undefined replicates of any."""
        options = self.options
        limits: dict[str, Limits] = {}
        most_undefined = 0
        if self.level is not None and options.interval == "bootstrap":
            names = self.counts.models
            limits, most_undefined = bootstrap_limits(
                {name: options.formulas[name] for name in options.measures},
                cells,
                models,
                names,
                IntervalSettings(
                    self.level, "bootstrap", options.totals, options.resamples, options.seed
                ),
                lambda model_index: TableResampler.from_patterns(
                    self.sample.patterns.get(self.labels[model_index]), names[model_index]
                ),
            )
        elif self.level is not None:
            for name in options.measures:
                limits[name] = self.limits(name, cells, limits)
        return {
            name: estimate_column(
                self.values(name, cells), limits.get(name), cells, CATALOG[name].undefined_at_odds
            )
            for name in options.measures
        }, most_undefined


class UsedThreshold(NamedTuple):
    """The threshold of a model, its rule, and its tables on new data and on these rows."""

    model: str
    rule: str | None  # None if not chosen
    threshold: float | None  # None for labels, and above every score
    expected: ConfusionCounts  # on new data
    observed: ConfusionCounts
    risk: float | None = None  # threshold probability of net benefit


def prevalence_options(
    prevalence: tuple[str | float, ...], level: float, totals: Totals, interval: Interval
) -> TuneOptions:
    """Return the options of `prevalence_rows` from those of a report."""
    return TuneOptions(
        prevalence=prevalence, sweep=None, level=level, totals=totals, interval=interval
    )


def prevalence_rows(
    sample: Sample,
    options: TuneOptions,
    places: Sequence[Place],
    used_thresholds: Sequence[UsedThreshold],
) -> list[Row]:
    """Return PPV, NPV and alarms of models in each population, expected on new data.

    Limits reach to the values on these rows. alarms: of 1,000 rows; alarms_per_case: 1 / PPV.
    """
    model_indices = np.arange(len(used_thresholds))
    _, expected_counts = concatenate_counts(
        dict(enumerate(threshold.expected for threshold in used_thresholds))
    )
    _, observed_counts = concatenate_counts(
        dict(enumerate(threshold.observed for threshold in used_thresholds))
    )
    tuner = TunedModels(sample, options, (None,) * len(used_thresholds), expected_counts)
    rows = list[Row]()
    for kind, population in places:
        ratios = np.full(len(used_thresholds), np.nan if kind == "sample" else population.ratio)
        tables = (
            Cells.at_odds(expected_counts, model_indices, ratios),
            Cells.at_odds(observed_counts, model_indices, ratios),
        )
        rates = {name: tuner.estimates(name, *tables) for name in RATES}
        alarms = tuner.estimates("detection_prevalence", *tables, ROWS)
        rows += [
            as_row(
                {
                    "model": used_threshold.model,
                    "chosen_by": used_threshold.rule,
                    "threshold": used_threshold.threshold,
                    "population": kind,
                    "prevalence": population.prevalence,
                    "odds": population.odds,
                    **{name: estimates[model_index] for name, estimates in rates.items()},
                    "alarms": alarms[model_index],
                    "alarms_per_case": _inverse_estimate(rates["ppv"][model_index]),
                    "net_benefit": _net_benefit(tuner, tables, model_index, used_threshold.risk),
                    "gain": _net_benefit_gain(tuner, tables, model_index, used_threshold.risk),
                }
            )
            for model_index, used_threshold in enumerate(used_thresholds)
        ]
    return rows


def _net_benefit(
    tuner: TunedModels, tables: tuple[Cells, Cells], model_index: int, risk: float | None
) -> Estimate:
    """Return the net benefit of a model at its threshold probability, else by the options' costs.

    tables: expected, and observed on these rows.
    """
    costs = _outcome_costs(tuner, risk)
    if costs is None:
        return Estimate(None, reason="needs_threshold")
    return _estimate_with_costs(tuner, tables, model_index, "net_benefit", costs)


def _net_benefit_gain(
    tuner: TunedModels, tables: tuple[Cells, Cells], model_index: int, risk: float | None
) -> Estimate:
    """Return the net benefit less that of treat-all or treat-none, whichever is larger.

    Treat-all has p - (1 - p) w, with the prevalence p and the exchange rate w of the costs; less
    that, the net benefit is (1 - p) w specificity - p (1 - sensitivity).
    """
    costs = _outcome_costs(tuner, risk)
    if costs is None:
        return Estimate(None, reason="needs_threshold")
    exchange = costs.exchange
    expected, _ = tables
    ratio = expected.ratio[model_index].item()
    if ratio <= exchange:  # treat-all is not better than treat-none
        return _estimate_with_costs(tuner, tables, model_index, "net_benefit", costs)
    loss = OutcomeCosts(fp=0.0, fn=1.0, tn=exchange)
    return _estimate_with_costs(tuner, tables, model_index, "expected_cost", loss).negative()


def _outcome_costs(tuner: TunedModels, risk: float | None) -> OutcomeCosts | None:
    """Return the costs of a threshold probability, else those of the options."""
    if risk is not None and 0 < risk < 1:
        return OutcomeCosts(risk, 1 - risk)
    return tuner.options.outcome_costs


def _estimate_with_costs(
    tuner: TunedModels,
    tables: tuple[Cells, Cells],
    model_index: int,
    measure: str,
    costs: OutcomeCosts,
) -> Estimate:
    """Return a measure of a model with these costs."""
    options = replace(tuner.options, cost=(costs.fp, costs.fn), benefit=(costs.tp, costs.tn))
    expected, observed = (cells.select(np.array([model_index])) for cells in tables)
    (estimate,) = replace(tuner, options=options).estimates(measure, expected, observed)
    return estimate


def _inverse_estimate(share: Estimate) -> Estimate:
    """Return 1 / share, infinite at 0."""
    if share.value is None:
        return share
    share_limits = (share.high, share.value, share.low)
    low, value, high = (
        np.nan if share_limit is None else 1 / share_limit if share_limit else np.inf
        for share_limit in share_limits
    )
    return make_estimate(value, low, high)


def prevalence_answer(row: Row, level: float, *, further: bool = False) -> Answer:
    """Return the sentence on PPV, NPV and alarms at a prevalence.

    further: the sentence before names the model and its threshold; leave out these and details.
    """
    columns = ("ppv", "npv", "alarms", "alarms_per_case")
    ppv, npv, alarms, per_case = (as_estimate(row[column]) for column in columns)
    model = row["model"]
    sentence = _answer_opening(row, further=further)
    if ppv.value is None or alarms.value is None:
        sentence += " predicts no positives: PPV is undefined."
        return Answer("at-prevalence", sentence, (model,), "ppv")
    shares = [
        f"{title} {with_interval(share.value, share.low, share.high, level, format_close)}"
        for title, share in (("PPV", ppv), ("NPV", npv))
        if share.value is not None
    ]
    alarms_phrase = f"{format_close(alarms.value, 1)} alarms per {ROWS:,} rows"
    if further:
        shares[1:] = [] if npv.value is None else [f"NPV {format_close(npv.value, 3)}"]
        sentence += f" has {join_words([*shares, alarms_phrase])}{net_benefit_clause(row)}."
        return Answer("at-prevalence", sentence, (model,), "ppv", ppv.value, ppv.low, ppv.high)
    case_clause = (
        "" if per_case.value is None else f", {format_close(per_case.value, 1)} per case detected"
    )
    ending = f"{alarms_phrase}{case_clause}{net_benefit_clause(row)}."
    brief = f"{sentence} has {shares[0]} and raises {ending}"
    sentence += f" has {' and '.join(shares)}. It raises {ending}"
    gain = as_estimate(row["gain"])
    is_harm = gain.high is not None and gain.high < 0
    limits = (ppv.value, ppv.low, ppv.high)
    return Answer("at-prevalence", sentence, (model,), "ppv", *limits, brief=brief, harm=is_harm)


def net_benefit_clause(row: Row) -> str:
    """Return the clause that compares the net benefit with both defaults; empty if undefined.

    gain: over the larger of treat-all, which is above 0 where gain and net benefit differ, and
    treat-none. "Significantly": both confidence intervals exclude 0.
    """
    benefit = as_estimate(row["net_benefit"])
    gain = as_estimate(row["gain"])
    if benefit.value is None or gain.value is None:
        return ""
    default = "treat-none" if gain.value == benefit.value else "treat-all"
    if gain.low is None or gain.high is None:
        relation = "above" if gain.value > 0 else "below"
        return f"; the estimated net benefit is {relation} {default}"
    if gain.low > 0 and benefit.low is not None and benefit.low > 0:
        return "; the net benefit significantly exceeds treat-all and treat-none"
    if gain.high < 0:
        return f"; the net benefit is significantly below {default}"
    return f"; the net benefit is not significantly different from {default}"


def _answer_opening(row: Row, *, further: bool) -> str:
    """Return the sentence on a row of a prevalence up to its verb: population, threshold, model."""
    threshold = row["threshold"]
    model = row["model"]
    subject = "the model" if model == "model" else quote_if_ambiguous(model)
    if further or threshold is None:
        return f"{prevalence_phrase(row)}, {subject}"
    rule = str(row["chosen_by"] or "").partition(":")[0]
    reason = f" ({RULES[rule]})" if rule in RULES else ""
    threshold_phrase = f"threshold {format_exact(cell_number(threshold))}{reason}"
    return f"{prevalence_phrase(row)} and {threshold_phrase}, {subject}"


def population_cells(kind: str, population: Population | None) -> CellsByColumn:
    """Return the cells of a population: its kind, prevalence and odds."""
    return {
        "population": kind,
        "prevalence": None if population is None else population.prevalence,
        "odds": None if population is None else population.odds,
    }


def prevalence_phrase(row: CellsByColumn) -> str:
    """Return the phrase on the prevalence of a row, to begin a sentence."""
    share = format_share(cell_number(row["prevalence"]))
    if row["population"] == "sample":
        return f"At the prevalence of these rows ({share})"
    return f"At prevalence {share} ({format_class_ratio(row['odds'])})"
