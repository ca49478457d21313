"""Plots over the odds: marks where their numbers say, nothing told by colour, no line too long."""

from __future__ import annotations

import re
from dataclasses import replace
from math import log10

import pytest
from rich.cells import cell_len

from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from clfeval.measures.record import Population
from clfeval.pages.chart import Series
from clfeval.pages.tune_jpt import height_at
from clfeval.views.plots import MARKERS, draw_plots
from clfeval.views.terminal import height_ticks, odds_ticks
from tests.texts import check_text, numbers_in
from tests.views.tuned import MODELS, Counts, tuned

ONE = {"RF": MODELS["RF"]}
# rates .67 .05, .69 .15, .85 .3
RATES = {name: (tp / (tp + fn), fp / (fp + tn)) for name, (tp, fp, fn, tn) in MODELS.items()}
AWKWARD: dict[str, Counts] = {
    name: (i + 1, 3, 9 - i, 7)
    for i, name in enumerate(["a b", "[red]x", "|", "c" * 90, "wide 日本語", "d e " * 30])
}


def canvas(drawn: str, number: int = 0) -> list[str]:
    """Return the lines inside the frame of the plot."""
    frames = re.split(r"\n +┌─+┐\n", drawn)[1 + number]
    inside = re.split(r"\n +└", frames)[0]
    return [line[re.search("[│┤]", line).end() : -1].rstrip("│") for line in inside.splitlines()]  # type: ignore[union-attr]


def column(x: float, wide: int, ends: tuple[float, float] = (-3, 3)) -> int:
    """Return the column of log10 of the odds; the ends are the middles of the outer columns."""
    return round((x - ends[0]) / (ends[1] - ends[0]) * (wide - 1))


def key(drawn: str) -> list[str]:
    """Return the lines below the first plot."""
    below = drawn.split("positives:negatives")[1].split("\n")[1:]
    return below[: below.index("")] if "" in below else below


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", MODELS)
def test_a_curve_runs_where_its_numbers_say(name: str, width: int) -> None:
    result = tuned({name: MODELS[name]}, targets=(), scores=False)
    rows = canvas(draw_plots(result, width=width, color=False))
    tpr, fpr = RATES[name]

    def tar(x: float) -> float:  # (r tp + 1 - fp) / (1 + r)
        return (10**x * tpr + 1 - fpr) / (1 + 10**x)

    low, high = sorted((tar(-3), tar(3)))
    top = high + 0.08 * (high - low)  # room for letters
    wide = max(map(len, rows))
    for x in (-3, -2, -1, 0, 1, 2, 3):
        expected = (top - tar(x)) / (top - low) * (len(rows) - 1)
        at = column(x, wide)
        marked = [i for i, row in enumerate(rows) if row.ljust(wide)[at] == "o"]
        assert any(abs(i - expected) <= 1 for i in marked), (x, marked, expected)


@pytest.mark.parametrize("width", [80, 140])
def test_crossings_and_populations_stand_at_their_odds(width: int) -> None:
    rows = canvas(draw_plots(tuned(uncertain=False), width=width, color=False))
    wide = max(map(len, rows))
    letters = {(char, i) for row in rows for i, char in enumerate(row) if char in "ST123"}
    # p = dtnr / (dtnr - dtpr), so that the odds are .1 / .02, .25 / .18 and .15 / .16
    places = {"S": 600 / 400, "1": 5.0, "2": 25 / 18, "3": 15 / 16}
    for char, ratio in places.items():
        found = [i for c, i in letters if c == char]
        assert len(found) == 1
        assert abs(found[0] - column(log10(ratio), wide)) <= 1
    targets = sorted(i for c, i in letters if c == "T")
    assert targets == [0, pytest.approx(column(-2, wide), abs=1)]
    for line in (*targets, *(i for c, i in letters if c == "S")):
        assert sum(row.ljust(wide)[line] == "·" for row in rows) > len(rows) / 2


def test_the_key_names_markers_places_and_crossings() -> None:
    lines = key(draw_plots(tuned(uncertain=False), width=100, color=False))
    check_text(lines)
    found = [numbers_in(line) for line in lines]
    assert found[1:4] == [[1, 100, 0.0099], [1, 1000, 0.000999], [600, 400, 0.6]]
    assert [(one[:2], one[4:]) for one in found[4:]] == [
        ([1, 0.833], [5, 1]),
        ([2, 0.581], [1.39, 1]),
        ([3, 0.484], [1, 1.07]),
    ]


