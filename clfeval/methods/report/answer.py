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
    models: Sequence[Row], contradicted_rows: Mapping[str, float], positive_class: str
) -> Iterator[ResultNote]:
    """Yield warnings on models that rank in reverse, or gave observed outcomes probability 0.

    contradicted_rows: by model, the number of rows whose class had probability 0.
    """
    upper_limits = {row["model"]: as_estimate(row.get("roc_auc")).high for row in models}
    reversed_models = [
        model for model, limit in upper_limits.items() if limit is not None and limit < 0.5
    ]
    if reversed_models:
        verb = "ranks" if len(reversed_models) == 1 else "rank"
        text = f"{join_names(reversed_models)} {verb} in reverse; check whether high scores mean "
        option_text = format_option("--model", f"{reversed_models[0]}:reversed")
        text += f"'{positive_class}'; if low ones do, add {option_text}"
        yield ResultNote("backwards", text)
    if contradicted_models := [model for model, count in contradicted_rows.items() if count]:
        text = f"{join_names(contradicted_models)} gave probability 0 to some observed outcomes; "
        text += "slope and CITL exclude these rows"
        yield ResultNote("impossible", text)


def sample_notes(sample: Sample) -> list[ResultNote]:
    """Return warnings on small classes, scores without a threshold, and the counting of rows."""
    counts = sample.slices[None]  # of the whole table
    notes = list[ResultNote]()
    qualifier = "about " if counts.fractional else ""
    class_totals = (counts.positives, counts.negatives)
    for class_name, totals, row_counts in zip(
        ("positive", "negative"), class_totals, class_rows(sample, None), strict=True
    ):
        if not totals.all():
            text = f"no {class_name} row: measures that need both classes are undefined"
            notes.append(ResultNote("single-class", text))
        elif min(row_counts) < 30:
            rows_text = format_count(min(row_counts), f"{class_name} row")
            text = f"{qualifier}{rows_text}: estimates from them are imprecise"
            notes.append(ResultNote("small-class", text))
    if sample.predictions is None:
        return notes
    score_ranges = sample.predictions.uncut  # by model, of scores without a threshold
    if score_ranges:
        lowest = min(low for low, _ in score_ranges.values())
        highest = max(high for _, high in score_ranges.values())
        text = f"scores from {format_exact(lowest)} to {format_exact(highest)} are not "
        text += f"probabilities; add {OPTION}--threshold T{END} for measures of predicted positives"
        signed_models = [model for model, (low, _) in score_ranges.items() if low < 0]
        if signed_models:
            text += f"; {offer_of_log_odds(signed_models[0], sample.predictions)}"
        notes.append(ResultNote("no-threshold", text))
    return notes + counting_notes(sample.predictions)


def bound_notes(
    bounds: Mapping[str, float], lead_measure: str, smallest: int, *, compared: bool, by: bool
) -> list[ResultNote]:
    """Return a note on the largest bound of the leading measure, and on counts that are hidden.

    bounds: by model, how far the leading measure can be from that of the rows; lead_measure: its
    id. smallest: counts below it are hidden; 0 where none are. compared: models are compared in
    slices. by: slices were counted.
    """
    largest_bound = max(bounds.values(), default=0.0)
    if smallest:
        text = f"counts below {smallest} are hidden, and models and slices are not compared"
        if largest_bound:
            text += f"; {CATALOG[lead_measure].title} can be off by up to "
            text += f"{format_bound(largest_bound)}, which its intervals include"
        if by:
            text += f"; slices with fewer than {smallest} rows of a class are left out"
        return [ResultNote("hidden-counts", text)]
    if not largest_bound:
        return []
    text = f"scores are counted in buckets: {CATALOG[lead_measure].title} can be off by up to "
    text += f"{format_bound(largest_bound)}, which its intervals include, and thresholds are where "
    text += "a bucket starts" + ("; in slices only labels are compared" if compared else "")
    text += f" ({OPTION}--scores exact{END}: one by one)"
    return [ResultNote("score-buckets", text)]


