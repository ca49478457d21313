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
    rows = counts.hit_n.sum().item()
    if not rows:
        text = f"{TITLE[target].capitalize()} is undefined: no row is {target}."
        return (Answer("no-target", text),)
    if not counts.hits[counts.hit_n > 0].any():
        text = f"No model detects any of the {_format_count(rows, counts)} {target}s."
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
    constant = ranking.constant
    if constant:
        is_single = len(constant) == 1
        flagging = _flagging_phrase("every row", target, single=is_single)
        text = f"{formatting.join_names(constant)} {flagging} and "
        text += f"{'is' if is_single else 'are'} left out of this summary."
        yield Answer("flags-everything", text, constant)


def _comparison_answers(
    ranking: DetectionRanking, tables: Mapping[str, Rows], options: MarsOptions
) -> Iterator[Answer]:
    """Yield sentences on differences from the reference, or from the best model."""
    if "comparisons" in tables:
        measure = MEASURE[options.target]
        reference = str(options.reference)
        margin = options.margin.get(measure)
        rows = tables["comparisons"]
        yield from reference_answers(rows, measure, reference, margin, options.level)
        return
    tests = [row for row in tables.get("lead_tests", ()) if row["kind"] == MODEL]
    if tests:
        yield _ties_answer(ranking, tests, options.level)


def _within_effort_answer(
    counts: TargetCounts, sets: Sequence[Row], options: MarsOptions
) -> Iterator[Answer]:
    """Yield the sentence on the set that detects most within the limit of flagged rows."""
    target = options.target
    for row in sets:
        names = _models(row)
        covered, effort = (cell_number(row[name]) for name in ("covered", "effort"))
        share = _detected_share(counts, covered, names, options)
        limit = _flagging_phrase(f"at most {options.max_effort:,.10g} rows", target, single=False)
        flags = _flagging_phrase(f"{formatting.format_rows(effort)} rows", target, single=True)
        rate = f"{_format_rate(share, options)}; {_corrected_phrase(row, counts)}"
        text = (
            f"Of all sets that {limit}, {' + '.join(map(formatting.quote_if_ambiguous, names))} "
            f"detects the most: {formatting.format_rows(covered)} ({rate}), and {flags}."
        )
        yield _set_answer("within-effort", text, names, share, target)


def _models(row: Row) -> tuple[str, ...]:
    """Return the models of a set."""
    return tuple(map(str, row["models"]))  # type: ignore[arg-type]


def _set_answer(
    code: str, text: str, names: tuple[str, ...], share: Estimate, target: str
) -> Answer:
    """Return the sentence on a set of models, with the share of target rows that it detects."""
    return Answer(code, text, names, MEASURE[target], share.value, share.low, share.high)


def _detected_share(
    counts: TargetCounts, detected: float, names: Sequence[str], options: MarsOptions
) -> Estimate:
    """Return the share of target rows that a set of models detects, with its interval."""
    clusters = counts.clusters
    level = options.confidence
    divisor = None
    if clusters is not None and level is not None:
        members = np.array([[name in names for name in counts.models]])
        patterns = np.concatenate([counts.hits, counts.alarms])
        target = best_subsets.target_patterns(counts)[None]
        # models that are not among these flag every row
        flags_all = not {*counts.models} >= {*names}
        flags = (best_subsets.overlap_counts(patterns, members) > 0) | flags_all
        divisor = count_divisor(*share_design(clusters, flags & target, target), level=level)
    units = np.rint(np.array([detected]) * counts.unit)
    rows = counts.hit_n.sum().item()
    measure = MEASURE[options.target]
    return share_estimates(measure, units, rows, **options.interval_arguments, divided=divisor)[0]


def _format_count(n: Counts | float, counts: TargetCounts) -> str:
    """Write a number of units as rows, or as weight."""
    return formatting.format_rows(float(from_units(n, counts.unit)))


def _format_rate(share: Estimate, options: MarsOptions) -> str:
    """Format the sensitivity or specificity with its interval."""
    size = formatting.with_interval(share.value or 0.0, share.low, share.high, options.level)
    return f"{TITLE[options.target]} {size}".replace(" (", ", ").removesuffix(")")


def _flagging_phrase(rows: str, target: str, *, single: bool) -> str:
    """Return the phrase that models flag some rows, or predict them negative; single: one model."""
    ending = "s" * single
    return f"flag{ending} {rows}" if target == "positive" else f"predict{ending} {rows} negative"


