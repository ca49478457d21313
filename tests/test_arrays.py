"""Arrays, series and dicts in place of a table: the same numbers as of the file they stand for."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import clfeval
from clfeval import ClfevalError, UsageError
from clfeval.arrays import sort_rows
from tests.texts import check_text

N = 90
RNG = np.random.default_rng(5)
Y = RNG.integers(0, 2, N)
LR, RF = (
    np.round(np.clip(0.5 + d * (Y - 0.5) + RNG.normal(0, 0.2, N), 0, 1), 3) for d in (0.4, 0.6)
)
SITE = np.where(np.arange(N) % 3, "north", "south")
PATIENT, WEIGHT = np.arange(N) // 2, np.arange(N) % 3 + 1
BOTH = {"lr": LR, "rf": RF}
FRAME = pl.DataFrame({"truth": Y, **BOTH, "group": SITE, "cluster": PATIENT, "weight": WEIGHT})
CLASSES = np.array(["ann", "bob", "cy"])
KIND = CLASSES[RNG.integers(0, 3, N)]
SHARES = RNG.dirichlet([1, 1, 1], N)


def tables_of(result: clfeval.Result) -> dict[str, Any]:
    return dict(result.to_dict()["tables"])


@cache
def framed(**options: Any) -> clfeval.Result:
    """Return the report of the frame without columns that no option names, computed once."""
    used = [options[n].split(":")[0] for n in ("by", "cluster", "weight") if n in options]
    return clfeval.report(FRAME.select("truth", "lr", "rf", *used), truth="truth", **options)


SAME: dict[str, tuple[Callable[[], clfeval.Result], Callable[[], clfeval.Result]]] = {
    "a dict of predictions": (lambda: clfeval.report(Y, BOTH), framed),
    "lists": (lambda: clfeval.report(Y.tolist(), {"lr": LR.tolist(), "rf": RF.tolist()}), framed),
    "a dict of columns": (lambda: clfeval.report({"truth": Y, **BOTH}), framed),
    "frames of predictions": (lambda: clfeval.report(pl.Series(Y), pl.DataFrame(BOTH)), framed),
    "predictions in Arrow": (lambda: clfeval.report(Y, pl.DataFrame(BOTH).to_arrow()), framed),
    "groups in an Arrow table": (
        lambda: clfeval.report(Y, BOTH, by=FRAME.select("group").to_arrow()),
        lambda: framed(by="group"),
    ),
    "series with other indexes": (
        lambda: clfeval.report(pd.Series(Y, index=range(N, 2 * N)), pd.DataFrame(BOTH)),
        framed,
    ),
    "classes as floats": (
        lambda: clfeval.report(Y.astype(float), {"lr": np.round(LR)}),
        lambda: clfeval.report(Y, {"lr": np.round(LR).astype(int)}),
    ),
    "probabilities of both classes": (
        lambda: clfeval.report(Y, np.column_stack([1 - LR, LR])),
        lambda: clfeval.report(Y, {"model": LR}),
    ),
    "groups": (lambda: clfeval.report(Y, BOTH, by=SITE), lambda: framed(by="group")),
    "clusters": (
        lambda: clfeval.report(Y, BOTH, cluster=PATIENT),
        lambda: framed(cluster="cluster"),
    ),
    "weights": (lambda: clfeval.report(Y, BOTH, weight=WEIGHT), lambda: framed(weight="weight")),
    "an array beside a frame": (
        lambda: clfeval.report(FRAME.select("truth", "lr", "rf").to_arrow(), by=SITE),
        lambda: framed(by="group"),
    ),
    "classes by name and sorted": (
        lambda: clfeval.report(KIND, SHARES, classes=list(CLASSES)),
        lambda: clfeval.report(KIND, pd.DataFrame(SHARES, columns=CLASSES), classes=list(CLASSES)),
    ),
    "class probabilities of a model by name": (
        lambda: clfeval.report(KIND, {"model": pd.DataFrame(SHARES[:, ::-1], None, CLASSES[::-1])}),
        lambda: clfeval.report(KIND, pd.DataFrame(SHARES, columns=CLASSES)),
    ),
    "groups of a frame": (
        lambda: clfeval.report(Y, BOTH, by=pd.DataFrame({"group": SITE})),
        lambda: framed(by="group"),
    ),
    "groups as pandas cuts them": (
        lambda: clfeval.report(Y, BOTH, by=pd.cut(PATIENT, 2, labels=None)),
        lambda: clfeval.report(Y, BOTH, by=pd.cut(PATIENT, 2).astype(str)),
    ),
    "numbers in groups": (
        lambda: clfeval.report(Y, BOTH, by={"cluster:3": PATIENT}),
        lambda: framed(by="cluster:3"),
    ),
    "metrics of predictions": (
        lambda: clfeval.mlcps(Y, BOTH, resamples=100),
        lambda: clfeval.mlcps({"truth": Y, **BOTH}, source="predictions", resamples=100),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_arrays_give_what_a_frame_of_them_gives(name: str) -> None:
    one, other = (make() for make in SAME[name])
    assert tables_of(one) == tables_of(other)


def test_whole_scores_may_be_infinite() -> None:
    """The area is the share of pairs of both classes in order, half a share where they tie."""
    score = np.where(Y == 1, np.arange(N) % 5, np.arange(N) % 4).astype(float)
    score[[*np.flatnonzero(Y)[:5], *np.flatnonzero(Y == 0)[:2]]] = np.inf
    pairs = [(a > b) + (a == b) / 2 for a in score[Y == 1] for b in score[Y == 0]]
    area = clfeval.report(Y, score, threshold=2).frame("models")["roc_auc"][0]
    assert area == pytest.approx(sum(pairs) / len(pairs))


def test_columns_of_probabilities_go_by_the_order_of_classes() -> None:
    turned = clfeval.report(KIND, SHARES[:, ::-1], classes=["cy", "bob", "ann"])
    assert turned.frame("measures").filter(measure="log_loss")["value"][0] == pytest.approx(
        -np.log([SHARES[i, list(CLASSES).index(KIND[i])] for i in range(N)]).mean()
    )


report = clfeval.report
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "other lengths": (lambda: report(Y, LR[:-1]), UsageError, "truth 90, model 89"),
    "models in a list": (lambda: report(Y, [LR, RF]), UsageError, "{'a': p1, 'b': p2}"),
    "models side by side": (
        lambda: report(Y, np.column_stack([LR, RF])),
        UsageError,
        "{'a': p1, 'b': p2}",
    ),
    "groups in a list": (lambda: report(Y, LR, by=[SITE, SITE]), UsageError, "{'site': sites"),
    "groups that are numbers": (
        lambda: report(Y, LR, by=LR + 0.001),
        UsageError,
        "by={'group:4': values}",
    ),
    "other libraries' resamples": (lambda: report(Y, LR, n_boot=100), TypeError, "resamples="),
    "too few classes": (
        lambda: report(KIND, SHARES[:, :2]),
        UsageError,
        "give one column for each class",
    ),
    "no array of truth": (lambda: report("p.csv", LR), UsageError, "report(y_true, y_prob)"),
    "an array beside a file": (lambda: report("p.csv", by=SITE), UsageError, "by"),
    "a model": (lambda: report(Estimator(), LR), UsageError, ".predict_proba("),
    "a misspelt keyword": (lambda: report(Y, LR, treshold=0.3), TypeError, "'threshold'"),
    "scikit-learn's keyword": (lambda: report(Y, LR, sample_weight=WEIGHT), TypeError, "weight="),
    "a gate": (lambda: report(Y, LR, fail_under=0.8), TypeError, ".check(fail_under="),
    "a shell's word": (lambda: report(Y, LR, odds="1:9"), TypeError, "prevalence='P:N'"),
    "another order": (lambda: report(pd.Series(Y), pd.Series(LR)[::-1]), UsageError, ".to_numpy()"),
    "names in one text": (
        lambda: report(FRAME, ignore="group,weight"),
        UsageError,
        "ignore=['group', 'weight']",
    ),
}


class Estimator:
    def predict(self) -> None:
        """Do nothing."""


class Uncomparable:
    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")

    __hash__ = object.__hash__


def containing_itself(values: list[Any]) -> list[Any]:
    """Return a list with itself as its last value."""
    values.append(values)
    return values


SETS = [frozenset([1])] * N
NO_ARRAYS: dict[str, tuple[Callable[[], Any], str]] = {
    "equal sets as ids": (
        lambda: clfeval.tune_jpt(Y, {"a": LR, "b": SETS}, id="b"),
        "duplicate-id",
    ),
    "sets": (lambda: report(Y, {"a": LR, "b": SETS}), "unknown-label"),
    "nothing": (lambda: report(Y, {"a": None}), "bad-option"),
    "a number": (lambda: report(Y, {"a": 3}), "bad-option"),
    "complex numbers": (lambda: report(Y, {"a": LR * 1j}), "bad-type"),
    "complex cells": (
        lambda: report({"truth": Y, "a": LR, "c": [1j] * N}, where="c = 1"),
        "empty-table",
    ),
    "differences of times": (lambda: report(Y, {"a": LR.astype("m8[s]")}), "bad-type"),
    "mappings": (lambda: report(Y, {"a": [{1: 2}] * N}), "unknown-label"),
    "a lazy frame": (lambda: report(Y, {"a": FRAME.lazy()}), "bad-option"),
    "a set": (lambda: report({"truth": Y, "a": {*range(N)}}), "bad-option"),
    "ragged lists": (lambda: report(Y, {"a": [[1], [1, 2]] * (N // 2)}), "bad-type"),
    "decimals that are none": (lambda: report(Y, {"a": [Decimal("NaN")] * N}), "bad-type"),
    "half of a character": (lambda: report(Y, {"a": LR, "b": ["\ud800"] * N}), "bad-type"),
    "a name with half of a character": (lambda: report(Y, {"\ud800": LR}), "bad-type"),
    "objects that cannot be compared": (
        lambda: report(FRAME.select("truth", "lr"), positive=Uncomparable()),
        "unknown-positive",
    ),
    "objects of polars": (
        lambda: report(
            FRAME.select("truth", "lr", b=pl.Series([{1}] * N, dtype=pl.Object)), model=["lr", "b"]
        ),
        "unknown-label",
    ),
    "a query that fails": (
        lambda: report(FRAME.lazy().select(lr=pl.lit("x").cast(int))),
        "bad-file",
    ),
    "two columns of one name": (
        lambda: report(pa.table([Y, LR, RF], ["truth", "a", "a"]), by=SITE),
        "duplicate-column",
    ),
    "an option with half of a character": (
        lambda: report(Y, BOTH, null_value="\ud800"),
        "bad-option",
    ),
    "a path that no file has": (lambda: report("a\0b.csv"), "no-such-file"),
    "a list that contains itself": (
        lambda: report({"truth": Y, "a": containing_itself([0.5] * (N - 1))}),
        "bad-type",
    ),
    "predictions that contain themselves": (
        lambda: report(Y, containing_itself([0.5] * (N - 1))),
        "bad-type",
    ),
    "ids that contain themselves": (
        lambda: report(Y, LR, id=containing_itself([*range(N - 1)])),
        "bad-option",
    ),
    "lists of lists": (
        lambda: report({"truth": Y, "a": LR, "c": [[1, 2], [2, 1]] * (N // 2)}),
        "bad-option",
    ),
}


@pytest.mark.parametrize("name", NO_ARRAYS)
def test_no_value_of_an_array_is_an_error_of_an_engine(name: str) -> None:
    call, code = NO_ARRAYS[name]
    with pytest.raises(ClfevalError) as caught:
        call()
    assert code in caught.value.totals


@pytest.mark.parametrize("unit", ["Y", "D", "h", "s", "ms", "ns"])
def test_times_of_any_unit_are_slices(unit: str) -> None:
    days = np.array(["2024-01-01", "2025-01-01"]).astype(f"M8[{unit}]")
    slices = {row["slice"] for row in report(Y, BOTH, by=days[np.arange(N) % 2]).tables["slices"]}
    assert len(slices) == 2
    assert all(text.startswith(("group=2024", "group=2025")) for text in slices)


@pytest.mark.filterwarnings("error")
def test_numbers_of_any_width_are_scores() -> None:
    scores = np.arange(N) / 128  # which 16 bits hold
    wanted = report(Y, {"a": scores}).tables["measures"]
    for width in (np.float16, np.float32, np.longdouble):
        assert report(Y, {"a": scores.astype(width)}).tables["measures"] == wanted


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_type_in_python(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)
    check_text(str(caught.value))


def test_a_check_says_what_failed_and_is_true_where_nothing_did() -> None:
    result = clfeval.report(Y, BOTH)
    missed = result.check(fail_under={"lr:roc_auc": 0.99})
    check_text(str(missed))
    assert not missed
    met = result.check(fail_under={"roc_auc": 0.1})
    assert str(met) == repr(met)
    assert met
    assert str(met) in met._repr_html_()


def test_texts_of_results_name_keywords(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    every = clfeval.report(Y, BOTH, methods="all", best_threshold="f1", prevalence=0.1)
    tuned = clfeval.tune_jpt(Y, {f"m{i}": LR for i in range(4)})
    for result in (every, tuned, clfeval.mars(Y, BOTH), clfeval.phidelta(Y, BOTH)):
        assert "--" not in str(result).replace("---", "")
        assert not [one.message for one in result.warnings if "--" in one.message]
        assert " --" not in result._repr_html_()
        result.save("page.md", "page.html")
        pages = Path("page.md").read_text() + Path("page.html").read_text()
        assert re.findall(r"[^-]--[a-z][\w-]*", pages.replace("var(--", "")) == []


def test_results_come_back_as_they_were_and_print_anywhere() -> None:
    several = clfeval.report(KIND, SHARES, by=SITE)
    for result in (several, clfeval.report(Y, BOTH, by=SITE, methods="all")):
        for back in (
            pickle.loads(pickle.dumps(result)),
            clfeval.Result.from_dict(result.to_dict()),
            clfeval.Result.from_json(result.to_json()),
        ):
            assert back.to_json() == result.to_json()
            assert str(back) == str(result)


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300])
@pytest.mark.parametrize("digits", [1, 17])
def test_rows_are_sorted_with_their_indices(scale: float, digits: int) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([np.round(rng.normal(size=5000), digits), 1 + rng.random(5000) * 1e-15])
    for given in (x * scale, np.append(x, [np.inf, -np.inf, 0.0, -0.0]), x[:1], x[:0]):
        order, ordered = sort_rows(given)
        assert np.array_equal(ordered, np.sort(given))
        assert np.array_equal(given[order], ordered)
        assert np.array_equal(np.sort(order), np.arange(len(given)))
    hashes = rng.integers(0, 2**64, 5000, np.uint64, endpoint=False)
    assert np.array_equal(sort_rows(hashes)[0], np.argsort(hashes))
