"""Prediction files: one opened, or several joined by ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from typing import Any

from clfeval.errors import (
    ClfevalError,
    DataError,
    Problem,
    bad_option,
    list_names,
    unknown_column_error,
)
from clfeval.records import dataclass, replace
from clfeval.tables.align import align_rows
from clfeval.tables.columns import ColumnPeek, Columns, ModelColumns, peek_columns
from clfeval.tables.engine import nw
from clfeval.tables.guesses import find_truth
from clfeval.tables.input import (
    FILE_NAME,
    Input,
    match_names,
    parse_facets,
    refuse_named_tables,
    split_path,
    table_paths,
)
from clfeval.tables.invalid_cells import (
    check_same_columns,
    converting_engine_errors,
    with_delimiter_hint,
)
from clfeval.tables.layouts import wide
from clfeval.tables.recognition import Predictions, open_source, recognise
from clfeval.tables.row_selection import (
    filter_columns,
    filtered_rows,
    find_bin_edges,
    refuse_train_and_test,
    run_files,
)
from clfeval.tables.scan import TableFile, file_of_frame
from clfeval.tables.source import FRAME, open_sources

QUALIFIED_NAME = "{}:{}"  # a column, or one model of several, of a file
LENT = "__clfeval_truth"  # name of the truth column of another file
MAX_FILES_NAMED = 3  # files named in the name of the joined table


@dataclass(frozen=True, slots=True)
class JoinedFile:
    """One of the joined files: its name, its columns, and their names in the joined table."""

    called: str
    said: bool  # by the user, not by its name
    file: TableFile
    columns: Columns
    peeks: Mapping[str, ColumnPeek]
    names: Mapping[str, str]

    @property
    def id(self) -> str:
        """The column of its ids."""
        return str(self.columns.id)

    def model(self, one: ModelColumns, alone: bool, taken: Counter[str]) -> ModelColumns:
        """Return a model, renamed for the joined table; alone: one per file; taken: all names."""
        name = QUALIFIED_NAME.format(self.called, one.name)
        if len(self.columns.models) == 1 and (self.said or alone):
            name = self.called
        elif not self.said and taken[one.name] == 1:
            name = one.name
        columns = tuple(self.names[column] for column in one.columns)
        beside = one.beside and self.names[one.beside]
        return replace(one, name=name, columns=columns, beside=beside)


def join_files(files: Sequence[tuple[str | None, TableFile]], roles: Input) -> Predictions:
    """Join files on their id column, each with the name the user gave it, or None."""
    _refuse_unjoinable(files, roles)
    whole = " + ".join(file.display_name for _, file in files[:MAX_FILES_NAMED])
    whole += f" + {len(files) - MAX_FILES_NAMED} more" if len(files) > MAX_FILES_NAMED else ""
    peeks = [peek_columns(file, roles.null_value, roles.decimal, fold=roles.fold_labels)
             for _, file in files]  # fmt: skip
    called = [name or file_stem(file.display_name) for name, file in files]
    if twice := [name for name, times in Counter(called).items() if times > 1]:
        first = next(file for name, (_, file) in zip(called, files, strict=True) if name in twice)
        hint = f"name each file: {twice[0]}=FILE other=FILE"
        raise bad_option(f"two files have the name {list_names(twice)}, such as {first.name}", hint)
    known = [name for of, each in zip(called, peeks, strict=True)
             for one in each for name in (one, QUALIFIED_NAME.format(of, one))]  # fmt: skip
    known = list(dict.fromkeys(known))
    ignored = {*match_names(whole, known, roles.ignore, what="column")}
    facets, asked = parse_facets(roles, known), roles
    roles = replace(roles, by=tuple(dict.fromkeys(chain(*facets))))
    others = [name for name in (*roles.by, roles.weight, roles.cluster) if name is not None]
    for name in others:
        if name not in known:
            raise unknown_column_error(whole, name, [name for each in peeks for name in each])
    times = Counter(name for each in peeks for name in each)
    used = {*others, *(QUALIFIED_NAME.format(of, one) for of in called for one in others)} | ignored
    bare = [_only_truth(each, of, roles, used) for of, each in zip(called, peeks, strict=True)]
    only_truth = [i for i, name in enumerate(bare) if name is not None]
    # fractions named like truth are the scores of another file
    only_truth.sort(key=lambda i: not peeks[i][str(bare[i])].classes)
    at = next(iter(only_truth), None)
    truths = [find_truth(each, roles) for each in peeks]
    holder = at
    if at is None:
        holder = next((i for i, truth in enumerate(truths) if truth in peeks[i]), None)
    given_truth = None if holder is None else peeks[holder][str(truths[holder])]
    separate = at is not None
    recognise_part = partial(
        _recognise_part, roles=roles, ignored=ignored, others=others, times=times, own_file=separate
    )
    parts = []
    for i, (of, (given, file), each) in enumerate(zip(called, files, peeks, strict=True)):
        lent = given_truth if i != holder else None
        part = recognise_part(of, of == given, file, each, lent, only=i == at, called_so=bare[i])
        parts.append(part)
    alone = all(len(part.columns.models) == 1 for i, part in enumerate(parts) if i != at)
    taken = Counter(one.name for part in parts for one in part.columns.models)
    models = [(part, one, part.model(one, alone, taken))
              for part in parts for one in part.columns.models]  # fmt: skip
    _refuse_alike(parts, [new.name for _, _, new in models])
    by_name = {new.name: (part, one, new) for part, one, new in models}
    names = list(by_name)
    wanted = match_names(whole, names, roles.model) if roles.model else names
    chosen = [by_name[name] for name in wanted]
    sides = []
    for part in parts:
        own = tuple(one for of, one, _ in chosen if of is part)
        sides.append(replace(part, columns=replace(part.columns, models=own)))
    found = align_rows(sides, drop=roles.missing == "drop")
    true = next(part.columns.truth for part in parts if part.columns.truth)
    columns = Columns(
        true, roles.join, tuple(new for _, _, new in chosen),
        ignored=tuple(QUALIFIED_NAME.format(part.called, name) for part in parts
                      for name in part.columns.ignored),
        facets=facets, weight=roles.weight, cluster=roles.cluster,
        null_values=roles.null_value,
        written=frozenset(part.names.get(name, name) for part in parts
                          for name in part.columns.written),
        fold=roles.fold_labels,
    )  # fmt: skip
    table = TableFile(
        whole, tuple(found.frame.columns), native=nw.from_native(found.frame.lazy()),
        parts=tuple(part.file for part in parts), lost=found.lost + found.nameless,
        place=found.place,
    )  # fmt: skip
    how = f"{whole}: {found.frame.height:,} ids joined on '{roles.join}'"
    how += f", {found.lost:,} dropped that are not in all files" if found.lost else ""
    how += f", rows without an id dropped: {found.nameless:,}" if found.nameless else ""
    layout = wide.PROBABILITIES if any(m.kind == "classes" for m in columns.models) else wide.LAYOUT
    looks = _peeks(parts, table.columns, true)
    # labels of one file are not stray columns next to scores of another
    sure = all(len({model.kind for model in part.columns.models}) <= 1 for part in parts)
    said = replace(asked, id=roles.join, model=roles.model or (tuple(names) if sure else ()))
    edges = find_bin_edges((table,), asked.by, table.columns, roles.null_value)
    layout, columns = replace(layout, joined=True), replace(columns, edges=edges)
    return Predictions((table,), layout, columns, looks, said, how)


def file_stem(name: str) -> str:
    """Return the file name without the suffixes of its format."""
    for ending in (".gz", ".zst", ".zstd"):
        name = name.removesuffix(ending)
    first, dot, _ = name.rpartition(".")
    return first if dot and first else name.strip("<>")


def _refuse_unjoinable(files: Sequence[tuple[str | None, TableFile]], roles: Input) -> None:
    """Raise for files and options that cannot be joined, before anything is read."""
    if len(files) < 2:
        what = "--join needs several files, but only one is given"
        raise bad_option(what, "name all files: new=FILE old=FILE")
    if roles.id not in (None, roles.join):
        raise bad_option(f"--join '{roles.join}' and --id '{roles.id}' both name the rows",
                         "leave --id out")  # fmt: skip
    if roles.run is not None:
        option = "--run-files" if roles.run == FILE_NAME else "--run"
        raise bad_option(f"{option} and --join cannot be combined")
    if roles.layout in ("long", "counts"):
        raise bad_option(f"--join needs files with one row per id, not --layout {roles.layout}")
    for _, file in files:
        if roles.join not in file.columns:
            raise unknown_column_error(file.name, str(roles.join), file.columns)


def _refuse_alike(parts: Sequence[JoinedFile], models: Sequence[str]) -> None:
    """Raise for two models, or two columns, that would have the same name."""
    shared = {str(parts[0].columns.id), *(part.columns.truth for part in parts)} - {""}
    columns = Counter[str]()
    for part in parts:
        own = {name for one in part.columns.models for name in (*one.columns, one.beside)}
        columns.update(part.names[name] for name in own if name is not None)
        shared |= {full for name, full in part.names.items() if name not in own}
    columns.update(shared)
    for what, found in (("models", Counter(models)), ("columns", columns)):
        if alike := [name for name, count in found.items() if count > 1]:
            hint = "give the files different names: new=FILE old=FILE"
            raise bad_option(f"two {what} would have the name {list_names(alike)}", hint)


def _recognise_part(
    called: str, said: bool, file: TableFile, peeks: Mapping[str, ColumnPeek],
    truth: ColumnPeek | None, *, only: bool, called_so: str | None, own_file: bool, roles: Input,
    ignored: set[str], others: Iterable[str], times: Counter[str],
) -> JoinedFile:  # fmt: skip
    """Recognise the columns of one file; times: number of files with each column name.

    truth: of another file; own_file: that file has nothing else, only: this is that file.
    called_so: a single column named as truth.
    """
    of = {QUALIFIED_NAME.format(called, name): name for name in peeks}
    own = {name: name if name in peeks else of.get(name) for name in others}
    mine = {name: column for name, column in own.items() if column is not None}
    if len({*mine.values()}) < len(mine):
        raise bad_option(f"two of {list_names(mine)} are one column of {file.name}", "name it once")
    left_out = tuple(name for full, name in of.items() if {full, name} & ignored)
    local = replace(
        roles, id=roles.join, model=(), ignore=left_out,
        by=tuple(mine[name] for name in roles.by if name in mine),
        weight=mine.get(roles.weight or ""), cluster=mine.get(roles.cluster or ""),
    )  # fmt: skip
    if only:
        columns = Columns(
            str(called_so), roles.join, ignored=left_out,
            facets=tuple((name,) for name in local.by), weight=local.weight,
            cluster=local.cluster, null_values=roles.null_value, fold=roles.fold_labels,
        )  # fmt: skip
        return JoinedFile(called, said, file, columns, peeks, {full: n for n, full in mine.items()})
    known, known_peeks = {name for name in peeks if name not in left_out}, peeks
    lent = truth is not None and (called_so is not None or find_truth(peeks, local) not in known)
    try:
        if lent and truth is not None:
            peeks = {LENT: truth, **peeks}
            local = replace(local, truth=LENT)
        layout, columns = recognise(file.name, peeks, local)
        if lent and len(columns.models) != 1 and not own_file:  # one of them may be the truth
            layout, columns = recognise(file.name, known_peeks, replace(local, truth=roles.truth))
        elif lent:
            columns = replace(columns, truth="")
    except DataError as error:
        raise with_delimiter_hint(file, error) from error
    if layout.gathers or layout.expand is not None:
        what = f"a {layout.name} table; --join needs one row per id and one column per model"
        hint = None
        if layout.gathers:
            hint = "leave out --join to read long tables with the same columns as one"
        raise DataError.new(what, "wrong-layout", file.name, hint=hint)
    names = {full: name for name, full in mine.items()}
    for model in columns.models:
        for name in (*model.columns, *([model.beside] if model.beside else [])):
            names[name] = name if times[name] == 1 else QUALIFIED_NAME.format(called, name)
    return JoinedFile(called, said, file, columns, peeks, names)


def _only_truth(
    peeks: Mapping[str, ColumnPeek], called: str, roles: Input, used: set[str]
) -> str | None:
    """Return the truth column of a file that has only ids and truth, else None."""
    taken = {str(roles.join), *used}
    free = {n: p for n, p in peeks.items() if not {n, QUALIFIED_NAME.format(called, n)} & taken}
    truth = find_truth(free, roles)
    return truth if [*free] == [truth] else None


def _peeks(
    parts: Sequence[JoinedFile], columns: Iterable[str], truth: str
) -> dict[str, ColumnPeek]:
    """Return the peek of each column of the joined table; that of truth from all files."""
    found: dict[str, ColumnPeek] = {}
    for part in reversed(parts):
        for name, look in part.peeks.items():
            found[part.names.get(name, name)] = look
    truths = [part.peeks[part.columns.truth] for part in parts if part.columns.truth]
    found[truth] = replace(truths[0], texts=frozenset().union(*(one.texts for one in truths)))
    return {name: found[name] for name in columns}


@contextmanager
def open_joined(tables: Any, roles: Input) -> Iterator[Predictions]:
    """Open files with different columns, each with its name, and join them.

    `NAME=FILE`, or a mapping of names to files or data frames. Errors name the original cells.
    """
    pairs: list[tuple[str | None, Any]] = [(None, tables)]
    if isinstance(tables, Mapping):
        pairs = [(str(name), table) for name, table in tables.items()]
    elif paths := table_paths(tables):
        pairs = [split_path(path) for path in paths]
    files: list[tuple[str | None, TableFile]] = []
    with ExitStack() as stack:
        for name, table in pairs:
            paths = table_paths(table)
            if not paths:
                files.append((name, file_of_frame(table, FRAME if name is None else f"<{name}>")))
                continue
            sources = stack.enter_context(open_sources(paths, roles))
            if name is not None and len(sources) > 1:
                raise bad_option(f"'{name}' must name one file, not {len(sources)}")
            stack.enter_context(converting_engine_errors(sources))
            files += [(name, open_source(source)) for source in sources]
        named = filter_columns(roles)  # only files with all of them are filtered
        has_them = [{*named} <= {*file.columns} for _, file in files]
        if not any(has_them):
            first = files[0][1]
            lacking = next(name for name in named if name not in first.columns)
            raise unknown_column_error(first.name, lacking, first.columns)
        files = [
            (name, filtered_rows(file, roles.where if has else None))
            for (name, file), has in zip(files, has_them, strict=True)
        ]
        whole = join_files(files, replace(roles, where=None))
        try:
            yield whole
        except ClfevalError as error:
            _name_table(error, whole.files[0])
            raise


def _name_table(error: ClfevalError, table: TableFile) -> None:
    for part in error.parts:
        _name_table(part, table)
    assert table.place is not None
    found: list[Problem] = []
    for one in error.problems:
        where = table.place(one.row, one.column) if one.file == table.name else None
        found.append(one if where is None else Problem(one.what, one.code, *where))
    error.problems = tuple(found)
    error.args = ("\n".join(error.lines()),)


@contextmanager
def open_files(tables: Any, said: Input) -> Iterator[tuple[TableFile, ...]]:
    """Open paths, or one data frame; all files must have the columns of the first."""
    paths = table_paths(tables)
    refuse_named_tables(tables)
    if not paths:
        yield (filtered_rows(file_of_frame(tables, FRAME), said.where),)
        return
    with open_sources(paths, said) as sources, converting_engine_errors(sources):
        files = tuple(map(open_source, sources))
        check_same_columns(files)
        yield tuple(filtered_rows(file, said.where) for file in files)


@contextmanager
def open_predictions(
    tables: Any, roles: Input, *, keep_counts: bool = False
) -> Iterator[Predictions]:
    """Open paths, or one data frame, as a prediction table.

    A counts table of one model becomes weighted predictions, unless `keep_counts`: then the layout
    is `counts`, for `read_confusions`. With `join` the files become one table.
    """
    roles = roles.folded()
    if roles.join is not None:
        with open_joined(tables, roles) as whole:
            yield whole
        return
    with open_files(tables, roles) as files:
        files = run_files(files) if roles.run == FILE_NAME else files
        found = _recognise_predictions(files, roles)
        expand = found.layout.expand
        if expand is not None and not keep_counts:
            if len(files) > 1:
                raise DataError.new("more than one counts table", "several-counts", files[1].name)
            file, roles = expand(files[0], found.columns.naming, roles)
            found = _recognise_predictions((file,), roles)
        yield found


def _recognise_predictions(files: tuple[TableFile, ...], roles: Input) -> Predictions:
    peeks = peek_columns(files[0], roles.null_value, roles.decimal, fold=roles.fold_labels)
    if not roles.model:
        refuse_train_and_test(files, peeks, roles)
    try:
        layout, columns = recognise(files[0].name, peeks, roles)
    except DataError as error:
        raise with_delimiter_hint(files[0], error) from error
    peeks |= {name: peeks[name].in_bits(pair) for name, pair in columns.bits.items()}
    edges = find_bin_edges(files, roles.by, files[0].columns, roles.null_value)
    return Predictions(files, layout, replace(columns, edges=edges), peeks, roles)