def _corrected_phrase(row: Row, counts: TargetCounts) -> str:
    """Return the phrase on the share detected, corrected for selection."""
    corrected = cell_value(row["corrected"])
    if corrected is None:
        return "lower on new data"
    targets = from_units(counts.hit_n.sum(), counts.unit).item()
    return f"{formatting.format_number(corrected / targets)} corrected for selection"


def _best_model_answer(ranking: DetectionRanking, options: MarsOptions) -> Answer:
    """Return the sentence on the model that detects most, or several of equal detections."""
    counts = ranking.counts
    models = counts.models
    target = options.target
    best = ranking.best
    most = ranking.covered[best]
    leaders = [models[place] for place in ranking.order if ranking.covered[place] == most]
    detected = from_units(most, counts.unit)
    share, *others = (_detected_share(counts, detected, [name], options) for name in leaders)
    size = f"{formatting.format_rows(detected)} of {_format_count(counts.hit_n.sum(), counts)}"
    rate = _format_rate(Estimate(share.value) if {*others} - {share} else share, options)
    subject = formatting.join_names(leaders)
    amount = "equally many" if len(leaders) == len(models) else "the most"
    text = f"{subject} detect {amount} {target}s: {size} ({rate})."
    if len(leaders) == 1:
        size = f"{size} {target}s" if len(models) == 1 else f"the most {target}s, {size}"
        rows = f"{_format_count(ranking.effort[best], counts)} rows"
        text = (
            f"{subject} detects {size} ({rate}), and {_flagging_phrase(rows, target, single=True)}."
        )
    return _set_answer("detects-most", text, (models[best],), share, target)


def _ties_answer(ranking: DetectionRanking, tests: Sequence[Row], level: float) -> Answer:
    """Return the sentence on models tied with the best, by their adjusted sign tests."""
    models = ranking.counts.models
    covered = ranking.covered
    best = ranking.best
    names = [model for row in tests for model in _models(row)]
    tied = tuple(model for row in tests if _is_tied(row, level) for model in _models(row))
    fewer = [name for name in tied if covered[models.index(name)] < covered[best]]
    text = formatting.describe_ties(fewer, [name for name in names if name not in tied])
    if not tied:
        return Answer("significantly-worse", text, (models[best],))
    return Answer("not-significantly-different", text or "They do not differ significantly.", tied)


def _is_tied(row: Row, level: float) -> bool:
    """Return whether the adjusted p-value of a test is not significant."""
    return cell_number(row["p_adjusted"]) > 1 - level


def _pair_answers(
    ranking: DetectionRanking, tables: Mapping[str, Rows], options: MarsOptions
) -> Iterator[Answer]:
    """Yield sentences on the best pair, pairs tied with it, and single models of equal effort."""
    (pair,) = tables["best_pair"]
    if cell_number(pair["first_alone"]) <= cell_number(pair["second_alone"]):
        alone = formatting.quote_if_ambiguous(ranking.counts.models[ranking.best])
        yield Answer("no-better-pair", f"No pair detects more than {alone} alone.", _models(pair))
        return
    yield _best_pair_answer(ranking, pair, options)
    yield _equal_effort_answer(ranking, tables.get("equal_effort", ()), pair, options.target)
    tests = [row for row in tables.get("lead_tests", ()) if row["kind"] == PAIR]
    yield from _tied_pairs_answer(tests, options.level)


def _best_pair_answer(ranking: DetectionRanking, pair: Row, options: MarsOptions) -> Answer:
    """Return the sentence on the best pair: its detections and its corrected gain."""
    counts = ranking.counts
    target = options.target
    names = _models(pair)
    models = " + ".join(map(formatting.quote_if_ambiguous, names))
    single = formatting.quote_if_ambiguous(counts.models[ranking.best])
    covered, effort = (cell_number(pair[name]) for name in ("covered", "effort"))
    flags = _flagging_phrase(f"{formatting.format_rows(effort)}", target, single=True)
    reached = f"detects {formatting.format_rows(covered)} and {flags}"
    lower = as_estimate(pair["gain"]).low
    if lower is not None and lower <= 0:
        gain = _gain_phrase(pair, "", options.level)
        text = f"No pair is significantly better than {single}: {models} {reached} ({gain})."
    else:
        gain = _gain_phrase(pair, f" over {single}", options.level)
        text = f"The best pair, {models}, {reached} ({gain})."
    share = _detected_share(counts, covered, names, options)
    return _set_answer("best-pair", text, names, share, target)


