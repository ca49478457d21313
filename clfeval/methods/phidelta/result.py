"""From counts to the Result of phidelta for classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from clfeval.compare.families import ALL_PAIRS
from clfeval.counts.evaluated_rows import slice_label
from clfeval.counts.sample import Sample
from clfeval.document import Answer, Document, ResultNote, Row, Rows
from clfeval.errors import UsageError, bad_option, unknown_model_error
from clfeval.measures.record import BALANCED
from clfeval.methods import provenance
from clfeval.methods.comparison_answer import SEED, comparison_rows, slice_comparison_rows
from clfeval.methods.curves import PhiDeltaCurve, curve_row, point_rows
from clfeval.methods.estimates import Design
from clfeval.methods.measurement.run_means import (
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

# interval method of each kind of measure
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
    populations = [BALANCED, *(one for one in plane.populations if one.prevalence != 0.5)]
    tables: dict[str, Rows] = {"corners": corner_rows(populations)}
    if plane.isometrics:
        tables["isometrics"] = isometric_rows(list(plane.isometrics.items()), populations)
    return tables


def isometric_notes(
    plane: PlaneOptions, tables: Mapping[str, Rows], odds: str | None
) -> Iterator[ResultNote]:
    """Yield notes on lines that do not exist in the diamond, and on their class ratio."""
    drawn = {(row["measure"], row["value"]) for row in tables.get("isometrics", ())}
    if not plane.populations and plane.isometrics.keys() - {"sensitivity", "specificity"}:
        at = f"for the sample's ratio add --prevalence {odds or 'P:N'}"
        yield ResultNote("lines-at-one-to-one", f"lines are for balanced classes (1:1); {at}")
    for name, values in plane.isometrics.items():
        lost = [f"{value:g}" for value in values if (name, value) not in drawn]
        if lost:
            text = f"{name} {', '.join(lost)} has no line: at most a corner has this value"
            yield ResultNote("no-line", text)


def plane_parameters(plane: PlaneOptions) -> dict[str, Any]:
    """Return the parameters of classifiers and features in their resolved form."""
    methods = INTERVAL_METHODS if plane.confidence is not None else {}
    places = [{"prevalence": one.prevalence, "odds": one.odds} for one in plane.populations]
    return {
        "interval_methods": provenance.name_interval_methods(methods, plane.interval),
        "targets": places,
    }


def classifier_result(sample: Sample, plane: PlaneOptions, options: ClassifierOptions) -> Document:
    """Return the result of phidelta for classifiers with every requested table."""
    level, counts = plane.confidence, sample.slices[None]
    if options.reference is not None:
        if options.reference not in counts.models:
            raise unknown_model_error("--reference", options.reference, counts.models)
        if len(counts.models) == 1:
            what = f"--reference '{options.reference}' is the only model; add another model"
            raise bad_option(what)
        if not sample.patterns and not options.runs:
            what = "--reference compares models on the same rows, and the table has counts only"
            hint = "give a table of predictions, or several runs with --run"
            raise UsageError.new(what, "needs-predictions", hint=hint)
    # runs may repeat observations: pooled rows are not a sample
    pooled = None if options.runs else level
    design = Design(options.totals, "exact" if level is None else plane.interval)
    whole = PlaneCounts.from_slices(sample.slices, pooled, design, sample.patterns)
    whole_rows = model_rows(whole, sample.thresholds)
    tables: dict[str, Rows] = {"models": whole_rows}
    if plane.populations:
        tables["populations"] = population_rows(whole, plane.populations)
    if options.reference is not None and not options.runs:
        of, margin = options.reference, options.margin
        differences = comparison_rows(sample.patterns, whole_rows, of, level, margin, COMPARED)
        tables["comparisons"] = [*differences]
    statistics = [one.digest() for one in (counts, *sample.runs.values())]
    if options.reference is not None and sample.patterns:
        statistics.append(sample.patterns[None].digest())
    if options.curve:
        curves, scores = _curve_tables(sample, options, level)
        tables |= curves
        statistics.append(scores)
    found = plane_parameters(plane)
    if level is not None:
        counted = provenance.name_interval_methods(AS_COUNTED[options.totals], plane.interval)
        found["interval_methods"] |= counted
    if plane.interval == "bootstrap":
        found["interval_methods"] |= {"phi, delta, measures ending in _u": "percentile bootstrap"}
    notes = list[ResultNote]()
    if sample.runs:
        answer, notes = _add_runs(tables, sample, options, level)
    else:
        answer = classifier_answer(
            tables, sample.patterns.get(None), level, options.reference, options.margin.get("delta")
        )
    summary, said = provenance.class_totals(sample), sample.roles
    if sample.runs:
        summary["runs"] = len(sample.runs)
    by = said.by if said.run is None else ()
    first, *others = answer
    together, *more = statistics
    if more:
        together = sha256("".join(statistics).encode()).hexdigest()
    caveats = list[ResultNote]()
    if options.measure:  # most runs request none and start without these
        from clfeval.methods.measurement.measure_rows import additional_measure_rows

        how = IntervalSettings(level, totals=options.totals)
        tables["measures"], together, caveats = additional_measure_rows(
            sample, options.measure, how, together
        )
    tables |= plane_tables(plane)
    return Document(
        command="phidelta",
        signature=provenance.build_signature(
            "cmd pos cut miss weight by run ref margin odds totals ci measures",
            {
                "cmd": "phidelta",
                "pos": sample.positive,
                "cut": provenance.format_thresholds(sample.thresholds),
                "miss": said.missing,
                "weight": "yes" if said.weight else None,
                "by": ",".join(by),
                "run": "file" if options.run_files else options.run,
                "odds": ",".join(one.odds for one in plane.populations),
                "ci": plane.signed,
                "measures": ",".join(options.measure),
            },
            said,
            plane,
            options,
            files=sample.files,
            statistics=together,
        ),
        inputs=sample.files,
        parameters=provenance.build_parameters(
            "mode positive negative level interval totals interval_methods targets isometrics "
            "missing by run run_files reference margin measure",
            {
                "mode": "classifiers",
                "positive": sample.positive,
                "negative": list(sample.negative),
                "by": list(by),
                **found,
            },
            said,
            plane,
            options,
            weighed=counts.fractional,
        ),
        summary=summary,
        tables=tables,
        answer=(provenance.prefix_threshold(first, sample.thresholds), *others),
        warnings=(
            *_warnings(sample, options, summary["odds"]),
            *notes,
            *isometric_notes(plane, tables, summary["odds"]),
            *caveats,
        ),
    )


def _curve_tables(
    sample: Sample, options: ClassifierOptions, level: float | None
) -> tuple[dict[str, Rows], str]:
    """Return the tables of curves, and the digest of the scores they come from."""
    counted = sample.counted
    if counted is None or all(model.kind == "label" for model in counted.models):
        why = "a table of counts has none" if counted is None else "every model has labels only"
        hint = "omit --curve, or give a table of scores"
        raise UsageError.new(f"--curve needs scores: {why}", "needs-scores", hint=hint)
    curves: list[Row] = []
    points: list[Row] = []
    digests: dict[str, str] = {}
    for i, model in enumerate(counted.models):
        if model.kind == "label":
            continue
        scores = counted.scores(i)
        digests[model.name] = scores[None].digest()
        for label in sample.slices:
            one, curve = scores[label], None
            if one.positives.sum() and one.negatives.sum():
                curve = PhiDeltaCurve.from_scores(one)
                points += point_rows(label, model.name, curve, options.points)
            curves.append(curve_row(label, model.name, curve, level))
    # scores are held one model at a time, but rows are listed by slice
    place = {label: i for i, label in enumerate(sample.slices)}
    for rows in (curves, points):
        rows.sort(key=lambda row: place[row["slice"]])  # type: ignore[index]
    digest = "".join(f"{name}{one}" for name, one in sorted(digests.items()))
    return {"curves": curves, "curve": points}, digest


def _add_runs(
    tables: dict[str, Rows], sample: Sample, options: ClassifierOptions, level: float | None
) -> tuple[tuple[Answer, ...], list[ResultNote]]:
    """Add the tables of runs; return their sentences and notes."""
    models, runs = sample.slices[None].models, Runs.from_sample(sample)
    each = PlaneCounts.from_slices(sample.runs, level)
    rows, values = run_rows(each, sample.thresholds), run_values(each)
    tables["runs"] = sorted(rows, key=lambda row: models.index(str(row["model"])))
    means = run_means(values, runs, level)
    tables["run_spread"] = spread_rows(values, means)
    reference, compared = options.reference or ALL_PAIRS, list[Row]()
    if level is not None:
        within, inside = runs.reference(reference), list[Row]()
        if within is not None and sample.counted is not None:
            inside += slice_comparison_rows(sample.counted.slices, within, level, {}, COMPARED)
        by_rows = row_differences(inside, slice_label((str(sample.roles.run),), ("",)))
        compared += run_comparisons(
            values, models, runs, reference, by_rows, level=level, seed=SEED
        )
    if compared:
        tables["comparisons"] = compared
    notes = [*run_notes("delta", values, runs, sample.roles.cluster, level)]
    return run_answer(means, tables["run_spread"], compared, runs, level), notes


def _warnings(sample: Sample, options: ClassifierOptions, odds: str | None) -> list[ResultNote]:
    counts, said = sample.slices[None], list[ResultNote]()
    for name, totals in (("positive", counts.positives), ("negative", counts.negatives)):
        if not totals.all():
            text = f"no row is {name}: φ, δ and all measures of both classes are undefined"
            said.append(ResultNote("single-class", text))
    if odds is None and not said:
        text = "the models have different class totals: compare their φ and δ only"
        said.append(ResultNote("different-totals", text))
    if options.curve:
        text = "the largest δ of a curve is chosen on these rows; expect less on new data"
        said.append(ResultNote("chosen-threshold", text))
    counted = sample.counted
    return (
        said
        if counted is None
        else [
            *said,
            *provenance.counting_notes(counted),
            *provenance.bucket_notes(counted, curves=options.curve),
        ]
    )
