"""Run of a command: files, computation, gates, output; the commands history, batch, example."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clfeval.api.texts import fill_result
from clfeval.cli.output import (
    Output,
    Screen,
    annotate,
    bug_line,
    capture_engine_output,
    detect_screen,
    error_lines,
    gate_lines,
    print_notes,
    print_result,
    requested_output,
    show_spinner,
    stdout_pieces,
    wants_json,
)
from clfeval.compare.gates.kinds import gate_sentence
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history.file import HistoryOptions, append_entries, check_target
from clfeval.errors import ExitCode, UsageError, bad_option, format_command_line
from clfeval.formatting import format_count
from clfeval.options.declaration import Command, Opt, build_group
from clfeval.output_files import Draft
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import DRY_RUN, HISTORY, SUITE
from clfeval.placeholders import END, OPTION, fill_for_shell
from clfeval.records import dataclass, replace
from clfeval.tables.input import split_path
from clfeval.views.files import (
    PICTURES,
    OutputRequest,
    SavedFiles,
    refuse_unsaved_rows,
    table_or_first,
)

if TYPE_CHECKING:
    from clfeval.document import Document
    from clfeval.suite.plan import HistoryTarget
    from clfeval.suite.running import RunOutcome
    from clfeval.views.ci import Finding

MAX_GATE_LINES = 50  # missed gates listed, at most


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """What a command line asks for, besides the options of the computation.

    tables: names of files that are read. dry: write no file. rows: files hold the rows of the input
    with the columns of stored calibrators.
    """

    command: str
    tables: Sequence[str]
    output: Output
    gates: Gates
    history: HistoryOptions | None = None
    dry: bool = False
    rows: bool = False

    @property
    def batch(self) -> bool:
        """True for a batch, whose runs print and write on their own."""
        return self.command == SUITE

    @property
    def append(self) -> str | None:
        """The history to which the measures are appended."""
        return self.history.append if self.history else None

    @property
    def protected_files(self) -> list[str]:
        """Files that no output may replace."""
        return [*self.tables, *(name for name in (self.gates.baseline, self.append) if name)]

    @property
    def shows_tables_of_plan(self) -> bool:
        """True where all tables to show are those of a dry run, not of the result."""
        if self.batch or not self.dry or not self.output.show:
            return False
        return {*self.output.show} <= {table.name for table in page_of(DRY_RUN).tables}


def run_command(
    request: CommandRequest,
    compute: Callable[[], Document],
    *,
    findings: Sequence[Finding] | None = None,
    describe: Callable[[Document], Sequence[str]] = lambda _: (),
) -> None:
    """Compute, save and print the output that a command line requests.

    Options are checked before `compute` reads the table and judges the gates. describe: further
    notes. findings: annotations of a batch, filled by `compute`, instead of those of the gates.
    Raises UsageError for a file that cannot be written, after the result is printed, and typer.Exit
    when a gate is missed.
    """
    if request.append is not None:
        check_target(request.append, request.tables)
    screen = detect_screen()
    shows_plan = request.shows_tables_of_plan
    output_request = requested_output(request.output, DRY_RUN if shows_plan else request.command)
    output_request = replace(output_request, rows=request.rows)
    if request.rows and not request.dry:
        refuse_unsaved_rows(request.output.save)
    with SavedFiles(
        request.output.save,
        inputs=request.protected_files,
        gates=request.gates.any or request.batch,
        option=f"{OPTION}--save{END} ",
        command=request.command,
        request=output_request,
    ) as saved_files:
        result = _compute_with_spinner(request, compute)
        if request.dry:  # further options are about the result
            request = replace(request, output=replace(request.output, show=()))
            csv_table = output_request.table if shows_plan else None
            output_request = replace(output_request, names=(), table=csv_table)
        table_or_first(result, output_request.table)  # before any file is replaced
        _check_requested_tables(result, request.output)
        result = fill_result(result, fill_for_shell, saved_files.notes)
        notes, write_error = _write_files(result, request, saved_files, output_request)
        notes += describe(result)
        pieces = stdout_pieces(result, output_request, request.output, screen)
        print_result(pieces, for_people=request.output.format == "table")
    _print_result_notes(result, notes, request.output, screen)
    if write_error is not None:
        raise write_error
    _print_annotations(result, request, findings)
    if request.dry:
        _refuse_ambiguous_plan(result)
    if not result.passed:
        raise typer.Exit(int(result.summary.get("code", ExitCode.GATE_MISSED)))


def _compute_with_spinner(request: CommandRequest, compute: Callable[[], Document]) -> Document:
    """Return the result; a batch prints its own progress."""
    spinner = nullcontext() if request.batch else show_spinner(request.tables)
    with nullcontext() if request.output.verbose else capture_engine_output(), spinner:
        import clfeval.tables.prediction_files  # noqa: F401  # first, or polars undoes the next line

        if hasattr(signal, "siginterrupt"):  # else Ctrl-C does not end a blocking read
            signal.siginterrupt(signal.SIGINT, True)
        return compute()


def _check_requested_tables(result: Document, output: Output) -> None:
    """Raise UsageError for tables to show that the result lacks; pictures are only saved."""
    if not output.show:
        return
    from clfeval.views.table_layout import check_available

    saves_pictures = any(name.lower().endswith(PICTURES) for name in output.save)
    pictures = page_of(result.command).pictures if saves_pictures else ()
    check_available(result, [name for name in output.show if name not in pictures])


def _write_files(
    result: Document,
    request: CommandRequest,
    saved_files: SavedFiles,
    output_request: OutputRequest,
) -> tuple[list[str], UsageError | None]:
    """Write the files and the lines of the history, unless dry.

    Return a note on each, and the error that stopped it: a result outlives what cannot be written.
    """
    notes = list[str]()
    if request.dry:
        return notes, None
    try:
        notes += [f"wrote {name}" for name in saved_files.write(result, output_request)]
        if request.history and request.append is not None:
            from clfeval.api.baseline import history_entries

            append_entries(request.append, history_entries(result, request.history.label or ""))
            notes.append(f"wrote {request.append}")
    except UsageError as error:
        return notes, error
    return notes, None


def _print_annotations(
    result: Document, request: CommandRequest, findings: Sequence[Finding] | None
) -> None:
    """Print the annotations for a CI server: the given ones, else those of the gates."""
    if request.output.annotate:
        from clfeval.views.ci import gate_findings

        if findings is None:
            findings = gate_findings(result.gates, request.tables, result.inputs)
        annotate(request.output.annotate, findings, dry=request.dry)


def _refuse_ambiguous_plan(result: Document) -> None:
    """Print the readings of an ambiguous table, and raise typer.Exit for it."""
    if not result.summary["ambiguities"]:
        return
    if result.parameters.get("offer"):
        print_notes(f"try: {result.parameters['offer']}")
    for row in result.tables.get("readings", ()):  # a batch has them by run
        print_notes(f"- {row['meaning']}", f"    {row['command']}")
    raise typer.Exit(int(ExitCode.DATA))


def _print_result_notes(
    result: Document, notes: Sequence[str], output: Output, screen: Screen
) -> None:
    """Print to stderr what stdout lacks: warnings, names of files, missed gates."""
    prints_table = output.format == "table"
    if not output.quiet:
        for warning in () if prints_table else result.warnings:
            print_notes(f"note: {warning.message} [{warning.code}]")
        writes_csv = output.format == "csv" or any(note.endswith(".csv") for note in notes)
        if result.methods and writes_csv:
            methods_text = ", ".join(result.methods)
            print_notes(
                f"note: CSV holds one table of {result.command}; "
                f"for {methods_text} use {OPTION}--format json{END}"
            )
        print_notes(*notes)
    shows_gates = prints_table and screen.tty  # the table on the terminal has them
    if not shows_gates and result.command != SUITE:
        missed_gates = [gate for gate in result.gates if not gate.passed]
        gate_texts = [
            f"{'gate missed' if gate.failed else 'warning'}: {gate_sentence(gate)}"
            for gate in missed_gates
        ]
        unlisted_count = len(gate_texts) - MAX_GATE_LINES
        if unlisted_count > 0:
            gate_texts[MAX_GATE_LINES:] = [f"  ... {unlisted_count:,} more gates missed"]
        print_notes(*(gate_lines(result.gates) if wants_json() else gate_texts))


LINES = "Lines"  # panel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TrendOptions:
    """Options on the lines of a history to show, and on accepting the last of them."""

    command: Annotated[str | None, Opt("Command whose lines are shown; default report.", LINES)] = (
        None
    )
    label: Annotated[str | None, Opt("Last label to show, or the label to accept.", LINES)] = None
    accept: Annotated[bool, Opt("Accept a label as reference for later runs.", LINES)] = False


HISTORY_COMMAND = Command(
    "history",
    (TrendOptions,),
    have="a history of results",
    want="what changed, and since when",
    help="Show how measures changed over a history; accept a result.",
    examples="""clfeval history history.jsonl
