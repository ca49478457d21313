"""What a message proposes is pasted into a shell, whatever stands in a name or a class."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import clfeval
from clfeval.errors import format_command_line, quote_word, unquote_word
from clfeval.errors import format_option as option
from clfeval.placeholders import fill_for_shell
from tests.process.program import clfeval as program
from tests.tables.asking import proposals
from tests.tables.door import write
from tests.thoroughness import examples

ODD = ["it's", "-yes", "a\nb", "$HOME", "`id`", 'say "a"', "a\\nb", "a\tb", "*", "é\u202e", "!x"]


def words_of(typed: str) -> list[str]:
    """Return the words that bash makes of a line."""
    script = f"printf '%s\\0' {typed}"
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True)
    return done.stdout.decode(errors="surrogateescape").split("\0")[:-1]


def proposed(*words: str) -> tuple[list[str], str]:
    """Return the words that bash makes of the line a refusal proposes, and its message."""
    done = program(*words)
    assert done.code == 3, done
    return words_of(proposals(done.err)[-1]), done.err


@examples(100)
@given(st.lists(st.text().filter(lambda text: "\0" not in text), min_size=1, max_size=8))
@example(ODD)
@example(["\udcff", "", "a=b", "~"])
def test_a_shell_reads_the_words_that_are_written(texts: list[str]) -> None:
    texts = [text.encode(errors="ignore").decode() for text in texts]
    assert words_of(format_command_line(texts)) == texts
    assert [unquote_word(quote_word(text, bare=False)) for text in texts] == texts
    assert all(quote_word(text).isprintable() for text in texts)


@pytest.mark.parametrize("name", ODD)
def test_a_class_of_any_name_is_proposed_as_it_is(name: str) -> None:
    held = name.replace('"', '""')
    write("t.csv", f'truth,rf\n"{held}","{held}"\nx,x\nx,"{held}"\n')
    done = program("mars", "t.csv", "-q")
    words = next(
        words
        for words in map(words_of, proposals(done.err))
        if name in (words[-1], words[-1].removeprefix("--positive="))
    )
    done = program(*words, "-f", "json")
    assert done.code == 0, done.err
    assert clfeval.mars("t.csv", positive=name).summary["positives"] == 1


@pytest.mark.parametrize("name", [name for name in ODD if name not in ("*", "a\\nb")])
def test_a_column_of_any_name_is_left_out_as_it_is_called(name: str) -> None:
    held = name.replace('"', '""')
    rows = "".join(f"{i % 2},{i % 13 + 40},{i // 2 % 2}\n" for i in range(26))
    write("t.csv", f'truth,"{held}",rf\n{rows}')
    words, _ = proposed("mars", "t.csv", "-q")
    assert words[-1].removeprefix("--ignore=") == name
    assert program(*words).code == 0
    with pytest.raises(clfeval.DataError) as caught:
        clfeval.mars("t.csv")
    assert caught.value.readings[-1].options == {"ignore": (name,)}


def test_a_cell_with_a_quote_is_quoted_whole() -> None:
    write("t.csv", "truth,a\n1,0.9\n0,0.2\n0,it's\n1,0.7\n")
    done = program("mars", "t.csv", "-q")
    said = fill_for_shell(option("--null-value", "it's"))
    assert said in done.err.splitlines()[-1]
    assert words_of(said) == ["--null-value", "it's"]


RUNS = "id,seed,truth,m\n1,1,1,1\n2,1,0,0\n1,2,1,0\n2,2,0,0\n"
FLAG = "id,truth,seen,new\n1,1,1,.8\n2,0,1,.3\n3,1,0,.6\n4,0,0,.1\n"
NEW, OLD = (
    "id,truth,score\n1,1,.8\n2,0,.3\n3,1,.6\n4,0,.1\n",
    "id,truth,score\n4,0,.2\n2,0,.2\n1,1,.7\n3,1,.9\n",
)


@pytest.mark.parametrize(
    ("tables", "words", "answer"),
    [
        ([RUNS], ("report",), ("--run", "seed")),
        ([RUNS], ("phidelta", "--positive", "1"), ("--run", "seed")),
        (
            [RUNS.replace("1,2,1", "3,2,1").replace("2,2,0", "4,2,0")],
            ("report",),
            ("--ignore", "seed"),
        ),
        ([FLAG], ("report",), ("--ignore", "seen")),
        ([NEW, OLD], ("report",), ("--join", "id")),
    ],
)
def test_the_proposed_options_fit_the_table(
    tables: list[str], words: tuple[str, ...], answer: tuple[str, ...]
) -> None:
    files = [write(f"t{i}.csv", text) for i, text in enumerate(tables)]
    given = [words[0], *files, *words[1:]]
    lines = list(map(words_of, proposals(program(*given).err)))
    assert [*given, *answer] in lines
    assert program(*given, *answer).code == 0
