"""Prediction files: the recognition of their layout and columns; one opened, or several joined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from itertools import chain
from typing import Any

from clfeval.errors import (
    ClfevalError,
    DataError,
    OfferedReading,
    Problem,
    bad_option,
    list_names,
    unknown_column_error,
)
from clfeval.records import replace
from clfeval.tables import engines, invalid_cells, row_selection
from clfeval.tables.align import (
    QUALIFIED_NAME,
    JoinedFile,
    align_rows,
    file_stem,
    find_keys,
    find_lone_truth,
    joined_profiles,
    refuse_equal_names,
    refuse_unjoinable,
)
from clfeval.tables.columns import Columns
from clfeval.tables.frames import nw
from clfeval.tables.input import (
    FILE_NAME,
    JOIN_NOTHING,
    Input,
    match_names,
    parse_facets,
    refuse_named_tables,
    split_path,
    table_paths,
)
from clfeval.tables.layouts import wide
from clfeval.tables.layouts.counts_file import are_counts_files, open_counts_files
from clfeval.tables.predictions import Predictions
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.readings.names import tags_of
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.reading import MOST_OFFERED
from clfeval.tables.readings.rows_in_files import check_same_columns
from clfeval.tables.readings.truths import named_truth, truth_candidates
from clfeval.tables.recognition import profiles_of_file, recognise, recognise_predictions
from clfeval.tables.scan import TableFile, check_names, file_of_frame, open_typed
from clfeval.tables.source import FRAME, SourceFile, open_sources


def open_source(source: SourceFile) -> TableFile:
    """Open a source as a table, with its header if it is text."""
    if not source.text:
        return open_typed(source)
    source, head = invalid_cells.read_head(source)
    check_names(source.name, head.columns, row=head.header_row)
    return TableFile(source.name, head.columns, source, head=head)


LENT = "__clfeval_truth"  # name of the truth column of another file
MAX_FILES_NAMED = 3  # files named in the name of the joined table


def join_files(files: Sequence[tuple[str | None, TableFile]], roles: Input) -> Predictions:
    """Join files on their id column, each with the name the user gave it, or None."""
    refuse_unjoinable(files, roles)
    keys = find_keys([file for _, file in files], str(roles.join))
    whole = " + ".join(file.display_name for _, file in files[:MAX_FILES_NAMED])
    whole += f" + {len(files) - MAX_FILES_NAMED} more" if len(files) > MAX_FILES_NAMED else ""
    profiles = [profiles_of_file(file, roles) for _, file in files]
    called = [name or file_stem(file.display_name) for name, file in files]
    if twice := [name for name, times in Counter(called).items() if times > 1]:
        first = next(file for name, (_, file) in zip(called, files, strict=True) if name in twice)
        hint = f"name each file: {twice[0]}=FILE other=FILE"
        raise bad_option(f"two files have the name {list_names(twice)}, such as {first.name}", hint)
    known = [
        name
        for of, each in zip(called, profiles, strict=True)
        for one in each
        for name in (one, QUALIFIED_NAME.format(of, one))
    ]
    known = list(dict.fromkeys(known))
    ignored = {*match_names(whole, known, roles.ignore, what="column")}
    facets, asked = parse_facets(roles, known), roles
    roles = replace(roles, by=tuple(dict.fromkeys(chain(*facets))))
    others = [name for name in (*roles.by, roles.weight, roles.cluster) if name is not None]
    for name in others:
        if name not in known:
            raise unknown_column_error(whole, name, [name for each in profiles for name in each])
    _refuse_unknown_truth(whole, profiles, keys, roles)
    times = Counter(name for each in profiles for name in each)
    used = {*others, *(QUALIFIED_NAME.format(of, one) for of in called for one in others)} | ignored
    bare = [
        find_lone_truth(each, of, key, roles, used)
        for of, key, each in zip(called, keys, profiles, strict=True)
    ]
    only_truth = [i for i, name in enumerate(bare) if name is not None]
    # fractions named like truth are the scores of another file
    only_truth.sort(key=lambda i: not profiles[i][str(bare[i])].classes)
    at = next(iter(only_truth), None)
    truths = [named_truth(each, roles) for each in profiles]
    holder = at
    if at is None:
        holder = next((i for i, truth in enumerate(truths) if truth in profiles[i]), None)
    given_truth = None if holder is None else profiles[holder][str(truths[holder])]
    separate = at is not None
    recognise_part = partial(
        _recognise_part, roles=roles, ignored=ignored, others=others, times=times, own_file=separate
    )
    parts = []
    for i, (of, (given, file), each) in enumerate(zip(called, files, profiles, strict=True)):
        lent = given_truth if i != holder else None
        part = recognise_part(
            of, of == given, file, each, lent, only=i == at, called_so=bare[i], key=keys[i]
        )
        parts.append(part)
    alone = all(len(part.columns.models) == 1 for i, part in enumerate(parts) if i != at)
    taken = Counter(one.name for part in parts for one in part.columns.models)
    models = [
        (part, one, part.model(one, alone, taken)) for part in parts for one in part.columns.models
    ]
    refuse_equal_names(parts, [new.name for _, _, new in models])
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
    row_name = parts[0].id
    columns = Columns(
        true,
        row_name,
        tuple(new for _, _, new in chosen),
        ignored=tuple(
            QUALIFIED_NAME.format(part.called, name)
            for part in parts
            for name in part.columns.ignored
        ),
        facets=facets,
        weight=roles.weight,
        cluster=roles.cluster,
        null_values=roles.null_value,
        written=frozenset(
            part.names.get(name, name) for part in parts for name in part.columns.written
        ),
        fold=roles.fold_labels,
    )
    table = TableFile(
        whole,
        tuple(found.frame.columns),
        native=nw.from_native(found.frame.lazy()),
        parts=tuple(part.file for part in parts),
        lost=found.lost + found.nameless,
        place=found.place,
    )
    joined_on = f"ids joined on '{roles.join}'" if keys[0] is not None else "rows joined by number"
    how = f"{whole}: {found.frame.height:,} {joined_on}"
    how += f", {found.lost:,} dropped that are not in all files" if found.lost else ""
    how += f", rows without an id dropped: {found.nameless:,}" if found.nameless else ""
    layout = wide.PROBABILITIES if any(m.kind == "classes" for m in columns.models) else wide.LAYOUT
    looks = joined_profiles(parts, table.columns, true)
    # labels of one file are not stray columns next to scores of another
    sure = all(len({model.kind for model in part.columns.models}) <= 1 for part in parts)
    said = replace(asked, id=row_name, model=roles.model or (tuple(names) if sure else ()))
    edges = row_selection.find_bin_edges((table,), asked.by, table.columns, roles.null_value)
    layout, columns = replace(layout, joined=True), replace(columns, edges=edges)
    return Predictions((table,), layout, columns, looks, said, how)


def _refuse_unknown_truth(
    whole: str,
    profiles: Sequence[Mapping[str, ColumnProfile]],
    keys: Sequence[str | None],
    roles: Input,
) -> None:
    """Raise with the columns that may be truth, where no file has one by its name.

    Those of files without predictions come first.
    """
    if roles.truth is not None or any(named_truth(each, roles) is not None for each in profiles):
        return
    found = []
    for each, key in zip(profiles, keys, strict=True):
        free = {name: profile for name, profile in each.items() if name != key}
        predicts = any(tags_of(name) & {"prediction", "model"} for name in free)
        candidates = truth_candidates(free, roles, PairFacts(free))
        found += [(predicts, candidate.name) for candidate in candidates]
    names = list(dict.fromkeys(name for _, name in sorted(found, key=lambda item: item[0])))
    if not names:
        return
    columns = dict.fromkeys(name for each in profiles for name in each)
    problem = Problem(f"no truth column; columns: {list_names(columns)}", "no-truth", whole)
    offered = [OfferedReading(f"'{name}' is truth", {"truth": name}) for name in names]
    left = names[MOST_OFFERED:]
    further = f"{len(left)} more: --truth with {list_names(left, 5)}" if left else None
    raise DataError(problem, readings=offered[:MOST_OFFERED], further=further)


def _recognise_part(
    called: str,
    said: bool,
    file: TableFile,
    profiles: Mapping[str, ColumnProfile],
    truth: ColumnProfile | None,
    *,
    only: bool,
    called_so: str | None,
    key: str | None,
    own_file: bool,
    roles: Input,
    ignored: set[str],
    others: Iterable[str],
    times: Counter[str],
) -> JoinedFile:
    """Recognise the columns of one file; times: number of files with each column name.

    truth: of another file; own_file: that file has nothing else, only: this is that file.
    called_so: a single column named as truth. key: the column of ids; None: rows are numbered.
    """
    of = {QUALIFIED_NAME.format(called, name): name for name in profiles}
    own = {name: name if name in profiles else of.get(name) for name in others}
    mine = {name: column for name, column in own.items() if column is not None}
    if len({*mine.values()}) < len(mine):
        raise bad_option(f"two of {list_names(mine)} are one column of {file.name}", "name it once")
    left_out = tuple(name for full, name in of.items() if {full, name} & ignored)
    local = replace(
        roles,
        id=key,
        model=(),
        ignore=left_out,
        by=tuple(mine[name] for name in roles.by if name in mine),
        weight=mine.get(roles.weight or ""),
        cluster=mine.get(roles.cluster or ""),
    )
    if only:
        columns = Columns(
            str(called_so),
            key,
            ignored=left_out,
            facets=tuple((name,) for name in local.by),
            weight=local.weight,
            cluster=local.cluster,
            null_values=roles.null_value,
            fold=roles.fold_labels,
        )
        return JoinedFile(
            called, said, file, columns, profiles, {full: n for n, full in mine.items()}
        )
    known, known_profiles = {name for name in profiles if name not in left_out}, profiles
    lent = truth is not None and (
        called_so is not None or named_truth(profiles, local) not in known
    )
    try:
        if lent and truth is not None:
            profiles = {LENT: truth, **profiles}
            local = replace(local, truth=LENT)
        found = recognise(file.name, profiles, local)
        if lent and len(found.columns.models) != 1 and not own_file:  # one of them may be truth
            found = recognise(file.name, known_profiles, replace(local, truth=roles.truth))
        elif lent:
            found = replace(found, columns=replace(found.columns, truth=""))
    except DataError as error:
        raise invalid_cells.with_delimiter_hint(file, error) from error
    layout, columns = found.layout, replace(found.columns, id=key)
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
    return JoinedFile(called, said, file, columns, profiles, names)


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
            stack.enter_context(invalid_cells.converting_engine_errors(sources))
            files += [(name, open_source(source)) for source in sources]
        named = row_selection.filter_columns(roles)  # only files with all of them are filtered
        has_them = [{*named} <= {*file.columns} for _, file in files]
        if not any(has_them):
            first = files[0][1]
            lacking = next(name for name in named if name not in first.columns)
            raise unknown_column_error(first.name, lacking, first.columns)
        files = [
            (name, row_selection.filtered_rows(file, roles.where if has else None))
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
    if said.engine != "spark" and (said.spark_conf or said.spark_remote is not None):
        flag = "--spark-conf" if said.spark_conf else "--spark-remote"
        raise bad_option(f"{flag} needs --engine spark", "add it, or leave both out")
    if not paths and not engines.counts_only(tables, said):
        there = "duckdb" in type(tables).__module__
        with engines.engine_failures(FRAME, "duckdb") if there else nullcontext():
            file = file_of_frame(tables, FRAME)
            by = chain(*parse_facets(said, file.columns))
            engines.refuse_unseen_nan(file, [*row_selection.filter_columns(said), *by, said.weight])
            yield (row_selection.filtered_rows(file, said.where),)
        return
    if not paths or engines.reads_elsewhere(paths, said):
        name = paths[0] if paths else FRAME
        with engines.engine_failures(name, said.engine or ("polars" if paths else "spark")):
            if hasattr(tables, "sparkSession"):
                engines.refuse_lenient_session(tables.sparkSession)
            file = engines.open_in_engine(paths, said) if paths else file_of_frame(tables, FRAME)
            yield (row_selection.filtered_rows(file, said.where),)
        return
    with open_sources(paths, said) as sources, invalid_cells.converting_engine_errors(sources):
        files = tuple(map(open_source, sources))
        if not are_counts_files(files):
            check_same_columns(files, said)
        yield tuple(row_selection.filtered_rows(file, said.where) for file in files)


@contextmanager
def open_predictions(
    tables: Any, roles: Input, *, keep_counts: bool = False
) -> Iterator[Predictions]:
    """Open paths, or one data frame, as a prediction table.

    A counts table of one model becomes weighted predictions, unless `keep_counts`: then the layout
    is `counts`, for `read_confusions`. With `join` the files become one table.
    """
    roles = roles.folded().with_confidences()
    if roles.join not in (None, JOIN_NOTHING):
        if roles.engine not in (None, "polars"):
            raise bad_option("--join and --engine cannot be combined", "join the tables there")
        with open_joined(tables, roles) as whole:
            yield whole
        return
    with open_files(tables, roles) as files:
        if are_counts_files(files):
            yield open_counts_files(files, roles)
            return
        files = row_selection.run_files(files) if roles.run == FILE_NAME else files
        found = recognise_predictions(files, roles)
        expand = found.layout.expand
        if expand is not None and not keep_counts:
            if len(files) > 1:
                raise DataError.new("more than one counts table", "several-counts", files[1].name)
            file, roles = expand(files[0], found.columns.naming, roles)
            found = recognise_predictions((file,), roles)
        yield found
