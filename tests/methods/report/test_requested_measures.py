"""What a report is asked for: sets, parameters within their ranges, names that are refused."""

from __future__ import annotations

import shlex

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.errors import UsageError
from clfeval.measures.calibration import aurc
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.requested_measures import (
    DEFAULT,
    OF_TWO_CLASSES,
    SETS,
    parse_measures,
)
from tests.process.program import clfeval as program
from tests.process.program import piped
from tests.results import row_of, value_of, warning_codes
from tests.texts import check_text, problem_places

SCORED = "truth,m\n1,.9\n1,.8\n1,.4\n0,.3\n0,.2\n0,.6\n1,.7\n0,.1\n"
FRAME = pl.DataFrame(
    {"truth": [1, 1, 1, 0, 0, 0, 1, 0], "m": [0.9, 0.8, 0.4, 0.3, 0.2, 0.6, 0.7, 0.1]}
)


def names(*asked: str) -> list[str]:
    return [one.name for one in parse_measures(asked) if one.by != "default"]


def test_without_a_word_the_default_set_is_measured() -> None:
    found = [row["measure"] for row in clfeval.report(FRAME).tables["measures"]]
    assert tuple(found) == DEFAULT == tuple(one.name for one in parse_measures(("default",)))


@pytest.mark.parametrize("name", SETS)
def test_a_set_holds_what_is_computable_without_parameters(name: str) -> None:
    for one in parse_measures((name,)):
        assert one.measure.compute is not None
        assert not one.settings
        assert one.name != "hosmer_lemeshow"


def test_sets_hold_their_families() -> None:
    every = {
        name: {one.name for one in parse_measures(("default", name))} - {*DEFAULT} for name in SETS
    }
    assert {"mcc_u", "jaccard", "markedness", "detection_prevalence"} <= every["hard"]
    assert {"gini", "ks", "average_precision", "pr_auc", "auprg"} == every["ranking"]
    assert {"brier_sum", "spiegelhalter_z", "aurc"} <= every["probability"]
    assert every["ordinal"] == {
        "kappa_linear",
        "kappa_quadratic",
        "ordinal_mae",
        "ordinal_mse",
        "rps",
    }
    assert every["hard"] | every["ranking"] | every["probability"] == every["all"]


def test_a_name_says_its_parameters() -> None:
    assert names("f_meas:beta=2") == ["f_beta:beta=2"]
    assert names("precision@k:k=0.10") == ["precision@k:k=0.1"]
    assert names("net_benefit:t=.1") == names("net_benefit@t:t=.1") == ["net_benefit@t:t=0.1"]
    assert names("partial_auc:fpr=.2") == ["partial_auc:fpr=0..0.2"]
    assert names("partial_auc:fpr=.1..0.2") == ["partial_auc:fpr=0.1..0.2"]
    assert names("expected_cost:fp=1,fn=10") == ["expected_cost:fn=10,fp=1"]


OUT_OF_RANGE = (
    "net_benefit@t:t=1",
    "net_benefit:t=0",
    "precision@k:k=0",
    "lift@k:k=inf",
    "f_beta:beta=-1",
    "f_beta:beta=nan",
    "ece:bins=0",
    "ece:bins=2.5",
    "ece:bins=inf",
    "ppv_at:prevalence=0",
    "ppv_at",
    "expected_cost:fp=1",
    "expected_cost:fp=-1,fn=1",
    "partial_auc:fpr=.3..0.2",
    "partial_auc:fpr=2",
    "f_beta:gamma=1",
    "f_beta:beta=two",
)


def test_a_parameter_out_of_its_range_is_refused_before_anything_is_counted() -> None:
    for name in OUT_OF_RANGE:
        with pytest.raises(UsageError) as caught:
            parse_measures((name,))
        assert [one.code for one in caught.value.problems] == ["bad-option"]
        check_text(str(caught.value))
        for more in ((), ("--dry-run",)):
            done = program("report", "no-such-table.csv", "--measure", name, *more)
            assert (done.code, done.out) == (2, "")
            assert problem_places(done.err)[0].endswith("[bad-option]")
            assert name in done.err


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("nri", "net_benefit"),
        ("IDI", "log_loss"),
        ("C-index", "roc_auc"),
        ("Brier resolution", "ece"),
        ("integrated discrimination improvement", "net_benefit"),
    ],
)
def test_what_misleads_is_refused_by_name_with_what_replaces_it(name: str, instead: str) -> None:
    done = piped(SCORED.encode(), "report", "-", "--measure", name)
    assert (done.code, done.out) == (2, "")
    assert problem_places(done.err) == ["--measure: [refused-measure]"]
    assert instead in done.err
    check_text(done.err)


