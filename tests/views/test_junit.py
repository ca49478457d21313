"""JUnit as a common reader reads it: a suite a run, a case a gate, every name as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

import clfeval
from clfeval.compare.gates.kinds import gate_sentence
from clfeval.document import Gate, ResultNote
from clfeval.formatting import printable
from clfeval.views.ci import as_junit, gate_findings
from tests.texts import check_text

ORDER = ["properties", "testcase", "system-out", "system-err"]  # of a suite, by Jenkins' schema
GATES = (
    Gate("fail-under", "recall", "rf", 0.8, 0.85, True),
    Gate("fail-under", "recall", "svm", 0.8, 0.75, False),
    Gate("fail-over", "fpr", "svm", 0.1, None, False, "no_negatives"),
    Gate("fail-under", "found", None, 3, 2, False),
)


def result_of(*gates: Gate, notes: tuple[ResultNote, ...] = ()) -> clfeval.Result:
    result = clfeval.mars(pl.DataFrame({"truth": [1, 0, 1], "rf": [1, 0, 1], "svm": [1, 0, 0]}))
    return replace(result, gates=gates, warnings=notes)


def junit_document(result: clfeval.Result, tmp_path: Path) -> JUnitXml:
    file = tmp_path / "gates.xml"
    file.write_text(as_junit(result), encoding="utf-8")
    return JUnitXml.fromfile(str(file))


def suites(document: JUnitXml) -> list[TestSuite]:
    return [one for one in document if isinstance(one, TestSuite)]


def cases(document: JUnitXml) -> list[TestCase]:
    return [case for suite in suites(document) for case in suite]


def test_a_reader_finds_a_case_for_each_gate_in_order(tmp_path: Path) -> None:
    document = junit_document(result_of(*GATES), tmp_path)
    assert (document.tests, document.failures, document.errors, document.skipped) == (4, 2, 1, 0)
    (suite,) = suites(document)
    assert suite.name == "clfeval mars"
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 2, 1, 0)
    assert [(case.classname, case.name) for case in suite] == [
        ("clfeval.mars", "rf: recall fail-under 0.8"),
        ("clfeval.mars", "svm: recall fail-under 0.8"),
        ("clfeval.mars", "svm: fpr fail-over 0.1"),
        ("clfeval.mars", "found fail-under 3"),
    ]
    met, missed, undefined, count = suite
    assert met.is_passed
    (failure,) = missed.result
    assert isinstance(failure, Failure)
    assert failure.message == failure.text == gate_sentence(GATES[1])
    assert failure.type == "fail-under"
    (error,) = undefined.result
    assert isinstance(error, Error)
    assert [error.message, count.result[0].message] == [gate_sentence(gate) for gate in GATES[2:]]
    check_text(map(gate_sentence, GATES))


def test_the_suite_tells_where_the_numbers_come_from_and_its_notes(tmp_path: Path) -> None:
    result = result_of(
        *GATES, notes=(ResultNote("small-class", "few rows"), ResultNote("x", "<b> & c"))
    )
    (suite,) = suites(junit_document(result, tmp_path))
    found = [(one.name, one.value) for one in suite.properties()]
    (file,) = result.inputs
    assert found == [
        ("version", clfeval.__version__),
        ("signature", result.signature),
        ("input", f"{file.name} {file.sha256 or ''} 3 rows"),
    ]
    root = ElementTree.fromstring(as_junit(result))
    notes = "note: few rows [small-class]\nnote: <b> & c [x]"
    assert [one.text for one in root.iter("system-out")] == [notes]
    tags = [child.tag for child in root[0]]
    assert tags == sorted(tags, key=ORDER.index)
    assert not any("time" in element.attrib for element in root.iter())


def test_a_skipped_gate_is_skipped_and_one_that_warns_only_says_so(tmp_path: Path) -> None:
    gone = Gate("baseline", "old.json", None, 0, None, True, "baseline_missing")
    warns = replace(GATES[1], severity="warn")
    document = junit_document(result_of(gone, warns, GATES[3]), tmp_path)
    assert (document.tests, document.failures, document.errors, document.skipped) == (3, 1, 0, 1)
    skipped, warned, _ = cases(document)
    assert isinstance(skipped.result[0], Skipped)
    assert warned.result == []
    check_text([skipped.result[0].message, warned.system_out])


def test_each_run_has_its_suite(tmp_path: Path) -> None:
    gates = [replace(gate, run=f"run of {gate.model}") for gate in GATES]
    result = result_of(*gates, notes=(ResultNote("x", "said once"),))
    document = junit_document(result, tmp_path)
    assert [(one.name, one.tests) for one in suites(document)] == [
        ("clfeval run of rf", 1),
        ("clfeval run of svm", 2),
        ("clfeval run of None", 1),
    ]
    assert cases(document)[0].name == "rf: recall fail-under 0.8"
    assert as_junit(result).count("<system-out>note: said once [x]</system-out>") == 1
    assert document.tests == 4


@example("a\nb")  # no name breaks the line of the message
@given(st.text(st.characters(codec=None), min_size=1))
def test_every_name_is_read_back(name: str) -> None:
    gate = Gate("fail-under", "recall", name, 0.5, 0.25, False)
    text = as_junit(result_of(gate))
    (case,) = cases(JUnitXml.fromstring(text.encode()))
    assert case.name == f"{printable(name)}: recall fail-under 0.5"
    assert case.result[0].message == printable(gate_sentence(gate))


def test_without_gates_it_is_an_empty_document() -> None:
    document = JUnitXml.fromstring(as_junit(result_of()).encode())
    assert (document.tests, suites(document)) == (0, [])


def test_a_slice_is_told_apart_and_has_no_change_of_the_whole_table(tmp_path: Path) -> None:
    result = clfeval.mars(pl.DataFrame({"truth": [1, 0, 1], "rf": [1, 0, 1], "svm": [1, 0, 0]}))
    whole = Gate("max-drop", "recall", "rf", 0.1, 0.0, True)
    judged = replace(result.check(baseline=result), gates=(whole, replace(whole, slice="site=a")))
    first, second = cases(junit_document(judged, tmp_path))
    assert "0.000" in str(first.system_out)
    assert second.system_out is None


def test_a_finding_of_gitlab_is_the_same_while_the_gate_is() -> None:
    """By model, measure, slice and limit as written; not by what a share amounts to."""
    one = Gate("max-drop", "recall", "rf", 0.02, 0.3, False, limit_text="5%")
    others = [
        replace(one, slice="site=a"),
        replace(one, limit_text="6%"),
        replace(one, run="night"),
        replace(one, model="svm"),
        replace(one, among=2),
    ]
    gates = [one, replace(one, limit=0.04, value=0.4), *others]
    same, again, *more = (finding.identity for finding in gate_findings(gates, (), ()))
    assert same == again
    assert len({same, *more}) == 1 + len(others)
    (best,) = gate_findings([replace(one, among=2, model="svm")], (), ())
    assert best.identity == more[-1], "whichever comes nearest"
