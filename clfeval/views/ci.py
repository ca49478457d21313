"""Output for CI servers: annotations of errors and missed gates, and JUnit test cases."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from clfeval.compare.gates.kinds import gate_sentence
from clfeval.document import Document, Gate, GateState, InputFile
from clfeval.document.cells import Row, as_estimate, cell_text
from clfeval.errors import ClfevalError, ExitCode
from clfeval.formatting import printable
from clfeval.pages.batches import COMPUTED, FAILED, LEFT_OUT
from clfeval.pages.schema import BASELINE, SUITE, comparison_rows
from clfeval.pages.table_parts import format_cell, format_interval
from clfeval.records import dataclass, replace

Weight = Literal["error", "warning"]
MAX_ANNOTATIONS = 10  # of each level, that GitHub shows of one step
REPORT = "gl-code-quality-report.json"  # as the documentation of GitLab calls it
DEFAULT_FILE = ".gitlab-ci.yml"  # of findings without a file: the command line is written there


@dataclass(frozen=True, slots=True)
class Finding:
    """An annotation: place, title and text; severity as in GitLab.

    identity: what makes its fingerprint, the same in every run.
    """

    level: Weight
    code: str
    text: str
    file: str | None
    row: int | None
    severity: str
    identity: tuple[str, ...]


def gate_findings(
    gates: Sequence[Gate], tables: Sequence[str], inputs: Sequence[InputFile]
) -> list[Finding]:
    """Return annotations of missed and warning gates; tables: inputs as given; inputs: files."""
    file = None
    for name in tables[:1]:  # annotations of a pattern are at its first input file, if it exists
        first_input = os.path.join(
            os.path.dirname(name), next((source.name for source in inputs), "")
        )
        is_pattern = os.path.isfile(first_input) and not os.path.isfile(name)
        file = _relative_path(first_input if is_pattern else name)
    findings = []
    for gate in gates:
        if not gate.passed:
            model = "any" if gate.among else str(gate.model)
            fingerprint = (
                gate.kind,
                gate.metric,
                model,
                gate.limit_text or repr(gate.limit),
                *filter(None, (gate.slice, gate.run)),
            )
            level: Weight = "error" if gate.failed else "warning"
            severity = "major" if gate.failed else "minor"
            text = printable(gate_sentence(gate))
            findings.append(
                Finding(
                    level, gate.kind, text, file, row=None, severity=severity, identity=fingerprint
                )
            )
    return findings


def error_findings(error: ClfevalError) -> list[Finding]:
    """Return the annotations of an error: one for each problem, with its hint."""
    severity = "critical" if error.exit_code == ExitCode.DATA else "blocker"
    findings = []
    for single_error in error.parts or (error,):
        hint = f"\nhint: {printable(single_error.hint)}" if single_error.hint else ""
        for problem in single_error.problems:
            column = f"column '{problem.column}': " if problem.column is not None else ""
            text = f"{printable(f'{column}{problem.message}')}{hint}"
            name, row = problem.place
            file = name and _relative_path(name)
            identity = (problem.code, str(row), str(problem.column), problem.message)
            findings.append(Finding("error", problem.code, text, file, row, severity, identity))
    return findings


def bug_findings(lines: Sequence[str]) -> list[Finding]:
    """Return the annotation of a bug: the last line of its traceback."""
    last_line = printable(lines[-1] if lines else "unknown")
    text = f"a bug in clfeval: {last_line}"
    return [
        Finding(
            "error", "bug", text, file=None, row=None, severity="blocker", identity=(last_line,)
        )
    ]


def _relative_path(name: str) -> str | None:
    """Return a path relative to the working folder, as CI servers expect; None for stdin."""
    if name in ("-", "<stdin>"):
        return None
    relative_path = os.path.relpath(name) if os.path.isabs(name) else os.path.normpath(name)
    return name if relative_path.startswith("..") else relative_path.replace(os.sep, "/")


def github_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a workflow command for each finding shown, and the number of others, escaped."""
    total_of_level = Counter(finding.level for finding in findings)
    written_of_level = Counter[Weight]()
    for finding in findings:
        level = finding.level
        written_of_level[level] += 1
        if written_of_level[level] == MAX_ANNOTATIONS < total_of_level[level]:
            omitted_count = total_of_level[level] - MAX_ANNOTATIONS + 1
            yield f"::{level} title=clfeval::{omitted_count:,} more {level}s; the log lists them"
        elif written_of_level[level] <= MAX_ANNOTATIONS:
            properties = ",".join(_github_properties(finding))
            yield f"::{level} {properties}::{_escape_message(finding.text)}"


