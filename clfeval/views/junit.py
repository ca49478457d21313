"""The JUnit view: one test case per gate, for CI pages; names carry model, metric and limit."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

from clfeval.pages.write import interval, show
from clfeval.result import Gate, Result, Row
from clfeval.schema import BASELINE


def as_junit(result: Result) -> str:
    """Return the gates as a JUnit document: missed is a failure, undefined an error.

    What a baseline says of a gate's model and measure is the output of its case.
    """
    failed = sum(gate.failed and gate.value is not None for gate in result.gates)
    errors = sum(gate.failed and gate.value is None for gate in result.gates)
    head = f'tests="{len(result.gates)}" failures="{failed}" errors="{errors}"'
    rows = result.tables.get(BASELINE, ())
    moved = {(str(row["model"]), str(row["measure"])): _moved(row) for row in rows}
    cases = "".join(_case(gate, moved) for gate in result.gates)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites>\n<testsuite name="clfeval {result.command}" {head}>\n'
        f"{cases}</testsuite>\n</testsuites>\n"
    )


def _case(gate: Gate, moved: Mapping[tuple[str, str], str]) -> str:
    name = _clean(f"{gate.subject} {gate.bound}")
    start = f'<testcase classname="clfeval" name={quoteattr(name)}'
    tag = "failure" if gate.value is not None else "error"
    inside = "" if not gate.failed else f"<{tag}>{escape(_clean(str(gate)))}</{tag}>"
    if beside := moved.get((str(gate.model), gate.measure)):
        inside += f"<system-out>{escape(beside)}</system-out>"
    return f"{start}>{inside}</testcase>\n" if inside else f"{start}/>\n"


def _moved(row: Row) -> str:
    """Say what was, what is, how far it moved and how sure that is."""
    cells = ((name, show(row[name]), interval(row[name])) for name in ("old", "new", "change"))
    said = (" ".join(filter(None, cell)) for cell in cells)
    return f"{', '.join(said)}: {row['verdict']}"


def _clean(text: str) -> str:
    """Drop what XML cannot hold."""
    return "".join(c for c in text if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff"))
