"""Selection: |phi| < phi_max and |phi| + |delta|/delta_min >= 1, by |delta|, at most top."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

from clfeval.api.result import Result
from tests.methods.features.door import features
from tests.results import rows_of


def selected_features(result: Result) -> list[str]:
    return [str(row["feature"]) for row in result.tables["selected"]]


# eight positives, eight negatives: every tp and fp is a number of eighths, and floats are exact
TRUTH = [1] * 8 + [0] * 8
GRID = {f"{tp}{fp}": (tp, fp) for tp in range(9) for fp in range(9)}


def column(tp: int, fp: int) -> list[int]:
    return [1] * tp + [0] * (8 - tp) + [1] * fp + [0] * (8 - fp)


WIDE = pl.DataFrame({"truth": TRUTH} | {name: column(*cells) for name, cells in GRID.items()})


def by_hand(phi_max: Fraction, delta_min: Fraction) -> list[str]:
    places = {
        name: (Fraction(tp + fp, 8) - 1, Fraction(tp - fp, 8)) for name, (tp, fp) in GRID.items()
    }
    names = [
        name
        for name, (phi, delta) in places.items()
        if abs(phi) < phi_max and abs(phi) + abs(delta) / delta_min >= 1
    ]
    return sorted(names, key=lambda name: (-abs(places[name][1]), abs(places[name][0]), name))


@pytest.mark.parametrize("phi_max", [0.125, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("delta_min", [0.125, 0.25, 0.5, 1.0])
def test_both_rules_at_their_boundaries(phi_max: float, delta_min: float) -> None:
    result = features(WIDE, select="all", phi_max=phi_max, delta_min=delta_min)
    expected = by_hand(Fraction(phi_max), Fraction(delta_min))
    assert selected_features(result) == expected
    assert result.summary["selected"] == len(expected)


def test_the_limits_in_force_are_in_the_document() -> None:
    selecting = features(WIDE, select="all").parameters
    limits = (selecting["phi_max"], selecting["delta_min"], selecting["select"])
    assert limits == (0.95, 0.1, "all")
    assert selected_features(features(WIDE, select="all")) == by_hand(
        Fraction(19, 20), Fraction(1, 10)
    )
    plain = features(WIDE).parameters
    assert (plain["phi_max"], plain["delta_min"], plain["select"]) == (None, None, None)


@pytest.mark.parametrize("top", [1, 3, 80, 100])
def test_top_keeps_the_first(top: int) -> None:
    everything = selected_features(features(WIDE, select="all"))
    result = features(WIDE, select=top)
    assert selected_features(result) == everything[:top]
    assert result.summary["selected"] == min(top, len(everything))


def test_all_features_stay_in_their_table_and_are_marked() -> None:
    result = features(WIDE, select=7, phi_max=0.5, delta_min=0.5)
    assert len(rows_of(result, "features")) == 81
    marked = rows_of(result, "features", selected=True)
    assert [row["feature"] for row in marked] == selected_features(result)
    assert marked == rows_of(result, "selected")
    assert all("selected" not in row for row in features(WIDE).tables["features"])


def test_selecting_is_no_need_for_anything_to_be_left() -> None:
    nothing = features(pl.DataFrame({"truth": [1, 0], "x": [1, 1]}), select="all")
    assert selected_features(nothing) == []
    assert nothing.summary["selected"] == 0
    assert nothing.tables["features"][0]["selected"] is False


def test_features_without_a_place_are_not_selected() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 0, 0], "x": [None, None, 1, 0], "y": [1, 1, 1, 0]})
    result = features(frame, select="all", missing="drop", delta_min=1.0, phi_max=1.0)
    assert selected_features(result) == ["y"]
