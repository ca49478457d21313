"""Adding lines: beside others that add, killed at any moment, with a full disk; all or nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clfeval.compare.history.file import AcceptedLabel, append_entries, read_history
from tests.history.lines import history_measure, json_lines, line
from tests.process.program import BIN, clfeval, environment, python
from tests.texts import check_text, problem_places
from tests.thoroughness import thinned

WORDS = ("mars", "t.csv", "-q")
ADDING = ("--append", "h.jsonl", "--label", "W1")


def test_a_run_adds_a_line_for_each_model_after_its_gates() -> None:
    done = clfeval("mars", "t.csv", *ADDING, "--fail-under", "a:recall=0.4")
    assert done.code == 0
    check_text(done.err)
    a, b = json_lines()
    assert [a["model"], b["model"], a["label"], a["command"]] == ["a", "b", "W1", "mars"]
    assert (a["gates"], b["gates"]) == ({"recall": True}, {})
    assert (a["rows"], a["positives"]) == (4, 2)
    assert a["measures"]["recall"]["value"] == 1 / 2
    assert a["truth"] == b["truth"]
    assert a["truth"].startswith("ids:")
    assert len(a["data"][0]) == 64


def test_a_missed_gate_adds_its_line_with_the_miss() -> None:
    done = clfeval(*WORDS, *ADDING, "--fail-under", "recall=0.9")
    assert done.code == 1
    assert [one["gates"] for one in json_lines()] == [{"recall": False}, {"recall": False}]


@pytest.mark.parametrize(
    "command",
    [
        "report t.csv",
        "phidelta t.csv",
        "tune-jpt t.csv --prevalence 0.1",
        "tune-jpt --counts 9,1,2,8",
        "mlcps m.csv",
    ],
)
def test_every_command_with_models_can_add(command: str) -> None:
    Path("m.csv").write_text("model,a,b,c\nx,.1,.2,.3\ny,.3,.4,.5\n", encoding="utf-8")
    assert clfeval(*command.split(), "-q", *ADDING).code == 0
    assert len(read_history("h.jsonl").lines) >= 1


def test_a_dry_run_and_a_refused_table_add_nothing() -> None:
    assert clfeval(*WORDS, *ADDING, "--dry-run").code == 0
    Path("t.csv").write_text("truth,a\n1,1\n0,x\n", encoding="utf-8")
    assert clfeval(*WORDS, *ADDING).code == 3
    assert not Path("h.jsonl").exists()


REFUSED = {
    "no label": ADDING[:2],
    "an empty label": (*ADDING[:2], "--label", " "),
    "a label alone": ("--label", "a"),
    "accepting alone": ("--accept",),
    "the table": ("--append", "t.csv", "--label", "a"),
    "a folder": ("--append", ".", "--label", "a"),
    "no folder": ("--append", "no/h.jsonl", "--label", "a"),
    "a device": ("--append", "/dev/null", "--label", "a"),
    "no history": ("--append", "bad.jsonl", "--label", "a"),
}


@pytest.mark.parametrize("how", REFUSED)
def test_what_cannot_be_added_to_is_refused_before_computing(how: str) -> None:
    Path("bad.jsonl").write_text("hello\n", encoding="utf-8")
    table = "t.csv" if how == "the table" else "gone.csv"  # nobody got as far as reading it
    done = clfeval("mars", table, *REFUSED[how])
    assert (done.code, done.out) == (2, "")
    assert "no-such-file" not in done.err
    check_text(done.err)
    assert not Path("h.jsonl").exists()


FULL = """
import os, errno, clfeval.compare.history.file
def full(handle): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
clfeval.compare.history.file.os.fsync = full
from clfeval.__main__ import main
main()
"""
NARROW = """
import resource, sys
size = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
from clfeval.__main__ import main
main()
"""


@pytest.mark.parametrize("disk", ["full", "narrow"])
def test_a_full_disk_keeps_the_old(disk: str) -> None:
    if disk == "narrow":
        pytest.importorskip("resource", reason="this system has no limits of file sizes")
    append_entries("h.jsonl", [line("W0", auc=history_measure(0.8, 0.1))])
    old = Path("h.jsonl").read_bytes()
    size = [str(len(old) + 100)] if disk == "narrow" else []
    done = python(FULL if disk == "full" else NARROW, *size, *WORDS, *ADDING)
    assert (done.code, problem_places(done.err)) == (2, ["[output]"])
    check_text(done.err)
    assert Path("h.jsonl").read_bytes() == old
    assert sorted(os.listdir()) == ["h.jsonl", "t.csv"]


ADDER = """
import sys
from clfeval.compare.history.file import append_entries
from clfeval.compare.history.file import HistoryLine, HistoryMeasure
who, times, lines = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
measures = {"auc": HistoryMeasure(.8, .7, .9)}
print("ready", flush=True)
for i in range(times):
    append_entries("h.jsonl", [HistoryLine("report", f"{who}-{i}", f"m{j}", measures=measures)
                       for j in range(lines)])
