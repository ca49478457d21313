"""Same input, same bytes: nothing in a result depends on the run, the machine or the place."""

from __future__ import annotations

import getpass
import os
import re
import socket
from pathlib import Path

from tests.process.program import clfeval

SCORES = "id,truth,site,a,b,c\n" + "".join(
    f"{i},{i * 7 % 3 % 2},{'xyz'[i % 3]},{i * 37 % 100 / 100},{i * 53 % 100 / 100},0.{i % 9}\n"
    for i in range(60)
)
OPTIONS = [
    "--by", "site", "--subsets", "2", "--best", "2", "--max-effort", "30",
    "--list", "found", "--list", "missed", "--show", "plots", "--fail-under", "recall=0.1",
]  # fmt: skip
SAVED = ["r.json", "r.md", "r.html", "r.csv", "r.xml"]


def everything(table: str, **changes: str) -> dict[str, bytes]:
    """Run the program once with all its tables and return every byte it wrote."""
    words = [word for name in SAVED for word in ("--save", name)]
    done = clfeval("mars", table, *OPTIONS, *words, **changes)
    assert done.code == 0
    assert done.err.splitlines()[-len(SAVED) :] == [f"wrote {name}" for name in SAVED]
    return {"stdout": done.out.encode(), **{name: Path(name).read_bytes() for name in SAVED}}


def test_two_runs_write_the_same_bytes() -> None:
    Path("t.csv").write_text(SCORES, encoding="utf-8")
    first = everything("t.csv")
    again = everything("t.csv", PYTHONHASHSEED="2", POLARS_MAX_THREADS="1", TZ="Asia/Tokyo")
    assert {name for name in first if first[name] != again[name]} == set()


def test_no_file_or_variable_of_the_place_changes_a_result(folder: Path) -> None:
    before = clfeval("mars", "t.csv", "-f", "json")
    for name in ("clfeval.toml", "pyproject.toml", ".clfeval.yaml", "setup.cfg", ".env"):
        Path(name).write_text("[tool.clfeval]\npositive = '0'\nmissing = 'drop'\n")
    changes = {"CLFEVAL_POSITIVE": "0", "CLFEVAL_MISSING": "drop", "CLFEVAL_FORMAT": "csv"}
    assert clfeval("mars", "t.csv", "-f", "json", **changes) == before


def test_the_order_of_rows_changes_only_the_hash_of_the_data() -> None:
    lines = SCORES.splitlines()
    results = []
    for body in (lines[1:], lines[:0:-1]):
        Path("t.csv").write_text("\n".join([lines[0], *body, ""]), encoding="utf-8")
        out = clfeval("mars", "t.csv", "-q", "-f", "json", "--by", "site", "--subsets", "2").out
        results.append(re.sub(r'data:\w{8}|"sha256": "\w+"', "", out))
    assert results[0] == results[1]


def test_nothing_names_the_machine(folder: Path) -> None:
    home = folder / "somewhere"
    home.mkdir()
    table = home / "preds.csv"
    table.write_text(SCORES, encoding="utf-8")
    written = everything(str(table))
    private = {
        str(folder),
        "somewhere",
        str(Path.home()),
        os.getcwd(),
        "/tmp",
        socket.gethostname(),
    }
    private |= {getpass.getuser()} if len(getpass.getuser()) > 4 else set()
    for name, content in written.items():
        text = content.decode()
        assert "preds.csv" in text or name in ("r.csv", "r.xml")
        assert {word for word in private if len(word) > 1 and word in text} == set()
        assert not re.search(r"\b20\d\d-\d\d-\d\d|\b\d\d:\d\d:\d\d", text)
