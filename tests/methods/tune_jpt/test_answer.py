"""What tune-jpt answers in sentences: each where it is true, and silence where it would not be."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.methods.tune_jpt.answer import tune_answer
from clfeval.result import Answer, Cell, Estimate, Row

CCP, RF = (67, 5, 33, 95), (69, 15, 31, 85)
GOOD, BAD = (900, 100, 100, 900), (600, 400, 400, 600)  # TAR .9 and .6 at every class ratio
FEW, FEWER = (9, 1, 1, 9), (8, 2, 2, 8)


def said(counts: Any = None, table: Any = None, **options: Any) -> dict[str, list[Answer]]:
    """Return the sentences by code; what every answer must keep to is checked."""
    options = {"sweep": None, **options}
    if counts is not None:
        options["counts"] = counts
    answer = clfeval.tune_jpt(table, **options).answer
    assert len(answer) <= 5
    found: dict[str, list[Answer]] = {}
    for one in answer:
        assert one.text.endswith(".")
        assert "None" not in one.text
        assert "nan" not in one.text
        found.setdefault(one.code, []).append(one)
    return found


def text(found: dict[str, list[Answer]], code: str, place: int = 0) -> str:
    return found[code][place].text


def scored(positives: Sequence[float], negatives: Sequence[float], **more: Any) -> pl.DataFrame:
    """Return 40 rows of each score."""
    truth = [1] * 40 * len(positives) + [0] * 40 * len(negatives)

    def of(scores: Sequence[float]) -> list[float]:
        return [score for score in scores for _ in range(40)]

    columns = {"a": of([*positives, *negatives])}
    return pl.DataFrame({"truth": truth, **columns, **{k: of(v) for k, v in more.items()}})


def test_the_best_model_is_named_with_its_value_and_who_is_worse() -> None:
    found = said({"b": BAD, "a": GOOD}, prevalence=0.5)
    (best,) = found["best-at"]
    # (900 + 900) of 2000
    assert best.text.startswith("At prevalence 0.5 (1:1) a has the best TAR (accuracy), 0.900 [")
    assert best.text.endswith("].")
    assert (best.models, best.measure, best.value) == (("a",), "tar", pytest.approx(0.9))
    assert best.low is not None
    assert best.high is not None
    assert best.low < 0.9 < best.high
    assert text(found, "significantly-worse") == "b is significantly worse."
    assert not {"not-significantly-different", "untested"} & {*found}
    three = said({"b": BAD, "a": GOOD, "c": BAD}, prevalence=0.5)
    assert text(three, "significantly-worse") == "Every other model is significantly worse."


def test_intervals_that_overlap_leave_it_open() -> None:
    found = said({"a": FEW, "b": FEWER}, prevalence=0.5)
    assert text(found, "not-significantly-different") == "b is not significantly different."
    assert found["not-significantly-different"][0].models == ("b",)


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "c")])
def test_models_that_tie_share_the_first_place(names: tuple[str, ...]) -> None:
    found = said({"worse": BAD, **dict.fromkeys(names, GOOD)}, prevalence=0.5)
    (best,) = found["best-at"]
    several = "a and b" if len(names) == 2 else "a, b and c"
    assert best.text.startswith(f"At prevalence 0.5 (1:1) {several} have the best TAR")
    assert best.models == names
    assert text(found, "significantly-worse") == "worse is significantly worse."
    assert not {"not-significantly-different", "untested"} & {*found}


def test_without_intervals_nothing_is_significant() -> None:
    found = said({"a": GOOD, "b": BAD}, prevalence=0.5, interval="none")
    assert text(found, "best-at") == (
        "At prevalence 0.5 (1:1) a has the best TAR (accuracy), 0.900."
    )
    assert text(found, "untested") == "No test tells whether its lead is more than chance."
    assert "not-significantly-different" not in found


def test_what_is_undefined_has_no_leader() -> None:
    silent = (0, 0, 50, 50)
    found = said({"a": silent, "b": silent}, prevalence=0.1, measure="ppv")
    assert text(found, "no-leader") == "At prevalence 0.1 (1:9) PPV is undefined for every model."
    assert "best-at" not in found


def test_the_only_defined_value_is_no_significant_lead() -> None:
    """PPV of b at 1:9: (10/50) / (10/50 + 9 x 5/50) = .2 / 1.1."""
    found = said({"a": (0, 0, 50, 50), "b": (10, 5, 40, 45)}, prevalence=0.1, measure="ppv")
    assert "no-leader" not in found
    assert text(found, "best-at").startswith("At prevalence 0.1 (1:9) b has the best PPV, 0.182 [")
    assert text(found, "best-at").endswith("], the only one that is defined.")
    assert not {"not-significantly-different", "untested"} & {*found}
    found = said({"a": (0, 0, 50, 50), "b": (10, 5, 40, 45)}, measure="ppv", sweep="1:1000..1000:1")
    assert text(found, "leads-everywhere") == (
        "b has the best PPV at all ratios looked at from 1:1000 to 1000:1, the only one that is "
        "defined."
    )


def test_models_that_lack_one_class_each_have_no_ratio_to_be_compared_at() -> None:
    """Once: ValueError, for a of negatives only and b of positives only have no prevalence."""
    found = said({"a": (0, 10, 0, 90), "b": (10, 0, 3, 0)})
    assert text(found, "no-leader") == (
        "At prevalence 0.5 (1:1) TAR (accuracy) is undefined for every model."
    )


def test_where_no_model_is_as_accurate_as_a_constant_predictive_values_lead() -> None:
    """At 1:100 ccp flags .67 + 100 x .05 = 5.67 of 101, .67 of them positive; 95 of 95.33 others.

    No positive prediction at all has accuracy 100/101, ccp (.67 + 95) / 101.
    """
    pair = {"ccp": CCP, "rf": RF}
    found = said(pair, prevalence="1:100")
    assert [*found] == ["at-prevalence", "constant-better"]
    (there,) = found["at-prevalence"]
    assert there.text.startswith("At prevalence 0.009901 (1:100), ccp has PPV 0.118 (95% CI 0.")
    assert " and NPV 0.9965 (95% CI 0.99" in there.text  # 95 / 95.33
    # 1,000 x 5.67 / 101 and 5.67 / .67
    assert there.text.endswith("It raises 56.1 alarms per 1,000 rows, 8.5 per case detected.")
    assert (there.models, there.measure) == (("ccp",), "ppv")
    assert there.value == pytest.approx(0.67 / 5.67)
    assert text(found, "constant-better") == (
        "No model has a higher accuracy than predicting every row negative (0.9901)."
    )
    bare = said(pair, prevalence="1:100", interval="none")
    assert text(bare, "at-prevalence") == (
        "At prevalence 0.009901 (1:100), ccp has PPV 0.118 and NPV 0.9965. "
        "It raises 56.1 alarms per 1,000 rows, 8.5 per case detected."
    )


def test_the_constant_is_the_larger_class() -> None:
    pair = {"ccp": CCP, "rf": RF}
    assert "constant-better" not in said(pair, prevalence="1:1")
    words = "No model has a higher accuracy than predicting every row positive (0.9901)."
    assert text(said(pair, prevalence="100:1"), "constant-better") == words


def test_ppv_is_undefined_without_positive_predictions() -> None:
    found = said({"a": (0, 0, 50, 50), "b": (0, 9, 50, 41)}, prevalence=0.1, measure=("tar", "ppv"))
    assert "a has the best TAR" in text(found, "best-at")
    words = "At prevalence 0.1 (1:9), {} predicts no positives: PPV is undefined."
    assert text(found, "at-prevalence") == words.format("a")
    alone = said((0, 0, 50, 50), prevalence=0.1, measure="ppv")
    assert text(alone, "at-prevalence") == words.format("the model")
    assert alone["at-prevalence"][0].value is None


def test_another_measure_leads_and_the_better_constant_is_named() -> None:
    """At 1:1, FP 1, FN 10: a .5 (.1 + 10 x .1) = .55, b .5 (.4 + 4) = 2.2; all positive: .5."""
    found = said({"b": BAD, "a": GOOD}, prevalence=0.5, measure="cost:fp=1,fn=10")
    assert "a has the best expected cost, 0.550 [" in text(found, "best-at")
    assert text(found, "best-at").endswith("; better is predicting every row positive (0.500).")
    assert "constant-better" not in found


def test_of_one_model_predictive_values_are_all_there_is_to_say() -> None:
    """At 2 %, of 1,000: 20 x .67 = 13.4 positives detected, 980 x .05 = 49 false alarms.

    PPV 13.4 / 62.4; NPV 931 / 937.6, for 6.6 positives are missed.
    """
    found = said(CCP, prevalence=0.02, interval="none")
    assert [*found] == ["at-prevalence"]
    assert text(found, "at-prevalence") == (
        "At prevalence 0.02 (1:49), the model has PPV 0.215 and NPV 0.9930. "
        "It raises 62.4 alarms per 1,000 rows, 4.7 per case detected."
    )


def test_without_target_one_model_is_evaluated_at_the_prevalence_of_its_rows() -> None:
    """67 of 72 positive predictions are true, and 95 of 128 negative ones."""
    found = said(CCP, interval="none")
    assert text(found, "at-prevalence") == (
        "At the prevalence of these rows (0.5), the model has PPV 0.931 and NPV 0.742. "
        "It raises 360 alarms per 1,000 rows, 1.07 per case detected."  # 72 of 200; 72 / 67
    )


@pytest.mark.parametrize(("measure", "rule"), [
    (None, "largest J"), ("cost:fp=1,fn=10", "lowest expected cost"),
])  # fmt: skip
@pytest.mark.parametrize("score", [0.4, 0.9])
def test_the_best_usable_threshold_is_named_with_its_rule(
    measure: str | None, rule: str, score: float
) -> None:
    """All positives have one score, and all negatives .1: half of 1,000 rows are flagged."""
    found = said(table=scored([score], [0.1]), truth="truth", prevalence=0.5, measure=measure or ())
    words = f"At prevalence 0.5 (1:1) and threshold {score} ({rule}), a has PPV 1.000 (95% CI 0."
    assert text(found, "at-prevalence").startswith(words)
    text_ = text(found, "at-prevalence")
    assert "It raises 500 alarms per 1,000 rows, 1.0 per case detected." in text_
    # half the rows are hits and none is a false alarm: .5 - 0
    assert (" Net benefit is 0.500 (95% CI" in text_) == (measure is not None)


def test_where_positives_are_rare_costs_choose_another_threshold_than_j() -> None:
    """Above .6 are 40 of 80 positives and no negative; above .4 all of them and 20 of 80.

    J is .5 and .75. At 1 %, FP 1, FN 1: cost .01 x .5 and .99 x .25.
    """
    table = scored([0.6, 0.6, 0.4, 0.4], [0.4, 0.1, 0.1, 0.1])
    for cost, cut in (((), "0.4 (largest J)"), ("cost:fp=1,fn=1", "0.6 (lowest expected cost)")):
        found = said(table=table, truth="truth", prevalence=0.01, measure=cost)
        words = f"At prevalence 0.01 (1:99) and threshold {cut}, a has PPV "
        assert text(found, "at-prevalence").startswith(words)


def test_a_threshold_in_use_is_kept() -> None:
    """Of scores .4 and .1 none is above .5."""
    table = scored([0.4], [0.1])
    found = said(table=table, truth="truth", prevalence=0.5, threshold=0.5)
    assert text(found, "at-prevalence") == (
        "At prevalence 0.5 (1:1) and threshold 0.5, a predicts no positives: PPV is undefined."
    )


def test_the_leader_has_its_own_best_threshold() -> None:
    """At .5 a is right in 3 of 4 of both classes, and b predicts no positives."""
    parts = [0.9, 0.9, 0.9, 0.1], [0.1, 0.1, 0.1, 0.9]
    found = said(
        table=scored(*parts, b=[0.4] * 4 + [0.3] * 4),
        truth="truth",
        prevalence=0.5,
        interval="none",
    )
    assert text(found, "at-prevalence") == (
        "At prevalence 0.5 (1:1) and threshold 0.9 (largest J), a has PPV 0.750 and NPV 0.750. "
        "It raises 500 alarms per 1,000 rows, 1.3 per case detected."
    )


def test_labels_have_no_threshold() -> None:
    """a: PPV 1 / 1, NPV 2 / 3; b: PPV 2 / 3, NPV 1 / 1."""
    table = pl.DataFrame({"truth": [1, 1, 0, 0], "a": [1, 0, 0, 0], "b": [1, 1, 1, 0]})
    found = said(table=table, truth="truth", interval="none")
    assert text(found, "at-prevalence").startswith(
        "At the prevalence of these rows (0.5), a has PPV 1.000 and NPV 0.667."
    )


def test_where_the_lead_changes_is_said() -> None:
    """TAR of both is equal at p = .1 / (.1 + .02)."""
    found = said({"ccp": CCP, "rf": RF}, sweep="1:1000..1000:1", prevalence="1:100")
    (one,) = found["lead-changes"]
    assert one.text.startswith(
        "From 1:1000 to 1000:1 the best TAR is first that of ccp, from prevalence 0.8333 that of rf"
    )
    worse = "; every other model is significantly worse at"
    assert one.text.endswith(f"{worse} none of the 31 ratios.")
    assert one.models == ("ccp", "rf")
    more = {"ccp": tuple(2 * n for n in CCP), "rf": tuple(2 * n for n in RF)}
    found = said(more, sweep="1:1000..1000:1", prevalence="1:100")
    rows = found["lead-changes"][0].text.split(worse)[1].split()
    assert 0 < int(rows[0]) < 31
    assert rows[1:] == ["of", "the", "31", "ratios."]
    assert "leads-everywhere" not in found


def test_a_lead_within_chance_is_significant_nowhere() -> None:
    found = said({"a": FEW, "b": FEWER}, sweep="1:10..10:1", points=3)
    assert text(found, "leads-everywhere") == (
        "a has the best TAR at all ratios looked at from 1:10 to 10:1; every other model is "
        "significantly worse at none of the 3 ratios."
    )
    assert "lead-changes" not in found


def test_a_lead_everywhere_is_significant_where_it_is() -> None:
    found = said({"a": GOOD, "b": BAD}, sweep="1:10..10:1", points=3)
    assert text(found, "leads-everywhere").endswith("significantly worse at all of the 3 ratios.")
    bare = said({"a": GOOD, "b": BAD}, sweep="1:10..10:1", points=3, interval="none")
    assert text(bare, "leads-everywhere").endswith("from 1:10 to 10:1.")


def test_models_that_tie_everywhere_lead_together() -> None:
    found = said({"a": GOOD, "b": GOOD, "c": BAD}, sweep="1:10..10:1", points=3)
    assert text(found, "leads-everywhere").startswith("a and b have the best TAR at all ratios")
    assert text(found, "leads-everywhere").endswith("significantly worse at all of the 3 ratios.")
    alone = said({"a": GOOD, "b": GOOD}, sweep="1:10..10:1", points=3)
    assert text(alone, "leads-everywhere").endswith("looked at from 1:10 to 10:1.")


def test_without_a_sweep_or_with_one_model_no_change_is_looked_for() -> None:
    assert not {"lead-changes", "leads-everywhere"} & {*said({"a": GOOD, "b": BAD})}
    assert not {"lead-changes", "leads-everywhere"} & {*said(CCP, sweep="1:10..10:1")}


def test_every_target_has_its_best_model() -> None:
    """TAR at 1:3: of b (.8 + 3 x .95) / 4 = .9125, of a (.95 + 3 x .8) / 4; at 3:1 of a .9125."""
    pair = {"a": (19, 4, 1, 16), "b": (16, 1, 4, 19)}
    found = said(pair, prevalence=("1:3", "3:1"))
    first, second = found["best-at"]
    assert "b has the best TAR (accuracy), 0.912 [" in first.text
    assert "a has the best TAR, 0.912 [" in second.text
    assert second.text.endswith("; b is not significantly different.")
    # PPV of b at 1:3: .8 / (.8 + 3 x .05)
    (there,) = found["at-prevalence"]
    assert (there.models, there.value) == (("b",), pytest.approx(0.8 / 0.95))


def test_every_target_where_a_constant_is_better_has_predictive_values() -> None:
    """PPV of ccp at 1:100 .67 / 5.67, at 100:1 67 / 67.05."""
    found = said({"ccp": CCP, "rf": RF}, prevalence=("1:100", "100:1"))
    values = [one.value for one in found["at-prevalence"]]
    assert values == [pytest.approx(0.67 / 5.67), pytest.approx(67 / 67.05)]
    assert len(found["constant-better"]) == 1


def test_many_targets_are_told_in_five_sentences() -> None:
    found = said({"a": FEW, "b": FEWER}, prevalence=tuple(f"1:{n}" for n in range(2, 9)))
    assert len(found["best-at"]) == 3


def test_infinite_values_lead() -> None:
    """PPV odds of a: 50 against no false positive."""
    pair = {"a": (50, 0, 50, 100), "b": (60, 5, 40, 95)}
    found = said(pair, prevalence=0.5, measure="ppv_odds")
    assert "a has the best PPV odds, ∞" in text(found, "best-at")


def test_models_of_other_rows_are_compared_at_equal_classes() -> None:
    """TAR at 1:1: a (.67 + .95) / 2 = .81, b (.5 + .5) / 2."""
    found = said({"a": CCP, "b": (25, 100, 25, 100)})
    assert text(found, "best-at").startswith("At prevalence 0.5 (1:1) a has the best TAR")
    assert "(accuracy), 0.810 [" in text(found, "best-at")
    assert not {"significantly-worse", "not-significantly-different"} & {
        *found
    }  # nothing compares them there


def test_weights_that_are_fractions_are_no_rows_to_test() -> None:
    table = pl.DataFrame(
        {"truth": [1, 1, 0, 0], "a": [1, 1, 0, 0], "b": [1, 0, 1, 0], "w": [0.5, 1.5, 1.0, 2.0]}
    )
    found = said(table=table, truth="truth", weight="w", interval="none")
    assert "a has the best TAR (accuracy), 1.000." in text(found, "best-at")
    assert "untested" in found


def test_names_with_commas_do_not_mislead() -> None:
    found = said({"k-NN, k=5": FEW, "b": FEWER}, prevalence=0.5)
    assert "'k-NN, k=5' has the best" in text(found, "best-at")


def test_slices_are_not_mixed_into_the_whole() -> None:
    table = pl.DataFrame({"site": ["n", "s"] * 4, "truth": [1, 1, 0, 0] * 2,
                          "a": [1, 1, 0, 0] * 2, "b": [0, 1, 1, 0] * 2})  # fmt: skip
    plain = said(table=table.drop("site"), truth="truth")
    assert said(table=table, truth="truth", by="site") == plain


def test_a_hundred_thousand_models_are_told_at_once() -> None:
    def row(number: int) -> Row:
        cells: dict[str, Cell] = {"tar": Estimate(number / 100_000), "ppv": Estimate(0.5)}
        return {"slice": None, "model": f"m{number}", "population": "target", "prevalence": 0.5,
                "odds": "1:1", **cells}  # fmt: skip

    rows = [row(number) for number in range(100_000)]
    start = perf_counter()
    answer = tune_answer(
        {"models": rows}, {"compared_by": "tar", "interval": "none", "margin": None}
    )
    assert perf_counter() - start < 10  # seconds; much less on a free machine
    assert answer[0].models == ("m99999",)


def test_two_that_tie_may_be_no_better_than_a_third() -> None:
    found = said({"a": FEW, "b": FEW, "c": FEWER}, prevalence=0.5)
    assert text(found, "best-at").startswith("At prevalence 0.5 (1:1) a and b have the best TAR")
    assert text(found, "not-significantly-different") == "c is not significantly different."


def test_a_measure_that_has_no_best_decides_nothing() -> None:
    assert said({"a": GOOD, "b": BAD}, measure="phi") == said({"a": GOOD, "b": BAD})