@pytest.mark.parametrize(
    "models",
    [MODELS, ONE, AWKWARD, {"none": (0, 0, 5, 5)}, {f"m {i}": (i, 9, 50, 60) for i in range(20)}],
)
def test_every_line_fits(models: dict[str, Counts]) -> None:
    result = tuned(models, uncertain=len(models) < 20, points=5, interval="none")
    for width in (40, 80, 140):
        drawn = draw_plots(result, width=width, color=False)
        assert drawn
        assert max(map(cell_len, drawn.splitlines())) <= width
        assert "\x1b" not in drawn


def test_of_many_models_the_best_have_names_and_the_others_are_counted() -> None:
    drawn = draw_plots(
        tuned(
            {f"m{i}": (i, i, 50 - i, 60 - i) for i in range(40)},
            uncertain=False,
            points=5,
            interval="none",
            scores=False,
        ),
        width=80,
        color=False,
    )
    text = " ".join(key(drawn))
    # m39 has the most positives of its own, 39 of 50 found and 39 alarms of 60; m0 the fewest
    named = re.findall(r"([ox+*#]) (m\d+)", text)[:3]
    assert [marker for marker, _ in named] == list(MARKERS[:3])
    assert {"m0", "m39"} <= {name for _, name in named}
    assert ". 37 " in text


def test_models_that_coincide_are_told_so() -> None:
    twins = {"a": MODELS["RF"], "b": MODELS["RF"]}
    check_text(key(draw_plots(tuned(twins), width=80, color=False))[0])


def test_the_measure_asked_for_is_drawn_else_the_first_that_moves() -> None:
    for options, name in (({}, "TAR"), ({"measure": "ppv"}, "PPV")):
        drawn = draw_plots(tuned(scores=False, **options), width=80, color=False)
        assert name in drawn.splitlines()[0]


def test_odds_that_vary_much_have_a_log_axis() -> None:
    drawn = draw_plots(tuned(measure="epa", scores=False), width=80, color=False)
    labels = re.findall(r"([\d,.]+)┤", drawn)
    assert labels == ["1,000", "100", "10"]


def test_undefined_and_infinite_values_are_gaps() -> None:
    result = tuned(ONE, scores=False, points=7)
    rows = [
        {**row, "tar": Estimate(None, reason="infinite")} if row["odds"] == "1:1" else row
        for row in result.tables["sweep"]
    ]
    drawn = draw_plots(
        replace(result, tables={**result.tables, "sweep": rows}), width=80, color=False
    )
    inside = canvas(drawn)
    middle = column(0, max(map(len, inside)))
    assert not any("o" in row[middle - 5 : middle + 6] for row in inside)
    check_text(key(drawn)[-1])


def test_nothing_is_drawn_without_a_sweep() -> None:
    assert draw_plots(tuned(sweep=None), width=80, color=False) == ""


def test_thresholds_are_steps_at_their_odds() -> None:
    result = tuned(ONE)
    # falling as 1 / (1 + sqrt(r)) from .95 at 1:398 to .03 at 1000:1
    falling = [
        {**row, "threshold": None if row["ratio"] < 0.002 else 1 / (1 + row["ratio"] ** 0.5)}  # type: ignore[operator]
        for row in result.tables["thresholds"]
    ]
    result = replace(result, tables={**result.tables, "thresholds": falling})
    drawn = draw_plots(result, width=80, color=False)
    rows = canvas(drawn, 1)
    wide = max(map(len, rows))
    top = 0.95 + 0.08 * (0.95 - 0.03)
    for x in (-2, -1, 0, 1, 2, 3):
        expected = (top - 1 / (1 + 10 ** (x / 2))) / (top - 0.03) * (len(rows) - 1)
        marked = [i for i, row in enumerate(rows) if row.ljust(wide)[column(x, wide)] == "o"]
        assert any(abs(i - expected) <= 1 for i in marked), (x, marked, expected)
    assert not any("o" in row[:4] for row in rows)  # there it is best to call nothing positive
    check_text(drawn.splitlines()[-1])


