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
from typing import Any

from clfeval.errors import DataError, UsageError, format_option
from clfeval.output_files import temporary_folder
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
SERVER_SETTING = "spark.remote"  # the setting that names a server of Spark Connect
PARTITIONS = "spark.sql.sources.partitionColumnTypeInference.enabled"
_RULES = ("PushDownPredicates", "PushPredicateThroughNonJoin", "InferFiltersFromConstraints")
WAREHOUSE = "spark.sql.warehouse.dir"
OWN_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    PARTITIONS: "false",
    "spark.sql.shuffle.partitions": "16",
    # they would copy the decimals of `with_shortest_decimals` many times
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _RULES
    ),
}


def reads_elsewhere(paths: Sequence[str], input_options: InputOptions) -> bool:
    """Return whether an engine other than polars is asked for, or a folder is given."""
    folders = [path for path in paths if os.path.isdir(path)]
    return input_options.engine not in (None, "polars") or any(map(parquet_files_of, folders))


def open_in_engine(paths: Sequence[str], input_options: InputOptions) -> TableFile:
    """Open Parquet files, folders or a table by name as one table of an engine, columns in order.

    A folder has its columns in the order of their names, as its files may differ in them; parts of
    paths such as `site=A` are columns of text. Raises UsageError without the library of the engine,
    DataError for what it cannot read.
    """
    engine = input_options.engine or "polars"
    table_name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    openers = {"polars": read_by_polars, "duckdb": _open_duckdb, "spark": _open_spark}
    frame = openers[engine](paths, input_options)
    columns = tuple(frame.collect_schema().names())
    odd_columns = [column for column in columns if engine == "spark" and {".", "`"} & {*column}]
    if odd_columns:
        message = "Spark cannot address this name"
        hint = "rename the column in the table"
        raise DataError.new(message, "bad-file", table_name, None, odd_columns[0], hint=hint)
    if not all(map(os.path.isfile, paths)) and not any(map(_is_table_name, paths)):
        columns = tuple(sorted(columns))
    check_names(table_name, columns)
    return TableFile(table_name, columns, native=frame.select(*columns))


@contextmanager
def engine_failures(name: str, engine: str) -> Iterator[None]:
    """Raise errors of an engine as those of clfeval, in one line.

    DataError for a table that it cannot read, UsageError for a session that is lost.
    """
    try:
        yield
    except Exception as error:
        has_stopped = isinstance(error, AttributeError) and "NoneType" in str(error)
        if not (has_stopped or isinstance(error, (OSError, *engine_errors()))):
            raise
        error_line = first_line(error)
        if isinstance(error, ImportError):  # pyspark without pyarrow
            hint = f"pip install 'clfeval[{engine}]'"
            raise UsageError.new(error_line, "no-library", name, hint=hint) from error
        if (
            engine != "spark"
            or type(error).__name__ in UNREADABLE
            or re.search(_UNREADABLE, error_line)
        ):
            hint = f"if a text means missing, add {format_option('--null-value', 'TEXT')}"
            hint = hint if re.search("CAST_INVALID_INPUT|Conversion Error", error_line) else ""
            message = f"{engine} cannot read it: {error_line}"
            raise DataError.new(message, "bad-file", name, hint=hint or None) from error
        message = f"spark failed: {error_line}"
        hint = "start it again; no file was written"
        raise UsageError.new(message, "engine-failed", name, hint=hint) from error


def counts_only(frame: object, input_options: InputOptions) -> bool:
    """Return whether the rows of a frame stay in an engine, from which only counts are read."""
    native = frame.to_native() if hasattr(frame, "to_native") else frame
    is_spark = type(native).__module__.partition(".")[0] == "pyspark"
    return frame is not None and (input_options.engine not in (None, "polars") or is_spark)


