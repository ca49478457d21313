"""Saved results without their data: shown, put side by side, compared and held to gates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.process.program import clfeval

TABLE = "id,truth,a,b\n" + "".join(
    f"{i},{int(i < 30)},{(i * 37 % 60) / 60:.3f},{(60 - i) / 60:.3f}\n" for i in range(60)
)
SUFFIXES = (".csv", ".md", ".html", ".json")


@pytest.fixture(autouse=True)
def saved() -> None:
    Path("t.csv").write_text(TABLE)
    for name in "ab":
        clfeval("report", "t.csv", "--id", "id", "--model", name, "-q", "--save", f"{name}.json")


OFFERS = (
    " (at another: --threshold T)",
    "--with mars (unique finds), phidelta (bias), jpt (other ratios), mlcps (score)\n",
)


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
    several = clfeval("report", "a.json", "b.json", "-q")
    assert (several.code, [one for one in OFFERS if one in several.out]) == (0, [])


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
    found = json.loads(done.out)
    rows = found["tables"]["comparisons"]
    assert {(row["against"], row["paired"]) for row in rows} == {("baseline", False)}
    turned = clfeval("report", "-q", "was.json", "--baseline", "b.json",
                     "--max-drop", "roc_auc=0.1")  # fmt: skip
    assert turned.code == 1


def test_models_of_several_stand_side_by_side_and_nothing_is_tested() -> None:
    done = clfeval("report", "a.json", "b.json", "-q", "-f", "json",
                   "--fail-under", "b:roc_auc=1")  # fmt: skip
    assert done.code == 0, done.err
    found = json.loads(done.out)
    rows = found["tables"]["models"]
    assert [(row["model"], row["tied"]) for row in rows] == [("a", None), ("b", None)]
    one, other = (json.loads(Path(f"{name}.json").read_text()) for name in "ab")
    assert rows[0]["roc_auc"] == one["tables"]["models"][0]["roc_auc"]
    assert found["tables"]["curves"] == one["tables"]["curves"] + other["tables"]["curves"]
    assert found["summary"]["rows"] == 60  # the same table
    (sentence,) = found["answer"]
    assert sentence["models"] == ["b"]
    assert "not tested" in sentence["text"]
    assert Path("t.csv").unlink() is None  # type: ignore[func-returns-value]
    again = clfeval("report", "a.json", "b.json", "-q", "-f", "json")
    assert again.code == 0


def test_models_of_one_name_are_called_after_their_files() -> None:
    Path("c.json").write_text(Path("a.json").read_text())
    done = clfeval("report", "a.json", "mine=c.json", "-q", "-f", "json")
    names = [row["model"] for row in json.loads(done.out)["tables"]["models"]]
    assert names == ["a:a", "mine:a"]
    twice = clfeval("report", "a.json", "a=c.json", "-q")
    assert (twice.code, "two results are called 'a'" in twice.err) == (2, True)


@pytest.mark.parametrize(("words", "said"), [
    (("--positive", "0"), "--positive 0 in 'other', 1 in 'a'"),
    (("--threshold", "0.3"), "--threshold 0.3"),
    (("--level", "0.8"), "--level 0.8 in 'other', 0.95 in 'a'"),
])  # fmt: skip
def test_results_of_other_settings_are_not_joined(words: tuple[str, ...], said: str) -> None:
    clfeval("report", "t.csv", "--id", "id", "-q", *words, "--save", "other.json")
    done = clfeval("report", "a.json", "other.json", "-q")
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_what_depends_on_the_other_models_is_not_joined() -> None:
    for name in "ab":
        clfeval("mars", "t.csv", "--id", "id", "--model", name, "-q", "--save", f"m{name}.json")
    done = clfeval("report", "ma.json", "mb.json", "-q")
    assert (done.code, "joins no results of mars" in done.err) == (2, True)
    alone = clfeval("report", "ma.json", "-q", "--fail-under", "recall=0")
    assert alone.code == 0
    assert alone.out.startswith("MARS of t.csv")


@pytest.mark.parametrize(("content", "said"), [
    ("[]", "the document is no object"), ("{", "no usable result"), ("", "no usable result"),
    ('{"schema": "clfeval.result/9"}', "is newer than this program's"),
    ('{"schema": "clfeval.result/1"}', "not a complete clfeval result"),
    ("[" * 100_000, "no usable result"),
])  # fmt: skip
def test_what_is_no_result_is_refused(content: str, said: str) -> None:
    Path("x.json").write_text(content)
    done = clfeval("report", "x.json")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_options_of_data_say_nothing_of_a_result() -> None:
    for words in (("--positive", "1"), ("--measure", "kappa"), ("--by", "x")):
        done = clfeval("report", "a.json", *words)
        assert (done.code, words[0] in done.err) == (2, True)
    table = clfeval("report", "a.json", "--baseline", "t.csv")
    assert (table.code, "has no rows to compare with" in table.err) == (2, True)
    gone = clfeval("report", "gone.json")
    assert (gone.code, gone.err.startswith("gone.json: cannot read")) == (2, True)
