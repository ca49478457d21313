"""Tables read by an engine where they are (polars, DuckDB, Spark), by folder or name."""

from __future__ import annotations

import glob
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from shutil import which
from tempfile import gettempdir
from typing import Any

from clfeval.errors import DataError, UsageError, format_option
from clfeval.placeholders import END, OPTION
from clfeval.tables.frames import Frame, collect, engine_errors, nw
from clfeval.tables.input import InputOptions
from clfeval.tables.parquet_folders import (
    literal_path,
    parquet_files_of,
    read_by_polars,
    read_parquet_files,
    refuse_partition_signs,
)
from clfeval.tables.scan import TableFile, check_names

DATABASES = (".duckdb", ".ddb", ".db")  # suffixes of database files, before `:TABLE`
# errors of Spark that a table causes
UNREADABLE = (
    "AnalysisException",
    "ParseException",
    "NumberFormatException",
    "ArithmeticException",
    "DateTimeException",
    "UnsupportedOperationException",
    "IllegalArgumentException",
)
_UNREADABLE = (
    r"\[(CANNOT|FAILED_READ|UNABLE_TO_INFER|INVALID|CAST|UNSUPPORTED|UNRESOLVED)"
    r"|Relative path in absolute URI"  # a colon in a name
)
PATIENCE = 20  # seconds
STRICT = "spark.sql.ansi.enabled"
SERVER = "spark.remote"  # the setting that names a server of Spark Connect
PARTITIONS = "spark.sql.sources.partitionColumnTypeInference.enabled"
_RULES = ("PushDownPredicates", "PushPredicateThroughNonJoin", "InferFiltersFromConstraints")
OWN = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    PARTITIONS: "false",
    "spark.sql.shuffle.partitions": "16",
    "spark.sql.warehouse.dir": os.path.join(gettempdir(), "spark-warehouse"),
    # they would copy the decimals of `with_shortest_decimals` many times
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _RULES
    ),
}


def reads_elsewhere(paths: Sequence[str], roles: InputOptions) -> bool:
    """Return whether an engine other than polars is asked for, or a folder is given."""
    folders = [path for path in paths if os.path.isdir(path)]
    return roles.engine not in (None, "polars") or any(map(parquet_files_of, folders))


def open_in_engine(paths: Sequence[str], roles: InputOptions) -> TableFile:
    """Open Parquet files, folders or a table by name as one table of an engine, columns in order.

    A folder has its columns in the order of their names, as its files may differ in them; parts of
    paths such as `site=A` are columns of text. Raises UsageError without the library of the engine,
    DataError for what it cannot read.
    """
    engine = roles.engine or "polars"
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    openers = {"polars": read_by_polars, "duckdb": _open_duckdb, "spark": _open_spark}
    frame = openers[engine](paths, roles)
    columns = tuple(frame.collect_schema().names())
    odd = [column for column in columns if engine == "spark" and {".", "`"} & {*column}]
    if odd:
        message = "Spark cannot address this name"
        hint = "rename the column in the table"
        raise DataError.new(message, "bad-file", name, None, odd[0], hint=hint)
    if not all(map(os.path.isfile, paths)) and not any(map(_is_table_name, paths)):
        columns = tuple(sorted(columns))
    check_names(name, columns)
    return TableFile(name, columns, native=frame.select(*columns))


