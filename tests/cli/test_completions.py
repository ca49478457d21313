"""The completion scripts are up to date, and what real shells insert is one word, rightly quoted.

A shell that is not installed is skipped, with the reason printed.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest
import typer

from clfeval import COMMANDS
from clfeval.cli.help_and_completion import complete_class, complete_column, complete_model
from clfeval.cli.output import Output
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history.file import HistoryOptions
from clfeval.methods.command_lookup import command_of
from tests.cli.completion_scripts import FILES
from tests.cli.shells import FOLDER, Bash, Terminal, installed

PROGRAMS = Path(sys.executable).parent
# every name begins with a character of its own, so that typing it and TAB completes the name
NAMES = (
    "truth",
    "two words",
    "model:a",
    "it's",
    'say "hi"',
    "[x]*?",
    "$HOME",
    "back\\slash",
    "ünïcode",
    "wow!",
    "`id`",
    "~tilde",
    "#hash",
    "q'",
    "a=b&c;(d)|<e>{f,g}",
    "\\$(touch INJECTED)",
)
COLUMNS = {name: [1, 0, 1] for name in NAMES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one table in every format, the working directory of the shells."""
    folder = tmp_path_factory.mktemp("completions")
    frame = pl.DataFrame(COLUMNS)
    frame.write_csv(folder / "names.csv")
    frame.write_csv(folder / "names.tsv", separator="\t")
    (folder / "names.csv.gz").write_bytes(gzip.compress((folder / "names.csv").read_bytes()))
    frame.write_parquet(folder / "names.parquet")
    frame.write_ipc(folder / "names.arrow")
    (folder / "names.ndjson").write_text(json.dumps(dict.fromkeys(NAMES, 1)) + "\n")
    (folder / "long.csv").write_text(
        "id,model,prediction,truth\n1,new net,ham,spam mail\n1,forest,spam mail,spam mail\n"
        "2,new net,ham,ham\n2,forest,ham,ham\n"
    )
    (folder / "home").mkdir()
    return folder


@pytest.fixture(scope="module")
def environment(folder: Path) -> dict[str, str]:
    return {
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "ZDOTDIR": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder / "home"),
        "XDG_DATA_HOME": str(folder / "home"),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }


def context_of(params: dict[str, Any], args: tuple[str, ...] = ()) -> typer.Context:
    """Return what a completion function is given, as far as it looks."""
    return cast(typer.Context, SimpleNamespace(params=params, args=list(args)))


# -- the files --


def test_the_scripts_kept_are_the_scripts_made(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "tests.cli.completion_scripts", str(tmp_path)], check=True
    )
    assert {path.name for path in FOLDER.iterdir()} == set(FILES.values())
    for name in FILES.values():
        made, kept = (tmp_path / name).read_bytes(), (FOLDER / name).read_bytes()
        assert made == kept, f"{name} is out of date: make completions"
        assert str(PROGRAMS).encode() not in kept


@pytest.mark.parametrize("script", FILES.values())
def test_the_scripts_list_files_after_no_option_that_takes_a_name_or_a_class(script: str) -> None:
    options = [
        option
        for command in map(command_of, COMMANDS)
        for option in command.options(Output, Gates, HistoryOptions)
    ]
    text = (FOLDER / script).read_text(encoding="utf-8")
    listed = re.search(r"--truth[-a-z |]*--classes", text)
    assert listed is not None
    named = {option.flag for option in options if option.opt.completes}
    assert {"--weight", "--metric", "--model", "--positive"} <= named
    assert {*re.split(r"[ |]", listed[0])} == named | {"--classes", "--explain"}
    files = {"--compare", "--truth-table", "--desirability", "--save", "--baseline"}
    assert files < {option.flag for option in options} - named


# -- what the program suggests --


@pytest.mark.parametrize("table", ["csv", "tsv", "csv.gz", "parquet", "arrow", "ndjson"])
def test_columns_of_every_format(folder: Path, table: str) -> None:
    context = context_of({"tables": [str(folder / f"names.{table}")]})
    assert tuple(complete_column(context, "")) == NAMES
    assert complete_column(context, "two ") == ["two words"]


