"""What is read is never written over: by whatever name, link or pattern it is known."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clfeval.output_files import ProtectedFiles, target_path
from tests.process.program import clfeval
from tests.suite.door import plan_of, refused, write_batch
from tests.texts import check_text

TABLE = "id,truth,a\n1,1,1\n2,0,0\n3,1,0\n4,0,1\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "then.csv", "sub/p.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(TABLE)
    Path("link").symlink_to("sub")


def test_a_pattern_spares_its_files_and_those_that_would_be_among_them() -> None:
    spared = ProtectedFiles(["sub/*.csv", "t.csv", "a[1].csv"])
    assert "sub/p.csv" in spared
    assert "link/p.csv" in spared
    assert "link/new.csv" in spared
    assert os.path.abspath("t.csv") in spared
    assert "sub/p.json" not in spared
    assert "sub/deep/new.csv" not in spared
    assert "a1.csv" in spared
    deep = ProtectedFiles(["sub/**/*.csv", "/**/*.parquet"])
    assert {name in deep for name in ("sub/p.csv", "link/new.csv", "sub/a/b.csv", "x.parquet")} == {
        True
    }
    assert "t.csv" not in deep
    Path("a[1].csv").write_text(TABLE)
    assert "a1.csv" not in ProtectedFiles(["a[1].csv"])  # there is a file of that very name


def test_a_place_looks_up_its_folder_and_not_itself() -> None:
    Path("file").symlink_to("t.csv")
    assert target_path("link/x.json") == target_path("sub/../sub/x.json")
    assert target_path("file") != target_path("t.csv")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("mars", "sub/*.csv"), "sub/p.csv"),
        (("mars", "sub/*.csv"), "link/p.csv"),
        (("mars", "t.csv", "--baseline", "then.csv"), "then.csv"),
        (("report", "m=t.csv", "--join", "id"), "t.csv"),
        (("mars", "t.csv", "--append", "h.json", "--label", "x"), "h.json"),
    ],
)
def test_a_file_that_is_read_or_added_to_is_not_saved_over(
    words: tuple[str, ...], name: str
) -> None:
    before = Path(name).read_text() if Path(name).exists() else None
    done = clfeval(*words, "-q", "--save", name)
    assert (done.code, done.out, f"--save '{name}'" in done.err) == (2, "", True)
    check_text(done.err)
    assert (Path(name).read_text() if Path(name).exists() else None) == before


def test_a_file_is_saved_once() -> None:
    done = clfeval("mars", "t.csv", "-q", "--save", "sub/x.json", "--save", "link/x.json")
    assert (done.code, "--save 'link/x.json'" in done.err) == (2, True)
    check_text(done.err)
    assert not Path("sub/x.json").exists()


@pytest.mark.parametrize(
    ("run", "saved"),
    [
        ("command: mars, input: 'sub/*.csv'", "sub/p.csv"),
        ("command: mars, input: 'sub/*.csv'", "sub/other.csv"),
        ("command: mars, inputs: 'sub/*.csv'", "sub/other.csv"),
        ("command: mars, input: t.csv, baseline: then.csv", "then.csv"),
        ("command: report, input: m=then.csv, join: id", "then.csv"),
        ("command: mlcps, input: t.csv, compare: then.csv", "then.csv"),
    ],
)
def test_no_run_saves_over_what_another_reads(run: str, saved: str, tmp_path: Path) -> None:
    text = f"""\
    version: 1
    runs:
      one: {{{run}}}
      two: {{command: mars, input: t.csv, save: {saved}}}
    """
    said = [line for line in refused(tmp_path, text) if line.startswith("suite.yaml:4:")]
    assert (len(said), saved in said[0]) == (1, True)
    check_text(said)


def test_no_file_of_a_batch_is_written_twice(tmp_path: Path) -> None:
    text = """\
    version: 1
    history: {file: h.json, label: a}
    runs:
      one: {command: mars, input: t.csv, save: sub/x.json}
      two: {command: mars, input: t.csv, save: link/x.json}
      three: {command: mars, input: t.csv, save: h.json}
      four: {command: mars, input: t.csv, save: [z.json, ./z.json]}
    """
    said = [line for line in refused(tmp_path, text) if not line.startswith("hint")]
    assert [line.partition(": ")[0] for line in said] == [
        "suite.yaml:5:38",
        "suite.yaml:6:40",
        "suite.yaml:7:39",
    ]
    check_text(said)
    fine = "version: 1\nruns: {a: {command: mars, input: t.csv, save: all.json}}"
    assert len(plan_of(tmp_path, fine).runs) == 1
    done = clfeval("batch", write_batch(tmp_path, fine), "-q", "--save", "all.json")
    assert (done.code, "'all.json'" in done.err) == (2, True)
