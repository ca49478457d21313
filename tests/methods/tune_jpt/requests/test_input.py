"""Tables given to tune-jpt: every layout and format, and tables that it cannot tune."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.methods.tune_jpt.requests.door import (
    cells_by_model,
    data_message,
    rows_at,
    tuned,
    usage_message,
    value_at,
)
from tests.results import warning_codes, warning_messages
from tests.tables.door import EXPECTED, FRAME, encoded, write
from tests.texts import check_text, problem_places

FIXTURES = Path(__file__).parents[4] / "fixtures"
COUNTS = "model,tp,fp,fn,tn\nccp,67,5,33,95\nrf,69,15,31,85\n"


# the answers of EXPECTED in every layout
LAYOUTS = {
    "wide": encoded(FRAME, "csv"),
    "labels": FRAME.with_columns(pl.col("truth", "a", "b").replace_strict({1: "ill", 0: "well"}))
    .write_csv()
    .encode(),
    "scores": FRAME.with_columns(pl.col("a", "b") * 0.4 + 0.3).write_csv().encode(),
    "long": b"id,model,prediction,truth\n"
    + b"".join(
        f"{key},{name},{row[name]},{row['truth']}\n".encode()
        for row in FRAME.iter_rows(named=True)
        for key in [row["id"]]
        for name in ("a", "b")
    ),
    "probabilities": b"truth,a:1,a:0,b:1,b:0\n"
    + b"".join(f"{t},{a},{1 - a},{b},{1 - b}\n".encode() for _, t, a, b in FRAME.rows()),
    "counts": b"model,tp,fp,fn,tn\n"
    + b"".join(
        f"{name},{','.join(map(str, cells))}\n".encode() for name, cells in EXPECTED.items()
    ),
    "weighted": FRAME.drop("id").with_columns(n=pl.lit(1)).write_csv().encode(),
}
OPTIONS: dict[str, dict[str, Any]] = {"labels": {"positive": "ill"}, "weighted": {"weight": "n"}}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_tables(layout: str) -> None:
    result = tuned(write("t.csv", LAYOUTS[layout]), prevalence="1:9", **OPTIONS.get(layout, {}))
    assert cells_by_model(result) == EXPECTED
    # a: 1 of 2 positives and 1 of 2 negatives called; TP 1/2 x 100, FP 1/2 x 900 of 1000 rows
    assert cells_by_model(result, "target")["a"] == pytest.approx((50, 450, 50, 450), rel=1e-14)
    scored = layout in ("scores", "probabilities")
    assert ("thresholds" in result.tables, "cutoffs" in result.tables) == (scored, scored)
    assert ("chosen-threshold" in warning_codes(result)) == scored
    thresholds = {row["threshold"] for row in result.tables["models"]}
    assert thresholds == ({0.5} if scored else {None})


def test_several_files_and_a_glob_are_one_table() -> None:
    frame = pl.read_parquet(FIXTURES / "breast-cancer" / "scores.parquet")
    names = []
    for number, part in enumerate(frame.iter_slices(100)):
        names.append(f"part-{number}.csv")
        part.write_csv(names[-1])
    whole = tuned(frame, positive="malignant", prevalence="1:9")
    for table in (names, "part-*.csv"):
        parts = tuned(table, positive="malignant", prevalence="1:9")
        assert parts.tables == whole.tables
        assert [file.rows for file in parts.inputs] == [100, 100, 85]
    assert "[repeated-file]" in usage_message(["part-0.csv", "part-*.csv"], positive="malignant")


WEIGHTS = "truth,a,n\n1,1,1.5\n0,0,2\n1,0,.5\n0,1,1\n"


def test_fractional_weights_have_values() -> None:
    table = write("t.csv", WEIGHTS)
    result = tuned(table, weight="n", interval="none", prevalence="1:9", prevalence_beta=(2, 98))
    # 1.5, 1, .5 and 2 of the mean weight 1.25
    assert cells_by_model(result)["a"] == pytest.approx((1.2, 0.8, 0.4, 1.6))
    # 1.5 of 2 positives, 1 of 3 negatives
    assert value_at(result, "ppv") == pytest.approx(0.75 / (0.75 + 9 / 3), rel=1e-14)
    assert value_at(result, "npv", "sample") == 2 / 2.5
    for kind in ("sample", "1:1", "target"):
        assert all(
            (cell.low, cell.high) == (None, None)
            for row in rows_at(result, kind).values()
            for cell in (row["ppv"], row["mcc"], row["dor"])
        )


# content, options, and where the problem is
C = "t.csv:3: column "
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("truth,a\n1,1\n1,0\n", {}, "single-class"),
    ("truth,a\n0,1\n0,0\n", {}, "single-class"),
    ("truth,s\n0,.1\n0,.9\n", {}, "single-class"),
    ("truth,a\ny,y\nn,z\n", {"positive": "y"}, f"{C}'a': [unknown-label]"),
    ("truth,s\n1,.5\n0,x\n", {}, "column 's': [unknown-label]"),
    ("truth,a,n\n1,1,2\n0,0,-1\n", {"weight": "n"}, f"{C}'n': ["),
    ("truth,a\n1,1\n0,0\n", {"truth": "Truht"}, "["),
    ("truth,a\n1,1\n0,0\n", {"by": "site"}, "["),
    ("a,b\n1,1\n0,0\n", {}, "["),
    ("", {}, "["),
    ("truth,a\n", {}, "["),
    (COUNTS.replace("69", "67.5"), {}, f"{C}'tp': ["),
    (COUNTS.replace("85", "-85"), {}, f"{C}'tn': ["),
    (COUNTS.replace("15", "x"), {}, f"{C}'fp': ["),
    (COUNTS.replace("15", "1e400"), {}, f"{C}'fp': ["),
    (COUNTS.replace(",85", ","), {}, f"{C}'tn': ["),
    (COUNTS.replace("rf", ""), {}, f"{C}'model': ["),
    (COUNTS.replace("rf", "ccp"), {}, f"{C}'model': [duplicate-row]"),
    ("model,tp,fp,fn,tn\na,0,0,0,0\n", {}, "[empty-table]"),
    ("model,tp,fp,fn,tn\na,0,5,0,95\nb,0,1,0,9\n", {}, "[single-class]"),
]


def test_a_table_that_cannot_be_tuned_is_refused() -> None:
    messages = []
    for content, options, place in BAD:
        messages.append(data_message(content, **options))
        first = problem_places(messages[-1])[0]
        assert first.startswith("t.csv")
        assert place in first, messages[-1]
    check_text(messages)


@pytest.mark.parametrize("options", [{"threshold": 0.5}, {"weight": "tp"}, {"kind": "score"}])
def test_options_of_predictions_are_refused_for_counts(options: dict[str, Any]) -> None:
    message = usage_message(COUNTS, **options)
    assert message.startswith(f"--{next(iter(options))} ")
    check_text(message)


def test_counts_by_slice_add_up() -> None:
    content = "model,site,tp,fp,fn,tn\nm,A,60,5,33,95\nm,B,7,0,0,0\nm,C,0,0,0,40\n"
    result = tuned(write("t.csv", content), by="site")
    assert cells_by_model(result) == {"m": (60 + 7, 5, 33, 95 + 40)}
    notes = warning_messages(result, "single-class")
    assert ["site=B" in note for note in notes] == [True, False]
    assert ["site=C" in note for note in notes] == [False, True]
    check_text([*notes, usage_message(content, by="tp")])
