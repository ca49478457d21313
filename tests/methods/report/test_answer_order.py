"""No harm stands behind what is better, or is lost where an answer is shortened."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.compare.change import BETTER, UNDECIDED, WORSE
from clfeval.document import Answer
from clfeval.document.cells import Estimate, Row
from clfeval.methods.comparison_answer import slice_comparison_answer
from clfeval.methods.report.answer_order import order_answers
from clfeval.methods.report.slice_answer import SliceModels, slice_answer
from tests.methods.report.calibration_sentences import calibration_answer
from tests.results import answer_codes, answers_of, row_of, rows_by, rows_of, value_of
from tests.samples import logistic


def sites(rows: int = 4000, *, worse_at: str = "C") -> pl.DataFrame:
    """`new` ranks better than `old` and is too extreme; at one site it is drawn without the truth.

    The odds of a case differ between the sites, which neither model knows.
    """
    rng = np.random.default_rng(11)
    site = rng.choice([*"ABCDEF"], rows)
    shift = {name: 0.5 * place - 1.25 for place, name in enumerate("ABCDEF")}
    x = rng.normal(size=rows)
    odds = 1.6 * x - 0.5 + np.array([shift[name] for name in site])
    truth = (rng.random(rows) < logistic(odds)).astype(int)
    old = logistic(0.8 * x + 0.8 * rng.normal(size=rows) - 0.5)
    informed = 4 * x + 0.5 * rng.normal(size=rows) - 1
    new = logistic(np.where(site == worse_at, 3 * rng.normal(size=rows) - 1, informed))
    return pl.DataFrame({"y": truth, "site": site, "new": new, "old": old})


def test_with_a_reference_every_harm_comes_before_the_gain() -> None:
    result = clfeval.report(sites(), truth="y", by="site", reference="old")
    row = row_of(result, "comparisons", measure="roc_auc", slice=None)
    assert row["verdict"] == "better"
    codes = answer_codes(result)
    harms = [codes.index(code) for code in ("slices", "miscalibrated")]
    assert max(harms) < codes.index("compared")
    # of the slices in which it is worse than the reference there is room for the table only
    assert "Also worse: differences in slices." in result.answer[-1].text
    texts = {answer.code: answer.text for answer in result.answer}
    # harms of the candidate, then those of the reference
    assert texts["slices"].startswith("In site=C, new has")
    (within,) = [answer for answer in result.answer[-1].left_out if answer.code == "within"]
    assert "site=C" in within.text.partition("(worse)")[0]
    assert "new is miscalibrated" in texts["miscalibrated"]


def test_where_no_slice_is_worse_heterogeneity_comes_before_the_gain() -> None:
    """Each of twelve sites has few rows: together they differ, none does by itself."""
    rng = np.random.default_rng(1)
    rows, number = 1800, 12
    site = np.arange(rows) % number
    x = rng.normal(size=rows)
    shift = np.linspace(-0.45, 0.45, number)[site]
    truth = (rng.random(rows) < logistic(1.5 * x + shift)).astype(int)
    table = pl.DataFrame(
        {
            "y": truth,
            "site": [f"s{place}" for place in site],
            "new": logistic(1.5 * x),
            "old": logistic(0.5 * x + 0.8 * rng.normal(size=rows)),
        }
    )
    result = clfeval.report(table, truth="y", by="site", reference="old")
    assert not rows_of(result, "comparisons", against="slice", verdict="worse", model="new")
    codes = answer_codes(result)
    assert codes.index("heterogeneity") < codes.index("compared")
    (answer,) = answers_of(result, "heterogeneity")
    assert "12 values of site" in answer.text


def compared(model: str, verdict: str, **cells: Any) -> Row:
    """A row of table `comparisons`, by ROC AUC, with what the order needs."""
    standard = {"against": "reference", "measure": "roc_auc", "slice": None, "reference": "old"}
    return {**standard, "model": model, "verdict": verdict, **cells}


ANSWERS = {
    code: Answer(code, f"{code}.", ("new",), measure)
    for code, measure in (
        ("best", "roc_auc"),
        ("compared", "roc_auc"),
        ("operating-point", "sensitivity"),
        ("slices", "roc_auc"),
        ("within", "roc_auc"),
        ("never-predicted", None),
        ("miscalibrated", "calibration_slope"),
        ("probabilities", "calibration_slope"),
        ("heterogeneity", "roc_auc"),
        ("best-cut", "specificity"),
        ("helps", "net_benefit"),
    )
}
INSIDE = {"against": "slice", "slice": "site=a"}
CASES = [
    # a gain after every harm; where a slice is worse, heterogeneity only adds to it
    (
        "compared slices heterogeneity best miscalibrated",
        [compared("new", BETTER), compared("new", WORSE, **INSIDE)],
        "slices miscalibrated compared heterogeneity best",
    ),
    # no gain is the answer to what was asked, and first
    (
        "compared slices best miscalibrated",
        [compared("new", UNDECIDED), compared("new", UNDECIDED, **INSIDE)],
        "compared miscalibrated slices best",
    ),
    # a harm at the threshold, then in slices, then the gain
    (
        "operating-point compared slices within best probabilities",
        [
            compared("new", WORSE, measure="sensitivity"),
            compared("new", BETTER),
            compared("new", WORSE, slice="site=a"),
            compared("new", UNDECIDED, **INSIDE),
        ],
        "operating-point within compared slices best probabilities",
    ),
    # slices of a model that no sentence names do not count
    (
        "compared slices",
        [compared("new", BETTER), compared("other", WORSE, **INSIDE)],
        "compared slices",
    ),
    # without a reference the best model first, then what is wrong with it
    ("best helps never-predicted miscalibrated", [], "best never-predicted miscalibrated helps"),
    # a threshold that was asked for, then what is wrong, then the best model
    ("best-cut best miscalibrated", [], "best-cut miscalibrated best"),
    (
        "slices best heterogeneity",
        [compared("new", UNDECIDED, **INSIDE)],
        "heterogeneity slices best",
    ),
]


@pytest.mark.parametrize(("given", "rows", "expected"), CASES)
def test_sentences_are_ordered_by_their_harm(given: str, rows: list[Row], expected: str) -> None:
    ordered = order_answers([ANSWERS[code] for code in given.split()], rows)
    assert [answer.code for answer in ordered] == expected.split()


def test_slices_of_a_reference_come_after_those_of_a_candidate() -> None:
    """The reference loses .4 in a slice, the candidate .1: what matters is the candidate."""

    def row(model: str, drop: float) -> Row:
        return {
            **compared(model, WORSE, **INSIDE, p_adjusted=0.001),
            "new": Estimate(0.9 - drop),
            "old": Estimate(0.9),
        }

    slices: list[Row] = [{"model": model, "slice": "site=a"} for model in ("new", "old")]
    rows = [row("old", 0.4), row("new", 0.1)]
    models = SliceModels.from_ranking(["old", "new"], None, "old", ())
    assert models.references == ["old"]
    (answer,) = slice_answer(slices, rows, models, 0.95)
    assert answer.text.index("new has") < answer.text.index("old has")
    # without a reference the larger drop is first
    (answer,) = slice_answer(slices, rows, SliceModels(("old", "new"), every=True), 0.95)
    assert answer.text.index("old has") < answer.text.index("new has")


def test_of_several_models_the_slices_with_harm_are_named_worst_first() -> None:
    rows = [
        compared("a", BETTER, slice="site=1", difference=Estimate(0.2)),
        compared("a", WORSE, slice="site=2", difference=Estimate(-0.05)),
        compared("b", WORSE, slice="site=1", difference=Estimate(-0.1)),
        compared("b", UNDECIDED, slice="site=2", difference=Estimate(-0.01)),
    ]
    (answer,) = slice_comparison_answer(rows, "roc_auc", "old")
    assert answer.text == (
        "Within slices, by ROC AUC, b in site=1 (-0.100) and a in site=2 (-0.050) are "
        "significantly worse than old; another difference is significant, listed below."
    )


def zeros(lowest: float = 0.1) -> pl.DataFrame:
    """`good` is the probability of a case; `zero` is it too, but 0 below the lowest one."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=1500)
    p = logistic(1.5 * x - 0.5)
    truth = (rng.random(1500) < p).astype(int)
    return pl.DataFrame({"y": truth, "good": p, "zero": np.where(p < lowest, 0, p)})


