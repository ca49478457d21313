"""The second look, taken only when the counts show something wrong: which rows are to blame."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from clfeval.counts.settle import Settled
from clfeval.errors import KEPT, DataError, Problem, listing
from clfeval.late import pl
from clfeval.tables.cells import means_missing
from clfeval.tables.columns import Columns, Suspicion
from clfeval.tables.diagnose import (
    FILE,
    PLACE,
    ROW,
    missing_of,
    numbered,
    repeated,
    run_checks,
)
from clfeval.tables.peek import Peek, all_distinct
from clfeval.tables.scan import TableFile

FOREIGN = 10  # so many different values, none of them a label, are no labels with typing errors


def raise_culprits(settled: Settled, suspicion: Suspicion) -> None:
    """Find the rows to blame in every file and raise them all; return if there is none."""
    columns, files = settled.columns, settled.files
    problems = _foreign(settled, suspicion)
    totals = Counter(problem.code for problem in problems)
    skipped = {problem.column for problem in problems}
    parts = [numbered(file, columns.null_values) for file in files]
    for frame, checks in settled.layout.checks(columns, suspicion, parts):
        found, counts = run_checks(frame, [one for one in checks if one.column not in skipped])
        problems += found
        totals += counts
    if problems:
        order = [file.name for file in files]
        problems.sort(key=lambda problem: (order.index(str(problem.file)), problem.row or 0))
        raise DataError(problems[:KEPT], hint=_hint(problems), totals=totals)


def _foreign(settled: Settled, suspicion: Suspicion) -> list[Problem]:
    """Return one problem for each column without a single label: an id or a text, no model."""
    known, found = suspicion.known, []
    for model in () if settled.columns.answer else settled.columns.models:
        texts = settled.texts(model)
        if model.name in suspicion.unknown and len(texts) >= FOREIGN and not texts & set(known):
            what = (
                f"no value is one of truth's labels {listing(known)}: {listing(sorted(texts), 3)}"
            )
            found.append(Problem(what, "unknown-label", settled.name, None, model.columns[0]))
    return found


def _hint(problems: list[Problem]) -> str | None:
    first = problems[0]
    if first.code == "unknown-label" and first.row is None:
        return f"is it no model? --id '{first.column}', --by '{first.column}', or name the models"
    value = first.what.split("'")[1] if "'" in first.what else ""
    if first.code == "unknown-label" and (hint := means_missing(value)):
        return hint
    if re.fullmatch(r"-?\d+,\d+", value):
        return f"a decimal comma? write '{value}' as {value.replace(',', '.')}"
    return {
        "missing-value": "fill the cells, or add --missing drop to leave such rows out",
        "bad-number": f"if '{value}' means missing, add --null-value '{value}'",
        "unknown-label": f"a class truth happens to lack is declared with --labels '{value}'; "
        "a column that is no model is left out by naming the others with --model",
        "bad-weight": "weights count how often a row stands for itself",
        "duplicate-row": "each observation needs one row per model",
        "unequal-ids": "each observation needs one row per model",
        "conflicting-value": "slices and weights belong to the observation, not to the model",
        "conflicting-truth": "all rows of one observation need the same truth",
    }.get(first.code)


def raise_nameless_runs(files: Sequence[TableFile], columns: Columns) -> None:
    """Raise for the rows that do not say which run they belong to."""
    for file in files:
        frame = numbered(file, columns.null_values)
        problems, totals = run_checks(frame, [missing_of(str(columns.run), frame)])
        if problems:
            raise DataError(problems, hint="every row belongs to a run", totals=totals)


def check_ids(files: Sequence[TableFile], column: str, peek: Peek, run: str | None = None) -> None:
    """Raise when an id stands in more than one row of the files, or of one run."""
    if all_distinct(files, column, peek):
        return
    names = [column] if run is None else [column, run]
    wanted = list(dict.fromkeys([FILE, ROW, PLACE, *names]))
    frame = pl.concat([numbered(file).select(wanted) for file in files])
    problems, totals = run_checks(frame, [repeated(column, run)])
    if problems:
        raise DataError(problems, hint="each observation stands in one row", totals=totals)
