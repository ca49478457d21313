"""The language of everything that is printed: the dictionary, short sentences, small screens."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import polars as pl
import pytest

import clfeval
from clfeval import COMMANDS
from clfeval.cli.command import OTHERS, find_declaration
from clfeval.cli.help_and_completion import guide_names
from tests.cli.golden import FOLDER, ROOT
from tests.cli.mistakes import KEPT, LINES, folder_of_tables, transcript_of
from tests.inventory import SOURCE, texts
from tests.language import forbidden, long_sentences
from tests.process.program import clfeval as program

EVERY = (*COMMANDS, *OTHERS)
LETTERS, COLUMNS = 70, 80  # of a help text at most; of a screen
LABELS = "fixtures/breast-cancer/labels.csv --positive malignant"
SCORES = "fixtures/breast-cancer/scores.csv --positive malignant"
# words before the first table, the title of the table left out
SCREENS = {
    f"report {SCORES}": 70,
    f"report {LABELS}": 80,
    f"mars {LABELS}": 90,
    f"phidelta {LABELS}": 70,
    f"tune-jpt {SCORES}": 90,
    "mlcps fixtures/metrics/test.csv": 70,
    "report {sites} --positive malignant --by site": 100,
    f"report {SCORES} --baseline {{earlier}}": 130,  # 120 of the answer, and the heading
    f"report {SCORES} --reference logreg": 100,
    f"report {SCORES} --best-threshold sens>=.9": 120,
    f"report {SCORES} --prevalence .01 --best-threshold ppv>=.3": 120,
    f"tune-jpt {SCORES} --prevalence .01": 120,
}
LEGEND, NOTE, LONG = 3, 2, 40  # lines
FOR_WRITERS = "## For writers"  # of the guide `words`: below it stands the dictionary


def screen(name: str) -> str:
    """Return a golden file without colours and names of tables; of a document its sentences."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    if name.endswith(".json"):
        document = json.loads(text)
        said = [*document["answer"], *document["warnings"]]
        return "\n".join(one.get("text") or one["message"] for one in said)
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return re.sub(
        r"\x1b\[[0-9;]*m|^== .*$|^more tables .*(?:\n(?!==|--).*){0,2}",
        "",
        text,
        flags=re.MULTILINE,
    )


def explained(name: str) -> str:
    """Return all that is explained, no line folded: the rest of a folded line is not looked at."""
    return program(name, "--explain", "all", COLUMNS="10000").out


# of what is explained: names of columns, measures and codes, and lists of such names
NAMES = re.compile(
    r"^(?:  \S+(?: \([^)]*\))?:|  as above:(?:.+\n    )*.*|[a-z]+ \S+)", re.MULTILINE
)
KINDS: Mapping[str, tuple[Iterable[str], Callable[[str], str]]] = {
    "golden": (
        [
            str(one.relative_to(FOLDER))
            for one in FOLDER.rglob("*.*")
            if one.suffix in (".txt", ".md", ".json") and one.stem != "ORIGIN"
        ],
        screen,
    ),
    "page": (("README.md", "CHANGELOG.md"), lambda name: (ROOT / name).read_text("utf-8")),
    "guide": (guide_names(), lambda name: program("--guide", name).out.partition(FOR_WRITERS)[0]),
    "help": (EVERY, lambda name: program(name, "--help-all" if name != "example" else "-h").out),
    "explain": (COMMANDS, lambda name: NAMES.sub("", explained(name))),
    "help()": (clfeval.__all__, lambda name: str(getattr(clfeval, name).__doc__)),
}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, (names, _) in KINDS.items() for name in names]
)
def test_what_is_printed_keeps_to_the_dictionary(kind: str, name: str) -> None:
    assert forbidden(KINDS[kind][1](name)) == []


def test_the_source_keeps_to_the_dictionary() -> None:
    files = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.md")]
    found = {
        f"{file.relative_to(SOURCE)}:{line}": wrong
        for file in files
        if file.stem != "words"
        for line, text in texts(file)
        if (wrong := forbidden(text) + long_sentences(text.replace("{}", "")))
    }
    assert found == {}


@pytest.mark.parametrize("name", EVERY)
def test_the_help_of_an_option_is_one_line(name: str) -> None:
    command, _, after = find_declaration(name)
    long = [one.flag for one in command.options(*after) if len(one.opt.help) > LETTERS]
    assert long == []
    shown = program(name, "--help", COLUMNS=str(COLUMNS)).out
    assert re.findall(r"^ {12,}\S.*$", shown, re.MULTILINE) == []  # the rest of a broken line


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a table with sites, and an earlier table of most rows."""
    folder = tmp_path_factory.mktemp("tables")
    table = pl.read_csv(ROOT / "fixtures" / "breast-cancer" / "scores.csv")
    site = pl.Series("site", [("north", "south", "east")[i % 3] for i in range(table.height)])
    table.with_columns(site).write_csv(folder / "sites.csv")
    table.sample(fraction=0.8, seed=1).write_csv(folder / "earlier.csv")
    return {name: str(folder / f"{name}.csv") for name in ("sites", "earlier")}


@pytest.mark.parametrize("line", SCREENS)
def test_a_first_screen_is_short(line: str, places: dict[str, str]) -> None:
    """Few words before the first table, few lines below each, no broken legend."""
    with contextlib.chdir(ROOT):
        done = program(*line.format(**places).split(), "--quiet", COLUMNS=str(COLUMNS))
    assert done.err == ""
    blocks = done.out.split("\n\n")
    assert len(blocks[0].split()) <= SCREENS[line]
    for block in blocks[1:]:
        legend = [one for one in block.splitlines() if one.startswith("  ") and "──" not in one]
        assert len([one for one in legend if not one.startswith("   ")]) <= LEGEND, block
    notes = re.findall(
        r"^note: .*\n(?:(?!\w+:|for other |more tables ).+\n)*", done.out, re.MULTILINE
    )
    assert [note for note in notes if note.count("\n") > NOTE] == []


def test_a_report_of_six_models_fits_a_small_terminal() -> None:
    with contextlib.chdir(ROOT):
        done = program("report", *SCORES.split(), "--quiet", COLUMNS=str(COLUMNS))
    assert len(done.out.splitlines()) <= LONG


def test_mistakes_are_answered_as_kept() -> None:
    """`python -m tests.cli.mistakes` writes the file; every change of it is read."""
    with folder_of_tables():
        assert "\n".join(map(transcript_of, LINES)) == KEPT.read_text(encoding="utf-8")


def test_the_dictionary_finds_what_it_forbids() -> None:
    for text in (
        "rf cannot be told from lr.",
        "Luck of the best of 6 is 0.004.",
        "Rows drawn again choose.",
        "no model finds it",
        "the model never says positive",
        "slope and in the large",
        "Acting on lr beats treating all.",
        "what came true",
        "chosen on other rows",
    ):
        assert forbidden(text), text
    for text in (
        "rf is not significantly different from lr.",
        "confidence limits",
        "no column 'found'",
        "calibration-in-the-large is 0.1",
        "a threshold of 0.5",
        "`found` and `hits`",
    ):
        assert forbidden(text) == [], text
    assert long_sentences("one " * 26 + ".") != []
    assert Path(KEPT).exists()
