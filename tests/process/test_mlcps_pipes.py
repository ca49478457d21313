"""mlcps at the end of a pipe: tables in every format, and results of other commands."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.process.program import Done, json_document
from tests.process.program import clfeval_in_lines as clfeval
from tests.process.program import piped_in_lines as piped
from tests.process.test_mlcps import SCORES, VALUES, area, scores_by_model
from tests.tables.door import encoded, packed
from tests.texts import check_text

AREAS = {name: area(row) for name, row in VALUES.items()}
NAMES = ("recall", "precision", "specificity")
FRAME = pl.DataFrame(
    [(model, *row) for model, row in VALUES.items()], schema=["model", *NAMES], orient="row"
)
NESTED = json.dumps({model: dict(zip(NAMES, row, strict=True)) for model, row in VALUES.items()})
TIDY = "\n".join(
    [
        "model,metric,value",
        *(
            f"{model},{name},{value}"
            for model, row in VALUES.items()
            for name, value in zip(NAMES, row, strict=True)
        ),
    ]
)
TABLES = {
    "t.csv": encoded(FRAME, "csv"),
    "t.csv.gz": packed(encoded(FRAME, "csv"), "gzip"),
    "t.tsv": encoded(FRAME, "tsv"),
    "t.parquet": encoded(FRAME, "parquet"),
    "t.arrow": encoded(FRAME, "arrow"),
    "t.ndjson": encoded(FRAME, "ndjson"),
    "records.json": FRAME.write_json().encode(),
    "columns.json": json.dumps(FRAME.to_dict(as_series=False)).encode(),
    "nested.json": NESTED.encode(),
    "tidy.csv": TIDY.encode(),
    "a byte order mark.csv": b"\xef\xbb\xbf" + encoded(FRAME, "csv").replace(b"\n", b"\r\n"),
}


def signed(found: dict[str, Any]) -> dict[str, str]:
    """Return the parts of the signature by name."""
    return dict(part.split(":", 1) for part in found["signature"].split("|"))


def rank(content: bytes, *words: str) -> Done:
    return piped(content, "mlcps", "-", "-q", "-f", "json", *words)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_comes_through_a_pipe_in_every_format(name: str) -> None:
    words = ["-d", "\t"] if name == "t.tsv" else []
    done = rank(TABLES[name], *words)
    assert done.err == ""
    assert scores_by_model(done) == pytest.approx(AREAS, rel=1e-12)
    Path(name).write_bytes(TABLES[name])
    file = json_document(clfeval("mlcps", name, "-q", "-f", "json"))
    found = json_document(done)
    assert [item["name"] for item in found["inputs"]] == ["<stdin>"]
    assert [item["name"] for item in file["inputs"]] == [name]
    for key in ("signature", "parameters", "summary", "tables", "warnings"):
        assert found[key] == file[key]
    plain = json_document(rank(TABLES["t.csv"]))
    assert found["tables"] == plain["tables"]
    assert signed(found)["stats"] == signed(plain)["stats"]
    assert signed(found)["data"] == found["inputs"][0]["sha256"][:8]


def test_the_table_to_compare_with_comes_through_a_pipe() -> None:
    Path("m.csv").write_bytes(TABLES["t.csv"])
    done = piped(TABLES["nested.json"], "mlcps", "m.csv", "--compare", "-", "-q", "-f", "json")
    assert [item["name"] for item in json_document(done)["inputs"]] == ["m.csv", "<stdin>"]
    rows = json_document(done)["tables"]["agreement"]
    assert {row["measure"]: row["kendall"]["value"] for row in rows} == dict.fromkeys(
        ("mlcps", "order_free", "mean", *NAMES), 1.0
    )
    moved = {row["model"]: row["moved"] for row in json_document(done)["tables"]["compared"]}
    assert moved == dict.fromkeys(VALUES, 0)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"model,a,b,c\n",
        b"model,a,b,c\nx,1,1\n",
        b'{"a": {"f1": 1',
        b'{"schema": "clfeval.result/1", "tables": {}}',
    ],
    ids=["nothing", "no rows", "a short row", "half of JSON", "no models"],
)
def test_what_is_no_table_is_refused(content: bytes) -> None:
    done = rank(content)
    assert (done.code, done.out, "<stdin>" in done.err) == (3, "", True)
    check_text(done.err)


def test_the_order_of_rows_changes_only_the_hash_of_the_data() -> None:
    found = [
        json_document(rank(encoded(t, "csv"), "--weight-sensitivity"))
        for t in (FRAME, FRAME.reverse())
    ]
    first, again = map(signed, found)
    assert first.pop("data") != again.pop("data")
    assert first == again
    for name in ("models", "ranks", "weights"):
        rows, turned = (one["tables"][name] for one in found)
        assert rows == turned[::-1], name


def confusion(model: str) -> tuple[int, int, int, int]:
    """Count tp, fp, fn, tn of a model of the fixture, malignant being positive."""
    with SCORES.open(newline="", encoding="utf-8") as file:
        rows = [
            (row["truth"] == "malignant", float(row[model]) >= 0.5) for row in csv.DictReader(file)
        ]
    tp, fp, fn, tn = (
        rows.count((truth, vote)) for vote in (True, False) for truth in (True, False)
    )
    return tp, fp, fn, tn


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_pipe_from_phidelta(form: str) -> None:
    chosen = "--metric sensitivity --metric specificity --metric precision --metric npv"
    told = clfeval("phidelta", str(SCORES), "--positive", "malignant", "-q", "-f", form)
    done = rank(told.out.encode(), *chosen.split())
    expected = {}
    for model in ("logreg", "naive_bayes", "knn", "tree", "forest", "svm"):
        tp, fp, fn, tn = confusion(model)
        expected[model] = area((tp / (tp + fn), tn / (tn + fp), tp / (tp + fp), tn / (tn + fn)))
    assert done.err == ""
    assert scores_by_model(done) == pytest.approx(expected, rel=1e-12)


# of 100 positives and 100 negatives; at 1:100 a negative counts a hundred times
TWO = "--counts ccp=67,5,33,95 --counts rf=69,15,31,85"
AT_100 = {
    "ccp": area((0.67 / (0.67 + 0.05 * 100), 0.95 * 100 / (0.95 * 100 + 0.33), 0.67)),
    "rf": area((0.69 / (0.69 + 0.15 * 100), 0.85 * 100 / (0.85 * 100 + 0.31), 0.69)),
}


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_pipe_from_tune_jpt(form: str) -> None:
    chosen = ["--metric", "ppv", "--metric", "npv", "--metric", "sensitivity"]
    told = [
        clfeval("tune-jpt", *TWO.split(), *prevalence.split(), "-q", "-f", form).out.encode()
        for prevalence in ("--prevalence 1:100", "--prevalence 1:100 --prevalence 1:1")
    ]
    one, two = (rank(content, *chosen) for content in told)
    assert one.err == ""
    assert scores_by_model(one) == pytest.approx(AT_100, rel=1e-12)
    assert list(scores_by_model(two)) == ["ccp at 1:100", "ccp at 1:1", "rf at 1:100", "rf at 1:1"]
    at_one = area((0.67 / (0.67 + 0.05), 0.95 / (0.95 + 0.33), 0.67))
    assert scores_by_model(two)["ccp at 1:1"] == pytest.approx(at_one, rel=1e-12)
    assert scores_by_model(two)["rf at 1:100"] == scores_by_model(one)["rf"]
