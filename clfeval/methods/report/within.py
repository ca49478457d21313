"""How models differ from the reference within each slice, on the same rows: for whom it is so."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.rows import ScoredRows
from clfeval.measures.catalog import CATALOG
from clfeval.methods.clustered import fewest
from clfeval.methods.measured.asked import Asked
from clfeval.methods.measured.metrics import takes_scores
from clfeval.methods.report.against import Tested, holm_known
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.slices import LISTED, Size
from clfeval.methods.report.together import (
    ALL_PAIRS,
    BEST,
    Together,
    by_rows,
    by_votes,
)
from clfeval.methods.verdict import BETTER, EQUIVALENT, NOT_WORSE, UNDECIDED, WORSE
from clfeval.result import Answer, Row
from clfeval.words import NAMESAKES, many, named, quoted, reference_of

KINDS = (BETTER, WORSE, EQUIVALENT, NOT_WORSE, UNDECIDED)  # of verdicts
Stood = Mapping[str, Mapping[str, Together]]  # by measure, then by slice
Moved = Mapping[str, tuple[float, Floats]]  # of each model a measure, and the influence of rows


def compared_inside(held: Sequence[Asked], lead: str, options: ReportOptions) -> list[Asked]:
    """Return the measures by which models are compared in slices: what leads, what is named."""
    if options.reference in (None, ALL_PAIRS):
        return []
    return [one for one in held if one.measure.sign and (one.name == lead or one.by == "name")]


def inside_votes(
    patterns: Mapping[str | None, PatternCounts], held: Sequence[Asked], lead: str,
    options: ReportOptions, without: Collection[str],
) -> dict[str, dict[str, Together]]:  # fmt: skip
    """Return how models stand in each slice by measures of their labels."""
    found: dict[str, dict[str, Together]] = {}
    for one in compared_inside(held, lead, options):
        if not takes_scores(one):
            each = {str(label): by_votes(part, one, options.reference, without)
                    for label, part in patterns.items() if label is not None}  # fmt: skip
            found[one.name] = {label: some for label, some in each.items() if some is not None}
    return found


def in_slices(
    every: ScoredRows, patterns: Mapping[str | None, PatternCounts], one: Asked,
    moved: Mapping[str, Moved], reference: str | None,
) -> dict[str, Together]:  # fmt: skip
    """Return how models stand in each slice by a measure of scores; moved: of its rows."""
    found = dict[str, Together]()
    for label, mine in moved.items():
        rows, owners = every.slices[label], None
        weights = None if every.weights is None else every.weights[rows]
        if every.owners is not None:
            _, owners = np.unique(every.owners[rows], return_inverse=True)
        least = fewest(patterns[label])
        some = by_rows(weights, owners, one, mine, reference, least, sampling=every.weighed)
        if some is not None:
            found[label] = some
    return found


@dataclass(frozen=True, slots=True)
class Within:
    """The comparisons in slices, how many tests they are by each measure, and what was asked."""

    rows: Sequence[Row] = ()
    tests: Mapping[str, int] = field(default_factory=dict)
    given: str = ""

    def answer(self, lead: str) -> tuple[Answer, ...]:
        """Say in how many slices models are better than the reference, and in how many worse."""
        mine = [row for row in self.rows if row["metric"] == lead]
        if not mine:
            return ()
        models = tuple(dict.fromkeys(str(row["model"]) for row in mine))
        title = CATALOG[lead].title
        reference = reference_of(str(mine[0]["reference"]), self.given)
        told: dict[str, list[Row]] = {}
        for row in mine:
            told.setdefault(str(row["verdict"]), []).append(row)
        labels = {str(row["slice"]) for row in mine}
        slices = many(len(labels), "slice") if len(labels) > 1 else named([*labels])
        tests = many(self.tests[lead], "test")
        tests += " together, by Holm's rule" * (self.tests[lead] > 1)
        if len(models) > 1:
            found = ", ".join(f"{len(told[kind]):,} {kind}" for kind in KINDS if kind in told)
            differ = many(len(mine), "difference")
            text = f"Of {differ} from {reference} within {slices}, by {title}"
            return (Answer("within", f"{text}: {found} ({tests}).", models, lead),)
        text = f"Within {slices}, by {title}, {quoted(models[0])} "
        if {*told} == {UNDECIDED}:
            text += f"cannot be told from {reference} in any"
        else:
            sure = [kind for kind in KINDS if kind in told and kind != UNDECIDED]
            sure += [WORSE] * (sure == [BETTER])
            found = "; ".join(f"{kind} in {_of(told.get(kind, []), len(mine))}" for kind in sure)
            text += f"against {reference} is {found}"
        return (Answer("within", f"{text} ({tests}).", models, lead),)


def compared_within(
    stood: Stood, whole: Mapping[str, Together],
    patterns: Mapping[str | None, PatternCounts] | Mapping[str | None, ClassPatterns],
    sizes: Mapping[str, tuple[Size, Size]], options: ReportOptions,
    margins: Mapping[str, float], without: Collection[str] = (),
) -> Within:  # fmt: skip
    """Return how far models lie from the reference in each slice that is large enough.

    p_adjusted: by Holm's rule over all comparisons by a measure in all slices; with `best`, which
    is chosen on all rows, over any two models. difference_adjusted: at 1 - (1 - level) / so many.
    """
    level, rows, tests = options.level, list[Row](), dict[str, int]()
    given = str(options.reference)
    for metric, by_slice in stood.items():
        reference = given
        if reference == BEST:
            one = whole[metric]
            reference = one.models[int((one.sign * one.values).argmax())]
        tested = {
            label: Tested.of(one, patterns[label])
            for label, one in by_slice.items()
            if sizes[label][0].enough
            and one.pairs
            and (given.endswith(NAMESAKES) or reference in one.models)
        }
        every = [p for one in tested.values() for p in one.p]
        adjusted, tests[metric] = iter(holm_known(every)), len(every)
        for label, each in tested.items():
            models, known = each.one.models, {*each.one.models} - {*without}
            ends, _ = each.ends((level, 1 - (1 - level) / len(every)))
            mine = [next(adjusted) for _ in each.p]
            for q, (pair, holms) in enumerate(zip(each.one.pairs, mine, strict=True)):
                names = [models[i] for i in pair]
                other = pair[1] if given.endswith(NAMESAKES) else None
                if reference in names:
                    other = pair[names.index(reference)]
                if other is not None:
                    found = each.row(
                        q, other, ends, holms, level, margins.get(metric), known={*names} <= known
                    )
                    rows.append({"slice": label, "metric": metric, **found})
    return Within(rows, tests, given)


def _of(rows: Sequence[Row], every: int) -> str:
    """Say in how many slices, and in which, if not in none or in all."""
    if not rows:
        return "none"
    if len(rows) == every:
        return "all" if every > 1 else "it"
    return f"{len(rows):,}: {named([str(row['slice']) for row in rows], most=LISTED)}"