def test_several_in_one_word_are_to_be_given_one_at_a_time() -> None:
    for text, parts in (("ap,ks", "ap ks"), ("f_beta:beta=2,ks", "f_beta:beta=2 ks")):
        with pytest.raises(UsageError) as caught:
            parse_measures((text,))
        each = " ".join(f"--measure {part}" for part in parts.split())
        assert str(caught.value).endswith(each)


def test_every_name_that_is_offered_is_taken() -> None:
    assert {"all", "acc", "ap", "ppv_at", "aurc", "rps"} <= {*OF_TWO_CLASSES.names}
    given = {
        "ppv_at": "prevalence=.1",
        "npv_at": "prevalence=.1",
        "expected_cost": "fp=1,fn=1",
        "cost": "fp=1,fn=1",
    }
    for name in OF_TWO_CLASSES.names:
        assert parse_measures((f"{name}:{given[name]}" if name in given else name,))


def test_a_measure_asked_for_by_name_says_how_it_misleads_and_one_of_a_set_does_not() -> None:
    done = piped(SCORED.encode(), "report", "-", "--measure", "acc", "--measure", "f1")
    assert done.code == 0
    flat = " ".join((done.out + done.err).split())
    assert f"accuracy: {CATALOG['accuracy'].caveat}" in flat
    assert f"F1: {CATALOG['f1'].caveat}" in flat
    assert "caveat" not in warning_codes(clfeval.report(FRAME, measure="all"))
    result = clfeval.report(FRAME, measure=["hosmer_lemeshow", "acc"])
    assert warning_codes(result).count("caveat") == 2


def test_measures_in_the_order_of_classes_need_that_order() -> None:
    three = "truth,a\nlow,low\nhigh,middle\nmiddle,middle\n"
    for name in ("kappa_quadratic", "ordinal", "ordinal_mae"):
        done = piped(three.encode(), "report", "-", "--measure", name)
        assert (done.code, done.out) == (2, "")
        assert "[needs-order]" in done.err
        first, hint, last = done.err.splitlines()[1:]
        assert first.startswith("<stdin>: --measure: ")
        assert hint.endswith("'low', 'middle', 'high'")
        every = "--classes low --classes middle --classes high"
        assert last == f"try: clfeval report - --measure {name} {every}"
        words = shlex.split(last.removeprefix("try: clfeval "))
        assert piped(three.encode(), *words).code == 0
    done = piped(
        SCORED.encode(),
        "report",
        "-",
        "--measure",
        "kappa_quadratic",
        "--classes",
        "0",
        "--classes",
        "1",
        "-f",
        "csv",
        "--show",
        "measures",
        "--quiet",
    )
    rows = {line.split(",")[2]: line.split(",")[5:] for line in done.out.splitlines()}
    assert rows["kappa_quadratic"][:3] == rows["kappa"][:3]  # of two classes they are one


def test_net_benefit_at_a_named_risk_is_that_of_the_decision_curve() -> None:
    """At .1 all but the last row are treated: 4/8 - 4/8 / 9, for .1 is called positive too."""
    result = clfeval.report(FRAME, measure="net_benefit:t=0.1")
    row = row_of(result, "measures", measure="net_benefit@t:t=0.1")
    assert row["value"] == row_of(result, "decision", threshold=0.1)["net_benefit"]
    assert value_of(row["value"]) == pytest.approx(4 / 8 - 4 / 8 / 9)


def test_the_area_under_risk_and_coverage_row_by_row() -> None:
    dice = np.random.default_rng(3)
    for _ in range(20):
        p = np.sort(np.round(dice.random(40), 1))
        truth = dice.random(40) < p
        sure, wrong = np.maximum(p, 1 - p), (p >= 0.5) != truth
        risks = [wrong[sure >= c].mean() for c in {*sure.tolist()}]
        found = aurc(p, truth.astype(np.int64), (~truth).astype(np.int64))
        assert float(found) == pytest.approx(float(np.mean(risks)), rel=1e-12)
    both = np.stack([truth, ~truth]).astype(np.int64)
    assert aurc(p, both, 1 - both).shape == (2,)
