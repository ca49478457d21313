"""The long layouts: a row for each observation and model, and tables of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clfeval.arrays import MOST
from clfeval.errors import (
    HEADER_ONLY,
    DataError,
    Problem,
    UsageError,
    bad_option,
    format_option,
    list_names,
)
from clfeval.records import dataclass, replace
from clfeval.tables import invalid_cells as checks
from clfeval.tables.column_guesses import known_labels
from clfeval.tables.columns import (
    KEY,
    WRONG,
    Also,
    ColumnPeek,
    Columns,
    Layout,
    Mode,
    ModelColumns,
    guess_kind,
)
from clfeval.tables.csv import inspect_structure
from clfeval.tables.frames import (
    Frame,
    concatenate_frames,
    in_polars,
    is_missing,
    natural_sort_key,
    nw,
    pl,
)
from clfeval.tables.input import ColumnNames, Input, find_column, match_names
from clfeval.tables.layouts import wide
from clfeval.tables.scan import TableFile, count_distinct_values, scan

ANSWER_COLUMN, TIMES, DIFFERS = "__clfeval_said{}", "__clfeval_times{}", "__clfeval_differs{}"
NAMELESS = "__clfeval_nameless"


def recognise(file: str, peeks: Mapping[str, ColumnPeek], roles: Input) -> Columns | None:
    """Recognise a long table by the names of its columns."""
    columns = list(peeks)
    model, truth = (
        find_column(columns, ColumnNames.MODEL),
        roles.truth or find_column(columns, ColumnNames.LONG_TRUTH),
    )
    answer = find_column([name for name in columns if name != roles.truth], ColumnNames.PREDICTION)
    if model and truth and answer not in (None, truth):
        answer = _prediction_column(
            file,
            {name: peeks[name] for name in columns if name != truth},
            frozenset(known_labels(peeks[truth].texts, roles)),
            roles,
        )
    if not (model and answer and truth) or truth == answer:
        return None
    row_id = roles.id or find_column(columns, ColumnNames.ID)
    if row_id in (model, answer):
        part = "model names" if row_id == model else "predictions"
        other = find_column([name for name in columns if name != row_id], ColumnNames.ID)
        hint = format_option("--id", other) if other else "name a column that identifies the rows"
        raise bad_option(f"--id '{row_id}' is the column of {part}", hint)
    if row_id is None:
        hint, fixes = "add --id COLUMN, or number the rows in the same order for each model", {}
        row = find_column([name for name in peeks if name != model], ColumnNames.ROW)
        if row is not None:
            hint, fixes = f"add {format_option('--id', row)}: its name suggests ids", {"id": row}
        what = "a long table needs a column of row ids"
        raise DataError.new(what, "no-id", file, hint=hint, fixes=fixes)
    return Columns(truth, row_id, naming=model, answer=answer)


def _prediction_column(
    file: str, peeks: Mapping[str, ColumnPeek], classes: frozenset[str], roles: Input
) -> str | None:
    """Return the column of predictions; DataError if one has labels and another has scores."""
    named = [name for name in peeks if find_column([name], ColumnNames.PREDICTION)]
    kinds = {name: guess_kind(peeks[name], classes) for name in named}
    alike = [name for name in named if roles.kind in (None, kinds[name])] or named
    answer = find_column(alike, ColumnNames.PREDICTION)
    other = next((name for name in alike if answer and kinds[name] != kinds[answer]), None)
    if answer and other and roles.kind is None:
        by_kind = {kinds[name]: name for name in (answer, other)}
        label, score = by_kind["label"], by_kind["score"]
        what = f"'{label}' has labels and '{score}' has scores: which should be evaluated?"
        hint = f"add {format_option('--ignore', label)} to evaluate the scores, or "
        hint += f"{format_option('--ignore', score)} to evaluate the labels"
        raise DataError.new(what, "which-layout", file, hint=hint, fixes={"ignore": (label,)})
    return answer


def list_models(
    files: Sequence[TableFile], columns: Columns, peeks: Mapping[str, ColumnPeek], roles: Input
) -> Columns:
    """Return the columns with the selected models in the rows, ordered by name."""
    names = count_distinct_values(files, columns.naming, columns.null_values)
    name, ordered = files[0].name, sorted(names, key=natural_sort_key)
    if not names:
        raise DataError.new("no rows to evaluate", "empty-table", name, hint=HEADER_ONLY)
    chosen = match_names(name, ordered, roles.model or ordered)
    classes = frozenset(known_labels(peeks[columns.truth].texts, roles))
    kind = roles.kind or guess_kind(peeks[columns.answer], classes)
    found = (ModelColumns(name, kind, (ANSWER_COLUMN.format(i),)) for i, name in enumerate(chosen))
    return replace(columns, models=tuple(found))


def scan_rows(files: Sequence[TableFile], columns: Columns, mode: Mode, also: Also) -> list[Frame]:
    """Scan the files, and widen the rows of each observation, which may be in several files."""
    chosen, watch = columns.readings(mode), also == "watch"
    scans = [scan(file, chosen, null_values=columns.null_values, watch=watch) for file in files]
    wide = widen(concatenate_frames(scans), columns)
    wrong = [nw.col(TIMES.format(i)) != 1 for i in range(len(columns.models))]
    wrong += [nw.col(DIFFERS.format(i)) == 1 for i in range(len(columns.constants))]
    wrong.append(nw.col(NAMELESS) == 1)
    return [wide.with_columns(nw.any_horizontal(*wrong, ignore_nulls=True).alias(WRONG))]


def widen(frame: Frame, columns: Columns) -> Frame:
    """Convert a long table into a wide one, with flag columns for repeats, conflicts and gaps.

    With `run` an observation has one row per run.

    Columns: KEY, the column of each model, and the constants (truth, slices, weight) by name;
    truth is missing if any row of the id lacks it. Blank lines are left out.
    Flags: how often each model has the id, 1 where a constant differs within the id, 1 where a row
    lacks its id or its model.
    """
    model, answer = nw.col(columns.naming), nw.col(columns.answer)
    names, constants = [one.name for one in columns.models], columns.constants
    marks = [model == name for name in names]
    blank = nw.col(str(columns.id)).is_null() & model.is_null() & answer.is_null()
    chosen = model.is_in(names) | model.is_null()
    row = {f"r{i}": nw.col(name) for i, name in enumerate(columns.row)}
    spread = frame.filter(~blank & chosen).select(
        *[value.alias(name) for name, value in row.items()],
        *[nw.when(mark).then(answer).alias(f"p{i}") for i, mark in enumerate(marks)],
        *[mark.cast(nw.Int32).alias(f"c{i}") for i, mark in enumerate(marks)],
        *[nw.col(name).alias(f"k{i}") for i, name in enumerate(constants)],
        *[nw.col(name).is_null().cast(nw.Int32).alias(f"g{i}") for i, name in enumerate(constants)],
        model.is_null().cast(nw.Int32).alias("nobody"),
    )
    gathered = spread.group_by(*row).agg(
        *[nw.col(f"p{i}").max() for i in range(len(names))],
        *[nw.col(f"c{i}").sum() for i in range(len(names))],
        *[nw.col(f"k{i}").min().alias(f"l{i}") for i in range(len(constants))],
        *[nw.col(f"k{i}").max().alias(f"h{i}") for i in range(len(constants))],
        *[nw.col(f"g{i}").sum() for i in range(len(constants))],
        nw.col("nobody").sum(),
        nw.len().alias("rows"),
    )
    return gathered.select(
        nw.col("r0").alias(KEY),
        *[nw.col(f"p{i}").alias(one.columns[0]) for i, one in enumerate(columns.models)],
        *[nw.col(f"c{i}").alias(TIMES.format(i)) for i in range(len(names))],
        *[_differs(i).alias(DIFFERS.format(i)) for i in range(len(constants))],
        (nw.col("r0").is_null() | (nw.col("nobody") > 0)).cast(nw.Int8).alias(NAMELESS),
        nw.when(nw.col("g0") == 0).then(nw.col("h0")).alias(columns.truth),
        *[nw.col(f"h{i}").alias(name) for i, name in enumerate(constants) if i],
    )


def _differs(constant: int) -> nw.Expr:
    """Return 1 where a constant has two values in an id, or, except truth, is partly missing."""
    low, high, gaps = (nw.col(f"{name}{constant}") for name in "lhg")
    two = nw.when(low.is_null()).then(nw.lit(0)).otherwise((low != high).cast(nw.Int8))
    if constant:
        some = (gaps > 0) & (gaps < nw.col("rows"))
        two = nw.when(some).then(nw.lit(1)).otherwise(two)
    return two.cast(nw.Int8)


def row_checks(
    columns: Columns, suspicion: checks.Suspicion, frames: Sequence[pl.LazyFrame]
) -> list[tuple[pl.LazyFrame, list[checks.Check]]]:
    """Return the checks of all files together, as an observation may have rows in several."""
    model, names = pl.col(columns.naming), [one.name for one in columns.models]
    frame = pl.concat(frames).filter(model.is_in(names) | model.is_null())
    labels = {one.kind for one in columns.models} == {"label"}
    row_id, place = columns.row[0], pl.col(checks.PLACE)
    known = pl.col(row_id).is_not_null()
    first = place.first().over(pl.struct(*columns.row, columns.naming))
    what = "'{value}' already has a prediction for this id in {extra}"
    wanted = [checks.Check(columns.naming, "duplicate-row", what, (place != first) & known, first)]
    for name in columns.constants:  # they are the same in all rows of an id
        text, truth = checks.column_as_text(name), name == columns.truth
        value = text if truth else text.fill_null("")
        first = (text.drop_nulls() if truth else value).first().over(columns.row)
        code = "conflicting-truth" if truth else "conflicting-value"
        what = "'{value}' differs from '{extra}' in an earlier row of this id"
        wanted.append(checks.Check(name, code, what, (value != first) & known, first))
    wanted += [checks.missing_value(str(columns.id)), checks.missing_value(columns.naming)]
    told = (columns.run, columns.cluster)
    wanted += [checks.missing_cell(one, frame) for one in told if one is not None]
    wanted += [checks.missing_value(columns.truth)] if suspicion.strict else []
    wanted += checks.prediction_checks(columns.answer, columns, suspicion, number=not labels)
    if suspicion.weights and columns.weight:
        wanted.append(checks.bad_weight(columns.weight, columns.written))
    for name in names if suspicion.wrong else ():  # at the first row of the id
        bad = (place == place.first().over(columns.row)) & known
        bad &= ~(model == name).any().over(columns.row)
        what = f"id '{{extra}}' has no row for model '{checks.escape_braces(name)}'"
        wanted.append(
            checks.Check(columns.naming, "unequal-ids", what, bad, checks.column_as_text(row_id))
        )
    return [(frame, wanted)]


LAYOUT = Layout(
    name="long",
    needs="id, model, prediction, truth",
    recognise=recognise,
    rows=scan_rows,
    checks=row_checks,
    models=list_models,
)


@dataclass(frozen=True, slots=True)
class CountsRow:
    """One model's 2 x 2 table: whole numbers, positives tp + fn, negatives fp + tn.

    keys: the run or slice.
    """

    model: str
    tp: int
    fp: int
    fn: int
    tn: int
    keys: tuple[str, ...] = ()


def recognise_counts(file: str, peeks: Mapping[str, ColumnPeek], roles: Input) -> Columns | None:  # noqa: ARG001
    """Recognise a table with a model column, four columns of counts, and no truth option."""
    model = find_column(peeks, ColumnNames.MODEL)
    whole = all(find_column(peeks, (name,)) for name in ColumnNames.COUNT)
    return Columns("", naming=model) if model and whole and not roles.truth else None


def read_confusions(
    file: TableFile, model_column: str, keys: Sequence[str] = ()
) -> list[CountsRow]:
    """Read the counts of every row; DataError for invalid counts and repeated rows."""
    columns = [str(find_column(file.columns, (name,))) for name in ColumnNames.COUNT]
    if file.head and file.source:
        inspect_structure(file.source, file.columns)  # a few lines, read at once
    named = [model_column, *keys]
    frame = in_polars(scan(file, dict.fromkeys([*named, *columns], "text"))).collect()
    problems: list[Problem] = []
    rows: dict[tuple[str, ...], CountsRow] = {}
    for number, values in enumerate(frame.rows(), start=2 if file.head else 1):
        names = [None if is_missing(name) else name for name in values[: len(named)]]
        cells = values[len(named) :]
        counts = [_count(cell) for cell in cells]
        parts = zip((*columns, *named), (*cells, *names), (*counts, *names), strict=True)
        for column, cell, found in parts:
            if found is None:
                what = "missing value" if cell is None else f"'{cell}' is not a count"
                code = "missing-value" if cell is None else "bad-count"
                problems.append(Problem(what, code, file.name, number, column))
        place = tuple(map(str, names))
        if None not in names and place in rows:
            what = f"'{', '.join(place)}' is already in an earlier row"
            problems.append(Problem(what, "duplicate-row", file.name, number, model_column))
        tp, fp, fn, tn = (count or 0 for count in counts)
        rows[place] = CountsRow(place[0], tp, fp, fn, tn, place[1:])
    if not rows:
        raise DataError.new("no rows to evaluate", "empty-table", file.name, hint=HEADER_ONLY)
    if problems:
        bad = any(problem.column in columns for problem in problems)
        hint = "use whole numbers of at least 0" if bad else "give one complete row per model"
        if not bad and not keys:
            hint += "; for slices add --by COLUMN, for runs --run COLUMN (phidelta)"
        raise DataError(problems, hint=hint)
    if not any(row.tp or row.fp or row.fn or row.tn for row in rows.values()):
        raise DataError.new("no rows to evaluate: all counts are 0", "empty-table", file.name)
    return list(rows.values())


def read_confusion_files(
    files: Sequence[TableFile], model_column: str, keys: Sequence[str], models: Sequence[str]
) -> list[list[CountsRow]]:
    """Read the counts of every file, of some models if any are named; DataError as of one file."""
    parts: list[list[CountsRow]] = []
    for file in files:
        found = read_confusions(file, model_column, keys)
        if models:
            chosen = match_names(file.name, list(dict.fromkeys(row.model for row in found)), models)
            found = [row for name in chosen for row in found if row.model == name]
        before = {(row.model, *row.keys) for part in parts for row in part}
        for again in (row for row in found if (row.model, *row.keys) in before):
            what = f"'{', '.join((again.model, *again.keys))}' is already in an earlier file"
            hint = "if each file is a run, add --run-files"
            raise DataError.new(what, "duplicate-row", file.name, hint=hint)
        parts.append(found)
    return parts


def expand_counts(file: TableFile, model_column: str, roles: Input) -> tuple[TableFile, Input]:
    """Convert the counts of a single model into a weighted wide table of four rows.

    DataError for several models, whose joint counts are unknown.
    """
    if roles.cluster is not None:
        what = "--cluster needs predictions, but the table holds counts"
        raise UsageError.new(what, "needs-predictions", hint="leave it out")
    confusions = read_confusions(file, model_column)
    if roles.model:
        confusions = [item for item in confusions if item.model in roles.model]
    if len(confusions) != 1:
        names = list_names(item.model for item in confusions)
        what = f"counts per model ({names}) do not say which rows the models share"
        hint = "use predictions with one column per model, or select one --model; clfeval "
        hint += "phidelta and clfeval tune-jpt read counts of several models"
        raise DataError.new(what, "needs-predictions", file.name, hint=hint)
    one = confusions[0]
    yes = roles.positive or "1"
    no = "0" if yes == "1" else f"not {yes}"
    said = {"truth": [yes, no, yes, no], one.model: [yes, yes, no, no]}
    frame = pl.LazyFrame({**said, "n": [one.tp, one.fp, one.fn, one.tn]})
    plain = Input(
        truth="truth", model=(one.model,), positive=yes, classes=(no,), weight="n", layout="wide"
    )
    columns = ("truth", one.model, "n")
    return replace(file, columns=columns, native=nw.from_native(frame), head=None), plain


def _count(cell: object) -> int | None:
    text = str(cell)
    if not text.isdigit():
        try:
            number = float(text)
        except ValueError:
            return None
        text = f"{number:.0f}" if number >= 0 and number.is_integer() else ""
    return int(text) if text and int(text) <= MOST else None


COUNTS_LAYOUT = replace(
    wide.LAYOUT,  # for the predictions counted in it
    name="counts",
    needs="model, tp, fp, fn, tn",
    recognise=recognise_counts,
    expand=expand_counts,
)
