"""What a baseline is, where it lies, and whether it may be compared."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from typing import Literal

from clfeval.errors import UsageError
from clfeval.history.file import baseline_of
from clfeval.result import Result, Warn

BaselineKind = Literal["result", "history", "table"]
_HISTORY = re.compile(r'"schema":\s*"clfeval\.history/')
LONG = 2**20  # of a line of a history, at most
_DATA = ("data", "stats", "clfeval")  # of a signature: what may differ, that is the point
_DRAWN = ("seed",)  # what moves ends of intervals alone


def kind_of(name: str | os.PathLike[str]) -> BaselineKind | None:
    """Say what a baseline is, by its name and its beginning; None where there is no such file."""
    path = os.fspath(name)
    if not os.path.exists(path):
        return None
    if path.endswith(".json"):
        return "result"
    if path.endswith((".jsonl", ".ndjson")):
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                return "history" if _HISTORY.search(stream.readline(LONG)) else "table"
        except OSError as error:
            raise _unread(path, error) from error
    return "table"


def read_baseline(baseline: str | os.PathLike[str] | Result, result: Result) -> Result | None:
    """Return a saved result, or the line of a history; None where there is no such file.

    Raises UsageError when it is none of ours or too new, and for a table, which has to be read as
    the other was.
    """
    if isinstance(baseline, Result):
        return baseline
    name, kind = os.fspath(baseline), kind_of(baseline)
    if kind is None:
        return None
    if kind == "history":
        return baseline_of(name, result.command)
    if kind == "table":
        hint = f"give what clfeval.{result.command.replace('-', '_')}() returns for it"
        what = "a table is no baseline here: how it is to be read is not known"
        raise UsageError.of(what, "baseline", name, hint=hint)
    return read_result(name, "a baseline is a result saved as .json", "the baseline")


def read_result(name: str, hint: str, what: str = "the result") -> Result:
    """Return a saved result; raises UsageError when it is none of ours or too new."""
    try:
        with open(name, encoding="utf-8") as stream:
            return Result.from_json(stream.read())
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


def check_comparable(result: Result, baseline: Result, but: Collection[str] = ()) -> Iterator[Warn]:
    """Refuse a baseline made with other settings; yield notes of what only draws otherwise.

    but: settings that do not matter.
    """
    every = [one for one in differing(result, baseline) if one.partition(" ")[0] not in but]
    drawn = [one for one in every if one.partition(" ")[0] in _DRAWN]
    refused = [one for one in every if one not in drawn]
    if refused:
        what = f"the baseline was made with other settings: {'; '.join(refused)}"
        hint = "compare like with like: make the baseline with the same options"
        raise UsageError.of(what, "baseline", hint=hint)
    for one in drawn:
        yield Warn("baseline-seed", f"{one}: intervals that are drawn differ for that alone")
