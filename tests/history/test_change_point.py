"""Change points: where the mean of a measure changed, how surely, and in which words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from clfeval.compare.history.change_point import (
    MeasureSeries,
    best_split,
    largest_change_p,
    level_scales,
    measure_series,
    row_sets,
    segment_means,
)
from clfeval.compare.history.file import AcceptedLabel, HistoryLine, HistoryMeasure
from clfeval.pages.pictures import pictures_of
from tests.history.lines import Z, answer_texts, history_measure, line, trend_of
from tests.history.weeks import KEPT
from tests.process.program import clfeval, json_document
from tests.results import answer_codes, answers_of, row_of
from tests.texts import check_text

WEEKS = (0.83, 0.80, 0.84, 0.80, 0.66, 0.67)
SE = 0.02


def weekly(
    values: Sequence[float],
    model: str = "rf",
    measure: str = "roc_auc",
    missed: Sequence[int] = (),
    se: float = SE,
) -> list[HistoryLine]:
    """Return a line a week, each of other rows; missed: the weeks that missed a gate, from 1."""
    return [
        line(
            f"W{week}",
            model,
            f"ids:{week}",
            gates={"roc_auc": False} if week in missed else None,
            **{measure: history_measure(value, se)},
        )
        for week, value in enumerate(values, 1)
    ]


def series_of(values: Sequence[float], se: Sequence[float] | float = SE) -> MeasureSeries:
    """Return a series of estimates of different rows."""
    errors = np.broadcast_to(se, len(values))
    path = [
        line(f"W{week}", truth=f"ids:{week}", m=history_measure(value, error))
        for week, (value, error) in enumerate(zip(values, errors.tolist(), strict=True))
    ]
    series = measure_series(path, "m", row_sets(path), level_scales(path, 0.95))
    assert series is not None
    return series


def test_the_split_is_that_of_least_squares() -> None:
    values = [0.80, 0.81, 0.79, 0.80, 0.70, 0.71, 0.69]

    def squares(split: int) -> float:
        return sum(len(part) * np.var(part) for part in (values[:split], values[split:]))

    assert best_split(series_of(values)) == min(range(1, 7), key=squares) == 4
    # squares of such values are no floats
    assert best_split(series_of([1e200, 1e200, 5e200, 5e200], [1e199] * 4)) == 2
    # a line with a standard error of 1 instead of .02 weighs one part in 2,500
    assert best_split(series_of([0.8, 0.2, *values[2:]], [SE, 1.0, *[SE] * 5])) == 4


def test_segment_means_have_the_limits_of_independent_samples() -> None:
    old, new = segment_means(series_of([0.8, 0.82, 0.7], [0.02, 0.04, 0.03]), 2)
    weights = np.array([0.02, 0.04]) ** -2.0
    assert old.value == pytest.approx(np.average([0.8, 0.82], weights=weights))
    assert old.low == pytest.approx(old.value - Z / math.sqrt(weights.sum()))
    assert (new.value, new.high) == (pytest.approx(0.7), pytest.approx(0.7 + Z * 0.03))


def test_lines_of_the_same_rows_do_not_make_a_mean_more_certain() -> None:
    path = [
        line(f"W{week}", m=history_measure(value, SE))
        for week, value in enumerate((0.8, 0.81, 0.7))
    ]
    series = measure_series(path, "m", row_sets(path), level_scales(path, 0.95))
    assert series is not None
    assert not series.independent
    old, _ = segment_means(series, 2)
    assert old.low == pytest.approx(old.value - Z * SE)
    assert largest_change_p(0.01, series) == pytest.approx(0.02)  # two splits


def test_a_line_with_the_rows_and_value_of_the_line_before_is_left_out() -> None:
    entries = [line(f"W{week}", roc_auc=history_measure(0.8, SE)) for week in range(20)]
    entries += [
        line(f"W{week}", truth="ids:bb", roc_auc=history_measure(0.74, SE)) for week in (20, 21)
    ]
    found = trend_of(*entries)  # two samples, 0.06 apart with a standard error of 0.028
    step = row_of(found, "steps")
    p = 2 * norm.sf(0.06 / math.hypot(SE, SE))
    assert (step["since"], step["cause"]) == ("W20", "rows")
    assert (step["first"], step["until"]) == ("W0", "W19")
    assert step["p"] == pytest.approx(p)


def test_lines_without_an_interval_do_not_count() -> None:
    endless = HistoryMeasure(0.5, -1e308, 1e308)
    bare = [HistoryMeasure(0.7), HistoryMeasure(0.7, 0.7, 0.7, 0.0), HistoryMeasure(None), endless]
    path = [line(f"W{week}", truth=f"ids:{week}", m=cell) for week, cell in enumerate(bare)]
    path.append(line("W4", truth="ids:4", m=history_measure(0.8, SE)))
    assert measure_series(path, "m", row_sets(path), level_scales(path, 0.95)) is None
    path.append(line("W5", truth="ids:5", m=history_measure(0.8, SE)))
    series = measure_series(path, "m", row_sets(path), level_scales(path, 0.95))
    assert series is not None
    assert series.positions == [4, 5]


def test_intervals_of_another_level_are_scaled() -> None:
    narrow = replace(
        line("W1", m=HistoryMeasure(0.8, 0.8 - 1.6448536 * SE, 0.8 + 1.6448536 * SE)), level=0.9
    )
    path = [narrow, line("W2", truth="ids:bb", m=history_measure(0.7, SE))]
    series = measure_series(path, "m", row_sets(path), level_scales(path, 0.95))
    assert series is not None
    assert series.weights == pytest.approx([(2 * Z * SE) ** -2] * 2)


@pytest.mark.parametrize("labels", [2, 3, 6, 12, 50])
@pytest.mark.parametrize("h", [2.0, 2.8, 3.5])
def test_p_of_the_largest_change_bounds_the_simulated_one(labels: int, h: float) -> None:
    """It is an upper bound, and at most a third above it where splits are few."""
    rng = np.random.default_rng([58, labels])
    errors = rng.uniform(0.01, 0.04, labels)
    series = series_of([0.5] * labels, errors)
    weights = errors**-2.0
    draws = rng.normal(0, errors, (40_000, labels))
    left, right = np.cumsum(weights)[:-1], weights.sum() - np.cumsum(weights)[:-1]
    sums = np.cumsum(draws * weights, axis=1)
    changes = (sums[:, -1:] - sums[:, :-1]) / right - sums[:, :-1] / left
    largest = np.abs(changes / np.sqrt(1 / left + 1 / right)).max(axis=1)
    simulated = float((largest >= h).mean())
    p = largest_change_p(2 * float(norm.sf(h)), series)
    error = math.sqrt(simulated * (1 - simulated) / 40_000)
    assert p >= simulated - 3 * error
    assert p <= 2 * simulated + 3 * error + 1e-4
    assert p <= (labels - 1) * 2 * norm.sf(h) + 1e-12


@pytest.mark.parametrize("missed", [(), (5, 6), (1,), (1, 2, 3, 4, 5)])
def test_the_fall_of_six_weeks_is_the_first_sentence(missed: Sequence[int]) -> None:
    found = trend_of(*weekly(WEEKS, missed=missed))
    first = found.answer[0]
    assert (first.code, first.measure) == ("since", "roc_auc")
    assert first.text == "ROC AUC fell from 0.818 (W1 to W4) to 0.660 at W5 (p <0.001)."
    assert first.value == pytest.approx(0.665 - 0.8175)
    assert "no measure" not in " ".join(answer_texts(found))
    check_text(answer_texts(found))


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_a_fall_is_named_some_lines_before_the_end(length: int) -> None:
    values = [0.82, 0.81, 0.83, 0.82, 0.81, 0.83, 0.82, 0.81, 0.83, 0.82]
    values[-length:] = [value - 0.15 for value in values[-length:]]
    text = answer_texts(trend_of(*weekly(values)))[0]
    assert "ROC AUC fell from 0.8" in text
    assert f"(W1 to W{10 - length}) to {values[-length]:.3f} at W{11 - length} (p <0.001)." in text


def test_each_of_several_models_is_named_and_an_improvement_after_a_harm() -> None:
    better = [0.7, 0.71, 0.69, 0.70, 0.82, 0.83]
    steady = [0.75] * 6
    entries = [*weekly(better, "up"), *weekly(WEEKS, "down"), *weekly(steady, "same")]
    found = trend_of(*entries)
    said = answer_texts(found)
    assert said[0].startswith("ROC AUC of down fell from 0.818 (W1 to W4) to 0.660 at W5")
    harm = max(i for i, text in enumerate(said) if "worse" in text or "fell" in text)
    assert harm < next(i for i, text in enumerate(said) if "ROC AUC of up rose" in text)
    check_text(said)
    many = [one for name in "abcd" for one in weekly(WEEKS, name)]
    check_text(answer_texts(trend_of(*many)))


def test_an_improvement_alone_is_the_first_sentence_unless_the_last_label_is_worse() -> None:
    better = [0.7, 0.71, 0.69, 0.70, 0.82, 0.83]
    assert answer_texts(trend_of(*weekly(better)))[0].startswith(
        "ROC AUC rose from 0.700 (W1 to W4)"
    )
    # the last line is worse than W1 in Brier, but not significantly so than the mean before
    brier = [0.085, *[0.11] * 4, 0.15]
    entries = [
        replace(one, measures={**one.measures, "brier": history_measure(value, SE)})
        for one, value in zip(weekly(better), brier, strict=True)
    ]
    said = answer_texts(trend_of(*entries))
    assert "significantly worse in Brier" in said[0]
    assert any(text.startswith("ROC AUC rose") for text in said[1:])
    check_text(said)


def test_measures_with_a_target_move_away_from_it_or_towards_it() -> None:
    away = [1.0, 1.02, 0.98, 1.0, 0.6, 0.62]
    for values, words in ((away, "moved away from 1: from"), (away[::-1], "moved towards 1: from")):
        text = answer_texts(trend_of(*weekly(values, measure="calibration_slope")))[0]
        assert text.startswith(f"Calibration slope {words}")
    text = answer_texts(
        trend_of(*weekly([1 - value for value in away], measure="calibration_in_the_large"))
    )[0]
    assert "moved away from 0: from" in text
    low = answer_texts(trend_of(*weekly([0.1, 0.1, 0.11, 0.3], measure="brier")))[0]
    assert "rose from 0.103 (W1 to W3) to 0.300 at W4 (worse, p <0.001)" in low


def test_an_accepted_label_after_the_change_is_said() -> None:
    found = trend_of(*weekly(WEEKS), AcceptedLabel("report", "W5"))
    assert answer_texts(found)[0].endswith(" Label W5 is accepted.")
    assert "no measure" not in " ".join(answer_texts(found))
    assert "history-reference" not in answer_codes(found)


def test_the_reference_is_the_first_line_that_missed_no_gate() -> None:
    for missed, reference in (((), "W1"), ((1,), "W2"), ((1, 2), "W3")):
        found = trend_of(*weekly(WEEKS, missed=missed))
        assert {row["reference"] for row in found.tables["comparisons"]} == {reference}
        (answer,) = answers_of(found, "history-reference")
        assert f"the reference is {reference}, " in answer.text
        assert "clfeval history h.jsonl --accept --label LABEL" in answer.text
    none = trend_of(*weekly(WEEKS, missed=range(1, 7)))
    assert none.tables["comparisons"] == []
    assert none.answer[0].code == "since"
    assert none.answer[-1].code == "history-reference"
    check_text(answer_texts(none))


def test_where_nothing_changed_the_drop_that_is_not_excluded_is_said() -> None:
    found = trend_of(*weekly([0.8, 0.81, 0.79, 0.795]))
    (answer,) = answers_of(found, "not-excluded")
    drop = Z * math.hypot(SE, SE) + 0.005
    assert answer.text == f"A drop of up to {drop:.3f} in ROC AUC is not excluded (95% CI)."
    two = trend_of(*weekly([0.8, 0.795]), *weekly([0.8, 0.79], "svm"))
    (answer,) = answers_of(two, "not-excluded")
    drop = float(norm.isf(0.0125)) * math.hypot(SE, SE) + 0.01
    assert answer.text == f"A drop of up to {drop:.3f} in ROC AUC of svm is not excluded (95% CI)."
    assert found.tables["steps"] == []


def test_settings_that_changed_begin_another_series() -> None:
    old = [replace(one, settings="cmd:report|pos:0") for one in weekly(WEEKS[:4])]
    later = weekly(WEEKS)[4:]
    assert trend_of(*old, *later).tables["steps"] == []


def test_charts_draw_segment_means_and_mark_changes_once() -> None:
    charts = pictures_of(trend_of(*weekly(WEEKS)))["trend"]
    means = [one for one in charts[0].series if one.letter]
    assert [one.name for one in means] == ["0.818 (W1 to W4)", "0.665 (W5 to W6)"]
    (before,), (after,) = (one.parts for one in means)
    assert np.array(before) == pytest.approx(np.array([(1.0, 0.8175), (4.5, 0.8175)]))
    assert np.array(after) == pytest.approx(np.array([(4.5, 0.665), (6.0, 0.665)]))
    assert sum(len(chart.key) for chart in charts) == 1
    assert not any(chart.marks for chart in charts)  # rows differ at each label


def test_the_page_has_one_line_on_marks() -> None:
    with open("weeks.jsonl", "wb") as stream:
        stream.write(KEPT.read_bytes())
    done = clfeval("history", "weeks.jsonl", "--show", "trend", "--save", "page.html", "-q")
    assert done.out.count("R: rows changed at 2026-W05; M: model changed at 2026-W09") == 1
    with open("page.html", encoding="utf-8") as stream:
        page = stream.read()
    assert page.count("R: rows changed at 2026-W05; M: model changed at 2026-W09") == 1
    assert page.count("0.890 (2026-W01 to 2026-W08)") >= 1
    found = json_document(clfeval("history", "weeks.jsonl", "-f", "json"))
    steps = {(row["model"], row["measure"]): row for row in found["tables"]["steps"]}
    step = steps["rf", "roc_auc"]
    assert (step["since"], step["until"], step["verdict"]) == ("2026-W09", "2026-W08", "worse")
    assert step["old"]["value"] == pytest.approx(0.89, abs=0.001)
