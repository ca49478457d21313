"""Streams: pipes that close, disks that are full, streams that are shut, and bad tables."""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
from pathlib import Path

import pytest

from tests.process.program import (
    NEEDS_BASH,
    NEEDS_FULL,
    WIDE,
    WITHOUT_OVERRIDE,
    clfeval,
    json_document,
    many_models,
    python,
    shell,
)
from tests.texts import check_text, problem_places
from tests.thoroughness import thinned


@NEEDS_BASH
@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_leaves_early_ends_us_quietly(reader: str) -> None:
    Path("big.csv").write_text(many_models(12, 300), encoding="utf-8")
    command = f"clfeval mars big.csv -q -f json --subsets all | {reader}"
    done = shell(f"{command}; exit ${{PIPESTATUS[0]}}")
    assert done.code in (0, 141)
    assert done.err == ""
    assert len(done.out.splitlines()) == (reader == "head -1")


@NEEDS_BASH
@NEEDS_FULL
@pytest.mark.parametrize(
    "words", thinned(["mars t.csv -q", "mars t.csv -q -f csv", "--help"], ["mars t.csv -q -f csv"])
)
def test_a_full_disk_is_an_output_error_in_one_line(words: str) -> None:
    done = shell(f"clfeval {words} > /dev/full")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert problem_places(done.err.strip()) == ["[output]"]


@NEEDS_BASH
@NEEDS_FULL
def test_a_disk_that_fills_up_on_the_way_is_the_same() -> None:
    Path("big.csv").write_text(many_models(12, 300), encoding="utf-8")
    done = shell("clfeval mars big.csv -q -f csv --show pairs > /dev/full")
    assert (done.code, problem_places(done.err)) == (2, ["[output]"])
    check_text(done.err)


@NEEDS_BASH
def test_a_closed_stderr_costs_nothing() -> None:
    done = shell("clfeval mars t.csv -f json --save r.json 2>&-")
    assert done.code == 0
    assert json.loads(done.out) == json.loads(Path("r.json").read_text(encoding="utf-8"))


@NEEDS_BASH
@NEEDS_FULL
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("clfeval mars gone.csv 2>&-", 3),
        ("clfeval mars gone.csv 2>/dev/full", 3),
        ("clfeval mars t.csv --fail-under recall=0.9 2>/dev/full", 1),
        ("clfeval mars --bogus 2>/dev/full", 2),
        ("clfeval mars t.csv -f json 2>/dev/full", 0),
        ("clfeval mars gone.csv <&- >&- 2>&-", 3),
        ("clfeval mars t.csv --save nowhere/r.json 2>/dev/full", 2),
    ],
)
def test_without_stderr_the_exit_code_still_tells(command: str, code: int) -> None:
    assert shell(command).code == code


def test_notes_go_to_stderr_and_can_be_silenced() -> None:
    loud = clfeval("mars", "t.csv", "--save", "r.md")
    quiet = clfeval("mars", "t.csv", "-q", "--save", "r.md")
    check_text(loud.err)
    assert quiet.err == ""
    assert loud.out == quiet.out


def test_a_name_that_looks_like_an_option_follows_two_dashes() -> None:
    Path("--save.csv").write_text(WIDE, encoding="utf-8")
    done = clfeval("mars", "-q", "-f", "json", "--", "--save.csv")
    assert (done.code, done.err) == (0, "")
    assert json_document(done)["inputs"][0]["name"] == "--save.csv"


BAD: dict[str, tuple[bytes, str]] = {
    "latin1.csv": ("truth,a\nné,né\n".encode("latin-1"), ":2: column 'truth': [not-utf8]"),
    "utf16.csv": (WIDE.encode("utf-16"), ":1: [not-utf8]"),
    "empty.csv": (b"", ": [empty-table]"),
    "header.csv": (b"id,truth,a\n", ": [empty-table]"),
}


@pytest.mark.parametrize("name", [*BAD, "folder.csv"])
def test_a_bad_table_leaves_stdout_empty_and_exits_3(name: str) -> None:
    content, place = BAD.get(name, (b"", ": [is-directory]"))
    if name in BAD:
        Path(name).write_bytes(content)
    else:
        Path(name).mkdir()
    done = clfeval("mars", name, "-q", "-f", "csv", "--save", "r.json")
    assert (done.code, done.out) == (3, "")
    assert problem_places(done.err)[0] == f"{name}{place}"
    check_text(done.err)
    assert not [path.name for path in Path().iterdir() if "r.json" in path.name]


HEEDING_PERMISSIONS = f"{WITHOUT_OVERRIDE}\nfrom clfeval.cli.app import main\nmain()\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_an_unreadable_table_exits_3() -> None:
    Path("t.csv").chmod(stat.S_IWUSR)
    done = python(HEEDING_PERMISSIONS, "mars", "t.csv", "-q")
    assert (done.code, done.out) == (3, "")
    assert problem_places(done.err) == ["t.csv: [not-readable]"]
    check_text(done.err)


def test_verbose_lists_every_problem() -> None:
    Path("t.csv").write_text("truth,a\n" + "y,y\nn,z\nn,n\n" * 9, encoding="utf-8")
    short = clfeval("mars", "t.csv", "-q", "--positive", "y")
    long = clfeval("mars", "t.csv", "-q", "--positive", "y", "--verbose")
    assert short.code == long.code == 3
    assert len(short.err.splitlines()) == 8
    check_text(short.err)
    assert "--classes z" in short.err.splitlines()[-1]  # nine rows that say z may mean it
    assert len(long.err.splitlines()) == 11
    assert "..." not in long.err


