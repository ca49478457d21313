"""Probabilities outside 0 to 1 by rounding, as fastText and single precision write them."""

from __future__ import annotations

import numpy as np
import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.results import estimate_of, row_of, value_of
from tests.tables.door import write

TRUTH = [1, 0, 1, 1, 0, 0, 1, 0, 1, 0] * 3
SCORES = [1.00001, 0.2, 0.7, 1.00001, -1e-6, 0.6, 0.3, 0.1, 0.9, 1.0] * 3
CLIPPED = np.clip(SCORES, 0, 1)
BRIER = float(np.mean((CLIPPED - TRUTH) ** 2))
LOG_LOSS_EPS = 2.0**-52
LIKELIHOOD = np.clip(np.where(TRUTH, CLIPPED, 1 - CLIPPED), LOG_LOSS_EPS, 1)
LOG_LOSS = float(-np.log(LIKELIHOOD).mean())
NOTE = "lie up to 1e-05 outside 0 to 1; they are evaluated as 0 and 1"


def wide() -> str:
    """Return one score a row."""
    return "y,p\n" + "".join(f"{y},{p}\n" for y, p in zip(TRUTH, SCORES, strict=True))


def long() -> str:
    """Return a row for each id and model, of which one has the scores."""
    pairs = enumerate(zip(TRUTH, SCORES, strict=True))
    rows = [f"{i},{y},p,{p}\n{i},{y},q,.5\n" for i, (y, p) in pairs]
    return "id,y,model,score\n" + "".join(rows)


def confidences() -> str:
    """Return labels with the probability of the predicted one, as fastText does."""
    words = {0: "neg", 1: "pos"}
    lines = ["truth,predicted,confidence"]
    for y, p in zip(TRUTH, SCORES, strict=True):
        lines.append(f"{words[y]},{words[p >= 0.5]},{p if p >= 0.5 else 1 - p}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("content", "options"),
    [(wide(), {}), (long(), {}), (confidences(), {"kind": "confidence"})],
    ids=["wide", "long", "confidences"],
)
def test_probabilities_outside_by_rounding_are_clipped_and_named(
    content: str, options: dict[str, str]
) -> None:
    result = clfeval.report(
        write("t.csv", content), measure=["brier", "log_loss"], interval="none", **options
    )
    rows = [row for row in result.tables["measures"] if row["model"] != "q"]
    values = {row["measure"]: row["value"] for row in rows}
    assert value_of(values["brier"]) == pytest.approx(BRIER, abs=1e-9)
    assert value_of(values["log_loss"]) == pytest.approx(LOG_LOSS, abs=1e-9)
    assert [NOTE in str(warning) for warning in result.warnings].count(True) == 1


@pytest.mark.parametrize(
    ("scores", "named"),
    [
        ("1.00009 .5 .2 .1", False),
        ("1.0002 .5 .2 .1", True),  # more than rounding
        ("1.00001 .9999 .99985 .9999", True),  # a range of its own: 1 would make rows equal
        ("-.00005 .5 .2 .1", False),
    ],
)
def test_only_rounding_is_clipped(scores: str, named: bool) -> None:
    rows = "".join(f"{i % 2},{score}\n" for i, score in enumerate(scores.split() * 10))
    write("t.csv", f"y,p\n{rows}")
    run = program("report", "t.csv", "-q", "--measure", "brier")
    assert (run.code == 3) == named, run.err
    assert ("they are evaluated as 0 and 1" in run.out) == (not named)


def test_scores_with_a_threshold_are_as_they_are() -> None:
    result = clfeval.report(write("t.csv", wide()), threshold=0.5, interval="none")
    assert estimate_of(row_of(result, "models")["brier"]).reason == "not_probabilities"


@pytest.mark.parametrize("rows", ["0,1\n1,0\n", "0,1\n1,0\n" * 7, "0,1\n" * 3 + "1,0\n" * 5])
def test_bounded_measures_are_printed_within_their_range(rows: str) -> None:
    write("t.csv", f"y_true,y_pred\n{rows}")
    classes = [word for name in "012" for word in ("--classes", name)]
    run = program("report", "t.csv", "-q", *classes)
    assert "<-0.999" not in run.out
    assert "-1.000" in run.out
    result = clfeval.report("t.csv", classes=list("012"), interval="none")
    assert value_of(row_of(result, "models")["mcc"]) == -1