MAX_LISTED = 6  # identical models, by name
MOST_RANGES = 3  # ranges of thresholds listed at most
RESOLVED_ROWS = 5  # rows from which on a gap between thresholds is one
FEW, MIN_OPTIMISM = (3, 0.0005)  # models, or sentences, and optimism from which it is reported


@dataclass(frozen=True, slots=True, eq=False)
class ModelRanking:
    """The rows of models, and how these are ranked by the leading measure.

    lead: the id of that measure. level: of intervals, None without. untested: the sentence on
    why models were not tested against the best. bounds: how far values of `lead` can be from those
    of rows, by model. reference: as the option. sample_size: rows, if weighted effective ones.
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
        row_of_model = {row["model"]: row for row in self.rows}
        return [row_of_model[model] for model in candidates_first([*row_of_model], self.reference)]

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
    ranked_models = [row["model"] for row in ranking.rows]
    unranked_models = [row["model"] for row in ranking.models if row["model"] not in ranked_models]
    return SliceModels.from_ranking(
        [*ranked_models, *unranked_models],
        ranking.best_set,
        ranking.reference,
        () if tuple(requested) == ALL_MODELS else requested,
    )


@dataclass(frozen=True, slots=True, eq=False)
class EqualModels:
    """Groups of models whose labels, scores or predictions are equal in every row.

    equal_noun: which of the three, as a sentence names them.
    """

    groups: Sequence[Sequence[str]]
    equal_noun: str = "labels"


@dataclass(frozen=True, slots=True, eq=False)
class SecondRanking:
    """The ranking of models by another measure, which may contradict that by the leading one."""

    measure: str
    best_set: BestSet | None


SECOND_RANKING_CODES = {"net_benefit": "worth", "log_loss": "lower-log-loss"}


def report_answer(
    ranking: ModelRanking,
    decision_curve: Sequence[Row],
    calibration_tests: Sequence[Row],
    equal_models: EqualModels,
    second_ranking: SecondRanking,
    calibration_band: Sequence[Row] = (),
) -> tuple[Answer, ...]:
    """Return the sentences on best model, corrected value, calibration and net benefit.

    decision_curve, calibration_tests, calibration_band: rows of the tables of these names.
    """
    ranked_rows, best_set, lead_measure = ranking.rows, ranking.best_set, ranking.lead
    if not ranked_rows:
        return (_no_leader_answer(ranking),)
    candidate_rows = ranking.candidates
    calibration = None
    if calibration_tests or not any(ranking.bounds.values()):
        calibration = calibration_answer(
            candidate_rows, best_set, calibration_tests, ranking.level, ranking.references
        )
    answers = [_best_model_answer(ranking)]
    has_fault = calibration is not None and calibration.names_fault
    if not has_fault and best_set is not None and _shows_optimism(best_set):
        answers.append(_corrected_answer(ranked_rows[0], lead_measure, best_set))
    answers += _identical_models_answer(equal_models)
    answers += _labels_only_answer(ranking)
    if calibration is not None:
        answers.append(calibration.answer)
        if calibration.answer.code == MISCALIBRATED_CODE:  # which it describes
            answers += calibration_ranges_answer(calibration.miscalibrated, calibration_band)
    answers += _second_ranking_answer(ranked_rows, second_ranking)
    # "its", as the sentence before ends with the best model; that on a miscalibrated model may
    # stand elsewhere
    uses_pronoun = (
        calibration is not None
        and answers[-1] is calibration.answer
        and calibration.ends_with_best
        and calibration.answer.code != MISCALIBRATED_CODE
    )
    answers += _decision_curve_answer(
        candidate_rows[0]["model"],
        whole_table_rows(decision_curve),
        ranking.level,
        ranking.sample_size,
        uses_pronoun=uses_pronoun,
    )
    if len(answers) <= FEW and not has_fault:
        answers += _resolution_answer(best_set, lead_measure)
    return tuple(answers)


def _labels_only_answer(ranking: ModelRanking) -> list[Answer]:
    """Return the sentence on what labels do not show, if no model has scores."""
    if any("roc_auc" in row for row in ranking.models):
        return []
    text = "Labels show neither calibration nor performance at other thresholds."
    return [Answer("labels-only", text)]


def _shows_optimism(best_set: BestSet) -> bool:
    """Return whether the selection bias of the best of several models is large enough to report."""
    return len(best_set.models) >= FEW and best_set.optimism >= MIN_OPTIMISM


def _no_leader_answer(ranking: ModelRanking) -> Answer:
    """Return why no model has a value of the leading measure."""
    undefined_reasons = {as_estimate(row.get(ranking.lead)).reason for row in ranking.models}
    cause = (
        "small counts are hidden" if "hidden_counts" in undefined_reasons else "a class has no row"
    )
    text = f"{CATALOG[ranking.lead].title} is undefined for every model: {cause}."
    return Answer("no-leader", text)


def _sort_rows(model_rows: Sequence[Row], measure_id: str) -> list[Row]:
    """Sort rows of models by a measure, the best first, without undefined ones."""
    sign = -1 if CATALOG[measure_id].best == "max" else 1
    defined_rows = [row for row in model_rows if as_estimate(row.get(measure_id)).value is not None]
    # "or 0.0" is for the type only: no value is None
    return sorted(defined_rows, key=lambda row: sign * (as_estimate(row[measure_id]).value or 0.0))


def _best_model_answer(ranking: ModelRanking) -> Answer:
    """Return the sentence on the best model and the models tied with it."""
    ranked, lead_measure = ranking.rows, ranking.lead
    estimate = as_estimate(ranked[0][lead_measure])
    value = estimate.value or 0.0
    title = CATALOG[lead_measure].title
    leaders = [row["model"] for row in ranked if as_estimate(row[lead_measure]).value == value]
    interval_text = with_interval(value, estimate.low, estimate.high, ranking.level or 0.95)
    verb = "has" if len(leaders) == 1 else "have"
    text = f"{join_names(leaders)} {verb} the highest {title}: {interval_text}."
    if _ranks_in_reverse(ranked, lead_measure):
        return _reversed_answer(ranked, ranking.level)
    if len(ranked) == 1:
        text = f"{join_names(leaders)} has {title} {interval_text}."
    elif len(leaders) == len(ranked):
        text = f"All models have the same {title}: {interval_text}."
    elif ranking.best_set is None:
        if rivals := _models_within_bounds(ranking, leaders, value):
            text = f"{join_names([*leaders, *rivals])} may have the highest {title}; "
            text += f"{join_names(leaders)} {verb} {interval_text}."
        text = f"{text} {ranking.untested}".rstrip()
    else:
        followers = [row["model"] for row in ranked[len(leaders) :]]
        text = f"{text} {_describe_followers(followers, ranking.best_set)}".rstrip()
    return Answer("best", text, tuple(leaders), lead_measure, value, estimate.low, estimate.high)


def _describe_followers(followers: Sequence[str], best_set: BestSet) -> str:
    """Return the sentence on models that are tied with the best, worse, or not comparable."""
    ties = best_set.ties
    tied_models, worse_models, untested_models = (
        [model for model in followers if ties.get(model, True) is is_tied]
        for is_tied in (True, False, None)
    )
    return describe_ties(tied_models, worse_models, untested_models)


def _ranks_in_reverse(ranked_rows: Sequence[Row], lead_measure: str) -> bool:
    """Return whether the ROC AUC of all models is below 0.5, of the lowest one significantly."""
    if lead_measure != "roc_auc":
        return False
    estimates = [as_estimate(row[lead_measure]) for row in ranked_rows]
    lowest_estimate = estimates[-1]
    all_below_half = all((estimate.value or 0.0) < 0.5 for estimate in estimates)
    return all_below_half and lowest_estimate.high is not None and lowest_estimate.high < 0.5


def _reversed_answer(ranked_rows: Sequence[Row], level: float | None) -> Answer:
    """Return the sentence on models that all rank in reverse.

    It describes the last one, whose ROC AUC is the lowest: 1 minus it is that of reversed scores.
    """
    lowest_row = ranked_rows[-1]
    model = lowest_row["model"]
    estimate = as_estimate(lowest_row["roc_auc"])
    value = estimate.value or 0.0
    title = CATALOG["roc_auc"].title
    interval_text = with_interval(value, estimate.low, estimate.high, level or 0.95)
    quoted_name = quote_if_ambiguous(model)
    subject = "All models rank"
    value_sentence = f"{quoted_name} has the lowest {title}: {interval_text}"
    if len(ranked_rows) == 1:
        subject, value_sentence = f"{quoted_name} ranks", f"Its {title} is {interval_text}"
    option_text = format_option("--model", f"{model}:reversed")
    text = f"{subject} in reverse: rows with low scores are more often positive. {value_sentence}. "
    text += f"Reversed ({option_text}), it is {format_number(1 - value)}."
    return Answer("best", text, (model,), "roc_auc", value, estimate.low, estimate.high)


def _models_within_bounds(
    ranking: ModelRanking, leaders: Sequence[str], leading_value: float
) -> list[str]:
    """Return the models that may be as good as the leaders, as values are exact to bounds only."""
    bounds = ranking.bounds
    least_leading_value = leading_value - max(bounds.get(model, 0.0) for model in leaders)
    rivals = list[str]()
    for row in ranking.rows:
        model = row["model"]
        greatest_value = (as_estimate(row[ranking.lead]).value or 0.0) + bounds.get(model, 0.0)
        if greatest_value > least_leading_value and model not in leaders:
            rivals.append(model)
    return rivals


def _identical_models_answer(equal_models: EqualModels) -> list[Answer]:
    """Return the sentence on models with the same predictions in every row."""
    groups = equal_models.groups
    if not groups:
        return []
    text = f"{join_names(groups[0], most=MAX_LISTED)} have identical {equal_models.equal_noun}"
    if len(groups) > 1:
        text += f"; so have {join_names(groups[1], most=MAX_LISTED)}"
    if len(groups) > 2:
        text += f" and {format_count(len(groups) - 2, 'more group')} of models"
    models = tuple(model for group in groups for model in group)
    return [Answer("same-predictions", f"{text}.", models)]


def _corrected_answer(best_row: Row, lead_measure: str, best_set: BestSet) -> Answer:
    """Return the sentence on the best value corrected for selection bias; limits of 1 stay."""
    estimate, bias = as_estimate(best_row[lead_measure]), best_set.optimism
    observed = estimate.value or 0.0
    corrected = observed - bias
    low = None if estimate.low is None else max(estimate.low - bias, CATALOG[lead_measure].low)
    high = estimate.high
    if high is not None and high - observed >= MIN_OPTIMISM:
        high -= bias
    model = best_row["model"]
    title = CATALOG[lead_measure].title
    value_text = format_number(corrected)
    text = f"Corrected for selection, the {title} of {quote_if_ambiguous(model)} is {value_text}."
    return Answer("corrected", text, (model,), lead_measure, corrected, low, high)


def _second_ranking_answer(
    ranked_rows: Sequence[Row], second_ranking: SecondRanking
) -> list[Answer]:
    """Return the sentence on a model that another measure finds significantly better.

    It is better than the leader, the first of the ranked rows.
    """
    leader, best_set = ranked_rows[0]["model"], second_ranking.best_set
    if best_set is None or best_set.ties.get(leader) is not False:
        return []
    winner = best_set.models[best_set.leader]
    winner_row = next(row for row in ranked_rows if row["model"] == winner)
    estimate, leader_estimate = (
        as_estimate(row[second_ranking.measure]) for row in (winner_row, ranked_rows[0])
    )
    value_text = with_interval(estimate.value or 0.0, estimate.low, estimate.high)
    measure = CATALOG[second_ranking.measure]
    adjective = "higher" if measure.best == "max" else "lower"
    comparison = f"significantly {adjective} {measure.title}"
    text = f"{quote_if_ambiguous(winner)} has {comparison} than "
    if second_ranking.measure == "net_benefit":
        text = f"At threshold {format_exact(cell_number(winner_row['threshold']))}, {text}"
    text += f"{quote_if_ambiguous(leader)}: {value_text} compared with "
    text += f"{format_number(leader_estimate.value or 0.0)}."
    code = SECOND_RANKING_CODES[second_ranking.measure]
    value_and_limits = estimate.value, estimate.low, estimate.high
    return [Answer(code, text, (winner,), second_ranking.measure, *value_and_limits)]


def _decision_curve_answer(
    model: str,
    decision_curve: Sequence[Row],
    level: float | None,
    sample_size: float,
    *,
    uses_pronoun: bool,
) -> list[Answer]:
    """Return the sentence on thresholds with net benefit jointly above treat-all and treat-none.

    uses_pronoun: whether it says "its" of the model, as the sentence before ends with that.
    """
    model_rows = rows_where(decision_curve, "model", model)
    if not model_rows or level is None:
        return []
    ranges = helpful_ranges(model_rows, sample_size)
    subject = "its net benefit"
    if not uses_pronoun:
        subject = f"the net benefit of {quote_if_ambiguous(model)}"
    if not ranges:
        text = f"At no threshold does {subject} significantly exceed treat-all and treat-none."
        return [Answer("helps-nowhere", text, (model,), "net_benefit", harm=True)]
    range_texts = [f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in ranges]
    hidden_count = len(ranges) - MOST_RANGES
    shown_texts = range_texts[:MOST_RANGES]
    if hidden_count > 0:
        shown_texts = [*shown_texts, format_count(hidden_count, "more range")]
    text = f"{subject[0].upper()}{subject[1:]} exceeds treat-all and treat-none at "
    is_one_threshold = len(ranges) == 1 and ranges[0][0] >= ranges[0][1]
    noun = "threshold" if is_one_threshold else "thresholds"
    text += f"{noun} {' and '.join(shown_texts)}."
    low, high = ranges[0] if len(ranges) == 1 else (None, None)
    return [Answer("helps", text, (model,), "net_benefit", None, low, high)]


def helpful_ranges(curve: Sequence[Row], sample_size: float) -> list[tuple[float, float]]:
    """Return the ranges of thresholds at which a model helps; curve: its decision curve.

    Consecutive hundredths are one range, and so are two ranges with fewer than 5 rows between
    their ends: the data do not resolve such a gap.
    """
    ranges = list[tuple[float, float]]()
    flagged_at_end = 0.0  # rows predicted positive at the last threshold of the latest range
    for row in curve:
        if not row["helps"]:
            continue
        threshold = cell_number(row["threshold"])
        flagged_rows = sample_size * cell_number(row["flagged"])
        is_consecutive = bool(ranges) and threshold - ranges[-1][1] < 0.0101
        if ranges and (is_consecutive or flagged_at_end - flagged_rows < RESOLVED_ROWS - 0.5):
            ranges[-1] = (ranges[-1][0], threshold)
        else:
            ranges.append((threshold, threshold))
        flagged_at_end = flagged_rows
    return ranges


def _resolution_answer(best_set: BestSet | None, lead_measure: str) -> list[Answer]:
    """Return the sentence on the detectable difference from the next best model."""
    if best_set is None or best_set.tied.sum() == 1 or isnan(best_set.detectable):
        return []  # not needed where one model is significantly the best
    models = [best_set.models[index] for index in (best_set.leader, best_set.second)]
    difference_text = format_number(best_set.detectable)
    text = f"These rows have {100 * POWER:g}% power to detect a difference of {difference_text} "
    text += f"in {CATALOG[lead_measure].title} between {join_names(models)}."
    return [Answer("resolution", text, (), lead_measure, best_set.detectable)]
