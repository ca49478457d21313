"""What the program prints and saves for many command lines, to compare two versions of the source.

`python -m tests.cli.same_output FOLDER` writes one file for each command line: its words, exit
code, both streams and every file that it saved. Run it before and after a change that shall change
no byte, with two folders, and compare them with `diff -r`. The command lines are those of the
golden files, in every format, and random ones, the same each time: with valid values of common
options on the fixtures, and with awkward ones of every option. They depend on nothing that a
change of the source may change, but for the awkward ones: `--lines FILE` takes these from an
earlier folder.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.attack import words
from tests.attack.mutants import TABLES
from tests.cli.golden import CALLS, COMMANDS, ROOT
from tests.process.program import environment
from tests.process.runner import run

FORMATS = ("table", "json", "csv", "markdown")
SAVED = ("saved.html", "saved.json", "saved.csv", "saved.md")
RANDOM_LINES = 300
AWKWARD_LINES = 200
SEPARATOR = "\n----\n"

CANCER = "fixtures/breast-cancer"
SCORES = f"{CANCER}/scores.csv --positive malignant | logreg svm"
LABELS = f"{CANCER}/labels.csv --positive malignant | svm tree"
PAPER = "fixtures/mars-paper/wide.csv | C1 C2"
WEIGHTED = "fixtures/mars-paper/weighted.csv --weight n | C1 C3"
RUNS = "fixtures/armano/runs.csv --run run | C21 C22"
# command -> tables with the options that they need, and two of their models
TABLES_OF_COMMAND: dict[str, tuple[str, ...]] = {
    "report": (
        SCORES,
        LABELS,
        f"{CANCER}/long.parquet --positive malignant | forest knn",
        f"{CANCER}/probabilities.csv --positive malignant | naive_bayes svm",
        "fixtures/digits/labels.csv | knn svm",
        "fixtures/digits/probabilities.csv | knn logreg",
        "fixtures/wine/labels.csv | knn tree",
        "fixtures/wine/probabilities.csv | .pred .pred",
        PAPER,
        "fixtures/mars-paper/scores.csv | C1 C2",
        WEIGHTED,
        "fixtures/mars-paper/long-readme.csv | C1 C2",
        RUNS,
    ),
    "mars": (
        SCORES,
        LABELS,
        PAPER,
        WEIGHTED,
        "fixtures/digits/labels.csv --positive 8 | knn svm",
        "fixtures/wine/labels.csv --positive class_1 | knn tree",
    ),
    "phidelta": (
        SCORES,
        LABELS,
        f"{CANCER}/scores.csv --positive malignant --features --cut best | svm tree",
        PAPER,
        RUNS,
        "fixtures/digits/labels.csv --positive 8 | knn svm",
    ),
    "tune-jpt": (
        SCORES,
        LABELS,
        "--counts ccp=67,5,33,95 --counts rf=69,15,31,85 | ccp rf",
        "--sensitivity 0.9 --specificity 0.8 | model model",
        PAPER,
    ),
    "mlcps": (
        "fixtures/metrics/test.csv | svm tree",
        "fixtures/metrics/cv_results.csv | 0 1",
        f"{CANCER}/scores.csv --positive malignant --from predictions | svm tree",
    ),
    "count": (SCORES, LABELS, "fixtures/wine/labels.csv | knn tree"),
    "history": ("fixtures/history/weeks.jsonl | forest logreg",),
    "batch": ("fixtures/suite/suite.yaml | a b",),
}
PICTURES = ("--save roc.svg", "--save calibration.svg", "--save decision.svg")
SHOWN = ("--show all", "--show plots", "--verbose", "--quiet")
ROWS = ("--model {a}", "--model {a} --model {b}", "--ignore {b}", "--dry-run")
GATES = ("--fail-under recall=0.5", "--fail-over {a}:recall.low=0.99", "--explain recall")
MODELS = (
    *SHOWN,
    *ROWS,
    *GATES,
    "--level 0.9",
    "--reference {a}",
    "--reference {b} --margin recall=0.02",
    "--where '{a} not null'",
    "--baseline fixtures/breast-cancer/scores.csv --id id",
)
SCORED = ("--threshold 0.3", "--threshold {a}=0.4", "--by {b}:3", "--where '{a} <= 0.5'")
OPTIONS_OF_COMMAND: dict[str, tuple[str, ...]] = {
    "report": (
        *MODELS,
        *SCORED,
        "--measure ks",
        "--measure balanced_accuracy --measure auprg",
        "--prevalence 0.01",
        "--with all",
        "--with mars",
        "--all-pairs",
        "--scores buckets",
        "--best-threshold f1",
        "--best-threshold 'sens>=.9'",
        "--threshold cost:fp=1,fn=10",
        "--cluster id",
        "--show confusion",
        *PICTURES,
    ),
    "mars": (
        *MODELS,
        *SCORED[:2],
        "--subsets 2",
        "--subsets all",
        "--best 3",
        "--max-effort 100",
        "--list found",
        "--group both={a},{b}",
        "--by {b}",
        "--measure f1",
        "--by truth",
    ),
    "phidelta": (
        *MODELS,
        *SCORED,
        "--curve",
        "--prevalence 1:100",
        "--prevalence 0.1",
        "--measure all",
    ),
    "tune-jpt": (
        *SHOWN,
        *ROWS[:2],
        "--prevalence 1:100",
        "--prevalence 0.001..0.02",
        "--population 5000",
        "--measure mcc",
        "--measure cost:fp=1,fn=10",
        "--measure ppv",
        "--interval wilson",
        "--level 0.9",
        "--fail-under ppv=0.01",
        "--prevalence 0.01 --prevalence 0.3",
    ),
    "mlcps": (
        *SHOWN,
        *ROWS[:3],
        "--metric recall --metric f1 --metric roc_auc",
        "--weight-sensitivity",
        "--metric-weight recall=2",
        "--metric-weight brier=0",
        "--rescale mcc=-1:1",
        "--compare fixtures/metrics/train.csv",
        "--fail-under mlcps=0.5",
        "--desirability fixtures/metrics/wishes.yaml",
    ),
    "count": (*ROWS, *SCORED, "--joint pairs", "--min-cell 5", "--scores buckets", "--level 0.9"),
    "history": (*SHOWN, "--command mars", "--label 2026-W40"),
    "batch": (*SHOWN, "--dry-run", "--fail-fast", "--print-schema"),
}


def golden_lines() -> Iterator[list[str]]:
    """Yield the command lines of the golden files, in every format."""
    for columns, command in COMMANDS.values():
        words_of_line = command.split()
        if "-f" in words_of_line:
            place = words_of_line.index("-f")
            del words_of_line[place : place + 2]
        for form in FORMATS:
            yield [*words_of_line, "-f", form, f"COLUMNS={columns or 100}"]


def random_lines() -> Iterator[list[str]]:
    """Yield command lines with valid values of common options, and saved files."""
    dice = random.Random(54)
    weights = [len(tables) for tables in TABLES_OF_COMMAND.values()]
    for _ in range(RANDOM_LINES):
        (command,) = dice.choices([*TABLES_OF_COMMAND], weights)
        table, _, models = dice.choice(TABLES_OF_COMMAND[command]).partition(" | ")
        options = dice.sample(OPTIONS_OF_COMMAND[command], dice.choice((0, 1, 1, 2, 2, 3)))
        form = dice.choice((*FORMATS, "table", "table"))
        if form in ("json", "csv"):  # which refuse tables by name, or several of them
            options = [option for option in options if not option.startswith("--show")]
        first, second = models.split()
        line = " ".join([command, table, *options]).format(a=first, b=second)
        saves = [word for name in dice.sample(SAVED, 2) for word in ("--save", name)]
        columns = f"COLUMNS={dice.choice((80, 140))}"
        yield [*split_quoted(line), *saves, "-f", form, columns]


def split_quoted(line: str) -> list[str]:
    """Return the words of a line, in which only single quotes keep blanks together."""
    parts = line.split("'")
    return [
        word for place, part in enumerate(parts) for word in ([part] if place % 2 else part.split())
    ]


def awkward_lines() -> list[list[str]]:
    """Return command lines with awkward values of every option, most of them refused."""
    dice = random.Random(55)
    return [words.command_line(dice) for _ in range(AWKWARD_LINES)]


class Workplace:
    """A folder with the tables that the lines name, the same before each line."""

    def __init__(self, folder: Path) -> None:
        """Write the fixtures, and small tables of every format."""
        shutil.copytree(ROOT / "fixtures", folder / "fixtures")
        for name, kind in {"t": "wide", "c": "counts", "m": "metrics", "l": "long"}.items():
            for suffix in ("csv", "parquet", "arrow", "ndjson"):
                (folder / f"{name}.{suffix}").write_bytes(TABLES[kind, suffix])
        self.folder = folder
        self.tables = self.contents()

    def contents(self) -> dict[Path, bytes]:
        """Return what every file of the folder holds."""
        paths = sorted(self.folder.rglob("*"))
        return {path: path.read_bytes() for path in paths if path.is_file()}

    def outcome(self, line: Sequence[str]) -> str:
        """Run one line and return everything that it leaves."""
        variables = dict(word.split("=", 1) for word in line if word.startswith("COLUMNS="))
        arguments = [word for word in line if not word.startswith("COLUMNS=")]
        with contextlib.chdir(self.folder):
            done = run(arguments, b"", environment(**variables))
        parts = [" ".join(line), f"exit code {done.code}", done.out, done.err]
        for path, content in self.contents().items():
            if self.tables.get(path) != content:
                text = content.decode(errors="backslashreplace")
                parts.append(f"{path.relative_to(self.folder)}\n{text}")
                path.unlink()
        for path, content in self.tables.items():
            if not path.exists():
                path.write_bytes(content)
        return SEPARATOR.join(parts).replace(str(self.folder), "FOLDER")


def called_outcome(file: str) -> str:
    """Return what a golden call of Python prints or saves, and its JSON."""
    call = CALLS[file]
    return f"{call.output(Path(file).suffix)}{SEPARATOR}{call.result().to_json()}"


def main() -> None:
    """Write the outcome of every line, a file each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lines", type=Path, help="awkward lines of an earlier run")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True)
    awkward = json.loads(arguments.lines.read_text()) if arguments.lines else awkward_lines()
    (folder / "awkward.json").write_text(json.dumps(awkward, indent=0), encoding="utf-8")
    codes: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as place:
        workplace = Workplace(Path(place))
        for line in (*golden_lines(), *random_lines(), *awkward):
            text = workplace.outcome(line)
            code = text.split(SEPARATOR)[1]
            codes[code] = codes.get(code, 0) + 1
            digest = hashlib.sha256(json.dumps(line).encode()).hexdigest()[:12]
            path = folder / f"{line[0].strip('-')}-{digest}.txt"
            path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    for file in CALLS:
        (folder / f"call-{file}").write_text(called_outcome(file), encoding="utf-8")
    print(dict(sorted(codes.items())))


if __name__ == "__main__":
    main()
