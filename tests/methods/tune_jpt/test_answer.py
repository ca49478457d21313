"""What tune-jpt answers in sentences: each where it is true, and silence where it would not be."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.document import Answer
from clfeval.document.cells import Cell, Estimate, Row
from clfeval.methods.tune_jpt.answer import tune_answer
from tests.results import answers_of, rows_of
from tests.texts import check_text, numbers_in

CCP, RF = (67, 5, 33, 95), (69, 15, 31, 85)
GOOD, BAD = (900, 100, 100, 900), (600, 400, 400, 600)  # TAR .9 and .6 at every class ratio
FEW, FEWER, NEVER = (9, 1, 1, 9), (8, 2, 2, 8), (0, 0, 50, 50)
WIDE, NARROW = {"sweep": "1:1000..1000:1"}, {"sweep": "1:10..10:1", "points": 3}
EVEN = {"prevalence": 0.5}
Sentences = dict[str, list[Answer]]


def sentences(counts: Any = None, table: Any = None, **options: Any) -> Sentences:
    """Return the sentences by code; what every answer must keep to is checked."""
    options = {"sweep": None, **options}
    if counts is not None:
        options["counts"] = counts
    answer = clfeval.tune_jpt(table, **options).answer
    assert len(answer) <= 5
    by_code: Sentences = {}
    for sentence in answer:
        assert sentence.text.endswith(".")
        assert "None" not in sentence.text
        assert "nan" not in sentence.text
        by_code.setdefault(sentence.code, []).append(sentence)
    return by_code


def scores_40_times(
    positives: Sequence[float], negatives: Sequence[float], **models: Sequence[float]
) -> pl.DataFrame:
    """Return 40 rows of each score of model a, and of further models."""
    truth = [1] * 40 * len(positives) + [0] * 40 * len(negatives)
    scores = {"a": [*positives, *negatives], **models}
    columns = {name: [x for x in values for _ in range(40)] for name, values in scores.items()}
    return pl.DataFrame({"truth": truth, **columns})


# counts, options, the codes, and of some codes the models, the value and numbers of the text
Expected = dict[str, tuple[tuple[str, ...], float | None, list[float]]]
CASES: dict[str, tuple[Any, dict[str, Any], list[str], Expected]] = {
    # (900 + 900) of 2000
    "one is worse": (
        {"b": BAD, "a": GOOD},
        EVEN,
        ["best-at", "significantly-worse", "at-prevalence"],
        {"best-at": (("a",), 0.9, [0.5, 0.9])},
    ),
    "every other is worse": (
        {"b": BAD, "a": GOOD, "c": BAD},
        EVEN,
        ["best-at", "significantly-worse", "at-prevalence"],
        {"best-at": (("a",), 0.9, [])},
    ),
    "intervals overlap": (
        {"a": FEW, "b": FEWER},
        EVEN,
        ["best-at", "not-significantly-different", "at-prevalence"],
        {"not-significantly-different": (("b",), None, [])},
    ),
    "three tie": (
        {"worse": BAD, "a": GOOD, "b": GOOD, "c": GOOD},
        EVEN,
        ["best-at", "significantly-worse", "at-prevalence"],
        {"best-at": (("a", "b", "c"), 0.9, [])},
    ),
    "two tie with a third": (
        {"a": FEW, "b": FEW, "c": FEWER},
        EVEN,
        ["best-at", "not-significantly-different", "at-prevalence"],
        {"best-at": (("a", "b"), 0.9, []), "not-significantly-different": (("c",), None, [])},
    ),
    "no intervals": (
        {"a": GOOD, "b": BAD},
        {**EVEN, "interval": "none"},
        ["best-at", "untested", "at-prevalence"],
        {"best-at": (("a",), 0.9, [])},
    ),
    "undefined for all": (
        {"a": NEVER, "b": NEVER},
        {"prevalence": 0.1, "measure": "ppv"},
        ["no-leader"],
        {},
    ),
    # PPV of b at 1:9: (10/50) / (10/50 + 9 x 5/50) = .2 / 1.1
    "one is defined": (
        {"a": NEVER, "b": (10, 5, 40, 45)},
        {"prevalence": 0.1, "measure": "ppv"},
        ["best-at", "at-prevalence"],
        {"best-at": (("b",), 0.2 / 1.1, [0.182])},
    ),
    "one is defined everywhere": (
        {"a": NEVER, "b": (10, 5, 40, 45)},
        {**WIDE, "measure": "ppv"},
        ["best-at", "at-prevalence", "leads-everywhere"],
        {"leads-everywhere": (("b",), None, [])},
    ),
    # of negatives only, and of positives only: no ratio to be compared at
    "each lacks a class": ({"a": (0, 10, 0, 90), "b": (10, 0, 3, 0)}, {}, ["no-leader"], {}),
    # of 101 ccp flags .67 + 100 x .05 = 5.67, .67 of them positive; 95 of 95.33 others; its
    # accuracy (.67 + 95) / 101 is less than 100/101 of no positive prediction at all
    "a constant is better": (
        {"ccp": CCP, "rf": RF},
        {"prevalence": "1:100"},
        ["at-prevalence", "constant-better"],
        {
            "at-prevalence": (("ccp",), 0.67 / 5.67, [0.118, 0.9965, 56.1, 8.5]),
            "constant-better": ((), None, [0.9901]),
        },
    ),
    "the other constant is better": (
        {"ccp": CCP, "rf": RF},
        {"prevalence": "100:1"},
        ["at-prevalence", "constant-better"],
        {"at-prevalence": (("ccp",), 67 / 67.05, []), "constant-better": ((), None, [0.9901])},
    ),
    # FP 1, FN 10: a .5 (.1 + 10 x .1) = .55, b .5 (.4 + 4) = 2.2; all positive: .5
    "a constant has less cost": (
        {"b": BAD, "a": GOOD},
        {**EVEN, "measure": "cost:fp=1,fn=10"},
        ["best-at", "significantly-worse", "at-prevalence"],
        {"best-at": (("a",), 0.55, [0.55, 0.5])},
    ),
    # of 1,000: 20 x .67 = 13.4 positives detected, 980 x .05 = 49 false alarms: PPV 13.4 / 62.4;
    # NPV 931 / 937.6, for 6.6 positives are missed
    "one model": (
        CCP,
        {"prevalence": 0.02, "interval": "none"},
        ["at-prevalence"],
        {"at-prevalence": (("model",), 13.4 / 62.4, [0.02, 0.215, 0.993, 62.4, 1000, 4.7])},
    ),
    # 67 of 72 positive predictions are true, and 95 of 128 negative ones; 72 of 200; 72 / 67
    "one model at the prevalence of its rows": (
        CCP,
        {"interval": "none"},
        ["at-prevalence"],
        {"at-prevalence": (("model",), 67 / 72, [0.5, 0.931, 0.742, 360, 1.07])},
    ),
    # TAR of both is equal at p = .1 / (.1 + .02)
    "the lead changes": (
        {"ccp": CCP, "rf": RF},
        {**WIDE, "prevalence": "1:100"},
        ["at-prevalence", "constant-better", "lead-changes"],
        {"lead-changes": (("ccp", "rf"), None, [0.833, 31])},
    ),
    "a lead within chance everywhere": (
        {"a": FEW, "b": FEWER},
        NARROW,
        ["best-at", "not-significantly-different", "at-prevalence", "leads-everywhere"],
        {"leads-everywhere": (("a",), None, [3])},
    ),
    "a significant lead everywhere": (
        {"a": GOOD, "b": GOOD, "c": BAD},
        NARROW,
        ["best-at", "significantly-worse", "at-prevalence", "leads-everywhere"],
        {"leads-everywhere": (("a", "b"), None, [3])},
    ),
    "a lead everywhere without intervals": (
        {"a": GOOD, "b": BAD},
        {**NARROW, "interval": "none"},
        ["best-at", "untested", "at-prevalence", "leads-everywhere"],
        {"leads-everywhere": (("a",), None, [])},
    ),
    "all tie everywhere": (
        {"a": GOOD, "b": GOOD},
        NARROW,
        ["best-at", "at-prevalence", "leads-everywhere"],
        {"leads-everywhere": (("a", "b"), None, [])},
    ),
    # PPV odds of a: 50 against no false positive
    "an infinite value": (
        {"a": (50, 0, 50, 100), "b": (60, 5, 40, 95)},
        {**EVEN, "measure": "ppv_odds"},
        ["best-at", "not-significantly-different", "at-prevalence"],
        {"best-at": (("a",), None, [])},
    ),
    # of other rows, so at equal classes, and untested: a (.67 + .95) / 2 = .81, b (.5 + .5) / 2
    "models of other rows": (
        {"a": CCP, "b": (25, 100, 25, 100)},
        {},
        ["best-at", "untested", "at-prevalence"],
        {"best-at": (("a",), 0.81, [0.5, 0.81])},
    ),
    "a name with a comma": (
        {"k-NN, k=5": FEW, "b": FEWER},
        EVEN,
        ["best-at", "not-significantly-different", "at-prevalence"],
        {"best-at": (("k-NN, k=5",), 0.9, [])},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_answered_of_counts(name: str) -> None:
    counts, options, codes, expected = CASES[name]
    by_code = sentences(counts, **options)
    assert [*by_code] == codes
    for code, (models, value, numbers) in expected.items():
        answer = by_code[code][0]
        assert answer.models == models
        assert answer.value == (value if value is None else pytest.approx(value))
        assert {*numbers} <= {*numbers_in(answer.text)}, answer.text
        if value is not None and options.get("interval") != "none":
            assert answer.low is not None
            assert answer.high is not None
            assert answer.low < value < answer.high
    check_text(answer.text for answers in by_code.values() for answer in answers)


def test_a_lead_is_significant_at_some_ratios() -> None:
    doubled = {"ccp": tuple(2 * n for n in CCP), "rf": tuple(2 * n for n in RF)}
    result = clfeval.tune_jpt(counts=doubled, **WIDE)
    winners = [row["winner"] for row in rows_of(result, "winners", population="sweep")]
    (sentence,) = answers_of(result, "lead-changes")
    significant = sum(winner is not None for winner in winners)
    assert 0 < significant < len(winners) == 31
    assert {significant, 31} <= {*numbers_in(sentence.text)}


def test_ppv_is_undefined_without_positive_predictions() -> None:
    by_code = sentences(
        {"a": NEVER, "b": (0, 9, 50, 41)}, prevalence=0.1, measure=("tar", "ppv")
    )  # a is right in 9 of 10 rows
    ppv = by_code["at-prevalence"][0]
    assert by_code["best-at"][0].models == ppv.models == ("a",)
    assert ppv.value is None
    (single,) = sentences(NEVER, prevalence=0.1, measure="ppv")["at-prevalence"]
    assert single.value is None
    check_text([ppv.text, single.text])


@pytest.mark.parametrize("measure", [None, "cost:fp=1,fn=10"])
@pytest.mark.parametrize("score", [0.4, 0.9])
def test_the_best_usable_threshold_is_named_with_its_rule(
    measure: str | None, score: float
) -> None:
    """All positives have one score, and all negatives .1: half of 1,000 rows are flagged.

    Without costs the threshold is .5, as in a report, below which a score of .4 lies.
    """
    by_code = sentences(
        table=scores_40_times([score], [0.1]), truth="truth", prevalence=0.5, measure=measure or ()
    )
    (ppv,) = by_code["at-prevalence"]
    if measure is None and score < 0.5:
        assert (ppv.models, ppv.value) == (("a",), None)
        return
    assert (ppv.models, ppv.value) == (("a",), 1)
    assert {score if measure else 0.5, 500, 1000} <= {*numbers_in(ppv.text)}
    # half the rows are hits and none is a false alarm: a net benefit of .5 - 0; treat-all has .5
    # less half of the exchange rate: .45 by costs of 1:10, else 0 at the threshold .5
    assert ppv.text.endswith("the net benefit significantly exceeds treat-all and treat-none.")
    check_text(ppv.text)


def test_where_positives_are_rare_costs_choose_another_threshold_than_that_in_force() -> None:
    """Above .6 are 40 of 80 positives and no negative; above .4 all of them and 20 of 80.

    J is .5 and .75. At 1 %, FP 1, FN 1: cost .01 x .5 and .99 x .25.
    """
    table = scores_40_times([0.6, 0.6, 0.4, 0.4], [0.4, 0.1, 0.1, 0.1])
    for cost, cut in (((), 0.5), ("cost:fp=1,fn=1", 0.6)):
        by_code = sentences(table=table, truth="truth", prevalence=0.01, measure=cost)
        place = by_code["at-prevalence"][0].text.partition(", ")[0]
        assert numbers_in(place)[-1] == cut


def test_a_threshold_in_use_is_kept() -> None:
    """Of scores .4 and .1 none is above .5."""
    by_code = sentences(
        table=scores_40_times([0.4], [0.1]), truth="truth", prevalence=0.5, threshold=0.5
    )
    ppv = by_code["at-prevalence"][0]
    assert ppv.value is None
    check_text(ppv.text)


def test_the_model_of_a_report_leads_at_the_threshold_in_force() -> None:
    """b has ROC AUC 1 and predicts no positives at .5; a .75, right in 3 of 4 of both classes."""
    table = scores_40_times([0.9, 0.9, 0.9, 0.1], [0.1, 0.1, 0.1, 0.9], b=[0.4] * 4 + [0.3] * 4)
    options: dict[str, Any] = {"table": table, "truth": "truth", **EVEN, "interval": "none"}
    (ppv,) = sentences(**options)["at-prevalence"]
    assert (ppv.models, ppv.value) == (("b",), None)
    (ppv,) = sentences(**options, threshold={"b": 0.4})["at-prevalence"]
    assert (ppv.models, ppv.value) == (("b",), 1)


def test_labels_have_no_threshold() -> None:
    """a: PPV 1 / 1, NPV 2 / 3; b: PPV 2 / 3, NPV 1 / 1."""
    table = pl.DataFrame({"truth": [1, 1, 0, 0], "a": [1, 0, 0, 0], "b": [1, 1, 1, 0]})
    (ppv,) = sentences(table=table, truth="truth", interval="none")["at-prevalence"]
    assert (ppv.models, ppv.value) == (("a",), 1)
    assert {0.5, 1, 0.667} <= {*numbers_in(ppv.text)}


def test_without_a_sweep_or_with_one_model_no_change_is_looked_for() -> None:
    assert not {"lead-changes", "leads-everywhere"} & {*sentences({"a": GOOD, "b": BAD})}
    assert not {"lead-changes", "leads-everywhere"} & {*sentences(CCP, sweep="1:10..10:1")}


def test_every_target_has_its_best_model() -> None:
    """TAR at 1:3: of b (.8 + 3 x .95) / 4 = .9125, of a (.95 + 3 x .8) / 4; at 3:1 of a .9125."""
    pair = {"a": (19, 4, 1, 16), "b": (16, 1, 4, 19)}
    by_code = sentences(pair, prevalence=("1:3", "3:1"))
    first, second = by_code["best-at"]
    assert (first.models, first.value) == (("b",), pytest.approx(0.9125))
    assert (second.models, second.value) == (("a",), pytest.approx(0.9125))
    check_text([first.text, second.text])
    # PPV of b at 1:3: .8 / (.8 + 3 x .05)
    (ppv,) = by_code["at-prevalence"]
    assert (ppv.models, ppv.value) == (("b",), pytest.approx(0.8 / 0.95))


def test_every_target_where_a_constant_is_better_has_predictive_values() -> None:
    """PPV of ccp at 1:100 .67 / 5.67, at 100:1 67 / 67.05."""
    by_code = sentences({"ccp": CCP, "rf": RF}, prevalence=("1:100", "100:1"))
    values = [ppv.value for ppv in by_code["at-prevalence"]]
    assert values == [pytest.approx(0.67 / 5.67), pytest.approx(67 / 67.05)]
    assert len(by_code["constant-better"]) == 1
    assert "constant-better" not in sentences({"ccp": CCP, "rf": RF}, prevalence="1:1")


def test_many_targets_have_five_sentences() -> None:
    by_code = sentences({"a": FEW, "b": FEWER}, prevalence=tuple(f"1:{n}" for n in range(2, 9)))
    assert len(by_code["best-at"]) == 3


def test_weights_that_are_fractions_are_no_rows_to_test() -> None:
    table = pl.DataFrame(
        {"truth": [1, 1, 0, 0], "a": [1, 1, 0, 0], "b": [1, 0, 1, 0], "w": [0.5, 1.5, 1.0, 2.0]}
    )
    by_code = sentences(table=table, truth="truth", weight="w", interval="none")
    best = by_code["best-at"][0]
    assert (best.models, best.value) == (("a",), 1)
    assert "untested" in by_code


def test_slices_are_not_mixed_into_the_whole() -> None:
    table = pl.DataFrame(
        {
            "site": ["n", "s"] * 4,
            "truth": [1, 1, 0, 0] * 2,
            "a": [1, 1, 0, 0] * 2,
            "b": [0, 1, 1, 0] * 2,
        }
    )
    plain = sentences(table=table.drop("site"), truth="truth")
    assert sentences(table=table, truth="truth", by="site") == plain


def test_a_hundred_thousand_models_are_answered_at_once() -> None:
    def row_of_model(number: int) -> Row:
        cells: dict[str, Cell] = {"tar": Estimate(number / 100_000), "ppv": Estimate(0.5)}
        return {
            "slice": None,
            "model": f"m{number}",
            "population": "target",
            "prevalence": 0.5,
            "odds": "1:1",
            **cells,
        }

    rows = [row_of_model(number) for number in range(100_000)]
    start = perf_counter()
    answer = tune_answer(
        {"models": rows}, {"compared_by": "tar", "interval": "none", "margin": None}
    )
    assert perf_counter() - start < 10  # seconds; much less on a free machine
    assert answer[0].models == ("m99999",)


def test_a_measure_that_has_no_best_decides_nothing() -> None:
    assert sentences({"a": GOOD, "b": BAD}, measure="phi") == sentences({"a": GOOD, "b": BAD})
