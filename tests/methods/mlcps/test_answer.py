"""What mlcps answers: which sentences there are, on which models and numbers they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate, Row
from clfeval.methods.mlcps.answer import mlcps_answer
from clfeval.pages.codes import ANSWERS
from tests.results import answer_codes, sentences_by_code
from tests.texts import check_text, numbers_in
from tests.views.ranked import FIVE, RESULTS, TIE, answered, ranked

SAME = dict.fromkeys("abc", (0.5, 0.5, 0.5))
FLAT = {"a": (0.9, 0.0, 0.9, 0.0), "b": (0.7, 0.0, 0.5, 0.0)}  # no two neighbours span a triangle
GOALS = {"x": (0.9, 1.0), "y": (0.0, 1.0)}


def changed(result: Result, table: str, cells: Mapping[str, Row], **summary: object) -> Result:
    """Change cells of some models, and let the result say what follows."""
    rows = [{**row, **cells.get(str(row["model"]), {})} for row in result.tables[table]]
    tables = {**result.tables, table: rows}
    return answered(replace(result, tables=tables, summary={**result.summary, **summary}))


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "awkward"])
def test_the_answers_to_all_kinds_of_rankings(name: str) -> None:
    answer = RESULTS[name].answer
    assert 1 <= len(answer) <= 5
    assert {*sentences_by_code(RESULTS[name])} <= {*ANSWERS}
    assert all(sentence.text.endswith(".") for sentence in answer)
    check_text(sentence.text for sentence in answer)


@pytest.mark.parametrize(
    ("name", "models", "numbers"),
    [
        # areas ½ (.64 + .48 + .36 + .48) = .98 and ½ (.48 * 4) = .96, of 2 for a perfect square
        ("two", ["svm"], {0.98, 0.49, 0.02}),
        # ½ sin 120° is .43301: (.48 + .42 + .56) = .632, of 1.299; x 3 * .36: .468
        ("tie", ["rf", "svm"], {0.632, 0.487, 0.165}),
        # mcc is (mcc + 1) / 2 there: rf ½ (.7052 + .697 + .7905 + .7998) = 1.49625, svm 1.4877
        ("predictions", ["rf"], {1.496, 1.466, 1.526, 95, 0.009}),
        # f1 twice, mcc half: svm ½ (1.4256 + .5832 + .324 + .792) = 1.5624, rf 1.55485, all 2.25
        ("weighted", ["svm"], {1.562, 0.694, 0.008}),
        # rf (.72 * .55 * 2/3 * .27/.34)^¼ = .67666, svm (.76 * .525 * .7 * .24/.34)^¼ = .66635
        ("goals", ["rf"], {0.677, 0.667, 0.687, 95, 0.01}),
        # √(.76 * .525) = .63167, √(.72 * .55) = .62929
        ("pair", ["svm"], {0.632, 0.002}),
    ],
)
def test_who_is_first_with_what_and_how_far(
    name: str, models: list[str], numbers: set[float]
) -> None:
    best = RESULTS[name].answer[0]
    assert (best.code, [*best.models]) == ("first", models)
    assert best.measure == ("desirability" if name in ("goals", "pair") else "mlcps")
    assert {*numbers_in(best.text)} == numbers
    estimate = {round(x, 3) for x in (best.value, best.low, best.high) if x is not None}
    assert estimate <= numbers  # 95 is the level


def test_who_is_first_may_be_off_the_front_and_may_have_any_name() -> None:
    results = [
        changed(RESULTS["tie"], "models", {"svm": {"pareto": False}}),
        changed(RESULTS["five"], "models", {"svm": {"pareto": False, "dominated_by": "rf"}}),
        ranked({"a, b": (0.9, 0.9, 0.9), "c + d": (0.8, 0.8, 0.8)}, ("x", "y", "z")),
        ranked(SAME, ("x", "y", "z")),
    ]
    best = [sentences_by_code(result)["first"] for result in results]
    models = [sentence.models for sentence in best]
    assert models == [("rf", "svm"), ("svm",), ("a, b",), ("a", "b", "c")]
    check_text(sentence.text for sentence in best)
    # ½ sin 120° * 3 * .25 = .325, of 1.299 a quarter, above nobody
    assert numbers_in(best[-1].text) == [0.325, 0.25]
    assert "untested" not in sentences_by_code(results[-1])


def test_nobody_may_be_first() -> None:
    undefined = {"mlcps": Estimate(None, reason="missing_component"), "rank": None}
    unmet = ranked({"a": (0.9, 0.5), "b": (0.5, 0.9)}, ("x", "y"), goals=GOALS)
    for result, code in (
        (
            changed(RESULTS["two"], "models", {"rf": undefined, "svm": undefined}, best=[]),
            "no-score",
        ),
        (ranked(FLAT), "no-score"),
        (unmet, "none-desirable"),
    ):
        (answer,) = result.answer
        assert (answer.code, answer.models) == (code, ())
        check_text(answer.text)
    by_code = sentences_by_code(ranked({**FLAT, "b": (0.7, 0.1, 0.5, 0.0)}))
    assert "no-score" not in by_code
    assert by_code["first"].value == pytest.approx(0.1 * 1.2 / 2)
    by_code = sentences_by_code(
        ranked({"a": (0.91, 0.5), "b": (0.5, 0.9)}, ("x", "y"), goals=GOALS)
    )
    assert "none-desirable" not in by_code
    assert by_code["first"].value == pytest.approx((0.01 / 0.1 * 0.5) ** 0.5)


def labels_with_errors(truth: list[int], **errors: int) -> pl.DataFrame:
    """Return models that are wrong in so many first rows of each class."""
    half = len(truth) // 2
    return pl.DataFrame(
        {
            "truth": truth,
            **{
                name: [1 - y if i % half < n else y for i, y in enumerate(truth)]
                for name, n in errors.items()
            },
        }
    )


def ranked_labels(table: pl.DataFrame, **options: object) -> Result:
    metric = ["sensitivity", "specificity", "precision"]
    return clfeval.mlcps(
        table, source="predictions", truth="truth", positive="1", metric=metric, **options
    )


def test_metrics_alone_do_not_tell_chance() -> None:
    table = labels_with_errors([1] * 9 + [0] * 9, good=1, bad=6)
    assert "untested" in sentences_by_code(RESULTS["two"])
    check_text(sentences_by_code(ranked_labels(table, interval="none"))["untested"].text)
    for result in (RESULTS["predictions"], RESULTS["one model"], ranked_labels(table)):
        assert "untested" not in sentences_by_code(result)


@pytest.mark.parametrize(
    ("wrong", "code", "models"),
    [
        # some of its 20 wrong rows of 40 are in every resample: none with a chance of 2^-40
        ({"right": 0, "half": 10, "bad": 15}, "significantly-worse", ("right",)),
        # its two wrong rows are both missed by one resample in e², far more than one in 80
        ({"right": 0, "near": 1, "bad": 15}, "not-significantly-different", ("near",)),
        ({"a": 0, "b": 0, "c": 0, "near": 1, "bad": 15}, "not-significantly-different", ("near",)),
        ({"a": 0}, None, ("a",)),
        ({"a": 0, "b": 0}, None, ("a", "b")),
        ({"a": 1, "b": 1, "c": 1}, None, ("a", "b", "c")),
    ],
)
def test_who_is_worse_in_nearly_all_resamples(
    wrong: dict[str, int], code: str | None, models: tuple[str, ...]
) -> None:
    by_code = sentences_by_code(ranked_labels(labels_with_errors([1] * 20 + [0] * 20, **wrong)))
    tested = {"significantly-worse", "not-significantly-different"} & {*by_code}
    assert tested == ({code} if code else set())
    assert by_code[code or next(iter(by_code))].models == models
    if code:
        check_text(by_code[code].text)


def test_many_equals_are_counted() -> None:
    result = RESULTS["thirty"]
    tied = [i for i, row in enumerate(result.tables["models"]) if row["rank"] != 1][:8]
    best = [i for i, row in enumerate(result.tables["models"]) if row["rank"] == 1]
    answer = {sentence.code: sentence for sentence in mlcps_answer(result, best, tied)}
    names = [str(result.tables["models"][i]["model"]) for i in tied]
    equal = answer["not-significantly-different"]
    assert equal.models == tuple(names)
    assert ", ".join(names[:6]) in equal.text
    assert 8 - 6 in numbers_in(equal.text)
    assert names[6] not in equal.text


@pytest.mark.parametrize(
    ("name", "firm", "fragile", "numbers"),
    [
        ("two", False, True, []),
        ("tie", True, False, []),
        ("predictions", True, True, [75]),
        ("weighted", True, True, [61.7]),
        ("splits", True, True, [5, 5]),
        ("goals", False, True, [75]),
        ("pair", False, False, []),
    ],
)
def test_what_bears_the_first_out_and_what_does_not(
    name: str, firm: bool, fragile: bool, numbers: list[float]
) -> None:
    by_code = sentences_by_code(RESULTS[name])
    assert ("firm" in by_code, "fragile" in by_code) == (firm, fragile)
    texts = [by_code[code].text for code in ("firm", "fragile") if code in by_code]
    assert [x for text in texts for x in numbers_in(text)] == numbers


def test_a_first_place_bears_out_at_the_level_of_the_intervals() -> None:
    """At 95 %, and of a model told from all others: 949 of 1,000 resamples do not."""
    for share, code in ((0.949, "fragile"), (0.95, "firm"), (0.375, "fragile")):
        result = changed(RESULTS["predictions"], "models", {"rf": {"first": Estimate(share)}})
        names = [row["model"] for row in result.tables["models"]]
        for equal in ([], [names.index("svm")]):
            answer = mlcps_answer(result, [names.index("rf")], equal)
            texts = {sentence.code: sentence.text for sentence in answer}
            with_share = "fragile" if equal else code
            without_share = "firm" if with_share == "fragile" else "fragile"
            assert pytest.approx(100 * share) in numbers_in(texts[with_share])
            assert "svm" in texts["fragile"]
            assert pytest.approx(100 * share) not in numbers_in(texts[without_share])
            check_text([texts["firm"], texts["fragile"]])


def test_a_rank_no_weights_change_is_firm() -> None:
    firm = ranked({"best": (0.9, 0.9, 0.9), "other": (0.6, 0.7, 0.8)}, ("a", "b", "c"))
    independent = changed(firm, "ranks", {"best": {"weight_dependent": False}})
    for result in (firm, independent):
        assert "fragile" not in sentences_by_code(result)
        check_text(sentences_by_code(result)["firm"].text)


def test_many_that_could_be_first_and_a_sample_of_orders_are_counted() -> None:
    winners = {"winners": [f"model {i}" for i in range(1, 8)], "best": ["model 1"]}
    many = replace(RESULTS["thirty"], summary={**RESULTS["thirty"].summary, **winners})
    fragile = sentences_by_code(answered(many))["fragile"].text
    assert 7 - 1 in numbers_in(fragile)
    orders = {"looked_at": 10, "all": False}
    sample = replace(RESULTS["tie"], parameters={**RESULTS["tie"].parameters, "orders": orders})
    firm = sentences_by_code(answered(sample))["firm"].text
    check_text([fragile, firm])
    assert numbers_in(firm) == [10]


def test_splits_are_counted_of_all_that_tie() -> None:
    tied = ranked(TIE, ("a", "b", "c"), splits=True)
    check_text(sentences_by_code(tied)["firm"].text)
    # rf is first in splits 0 and 1, svm in 1 and 2, x in the others
    first = {0: ("rf",), 1: ("rf", "svm"), 2: ("svm",)}
    # of 5 splits 3 have one of both first; one later, 2 have, and others are first in 3
    for later, code, wins in ((0, "firm", 3), (1, "fragile", 5 - 2)):
        rows = [
            {**row, "rank": 1 if row["model"] in first.get(i // 3 + later, ("x",)) else 2}
            for i, row in enumerate(tied.tables["splits"])
        ]
        by_code = sentences_by_code(answered(replace(tied, tables={**tied.tables, "splits": rows})))
        assert numbers_in(by_code[code].text) == [wins, 5]


def test_a_name_that_looks_like_several_is_one_model() -> None:
    name = "SVM (and PCA)"
    result = ranked({name: (0.9, 0.9, 0.9), "b": (0.1, 0.2, 0.3)}, ("x", "y", "z"))
    rows = [{**row, "winner_doubled": f"{name} (and 1 more)"} for row in result.tables["metrics"]]
    tied = answered(replace(result, tables={**result.tables, "metrics": rows}))
    assert "fragile" not in {**sentences_by_code(result), **sentences_by_code(tied)}


def test_another_table_is_compared() -> None:
    # there the areas of rf and svm are those of lda, so lda is first with them
    lda = dict.fromkeys(("rf", "svm"), FIVE["lda"])
    for compare, models in (
        ({**FIVE, **lda}, ("lda", "rf", "svm")),
        ({**FIVE, "svm": FIVE["tree"]}, ("rf",)),
        (dict.fromkeys(FIVE, FIVE["rf"]), tuple(FIVE)),
    ):
        sentence = sentences_by_code(ranked(compare=compare))["compared"]
        assert {*sentence.models} == {*models}
        check_text(sentence.text)
    # of 10 pairs 8 stand alike, one the other way round, one ties there: 7 / √(10 * 9)
    assert numbers_in(sentences_by_code(RESULTS["compared"])["compared"].text)[0] == 0.738
    assert "compared" not in sentences_by_code(RESULTS["five"])


def test_where_nobody_meets_the_wishes_there_nobody_is_first_there() -> None:
    frame = pl.DataFrame({"model": ["a", "b"], "x": [0.9, 0.6], "y": [0.8, 0.7]})
    unmet = frame.with_columns(x=pl.lit(0.1))
    wishes = {"x": {"goal": "maximize", "low": 0.5, "high": 1}}
    sentence = sentences_by_code(clfeval.mlcps(frame, desirability=wishes, compare=unmet))[
        "compared"
    ]
    assert sentence.models == ()
    check_text(sentence.text)
    exchanged = clfeval.mlcps(unmet, desirability=wishes, compare=frame)
    assert answer_codes(exchanged) == ["none-desirable"]


def test_models_of_one_table_alone_are_named() -> None:
    frame = pl.DataFrame({"model": ["a", "b", "c"], **{key: [0.9, 0.8, 0.7] for key in "xyz"}})
    check_text(sentences_by_code(clfeval.mlcps(frame, compare=frame.tail(2)))["compared"].text)


@pytest.mark.parametrize("names", ["cd", "dc"])
def test_whoever_is_first_stays_so_in_a_tie_whatever_the_order_of_rows(names: str) -> None:
    # in ½ sin 120°: c .25 + .125 + .125 = .5, d .375; with z doubled both .75
    rays = {"c": (0.5, 0.5, 0.25), "d": (0.0, 0.5, 0.75)}
    frame = pl.DataFrame(
        [(name, *rays[name]) for name in names], ["model", "x", "y", "z"], orient="row"
    )
    result = clfeval.mlcps(frame)
    assert result.tables["metrics"][2]["winner_doubled"] == "c (and 1 more)"
    assert sentences_by_code(result)["firm"].models == ("c",)
    assert "fragile" not in sentences_by_code(result)