def _github_properties(finding: Finding) -> Iterator[str]:
    """Yield the file, line and title of a workflow command, where known, escaped."""
    title = f"clfeval [{finding.code}]"
    properties = {"file": finding.file, "line": finding.row, "title": title}
    for name, value in properties.items():
        if value is not None:
            text = _escape_message(printable(str(value)))
            yield f"{name}={text.replace(':', '%3A').replace(',', '%2C')}"


def _escape_message(text: str) -> str:
    """Return a message escaped, in which there may be line breaks."""
    return "%0A".join(printable(line).replace("%", "%25") for line in text.split("\n"))


def gitlab_report(findings: Sequence[Finding]) -> str:
    """Return the GitLab report; a finding has the same fingerprint in every run, each once."""
    occurrences = Counter[tuple[str, ...]]()
    issues = []
    for finding in findings:
        path = finding.file or DEFAULT_FILE
        identity = (path, *finding.identity)
        occurrences[identity] += 1
        fingerprint_text = json.dumps([*identity, occurrences[identity]])
        issues.append(
            {
                "description": finding.text,
                "check_name": f"clfeval/{finding.code}",
                "fingerprint": sha256(fingerprint_text.encode()).hexdigest()[:32],
                "severity": finding.severity,
                "location": {"path": path, "lines": {"begin": finding.row or 1}},
            }
        )
    return json.dumps(issues, indent=1) + "\n"


TAG_OF_STATE: Mapping[GateState, str] = {
    "missed": "failure",
    "undefined": "error",
    "skipped": "skipped",
}
COUNT_ATTRIBUTES = {"failure": "failures", "error": "errors", "skipped": "skipped"}  # of a suite
TAG_OF_RUN_STATE: Mapping[str, str] = {FAILED: "error", LEFT_OUT: "skipped"}  # of a batch


@dataclass(frozen=True, slots=True)
class _TestCase:
    """A test case: tag and kind of its failure, the failure's text, and further output."""

    name: str
    tag: str | None = None
    kind: str = ""
    text: str = ""
    output: tuple[str, ...] = ()


def _gate_case(gate: Gate, change: str | None) -> _TestCase:
    """Return the case of a gate; change: of its value in the whole table, if it is known."""
    tag = TAG_OF_STATE.get(gate.state)
    sentence = printable(gate_sentence(gate))  # one line, whatever names hold
    output_lines = [f"warning: {sentence}"] if gate.state == "warned" else []
    output_lines += [change] if change else []
    name = f"{replace(gate, run=None).subject} {gate.bound}"
    return _TestCase(name, tag, gate.kind, sentence if tag else "", tuple(output_lines))


