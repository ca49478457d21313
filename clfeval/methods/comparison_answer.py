"""Sentences about models compared with a reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from clfeval.compare import families
from clfeval.compare.change import BETTER, EQUIVALENT, NOT_WORSE, UNDECIDED, VERDICTS, WORSE
from clfeval.compare.not_excluded import LargestHarm
from clfeval.compare.paired_estimates import NO_ROW
from clfeval.document import Answer
from clfeval.document.cells import Row, as_estimate, cell_number, cell_text
from clfeval.formatting import (
    describe_reference,
    format_count,
    format_difference,
    format_exact,
    format_number,
    format_p_value,
    format_rows,
    join_names,
    join_words,
    quote_if_ambiguous,
)
from clfeval.measures.catalog import CATALOG
from clfeval.methods.few_clusters import UNTESTED
from clfeval.methods.measurement.requested_measures import OPERATING_POINT
from clfeval.methods.report.options import ReportOptions, numbers_by_measure
from clfeval.placeholders import COMMAND, END
from clfeval.records import dataclass, replace

TOO_FEW_ROWS = "too few rows"
MOST_NAMED = 3  # differences with their values, the harms first


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The threshold of comparison, as it begins a sentence, and the rows of each class, or None."""

    threshold: str
    positives: float | None
    negatives: float | None


def comparison_answers(
    rows: Sequence[Row],
    lead_measure: str,
    options: ReportOptions,
    measure_names: Callable[[str], Iterable[str]],
    point: OperatingPoint | None = None,
    *,
    by_labels: bool = False,
) -> Iterator[Answer]:
    """Yield the sentences on comparisons with the reference: of all rows, then of slices.

    lead_measure: the measure of comparison. measure_names: the measures that an option names.
    by_labels: the reference has labels only.
    """
    if options.reference is None:
        return
    margin = numbers_by_measure(options.margin, measure_names).get(lead_measure)
    rows = [row for row in rows if row["against"] == "reference"]
    yield from reference_answers(
        rows, lead_measure, options.reference, margin, options.level, point
    )
    if by_labels:
        yield from _net_benefit_answer(rows, lead_measure, options.reference, options.level)
    yield from slice_comparison_answer(rows, lead_measure, options.reference)


def explain_untested(
    options: ReportOptions, *, same_rows: bool, stored: bool = False, few_clusters: bool = False
) -> str:
    """Return why models were not tested against the best; empty if tested, or with --reference.

    stored: the scores are those of counts files. few_clusters: rows are of too few clusters.
    """
    if few_clusters and options.confidence is not None:
        return UNTESTED
    if stored and options.confidence is not None:
        return (
            "Scores cannot be compared from these files: they do not pair the rows of the models. "
            f"Recount with {COMMAND}clfeval count --joint pairs{END}; of several files each "
            f"with {COMMAND}--joint SUM{END}, their sum."
        )
    if options.reference is not None or (same_rows and options.confidence is not None):
        return ""
    if options.confidence is None:
        return "No significance test: no intervals are computed."
    return "No significance test: the rows of the models may differ."


def reference_answers(
    rows: Sequence[Row],
    lead_measure: str,
    reference: str,
    margin: float | None,
    level: float,
    point: OperatingPoint | None = None,
) -> Iterator[Answer]:
    """Yield the sentences on models compared with the reference in all rows.

    rows: of the table `comparisons`.
    """
    leading_rows = [row for row in rows if row["measure"] == lead_measure and row["slice"] is None]
    if not leading_rows:
        return
    title = _lead_title(lead_measure)
    reference_name = describe_reference(str(leading_rows[0]["reference"]), reference)
    are_pairs = reference == families.ALL_PAIRS and len(leading_rows) > 1
    point_answers = list[Answer]()
    if point is not None and not are_pairs:
        point_answers += _operating_point(rows, reference_name, level, point)
    if point_answers and _operating_point_leads(rows, leading_rows):
        yield point_answers.pop(0)
    if are_pairs:
        different_count = sum(row["verdict"] in (BETTER, WORSE) for row in leading_rows)
        verb = "differs" if different_count == 1 else "differ"
        pairs_text = format_count(len(leading_rows), "pair")
        sentence = f"{different_count:,} of {pairs_text} of models {verb} significantly in {title} "
        sentence += f"(adjusted for all pairs){_count_equivalent_pairs(leading_rows, margin)}."
        yield Answer("compared", sentence, (), lead_measure, float(different_count))
    elif len(leading_rows) == 1:
        yield _one_model(leading_rows[0], reference_name, title, margin, level)
    else:
        is_best = reference == families.BEST
        yield _several_models(leading_rows, reference_name, title, margin, level, is_best=is_best)
    yield from point_answers


