"""The φ-δ diagrams: places, shapes and keys are true, and fit the screen without colour."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from clfeval.views.canvas import Canvas
from clfeval.views.diamond.drawing import (
    SHADES,
    diamond_canvas,
    draw_density,
    draw_diamond,
    phidelta_plots,
    shade_limits,
)
from clfeval.views.diamond.scenes import Diamond, scenes
from tests.texts import check_text

MARS = [("C1", 0.0, 0.0), ("C2", 1 / 12, -5 / 12), ("C3", -1 / 3, -1 / 3), ("C4", -1 / 12, 5 / 12)]
CROWDED = [
    ("logistic regression", 0.012, 0.903),
    ("random forest", -0.021, 0.921),
    ("gradient boosting", 0.003, 0.934),
    ("svm", 0.031, 0.897),
    ("naive bayes", 0.082, 0.811),
    ("k nearest neighbours", -0.044, 0.876),
]
WIDTHS = (10, 30, 45, 59, 60, 80, 99, 100, 140, 200)
ODD = ["two\nlines\x1b[31m\r", "日本語" * 20, "x" * 300, "", "a\tb " * 9]
NAMES = ["plain", "[red]bold[/red]", *ODD]


def population(prevalence: float) -> Diamond:
    p, n = prevalence, 1 - prevalence
    corners = ((0.0, 1.0), (2 * n, p - n), (2 * (n - p), -1.0), (-2 * p, n - p))
    return Diamond(prevalence, f"1:{n / p:g}", corners)


def corner_rows(prevalences: Sequence[float]) -> list[dict[str, Any]]:
    names = ("oracle", "always positive", "anti-oracle", "always negative")
    blocks = [population(p) for p in (0.5, *prevalences)]
    return [
        {"prevalence": b.prevalence, "odds": b.odds, "corner": name, "phi_b": x, "delta_b": y}
        for b in blocks
        for name, (x, y) in zip(names, b.corners, strict=True)
    ]


def model_row(name: str, phi: float | None, delta: float | None, half: float = 0) -> dict[str, Any]:
    row: dict[str, Any] = {"slice": None, "model": name, "threshold": 0.5}
    for key, value in (("phi", phi), ("delta", delta)):
        row[key] = Estimate(value, reason="no_positive_truth" if value is None else None)
    if phi is not None and delta is not None:
        sides = (("sensitivity", (1 + phi + delta) / 2), ("specificity", (1 - phi + delta) / 2))
        for key, value in sides:
            row[f"region_{key}"] = Estimate(value, max(0, value - half), min(1, value + half))
    return row


def a_result(prevalences: Sequence[float] = (), mode: str = "classifiers", **tables: Any) -> Result:
    tables["corners"] = corner_rows(prevalences)
    return Result("phidelta", "", (), {"mode": mode, "level": 0.95}, {}, tables)


def models(
    rows: Sequence[tuple[str, float | None, float | None]],
    prevalences: Sequence[float] = (),
    half: float = 0,
) -> Result:
    return a_result(prevalences, models=[model_row(*row, half=half) for row in rows])


def curve_result() -> Result:
    draw = random.Random(4)
    curve, curves, rows = [], [], []
    for name, shift in (("logit", 2.4), ("bayes", 0.6)):
        scores = [(draw.gauss(shift * t, 1), t) for t in (0, 1, 1) * 60]
        tp = fp = 0
        points = [(None, -1.0, 0.0)]
        for score, truth in sorted(scores, reverse=True):
            tp, fp = tp + truth, fp + 1 - truth
            points.append((score, tp / 120 + fp / 60 - 1, tp / 120 - fp / 60))
        curve += [
            {"slice": None, "model": name, "threshold": t, "phi": x, "delta": y}
            for t, x, y in points
        ]
        t, x, y = max(points, key=lambda point: point[2])
        best = {"best_threshold": t, "best_phi": x, "best_delta": y}
        curves.append({"slice": None, "model": name, **best})
        rows.append(model_row(name, 0.1, 0.3))
    return a_result(models=rows, curves=curves, curve=curve)


def runs_result() -> Result:
    runs = [
        {"model": m, "run": str(i), "phi": Estimate(x + i / 10), "delta": Estimate(y)}
        for m, x, y in (("C21", -0.4, 0.2), ("E11", 0.1, 0.5))
        for i in range(3)
    ]
    runs.append({"model": "C21", "run": "3", "phi": Estimate(None), "delta": Estimate(None)})
    spread = [
        {"model": m, "runs": 3, "phi_mean": Estimate(x + 0.1), "delta_mean": Estimate(y - 0.1)}
        for m, x, y in (("C21", -0.4, 0.2), ("E11", 0.1, 0.5))
    ]
    return a_result(runs=runs, run_spread=spread)


def feature_rows(count: int) -> list[dict[str, Any]]:
    draw = random.Random(1)
    rows = []
    for i in range(count):
        tp, fp = draw.random() ** 4, draw.random() ** 4
        row = {"feature": f"f{i}", "role": "rare" if tp + fp < 0.4 else None}
        rows.append(row | {"phi": Estimate(tp + fp - 1), "delta": Estimate(tp - fp)})
    return rows


def isometric_rows(prevalence: float) -> list[dict[str, Any]]:
    rows = []
    for value in (0.5, 0.8):
        for point, tp in enumerate((0.0, 1.0)):
            fp = prevalence * tp * (1 - value) / (value * (1 - prevalence))
            at = tp + fp - 1, tp - fp
            x, y = population(prevalence).move(at)
            rows.append(
                {"measure": "precision", "value": value, "prevalence": prevalence, "odds": ""}
                | {"branch": 0, "point": point, "phi": at[0], "delta": at[1]}
                | {"phi_b": x, "delta_b": y}
            )
    return rows


EVERYTHING = {
    "mars": models(MARS, (0.1, 0.7)),
    "crowded": models(CROWDED, (0.01,)),
    "names": models([(name, i / 10, i / 20) for i, name in enumerate(NAMES)]),
    "regions": models(MARS[:3], half=0.1),
    "undefined": models([*MARS, ("broken " * 30, None, None), ("日本" * 50, None, None)]),
    "many": models([(f"m{i}", (i % 9) / 20 - 0.2, (i % 7) / 20) for i in range(70)]),
    "none": models([]),
    "curve": curve_result(),
    "runs": runs_result(),
    "few features": a_result(mode="features", features=feature_rows(25)),
    "features": a_result((0.2,), mode="features", features=feature_rows(2000)),
    "isometrics": a_result(
        (0.1,),
        models=[model_row(*row) for row in MARS],
        isometrics=[*isometric_rows(0.5), *isometric_rows(0.1)],
    ),
}


def drawing(text: str) -> list[str]:
    """Return the first diagram, without title and key."""
    return text.split("\n\n")[0].splitlines()[1:]


def place(lines: Sequence[str], char: str) -> tuple[int, int]:
    """Return column and row of the one cell that holds a character."""
    cells = [(line.index(char), row) for row, line in enumerate(lines) if char in line]
    assert len(cells) == 1, f"{char} is drawn {len(cells)} times"
    return cells[0]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", EVERYTHING)
def test_no_line_is_wider_than_the_screen_nor_ends_in_a_blank_nor_hides_codes(
    name: str, width: int
) -> None:
    text = phidelta_plots(EVERYTHING[name], width=width, color=False)
    assert text.endswith("\n")
    assert text.split("\n") == [*text.splitlines(), ""]  # no other line breaks
    for line in text.splitlines():
        assert cell_len(line) <= max(width, 24)
        assert line == line.rstrip()
        assert all(char.isprintable() for char in line)


@pytest.mark.parametrize("name", EVERYTHING)
def test_colour_adds_codes_and_nothing_else(name: str) -> None:
    import re

    for width in (80, 140):
        plain = phidelta_plots(EVERYTHING[name], width=width, color=False)
        colored = phidelta_plots(EVERYTHING[name], width=width, color=True)
        assert "\x1b[" in colored
        bare = re.sub(r"\x1b\[[0-9;]*m", "", colored)
        assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()


@pytest.mark.parametrize(("width", "high"), [(30, 36), (45, 36), (80, 36), (140, 44), (300, 44)])
def test_the_diamond_is_a_diamond_for_the_eye(width: int, high: int) -> None:
    lines = drawing(phidelta_plots(models(MARS), width=width))
    if width >= 140:
        lines = [line[:95].rstrip() for line in lines]  # without the key beside it
    row = next(row for row, line in enumerate(lines) if line.strip() == "v")
    top, bottom = place(lines, "^"), (lines[row].index("v"), row)
    row = next(row for row, line in enumerate(lines) if "<" in line)
    left, right = lines[row].index("<"), lines[row].index(">")
    assert top[0] == bottom[0] == (left + right) / 2
    assert row == (top[1] + bottom[1]) / 2
    assert right - left == 2 * (bottom[1] - top[1])  # cells are twice as high as wide
    assert len(lines) + 1 <= high


def test_every_corner_is_named_at_its_place() -> None:
    lines = drawing(phidelta_plots(models(MARS), width=80))
    middle = next(row for row, line in enumerate(lines) if "<" in line)
    check_text(lines)
    assert ("δ = 1" in lines[0], "δ = -1" in lines[-1]) == (True, True)
    assert lines[middle].startswith("φ = -1 <")
    assert lines[middle].endswith("> φ = 1")


def test_points_are_where_they_belong() -> None:
    rows = [("top", 0.0, 1.0), ("left", -1.0, 0.0), ("low", 0.0, -1.0), ("right", 1.0, 0.0)]
    lines = drawing(phidelta_plots(models([*rows, ("middle", 0.0, 0.0)]), width=80))
    assert place(lines[1:2], "1") == (39, 0)
    assert lines[33].strip() == "5"
    assert lines[17][7] == "2"
    assert lines[17][71] == "3"
    assert lines[17][39] == "4"


def test_points_in_one_cell_have_a_sign_of_their_own() -> None:
    rows = [("a", 0.2, 0.2), ("b", -0.5, 0.1), ("c", 0.2, 0.2), ("d", -0.5, 0.1), ("e", 0.2, 0.2)]
    text = phidelta_plots(models(rows), width=80)
    lines = drawing(text)
    assert {"* 1 2 3", "# 4 5"} <= {line[:7].rstrip(" ,") for line in text.splitlines()} | {
        line[:5] for line in text.splitlines()
    }
    check_text(text.split("\n\n")[-1])
    assert place(lines[:34], "#")[0] < place(lines[:34], "*")[0]


def test_crowding_models_get_a_closer_look_that_tells_them_apart() -> None:
    for width in (80, 140):
        text = phidelta_plots(models([*CROWDED, ("constant", -1.0, 0.0)]), width=width)
        check_text(text)
        assert "0.90 +" in text
    parts = phidelta_plots(models(CROWDED), width=80).split("\n\n")
    look = [line[9:] for line in parts[1].splitlines()[1:-2]]
    column = {char: place(look, char)[0] for char in "123456"}
    row = {char: place(look, char)[1] for char in "123456"}
    assert sorted(column, key=column.__getitem__) == list("521346")
    assert sorted(row, key=row.__getitem__) == ["1", "2", *sorted("34", key=row.get), "5", "6"]


def test_the_rulers_of_the_closer_look_are_true() -> None:
    parts = phidelta_plots(models(CROWDED), width=80).split("\n\n")
    look = parts[1].splitlines()[1:]
    ticks = {float(line[:7]): row for row, line in enumerate(look) if line[:7].strip(" δ|")}
    x, y = CROWDED[4][1:]  # naive bayes
    rows_per_unit = (ticks[0.8] - ticks[0.95]) / 0.15
    column, row = place([line[9:] for line in look[:-2]], "6")
    column += 9
    assert row == pytest.approx(ticks[0.8] - (y - 0.8) * rows_per_unit, abs=0.51)
    ruler, numbers = look[-2:]
    zero, tenth = (
        next(i for i in range(len(ruler)) if ruler[i] == "+" and numbers[i - 2 : i + 2] == text)
        for text in ("0.00", "0.10")
    )
    assert column == pytest.approx(zero + x * (tenth - zero) / 0.1, abs=0.51)
    assert (tenth - zero) / 0.1 == pytest.approx(2 * rows_per_unit)


def test_no_closer_look_where_it_would_show_nothing_more() -> None:
    for rows in (MARS, [("a", 0.1, 0.2), ("b", 0.1, 0.2)], CROWDED[:1], []):
        assert len(phidelta_plots(models(rows), width=80).split("\n\n")) <= 2  # diagram and key


@pytest.mark.parametrize("prevalence", [0.1, 0.3, 0.7, 0.9])
def test_the_generalised_corners_are_at_their_places(prevalence: float) -> None:
    where = population(prevalence)
    canvas = diamond_canvas(where, 80, 32)
    draw_diamond(canvas, where)
    chars = {ink.char: cell for cell, ink in canvas.cells.items() if ink.char in "^>v<"}
    for char, (x, y) in zip("^>v<", where.corners, strict=True):
        assert chars[char] == canvas.cell(x, y)
        assert canvas.contains(*chars[char])
    assert chars[">"][0] - chars["<"][0] == 64  # the width is always 2
    assert chars["v"][1] - chars["^"][1] == 32


def test_points_move_with_the_prevalence_as_the_tables_say() -> None:
    # METHODS 2: the prior-aware pairs of the MARS models at their own prevalence of .6
    expected = [(-0.2, 0.0), (-0.2, -0.4), (-0.6, -0.4), (-0.2, 0.4)]
    for (_, phi, delta), at in zip(MARS, expected, strict=True):
        assert population(0.6).move((phi, delta)) == pytest.approx(at)
    for corner, at in zip(Diamond().corners, population(0.2).corners, strict=True):
        assert population(0.2).move(corner) == pytest.approx(at)


def test_a_diagram_for_each_prevalence_but_not_for_more_than_three() -> None:
    text = phidelta_plots(models(MARS, (0.1, 0.2, 0.3, 0.4, 0.6)), width=80)
    words = [line for line in text.splitlines() if "0.1" in line or "prevalence" in line]
    check_text(words)
    assert text.count("φ_b, δ_b") == 3


def test_a_curve_runs_from_corner_to_corner_and_its_best_point_is_in_brackets() -> None:
    text = phidelta_plots(curve_result(), width=80)
    lines = drawing(text)
    middle = next(row for row, line in enumerate(lines) if "φ = -1" in line)
    for column in range(8, 71):  # no gap
        assert any(line[column : column + 1] in tuple("'-.12[]()") for line in lines[: middle + 1])
    assert sum(line.count("[1]") for line in lines) == 1
    assert sum(line.count("1") for line in lines[1:middle]) >= 4  # the marker again and again
    check_text(text.split("\n\n")[-1])


def test_runs_are_points_and_their_mean_is_in_brackets() -> None:
    text = phidelta_plots(runs_result(), width=80)
    lines = drawing(text)[1:-1]
    assert sum(line.split("φ")[0].count("2") for line in lines) == 3 + 1
    assert sum(line.count("[2]") for line in lines) == 1
    check_text(text.split("\n\n")[-1])


def test_a_density_counts_every_feature_once() -> None:
    draw = random.Random(2)
    points = [(draw.gauss(0, 0.1), draw.gauss(0, 0.1)) for _ in range(5000)]
    canvas = Canvas(65, 33, -1.0, 1.0, 32.0)
    cells = Counter(canvas.cell(*at) for at in points)
    assert sum(cells.values()) == 5000
    legend = draw_density(canvas, points)
    assert {cell: ink.char for cell, ink in canvas.cells.items()}.keys() == cells.keys()
    spans = dict(item.split("\xa0") for item in legend.split(":   ", 1)[1].split("   "))
    for cell, count in cells.items():
        low, _, high = spans[canvas.cells[cell].char].partition("-")
        assert int(low) <= count <= int(high or low)


@pytest.mark.parametrize("most", [1, 2, 3, 5, 6, 7, 40, 1000, 10**6])
def test_the_shades_cover_every_count_up_to_the_most(most: int) -> None:
    upper = shade_limits(most)
    assert upper[0] == 1
    assert upper[-1] == most
    assert upper == sorted(set(upper))
    assert len(upper) <= len(SHADES)


def test_the_features_farthest_out_are_marked_and_named() -> None:
    rows = [row for row in feature_rows(1000) if abs(row["delta"].value) < 0.9][:500]
    rows.append({"feature": "[spam]", "phi": 0.05, "delta": 0.95, "role": "covariant"})
    rows.append({"feature": "ham", "phi": -0.05, "delta": -0.95, "role": "contravariant"})
    rows.append({"feature": "the", "phi": 1.0, "delta": 0.0, "role": "pervasive"})
    rows.append({"feature": "constant", "phi": None, "delta": None, "role": None})
    text = phidelta_plots(a_result(mode="features", features=rows), width=80)
    assert "1 [spam]" in text
    assert "a ham" in text
    assert "A the" in text
    check_text(text)
    lines = drawing(text)
    assert lines[2][41] == "1"
    assert lines[17][71] == "A"


def test_means_of_runs_move_with_the_prevalence() -> None:
    tables = dict(runs_result().tables)
    text = phidelta_plots(a_result((0.1,), **tables), width=80)
    x, y = population(0.1).move((0.2, 0.4))
    key = text.split("\n\n")[-1].splitlines()
    assert key[0].split() == ["model", "mean", "φ_b", "mean", "δ_b", "runs"]
    assert key[1].split() == ["1", "E11", f"{x:.3f}", f"{y:.3f}", "3"]
    x, y = population(0.1).move((-0.3, 0.1))
    assert key[2].split() == ["2", "C21", f"{x:.3f}", f"{y:.3f}", "3"]


def six_curves(**parameters: Any) -> Result:
    """Return six models whose curves go over one point each; e has the largest Gini, f no δ."""
    rows, curves, curve = [], [], []
    for i, name in enumerate("abcdef"):
        x, y = i / 10 - 0.3, 0.6 - i / 10
        rows.append(model_row(name, x, y))
        gini = Estimate(0.9 if name == "e" else y / 2)
        best = {"best_threshold": 0.5, "best_phi": x, "best_delta": y}
        curves.append({"slice": None, "model": name, "gini": gini, **best})
        curve += [
            {"slice": None, "model": name, "threshold": 0.5, "phi": px, "delta": py}
            for px, py in ((-1.0, 0.0), (x, y), (1.0, 0.0))
        ]
    result = a_result(models=rows, curves=curves, curve=curve)
    return replace(result, parameters={**result.parameters, **parameters})


def test_of_many_curves_the_best_and_the_reference_are_drawn() -> None:
    (scene,) = scenes(six_curves(reference="b"))[0]
    assert [marker for marker, _ in scene.curves] == ["2", "5"]  # b and e
    assert sorted(dot.marker for dot in scene.dots if dot.brackets == "[]") == list("123456")
    assert sorted(dot.marker for dot in scene.dots if dot.brackets == "()") == ["2", "5"]
    text = phidelta_plots(six_curves(reference="b"), width=80)
    check_text(text.split("\n\n")[-1])