def test_a_tied_model_that_contradicted_itself_is_named_with_its_rows() -> None:
    table = zeros()
    wrong = table.filter((pl.col("zero") == 0) & (pl.col("y") == 1)).height
    assert wrong > 1
    answer = calibration_answer(clfeval.report(table, truth="y", positive="1"))
    assert answer.models == ("good",)
    assert f"zero gave {wrong} outcomes probability 0" in answer.text


def test_so_it_is_where_the_best_model_is_miscalibrated_too() -> None:
    steep = pl.col("good") ** 3 + 1e-9
    table = zeros().with_columns(good=steep, other=steep)
    wrong = table.filter((pl.col("zero") == 0) & (pl.col("y") == 1)).height
    text = calibration_answer(clfeval.report(table, truth="y", positive="1")).text
    best, other = ("good", "other") if text.startswith("good is") else ("other", "good")
    assert f"{best} is miscalibrated" in text
    claim = f". So is {other}, tied with it; zero gave {wrong} outcomes probability 0."
    assert claim in text


def test_with_a_reference_every_candidate_is_judged() -> None:
    table = zeros().with_columns(old=pl.col("good"), steep=pl.col("good") ** 2)
    result = clfeval.report(table, truth="y", positive="1", reference="old")
    text = calibration_answer(result).text
    assert "zero" in text
    assert "steep" in text
    assert "tied with it" not in text


