"""From counts to the Result of phidelta for classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal

from clfeval.compare.families import ALL_PAIRS
from clfeval.counts.evaluated_rows import slice_label
from clfeval.counts.sample import Sample
from clfeval.document import Answer, Document, ResultNote
from clfeval.document.cells import Row, Rows
from clfeval.errors import UsageError, bad_option, unknown_model_error
from clfeval.inference.influence_and_clusters import FEWEST_CLUSTERS
from clfeval.measures.record import BALANCED
from clfeval.methods import provenance
from clfeval.methods.curves import PhiDeltaCurve, curve_row, point_rows
from clfeval.methods.estimates import Design
from clfeval.methods.few_clusters import confidence_level, explain_missing_limits, has_few_clusters
from clfeval.methods.label_comparisons import (
    SEED,
    best_model_rows,
    comparison_rows,
    slice_comparison_rows,
)
from clfeval.methods.measurement.run_means import (
    RowDifferences,
    Runs,
    row_differences,
    run_comparisons,
    run_means,
    run_notes,
)
from clfeval.methods.options import IntervalSettings
from clfeval.methods.phidelta.answer import classifier_answer, run_answer
from clfeval.methods.phidelta.options import COMPARED, ClassifierOptions, PlaneOptions
from clfeval.methods.phidelta.tables import (
    PlaneCounts,
    corner_rows,
    isometric_rows,
    model_rows,
    population_rows,
    run_rows,
    run_values,
    spread_rows,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

# interval method of each kind of measure
MOST_COMPARED = 300  # models of which all pairs are compared
INTERVAL_METHODS = {
    "shares of rows, delta_b": "Clopper-Pearson",
    "phi, delta and what is linear in them": "Newcombe square-and-add of Wilson intervals",
    "differences on the same rows": "influence values, t; p adjusted by the joint maximum",
    "other measures": "range over the score region (Newcombe 2011)",
    "gini, roc_auc": "DeLong, logit; with fewer than 30 rows of a class, or within 3 standard "
    "errors of 0 or 1, extended to Newcombe's score interval",
    "means over runs": "corrected t (Nadeau-Bengio) of folds; square-and-add of runs and rows",
    "joint region": "two Clopper-Pearson intervals at the square root of the level",
}
AS_COUNTED = {  # by --totals, in addition
    "random": {
        "f1": "Clopper-Pearson of TP / (TP + FP + FN), transformed",
        "mcc, mutual_information, phi_b": "range over the score region of the two rates and the "
        "prevalence: the class totals are random",
    },
    "fixed": {
        "f1, mcc, mutual_information, phi_b": "as in a population of this class ratio: the class "
        "totals are fixed"
    },
}


def plane_tables(plane: PlaneOptions) -> dict[str, Rows]:
    """Return the corners of the diamonds, and the requested lines in each."""
    other_populations = (
        population for population in plane.populations if population.prevalence != 0.5
    )
    populations = [BALANCED, *other_populations]
    tables: dict[str, Rows] = {"corners": corner_rows(populations)}
    if plane.isometrics:
        tables["isometrics"] = isometric_rows(list(plane.isometrics.items()), populations)
    return tables


def isometric_notes(
    plane: PlaneOptions, tables: Mapping[str, Rows], odds: str | None
) -> Iterator[ResultNote]:
    """Yield notes on lines that do not exist in the diamond, and on their class ratio."""
    values_with_line = {(row["measure"], row["value"]) for row in tables.get("isometrics", ())}
    if not plane.populations and plane.isometrics.keys() - {"sensitivity", "specificity"}:
        advice = f"for the sample's ratio add {OPTION}--prevalence {odds or 'P:N'}{END}"
        yield ResultNote("lines-at-one-to-one", f"lines are for balanced classes (1:1); {advice}")
    for measure, values in plane.isometrics.items():
        value_texts = [f"{value:g}" for value in values if (measure, value) not in values_with_line]
        if value_texts:
            text = (
                f"{measure} {', '.join(value_texts)} has no line: at most a corner has this value"
            )
            yield ResultNote("no-line", text)


def plane_parameters(plane: PlaneOptions) -> dict[str, Any]:
    """Return the parameters of classifiers and features in their resolved form."""
    methods = INTERVAL_METHODS if plane.confidence is not None else {}
    targets = [
        {"prevalence": population.prevalence, "odds": population.odds}
        for population in plane.populations
    ]
    return {
        "interval_methods": provenance.name_interval_methods(methods, plane.interval),
        "targets": targets,
    }


def classifier_result(sample: Sample, plane: PlaneOptions, options: ClassifierOptions) -> Document:
    """Return the result of phidelta for classifiers with every requested table."""
    level = confidence_level(sample.patterns, plane.confidence)
    if options.reference is not None:
        _check_reference(options.reference, sample, options.runs)
    tables = _model_tables(sample, plane, options)
    curves = _evaluate_curves(sample, options.points, level) if options.curve else NO_CURVES
    tables |= curves.tables
    answer, notes_on_runs = _answer_for_models(tables, sample, options, level)
    summary = provenance.class_totals(sample)
    if sample.runs:
        summary["runs"] = len(sample.runs)
    statistics_digest = _statistics_digest(sample, options.reference, curves.digest)
    measure_notes: list[ResultNote] = []
    if options.measure:  # most runs request none and start without these
        from clfeval.methods.measurement.measure_rows import additional_measure_rows

        interval_settings = IntervalSettings(level, totals=options.totals)
        tables["measures"], statistics_digest, measure_notes = additional_measure_rows(
            sample, options.measure, interval_settings, statistics_digest
        )
    tables |= plane_tables(plane)
    document = Document(
        command="phidelta",
        signature=_classifier_signature(sample, plane, options, statistics_digest),
        inputs=sample.files,
        parameters=_classifier_parameters(sample, plane, options),
        summary=summary,
        tables=tables,
        answer=(provenance.prefix_threshold(answer[0], sample.thresholds), *answer[1:]),
        warnings=(
            *_classifier_notes(sample, summary["odds"], has_curves=options.curve),
            *notes_on_runs,
            *isometric_notes(plane, tables, summary["odds"]),
            *measure_notes,
        ),
    )
    return explain_missing_limits(document, sample.patterns, plane.confidence)


def _check_reference(reference: str, sample: Sample, has_runs: bool) -> None:
    """Raise UsageError for a reference that is unknown, alone, or without common rows."""
    models = sample.slices[None].models
    if reference not in models:
        raise unknown_model_error("--reference", reference, models)
    if len(models) == 1:
        message = f"{OPTION}--reference{END} '{reference}' is the only model; add another model"
        raise bad_option(message)
    if not sample.patterns and not has_runs:
        message = (
            f"{OPTION}--reference{END} compares models on the same rows, and the table has counts "
            "only"
        )
        hint = f"give a table of predictions, or several runs with {OPTION}--run{END}"
        raise UsageError.new(message, "needs-predictions", hint=hint)


def _model_tables(
    sample: Sample, plane: PlaneOptions, options: ClassifierOptions
) -> dict[str, Rows]:
    """Return the tables of models, of populations, and of differences from a reference."""
    level = plane.confidence
    # runs may repeat observations: pooled rows are not a sample
    pooled_level = None if options.runs else level
    design = Design(options.totals, "exact" if level is None else plane.interval)
    counts = PlaneCounts.from_slices(sample.slices, pooled_level, design, sample.patterns)
    rows_of_models = model_rows(counts, sample.thresholds)
    tables: dict[str, Rows] = {"models": rows_of_models}
    if plane.populations:
        tables["populations"] = population_rows(counts, plane.populations)
    if options.reference is not None and not options.runs:
        differences = comparison_rows(
            sample.patterns, rows_of_models, options.reference, level, options.margin, COMPARED
        )
        tables["comparisons"] = [*differences]
    return tables


def _answer_for_models(
    tables: dict[str, Rows], sample: Sample, options: ClassifierOptions, level: float | None
) -> tuple[Sequence[Answer], Sequence[ResultNote]]:
    """Return the sentences on models, and notes on runs, whose tables are added to `tables`."""
    if sample.runs:
        return _add_runs(tables, sample, options, level)
    untested_reason = _add_best_models(tables, sample, options, level)
    margin = options.margin.get("delta")
    return classifier_answer(tables, level, untested_reason, options.reference, margin), ()


def _add_best_models(
    tables: dict[str, Rows], sample: Sample, options: ClassifierOptions, level: float | None
) -> str:
    """Add the table of models tied with the best by δ; return why there is none, or ""."""
    patterns = sample.patterns.get(None)
    has_several_models = len(sample.slices[None].models) > 1
    if has_several_models and has_few_clusters(patterns):
        return f"there are fewer than {FEWEST_CLUSTERS} clusters"
    if options.reference is not None or not has_several_models:
        return ""
    if level is None:
        return "no intervals are computed"
    if patterns is None:
        return "the models' rows may differ"
    if len(patterns.models) > MOST_COMPARED:
        return f"more than {MOST_COMPARED} models are too many for all pairs"
    best_rows = [*best_model_rows(patterns, "delta", level)]
    if not best_rows:
        return "the errors of δ are unknown"
    tables["best"] = best_rows
    return ""


def _statistics_digest(sample: Sample, reference: str | None, curves_digest: str | None) -> str:
    """Return the digest of all counts that results rest on; curves_digest: of the scores."""
    digests = [counts.digest() for counts in (sample.slices[None], *sample.runs.values())]
    if reference is not None and sample.patterns:
        digests.append(sample.patterns[None].digest())
    if curves_digest is not None:
        digests.append(curves_digest)
    return digests[0] if len(digests) == 1 else sha256("".join(digests).encode()).hexdigest()


def _slice_columns(sample: Sample) -> tuple[str, ...]:
    """Return the columns of slices; none where they are runs."""
    return sample.roles.by if sample.roles.run is None else ()


def _classifier_signature(
    sample: Sample, plane: PlaneOptions, options: ClassifierOptions, statistics: str
) -> str:
    """Return the settings that change numbers, and the hashes of files and statistics."""
    return provenance.build_signature(
        "cmd pos cut miss weight by run ref margin odds totals ci measures",
        {
            "cmd": "phidelta",
            "pos": sample.positive,
            "cut": provenance.format_thresholds(sample.thresholds),
            "miss": sample.roles.missing,
            "weight": "yes" if sample.roles.weight else None,
            "by": ",".join(_slice_columns(sample)),
            "run": "file" if options.run_files else options.run,
            "odds": ",".join(population.odds for population in plane.populations),
            "ci": plane.signed,
            "measures": ",".join(options.measure),
        },
        sample.roles,
        plane,
        options,
        files=sample.files,
        statistics=statistics,
    )


def _classifier_parameters(
    sample: Sample, plane: PlaneOptions, options: ClassifierOptions
) -> dict[str, Any]:
    """Return every setting of the result, in its resolved form."""
    parameters = plane_parameters(plane)
    if plane.confidence is not None:
        as_counted = AS_COUNTED[options.totals]
        parameters["interval_methods"] |= provenance.name_interval_methods(
            as_counted, plane.interval
        )
    if plane.interval == "bootstrap":
        parameters["interval_methods"] |= {
            "phi, delta, measures ending in _u": "percentile bootstrap"
        }
    return provenance.build_parameters(
        "mode positive negative level interval totals interval_methods targets isometrics "
        "missing by run run_files reference margin measure",
        {
            "mode": "classifiers",
            "positive": sample.positive,
            "negative": list(sample.negative),
            "by": list(_slice_columns(sample)),
            **parameters,
        },
        sample.roles,
        plane,
        options,
        weighed=sample.slices[None].fractional,
    )


@dataclass(frozen=True, slots=True, eq=False)
class CurveTables:
    """The tables of curves, and the digest of the scores they come from; None without curves."""

    tables: Mapping[str, Rows]
    digest: str | None


NO_CURVES = CurveTables({}, None)


def _evaluate_curves(
    sample: Sample, point_limit: int | Literal["all"] | None, level: float | None
) -> CurveTables:
    """Return the curves of all models with scores, of every slice; UsageError if none has."""
    predictions = sample.predictions
    if predictions is None or all(model.kind == "label" for model in predictions.models):
        reason = (
            "a table of counts has none" if predictions is None else "every model has labels only"
        )
        hint = f"omit {OPTION}--curve{END}, or give a table of scores"
        raise UsageError.new(
            f"{OPTION}--curve{END} needs scores: {reason}", "needs-scores", hint=hint
        )
    rows_of_curves: list[Row] = []
    rows_of_points: list[Row] = []
    digest_by_model: dict[str, str] = {}
    for model_index, model in enumerate(predictions.models):
        if model.kind == "label":
            continue  # without scores
        scores_by_slice = predictions.scores(model_index)
        digest_by_model[model.name] = scores_by_slice[None].digest()
        for slice_name in sample.slices:
            scores = scores_by_slice[slice_name]
            curve = None
            if scores.positives.sum() and scores.negatives.sum():
                curve = PhiDeltaCurve.from_scores(scores)
                rows_of_points += point_rows(slice_name, model.name, curve, point_limit)
            rows_of_curves.append(curve_row(slice_name, model.name, curve, level))
    # scores are held one model at a time, but rows are listed by slice
    slice_order = {slice_name: i for i, slice_name in enumerate(sample.slices)}
    for rows in (rows_of_curves, rows_of_points):
        rows.sort(key=lambda row: slice_order[row["slice"]])  # type: ignore[index]
    digest = "".join(
        f"{name}{scores_digest}" for name, scores_digest in sorted(digest_by_model.items())
    )
    return CurveTables({"curves": rows_of_curves, "curve": rows_of_points}, digest)


def _add_runs(
    tables: dict[str, Rows], sample: Sample, options: ClassifierOptions, level: float | None
) -> tuple[tuple[Answer, ...], list[ResultNote]]:
    """Add the tables of runs; return their sentences and notes."""
    models = sample.slices[None].models
    runs = Runs.from_sample(sample)
    counts = PlaneCounts.from_slices(sample.runs, level)
    rows_of_runs = run_rows(counts, sample.thresholds)
    values_by_model = run_values(counts)
    tables["runs"] = sorted(rows_of_runs, key=lambda row: models.index(row["model"]))
    means = run_means(values_by_model, runs, level)
    tables["run_spread"] = spread_rows(values_by_model, means)
    comparisons: list[Row] = []
    if level is not None:
        reference = options.reference or ALL_PAIRS
        differences = _differences_by_run(sample, runs.reference(reference), level)
        comparisons += run_comparisons(
            values_by_model, models, runs, reference, differences, level=level, seed=SEED
        )
    if comparisons:
        tables["comparisons"] = comparisons
    notes = [*run_notes("delta", values_by_model, runs, sample.roles.cluster, level)]
    return run_answer(means, tables["run_spread"], comparisons, runs, level), notes


def _differences_by_run(sample: Sample, reference: str | None, level: float) -> RowDifferences:
    """Return differences from the reference on the rows of each run; none without a reference."""
    difference_rows: list[Row] = []
    if reference is not None and sample.predictions is not None:
        difference_rows += slice_comparison_rows(
            sample.predictions.slices, reference, level, {}, COMPARED
        )
    run_prefix = slice_label((str(sample.roles.run),), ("",))
    return row_differences(difference_rows, run_prefix)


def _classifier_notes(sample: Sample, odds: str | None, *, has_curves: bool) -> list[ResultNote]:
    """Return notes on classes without rows, on curves, and on how predictions were counted."""
    counts = sample.slices[None]
    notes: list[ResultNote] = []
    for class_word, totals in (("positive", counts.positives), ("negative", counts.negatives)):
        if not totals.all():
            text = f"no row is {class_word}: φ, δ and all measures of both classes are undefined"
            notes.append(ResultNote("single-class", text))
    if odds is None and not notes:
        text = "the models have different class totals: compare their φ and δ only"
        notes.append(ResultNote("different-totals", text))
    if has_curves:
        text = "the largest δ of a curve is chosen on these rows; expect less on new data"
        notes.append(ResultNote("chosen-threshold", text))
    if sample.predictions is not None:
        notes += provenance.counting_notes(sample.predictions)
        notes += provenance.bucket_notes(sample.predictions, curves=has_curves)
    return notes
