"""The JUnit view: a test case for each gate, a suite for each run, for the pages of a CI server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape, quoteattr

from clfeval.bounds import GateState
from clfeval.document import Document, Gate, Row, as_estimate
from clfeval.pages import SUITE
from clfeval.pages.suite import COMPUTED, FAILED, LEFT_OUT
from clfeval.pages.write import format_cell, format_interval
from clfeval.schema import BASELINE, comparison_rows
from clfeval.words import escape_unprintable

TAGS: Mapping[GateState, str] = {"missed": "failure", "undefined": "error", "skipped": "skipped"}
COUNT_ATTRIBUTES = {
    "failure": "failures",
    "error": "errors",
    "skipped": "skipped",
}  # attributes of a suite
RUNS: Mapping[str, str] = {FAILED: "error", LEFT_OUT: "skipped"}  # of a batch


@dataclass(frozen=True, slots=True)
class _TestCase:
    """A test case: tag and kind of what is wrong with it, what is said of that and beside it."""

    name: str
    tag: str | None = None
    kind: str = ""
    text: str = ""
    beside: tuple[str, ...] = ()


def as_junit(result: Document) -> str:
    """Return the gates as a JUnit document: missed is a failure, undefined an error.

    A suite is a run, a case a model, measure and limit, in the order requested. A run of a batch
    has one case more, for its computation. Changes from a baseline and limits that only warn are
    the output of a case, warnings that of the first suite. No times: equal results give equal
    bytes.
    """
    suites = _run_cases(result)
    moved = {(str(row["model"]), str(row["measure"])): _change_text(row)
             for row in comparison_rows(result, BASELINE)}  # fmt: skip
    for gate in result.gates:
        suites.setdefault(gate.run or result.command, []).append(_of_gate(gate, moved))
    notes = [f"note: {warning.message} [{warning.code}]" for warning in result.warnings]
    written = [
        _suite_xml(name, cases, result, notes if not at else ())
        for at, (name, cases) in enumerate(suites.items())
    ]
    total = _count_attributes([case for cases in suites.values() for case in cases])
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="clfeval" {total}>\n{"".join(written)}</testsuites>\n'
    )


def _run_cases(result: Document) -> dict[str, list[_TestCase]]:
    """Return a case for each run of a batch; of another result none."""
    if result.command != SUITE:
        return {}
    wrong: dict[str, list[str]] = {}
    for row in result.tables["problems"]:
        wrong.setdefault(str(row["run"]), []).append(str(row["text"]))
    found = {}
    for row in result.tables["runs"]:
        name, tag = str(row["run"]), RUNS.get(str(row["state"]))
        text = "\n".join(wrong.get(name, ()))
        kind = f"exit code {row['code']}"
        found[name] = [_TestCase(COMPUTED, tag, kind, text) if tag else _TestCase(COMPUTED)]
    return found


def _suite_xml(
    name: str, cases: Sequence[_TestCase], result: Document, notes: Sequence[str]
) -> str:
    properties = "".join(
        f"<property name={_quote_attribute(key)} value={_quote_attribute(value)}/>\n"
        for key, value in _properties(result)
    )
    return (
        f"<testsuite name={_quote_attribute(f'clfeval {name}')} {_count_attributes(cases)}>\n"
        f"<properties>\n{properties}</properties>\n"
        f"{''.join(_case_xml(case, name) for case in cases)}{_output_xml(notes)}</testsuite>\n"
    )


def _properties(result: Document) -> Iterator[tuple[str, str]]:
    """Yield what tells where the numbers come from."""
    yield "version", result.version
    yield "signature", result.signature
    for item in result.inputs:
        yield "input", f"{item.name} {item.sha256 or ''} {item.rows} rows"


def _count_attributes(cases: Sequence[_TestCase]) -> str:
    found = Counter(case.tag for case in cases)
    counts = "".join(f' {name}="{found[tag]}"' for tag, name in COUNT_ATTRIBUTES.items())
    return f'tests="{len(cases)}"{counts}'


def _of_gate(gate: Gate, moved: Mapping[tuple[str, str], str]) -> _TestCase:
    name = f"{replace(gate, run=None).subject} {gate.bound}"
    tag, text = TAGS.get(gate.state), str(gate)
    beside = [f"warning: {gate}"] if gate.state == "warned" else []
    move = moved.get((str(gate.model), gate.measure)) if gate.slice is None else None
    if move:  # which is of the whole table
        beside.append(move)
    return _TestCase(name, tag, gate.kind, text if tag else "", tuple(beside))


def _case_xml(case: _TestCase, run: str) -> str:
    inside = ""
    if case.tag:
        type_ = "" if case.tag == "skipped" else f" type={_quote_attribute(case.kind)}"
        first, _, more = case.text.partition("\n")
        text = "\n".join(escape(escape_unprintable(line)) for line in case.text.split("\n"))
        message = _quote_attribute(f"{first} ..." if more else first)
        inside = f"<{case.tag} message={message}{type_}>{text}</{case.tag}>"
    inside += _output_xml(case.beside)
    name = _quote_attribute(escape_unprintable(case.name))
    start = f"<testcase classname={_quote_attribute(f'clfeval.{run}')} name={name}"
    return f"{start}>{inside}</testcase>\n" if inside else f"{start}/>\n"


def _output_xml(lines: Sequence[str]) -> str:
    text = "\n".join(escape(escape_unprintable(line)) for line in lines)
    return f"<system-out>{text}</system-out>\n" if lines else ""


def _change_text(row: Row) -> str:
    names = ("old", "new", "difference")
    said = (
        " ".join(filter(None, (name, format_cell(row[name]), format_interval(row[name]))))
        for name in names
    )
    reason = as_estimate(row["difference"]).reason
    p = f", p {format_cell(row['p'])}" if row["p"] is not None else ""
    return f"{', '.join(said)}{p}: {row['verdict'] or f'undefined ({reason})'}"


def _quote_attribute(text: str) -> str:
    """Write an attribute; what does not print, which XML may not hold, as an escape."""
    return quoteattr(escape_unprintable(text))