def test_thresholds_need_scores_and_one_at_least() -> None:
    assert draw_plots(tuned(scores=False), ("cuts",), width=80, color=False) == ""
    result = tuned()
    never = [{**row, "threshold": None} for row in result.tables["thresholds"]]
    tables = {**result.tables, "thresholds": never}
    assert draw_plots(replace(result, tables=tables), ("cuts",), width=80, color=False) == ""


def test_slices_are_not_mixed_into_the_whole() -> None:
    whole, sliced = (tuned(scores=False, slices=slices) for slices in ((), ("north",)))
    assert draw_plots(whole, width=80, color=False) == draw_plots(sliced, width=80, color=False)


def test_a_population_beyond_the_sweep_is_named_in_the_key_only() -> None:
    result = tuned(
        ONE, targets=("1:1000000",), uncertain=False, scores=False, sweep="1:1000..100:1"
    )
    drawn = draw_plots(result, width=80, color=False)
    (line,) = (line for line in key(drawn) if line.startswith("T "))
    assert {1, 1_000_000, 1e-6} <= {*numbers_in(line)}
    assert not any("T" in row for row in canvas(drawn))


def test_models_with_totals_of_their_own_have_no_common_sample() -> None:
    result: Result = tuned()
    mixed = replace(result, summary=dict.fromkeys(result.summary))
    assert not any(line.startswith("S ") for line in key(draw_plots(mixed, width=80, color=False)))


def test_ticks_of_odds_are_powers_of_ten_as_far_as_there_is_room() -> None:
    full = ["1:1000", "1:100", "1:10", "1:1", "10:1", "100:1", "1000:1"]
    assert odds_ticks((-3, 3), ("1:1000", "1000:1"), 68)[1] == full
    assert odds_ticks((-3, 3), ("1:1000", "1000:1"), 40)[1] == ["1:100", "1:1", "100:1"]
    assert odds_ticks((-3, 3), ("1:1000", "1000:1"), 28)[1] == ["1:1000", "1:1", "1000:1"]
    ends = log10(Population.from_odds("1:3").ratio), log10(0.5)
    assert odds_ticks(ends, ("1:3", "1:2"), 68) == (list(ends), ["1:3", "1:2"])


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 1.0, ["0", "0.25", "0.5", "0.75", "1"]),
        (0.67, 0.95, ["0.7", "0.8", "0.9"]),
        (-1.0, 1.0, ["-1", "-0.5", "0", "0.5", "1"]),
        (100.0, 13400.123, ["5,000", "10,000"]),
        (0.00283, 0.99995, ["0.25", "0.5", "0.75"]),
    ],
)
def test_heights_are_round(low: float, high: float, labels: list[str]) -> None:
    at, shown = height_ticks(low, high, log=False)
    assert shown == labels
    assert [float(text.replace(",", "")) for text in shown] == pytest.approx(at)


def test_a_height_between_two_points_is_in_proportion() -> None:
    curve = Series("m", (((0, 1), (2, 5)), ((3, 0), (4, 1))))
    assert [height_at(curve, x) for x in (0.5, 2, 2.5, 3.5)] == [2, 5, None, 0.5]


def test_of_many_crossings_only_those_of_leaders_are_marked() -> None:
    """Five tables with ever more found and ever more alarms: neighbours cross, and more."""
    models = {
        f"m{i}": (300 + 60 * i, 10 + 10 * i * i, 300 - 60 * i, 390 - 10 * i * i) for i in range(5)
    }
    result = tuned(models, targets=(), scores=False)
    leaders = {str(row["leader"]) for row in result.tables["winners"]}
    rows = result.tables["crossovers"]
    crossing = [row for row in rows if row["leads_below"] != row["leads_above"]]
    lines = key(draw_plots(result, width=120))
    marked = [line for line in lines if re.match(r"\d (m\d) = (m\d) ", line)]
    assert len(crossing) == 10
    assert 0 < len(marked) <= 4
    assert all(set(line.split()[1:4:2]) <= leaders for line in marked)
    assert any(10 - len(marked) in numbers_in(line) for line in lines)
