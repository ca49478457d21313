"""From counts to the Result of the report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clfeval.counts.count import Sample
from clfeval.counts.patterns import CELLS
from clfeval.lazy import BySlice
from clfeval.methods.document import (
    at_threshold,
    class_totals,
    clipped_note,
)
from clfeval.methods.measured.asked import HARD, NET_BENEFIT, OF_SCORES, Asked, asked_of
from clfeval.methods.measured.metrics import (
    any_scored,
    by_model,
    caveats,
    hard_rows,
    in_order,
    unscored_rows,
)
from clfeval.methods.report.answer import at_most, report_answer
from clfeval.methods.report.baselines import (
    dummy_baselines,
    hard_baselines,
)
from clfeval.methods.report.contests import (
    Observed,
    check_reference,
    compared,
    held_together,
    observed_values,
)
from clfeval.methods.report.noted import notes, notes_of
from clfeval.methods.report.options import ReportOptions, by_measure
from clfeval.methods.report.rests import of_votes, outside, sizes_of
from clfeval.methods.report.scores import AllScores, negative_of, scores_of
from clfeval.methods.report.several import several_result
from clfeval.methods.report.slices import slice_rows, sliced, slices_answer
from clfeval.methods.report.stated import stated
from clfeval.methods.report.together import (
    Race,
    Together,
    alike,
    by_votes,
    by_worth,
)
from clfeval.methods.report.within import Within, compared_within, inside_votes
from clfeval.result import Answer, Estimate, Result, Row, Rows, estimate, whole

OF_LOGS = ("log_loss", "log_loss_skill")
LEAD_OF_SCORES, LEAD_OF_LABELS = "roc_auc", "balanced_accuracy"


def report_result(sample: Sample, options: ReportOptions) -> Result:
    """Compute every table of the report."""
    if options.run is not None:
        from clfeval.methods.report.runs import Runs, check_runs, each_run, over_runs

        check_runs(options, sample.slices[None].models)
        each, counted = each_run(sample)
        runs = Runs.of(counted)
        within = replace(options, reference=runs.reference(options.reference))
        return over_runs(each, _report(each, within), runs, options)
    return _report(sample, options)


def _report(sample: Sample, options: ReportOptions) -> Result:
    if sample.counted is not None and sample.counted.several:
        return several_result(sample, sample.counted, options)
    patterns = sample.patterns.get(None)
    check_reference(sample.slices[None].models, options, same_rows=patterns is not None)
    if options.cuts:
        from clfeval.methods.report.cutting.tables import check_scored

        check_scored(options, sample.thresholds, scored=any_scored(sample))
    asked = asked_of(("default", *options.measure, *options.compared))
    counts = sample.slices[None]
    lead = LEAD_OF_SCORES if any_scored(sample) else LEAD_OF_LABELS
    held = compared(asked, lead, options)
    rows = hard_rows(sample, asked, options.certainty) + unscored_rows(sample, asked)
    counted, digests, scored = sample.counted, [counts.digest()], AllScores()
    stood = _by_votes(sample, held, options)
    if counted is not None and any_scored(sample):
        scored = scores_of(sample, counted, asked, held, options, lead)
        rows += scored.measures
        stood |= scored.stood
        digests += scored.digests
    same = scored.same + _same_votes(sample, scored.lost)
    judged = in_order(rows, sample, asked)
    metrics = BySlice(whole(judged), lambda: _of_slices(
        in_order([*rows, *scored.unjudged().measures], sample, asked)
    ))  # fmt: skip
    tables: dict[str, Rows] = {"metrics": metrics, **scored.tables}
    if options.dummies:
        of = observed_values(judged)
        tables["baselines"] = _baselines(sample, sliced(asked, lead), of, scored.baselines)
    uncut = {} if counted is None else counted.uncut
    contests = held_together(stood, held, judged, patterns, _called, options, counted, uncut)
    contestants = contests.races.get(lead)
    within = Within()
    if len(sample.slices) > 1:
        by = sliced(asked, lead)
        others = outside(sample)
        beside = scored.beside | dict(of_votes(sample, others, by, options.certainty))
        sizes = sizes_of(sample, others)
        tables |= slice_rows(judged, beside, by, sizes, options.confidence, sample.facets)
        inside = {
            **inside_votes(sample.patterns, held, lead, options, uncut), **scored.inside,
        }  # fmt: skip
        margins = by_measure(options.margin, _called)
        within = compared_within(inside, stood, sample.patterns, sizes, options, margins, uncut)
        tables |= {"slice_comparisons": within.rows} if within.rows else {}
    firsts = _model_rows(sample, judged, [None], contestants)
    models = BySlice(firsts, lambda: _of_slices(_model_rows(sample, metrics, sample.slices)))
    confusion = _confusion_rows(sample)
    first, *more_said = report_answer(
        firsts, lead, contestants, whole(tables.get("decision", ())), options.confidence,
        same=same, of=_of_what(lead, same, scored.same), worth=_by_worth(sample, firsts, options),
        tests=tables.get("calibration_tests", ()),
    )  # fmt: skip
    if lead == LEAD_OF_LABELS:
        first = at_threshold(first, sample.thresholds)
    told = slices_answer(tables.get("slices", ()), lead, first.models, options.confidence)
    cuts: tuple[Answer, ...] = ()
    if options.cuts:
        from clfeval.methods.report.cutting.said import cutting_answer

        cuts = cutting_answer(
            tables.get("cutoffs", ()), tables.get("abstentions", ()), first.models
        )
    return Result(
        **stated(sample, options, digests, weighed=counts.fractional),
        summary={**class_totals(sample), "models": len(counts.models)},
        tables={"models": models, **tables, **contests.tables, "confusion": confusion},
        answer=at_most(contests.before(*cuts, first, *within.answer(lead), *told, *more_said)),
        warnings=(
            *notes(sample), *notes_of(firsts, scored.lost, sample.positive),
            *(clipped_note(scored.lost) if _of_logs(asked) else ()), *caveats(asked),
        ),
    )  # fmt: skip


def _of_slices(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["slice"] is not None]


def _baselines(
    sample: Sample, held: Sequence[Asked], values: Observed, of_scores_: Sequence[Row]
) -> list[Row]:
    """Return what measures are worth without information, in their order, dummies last."""
    counts, patterns = sample.slices[None], sample.patterns.get(None)
    alike = not counts.fractional and (patterns is None or patterns.clusters is None)
    cuts = {*sample.thresholds.values()}
    constant = [one for one in held if one.name != NET_BENEFIT or len(cuts) == 1]
    found = [
        *hard_baselines(counts, held, values, alike=alike), *of_scores_,
        *dummy_baselines(counts, constant, next(iter(cuts), None), scored=any_scored(sample)),
    ]  # fmt: skip
    order = [one.name for one in held]
    return sorted(found, key=lambda row: order.index(str(row["metric"])))


def _called(text: str) -> Iterator[str]:
    """Yield what the measures are called in tables that a name means."""
    yield from (one.name for one in asked_of((text,)))


def _by_votes(sample: Sample, held: Sequence[Asked], options: ReportOptions) -> dict[str, Together]:
    """Return how models stand by measures of their labels; none where rows may differ."""
    patterns, stood = sample.patterns.get(None), dict[str, Together]()
    if patterns is None:
        return stood
    uncut = {} if sample.counted is None else sample.counted.uncut
    for one in held:
        if one.needs == "confusion" and one.name != NET_BENEFIT:
            found = by_votes(patterns, one, options.reference, uncut)
            if found is not None:
                stood[one.name] = found
    return stood


def _of_what(lead: str, same: object, scored: object) -> str:
    """Name what is the same in every row."""
    if lead == LEAD_OF_LABELS:
        return "labels"
    return "scores" if same == scored else "answers"


def _same_votes(sample: Sample, without: Collection[str] = ()) -> list[list[str]]:
    """Return which models, but those without, give the same labels, where rows are known."""
    patterns = sample.patterns.get(None)
    if patterns is None:
        return []
    votes = zip(patterns.models, patterns.votes.T, strict=True)
    return alike({model: mine for model, mine in votes if model not in without})


def _by_worth(sample: Sample, rows: Sequence[Row], options: ReportOptions) -> Race | None:
    """Return who has the largest net benefit at the one threshold of all models with scores.

    Twice as sure as elsewhere: models are the best by something else, and this speaks against them.
    """
    patterns = sample.patterns.get(None)
    known = [row for row in rows if estimate(row.get("net_benefit")).value is not None]
    (cut, *others) = {row["threshold"] for row in known} or {None}
    if patterns is None or options.confidence is None or others or not isinstance(cut, float):
        return None
    found = by_worth(patterns, cut, [str(row["model"]) for row in known])
    return None if found is None else found.race(level=(1 + options.level) / 2, seed=options.seed)


def _model_rows(
    sample: Sample, metrics: Sequence[Row], labels: Iterable[str | None],
    leaders: Race | None = None,
) -> list[Row]:  # fmt: skip
    """Return the first screen: one row a model and slice, of some slices."""
    found, may = by_model(metrics), {} if leaders is None else leaders.may_be_best
    uncut = {} if sample.counted is None else sample.counted.uncut
    names = (*OF_SCORES, *HARD) if any_scored(sample) else HARD
    rows: list[Row] = []
    for label in labels:
        counts = sample.slices[label]
        cells = {name: counts.shown(name).tolist() for name in CELLS}
        for i, model in enumerate(counts.models):
            mine = found[label, model]
            rows.append(
                {
                    "slice": label, "model": model, "threshold": sample.thresholds.get(model),
                    **{name: None if model in uncut else column[i]
                       for name, column in cells.items()},
                    **{name: mine.get(name, Estimate(None, reason="needs_scores"))
                       for name in names},
                    "may_be_best": None if label is not None else may.get(model),
                }
            )  # fmt: skip
    return rows


def _confusion_rows(sample: Sample) -> list[Row]:
    """Return how often each answer was given to each truth."""
    negative, rows = negative_of(sample), list[Row]()
    for label, counts in sample.slices.items():
        cells: Mapping[str, Any] = {name: counts.shown(name).tolist() for name in CELLS}
        for i, model in enumerate(counts.models):
            if sample.counted is not None and model in sample.counted.uncut:
                continue
            for truth, said, name in (
                (sample.positive, sample.positive, "tp"), (sample.positive, negative, "fn"),
                (negative, sample.positive, "fp"), (negative, negative, "tn"),
            ):  # fmt: skip
                total = cells["tp"][i] + cells["fn"][i]
                if truth == negative:
                    total = cells["fp"][i] + cells["tn"][i]
                many = cells[name][i]
                rows.append(
                    {
                        "slice": label, "model": model, "truth": truth, "predicted": said,
                        "rows": many, "share": many / total if total else None,
                    }
                )  # fmt: skip
    return rows


def _of_logs(asked: Sequence[Asked]) -> bool:
    """Tell whether log losses were asked for: the first screen has none of two classes."""
    return any(one.measure.id in OF_LOGS and one.by != "default" for one in asked)