"""


def adder(who: str, times: int, lines: int) -> subprocess.Popen[str]:
    """Start a program that adds so many times so many lines."""
    words = [sys.executable, "-c", ADDER, who, str(times), str(lines)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment())


@pytest.mark.parametrize(("times", "lines"), thinned([(1, 500), (25, 1), (500, 1)], [(25, 1)]))
def test_eight_that_add_at_once_lose_no_line(times: int, lines: int) -> None:
    programs = [adder(f"w{k}", times, lines) for k in range(8)]
    codes = []
    for program in programs:
        with program:
            program.communicate()
        codes.append(program.returncode)
    assert codes == [0] * 8
    found = [(one["label"], one["model"]) for one in json_lines()]
    wanted = {(f"w{k}-{i}", f"m{j}") for k in range(8) for i in range(times) for j in range(lines)}
    assert len(found) == 8 * times * lines
    assert set(found) == wanted
    blocks = [found[i : i + lines] for i in range(0, len(found), lines)]
    assert all(len({label for label, _ in block}) == 1 for block in blocks)  # none torn apart


def killed(program: subprocess.Popen[Any], seconds: float) -> bool:
    """Kill a program after some time; False where it was done before."""
    with program:
        try:
            program.wait(seconds)
        except subprocess.TimeoutExpired:
            program.send_signal(signal.SIGKILL)
        program.communicate()
    return program.returncode == -signal.SIGKILL


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_one_that_is_killed_leaves_the_old_or_the_new_file(kills: int) -> None:
    rng = random.Random(16)
    lines, died, whole = 7, 0, b""
    for number in range(kills):
        with adder(f"k{number}", 10**6, lines) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
            time.sleep(0.04 * rng.random())
            program.send_signal(signal.SIGKILL)
            program.communicate()
        died += program.returncode == -signal.SIGKILL
        now = Path("h.jsonl").read_bytes() if Path("h.jsonl").exists() else b""
        assert now.startswith(whole)
        fresh = [json.loads(text) for text in now[len(whole) :].splitlines()]
        places = [(f"k{number}-{i // lines}", f"m{i % lines}") for i in range(len(fresh))]
        assert [(one["label"], one["model"]) for one in fresh] == places
        assert len(fresh) % lines == 0
        whole = now
    assert died == kills
    append_entries("h.jsonl", [AcceptedLabel("report", json.loads(whole.splitlines()[0])["label"])])
    read_history("h.jsonl")
    drafts = {name for name in os.listdir() if name.startswith(".clfeval-")}
    assert {*os.listdir()} - drafts <= {"h.jsonl", "t.csv", "h.jsonl.lock"}


SUITE = """\
version: 1
defaults: {input: t.csv, save: ["{name}.json", "{name}.html"]}
history: {file: h.jsonl, label: W1}
runs: {one: {command: mars}, two: {command: report}, three: {command: phidelta}}
"""
KILLED = {
    "command": ([*WORDS, "--save", "r.json", *ADDING], ["r.json"]),
    "batch": (
        ["batch", "s.yaml", "-q", "--save", "all.json"],
        ["all.json", *(f"{run}.{end}" for run in ("one", "two") for end in ("json", "html"))],
    ),
}


@pytest.mark.parametrize(
    ("what", "kills"),
    thinned([("command", 2), ("command", 200), ("batch", 200)], [("command", 2), ("batch", 2)]),
)
def test_what_is_killed_leaves_every_file_old_or_new(what: str, kills: int) -> None:
    Path("s.yaml").write_text(SUITE, encoding="utf-8")
    words, names = KILLED[what]
    words = [str(BIN / "clfeval"), *words]
    subprocess.run(words, check=True, capture_output=True, env=environment())
    lines = Path("h.jsonl").read_bytes()
    new = {name: Path(name).read_bytes() for name in names}
    began = time.monotonic()
    subprocess.run(words, check=True, capture_output=True, env=environment())
    takes = time.monotonic() - began
    rng, died = random.Random(17), 0
    for _ in range(kills):
        for name in names:
            Path(name).write_bytes(b"old")
        Path("h.jsonl").write_bytes(lines)
        out = subprocess.PIPE
        program = subprocess.Popen(words, stdout=out, stderr=out, env=environment())
        died += killed(program, takes * (0.3 + 0.8 * rng.random()))
        assert {name for name in new if Path(name).read_bytes() not in (b"old", new[name])} == set()
        assert Path("h.jsonl").read_bytes() in (lines, lines + lines)  # all of a run, or none
    assert died or kills < 50  # it depends on the machine how many were done before