def refuse_unseen_nan(file: TableFile, column_names: Iterable[str | None]) -> None:
    """Raise DataError for NaN in columns of a user's DuckDB that it does not see in comparisons.

    It takes statistics of Parquet files, which leave NaN out, as a proof that there is none, if the
    connection that made a relation has not `disabled_optimizers`.
    """
    if (frame := file.native) is None or not frame.implementation.is_duckdb():
        return
    column_types = frame.collect_schema()
    requested = {*column_names}
    for name in column_types:
        if name not in requested or not column_types[name].is_float():
            continue
        column = nw.col(name)
        summary = collect(frame.select(maximum=column.max(), sees_nan=column.is_nan().any()))
        maximum = summary["maximum"].item()
        is_nan = maximum is not None and maximum != maximum
        if is_nan and not summary["sees_nan"].item():
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
    while cause is not None and (inner_cause := cause.getCause()) is not None:
        cause = inner_cause
    text = str(error if cause is None else cause.toString())
    if details := re.search(r'details = "(.+)"', text):  # the server is lost
        text = details[1]
    line = next((line.strip() for line in text.splitlines() if line.strip()), repr(error))
    return re.sub(r"^(\w+\.)+\w+: ", "", line)  # the class of Java


def _is_table_name(path: str) -> bool:
    """Return whether a name is that of a table rather than a path: `catalog.schema.table`."""
    table_name = path.rpartition(":")[2] if path.partition(":")[0].endswith(DATABASES) else path
    is_dotted = all(
        name_part.isidentifier() for name_part in table_name.replace("`", "").split(".")
    )
    return is_dotted and not os.path.exists(path) and not path.endswith(".parquet")


def _open_duckdb(paths: Sequence[str], input_options: InputOptions) -> Frame:
    """Return a table `DATABASE:TABLE`, or Parquet files, as a frame of DuckDB."""
    duckdb = _library("duckdb", "duckdb")
    database, _sign, table = paths[0].rpartition(":")
    is_in_database = database.endswith(DATABASES) and len(paths) == 1
    if not is_in_database and paths[0].endswith(DATABASES):
        message = f"{paths[0]} is a database: name a table of it"
        raise UsageError.new(message, "bad-option", hint=f"for example {paths[0]}:TABLE")
    database = database if is_in_database else ":memory:"
    connection = duckdb.connect(database, read_only=is_in_database)
    # it takes statistics of Parquet files, which leave NaN out, as a proof that there is none
    connection.execute("set disabled_optimizers = 'statistics_propagation,filter_pushdown'")

    def read(files: list[str], keys: list[str], outer_keys: list[str]) -> Any:
        return connection.sql(_duckdb_query(files, keys, outer_keys))

    if not is_in_database:
        return read_parquet_files(paths, input_options, read)
    frame: Frame = nw.from_native(connection.table(table)).lazy()
    return frame


def _duckdb_query(files: Sequence[str], keys: Sequence[str], outer_keys: Sequence[str]) -> str:
    """Return the query of all columns of Parquet files, whose names are taken literally.

    keys: columns of partitions. outer_keys: those of the path above the folder, which are left out.
    """
    for file in files:
        _refuse_duckdb_path(file, partitioned=bool(keys))
    quoted_paths = ", ".join(_quote_sql(_duckdb_path(file), "'") for file in files)
    excluded_columns = ", ".join(_quote_sql(column, '"') for column in outer_keys)
    exclude_clause = f" exclude ({excluded_columns})" if excluded_columns else ""
    partition_option = "true, hive_types_autocast=false" if keys else "false"
    source = f"read_parquet([{quoted_paths}], hive_partitioning={partition_option})"
    return f"select *{exclude_clause} from {source}"


def _quote_sql(text: str, quote_mark: str) -> str:
    return quote_mark + text.replace(quote_mark, 2 * quote_mark) + quote_mark


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


def _open_spark(paths: Sequence[str], input_options: InputOptions) -> Frame:
    """Return a table by name, or Parquet files, of this machine or at addresses, as a frame."""
    session = _spark_session(input_options.spark_conf)
    is_remote = any("://" in path for path in paths)

    def read(files: list[str], keys: list[str], _outer_keys: list[str]) -> Any:
        """Return the rows of Parquet files; keys: their partitions, which become columns."""
        read_option: tuple[str, Any] = ("mergeSchema" if is_remote else "recursiveFileLookup", True)
        if keys:
            read_option = ("basePath", os.path.abspath(paths[0]))
        if not is_remote:  # brackets and braces would be patterns
            files = [re.sub(r"([\[\]{}*?\\])", r"\\\1", os.path.abspath(file)) for file in files]
        user_inference = session.conf.get(PARTITIONS, "true")
        session.conf.set(PARTITIONS, "false")
        try:
            rows = session.read.option(*read_option).parquet(*files)
        finally:
            session.conf.set(PARTITIONS, user_inference)
        if keys and any(re.search("%[89A-Fa-f]", file) for file in files):
            # Spark takes each byte of a letter in a path for a letter
            functions = import_module("pyspark.sql.functions")
            rows = rows.withColumns({key: _decoded(functions, key) for key in keys})
        return rows

    is_table = len(paths) == 1 and _is_table_name(paths[0])
    if not (is_table or is_remote):
        return read_parquet_files(paths, input_options, read)
    table = session.table(paths[0]) if is_table else read([*paths], [], [])
    frame: Frame = nw.from_native(table).lazy()
    return frame