@contextmanager
def engine_failures(name: str, engine: str) -> Iterator[None]:
    """Raise errors of an engine as those of clfeval, in one line.

    DataError for a table that it cannot read, UsageError for a session that is lost.
    """
    try:
        yield
    except Exception as error:
        stopped = isinstance(error, AttributeError) and "NoneType" in str(error)
        if not (stopped or isinstance(error, (OSError, *engine_errors()))):
            raise
        text = first_line(error)
        if isinstance(error, ImportError):  # pyspark without pyarrow
            hint = f"pip install 'clfeval[{engine}]'"
            raise UsageError.new(text, "no-library", name, hint=hint) from error
        if engine != "spark" or type(error).__name__ in UNREADABLE or re.search(_UNREADABLE, text):
            hint = f"if a text means missing, add {format_option('--null-value', 'TEXT')}"
            hint = hint if re.search("CAST_INVALID_INPUT|Conversion Error", text) else ""
            message = f"{engine} cannot read it: {text}"
            raise DataError.new(message, "bad-file", name, hint=hint or None) from error
        message = f"spark failed: {text}"
        hint = "start it again; no file was written"
        raise UsageError.new(message, "engine-failed", name, hint=hint) from error


def counts_only(frame: object, roles: InputOptions) -> bool:
    """Return whether the rows of a frame stay in an engine, from which only counts are read."""
    native = frame.to_native() if hasattr(frame, "to_native") else frame
    spark = type(native).__module__.partition(".")[0] == "pyspark"
    return frame is not None and (roles.engine not in (None, "polars") or spark)


def refuse_unseen_nan(file: TableFile, names: Iterable[str | None]) -> None:
    """Raise DataError for NaN in columns of a user's DuckDB that it does not see in comparisons.

    It takes statistics of Parquet files, which leave NaN out, as a proof that there is none, if the
    connection that made a relation has not `disabled_optimizers`.
    """
    if (frame := file.native) is None or not frame.implementation.is_duckdb():
        return
    kinds = frame.collect_schema()
    requested = {*names}
    for name in kinds:
        if name not in requested or not kinds[name].is_float():
            continue
        column = nw.col(name)
        summary = collect(frame.select(most=column.max(), seen=column.is_nan().any()))
        most = summary["most"].item()
        if most is not None and most != most and not summary["seen"].item():
            raise unseen_nan_error(file.name, name)


def unseen_nan_error(file: str, column: str) -> DataError:
    """Build the error for NaN of a user's relation of DuckDB that comparisons do not see."""
    message = "DuckDB does not see NaN where statistics of a Parquet file leave it out"
    hint = f"give the path and {OPTION}--engine duckdb{END}, or set disabled_optimizers = "
    hint += "'statistics_propagation,filter_pushdown'"
    return DataError.new(message, "bad-number", file, None, column, hint=hint)


def first_line(error: BaseException) -> str:
    """Return the first line of the message of an engine's error, without the stack of the JVM."""
    cause = getattr(error, "java_exception", None)
    while cause is not None and (deeper := cause.getCause()) is not None:
        cause = deeper
    text = str(error if cause is None else cause.toString())
    if details := re.search(r'details = "(.+)"', text):  # the server is lost
        text = details[1]
    line = next((line.strip() for line in text.splitlines() if line.strip()), repr(error))
    return re.sub(r"^(\w+\.)+\w+: ", "", line)  # the class of Java


def _is_table_name(path: str) -> bool:
    """Return whether a name is that of a table rather than a path: `catalog.schema.table`."""
    words = path.rpartition(":")[2] if path.partition(":")[0].endswith(DATABASES) else path
    plain = all(word.isidentifier() for word in words.replace("`", "").split("."))
    return plain and not os.path.exists(path) and not path.endswith(".parquet")


def _open_duckdb(paths: Sequence[str], options: InputOptions) -> Frame:
    duckdb = _library("duckdb", "duckdb")
    database, _sign, table = paths[0].rpartition(":")
    in_database = database.endswith(DATABASES) and len(paths) == 1
    if not in_database and paths[0].endswith(DATABASES):
        message = f"{paths[0]} is a database: name a table of it"
        raise UsageError.new(message, "bad-option", hint=f"for example {paths[0]}:TABLE")
    database = database if in_database else ":memory:"
    connection = duckdb.connect(database, read_only=in_database)
    # it takes statistics of Parquet files, which leave NaN out, as a proof that there is none
    connection.execute("set disabled_optimizers = 'statistics_propagation,filter_pushdown'")

    def read(files: list[str], keys: list[str], above: list[str]) -> Any:
        return connection.sql(_duckdb_query(files, keys, above))

    if not in_database:
        return read_parquet_files(paths, options, read)
    frame: Frame = nw.from_native(connection.table(table)).lazy()
    return frame


