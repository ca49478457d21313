"""From counts to the Result of the report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from clfeval.arrays import Floats
from clfeval.counts.count import Sample
from clfeval.counts.counted import Counted
from clfeval.counts.patterns import CELLS
from clfeval.counts.rows import ScoredRows, scored_rows
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.units import shown
from clfeval.measures.probability import clipped
from clfeval.methods.clustered import fewest
from clfeval.methods.document import (
    at_threshold,
    class_totals,
    clipped_note,
)
from clfeval.methods.estimates import Design
from clfeval.methods.measured.asked import HARD, NET_BENEFIT, OF_SCORES, Asked, asked_of
from clfeval.methods.measured.decisions import decision_rows
from clfeval.methods.measured.metrics import (
    any_scored,
    by_model,
    caveats,
    hard_rows,
    in_order,
    score_rows,
    unscored_rows,
)
from clfeval.methods.report.answer import at_most, report_answer
from clfeval.methods.report.baselines import (
    dummy_baselines,
    hard_baselines,
    score_baselines,
)
from clfeval.methods.report.calibration import calibration_rows
from clfeval.methods.report.contests import (
    check_reference,
    compared,
    held_together,
    observed_values,
)
from clfeval.methods.report.curves import (
    curve_rows,
    cuts_asked,
    distribution_rows,
    threshold_rows,
)
from clfeval.methods.report.cutting.said import cutting_answer
from clfeval.methods.report.cutting.tables import TABLES as CUT_TABLES
from clfeval.methods.report.cutting.tables import check_scored, cut_tables
from clfeval.methods.report.noted import notes, notes_of
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.redrawn import by_draws
from clfeval.methods.report.rests import of_model, of_votes, outside, sizes_of
from clfeval.methods.report.runs import check_runs, each_run, over_runs
from clfeval.methods.report.several import several_result
from clfeval.methods.report.slices import Key, Rest, slice_rows, sliced, slices_answer
from clfeval.methods.report.stated import stated
from clfeval.methods.report.together import (
    Race,
    Together,
    alike,
    as_delong,
    by_rows,
    by_votes,
    by_worth,
    of_scores,
    spread,
)
from clfeval.result import Estimate, Result, Row, estimate

TABLES = ("metrics", *CUT_TABLES, "calibration", "thresholds", "decision", "distribution", "curves",
          "baselines")  # fmt: skip
OF_LOGS = ("log_loss", "log_loss_skill")
LEAD_OF_SCORES, LEAD_OF_LABELS = "roc_auc", "balanced_accuracy"


def report_result(sample: Sample, options: ReportOptions) -> Result:
    """Compute every table of the report."""
    if options.run is not None:
        check_runs(options, sample.slices[None].models)
        each = each_run(sample)
        return over_runs(each, _report(each, replace(options, reference=None)), options)
    return _report(sample, options)


def _report(sample: Sample, options: ReportOptions) -> Result:
    if sample.counted is not None and sample.counted.several:
        return several_result(sample, sample.counted, options)
    patterns = sample.patterns.get(None)
    check_reference(sample.slices[None].models, options, same_rows=patterns is not None)
    check_scored(options, scored=any_scored(sample))
    asked = asked_of(("default", *options.measure, *options.compared))
    counts = sample.slices[None]
    tables: dict[str, list[Row]] = {name: [] for name in TABLES}
    lead = LEAD_OF_SCORES if any_scored(sample) else LEAD_OF_LABELS
    held = compared(asked, lead, options)
    rows = hard_rows(sample, asked, options.certainty) + unscored_rows(sample, asked)
    counted, digests, scored = sample.counted, [counts.digest()], _AllScores()
    stood = _by_votes(sample, held, options)
    if counted is not None and any_scored(sample):
        scored = _of_scores(sample, counted, asked, held, options, tables, lead)
        rows += scored.measures
        stood |= scored.stood
        digests += scored.digests
    same = scored.same + _same_votes(sample, scored.lost)
    tables["metrics"] = in_order(rows, sample, asked)
    if options.dummies:
        tables["baselines"] = _baselines(sample, sliced(asked, lead), tables)
    tables = {name: found for name, found in tables.items() if found}
    uncut = {} if counted is None else counted.uncut
    contests = held_together(
        stood, held, tables["metrics"], patterns, _called, options, counted, uncut
    )
    contestants = contests.races.get(lead)
    if len(sample.slices) > 1:
        by = sliced(asked, lead)
        others = outside(sample)
        beside = scored.beside | dict(of_votes(sample, others, by, options.certainty))
        tables |= slice_rows(
            tables["metrics"], beside, by, sizes_of(sample, others), options.confidence
        )
    models = _model_rows(sample, tables["metrics"], contestants)
    confusion = _confusion_rows(sample)
    firsts = [row for row in models if row["slice"] is None]
    first, *more_said = report_answer(
        firsts, lead, contestants, tables.get("decision", ()), options.confidence,
        scored.lost, same=same, of=_of_what(lead, same, scored.same),
        worth=_by_worth(sample, firsts, options), bins=tables.get("calibration", ()),
    )  # fmt: skip
    if lead == LEAD_OF_LABELS:
        first = at_threshold(first, sample.thresholds)
    told = slices_answer(tables.get("slices", ()), lead, first.models, options.confidence)
    cuts = cutting_answer(tables.get("cutoffs", ()), tables.get("abstentions", ()), first.models)
    return Result(
        **stated(sample, options, digests, weighed=counts.fractional),
        summary={**class_totals(sample), "models": len(counts.models)},
        tables={"models": models, **tables, **contests.tables, "confusion": confusion},
        answer=at_most(contests.before(*cuts, first, *told, *more_said)),
        warnings=(
            *notes(sample), *notes_of(firsts, scored.lost, sample.positive),
            *(clipped_note(scored.lost) if _of_logs(asked) else ()), *caveats(asked),
        ),
    )  # fmt: skip


def _baselines(sample: Sample, held: Sequence[Asked], tables: Mapping[str, list[Row]]) -> list[Row]:
    """Return what measures are worth without information, in their order, dummies last."""
    counts, patterns = sample.slices[None], sample.patterns.get(None)
    alike = not counts.fractional and (patterns is None or patterns.clusters is None)
    values, cuts = observed_values(tables["metrics"]), {*sample.thresholds.values()}
    constant = [one for one in held if one.name != NET_BENEFIT or len(cuts) == 1]
    found = [
        *hard_baselines(counts, held, values, alike=alike), *tables["baselines"],
        *dummy_baselines(counts, constant, next(iter(cuts), None), scored=any_scored(sample)),
    ]  # fmt: skip
    order = [one.name for one in held]
    return sorted(found, key=lambda row: order.index(str(row["metric"])))


def _called(text: str) -> Iterator[str]:
    """Yield what the measures are called in tables that a name means."""
    yield from (one.name for one in asked_of((text,)))


@dataclass(frozen=True, slots=True, eq=False)
class _AllScores:
    """What scores tell of all models that have some.

    stood: how models stand, by measure; digests: of the scores; lost: of each model the rows whose
    class had probability 0; same: which models have the same scores; beside: measures of the rows
    that slices lack.
    """

    measures: Sequence[Row] = ()
    stood: Mapping[str, Together] = field(default_factory=dict)
    digests: Sequence[str] = ()
    lost: Mapping[str, float] = field(default_factory=dict)
    same: list[list[str]] = field(default_factory=list)
    beside: dict[Key, Rest] = field(default_factory=dict)


def _of_scores(
    sample: Sample, counted: Counted, asked: Sequence[Asked], held: Sequence[Asked],
    options: ReportOptions, tables: dict[str, list[Row]], lead: str,
) -> _AllScores:  # fmt: skip
    """Add what scores tell to the tables, one model at a time; return what it is of all."""
    every = scored_rows(counted.kept)
    names, by = [counted.models[i].name for i in every.models], sliced(asked, lead)

    def one(j: int) -> _Scored:
        return _of_model(sample, every, j, names[j], asked, held, options, by)

    measures, digests, lost = list[Row](), list[str](), dict[str, float]()
    beside = dict[Key, Rest]()
    moved: dict[str, dict[str, tuple[float, Floats]]] = {one.name: {} for one in held}
    for found in every.each(one):
        measures += found.measures
        for table, rows in found.tables.items():
            tables[table] += rows
        digests.append(f"{found.model}{found.digest}")
        beside |= found.beside
        lost[found.model] = shown(found.lost, every.unit)
        for name, influence in found.moved.items():
            moved[name][found.model] = influence
    stood = dict[str, Together]()
    for each in held:
        together = by_rows(
            every.weights, every.owners, each, moved.pop(each.name), options.reference,
            fewest(sample.patterns[None]), sampling=every.weighed,
        )  # fmt: skip
        if together is not None:
            stood[each.name] = together
    stood |= by_draws(every, names, held, observed_values(measures), sample.patterns[None],
                      options.reference, options.certainty)  # fmt: skip
    same = alike(dict(zip(names, every.scores, strict=True)))
    return _AllScores(measures, stood, digests, lost, same, beside)


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """What the scores of one model tell; moved: measures, and the influence of each row on them.

    lost: rows whose class has probability 0. beside: measures of the rows that slices lack.
    """

    model: str
    digest: str
    measures: list[Row]
    tables: dict[str, list[Row]]
    lost: float
    moved: dict[str, tuple[float, Floats]]
    beside: dict[Key, Rest]


def _of_model(
    sample: Sample, every: ScoredRows, j: int, model: str, asked: Sequence[Asked],
    held: Sequence[Asked], options: ReportOptions, by: Sequence[Asked],
) -> _Scored:  # fmt: skip
    whole, place = every.ranked(j)
    measures, tables, beside = list[Row](), dict[str, list[Row]](), dict[Key, Rest]()
    cut = sample.thresholds.get(model)
    for label in sample.slices:
        here = (whole if label is None else every.within(j, label)).frozen()
        measures += score_rows(label, model, here, cut, asked, options.certainty)
        if label is not None:
            beside |= of_model(label, model, whole, here, cut, by, options.certainty)
        for table, rows in chain(_curves(label, model, here, options, sample),
                                 cut_tables(label, model, here, cut, options)):  # fmt: skip
            tables.setdefault(table, []).extend(rows)
    moved = dict[str, tuple[float, Floats]]()
    for one in held:
        found = of_scores(one, cut, whole)
        if found is not None:
            value, each = found
            if one.measure.interval == "delong":
                each = as_delong(each, whole)
            moved[one.name] = value, spread(each, place, every.truth)
    if options.dummies:
        known = observed_values(measures)
        tables["baselines"] = [
            *score_baselines(model, whole, by, known, cut, options.seed, alike=every.alike)
        ]
    lost = 0.0
    if len(whole.scores) and whole.scores[0] >= 0 and whole.scores[-1] <= 1:
        sides = ((True, whole.positives), (False, whole.negatives))
        lost = sum(float(clipped(whole.scores, truth, n)) for truth, n in sides)
    return _Scored(model, whole.digest(), measures, tables, lost, moved, beside)


def _curves(
    label: str | None, model: str, here: ScoreCounts, options: ReportOptions, sample: Sample
) -> Iterator[tuple[str, list[Row]]]:
    """Yield the curves of one model in one slice, with the names of their tables."""
    if not len(here.scores):
        return
    level, design = options.confidence, Design(options.totals)
    yield (
        "distribution",
        distribution_rows(label, model, here, (sample.positive, _negative(sample))),
    )
    yield "curves", curve_rows(label, model, here, options.points)
    cuts = cuts_asked(here, options.thresholds)
    yield "thresholds", threshold_rows(label, model, here, cuts, level, design)
    if here.scores[0] >= 0 and here.scores[-1] <= 1:
        yield "calibration", calibration_rows(label, model, here, level, design)
        yield "decision", decision_rows(label, model, here, level)


def _negative(sample: Sample) -> str:
    """Name what is not positive."""
    return sample.negative[0] if len(sample.negative) == 1 else f"not {sample.positive}"


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


def _model_rows(sample: Sample, metrics: Sequence[Row], leaders: Race | None) -> list[Row]:
    """Return the first screen: one row a model and slice."""
    found, may = by_model(metrics), {} if leaders is None else leaders.may_be_best
    uncut = {} if sample.counted is None else sample.counted.uncut
    names = (*OF_SCORES, *HARD) if any_scored(sample) else HARD
    rows: list[Row] = []
    for label, counts in sample.slices.items():
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
    negative, rows = _negative(sample), list[Row]()
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
