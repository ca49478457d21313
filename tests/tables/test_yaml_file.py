"""YAML files: where keys stand, and that each file that is not one plain document is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from clfeval.errors import UsageError
from clfeval.yaml import read_yaml


def refused(text: str | bytes, name: str = "w.yaml") -> str:
    """Write a file, see it refused as configuration (exit 2), and return the message."""
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as caught:
        read_yaml(name)
    assert int(caught.value.exit_code) == 2
    assert {problem.code for problem in caught.value.problems} == {"configuration"}
    return str(caught.value).replace(" [configuration]", "")


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
    error = read_yaml(Path("w.yaml")).wrong(("f1",), "is 2", "write 1")
    assert isinstance(error, UsageError)
    assert str(error) == "w.yaml:1:1: is 2 [configuration]\nhint: write 1"


def test_a_key_given_twice_names_both_places() -> None:
    text = "f1: 1\nmcc: {low: 0, high: 1,\n  low: 2}\n'f1': 3\n"
    assert refused(text) == (
        "w.yaml:3:3: key 'low' is given twice, first at w.yaml:2:7\n"
        "w.yaml:4:1: key 'f1' is given twice, first at w.yaml:1:1\n"
        "hint: keep one of the two"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !!int '1'", "1:4: tags are not read: '!!int'"),
        ("!!map {a: 1}", "1:1: tags are not read: '!!map'"),
        ("a: ! x", "1:4: tags are not read: '!'"),
        ("a: !mine x", "1:4: tags are not read: '!mine'"),
        ("a: !!binary aGk=", "1:4: tags are not read: '!!binary'"),
        ("!!set {a, b}", "1:1: tags are not read: '!!set'"),
        ("!!str a: 1", "1:1: tags are not read: '!!str'"),
        ("a: !!python/object/apply:os.system [ls]", "1:4: tags are not read"),
        ("%TAG ! tag:x,2000:\n---\na: !b 1", "3:4: tags are not read: 'tag:x,2000:b'"),
        ("a: !e!b 1", "1:4: not YAML: tags are not read"),
        ("? [1, 2]\n: 3", "1:3: a key must be one text, written out"),
        ("? {a: 1}\n: 3", "1:3: a key must be one text, written out"),
        ("a: &x b\n*x : 1", "2:1: a key must be one text, written out"),
        ("d: &d {a: 1}\ne: {<<: *d}", "2:5: '<<' merges nothing in YAML 1.2"),
        ("a: &a [1, *a]", "1:11: *a stands inside itself"),
        ("a: &a {b: {c: *a}}", "1:15: *a stands inside itself"),
        ("a: *b\nb: &b 1", "1:4: *b is not defined above"),
        ("a: 1\n---\nb: 2", "2:1: a second document starts\nhint: one file, one document"),
        ("a: 1\n...\n---\n...", "3:1: a second document starts"),
        ("a: b: c", "1:5: not YAML: a ':' where no key can stand"),
        ("a: 1\n b: 2", "2:3: not YAML: a ':' where no key can stand"),
        ("a:\n\tb: 1", "2:1: not YAML: a tab where a key or value starts\nhint: indent with"),
        ("a: %5", "1:4: not YAML: no text can start with this character"),
        ("a: @b", "1:4: not YAML: no text can start with this character"),
        ("b: 1\na: 'x\ny: 2\n", "2:4: not YAML: a quote is opened here and not closed"),
        ("b: 1\na: [1, 2\n", "2:4: not YAML: a bracket is opened here; a ','"),
        ("a: {x: 1\nb: 2}", "1:4: not YAML: a bracket is opened here; a ','"),
        ("a: 1\nb\nc: 2", "2:1: not YAML: a key without ':'"),
        ("a: 1\nb\n", "2:1: not YAML: a key without ':'"),
        ("a: ]", "1:4: not YAML: no value can start like this"),
        ("a: - 1", "1:4: not YAML: a '-' where no item can stand"),
        ("- 1\na: 2", "2:1: not YAML: this does not fit the lines above"),
        ('a: "\\q"', "1:6: not YAML: an unknown escape in double quotes"),
        ("'a' b", "1:5: not YAML: something follows the end of the value"),
        ("a: 1\nb: x\x00y", "2:5: not YAML: a control character"),
        ("a: 1\nb: \x1b[31m", "2:4: not YAML: a control character"),
        ("%YAML 2.0\n---\na: 1", "1:1: not YAML: found incompatible YAML document"),
    ],
)
def test_what_is_no_plain_document_is_refused_with_its_place(text: str, message: str) -> None:
    assert refused(text).startswith(f"w.yaml:{message}")


def test_all_that_is_wrong_with_keys_is_said_at_once() -> None:
    assert refused("a: !x 1\n[b]: 2\n<<: 3\nc: *d\n").splitlines()[:4] == [
        "w.yaml:1:4: tags are not read: '!x'",
        "w.yaml:2:1: a key must be one text, written out",
        "w.yaml:3:1: '<<' merges nothing in YAML 1.2",
        "w.yaml:4:4: *d is not defined above",
    ]


@pytest.mark.parametrize("text", ["", " \n\n", "\ufeff"])
def test_an_empty_file(text: str) -> None:
    assert refused(text) == "w.yaml: the file is empty"


@pytest.mark.parametrize("text", ["# nothing yet\n", "\n# a\n# b"])
def test_a_file_of_comments(text: str) -> None:
    assert refused(text) == "w.yaml: the file holds nothing but comments"


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("naïve: 1".encode("latin1"), "1:3"),
        ("a: 1\nb: é".encode("latin1"), "2:4"),
        ("a: 1".encode("utf-16"), "1:1"),
        (b"a: 1\n\x80", "2:1"),
    ],
)
def test_only_utf_8_is_read(content: bytes, place: str) -> None:
    assert refused(content).startswith(f"w.yaml:{place}: not UTF-8\nhint: save it as UTF-8")


def test_utf_8_is_read() -> None:
    Path("w.yaml").write_text("naïve: [φ, 😀]", encoding="utf-8")
    assert read_yaml("w.yaml").value == {"naïve": ["φ", "😀"]}


def test_values_that_multiply_are_counted() -> None:
    """Nine levels of ten aliases each would be a thousand million values."""
    laughs = ["a: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    laughs += [f"b{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 10)]
    message = refused("\n".join(laughs))
    assert message.startswith("w.yaml:5:")
    assert message.endswith("more than 100,000 values, aliases written out")


@pytest.mark.parametrize(
    ("opening", "times", "closing"),
    [("[", 51, "1" + "]" * 51), ("[", 100_000, ""), ("- ", 1000, "1"), ("{a: ", 60, "}" * 60)],
)
def test_nesting_has_a_limit(opening: str, times: int, closing: str) -> None:
    assert refused(opening * times + closing).endswith("nested more than 50 deep")


def test_nesting_up_to_the_limit_is_read() -> None:
    Path("w.yaml").write_text("[" * 50 + "1" + "]" * 50, encoding="utf-8")
    value = read_yaml("w.yaml").value
    for _ in range(50):
        assert isinstance(value, list)
        (value,) = value
    assert value == 1


def test_a_table_is_not_taken_for_a_configuration() -> None:
    message = refused("model,f1\n" + "rf,0.9\n" * 200_000)
    assert message == (
        "w.yaml: more than 1 MiB, too long for a configuration\nhint: is this the table?"
    )


def test_a_missing_file_a_folder_and_one_that_cannot_be_opened() -> None:
    Path("weights.yaml").write_text("f1: 1", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_yaml("weigths.yaml")
    assert str(caught.value) == (
        "weigths.yaml: no such file [no-such-file]\nhint: did you mean 'weights.yaml'?"
    )
    with pytest.raises(UsageError, match=r"nowhere/w\.yaml: no such file"):
        read_yaml("nowhere/w.yaml")
    with pytest.raises(UsageError, match="is a directory, not a YAML file"):
        read_yaml(".")
    with pytest.raises(UsageError, match="cannot be read: "):
        read_yaml("weights.yaml/w.yaml")


def test_the_loader_of_others_is_left_alone() -> None:
    import yaml

    Path("w.yaml").write_text("no: no", encoding="utf-8")
    assert read_yaml("w.yaml").value == {"no": "no"}
    assert yaml.safe_load("no: no") == {False: False}
