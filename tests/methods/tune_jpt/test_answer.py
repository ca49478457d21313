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
    assert text(found, "told-apart") == "b is significantly worse."
    assert not {"not-told-apart", "untested"} & {*found}
    three = said({"b": BAD, "a": GOOD, "c": BAD}, prevalence=0.5)
    assert text(three, "told-apart") == "Every other model is significantly worse."


def test_intervals_that_overlap_leave_it_open() -> None:
    found = said({"a": FEW, "b": FEWER}, prevalence=0.5)
    assert text(found, "not-told-apart") == "b is not significantly different."
    assert found["not-told-apart"][0].models == ("b",)


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "c")])
def test_models_that_tie_share_the_first_place(names: tuple[str, ...]) -> None:
    found = said({"worse": BAD, **dict.fromkeys(names, GOOD)}, prevalence=0.5)
    (best,) = found["best-at"]
    several = "a and b" if len(names) == 2 else "a, b and c"
    assert best.text.startswith(f"At prevalence 0.5 (1:1) {several} have the best TAR")
    assert best.models == names
    assert text(found, "told-apart") == "worse is significantly worse."
    assert not {"not-told-apart", "untested"} & {*found}


def test_without_intervals_nothing_is_significant() -> None:
    found = said({"a": GOOD, "b": BAD}, prevalence=0.5, interval="none")
    assert text(found, "best-at") == (
        "At prevalence 0.5 (1:1) a has the best TAR (accuracy), 0.900."
    )
    assert text(found, "untested") == "No test tells whether its lead is more than chance."
    assert "not-told-apart" not in found


def test_what_is_undefined_has_no_leader() -> None:
    silent = (0, 0, 50, 50)
    found = said({"a": silent, "b": silent}, prevalence=0.1, measure="ppv")
    assert text(found, "no-leader") == "At prevalence 0.1 (1:9) PPV is undefined for every model."
    assert not {"best-at", "right"} & {*found}


def test_the_only_defined_value_is_no_significant_lead() -> None:
    """PPV of b at 1:9: (10/50) / (10/50 + 9 x 5/50) = .2 / 1.1."""
    found = said({"a": (0, 0, 50, 50), "b": (10, 5, 40, 45)}, prevalence=0.1, measure="ppv")
    assert "no-leader" not in found
    assert text(found, "best-at").startswith("At prevalence 0.1 (1:9) b has the best PPV, 0.182 [")
    assert text(found, "best-at").endswith("], the only one that is defined.")
    assert not {"not-told-apart", "untested"} & {*found}
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


def test_positive_answers_that_are_right_are_counted_per_hundred() -> None:
    """ccp at 1:100: .67 / (.67 + 100 x .05) = 11.8 %."""
    (right,) = said({"ccp": CCP, "rf": RF}, odds="1:100")["right"]
    assert right.text.startswith("Of 100 positive answers of ccp 11.8 are right (")
    assert right.value == pytest.approx(0.67 / 5.67)
    bare = said({"ccp": CCP, "rf": RF}, odds="1:100", interval="none")["right"]
    assert bare[0].text == "Of 100 positive answers of ccp 11.8 are right."


def test_nothing_is_right_where_nothing_is_called_positive() -> None:
    found = said({"a": (0, 0, 50, 50), "b": (0, 9, 50, 41)}, prevalence=0.1, measure=("tar", "ppv"))
    assert "a has the best TAR" in text(found, "best-at")
    assert "right" not in found
    alone = said((0, 0, 50, 50), prevalence=0.1, measure="ppv")
    assert "right" not in alone
    alone = said((0, 0, 50, 50), prevalence=0.1, measure=("ppv", "npv"), interval="none")
    assert text(alone, "right") == "A negative answer is right in 90 %."  # 9 of 10 are negative