def _lead_title(lead_measure: str) -> str:
    """Return the title of a leading measure, with the prevalence to which it is tuned."""
    name, _, prevalence = lead_measure.partition(":prevalence=")
    title = CATALOG[name].title if name in CATALOG else {"mlcps": "MLcps"}.get(name, name)
    return f"{title} at prevalence {prevalence}" if prevalence else title


def _net_benefit_answer(
    rows: Sequence[Row], lead_measure: str, reference: str, level: float
) -> Iterator[Answer]:
    """Yield the sentence on net benefit compared with a reference that has labels only.

    lead_measure: the measure of comparison, of which there are rows.
    """
    overall_rows = [row for row in rows if row["slice"] is None]
    compared_rows = [row for row in overall_rows if row["measure"] == "net_benefit"]
    if not compared_rows or all(row["measure"] != lead_measure for row in overall_rows):
        return
    reference_name = describe_reference(str(compared_rows[0]["reference"]), reference)
    significant_rows = [row for row in compared_rows if row["verdict"] in (BETTER, WORSE)]
    title = CATALOG["net_benefit"].title
    sentence = f"No {title} is significantly different from that of {reference_name}."
    brief_sentence = ""
    if significant_rows:
        sentence = f"Compared with {reference_name}, {_list_differences(significant_rows, level)}."
        brief_sentence = (
            f"Compared with {reference_name}, {_list_differences(significant_rows, level, most=1)}."
        )
    models = tuple(row["model"] for row in significant_rows)
    answer = Answer(
        "also-compared", sentence, models, "net_benefit", harm=_has_harm(significant_rows)
    )
    yield replace(answer, brief=brief_sentence if significant_rows[1:] else "")


def _count_equivalent_pairs(rows: Sequence[Row], margin: float | None) -> str:
    """Return the clause on pairs that are equivalent or not different; empty without a margin."""
    if margin is None:
        return ""
    verdicts = [row["verdict"] for row in rows]
    equivalent_count = verdicts.count(EQUIVALENT)
    undecided_count = len(rows) - equivalent_count - verdicts.count(BETTER) - verdicts.count(WORSE)
    clauses = (
        f"; {equivalent_count:,} {'is' if equivalent_count == 1 else 'are'} equivalent within "
        f"{format_exact(margin)}",
        f"{undecided_count:,} {'is' if undecided_count == 1 else 'are'} neither",
    )
    return ", ".join(clauses)


def _operating_point_leads(rows: Sequence[Row], leading_rows: Sequence[Row]) -> bool:
    """Return whether the rates come before the leading measure: a harm before what is no harm.

    Of one model, any significant difference comes before an undecided one. leading_rows: those of
    the leading measure.
    """
    verdicts = [
        row["verdict"] for row in rows if row["measure"] in OPERATING_POINT and row["slice"] is None
    ]
    if len(leading_rows) == 1 and leading_rows[0]["verdict"] == UNDECIDED:
        return BETTER in verdicts or WORSE in verdicts
    return WORSE in verdicts and all(row["verdict"] != WORSE for row in leading_rows)


