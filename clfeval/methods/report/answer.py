"""The sentences and notes of a report: the best model, calibration, net benefit, slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan

from clfeval.compare.families import POWER, BestSet
from clfeval.counts.sample import Sample
from clfeval.document import Answer, ResultNote, whole_table_rows
from clfeval.document.cells import Row, as_estimate, cell_number
from clfeval.document.rows import rows_where
from clfeval.errors import format_option
from clfeval.formatting import (
    candidates_first,
    describe_ties,
    format_bound,
    format_count,
    format_exact,
    format_number,
    is_reference,
    join_names,
    quote_if_ambiguous,
    with_interval,
)
from clfeval.measures.catalog import CATALOG
from clfeval.methods.provenance import class_rows, counting_notes, offer_of_log_odds
from clfeval.methods.report.calibration_answer import MISCALIBRATED_CODE, calibration_answer
from clfeval.methods.report.calibration_ranges import calibration_ranges_answer
from clfeval.methods.report.slice_answer import SliceModels
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field


def score_notes(
    models: Sequence[Row], lost: Mapping[str, float], positive: str
) -> Iterator[ResultNote]:
    """Yield warnings on models that rank in reverse, or gave observed outcomes probability 0."""
    areas = {row["model"]: as_estimate(row.get("roc_auc")).high for row in models}
    turned = [model for model, high in areas.items() if high is not None and high < 0.5]
    if turned:
        verb = "ranks" if len(turned) == 1 else "rank"
        text = f"{join_names(turned)} {verb} in reverse; check whether high scores mean "
        option = format_option("--model", f"{turned[0]}:reversed")
        yield ResultNote("backwards", f"{text}'{positive}'; if low ones do, add {option}")
    if impossible := [model for model, rows in lost.items() if rows]:
        text = f"{join_names(impossible)} gave probability 0 to some observed outcomes; "
        text += "slope and CITL exclude these rows"
        yield ResultNote("impossible", text)


def sample_notes(sample: Sample) -> list[ResultNote]:
    """Return warnings on small classes, scores without a threshold, and the counting of rows."""
    counts, notes = sample.slices[None], list[ResultNote]()
    qualifier = "about " if counts.fractional else ""
    class_totals = (counts.positives, counts.negatives)
    for name, totals, sizes in zip(
        ("positive", "negative"), class_totals, class_rows(sample, None), strict=True
    ):
        if not totals.all():
            text = f"no {name} row: measures that need both classes are undefined"
            notes.append(ResultNote("single-class", text))
        elif min(sizes) < 30:
            text = f"{qualifier}{format_count(min(sizes), f'{name} row')}: estimates from them "
            notes.append(ResultNote("small-class", f"{text}are imprecise"))
    if sample.predictions is None:
        return notes
    uncut = sample.predictions.uncut.values()
    if uncut:
        low = min(low for low, _ in uncut)
        high = max(high for _, high in uncut)
        text = f"scores from {format_exact(low)} to {format_exact(high)} are not probabilities; "
        text += f"add {OPTION}--threshold T{END} for measures of predicted positives"
        signed = [model for model, (low, _) in sample.predictions.uncut.items() if low < 0]
        text += f"; {offer_of_log_odds(signed[0], sample.predictions)}" if signed else ""
        notes.append(ResultNote("no-threshold", text))
    return notes + counting_notes(sample.predictions)


def bound_notes(
    bounds: Mapping[str, float], lead: str, smallest: int, *, compared: bool, by: bool
) -> list[ResultNote]:
    """Return a note on the largest bound of the leading measure, and on counts that are hidden.

    smallest: no count is smaller. compared: models are compared in slices. by: slices were counted.
    """
    most = max(bounds.values(), default=0.0)
    if smallest:
        text = f"counts below {smallest} are hidden, and models and slices are not compared"
        if most:
            text += f"; {CATALOG[lead].title} can be off by up to {format_bound(most)}, which its "
            text += "intervals include"
        text += f"; slices with fewer than {smallest} rows of a class are left out" * by
        return [ResultNote("hidden-counts", text)]
    if not most:
        return []
    text = f"scores are counted in buckets: {CATALOG[lead].title} can be off by up to "
    text += f"{format_bound(most)}, which its intervals include, and thresholds are where a "
    text += "bucket starts" + "; in slices only labels are compared" * compared
    text += f" ({OPTION}--scores exact{END}: one by one)"
    return [ResultNote("score-buckets", text)]


MAX_LISTED = 6  # identical models, by name
MOST_RANGES = 3  # ranges of thresholds listed at most
RESOLVED_ROWS = 5  # rows from which on a gap between thresholds is one
FEW, MIN_OPTIMISM = (3, 0.0005)  # models, or sentences, and optimism from which it is reported


@dataclass(frozen=True, slots=True, eq=False)
class ModelRanking:
    """The rows of models, and how these are ranked by the leading measure.

    level: of intervals, None without. untested: why models were not tested against the best.
    bounds: how far values of `lead` can be from those of rows, by model. reference: as the option.
    sample_size: rows, without sampling weights.
    """

    models: Sequence[Row]
    lead: str
    best_set: BestSet | None
    level: float | None
    untested: str = ""
    bounds: Mapping[str, float] = field(default_factory=dict)
    reference: str | None = None
    sample_size: float = 0.0

    @property
    def candidates(self) -> list[Row]:
        """The rows of models, with the best one that is compared with the reference first."""
        rows = {row["model"]: row for row in self.rows}
        return [rows[model] for model in candidates_first([*rows], self.reference)]

    @property
    def references(self) -> list[str]:
        """The models that others are compared with."""
        models = [row["model"] for row in self.models]
        return [model for model in models if is_reference(model, self.reference)]

    @property
    def named_models(self) -> list[str]:
        """The models that answer the question: the best or best candidate, and those tied with it.

        With a reference every candidate.
        """
        models = [row["model"] for row in self.candidates]
        if self.references:
            return [model for model in models if model not in self.references]
        ties = {} if self.best_set is None else self.best_set.ties
        followers = [model for model in models[1:] if ties.get(model, False) is not False]
        return [*models[:1], *followers]

    @property
    def rows(self) -> list[Row]:
        """The rows of models with a value, the best first."""
        return _sort_rows(self.models, self.lead)


ALL_MODELS = ("*",)  # the models of arrays, which need no names


def choose_tested_models(ranking: ModelRanking, requested: Sequence[str]) -> SliceModels:
    """Return the models whose slices are tested; requested: those of --model, if not all."""
    ranked = [row["model"] for row in ranking.rows]
    undefined = [row["model"] for row in ranking.models if row["model"] not in ranked]
    return SliceModels.from_ranking(
        [*ranked, *undefined],
        ranking.best_set,
        ranking.reference,
        () if tuple(requested) == ALL_MODELS else requested,
    )


@dataclass(frozen=True, slots=True, eq=False)
class EqualModels:
    """Groups of models whose labels, scores or predictions are equal in every row."""

    groups: Sequence[Sequence[str]]
    kind: str = "labels"


@dataclass(frozen=True, slots=True, eq=False)
class SecondRanking:
    """The ranking of models by another measure, which may contradict that by the leading one."""

    measure: str
    best_set: BestSet | None


SECOND_RANKING_CODES = {"net_benefit": "worth", "log_loss": "lower-log-loss"}


def report_answer(
    ranking: ModelRanking,
    decision: Sequence[Row],
    calibration_tests: Sequence[Row],
    equal_models: EqualModels,
    second: SecondRanking,
    calibration_band: Sequence[Row] = (),
) -> tuple[Answer, ...]:
    """Return the sentences on best model, corrected value, calibration and net benefit."""
    ranked, best_set, lead = ranking.rows, ranking.best_set, ranking.lead
    if not ranked:
        return (_no_leader_answer(ranking),)
    candidates = ranking.candidates
    calibration = None
    if calibration_tests or not any(ranking.bounds.values()):
        calibration = calibration_answer(
            candidates, best_set, calibration_tests, ranking.level, ranking.references
        )
    answers = [_best_model_answer(ranking)]
    has_fault = calibration is not None and calibration.names_fault
    if not has_fault and best_set is not None and _shows_optimism(best_set):
        answers.append(_corrected_answer(ranked[0], lead, best_set))
    answers += _identical_models_answer(equal_models)
    answers += _labels_only_answer(ranking)
    if calibration is not None:
        answers.append(calibration.answer)
        if calibration.answer.code == MISCALIBRATED_CODE:  # which it describes
            answers += calibration_ranges_answer(calibration.miscalibrated, calibration_band)
    answers += _second_ranking_answer(ranked, second)
    its = (  # the sentence on a miscalibrated model may stand elsewhere
        calibration is not None
        and answers[-1] is calibration.answer
        and calibration.ends_with_best
        and calibration.answer.code != MISCALIBRATED_CODE
    )
    answers += _decision_curve_answer(
        candidates[0]["model"],
        whole_table_rows(decision),
        ranking.level,
        ranking.sample_size,
        its=its,
    )
    if len(answers) <= FEW and not has_fault:
        answers += _resolution_answer(best_set, lead)
    return tuple(answers)


def _labels_only_answer(ranking: ModelRanking) -> list[Answer]:
    """Return the sentence on what labels do not show, if no model has scores."""
    if any("roc_auc" in row for row in ranking.models):
        return []
    text = "Labels show neither calibration nor performance at other thresholds."
    return [Answer("labels-only", text)]


def _shows_optimism(best_set: BestSet) -> bool:
    """Return whether the bias of the best of several models is worth a sentence."""
    return len(best_set.models) >= FEW and best_set.optimism >= MIN_OPTIMISM


def _no_leader_answer(ranking: ModelRanking) -> Answer:
    """Return why no model has a value of the leading measure."""
    reasons = {as_estimate(row.get(ranking.lead)).reason for row in ranking.models}
    cause = "small counts are hidden" if "hidden_counts" in reasons else "a class has no row"
    text = f"{CATALOG[ranking.lead].title} is undefined for every model: {cause}."
    return Answer("no-leader", text)


def _sort_rows(rows: Sequence[Row], name: str) -> list[Row]:
    """Sort rows of models by a measure, the best first, without undefined ones."""
    sign = -1 if CATALOG[name].best == "max" else 1
    defined = [row for row in rows if as_estimate(row.get(name)).value is not None]
    return sorted(defined, key=lambda row: sign * (as_estimate(row[name]).value or 0.0))


def _best_model_answer(ranking: ModelRanking) -> Answer:
    """Return the sentence on the best model and the models tied with it."""
    ranked, lead = ranking.rows, ranking.lead
    highest = as_estimate(ranked[0][lead])
    value = highest.value or 0.0
    title = CATALOG[lead].title
    leaders = [row["model"] for row in ranked if as_estimate(row[lead]).value == value]
    interval = with_interval(value, highest.low, highest.high, ranking.level or 0.95)
    has = "has" if len(leaders) == 1 else "have"
    text = f"{join_names(leaders)} {has} the highest {title}: {interval}."
    if _ranks_in_reverse(ranked, lead):
        return _reversed_answer(ranked, ranking.level)
    if len(ranked) == 1:
        text = f"{join_names(leaders)} has {title} {interval}."
    elif len(leaders) == len(ranked):
        text = f"All models have the same {title}: {interval}."
    elif ranking.best_set is None:
        if rivals := _models_within_bounds(ranking, leaders, value):
            text = f"{join_names([*leaders, *rivals])} may have the highest {title}; "
            text += f"{join_names(leaders)} {has} {interval}."
        text = f"{text} {ranking.untested}".rstrip()
    else:
        ties = ranking.best_set.ties
        followers = [row["model"] for row in ranked[len(leaders) :]]
        tied, worse, untested = (
            [model for model in followers if ties.get(model, True) is tie]
            for tie in (True, False, None)
        )
        text = f"{text} {describe_ties(tied, worse, untested)}".rstrip()
    return Answer("best", text, tuple(leaders), lead, value, highest.low, highest.high)


def _ranks_in_reverse(ranked: Sequence[Row], lead: str) -> bool:
    """Return whether the ROC AUC of all models is below 0.5, of the lowest one significantly."""
    if lead != "roc_auc":
        return False
    estimates = [as_estimate(row[lead]) for row in ranked]
    lowest = estimates[-1]
    is_below = all((estimate.value or 0.0) < 0.5 for estimate in estimates)
    return is_below and lowest.high is not None and lowest.high < 0.5


def _reversed_answer(ranked: Sequence[Row], level: float | None) -> Answer:
    """Return the sentence on models that all rank in reverse; the first is the farthest from 0.5.

    1 minus the ROC AUC is that of the reversed scores.
    """
    row = ranked[-1]
    model = row["model"]
    estimate = as_estimate(row["roc_auc"])
    value = estimate.value or 0.0
    title = CATALOG["roc_auc"].title
    interval = with_interval(value, estimate.low, estimate.high, level or 0.95)
    name = quote_if_ambiguous(model)
    subject, lowest = "All models rank", f"{name} has the lowest {title}: {interval}"
    if len(ranked) == 1:
        subject, lowest = f"{name} ranks", f"Its {title} is {interval}"
    option = format_option("--model", f"{model}:reversed")
    text = f"{subject} in reverse: rows with low scores are more often positive. {lowest}. "
    text += f"Reversed ({option}), it is {format_number(1 - value)}."
    return Answer("best", text, (model,), "roc_auc", value, estimate.low, estimate.high)


def _models_within_bounds(ranking: ModelRanking, leaders: Sequence[str], value: float) -> list[str]:
    """Return the models that may be as good as the leaders, as their values are not exact."""
    bounds = ranking.bounds
    lowest = value - max(bounds.get(model, 0.0) for model in leaders)
    models = list[str]()
    for row in ranking.rows:
        model = row["model"]
        most = (as_estimate(row[ranking.lead]).value or 0.0) + bounds.get(model, 0.0)
        if most > lowest and model not in leaders:
            models.append(model)
    return models


def _identical_models_answer(equal_models: EqualModels) -> list[Answer]:
    """Return the sentence on models with the same predictions in every row."""
    groups = equal_models.groups
    if not groups:
        return []
    text = f"{join_names(groups[0], most=MAX_LISTED)} have identical {equal_models.kind}"
    if len(groups) > 1:
        text += f"; so have {join_names(groups[1], most=MAX_LISTED)}"
    if len(groups) > 2:
        text += f" and {format_count(len(groups) - 2, 'more group')} of models"
    models = tuple(model for group in groups for model in group)
    return [Answer("same-predictions", f"{text}.", models)]


def _corrected_answer(first: Row, lead: str, tested: BestSet) -> Answer:
    """Return the sentence on the best value corrected for selection bias; limits of 1 stay."""
    top, bias = as_estimate(first[lead]), tested.optimism
    was = top.value or 0.0
    value = was - bias
    low = None if top.low is None else max(top.low - bias, CATALOG[lead].low)
    high = top.high
    if high is not None and high - was >= MIN_OPTIMISM:
        high -= bias
    name = first["model"]
    title = CATALOG[lead].title
    size = format_number(value)
    text = f"Corrected for selection, the {title} of {quote_if_ambiguous(name)} is {size}."
    return Answer("corrected", text, (name,), lead, value, low, high)


def _second_ranking_answer(ranked: Sequence[Row], second: SecondRanking) -> list[Answer]:
    """Return the sentence on a model that is significantly better than the leader by `second`."""
    best, best_set = ranked[0]["model"], second.best_set
    if best_set is None or best_set.ties.get(best) is not False:
        return []
    winner = best_set.models[best_set.leader]
    row = next(row for row in ranked if row["model"] == winner)
    estimate, leader_estimate = (as_estimate(cells[second.measure]) for cells in (row, ranked[0]))
    value = with_interval(estimate.value or 0.0, estimate.low, estimate.high)
    measure = CATALOG[second.measure]
    comparison = f"significantly {'higher' if measure.best == 'max' else 'lower'} {measure.title}"
    text = f"{quote_if_ambiguous(winner)} has {comparison} than "
    if second.measure == "net_benefit":
        text = f"At threshold {format_exact(cell_number(row['threshold']))}, {text}"
    text += f"{quote_if_ambiguous(best)}: {value} compared with "
    text += f"{format_number(leader_estimate.value or 0.0)}."
    limits = estimate.value, estimate.low, estimate.high
    return [Answer(SECOND_RANKING_CODES[second.measure], text, (winner,), second.measure, *limits)]


def _decision_curve_answer(
    best: str, decision: Sequence[Row], level: float | None, sample_size: float, *, its: bool
) -> list[Answer]:
    """Return the sentence on thresholds with net benefit jointly above treat-all and treat-none."""
    model_rows = rows_where(decision, "model", best)
    if not model_rows or level is None:
        return []
    ranges = helpful_ranges(model_rows, sample_size)
    subject = "its net benefit" if its else f"the net benefit of {quote_if_ambiguous(best)}"
    if not ranges:
        text = f"At no threshold does {subject} significantly exceed treat-all and treat-none."
        return [Answer("helps-nowhere", text, (best,), "net_benefit", harm=True)]
    range_texts = [f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in ranges]
    further = len(ranges) - MOST_RANGES
    shown_texts = [
        *range_texts[:MOST_RANGES],
        *[format_count(further, "more range")] * (further > 0),
    ]
    text = f"{subject[0].upper()}{subject[1:]} exceeds treat-all and treat-none at "
    several = len(ranges) > 1 or ranges[0][0] < ranges[0][1]
    text += f"threshold{'s' * several} {' and '.join(shown_texts)}."
    limits = ranges[0] if len(ranges) == 1 else (None, None)
    return [Answer("helps", text, (best,), "net_benefit", None, *limits)]


def helpful_ranges(curve: Sequence[Row], sample_size: float) -> list[tuple[float, float]]:
    """Return the ranges of thresholds at which a model helps; curve: its decision curve.

    Consecutive hundredths are one range, and so are two ranges with fewer than 5 rows between
    their ends: the data do not resolve such a gap.
    """
    ranges = list[tuple[float, float]]()
    flagged_at_end = 0.0
    for row in curve:
        if not row["helps"]:
            continue
        threshold = cell_number(row["threshold"])
        flagged = sample_size * cell_number(row["flagged"])
        is_next = bool(ranges) and threshold - ranges[-1][1] < 0.0101
        if ranges and (is_next or flagged_at_end - flagged < RESOLVED_ROWS - 0.5):
            ranges[-1] = (ranges[-1][0], threshold)
        else:
            ranges.append((threshold, threshold))
        flagged_at_end = flagged
    return ranges


def _resolution_answer(tested: BestSet | None, lead: str) -> list[Answer]:
    """Return the sentence on the detectable difference from the next best model."""
    if tested is None or tested.tied.sum() == 1 or isnan(tested.detectable):
        return []  # not needed where one model is significantly the best
    pair = [tested.models[place] for place in (tested.leader, tested.second)]
    difference = format_number(tested.detectable)
    text = f"These rows have {100 * POWER:g}% power to detect a difference of {difference} "
    text += f"in {CATALOG[lead].title} between {join_names(pair)}."
    return [Answer("resolution", text, (), lead, tested.detectable)]
