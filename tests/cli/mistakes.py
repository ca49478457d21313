"""Mistakes that people make, and what they are told: kept in fixtures/golden/mistakes.txt."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.process.program import clfeval

ROOT = Path(__file__).parent.parent.parent
KEPT = ROOT / "fixtures" / "golden" / "mistakes.txt"
ROWS = 60
IDS = range(1, ROWS + 1)


def csv_text(header: str, *columns: list[object]) -> str:
    """Return a table of these columns as CSV."""
    lines = (",".join(map(str, row)) for row in zip(*columns, strict=True))
    return "\n".join((header, *lines, ""))


TRUTH: list[object] = [i % 2 for i in IDS]
SCORE: list[object] = [round(0.01 * i + 0.2 * (i % 2), 2) for i in IDS]
LATER: list[object] = [round(0.99 - 0.013 * i, 3) for i in IDS]
GRADES: list[object] = [("none", "mild", "severe")[i % 3] for i in IDS]
FILES = {
    "preds.csv": csv_text("id,truth,lr,rf", [*IDS], TRUTH, SCORE, LATER),
    "labels.csv": csv_text(
        "id,truth,lr", [*IDS], ["ill" if t else "well" for t in TRUTH], ["ill"] * 25 + ["well"] * 35
    ),
    "grades.csv": csv_text("id,truth,lr,rf", [*IDS], GRADES, GRADES[::-1], GRADES[3:] + GRADES[:3]),
    "old.csv": csv_text("id,truth,score", [*IDS], TRUTH, LATER),
    "new.csv": csv_text("id,truth,score", [*IDS], TRUTH, SCORE),
    "holes.csv": csv_text("id,truth,lr", [*IDS], TRUTH, [*SCORE[:4], "", *SCORE[5:]]),
    "price.csv": csv_text("id,truth,lr", [*IDS], [i / 7 for i in IDS], SCORE),
    "dose.csv": csv_text("id,truth,lr", [*IDS], [i // 2 for i in IDS], SCORE),
    "codes.csv": csv_text("id,truth,lr", [*IDS], [-1, *TRUTH[1:]], SCORE),
    "features.csv": csv_text("truth,prediction,f0,f1", TRUTH, SCORE, LATER, LATER[::-1]),
    "cohort.csv": csv_text(
        "outcome,risk_score,age,sex", TRUTH, SCORE, [20 + i for i in IDS], ["f", "m"] * (ROWS // 2)
    ),
    "split.csv": csv_text(
        "id,truth,lr,split", [*IDS], TRUTH, SCORE, ["train"] * 30 + ["test"] * 30
    ),
    "top.csv": csv_text("label,prediction,confidence", GRADES, GRADES[1:] + GRADES[:1], SCORE),
    "short.csv": "id,truth,lr,rf\n1,1,.9,.8\n2,0,.3\n3,1,.7,.6\n",
    "metrics.csv": "model,accuracy,f1\nlr,.9,.8\nrf,.8,.9\n",
    "suite.yaml": "version: 1\ndefualts: {}\nruns:\n  a: {command: raport, input: preds.csv}\n"
    "  b: {command: mars, input: preds.csv, best: many, tresh: 1}\n",
}
LINES = (
    "report none.csv",
    "report labels.csv",
    "report grades.csv --positive mild --best-threshold f1",
    "report holes.csv",
    "report price.csv",
    "report dose.csv",
    "report codes.csv",
    "report features.csv",
    "report cohort.csv",
    "report split.csv",
    "report top.csv",
    "report short.csv",
    "report new.csv old.csv",
    "report preds.csv --truth outcome",
    "report preds.csv --positive yes",
    "report preds.csv --measure auprc",
    "report preds.csv --measure cost:5:1",
    "report preds.csv --best-threshold sens>0.9",
    "report preds.csv --by lr",
    "report preds.csv --show roc_curve",
    "report preds.csv --treshold .3",
    "report preds.csv --threshold 50",
    "report preds.csv --threshold 50%",
    "report preds.csv --reference xgb",
    "report preds.csv --fail-under recal=.8",
    "report preds.csv --fail-under recall=70",
    "report preds.csv --fail-under brier=.05",
    "report preds.csv --baseline last.json",
    "report preds.csv --baseline labels.csv",
    "report preds.csv --save plot.png",
    "report preds.csv --abstain 2",
    "mars preds.csv --top 0",
    "mars preds.csv --pairs",
    "phidelta cohort.csv --features --truth outcome --threshold .5",
    "tune-jpt --counts 67,5,33",
    "tune-jpt --sensitivity 0.9",
    "tune-jpt preds.csv --prevalence 2",
    "mlcps metrics.csv",
    "mlcps preds.csv",
    "batch suite.yaml",
    "history preds.csv",
    "suite suite.yaml",
)


@contextlib.contextmanager
def folder_of_tables() -> Iterator[None]:
    """Stand in a folder that holds the tables."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in FILES.items():
            Path(name).write_text(text, encoding="utf-8")
        yield


def transcript_of(line: str) -> str:
    """Return a command line with what standard error gets, and the exit code."""
    done = clfeval(*shlex.split(line), COLUMNS="80")
    assert done.out == "" or done.code < 2
    return f"$ clfeval {line}\n{done.err}[exit code {done.code}]\n"


if __name__ == "__main__":
    with folder_of_tables():
        KEPT.write_text("\n".join(map(transcript_of, LINES)), encoding="utf-8")