clfeval history history.jsonl --label 2026-W47 --accept
clfeval report week.csv --append history.jsonl --label 2026-W48
""",
    tables="A history file, written by --append.",
    files="HISTORY.jsonl",
    brief="command label accept format show save",
)


def show_history(_: Command, files: Sequence[str], values: Mapping[str, Any]) -> None:
    """Print a history like the result of a command; UsageError for several files."""
    trend_options = build_group(TrendOptions, values)
    file_name, *other_files = files
    if other_files:
        raise bad_option("history takes one file", f"clfeval history {file_name}")

    def compute() -> Document:
        from clfeval.api.baseline import history_trend
        from clfeval.api.texts import fill_result

        trend_document = history_trend(
            file_name, trend_options.command, accept=trend_options.accept, label=trend_options.label
        )
        return fill_result(trend_document, fill_for_shell)

    def describe(result: Document) -> list[str]:
        label = trend_options.label or result.parameters["last"]
        return [f"accepted {label} in {file_name}"] if trend_options.accept else []

    request = CommandRequest(HISTORY, [file_name], build_group(Output, values), Gates())
    run_command(request, compute, describe=describe)


BATCHES = "Batches"  # panel
MAX_PAGES = 20  # runs whose results are shown on the page of a batch
MAX_RUN_LINES = 16  # of one run on standard error: an error with four readings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BatchOptions:
    """Options on the batch, its runs, and failures."""

    variables: Annotated[
        tuple[str, ...],
        Opt("Set a variable; repeat.", BATCHES, flags=("--set",), metavar="NAME=VALUE"),
    ] = ()
    only: Annotated[
        tuple[str, ...],
        Opt("Run only runs of this name or pattern; repeat.", BATCHES, metavar="NAME"),
    ] = ()
    fail_fast: Annotated[bool, Opt("Stop at the first run that fails.", BATCHES)] = False
    dry_run: Annotated[bool, Opt("Check everything and compute nothing.", BATCHES)] = False
    label: Annotated[
        str | None, Opt("Label of the appended results: a week, a commit.", BATCHES)
    ] = None
    accept: Annotated[bool, Opt("Accept the new results unless a gate is missed.", BATCHES)] = False
    print_schema: Annotated[
        bool, Opt("Print the JSON Schema of a batch file and exit.", BATCHES)
    ] = False


BATCH = Command(
    "batch",
    (BatchOptions,),
    have="a YAML file of runs",
    want="all runs, with gates and history",
    help="Run the commands of a YAML file and check their gates.",
    examples="""clfeval batch suite.yaml
