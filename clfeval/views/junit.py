"""The JUnit view: a test case for each gate, a suite for each run, for the pages of a CI server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from xml.sax.saxutils import escape, quoteattr

from clfeval.bounds import GateState
from clfeval.pages.write import interval, show
from clfeval.result import Gate, Result, Row
from clfeval.schema import BASELINE
from clfeval.words import plain

TAGS: Mapping[GateState, str] = {"missed": "failure", "undefined": "error", "skipped": "skipped"}
COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}  # attributes of a suite


def as_junit(result: Result) -> str:
    """Return the gates as a JUnit document: missed is a failure, undefined an error.

    A suite is called by its run, a case by model, measure and limit, both in the order in which
    they were asked for. What a baseline says of a gate's model and measure, and a limit that only
    warns, is the output of its case; the notes of the result are that of the first suite. It holds
    no times: equal results give equal bytes.
    """
    suites: dict[str, list[Gate]] = {}
    for gate in result.gates:
        suites.setdefault(gate.run or result.command, []).append(gate)
    moved = _moves(result)
    notes = [f"note: {warning.message} [{warning.code}]" for warning in result.warnings]
    written = [
        _suite(name, gates, result, moved, notes if not at else ())
        for at, (name, gates) in enumerate(suites.items())
    ]
    total = _counts(result.gates)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="clfeval" {total}>\n{"".join(written)}</testsuites>\n'
    )


def _suite(
    name: str, gates: Sequence[Gate], result: Result, moved: Mapping[tuple[str, str], str],
    notes: Sequence[str],
) -> str:  # fmt: skip
    cases = "".join(_case(gate, name, moved) for gate in gates)
    properties = "".join(
        f"<property name={_quoted(key)} value={_quoted(value)}/>\n"
        for key, value in _properties(result)
    )
    return (
        f"<testsuite name={_quoted(f'clfeval {name}')} {_counts(gates)}>\n"
        f"<properties>\n{properties}</properties>\n{cases}{_output(notes)}</testsuite>\n"
    )


def _properties(result: Result) -> Iterator[tuple[str, str]]:
    """Yield what tells where the numbers come from."""
    yield "version", result.version
    yield "signature", result.signature
    for item in result.inputs:
        yield "input", f"{item.name} {item.sha256 or ''} {item.rows} rows"


def _counts(gates: Sequence[Gate]) -> str:
    found = Counter(TAGS.get(gate.state) for gate in gates)
    counts = "".join(f' {name}="{found[tag]}"' for tag, name in COUNTED.items())
    return f'tests="{len(gates)}"{counts}'


def _case(gate: Gate, run: str, moved: Mapping[tuple[str, str], str]) -> str:
    name = plain(f"{replace(gate, run=None).subject} {gate.bound}")
    inside, said = "", []
    if tag := TAGS.get(gate.state):
        type_ = "" if tag == "skipped" else f" type={_quoted(gate.kind)}"
        text = plain(str(gate))
        inside = f"<{tag} message={_quoted(text)}{type_}>{escape(text)}</{tag}>"
    elif gate.state == "warned":
        said.append(f"warning: {gate}")
    if beside := moved.get((str(gate.model), gate.measure)):
        said.append(beside)
    inside += _output(said)
    start = f"<testcase classname={_quoted(f'clfeval.{run}')} name={_quoted(name)}"
    return f"{start}>{inside}</testcase>\n" if inside else f"{start}/>\n"


def _output(lines: Sequence[str]) -> str:
    text = "\n".join(escape(plain(line)) for line in lines)
    return f"<system-out>{text}</system-out>\n" if lines else ""


def _moves(result: Result) -> dict[tuple[str, str], str]:
    """Say of each model and measure what was, what is, how far it moved and how sure that is."""
    rows = result.tables.get(BASELINE, ())
    return {(str(row["model"]), str(row["measure"])): _moved(row) for row in rows}


def _moved(row: Row) -> str:
    cells = ((name, show(row[name]), interval(row[name])) for name in ("old", "new", "change"))
    said = (" ".join(filter(None, cell)) for cell in cells)
    return f"{', '.join(said)}: {row['verdict']}"


def _quoted(text: str) -> str:
    """Write an attribute; what does not print, which XML may not hold, as an escape."""
    return quoteattr(plain(text))
