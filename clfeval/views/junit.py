"""The JUnit view: one test case per gate, for CI pages; names carry model, metric and limit."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from clfeval.result import Gate, Result


def as_junit(result: Result) -> str:
    """Return the gates as a JUnit document: missed is a failure, undefined an error."""
    failed = sum(not gate.passed and gate.value is not None for gate in result.gates)
    errors = sum(not gate.passed and gate.value is None for gate in result.gates)
    head = f'tests="{len(result.gates)}" failures="{failed}" errors="{errors}"'
    cases = "".join(map(_case, result.gates))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites>\n<testsuite name="clfeval {result.command}" {head}>\n'
        f"{cases}</testsuite>\n</testsuites>\n"
    )


def _case(gate: Gate) -> str:
    who = f"{gate.model}: " if gate.model else ""
    name = _clean(f"{who}{gate.metric} {gate.kind} {gate.limit!r}")
    start = f'<testcase classname="clfeval" name={quoteattr(name)}'
    if gate.passed:
        return f"{start}/>\n"
    tag = "failure" if gate.value is not None else "error"
    return f"{start}><{tag}>{escape(_clean(str(gate)))}</{tag}></testcase>\n"


def _clean(text: str) -> str:
    """Drop what XML cannot hold."""
    return "".join(c for c in text if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff"))