clfeval batch suite.yaml --only weekly --set out=results
clfeval batch suite.yaml production.yaml --dry-run
clfeval batch --print-schema > suite.schema.json
""",
    tables="YAML files; a later file replaces keys of earlier ones.",
    optional=True,
    files="SUITE.yaml",
    brief="set only fail-fast dry-run label accept print-schema show save quiet",
)


def run_batch(_: Command, files: Sequence[str], values: Mapping[str, Any]) -> None:
    """Run a batch like a command: files are opened first, the result is printed once."""
    from clfeval.suite.plan import build_plan
    from clfeval.suite.running import MAX_OUTCOME_LINES, execute_runs, suite_result

    batch_options = build_group(BatchOptions, values)
    output = build_group(Output, values)
    if batch_options.print_schema:
        from clfeval.suite.schema import suite_schema

        schema_text = dumps(suite_schema(Output), indent=1, ensure_ascii=False)
        print_result([schema_text, "\n"], for_people=False)
        return
    if not files:
        raise bad_option("batch needs a YAML file", "run clfeval batch suite.yaml")
    is_dry = batch_options.dry_run
    writes_page = any(name.lower().endswith(".html") for name in output.save)
    plan = build_plan(
        files,
        Output,
        variables=batch_options.variables,
        only=batch_options.only,
        label=batch_options.label,
        accept=batch_options.accept,
    )
    run_count = len(plan.runs)

    findings: list[Finding] = []

    def compute() -> Document:
        outcomes = []
        listener = print_notes if output.verbose else None
        runs = execute_runs(
            plan.runs,
            dry=is_dry,
            fail_fast=batch_options.fail_fast,
            listener=listener,
            history=plan.history,
            keep=run_count <= MAX_PAGES and writes_page,
        )
        for run_number, outcome in enumerate(runs, start=1):
            _print_outcome(f"[{run_number}/{run_count}] ", outcome, output)
            if output.annotate:
                findings.extend(_findings(outcome, files[-1]))
            # large texts are not kept: the result has their first lines
            outcomes.append(replace(outcome, lines=outcome.lines[:MAX_OUTCOME_LINES], fault=None))
        if plan.history is not None and plan.history.accept and not (is_dry or output.quiet):
            _print_acceptance(plan.history, passed=not any(outcome.code for outcome in outcomes))
        return suite_result(plan, outcomes, dry=is_dry)

    paths_of_runs = [
        path for run in plan.runs for path in (*run.reads, *run.input_patterns, *run.save)
    ]
    paths_of_runs += [plan.history.file] if plan.history else []
    protected_paths = [*files, *dict.fromkeys(paths_of_runs)]
    request = CommandRequest(SUITE, protected_paths, output, Gates(), dry=is_dry)
    run_command(request, compute, findings=findings)


def _print_acceptance(history: HistoryTarget, *, passed: bool) -> None:
    """Print whether the label of a batch became the reference in its history."""
    note = f"accepted {history.label} in {history.file}"
    if not passed:
        note = (
            f"{history.label} is not accepted in {history.file}: a gate was missed, or a run failed"
        )
    print_notes(note)


def _findings(outcome: RunOutcome, yaml_file: str) -> list[Finding]:
    """Return the annotations of a run; those without a file refer to the YAML file."""
    from clfeval.views.ci import bug_findings, error_findings, gate_findings

    table_files = (path for _, path in map(split_path, outcome.run.files))
    findings = gate_findings(outcome.gates, [*filter(os.path.isfile, table_files), yaml_file], ())
    if outcome.fault is not None:
        findings += error_findings(outcome.fault)
    elif outcome.code == ExitCode.BUG:
        findings += bug_findings(outcome.lines[:-1])
    return findings


def _print_outcome(prefix: str, outcome: RunOutcome, output: Output) -> None:
    """Print the outcome of a run: one line, with its errors below."""
    from clfeval.pages.batches import DOUBTFUL, FAILED

    run_name = outcome.run.name
    is_failure = outcome.state in (FAILED, DOUBTFUL)
    is_bug = outcome.code == ExitCode.BUG
    printed_lines = outcome.lines if output.verbose or is_bug else outcome.lines[:MAX_RUN_LINES]
    if not output.quiet or (outcome.code and not wants_json()):
        remark = f" ({outcome.run.place})" if is_failure else ""
        if printed_lines and not is_failure and not (outcome.code and wants_json()):
            remark = _outcome_remark(outcome, printed_lines, verbose=output.verbose)
        print_notes(f"{prefix}{run_name}: {_outcome_state(outcome)}{remark}")
    if wants_json() and outcome.fault is not None:
        print_notes(*error_lines(outcome.fault, run=run_name))
    elif wants_json() and is_bug:
        print_notes(bug_line(outcome.lines[:-1], outcome.lines[-1], run=run_name))
    elif wants_json():
        print_notes(*gate_lines([replace(gate, run=None) for gate in outcome.gates], run=run_name))
    elif is_failure:
        print_notes(*(f"{run_name}: {line}" for line in printed_lines))
    if output.verbose:
        print_notes(*(f"{run_name}: wrote {path}" for path in outcome.saved))


def _outcome_state(outcome: RunOutcome) -> str:
    """Return the state of a run, with the number of its warnings."""
    from clfeval.pages.batches import MET, WARNED

    if outcome.state != WARNED:
        return outcome.state
    return f"{MET}, {format_count(outcome.warned, 'warning')}"


def _outcome_remark(outcome: RunOutcome, lines: Sequence[str], *, verbose: bool) -> str:
    """Return the lines of a run that follow its state; of a passed run the first, unless verbose.

    lines: the first lines of the outcome, or all of them.
    """
    from clfeval.pages.batches import WAITS

    printed_lines = lines if outcome.code or verbose else lines[:1]
    unprinted_count = len(outcome.lines) - len(printed_lines)
    remark = f"{' ' if outcome.state == WAITS else ': '}{'; '.join(printed_lines)}"
    return f"{remark}; {unprinted_count:,} more" if unprinted_count else remark


TABLES = Path(__file__).parent.parent / "example"
READABLE = 0o644
TRIES = (
    ("report", "scores.csv", "--positive", "malignant"),
    ("mars", "labels.csv", "--positive", "malignant"),
    ("phidelta", "labels.csv", "--positive", "malignant"),
    ("tune-jpt", "scores.csv", "--positive", "malignant", "--prevalence", "0.01"),
    ("mlcps", "metrics.csv"),
)
EXAMPLE = Command(
    "example",
    (),
    have="no table yet",
    want="how it works, on a real table",
    help="Write example tables: predictions of six breast cancer classifiers.",
    examples="clfeval example\nclfeval example tables\n",
    tables="The folder; by default the current one. It is created if missing.",
    optional=True,
    files="DIR",
)


def write_example(_: Command, folders: Sequence[str], __: Mapping[str, Any]) -> None:
    """Write the example tables, and print commands to try; UsageError rather than overwrite."""
    if len(folders) > 1:
        raise bad_option("example takes one folder", f"clfeval example {folders[0]}")
    folder = Path(*folders)
    text_by_path = {
        folder / source.name: source.read_text("utf-8") for source in sorted(TABLES.glob("*.csv"))
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in text_by_path.items():
            if path.exists() and path.read_text("utf-8", errors="replace") != text:
                message = "a different file has this name"
                hint = "name another folder: clfeval example DIR"
                raise UsageError.new(message, "output", f"{path}", hint=hint)
        for path, text in text_by_path.items():
            with closing(Draft(path)) as draft:
                draft.stream.write(text)
                draft.replace_target(READABLE)
    except OSError as error:
        message = f"cannot write the example: {error.strerror}"
        raise UsageError.new(message, "output", f"{folder}") from None
    output_lines = [f"Wrote {', '.join(map(str, text_by_path))}. Now try, for example:\n"]
    for command, table_file, *option_words in TRIES:
        command_words = ["clfeval", command, str(folder / table_file), *option_words]
        output_lines.append(f"  {format_command_line(command_words)}\n")
    print_result(output_lines, for_people=True)
