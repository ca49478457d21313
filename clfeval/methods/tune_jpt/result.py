"""From the input to the Result of tune-jpt: its tables, settings, signature and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from math import inf
from operator import index
from typing import Any

import numpy as np

from clfeval.arrays import MOST
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.sample import Sample
from clfeval.document import Document, InputFile, ResultNote
from clfeval.document.cells import Row, Rows, sort_value
from clfeval.errors import DataError, UsageError, bad_option, list_names, unknown_model_error
from clfeval.formatting import format_class_ratio, format_rows, quote_if_ambiguous
from clfeval.measures.catalog import CATALOG
from clfeval.methods.estimates import concatenate_counts
from clfeval.methods.few_clusters import explain_missing_limits, has_few_clusters
from clfeval.methods.model_order import ModelOrder
from clfeval.methods.options import check_reference
from clfeval.methods.other_prevalences import TunedModels
from clfeval.methods.provenance import (
    bucket_notes,
    build_parameters,
    build_signature,
    class_rows,
    class_totals,
    counting_notes,
    format_thresholds,
    name_interval_methods,
)
from clfeval.methods.tune_jpt.answer import tune_answer
from clfeval.methods.tune_jpt.crossings import lead_tables
from clfeval.methods.tune_jpt.leading_models import reference_comparisons
from clfeval.methods.tune_jpt.options import ROWS, TuneOptions
from clfeval.methods.tune_jpt.tables import (
    DRAWS,
    expected_rows,
    range_rows,
    simulated_rows,
    threshold_tables,
)
from clfeval.placeholders import END, OPTION
from clfeval.tables.input import InputOptions

ENOUGH = 400  # rows of a class below which the paper's simulations found measures optimistic
_ONE_SIDE = {  # errors of one kind do not count
    "ppv",
    "ppv_odds",
    "lr_pos",
    "npv",
    "npv_odds",
    "lr_neg",
    "sensitivity",
    "specificity",
    "fpr",
    "fnr",
    "fdr",
    "for",
    "precision_u",
    "npv_u",
}
METHODS = {  # by --interval
    "exact": {
        "sensitivity, specificity; tar, tor, ppv, npv and their odds as counted": "Clopper-Pearson",
        "ppv, npv and their odds elsewhere": "Mercaldo logit",
        "lr_pos, lr_neg": "log (Katz)",
        "dor, dp": "log (Woolf)",
        "j_index, phi, delta; tar, tor, cost, net benefit elsewhere": "square-and-add of Wilson "
        "limits",
        "f_beta, mcc, ic, epa; dor of empty cells": "range over the score region (Newcombe)",
        "ppv, npv, their odds elsewhere, lr_pos, lr_neg: with fewer than 30 rows of a class, or a "
        "rate within 3 standard errors of 0 or 1": "range over the score region (Newcombe)",
        "differences of models": "square-and-add with the correlation on shared rows, simultaneous "
        "over the models of a population and over the sweep",
    },
    "bootstrap": {
        "measures of models and sweep": "percentile bootstrap, stratified by class",
        "everything else": "by formula, as with exact",
    },
}
AS_COUNTED = {  # by --totals, in addition
    "random": {
        "exact": {
            "F1 and its odds as counted": "Clopper-Pearson of TP / (TP + FP + FN), transformed",
            "f_beta, mcc, ic, epa, cost, net benefit as counted": "range over the score region "
            "of the two rates and the prevalence (random class totals)",
        },
        "bootstrap": {
            "measures that depend on the class ratio, as counted": "percentile bootstrap of all "
            "rows (random class totals)"
        },
    },
    "fixed": {
        "exact": {
            "f_beta, mcc, ic, epa, cost, net benefit as counted": "as elsewhere (fixed totals)"
        }
    },
}
_NOTES = {
    "unpaired": "counts do not show which rows models share, so tests are unpaired (conservative "
    "if the models agree on shared rows)",
    "rates-only": "no intervals: the number of rows behind these rates is unknown; use "
    f"{OPTION}--counts{END}",
    "bootstrap-empty-cell": "bootstrap intervals are too narrow where a cell is 0; use "
    f"{OPTION}--interval exact{END}",
    "replicates-left-out": "up to {failed:,} of {resamples:,} bootstrap replicates are left out, "
    "as a measure was undefined",
    "infinite-scores": "scores of {unbounded} are infinite: no threshold can be chosen there",
    "chosen-threshold": "values at best thresholds are optimistic; on new data expect the "
    "corrected value",
    "not-compared": "the measure does not depend on the class ratio; to compare models over class "
    f"ratios add {OPTION}--measure NAME{END}",
    "pairs-on-request": "crossings of {models} models are not computed; add "
    f"{OPTION}--measure {{compared}}{END}",
    "one-sided-measure": "thresholds that optimise only {one_sided} are extreme; check "
    "sensitivity and specificity there",
    "no-target": f"no target population; add one with {OPTION}--prevalence 0.01{END}",
    "advice": "if total errors in the population matter, use measures at the target prevalence; if "
    "single rows matter, use those that do not depend on it, and MCC, IC and EPA at 1:1",
}


def tuning_parameters(sample: Sample, options: TuneOptions) -> dict[str, Any]:
    """Return every setting, and the method of each interval."""
    swept_populations = options.swept
    outcome_costs = options.outcome_costs
    has_limits = sample.sampled and not has_few_clusters(sample.patterns.get(None))
    interval = options.interval if has_limits else "none"
    methods_key = interval if interval in ("bootstrap", "none") else "exact"
    interval_methods = METHODS.get(methods_key, {}) | AS_COUNTED[options.totals].get(
        methods_key, {}
    )
    parameters = {
        "positive": sample.positive,
        "negative": list(sample.negative),
        "interval": interval,
        "interval_methods": name_interval_methods(interval_methods, interval),
        "measures": list(options.measures),
        "beta": options.beta,
        "invariant": [name for name in options.measures if CATALOG[name].invariant],
        "targets": [
            {"prevalence": target.prevalence, "odds": target.odds} for target in options.populations
        ],
        "sweep": {
            "from": swept_populations[0].odds,
            "to": swept_populations[-1].odds,
            "points": len(swept_populations),
        }
        if swept_populations
        else None,
        "compared_by": options.compared if len(sample.slices[None].models) > 1 else None,
        "paired": bool(sample.patterns),
        "cost": outcome_costs and asdict(outcome_costs),
        "risk_threshold": outcome_costs and outcome_costs.probability,
        "rows_per": ROWS,
        "prevalence_range": options.prevalence_range and list(options.prevalence_range),
        "prevalence_beta": options.prevalence_beta and list(options.prevalence_beta),
        "draws": None if options.prevalence_beta is None else DRAWS,
    }
    order = (
        "positive negative level interval totals interval_methods measure measures invariant beta "
        "targets sweep compared_by reference margin paired cost risk_threshold rows_per population "
        "prevalence_range prevalence_beta draws resamples seed missing by"
    )
    return build_parameters(
        order, parameters, options, sample.roles, weighed=sample.slices[None].fractional
    )


def tuning_signature(sample: Sample, options: TuneOptions, count_digests: Sequence[str]) -> str:
    """Return the settings that change numbers, and the hash of the sufficient statistics."""
    swept = options.swept
    outcome_costs = options.outcome_costs
    interval_text = "none"
    if options.confidence is not None:
        interval_text = f"{options.interval}-{options.level!r}"
    if options.interval == "bootstrap":
        interval_text += f"-{options.resamples}"
    odds_texts = []
    for population in options.populations:  # the exact ratio if odds are rounded
        positive_part, _, negative_part = population.odds.partition(":")
        is_exact = float(positive_part) / float(negative_part) == population.ratio
        odds_texts.append(population.odds if is_exact else f"{population.ratio!r}:1")
    settings = {
        "cmd": "tune-jpt",
        "pos": sample.positive,
        "cut": format_thresholds(sample.thresholds),
        "miss": sample.roles.missing,
        "weight": "yes" if sample.roles.weight else None,
        "by": ",".join(sample.roles.by),
        "odds": ",".join(odds_texts),
        "sweep": f"{swept[0].odds}..{swept[-1].odds}/{len(swept)}" if swept else None,
        "range": options.prevalence_range and "..".join(map(repr, options.prevalence_range)),
        "prior": options.prevalence_beta and ",".join(map(repr, options.prevalence_beta)),
        "measures": ",".join(options.measure),
        "beta": None if options.beta == 1 else options.beta,
        "by-measure": options.compared,
        "cost": outcome_costs and ",".join(map(repr, asdict(outcome_costs).values())),
        "seed": options.seed,
        "ci": interval_text,
    }
    return build_signature(
        "cmd pos cut miss weight by odds sweep range prior measures per by-measure ref "
        "margin beta cost seed totals ci",
        settings,
        options,
        sample.roles,
        files=sample.files,
        statistics=sha256("".join(count_digests).encode()).hexdigest(),
    )


def tune_result(sample: Sample, options: TuneOptions, order: ModelOrder) -> Document:
    """Tune the tables of every model to every requested population; order: that of a report.

    Errors: UsageError for comparing a single model; DataError from reading scores.
    """
    models = sample.slices[None].models
    check_reference(options.reference, options.confidence, {}, ())
    if options.reference is not None and options.reference not in models:
        raise unknown_model_error("--reference", options.reference, models)
    if options.margin and len(models) == 1:
        raise bad_option(f"{OPTION}--margin{END} needs two models or more to compare")

    tuner = TunedModels(sample, options, *concatenate_counts(sample.slices))
    tables: dict[str, Rows] = {}
    tables["models"], sweep_rows, failed_count = tuner.rows()
    if options.population is not None:
        tables["expected"] = expected_rows(tuner, options.population)
    count_digests = [sample.slices[None].digest()]
    if options.compared is not None and len(sample.slices[None].models) > 1:
        tables |= lead_tables(sample, options)
        if options.reference is not None:
            tables["comparisons"] = [*reference_comparisons(sample, options, options.reference)]
        if sample.patterns:
            count_digests.append(sample.patterns[None].digest())
    tables_of_thresholds, score_digests, unbounded_models = threshold_tables(sample, options, order)
    tables |= tables_of_thresholds
    count_digests += score_digests
    if options.prevalence_range is not None:
        tables["ranges"] = range_rows(tuner, options.prevalence_range)
    if options.prevalence_beta is not None:
        tables["simulated"] = simulated_rows(tuner, options.prevalence_beta)
    if options.swept:
        tables["sweep"] = sweep_rows
    # of counts on the command line there is no report
    led_by = None if sample.name == "--counts" else order.measure
    parameters = {**tuning_parameters(sample, options), "led_by": led_by}
    document = Document(
        command="tune-jpt",
        signature=tuning_signature(sample, options, count_digests),
        inputs=sample.files,
        parameters=parameters,
        summary=class_totals(sample),
        tables=tables,
        answer=tune_answer(tables, parameters),
        warnings=tuple(tuning_notes(sample, options, tables, failed_count, unbounded_models)),
    )
    return explain_missing_limits(document, sample.patterns, options.confidence)


def tuning_notes(
    sample: Sample,
    options: TuneOptions,
    tables: Mapping[str, Rows],
    failed_count: int,
    unbounded_models: Sequence[str],
) -> Iterator[ResultNote]:
    """Yield the notes, the most important first."""
    counts = sample.slices[None]
    has_thresholds = "thresholds" in tables
    has_several_models = len(counts.models) > 1
    has_full_tables = all(cells.all() for cells in (counts.tp, counts.fp, counts.fn, counts.tn))
    one_sided_titles = " and ".join(
        CATALOG[name].title for name in options.threshold_measures if name in _ONE_SIDE
    )
    placeholders = {
        "failed": failed_count,
        "resamples": options.resamples,
        "unbounded": list_names(unbounded_models),
        "one_sided": one_sided_titles,
        "models": len(counts.models),
        "compared": options.compared,
    }
    is_unpaired = (
        has_several_models and sample.sampled and not sample.patterns and "winners" in tables
    )
    leading_codes = {"unpaired": is_unpaired, "rates-only": not sample.sampled}
    later_codes = {
        "bootstrap-empty-cell": options.interval == "bootstrap" and not has_full_tables,
        "replicates-left-out": failed_count,
        "infinite-scores": unbounded_models,
        "chosen-threshold": has_thresholds,
        "not-compared": has_several_models and "winners" not in tables,
        "pairs-on-request": "winners" in tables and "crossovers" not in tables,
        "one-sided-measure": has_thresholds and one_sided_titles,
        "no-target": not (
            options.populations or options.prevalence_range or options.prevalence_beta
        ),
    }
    yield from (
        ResultNote(code, _NOTES[code]) for code, applies in leading_codes.items() if applies
    )
    if sample.sampled:
        yield from (*_missing_class_notes(sample), *_small_class_notes(sample))
    yield from _one_sided(tables["models"])
    for code, applies in later_codes.items():
        if applies:
            yield ResultNote(code, _NOTES[code].format(**placeholders))
    yield ResultNote("advice", _NOTES["advice"])
    if sample.predictions is not None:
        yield from (*counting_notes(sample.predictions), *bucket_notes(sample.predictions))


def _missing_class_notes(sample: Sample) -> Iterator[ResultNote]:
    """Yield notes on slices, and on models of tables of counts, that lack a class."""
    for slice_name, counts in sample.slices.items():
        for class_word, totals in (("positive", counts.positives), ("negative", counts.negatives)):
            model_names = [
                model
                for model, total in zip(counts.models, totals.tolist(), strict=True)
                if not total
            ]
            slice_phrase = f" in {slice_name}" if slice_name else ""
            message = f"{list_names(model_names)}: no {class_word} row{slice_phrase}"
            if len(model_names) == len(counts.models):
                message = f"{slice_name} has no {class_word} row"
            if model_names:
                yield ResultNote("single-class", f"{message}, so nothing is tuned")


def _small_class_notes(sample: Sample) -> Iterator[ResultNote]:
    """Yield a note on the size of the smaller class, of the table and of slices, if too small."""
    smallest_sizes: dict[str | None, float] = {}  # rows of the smaller class, where too few
    for slice_name in sample.slices:
        smallest_size = min(
            (
                row_count
                for sizes in class_rows(sample, slice_name)
                for row_count in sizes
                if row_count
            ),
            default=inf,
        )
        smallest_sizes |= {slice_name: smallest_size} if smallest_size < ENOUGH else {}
    slice_phrases = [
        f"{format_rows(row_count)} in {quote_if_ambiguous(slice_name)}"
        for slice_name, row_count in smallest_sizes.items()
        if slice_name is not None
    ]
    table_phrases = [format_rows(smallest_sizes[None])] if None in smallest_sizes else []
    if smallest_sizes:
        more_phrase = f" and {len(slice_phrases) - 5} more slices" if len(slice_phrases) > 5 else ""
        text = f"with fewer than {ENOUGH} rows in the smaller class, measures at other prevalences "
        sizes_text = ", ".join([*table_phrases, *slice_phrases[:5]])
        text += f"tend to be too high; here it has {sizes_text}{more_phrase}"
        yield ResultNote("small-class", text)


def _one_sided(rows: Rows) -> Iterator[ResultNote]:
    """Yield a note where one of the two odds dominates EPA tenfold, with the worst case."""
    worst_case: tuple[float, Row] | None = None
    target_rows = [row for row in rows if row["population"] == "target"]
    for row in target_rows or rows:
        ppv_odds, npv_odds = (sort_value(row.get(name)) for name in ("ppv_odds", "npv_odds"))
        if "epa" in row and ppv_odds is not None and npv_odds is not None:
            lower_odds, higher_odds = sorted((ppv_odds, npv_odds))
            odds_ratio = inf if higher_odds > 0 else 1.0
            if lower_odds > 0:
                odds_ratio = higher_odds / lower_odds
            if (
                lower_odds < inf
                and odds_ratio >= 10
                and (worst_case is None or odds_ratio > worst_case[0])
            ):
                worst_case = odds_ratio, row
    if worst_case is not None:
        row = worst_case[1]
        odds_phrase = "" if row["odds"] is None else f" at {format_class_ratio(row['odds'])}"
        epa_text, *odds_texts = (
            f"{sort_value(row[name]):.4g}" for name in ("epa", "ppv_odds", "npv_odds")
        )
        text = f"one term dominates EPA: {epa_text} of {row['model']}{odds_phrase} is the mean of "
        text += "PPV odds {} and NPV odds {}".format(*odds_texts)
        yield ResultNote("epa-one-sided", text)


def sample_from_table(sample: Sample) -> Sample:
    """Return the sample of a table; DataError if it lacks a class."""
    column = None
    hint = "both TP and FN, or both FP and TN, are 0 for every model"
    if sample.predictions is not None:
        column = sample.predictions.truth
        classes_phrase = f"'{column}' holds {list_names(sample.predictions.classes)}"
        hint = (
            f"the positive class is '{sample.positive}', and {classes_phrase}; check "
            f"{OPTION}--positive{END}"
        )
    _need_classes(sample.slices[None], sample.name, hint, column)
    return sample


def sample_from_counts(
    counts_by_model: Mapping[str, Sequence[float]], input_options: InputOptions
) -> Sample:
    """Return the sample of TP, FP, FN, TN per model; UsageError unless these are four counts."""
    cells_by_model = [
        _check_counts(model, model_counts) for model, model_counts in counts_by_model.items()
    ]
    confusions = ConfusionCounts.from_cells(list(counts_by_model), cells_by_model)
    _need_classes(confusions, f"{OPTION}--counts{END}", "both TP and FN, or both FP and TN, are 0")
    largest_total = int((confusions.positives + confusions.negatives).max())
    files = [InputFile("--counts", None, largest_total)]
    return Sample.from_confusions({None: confusions}, files, input_options, name="--counts")


def _check_counts(model: str, model_counts: Sequence[float]) -> list[int]:
    """Return TP, FP, FN and TN of a model; UsageError unless it has a name and four counts."""
    counts_text = (f"{model}=" if model != "model" else "") + ",".join(map(str, model_counts))
    option = f"{OPTION}--counts{END} {counts_text}"
    if not model:
        message = f"{OPTION}--counts{END} has a model without a name"
        hint = f"write {OPTION}--counts rf=69,15,31,85{END}"
        raise UsageError.new(message, "bad-counts", hint=hint)
    if len(model_counts) != 4:
        message = f"{option} is not four numbers TP,FP,FN,TN"
        hint = f"write {OPTION}--counts 67,5,33,95{END}"
        if len(model_counts) == 3:
            hint = f"add the number of true negatives: {OPTION}--counts {counts_text},TN{END}"
        raise UsageError.new(message, "bad-counts", hint=hint)
    cells = list[int]()
    for cell_name, number in zip(("TP", "FP", "FN", "TN"), model_counts, strict=True):
        whole_number = _to_whole_number(number)
        if not 0 <= whole_number <= MOST:
            reason = f"more than {MOST:,}" if whole_number > MOST else "not a whole number"
            if isinstance(number, (int, float)) and number < 0:
                reason = "negative"
            message = f"{option}: {cell_name} is {number}, {reason}"
            hint = "counts are whole numbers from 0 up; for rates use "
            hint += f"{OPTION}--sensitivity 0.67{END} {OPTION}--specificity 0.95{END}"
            raise UsageError.new(message, "bad-counts", hint=hint)
        cells.append(whole_number)
    return cells


def _to_whole_number(number: float) -> int:
    """Return a number as an integer, -1 unless it is one."""
    try:
        return index(int(number) if float(number).is_integer() else number)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return -1


def sample_from_rates(
    sensitivity: float | None, specificity: float | None, input_options: InputOptions
) -> Sample:
    """Return the sample of two rates without counts; UsageError unless both are in 0..1."""
    rates = {"sensitivity": sensitivity, "specificity": specificity}
    for option, rate in rates.items():
        if rate is None:
            given_option = next(key for key in rates if key != option)
            raise bad_option(
                f"{OPTION}--{given_option}{END} is given without {OPTION}--{option}{END}",
                f"add {OPTION}--{option}{END}",
            )
        if not 0 <= rate <= 1:
            hint = f"write {rate / 100:g} for {rate:g}%" if 1 < rate <= 100 else None
            raise bad_option(f"{OPTION}--{option}{END} {rate:g} is not between 0 and 1", hint)
    tpr, tnr = (np.array([float(rate or 0.0)]) for rate in rates.values())
    class_totals = np.ones(1)
    confusions = ConfusionCounts(("model",), tpr, 1 - tnr, 1 - tpr, tnr, class_totals, class_totals)
    source = "--sensitivity --specificity"
    files = [InputFile(source, None, 0)]
    return Sample.from_confusions(
        {None: confusions}, files, input_options, name=source, sampled=False
    )


def _need_classes(
    counts: ConfusionCounts, source_name: str, hint: str, truth_column: str | None = None
) -> None:
    for class_word, totals in (("positive", counts.positives), ("negative", counts.negatives)):
        if not totals.any():
            message = f"no {class_word} row, but tuning needs both classes"
            raise DataError.new(
                message, "single-class", source_name, column=truth_column, hint=hint
            )
