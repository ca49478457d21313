"""The recipes of the guide to continuous integration, run as they stand where that is possible."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from clfeval.views.ci import REPORT
from tests.conftest import ROOT
from tests.process.program import BIN, NEEDS_BASH, Done, environment, script
from tests.process.scripts import run_script
from tests.thoroughness import thinned

GUIDE = (ROOT / "clfeval" / "guide" / "ci.md").read_text(encoding="utf-8")
SCORES = ROOT / "fixtures" / "breast-cancer" / "scores.csv"
MARKER = re.compile(r"<!-- clfeval:report [0-9a-f]{8} -->")
# one of its own: it brings many packages (make dvc)
DVC = next(
    filter(None, (shutil.which("dvc", path=str(BIN / ".." / "dvc" / "bin")), shutil.which("dvc"))),
    None,
)
NEEDS_MAKE = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
NEEDS_DVC = pytest.mark.skipif(DVC is None, reason="dvc is not installed: make dvc")
NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

pytestmark = NEEDS_BASH


def recipe(heading: str, language: str) -> str:
    """Return the first block of a language below a heading."""
    section = GUIDE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.search(rf"```{language}\n(.*?)```\n", section, re.DOTALL)
    assert found, (heading, language)
    return found[1]


@pytest.fixture(autouse=True)
def predictions(folder: Path) -> None:
    """The table that every recipe is about."""
    shutil.copy(SCORES, "preds.csv")


def spoilt() -> None:
    """Turn the scores around, so that every model misses its gate."""
    head, *rows = SCORES.read_text().splitlines()
    swapped = {"malignant": "benign", "benign": "malignant"}
    turned = [re.sub("malignant|benign", lambda found: swapped[found[0]], row) for row in rows]
    Path("preds.csv").write_text("\n".join([head, *turned]) + "\n")


def commands(steps: Iterator[str]) -> list[str]:
    return [step for step in steps if step.startswith("clfeval ")]


def github_steps() -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = yaml.safe_load(recipe("GitHub Actions", "yaml"))["jobs"]["gate"][
        "steps"
    ]
    return steps


def test_the_step_of_github_accepts_and_refuses() -> None:
    (command,) = commands(step.get("run", "") for step in github_steps())
    done = script(command)
    assert (done.code, done.err) == (0, "")
    assert MARKER.match(Path("report.md").read_text())
    assert "<failure" not in Path("gates.xml").read_text()
    spoilt()
    missed = script(command)
    assert missed.code == 1
    lines = [line for line in missed.err.splitlines() if line.startswith("::error file=preds.csv,")]
    assert len(lines) == 1  # the model of the gate
    assert Path("gates.xml").read_text().count("<failure") == 1


GH = """#!/bin/sh
echo "$*" >> calls
case "$*" in *--paginate*) cat found 2> /dev/null ;; esac
true
"""


@pytest.mark.parametrize("before", thinned([None, "41\n57\n"], ["41\n57\n"]))
def test_the_bot_writes_a_comment_once_and_then_replaces_it(before: str | None) -> None:
    *_, last = github_steps()
    (command,) = commands(step.get("run", "") for step in github_steps())
    assert script(command).code == 0
    Path("bin").mkdir()
    Path("bin/gh").write_text(GH)
    Path("bin/gh").chmod(0o755)
    if before:
        Path("found").write_text(before)
    done = script(
        f"PATH=$PWD/bin:$PATH; set -e -o pipefail\n{last['run']}",
        GITHUB_STEP_SUMMARY="summary.md",
        COMMENTS="all",
        COMMENT="one",
    )
    assert done.code == 0, done.err
    assert Path("summary.md").read_text() == Path("report.md").read_text()
    asked, wrote = Path("calls").read_text().splitlines()
    assert "startswith(env.MARKER)" in asked
    method, place = ("PATCH", "one/41") if before else ("POST", "all")
    assert wrote == f"api --method {method} {place} -F body=@report.md"


@pytest.mark.slow
def test_the_job_of_gitlab_leaves_its_artifacts() -> None:
    job = yaml.safe_load(recipe("GitLab", "yaml"))["models"]
    (command,) = commands(iter(job["script"]))
    artifacts = [*job["artifacts"]["paths"], *job["artifacts"]["reports"].values()]
    assert REPORT in artifacts
    for turn, code in ((lambda: None, 0), (spoilt, 1)):
        turn()
        assert script(command).code == code
        assert all(Path(name).is_file() for name in artifacts)
        assert len(json.loads(Path(REPORT).read_text())) == code
    assert job["artifacts"]["when"] == "always"  # a missed gate is when they are read


def test_jenkins_reads_a_test_for_each_gate() -> None:
    lines = map(str.strip, recipe("Jenkins", "groovy").splitlines())
    (command,) = commands(lines)
    assert script(command).code == 0
    spoilt()
    assert script(command).code == 1
    assert Path("gates.xml").read_text().count("<failure") == 1


@NEEDS_MAKE
def test_the_makefile_holds_new_predictions_to_the_accepted_ones() -> None:
    Path("Makefile").write_text(recipe("Makefile", "make"))
    first = script("make gate")
    assert first.code == 0, first.err
    assert MARKER.match(Path("report.md").read_text())
    accepted = Path("accepted.json").read_bytes()
    spoilt()
    worse = script("make gate")
    assert worse.code == 2  # that of make
    assert "roc_auc" in worse.err
    assert Path("accepted.json").read_bytes() == accepted
    assert json.loads(Path("report.json").read_text())["passed"] is False
    assert script("make accept && make gate").code == 0
    assert Path("accepted.json").read_bytes() != accepted


@pytest.mark.parametrize(
    ("change", "code"),
    [("true", 0), ("spoil", 1), ("echo 's999,benign,x' >> preds.csv", 3), ("rm preds.csv", 3)],
)
def test_the_plain_pipeline_has_a_line_and_a_code_for_each_case(change: str, code: int) -> None:
    if change == "spoil":
        spoilt()
    else:
        assert script(change).code == 0
    done = script(recipe("A plain pipeline", "bash"))
    first, *problems = done.out.splitlines()
    assert (done.code, len(first) > 0) == (code, True)
    read = [json.loads(line) for line in problems]
    assert bool(read) == bool(code)
    assert {one["exit_code"] for one in read} <= {code}


def dvc(*words: str) -> Done:
    assert DVC is not None
    path = f"{BIN}:{environment()['PATH']}"
    named = {"DVC_NO_ANALYTICS": "1", "PATH": path, "HOME": str(Path.cwd())}
    named |= {
        f"GIT_{who}_{what}": "x@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    command = shlex.join([DVC, *words] if words[0] != "git" else words)
    return run_script(command, b"", environment(**named), seconds=300)


@NEEDS_DVC
@NEEDS_GIT
def test_dvc_reads_the_numbers_and_the_curves() -> None:
    assert dvc("git", "init", "-q").code == 0
    assert dvc("init", "-q").code == 0
    Path("dvc.yaml").write_text(recipe("DVC", "yaml"))
    Path(".dvc/plots").mkdir()
    Path(".dvc/plots/models.json").write_text(recipe("DVC", "json"))
    first = dvc("repro")
    assert first.code == 0, first.err
    numbers = json.loads(Path("eval.metrics.json").read_text())
    shown = json.loads(dvc("metrics", "show", "--json").out)
    assert shown[""]["data"]["eval.metrics.json"]["data"] == numbers
    assert dvc("git", "add", "-A").code == 0
    assert dvc("git", "commit", "-q", "-m", "first").code == 0
    lines = Path("preds.csv").read_text().splitlines(keepends=True)
    Path("preds.csv").write_text("".join(lines[:200]))
    assert dvc("repro").code == 0
    later = json.loads(Path("eval.metrics.json").read_text())
    diff = json.loads(dvc("metrics", "diff", "--json").out)["eval.metrics.json"]
    for model in ("svm", "tree"):
        found = diff[f"{model}.roc_auc"]
        old, new = numbers[model]["roc_auc"], later[model]["roc_auc"]
        assert (found["old"], found["new"]) == (old, new)
        assert found["diff"] == pytest.approx(new - old)
    plots = dvc("plots", "show", "curves.csv", "--show-vega")
    assert plots.code == 0, plots.err
    drawn = json.loads(plots.out)
    assert drawn["encoding"]["color"]["field"] == "model"
    assert (drawn["encoding"]["x"]["field"], drawn["encoding"]["y"]["field"]) == (
        "fpr",
        "sensitivity",
    )
    points = drawn["data"]["values"]
    assert {point["model"] for point in points} == {*later}
    assert all(0 <= float(p["fpr"]) <= 1 and 0 <= float(p["sensitivity"]) <= 1 for p in points)
    assert dvc("plots", "diff", "HEAD").code == 0
    assert "svm" in Path("dvc_plots/index.html").read_text()
