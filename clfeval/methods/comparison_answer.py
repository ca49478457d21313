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
    lead: str,
    options: ReportOptions,
    measure_names: Callable[[str], Iterable[str]],
    point: OperatingPoint | None = None,
    *,
    by_labels: bool = False,
) -> Iterator[Answer]:
    """Yield the sentences on comparisons with the reference: of all rows, then of slices.

    measure_names: the columns of a measure; by_labels: the reference has labels only.
    """
    if options.reference is None:
        return
    margin = numbers_by_measure(options.margin, measure_names).get(lead)
    rows = [row for row in rows if row["against"] == "reference"]
    yield from reference_answers(rows, lead, options.reference, margin, options.level, point)
    if by_labels:
        yield from _net_benefit_answer(rows, lead, options.reference, options.level)
    yield from slice_comparison_answer(rows, lead, options.reference)


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
    lead: str,
    reference: str,
    margin: float | None,
    level: float,
    point: OperatingPoint | None = None,
) -> Iterator[Answer]:
    """Yield the sentences on models compared with the reference in all rows."""
    leading = [row for row in rows if row["measure"] == lead and row["slice"] is None]
    if not leading:
        return
    title = _lead_title(lead)
    reference_name = describe_reference(str(leading[0]["reference"]), reference)
    are_pairs = reference == families.ALL_PAIRS and len(leading) > 1
    point_answers = list[Answer]()
    if point is not None and not are_pairs:
        point_answers += _operating_point(rows, reference_name, level, point)
    if point_answers and _operating_point_leads(rows, leading):
        yield point_answers.pop(0)
    if are_pairs:
        n_different = sum(row["verdict"] in (BETTER, WORSE) for row in leading)
        differ = "differs" if n_different == 1 else "differ"
        pairs = format_count(len(leading), "pair")
        text = f"{n_different:,} of {pairs} of models {differ} significantly in {title} (adjusted "
        text += f"for all pairs){_count_equivalent_pairs(leading, margin)}."
        yield Answer("compared", text, (), lead, float(n_different))
    elif len(leading) == 1:
        yield _one_model(leading[0], reference_name, title, margin, level)
    else:
        is_best = reference == families.BEST
        yield _several_models(leading, reference_name, title, margin, level, is_best=is_best)
    yield from point_answers


def _lead_title(lead: str) -> str:
    """Return the title of a leading measure, with the prevalence to which it is tuned."""
    name, _, prevalence = lead.partition(":prevalence=")
    title = CATALOG[name].title if name in CATALOG else {"mlcps": "MLcps"}.get(name, name)
    return f"{title} at prevalence {prevalence}" if prevalence else title


def _net_benefit_answer(
    rows: Sequence[Row], lead: str, reference: str, level: float
) -> Iterator[Answer]:
    """Yield the sentence on net benefit compared with a reference that has labels only.

    lead: the measure of comparison, of which there are rows.
    """
    of_all_rows = [row for row in rows if row["slice"] is None]
    compared = [row for row in of_all_rows if row["measure"] == "net_benefit"]
    if not compared or all(row["measure"] != lead for row in of_all_rows):
        return
    reference_name = describe_reference(str(compared[0]["reference"]), reference)
    significant = [row for row in compared if row["verdict"] in (BETTER, WORSE)]
    title = CATALOG["net_benefit"].title
    text = f"No {title} is significantly different from that of {reference_name}."
    brief = ""
    if significant:
        text = f"Compared with {reference_name}, {_list_differences(significant, level)}."
        brief = f"Compared with {reference_name}, {_list_differences(significant, level, most=1)}."
    models = tuple(row["model"] for row in significant)
    answer = Answer("also-compared", text, models, "net_benefit", harm=_has_harm(significant))
    yield replace(answer, brief=brief if significant[1:] else "")


def _count_equivalent_pairs(rows: Sequence[Row], margin: float | None) -> str:
    """Return the clause on pairs that are equivalent or not different; empty without a margin."""
    if margin is None:
        return ""
    verdicts = [row["verdict"] for row in rows]
    equivalent = verdicts.count(EQUIVALENT)
    undecided = len(rows) - equivalent - verdicts.count(BETTER) - verdicts.count(WORSE)
    clauses = (
        f"; {equivalent:,} {'is' if equivalent == 1 else 'are'} equivalent within "
        f"{format_exact(margin)}",
        f"{undecided:,} {'is' if undecided == 1 else 'are'} neither",
    )
    return ", ".join(clauses)


