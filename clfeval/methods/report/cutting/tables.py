"""The tables of chosen thresholds and abstention of one model in one slice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.counts.count import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Row, as_estimate
from clfeval.errors import UsageError, bad_option
from clfeval.methods.predictive_values import UsedThreshold, prevalence_rows
from clfeval.methods.report.cutting.chosen import chosen_thresholds, cutoff_rows
from clfeval.methods.report.cutting.zones import abstention_rows, risk_rows
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.tune_jpt.options import TuneOptions


def threshold_tables(
    label: str | None, model: str, counts: ScoreCounts, sample: Sample, options: ReportOptions
) -> Iterator[tuple[str, list[Row]]]:
    """Yield the tables that are asked for, with their names."""
    cut = sample.thresholds.get(model)
    if rules := options.rules:
        chosen = chosen_thresholds(label, model, counts, rules, options.certainty)
        yield "cutoffs", cutoff_rows(label, model, counts, rules, options.certainty, chosen)
        if label is None and options.populations and chosen.choices is not None:
            probable = counts.scores[0] >= 0 and counts.scores[-1] <= 1
            used = [UsedThreshold(model, rule.name, *chosen.used(i))
                    for i, rule in enumerate(rules) if chosen.at[i] >= 0]  # fmt: skip
            used = [one._replace(risk=one.threshold if probable else None) for one in used]
            yield "at_prevalence", _rows(sample, options, used)
    if zones := options.zones:
        yield "abstentions", abstention_rows(label, model, counts, cut, zones, options.certainty)
        yield "risk", [*risk_rows(label, model, counts, cut, options.points)]


def prevalence_table(sample: Sample, options: ReportOptions, models: Sequence[Row]) -> list[Row]:
    """Return PPV, NPV and alarms of models at the thresholds in force, or of their labels.

    Raises UsageError where no model has predicted positives and no rule is given.
    """
    known = [i for i, row in enumerate(models) if row["tp"] is not None]
    if not known and not options.rules:
        what = "--prevalence needs predicted positives, but no threshold is known"
        raise bad_option(what, "add --threshold T or --best-threshold RULE")
    used = list[UsedThreshold]()
    for i in known:
        row, table = models[i], sample.slices[None].at([i])
        cut = None if row["threshold"] is None else float(str(row["threshold"]))
        risk = cut if as_estimate(row.get("net_benefit")).value is not None else None
        used.append(UsedThreshold(str(row["model"]), None, cut, table, table, risk))
    return _rows(sample, options, used)


def _rows(sample: Sample, options: ReportOptions, used: Sequence[UsedThreshold]) -> list[Row]:
    tune = TuneOptions(
        prevalence=options.prevalence, sweep=None, level=options.level,
        totals=options.totals, interval="none" if options.confidence is None else "exact",
    )  # fmt: skip
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
