"""`clfeval.mars` for paths and data frames: the same numbers, nothing changed, clear refusals."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import pandas as pd
import polars as pl
import pyarrow.parquet
import pytest

import clfeval
from tests.results import four_cells
from tests.texts import problem_places

FIXTURES = Path(__file__).parent.parent / "fixtures"
LABELS = FIXTURES / "breast-cancer" / "labels.parquet"
OPTIONS: dict[str, Any] = {"positive": "malignant", "best": 2, "list": ["found"]}


def content(result: clfeval.Result) -> dict[str, Any]:
    """Return the document without what names the input."""
    document = result.to_dict()
    for row in document["tables"].get("exclusive", ()):
        row.pop("file")
    settings = [part for part in document["signature"].split("|") if not part.startswith("data:")]
    return {
        **document,
        "inputs": [item["rows"] for item in document["inputs"]],
        "signature": settings,
    }


FRAMES = {
    "polars": lambda: pl.read_parquet(LABELS),
    "polars lazy": lambda: pl.scan_parquet(LABELS),
    "pandas": lambda: pd.read_parquet(LABELS),
    "arrow": lambda: pyarrow.parquet.read_table(LABELS),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_gives_what_its_file_gives(kind: str) -> None:
    expected = content(clfeval.mars(LABELS, **OPTIONS))
    assert content(clfeval.mars(FRAMES[kind](), **OPTIONS)) == expected


def test_a_frame_is_not_changed() -> None:
    frame = pd.read_parquet(LABELS)
    before = frame.copy(deep=True)
    clfeval.mars(frame, positive="malignant")
    pd.testing.assert_frame_equal(frame, before)


def test_missing_values_of_a_frame_are_named_by_row() -> None:
    frame = pd.DataFrame({"truth": [1, 0, 1], "rf": [0.9, None, 0.2], "svm": [0.8, 0.1, 0.3]})
    with pytest.raises(clfeval.DataError) as caught:
        clfeval.mars(frame)
    assert problem_places(str(caught.value)) == ["<frame>:2: column 'rf': [missing-value]"]
    kept = clfeval.mars(frame, missing="drop")
    assert kept.summary["rows"] == 2
    assert kept.inputs[0].dropped == 1


def test_positive_and_thresholds_may_be_given_as_values() -> None:
    frame = pl.DataFrame(
        {"truth": [True, False, True], "a": [2.5, -1.0, 0.1], "b": [3.0, 9.0, -4.0]}
    )
    result = clfeval.mars(frame, positive=True, threshold={"a": 0.0, None: 1.0})
    # a: 2.5 and 0.1 are at or above 0; b: 3.0 and 9.0 are at or above 1
    a, b = result.tables["models"]
    assert four_cells(a) == (2, 0, 0, 1)
    assert four_cells(b) == (1, 1, 1, 0)


def test_shards_together_are_the_whole(tmp_path: Path) -> None:
    whole = pl.read_parquet(LABELS)
    paths = []
    for number, part in enumerate(whole.iter_slices(100)):
        paths.append(tmp_path / f"part{number}.csv")
        part.write_csv(paths[-1])
    together = clfeval.mars(paths, positive="malignant")
    one = clfeval.mars(LABELS, positive="malignant")
    assert together.to_dict()["tables"] == one.to_dict()["tables"]
    assert [item.rows for item in together.inputs] == [100, 100, 85]


@pytest.mark.parametrize(
    "options",
    [{"target": "both"}, {"occlusion": "most"}, {"level": 1.0}, {"best": 0}, {"list": ["all"]}],
)
def test_a_value_no_option_knows_is_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(clfeval.UsageError, match=f"^{name.removesuffix('s')} "):
        clfeval.mars(LABELS, positive="malignant", **options)


@pytest.mark.parametrize("name", clfeval.FUNCTIONS)
def test_a_keyword_no_option_knows_is_refused_by_the_function_called(name: str) -> None:
    """As Python itself says it: the line of the error names who took offence."""
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'bset'"):
        getattr(clfeval, name)(LABELS, bset=1)


@pytest.mark.parametrize("name", clfeval.FUNCTIONS)
def test_what_may_be_none_is_none_unless_it_says_more(name: str) -> None:
    """help() shows `threshold: ... | None = None`, and neither {} nor () where no mapping is."""
    for parameter in signature(getattr(clfeval, name)).parameters.values():
        if NoneType in get_args(parameter.annotation):
            assert parameter.default is None or parameter.default, parameter


def test_text_and_notebook_views() -> None:
    result = clfeval.mars(LABELS, positive="malignant")
    page = result._repr_html_()
    # models; folded: alone, rates, pairs, their two matrices, tests, the best pair
    assert page.count("<table>") == 8
    assert page.index("<table>") < page.index("<details>")
    assert page[: page.index("<details>")].count("<table>") == 1


def test_public_names() -> None:
    assert set(clfeval.__all__) <= set(dir(clfeval))
    with pytest.raises(AttributeError):
        clfeval.nothing  # noqa: B018


@pytest.mark.parametrize(
    "command", [clfeval.mars, clfeval.phidelta, clfeval.tune_jpt, clfeval.mlcps]
)
@pytest.mark.parametrize("thing", [{1, 2}, 5, b"x.csv", [None], [[1]], (1, 2, 3)], ids=repr)
def test_what_is_no_table_is_refused_by_its_type(command: Any, thing: Any) -> None:
    wrong = thing[0] if isinstance(thing, list | tuple) else thing
    with pytest.raises(clfeval.UsageError, match=rf"^{type(wrong).__name__} .*no-input"):
        command(thing)
