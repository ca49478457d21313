"""Command lines and calls in Python with their output; `python -m tests.cli.golden` writes it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import clfeval
from clfeval.api.result import Result, terminal_text
from clfeval.formatting import DIGITS
from tests.process.runner import run
from tests.texts import with_kept_digits

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "fixtures" / "golden"

PAPER = "fixtures/mars-paper/wide.csv"
CANCER = "fixtures/breast-cancer/labels.csv --positive malignant"
TABLE = "fixtures/breast-cancer/scores.csv"
PAGES = "fixtures/manual-pages"
SCORES = "fixtures/breast-cancer/scores.csv --positive malignant"

RUNS = "fixtures/armano/runs.csv"

METRICS = "fixtures/metrics/test.csv"
WINE = "fixtures/wine/probabilities.csv"
TEST = "--counts ccp=67,5,33,95 --counts rf=69,15,31,85"
FOREST = f"{SCORES} --model forest --prevalence 1:100"

# file in fixtures/golden -> columns of the screen (0: piped), command line
COMMANDS: dict[str, tuple[int, str]] = {
    "paper-80.txt": (80, f"mars {PAPER}"),
    "paper-140.txt": (140, f"mars {PAPER}"),
    "paper-piped.txt": (0, f"mars {PAPER}"),
    "paper-colour.txt": (80, f"mars {PAPER}"),
    "paper.json": (0, f"mars {PAPER} -f json --subsets all --best 4 --max-effort 5"),
    "paper.csv": (0, f"mars {PAPER} -f csv"),
    "paper-pairs.csv": (0, f"mars {PAPER} -f csv --show pairs"),
    "paper.md": (0, f"mars {PAPER} -f markdown --subsets 2"),
    "cancer-plots.txt": (80, f"mars {CANCER} --show plots"),
    "cancer-subsets-80.txt": (80, f"mars {CANCER} --subsets 2 --best 3 --max-effort 100"),
    "cancer-list.csv": (0, f"mars {SCORES} --list found --list missed -f csv --show exclusive"),
    "cancer-groups.txt": (80, f"mars {CANCER} --group trees=tree,forest"),
    "phi-cancer-80.txt": (
        80,
        f"phidelta {CANCER} --reference logreg --prevalence 1:100 --show plots",
    ),
    "phi-cancer-140.txt": (140, f"phidelta {CANCER} --show plots"),
    "phi-cancer-colour.txt": (80, f"phidelta {CANCER} --show plots"),
    "report-classes-80.txt": (80, "report fixtures/digits/labels.csv --show matrix"),
    "report-classes-scores.txt": (140, "report fixtures/digits/probabilities.csv"),
    "recalibrate-classes.txt": (
        100,
        "recalibrate fixtures/digits/probabilities.csv --show methods --show groups",
    ),
    "recalibrate-classes.json": (
        0,
        "recalibrate fixtures/digits/probabilities.csv --model forest --method one-vs-rest -f json",
    ),
    "report-classes.json": (
        0,
        f"report {WINE} -f json --classes class_0 --classes class_1 --classes class_2",
    ),
    "phi-piped.txt": (0, f"phidelta {CANCER} --reference svm"),
    "phi-all.txt": (80, f"phidelta {CANCER} --reference svm --prevalence 1:100 --show all"),
    "phi-curve.txt": (100, f"phidelta {SCORES} --curve --show plots"),
    "phi-runs.txt": (80, f"phidelta {RUNS} --run run --show plots"),
    "phi-numbers.txt": (100, f"phidelta {SCORES} --features --cut best --show plots"),
    "phi.json": (0, f"phidelta {PAPER} -f json --prevalence 0.1 --reference C4"),
    "phi.md": (0, f"phidelta {PAPER} -f markdown"),
    "tune-counts-80.txt": (
        80,
        f"tune-jpt {TEST} --prevalence 1:100 --population 5000 --show plots",
    ),
    "tune-counts-140.txt": (140, f"tune-jpt {TEST} --prevalence 0.001..0.02"),
    "tune-labels.txt": (0, f"tune-jpt {CANCER} --prevalence 1:100 --measure mcc"),
    "tune-scores.txt": (100, f"tune-jpt {FOREST} --measure cost:fp=1,fn=20 --show plots"),
    "tune-colour.txt": (80, f"tune-jpt {FOREST} --measure tar --show plots"),
    "tune-six-80.txt": (80, f"tune-jpt {SCORES} --prevalence 0.01 --prevalence 0.3"),
    "tune-cost-140.txt": (140, f"tune-jpt {SCORES} --measure cost:fp=1,fn=10"),
    "tune-show.txt": (80, f"tune-jpt {CANCER} --show winners --show curves"),
    "tune.md": (0, f"tune-jpt {TEST} --prevalence 1:100 -f markdown"),
    "mlcps-80.txt": (80, f"mlcps {METRICS} --show plots"),
    "mlcps-all.txt": (80, f"mlcps {METRICS} --show all"),
    "mlcps-140.txt": (
        140,
        f"mlcps {METRICS} --weight-sensitivity --show plots"
        " --metric-weight fixtures/metrics/weights.yaml",
    ),
    "mlcps-colour.txt": (
        80,
        f"mlcps {METRICS} --show plots --metric f1 --metric mcc"
        " --metric roc_auc --rescale mcc=-1:1",
    ),
    "mlcps-piped.txt": (0, f"mlcps {METRICS} --compare fixtures/metrics/train.csv"),
    "mlcps-wishes.txt": (
        80,
        f"mlcps {METRICS} --desirability fixtures/metrics/wishes.yaml --metric-weight brier=0",
    ),
    "mlcps-search.txt": (100, "mlcps fixtures/metrics/cv_results.csv --weight-sensitivity"),
    "mlcps.csv": (0, f"mlcps {METRICS} -f csv --metric-weight recall=2"),
    "mlcps.json": (0, f"mlcps {METRICS} -f json --model svm --model tree --weight-sensitivity"),
    "mlcps.md": (0, f"mlcps {METRICS} -f markdown --metric recall --metric f1 --metric roc_auc"),
    "report-80.txt": (80, f"report {SCORES} --show plots"),
    "report-labels.txt": (80, f"report {CANCER} --show measures"),
    "report-piped.txt": (0, f"report {SCORES} --measure ks --show measures"),
    "report.csv": (0, f"report {CANCER} -f csv --show confusion"),  # no last digits of logarithms
    "report.md": (0, f"report {CANCER} -f markdown"),
    "digits-slices.txt": (80, "mars fixtures/digits/labels.csv --positive 8 --by truth"),
}


@dataclass(frozen=True)
class Call:
    """A call of a function of Python, with what a shell does not have, and what is then shown."""

    columns: int
    function: Callable[..., Result]
    table: str | None
    options: Mapping[str, Any]
    shown: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        return self.function.__name__.replace("_", "-")

    def result(self) -> Result:
        with contextlib.chdir(ROOT):
            return self.function(self.table, **self.options)

    def output(self, suffix: str) -> str:
        """Return what the file of this suffix holds; of text, what is printed."""
        result = self.result()
        if suffix == ".txt":
            return terminal_text(result, self.shown, width=self.columns or None, digits=DIGITS)
        with TemporaryDirectory() as folder:
            path = Path(folder, f"result{suffix}")
            result.save(path, table=next(iter(self.shown), None))
            return path.read_text(encoding="utf-8")


MALIGNANT: dict[str, Any] = {"positive": "malignant"}
LISTS = {"list": ["found", "missed"]}
LINES = {"precision": [0.5, 0.8], "mutual_information": [0.1]}
TERMS: dict[str, Any] = {
    "truth_table": f"{PAGES}/classes.csv",
    "features": True,
    "positive": "function",
    "select": 5,
}
TUNED: dict[str, Any] = {"counts": {"ccp": [67, 5, 33, 95], "rf": [69, 15, 31, 85]}}
MEASURED: dict[str, Any] = {**MALIGNANT, "source": "predictions", "resamples": 200}
FOUR = ["f1", "roc_auc", "specificity", "brier"]

# file in fixtures/golden -> what Python is asked for
CALLS: dict[str, Call] = {
    "paper-any.txt": Call(80, clfeval.mars, PAPER, {"occlusion": "any"}),
    "paper-negative.txt": Call(80, clfeval.mars, PAPER, {"target": "negative", **LISTS}),
    "cancer-sweep.txt": Call(
        100, clfeval.mars, TABLE, {**MALIGNANT, "sweep": "threshold"}, ("plots",)
    ),
    "cancer-sweep-top.txt": Call(
        100, clfeval.mars, TABLE, {**MALIGNANT, "sweep": "top", "points": 10}, ("plots",)
    ),
    "phi-isometrics.txt": Call(
        80, clfeval.phidelta, PAPER, {"prevalence": ["1:2", "2:1"], "isometrics": LINES}, ("plots",)
    ),
    "phi-features.txt": Call(80, clfeval.phidelta, f"{PAGES}/terms.parquet", TERMS, ("plots",)),
    "phi-features.csv": Call(0, clfeval.phidelta, f"{PAGES}/terms.parquet", TERMS),
    "tune-prior.txt": Call(
        80,
        clfeval.tune_jpt,
        None,
        {**TUNED, "prevalence_beta": (2, 98), "sweep": None, "measure": "ppv"},
    ),
    "tune-rates.txt": Call(
        80,
        clfeval.tune_jpt,
        None,
        {"sensitivity": 0.67, "specificity": 0.95, "prevalence": "1:100", "sweep": None},
    ),
    "tune-cutoffs.csv": Call(
        0,
        clfeval.tune_jpt,
        TABLE,
        {**MALIGNANT, "model": "forest", "prevalence": "1:100", "points": 5},
        ("cutoffs",),
    ),
    "tune.json": Call(0, clfeval.tune_jpt, None, {**TUNED, "prevalence": "1:100", "points": 3}),
    "report-140.txt": Call(
        140, clfeval.report, TABLE, {**MALIGNANT, "thresholds": 3}, ("benefit", "thresholds")
    ),
    "mlcps-predictions.txt": Call(
        80, clfeval.mlcps, TABLE, {**MEASURED, "metric": FOUR}, ("plots",)
    ),
    "mlcps-shown.txt": Call(
        100,
        clfeval.mlcps,
        TABLE,
        {**MEASURED, "metric": ["f1", "roc_auc", "brier"]},
        ("intervals", "radars"),
    ),
}


def output_of(columns: int, command: str, **variables: str) -> str:
    """Run a command line and return its standard output."""
    environment = ({"COLUMNS": str(columns)} if columns else {}) | variables
    with contextlib.chdir(ROOT):
        done = run([*command.split(), "--quiet"], b"", environment)
    assert (done.code, done.err) == (0, ""), (command, done.err)
    return done.out


def made(file: str) -> str:
    """Return what a file in fixtures/golden has to hold."""
    if file in CALLS:
        return CALLS[file].output(Path(file).suffix)
    variables = {"FORCE_COLOR": "1"} if "colour" in file else {}
    return output_of(*COMMANDS[file], **variables)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file in (*COMMANDS, *CALLS):
        place = FOLDER / file
        kept = place.read_text(encoding="utf-8") if place.exists() else ""
        place.write_text(with_kept_digits(made(file), kept), encoding="utf-8")