def _duckdb_query(files: Sequence[str], keys: Sequence[str], above: Sequence[str]) -> str:
    """Return the query of all columns of Parquet files, whose names are taken literally.

    keys: columns of partitions. above: those of the path above the folder, which are left out.
    """
    for file in files:
        _refuse_duckdb_path(file, partitioned=bool(keys))
    names = ", ".join(_quote_sql(_duckdb_path(file), "'") for file in files)
    hidden = ", ".join(_quote_sql(column, '"') for column in above)
    exclude = f" exclude ({hidden})" if hidden else ""
    partitions = "true, hive_types_autocast=false" if keys else "false"
    return f"select *{exclude} from read_parquet([{names}], hive_partitioning={partitions})"


def _quote_sql(text: str, mark: str) -> str:
    return mark + text.replace(mark, 2 * mark) + mark


def _duckdb_path(file: str) -> str:
    """Return a path of which no part is a pattern."""
    path = literal_path(file)
    return glob.escape(path) if _is_pattern(path) else path


def _is_pattern(path: str) -> bool:
    """Return whether DuckDB takes a path for a pattern: a backslash makes a sign literal."""
    return glob.has_magic(re.sub(r"\\.", "", path))


def _refuse_duckdb_path(file: str, *, partitioned: bool) -> None:
    r"""Raise DataError for a path that DuckDB misreads: `\` separates folders in patterns and keys.

    `?` ends a key.
    """
    if "\\" in file and _is_pattern(file):
        hint = f"rename the file or its folder, or leave {OPTION}--engine{END} out"
        raise DataError.new("DuckDB cannot address this path", "bad-file", file, hint=hint)
    if partitioned:
        refuse_partition_signs("DuckDB", file, "\\?")


def _open_spark(paths: Sequence[str], options: InputOptions) -> Frame:
    session = _spark_session(options.spark_conf)
    remote = any("://" in path for path in paths)

    def read(files: list[str], keys: list[str], _above: list[str]) -> Any:
        option: tuple[str, Any] = ("mergeSchema" if remote else "recursiveFileLookup", True)
        if keys:
            option = ("basePath", os.path.abspath(paths[0]))
        if not remote:  # brackets and braces would be patterns
            files = [re.sub(r"([\[\]{}*?\\])", r"\\\1", os.path.abspath(file)) for file in files]
        inference = session.conf.get(PARTITIONS, "true")
        session.conf.set(PARTITIONS, "false")
        try:
            rows = session.read.option(*option).parquet(*files)
        finally:
            session.conf.set(PARTITIONS, inference)
        if keys and any(re.search("%[89A-Fa-f]", file) for file in files):
            # Spark takes each byte of a letter in a path for a letter
            functions = import_module("pyspark.sql.functions")
            rows = rows.withColumns({key: _decoded(functions, key) for key in keys})
        return rows

    is_table = len(paths) == 1 and _is_table_name(paths[0])
    if not (is_table or remote):
        return read_parquet_files(paths, options, read)
    table = session.table(paths[0]) if is_table else read([*paths], [], [])
    frame: Frame = nw.from_native(table).lazy()
    return frame


def _decoded(functions: Any, key: str) -> Any:
    """Return a column of text, whose letters are bytes of UTF-8, decoded."""
    return functions.decode(functions.encode(key, "ISO-8859-1"), "UTF-8")


