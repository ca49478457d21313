"""Pictures: every number is one of the tables, few points miss none, texts stay texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.baseline import history_trend
from clfeval.document import Document
from clfeval.document.cells import Estimate
from clfeval.errors import UsageError
from clfeval.formatting import format_number
from clfeval.pages.chart import Axis, Chart
from clfeval.pages.command_pages import page_of
from clfeval.pages.pictures import pictures_of
from clfeval.views.limit_guides import pictures_with_limits
from clfeval.views.svg import picture as svg_picture
from clfeval.views.svg.elements import (
    COLORED,
    Colors,
    PixelScale,
    axis_ticks,
    curve_pixels,
    path,
    thin,
)
from clfeval.views.svg.picture import picture_of, pictures_by_name
from tests.results import estimate_of, rows_by, rows_of
from tests.views.pages import FIXTURES, RESULTS, hostile_table, many_models

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module", params=RESULTS)
def result(request: pytest.FixtureRequest) -> Document:
    return RESULTS[request.param]()


def numbers_of(value: Any) -> Iterator[float]:
    """Yield all numbers of a JSON document."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        for one in value:
            yield from numbers_of(one)
    elif isinstance(value, (int, float)):
        yield float(value)


def drawn_numbers(chart: Chart) -> Iterator[float]:
    """Yield what a chart draws along its axes, but for straight lines of reference."""
    for one in (*chart.series, *chart.extra, *chart.below):
        if one.letter not in (":", "-") and one.shape not in ("ellipse", "area"):
            yield from (value for value in one.values if value is not None)
            if one.shape != "bars" and chart.kind not in ("cells", "profile"):  # their shades
                yield from (end for span in one.spans for end in span if end is not None)
            for point in (at for part in one.parts for at in part):
                # steps of the best threshold change halfway between two class ratios
                only = one.shape == "bars" or chart.name == "cuts"
                yield from (abs(value) for value in (point[1:] if only else point))


def test_every_number_of_a_picture_is_in_the_json(result: Document) -> None:
    """Up to its sign, 1 - it, or its logarithm: false positive rates, and axes of odds."""
    known = np.unique(np.abs([*numbers_of(json.loads(result.to_json()))]))
    places = 1 + np.arange(100.0)  # of labels along a history
    with np.errstate(divide="ignore"):
        known = np.concatenate([known, 1 - known, np.abs(np.log10(known)), places])
    known.sort()
    for name, charts in pictures_of(result).items():
        values = np.abs([value for chart in charts for value in drawn_numbers(chart)])
        at = np.clip(np.searchsorted(known, values), 1, len(known) - 1)
        near = np.minimum(np.abs(known[at] - values), np.abs(known[at - 1] - values))
        assert (near <= 1e-9 * np.maximum(values, 1)).all(), (name, values[near > 1e-9])


def test_pictures_are_svg_with_title_and_finding(result: Document) -> None:
    names = pictures_by_name(result)
    assert names
    assert {*names} <= {*page_of(result.command).all_pictures}
    for name in names:
        text = picture_of(result, name)
        root = ElementTree.fromstring(text)
        assert root.tag == f"{SVG}svg"
        title, finding = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
        assert title is not None
        assert finding is not None
        assert title.text
        assert finding.text
        assert all(one.finding not in ("", f"{one.title}.") for one in names[name][1])
        assert (finding.text or "")[-1] in ".)", finding.text
        assert text == picture_of(result, name)
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "style=" not in text
        inside = [float(v) for v in re.findall(r' (?:x1?|cx)="(-?[\d.]+)"', text)]
        assert min(inside) >= -1


def test_the_intervals_of_models_are_those_of_the_table() -> None:
    found = RESULTS["report"]()
    (chart,) = pictures_of(found)["forest"]
    rows = rows_by(found, "models", "model")
    assert chart.series[0].name == "logreg"
    for one in chart.series:
        cell = estimate_of(rows[one.name]["roc_auc"])
        assert one.values == (cell.value,)
        assert one.spans == ((cell.low, cell.high),)
        assert one.words.startswith(format_number(cell.value or 0.0))
        assert bool(one.sign) == rows[one.name]["tied"]


def test_limits_of_gates_are_drawn_where_they_are() -> None:
    found = RESULTS["report"]().check(fail_under={"roc_auc": 0.9, "roc_auc.low": 0.85})
    (chart,) = pictures_with_limits(found)["forest"]
    assert {(one.text, one.x) for one in chart.guides if one.limit} == {
        ("gate ≥ 0.9", 0.9),
        ("gate low ≥ 0.85", 0.85),
    }