def test_columns_of_a_large_packed_table_are_read_from_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "large.csv.gz"
    rows = b"".join(b"1,%s\n" % os.urandom(500).hex().encode() for _ in range(4000))
    packed = gzip.compress(b"truth,one\n" + rows, 1)
    path.write_bytes(packed[:-1000])  # what is damaged further on does not matter
    assert path.stat().st_size > 2 << 20
    assert complete_column(context_of({"tables": [str(path)]}), "") == ["truth", "one"]


def test_a_table_may_be_a_glob_in_the_home_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    for name in ("~/names.csv", "$HOME/names.csv", "~/name?.tsv"):
        assert complete_column(context_of({"tables": [name]}), "tw") == ["two words"], name


def test_models_are_the_columns_without_a_role_yet(folder: Path) -> None:
    table = {"tables": [str(folder / "names.csv")]}
    assert complete_model(context_of(table), "t") == ["two words"]
    chosen = {"truth": "wow!", "weight": "$HOME", "by": ["it's"], "model": ["#hash"]}
    names = set(NAMES) - {"wow!", "$HOME", "it's", "#hash"}
    assert set(complete_model(context_of(table | chosen), "")) == names


def test_models_are_those_of_a_long_table_or_the_names_of_joined_files(folder: Path) -> None:
    long = context_of({"tables": [str(folder / "long.csv")]})
    assert complete_model(long, "") == ["forest", "new net"]
    tables = [f"new={folder}/a.csv", f"old={folder}/b.csv"]
    assert complete_model(context_of({"tables": tables}), "") == ["new", "old"]
    assert complete_model(context_of({"tables": tables}), "o") == ["old"]


def test_classes_are_those_of_the_first_rows(folder: Path) -> None:
    long, wide = ({"tables": [str(folder / name)]} for name in ("long.csv", "names.csv"))
    assert complete_class(context_of(long), "") == ["ham", "spam mail"]
    assert complete_class(context_of(long | {"truth": "model"}), "f") == ["forest"]
    assert complete_class(context_of(wide), "") == ["0", "1"]
    assert complete_class(context_of(wide | {"truth": "nosuch"}), "") == []


def test_no_table_or_a_bad_one_suggests_nothing(tmp_path: Path) -> None:
    bad = {
        "empty.csv": b"",
        "utf16.csv": "truth,a\n".encode("utf-16"),
        "twice.csv": b"a,a\n1,1\n",
        "junk.parquet": b"PAR1 no parquet PAR1",
        "junk.arrow": b"ARROW1 no arrow",
        "junk.ndjson": b"{",
        "list.ndjson": b"7\n",
        "junk.csv.gz": b"\x1f\x8bno gzip",
        "lines.csv": b'"a\nb","c\td"\n1,1\n',  # a suggestion is one line
    }
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for a writer
    for name in (*bad, "pipe", "", "nosuch.csv", "-", "no*such.csv", "a\0b"):
        table = name if name in ("", "-", "a\0b") else str(tmp_path / name)
        context = context_of({"tables": [table]})
        assert complete_column(context, "") == [], name
        assert complete_class(context, "") == [], name
    assert complete_model(context_of({}), "") == []


def completions_of(
    line: list[str], environment: dict[str, str], folder: Path, **extra: str
) -> list[str]:
    """Return the completions of the last word by the program itself, over typer's protocol."""
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in line)
    words = {"COMP_WORDS": quoted, "COMP_CWORD": str(len(line) - 1), "_TYPER_COMPLETE_ARGS": quoted}
    done = subprocess.run(
        ["clfeval"],
        env={**environment, **words, "_CLFEVAL_COMPLETE": "complete_bash", **extra},
        executable=PROGRAMS / "clfeval",
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [line for line in done.stdout.split("\n") if line]


def test_scripts_that_do_not_quote_get_plain_names_only(
    environment: dict[str, str], folder: Path
) -> None:
    """Those of --install-completion: typer's for zsh evaluates what it is told."""
    line = ["clfeval", "mars", "names.csv", "--truth", ""]
    plain = ["truth", "model:a", "ünïcode"]
    assert completions_of(line, environment, folder) == plain
    zsh = " ".join(completions_of(line, environment, folder, _CLFEVAL_COMPLETE="complete_zsh"))
    assert "INJECTED" not in zsh
    assert completions_of(line, environment, folder, _CLFEVAL_QUOTES="1") == list(NAMES)
    assert completions_of(line[:2] + line[3:], environment, folder) == []


def test_completing_a_text_table_does_not_import_polars(
    environment: dict[str, str], folder: Path
) -> None:
    script = """
import atexit, sys
from clfeval.cli.app import main
heavy = ("polars", "numpy", "narwhals", "scipy", "plotext")
atexit.register(lambda: print([name for name in heavy if name in sys.modules]))
sys.argv = ["clfeval"]
main()
"""
    for table in ("names.csv", "names.tsv", "names.csv.gz", "names.ndjson"):
        line = f"clfeval mars {table} --truth tr"
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={
                **environment,
                "_CLFEVAL_COMPLETE": "complete_fish",
                "_TYPER_COMPLETE_ARGS": line,
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            },
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout, done.stderr) == ("truth\n[]\n", "")


