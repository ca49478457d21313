"""Three programs that append runs to one history at once, 24 times: no line is lost or torn."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.process.program import WIDE, clfeval, environment
from tests.thoroughness import thinned

TIMES, PROGRAMS, LABELS = 24, 3, 8
# runs of the program, one after the other, of which each adds a line for both models
PROGRAM = """
import sys
from tests.process.program import clfeval
who, labels = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(labels):
    words = ("--append", "h.jsonl", "--label", f"{who}-{number}", "--fail-under", "recall=0.1")
    done = clfeval("mars", "t.csv", "-q", *words)
    assert done.code == 0, done.err
"""


@pytest.mark.parametrize("time", thinned(range(TIMES), [0]))
def test_programs_that_append_at_once_lose_no_line(time: int, folder: Path) -> None:
    Path("t.csv").write_text(WIDE, encoding="utf-8")
    labels = LABELS if time else 2
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, f"p{number}", str(labels)],
            env=environment(PYTHONPATH=str(ROOT)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROGRAMS)
    ]
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
    for program in programs:  # all are loaded: they begin together
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    for program in programs:
        _, err = program.communicate(timeout=120)
        assert program.returncode == 0, err
    lines = [json.loads(text) for text in Path("h.jsonl").read_text(encoding="utf-8").splitlines()]
    appended = Counter((line["label"], line["model"]) for line in lines)
    names = [f"p{number}-{label}" for number in range(PROGRAMS) for label in range(labels)]
    assert appended == Counter((name, model) for name in names for model in ("a", "b"))
    assert sorted(path.name for path in folder.iterdir()) == ["h.jsonl", "t.csv"]
    assert clfeval("history", "h.jsonl", "--command", "mars").code == 0
