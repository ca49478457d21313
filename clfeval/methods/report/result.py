"""From counts to the Result of the report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from clfeval.compare.families import BestSet, adjusted_family, best_set, family_pairs
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.patterns import CELLS
from clfeval.counts.sample import Sample
from clfeval.document import (
    Answer,
    Document,
    Estimate,
    Row,
    Rows,
    as_estimate,
    cell_value,
    shorten_answer,
    whole_table_rows,
)
from clfeval.document.rows import RowsBySlice
from clfeval.errors import UsageError
from clfeval.measures.catalog import CATALOG
from clfeval.measures.odds import OutcomeCosts
from clfeval.methods import provenance
from clfeval.methods.comparison_answer import OperatingPoint, comparison_answers, explain_untested
from clfeval.methods.measurement.label_measures import label_estimates
from clfeval.methods.measurement.measure_rows import (
    caveat_notes,
    has_scored_model,
    label_measure_rows,
    sort_measure_rows,
    takes_scores,
    unscored_model_rows,
)
from clfeval.methods.measurement.requested_measures import (
    HARD,
    NET_BENEFIT,
    OF_SCORES,
    RequestedMeasure,
    parse_measures,
    set_row_units,
)
from clfeval.methods.report import comparisons
from clfeval.methods.report.answer import (
    bound_notes,
    report_answer,
    sample_notes,
    score_notes,
    slice_tested_models,
)
from clfeval.methods.report.baselines import (
    dummy_baselines,
    label_baselines,
    measures_with_baselines,
)
from clfeval.methods.report.heterogeneity import heterogeneity_rows
from clfeval.methods.report.model_estimates import identical_columns
from clfeval.methods.report.multiclass_result import confusion_rows, model_rows, multiclass_result
from clfeval.methods.report.options import ReportOptions, numbers_by_measure
from clfeval.methods.report.scores import ScoreResults, compute_score_results, negative_name
from clfeval.methods.report.slice_tests import (
    Complement,
    Key,
    SliceEstimates,
    label_complement_estimates,
    slice_complements,
    slice_sizes,
    slice_test_measures,
    slice_values,
)

LEAD_OF_SCORES, LEAD_OF_LABELS = "roc_auc", "balanced_accuracy"


def report_result(sample: Sample, options: ReportOptions) -> Document:
    """Return the result of the report with every table."""
    if options.runs:
        from clfeval.methods.measurement.run_means import Runs

        each, runs = comparisons.runs_as_slices(options, sample), Runs.from_sample(sample)
        within = replace(options, reference=runs.reference(options.reference))
        return comparisons.average_over_runs(each, _report(each, within), runs, options)
    return _report(sample, options)


def _report(sample: Sample, options: ReportOptions) -> Document:
    if sample.counted is not None and sample.counted.multiclass:
        return multiclass_result(sample, sample.counted, options)
    patterns = sample.patterns.get(None)
    least = 0 if sample.counted is None else sample.counted.min_cell
    hidden = least > 0
    flags = {
        "--best-threshold": options.best_threshold,
        "--abstain": options.abstain,
        "--prevalence": options.populations,
        "--reference": options.reference,
    }
    for flag in [flag for flag, given in flags.items() if given and hidden]:
        what = f"{flag} needs all counts, but small ones are hidden"
        hint = "leave it out, or count the tables without --min-cell"
        raise UsageError.new(what, "needs-predictions", hint=hint)
    comparisons.check_reference(sample.slices[None].models, options, same_rows=patterns is not None)
    if options.uses_thresholds:
        from clfeval.methods.report.threshold_rules import check_scores_available

        check_scores_available(
            options.best_threshold,
            options.zones,
            sample.thresholds,
            scored=has_scored_model(sample),
            single=sample.counted is None or sample.counted.bits is None,
        )
    asked = set_row_units(
        parse_measures(("default", *options.measure, *options.compared)), sample.counted
    )
    counts, counted, scored = sample.slices[None], sample.counted, ScoreResults()
    uncut = {} if counted is None else counted.uncut
    lead = LEAD_OF_SCORES if has_scored_model(sample) else LEAD_OF_LABELS
    held = [
        one
        for one in comparisons.compared_measures(asked, lead, options)
        if not takes_scores(one) or counted is None or counted.compares_scores
    ]
    rows = label_measure_rows(sample, asked, options.interval_settings) + unscored_model_rows(
        sample, asked
    )
    digests, estimates = (
        [counts.digest()],
        {
            one.name: paired
            for one in held
            if patterns is not None
            and not takes_scores(one)
            and (paired := label_estimates(patterns, one, uncut)) is not None
        },
    )
    if counted is not None and has_scored_model(sample):
        scored = compute_score_results(sample, counted, asked, held, options, lead)
        rows += scored.measures
        estimates |= scored.estimates
        digests += scored.digests
    votes = () if patterns is None else zip(patterns.models, patterns.votes.T, strict=True)
    same = scored.same + identical_columns(
        {model: mine for model, mine in votes if model not in scored.lost}
    )
    judged = sort_measure_rows(rows, sample, asked)
    metrics = RowsBySlice(
        whole_table_rows(judged),
        lambda: _of_slices(sort_measure_rows([*rows, *scored.unjudged()[0]], sample, asked)),
    )
    tables: dict[str, Rows] = {"measures": metrics, **scored.tables}
    if options.dummies:
        tables["baselines"] = _baseline_rows(sample, asked, judged, scored.baselines)
    stored = counted is not None and not counted.compares_scores and bool(scored.measures)
    by, instead = LEAD_OF_LABELS if stored else lead, None
    if options.reference in counts.models and options.reference not in getattr(
        estimates.get(lead), "models", counts.models
    ):
        by, instead = LEAD_OF_LABELS, lead
        estimates |= _net_benefit(sample)
    best, found = comparisons.compare_models(
        estimates, held, judged, patterns, _measure_table_names, options, counted, uncut
    )
    tested, compared_rows = best.get(lead), found.pop("comparisons", [])
    compared_rows = comparisons.with_bounds(compared_rows, estimates)
    firsts, told = _model_rows(sample, whole_table_rows(judged), tested), list[Answer]()
    if instead is not None and NET_BENEFIT in estimates:  # of labels, as the reference has
        one = estimates[NET_BENEFIT]
        of_labels = dict(zip(one.models, one.values.tolist(), strict=True))
        firsts = [
            row
            if as_estimate(row[NET_BENEFIT]).value is not None
            else {**row, NET_BENEFIT: Estimate(of_labels.get(str(row["model"])))}
            for row in firsts
        ]
    if len(sample.slices) > 1:
        of_slices, others = slice_test_measures(asked), slice_complements(sample)
        # bounds of the rows inside and outside a slice add up: hidden counts are not compared
        beside = (
            {}
            if hidden
            else scored.beside
            | dict(label_complement_estimates(sample, others, of_slices, options.interval_settings))
        )
        sizes = slice_sizes(sample, others)

        def retest(
            model: str, labels: Sequence[str], without: Sequence[str]
        ) -> dict[Key, Complement]:
            some = slice_complements(sample, labels, without)
            rest = dict(
                label_complement_estimates(sample, some, of_slices, options.interval_settings)
            )
            return {**rest, **scored.retest(model, labels, without)}

        of_models = slice_tested_models(firsts, lead, options.reference, sample.roles.model)
        positives = {
            label: one.display_units("positives").max().item()
            for label, one in sample.slices.items()
            if label is not None
        }
        inside = comparisons.slice_label_estimates(
            sample.patterns, held, lead, options, partial(label_estimates, without=uncut)
        )
        found_slices, more_rows, told = SliceEstimates(
            slice_values(judged), of_slices, sizes, options.confidence, sample.facets
        ).results(
            of_models,
            beside,
            retest,
            positives,
            estimates,
            {**inside, **scored.inside},
            numbers_by_measure(options.margin, _measure_table_names),
            options,
        )
        tables |= {
            name: each for name, each in found_slices.items() if name == "slices" or not hidden
        }
        apart = not any(own.spans for own, _ in sizes.values())  # no cluster is in two groups
        if apart and (groups := heterogeneity_rows(judged, sample.facets, options.confidence)):
            tables["heterogeneity"] = groups
        compared_rows += more_rows
    models = RowsBySlice(firsts, lambda: _of_slices(_model_rows(sample, metrics)))
    bounds = {
        str(row["model"]): cell_value(row.get("bound")) or 0.0
        for row in whole_table_rows(judged)
        if row["measure"] == lead
    }
    first, *more = report_answer(
        firsts,
        lead,
        tested,
        whole_table_rows(tables.get("decision", ())),
        options.confidence,
        same=same,
        of="labels"
        if lead == LEAD_OF_LABELS
        else ("scores" if same == scored.same else "predictions"),
        worth=_best_by_net_benefit(sample, firsts, options),
        tests=tables.get("calibration_tests", ()),
        bounds={} if tested is not None else bounds,
        untested="No comparison: small counts are hidden."
        if hidden
        else explain_untested(options, same_rows=patterns is not None, stored=stored),
    )
    if lead == LEAD_OF_LABELS:
        first = provenance.prefix_threshold(first, sample.thresholds)
    cuts: tuple[Answer, ...] = ()
    if options.populations:
        from clfeval.methods.report.thresholds import prevalence_table

        tables["at_prevalence"] = [
            *prevalence_table(sample, options, firsts),
            *tables.get("at_prevalence", ()),
        ]
    if options.populations:  # curves are those of these rows
        more = [
            replace(
                one, text=f"At the prevalence of these rows, {one.text[:1].lower()}{one.text[1:]}"
            )
            if one.code in ("helps", "helps-nowhere")
            else one
            for one in more
        ]
    if options.uses_thresholds or options.populations:
        from clfeval.methods.report.threshold_rules import threshold_answers

        cuts = threshold_answers(tables, first.models, options.level)
        more = [one for one in more if one.code != "corrected"]
    # requested log losses; the first screen has none with two classes
    wishes_logs = any(
        one.measure.id in ("log_loss", "log_loss_skill") and one.by != "default" for one in asked
    )
    answer = (
        *comparison_answers(
            compared_rows, by, options, _measure_table_names, instead, _make_operating_point(sample)
        ),
        *cuts,
        *told[:1],
        first,
        *told[1:],
        *more,
    )
    if compared_rows:
        tables["comparisons"] = compared_rows
    sliced = bool({*sample.roles.by} - {"file"})
    beside_slices = options.reference is not None and len(sample.slices) > 1
    return Document(
        **provenance.report_provenance(sample, options, digests, weighed=counts.fractional),
        summary={
            **provenance.class_totals(sample),
            "models": len(counts.models),
            **({"min_cell": least} if hidden else {}),
        },
        tables={"models": models, **tables, **found, "confusion": _confusion_rows(sample)},
        answer=shorten_answer(answer),
        warnings=(
            *sample_notes(sample),
            *bound_notes(bounds, lead, least, compared=beside_slices, by=sliced),
            *score_notes(firsts, scored.lost, sample.positive),
            *(provenance.clipped_note(scored.lost) if wishes_logs else ()),
            *caveat_notes(asked),
        ),
    )


def _of_slices(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["slice"] is not None]


def _baseline_rows(
    sample: Sample, asked: Sequence[RequestedMeasure], judged: Sequence[Row], scored: Sequence[Row]
) -> list[Row]:
    """Return the rows of baselines in the order of measures, constant predictions last."""
    counts, patterns = sample.slices[None], sample.patterns.get(None)
    held, values = measures_with_baselines(asked), comparisons.observed_values(judged)
    alike = not counts.fractional and (patterns is None or patterns.clusters is None)
    cuts = {*sample.thresholds.values()}
    constant = [one for one in held if one.name != NET_BENEFIT or len(cuts) == 1]
    found = [
        *label_baselines(counts, held, values, alike=alike),
        *scored,
        *dummy_baselines(counts, constant, next(iter(cuts), None), scored=has_scored_model(sample)),
    ]
    order = [one.name for one in held]
    return sorted(found, key=lambda row: order.index(str(row["measure"])))


def _measure_table_names(text: str) -> Iterator[str]:
    """Yield the names in tables of the measures that a name requests."""
    yield from (one.name for one in parse_measures((text,)))


def _make_operating_point(sample: Sample) -> OperatingPoint:
    """Return the threshold in force of all models, and the class totals."""
    totals, cuts = provenance.class_totals(sample), {*sample.thresholds.values()} - {None}
    where = "At the thresholds in force" if cuts else "By their labels"
    if len(cuts) == 1:
        where = f"At threshold {next(iter(cuts)):g}"
    of = sample.slices[None]
    flagged = dict(zip(of.models, ((of.tp + of.fp) / of.rows).tolist(), strict=True))
    return OperatingPoint(where, totals["positives"], totals["negatives"], flagged)


def _net_benefit(sample: Sample, models: Collection[str] = ()) -> dict[str, PairedEstimates]:
    """Return paired estimates by net benefit of labels at the common threshold of all scores."""
    patterns, cuts = sample.patterns.get(None), {*sample.thresholds.values()} - {None}
    t = cuts.pop() if len(cuts) == 1 else None
    if patterns is None or t is None or not 0 < t < 1:
        return {}
    measure = CATALOG[NET_BENEFIT].with_settings(stakes=OutcomeCosts(t, 1 - t))
    asked = RequestedMeasure(NET_BENEFIT, measure, {})
    without = {name for name in patterns.models if models and name not in models}
    found = label_estimates(patterns, asked, without)
    return {} if found is None else {NET_BENEFIT: found}


def _best_by_net_benefit(
    sample: Sample, rows: Sequence[Row], options: ReportOptions
) -> BestSet | None:
    """Return the best set by net benefit at the common threshold of all models with scores."""
    known = [row for row in rows if as_estimate(row.get("net_benefit")).value is not None]
    if options.confidence is None or len({row["threshold"] for row in known}) != 1:
        return None
    one = _net_benefit(sample, [str(row["model"]) for row in known]).get(NET_BENEFIT)
    if one is None:
        return None
    pairs = family_pairs(None, one.models)
    return best_set(
        adjusted_family(one, pairs, level=options.level, seed=options.seed), one, seed=options.seed
    )


def _model_rows(sample: Sample, metrics: Sequence[Row], tested: BestSet | None = None) -> list[Row]:
    """Return the rows of the first screen, with thresholds and 2 x 2 tables."""
    counted = sample.counted

    def cells(label: str | None, model: str) -> Row:
        counts = sample.slices[label]
        table = counts.take([counts.models.index(model)])
        known = counted is None or counted.knows_labels(label, model)
        return {
            "threshold": sample.thresholds.get(model),
            **{name: table.display_units(name)[0].item() if known else None for name in CELLS},
        }

    names = (*OF_SCORES, *HARD) if has_scored_model(sample) else HARD
    return model_rows(metrics, names, tested, cells)


def _confusion_rows(sample: Sample) -> list[Row]:
    """Return the cells of the confusion matrices of models with labels or a threshold."""
    rows, names = list[Row](), (sample.positive, negative_name(sample))
    for label, counts in sample.slices.items():
        tp, fn, fp, tn = (counts.display_units(name) for name in ("tp", "fn", "fp", "tn"))
        tables = np.array([[tp, fn], [fp, tn]]).transpose(2, 0, 1)
        found = confusion_rows(label, counts.models, names, tables, every=True)
        rows += [
            row
            for row in found
            if sample.counted is None or sample.counted.knows_labels(label, str(row["model"]))
        ]
    return rows