# -- bash, its function called as readline does --


@pytest.fixture(scope="module")
def bash(environment: dict[str, str], folder: Path) -> Iterator[Bash]:
    yield Bash(environment, folder)
    assert not (folder / "INJECTED").exists()


def test_bash_completes_commands_options_and_choices(bash: Bash) -> None:
    assert "mars" in bash.reply("clfeval", "")
    assert bash.reply("clfeval", "mars", "--tru") == ["--truth"]
    assert bash.reply("clfeval", "mars", "x.csv", "--missing", "") == ["error", "drop"]
    assert bash.reply("clfeval", "mars", "x.csv", "--fail-under", "acc") == ["accuracy="]
    assert bash.reply("clfeval", "mars", "x.csv", "--show", "pa") == ["pairs"]
    assert bash.reply("clfeval", "mars", "x.csv", "--show", "baseline_") == ["baseline_changes"]
    assert bash.reply("clfeval", "mlcps", "x.csv", "--show", "desi") == ["desirability"]


def test_bash_completes_columns_of_a_table_before_or_after(bash: Bash) -> None:
    assert bash.reply("clfeval", "mars", "names.csv", "--truth", "tr") == ["truth"]
    assert bash.reply_to_line("clfeval mars names.csv --truth=tr") == ["truth"]
    assert bash.reply_to_line("clfeval mars --truth tr", " names.csv") == ["truth"]
    assert bash.reply_to_line("clfeval mars --truth tr", "x --level 0.9 names.csv") == ["truth"]
    assert bash.reply_to_line("clfeval mars --truth ") == []


@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_bash_quotes_every_name_as_the_quote_typed_asks(bash: Bash, quote: str) -> None:
    answers = bash.reply_to_line(f"clfeval mars names.csv --truth {quote}")
    # readline closes the quote, unless it takes the last character for the closing one
    lines = [quote + answer + quote * (not answer.endswith(quote)) for answer in answers]
    assert bash.words(lines) == [f"1 {name}" for name in NAMES]


def test_bash_gets_what_follows_the_character_it_splits_words_at(bash: Bash) -> None:
    line = "clfeval mars names.csv --truth"
    assert bash.reply_to_line(f"{line} model:") == ["a"]
    assert bash.reply_to_line(f"{line}=model:") == ["a"]
    assert bash.reply_to_line(f'{line} "model:') == ["model:a"]
    assert bash.reply_to_line(f"{line} model\\:") == ["model:a"]
    assert bash.reply_to_line(f'{line} two" w') == [" words"]
    assert bash.reply_to_line(f'{line} two" "w') == ["two\\ words"]


# -- bash and zsh, their keys pressed --


# tell: the line as it stands, and the words that the shell itself reads in it
TELL = """
tell() { eval "set -- $LINE"; printf '%s\\0' "$LINE" "$@" > $TOLD.new; mv $TOLD.new $TOLD; }
""".strip()
IN_BASH = f"""{TELL.replace("LINE", "READLINE_LINE")}; bind -x '"\\C-x\\C-d": tell'"""
IN_ZSH = f"""{TELL.replace("LINE", "BUFFER")}; zle -N tell; unsetopt beep
bindkey -e; bindkey '^X^D' tell; bindkey '^U' kill-whole-line; autoload -Uz compinit"""
SETUP = {
    "bash": f"{IN_BASH}; source '{FOLDER}/clfeval.bash'",
    "zsh": f"{IN_ZSH}; fpath=('{FOLDER}' $fpath); compinit -D -u",
    "zsh, sourced": f"{IN_ZSH}; compinit -D -u; source '{FOLDER}/_clfeval'",
}
ARGUMENTS = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}