def _spark_session(settings: Mapping[str, str]) -> Any:
    """Return the session that is running, else a new one that writes nothing to the screen.

    settings: of the session; that of `SERVER` is the address of a server of Spark Connect.
    """
    remote = settings.get(SERVER)
    conf = {name: value for name, value in settings.items() if name != SERVER}
    sql = _library("pyspark.sql", "spark")
    import logging  # which a start without Spark does not need

    for logger in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    for text in ("PySpark does not yet fully support pandas", r"\[RETRIES_EXCEEDED\]"):
        warnings.filterwarnings("ignore", text)
    if (running := sql.SparkSession.getActiveSession()) is not None and remote is None:
        refuse_lenient_session(running)
        return running
    builder = sql.SparkSession.builder.appName("clfeval")
    served = remote is not None or "SPARK_REMOTE" in os.environ
    if remote is not None:
        builder = builder.remote(remote)
    elif not served and "spark.master" not in conf:
        builder = builder.master("local[*]")
    for name, value in {**({} if served else OWN), **conf}.items():
        builder = builder.config(name, value)
    try:
        with _without_chatter(), keeping_interrupt_handler(), warnings.catch_warnings():
            if served:
                warnings.simplefilter("error", UserWarning)  # a setting that the server refuses
                _await_server(remote or os.environ["SPARK_REMOTE"])
            session = builder.getOrCreate()
            if served:  # by default it asks a lost server for half an hour
                retries = import_module("pyspark.sql.connect.client.retries")
                session.client.set_retry_policies([retries.DefaultPolicy(max_retries=5)])
    except Exception as error:
        message = f"no Spark session: {first_line(error)}"
        hint = _no_session_hint(error, served=served)
        raise UsageError.new(message, "no-library", hint=hint) from error
    refuse_lenient_session(session)
    if not served:
        session.sparkContext.setLogLevel("OFF")
    return session


def _await_server(address: str) -> None:
    """Wait up to `PATIENCE` seconds for a server of Spark Connect; TimeoutError without an answer.

    Errors: those of pyspark, for an address that is not one.
    """
    grpc = import_module("grpc")
    client = import_module("pyspark.sql.connect.client")
    channel = client.DefaultChannelBuilder(address).toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=PATIENCE)
    except grpc.FutureTimeoutError as error:
        raise TimeoutError(f"no server answers at {address}") from error
    finally:
        channel.close()


def _no_session_hint(error: Exception, *, served: bool) -> str:
    """Return what to do without a session of Spark; served: by a server of Spark Connect."""
    if not served and which("java") is None and "JAVA_HOME" not in os.environ:
        return "Spark 4 needs Java 17 or later: apt install default-jre-headless, or the like"
    if served and not isinstance(error, ImportError):
        address = f"{OPTION}--spark-conf {SERVER}=sc://HOST:PORT{END}"
        return f"look at the address in {address}, and at the other values"
    return f"pip install 'clfeval[spark]', and look at the values of {OPTION}--spark-conf{END}"


def refuse_lenient_session(session: Any) -> None:
    """Raise UsageError for a session that reads any text as a number, or as a missing one."""
    if str(session.conf.get(STRICT, "true")).lower() != "true":
        message = f"this Spark session reads any text as a number: {STRICT} is false"
        raise UsageError.new(message, "bad-option", hint=f'session.conf.set("{STRICT}", "true")')


@contextmanager
def keeping_interrupt_handler() -> Iterator[None]:
    """Keep a program's own handler of Ctrl-C, for which Spark puts one that prints a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and handler not in (None, signal.default_int_handler):
            signal.signal(signal.SIGINT, handler)


@contextmanager
def _without_chatter() -> Iterator[None]:
    """Keep the standard error of a program that starts here, such as the JVM, from the screen."""
    sys.stderr.flush()
    standard_error = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(standard_error, 2)
        os.close(standard_error)
        os.close(nowhere)


def _library(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        hint = f"pip install 'clfeval[{extra}]'"
        raise UsageError.new(
            f"{OPTION}--engine{END} {extra} needs {name}", "no-library", hint=hint
        ) from error
