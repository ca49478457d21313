"""YAML files: where keys stand, and that each file that is not one plain document is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from clfeval.errors import UsageError
from clfeval.tables.yaml import read_yaml
from tests.results import problem_codes
from tests.texts import check_text


def refusal(name: str) -> UsageError:
    """See a file refused (exit 2)."""
    with pytest.raises(UsageError) as caught:
        read_yaml(name)
    assert int(caught.value.exit_code) == 2
    return caught.value


def refused(text: str | bytes, *, kept: bool = True) -> list[str]:
    """Write a file, see it refused as configuration, and return the places, line:column."""
    Path("w.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    error = refusal("w.yaml")
    assert {*problem_codes(error)} == {"configuration"}
    if kept:
        check_text(str(error))
    return [(one.file or "").partition("w.yaml")[2].lstrip(":") for one in error.problems]


TEXT = """\
# weights
f1: 2
recall:
    low: 0.5
    "high": [1, {x: 2}]
mcc: &m {low: 0}
roc: *m
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), "2:1"),
        (("f1",), "2:1"),
        (("recall",), "3:1"),
        (("recall", "low"), "4:5"),
        (("recall", "high"), "5:5"),
        (("recall", "high", 0), "5:14"),
        (("recall", "high", 1), "5:17"),
        (("recall", "high", 1, "x"), "5:18"),
        (("recall", "gamma"), "3:1"),
        (("f1", "low", "high"), "2:1"),
        (("auc",), "2:1"),
        (("mcc", "low"), "6:10"),
        (("roc",), "7:1"),
        (("roc", "low"), "6:10"),
    ],
)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_each_key_and_item_has_its_place(
    path: tuple[str | int, ...], place: str, mark: bytes, end: str
) -> None:
    Path("w.yaml").write_bytes(mark + TEXT.replace("\n", end).encode())
    file = read_yaml("w.yaml")
    assert file.place(*path) == f"w.yaml:{place}"
    assert str(file.problem(path, "too long")) == f"w.yaml:{place}: too long [configuration]"
    assert str(file.problem(path, "gone", "lost")) == f"w.yaml:{place}: gone [lost]"


def test_an_error_at_a_key() -> None:
    Path("w.yaml").write_text("f1: 2\n", encoding="utf-8")
    error = read_yaml(Path("w.yaml")).error_at(("f1",), "is 2", "write 1")
    assert isinstance(error, UsageError)
    assert str(error) == "w.yaml:1:1: is 2 [configuration]\nhint: write 1"


PLACES = {
    "1:4 an integer": "a: !!int '1'",
    "1:1 a map": "!!map {a: 1}",
    "1:4 a bare tag": "a: ! x",
    "1:4 a tag of its own": "a: !mine x",
    "1:1 a key": "!!str a: 1",
    "1:4 a call": "a: !!python/object/apply:os.system [ls]",
    "3:4 a directive": "%TAG ! tag:x,2000:\n---\na: !b 1",
    "1:4 an unknown handle": "a: !e!b 1",
    "1:3 a key of values": "? [1, 2]\n: 3",
    "1:3 a key of keys": "? {a: 1}\n: 3",
    "2:1 an alias for a key": "a: &x b\n*x : 1",
    "2:5 merge": "d: &d {a: 1}\ne: {<<: *d}",
    "1:11 inside itself": "a: &a [1, *a]",
    "1:15 deep inside itself": "a: &a {b: {c: *a}}",
    "1:4 defined below": "a: *b\nb: &b 1",
    "2:1 two documents": "a: 1\n---\nb: 2",
    "3:1 an empty document": "a: 1\n...\n---\n...",
    "1:5 two colons": "a: b: c",
    "2:3 too far in": "a: 1\n b: 2",
    "2:1 tabs": "a:\n\tb: 1",
    "1:4 percent": "a: %5",
    "2:4 open quote": "b: 1\na: 'x\ny: 2\n",
    "2:4 open bracket": "b: 1\na: [1, 2\n",
    "1:4 open brace": "a: {x: 1\nb: 2}",
    "2:1 no colon": "a: 1\nb\nc: 2",
    "2:1 no colon at the end": "a: 1\nb\n",
    "1:4 closing bracket": "a: ]",
    "1:4 dash": "a: - 1",
    "2:1 list and map": "- 1\na: 2",
    "1:6 escape": 'a: "\\q"',
    "1:5 more after the end": "'a' b",
    "2:5 NUL": "a: 1\nb: x\x00y",
    "2:4 escape character": "a: 1\nb: \x1b[31m",
    "1:1 another YAML": "%YAML 2.0\n---\na: 1",
    " nothing": "",
    " blanks": " \n\n",
    " a mark": "\ufeff",
    " comments": "\n# a\n# b",
    " a table": "model,f1\n" + "rf,0.9\n" * 200_000,
}
CODED = {
    "1:3": "naïve: 1".encode("latin1"),
    "2:4": "a: 1\nb: é".encode("latin1"),
    "1:1": "a: 1".encode("utf-16"),
    "2:1": b"a: 1\n\x80",
}


@pytest.mark.parametrize("case", PLACES)
def test_what_is_no_plain_document_is_refused_with_its_place(case: str) -> None:
    assert refused(PLACES[case]) == [case.partition(" ")[0]]


@pytest.mark.parametrize("place", CODED)
def test_only_utf_8_is_read(place: str) -> None:
    assert refused(CODED[place]) == [place]
    Path("w.yaml").write_text("naïve: [φ, 😀]", encoding="utf-8")
    assert read_yaml("w.yaml").value == {"naïve": ["φ", "😀"]}


def test_all_that_is_wrong_with_keys_is_said_at_once() -> None:
    assert refused("a: !x 1\n[b]: 2\n<<: 3\nc: *d\n") == ["1:4", "2:1", "3:1", "4:4"]
    assert refused("f1: 1\nmcc: {low: 0, high: 1,\n  low: 2}\n'f1': 3\n") == ["3:3", "4:1"]


def test_values_that_multiply_are_counted() -> None:
    """Nine levels of ten aliases each would be a thousand million values."""
    laughs = ["a: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    laughs += [f"b{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 10)]
    (place,) = refused("\n".join(laughs))
    assert place.startswith("5:")


@pytest.mark.parametrize(
    ("opening", "times", "closing"),
    [("[", 51, "1" + "]" * 51), ("[", 100_000, ""), ("- ", 1000, "1"), ("{a: ", 60, "}" * 60)],
)
def test_nesting_has_a_limit(opening: str, times: int, closing: str) -> None:
    refused(opening * times + closing)


def test_nesting_up_to_the_limit_is_read() -> None:
    Path("w.yaml").write_text("[" * 50 + "1" + "]" * 50, encoding="utf-8")
    value = read_yaml("w.yaml").value
    for _ in range(50):
        assert isinstance(value, list)
        (value,) = value
    assert value == 1


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("weigths.yaml", "no-such-file"),
        ("nowhere/w.yaml", "no-such-file"),
        (".", "configuration"),
        ("weights.yaml/w.yaml", "configuration"),
    ],
)
def test_a_missing_file_a_folder_and_one_that_cannot_be_opened(name: str, code: str) -> None:
    Path("weights.yaml").write_text("f1: 1", encoding="utf-8")
    error = refusal(name)
    assert problem_codes(error) == [code]
    check_text(str(error))


def test_the_loader_of_yaml_itself_is_left_alone() -> None:
    import yaml

    Path("w.yaml").write_text("no: no", encoding="utf-8")
    assert read_yaml("w.yaml").value == {"no": "no"}
    assert yaml.safe_load("no: no") == {False: False}