def _one_model(row: Row, reference: str, title: str, margin: float | None, level: float) -> Answer:
    """Return the sentence that compares one model with the reference."""
    difference = as_estimate(row["difference"])
    verdict = row["verdict"]
    model = quote_if_ambiguous(row["model"])
    size = f"in {title}: {_format_difference(row, level)}"
    if verdict in (BETTER, WORSE):
        text = f"{model} is significantly {verdict} than {reference} {size}."
    elif verdict == EQUIVALENT and margin is not None:
        text = f"{model} is equivalent to {reference} within {format_exact(margin)} {size}."
    elif verdict == NOT_WORSE and margin is not None:
        text = f"{model} is not worse than {reference} by {format_exact(margin)} {size}."
    elif row["method"] == NO_ROW and difference.value == 0:
        text = _same_predictions_text(row, model, reference, title)
    elif _is_unlimited(row):
        text = f"There are too few rows to compare {model} with {reference} {size}."
    elif row["p"] is None:
        text = f"It is unknown whether {model} differs significantly from {reference} {size}."
    else:
        text = f"{model} is not significantly different from {reference} {size}."
        if margin is not None:
            text = f"{model} is neither significantly different from {reference} nor equivalent "
            text += f"within {format_exact(margin)} {size}."
        if isinstance(row["detectable"], float):
            text += f" These rows have {100 * families.POWER:g}% power to detect a difference of "
            text += f"{format_number(row['detectable'])}."
    return Answer(
        "compared",
        text,
        (row["model"],),
        row["measure"],
        difference.value,
        difference.low,
        difference.high,
        harm=verdict == WORSE,
    )


def _is_unlimited(row: Row) -> bool:
    """Return whether an undecided difference may have any value, by its adjusted interval."""
    difference = as_estimate(row["difference_adjusted"])
    measure = CATALOG.get(row["measure"])
    if measure is None or row["verdict"] != UNDECIDED:
        return False
    if difference.low is None or difference.high is None:
        return False
    span = measure.high - measure.low
    return difference.low <= -span and difference.high >= span


def _same_predictions_text(row: Row, model: str, reference_name: str, title: str) -> str:
    """Return the sentence on two models whose predictions differ in no row that counts."""
    measure = CATALOG.get(row["measure"])
    verb = "predicts"
    if measure is not None and measure.needs == "scores":
        verb = "ranks"
    value = format_number(as_estimate(row["new"]).value or 0.0)
    return f"{model} {verb} every row as {reference_name} does: both have {title} {value}."


def _several_models(
    rows: Sequence[Row],
    reference_name: str,
    title: str,
    margin: float | None,
    level: float,
    *,
    is_best: bool,
) -> Answer:
    """Return the sentence on models better than, worse than or not different from the reference."""
    models_by_verdict = _models_by_verdict(rows)
    subject = f"{reference_name}, the best on these rows," if is_best else reference_name
    clauses = _verdict_clauses(models_by_verdict, len(rows), margin)
    sentence = f"Compared with {subject} by {title}, {'; '.join(clauses)}."
    if len(models_by_verdict.get(TOO_FEW_ROWS, ())) == len(rows):
        sentence = (
            f"There are too few rows to compare the other models with {reference_name} in {title}."
        )
    if len(models_by_verdict.get(UNDECIDED, ())) == len(rows):
        sentence = f"No other model differs significantly from {subject.rstrip(',')} in {title}"
        sentence += (
            "" if margin is None else f", and none is equivalent within {format_exact(margin)}"
        )
        sentence += f"{_not_excluded(rows, title, level)}."
    return Answer(
        "compared",
        sentence,
        tuple(models_by_verdict.get(BETTER, [])),
        rows[0]["measure"],
        brief=_brief_comparison(rows, f"Compared with {subject} by {title}"),
        harm=WORSE in models_by_verdict,
    )


