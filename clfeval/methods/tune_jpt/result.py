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
    sweep = options.swept
    stakes = options.outcome_costs
    has_limits = sample.sampled and not has_few_clusters(sample.patterns.get(None))
    interval = options.interval if has_limits else "none"
    kind = interval if interval in ("bootstrap", "none") else "exact"
    methods = METHODS.get(kind, {}) | AS_COUNTED[options.totals].get(kind, {})
    parameters = {
        "positive": sample.positive,
        "negative": list(sample.negative),
        "interval": interval,
        "interval_methods": name_interval_methods(methods, interval),
        "measures": list(options.measures),
        "beta": options.beta,
        "invariant": [name for name in options.measures if CATALOG[name].invariant],
        "targets": [{"prevalence": t.prevalence, "odds": t.odds} for t in options.populations],
        "sweep": {"from": sweep[0].odds, "to": sweep[-1].odds, "points": len(sweep)}
        if sweep
        else None,
        "compared_by": options.compared if len(sample.slices[None].models) > 1 else None,
        "paired": bool(sample.patterns),
        "cost": stakes and asdict(stakes),
        "risk_threshold": stakes and stakes.probability,
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


def tuning_signature(sample: Sample, options: TuneOptions, statistics: Sequence[str]) -> str:
    """Return the settings that change numbers, and the hash of the sufficient statistics."""
    sweep = options.swept
    stakes = options.outcome_costs
    intervals = "none"
    if options.confidence is not None:
        intervals = f"{options.interval}-{options.level!r}"
    if options.interval == "bootstrap":
        intervals += f"-{options.resamples}"
    odds = []
    for population in options.populations:  # the exact ratio if odds are rounded
        left, _, right = population.odds.partition(":")
        exact = float(left) / float(right) == population.ratio
        odds.append(population.odds if exact else f"{population.ratio!r}:1")
    settings = {
        "cmd": "tune-jpt",
        "pos": sample.positive,
        "cut": format_thresholds(sample.thresholds),
        "miss": sample.roles.missing,
        "weight": "yes" if sample.roles.weight else None,
        "by": ",".join(sample.roles.by),
        "odds": ",".join(odds),
        "sweep": f"{sweep[0].odds}..{sweep[-1].odds}/{len(sweep)}" if sweep else None,
        "range": options.prevalence_range and "..".join(map(repr, options.prevalence_range)),
        "prior": options.prevalence_beta and ",".join(map(repr, options.prevalence_beta)),
        "measures": ",".join(options.measure),
        "beta": None if options.beta == 1 else options.beta,
        "by-measure": options.compared,
        "cost": stakes and ",".join(map(repr, asdict(stakes).values())),
        "seed": options.seed,
        "ci": intervals,
    }
    return build_signature(
        "cmd pos cut miss weight by odds sweep range prior measures per by-measure ref "
        "margin beta cost seed totals ci",
        settings,
        options,
        sample.roles,
        files=sample.files,
        statistics=sha256("".join(statistics).encode()).hexdigest(),
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
    tables["models"], swept, failed = tuner.rows()
    if options.population is not None:
        tables["expected"] = expected_rows(tuner, options.population)
    statistics = [sample.slices[None].digest()]
    if options.compared is not None and len(sample.slices[None].models) > 1:
        tables |= lead_tables(sample, options)
        if options.reference is not None:
            tables["comparisons"] = [*reference_comparisons(sample, options, options.reference)]
        if sample.patterns:
            statistics.append(sample.patterns[None].digest())
    chosen_tables, scores, unbounded = threshold_tables(sample, options, order)
    tables |= chosen_tables
    statistics += scores
    if options.prevalence_range is not None:
        tables["ranges"] = range_rows(tuner, options.prevalence_range)
    if options.prevalence_beta is not None:
        tables["simulated"] = simulated_rows(tuner, options.prevalence_beta)
    if options.swept:
        tables["sweep"] = swept
    # of counts on the command line there is no report
    led_by = None if sample.name == "--counts" else order.measure
    settings = {**tuning_parameters(sample, options), "led_by": led_by}
    document = Document(
        command="tune-jpt",
        signature=tuning_signature(sample, options, statistics),
        inputs=sample.files,
        parameters=settings,
        summary=class_totals(sample),
        tables=tables,
        answer=tune_answer(tables, settings),
        warnings=tuple(tuning_notes(sample, options, tables, failed, unbounded)),
    )
    return explain_missing_limits(document, sample.patterns, options.confidence)


def tuning_notes(
    sample: Sample,
    options: TuneOptions,
    tables: Mapping[str, Rows],
    failed: int,
    unbounded: Sequence[str],
) -> Iterator[ResultNote]:
    """Yield the notes, the most important first."""
    counts = sample.slices[None]
    has_thresholds = "thresholds" in tables
    several = len(counts.models) > 1
    full = all(part.all() for part in (counts.tp, counts.fp, counts.fn, counts.tn))
    one_sided = " and ".join(
        CATALOG[name].title for name in options.threshold_measures if name in _ONE_SIDE
    )
    phrases = {
        "failed": failed,
        "resamples": options.resamples,
        "unbounded": list_names(unbounded),
        "one_sided": one_sided,
        "models": len(counts.models),
        "compared": options.compared,
    }
    unpaired = several and sample.sampled and not sample.patterns and "winners" in tables
    first = {"unpaired": unpaired, "rates-only": not sample.sampled}
    others = {
        "bootstrap-empty-cell": options.interval == "bootstrap" and not full,
        "replicates-left-out": failed,
        "infinite-scores": unbounded,
        "chosen-threshold": has_thresholds,
        "not-compared": several and "winners" not in tables,
        "pairs-on-request": "winners" in tables and "crossovers" not in tables,
        "one-sided-measure": has_thresholds and one_sided,
        "no-target": not (
            options.populations or options.prevalence_range or options.prevalence_beta
        ),
    }
    yield from (ResultNote(code, _NOTES[code]) for code, applies in first.items() if applies)
    if sample.sampled:
        yield from (*_missing_class_notes(sample), *_small_class_notes(sample))
    yield from _one_sided(tables["models"])
    for code in (code for code, applies in others.items() if applies):
        yield ResultNote(code, _NOTES[code].format(**phrases))
    yield ResultNote("advice", _NOTES["advice"])
    if sample.predictions is not None:
        yield from (*counting_notes(sample.predictions), *bucket_notes(sample.predictions))


def _missing_class_notes(sample: Sample) -> Iterator[ResultNote]:
    """Yield notes on slices, and on models of tables of counts, that lack a class."""
    for label, counts in sample.slices.items():
        for name, totals in (("positive", counts.positives), ("negative", counts.negatives)):
            lost = [m for m, n in zip(counts.models, totals.tolist(), strict=True) if not n]
            message = f"{list_names(lost)}: no {name} row{f' in {label}' if label else ''}"
            if len(lost) == len(counts.models):
                message = f"{label} has no {name} row"
            if lost:
                yield ResultNote("single-class", f"{message}, so nothing is tuned")


def _small_class_notes(sample: Sample) -> Iterator[ResultNote]:
    """Yield a note on the size of the smaller class, of the table and of slices, if too small."""
    smallest: dict[str | None, float] = {}  # rows of the smaller class, where too few
    for label in sample.slices:
        rows = min((n for sizes in class_rows(sample, label) for n in sizes if n), default=inf)
        smallest |= {label: rows} if rows < ENOUGH else {}
    slices = [
        f"{format_rows(n)} in {quote_if_ambiguous(label)}"
        for label, n in smallest.items()
        if label is not None
    ]
    all_rows = [format_rows(smallest[None])] if None in smallest else []
    if smallest:
        further = f" and {len(slices) - 5} more slices" if len(slices) > 5 else ""
        text = f"with fewer than {ENOUGH} rows in the smaller class, measures at other prevalences "
        text += f"tend to be too high; here it has {', '.join([*all_rows, *slices[:5]])}{further}"
        yield ResultNote("small-class", text)


def _one_sided(rows: Rows) -> Iterator[ResultNote]:
    """Yield a note where one of the two odds dominates EPA tenfold, with the worst case."""
    worst: tuple[float, Row] | None = None
    targets = [row for row in rows if row["population"] == "target"]
    for row in targets or rows:
        ppv, npv = (sort_value(row.get(name)) for name in ("ppv_odds", "npv_odds"))
        if "epa" in row and ppv is not None and npv is not None:
            low, high = sorted((ppv, npv))
            times = high / low if low > 0 else inf if high > 0 else 1.0
            if low < inf and times >= 10 and (worst is None or times > worst[0]):
                worst = times, row
    if worst is not None:
        row = worst[1]
        odds_phrase = "" if row["odds"] is None else f" at {format_class_ratio(row['odds'])}"
        epa, *odds = (f"{sort_value(row[n]):.4g}" for n in ("epa", "ppv_odds", "npv_odds"))
        text = f"one term dominates EPA: {epa} of {row['model']}{odds_phrase} is the mean of "
        text += "PPV odds {} and NPV odds {}".format(*odds)
        yield ResultNote("epa-one-sided", text)


def sample_from_table(sample: Sample) -> Sample:
    """Return the sample of a table; DataError if it lacks a class."""
    column = None
    hint = "both TP and FN, or both FP and TN, are 0 for every model"
    if sample.predictions is not None:
        column = sample.predictions.truth
        classes = f"'{column}' holds {list_names(sample.predictions.classes)}"
        hint = (
            f"the positive class is '{sample.positive}', and {classes}; check "
            f"{OPTION}--positive{END}"
        )
    _need_classes(sample.slices[None], sample.name, hint, column)
    return sample


def sample_from_counts(counts: Mapping[str, Sequence[float]], roles: InputOptions) -> Sample:
    """Return the sample of TP, FP, FN, TN per model; UsageError unless these are four counts."""
    tables = [_check_counts(model, numbers) for model, numbers in counts.items()]
    confusions = ConfusionCounts.from_cells(list(counts), tables)
    _need_classes(confusions, f"{OPTION}--counts{END}", "both TP and FN, or both FP and TN, are 0")
    total = int((confusions.positives + confusions.negatives).max())
    files = [InputFile("--counts", None, total)]
    return Sample.from_confusions({None: confusions}, files, roles, name="--counts")


def _check_counts(model: str, numbers: Sequence[float]) -> list[int]:
    """Return TP, FP, FN and TN of a model; UsageError unless it has a name and four counts."""
    text = (f"{model}=" if model != "model" else "") + ",".join(map(str, numbers))
    option = f"{OPTION}--counts{END} {text}"
    if not model:
        message = f"{OPTION}--counts{END} has a model without a name"
        hint = f"write {OPTION}--counts rf=69,15,31,85{END}"
        raise UsageError.new(message, "bad-counts", hint=hint)
    if len(numbers) != 4:
        message = f"{option} is not four numbers TP,FP,FN,TN"
        hint = f"write {OPTION}--counts 67,5,33,95{END}"
        if len(numbers) == 3:
            hint = f"add the number of true negatives: {OPTION}--counts {text},TN{END}"
        raise UsageError.new(message, "bad-counts", hint=hint)
    cells = list[int]()
    for name, number in zip(("TP", "FP", "FN", "TN"), numbers, strict=True):
        n = _to_whole_number(number)
        if not 0 <= n <= MOST:
            reason = f"more than {MOST:,}" if n > MOST else "not a whole number"
            if isinstance(number, (int, float)) and number < 0:
                reason = "negative"
            message = f"{option}: {name} is {number}, {reason}"
            hint = "counts are whole numbers from 0 up; for rates use "
            hint += f"{OPTION}--sensitivity 0.67{END} {OPTION}--specificity 0.95{END}"
            raise UsageError.new(message, "bad-counts", hint=hint)
        cells.append(n)
    return cells


def _to_whole_number(number: float) -> int:
    """Return a number as an integer, -1 unless it is one."""
    try:
        return index(int(number) if float(number).is_integer() else number)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return -1


def sample_from_rates(
    sensitivity: float | None, specificity: float | None, roles: InputOptions
) -> Sample:
    """Return the sample of two rates without counts; UsageError unless both are in 0..1."""
    rates = {"sensitivity": sensitivity, "specificity": specificity}
    for name, rate in rates.items():
        if rate is None:
            absent = next(key for key in rates if key != name)
            raise bad_option(
                f"{OPTION}--{absent}{END} is given without {OPTION}--{name}{END}",
                f"add {OPTION}--{name}{END}",
            )
        if not 0 <= rate <= 1:
            hint = f"write {rate / 100:g} for {rate:g}%" if 1 < rate <= 100 else None
            raise bad_option(f"{OPTION}--{name}{END} {rate:g} is not between 0 and 1", hint)
    tp, tn = (np.array([float(rate or 0.0)]) for rate in rates.values())
    total = np.ones(1)
    confusions = ConfusionCounts(("model",), tp, 1 - tn, 1 - tp, tn, total, total)
    name = "--sensitivity --specificity"
    files = [InputFile(name, None, 0)]
    return Sample.from_confusions({None: confusions}, files, roles, name=name, sampled=False)


def _need_classes(
    counts: ConfusionCounts, source: str, hint: str, column: str | None = None
) -> None:
    for name, totals in (("positive", counts.positives), ("negative", counts.negatives)):
        if not totals.any():
            message = f"no {name} row, but tuning needs both classes"
            raise DataError.new(message, "single-class", source, column=column, hint=hint)
