"""YAML files of one YAML 1.2 document: plain values, and where each key stands for messages."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clfeval.errors import Problem, UsageError, suggestion
from clfeval.tables.yaml_values import CODE, Composer, Spot, Value

MOST_BYTES = 2**20

# how a complaint of PyYAML begins, what that means, what to do
_COMPLAINTS: tuple[tuple[str, str, str | None], ...] = (
    (r"mapping values are", "a ':' where no key can stand", "check the indent, or quote the text"),
    (r"found character '\\t'", "a tab where a key or value starts", "indent with spaces"),
    (r"found character", "no text can start with this character", "put the text in 'quotes'"),
    (r"sequence entries are", "a '-' where no item can stand", "start the list on its own line"),
    (r"expected the node content", "no value can start like this", "put the text in 'quotes'"),
    (r"found unknown escape", "an unknown escape in double quotes", "use single quotes"),
    (r"found undefined tag", "tags are not read", "for text use 'quotes'"),
    (r"could not find expected ':'", "a key without ':'", "write key: value, a space after ':'"),
    (r"expected <block end>", "this does not fit the lines above",
     "keys of one mapping start in one column, and so do items of one list"),
    (r"found unexpected end of", "a quote is opened here and not closed", None),
    (r"expected ',' or", "a bracket is opened here; a ',' or the closing one is missing", None),
    (r"expected '<document start>'", "something follows the end of the value", None),
    (r"special characters", "a control character", "inside double quotes write it as \\x07"),
)  # fmt: skip
# where these began says more than where the file could not go on
_BEGUN_EARLIER = "could not find expected ':'|found unexpected end of|expected ',' or"


@dataclass(frozen=True, slots=True)
class YamlFile:
    """A file's one document: `value` holds plain values only, its keys are text as written."""

    name: str
    value: Value
    spot: Spot

    def place(self, *path: str | int) -> str:
        """Return `file:line:column` of a key or item, or of the last one on its path there is."""
        spot = self.spot
        for step in path:
            if step not in spot.inside:
                break
            spot = spot.inside[step]
        return f"{self.name}:{spot.line}:{spot.column}"

    def problem(self, path: Sequence[str | int], what: str, code: str = CODE) -> Problem:
        """Say what is wrong with the value at a path."""
        return Problem(what, code, self.place(*path))

    def wrong(self, path: Sequence[str | int], what: str, hint: str | None = None) -> UsageError:
        """Build the error for what is wrong with the value at a path."""
        return UsageError(self.problem(path, what), hint=hint)


def read_yaml(name: str | os.PathLike[str]) -> YamlFile:
    """Read a file that holds one document.

    Keys are text as written; other scalars follow the core schema of YAML 1.2. Refused are tags,
    merge keys, keys given twice, aliases of what is around them, a second document.

    Errors: UsageError with file, line and column for all that cannot be read so.
    """
    import yaml

    name = os.fspath(name)
    text = _text(name)
    try:
        return YamlFile(name, *Composer(name, yaml.parse(text, Loader=yaml.SafeLoader)).document())
    except yaml.MarkedYAMLError as error:
        complaint = str(error.problem)
        where = error.problem_mark
        if re.match(_BEGUN_EARLIER, complaint) and error.context_mark:
            where = error.context_mark
        line, column = (where.line + 1, where.column + 1) if where else (1, 1)
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        complaint, line, column = error.reason, *_line_and_column(before)
    what, hint = complaint, None
    for start, words, remedy in _COMPLAINTS:
        if re.match(start, complaint):
            what, hint = words, remedy
            break
    raise UsageError(Problem(f"not YAML: {what}", CODE, f"{name}:{line}:{column}"), hint=hint)


def _text(name: str) -> str:
    path = Path(name)
    if path.is_dir():
        raise UsageError(Problem("is a directory, not a YAML file", CODE, name))
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise UsageError(
            Problem("no such file", "no-such-file", name),
            hint=suggestion(path.name, _names_beside(path), cutoff=0.75),
        ) from error
    except OSError as error:
        raise UsageError(Problem(f"cannot be read: {error.strerror}", CODE, name)) from error
    if len(content) > MOST_BYTES:
        what = "more than 1 MiB, too long for a configuration"
        raise UsageError(Problem(what, CODE, name), hint="is this the table?")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _line_and_column(content[: error.start].decode(errors="replace"))
        raise UsageError(
            Problem("not UTF-8", CODE, f"{name}:{line}:{column}"),
            hint="save it as UTF-8: iconv -f latin1 -t utf-8 FILE > NEW",
        ) from error
    if not text.strip():
        raise UsageError(Problem("the file is empty", CODE, name))
    return text


def _names_beside(path: Path) -> list[str]:
    folder = path.parent if path.parent.is_dir() else Path()
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _line_and_column(before: str) -> tuple[int, int]:
    """Return where a text goes on, from 1, after what stands before."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")
