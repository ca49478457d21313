"""What a baseline is, where it lies, and whether it may be compared."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Literal

from clfeval.baseline.compare import labelled
from clfeval.baseline.whole import check_whole
from clfeval.errors import UsageError
from clfeval.history.file import baseline_of
from clfeval.history.line import PastLine, as_result
from clfeval.result import Result, Warn

BaselineKind = Literal["result", "history", "table"]
_HISTORY = re.compile(r'"schema":\s*"clfeval\.history/')
LONG = 2**20  # characters in which a line of a history is found
_DATA = ("data", "stats", "clfeval")  # of a signature: what may differ, that is the point
_DRAWN = ("seed",)  # what moves ends of intervals alone


@dataclass(frozen=True, slots=True)
class Lines(PathLike[str]):
    """A baseline that may be a history, and which of its lines count.

    run: of a batch: those of the run of that name. but: those of other labels than this one.
    """

    path: str
    run: str | None = None
    but: str | None = None

    def __fspath__(self) -> str:
        """Return where it lies."""
        return self.path


def kind_of(name: str | PathLike[str]) -> BaselineKind | None:
    """Say what a baseline is, by its name and its beginning; None where there is no such file.

    A history that is still empty, or that a merge left its marks in, is one.
    """
    path = fspath(name)
    if not os.path.exists(path):
        return None
    if path.endswith(".json"):
        return "result"
    if path.endswith((".jsonl", ".ndjson")):
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                start = stream.read(LONG)
        except OSError as error:
            raise _unread(path, error) from error
        return "history" if _HISTORY.search(start) or not start.strip() else "table"
    return "table"


def read_baseline(baseline: str | PathLike[str] | Result, result: Result) -> Result | None:
    """Return a saved result, or lines of a history; None where there is no file, or no such line.

    Raises UsageError when it is none of ours or too new, and for a table, which has to be read as
    the other was.
    """
    if isinstance(baseline, Result):
        return baseline
    name, kind = fspath(baseline), kind_of(baseline)
    if kind is None:
        return None
    if kind == "history":
        asked = baseline if isinstance(baseline, Lines) else Lines(name)
        lines = baseline_of(name, result.command, run=asked.run, but=asked.but)
        return _of_lines(name, lines, result)
    if kind == "table":
        hint = f"give what clfeval.{result.command.replace('-', '_')}() returns for it"
        what = "a table is no baseline here: how it is to be read is not known"
        raise UsageError.of(what, "baseline", name, hint=hint)
    return read_result(name, "a baseline is a result saved as .json", "the baseline")


def _of_lines(name: str, lines: Mapping[str, PastLine], result: Result) -> Result | None:
    """Return the lines that may be compared with a result, as a saved one; None where none is left.

    A line of other settings is refused where the result has its model, and left out else.
    """
    here, kept = labelled(result), dict[str, PastLine]()
    for model, line in lines.items():
        others = _undrawn(differing(result, replace(result, signature=line.settings)))
        if not others:
            kept[model] = line
        elif model in here:
            what = f"the line of '{model}' at '{line.label}' was made with other settings: "
            hint = "compare like with like: use those options, or accept a line made with these"
            raise UsageError.of(what + "; ".join(others), "baseline", name, hint=hint)
    return as_result(kept) if kept else None


def read_result(name: str, hint: str, what: str = "the result") -> Result:
    """Return a saved result; raises UsageError when it is none of ours or too new."""
    try:
        with open(name, encoding="utf-8") as stream:
            found = Result.from_json(stream.read())
        check_whole(found)
        return found
    except OSError as error:
        raise _unread(name, error, what) from error
    except (ValueError, RecursionError) as error:
        text = f"no usable {what.removeprefix('the ')}: {error}"
        raise UsageError.of(text, "baseline", name, hint=hint) from error


def _unread(name: str, error: OSError, what: str = "the baseline") -> UsageError:
    return UsageError.of(f"cannot read {what}: {error.strerror}", "baseline", name)


def settings(result: Result) -> dict[str, str]:
    """Return what a signature says of how numbers were made."""
    pairs = (part.partition(":") for part in result.signature.split("|"))
    return {key: value for key, _, value in pairs if key not in _DATA}


def differing(ours: Result, theirs: Result) -> list[str]:
    """Return the settings in which two results differ, as `key VALUE there, VALUE here`."""
    here, there = settings(ours), settings(theirs)
    return [
        f"{key} {there.get(key, 'not given')} there, {here.get(key, 'not given')} here"
        for key in here | there
        if here.get(key) != there.get(key)
    ]


def _undrawn(differing: Iterable[str]) -> list[str]:
    """Return those of which not only drawn ends of intervals depend."""
    return [one for one in differing if one.partition(" ")[0] not in _DRAWN]


def check_comparable(result: Result, baseline: Result, but: Collection[str] = ()) -> Iterator[Warn]:
    """Refuse a baseline made with other settings; yield notes of what only draws otherwise.

    but: settings that do not matter.
    """
    every = [one for one in differing(result, baseline) if one.partition(" ")[0] not in but]
    if refused := _undrawn(every):
        what = f"the baseline was made with other settings: {'; '.join(refused)}"
        hint = "compare like with like: make the baseline with the same options"
        raise UsageError.of(what, "baseline", hint=hint)
    for one in every:
        yield Warn("baseline-seed", f"{one}: intervals that are drawn differ for that alone")