def test_one_answer_for_all_rows_that_does_better_is_named() -> None:
    """At 1:100 to call nothing positive is right 100 of 101 times, ccp 95.67 of 101."""
    pair = {"ccp": CCP, "rf": RF}
    words = "calling every row negative would give 0.9901"
    assert words in text(said(pair, odds="1:100"), "best-at")
    assert "calling every row" not in text(said(pair, odds="1:1"), "best-at")
    words = "calling every row positive would give 0.9901"
    assert words in text(said(pair, odds="100:1"), "best-at")


def test_a_cost_is_best_where_it_is_least() -> None:
    """At 1:1, FP 1, FN 10: a .5 (.1 + 10 x .1) = .55, b .5 (.4 + 4) = 2.2; all positive: .5."""
    found = said({"b": BAD, "a": GOOD}, prevalence=0.5, cost=(1, 10))
    assert "a has the best expected cost, 0.550 [" in text(found, "best-at")
    assert "; calling every row positive would give 0.500." in text(found, "best-at")


def test_one_model_is_told_in_rows() -> None:
    """At 2 %, of 1000: 20 x .67 = 13.4 found, 980 x .05 = 49 alarms; 13.4 of 62.4 are right."""
    found = said(CCP, prevalence=0.02, interval="none")
    assert [*found] == ["per-rows", "right"]
    assert text(found, "per-rows") == (
        "At prevalence 0.02 (1:49) of 1,000 rows 20 are positive: 13.4 of them are found and 6.6 "
        "missed; 49 of 980 negatives are called positive too."
    )
    # 931 of 937.6 negative answers
    assert (
        text(found, "right") == "A positive answer is right in 21.5 %, a negative one in 99.30 %."
    )
    assert found["per-rows"][0].models == ()


def test_one_model_without_target_is_told_as_counted() -> None:
    found = said(CCP)
    assert text(found, "per-rows").startswith(
        "At the prevalence of these rows (0.5) of 200 rows 100 are positive: 67 of them are found"
    )


def test_several_models_are_not_told_in_rows() -> None:
    assert "per-rows" not in said({"ccp": CCP, "rf": RF}, prevalence=0.02)


@pytest.mark.parametrize(("cost", "begins", "ends"), [
    (None, "TAR 1.000 [", "0.500"), ((1, 10), "expected cost 0.000 [0.000, ", "5.000"),
])  # fmt: skip
def test_a_threshold_that_does_better_elsewhere_is_to_be_used(
    cost: Any, begins: str, ends: str
) -> None:
    """All scores are below .5; from .4 up all are positives, in every bootstrap table.

    Nobody is called positive at .5: half of the rows are wrong, or cost 10 each.
    """
    found = said(table=scored([0.4], [0.1]), truth="truth", prevalence=0.5, cost=cost)
    assert text(found, "threshold").startswith(f"Use threshold 0.4 for a: {begins}")
    end = f"on other rows instead of {ends} with threshold 0.5."
    assert text(found, "threshold").endswith(end)
    assert found["threshold"][0].value == 0.4
    assert "keep-threshold" not in found


def test_a_threshold_that_cannot_be_bettered_is_kept() -> None:
    found = said(table=scored([0.9], [0.1]), truth="truth", prevalence=0.5)
    assert text(found, "keep-threshold") == (
        "Keep threshold 0.5 for a: one chosen on these rows does no better on others (TAR 1.000, "
        "and 1.000 as it is)."
    )
    assert "threshold" not in found


def test_where_positives_are_rare_a_model_that_knows_nothing_is_not_used() -> None:
    """Half of each class is above .5: TAR .5; never to say positive is right 99 times of 100."""
    table = scored([0.6, 0.4], [0.6, 0.4])
    found = said(table=table, truth="truth", prevalence=0.01)
    assert text(found, "threshold") == (
        "Call no row positive for a: TAR 0.990 on other rows instead of 0.500 with threshold 0.5."
    )
    assert found["threshold"][0].value is None