def test_a_limit_that_is_missed_on_new_data_is_marked_and_said() -> None:
    """A few rows choose the threshold: the corrected sensitivity is below the limit."""
    rng = np.random.default_rng(2)
    truth = np.arange(120) % 2
    scores = logistic(1.2 * truth + rng.normal(size=120) - 0.6)
    table = pl.DataFrame({"y": truth, "m": scores})
    rules = ["sens>=.9", "spec>=.5", "j_index"]
    result = clfeval.report(table, truth="y", positive="1", best_threshold=rules)
    rows = rows_by(result, "cutoffs", "chosen_by")
    assert rows["j_index"]["misses_limit"] is None
    for rule, limit in (("sensitivity>=0.9", 0.9), ("specificity>=0.5", 0.5)):
        assert rows[rule]["misses_limit"] is (value_of(rows[rule]["limited"]) < limit)
    assert rows["sensitivity>=0.9"]["misses_limit"]
    claim = "The expected sensitivity misses the limit of 0.9; choose 'sensitivity.low>=0.9'"
    assert claim in result.answer[0].text
    screen = str(result)
    assert "!: misses its limit" in " ".join(screen.split())
    (line,) = [line for line in screen.splitlines() if line.startswith("sensitivity>=0.9 ")]
    assert " ! " in line


@pytest.mark.parametrize(
    ("prevalence", "threshold", "claim"),
    [
        (0.3, 0.3, "the net benefit significantly exceeds treat-all and treat-none"),
        (0.02, 0.5, "the net benefit is significantly below treat-none"),
        (0.9, 0.5, "the net benefit is significantly below treat-all"),
        (0.5, 0.5, "the net benefit significantly exceeds treat-all and treat-none"),
    ],
)
def test_tune_jpt_says_of_net_benefit_what_a_report_says(
    prevalence: float, threshold: float, claim: str
) -> None:
    """500 rows of each class, of which 400 positives and 100 negatives are flagged: rates .8, .2.

    Net benefit p .8 - (1 - p) .2 w with the exchange rate w = t / (1 - t), that of treat-all
    p - (1 - p) w: .3 and .3 give .18 to 0; .02 and .5 give -.18 to 0 of treat-none; .9 and .5 give
    .70 to .80; .5 and .5 give .3 to 0. Its standard error is at most .02.
    """
    high, low = threshold + 0.05, threshold - 0.05
    scores = [high] * 400 + [low] * 100 + [high] * 100 + [low] * 400
    table = pl.DataFrame({"y": [1] * 500 + [0] * 500, "m": scores})
    options: dict[str, Any] = {"prevalence": prevalence, "threshold": threshold}
    tuned = clfeval.tune_jpt(table, truth="y", positive="1", **options)
    report = clfeval.report(table, truth="y", positive="1", **options)
    texts = [answers_of(result, "at-prevalence")[0].text for result in (tuned, report)]
    assert claim in texts[0]
    assert texts[0].partition(", m has")[2] == texts[1].partition(", m has")[2]
    w = threshold / (1 - threshold)
    benefit = prevalence * 0.8 - (1 - prevalence) * 0.2 * w
    default = max(0.0, prevalence - (1 - prevalence) * w)
    target = row_of(tuned, "at_prevalence", population="target")
    assert value_of(target["net_benefit"]) == pytest.approx(benefit)
    assert value_of(target["gain"]) == pytest.approx(benefit - default)


def test_by_its_own_prevalence_tune_jpt_has_no_net_benefit() -> None:
    """Without a target nothing is said that was not asked."""
    result = clfeval.tune_jpt(zeros(), truth="y", positive="1")
    assert not [answer for answer in result.answer if "net benefit" in answer.text]
