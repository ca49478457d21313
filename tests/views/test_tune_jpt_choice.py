"""Which model where, which threshold where, and what an uncertain prevalence leaves open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clfeval.api.result import Result
from clfeval.document.cells import Cell, Estimate, Row
from clfeval.pages.tune_jpt.sections import merge_neighbours
from tests.results import limits_of
from tests.texts import check_text, numbers_in
from tests.views.page import layout, named_sections, section_of, sections
from tests.views.tuned import MODELS, tuned

RESULT = tuned()


def with_table(name: str, rows: list[Row]) -> Result:
    return replace(RESULT, tables={**RESULT.tables, name: rows})


def interval_text(cell: Cell, digits: str) -> str:
    low, high = limits_of(cell)
    return f"[{low:{digits}}, {high:{digits}}]"


def winner(odds: str, leader: str | None, undecided: list[str], **more: object) -> Row:
    left, right = map(float, odds.split(":"))
    row = {
        "slice": None,
        "measure": "tar",
        "population": "sweep",
        "odds": odds,
        "prevalence": left / (left + right),
        "ratio": left / right,
        "leader": leader,
        "value": Estimate(0.5),
        "winner": None if undecided else leader,
        "tied": undecided,
    }
    return {**row, **more}  # type: ignore[dict-item]


def test_crossings_are_named_with_their_place_and_interval() -> None:
    part = section_of(RESULT, "crossovers")
    # anti-CCP .67/.95 and RF .69/.85: p = (.95 - .85) / (.95 - .85 + .69 - .67) = 5/6
    assert part.rows[0][1] == "TAR"
    assert {0.833, 5, 1} <= {*numbers_in(part.rows[0][2])}
    assert part.rows[0][3:] == (
        "0.833",
        interval_text(RESULT.tables["crossovers"][0]["crossing"], ".3f"),
    )
    check_text([*part.rows[0], layout(part)])
    # and triage .85/.70: p = .25 / (.25 + .18)
    assert part.rows[1][3] == f"{25 / 43:.3f}"


def test_models_that_never_change_places_have_no_crossing() -> None:
    twins = {"a": MODELS["RF"], "b": MODELS["RF"], "worse": (300, 90, 300, 310)}
    part = section_of(tuned(twins), "crossovers")
    assert [line[3:] for line in part.rows] == [("–",)] * 3  # no interval, no column for it


def test_neighbouring_odds_with_one_outcome_are_one_line() -> None:
    rows = [
        winner("1:1000", "RF", []),
        winner("1:100", "RF", []),
        winner("1:40", "RF", []),
        winner("1:32", "RF", ["anti-CCP"]),
        winner("1:10", "anti-CCP", ["RF"]),
        winner("1:1", "triage", ["anti-CCP", "RF"]),
        winner("3:1", None, []),
        winner("10:1", "RF", []),
    ]
    part = section_of(with_table("winners", rows), "winners", -1)
    assert [line[1:] for line in part.rows] == [
        ("1:1000 to 1:40", "0.000999 to 0.0244", "RF"),
        ("1:32 to 1:10", "0.0303 to 0.0909", part.rows[1][3]),
        ("1:1", "0.5", part.rows[2][3]),
        ("3:1", "0.75", part.rows[3][3]),
        ("10:1", "0.909", "RF"),
    ]
    check_text(line[3] for line in part.rows)


def test_runs_do_not_pass_from_one_slice_or_measure_to_the_next() -> None:
    rows = [
        winner("1:10", "RF", []),
        winner("1:1", "RF", []),
        winner("1:10", "RF", [], measure="mcc"),
        winner("1:1", "RF", [], measure="mcc"),
        winner("1:10", "RF", [], slice="north"),
    ]
    found = merge_neighbours(rows, lambda row: [str(row["leader"])])
    assert [(row["slice"], row["measure"], row["odds"]) for row in found] == [
        (None, "tar", "1:10 to 1:1"),
        (None, "mcc", "1:10 to 1:1"),
        ("north", "tar", "1:10"),
    ]


def test_targets_and_the_sample_have_lines_of_their_own() -> None:
    part = section_of(tuned(uncertain=False), "winners")
    check_text(" | ".join(line) for line in part.rows)
    assert [line[2] for line in part.rows[1:]] == ["anti-CCP", "anti-CCP"]
    # triage has 510 + 280 of 1000 right; anti-CCP at 1:1000 (.67 + 950) / 1001
    assert [line[3] for line in part.rows[::2]] == ["0.790", f"{950.67 / 1001:.3f}"]


def test_many_tied_models_are_counted() -> None:
    others = [f"m{i}" for i in range(38)]
    rows = [winner("1:2", "RF", others), winner("1:1", "RF", [*others[:-1], "other"])]
    part = section_of(with_table("winners", rows), "winners", -1)
    assert [line[1:3] for line in part.rows] == [("1:2", "0.333"), ("1:1", "0.5")]
    assert [numbers_in(line[3])[-1] for line in part.rows] == [35, 35]


@pytest.mark.parametrize(
    "options", [{"interval": "none"}, {"models": {**MODELS, "small": (6, 6, 4, 4)}}]
)
def test_without_intervals_no_winner_is_called(options: dict[str, bool]) -> None:
    part = section_of(tuned(**options), "winners")  # type: ignore[arg-type]
    check_text([part.note, *(" | ".join(line) for line in part.rows)])


def test_a_single_model_is_compared_with_none() -> None:
    names = {name for name, _ in named_sections(tuned({"RF": MODELS["RF"]}))}
    assert names.isdisjoint({"crossovers", "winners"})


def test_empty_tables_of_comparisons_are_left_out() -> None:
    names = ("crossovers", "winners", "thresholds", "ranges", "simulated", "sweep")
    bare = replace(RESULT, tables={**RESULT.tables, **{name: [] for name in names}})
    assert len(sections(bare)) == 6


def test_thresholds_stand_at_the_targets() -> None:
    part = section_of(tuned(uncertain=False), "thresholds")
    assert len(part.rows) == 3 * 5 * 2  # models, measures, targets
    # of 101 rows 100 are right where none is called positive, with the model .67 + .95 * 100
    assert part.rows[0][:9] == (
        "anti-CCP",
        "TAR",
        "1:100 (0.0099)",
        "never positive",
        f"{100 / 101:.4f}",
        "0.000",
        "1.000",
        "0.5",
        f"{95.67 / 101:.3f}",
    )
    assert part.rows[2][3:9:2] == ("0.9", "0.670", "0.5")
    check_text(part.rows[1])


def test_without_targets_thresholds_stand_at_the_sample() -> None:
    part = section_of(tuned(targets=(), uncertain=False), "thresholds")
    assert {"600:400 (0.6)" in line[2] for line in part.rows} == {True}


def test_votes_of_the_largest_class_have_no_threshold() -> None:
    rows = [{**row, "fixed_threshold": None} for row in RESULT.tables["thresholds"]]
    part = section_of(with_table("thresholds", rows), "thresholds")
    (word,) = {line[7] for line in part.rows}
    check_text(word)


@pytest.mark.parametrize(
    ("rule", "words"),
    [("score >= t", "0.1235"), ("always positive", "always positive"), (None, "–")],
)
def test_a_rule_without_a_cut_is_said_in_words(rule: str | None, words: str) -> None:
    rows = [{**row, "threshold": 0.12345, "rule": rule} for row in RESULT.tables["thresholds"]]
    parts = [section_of(with_table("thresholds", rows), n) for n in ("thresholds", "cutoffs")]
    assert parts[0].rows[0][3] == parts[1].rows[0][2] == words


def test_thresholds_by_odds_are_evenly_spaced_and_a_column_each() -> None:
    part = section_of(RESULT, "cutoffs")
    odds = [line[1].split(" ")[0] for line in part.rows[:7]]
    assert odds == ["1:1000", "1:100", "1:10", "1:1", "10:1", "100:1", "1000:1"]
    assert [line[0] for line in part.rows] == [name for name in MODELS for _ in range(7)]
    # by TAR: r * .67 + .95 of r + 1 rows are right, or 1, or r
    cuts = ["never positive", "0.9", "0.9", "always positive"]
    assert [line[2] for line in part.rows[1:5]] == cuts


def test_ranges_say_where_and_leave_out_what_does_not_move() -> None:
    parts = [one for name, one in named_sections(RESULT) if name == "ranges"]
    check_text(layout(one) for one in parts)
    part = parts[0]  # of TAR and PPV
    assert "DOR" not in {line[1] for one in parts for line in one.rows}
    # PPV of anti-CCP: .67 p / (.67 p + .05 (1 - p)) at p = .001 and .02
    low, high = (0.67 * p / (0.67 * p + 0.05 * (1 - p)) for p in (0.001, 0.02))
    cells = part.rows[1]
    assert (cells[2], cells[4]) == (f"{low:.3f}", "1:999 (0.001)")
    assert (cells[5], cells[7]) == (f"{high:.3f}", "1:49 (0.02)")


def test_a_simulated_prevalence_says_its_mean_and_what_is_infinite() -> None:
    shown = {"mean": 0.0312345, "median": None, "low": 0.00123, "high": 13400.123, "failed": 3}
    result = with_table("simulated", [{**row, **shown} for row in RESULT.tables["simulated"]])
    part, others = (section_of(result, "simulated", number) for number in (0, 1))
    assert {"TOR", "NPV"} < {line[1] for line in others.rows}
    assert part.rows[0] == ("anti-CCP", "TAR", "0.031", "–", "0.0012", "13,400", "3")
    check_text(layout(part))


def test_a_population_of_ones_own_has_intervals() -> None:
    result = tuned(population=50_000, uncertain=False)
    part = section_of(result, "expected")
    # 50,000 / 1001 are ill, and .05 of the others are called ill too
    ill = 50_000 / 1001
    assert [line[0] for line in part.rows] == [*MODELS] * 2
    assert part.rows[3][:4] == (
        "anti-CCP",
        "1:1000 (0.000999)",
        f"{0.67 * ill:.1f}",
        interval_text(result.tables["expected"][9]["tp"], ".1f"),
    )
    assert part.rows[3][6] == f"{0.05 * 1000 * ill:,.0f}"
