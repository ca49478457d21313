"""Every code of errors, warnings and answers stands in a table, none of them for nothing."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from clfeval.compare.gates import limit_tests
from clfeval.document import NO_BASELINE
from clfeval.pages.codes import ANSWERS, ERRORS, GATES, WARNINGS
from clfeval.pages.table_parts import REASONS
from tests.sources import FILES, PACKAGE, nodes_of


def nodes() -> Iterator[ast.AST]:
    """Yield every part of every file but the list of codes."""
    for path in FILES:
        if path.name != "codes.py":
            yield from nodes_of(path)


def places_of_code() -> dict[str, int]:
    """Return at which place a class or function takes an argument called `code`."""
    places = {}
    for node in nodes():
        if isinstance(node, ast.ClassDef):
            names = [
                part.target.id
                for part in node.body
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
            ]
        elif isinstance(node, ast.FunctionDef):
            arguments = [argument.arg for argument in node.args.args]
            names = [name for name in arguments if name not in ("self", "cls")]
        else:
            continue
        if "code" in names:
            places[node.name] = names.index("code")
    return places


def texts(node: ast.expr) -> Iterator[str]:
    """Yield the literal texts an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from texts(node.body)
        yield from texts(node.orelse)


def called(function: ast.expr) -> str | None:
    """Name what is called; `of` is an error's constructor only where an error says it."""
    if isinstance(function, ast.Name):
        return function.id if function.id != "of" else None
    if not isinstance(function, ast.Attribute):
        return None
    error = isinstance(function.value, ast.Name) and function.value.id.endswith("Error")
    return function.attr if error or function.attr != "of" else None


def literal_codes() -> set[str]:
    """Return every literal that is given as a code, or bound to a name `code` or `CODE`."""
    places, found = places_of_code(), set()
    for node in nodes():
        if isinstance(node, ast.Call):
            name = called(node.func)
            if name in places:
                given = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
                for argument in given or node.args[places[name] : places[name] + 1]:
                    found |= set(texts(argument))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                for name, value in pairs:
                    if isinstance(name, ast.Name) and name.id in ("code", "CODE"):
                        found |= set(texts(value))
    return found


def test_every_code_has_its_sentence() -> None:
    found = literal_codes()
    assert len(found) > 100  # the search itself works
    assert found - {*ERRORS, *WARNINGS, *ANSWERS} == set()


def test_every_sentence_belongs_to_a_code_that_is_used() -> None:
    written = {
        node.value
        for node in nodes()
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    built = {f"unknown-{what}" for what in written}  # names.match_names
    assert {*ERRORS, *WARNINGS, *GATES, *ANSWERS} - written - built == set()


def test_every_reason_of_a_gate_has_its_sentence() -> None:
    parts = [
        node
        for path in FILES
        if path.parent == PACKAGE / "compare" / "gates"
        for node in nodes_of(path)
    ]
    given = [node.value for node in parts if isinstance(node, ast.keyword) and node.arg == "reason"]
    names = ("NOT_IN_BASELINE", "NOT_SIGNIFICANT", "UNDEFINED_IN_BASELINE", "NO_INTERVAL")
    named = [*(getattr(limit_tests, name) for name in names), NO_BASELINE]
    found = {
        part.value
        for value in given
        for part in ast.walk(value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }
    assert len(found) > 3  # the search itself works
    assert {*found, *named} <= {*GATES}


def test_a_saved_result_may_hold_every_reason_that_has_words() -> None:
    schema = json.loads((PACKAGE / "document" / "result-1.json").read_text(encoding="utf-8"))
    known = schema["$defs"]["estimate"]["properties"]["reason"]["enum"]
    assert {*REASONS} <= {*known}


def test_sentences_are_sentences_and_stand_in_order() -> None:
    for table in (ERRORS, WARNINGS, GATES, ANSWERS):
        assert list(table) == sorted(table)
        for code, sentence in table.items():
            assert sentence[0].isupper(), code
            assert sentence.endswith("."), code
            assert "\n" not in sentence, code