@pytest.mark.parametrize(
    "changes",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "LANG": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=["ascii", "C", "only C"],
)
@pytest.mark.skipif(
    not (sys.prefix.isascii() or sys.version_info >= (3, 13)),
    reason="in the locale C this Python cannot read a path of the project outside ASCII",
)
def test_a_poor_locale_does_not_crash_us(changes: dict[str, str]) -> None:
    Path("t.csv").write_text("truth,modèle,日本\né,é,é\nn,é,n\n", encoding="utf-8")
    done = clfeval("mars", "t.csv", "--save", "r.json", "--positive", "n", **changes)
    assert done.code == 0
    assert "Traceback" not in done.err
    saved = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert [row["model"] for row in saved["tables"]["models"]] == ["modèle", "日本"]


def test_json_on_stdout_is_utf8_whatever_the_locale() -> None:
    Path("t.csv").write_text("truth,modèle\n1,1\n0,0\n", encoding="utf-8")
    words = ["mars", "t.csv", "-q", "-f", "json", "--save", "r.json"]
    done = clfeval(*words, PYTHONIOENCODING="ascii")
    assert done.out == Path("r.json").read_text(encoding="utf-8")


def test_signs_stay_apart_where_a_stream_has_few_letters(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{i % 2},{i % 2},{i % 2 if i else 1}" for i in range(40)]
    table.write_text("truth,a,b é\n" + "\n".join(rows) + "\n", encoding="utf-8")
    done = clfeval("mars", str(table), PYTHONIOENCODING="ascii", COLUMNS="80")
    assert (done.code, done.out.isascii()) == (0, True)
    assert "sensitivity ^" in done.out
    assert "?" not in done.out.replace("b ?", "")  # letters of names only
    known = clfeval("phidelta", str(table), PYTHONIOENCODING="ascii", COLUMNS="80").out
    assert "d ^" in known


@NEEDS_BASH
@pytest.mark.parametrize(
    "words", ["--version", "mars --help", "mars --explain recall", "mars t.csv -q"]
)
def test_what_nobody_gets_is_an_output_error_too(words: str) -> None:
    done = shell(f"clfeval {words} >&-")
    assert (done.code, problem_places(done.err)) == (2, ["[output]"])
    check_text(done.err)


@NEEDS_BASH
def test_a_removed_working_directory_is_called_so() -> None:
    Path("gone").mkdir()
    # not by its script: where the path has a space, that is one of sh, which complains too
    program = f"{shlex.quote(sys.executable)} -m clfeval"
    done = shell(f"cd gone; rmdir ../gone; {program} mars t.csv -q")
    assert (done.code, done.out, problem_places(done.err)) == (2, "", ["[no-folder]"])
    check_text(done.err)
    away = shell(f't="$PWD/t.csv"; mkdir gone; cd gone; rmdir ../gone; {program} mars "$t" -q')
    assert (away.code, away.err) == (0, "")


def test_a_table_that_looks_like_an_option_is_named_by_a_hint() -> None:
    Path("-x.csv").write_text(WIDE, encoding="utf-8")
    done = clfeval("mars", "-x.csv")
    assert done.code == 2
    assert "'./-x.csv'" in done.err
    check_text(done.err)
    assert clfeval("mars", "./-x.csv", "-q").code == 0


@pytest.mark.parametrize("pattern", ["/**/*.csv", "/**"])
def test_a_pattern_of_the_whole_disk_is_refused(pattern: str) -> None:
    done = clfeval("mars", pattern)
    assert (done.code, done.out) == (2, "")
    assert problem_places(done.err) == [f"{pattern}: [whole-disk]"]


def test_a_folder_that_is_the_whole_disk_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or that holds most of it; files that are no tables do not count."""
    Path("many", "inner").mkdir(parents=True)
    for number in range(4):
        Path("many", "inner", f"{number}.txt").touch()
    assert problem_places(clfeval("mars", "many").err) == ["many: [is-directory]"]
    monkeypatch.setattr("clfeval.tables.parquet_folders.MOST_PATHS", 4)
    Path("root").symlink_to("/")
    for folder in ("/", "/tmp/..", "root", "many"):
        done = clfeval("mars", folder)
        assert (done.code, done.out) == (2, "")
        assert problem_places(done.err) == [f"{folder}: [whole-disk]"]
    check_text(done.err)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_a_device_without_end_is_refused() -> None:
    done = clfeval("mars", "/dev/zero")
    assert (done.code, done.out) == (3, "")
    assert problem_places(done.err) == ["/dev/zero: [not-readable]"]
    assert problem_places(clfeval("mars", "/dev/null").err) == ["/dev/null: [empty-table]"]


@pytest.mark.parametrize("odds", thinned(["1e-300:1", "1e-308:1", "1:1e300"], ["1e-308:1"]))
@pytest.mark.parametrize("command", ["tune-jpt", "phidelta"])
def test_odds_however_extreme_raise_no_warning(command: str, odds: str) -> None:
    done = clfeval(command, "t.csv", "--prevalence", odds, "--show", "all", "-q")
    assert (done.code, done.err) == (0, "")


def test_a_line_end_in_a_name_begins_no_line_of_its_own() -> None:
    Path("n.csv").write_text('truth,"a\n\x1b[31mwrote x"\n1,1\n0,x\n', encoding="utf-8")
    done = clfeval("mars", "n.csv")
    assert done.code == 3
    assert done.err.splitlines()[0].endswith(r"'a\n\x1b[31mwrote x'")
    assert [line for line in done.err.splitlines() if line.startswith("\x1b")] == []