def _gain_phrase(pair: Row, comparison: str, level: float) -> str:
    """Return the phrase on the corrected gain of a pair, in rows; comparison: over whom."""
    gain = as_estimate(pair["gain"])
    if gain.value is None:
        apparent = cell_number(pair["first_alone"]) - cell_number(pair["second_alone"])
        rows = formatting.format_rows(apparent)
        return f"gain{comparison} {rows} on these rows, less on new data"
    phrase = f"corrected gain{comparison} {gain.value:.1f}"
    if gain.low is None or gain.high is None:
        return phrase
    return f"{phrase}, {level * 100:g}% CI {gain.low:.1f} to {gain.high:.1f}"


def _tied_pairs_answer(tests: Sequence[Row], level: float) -> Iterator[Answer]:
    """Yield the sentence on pairs that are not significantly different from the best pair."""
    tied = [row for row in tests if _is_tied(row, level)]
    if not tied:
        return
    names = _models(tied[0])
    text = f"{formatting.format_count(len(tied), 'other pair')} are not significantly different."
    if len(tied) == len(tests):
        text = "No other pair is significantly different."
    if len(tied) == 1:
        pair = " + ".join(map(formatting.quote_if_ambiguous, names))
        text = f"The pair {pair} is not significantly different."
    yield Answer("tied-pairs", text, names, None, float(len(tied)))


def _equal_effort_answer(
    ranking: DetectionRanking, rows: Sequence[Row], pair: Row, target: str
) -> Answer:
    """Return the sentence on the single model that detects most at the effort of the pair."""
    if not rows:
        name = ranking.counts.models[ranking.best]
        side = "lower" if target == "positive" else "higher"
        text = f"A {side} threshold of {formatting.quote_if_ambiguous(name)} may detect as many."
        return Answer("equal-effort", text, (name,))
    single = max(rows, key=lambda row: cell_number(row["covered"]))
    name = single["model"]
    detected, flagged = (cell_number(single[column]) for column in ("covered", "effort"))
    threshold = formatting.format_number(cell_number(single["threshold"]))
    as_many = "also " * (flagged == cell_number(pair["effort"]))
    flags = as_many + _flagging_phrase(f"{formatting.format_rows(flagged)}", target, single=True)
    text = f"{formatting.quote_if_ambiguous(name)} alone, at threshold {threshold}, {flags} and "
    text += f"detects {formatting.format_rows(detected)}."
    return Answer("equal-effort", text, (name,), MEASURE[target])


def _redundancy_answer(counts: TargetCounts, covered: Counts, target: str) -> Answer:
    """Return the sentence on the fewest models that detect all that any model detects."""
    models = counts.models
    detected = best_subsets.total_detected(counts)
    amount = _format_count(detected, counts)
    if len(models) <= EXACT:
        sets = (choice.scores for choice in best_subsets.best_subsets(counts, len(models)))
        smallest = next(scores.members[0] for scores in sets if scores.covered[0] == detected)
        needed = tuple(np.flatnonzero(smallest).tolist())
    else:
        needed = _needed_models(counts.hits[counts.hit_n > 0], covered)
    needless = tuple(name for j, name in enumerate(models) if j not in needed)
    if not needless:
        text = f"Each model detects {target}s that no other detects; "
        return Answer("all-needed", f"{text}together they detect {amount}.", models)
    names = formatting.join_names([models[j] for j in needed], most=len(models))
    text = f"{'Together, ' * (len(needed) > 1)}{names} detect{'s' * (len(needed) == 1)} all "
    text += f"{amount} {target}s that any model detects."
    return Answer("could-be-left-out", text, needless)


def _needed_models(hits: Bools, covered: Counts) -> tuple[int, ...]:
    """Return models that detect all, by backward elimination from the least sensitive."""
    detections = hits.sum(axis=1)
    needed = set(range(hits.shape[1]))
    for j in np.argsort(covered, kind="stable").tolist():
        if not (detections[hits[:, j]] == 1).any():
            detections = detections - hits[:, j]
            needed.remove(j)
    return tuple(sorted(needed))