@pytest.fixture
def terminal(
    request: pytest.FixtureRequest, environment: dict[str, str], folder: Path
) -> Iterator[Terminal]:
    """A shell just started, as a test's parameter names it: its first TAB loads the script."""
    shell = request.param.partition(",")[0]
    setup = SETUP[request.param].replace("\n", "; ")
    terminal = Terminal([installed(shell), *ARGUMENTS[shell]], setup, environment, folder)
    yield terminal
    terminal.close()
    assert not (folder / "INJECTED").exists()


@pytest.mark.parametrize("terminal", SETUP, indirect=True)
def test_the_first_tab_inserts(terminal: Terminal) -> None:
    line = "clfeval mars names.csv --truth "
    assert terminal.after_tab(line + "tr")[0] == line + "truth "


@pytest.mark.parametrize("terminal", ["bash", "zsh"], indirect=True)
def test_what_tab_inserts(terminal: Terminal) -> None:
    mars = "clfeval mars names.csv"
    lines = {
        "clfeval ma": "clfeval mars ",
        "clfeval mars names.p": "clfeval mars names.parquet ",
        f"{mars} --tru": f"{mars} --truth ",
        f"{mars} --missing=d": f"{mars} --missing=drop ",
        f"{mars} --fail-under acc": f"{mars} --fail-under accuracy=",
        f'{mars} --truth "two w': f'{mars} --truth "two words" ',
        f"{mars} --truth=tw": f"{mars} --truth=two\\ words ",
        f"{mars} --truth=model:": f"{mars} --truth=model:a ",
        "clfeval mars names.parquet --by tw": "clfeval mars names.parquet --by two\\ words ",
        "clfeval mars --truth n": "clfeval mars --truth n",  # no table: neither names nor files
    }
    assert {line: terminal.after_tab(line)[0] for line in lines} == lines
    after = terminal.after_tab("clfeval mars --truth tr names.csv", back=len(" names.csv"))
    assert after[1] == ["clfeval", "mars", "--truth", "truth", "names.csv"]


@pytest.mark.parametrize("terminal", ["zsh"], indirect=True)
def test_zsh_inserts_every_name_as_one_word(terminal: Terminal) -> None:
    for name in NAMES[3:]:  # the others above
        typed = name[0] if name[0].isalpha() else "\\" + name[0]
        line, words = terminal.after_tab(f"clfeval mars names.csv --truth {typed}")
        assert words[-1] == name, line
    for typed in ('"a=', "--by=a=", "--by='a="):
        line, words = terminal.after_tab(f"clfeval mars names.csv --model {typed}")
        assert words[-1].removeprefix("--by=") == "a=b&c;(d)|<e>{f,g}", line


@pytest.mark.parametrize("terminal", ["bash"], indirect=True)
def test_bash_closes_the_quote_that_was_open(terminal: Terminal) -> None:
    mars = "clfeval mars names.csv"
    for typed, name in {'"sa': 'say "hi"', "'sa": 'say "hi"', "'q": "q'", '"q': "q'"}.items():
        line, words = terminal.after_tab(f"{mars} --truth {typed}")
        assert words == [*mars.split(), "--truth", name], line


# -- fish --


def test_fish_completes_everything(environment: dict[str, str], folder: Path) -> None:
    mars = "clfeval mars names.csv"
    lines = {
        "clfeval ma": ["mars"],
        "clfeval mars names.p": ["names.parquet"],
        f"{mars} --tru": ["--truth"],
        f"{mars} --missing ": ["drop", "error"],
        f"{mars} --fail-under acc": ["accuracy="],
        f"{mars} --truth ": sorted(NAMES),
        f"{mars} --truth=tw": ["--truth=two words"],
        f'{mars} --truth "two w': ["two words"],
        f"{mars} --truth it\\'": ["it's"],
        "clfeval mars names.parquet --by tw": ["two words"],
        "clfeval mars --truth n": [],
    }
    script = f"source '{FOLDER}/clfeval.fish'\n"
    script += "for line in $argv; complete -C $line; printf '\\0'; end"
    done = subprocess.run(
        [installed("fish"), "--no-config", "-c", script, *lines],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    answers = [
        sorted(answer.split("\t")[0] for answer in answers.split("\n") if answer)
        for answers in done.stdout.split("\0")[:-1]
    ]
    assert dict(zip(lines, answers, strict=True)) == lines
    assert not (folder / "INJECTED").exists()
