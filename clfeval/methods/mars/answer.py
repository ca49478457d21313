"""Sentences of MARS: the model that detects most, ties with it, and redundant models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from clfeval import formatting
from clfeval.arrays import Bools, Counts
from clfeval.counts.patterns import TargetCounts, from_units
from clfeval.document import Answer, whole_table_rows
from clfeval.document.cells import Estimate, Row, Rows, as_estimate, cell_number, cell_value
from clfeval.inference.influence_and_clusters import count_divisor
from clfeval.methods.comparison_answer import reference_answers
from clfeval.methods.estimates import share_estimates
from clfeval.methods.mars import best_subsets
from clfeval.methods.mars.lead import MODEL, PAIR, DetectionRanking
from clfeval.methods.mars.options import MEASURE, MarsOptions
from clfeval.methods.measurement.label_measures import share_design

TITLE = {"positive": "sensitivity", "negative": "specificity"}
EXACT = 10  # models up to which all sets are searched for the smallest that detects all


def mars_answer(
    ranking: DetectionRanking, tables: Mapping[str, Rows], options: MarsOptions
) -> tuple[Answer, ...]:
    """Return sentences on the model and pair that detect most, and on redundant models.

    Tests, the corrected gain and thresholds of equal effort are those of `tables`. A model that
    flags every row is left out where others do not.
    """
    counts = ranking.counts
    target = options.target
    target_total = counts.hit_n.sum().item()
    if not target_total:
        text = f"{TITLE[target].capitalize()} is undefined: no row is {target}."
        return (Answer("no-target", text),)
    if not counts.hits[counts.hit_n > 0].any():
        text = f"No model detects any of the {_format_count(target_total, counts)} {target}s."
        return (Answer("detects-none", text), *_constant_models_answer(ranking, target))
    answers = [_best_model_answer(ranking, options)]
    answers += _comparison_answers(ranking, tables, options)
    if options.max_effort is not None:
        answers += _within_effort_answer(counts, whole_table_rows(tables["max_effort"]), options)
    elif len(ranking.order) > 2:
        answers += _pair_answers(ranking, tables, options)
    if len(ranking.order) > 1:
        answers.append(_redundancy_answer(counts, ranking.covered, target))
    return (*answers, *_constant_models_answer(ranking, target))


def _constant_models_answer(ranking: DetectionRanking, target: str) -> Iterator[Answer]:
    """Yield the sentence on models that flag every row, if any do."""
    constant_models = ranking.constant
    if constant_models:
        is_single = len(constant_models) == 1
        flagging_phrase = _flagging_phrase("every row", target, single=is_single)
        text = f"{formatting.join_names(constant_models)} {flagging_phrase} and "
        text += f"{'is' if is_single else 'are'} left out of this summary."
        yield Answer("flags-everything", text, constant_models)


def _comparison_answers(
    ranking: DetectionRanking, tables: Mapping[str, Rows], options: MarsOptions
) -> Iterator[Answer]:
    """Yield sentences on differences from the reference, or from the best model."""
    if "comparisons" in tables:
        measure = MEASURE[options.target]
        reference = str(options.reference)
        margin = options.margin.get(measure)
        comparison_rows = tables["comparisons"]
        yield from reference_answers(comparison_rows, measure, reference, margin, options.level)
        return
    test_rows = [row for row in tables.get("lead_tests", ()) if row["kind"] == MODEL]
    if test_rows:
        yield _ties_answer(ranking, test_rows, options.level)


def _within_effort_answer(
    counts: TargetCounts, set_rows: Sequence[Row], options: MarsOptions
) -> Iterator[Answer]:
    """Yield the sentence on the set that detects most within the limit of flagged rows."""
    target = options.target
    for row in set_rows:
        models = _models(row)
        covered, effort = (cell_number(row[column]) for column in ("covered", "effort"))
        share = _detected_share(counts, covered, models, options)
        limit_phrase = _flagging_phrase(
            f"at most {options.max_effort:,.10g} rows", target, single=False
        )
        flagging_phrase = _flagging_phrase(
            f"{formatting.format_rows(effort)} rows", target, single=True
        )
        rate_phrase = f"{_format_rate(share, options)}; {_corrected_phrase(row, counts)}"
        set_name = " + ".join(map(formatting.quote_if_ambiguous, models))
        text = (
            f"Of all sets that {limit_phrase}, {set_name} detects the most: "
            f"{formatting.format_rows(covered)} ({rate_phrase}), and {flagging_phrase}."
        )
        yield _set_answer("within-effort", text, models, share, target)


def _models(row: Row) -> tuple[str, ...]:
    """Return the models of a set."""
    return tuple(map(str, row["models"]))  # type: ignore[arg-type]


def _set_answer(
    code: str, text: str, models: tuple[str, ...], share: Estimate, target: str
) -> Answer:
    """Return the sentence on a set of models, with the share of target rows that it detects."""
    return Answer(code, text, models, MEASURE[target], share.value, share.low, share.high)


def _detected_share(
    counts: TargetCounts, detected: float, models: Sequence[str], options: MarsOptions
) -> Estimate:
    """Return the share of target rows that a set of models detects, with its interval."""
    clusters = counts.clusters
    level = options.confidence
    divisor = None
    if clusters is not None and level is not None:
        is_member = np.array([[model in models for model in counts.models]])
        patterns = np.concatenate([counts.hits, counts.alarms])
        is_target = best_subsets.target_patterns(counts)[None]
        # models that are not among these flag every row
        flags_all = not {*counts.models} >= {*models}
        flags = (best_subsets.overlap_counts(patterns, is_member) > 0) | flags_all
        divisor = count_divisor(*share_design(clusters, flags & is_target, is_target), level=level)
    detected_units = np.rint(np.array([detected]) * counts.unit)
    target_total = counts.hit_n.sum().item()
    measure = MEASURE[options.target]
    (share,) = share_estimates(
        measure, detected_units, target_total, **options.interval_arguments, divided=divisor
    )
    return share


def _format_count(unit_count: Counts | float, counts: TargetCounts) -> str:
    """Write a number of units as rows, or as weight."""
    return formatting.format_rows(float(from_units(unit_count, counts.unit)))


def _format_rate(share: Estimate, options: MarsOptions) -> str:
    """Format the sensitivity or specificity with its interval."""
    rate_text = formatting.with_interval(share.value or 0.0, share.low, share.high, options.level)
    return f"{TITLE[options.target]} {rate_text}".replace(" (", ", ").removesuffix(")")


def _flagging_phrase(rows_phrase: str, target: str, *, single: bool) -> str:
    """Return the phrase that models flag some rows, or predict them negative; single: one model."""
    ending = "s" if single else ""
    return (
        f"flag{ending} {rows_phrase}"
        if target == "positive"
        else f"predict{ending} {rows_phrase} negative"
    )


def _corrected_phrase(row: Row, counts: TargetCounts) -> str:
    """Return the phrase on the share detected, corrected for selection."""
    corrected = cell_value(row["corrected"])
    if corrected is None:
        return "lower on new data"
    target_count = from_units(counts.hit_n.sum(), counts.unit).item()
    return f"{formatting.format_number(corrected / target_count)} corrected for selection"


def _best_model_answer(ranking: DetectionRanking, options: MarsOptions) -> Answer:
    """Return the sentence on the model that detects most, or several of equal detections."""
    counts = ranking.counts
    models = counts.models
    target = options.target
    best_index = ranking.best
    most_covered = ranking.covered[best_index]
    leaders = [models[index] for index in ranking.order if ranking.covered[index] == most_covered]
    detected_count = from_units(most_covered, counts.unit)
    share, *other_shares = (
        _detected_share(counts, detected_count, [leader], options) for leader in leaders
    )
    size_phrase = (
        f"{formatting.format_rows(detected_count)} of {_format_count(counts.hit_n.sum(), counts)}"
    )
    rate_phrase = _format_rate(
        Estimate(share.value) if {*other_shares} - {share} else share, options
    )
    subject = formatting.join_names(leaders)
    amount = "equally many" if len(leaders) == len(models) else "the most"
    text = f"{subject} detect {amount} {target}s: {size_phrase} ({rate_phrase})."
    if len(leaders) == 1:
        size_phrase = (
            f"{size_phrase} {target}s" if len(models) == 1 else f"the most {target}s, {size_phrase}"
        )
        rows_phrase = f"{_format_count(ranking.effort[best_index], counts)} rows"
        text = f"{subject} detects {size_phrase} ({rate_phrase}), "
        text += f"and {_flagging_phrase(rows_phrase, target, single=True)}."
    return _set_answer("detects-most", text, (models[best_index],), share, target)


def _ties_answer(ranking: DetectionRanking, test_rows: Sequence[Row], level: float) -> Answer:
    """Return the sentence on models tied with the best, by their adjusted sign tests."""
    models = ranking.counts.models
    covered = ranking.covered
    best_index = ranking.best
    tested_models = [model for row in test_rows for model in _models(row)]
    tied_models = tuple(
        model for row in test_rows if _is_tied(row, level) for model in _models(row)
    )
    less_detecting = [
        model for model in tied_models if covered[models.index(model)] < covered[best_index]
    ]
    text = formatting.describe_ties(
        less_detecting, [model for model in tested_models if model not in tied_models]
    )
    if not tied_models:
        return Answer("significantly-worse", text, (models[best_index],))
    return Answer(
        "not-significantly-different", text or "They do not differ significantly.", tied_models
    )


def _is_tied(row: Row, level: float) -> bool:
    """Return whether the adjusted p-value of a test is not significant."""
    return cell_number(row["p_adjusted"]) > 1 - level


def _pair_answers(
    ranking: DetectionRanking, tables: Mapping[str, Rows], options: MarsOptions
) -> Iterator[Answer]:
    """Yield sentences on the best pair, pairs tied with it, and single models of equal effort."""
    (pair,) = tables["best_pair"]
    if cell_number(pair["first_alone"]) <= cell_number(pair["second_alone"]):
        best_model = formatting.quote_if_ambiguous(ranking.counts.models[ranking.best])
        yield Answer(
            "no-better-pair", f"No pair detects more than {best_model} alone.", _models(pair)
        )
        return
    yield _best_pair_answer(ranking, pair, options)
    yield _equal_effort_answer(ranking, tables.get("equal_effort", ()), pair, options.target)
    test_rows = [row for row in tables.get("lead_tests", ()) if row["kind"] == PAIR]
    yield from _tied_pairs_answer(test_rows, options.level)


def _best_pair_answer(ranking: DetectionRanking, pair: Row, options: MarsOptions) -> Answer:
    """Return the sentence on the best pair: its detections and its corrected gain."""
    counts = ranking.counts
    target = options.target
    pair_models = _models(pair)
    pair_name = " + ".join(map(formatting.quote_if_ambiguous, pair_models))
    best_model = formatting.quote_if_ambiguous(counts.models[ranking.best])
    covered, effort = (cell_number(pair[column]) for column in ("covered", "effort"))
    flagging_phrase = _flagging_phrase(f"{formatting.format_rows(effort)}", target, single=True)
    detection_phrase = f"detects {formatting.format_rows(covered)} and {flagging_phrase}"
    lower_limit = as_estimate(pair["gain"]).low
    if lower_limit is not None and lower_limit <= 0:
        gain_phrase = _gain_phrase(pair, "", options.level)
        text = f"No pair is significantly better than {best_model}: "
        text += f"{pair_name} {detection_phrase} ({gain_phrase})."
    else:
        gain_phrase = _gain_phrase(pair, f" over {best_model}", options.level)
        text = f"The best pair, {pair_name}, {detection_phrase} ({gain_phrase})."
    share = _detected_share(counts, covered, pair_models, options)
    return _set_answer("best-pair", text, pair_models, share, target)


def _gain_phrase(pair: Row, comparison: str, level: float) -> str:
    """Return the phrase on the corrected gain of a pair, in rows; comparison: over whom."""
    gain = as_estimate(pair["gain"])
    if gain.value is None:
        apparent_gain = cell_number(pair["first_alone"]) - cell_number(pair["second_alone"])
        rows_phrase = formatting.format_rows(apparent_gain)
        return f"gain{comparison} {rows_phrase} on these rows, less on new data"
    phrase = f"corrected gain{comparison} {gain.value:.1f}"
    if gain.low is None or gain.high is None:
        return phrase
    return f"{phrase}, {level * 100:g}% CI {gain.low:.1f} to {gain.high:.1f}"


def _tied_pairs_answer(test_rows: Sequence[Row], level: float) -> Iterator[Answer]:
    """Yield the sentence on pairs that are not significantly different from the best pair."""
    tied_rows = [row for row in test_rows if _is_tied(row, level)]
    if not tied_rows:
        return
    first_pair = _models(tied_rows[0])
    text = (
        f"{formatting.format_count(len(tied_rows), 'other pair')} are not significantly different."
    )
    if len(tied_rows) == len(test_rows):
        text = "No other pair is significantly different."
    if len(tied_rows) == 1:
        pair_name = " + ".join(map(formatting.quote_if_ambiguous, first_pair))
        text = f"The pair {pair_name} is not significantly different."
    yield Answer("tied-pairs", text, first_pair, None, float(len(tied_rows)))


def _equal_effort_answer(
    ranking: DetectionRanking, model_rows: Sequence[Row], pair: Row, target: str
) -> Answer:
    """Return the sentence on the single model that detects most at the effort of the pair."""
    if not model_rows:
        model = ranking.counts.models[ranking.best]
        comparative = "lower" if target == "positive" else "higher"
        model_text = formatting.quote_if_ambiguous(model)
        text = f"A {comparative} threshold of {model_text} may detect as many."
        return Answer("equal-effort", text, (model,))
    best_row = max(model_rows, key=lambda row: cell_number(row["covered"]))
    model = best_row["model"]
    detected, flagged = (cell_number(best_row[column]) for column in ("covered", "effort"))
    threshold = formatting.format_number(cell_number(best_row["threshold"]))
    also_word = "also " if flagged == cell_number(pair["effort"]) else ""
    flagging_phrase = also_word + _flagging_phrase(
        f"{formatting.format_rows(flagged)}", target, single=True
    )
    text = f"{formatting.quote_if_ambiguous(model)} alone, at threshold {threshold}, "
    text += f"{flagging_phrase} and detects {formatting.format_rows(detected)}."
    return Answer("equal-effort", text, (model,), MEASURE[target])


def _redundancy_answer(counts: TargetCounts, covered: Counts, target: str) -> Answer:
    """Return the sentence on the fewest models that detect all that any model detects."""
    models = counts.models
    detected = best_subsets.total_detected(counts)
    amount_phrase = _format_count(detected, counts)
    if len(models) <= EXACT:
        best_sets = (choice.scores for choice in best_subsets.best_subsets(counts, len(models)))
        smallest_set = next(
            scores.members[0] for scores in best_sets if scores.covered[0] == detected
        )
        needed_indices = tuple(np.flatnonzero(smallest_set).tolist())
    else:
        needed_indices = _needed_models(counts.hits[counts.hit_n > 0], covered)
    needless_models = tuple(model for i, model in enumerate(models) if i not in needed_indices)
    if not needless_models:
        text = f"Each model detects {target}s that no other detects; "
        return Answer("all-needed", f"{text}together they detect {amount_phrase}.", models)
    needed_names = formatting.join_names([models[i] for i in needed_indices], most=len(models))
    is_single = len(needed_indices) == 1
    text = f"{needed_names} detects all " if is_single else f"Together, {needed_names} detect all "
    text += f"{amount_phrase} {target}s that any model detects."
    return Answer("could-be-left-out", text, needless_models)


def _needed_models(hits: Bools, covered: Counts) -> tuple[int, ...]:
    """Return the indices of models that detect all, by elimination from the least sensitive."""
    detecting_counts = hits.sum(axis=1)
    needed_indices = set(range(hits.shape[1]))
    for model_index in np.argsort(covered, kind="stable").tolist():
        if not (detecting_counts[hits[:, model_index]] == 1).any():
            detecting_counts = detecting_counts - hits[:, model_index]
            needed_indices.remove(model_index)
    return tuple(sorted(needed_indices))
