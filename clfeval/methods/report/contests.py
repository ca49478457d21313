"""Which measures models are compared by, and all that this says: who is best, by how much, luck."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from clfeval.counts.changes import list_changes
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.counted import Counted
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.units import shown
from clfeval.errors import UsageError, bad_option, unknown_model
from clfeval.methods.measured.asked import Asked
from clfeval.methods.report.against import comparison_rows, resolution_rows, together_rows
from clfeval.methods.report.best import best_rows, winner_rows
from clfeval.methods.report.options import ReportOptions, by_measure
from clfeval.methods.report.together import EVERY, Race, Together, pairs_of
from clfeval.methods.report.verdicts import compared_answer
from clfeval.result import Answer, Estimate, Row, estimate

# what the first screen has, and is compared with a reference by
ON_SCREEN = ("roc_auc", "brier", "net_benefit", "balanced_accuracy", "sensitivity", "specificity",
             "precision", "npv", "mcc", "f1", "accuracy")  # fmt: skip

SAID_BETTER = ("luck", "resolution")  # by a comparison that was asked for
Observed = Mapping[tuple[str, str], Estimate]
ESTIMATORS = ("binary", "multiclass", "macro")  # of the values that are compared


@dataclass(frozen=True, slots=True, eq=False)
class Contests:
    """Who leads by each measure, and the tables of that."""

    races: Mapping[str, Race]
    tables: Mapping[str, Sequence[Row]]
    answer: tuple[Answer, ...] = ()

    def before(self, *others: Answer) -> tuple[Answer, ...]:
        """Put what was asked of models first; what it says better is left out then."""
        if not self.answer:
            return others
        return (*self.answer, *(one for one in others if one.code not in SAID_BETTER))


def compared(asked: Sequence[Asked], lead: str, options: ReportOptions) -> list[Asked]:
    """Return the measures models are compared by: what leads, and what was asked for.

    With a reference those of the first screen too. None without intervals.
    """
    if options.confidence is None:
        return []
    screen = ON_SCREEN if options.reference is not None else ()
    return sorted(
        (one for one in asked if one.name == lead or one.by != "default" or one.name in screen),
        key=lambda one: one.name != lead,
    )


def check_reference(models: Sequence[str], options: ReportOptions, *, same_rows: bool) -> None:
    """Raise for a reference that is no model, or that nothing can be compared with."""
    reference = options.reference
    if reference is None:
        return
    known = reference in (*models, *EVERY) or pairs_of(reference, models)
    if not known:
        raise unknown_model("--reference", reference, [*models, *EVERY])
    if len(models) == 1:
        raise bad_option(f"--reference {reference}: '{models[0]}' is the only model here")
    if not same_rows:
        raise UsageError.of(
            "--reference compares models on the same rows, and nobody knows which rows these "
            "models share",
            "needs-predictions", hint="give the predictions of every model in every row",
        )  # fmt: skip


def observed_values(metrics: Sequence[Row]) -> Observed:
    """Return the values of the whole table, by model and measure."""
    return {
        (str(row["model"]), str(row["metric"])): estimate(row["value"])
        for row in metrics
        if row["slice"] is None and row["estimator"] in ESTIMATORS
    }


def held_together(
    stood: Mapping[str, Together], held: Sequence[Asked], metrics: Sequence[Row],
    patterns: PatternCounts | ClassPatterns | None, called: Callable[[str], Iterable[str]],
    options: ReportOptions, counted: Counted | None, uncut: Collection[str] = (),
) -> Contests:  # fmt: skip
    """Return what is known of models together, in the order of the measures, with their values.

    called: what the measures are called that an option names. uncut: models without a threshold.
    """
    every = [stood[one.name] for one in held if one.name in stood]
    races = {
        one.metric: race
        for one in every
        if (race := one.race(level=options.level, seed=options.seed)) is not None
    }
    tables = {
        "best": [row for name, race in races.items() for row in best_rows(name, race)],
        "winner": [
            *winner_rows(
                ((one, races[one.metric]) for one in every if one.metric in races),
                observed_values(metrics),
            )
        ],
    }
    answer: tuple[Answer, ...] = ()
    if options.reference is not None and patterns is not None and counted is not None and held:
        margins, wanted = (
            by_measure(given, called) for given in (options.margin, options.resolution)
        )
        compared = [
            row
            for one in every
            for row in comparison_rows(
                one, patterns, options.reference, options.level, margins.get(one.metric), uncut
            )
        ]
        tables["comparisons"] = compared
        tables["together"] = [*together_rows(patterns, uncut)]
        rows = float(shown(patterns.n.sum(), patterns.unit))
        tables["resolution"] = [*resolution_rows(compared, wanted, rows, options.level)]
        if options.list_changes is not None:
            pairs = dict.fromkeys((str(row["model"]), str(row["reference"])) for row in compared
                                  if row["newly_right"] is not None)  # fmt: skip
            tables["changes"] = [*list_changes(counted, [*pairs], options.list_changes)]
        lead = held[0].name
        answer = compared_answer(compared, lead, options.reference, margins.get(lead))
    return Contests(races, {name: rows for name, rows in tables.items() if rows}, answer)
