"""The page of mlcps: who is first and how firmly, in words; every number rightly rounded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clfeval.pages.write import bar, heading
from clfeval.result import Estimate
from clfeval.views.render import headline, reasons, sections
from clfeval.views.terminal import as_text
from tests.views.ranked import METRICS, ranked
from tests.views.rankings import RESULTS, column, titled


@pytest.mark.parametrize(
    ("name", "words"),
    [
        # areas .96 and .98 in this order; in others it is the other way round
        ("two", "first by MLcps: svm, on the Pareto front as every model is; but rf, alone or "
                "tied, in another order of the metrics, and rf if one metric is left out or "
                "doubled"),
        ("one model", "one model: nothing to rank it against"),
        ("tie", "first by MLcps: rf and svm, a tie, on the Pareto front; so one of them in every "
                "order of the metrics"),
        ("predictions", "so in every order of the metrics and in 75.0 % of the resamples; but"),
        ("weighted", "so with 81.2 % of the weights drawn; but rf, alone or tied, in another "
                     "order of the metrics, and rf if weights change 1.25-fold"),
        ("goals", "first by desirability: rf, on the Pareto front; so in 75.0 % of the resamples; "
                  "but rf or svm by MLcps (the order of the metrics decides)"),
        ("pair", "first by desirability: svm, on the Pareto front"),
        ("compared", "compared with test.csv: the same first; Kendall's τ of the ranks 0.700"),
    ],
)  # fmt: skip
def test_the_verdict_says_who_is_first_and_what_decides(name: str, words: str) -> None:
    assert words in " ".join(headline(RESULTS[name]))


def test_a_first_place_in_few_resamples_does_not_bear_itself_out() -> None:
    result = RESULTS["predictions"]
    rows = [{**row, "first": Estimate(0.375)} for row in result.tables["models"]]
    few = replace(result, tables={**result.tables, "models": rows})
    words = " ".join(headline(few))
    assert "so in every order of the metrics; but" in words
    assert words.endswith(", and only in 37.5 % of the resamples")


def test_of_those_that_tie_it_is_said_who_is_off_the_front() -> None:
    rows = [{**row, "pareto": row["model"] == "rf"} for row in RESULTS["tie"].tables["models"]]
    result = replace(RESULTS["tie"], tables={**RESULTS["tie"].tables, "models": rows})
    assert "a tie, not all on the Pareto front (off it: svm)" in " ".join(headline(result))


def test_the_headline_says_what_was_read_and_how_it_was_changed() -> None:
    assert headline(RESULTS["weighted"])[:2] == [
        "MLcps of metrics.csv: 5 models, 4 metrics",
        "metrics in this order: accuracy, f1 (weight 2), mcc (weight 0.5), roc_auc",
    ]
    assert headline(RESULTS["predictions"])[0].endswith("of 1,000 rows (positive: 'ill')")
    assert headline(RESULTS["predictions"])[2] == "rescaled to 0..1: mcc from -1..1"
    assert headline(RESULTS["thirty"])[2] == "flipped, as lower is better: brier"


def test_a_first_model_below_another_is_named_with_that_one() -> None:
    rows = [{**row, "pareto": row["model"] != "svm", "dominated_by": "rf"}
            for row in RESULTS["five"].tables["models"]]  # fmt: skip
    result = replace(RESULTS["five"], tables={**RESULTS["five"].tables, "models": rows})
    assert "svm, not on the Pareto front (under rf)" in " ".join(headline(result))


def test_a_rank_no_weights_change_is_said_so() -> None:
    firm = ranked({"best": (0.9, 0.9, 0.9), "other": (0.6, 0.7, 0.8)}, ("a", "b", "c"))
    rows = [{**row, "weight_dependent": False} for row in firm.tables["ranks"]]
    result = replace(firm, tables={**firm.tables, "ranks": rows})
    assert headline(result)[-1] == (
        "first by MLcps: best, on the Pareto front; so in every order of the metrics and "
        "with any weights above 0 in this order"
    )
    assert [part.title for part in sections(result) if "Rank by" in part.title] == []


def test_the_ranking_has_the_best_first_with_a_bar_of_its_share() -> None:
    part = titled(RESULTS["two"], "Ranking")
    assert part.headings == ("rank", "model", "bar", "MLcps ↑", "normalised ↑")
    # of 2, the area of a square: 12 * .49 = 5.88 and 12 * .48 = 5.76 cells, in eighths 7 and 6
    assert part.rows == (
        ("1", "svm", "█████▉······", "0.980", "0.490"),
        ("2", "rf", "█████▊······", "0.960", "0.480"),
    )
    assert column(titled(RESULTS["tie"], "Ranking"), "rank") == ["1", "1", "2"]


def test_the_bar_is_of_what_ranks() -> None:
    part = titled(RESULTS["goals"], "Ranking")
    assert "(bar: D, full at 1)" in part.title
    last = part.rows[-1]
    assert (last[1], last[2], last[3]) == ("knn", "·" * 12, "0.000")
    assert column(part, "dealbreakers") == ["", "", "", "", "roc_auc"]


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
    assert not any(part.title.startswith("Rank by") for part in sections(result))
    # means .76 and .75, D √(.8 * .05) = .2 and √(.5 * .375) = .43
    goals = {"accuracy": (0.5, 1.0), "f1": (0.6, 1.0)}
    other = ranked({"a": (0.9, 0.62), "b": (0.75, 0.75)}, METRICS[:2], goals=goals)
    part = titled(other, "Rank by")
    assert part.headings == ("model", "mean", "SD", "D")
    assert part.rows == (("b", "2", "1", "1"), ("a", "1", "2", "2"))
    assert reasons(result) == [
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
    assert titled(result, "Ranking").rows[-1][:2] == ("–", "svm")
    assert "no model has a score, so none is first" in headline(result)
    assert "a metric has no value" in as_text(result)
