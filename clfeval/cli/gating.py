"""Gates on the command line: parse the limits, read the baseline, judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clfeval.errors import Problem, UsageError

if TYPE_CHECKING:
    from clfeval.gates import Limit
    from clfeval.result import Result


SAID = 50  # missed gates said one by one


def limits_of(
    under: Sequence[str], over: Sequence[str], drop: Sequence[str], baseline: str | None
) -> list[Limit]:
    """Parse all gate options before anything is read."""
    if not (under or over or drop):
        if baseline is not None:
            raise UsageError(
                Problem("--baseline alone says no limit", "bad-gate"),
                hint="add --max-drop METRIC=DELTA, for example --max-drop recall=0.01",
            )
        return []
    from clfeval.gates import parse_limit

    return [
        *(parse_limit("fail-under", text) for text in under),
        *(parse_limit("fail-over", text) for text in over),
        *(parse_limit("max-drop", text) for text in drop),
    ]


def finished(result: Result, limits: Sequence[Limit], baseline: str | None) -> Result:
    """Return the result with its gates judged."""
    if not limits:
        return result
    from clfeval.gates import judge

    return judge(result, limits, None if baseline is None else read_baseline(baseline))


def read_baseline(name: str) -> Result:
    """Read a saved result; raises UsageError when it is none of ours or too new."""
    from clfeval.result import Result

    try:
        with open(name, encoding="utf-8") as stream:
            return Result.from_json(stream.read())
    except OSError as error:
        raise UsageError.of(
            f"cannot read the baseline: {error.strerror}", "baseline", name
        ) from error
    except (ValueError, json.JSONDecodeError) as error:
        raise UsageError(
            Problem(f"no usable baseline: {error}", "baseline", name),
            hint="a baseline is written with --save RESULT.json",
        ) from error


def missed_gates(result: Result) -> list[str]:
    """Say which gates were missed and by what."""
    missed = [f"gate missed: {gate}" for gate in result.gates if not gate.passed]
    left = len(missed) - SAID
    return missed if left <= 0 else [*missed[:SAID], f"  ... {left:,} more gates missed"]
