"""Command lines and their expected output; `python -m tests.cli.golden` writes it anew."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.process.runner import run

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "fixtures" / "golden"

PAPER = "fixtures/mars-paper/wide.csv"
CANCER = "fixtures/breast-cancer/labels.csv --positive malignant"
SCORES = "fixtures/breast-cancer/scores.csv --positive malignant"

RUNS = "fixtures/armano/runs.csv"
TERMS = (
    "fixtures/manual-pages/terms.parquet --truth-table fixtures/manual-pages/classes.csv"
    " --features --positive function"
)
LINES = "--isometrics precision=0.5,0.8 --isometrics mutual_information=0.1"

METRICS = "fixtures/metrics/test.csv"
WINE = "fixtures/wine/probabilities.csv"
TEST = "--counts ccp=67,5,33,95 --counts rf=69,15,31,85"
FOREST = f"{SCORES} --model forest --odds 1:100"

# file in fixtures/golden -> columns of the screen (0: piped), command line
COMMANDS: dict[str, tuple[int, str]] = {
    "paper-80.txt": (80, f"mars {PAPER}"),
    "paper-140.txt": (140, f"mars {PAPER}"),
    "paper-piped.txt": (0, f"mars {PAPER}"),
    "paper-colour.txt": (80, f"mars {PAPER} --color always"),
    "paper.json": (0, f"mars {PAPER} -f json --subsets all --best 4 --max-effort 5"),
    "paper.csv": (0, f"mars {PAPER} -f csv"),
    "paper-pairs.csv": (0, f"mars {PAPER} -f csv --table pairs"),
    "paper.md": (0, f"mars {PAPER} -f markdown --subsets 2"),
    "paper-any.txt": (80, f"mars {PAPER} --occlusion any"),
    "paper-negative.txt": (80, f"mars {PAPER} --target negative --list found --list missed"),
    "cancer-plots.txt": (80, f"mars {CANCER} --plot"),
    "cancer-subsets-80.txt": (80, f"mars {CANCER} --subsets 2 --best 3 --max-effort 100"),
    "cancer-sweep.txt": (100, f"mars {SCORES} --sweep threshold --plot"),
    "cancer-sweep-top.txt": (100, f"mars {SCORES} --sweep top --points 10 --plot"),
    "cancer-list.csv": (0, f"mars {SCORES} --list found --list missed -f csv --table exclusive"),
    "cancer-groups.txt": (80, f"mars {CANCER} --group trees=tree,forest"),
    "phi-cancer-80.txt": (80, f"phidelta {CANCER} --reference logreg --odds 1:100 --plot"),
    "phi-cancer-140.txt": (140, f"phidelta {CANCER} --plot"),
    "phi-cancer-colour.txt": (80, f"phidelta {CANCER} --plot --color always"),
    "report-classes-80.txt": (80, "report fixtures/digits/labels.csv --show matrix"),
    "report-classes-scores.txt": (140, "report fixtures/digits/probabilities.csv"),
    "report-classes.json": (
        0,
        f"report {WINE} -f json --classes class_0 --classes class_1 --classes class_2",
    ),
    "phi-piped.txt": (0, f"phidelta {CANCER} --reference svm"),
    "phi-all.txt": (80, f"phidelta {CANCER} --reference svm --odds 1:100 --show all"),
    "phi-curve.txt": (100, f"phidelta {SCORES} --curve --plot"),
    "phi-runs.txt": (80, f"phidelta {RUNS} --run run --plot"),
    "phi-isometrics.txt": (80, f"phidelta {PAPER} --odds 1:2 --odds 2:1 --plot {LINES}"),
    "phi-features.txt": (80, f"phidelta {TERMS} --select --top 5 --plot"),
    "phi-features.csv": (0, f"phidelta {TERMS} --select --top 5 -f csv"),
    "phi-numbers.txt": (100, f"phidelta {SCORES} --features --cut best --plot"),
    "phi.json": (0, f"phidelta {PAPER} -f json --prevalence 0.1 --reference C4"),
    "phi.md": (0, f"phidelta {PAPER} -f markdown"),
    "tune-counts-80.txt": (80, f"tune-jpt {TEST} --odds 1:100 --population 5000 --plot"),
    "tune-counts-140.txt": (140, f"tune-jpt {TEST} --prevalence-range 0.001..0.02 --ratio matters"),
    "tune-labels.txt": (0, f"tune-jpt {CANCER} --odds 1:100 --crossover mcc --ratio confounds"),
    "tune-scores.txt": (100, f"tune-jpt {FOREST} --cost 1:20 --plot"),
    "tune-colour.txt": (80, f"tune-jpt {FOREST} --measure tar --plot --color always"),
    "tune-prior.txt": (80, f"tune-jpt {TEST} --prevalence-beta 2,98 --sweep none --measure ppv"),
    "tune-rates.txt": (
        80,
        "tune-jpt --sensitivity .67 --specificity .95 --odds 1:100 --sweep none",
    ),
    "tune-six-80.txt": (80, f"tune-jpt {SCORES} --prevalence 0.01 --prevalence 0.3"),
    "tune-cost-140.txt": (140, f"tune-jpt {SCORES} --cost 1:10"),
    "tune-show.txt": (80, f"tune-jpt {CANCER} --show winners --show curves"),
    "tune-cutoffs.csv": (0, f"tune-jpt {FOREST} -f csv --table cutoffs --points 5"),
    "tune.json": (0, f"tune-jpt {TEST} --odds 1:100 -f json --points 3"),
    "tune.md": (0, f"tune-jpt {TEST} --odds 1:100 -f markdown"),
    "mlcps-80.txt": (80, f"mlcps {METRICS} --plot"),
    "mlcps-all.txt": (80, f"mlcps {METRICS} --show all"),
    "mlcps-140.txt": (
        140,
        f"mlcps {METRICS} --weight-sensitivity --weight fixtures/metrics/weights.yaml --plot",
    ),
    "mlcps-colour.txt": (
        80,
        f"mlcps {METRICS} --plot --color always --metric f1 --metric mcc"
        " --metric roc_auc --rescale mcc=-1:1",
    ),
    "mlcps-piped.txt": (0, f"mlcps {METRICS} --compare fixtures/metrics/train.csv"),
    "mlcps-wishes.txt": (
        80,
        f"mlcps {METRICS} --desirability fixtures/metrics/wishes.yaml --weight brier=0",
    ),
    "mlcps-search.txt": (100, "mlcps fixtures/metrics/cv_results.csv --weight-sensitivity"),
    "mlcps-predictions.txt": (
        80,
        f"mlcps {SCORES} --from predictions --metric f1 --metric roc_auc"
        " --metric specificity --metric brier --resamples 200 --plot",
    ),
    "mlcps-shown.txt": (
        100,
        f"mlcps {SCORES} --from predictions --metric f1 --metric roc_auc"
        " --metric brier --resamples 200 --show intervals --show radars",
    ),
    "mlcps.csv": (0, f"mlcps {METRICS} -f csv --weight recall=2"),
    "mlcps.json": (0, f"mlcps {METRICS} -f json --model svm --model tree --weight-sensitivity"),
    "mlcps.md": (0, f"mlcps {METRICS} -f markdown --metric recall --metric f1 --metric roc_auc"),
    "report-80.txt": (80, f"report {SCORES} --plot"),
    "report-140.txt": (140, f"report {SCORES} --show benefit --show thresholds --thresholds 3"),
    "report-labels.txt": (80, f"report {CANCER} --show metrics"),
    "report-piped.txt": (0, f"report {SCORES} --measure ks --show metrics"),
    "report.csv": (0, f"report {CANCER} -f csv --table confusion"),  # no last digits of logarithms
    "report.md": (0, f"report {CANCER} -f markdown"),
    "digits-slices.txt": (80, "mars fixtures/digits/labels.csv --positive 8 --by truth"),
}


def output_of(columns: int, command: str) -> str:
    """Run a command line and return its standard output."""
    environment = {"COLUMNS": str(columns)} if columns else {}
    with contextlib.chdir(ROOT):
        done = run([*command.split(), "--quiet"], b"", environment)
    assert (done.code, done.err) == (0, "")
    return done.out


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, (columns, command) in COMMANDS.items():
        (FOLDER / file).write_text(output_of(columns, command), encoding="utf-8")