def distance(points: np.ndarray, line: np.ndarray) -> float:
    """Return the largest distance of points from a line, each from its nearest piece."""
    far = 0.0
    for block in np.array_split(points, -(-len(points) // 4000)):
        best = np.full(len(block), np.inf)
        for a, b in pairwise(line):
            way = b - a
            share = np.clip(((block - a) @ way) / max(way @ way, 1e-12), 0, 1)
            best = np.minimum(best, np.hypot(*(a + share[:, None] * way - block).T))
        far = max(far, float(best.max()))
    return far


def roc_of(rows: int, seed: int, gap: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = rng.random(rows) < 0.3
    order = np.argsort(-(rng.standard_normal(rows) + gap * truth))
    tp, fp = np.cumsum(truth[order]), np.cumsum(~truth[order])
    return np.column_stack([fp / fp[-1], tp / tp[-1]])


def precision_of(rows: int, seed: int) -> np.ndarray:
    """Return a precision-recall curve, which jumps at its start."""
    curve = roc_of(rows, seed)
    odds = 0.7 / 0.3 * curve[:, 0] / np.maximum(curve[:, 1], 1e-12)
    return np.column_stack([curve[:, 1], 1 / (1 + odds)])[1:]


@pytest.mark.parametrize(
    "curve",
    [
        roc_of(50, 0),
        roc_of(3000, 1, 0.2),
        roc_of(100_000, 2, 3.0),
        precision_of(20_000, 3),
        np.column_stack([np.linspace(0, 1, 5000), np.random.default_rng(4).random(5000)]),
        np.array([[0.2, 0.3]]),
        np.array([[0.5, 0.1], [0.5, 0.9]]),
        np.zeros((7, 2)),
    ],
    ids=str,
)
def test_a_curve_with_fewer_points_misses_none_by_half_a_pixel(curve: np.ndarray) -> None:
    across, up = PixelScale(0, 1, 40, 460), PixelScale(0, 1, 300, 20)
    exact = np.column_stack([across.places(curve[:, 0]), up.places(curve[:, 1])])
    few = np.round(curve_pixels(curve, across, up), 1)
    assert len(few) <= len(curve)
    if len(few) > 1:
        assert distance(exact, few) < 0.5


def test_a_curve_of_a_million_points_takes_six_kilobytes() -> None:
    curve = roc_of(1_000_000, 5)
    across, up = PixelScale(0, 1, 40, 460), PixelScale(0, 1, 300, 20)
    exact = np.column_stack([across.places(curve[:, 0]), up.places(curve[:, 1])])
    few = thin(exact)
    text = path([few], "line s1")
    drawn = np.cumsum(np.array(re.findall(r"(-?[\d.]+) (-?[\d.]+)", text), float), axis=0)
    assert len(text) < 6000
    assert distance(exact[::500], drawn) < 0.5


def test_names_of_models_are_texts_whatever_they_hold() -> None:
    found = clfeval.report(hostile_table(), truth="truth", positive="1")
    for name in pictures_by_name(found):
        root = ElementTree.fromstring(picture_of(found, name))
        tags = {one.tag.removeprefix(SVG) for one in root.iter()}
        assert tags <= {
            "svg",
            "g",
            "title",
            "desc",
            "style",
            "text",
            "line",
            "rect",
            "path",
            "circle",
            "ellipse",
        }
        assert not any(key.startswith("on") for one in root.iter() for key in one.attrib)


def test_eight_models_have_a_colour_and_of_more_the_best_tied_and_reference() -> None:
    few = RESULTS["report"]()
    assert sorted(Colors.from_result(few).numbers.values()) == [1, 2, 3, 4, 5, 6]
    many = clfeval.report(many_models(20), reference="m7")
    colors = Colors.from_result(many)
    assert len(colors.numbers) <= COLORED
    best = next(name for one in many.answer for name in one.models)
    assert {best, "m7"} <= {*colors.numbers}
    assert [colors.color_of(name) for name in ("m19", "a slice", "")] == [0, 1, 0]
    assert "grey: " in picture_of(many, "roc")


@pytest.mark.parametrize(
    "columns",
    [
        {"truth": [1, 0], "a": [0.9, 0.1]},
        {"truth": [1, 0], "a": [0.5, 0.5], "b": [0.1, 0.9]},
        {"truth": [1, 0, 1], "a": [3.0, 7.0, 9.0]},
        {"truth": [1, 0, 1, 0], "a": [1, 0, 1, 1]},
    ],
    ids=["two rows", "ties", "scores beyond 1", "labels"],
)
def test_small_tables_have_pictures(columns: dict[str, list[float]]) -> None:
    found = clfeval.report(pl.DataFrame(columns), positive="1")
    for name in pictures_by_name(found):
        ElementTree.fromstring(picture_of(found, name, size=(240, 240)))


def test_a_model_without_a_value_has_its_row() -> None:
    table = pl.DataFrame({"truth": [1, 1, 0, 0] * 5, "a": [1, 1, 0, 0] * 5, "b": [0] * 20})
    found = clfeval.mars(table)
    rows = [
        {**row, "recall": Estimate(None, reason="no_positive_truth")}
        if row["model"] == "b"
        else row
        for row in found.tables["models"]
    ]
    found = replace(found, tables={**found.tables, "models": rows})
    assert "undefined" in picture_of(found, "forest")


def test_ticks_of_labels_are_their_names() -> None:
    axis = Axis("label", range=(1.0, 3.0), names=("a", "b", "c"))
    assert axis_ticks(axis, PixelScale(1, 3, 0, 100)) == [(0, "a"), (50, "b"), (100, "c")]


def test_python_gets_pictures() -> None:
    found = RESULTS["report"]()
    assert found.picture("roc").startswith("<svg")
    assert found.picture() == found.picture("forest")
    assert 'width="600"' in found.picture("roc", size=(600, 300))
    assert "a caption" in found.picture("roc", caption="a caption")
    with pytest.raises(UsageError, match="no picture 'rox' in this result") as caught:
        found.picture("rox")
    assert caught.value.hint == "did you mean 'roc'?"
    shown = found._repr_html_()
    assert shown.count("<svg") == 1
    assert ".clfeval text{" in shown


def test_files_of_pictures(tmp_path: Path) -> None:
    found = RESULTS["report"]()
    folder = f"{tmp_path}/all/"
    found.save(tmp_path / "roc.svg", folder)
    assert (tmp_path / "roc.svg").read_text() == found.picture("roc") + "\n"
    names = pictures_by_name(found)
    assert sorted(one.stem for one in (tmp_path / "all").iterdir()) == sorted(names)
    found.save(tmp_path / "x.svg", picture="pr")
    assert (tmp_path / "x.svg").read_text() == found.picture("pr") + "\n"
    with pytest.raises(UsageError, match="which picture is not known"):
        found.save(tmp_path / "y.svg")
    with pytest.raises(UsageError, match="no picture 'slices' in this result"):
        found.save(tmp_path / "slices.svg")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="it is a file"):
        found.save(f"{tmp_path}/file/")
    assert {one.name for one in tmp_path.iterdir()} == {"all", "file", "roc.svg", "x.svg"}


def test_png_has_its_text_or_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resvg_py", reason="PNG needs resvg-py")
    found = RESULTS["report"]()
    fonts = [*Path("/usr/share/fonts").rglob("DejaVuSans.ttf")]
    if not fonts:
        pytest.skip("no font DejaVu Sans on this machine")
    found.save(tmp_path / "roc.png", size=(400, 300))
    first = (tmp_path / "roc.png").read_bytes()
    assert first[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(first[16:20]) == 400
    found.save(tmp_path / "roc.png", size=(400, 300), font=fonts[0])
    found.save(tmp_path / "again.png", picture="roc", size=(400, 300), font=fonts[0])
    assert (tmp_path / "roc.png").read_bytes() == (tmp_path / "again.png").read_bytes()
    assert svg_picture.font_family(str(fonts[0])) == "DejaVu Sans"
    # no family draws a letter; one that a machine lacks may be drawn with another one
    monkeypatch.setattr(svg_picture, "LETTER", svg_picture.LETTER.replace("{}", ""))
    with pytest.raises(UsageError, match="there is no font") as caught:
        found.save(tmp_path / "no.png", picture="roc")
    assert "font" in str(caught.value.hint)
    with pytest.raises(UsageError, match="cannot read the font"):
        found.save(tmp_path / "no.png", picture="roc", font=tmp_path / "roc.png")


def test_a_history_has_a_trend_for_each_measure() -> None:
    found = history_trend(str(FIXTURES / "history" / "weeks.jsonl"), None, accept=False, label=None)
    charts = pictures_of(found)["trend"]
    assert charts[0].y.label == "ROC AUC"
    values = rows_of(found, "history", model="rf", measure="roc_auc")
    (line,) = [one for one in charts[0].series if one.name == "rf"]
    assert [y for _, y in line.parts[0]] == [row["value"].value for row in values]
    assert {mark.letter for mark in charts[0].marks} == {"R", "M"}


def calibration_chart(scores: np.ndarray, seed: int) -> tuple[Document, Chart]:
    """Return a report of one model whose scores are the probabilities, and its picture."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(len(scores)) < scores).astype(int)
    found = clfeval.report({"truth": truth, "gbm": scores})
    (chart,) = pictures_of(found)["calibration"]
    return found, chart


def test_the_picture_of_calibration_has_the_spline_within_its_simultaneous_band() -> None:
    found, chart = calibration_chart(np.random.default_rng(1).uniform(0.02, 0.98, 400), 2)
    area, curve, groups = chart.extra
    band = found.tables["calibration_band"]
    assert area.shape == "area"
    assert curve.parts == (tuple((row["score"], row["curve"]) for row in band),)
    upper = tuple((row["score"], row["high_all"]) for row in band)
    lower = tuple((row["score"], row["low_all"]) for row in band)
    assert area.parts == ((*upper, *lower[::-1]),)
    assert groups.shape == "dots"
    assert "line: spline with simultaneous 95% band" in chart.key[0].text


def test_the_picture_of_few_distinct_scores_has_isotonic_steps() -> None:
    found, chart = calibration_chart(np.repeat([0.1, 0.4, 0.9], 100), 3)
    steps, groups = chart.extra
    rows = found.tables["calibration_curve"]
    corners = [(row[end], row["isotonic"]) for row in rows for end in ("from", "to")]
    assert steps.parts == (tuple(corners),)
    assert groups.shape == "dots"
    assert "line: isotonic calibration" in chart.key[0].text