def _decoded(functions: Any, key: str) -> Any:
    """Return a column of text, whose letters are bytes of UTF-8, decoded."""
    return functions.decode(functions.encode(key, "ISO-8859-1"), "UTF-8")


def _own_settings() -> dict[str, str]:
    """Return the settings of a session that is not on a server."""
    return {**OWN_SETTINGS, WAREHOUSE: os.path.join(temporary_folder(), "spark-warehouse")}


def _spark_session(settings: Mapping[str, str]) -> Any:
    """Return the session that is running, else a new one that writes nothing to the screen.

    settings: of the session; that of `SERVER_SETTING` is the address of a server of Spark Connect.
    """
    server_address = settings.get(SERVER_SETTING)
    other_settings = {name: value for name, value in settings.items() if name != SERVER_SETTING}
    spark_sql = _library("pyspark.sql", "spark")
    import logging  # which a start without Spark does not need

    for logger_name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(logger_name).setLevel(logging.CRITICAL + 1)
    for warning_pattern in ("PySpark does not yet fully support pandas", r"\[RETRIES_EXCEEDED\]"):
        warnings.filterwarnings("ignore", warning_pattern)
    if (
        running_session := spark_sql.SparkSession.getActiveSession()
    ) is not None and server_address is None:
        refuse_lenient_session(running_session)
        return running_session
    builder = spark_sql.SparkSession.builder.appName("clfeval")
    uses_server = server_address is not None or "SPARK_REMOTE" in os.environ
    if server_address is not None:
        builder = builder.remote(server_address)
    elif not uses_server and "spark.master" not in other_settings:
        builder = builder.master("local[*]")
    for name, value in {**({} if uses_server else _own_settings()), **other_settings}.items():
        builder = builder.config(name, value)
    try:
        with _without_chatter(), keeping_interrupt_handler(), warnings.catch_warnings():
            if uses_server:
                warnings.simplefilter("error", UserWarning)  # a setting that the server refuses
                _await_server(server_address or os.environ["SPARK_REMOTE"])
            session = builder.getOrCreate()
            if uses_server:  # by default it asks a lost server for half an hour
                retry_module = import_module("pyspark.sql.connect.client.retries")
                session.client.set_retry_policies([retry_module.DefaultPolicy(max_retries=5)])
    except Exception as error:
        message = f"no Spark session: {first_line(error)}"
        hint = _no_session_hint(error, uses_server=uses_server)
        raise UsageError.new(message, "no-library", hint=hint) from error
    refuse_lenient_session(session)
    if not uses_server:
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


def _no_session_hint(error: Exception, *, uses_server: bool) -> str:
    """Return what to do without a session of Spark; uses_server: it is one of Spark Connect."""
    if not uses_server and which("java") is None and "JAVA_HOME" not in os.environ:
        return "Spark 4 needs Java 17 or later: apt install default-jre-headless, or the like"
    if uses_server and not isinstance(error, ImportError):
        address = f"{OPTION}--spark-conf {SERVER_SETTING}=sc://HOST:PORT{END}"
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
    null_device = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null_device, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(standard_error, 2)
        os.close(standard_error)
        os.close(null_device)


def _library(name: str, extra: str) -> Any:
    """Return a module; UsageError without it. extra: that of clfeval which installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        hint = f"pip install 'clfeval[{extra}]'"
        raise UsageError.new(
            f"{OPTION}--engine{END} {extra} needs {name}", "no-library", hint=hint
        ) from error