def _operating_point_leads(rows: Sequence[Row], leading: Sequence[Row]) -> bool:
    """Return whether the rates come before the leading measure: a harm before what is no harm.

    Of one model, any significant difference comes before an undecided one. leading: rows of the
    leading measure.
    """
    verdicts = [
        row["verdict"] for row in rows if row["measure"] in OPERATING_POINT and row["slice"] is None
    ]
    if len(leading) == 1 and leading[0]["verdict"] == UNDECIDED:
        return BETTER in verdicts or WORSE in verdicts
    return WORSE in verdicts and all(row["verdict"] != WORSE for row in leading)


def _one_model(row: Row, reference: str, title: str, margin: float | None, level: float) -> Answer:
    """Return the sentence that compares one model with the reference."""
    d = as_estimate(row["difference"])
    verdict = row["verdict"]
    model = quote_if_ambiguous(row["model"])
    size = f"in {title}: {_format_difference(row, level)}"
    if verdict in (BETTER, WORSE):
        text = f"{model} is significantly {verdict} than {reference} {size}."
    elif verdict == EQUIVALENT and margin is not None:
        text = f"{model} is equivalent to {reference} within {format_exact(margin)} {size}."
    elif verdict == NOT_WORSE and margin is not None:
        text = f"{model} is not worse than {reference} by {format_exact(margin)} {size}."
    elif row["method"] == NO_ROW and d.value == 0:
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
        d.value,
        d.low,
        d.high,
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


def _same_predictions_text(row: Row, model: str, reference: str, title: str) -> str:
    """Return the sentence on two models whose predictions differ in no row that counts."""
    measure = CATALOG.get(row["measure"])
    verb = "predicts"
    if measure is not None and measure.needs == "scores":
        verb = "ranks"
    value = format_number(as_estimate(row["new"]).value or 0.0)
    return f"{model} {verb} every row as {reference} does: both have {title} {value}."


def _several_models(
    rows: Sequence[Row],
    reference: str,
    title: str,
    margin: float | None,
    level: float,
    *,
    is_best: bool,
) -> Answer:
    """Return the sentence on models better than, worse than or not different from the reference."""
    models = _models_by_verdict(rows)
    subject = f"{reference}, the best on these rows," if is_best else reference
    clauses = _verdict_clauses(models, len(rows), margin)
    text = f"Compared with {subject} by {title}, {'; '.join(clauses)}."
    if len(models.get(TOO_FEW_ROWS, ())) == len(rows):
        text = f"There are too few rows to compare the other models with {reference} in {title}."
    if len(models.get(UNDECIDED, ())) == len(rows):
        text = f"No other model differs significantly from {subject.rstrip(',')} in {title}"
        text += "" if margin is None else f", and none is equivalent within {format_exact(margin)}"
        text += f"{_not_excluded(rows, title, level)}."
    return Answer(
        "compared",
        text,
        tuple(models.get(BETTER, [])),
        rows[0]["measure"],
        brief=_brief_comparison(rows, f"Compared with {subject} by {title}"),
        harm=WORSE in models,
    )


