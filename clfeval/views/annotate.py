"""Annotations: what a CI server shows beside a file, of missed gates and of errors alike.

github  workflow commands, `::error file=preds.csv,line=4,title=...::message`, a line each. The
        runner reads them on both streams (its documentation names only stdout, which is the
        result's); it shows ten errors and ten warnings of a step.
        Source: docs.github.com, Workflow commands; escapes as in actions/toolkit, command.ts.
gitlab  a Code Quality report, a JSON list that a job hands over as artifact.
        Source: docs.gitlab.com, Code Quality report format.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from clfeval.document import Gate, InputFile
from clfeval.errors import ClfevalError, ExitCode
from clfeval.words import escape_unprintable

Weight = Literal["error", "warning"]
MAX_ANNOTATIONS = 10  # of each level, that GitHub shows of one step
REPORT = "gl-code-quality-report.json"  # as the documentation of GitLab calls it
ELSEWHERE = ".gitlab-ci.yml"  # where the command line stands, which has no other place


@dataclass(frozen=True, slots=True)
class Finding:
    """An annotation: place, title and text; severity as in GitLab; same: key of its fingerprint."""

    level: Weight
    code: str
    text: str
    file: str | None
    row: int | None
    severity: str
    same: tuple[str, ...]


def gate_findings(
    gates: Sequence[Gate], tables: Sequence[str], inputs: Sequence[InputFile]
) -> list[Finding]:
    """Return annotations of missed and warning gates; tables: inputs as given; inputs: files."""
    file = next((_relative_path(_first_file(name, inputs)) for name in tables), None)
    found = []
    for gate in gates:
        if not gate.passed:
            level: Weight = "error" if gate.failed else "warning"
            of = filter(None, (gate.slice, gate.run))
            model = "any" if gate.among else str(gate.model)
            same = (gate.kind, gate.metric, model, gate.limit_text or repr(gate.limit), *of)
            severity = "major" if level == "error" else "minor"
            found.append(
                Finding(level, gate.kind, escape_unprintable(str(gate)), file, None, severity, same)
            )
    return found


def error_findings(error: ClfevalError) -> list[Finding]:
    """Return what is to be said of an error: each problem, with the hint that goes with it."""
    severity = "critical" if error.exit_code == ExitCode.DATA else "blocker"
    found = []
    for part in error.parts or (error,):
        hint = f"\nhint: {escape_unprintable(part.hint)}" if part.hint else ""
        for one in part.problems:
            column = f"column '{one.column}': " if one.column is not None else ""
            text = f"{escape_unprintable(f'{column}{one.what}')}{hint}"
            name, row = one.place
            same = (one.code, str(row), str(one.column), one.what)
            place = name and _relative_path(name)
            found.append(Finding("error", one.code, text, place, row, severity, same))
    return found


def bug_findings(lines: Sequence[str]) -> list[Finding]:
    """Return what is to be said of a bug: what broke, by the last line of its traceback."""
    what = escape_unprintable(lines[-1] if lines else "unknown")
    return [Finding("error", "bug", f"a bug in clfeval: {what}", None, None, "blocker", (what,))]


def _first_file(name: str, inputs: Sequence[InputFile]) -> str:
    """Return the first file of a pattern, where it can be told."""
    first = os.path.join(os.path.dirname(name), next((one.name for one in inputs), ""))
    return name if os.path.isfile(name) or not os.path.isfile(first) else first


def _relative_path(name: str) -> str | None:
    """Return a file as a CI server knows it: below the folder it works in; None for no file."""
    if name in ("-", "<stdin>"):
        return None
    below = os.path.relpath(name) if os.path.isabs(name) else os.path.normpath(name)
    return name if below.startswith("..") else below.replace(os.sep, "/")


def github_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a workflow command for each finding shown, and the number of others, escaped."""
    total = Counter(one.level for one in findings)
    said = Counter[Weight]()
    for one in findings:
        said[one.level] += 1
        if said[one.level] == MAX_ANNOTATIONS < total[one.level]:
            left = total[one.level] - MAX_ANNOTATIONS + 1
            yield f"::{one.level} title=clfeval::{left:,} more {one.level}s; the log lists them"
        elif said[one.level] <= MAX_ANNOTATIONS:
            where = {"file": one.file, "line": one.row, "title": f"clfeval [{one.code}]"}
            given = {
                key: _escape_message(escape_unprintable(str(v)))
                for key, v in where.items()
                if v is not None
            }
            held = (f"{k}={v.replace(':', '%3A').replace(',', '%2C')}" for k, v in given.items())
            yield f"::{one.level} {','.join(held)}::{_escape_message(one.text)}"


def _escape_message(text: str) -> str:
    """Escape a message, in which line ends may stand."""
    lines = (escape_unprintable(line).replace("%", "%25") for line in text.split("\n"))
    return "%0A".join(lines)


def gitlab_report(findings: Sequence[Finding]) -> str:
    """Return the report: what is the same at another time has the same fingerprint, once each."""
    times = Counter[tuple[str, ...]]()
    listed = []
    for one in findings:
        path = one.file or ELSEWHERE
        same = (path, *one.same)
        times[same] += 1
        told = json.dumps([*same, times[same]])
        listed.append({
            "description": one.text,
            "check_name": f"clfeval/{one.code}",
            "fingerprint": sha256(told.encode()).hexdigest()[:32],
            "severity": one.severity,
            "location": {"path": path, "lines": {"begin": one.row or 1}},
        })  # fmt: skip
    return json.dumps(listed, indent=1) + "\n"
