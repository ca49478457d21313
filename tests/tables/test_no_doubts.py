"""Ordinary tables are read without a question: real data in many spellings and formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import datasets
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import clfeval
from tests.tables.door import confusion, encoded, write
from tests.thoroughness import thinned

SETS = ("iris", "wine", "breast_cancer", "digits")
MODELS = {
    "Gauss": GaussianNB(),
    "k-NN, k=5": KNeighborsClassifier(),
    "Tree [depth 3]": DecisionTreeClassifier(max_depth=3, random_state=0),
}
FORMATS = ("csv", "tsv", "parquet", "arrow", "ndjson")


@cache
def predictions_of(name: str) -> tuple[np.ndarray, list[str], dict[str, np.ndarray]]:
    """Return truth, the names of the classes, and the probabilities by each model."""
    data: Any = getattr(datasets, f"load_{name}")()
    names = [str(one) for one in data.target_names]
    found = {
        model: cross_val_predict(one, data.data, data.target, cv=3, method="predict_proba")
        for model, one in MODELS.items()
    }
    return data.target, names, found


def votes_of(name: str) -> dict[str, np.ndarray]:
    """Return the likeliest class by each model."""
    return {model: p.argmax(axis=1) for model, p in predictions_of(name)[2].items()}


def binary_scores(name: str) -> dict[str, np.ndarray]:
    """Return the probability of the last class by each model."""
    return {model: p[:, -1] for model, p in predictions_of(name)[2].items()}


Spelled = tuple[dict[str, Any], dict[str, Any]]  # columns and options


def _named(name: str) -> Spelled:
    truth, names, _ = predictions_of(name)
    words = np.array(names)
    columns = {"truth": words[truth], **{m: words[v] for m, v in votes_of(name).items()}}
    return columns, {"positive": names[-1]}


def _numbered(name: str) -> Spelled:
    truth, names, _ = predictions_of(name)
    columns = {"y_true": truth, **votes_of(name)}
    return columns, {"positive": str(len(names) - 1)}


def _with_id(name: str) -> Spelled:
    columns, options = _named(name)
    return {"sample_id": [f"s{i}" for i in range(len(columns["truth"]))], **columns}, options


def _bits(name: str, truth: str, cast: Callable[[Any], Any]) -> dict[str, Any]:
    """Return whether truth and each model say the last class, as they are cast."""
    last = len(predictions_of(name)[1]) - 1
    votes = {truth: predictions_of(name)[0], **votes_of(name)}
    return {key: cast(vote == last) for key, vote in votes.items()}


def _one_zero(name: str) -> Spelled:
    return _bits(name, "target", lambda said: said.astype(int)), {}


def _booleans(name: str) -> Spelled:
    return _bits(name, "actual", lambda said: said), {}


def _yes_no(name: str) -> Spelled:
    return _bits(name, "target", lambda said: np.where(said, "yes", "no")), {"positive": "yes"}


def _floats(name: str) -> Spelled:
    return _bits(name, "target", lambda said: said.astype(float)), {}


def _scores(name: str) -> Spelled:
    truth, names, _ = predictions_of(name)
    return {"label": (truth == len(names) - 1).astype(int), **binary_scores(name)}, {}


def _probabilities(name: str) -> Spelled:
    truth, names, found = predictions_of(name)
    columns = {
        f"{model}:{word}": p[:, i] for model, p in found.items() for i, word in enumerate(names)
    }
    return {"truth": np.array(names)[truth], **columns}, {"positive": names[-1]}


def _by_class(name: str) -> Spelled:
    truth, names, found = predictions_of(name)
    columns = {word: found["Gauss"][:, i].round(3) for i, word in enumerate(names)}
    return {"truth": np.array(names)[truth], **columns}, {"positive": names[-1]}


def _tidymodels(name: str) -> Spelled:
    truth, names, found = predictions_of(name)
    words = np.array(names)
    columns = {f".pred_{word}": found["Gauss"][:, i] for i, word in enumerate(names)}
    hard = {".pred_class": words[votes_of(name)["Gauss"]]}
    return {"truth": words[truth], **columns, **hard}, {"positive": names[-1]}


def _long(name: str) -> Spelled:
    truth, names, _ = predictions_of(name)
    words, votes = np.array(names), votes_of(name)
    rows = len(truth)
    return {
        "Instance ID": np.tile(np.arange(rows), len(votes)),
        "classifier": np.repeat(list(votes), rows),
        "pred_label": words[np.concatenate(list(votes.values()))],
        "true_label": np.tile(words[truth], len(votes)),
    }, {"positive": names[-1]}


SPELLINGS = (
    _named,
    _numbered,
    _with_id,
    _one_zero,
    _booleans,
    _yes_no,
    _floats,
    _scores,
    _probabilities,
    _by_class,
    _tidymodels,
    _long,
)


@pytest.mark.parametrize(
    ("spelling", "name"),
    thinned(
        product(SPELLINGS, SETS), [(one, SETS[i % len(SETS)]) for i, one in enumerate(SPELLINGS)]
    ),
)
def test_ordinary_tables_raise_no_question(spelling: Any, name: str) -> None:
    columns, options = spelling(name)
    frame = pl.DataFrame(columns)
    found = {}
    for form in FORMATS:
        table = write(f"t.{form}", encoded(frame, form))
        result = clfeval.mars(table, interval="none", **options)
        found[form] = confusion(result)
        dry = clfeval.mars(table, dry_run=True, **options)
        assert dry.summary == {"ambiguities": 0}
        assert {row["column"] for row in dry.tables["reading"]} == set(columns)
    assert all(one == found["csv"] for one in found.values())
    assert found["csv"] == expected(name, spelling)


def expected(name: str, spelling: Any) -> Mapping[str, tuple[int, int, int, int]]:
    """Count TP, FP, FN, TN of the last class."""
    truth, names, probabilities = predictions_of(name)
    last = len(names) - 1
    votes = {model: vote == last for model, vote in votes_of(name).items()}
    if spelling is _scores or (spelling is _probabilities and last == 1):
        votes = {model: p[:, last] >= 0.5 for model, p in probabilities.items()}
    if spelling in (_by_class, _tidymodels):
        p = probabilities["Gauss"]
        p = p.round(3) if spelling is _by_class else p
        vote = p[:, 1] >= 0.5 if last == 1 else p.argmax(axis=1) == last
        votes = {"model" if spelling is _by_class else "pred": vote}
    yes = truth == last
    return {
        model: tuple(int(n.sum()) for n in (yes & v, ~yes & v, yes & ~v, ~yes & ~v))
        for model, v in votes.items()
    }  # type: ignore[return-value]
