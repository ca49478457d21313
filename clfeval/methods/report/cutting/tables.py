"""The tables of cuts and zones of one model in one slice, and who can have some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clfeval.counts.scores import ScoreCounts
from clfeval.errors import UsageError, bad_option
from clfeval.methods.report.cutting.chosen import cutoff_rows
from clfeval.methods.report.cutting.zones import abstention_rows, risk_rows
from clfeval.methods.report.options import ReportOptions
from clfeval.result import Row


def cut_tables(
    label: str | None, model: str, counts: ScoreCounts, cut: float | None, options: ReportOptions
) -> Iterator[tuple[str, list[Row]]]:
    """Yield the tables that are asked for, with their names; cut: the threshold in force."""
    if rules := options.rules:
        yield "cutoffs", cutoff_rows(label, model, counts, rules, options.certainty)
    if zones := options.zones:
        yield "abstentions", abstention_rows(label, model, counts, cut, zones, options.certainty)
        yield "risk", [*risk_rows(label, model, counts, cut, options.points)]


def check_scored(
    options: ReportOptions, thresholds: Mapping[str, float | None], *, scored: bool
) -> None:
    """Raise where thresholds are to be chosen and no model has scores, or a zone lies around none.

    thresholds: those in force, by model.
    """
    for flag, given in (("--best-threshold", options.best_threshold),
                        ("--abstain", options.abstain)):  # fmt: skip
        if given and not scored:
            what = f"{flag} chooses among scores, and every model here gives labels"
            hint = "give a column of scores, such as the probability of the positive class"
            raise UsageError.of(what, "needs-scores", hint=hint)
    share = next((zone for zone in options.zones if zone.costs is None), None)
    if share is not None and not any(cut is not None for cut in thresholds.values()):
        what = f"--abstain {share.name} is about rows near the threshold, and nobody knows it"
        raise bad_option(what, "--threshold T says from which score on rows are positive")
