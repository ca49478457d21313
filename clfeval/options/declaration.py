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
READING, COLUMNS = "Input", "Columns"  # the panels of every command
FILE_NAMES = ("FILE", "HISTORY.jsonl")  # metavars of names that the file system gives
Completes = Literal["column", "model", "class", "metric", "measure", "ranked"]


def format_value(value: object) -> str:
    """Write a value for a shell: whole numbers without a decimal point."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else str(value)  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True, eq=False)
class Opt:
    """Properties of an option beyond its field's type.

    help: names other options in placeholders, as Python shows it too. flags: if not
    --the-fields-name. parse: from the flag and its texts; write: the inverse, of one value (of a
    mapping, after the =). many: repeatable in a shell, if the type does not imply it. accept: from
    the flag and a value of Python or YAML; takes: the accepted type. outside: the error for numbers
    beyond `least`, `most`, `above`, `below`. needs: a field required, and why. signed: its key in
    the signature. stated: it is a parameter of the document.
    """

    help: str
    panel: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    parse: Callable[[str, Sequence[str]], Any] | None = None
    write: Callable[[Any], str] = format_value
    many: bool | None = None
    accept: Callable[[str, Any], Any] | None = None
    takes: Any = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    outside: str = ""
    needs: tuple[str, str] | None = None
    signed: str | None = None
    stated: bool = False
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
            w for kind in self.kinds if get_origin(kind) is Literal for w in get_args(kind)
        )

    @cached_property
    def holds(self) -> Literal["one", "pair", "several", "mapping"]:
        """Number of values it holds: one, a pair, several or a mapping."""
        origin, *arguments = get_origin(self.kinds[0]), *get_args(self.kinds[0])
        if origin is tuple:
            return "several" if arguments[-1] is Ellipsis else "pair"
        return "mapping" if origin is Mapping else "one"

    @cached_property
    def numeric(self) -> bool:
        """True if its values are numbers."""
        return bool({int, float} & {*self.kinds, *get_args(self.kinds[0])[-2:]})

    @property
    def repeated(self) -> bool:
        """True if it may be repeated in a shell."""
        return self.holds in ("several", "mapping") if self.opt.many is None else self.opt.many


@dataclass(frozen=True, slots=True, eq=False)
class Command:
    """A command: its groups of options, and the texts of its help.

    have, want: input and purpose. input: the group of its table, first. words: texts replacing
    those of input fields. without: unused fields.
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
    without: tuple[str, ...] = ()
    input: type | None = None

    def options(self, *more: type) -> tuple[Option, ...]:
        """Return the options of the command's groups, and of further groups, in order."""
        every = (self.input, *self.groups, *more)
        return tuple(one for group in every if group for one in self.options_of(group))

    def options_of(self, group: type) -> tuple[Option, ...]:
        """Return the options of a group, with the help texts of this command."""
        return options_of(group) if group is not self.input else _reworded_options(self, group)

    def build_groups(self, given: Mapping[str, Any]) -> list[Any]:
        """Build the command's groups from values by option name; UsageError for invalid values."""
        groups = [group for group in (self.input, *self.groups) if group]
        return [build_group(group, given, self.options_of(group)) for group in groups]


@cache  # commands last as long as the program
def _reworded_options(command: Command, group: type) -> tuple[Option, ...]:
    return tuple(
        one
        if one.field not in command.words
        else replace(one, opt=replace(one.opt, **command.words[one.field]))
        for one in options_of(group)
        if one.field not in command.without
    )


def options_of(group: type) -> tuple[Option, ...]:
    """Return the options of a group, in field order; fields without `Opt` are skipped."""
    return _declared_options(group)


@cache
def _declared_options(group: type) -> tuple[Option, ...]:
    hints = get_type_hints(group, include_extras=True)
    found = []
    for one in fields(group):
        hint = hints[one.name]
        opt = next((m for m in getattr(hint, "__metadata__", ()) if isinstance(m, Opt)), None)
        if opt is None:
            continue
        default = one.default if one.default_factory is MISSING else one.default_factory()
        found.append(Option(one.name, get_args(hint)[0], default, opt))
    return tuple(found)


def build_group(
    group: type[G], given: Mapping[str, Any], options: Sequence[Option] | None = None
) -> G:
    """Build a group from values by option name; UsageError for invalid values.

    options: those of the group, as a command words them.
    """
    options = options_of(group) if options is None else options
    known = [option for option in options if option.name in given]
    made = group(**{one.field: convert_value(one, given[one.name]) for one in known})
    getattr(made, "check", lambda: None)()
    for option in changed_options(made):
        field, why = option.opt.needs or ("", "")
        if field and not getattr(made, field):
            other = next(one for one in options if one.field == field)
            remedy = f"{OPTION}{other.flag}{END}"
            if other.kinds == (bool,):
                remedy = f"{SWITCH}{other.flag}{END}"
            raise bad_option(f"{OPTION}{option.flag}{END} {why}: add {remedy}")
    return made


