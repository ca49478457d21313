"""Sentences and tables of chosen thresholds and of abstention."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from clfeval.counts.count import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Answer, Estimate, Row, Rows, as_estimate
from clfeval.errors import UsageError, bad_option
from clfeval.formatting import (
    format_count,
    format_exact,
    format_number,
    format_percent,
    quote_if_ambiguous,
    with_interval,
)
from clfeval.measures.catalog import CATALOG
from clfeval.methods.options import Interval
from clfeval.methods.report.abstention import abstention_rows, risk_rows
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.thresholds import (
    ALWAYS,
    NEVER,
    SAFE,
    SAFE_SUFFIXES,
    UNMET,
    chosen_thresholds,
    cutoff_rows,
)
from clfeval.methods.threshold_performance import (
    UsedThreshold,
    prevalence_answer,
    prevalence_options,
    prevalence_rows,
)

MOST = 2  # rules, and zones, with a sentence each
NOWHERE = {
    "needs_threshold": "its threshold is unknown; add --threshold T",
    "not_probabilities": "costs need probabilities, but its scores are outside 0 to 1",
    "infinite_scores": "some of its scores are infinite",
}


def threshold_answers(
    tables: Mapping[str, Rows], models: Sequence[str], level: float
) -> tuple[Answer, ...]:
    """Return sentences on thresholds of the first of `models` with scores, else the first."""
    there, at_prevalence = dict[object, Row](), tables.get("at_prevalence", ())
    for row in at_prevalence:
        if row["model"] == _first_model(at_prevalence, models):
            held = there.setdefault(row["odds"], row)
            there[row["odds"]] = row if held["chosen_by"] is None else held
    means = [prevalence_answer(row, level) for row in [*there.values()][:MOST]]
    cuts, zones = (
        _model_answers(tables.get(name, ()), models, partial(answer, level=level))
        for name, answer in (("cutoffs", _threshold_answer), ("abstentions", _abstention_answer))
    )
    return (*cuts, *means, *zones)


def _first_model(rows: Sequence[Row], models: Sequence[str]) -> str | None:
    """Return the first of the given models that has rows, else the first that has any."""
    there = [str(row["model"]) for row in rows]
    return next((one for one in models if one in there), there[0] if there else None)


def _model_answers(
    rows: Sequence[Row], models: Sequence[str], say: Callable[[Row], Answer]
) -> Iterator[Answer]:
    whole = [row for row in rows if row["slice"] is None]
    model = _first_model(whole, models)
    mine = [row for row in whole if row["model"] == model]
    said = [say(row) for row in mine[:MOST]]
    if (more := len(mine) - MOST) > 0:
        text = f"{said[-1].text} The table below has {format_count(more, 'more rule')}."
        said[-1] = replace(said[-1], text=text)
    yield from said


def _threshold_answer(row: Row, level: float) -> Answer:
    """Return the sentence on the threshold of a rule, and values expected on new data."""
    model, code = str(row["model"]), "best-cut"
    name, rule = quote_if_ambiguous(model), _name_rule(row, level)
    honest, value, limited = (as_estimate(row[key]) for key in ("corrected", "value", "limited"))
    measure = str(row["measure"]).partition(":")[0]
    title = CATALOG[measure].title
    if row["rule"] is None:
        why = "" if value.reason == UNMET else ", which is undefined at every threshold"
        return Answer(code, f"No threshold of {name} has {rule}{why}.", (model,), measure)
    if row["rule"] in (NEVER, ALWAYS):
        answer = "positive" if row["rule"] == ALWAYS else "negative"
        what = f"Only predicting every row as {answer}, without {name}, has {rule}"
    else:
        cut, low, high = row["threshold"], row["threshold_low"], row["threshold_high"]
        what = f"Threshold {_format_threshold(cut)} of {name}"
        if low is not None and high is not None:
            what += f" (bootstrap {_format_threshold(low)} to {_format_threshold(high)})"
        what += f" has {rule}"
    if honest.value is None:
        why = f"{title} is {_format_estimate(value, level)} on these rows and unknown on new data"
        return Answer(code, f"{what}. {why}.", (model,), measure)
    said, more = f"{title} {_format_estimate(honest, level)}", ""
    asked, up, at = _parse_limit(row)
    if limited.value is None:
        said += f", compared with {_format_estimate(value, level)} on these rows"
    else:
        beyond = ""
        if limited.value < at if up else limited.value > at:
            beyond = f", {'below' if up else 'above'} {at:g},"
            name, _, end = str(row["chosen_by"]).partition(">=" if up else "<=")
            if name in SAFE:
                safe = f"{name}{'.low>=' if up else '.high<='}{end}"
                more = f" Choose '{safe}' for {_format_confidence(level)} confidence."
        said = f"{asked} {_format_estimate(limited, level)}{beyond} and {said}"
    text = f"{what}. On new data expect {said.removeprefix('expected ')}.{more}"
    return Answer(code, text, (model,), measure, honest.value, honest.low, honest.high)


def _parse_limit(row: Row) -> tuple[str, bool, float]:
    """Return the title of the limited measure, whether the limit is a lower one, and the limit."""
    rule = str(row["chosen_by"])
    up = ">=" in rule
    name, _, at = rule.partition(">=" if up else "<=")
    measure = name.removesuffix(".low").removesuffix(".high").partition(":")[0]
    return CATALOG[measure].title, up, float(at or "nan")


def _name_rule(row: Row, level: float) -> str:
    """Return the phrase for a rule."""
    rule = str(row["chosen_by"])
    title, _, at = _parse_limit(row)
    if at == at:
        if not rule.partition("=")[0][:-1].endswith(SAFE_SUFFIXES):
            return rule
        bound = rule.replace(".low", "").replace(".high", "")
        return f"{bound} with {_format_confidence(level)} confidence"
    name, _, settings = rule.partition(":")
    best = "lowest" if CATALOG[name].best == "min" else "largest"
    return f"the {best} {title}" + f" ({settings.replace(',', ', ')})" * bool(settings)


def _format_confidence(level: float) -> str:
    """Write the confidence level of one limit."""
    return f"{50 * (1 + level):g}%"


def _abstention_answer(row: Row, level: float) -> Answer:
    """Return the sentence on the effect of abstention."""
    model, code = str(row["model"]), "abstention"
    name, accuracy = quote_if_ambiguous(model), as_estimate(row["accuracy"])
    before = as_estimate(row["accuracy_of_all"])
    coverage = as_estimate(row["coverage"]).value
    if coverage is None or before.value is None:
        why = NOWHERE.get(str(accuracy.reason), "its threshold is unknown")
        return Answer(code, f"{name} abstains on no row: {why}.", (model,))
    costs = str(row["chosen_by"]).startswith("cost")
    if accuracy.value is None:
        return Answer(code, f"{name} abstains on every row.", (model,))
    if coverage == 1:
        text = f"{name} abstains on no row: no score is close enough to the threshold."
        if costs:
            text = f"{name} abstains on no row: abstention never has the lowest expected cost."
        return Answer(code, text, (model,), "accuracy", accuracy.value, accuracy.low, accuracy.high)
    ends = f"of {_format_threshold(row['low'])} or more"
    if row["high"] is not None:
        ends = f"from {_format_threshold(row['low'])} to below {_format_threshold(row['high'])}"
    text = f"{name} abstains on {format_percent(1 - coverage)}% of the rows (scores {ends}). "
    text += f"Accuracy of the other rows is {_format_estimate(accuracy, level)}, of all rows "
    text += f"{format_number(before.value)}."
    if costs:
        cost, old = (format_number(float(str(row[key]))) for key in ("cost", "cost_of_all"))
        text += f" Mean cost per row is {cost}, compared with {old} without abstention."
    return Answer(code, text, (model,), "accuracy", accuracy.value, accuracy.low, accuracy.high)


def _format_estimate(one: Estimate, level: float) -> str:
    """Write a value with its confidence interval."""
    if one.value is None:
        return "undefined" if one.reason != "infinite" else "infinite"
    return with_interval(one.value, one.low, one.high, level)


def _format_threshold(cut: object) -> str:
    return format_exact(float(str(cut)))


def threshold_tables(
    label: str | None, model: str, counts: ScoreCounts, sample: Sample, options: ReportOptions
) -> Iterator[tuple[str, list[Row]]]:
    """Yield the requested tables with their names."""
    cut = sample.thresholds.get(model)
    if rules := options.rules:
        name = f"{model}\0{label or ''}"
        chosen = chosen_thresholds(name, counts, rules, options.interval_settings)
        yield "cutoffs", cutoff_rows(label, model, rules, options.interval_settings, chosen)
        if label is None and options.populations and chosen.choices is not None:
            probable = counts.scores[0] >= 0 and counts.scores[-1] <= 1
            used = [UsedThreshold(model, rule.name, *chosen.used(i))
                    for i, rule in enumerate(rules) if chosen.at[i] >= 0]  # fmt: skip
            used = [one._replace(risk=one.threshold if probable else None) for one in used]
            yield "at_prevalence", _rows(sample, options, used)
    if zones := options.zones:
        yield (
            "abstentions",
            abstention_rows(label, model, counts, cut, zones, options.interval_settings),
        )
        yield "risk", [*risk_rows(label, model, counts, cut, options.points)]


def prevalence_table(sample: Sample, options: ReportOptions, models: Sequence[Row]) -> list[Row]:
    """Return PPV, NPV and alarms of labels; UsageError without predicted positives or rule."""
    known = [i for i, row in enumerate(models) if row["tp"] is not None]
    if not known and not options.rules:
        what = "--prevalence needs predicted positives, but no threshold is known"
        raise bad_option(what, "add --threshold T or --best-threshold RULE")
    used = list[UsedThreshold]()
    for i in known:
        row, table = models[i], sample.slices[None].take([i])
        cut = None if row["threshold"] is None else float(str(row["threshold"]))
        risk = cut if as_estimate(row.get("net_benefit")).value is not None else None
        used.append(UsedThreshold(str(row["model"]), None, cut, table, table, risk))
    return _rows(sample, options, used)


def _rows(sample: Sample, options: ReportOptions, used: Sequence[UsedThreshold]) -> list[Row]:
    interval: Interval = "none" if options.confidence is None else "exact"
    tune = prevalence_options(options.prevalence, options.level, options.totals, interval)
    return prevalence_rows(sample, tune, [("target", one) for one in options.populations], used)


def check_scores_available(
    options: ReportOptions, thresholds: Mapping[str, float | None], *, scored: bool
) -> None:
    """Raise if thresholds are to be chosen without scores, or abstention has no threshold."""
    for flag, given in (("--best-threshold", options.best_threshold),
                        ("--abstain", options.abstain)):  # fmt: skip
        if given and not scored:
            what = f"{flag} needs scores, but every model has labels only"
            hint = "add a column of scores, such as the probability of the positive class"
            raise UsageError.new(what, "needs-scores", hint=hint)
    share = next((zone for zone in options.zones if zone.costs is None), None)
    if share is not None and not any(cut is not None for cut in thresholds.values()):
        what = f"--abstain {share.name} needs a threshold, but none is known"
        raise bad_option(what, "add --threshold T: scores of T or more are predicted positive")