def as_junit(result: Document) -> str:
    """Return the gates as a JUnit document: missed is a failure, undefined an error.

    A suite is a run, a case a model, measure and limit, in the order requested. A run of a batch
    has one case more, for its computation. Changes from a baseline and limits that only warn are
    the output of a case, warnings that of the first suite. No times: equal results give equal
    bytes.
    """
    cases_of_suite: dict[str, list[_TestCase]] = {}
    problems_of_run: dict[str, list[str]] = {}
    for row in result.tables.get("problems", ()):
        problems_of_run.setdefault(row["run"], []).append(row["text"])
    for row in result.tables["runs"] if result.command == SUITE else ():
        suite_name = row["run"]
        tag = TAG_OF_RUN_STATE.get(cell_text(row["state"]))
        kind_and_text = (
            (f"exit code {row['code']}", "\n".join(problems_of_run.get(suite_name, ())))
            if tag
            else ()
        )
        cases_of_suite[suite_name] = [_TestCase(COMPUTED, tag, *kind_and_text)]
    change_texts = {
        (row["model"], row["measure"]): _change_text(row)
        for row in comparison_rows(result, BASELINE)
    }
    for gate in result.gates:
        change = change_texts.get((str(gate.model), gate.measure)) if gate.slice is None else None
        cases_of_suite.setdefault(gate.run or result.command, []).append(_gate_case(gate, change))
    notes = [f"note: {warning.message} [{warning.code}]" for warning in result.warnings]
    suites_xml = ""
    for suite_name, cases in cases_of_suite.items():
        suite_notes = () if suites_xml else notes  # only the first suite has the notes
        suites_xml += _suite_xml(suite_name, cases, result, suite_notes)
    total_counts = _count_attributes([case for cases in cases_of_suite.values() for case in cases])
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="clfeval" {total_counts}>\n{suites_xml}</testsuites>\n'
    )


def _suite_xml(
    name: str, cases: Sequence[_TestCase], result: Document, notes: Sequence[str]
) -> str:
    """Return the element of a test suite; notes: lines of its output."""
    input_properties = (
        ("input", f"{file.name} {file.sha256 or ''} {file.rows} rows") for file in result.inputs
    )
    properties = "".join(
        f"<property name={_quote_attribute(key)} value={_quote_attribute(value)}/>\n"
        for key, value in (
            ("version", result.version),
            ("signature", result.signature),
            *input_properties,
        )
    )
    return (
        f"<testsuite name={_quote_attribute(f'clfeval {name}')} {_count_attributes(cases)}>\n"
        f"<properties>\n{properties}</properties>\n"
        f"{''.join(_case_xml(case, name) for case in cases)}{_output_xml(notes)}</testsuite>\n"
    )


def _count_attributes(cases: Sequence[_TestCase]) -> str:
    cases_of_tag = Counter(case.tag for case in cases)
    count_texts = "".join(
        f' {attribute}="{cases_of_tag[tag]}"' for tag, attribute in COUNT_ATTRIBUTES.items()
    )
    return f'tests="{len(cases)}"{count_texts}'


def _case_xml(case: _TestCase, run: str) -> str:
    """Return the element of a test case; run: the name of its suite."""
    content = ""
    if case.tag:
        type_attribute = "" if case.tag == "skipped" else f" type={_quote_attribute(case.kind)}"
        first_line, _, further_lines = case.text.partition("\n")
        text = "\n".join(escape(printable(line)) for line in case.text.split("\n"))
        message = _quote_attribute(f"{first_line} ..." if further_lines else first_line)
        content = f"<{case.tag} message={message}{type_attribute}>{text}</{case.tag}>"
    content += _output_xml(case.output)
    name_attribute = _quote_attribute(printable(case.name))
    start_tag = f"<testcase classname={_quote_attribute(f'clfeval.{run}')} name={name_attribute}"
    return f"{start_tag}>{content}</testcase>\n" if content else f"{start_tag}/>\n"


def _output_xml(lines: Sequence[str]) -> str:
    text = "\n".join(escape(printable(line)) for line in lines)
    return f"<system-out>{text}</system-out>\n" if lines else ""


def _change_text(row: Row) -> str:
    estimates = (
        " ".join(filter(None, (name, format_cell(row[name]), format_interval(row[name]))))
        for name in ("old", "new", "difference")
    )
    reason = as_estimate(row["difference"]).reason
    p_text = f", p {format_cell(row['p'])}" if row["p"] is not None else ""
    return f"{', '.join(estimates)}{p_text}: {row['verdict'] or f'undefined ({reason})'}"


def _quote_attribute(text: str) -> str:
    """Return an XML attribute, with characters that XML may not hold as escapes."""
    return quoteattr(printable(text))
