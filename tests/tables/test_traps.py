"""300 tables with a trap each: what is proposed is run, and leads to the numbers that are meant.

What is meant is computed here from the columns that the table was made of, with scikit-learn.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from tests.computed import computed
from tests.samples import logistic
from tests.tables.asking import refused
from tests.tables.door import write
from tests.thoroughness import full

ROUNDS, SEEDS = 4, 19
WITHOUT_LIMITS = () if full() else ("--interval", "none")  # which no test here looks at
Dice = np.random.Generator


@dataclass
class Trap:
    """Files, the words after `report`, and per model the truth and the answers that are meant.

    refused: nothing is meant; the program must neither compute nor propose.
    """

    files: dict[str, dict[str, Any] | str]
    means: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    refused: bool = False


def scored(dice: Dice, truth: Any) -> Any:
    """Return scores that know something of truth, two decimals each."""
    noise = dice.normal(0, 1, len(truth))
    return logistic(noise + 1.5 * truth - 0.7, 4)


def binary(dice: Dice) -> tuple[Any, Any]:
    """Return a truth of 0 and 1 with both, and scores."""
    truth = (dice.random(120) < dice.uniform(0.25, 0.6)).astype(int)
    truth[:4] = 0, 1, 0, 1
    return truth, scored(dice, truth)


def noisy(dice: Dice, truth: Any, classes: list[str]) -> Any:
    """Return answers that are right in about 70 of 100 rows."""
    return np.where(dice.random(len(truth)) < 0.7, truth, dice.choice(classes, len(truth)))


def with_none(dice: Dice) -> Trap:
    classes = [str(dice.choice(["none", "NA", "null", "missing"])), "mild", "severe"]
    truth = dice.choice(classes, 120)
    said = {name: noisy(dice, truth, classes) for name in ("lr", "rf")}
    return Trap({"t.csv": {"truth": truth, **said}}, {k: (truth, v) for k, v in said.items()})


def with_confidence(dice: Dice) -> Trap:
    classes = ["cat", "dog", "bird", "fox"][: int(dice.integers(3, 5))]
    truth = dice.choice(classes, 120)
    said, sure = noisy(dice, truth, classes), dice.uniform(0.4, 1, 120).round(3)
    table = {"label": truth, "prediction": said, "confidence": sure}
    return Trap({"t.csv": table}, {"prediction": (truth, said)})


def with_covariates(dice: Dice) -> Trap:
    truth, scores = binary(dice)
    named = {
        "age": dice.integers(20, 90, 120),
        "bmi": dice.normal(26, 4, 120).round(1),
        "weight_kg": dice.integers(45, 120, 120),
        "year": dice.integers(2015, 2024, 120),
        "sex": dice.choice(["f", "m"], 120),
        "visits": dice.integers(20, 90, 120),
    }
    some = dice.choice([*named], int(dice.integers(1, 4)), replace=False)
    first = {"outcome": truth, **{name: named[name] for name in some}, "risk": scores}
    return Trap({"t.csv": first}, {"risk": (truth, scores)})


def with_parts(dice: Dice) -> Trap:
    truth, scores = binary(dice)
    places = [("split", "train", "test"), ("set", "training", "holdout")]
    places += [("part of data", "dev", "test"), ("subset", "Train", "Test")]
    column, train, test = places[int(dice.integers(4))]
    where = dice.random(120) < 0.6
    parts: Any = np.where(where, train, test)
    if dice.random() < 0.4:  # a flag
        column, of_test = [("is_test", 1), ("in train", 0), ("Test set", 1)][int(dice.integers(3))]
        parts = np.where(where, 1 - of_test, of_test)
    table = {"y": truth, column: parts, "pred_proba": scores}
    return Trap({"t.csv": table}, {"pred_proba": (truth[~where], scores[~where])})


def in_percent(dice: Dice) -> Trap:
    truth, scores = binary(dice)
    percent = np.round(100 * scores, 1)
    table = {"truth": truth, "risk_score": percent}
    return Trap({"t.csv": table}, {"risk_score": (truth, percent)})


def regression(dice: Dice) -> Trap:
    table = {name: dice.normal(0, 1, 120).round(4) for name in ("truth", "model")}
    return Trap({"t.csv": table}, refused=True)


def truth_apart(dice: Dice) -> Trap:
    truth, scores = binary(dice)
    other = scored(dice, truth)
    ids, mixed = np.arange(120), dice.permutation(120)
    called = str(dice.choice(["target", "prediction", "score"]))
    files: dict[str, dict[str, Any] | str] = {
        "truth.csv": {"id": ids, "target": truth},
        "a.csv": {"id": ids[mixed], called: scores[mixed]},
        "b.csv": {"id": ids, called: other},
    }
    files = {str(name): files[name] for name in dice.permutation([*files])}
    return Trap(files, {"a": (truth, scores), "b": (truth, other)}, ("--join", "id"))


def two_weeks(dice: Dice) -> Trap:
    truth, scores = binary(dice)
    other = scored(dice, truth)
    ids, mixed = np.arange(120), dice.permutation(120)
    files: dict[str, dict[str, Any] | str] = {
        "old.csv": {"id": ids, "truth": truth, "score": scores},
        "new.csv": {"id": ids[mixed], "truth": truth[mixed], "score": other[mixed]},
    }
    return Trap(files, {"old": (truth, scores), "new": (truth, other)})


def named_otherwise(dice: Dice) -> Trap:
    truth, scores = binary(dice)
    names = ["ground_truth", "gold", "outcome", "y", "class", "expected", "true stage", "is_actual"]
    name = str(dice.choice(names))
    words = [("no", "yes"), ("0", "1"), ("benign", "malignant")][int(dice.integers(3))]
    held = np.where(truth == 1, words[1], words[0])
    return Trap({"t.csv": {"score": scores, name: held}}, {"score": (truth, scores)})


def split_json(dice: Dice) -> Trap:
    truth, scores = binary(dice)
    rows = [[int(t), float(s)] for t, s in zip(truth, scores, strict=True)]
    content = {"columns": ["truth", "my score"], "index": [*range(120)], "data": rows}
    return Trap({"t.json": json.dumps(content)}, {"my score": (truth, scores)})


def with_text(dice: Dice) -> Trap:
    truth, scores = binary(dice)
    held = {
        "site": dice.choice(["north", "south"], 120),
        "row key": [f"k{i}" for i in range(120)],
        "free note": [f"note {i * 7 % 50}" for i in range(120)],
    }
    some = dice.choice([*held], int(dice.integers(1, 4)), replace=False)
    table = {"truth": truth, **{name: held[name] for name in some}, "my model": scores}
    return Trap({"t.csv": table}, {"my model": (truth, scores)})


def other_words(dice: Dice) -> Trap:
    truth, scores = binary(dice)
    cut = float(dice.choice([0.3, 0.5]))
    said = np.where(scores >= cut, "LABEL_1", "LABEL_0")
    table = {"label": np.where(truth == 1, "POSITIVE", "NEGATIVE"), "pred": said, "score": scores}
    return Trap({"t.csv": table}, {"score": (truth, scores)})


def two_columns(dice: Dice) -> Trap:
    truth, scores = binary(dice)
    choices = [("prob_0", "prob_1"), ("p no", "p yes"), ("score_neg", "score_pos")]
    names = choices[int(dice.integers(3))]
    table = {"truth": truth, names[0]: np.round(1 - scores, 4), names[1]: scores}
    return Trap({"t.csv": table}, {"*": (truth, scores)})


def flags(dice: Dice) -> Trap:
    truth, scores = binary(dice)
    table = {"truth": truth, "seen before": dice.integers(0, 2, 120), "m": scores}
    return Trap({"t.csv": table}, {"m": (truth, scores)})


def gaps(dice: Dice) -> Trap:
    """Cells that are missing: no proposal deletes their rows."""
    truth, scores = binary(dice)
    cells = [None if dice.random() < 0.1 else float(one) for one in scores]
    cells[5] = None
    return Trap({"t.csv": {"truth": truth, "m": cells}}, refused=True)


def twin_labels(dice: Dice) -> Trap:
    truth = dice.choice(["cat", "dog", "fox"], 120)
    said = noisy(dice, truth, ["cat", "dog", "fox"])
    odd = np.where(dice.random(120) < 0.2, np.char.capitalize(said), said)
    odd[0] = "Cat"
    return Trap({"t.csv": {"truth": truth, "m": odd}}, {"m": (truth, np.char.lower(odd))})


TRAPS = [
    make
    for make in list(globals().values())
    if getattr(make, "__annotations__", {}) == {"dice": "Dice", "return": "Trap"}
]


assert len(TRAPS) == 16


def followed(words: list[str], depth: int = 0) -> tuple[list[dict[str, Any]], list[str]]:
    """Run a command and all that it proposes, until it computes; return the results and the lines.

    A reading computes at once; what mends an error may lead to another one.
    """
    lines = [shlex.join(words)]
    done, result = computed(*words)
    if result is not None:
        assert done.code == 0, done.err
        return [result], lines
    assert done.code in (2, 3), done.err
    error = json.loads(done.err.splitlines()[-1])
    readings = [reading["command"] for reading in error.get("readings", [])]
    results: list[dict[str, Any]] = []
    for command in readings or [error["try"]] * (error["try"] is not None):
        again = shlex.split(command.removeprefix("clfeval "))
        assert "--missing" not in again, lines
        assert depth < ROUNDS, lines
        found, more = followed(again, depth + 1)
        assert found or not readings, more  # no reading asks again
        results += found
        lines += more
    return results, lines if results else [*lines, done.err]


def expected(truth: Any, said: Any) -> tuple[str, float]:
    """Return a measure and its value."""
    if np.asarray(said).dtype.kind == "f":
        return "roc_auc", float(roc_auc_score(truth, said))
    return "balanced_accuracy", float(balanced_accuracy_score(truth, said))


@pytest.mark.parametrize(
    ("command", "text", "spots", "proposed"),
    [
        ("mlcps", "model,f1,mcc,auc\na,.8,.5,.7\nb,.7,,.6\n", "3:mcc missing-value", None),
        (
            "mlcps",
            "model,f1,mcc,auc\na,.8,-.5,.7\nb,.7,,.6\n",
            "3:mcc missing-value, 2:mcc negative-metric",
            "--rescale mcc=-1:1",
        ),
        ("mars", "truth,a\nyes,yes\nno,\nno,yes\n", "3:a missing-value", None),
        # measurements: no thresholds are made up
        (
            "mars",
            "truth,a,b,c\n1,14.5,90.1,650\n0,12.1,80.3,-20.5\n1,16.2,101,900\n",
            "a needs-threshold, b needs-threshold, c needs-threshold",
            None,
        ),
        ("phidelta", "truth,a\n1,.8\n0,\n0,.1\n", "3:a missing-value", None),
    ],
)
def test_no_proposal_leaves_rows_out(
    command: str, text: str, spots: str, proposed: str | None
) -> None:
    write("t.csv", text)
    expected = "" if proposed is None else f"{command} t.csv -q {proposed}"
    assert refused(command, "t.csv") == (spots, expected)


@pytest.mark.parametrize("trap", TRAPS, ids=lambda one: one.__name__)
def test_what_is_proposed_leads_to_what_is_meant(trap: Callable[[Dice], Trap]) -> None:
    for seed in range(SEEDS if full() else SEEDS // 4):
        case = trap(np.random.default_rng([seed, *trap.__name__.encode()]))
        for name, content in case.files.items():
            text = content if isinstance(content, str) else pl.DataFrame(content).write_csv()
            write(name, text)
        found, lines = followed(
            ["report", *case.files, *case.words, *WITHOUT_LIMITS, "-f", "json", "-q"]
        )
        if case.refused:
            assert not found, lines
            assert len(lines) == 2, lines  # the command, the message: nothing is proposed
            continue
        assert any(is_meant(case, result) for result in found), (seed, lines)


def is_meant(case: Trap, result: dict[str, Any]) -> bool:
    """Return whether a result has the models, rows and values that a table means."""
    models = {row["model"]: row for row in result["tables"]["models"]}
    if len(models) != len(case.means):
        return False
    for name, (truth, said) in case.means.items():
        row = models[name] if name in models else next(iter(models.values()))
        measure, value = expected(truth, said)
        same = row[measure]["value"] == pytest.approx(value, abs=1e-12)
        if not same or result["summary"]["rows"] != len(truth):
            return False
    return True
