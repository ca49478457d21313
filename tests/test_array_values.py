"""Arrays as libraries make them: each is read as the plain one, or refused in one sentence."""

from __future__ import annotations

import array
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import clfeval
from clfeval.errors import ClfevalError
from tests.results import row_of, value_of

Y = np.array([0, 1, 1, 0, 1, 0, 0, 1])
P = np.array([0.1, 0.9, 0.4, 0.3, 0.8, 0.6, 0.2, 0.7])
AUC = 15 / 16  # 4 x 4 pairs, of which only (0.4, 0.6) is in the wrong order
WITHOUT_FIRST = 11 / 12  # without the negative at 0.1
NAMES = np.array(["no", "yes"])[Y]
FIRST = np.arange(len(Y)) == 0

# what is given as truth and as scores
READ: dict[str, Callable[[], tuple[Any, Any]]] = {
    "lists": lambda: (Y.tolist(), P.tolist()),
    "objects": lambda: (Y.astype(object), P.astype(object)),
    "a column": lambda: (Y.reshape(-1, 1), P.reshape(-1, 1)),
    "a column of objects": lambda: (Y.astype(object).reshape(-1, 1), P),
    "lists of one": lambda: (Y.reshape(-1, 1).tolist(), P.reshape(-1, 1).tolist()),
    "texts in lists of one": lambda: ([[name] for name in NAMES.tolist()], P),
    "arrays of one": lambda: ([np.array([y]) for y in Y], P),
    "three dimensions of one column": lambda: (Y.reshape(-1, 1, 1), P.reshape(-1, 1, 1)),
    "a matrix": lambda: (np.matrix(Y).T, np.matrix(P).T),
    "a mask of nothing": lambda: (np.ma.array(Y), np.ma.array(P, mask=False)),
    "nullable": lambda: (pd.array(Y, dtype="Int64"), pd.array(P, dtype="Float64")),
    "nullable bool": lambda: (pd.Series(Y == 1, dtype="boolean"), pd.Series(P)),
    "categories": lambda: (pd.Categorical(NAMES), P),
    "categories in a Series": lambda: (pd.Series(NAMES, dtype="category"), pd.Series(P)),
    "categories of polars": lambda: (pl.Series(NAMES.tolist(), dtype=pl.Categorical), P),
    "strings of pandas": lambda: (pd.Series(NAMES, dtype="string"), P),
    "bytes": lambda: (NAMES.astype("S"), P),
    "bool": lambda: (Y == 1, P),
    "a frame of one column": lambda: (pd.DataFrame({"y": Y}), P),
    "a frame of polars of one column": lambda: (pl.DataFrame({"y": Y}), P),
    "generators": lambda: ((y for y in Y), (p for p in P)),
    "maps": lambda: (map(int, Y), map(float, P)),
    "values of dictionaries": lambda: (
        dict(enumerate(Y)).values(),
        {"model": dict(enumerate(P)).values()},
    ),
    "arrays of the library": lambda: (array.array("i", Y.tolist()), array.array("d", P.tolist())),
    "decimals": lambda: (Y, [Decimal(str(p)) for p in P]),
    "reversed views": lambda: (Y[::-1], P[::-1]),
    "two columns of probabilities": lambda: (Y.reshape(-1, 1), np.column_stack([1 - P, P])),
    "another byte order": lambda: (Y.astype(">i4"), P.astype(">f8")),
}


@pytest.mark.parametrize("name", READ)
def test_values_are_read_as_those_of_a_plain_array(name: str) -> None:
    truth, scores = READ[name]()
    result = clfeval.report(truth, scores, interval="none")
    assert value_of(row_of(result, "models")["roc_auc"]) == AUC


MASKED: dict[str, Callable[[], Any]] = {
    "truth": lambda: (np.ma.array(Y, mask=FIRST), P),
    "truth as texts": lambda: (np.ma.array(NAMES, mask=FIRST), P),
    "scores": lambda: (Y, np.ma.array(P, mask=FIRST)),
    "probabilities": lambda: (
        Y,
        np.ma.array(np.column_stack([1 - P, P]), mask=np.column_stack([FIRST, FIRST])),
    ),
    "NaN in truth": lambda: (np.where(FIRST, np.nan, Y), P),
    "None in truth": lambda: ([None, *Y.tolist()[1:]], P),
    "NA in truth": lambda: (pd.array([pd.NA, *Y[1:]], dtype="Int64"), P),
    "a column of a mapping": lambda: ({"truth": np.ma.array(Y, mask=FIRST), "model": P},),
}