def test_another_model_may_be_better_with_a_threshold_of_its_own() -> None:
    """a is right in 3 of 4 of both classes wherever it is cut between .1 and .9; b in all at .4."""
    parts = [0.9, 0.9, 0.9, 0.1], [0.1, 0.1, 0.1, 0.9]
    table = scored(*parts, b=[0.4] * 4 + [0.3] * 4)
    found = said(table=table, truth="truth", prevalence=0.5)
    assert text(found, "best-threshold") == (
        "With a threshold of its own each, b has the best TAR on other rows: 1.000 with threshold "
        "0.4; a has 0.750 with threshold 0.5. Whether that is chance is not tested."
    )
    assert found["best-threshold"][0].models == ("b", "a")
    assert not {"threshold", "keep-threshold"} & {*found}
    alone = said(table=table.drop("b"), truth="truth", prevalence=0.5)
    assert "best-threshold" not in alone


def test_labels_have_no_threshold() -> None:
    table = pl.DataFrame({"truth": [1, 1, 0, 0], "a": [1, 0, 0, 0], "b": [1, 1, 1, 0]})
    assert not {"threshold", "keep-threshold"} & {*said(table=table, truth="truth")}


def test_where_the_lead_changes_is_said() -> None:
    """TAR of both is equal at p = .1 / (.1 + .02)."""
    found = said({"ccp": CCP, "rf": RF}, sweep="1:1000..1000:1", odds="1:100")
    (one,) = found["lead-changes"]
    assert one.text.startswith(
        "From 1:1000 to 1000:1 the best TAR is first that of ccp, from prevalence 0.8333 that of rf"
    )
    worse = "; every other model is significantly worse at"
    assert one.text.endswith(f"{worse} none of the 31 ratios.")
    assert one.models == ("ccp", "rf")
    more = {"ccp": tuple(2 * n for n in CCP), "rf": tuple(2 * n for n in RF)}
    found = said(more, sweep="1:1000..1000:1", odds="1:100")
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
    """At 100:1 rf leads: (69 + .85) / 101 = .692, ccp (67 + .95) / 101 = .673."""
    found = said({"ccp": CCP, "rf": RF}, odds=("1:100", "100:1"))
    first, second = found["best-at"]
    assert "ccp has the best TAR (accuracy), 0.947 [" in first.text
    # rf at 100:1: 69 of 69 + .15 positive answers are right
    assert "rf has the best TAR, 0.692 [" in second.text
    assert "; ccp is not significantly different; calling" in second.text
    assert "of its 100 positive answers 99.78 are right (" in second.text
    assert "right" not in found


def test_many_targets_are_told_in_five_sentences() -> None:
    found = said({"a": FEW, "b": FEWER}, odds=tuple(f"1:{n}" for n in range(2, 9)))
    assert len(found["best-at"]) == 3


def test_infinite_values_lead() -> None:
    """PPV odds of a: 50 against no false positive."""
    pair = {"a": (50, 0, 50, 100), "b": (60, 5, 40, 95)}
    found = said(pair, prevalence=0.5, crossover="ppv_odds")
    assert "a has the best PPV odds, ∞" in text(found, "best-at")


def test_models_of_other_rows_are_compared_at_equal_classes() -> None:
    """TAR at 1:1: a (.67 + .95) / 2 = .81, b (.5 + .5) / 2."""
    found = said({"a": CCP, "b": (25, 100, 25, 100)})
    assert text(found, "best-at").startswith("At prevalence 0.5 (1:1) a has the best TAR")
    assert "(accuracy), 0.810 [" in text(found, "best-at")
    assert not {"told-apart", "not-told-apart"} & {*found}  # nothing compares them there


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
    answer = tune_answer({"models": rows}, {"crossover": "tar", "interval": "none"})
    assert perf_counter() - start < 10  # seconds; much less on a free machine
    assert answer[0].models == ("m99999",)


def test_two_that_tie_may_be_no_better_than_a_third() -> None:
    found = said({"a": FEW, "b": FEW, "c": FEWER}, prevalence=0.5)
    assert text(found, "best-at").startswith("At prevalence 0.5 (1:1) a and b have the best TAR")
    assert text(found, "not-told-apart") == "c is not significantly different."


def test_a_measure_that_has_no_best_decides_nothing() -> None:
    assert not said({"a": GOOD, "b": BAD}, measure="phi")
