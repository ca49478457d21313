"""Declarations of options: fields of groups with their `Opt`.

A group is a frozen dataclass of `Annotated[type, Opt(...)]` fields. From groups come the command
line (cli/command.py), the Python signature (api/public_functions.py), the parameters and signature
of a result, and the JSON Schema of batches. Messages use the words of the shell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from keyword import iskeyword
from operator import index
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    SupportsFloat,
    SupportsIndex,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from clfeval.errors import bad_option
from clfeval.placeholders import END, OPTION, SWITCH
from clfeval.records import MISSING, dataclass, field, fields, replace

G = TypeVar("G")
READING = "Input"  # with COLUMNS the panels of every command
COLUMNS = "Columns"
FILE_NAMES = ("FILE", "HISTORY.jsonl")  # metavars of names that the file system gives
Completes = Literal["column", "model", "class", "metric", "measure", "ranked"]


def format_value(value: object) -> str:
    """Write a value for a shell: whole numbers without a decimal point."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if is_whole else str(value)  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True, eq=False)
class Opt:
    """Properties of an option beyond its field's type.

    help: names other options in placeholders, as Python shows it too. flags: if not
    --the-fields-name. parse: from the flag and its texts; write: the inverse, of one value (of a
    mapping, after the =). repeatable: in a shell, if the type does not imply it. accept: from the
    flag and a value of Python or YAML; takes: the accepted type. bounds_error: of numbers beyond
    `minimum`, `maximum` or the exclusive `above`, `below`. needs: a field required, and why.
    signed: its key in the signature. is_parameter: one of the document.
    """

    help: str
    panel: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    parse: Callable[[str, Sequence[str]], Any] | None = None
    write: Callable[[Any], str] = format_value
    repeatable: bool | None = None
    accept: Callable[[str, Any], Any] | None = None
    takes: Any = None
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    bounds_error: str = ""
    needs: tuple[str, str] | None = None
    signed: str | None = None
    is_parameter: bool = False
    completes: Completes | None = None
    reads: bool = False  # names a table
    shell: bool = True  # else only Python and batches have it


@dataclass(frozen=True, eq=False)
class Option:
    """An option: a field of a group, its type, its default and its `Opt`."""

    field: str
    type: Any
    default: Any
    opt: Opt

    @cached_property
    def flag(self) -> str:
        """Name of the option in a shell, and in the placeholders of messages."""
        flags = self.opt.flags or (f"--{self.field.replace('_', '-')}",)
        return flags[-1].partition("/")[0]

    @cached_property
    def name(self) -> str:
        """Name of the option in Python: as in a shell, unless that is a Python keyword."""
        word = self.flag[2:].replace("-", "_")
        return self.field if iskeyword(word) else word

    @property
    def key(self) -> str:
        """Name of the option in a batch."""
        return self.flag[2:]

    @cached_property
    def kinds(self) -> tuple[Any, ...]:
        """The alternatives of its type, without None."""
        return union_types(self.type)

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The words it accepts; empty if it accepts any."""
        return tuple(
            choice
            for kind in self.kinds
            if get_origin(kind) is Literal
            for choice in get_args(kind)
        )

    @cached_property
    def holds(self) -> Literal["one", "pair", "several", "mapping"]:
        """Number of values it holds: one, a pair, several or a mapping."""
        origin = get_origin(self.kinds[0])
        if origin is tuple:
            return "several" if get_args(self.kinds[0])[-1] is Ellipsis else "pair"
        return "mapping" if origin is Mapping else "one"

    @cached_property
    def numeric(self) -> bool:
        """True if its values are numbers."""
        element_types = get_args(self.kinds[0])[-2:]  # T and ..., or the key and the value
        return bool({int, float} & {*self.kinds, *element_types})

    @property
    def repeated(self) -> bool:
        """True if it may be repeated in a shell."""
        return (
            self.holds in ("several", "mapping")
            if self.opt.repeatable is None
            else self.opt.repeatable
        )


@dataclass(frozen=True, slots=True, eq=False)
class Command:
    """A command: its groups of options, and the texts of its help.

    have, want: input and purpose. input: the group of its table, first. words: texts replacing
    those of input fields. unused_fields: fields that are no options of the command.
    """

    name: str
    groups: tuple[type, ...]
    help: str
    examples: str
    tables: str
    have: str = ""
    want: str = ""
    optional: bool = False  # can run without a table
    files: str = "TABLE"  # metavar of its arguments
    brief: str = ""  # its most used options, for the short help
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unused_fields: tuple[str, ...] = ()
    input: type | None = None

    def options(self, *further_groups: type) -> tuple[Option, ...]:
        """Return the options of the command's groups, and of further groups, in order."""
        groups = (self.input, *self.groups, *further_groups)
        return tuple(option for group in groups if group for option in self.options_of(group))

    def options_of(self, group: type) -> tuple[Option, ...]:
        """Return the options of a group, with the help texts of this command."""
        return options_of(group) if group is not self.input else _reworded_options(self, group)

    def build_groups(self, values: Mapping[str, Any]) -> list[Any]:
        """Build the command's groups from values by option name; UsageError for invalid values."""
        groups = [group for group in (self.input, *self.groups) if group]
        return [build_group(group, values, self.options_of(group)) for group in groups]


