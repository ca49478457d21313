"""A saved result without its data: shown, compared with another and held to gates."""

from __future__ import annotations

from pathlib import Path

import pytest

from clfeval.pages.report import BEYOND
from clfeval.pages.report.sections import THRESHOLD_HINT
from clfeval.placeholders import fill_for_shell
from tests.process.program import clfeval, json_document
from tests.texts import check_text, problem_places

TABLE = "id,truth,a,b\n" + "".join(
    f"{i},{int(i < 30)},{(i * 37 % 60) / 60:.3f},{(60 - i) / 60:.3f}\n" for i in range(60)
)
SUFFIXES = (".csv", ".md", ".html", ".json")


@pytest.fixture(autouse=True)
def saved() -> None:
    Path("t.csv").write_text(TABLE)
    for name in "ab":
        clfeval("report", "t.csv", "--id", "id", "--model", name, "-q", "--save", f"{name}.json")


OFFERS = (fill_for_shell(THRESHOLD_HINT), f"{fill_for_shell(BEYOND)}\n")


def without_offers(text: str) -> str:
    for one in OFFERS:
        assert one in text
        text = text.replace(one, "")
    return text


def test_a_result_is_shown_as_it_was_in_every_form_but_for_what_needs_its_data() -> None:
    files = [word for suffix in SUFFIXES for word in ("--save", f"first{suffix}")]
    again = [word for suffix in SUFFIXES for word in ("--save", f"again{suffix}")]
    first = clfeval("report", "t.csv", "--id", "id", "-q", *files)
    shown = clfeval("report", "first.json", "-q", *again)
    assert (shown.code, shown.out) == (0, without_offers(first.out))
    for suffix in (".csv", ".json"):
        assert Path(f"again{suffix}").read_bytes() == Path(f"first{suffix}").read_bytes()
    for suffix in (".md", ".html"):
        text = Path(f"first{suffix}").read_text().replace(OFFERS[0], "")
        assert Path(f"again{suffix}").read_text() == text


def test_it_is_held_to_gates_and_compared_with_another() -> None:
    # b orders all rows right: its area is 1
    words = ("report", "-q", "b.json")
    assert clfeval(*words, "--fail-under", "roc_auc=1", "--save", "g.xml").code == 0
    assert Path("g.xml").read_text().count("<testcase") == 1
    assert clfeval(*words, "--fail-over", "roc_auc=0.9").code == 1
    text = Path("a.json").read_text().replace('"a"', '"b"')
    Path("was.json").write_text(text)
    done = clfeval(*words, "--baseline", "was.json", "--max-drop", "roc_auc=0", "-f", "json")
    assert done.code == 0
    rows = json_document(done)["tables"]["comparisons"]
    assert {(row["against"], row["paired"]) for row in rows} == {("baseline", False)}
    turned = clfeval(
        "report", "-q", "was.json", "--baseline", "b.json", "--max-drop", "roc_auc=0.1"
    )
    assert turned.code == 1


def test_one_result_is_shown_and_several_are_refused() -> None:
    done = clfeval("report", "a.json", "b.json", "-q")
    assert (done.code, done.out) == (2, "")
    assert "clfeval report a.json --baseline b.json" in done.err
    check_text(done.err)


def test_a_result_of_another_command_is_shown_too() -> None:
    clfeval("mars", "t.csv", "--id", "id", "--model", "a", "-q", "--save", "m.json")
    alone = clfeval("report", "m.json", "-q", "--fail-under", "recall=0")
    assert (alone.code, "t.csv" in alone.out) == (0, True)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("[]", 3),
        ("{", 3),
        ("", 3),
        ("[" * 100_000, 3),
        ('{"schema": "clfeval.result/9"}', 2),
        ('{"schema": "clfeval.result/1"}', 3),
    ],
    ids=["list", "open", "empty", "deep", "newer", "incomplete"],
)
def test_what_is_no_result_is_refused(content: str, code: int) -> None:
    Path("x.json").write_text(content)
    done = clfeval("report", "x.json")
    assert (done.code, done.out) == (code, "")
    check_text(done.err)


def test_options_of_data_say_nothing_of_a_result() -> None:
    for words in (("--positive", "1"), ("--reference", "a"), ("--by", "x")):
        done = clfeval("report", "a.json", *words)
        assert (done.code, words[0] in done.err) == (2, True)
    table = clfeval("report", "a.json", "--baseline", "t.csv")
    assert table.code == 2
    check_text(table.err)
    gone = clfeval("report", "gone.json")
    assert (gone.code, problem_places(gone.err)) == (3, ["gone.json: [no-such-file]"])