def _models_by_verdict(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return the models by the verdict on their difference; too few rows: see `_is_unlimited`."""
    models: dict[str, list[str]] = {}
    for row in rows:
        verdict = TOO_FEW_ROWS if _is_unlimited(row) else str(row["verdict"])
        models.setdefault(verdict, []).append(row["model"])
    return models


def _verdict_clauses(
    models: Mapping[str, Sequence[str]], compared: int, margin: float | None
) -> list[str]:
    """Return a clause for each verdict, the harms first; compared: number of models."""
    margin_text = "" if margin is None else format_exact(margin)
    undecided = "not significantly different"
    if margin is not None:
        undecided = f"neither significantly different nor equivalent within {margin_text}"
    words = {
        WORSE: "significantly worse",
        BETTER: "significantly better",
        EQUIVALENT: f"equivalent within {margin_text}",
        NOT_WORSE: f"not worse by {margin_text}",
        UNDECIDED: undecided,
        TOO_FEW_ROWS: "not comparable with so few rows",
    }
    clauses = list[str]()
    for verdict in filter(models.__contains__, words):
        names = models[verdict]
        limit = len(names) if verdict == WORSE else 6  # no harm is left out
        subject = f"{join_names(names, most=limit)} {'is' if len(names) == 1 else 'are'}"
        if len(names) == compared:
            subject = "every other model is"
        clauses.append(f"{subject} {words[verdict]}")
    return clauses


def _not_excluded(rows: Sequence[Row], title: str, level: float) -> str:
    """Return the clause on the largest harm that differences from a reference do not exclude."""
    measure = rows[0]["measure"].partition(":")[0]
    harm = LargestHarm.from_differences(rows, CATALOG[measure].best, level)
    return "" if harm is None else f"; a {harm.sentence(title)}"


def _brief_comparison(rows: Sequence[Row], opening: str) -> str:
    """Return the sentence that names only models that are worse; empty if none or all are."""
    worse = [row["model"] for row in rows if row["verdict"] == WORSE]
    others = len(rows) - len(worse)
    if not worse or not others:
        return ""
    text = f"{opening}, {join_names(worse, most=len(worse))} {'is' if len(worse) == 1 else 'are'}"
    verb = "is" if others == 1 else "are"
    return f"{text} significantly worse; {format_count(others, 'other')} {verb} not."


def _operating_point(
    rows: Sequence[Row], reference: str, level: float, point: OperatingPoint
) -> Iterator[Answer]:
    """Yield the sentence on rates at the threshold that differ from those of the reference."""
    rates = [row for row in rows if row["measure"] in OPERATING_POINT and row["slice"] is None]
    models = list(dict.fromkeys(row["model"] for row in rates))
    if all(_is_unlimited(row) for row in rates):
        return
    changed = _changed_rates(rates)
    if not changed:
        who = f"{quote_if_ambiguous(models[0])} is not" if len(models) == 1 else "no model is"
        text = f"{point.threshold}, {who} significantly different from {reference} in "
        text += f"{' or '.join(OPERATING_POINT)}."
        yield Answer("operating-point", text, (), OPERATING_POINT[0])
        return
    brief = ""
    if len(models) == 1:
        parts = [_detection_difference(row, reference, level, point) for row in changed]
        text = f"{point.threshold}, {quote_if_ambiguous(models[0])} {' and '.join(parts)}"
        measures = {row["measure"] for row in changed}
        others = [name for name in OPERATING_POINT if name not in measures]
        text += f"; {others[0]} is not significantly different" if others else ""
    else:
        opening = f"{point.threshold}, compared with {reference}, "
        text = f"{opening}{_list_differences(changed, level)}"
        if changed[1:]:
            brief = f"{opening}{_list_differences(changed, level, most=1)}."
    d = as_estimate(changed[0]["difference"])
    yield Answer(
        "operating-point",
        f"{text}.",
        tuple(dict.fromkeys(row["model"] for row in changed)),
        changed[0]["measure"],
        d.value,
        d.low,
        d.high,
        brief=brief,
        harm=_has_harm(changed),
    )


def _changed_rates(rates: Sequence[Row]) -> list[Row]:
    """Return the significant differences of rates: harms first, one of each model, smallest p."""
    changed = [row for row in rates if row["verdict"] in (BETTER, WORSE)]
    changed.sort(key=lambda row: cell_number(row["p_adjusted"]))
    first = {row["model"]: row for row in reversed(changed)}  # of each model comes first
    changed.sort(key=lambda row: first[row["model"]] is not row)
    changed.sort(key=lambda row: row["verdict"] != WORSE)  # no harm stands behind what is better
    return changed


def _has_harm(rows: Sequence[Row]) -> bool:
    return any(row["verdict"] == WORSE for row in rows)


def _detection_difference(row: Row, reference: str, level: float, point: OperatingPoint) -> str:
    """Return the phrase on the difference in detected positives or in flagged negatives."""
    difference = as_estimate(row["difference"]).value or 0.0
    is_sensitivity = row["measure"] == OPERATING_POINT[0]
    rows = point.positives if is_sensitivity else point.negatives
    kind, verb = ("positives", "detects") if is_sensitivity else ("negatives", "flags")
    amount = "more" if (difference > 0) == is_sensitivity else "fewer"
    if rows is not None:
        amount = f"{abs(difference) * rows:,.4g} {amount} of {format_rows(rows)}"
    size = f"{row['measure']} {_format_difference(row, level)}"
    return f"{verb} {amount} {kind} than {reference} ({size})"


def _list_differences(rows: Sequence[Row], level: float, most: int = MOST_NAMED) -> str:
    """Return the phrase that lists higher or lower values of measures, the harms first.

    most: so many with values. The first interval alone is called adjusted, which all are, and has
    its p.
    """
    worst = sorted(rows, key=lambda row: row["verdict"] != WORSE)[:most]
    claims = [f"{_direction(row)} {CATALOG[str(row['measure'])].title}" for row in worst]
    is_one_claim = len({*claims}) == 1 < len(claims)
    parts = list[str]()
    for row, claim in zip(worst, claims, strict=True):
        interval = _format_difference(row, level)
        if parts:
            interval = interval.replace(", adjusted ", ", ").partition(", p ")[0]
        model = quote_if_ambiguous(row["model"])
        verb = "" if parts else "has "
        parts.append(
            f"{model} ({interval})" if is_one_claim else f"{model} {verb}{claim} ({interval})"
        )
    text = join_words(parts)
    if is_one_claim:
        direction, _, title = claims[0].partition(" ")
        text = f"{title} is {direction} for {text}"
    further = len(rows) - len(parts)
    if further:
        text += (
            ". Another difference is" if further == 1 else f". Another {further:,} differences are"
        )
        text += " listed below"
    return text


def _direction(row: Row) -> str:
    return "higher" if (as_estimate(row["difference"]).value or 0.0) > 0 else "lower"


def _format_difference(row: Row, level: float) -> str:
    """Format a difference with its adjusted interval and p-value."""
    d = as_estimate(row["difference_adjusted"])
    p = row["p_adjusted"]
    adjusted = "" if d == as_estimate(row["difference"]) else "adjusted "
    text = format_difference(d.value or 0.0, d.low, d.high, level)
    text = text.replace(" (", f", {adjusted}").rstrip(")")
    return f"{text}, {format_p_value(p)}" if isinstance(p, float) else text


def slice_comparison_answer(rows: Sequence[Row], lead: str, reference: str) -> Iterator[Answer]:
    """Yield the sentence on slices in which models are better or worse than the reference."""
    compared = [row for row in rows if row["measure"] == lead and row["slice"] is not None]
    if not compared:
        return
    models = tuple(dict.fromkeys(row["model"] for row in compared))
    name = describe_reference(str(compared[0]["reference"]), reference)
    significant = [
        row for kind in (WORSE, BETTER) for row in _by_size(compared) if row["verdict"] == kind
    ]
    if len(models) == 1:
        text = _list_slice_differences(compared, lead, name)
    elif significant:
        text = _list_models_in_slices(significant, lead, name)
    else:
        text = _no_slice_difference(compared, lead, name)
    yield Answer("within", text, models, lead, harm=_has_harm(compared))


def _by_size(rows: Sequence[Row]) -> list[Row]:
    """Return rows of differences, the largest first."""
    return sorted(rows, key=lambda row: -abs(as_estimate(row["difference"]).value or 0.0))


def _list_models_in_slices(significant: Sequence[Row], lead: str, reference: str) -> str:
    """Return the sentence on several models in slices: where they are worse, else better.

    significant: rows of differences, the harms first. q is adjusted over slices and models.
    """
    verdict = significant[0]["verdict"]
    named_rows = [row for row in significant if row["verdict"] == verdict][:MOST_NAMED]
    parts = [
        f"{quote_if_ambiguous(str(row['model']))} in {row['slice']} "
        f"({_signed_difference(row)}{_q_of_slice(row)})"
        for row in named_rows
    ]
    are = "is" if len(parts) == 1 else "are"
    text = f"Within slices, by {CATALOG[lead].title}, {join_words(parts)} {are} "
    text += f"significantly {verdict} than {reference}"
    further = len(significant) - len(parts)
    return f"{text}; {_further_differences(further)}." if further else f"{text}."


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


def _no_slice_difference(compared: Sequence[Row], lead: str, reference: str) -> str:
    """Return the sentence on several models that differ significantly in no slice."""
    slices = list(dict.fromkeys(cell_text(row["slice"]) for row in compared))
    place = format_count(len(slices), "slice") if len(slices) > 1 else join_names(slices)
    text = f"Within {place}, by {CATALOG[lead].title}, none of {len(compared):,} comparisons with "
    text += f"{reference} is significant"
    within_margin = sum(row["verdict"] in (EQUIVALENT, NOT_WORSE) for row in compared)
    if within_margin:
        verb = "is" if within_margin == 1 else "are"
        text += f"; {within_margin:,} {verb} equivalent or not worse within the margin"
    return f"{text}."


def _list_slice_differences(compared: Sequence[Row], lead: str, reference: str) -> str:
    """Return the sentence on one model in slices: its significant differences, harms first."""
    title = CATALOG[lead].title
    model = quote_if_ambiguous(compared[0]["model"])
    verdicts = [kind for kind in VERDICTS if kind != UNDECIDED]
    significant = [row for kind in verdicts for row in _by_size(compared) if row["verdict"] == kind]
    if not significant:
        slices = list(dict.fromkeys(cell_text(row["slice"]) for row in compared))
        values = f"the {title} of {model}"
        if len(slices) > 1:
            return f"In no slice does {values} differ significantly from that of {reference}."
        return f"In {slices[0]}, {values} does not differ significantly from that of {reference}."
    parts = [
        f"{row['slice']} {_signed_difference(row)} ({row['verdict']}{_q_of_slice(row)})"
        for row in significant[:MOST_NAMED]
    ]
    further = len(significant) - len(parts)
    text = f"Within slices, the {title} of {model} minus that of {reference} is {join_words(parts)}"
    return f"{text}; {_further_differences(further)}." if further else f"{text}."
