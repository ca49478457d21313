"""Command lines built from the declared options of commands, and hints on mistyped ones."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from inspect import Parameter, Signature, cleandoc
from itertools import repeat
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption
from typer.main import get_command

from clfeval import COMMANDS
from clfeval.cli import help_and_completion as completion
from clfeval.cli import run
from clfeval.cli.output import OUTPUT, Output, print_notes, print_result
from clfeval.compare.gates.limits import GATES, Gates
from clfeval.compare.history.file import HISTORY, HistoryOptions
from clfeval.errors import UsageError, bad_option, format_command_line, say_which_have_it
from clfeval.methods.command_lookup import command_of
from clfeval.methods.options import INTERVALS
from clfeval.options.declaration import COLUMNS, READING, Command, Option, build_group, options_of
from clfeval.options.syntax import MEANT, MEANT_ELSEWHERE
from clfeval.placeholders import fill_for_shell
from clfeval.tables.input import split_calibrator, split_path
from clfeval.views.files import format_of_file, refuse_method_without_sql

if TYPE_CHECKING:
    from clfeval.document import Document
    from clfeval.tables.columns import OpenedTable

KIND = Parameter.POSITIONAL_OR_KEYWORD
RESULT_GROUPS = (Output, Gates, HistoryOptions)  # option groups on the result, for every command
CommandFunction = Callable[[Command, Sequence[str], Mapping[str, Any]], None]
# commands that read no table of predictions: declaration, function, option groups on the result
OTHERS: Mapping[str, tuple[Command, CommandFunction, tuple[type, ...]]] = {
    run.BATCH.name: (run.BATCH, run.run_batch, (Output,)),
    run.HISTORY_COMMAND.name: (run.HISTORY_COMMAND, run.show_history, (Output,)),
    run.EXAMPLE.name: (run.EXAMPLE, run.write_example, ()),
}
# panels of every command in order; its own are in place of the empty one
PANELS = (READING, COLUMNS, "", INTERVALS, OUTPUT, GATES, HISTORY)
# completion functions by kind of value, and the name of the value in help
COMPLETES: Mapping[str | None, tuple[Callable[..., Any] | None, str | None]] = {
    None: (None, None),
    "column": (completion.complete_column, "COLUMN"),
    "model": (completion.complete_model, "MODEL"),
    "class": (completion.complete_class, "LABEL"),
    "metric": (completion.complete_metric, "METRIC"),
    "measure": (completion.complete_measure, "MEASURE"),
    "shown": (completion.complete_show, "NAME"),
    "ranked": (completion.complete_ranked, "METRIC"),
}
HELP = 80  # columns of the short help
SPELT = 24  # characters of choices that help lists next to the option
TYPES: Mapping[Any, str | None] = {int: "N", float: "X", bool: None}


class BriefHelpCommand(TyperCommand):
    """A command whose --help has the common options, and --help-all has all."""

    declared: Command
    seldom: frozenset[str] = frozenset()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; UsageError for a single-valued option given twice."""
        with suggest_other_commands(str(self.name), [*args]):
            parameters_in_order: list[Any] = []
            if not ctx.resilient_parsing:
                _, _, parameters_in_order = self.make_parser(ctx).parse_args([*args])
            for parameter, times in Counter(parameters_in_order).items():
                takes_one_value = isinstance(parameter, TyperOption) and not (
                    parameter.is_flag or parameter.multiple
                )
                if times > 1 and takes_one_value:
                    message = f"{parameter.opts[-1]} takes one value but is given {times} times"
                    raise bad_option(message, hint="give it once")
            remaining: list[str] = super().parse_args(ctx, args)
            return remaining

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the short help: purpose, examples, and the most used options."""
        if not self.seldom and self.declared.options():
            super().format_help(ctx, formatter)
            return
        command = self.declared
        usage_pieces = self.collect_usage_pieces(ctx)
        all_options = (option for option in self.params if isinstance(option, TyperOption))
        brief_options = [option for option in all_options if option.name not in self.seldom]
        flag_help_pairs = [
            (f"{option.opts[-1]} {option.metavar or ''}".rstrip(), str(option.help))
            for option in brief_options
        ]
        flag_width = max([len(flag) for flag, _ in flag_help_pairs], default=0) + 2
        help_lines = [
            f"Usage: {ctx.command_path} {' '.join(usage_pieces)}",
            "",
            command.help.split("\n\n")[0],
            "",
        ]
        help_lines += [*(f"  {example}" for example in command.examples.splitlines()[:4]), ""]
        for flag, help_text in flag_help_pairs:
            first_line, *continuation = wrap(help_text, HELP - flag_width - 2)
            help_lines += [
                f"  {flag:{flag_width}}{first_line}",
                *(f"  {'':{flag_width}}{line}" for line in continuation),
            ]
        if self.seldom:
            note = f"{len(self.seldom)} more options: {ctx.command_path} --help-all"
            help_lines += ["", f"{note}; clfeval --guide {command.name}"]
        print_result([f"{line}\n" for line in help_lines], for_people=True)


def find_declaration(name: str) -> tuple[Command, CommandFunction, tuple[type, ...]]:
    """Return a command, the function that runs it, and its option groups on the result."""
    if name in OTHERS:
        return OTHERS[name]
    return command_of(name), compute_command, RESULT_GROUPS


def find_option(command_name: str, flag: str) -> Option | None:
    """Return the option of a command with this flag, even if a shell lacks it."""
    command, _, result_groups = find_declaration(command_name)
    options = command.options(*result_groups)
    return next((option for option in options if flag in (*option.opt.flags, option.flag)), None)


def _help_all(ctx: typer.Context, requested: bool) -> None:
    if requested:
        ctx.command.seldom = frozenset()  # type: ignore[attr-defined]
        ctx.get_help()  # prints the help, as rich does
        raise typer.Exit


_HELP_ALL: Any = typer.Option(
    "--help-all", help="Show all options.", callback=_help_all, is_eager=True
)
_EXPLAIN: Any = typer.Option(
    "--explain",
    help="Explain a heading, measure or code; measures lists all.",
    metavar="NAME",
    callback=completion.explain_name,
    is_eager=True,
    autocompletion=completion.complete_explain,
)
EAGER = (  # options that print something and exit
    Parameter("help_all", KIND, default=False, annotation=Annotated[bool, _HELP_ALL]),
    Parameter("explain", KIND, default=None, annotation=Annotated[str | None, _EXPLAIN]),
)


def build_typer_command(name: str) -> Any:
    """Build the typer command of a declared command."""
    command, run_function, result_groups = find_declaration(name)
    options = [option for option in command.options(*result_groups) if option.opt.shell]

    def callback(tables: list[str] | None, **texts: object) -> None:
        option_values = {
            option.name: _parse_value(option, texts[option.name]) for option in options
        }
        run_function(command, tables or [], option_values)

    eager_parameters: tuple[Parameter, ...] = EAGER
    if name in OTHERS:  # these explain no names, and without options have no longer help
        eager_parameters = EAGER[:1] if options else ()
    sorted_options = sorted(options, key=_panel_position)
    parameters = [
        _tables_parameter(command),
        *eager_parameters,
        *map(_typer_parameter, sorted_options),
    ]
    callback.__doc__ = f"{cleandoc(command.help)}\n\n\b\n{command.examples}"
    callback.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    callback.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app = typer.Typer(add_completion=False)
    app.command(name, cls=BriefHelpCommand)(callback)
    typer_command: Any = get_command(app)
    typer_command.declared = command
    brief_flags = {f"--{word}" for word in command.brief.split()}
    typer_command.seldom = frozenset(
        parameter.name
        for parameter in typer_command.params
        if isinstance(parameter, TyperOption) and brief_flags.isdisjoint(parameter.opts)
    )
    return typer_command


def _panel_position(option: Option) -> int:
    """Return the position of an option's panel in the help; a command's own are in one place."""
    return PANELS.index(option.opt.panel if option.opt.panel in PANELS else "")


def _tables_parameter(command: Command) -> Parameter:
    """Return the typer parameter of the tables, or other files, of a command."""
    metavar = f"[{command.files}...]" if command.optional else f"{command.files}..."
    typer_argument = typer.Argument(metavar=metavar, help=command.tables, show_default=False)
    default: Any = [] if command.optional else Parameter.empty
    return Parameter(
        "tables", KIND, default=default, annotation=Annotated[list[str], typer_argument]
    )


def compute_command(command: Command, tables: Sequence[str], values: Mapping[str, Any]) -> None:
    """Run a command that computes; values: its options and those on the result."""
    output = build_group(Output, values)
    gates = build_group(Gates, values)
    history = build_group(HistoryOptions, values)
    options = command.options()
    dry_run = bool(values["dry_run"])
    command_values = {
        option.name: values[option.name] for option in options if option.name in values
    }

    def print_reading(table: OpenedTable) -> None:
        if not output.quiet:
            print_notes(table.described())

    def compute() -> Document:
        from clfeval.api.baseline import Listeners, check_with_gates, compute_with_gates
        from clfeval.api.texts import fill_result

        write_command = partial(command_line_with_fixes, sys.argv[1:], options)
        listeners = Listeners(print_reading, print_reading, write_command)
        arguments = (command, tables or None, command_values, gates, listeners)
        if dry_run:
            return fill_result(check_with_gates(*arguments), fill_for_shell)
        result = compute_with_gates(*arguments, label=history.label)
        return fill_result(result, fill_for_shell)

    option_files = (command_values.get(option.name) for option in options if option.opt.reads)
    calibrator_pairs = map(split_calibrator, command_values.get("model") or ())
    calibrator_files = [path for _, path in filter(None, calibrator_pairs)]
    table_files = [path for _, path in map(split_path, tables)]
    input_paths = [*table_files, *filter(None, option_files), *calibrator_files]
    adds_columns = command_values.get("calibrator") is not None
    refuse_method_without_sql(output.save, command_values.get("method"))
    request = run.CommandRequest(
        command.name, input_paths, output, gates, history, dry=dry_run, rows=adds_columns
    )
    run.run_command(request, compute)


def command_line_with_fixes(
    words: Sequence[str], options: Sequence[Option], fixes: Mapping[str, Any]
) -> str:
    """Write the command line with fixes added, without the options they replace."""
    options_by_name = {option.name: option for option in options}
    remaining = [word for word in words if word != "--dry-run"]
    added_words: list[str] = []
    for name, value in fixes.items():
        remaining = list(_words_without_option(remaining, options_by_name[name], value))
        added_words += _option_words(options_by_name[name], value)
    options_end = remaining.index("--") if "--" in remaining else len(remaining)
    return format_command_line(
        ["clfeval", *remaining[:options_end], *added_words, *remaining[options_end:]]
    )


def _words_without_option(words: Iterable[str], option: Option, new_value: object) -> Iterator[str]:
    """Yield the words of a command line without an option, or without its replaced values.

    new_value: the value that will be added, or None; a tuple is added to the existing values.
    """
    flags = {*(option.opt.flags or (option.flag,))}
    remaining_words = iter(words)
    for word in remaining_words:
        flag, value_text = _split_option_word(word, flags)
        if word == "--" or flag not in flags:
            yield word
            if word == "--":
                yield from remaining_words
            continue
        if option.kinds == (bool,):
            continue  # a switch has no value in the next word
        option_words = [word]
        if value_text is None:
            option_words += filter(None, [next(remaining_words, None)])
            value_text = option_words[-1]
        key_text, _, _ = value_text.rpartition("=")
        keeps_words = isinstance(new_value, tuple) and option.repeated
        if isinstance(new_value, Mapping):
            keeps_words = (key_text or None) not in new_value  # the key None means all models
        if keeps_words:
            yield from option_words


def _split_option_word(word: str, flags: Container[str]) -> tuple[str, str | None]:
    """Return a word of a command line as a flag, and the value in the same word or None."""
    if word[:2] in flags and len(word) > 2:  # -d';'
        return word[:2], word[2:]
    flag, equals, value_text = word.partition("=") if word.startswith("--") else (word, "", "")
    return flag, value_text if equals else None


def _option_words(option: Option, value: object) -> list[str]:
    """Write an option as words of a command line."""
    if value is None or isinstance(value, bool):
        return [option.flag] if value else []
    values = value if option.repeated and isinstance(value, tuple) else (value,)
    option_words = []
    key_value_pairs = value.items() if isinstance(value, Mapping) else zip(repeat(None), values)
    for mapping_key, value_part in key_value_pairs:
        prefix = "" if mapping_key is None else f"{mapping_key}="
        value_text = prefix + option.opt.write(value_part)
        option_words += (
            [f"{option.flag}={value_text}"]
            if value_text.startswith("-")
            else [option.flag, value_text]
        )
    return option_words


def _typer_type_and_default(option: Option) -> tuple[Any, Any]:
    """Return the type that typer reads for an option, and the default; texts are parsed later."""
    value_type: Any = option.kinds[0]
    default: Any = option.default
    if option.repeated:
        return list[str], []
    if option.opt.parse is not None or (
        value_type not in (str, int, float, bool) and not option.choices
    ):
        value_type = str
        default = default or None
    return (value_type | None if default is None else value_type), default


@cache  # most options belong to several commands
def _typer_parameter(option: Option) -> Parameter:
    """Return the typer parameter of an option."""
    opt = option.opt
    value_type, default = _typer_type_and_default(option)
    typer_checks_range = opt.panel == OUTPUT  # as nothing else checks options on output
    completion_function, metavar = COMPLETES[opt.completes]
    if not any(name.endswith("_COMPLETE") for name in os.environ):  # typer inspects each function
        completion_function = None
    choices_text = "|".join(option.choices)
    help_text = fill_for_shell(opt.help)
    if len(choices_text) > SPELT and opt.metavar is None:
        help_text = f"{help_text} One of {', '.join(option.choices)}."
        choices_text = option.field.rpartition("_")[2].upper()
    typer_option = typer.Option(
        *(opt.flags or (option.flag,)),
        help=help_text,
        rich_help_panel=opt.panel,
        metavar=opt.metavar or choices_text or metavar or TYPES.get(option.kinds[0], "TEXT"),
        min=opt.minimum if typer_checks_range else None,
        max=opt.maximum if typer_checks_range else None,
        show_default=not option.repeated,
        autocompletion=completion_function,
    )
    return Parameter(
        option.name, KIND, default=default, annotation=Annotated[value_type, typer_option]
    )


def _parse_value(option: Option, texts: Any) -> Any:
    """Return the value of an option parsed from the texts of the shell."""
    if option.opt.parse is None or texts is None or texts == []:
        return option.default if texts == [] else texts
    return option.opt.parse(option.flag, texts if isinstance(texts, list) else [texts])


@contextmanager
def suggest_other_commands(command: str, words: Sequence[str]) -> Iterator[None]:
    """Raise UsageError for an option that other commands have, naming them; words: arguments."""
    try:
        yield
    except Exception as error:  # recognised by its attributes: its class is not public
        flag = getattr(error, "option_name", "")
        command_names = (*COMMANDS, *OTHERS) if flag.startswith("--") else ()
        options_by_command = {name: find_option(name, flag) for name in command_names}
        owner_options = {
            name: option for name, option in options_by_command.items() if option is not None
        }
        shell_commands = [name for name, option in owner_options.items() if option.opt.shell]
        own_option = owner_options.get(command)
        meant_phrase = {**MEANT, **MEANT_ELSEWHERE}.get(flag)
        if (not owner_options and meant_phrase is None) or (own_option and own_option.opt.shell):
            raise  # second case: the command has the option, and another error occurred
        if meant_phrase is not None:
            message = f"{command} has no {flag}"
            raise UsageError.new(message, "command-line", hint=f"use {meant_phrase}") from None
        if own_option or not shell_commands:
            owner = command if own_option else next(iter(owner_options))
            raise _python_option_error(owner, owner_options[owner]) from None
        proposed_words = _words_that_apply(command, shell_commands[0], words)
        raise _command_error(
            f"{command} has no {flag}: {say_which_have_it(shell_commands)}",
            [shell_commands[0], *proposed_words],
        ) from None


def _python_option_error(command: str, option: Option) -> UsageError:
    """Return the error of an option that a command has in Python and in batches only."""
    function_name = "result.check" if option in options_of(Gates) else f"clfeval.{command}"
    function_name = function_name.replace("-", "_")
    message = f"{option.flag} exists in Python and in batches only"
    hint = f"in Python {function_name}({option.name}=...), in a batch {option.key}: ..."
    return UsageError.new(message, "command-line", hint=hint)


def _words_that_apply(command: str, proposed_command: str, words: Sequence[str]) -> list[str]:
    """Return the words of a command line without options and files that a proposed one lacks."""
    declaration, _, result_groups = find_declaration(command)
    applicable_words: Iterable[str] = words
    for option in declaration.options(*result_groups):
        option_of_proposed = find_option(proposed_command, option.flag)
        if option_of_proposed is None or not option_of_proposed.opt.shell:
            applicable_words = _words_without_option(applicable_words, option, None)
    return [*_words_without_files(applicable_words, proposed_command)]


def _words_without_files(words: Iterable[str], command: str) -> Iterator[str]:
    """Yield the words of a command line without files to save that only other commands write."""
    remaining_words = iter(words)
    for word in remaining_words:
        flag, equals, file_name = word.partition("=")
        if flag != "--save":
            yield word
            continue
        file_name = file_name if equals else next(remaining_words, "")
        owner_command = ""
        with suppress(UsageError):  # of names that are not of files
            owner_command = format_of_file(file_name).command
        if owner_command in ("", command):
            yield from [word] if equals else [word, file_name]


def refuse_unknown_command(words: Sequence[str]) -> None:
    """Raise for an unknown command that is an option or a file, with the command to run."""
    first_word = words[0]
    flag = f"--{first_word}"
    if first_word == "suite":
        raise _command_error(f"clfeval has no command '{first_word}'", ["batch", *words[1:]])
    if first_word == "compare":
        raise _command_error(f"clfeval has no command '{first_word}'", ["report", *words[1:]])
    if first_word == "guide":
        raise _command_error(f"clfeval has no command '{first_word}'", ["--guide", *words[1:]])
    options_by_command = {name: find_option(name, flag) for name in COMMANDS}
    owner_commands = [
        name
        for name, option in options_by_command.items()
        if option is not None and option.opt.shell
    ]
    if owner_commands:
        owner_command = "report" if "report" in owner_commands else owner_commands[0]
        message = f"clfeval has no command '{first_word}': {owner_command} has {flag}"
        raise _command_error(message, [owner_command, flag, *words[1:]])
    if os.path.isfile(first_word):
        command = "batch" if first_word.endswith((".yaml", ".yml")) else "report"
        raise _command_error(f"'{first_word}' is a file, not a command", [command, *words])


def _command_error(message: str, words: Sequence[str]) -> UsageError:
    return UsageError.new(message, "command-line", hint=format_command_line(["clfeval", *words]))