@cache  # commands last as long as the program
def _reworded_options(command: Command, group: type) -> tuple[Option, ...]:
    """Return the options of a group that a command has, with its own texts of help."""
    return tuple(
        option
        if option.field not in command.words
        else replace(option, opt=replace(option.opt, **command.words[option.field]))
        for option in options_of(group)
        if option.field not in command.unused_fields
    )


def options_of(group: type) -> tuple[Option, ...]:
    """Return the options of a group, in field order; fields without `Opt` are skipped."""
    return _declared_options(group)


@cache
def _declared_options(group: type) -> tuple[Option, ...]:
    """Return the options that the annotations of a group's fields declare."""
    type_hints = get_type_hints(group, include_extras=True)
    options = []
    for group_field in fields(group):
        type_hint = type_hints[group_field.name]
        opt = next(
            (
                annotation
                for annotation in getattr(type_hint, "__metadata__", ())
                if isinstance(annotation, Opt)
            ),
            None,
        )
        if opt is None:
            continue  # a field that is no option
        default = (
            group_field.default
            if group_field.default_factory is MISSING
            else group_field.default_factory()
        )
        options.append(Option(group_field.name, get_args(type_hint)[0], default, opt))
    return tuple(options)


def build_group(
    group: type[G], values: Mapping[str, Any], options: Sequence[Option] | None = None
) -> G:
    """Build a group from values by option name; UsageError for invalid values.

    options: those of the group, as a command words them.
    """
    options = options_of(group) if options is None else options
    options_with_value = [option for option in options if option.name in values]
    group_values = group(
        **{
            option.field: convert_value(option, values[option.name])
            for option in options_with_value
        }
    )
    check_values = getattr(group_values, "check", None)
    if check_values is not None:
        check_values()
    for option in changed_options(group_values):
        required_field, reason = option.opt.needs or ("", "")
        if required_field and not getattr(group_values, required_field):
            required_option = next(option for option in options if option.field == required_field)
            remedy = f"{OPTION}{required_option.flag}{END}"
            if required_option.kinds == (bool,):
                remedy = f"{SWITCH}{required_option.flag}{END}"
            raise bad_option(f"{OPTION}{option.flag}{END} {reason}: add {remedy}")
    return group_values


def convert_value(option: Option, value: object) -> Any:
    """Convert a value to the type of an option; UsageError if it is not valid."""
    if option.opt.accept is not None:
        return option.opt.accept(option.flag, value)
    if value is None and (NoneType in get_args(option.type) or option.holds == "several"):
        return () if option.holds == "several" else None
    if isinstance(value, str) and value in option.choices:
        return value
    other_types = [kind for kind in option.kinds if get_origin(kind) is not Literal]
    accepted_type = other_types[0] if other_types else None  # None: only the choices are accepted
    if accepted_type is None:
        raise bad_option(
            f"{OPTION}{option.flag}{END} must be one of {', '.join(option.choices)}, not '{value}'"
        )
    converters = {bool: _convert_boolean, int: _convert_integer, float: _convert_float}
    if accepted_type in converters:
        return converters[accepted_type](option, value)
    if accepted_type is str:
        return _convert_text(option, value)
    if option.holds == "pair":
        return to_float_pair(option.flag, value)
    element_type, *_ = get_args(accepted_type)
    return _convert_several(option, value, element_type)


def _convert_several(option: Option, value: object, element_type: object) -> tuple[Any, ...]:
    """Return the values of an option that takes several numbers, words of a list or texts."""
    elements = as_list(value)
    if element_type is float:
        return tuple(to_float(option.flag, element) for element in elements)
    choices = get_args(element_type) if get_origin(element_type) is Literal else ()
    for element in elements:
        if choices and (not isinstance(element, str) or element not in choices):
            raise bad_option(
                f"{OPTION}{option.flag}{END} must be one of {', '.join(choices)}, not '{element}'"
            )
        if not isinstance(element, str):
            raise bad_option(f"{OPTION}{option.flag}{END} {value!r:.60} is not text")
        _convert_text(option, element)
    return tuple(elements)


def _convert_boolean(option: Option, value: object) -> Any:
    """Return a switch; its default for None, as if it were not given."""
    if value is None:
        return option.default
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise bad_option(f"{OPTION}{option.flag}{END} must be True or False, not {value!r:.60}")
    return bool(value)


def _convert_float(option: Option, value: object) -> float:
    """Return a number within the bounds of an option."""
    number = to_float(option.flag, value)
    if _is_out_of_bounds(option.opt, number):
        raise bad_option(f"{OPTION}{option.flag}{END} {number:g} {option.opt.bounds_error}")
    return number


