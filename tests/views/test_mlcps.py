"""The page of mlcps: who is first and how firmly, in words; every number rightly rounded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clfeval.pages.write import bar, heading
from clfeval.result import Estimate
from clfeval.views.render import fold, headline, offered, reasons
from clfeval.views.terminal import as_text
from tests.views.page import sections
from tests.views.ranked import METRICS, ranked
from tests.views.rankings import RESULTS, column, titled


def test_the_headline_says_what_was_read_and_how_it_was_changed() -> None:
    assert headline(RESULTS["weighted"])[:2] == [
        "MLcps of metrics.csv: 5 models, 4 metrics",
        "metrics in this order: accuracy, f1 (weight 2), mcc (weight 0.5), roc_auc",
    ]
    first, metrics, intervals = headline(RESULTS["predictions"])
    assert first == "MLcps of metrics.csv: 5 models, 4 metrics of 1,000 rows (positive: 'ill')"
    assert metrics.endswith(" roc_auc; rescaled to 0..1: mcc from -1..1")
    assert intervals.startswith("95 % intervals: bootstrap, 2,000 resamples of the rows, ")


def test_the_headline_names_as_many_metrics_as_a_line_or_two_hold() -> None:
    # 40 characters and a comma and a blank: three are 126 of at most 130
    names = [f"{i}" + 39 * "x" for i in range(5)]
    line = headline(ranked({"a": [0.5] * 5, "b": [0.6] * 5}, names))[1]
    assert line == f"metrics in this order: {', '.join(names[:3])} and 2 more"
    names = [f"{i}" + 99 * "x" for i in range(5)]
    line = headline(ranked({"a": [0.5] * 5, "b": [0.6] * 5}, names))[1]
    assert line == f"metrics in this order: {', '.join(names[:2])} and 3 more"
    assert column(titled(RESULTS["thirty"], "Metrics, in"), "metric")[4] == "brier ↓"


def test_no_rank_is_left_out_though_none_changes() -> None:
    firm = ranked({"best": (0.9, 0.9, 0.9), "other": (0.6, 0.7, 0.8)}, ("a", "b", "c"))
    part = titled(firm, "Rank by")
    assert column(part, "model") == ["best", "other"]
    assert column(part, "MLcps") == column(part, "highest") == ["1", "2"]


def test_the_ranking_has_the_best_first_with_a_bar_of_its_share() -> None:
    part = titled(RESULTS["two"], "Ranking")
    assert part.headings == (
        "model", "", "rank", "MLcps ↑", "normalised ↑", "mean ↑", "Pareto\nfront", "bar",
    )  # fmt: skip
    # of 2, the area of a square: 12 * .49 = 5.88 and 12 * .48 = 5.76 cells, in eighths 7 and 6
    assert part.rows == (
        ("svm", "*", "1", "0.980", "0.490", "0.700", "yes", "█████▉······"),
        ("rf", "", "2", "0.960", "0.480", "0.700", "yes", "█████▊······"),
    )
    assert column(titled(RESULTS["tie"], "Ranking"), "rank") == ["1", "1", "2"]


def test_the_bar_is_of_what_ranks() -> None:
    part = titled(RESULTS["goals"], "Ranking")
    assert "(bar: D, full at 1)" in part.title
    last = {head: column(part, head)[-1] for head in ("model", "bar", "D ↑")}
    assert last == {"model": "knn", "bar": "·" * 12, "D ↑": "0.000"}
    assert column(part, "deals\nbroken") == ["0", "0", "0", "0", "1"]
    firm = titled(RESULTS["goals"], "How firm")
    assert column(firm, "dealbreakers") == ["–", "–", "–", "–", "roc_auc"]
    assert "deals\nbroken" not in titled(RESULTS["pair"], "Ranking").headings


def test_a_sign_marks_the_first_and_whoever_cannot_be_told_from_it() -> None:
    for name, signs in (
        ("tie", ["*", "*", ""]), ("predictions", ["*", "≈", "", "", ""]), ("five", ["*", *[""] * 4])
    ):  # fmt: skip
        assert column(titled(RESULTS[name], "Ranking"), "") == signs


def test_beside_the_answer_there_is_one_table_unless_more_is_asked_for() -> None:
    def titles(name: str, *names: str) -> list[str]:
        return [one.title.split(",")[0] for one in fold(RESULTS[name], names).opened]

    assert titles("predictions") == titles("splits") == ["Ranking"]
    assert titles("weighted") == [
        "How often each is first if weights are drawn at random (1", "Ranking",
    ]  # fmt: skip
    assert titles("goals") == ["How desirable each value is", "Ranking"]
    assert titles("compared") == [
        "The models in test.csv", "Agreement with test.csv on 5 models", "Ranking",
    ]  # fmt: skip
    assert titles("goals", "goals") == ["How desirable each value is", "What is wanted", "Ranking"]
    assert tuple(offered(RESULTS["goals"], fold(RESULTS["goals"]), ())) == (
        "goals", "firm", "ranks", "metrics", "changes", "dominance", "intervals", "plots",
    )  # fmt: skip


@pytest.mark.parametrize(("width", "most"), [(80, 40), (140, 30)])
@pytest.mark.parametrize("name", ["five", "tie", "one model", "predictions", "splits"])
def test_without_options_there_is_one_screen_with_the_answer_on_top(
    name: str, width: int, most: int
) -> None:
    lines = as_text(RESULTS[name], width=width).splitlines()
    assert len(lines) <= most
    assert RESULTS[name].answer[0].text.startswith(lines[1])


def test_what_an_option_asks_for_stands_directly_under_the_answer() -> None:
    for name, title in (("weighted", "How often"), ("goals", "How des"), ("compared", "The mod")):
        lines = as_text(RESULTS[name], width=140).splitlines()
        assert lines[lines.index("") + 1].startswith(title)


def test_a_narrow_screen_has_one_line_a_model_and_the_interval_of_what_ranks() -> None:
    lines = as_text(RESULTS["predictions"], width=80).splitlines()
    head = next(line for line in lines if line.startswith("model "))
    assert head.split()[:6] == ["model", "rank", "MLcps", "↑", "95", "%"]
    # rf ½ (.7052 + .697 + .7905 + .7998) = 1.496, half of it .748
    (row,) = (line for line in lines if line.startswith("rf "))
    assert row.split()[:7] == ["rf", "*", "1", "1.496", "[1.466,", "1.526]", "0.748"]
    assert lines[-3] == "  on a wider screen also: bar"
    wide = as_text(RESULTS["predictions"], width=140)
    assert "on a wider screen" not in wide
    assert "Pareto front: no other model is as good in every metric and better in one" in wide


@pytest.mark.parametrize(
    ("share", "drawn"),
    [
        (0.0, "····"), (1e-9, "▏···"), (1 / 32, "▏···"), (0.25, "█···"), (0.5, "██··"),
        (1 - 1e-9, "███▉"), (1.0, "████"), (None, ""),
    ],
)  # fmt: skip
def test_a_bar_is_full_for_1_and_empty_for_0_only(share: float | None, drawn: str) -> None:
    assert bar(share, 4) == drawn


def test_how_firm_the_scores_are() -> None:
    part = titled(RESULTS["two"], "How firm")
    # order-free: ½ (2.8² - 2) / 3; mean .7; SD: .1 each from the mean, over 3
    free, sd = 0.5 * (2.8**2 - 2.0) / 3, (4 * 0.1**2 / 3) ** 0.5
    for row in part.rows:
        assert row[1:] == (f"{free:.3f}", "0.960", "0.980", "0.700", f"{sd:.3f}", "1-2", "yes")
    five = titled(RESULTS["five"], "How firm")
    assert column(five, "ranks") == ["1-2", "1-2", "3", "4", "5"]
    assert column(five, "Pareto\nfront")[2:] == ["no: under rf", "no: under lda", "no: under rf"]


def test_ranks_are_shown_where_they_differ() -> None:
    part = titled(RESULTS["five"], "Rank by each score")
    assert column(part, "highest")[:2] == ["2", "1"]
    assert column(part, "order\ndecides") == ["yes", "yes", "no", "no", "no"]
    rows = [{**row, "weight_dependent": None, "order_dependent": None if i else False}
            for i, row in enumerate(RESULTS["five"].tables["ranks"])]  # fmt: skip
    unknown = replace(RESULTS["five"], tables={**RESULTS["five"].tables, "ranks": rows})
    part = titled(unknown, "Rank by each score")
    assert "weights\ndecide" not in part.headings
    assert "whether weights decide is not known" in part.note
    assert column(part, "order\ndecides")[:3] == ["?", "?", "no"]


def test_without_a_polygon_only_what_exists_is_shown_and_the_rest_explained() -> None:
    result = RESULTS["pair"]
    assert column(titled(result, "Ranking"), "MLcps ↑") == ["–"] * 5
    assert titled(result, "How firm").headings == ("model", "mean\n↑", "SD", "Pareto\nfront")
    assert column(titled(result, "Rank by"), "D") == ["1", "2", "3", "4", "5"]
    # means .76 and .75, D √(.8 * .05) = .2 and √(.5 * .375) = .43
    goals = {"accuracy": (0.5, 1.0), "f1": (0.6, 1.0)}
    other = ranked({"a": (0.9, 0.62), "b": (0.75, 0.75)}, METRICS[:2], goals=goals)
    part = titled(other, "Rank by")
    assert part.headings == ("model", "mean", "SD", "D")
    assert part.rows == (("b", "2", "1", "1"), ("a", "1", "2", "2"))
    assert reasons(result, fold(result, ("all",)).opened) == [
        "– MLcps, normalised, order-free, lowest and highest are undefined: fewer than 3 metrics "
        "make no polygon"
    ]


def test_numbers_next_to_0_and_1_are_not_shown_as_these() -> None:
    near = ranked({"a": (0.9997, 1.0, 1.0), "b": (0.0001, 1.0, 0.0)}, ("x", "y", "z"))
    part = titled(near, "Ranking")
    assert column(part, "normalised ↑") == [">0.999", "<0.001"]
    assert column(part, "bar") == ["█" * 11 + "▉", "▏" + "·" * 11]
    assert column(titled(near, "Metrics"), "most") == ["0.99970", "1.000", "1.000"]


def test_metrics_stand_in_the_order_of_their_rays_with_those_that_repeat_right_below() -> None:
    part = titled(RESULTS["thirty"], "Metrics, in")
    assert column(part, "ray") == ["1", "2", "3", "4", "5", "6", "7"]
    assert column(part, "metric")[4] == "brier ↓"
    titles = [part.title for part in sections(RESULTS["compared"])]
    below = titles[titles.index("Metrics, in the order of their rays") + 1]
    assert titled(RESULTS["compared"], below).rows == (("f1", "mcc", "correlated", "r = 0.99990"),)


def test_what_leaving_out_and_doubling_changes() -> None:
    part = titled(RESULTS["two"], "MLcps if one")
    # twice the areas in units of their triangles, svm against rf: without mcc .64 + .48 + .48
    # and .48 + .36 + .48; with mcc doubled .64 + .96 + .72 + .48 and .48 + .96 + .96 + .48
    assert part.rows[2] == ("mcc", "svm, as now", "0", "rf", "2")
    assert titled(RESULTS["tie"], "MLcps if one").note.startswith("– fewer than 3 metrics")
    same = ranked({"a": (0.9, 0.9, 0.9, 0.9), "b": (0.1, 0.1, 0.1, 0.1)})
    assert titled(same, "MLcps if one").rows == (("no model changes its rank",),)


def test_headings_of_other_commands_are_as_they_were() -> None:
    names = ("mean", "lowest", "highest", "value", "low", "first", "share", "weight", "rank")
    assert [heading(name) for name in names] == list(names)


def test_a_model_without_score_is_last_and_unranked() -> None:
    five = RESULTS["five"]
    lost = {"mlcps": Estimate(None, reason="missing_component"), "rank": None}
    models = [{**row, **lost} if row["model"] == "svm" else row for row in five.tables["models"]]
    ranks = [{**row, "mlcps": None} if row["model"] == "svm" else row
             for row in five.tables["ranks"]]  # fmt: skip
    tables = {**five.tables, "models": models, "ranks": ranks}
    result = replace(five, tables=tables, summary={**five.summary, "best": []})
    assert column(titled(result, "Ranking"), "model")[-1] == "svm"
    assert column(titled(result, "Ranking"), "rank")[-1] == "–"
    assert "a metric has no value" in as_text(result)
