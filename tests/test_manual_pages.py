"""The words of manual pages: the builder on pages made up here, and the tables it left."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl

FIXTURES = Path(__file__).parent.parent / "fixtures"
KEPT = FIXTURES / "manual-pages"

GREP = r"""'\" t
.\" comment
.TH GREP 1 2024-01-01 "GNU grep 3.8" "User Commands"
.de Hidden
never shown
..
.ds Aq unseen
.SH NAME
grep \- print \fBmatch\fRing lines
.TP 12
.BR \-\-line\-count " [" num ]
Don\(aqt read \s-1ANSI\s0 C\" remark
.TS
tab(:) allbox;
lb l.
left:right
.TE
"""
LS = r""".Dd January 1, 2024
.Dt LS 1
.Os
.Sh NAME
.Nm ls
.Nd list files
.Bl -tag -width indent
.It Fl all Ar files
"""
ABS = r""".TH abs 3
.SH "RETURN VALUE"
.BI "int abs(int " j2 );
.if n .ad l
The\ value caf\[e aa]
"""
EXIT = ".SH NAME\nexit_now\nÉtat\n"
COUNTS = {
    "grep.1": "name grep print matching lines line count num don read ansi left right",
    "ls.1": "name ls list files all files",
    "abs.3": "return value int abs int the value caf",
    "exit.3": "name exit now état",
}


def test_the_builder_counts_the_words_of_pages(tmp_path: Path) -> None:
    pages = {"grep.1": GREP, "ls.1": LS, "abs.3": ABS, "exit.3": EXIT}
    for number, (name, text) in enumerate(pages.items()):
        write_page(tmp_path, name, text + f"{'abcd'[number] * 3} " * 100)
    write_page(tmp_path, "egrep.1", ".so man1/grep.1\n")
    write_page(tmp_path, "short.3", "word " * 99)
    write_page(tmp_path, "openssl.1ssl", "word " * 200)
    write_page(tmp_path, "gcloud_zones.1", "word " * 200)
    (tmp_path / "man3" / "llabs.3.gz").symlink_to("abs.3.gz")  # its hash is first
    terms, classes = build(tmp_path)
    assert classes.rows() == [
        ("grep.1", "command"),
        ("ls.1", "command"),
        ("abs.3", "function"),
        ("exit.3", "function"),
    ]
    assert terms.columns == ["doc", "term", "count"]
    expected = [
        (doc, term, count)
        for number, (doc, words) in enumerate(COUNTS.items())
        for term, count in sorted((Counter(words.split()) + filler(number)).items())
    ]
    assert terms.rows() == expected


def test_of_pages_much_alike_one_is_kept(tmp_path: Path) -> None:
    write_page(tmp_path, "printf_s.3", "one two three four " * 30)  # the first by its hash
    write_page(tmp_path, "printf.3", "other words than those " * 30)  # the same first letters
    write_page(tmp_path, "wprint.3", "one two three four five " * 30)  # nearly the same words
    write_page(tmp_path, "cat.1", "one two three four " * 30)  # another section
    _, classes = build(tmp_path)
    assert classes.filter(section="function")["doc"].to_list() == ["printf_s.3"]
    assert classes.filter(section="command")["doc"].to_list() == ["cat.1"]


def test_the_kept_tables_agree_with_each_other() -> None:
    terms = pl.read_parquet(KEPT / "terms.parquet")
    classes = pl.read_csv(KEPT / "classes.csv")
    assert classes["doc"].is_unique().all()
    assert dict(classes["section"].value_counts().rows()) == {"command": 150, "function": 150}
    assert terms["doc"].unique(maintain_order=True).equals(classes["doc"])
    assert terms["doc"].rle_id().n_unique() == classes.height  # the rows of a page are together
    assert terms.select("doc", "term").is_unique().all()
    assert terms.select(pl.col("count").min()).item() >= 1
    assert terms["term"].str.contains(r"^\p{L}{2,}$").all()
    assert terms["term"].equals(terms["term"].str.to_lowercase())


def write_page(man: Path, name: str, text: str) -> None:
    """Write one page into the folder of its section."""
    folder = man / f"man{name.rpartition('.')[2][0]}"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))


def filler(number: int) -> Counter[str]:
    """Return the words that make page `number` long enough."""
    return Counter({"abcd"[number] * 3: 100})


def build(man: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Run the builder on a folder of pages and read what it writes."""
    script = str(FIXTURES / "build_manual_pages.py")
    output = man / "built"
    command = [sys.executable, script, str(output), "--man", str(man)]
    subprocess.run(command, check=True, capture_output=True)
    folder = output / "manual-pages"
    return pl.read_parquet(folder / "terms.parquet"), pl.read_csv(folder / "classes.csv")
