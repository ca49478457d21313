"""A batch that is killed at any moment: each of its files is the old or the new one, whole."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.process.program import BIN, environment

TABLE = "id,truth,a,b\n" + "".join(f"r{i},{i % 2},{i % 2},{i % 3 % 2}\n" for i in range(60))
SUITE = """\
version: 1
defaults: {input: t.csv, save: ["{name}.json", "{name}.html"]}
history: {file: h.jsonl, label: W1}
runs:
  one: {command: mars}
  two: {command: report}
  three: {command: phidelta}
"""


@pytest.mark.slow
def test_every_file_of_a_killed_batch_is_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    Path("s.yaml").write_text(SUITE, encoding="utf-8")
    words = [str(BIN / "clfeval"), "batch", "s.yaml", "-q", "--save", "all.json"]
    subprocess.run(words, check=True, capture_output=True, env=environment())
    began = time.monotonic()
    Path("h.jsonl").unlink()
    subprocess.run(words, check=True, capture_output=True, env=environment())
    takes = time.monotonic() - began
    names = [f"{run}.{end}" for run in ("one", "two", "three") for end in ("json", "html")]
    new = {name: Path(name).read_bytes() for name in (*names, "all.json")}
    lines, died = Path("h.jsonl").read_bytes(), 0
    rng = random.Random(18)
    for _ in range(200):
        for name in new:
            Path(name).write_bytes(b"old")
        Path("h.jsonl").write_bytes(lines)
        with subprocess.Popen(words, stdout=-1, stderr=-1, env=environment()) as program:
            try:
                program.wait(takes * (0.3 + 0.8 * rng.random()))
            except subprocess.TimeoutExpired:
                program.send_signal(signal.SIGKILL)
            program.communicate()
        died += program.returncode == -signal.SIGKILL
        assert {name for name in new if Path(name).read_bytes() not in (b"old", new[name])} == set()
        assert Path("h.jsonl").read_bytes() in (lines, lines + lines)  # all of a batch, or none
    assert died