class NoArray:
    """An object that says it is an array, and raises an error of its own."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("no array")

    def __len__(self) -> int:
        return len(Y)


@pytest.mark.parametrize("name", MASKED)
def test_masked_and_missing_values_are_missing(name: str) -> None:
    given = MASKED[name]()
    with pytest.raises(ClfevalError, match="missing value"):
        clfeval.report(*given)
    result = clfeval.report(*MASKED[name](), missing="drop", interval="none")
    assert value_of(row_of(result, "models")["roc_auc"]) == pytest.approx(WITHOUT_FIRST)
    assert (result.inputs[0].rows, result.inputs[0].dropped) == (len(Y) - 1, 1)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no dimension": (lambda: (np.array(1), P), "'y_true' is a single value"),
    "a score of no dimension": (lambda: (Y, np.array(0.5)), "'model' is a single value"),
    "a row": (lambda: (Y.reshape(1, -1), P), "y_true.ravel()"),
    "one-hot truth": (lambda: (np.column_stack([1 - Y, Y]), P), "y_true.argmax(axis=1)"),
    "three dimensions": (lambda: (Y, np.zeros((8, 2, 2))), "has shape (8, 2, 2)"),
    "ragged": (lambda: ([[1], [0, 1]] * 4, P), "lists of different lengths"),
    "other lengths": (lambda: (Y, P[1:]), "arrays differ in length: truth 8, model 7"),
    "nothing": (lambda: ([], []), "no rows to evaluate"),
    "an empty column": (lambda: (np.empty((0, 1)), np.empty((0, 1))), "no rows to evaluate"),
    "no models": (lambda: (Y, {}), "there are no predictions"),
    "objects without text": (lambda: ([object()] * 8, P), "not texts, numbers or dates"),
    "complex": (lambda: (Y, P.astype(complex)), "not texts, numbers or dates"),
    "a union of Arrow": (
        lambda: (pa.UnionArray.from_sparse(pa.array([0] * 8, pa.int8()), [pa.array(Y)]), P),
        "these values cannot be read",
    ),
    "an object that is no array": (lambda: (NoArray(), P), "these values cannot be read: no array"),
    "a frame of two columns": (
        lambda: (pd.DataFrame({"a": Y, "b": Y}), P),
        "must be an array of true classes",
    ),
    "a mapping of scalars": (lambda: ({"truth": np.array(1), "m": P},), "is a single value"),
    "three columns of two classes": (
        lambda: (NAMES, np.column_stack([P / 2, P / 2, 1 - P])),
        "classes=list(model.classes_)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_values_are_refused_in_one_sentence(name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises(ClfevalError) as caught:
        clfeval.report(*call())
    message, *hint = str(caught.value).splitlines()
    assert words in str(caught.value)
    assert len(hint) <= 1
    assert "Traceback" not in message


def test_classes_of_columns_are_those_of_the_model() -> None:
    probabilities = np.column_stack([1 - P, P / 2, P / 2])
    result = clfeval.report(
        np.array(["a", "c"])[Y], probabilities, classes=["a", "b", "c"], interval="none"
    )
    accuracy = np.mean(
        np.array(["a", "b", "c"])[probabilities.argmax(axis=1)] == np.array(["a", "c"])[Y]
    )
    assert value_of(row_of(result, "models")["accuracy"]) == accuracy


def test_options_take_columns_and_masks() -> None:
    site = np.ma.array(list("abababab"), mask=FIRST)
    weight = np.ones((8, 1))
    result = clfeval.report(Y, P, by=site, weight=weight, interval="none")
    assert row_of(result, "slices", slice="group=a")["rows"] == 3


def test_sparse_columns_are_read() -> None:
    result = clfeval.report(
        sparse.csr_matrix(Y.reshape(-1, 1)), sparse.csr_matrix(P.reshape(-1, 1)), interval="none"
    )
    assert value_of(row_of(result, "models")["roc_auc"]) == AUC
