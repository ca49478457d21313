"""The second pass over the rows after an error: the invalid rows, with a hint."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from clfeval.counts.doubtful_columns import (
    refuse_disjoint_labels,
    refuse_mixed_answers,
    refuse_text_columns,
)
from clfeval.counts.doubtful_scores import refuse_multilabel_cells
from clfeval.counts.settings import CountSettings, declarable_labels
from clfeval.errors import MAX_PROBLEMS, DataError, Problem, format_option
from clfeval.tables.cells import known_labels, missing_word_hint, natural_sort_key
from clfeval.tables.invalid_cells import (
    FILE,
    PLACE,
    ROW,
    Check,
    Suspicion,
    duplicate_id,
    missing_cell,
    numbered_rows,
    run_checks,
)
from clfeval.tables.lazy_imports import pl
from clfeval.tables.peek import ColumnPeek
from clfeval.tables.scan import TableFile, all_distinct

# by the code of the first problem; {value} is the quoted value, the others are options with it
HINTS = {
    "missing-value": "fill in the cells, or add --missing drop to drop these rows",
    "bad-sum": "add --missing drop to drop these rows",
    "bad-number": "if '{value}' means missing, add {null_value}",
    "bad-weight": "a weight must be a finite number of at least 0",
    "duplicate-id": "each id must occur once",
}


ROW_HINTS = HINTS | {
    "duplicate-id": "each id must occur once; if rows share a patient or document, use "
    "{cluster} instead (mars, phidelta, tune-jpt, report); for several runs, seeds or folds, add "
    "--run COLUMN (phidelta, report)",
    "decimal-comma": "if this is a decimal comma, write '{value}' as {point}",
    "unknown-label": "if it is a class without rows in truth, add {classes}; "
    "if the column is not a model, add --model NAME for each model",
    "duplicate-row": "each id needs one row per model",
    "unequal-ids": "each id needs one row per model",
    "conflicting-value": "all rows of an id must have the same slices and weights",
    "conflicting-truth": "all rows of an id must have the same truth",
}


_OPTIONS = ("null_value", "classes")  # in hints, of the quoted value
Looks = Iterable[tuple["pl.LazyFrame", Iterable[Check]]]


def raise_found_problems(
    files: Sequence[TableFile], looks: Looks, hints: Mapping[str, str], declared: Sequence[str] = ()
) -> None:
    """Run the checks over numbered rows, in a second pass, and raise all problems.

    In the order of the files; `declared`: labels that are probably classes.
    """
    problems, totals = list[Problem](), Counter[str]()
    for frame, checks in looks:
        found, counts = run_checks(frame, checks)
        problems += found
        totals += counts
    if not problems:
        return
    order = [file.name for file in files]
    problems.sort(key=lambda problem: (order.index(str(problem.file)), problem.row or 0))
    first, fixes = problems[0], dict[str, Any]()
    codes = {problem.code for problem in problems}
    if declared and {*totals} == {"unknown-label"}:
        fixes = {"classes": tuple(declared)}
    elif codes != {"missing-value"} and codes <= {"missing-value", "bad-number", "unknown-label"}:
        quoted = {_quoted_value(one) for one in problems if one.code != "missing-value"}
        if all(map(missing_word_hint, quoted)):  # they cause all problems
            fixes = {"null_value": tuple(sorted(quoted))}
    value = _quoted_value(first)
    hint = missing_word_hint(value) if first.code == "unknown-label" else None
    if hint is None:
        comma = "decimal-comma" in hints and re.fullmatch(r"-?\d+,\d+", value)
        words = {name: format_option(f"--{name.replace('_', '-')}", value) for name in _OPTIONS}
        words |= {"value": value, "point": value.replace(",", ".")}
        words["cluster"] = format_option("--cluster", str(first.column))
        hint = hints.get("decimal-comma" if comma else first.code, "").format(**words)
    raise DataError(problems[:MAX_PROBLEMS], hint=hint or None, totals=totals, fixes=fixes)


def _quoted_value(problem: Problem) -> str:
    """Return the value that a problem quotes."""
    found = re.match(r"'(.*?)' (?:is|already|differs) ", problem.what, re.DOTALL)
    return found[1] if found else ""


def refuse_invalid_rows(
    settled: CountSettings, classes: Iterable[str], unknown: Mapping[str, Collection[str]], *,
    wrong: bool = False, weights: bool = False, lost: bool = False,
) -> None:  # fmt: skip
    """Raise DataError with the invalid rows of all files, if any; lost: clusters are missing."""
    classes = [*classes]
    known = sorted(known_labels(classes, settled.roles), key=natural_sort_key)
    refuse_mixed_answers(settled, known)
    refuse_multilabel_cells(settled, classes, unknown.values())
    refuse_text_columns(settled, known, unknown)
    refuse_disjoint_labels(settled, known, unknown)
    suspicion = Suspicion(known, unknown, settled.roles.missing == "error", wrong, weights)
    parts = [numbered_rows(file, settled.columns.null_values) for file in settled.files]
    hints = ROW_HINTS | ({"missing-value": "every row needs a cluster"} if lost else {})
    looks = settled.layout.checks(settled.columns, suspicion, parts)
    raise_found_problems(settled.files, looks, hints, declared=declarable_labels(settled, unknown))


def refuse_rows_without_run(settled: CountSettings) -> None:
    """Raise for the rows without a run."""
    hints = {"missing-value": "every row needs a run"}
    for file in settled.files:
        frame = numbered_rows(file, settled.columns.null_values)
        raise_found_problems(
            [file], [(frame, [missing_cell(str(settled.columns.run), frame)])], hints
        )


def check_ids(
    files: Sequence[TableFile], column: str, null_values: Sequence[str],
    peek: ColumnPeek | None = None,
    run: str | None = None, hints: Mapping[str, str] = HINTS,
) -> None:  # fmt: skip
    """Raise if an id occurs in more than one row of the files, or of one run."""
    if all_distinct(files, column, null_values, peek.texts if peek else ()):
        return
    row = [column] if run is None else [column, run]
    wanted = list(dict.fromkeys([FILE, ROW, PLACE, *row]))
    frame = pl.concat([numbered_rows(file, null_values).select(wanted) for file in files])
    if len(files) > 1 and run is None:
        refuse_same_rows(files, column, frame)
    raise_found_problems(files, [(frame, [duplicate_id(*row)])], hints)


def refuse_same_rows(files: Sequence[TableFile], column: str, frame: pl.LazyFrame) -> None:
    """Raise if most ids occur in several files, once in each: files of different models."""
    each = frame.group_by(column).agg(pl.len().alias("rows"), pl.col(FILE).n_unique().alias("in"))
    once, share = each.select(
        (pl.col("rows") == pl.col("in")).all(), (pl.col("in") > 1).mean().alias("share")
    ).collect().row(0)  # fmt: skip
    if once and share >= MOST_SHARED:
        what = f"{100 * share:.3g}% of the ids occur in more than one file"
        join = format_option("--join", column)
        hint = f"if the files have predictions for the same rows, add {join}; "
        hint += "if they are runs of one model, add --run COLUMN (phidelta, report)"
        raise DataError.new(what, "duplicate-id", files[1].name, None, column, hint=hint,
                           fixes={"join": column})  # fmt: skip


MOST_SHARED = 0.5  # of the ids