def convert_value(option: Option, given: object) -> Any:
    """Convert a value to the type of an option; UsageError if it is not valid."""
    if option.opt.accept is not None:
        return option.opt.accept(option.flag, given)
    if given is None and (NoneType in get_args(option.type) or option.holds == "several"):
        return () if option.holds == "several" else None
    if isinstance(given, str) and given in option.choices:
        return given
    kind = next((one for one in option.kinds if get_origin(one) is not Literal), None)
    if kind is None:
        raise bad_option(
            f"{OPTION}{option.flag}{END} must be one of {', '.join(option.choices)}, not '{given}'"
        )
    if kind is bool:
        if given is None:
            return option.default  # as if it were not given
        if not isinstance(given, bool) and type(given).__name__ not in ("bool", "bool_"):
            raise bad_option(f"{OPTION}{option.flag}{END} must be True or False, not {given!r:.60}")
        return bool(given)
    if kind is int:
        return _convert_integer(option, given)
    if kind is float:
        value = to_float(option.flag, given)
        if _is_out_of_bounds(option.opt, value):
            raise bad_option(f"{OPTION}{option.flag}{END} {value:g} {option.opt.outside}")
        return value
    if kind is str:
        return _convert_text(option, given)
    if option.holds == "pair":
        return to_float_pair(option.flag, given)
    values, item = as_list(given), get_args(kind)[0]
    if item is float:
        return tuple(to_float(option.flag, value) for value in values)
    words = get_args(item) if get_origin(item) is Literal else ()
    for value in values:
        if words and (not isinstance(value, str) or value not in words):
            raise bad_option(
                f"{OPTION}{option.flag}{END} must be one of {', '.join(words)}, not '{value}'"
            )
        if not isinstance(value, str):
            raise bad_option(f"{OPTION}{option.flag}{END} {given!r:.60} is not text")
        _convert_text(option, value)
    return tuple(values)


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


def _convert_integer(option: Option, given: object) -> int:
    opt = option.opt
    value = None
    with suppress(TypeError):
        value = index(cast("SupportsIndex", given))
    if value is not None and not _is_out_of_bounds(opt, value):
        return value
    if opt.outside:
        raise bad_option(f"{OPTION}{option.flag}{END} '{given}' {opt.outside}")
    if opt.most is None and opt.least is not None:
        what = f"{OPTION}{option.flag}{END} '{given}' is not a whole number of at least {opt.least}"
        raise bad_option(what, f"write {OPTION}{option.flag} {max(opt.least, 3):g}{END}")
    if value is None:
        raise bad_option(f"{OPTION}{option.flag}{END} {given!r} is not a whole number")
    what = f"is not a whole number from {opt.least} to {opt.most:,}"
    raise bad_option(f"{OPTION}{option.flag}{END} {value} {what}")


def _is_out_of_bounds(opt: Opt, value: float) -> bool:
    """Return whether a number is out of bounds; NaN always is."""
    return not (
        (opt.least is None or value >= opt.least)
        and (opt.most is None or value <= opt.most)
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
    """Convert two numbers to floats; UsageError for any other number of values."""
    numbers = as_list(values)
    if len(numbers) != 2:
        raise bad_option(f"{OPTION}{flag}{END}{part} takes two numbers, not {values!r}")
    return to_float(flag, numbers[0], part), to_float(flag, numbers[1], part)


def as_list(values: Any) -> list[Any]:
    """Return one value or several as a list; an empty list for None."""
    if values is None:
        return []
    try:
        return [values] if isinstance(values, str) else list(values)
    except TypeError:  # also for an array of no dimensions
        return [values]


def to_mapping(flag: str, given: object, what: str) -> dict[str, Any]:
    """Return a mapping with names as text, an empty one for None; UsageError for anything else."""
    if not isinstance(given, Mapping | None):
        raise bad_option(f"{OPTION}{flag}{END} {given!r:.60} is not a mapping of {what}")
    return {str(name): value for name, value in (given or {}).items()}


def document_parameters(group: object) -> dict[str, Any]:
    """Return the values of a group that are listed in the parameters of a document."""
    return {
        option.name: _plain_value(getattr(group, option.field))
        for option in options_of(type(group))
        if option.opt.stated
    }


def changed_options(group: object, command: Command | None = None) -> list[Option]:
    """Return the options of a group with values other than their defaults."""
    options = options_of(type(group)) if command is None else command.options_of(type(group))
    values = ((option, getattr(group, option.field)) for option in options)
    # a data frame can be compared with None by identity only
    return [o for o, v in values if v is not o.default and (o.default is None or v != o.default)]


def signature_settings(group: object) -> dict[str, Any]:
    """Return the values that change numbers and are not the defaults, by key of the signature."""
    values = (
        (o.opt.signed, getattr(group, o.field)) for o in changed_options(group) if o.opt.signed
    )
    return {
        key: ",".join(f"{k}={v}" for k, v in one.items()) if isinstance(one, Mapping) else one
        for key, one in values
    }


def _plain_value(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain_value(one) for key, one in value.items()}
    return [_plain_value(one) for one in value] if isinstance(value, tuple) else value


def union_types(kind: object) -> tuple[Any, ...]:
    """Return the types of a union without None; of another type the type itself."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return tuple(one for one in kinds if one is not NoneType)
