"""What mlcps answers: every sentence where it is true, and where it must not be said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest

import clfeval
from clfeval.codes import ANSWERS
from clfeval.methods.mlcps.answer import mlcps_answer
from clfeval.result import Answer, Estimate, Result, Row
from tests.views.ranked import FIVE, answered, ranked, said
from tests.views.rankings import RESULTS, TIE

LONE = ranked({"rf": (0.8, 0.6, 0.7)}, ("a", "b", "c"))


def sentence(result: Result, code: str) -> Answer | None:
    """Return the sentence of a code, if it is said; none is said twice."""
    found = [one for one in result.answer if one.code == code]
    assert len(found) < 2
    return found[0] if found else None


def text(result: Result, code: str) -> str:
    one = sentence(result, code)
    return one.text if one else ""


def changed(result: Result, table: str, cells: Mapping[str, Row], **summary: object) -> Result:
    """Change cells of some models, and let the result say what follows."""
    rows = [{**row, **cells.get(str(row["model"]), {})} for row in result.tables[table]]
    tables = {**result.tables, table: rows}
    return answered(replace(result, tables=tables, summary={**result.summary, **summary}))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        # areas ½ (.64 + .48 + .36 + .48) = .98 and ½ (.48 * 4) = .96, of 2 for a perfect square
        ("two", "First by MLcps: svm with 0.980 (0.490 of the largest area), 0.020 above rf, on "
                "the Pareto front as every model is."),
        # ½ sin 120° = .43301: (.48 + .42 + .56) = .632, of 1.299; x 3 * .36: .468
        ("tie", "First by MLcps: rf and svm, a tie, with 0.632 (0.487 of the largest area), 0.165 "
                "above x, on the Pareto front."),
        # mcc is (mcc + 1) / 2 there: rf ½ (.7052 + .697 + .7905 + .7998) = 1.49625, svm 1.4877
        ("predictions", "First by MLcps: rf with 1.496 [1.466, 1.526] (0.748 of the largest "
                        "area), 0.009 above svm, on the Pareto front."),
        # f1 twice, mcc half: svm ½ (1.4256 + .5832 + .324 + .792) = 1.5624, rf 1.55485, all 2.25
        ("weighted", "First by MLcps: svm with 1.562 (0.694 of the largest area), 0.008 above rf,"),
        # rf (.72 * .55 * 2/3 * .27/.34)^¼ = .67666, svm (.76 * .525 * .7 * .24/.34)^¼ = .66635
        ("goals", "First by desirability: rf with D 0.677 [0.667, 0.687], 0.010 above svm, on the "
                  "Pareto front."),
        # √(.76 * .525) = .63167, √(.72 * .55) = .62929
        ("pair", "First by desirability: svm with D 0.632, 0.002 above rf, on the Pareto front."),
    ],
)  # fmt: skip
def test_the_first_sentence_says_who_is_first_with_what_and_how_far(name: str, words: str) -> None:
    assert text(RESULTS[name], "first").startswith(words)
    assert RESULTS[name].answer[0].code == "first"


def test_the_first_sentence_holds_its_number_and_its_models() -> None:
    one = sentence(RESULTS["predictions"], "first")
    assert one is not None
    assert (one.models, one.measure) == (("rf",), "mlcps")
    # .03 to both sides
    assert (one.value, one.low, one.high) == pytest.approx((1.49625, 1.46625, 1.52625))
    tie = sentence(RESULTS["tie"], "first")
    assert tie is not None
    assert tie.models == ("rf", "svm")


def test_of_those_that_tie_it_is_said_who_is_off_the_front() -> None:
    result = changed(RESULTS["tie"], "models", {"svm": {"pareto": False}})
    assert "not all on the Pareto front (off it: svm)." in text(result, "first")


def test_a_first_model_below_another_is_named_with_that_one() -> None:
    result = changed(RESULTS["five"], "models", {"svm": {"pareto": False, "dominated_by": "rf"}})
    assert text(result, "first").endswith("above rf, not on the Pareto front (under rf).")


def test_all_that_tie_are_above_nobody() -> None:
    result = ranked(dict.fromkeys(("a", "b", "c"), (0.5, 0.5, 0.5)), ("x", "y", "z"))
    # ½ sin 120° * 3 * .25 = .325, of 1.299 a quarter
    assert said(result).startswith(
        "First by MLcps: a, b and c, a tie, with 0.325 (0.250 of the largest area), on the Pareto "
        "front as every model is. One of them is first in every order"
    )
    assert sentence(result, "untested") is None


def test_names_with_commas_cannot_mislead() -> None:
    result = ranked({"a, b": (0.9, 0.9, 0.9), "c + d": (0.8, 0.8, 0.8)}, ("x", "y", "z"))
    assert text(result, "first").startswith("First by MLcps: 'a, b' with ")
    assert "above 'c + d'," in text(result, "first")


def test_one_model_is_ranked_against_nobody() -> None:
    assert said(LONE) == (
        "One model: nothing to rank it against; rf has 0.632 (0.487 of the largest area)."
    )
    assert [one.code for one in LONE.answer] == ["one-model"]
    assert sentence(RESULTS["two"], "one-model") is None


def test_without_a_score_nobody_is_first() -> None:
    lost = {"mlcps": Estimate(None, reason="missing_component"), "rank": None}
    result = changed(RESULTS["two"], "models", {"rf": lost, "svm": lost}, best=[])
    assert said(result) == "No model has a score, so none is first."
    assert sentence(RESULTS["two"], "no-score") is None


def test_where_all_areas_are_0_nobody_is_first() -> None:
    # every second metric is 0, so no two neighbours span a triangle
    flat = ranked({"a": (0.9, 0.0, 0.9, 0.0), "b": (0.7, 0.0, 0.5, 0.0)})
    assert said(flat) == "MLcps is 0 for every model, so none is first."
    assert flat.answer[0].models == ()
    one = ranked({"a": (0.9, 0.0, 0.9, 0.0), "b": (0.7, 0.1, 0.5, 0.0)})
    assert sentence(one, "no-score") is None
    assert text(one, "first").startswith("First by MLcps: b with 0.060 (0.030 of the largest area)")


def test_where_every_deal_is_broken_nobody_is_first() -> None:
    goals = {"x": (0.9, 1.0), "y": (0.0, 1.0)}
    result = ranked({"a": (0.9, 0.5), "b": (0.5, 0.9)}, ("x", "y"), goals=goals)
    assert said(result) == "No model meets what is wanted: every D is 0."
    assert result.answer[0].models == ()
    some = ranked({"a": (0.91, 0.5), "b": (0.5, 0.9)}, ("x", "y"), goals=goals)
    assert sentence(some, "none-desirable") is None
    # (.01 / .1 * .5)^½
    assert text(some, "first").startswith("First by desirability: a with D 0.224, 0.224 above b,")


def test_metrics_alone_do_not_tell_chance() -> None:
    words = "Whether the lead is chance cannot be told"
    assert text(RESULTS["two"], "untested") == (
        f"{words} from metrics alone: no sampling error is in what follows."
    )
    for name in ("predictions", "one model"):
        assert sentence(RESULTS[name], "untested") is None
    table = predictions([1] * 9 + [0] * 9, good=1, bad=6)
    assert text(of(table, interval="none"), "untested") == f"{words} without intervals."
    assert sentence(of(table), "untested") is None


def predictions(truth: list[int], **wrong: int) -> pl.DataFrame:
    """Make models that are wrong in so many first rows of each class."""
    half = len(truth) // 2
    return pl.DataFrame({
        "truth": truth,
        **{name: [1 - y if i % half < n else y for i, y in enumerate(truth)]
           for name, n in wrong.items()},
    })  # fmt: skip


def of(table: pl.DataFrame, **options: object) -> Result:
    metric = ["sensitivity", "specificity", "precision"]
    return clfeval.mlcps(
        table, source="predictions", truth="truth", positive="1", metric=metric, **options
    )


def test_who_is_better_in_every_resample_is_told_apart() -> None:
    # some of its 20 wrong rows of 40 are in every resample: none with a chance of 2^-40
    result = of(predictions([1] * 20 + [0] * 20, right=0, half=10, worse=15))
    one = sentence(result, "significantly-worse")
    assert one is not None
    assert one.text == "Each other model has less, and chance does not explain it."
    assert one.models == ("right",)
    assert sentence(result, "not-significantly-different") is None


def test_who_is_as_good_in_many_resamples_is_not_told_apart() -> None:
    # its two wrong rows are both missed by one resample in e², far more than one in 80
    result = of(predictions([1] * 20 + [0] * 20, right=0, near=1, worse=15))
    one = sentence(result, "not-significantly-different")
    assert one is not None
    assert one.text == "On these rows it cannot be told from near."
    assert one.models == ("near",)
    assert sentence(result, "significantly-worse") is None


def test_three_that_tie_are_not_told_from_the_next() -> None:
    result = of(predictions([1] * 20 + [0] * 20, a=0, b=0, c=0, near=1, worse=15))
    assert result.answer[0].models == ("a", "b", "c")
    words = "On these rows they cannot be told from near."
    assert text(result, "not-significantly-different") == words


@pytest.mark.parametrize("wrong", [{"a": 0}, {"a": 0, "b": 0}, {"a": 1, "b": 1, "c": 1}])
def test_where_all_are_first_nobody_is_told_apart(wrong: dict[str, int]) -> None:
    result = of(predictions([1] * 5 + [0] * 5, **wrong))
    assert {one.code for one in result.answer} <= {"first", "one-model", "firm", "fragile"}


def test_many_equals_are_counted() -> None:
    result = RESULTS["thirty"]
    others = [i for i, row in enumerate(result.tables["models"]) if row["rank"] != 1][:8]
    first = [i for i, row in enumerate(result.tables["models"]) if row["rank"] == 1]
    answer = {one.code: one for one in mlcps_answer(result, first, others)}
    names = [str(result.tables["models"][i]["model"]) for i in others]
    assert answer["not-significantly-different"].models == tuple(names)
    assert answer["not-significantly-different"].text.endswith(f"{', '.join(names[:6])} or 2 more.")


@pytest.mark.parametrize(
    ("name", "firm", "fragile"),
    [
        # areas .96 and .98 in this order; in others it is the other way round
        ("two", "", "But rf is first, alone or tied, in another order of the metrics, and rf is "
                    "first if one metric is left out or doubled ("),
        ("tie", "One of them is first in every order of the metrics.", ""),
        ("predictions", "It is first in every order of the metrics.",
         "But svm is first if one metric is left out or doubled ("),
        ("weighted", "It is first with 81.2 % of the weights drawn.",
         "But rf is first, alone or tied, in another order of the metrics."),
        ("goals", "",
         "But rf or svm is first by MLcps (the order of the metrics decides), and it is first only "
         "in 75.0 % of the resamples."),
        ("pair", "", ""),
    ],
)  # fmt: skip
def test_it_is_said_what_bears_the_first_out_and_what_does_not(
    name: str, firm: str, fragile: str
) -> None:
    assert text(RESULTS[name], "firm") == firm
    assert text(RESULTS[name], "fragile").startswith(fragile)
    assert bool(text(RESULTS[name], "fragile")) == bool(fragile)


def test_a_first_place_in_few_resamples_does_not_bear_itself_out() -> None:
    result = changed(RESULTS["predictions"], "models", {"rf": {"first": Estimate(0.375)}})
    assert text(result, "firm") == "It is first in every order of the metrics."
    assert text(result, "fragile").endswith(", and it is first only in 37.5 % of the resamples.")


def test_a_first_place_bears_out_at_the_level_of_the_intervals() -> None:
    """At 95 %, and of a model told from all others: 949 of 1,000 resamples do not."""
    for share, code in ((0.949, "fragile"), (0.95, "firm"), (0.7, "fragile")):
        result = changed(RESULTS["predictions"], "models", {"rf": {"first": Estimate(share)}})
        names = [row["model"] for row in result.tables["models"]]
        first, alike = names.index("rf"), names.index("svm")
        told = {one.code: one.text for one in mlcps_answer(result, [first], [])}
        assert f"in {100 * share:.1f} % of the resamples" in told[code]
        same = {one.code: one.text for one in mlcps_answer(result, [first], [alike])}
        assert "resamples" not in same["firm"]
        if code == "firm":
            words = "and that it is first in 95.0 % of the resamples does not tell it from svm."
            assert same["fragile"].endswith(words)
        else:
            assert f"first only in {100 * share:.1f} % of the resamples" in same["fragile"]


def test_a_rank_no_weights_change_is_said_so() -> None:
    firm = ranked({"best": (0.9, 0.9, 0.9), "other": (0.6, 0.7, 0.8)}, ("a", "b", "c"))
    result = changed(firm, "ranks", {"best": {"weight_dependent": False}})
    words = "It is first in every order of the metrics and with any weights above 0 in this order."
    assert text(result, "firm") == words
    assert sentence(result, "fragile") is None
    assert text(firm, "firm") == (
        "It is first in every order of the metrics and whichever metric is doubled."
    )


def test_many_that_could_be_first_are_counted() -> None:
    result = replace(RESULTS["thirty"], summary={
        **RESULTS["thirty"].summary, "winners": [f"model {i}" for i in range(1, 8)],
        "best": ["model 1"],
    })  # fmt: skip
    words = "But one of 6 models is first, alone or tied, in other orders of the metrics"
    assert text(answered(result), "fragile").startswith(words)


def test_a_sample_of_orders_is_not_all_of_them() -> None:
    few = {"looked_at": 10, "all": False}
    result = replace(RESULTS["tie"], parameters={**RESULTS["tie"].parameters, "orders": few})
    words = "One of them is first in all 10 orders of the metrics looked at."
    assert text(answered(result), "firm") == words


def test_splits_are_counted_of_all_that_tie() -> None:
    split = "in 5 of 5 splits"
    assert split in text(RESULTS["splits"], "firm")
    both = ranked(TIE, ("a", "b", "c"), splits=True)
    assert text(both, "firm") == f"One of them is first in every order of the metrics and {split}."
    # rf is first in splits 0 and 1, svm in 1 and 2, x in the others
    first = {0: ("rf",), 1: ("rf", "svm"), 2: ("svm",)}
    rows = [{**row, "rank": 1 if row["model"] in first.get(i // 3, ("x",)) else 2}
            for i, row in enumerate(both.tables["splits"])]  # fmt: skip
    some = answered(replace(both, tables={**both.tables, "splits": rows}))
    assert text(some, "firm").endswith("and in 3 of 5 splits.")
    rows = [{**row, "rank": 1 if row["model"] in first.get(i // 3 + 1, ("x",)) else 2}
            for i, row in enumerate(both.tables["splits"])]  # fmt: skip
    few = answered(replace(both, tables={**both.tables, "splits": rows}))
    assert text(few, "fragile") == "But one of them is first only in 2 of 5 splits."


def test_a_name_that_looks_like_several_is_one_model() -> None:
    name = "SVM (and PCA)"
    result = ranked({name: (0.9, 0.9, 0.9), "b": (0.1, 0.2, 0.3)}, ("x", "y", "z"))
    assert sentence(result, "fragile") is None
    rows = [{**row, "winner_doubled": f"{name} (and 1 more)"} for row in result.tables["metrics"]]
    tied = answered(replace(result, tables={**result.tables, "metrics": rows}))
    assert sentence(tied, "fragile") is None


def test_another_table_is_compared() -> None:
    assert text(RESULTS["compared"], "compared") == (
        "Compared with test.csv: the same first; Kendall's τ of the ranks 0.700 (1: the same "
        "order)."
    )
    assert sentence(RESULTS["five"], "compared") is None
    # there the areas of rf and svm are those of lda, so lda is first with them
    lda = dict.fromkeys(("rf", "svm"), FIVE["lda"])
    three = sentence(ranked(compare={**FIVE, **lda}), "compared")
    assert three is not None
    assert three.text.startswith("Compared with test.csv: first there, lda, rf and svm; ")
    assert three.models == ("lda", "rf", "svm")
    other = ranked(compare={**FIVE, "svm": FIVE["tree"]})
    assert text(other, "compared").startswith("Compared with test.csv: another first, rf; ")
    flat = ranked(compare=dict.fromkeys(FIVE, FIVE["rf"]))
    assert text(flat, "compared") == (
        "Compared with test.csv: first there, lda, rf, svm, knn and 1 more."
    )


def test_where_nobody_meets_the_wishes_there_nobody_is_first_there() -> None:
    frame = pl.DataFrame({"model": ["a", "b"], "x": [0.9, 0.6], "y": [0.8, 0.7]})
    there = frame.with_columns(x=pl.lit(0.1))
    wishes = {"x": {"goal": "maximize", "low": 0.5, "high": 1}}
    result = clfeval.mlcps(frame, desirability=wishes, compare=there)
    assert "no model meets there what is wanted" in text(result, "compared")
    assert sentence(result, "compared").models == ()  # type: ignore[union-attr]
    back = clfeval.mlcps(there, desirability=wishes, compare=frame)
    assert [one.code for one in back.answer] == ["none-desirable"]


def test_models_of_one_table_alone_are_named() -> None:
    here = pl.DataFrame({"model": ["a", "b", "c"], **{key: [0.9, 0.8, 0.7] for key in "xyz"}})
    result = clfeval.mlcps(here, compare=here.tail(2))
    assert text(result, "compared").startswith("Compared with ")
    assert ": a not in it; among the 2 models of both, the same first; " in text(result, "compared")


@pytest.mark.parametrize("name", RESULTS)
def test_at_most_five_whole_sentences_each_with_its_code(name: str) -> None:
    answer = RESULTS[name].answer
    assert 1 <= len(answer) <= 5
    codes = [one.code for one in answer]
    assert len({*codes}) == len(codes)
    assert {*codes} <= {*ANSWERS}
    assert all(one.text.endswith(".") and one.text[0].isupper() for one in answer)


@pytest.mark.parametrize("names", ["cd", "dc"])
def test_whoever_is_first_stays_so_in_a_tie_whatever_the_order_of_rows(names: str) -> None:
    # in ½ sin 120°: c .25 + .125 + .125 = .5, d .375; with z doubled both .75
    rays = {"c": (0.5, 0.5, 0.25), "d": (0.0, 0.5, 0.75)}
    frame = pl.DataFrame(
        [(name, *rays[name]) for name in names], ["model", "x", "y", "z"], orient="row"
    )
    result = clfeval.mlcps(frame)
    assert result.tables["metrics"][2]["winner_doubled"] == "c (and 1 more)"
    assert text(result, "firm").endswith("and whichever metric is doubled.")
    assert sentence(result, "fragile") is None