def _models_by_verdict(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return the models by the verdict on their difference; too few rows: see `_is_unlimited`."""
    models_by_verdict: dict[str, list[str]] = {}
    for row in rows:
        verdict = TOO_FEW_ROWS if _is_unlimited(row) else str(row["verdict"])
        models_by_verdict.setdefault(verdict, []).append(row["model"])
    return models_by_verdict


def _verdict_clauses(
    models_by_verdict: Mapping[str, Sequence[str]], model_count: int, margin: float | None
) -> list[str]:
    """Return a clause for each verdict, the harms first; model_count: of all verdicts."""
    margin_text = "" if margin is None else format_exact(margin)
    undecided_phrase = "not significantly different"
    if margin is not None:
        undecided_phrase = f"neither significantly different nor equivalent within {margin_text}"
    phrases = {
        WORSE: "significantly worse",
        BETTER: "significantly better",
        EQUIVALENT: f"equivalent within {margin_text}",
        NOT_WORSE: f"not worse by {margin_text}",
        UNDECIDED: undecided_phrase,
        TOO_FEW_ROWS: "not comparable with so few rows",
    }
    clauses = list[str]()
    for verdict in filter(models_by_verdict.__contains__, phrases):
        model_names = models_by_verdict[verdict]
        listed_count = len(model_names) if verdict == WORSE else 6  # no harm is left out
        verb = "is" if len(model_names) == 1 else "are"
        subject = f"{join_names(model_names, most=listed_count)} {verb}"
        if len(model_names) == model_count:
            subject = "every other model is"
        clauses.append(f"{subject} {phrases[verdict]}")
    return clauses


def _not_excluded(rows: Sequence[Row], title: str, level: float) -> str:
    """Return the clause on the largest harm that differences from a reference do not exclude."""
    measure = rows[0]["measure"].partition(":")[0]
    harm = LargestHarm.from_differences(rows, CATALOG[measure].best, level)
    return "" if harm is None else f"; a {harm.sentence(title)}"


def _brief_comparison(rows: Sequence[Row], opening: str) -> str:
    """Return the sentence that names only models that are worse; empty if none or all are."""
    worse_models = [row["model"] for row in rows if row["verdict"] == WORSE]
    other_count = len(rows) - len(worse_models)
    if not worse_models or not other_count:
        return ""
    worse_verb = "is" if len(worse_models) == 1 else "are"
    text = f"{opening}, {join_names(worse_models, most=len(worse_models))} {worse_verb}"
    other_verb = "is" if other_count == 1 else "are"
    return f"{text} significantly worse; {format_count(other_count, 'other')} {other_verb} not."


def _operating_point(
    rows: Sequence[Row], reference_name: str, level: float, point: OperatingPoint
) -> Iterator[Answer]:
    """Yield the sentence on rates at the threshold that differ from those of the reference."""
    rates = [row for row in rows if row["measure"] in OPERATING_POINT and row["slice"] is None]
    models = list(dict.fromkeys(row["model"] for row in rates))
    if all(_is_unlimited(row) for row in rates):
        return
    changed_rates = _changed_rates(rates)
    if not changed_rates:
        subject = f"{quote_if_ambiguous(models[0])} is not" if len(models) == 1 else "no model is"
        sentence = f"{point.threshold}, {subject} significantly different from {reference_name} in "
        sentence += f"{' or '.join(OPERATING_POINT)}."
        yield Answer("operating-point", sentence, (), OPERATING_POINT[0])
        return
    brief_sentence = ""
    if len(models) == 1:
        # the reference is named once
        comparisons = [f" than {reference_name}", *[""] * (len(changed_rates) - 1)]
        phrases = [
            _detection_difference(row, comparison, level, point)
            for row, comparison in zip(changed_rates, comparisons, strict=True)
        ]
        sentence = f"{point.threshold}, {quote_if_ambiguous(models[0])} {' and '.join(phrases)}"
        changed_measures = {row["measure"] for row in changed_rates}
        unchanged_measures = [
            measure for measure in OPERATING_POINT if measure not in changed_measures
        ]
        sentence += (
            f"; {unchanged_measures[0]} is not significantly different"
            if unchanged_measures
            else ""
        )
    else:
        opening = f"{point.threshold}, compared with {reference_name}, "
        sentence = f"{opening}{_list_differences(changed_rates, level)}"
        if changed_rates[1:]:
            brief_sentence = f"{opening}{_list_differences(changed_rates, level, most=1)}."
    difference = as_estimate(changed_rates[0]["difference"])
    yield Answer(
        "operating-point",
        f"{sentence}.",
        tuple(dict.fromkeys(row["model"] for row in changed_rates)),
        changed_rates[0]["measure"],
        difference.value,
        difference.low,
        difference.high,
        brief=brief_sentence,
        harm=_has_harm(changed_rates),
    )


def _changed_rates(rates: Sequence[Row]) -> list[Row]:
    """Return the significant differences of rates: harms first, one of each model, smallest p."""
    changed_rates = [row for row in rates if row["verdict"] in (BETTER, WORSE)]
    changed_rates.sort(key=lambda row: cell_number(row["p_adjusted"]))
    # the smallest p of each model comes before its others
    first_by_model = {row["model"]: row for row in reversed(changed_rates)}
    changed_rates.sort(key=lambda row: first_by_model[row["model"]] is not row)
    # harms come before improvements
    changed_rates.sort(key=lambda row: row["verdict"] != WORSE)
    return changed_rates


def _has_harm(rows: Sequence[Row]) -> bool:
    return any(row["verdict"] == WORSE for row in rows)


def _detection_difference(row: Row, comparison: str, level: float, point: OperatingPoint) -> str:
    """Return the phrase on the difference in detected positives or in flagged negatives.

    comparison: " than" and the reference, or nothing.
    """
    difference = as_estimate(row["difference"]).value or 0.0
    is_sensitivity = row["measure"] == OPERATING_POINT[0]
    class_size = point.positives if is_sensitivity else point.negatives
    class_noun, verb = ("positives", "detects") if is_sensitivity else ("negatives", "flags")
    amount_phrase = "more" if (difference > 0) == is_sensitivity else "fewer"
    if class_size is not None:
        amount_phrase = (
            f"{abs(difference) * class_size:,.4g} {amount_phrase} of {format_rows(class_size)}"
        )
    difference_phrase = f"{row['measure']} {_format_difference(row, level)}"
    return f"{verb} {amount_phrase} {class_noun}{comparison} ({difference_phrase})"


def _list_differences(rows: Sequence[Row], level: float, most: int = MOST_NAMED) -> str:
    """Return the phrase that lists higher or lower values of measures, the harms first.

    most: how many with values. The first interval alone is called adjusted, which all are, and has
    its p.
    """
    listed_rows = sorted(rows, key=lambda row: row["verdict"] != WORSE)[:most]
    claims = [f"{_direction(row)} {CATALOG[str(row['measure'])].title}" for row in listed_rows]
    is_same_claim = len({*claims}) == 1 < len(claims)
    phrases = list[str]()
    for row, claim in zip(listed_rows, claims, strict=True):
        interval = _format_difference(row, level)
        if phrases:
            interval = interval.replace(", adjusted ", ", ").partition(", p ")[0]
        model = quote_if_ambiguous(row["model"])
        verb = "" if phrases else "has "
        phrases.append(
            f"{model} ({interval})" if is_same_claim else f"{model} {verb}{claim} ({interval})"
        )
    phrase = join_words(phrases)
    if is_same_claim:
        direction, _, title = claims[0].partition(" ")
        phrase = f"{title} is {direction} for {phrase}"
    unlisted_count = len(rows) - len(phrases)
    if unlisted_count:
        phrase += (
            ". Another difference is"
            if unlisted_count == 1
            else f". Another {unlisted_count:,} differences are"
        )
        phrase += " listed below"
    return phrase


def _direction(row: Row) -> str:
    return "higher" if (as_estimate(row["difference"]).value or 0.0) > 0 else "lower"


def _format_difference(row: Row, level: float) -> str:
    """Format a difference with its adjusted interval and p-value."""
    difference = as_estimate(row["difference_adjusted"])
    p = row["p_adjusted"]
    adjective = "" if difference == as_estimate(row["difference"]) else "adjusted "
    text = format_difference(difference.value or 0.0, difference.low, difference.high, level)
    text = text.replace(" (", f", {adjective}").rstrip(")")
    return f"{text}, {format_p_value(p)}" if isinstance(p, float) else text


def slice_comparison_answer(
    rows: Sequence[Row], lead_measure: str, reference: str
) -> Iterator[Answer]:
    """Yield the sentence on slices in which models are better or worse than the reference."""
    compared_rows = [
        row for row in rows if row["measure"] == lead_measure and row["slice"] is not None
    ]
    if not compared_rows:
        return
    models = tuple(dict.fromkeys(row["model"] for row in compared_rows))
    reference_name = describe_reference(str(compared_rows[0]["reference"]), reference)
    significant_rows = [
        row
        for verdict in (WORSE, BETTER)
        for row in _by_size(compared_rows)
        if row["verdict"] == verdict
    ]
    if len(models) == 1:
        sentence = _list_slice_differences(compared_rows, lead_measure, reference_name)
    elif significant_rows:
        sentence = _list_models_in_slices(significant_rows, lead_measure, reference_name)
    else:
        sentence = _no_slice_difference(compared_rows, lead_measure, reference_name)
    yield Answer("within", sentence, models, lead_measure, harm=_has_harm(compared_rows))


def _by_size(rows: Sequence[Row]) -> list[Row]:
    """Return rows of differences, the largest first."""
    return sorted(rows, key=lambda row: -abs(as_estimate(row["difference"]).value or 0.0))


def _list_models_in_slices(
    significant_rows: Sequence[Row], lead_measure: str, reference_name: str
) -> str:
    """Return the sentence on several models in slices: where they are worse, else better.

    significant_rows: rows of differences, the harms first. q is adjusted over slices and models.
    """
    verdict = significant_rows[0]["verdict"]
    listed_rows = [row for row in significant_rows if row["verdict"] == verdict][:MOST_NAMED]
    phrases = [
        f"{quote_if_ambiguous(str(row['model']))} in {row['slice']} "
        f"({_signed_difference(row)}{_q_of_slice(row)})"
        for row in listed_rows
    ]
    verb = "is" if len(phrases) == 1 else "are"
    text = f"Within slices, by {CATALOG[lead_measure].title}, {join_words(phrases)} {verb} "
    text += f"significantly {verdict} than {reference_name}"
    unlisted_count = len(significant_rows) - len(phrases)
    return f"{text}; {_further_differences(unlisted_count)}." if unlisted_count else f"{text}."


def _signed_difference(row: Row) -> str:
    return f"{as_estimate(row['difference']).value or 0.0:+.3f}"


def _q_of_slice(row: Row) -> str:
    """Return the q-value of a slice, as it ends a bracket; empty without one."""
    q = row.get("p_adjusted")
    return f", {format_p_value(q).replace('p', 'q')}" if isinstance(q, float) else ""


def _further_differences(count: int) -> str:
    """Return that further differences in slices are listed."""
    subject = "another difference is" if count == 1 else f"another {count:,} differences are"
    return f"{subject} significant, listed below"


def _no_slice_difference(
    compared_rows: Sequence[Row], lead_measure: str, reference_name: str
) -> str:
    """Return the sentence on several models that differ significantly in no slice."""
    slices = list(dict.fromkeys(cell_text(row["slice"]) for row in compared_rows))
    slices_phrase = format_count(len(slices), "slice") if len(slices) > 1 else join_names(slices)
    text = f"Within {slices_phrase}, by {CATALOG[lead_measure].title}, none of "
    text += f"{len(compared_rows):,} comparisons with {reference_name} is significant"
    equivalent_count = sum(row["verdict"] in (EQUIVALENT, NOT_WORSE) for row in compared_rows)
    if equivalent_count:
        verb = "is" if equivalent_count == 1 else "are"
        text += f"; {equivalent_count:,} {verb} equivalent or not worse within the margin"
    return f"{text}."


def _list_slice_differences(compared_rows: Sequence[Row], lead_measure: str, reference: str) -> str:
    """Return the sentence on one model in slices: its decided differences, harms first."""
    title = CATALOG[lead_measure].title
    model = quote_if_ambiguous(compared_rows[0]["model"])
    decided_verdicts = [verdict for verdict in VERDICTS if verdict != UNDECIDED]
    decided_rows = [
        row
        for verdict in decided_verdicts
        for row in _by_size(compared_rows)
        if row["verdict"] == verdict
    ]
    if not decided_rows:
        slices = list(dict.fromkeys(cell_text(row["slice"]) for row in compared_rows))
        subject = f"the {title} of {model}"
        if len(slices) > 1:
            return f"In no slice does {subject} differ significantly from that of {reference}."
        return f"In {slices[0]}, {subject} does not differ significantly from that of {reference}."
    phrases = [
        f"{row['slice']} {_signed_difference(row)} ({row['verdict']}{_q_of_slice(row)})"
        for row in decided_rows[:MOST_NAMED]
    ]
    unlisted_count = len(decided_rows) - len(phrases)
    text = (
        f"Within slices, the {title} of {model} minus that of {reference} is {join_words(phrases)}"
    )
    return f"{text}; {_further_differences(unlisted_count)}." if unlisted_count else f"{text}."
