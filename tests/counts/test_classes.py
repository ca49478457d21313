"""Labels and probabilities of many classes, counted: against rows one by one, in every layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from clfeval.arrays import Counts
from clfeval.counts import evaluated_rows as kept
from clfeval.counts.classes import ClassPatterns, ClassScores
from clfeval.counts.prediction_counts import PredictionCounts
from tests.counts.counting import open_counts
from tests.engines import ENGINES
from tests.texts import check_text
from tests.thoroughness import examples

FIXTURES = Path(__file__).parents[2] / "fixtures"
DIGITS, WINE, CANCER = FIXTURES / "digits", FIXTURES / "wine", FIXTURES / "breast-cancer"
Slices = Mapping[str | None, ClassPatterns]


def counts_and_labels(table: Any, **options: Any) -> tuple[PredictionCounts, Slices]:
    with open_counts(table, **options) as predictions:
        return predictions, predictions.labels()


def scores_of(table: Any, i: int = 0, **options: Any) -> Mapping[str | None, ClassScores]:
    with open_counts(table, **options) as predictions:
        return predictions.class_scores(i)


def table_row_by_row(
    frame: pl.DataFrame, model: str, classes: tuple[str, ...], n: str | None = None
) -> Counts:
    """Count the table of a model row by row."""
    c = len(classes)
    table = np.zeros((c, c), np.int64)
    for row in frame.rows(named=True):
        cell = classes.index(str(row["truth"])), classes.index(str(row[model]))
        table[cell] += row[n] if n else 1
    return table


def assert_same(one: ClassPatterns | ClassScores, other: ClassPatterns | ClassScores) -> None:
    assert one.classes == other.classes
    for name in ("truth", "votes", "n") if isinstance(one, ClassPatterns) else ("truth", "p", "n"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.digest() == other.digest()


def likeliest(frame: pl.DataFrame, model: str, classes: list[str]) -> list[str]:
    """Return the first of the largest class probabilities of every row."""
    rows = frame.select(f"{model}{label}" for label in classes).rows()
    return [classes[row.index(max(row))] for row in rows]


@pytest.mark.parametrize(
    ("folder", "positive"), [(DIGITS, "8"), (WINE, "class_1"), (CANCER, "malignant")]
)
def test_labels_row_by_row(folder: Path, positive: str) -> None:
    frame = pl.read_csv(folder / "labels.csv", infer_schema=False)
    classes = tuple(sorted(set(frame["truth"])))
    for name in ("labels.csv", "labels.parquet"):
        found, slices = counts_and_labels([folder / name], positive=positive)
        patterns = slices[None]
        assert patterns.classes == classes
        assert patterns.models == ("logreg", "naive_bayes", "knn", "tree", "forest", "svm")
        for model, table in zip(patterns.models, patterns.tables, strict=True):
            np.testing.assert_array_equal(table, table_row_by_row(frame, model, classes))
            expected = metrics.confusion_matrix(frame["truth"], frame[model], labels=classes)
            np.testing.assert_array_equal(table, expected)
        rows = Counter(zip(frame["truth"], *(frame[m] for m in patterns.models), strict=True))
        named = [
            tuple(classes[k] for k in (t, *v))
            for t, v in zip(patterns.truth, patterns.votes.tolist(), strict=True)
        ]
        assert dict(zip(named, patterns.n.tolist(), strict=True)) == rows
        assert named == sorted(
            named, key=lambda row: (row[0], *(row[1 + i] for i in np.argsort(patterns.models)))
        )
        assert not found.ordered


def test_labels_take_no_second_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept.EvaluatedRows, "frames", None)
    _, slices = counts_and_labels([DIGITS / "labels.csv"], positive="8")
    assert slices[None].tables.sum(axis=(1, 2)).tolist() == [450] * 6


def test_the_largest_probability_is_the_label() -> None:
    """Digits: in three rows knn has equal largest ones, and takes the smallest digit."""
    frame = pl.read_csv(DIGITS / "probabilities.csv", infer_schema=False)
    numbers = frame.with_columns(pl.col(c).cast(float) for c in frame.columns if ":" in c)
    classes = tuple("0123456789")
    for name in ("probabilities.csv", "probabilities.parquet"):
        found, slices = counts_and_labels([DIGITS / name], positive="8")
        assert found.order == classes
        assert slices[None].models == ("logreg", "knn", "forest")
        for model, table in zip(slices[None].models, slices[None].tables, strict=True):
            said = numbers.with_columns(
                likely=pl.Series(likeliest(numbers, f"{model}:", [*classes]))
            )
            expected = table_row_by_row(said.with_columns(truth=frame["truth"]), "likely", classes)
            np.testing.assert_array_equal(table, expected)
        assert found.ties["knn"] == 3
        for model, cells in zip(found.models, slices[None].tables, strict=True):
            i = found.patterns.models.index(model.name)
            eight = found.confusions[None]
            assert (cells[8, 8], cells[:, 8].sum() - cells[8, 8]) == (eight.tp[i], eight.fp[i])


def test_equal_probabilities_go_to_the_class_that_is_declared_first() -> None:
    frame = pl.DataFrame(
        {"truth": [*"abc"], "m:a": [0.4, 0.4, 0.2], "m:b": [0.4, 0.2, 0.4], "m:c": [0.2, 0.4, 0.4]}
    )
    found, slices = counts_and_labels(frame, positive="a")
    assert found.order == ("a", "b", "c")
    assert slices[None].tables[0].tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0]]
    found, slices = counts_and_labels(frame, positive="a", classes=("c", "b", "a"))
    assert found.order == ("c", "b", "a")
    assert found.ordered
    assert slices[None].tables[0].tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert found.ties == {"m": 3}


def test_a_mixture_of_labels_scores_and_probabilities() -> None:
    """Of three classes a single score is no label; the others stand together in one pattern."""
    frame = pl.DataFrame(
        {
            "truth": ["a", "b", "c", "a"],
            "hard": ["a", "c", "c", "b"],
            "s": [0.9, 0.1, 0.2, 0.8],
            "m:a": [0.6, 0.2, 0.3, 0.1],
            "m:b": [0.3, 0.5, 0.3, 0.1],
            "m:c": [0.1, 0.3, 0.4, 0.8],
        }
    )
    found, slices = counts_and_labels(frame, positive="a")
    patterns = slices[None]
    assert patterns.models == ("hard", "m")
    rows = zip(patterns.truth.tolist(), map(tuple, patterns.votes.tolist()), strict=True)
    assert list(rows) == [(0, (0, 0)), (0, (1, 2)), (1, (2, 1)), (2, (2, 2))]
    assert found.labels() is slices  # remembered


def test_the_layouts_of_one_table() -> None:
    wide = pl.read_csv(DIGITS / "labels.csv", infer_schema=False)
    names = wide.columns[2:]
    long = wide.unpivot(
        on=names, index=["id", "truth"], variable_name="model", value_name="prediction"
    )
    _, expected = counts_and_labels(wide, positive="3")
    _, found = counts_and_labels(long, positive="3")
    assert sorted(found[None].models) == sorted(names)
    assert found[None].digest() == expected[None].digest()
    weighted = wide.group_by("truth", *names).agg(w=pl.len())
    assert_same(counts_and_labels(weighted, positive="3", weight="w")[1][None], expected[None])
    assert_same(counts_and_labels(wide.reverse(), positive="5")[1][None], expected[None])
    other = counts_and_labels(wide.select("truth", *names[::-1]), positive="3")[1][None]
    assert other.digest() == expected[None].digest()
    np.testing.assert_array_equal(other.tables[::-1], expected[None].tables)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine(engine: str) -> None:
    frame = pl.DataFrame(
        {
            "truth": ["x", "y", "z", "y"] * 3,
            "hard": ["x", "y", "y", "z"] * 3,
            "w": [1, 2, 3, 4] * 3,
            "m:x": [0.5, 0.25, 0.25, 0.0] * 3,
            "m:y": [0.5, 0.5, 0.25, 0.5] * 3,
            "m:z": [0.0, 0.25, 0.5, 0.5] * 3,
        }
    )
    table = ENGINES[engine](frame)
    _, slices = counts_and_labels(table, positive="x", weight="w")
    assert slices[None].tables.tolist() == [
        [[3, 0, 0], [0, 6, 12], [0, 9, 0]],
        [[3, 0, 0], [0, 18, 0], [0, 0, 9]],
    ]
    scores = scores_of(table, 1, positive="x", weight="w")[None]
    assert scores.truth.tolist() == [0, 1, 1, 2]
    assert scores.p.tolist() == [[0.5, 0.5, 0], [0, 0.5, 0.5], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    assert scores.n.tolist() == [3, 12, 6, 9]


@st.composite
def label_tables(draw: st.DrawFn) -> pl.DataFrame:
    label = st.sampled_from(["a", "b", "c", "d"][: draw(st.integers(3, 4))])
    k, m = draw(st.integers(1, 3)), draw(st.integers(4, 15))
    truth = ["a", "b", "c", *draw(st.lists(label, min_size=m, max_size=m))]
    columns = {"truth": truth} | {
        f"m{j}": draw(st.lists(st.sampled_from(sorted({*truth})), min_size=m + 3, max_size=m + 3))
        for j in range(k)
    }
    few = {
        "site": st.sampled_from(["p", "q"]),
        "w": st.integers(0, 3),
        "who": st.sampled_from("123"),
    }
    return pl.DataFrame(
        columns
        | {name: draw(st.lists(one, min_size=m + 3, max_size=m + 3)) for name, one in few.items()}
    ).with_columns(w=pl.when(pl.int_range(pl.len()) < 3).then(1).otherwise("w"))


@examples(30)
@given(label_tables())
def test_slices_weights_and_clusters_row_by_row(frame: pl.DataFrame) -> None:
    models = [name for name in frame.columns if name[0] == "m"]
    said = {"classes": tuple("abcd"), "by": ("site",), "cluster": "who"}
    found, slices = counts_and_labels(frame, positive="a", weight="w", **said)
    assert list(slices) == list(found.slices)
    seen = {f"site={site}": part for (site,), part in frame.group_by("site") if part["w"].sum()}
    for label, part in {None: frame, **seen}.items():
        patterns = slices[label]
        for model, table in zip(models, patterns.tables, strict=True):
            np.testing.assert_array_equal(table, table_row_by_row(part, model, found.order, "w"))
        assert patterns.clusters is not None
        owners = part.filter(pl.col("w") > 0)["who"].unique().sort().to_list()
        assert list(patterns.clusters.names) == owners
        for i, table in enumerate(patterns.tables):
            one = np.eye(table.size)[patterns.cells(i)].T
            each = patterns.clusters.totals(one).T.reshape(-1, *table.shape)
            for name, mine in zip(owners, each, strict=True):
                expected = table_row_by_row(part.filter(who=name), models[i], found.order, "w")
                np.testing.assert_array_equal(mine, expected)
    parts = [slices[label] for label in seen]
    if len(parts) == 2:
        whole = parts[0] + parts[1]
        assert_same(whole, slices[None])
        assert whole.clusters is not None


def test_adding_up() -> None:
    frame = pl.read_csv(WINE / "labels.csv", infer_schema=False)
    halves = [
        counts_and_labels(part, positive="class_1")[1][None] for part in (frame[:40], frame[40:])
    ]
    whole = counts_and_labels(frame, positive="class_1")[1][None]
    assert_same(halves[0] + halves[1], whole)
    other = counts_and_labels(frame.rename({"svm": "x"}), positive="class_1")[1][None]
    with pytest.raises(ValueError, match=r"\w") as caught:
        whole + other
    check_text(str(caught.value))
    owned = counts_and_labels(frame, positive="class_1", cluster="id")[1][None]
    with pytest.raises(ValueError, match=r"\w") as caught:
        whole + owned
    check_text(str(caught.value))
    assert owned.digest() != whole.digest()


def test_fractional_weights_are_exact() -> None:
    frame = pl.DataFrame(
        {"truth": ["a", "b", "c", "a"], "m": ["a", "c", "c", "a"], "w": [0.1, 0.25, 1.5, 0.2]}
    )
    patterns = counts_and_labels(frame, positive="a", weight="w")[1][None]
    assert patterns.fractional
    # in rows of the mean weight 2.05 / 4; 41 hundredths of a unit are 2.05 in all
    shown = patterns.tables[0] / patterns.unit * 2.05 / 4
    assert shown == pytest.approx(np.array([[0.3, 0, 0], [0, 0, 0.25], [0, 0, 1.5]]), rel=1e-14)


@pytest.mark.parametrize(
    ("truth", "said", "labels", "positive", "order"),
    [
        ("abb", "abb", (), "a", ("a", "b")),
        ("abb", "abb", ("b", "a"), "a", ("b", "a")),
        ("acb", "acb", ("c",), "a", ("c", "a", "b")),  # the others follow
        ("abb", "acb", ("c", "b", "a"), "a", ("c", "b", "a")),  # declared, for truth lacks it
        ("aaa", "aaa", (), "a", ("a", "not a")),
        ("000", "010", (), None, ("0", "1")),
        (["10", "9", "2"], ["10", "9", "9"], (), "2", ("2", "9", "10")),
        ("111", "101", (), "1", ("0", "1")),  # a model says what truth lacks
        ("111", "111", (), "1", ("1", "not 1")),
    ],
)
def test_the_order_of_classes(
    truth: Any, said: Any, labels: tuple[str, ...], positive: str | None, order: tuple[str, ...]
) -> None:
    frame = pl.DataFrame({"truth": list(truth), "m": list(said)})
    found, slices = counts_and_labels(frame, positive=positive, classes=labels, kind="label")
    assert (found.order, slices[None].classes) == (order, order)
    assert found.ordered == (sorted(labels) == sorted(order))
    np.testing.assert_array_equal(slices[None].tables[0], table_row_by_row(frame, "m", order))


def test_two_classes_are_those_of_the_patterns() -> None:
    """Scores and their thresholds included; nothing is read again."""
    found, slices = counts_and_labels(
        [CANCER / "scores.csv"], positive="malignant", threshold={None: 0.3}
    )
    confusion, tables = found.confusions[None], slices[None].tables
    assert slices[None].classes == ("benign", "malignant")
    for name, cell in (("tn", (0, 0)), ("fp", (0, 1)), ("fn", (1, 0)), ("tp", (1, 1))):
        np.testing.assert_array_equal(tables[(slice(None), *cell)], getattr(confusion, name))


@pytest.mark.parametrize(
    ("path", "i", "positive", "prefix"),
    [(DIGITS, 1, "8", "knn:"), (WINE, 0, "class_0", ".pred_"), (CANCER, 2, "benign", "knn:")],
)
def test_class_probabilities_row_by_row(path: Path, i: int, positive: str, prefix: str) -> None:
    frame = pl.read_csv(path / "probabilities.csv", infer_schema_length=None)
    classes = sorted({*map(str, frame["truth"])})
    columns = [frame[f"{prefix}{label}"].to_list() for label in classes]
    truth = [classes.index(str(value)) for value in frame["truth"]]
    expected = Counter(zip(truth, zip(*columns, strict=True), strict=True))
    for name in ("probabilities.csv", "probabilities.parquet"):
        found = scores_of([path / name], i, positive=positive)[None]
        assert found.classes == tuple(classes)
        rows = list(zip(found.truth.tolist(), map(tuple, found.p.tolist()), strict=True))
        assert dict(zip(rows, found.n.tolist(), strict=True)) == expected
        assert all(one < two for one, two in pairwise(rows))


def test_class_probabilities_of_slices_weights_and_clusters() -> None:
    rng = np.random.default_rng(2)
    raw = rng.integers(1, 4, (60, 3))
    frame = pl.DataFrame(
        {
            "truth": [*"abc", *rng.choice(list("abc"), 57)],
            "site": rng.choice(["p", "q"], 60),
            "who": rng.integers(0, 9, 60).astype(str),
            "w": rng.integers(0, 4, 60),
            **{f"m:{label}": raw[:, k] / raw.sum(axis=1) for k, label in enumerate("abc")},
        }
    )
    said = {"positive": "b", "weight": "w", "by": ("site",), "cluster": "who"}
    found = scores_of(frame, **said)
    assert set(found) == {None, "site=p", "site=q"}
    assert_same(found["site=p"] + found["site=q"], found[None])
    for label, scores in found.items():
        part = frame if label is None else frame.filter(site=label[-1])
        expected = Counter[Any]()
        for row in part.rows(named=True):
            key = "abc".index(row["truth"]), tuple(row[f"m:{one}"] for one in "abc")
            expected[key] += row["w"]
        rows = zip(scores.truth.tolist(), map(tuple, scores.p.tolist()), strict=True)
        assert dict(zip(rows, scores.n.tolist(), strict=True)) == +expected
        assert scores.clusters is not None
        each = scores.clusters.totals(np.ones((1, len(scores.n))))[0]
        weights = part.filter(pl.col("w") > 0).group_by("who").agg(pl.col("w").sum()).sort("who")
        assert dict(zip(scores.clusters.names, each, strict=True)) == dict(weights.rows())


def test_a_class_without_a_column_and_shares_of_a_sum() -> None:
    frame = pl.DataFrame({"truth": ["a", "b", "c"], "m:b": [1.0, 3.0, 2.0], "m:a": [3.0, 1.0, 2.0]})
    scores = scores_of(frame, positive="a", renormalize=True)[None]
    assert scores.classes == ("a", "b", "c")
    assert scores.p.tolist() == [[0.75, 0.25, 0], [0.25, 0.75, 0], [0.5, 0.5, 0]]


def test_only_class_probabilities_are_counted_as_such() -> None:
    with pytest.raises(ValueError, match="logreg"):
        scores_of([CANCER / "scores.csv"], positive="malignant")