def _convert_text(option: Option, value: object) -> str:
    """Return a text; UsageError for other types, and for text that cannot be written as UTF-8."""
    if not isinstance(value, str):
        raise bad_option(f"{OPTION}{option.flag}{END} {value!r:.60} is not text")
    if option.opt.metavar not in FILE_NAMES and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise bad_option(
                f"{OPTION}{option.flag}{END} {value!r:.60} is not UTF-8 text"
            ) from None
    return value


def _convert_integer(option: Option, value: object) -> int:
    """Return a whole number within the bounds of an option."""
    opt = option.opt
    number = None
    with suppress(TypeError):
        number = index(cast("SupportsIndex", value))
    if number is not None and not _is_out_of_bounds(opt, number):
        return number
    if opt.bounds_error:
        raise bad_option(f"{OPTION}{option.flag}{END} '{value}' {opt.bounds_error}")
    if opt.maximum is None and opt.minimum is not None:
        fault_clause = f"is not a whole number of at least {opt.minimum}"
        hint = f"write {OPTION}{option.flag} {max(opt.minimum, 3):g}{END}"
        raise bad_option(f"{OPTION}{option.flag}{END} '{value}' {fault_clause}", hint)
    if number is None:
        raise bad_option(f"{OPTION}{option.flag}{END} {value!r} is not a whole number")
    fault_clause = f"is not a whole number from {opt.minimum} to {opt.maximum:,}"
    raise bad_option(f"{OPTION}{option.flag}{END} {number} {fault_clause}")


def _is_out_of_bounds(opt: Opt, value: float) -> bool:
    """Return whether a number is out of bounds; NaN always is."""
    return not (
        (opt.minimum is None or value >= opt.minimum)
        and (opt.maximum is None or value <= opt.maximum)
        and (opt.above is None or value > opt.above)
        and (opt.below is None or value < opt.below)
    )


def to_float(flag: str, value: object, part: str = "") -> float:
    """Convert a number to float; UsageError for anything else, text included.

    part: of the value of the option, as messages name it.
    """
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        return float(cast("SupportsFloat", value))
    except (TypeError, ValueError, OverflowError):
        raise bad_option(f"{OPTION}{flag}{END}{part} {value!r:.60} is not a number") from None


def to_float_pair(flag: str, values: object, part: str = "") -> tuple[float, float]:
    """Convert two numbers to floats; UsageError for any other number of values.

    part: of the value of the option, as messages name it.
    """
    numbers = as_list(values)
    if len(numbers) != 2:
        raise bad_option(f"{OPTION}{flag}{END}{part} takes two numbers, not {values!r}")
    first_number, second_number = numbers
    return to_float(flag, first_number, part), to_float(flag, second_number, part)


def as_list(values: Any) -> list[Any]:
    """Return one value or several as a list; an empty list for None."""
    if values is None:
        return []
    try:
        return [values] if isinstance(values, str) else list(values)
    except TypeError:  # also for an array of no dimensions
        return [values]


def to_mapping(flag: str, mapping: object, content: str) -> dict[str, Any]:
    """Return a mapping with names as text, an empty one for None; UsageError for anything else.

    content: what the mapping should hold, as the message names it.
    """
    if not isinstance(mapping, Mapping | None):
        raise bad_option(f"{OPTION}{flag}{END} {mapping!r:.60} is not a mapping of {content}")
    return {str(name): value for name, value in (mapping or {}).items()}


def document_parameters(group: object) -> dict[str, Any]:
    """Return the values of a group that are listed in the parameters of a document."""
    return {
        option.name: _plain_value(getattr(group, option.field))
        for option in options_of(type(group))
        if option.opt.is_parameter
    }


def changed_options(group: object, command: Command | None = None) -> list[Option]:
    """Return the options of a group with values other than their defaults."""
    options = options_of(type(group)) if command is None else command.options_of(type(group))
    return [option for option in options if _is_changed(option, getattr(group, option.field))]


def _is_changed(option: Option, value: object) -> bool:
    """Return whether a value of an option is not its default."""
    if value is option.default:
        return False
    # a data frame can be compared with None by identity only
    return option.default is None or bool(value != option.default)


def signature_settings(group: object) -> dict[str, Any]:
    """Return the values that change numbers and are not the defaults, by key of the signature."""
    settings: dict[str, Any] = {}
    for option in changed_options(group):
        if option.opt.signed:
            setting = getattr(group, option.field)
            if isinstance(setting, Mapping):
                setting = ",".join(f"{name}={element}" for name, element in setting.items())
            settings[option.opt.signed] = setting
    return settings


def _plain_value(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain_value(element) for key, element in value.items()}
    return [_plain_value(element) for element in value] if isinstance(value, tuple) else value


def union_types(value_type: object) -> tuple[Any, ...]:
    """Return the types of a union without None; of another type, that type alone."""
    member_types = (
        get_args(value_type) if get_origin(value_type) in (Union, UnionType) else (value_type,)
    )
    return tuple(member_type for member_type in member_types if member_type is not NoneType)
