"""Edges at the shell of mlcps: extreme numbers, equal names, empty tables; no bug, no silence."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from clfeval import mlcps
from tests.process.program import Done, json_document, write_files
from tests.process.program import clfeval_in_lines as clfeval
from tests.process.test_mlcps import TABLE
from tests.process.test_mlcps_pipes import signed
from tests.texts import problem_places


@pytest.fixture(autouse=True)
def input_files(folder: Path) -> None:
    write_files(folder, {"m.csv": TABLE})


def rank(*words: str) -> Done:
    return clfeval("mlcps", *words, "-q", "-f", "json")


@pytest.mark.parametrize("metrics", [10, 11, 12, 21, 31])
def test_weights_vary_whatever_the_number_of_metrics(metrics: int) -> None:
    rows = ([f"0.{i * j % 7 + 1}" for j in range(1, metrics + 1)] for i in (2, 3, 5))
    lines = [",".join([f"m{i}", *row]) for i, row in enumerate(rows)]
    head = ",".join(["model", *(f"x{j}" for j in range(metrics))])
    Path("t.csv").write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    done = rank("t.csv", "--weight-sensitivity")
    rows = json_document(done)["tables"]["weights"]
    assert sum(row["share"]["value"] for row in rows) == pytest.approx(1)
    assert done.err == ""


def test_two_weights_are_left_beside_a_ray() -> None:
    words: dict[str, Any] = {"zero_weight": "ray", "metric_weight": {"recall": 0}}
    rows = mlcps("m.csv", **words).tables["models"]
    assert len(rows) == 3
    assert mlcps("m.csv", **words, weight_sensitivity=True).tables["models"] == rows


def test_tiny_metrics_are_no_reason_for_a_warning_of_numpy() -> None:
    rows = [
        "m0,1e-300,.5,1,0,0",
        "m1,0,1,1,1,.5",
        "m2,1,1e-160,1e-160,.5,.5",
        "m3,1e-160,1e-160,1e-160,1e-160,0",
    ]
    Path("t.csv").write_text("\n".join(["model,a,b,c,e,g", *rows, ""]), encoding="utf-8")
    done = rank("t.csv", "--weight-sensitivity")
    assert (done.code, done.err) == (0, "")


def test_ratios_keep_finite_limits_where_a_resample_may_be_infinite() -> None:
    # two errors in 60: one resample in e² has none, and its odds of F1 are infinite
    rows = ["1,1"] * 29 + ["1,0", "0,1"] + ["0,0"] * 29
    Path("p.csv").write_text("\n".join(["truth,a", *rows, ""]), encoding="utf-8")
    chosen = ["--metric", "f_odds", "--metric", "lr_pos", "--metric", "mcc"]
    scales = ["--rescale", "f_odds=0:100", "--rescale", "lr_pos=0:100"]
    done = rank("p.csv", "--from", "predictions", *chosen, *scales)
    cells = {row["metric"]: row["value"] for row in json_document(done)["tables"]["profile"]}
    assert cells["f_odds"]["value"] == pytest.approx(58 / 2)
    # of 31 rows that are or are called positive 29 are both: odds 2 j / (1 - j) of its limits
    ends = [stats.beta.ppf(0.025, 29, 3), stats.beta.ppf(0.975, 30, 2)]
    found = [cells["f_odds"][name] for name in ("low", "high")]
    assert found == pytest.approx([2 * j / (1 - j) for j in ends])
    assert cells["lr_pos"]["value"] == pytest.approx(29)
    assert cells["lr_pos"]["high"] == pytest.approx(_greatest_ratio(29, 1, 30), rel=1e-6)
    # away from the ends of the rates, their ratio has the limits of its logarithm
    rows = ["1,1"] * 24 + ["1,0"] * 16 + ["0,1"] * 16 + ["0,0"] * 24
    Path("p.csv").write_text("\n".join(["truth,a", *rows, ""]), encoding="utf-8")
    done = rank("p.csv", "--from", "predictions", *chosen, *scales)
    cells = {row["metric"]: row["value"] for row in json_document(done)["tables"]["profile"]}
    spread = math.sqrt(1 / 24 - 1 / 40 + 1 / 16 - 1 / 40)
    assert cells["lr_pos"]["value"] == pytest.approx(1.5)
    assert cells["lr_pos"]["high"] == pytest.approx(1.5 * math.exp(1.959963985 * spread))


@pytest.mark.parametrize("first", ["here.csv", "there.csv"])
def test_tables_to_compare_are_compared_metric_by_metric(first: str) -> None:
    same = ",.8,.7,.9\n", ",.9,.8,.7\n", ",.7,.9,.8\n"
    for name, lines in {"here.csv": (".5", ".6", ".3"), "there.csv": ("5", "6", "3")}.items():
        rows = [
            f"m{i},{line}{rest}" for i, (line, rest) in enumerate(zip(lines, same, strict=True))
        ]
        Path(name).write_text("model,rows,recall,precision,f1\n" + "".join(rows), encoding="utf-8")
    Path("w.yaml").write_text("rows: {goal: minimize, low: 0, high: 10}\n", encoding="utf-8")
    other = {"here.csv": "there.csv", "there.csv": "here.csv"}[first]
    done = rank(first, "--compare", other, "--desirability", "w.yaml")
    kendall = {
        row["measure"]: row["kendall"]["value"]
        for row in json_document(done)["tables"]["agreement"]
    }
    assert {kendall[name] for name in ("recall", "precision", "f1")} == {1.0}


NEGATIVE = {
    "t.csv": (
        "model,metric,value\na,f1,.5\na,mcc,-.2\na,auc,.7\nb,f1,.6\nb,mcc,.3\nb,auc,.8\n",
        [],
    ),
    "across.csv": ("metric,a,b\nf1,.5,.6\nmcc,-.2,.3\nauc,.7,.8\n", ["--transpose"]),
    "cv.csv": ("params,mean_test_f1,mean_test_mcc,mean_test_auc\na,.5,-.2,.7\nb,.6,.3,.8\n", []),
    "one.csv": ("model,f1,mcc,auc\na,.5,-.2,.7\n", []),
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_the_hint_is_about_the_metric_in_every_layout(name: str) -> None:
    content, words = NEGATIVE[name]
    Path(name).write_text(content, encoding="utf-8")
    done = rank(name, *words)
    assert done.code == 3
    assert "--rescale mcc=-1:1" in done.err
    assert rank(name, *words, "--rescale", "mcc=-1:1").code == 0


def _greatest_ratio(hits: int, alarms: int, n: int) -> float:
    """Look through false positive rates f for the most that sensitivity / f can be.

    What f leaves of the 3.84 that the two squared score statistics may have together, Wilson's
    upper limit of the sensitivity takes up.
    """
    f = np.linspace(0.004, alarms / n, 100_001)
    left = stats.chi2.ppf(0.95, 1) - n * (alarms / n - f) ** 2 / (f * (1 - f))
    f, left, p = f[left > 0], left[left > 0], hits / n
    half = np.sqrt(left * p * (1 - p) / n + (left / 2 / n) ** 2)
    return float(((p + left / 2 / n + half) / (1 + left / n) / f).max())


def wished(weight: int) -> list[str]:
    name = f"w{weight}.yaml"
    Path(name).write_text(f"recall: {{goal: maximize, weight: {weight}}}\nprecision: maximize\n")
    return ["--desirability", name]


def test_what_changes_numbers_is_signed() -> None:
    both = ["--weight-sensitivity", "--level"]
    levels = [signed(json_document(rank("m.csv", *both, level))) for level in ("0.9", "0.95")]
    wishes = [signed(json_document(rank("m.csv", *wished(weight)))) for weight in (1, 5)]
    assert levels[0] != levels[1]
    assert wishes[0] != wishes[1]


def test_a_gate_on_a_flag_is_no_gate_on_the_count_of_the_same_name() -> None:
    done = rank("m.csv", "--fail-under", "svm:pareto=1")
    assert (done.code, done.out) == (2, "")
    assert problem_places(done.err) == ["--fail-under: [bad-gate]"]


@pytest.mark.parametrize("scale", ["recall=0:1.7e308", "recall=-1e308:1e308"])
def test_numbers_near_the_end_of_floats(scale: str) -> None:
    rows = "".join(f"m{i},1e308,0.5,0.{i + 1}\n" for i in range(3))
    Path("t.csv").write_text("model,recall,precision,specificity\n" + rows, encoding="utf-8")
    done = rank("t.csv", "--rescale", scale)
    assert done.code in (0, 2, 3)
    assert "Traceback" not in done.err


def test_an_empty_table_has_a_header_as_csv() -> None:
    Path("t.csv").write_text("model,lines\na,20\nb,300\n", encoding="utf-8")
    Path("w.yaml").write_text("lines: {goal: minimize, low: 10, high: 100}\n", encoding="utf-8")
    for name in ("profile", "metrics"):
        done = clfeval(
            "mlcps", "t.csv", "--desirability", "w.yaml", "-q", "-f", "csv", "--show", name
        )
        assert done.out.count("\n") == 1, name
        assert "metric" in done.out
