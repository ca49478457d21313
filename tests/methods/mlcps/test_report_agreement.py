"""What mlcps computes from predictions is what a report computes, by the same names."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.counts.count import count_predictions
from clfeval.errors import DataError, UsageError
from clfeval.methods.mlcps.answer import (
    DEFAULT,
    MEASURED,
    MLCPS_MEASURES,
    measure_by_id,
    parse_measure_names,
)
from clfeval.methods.mlcps.metric_values import make_evaluator, measure_models
from clfeval.tables.input import InputOptions
from clfeval.tables.prediction_files import open_predictions
from tests.methods.mlcps.test_predicted_measures import measures, weighted_scores
from tests.process.program import piped
from tests.results import row_of, rows_by, value_of, warning_codes, warning_messages
from tests.shell import at_shell
from tests.texts import check_text

REQUESTED = (
    "f_beta:beta=2",
    "ppv_at:prevalence=0.01",
    "expected_cost:fn=10,fp=1",
    "partial_auc:fpr=0..0.3",
    "lift@k:k=0.2",
    "net_benefit@t:t=0.2",
)


def ranked_predictions(frame: Any, *names: str, **options: Any) -> Any:
    return at_shell(clfeval.mlcps)(
        frame, source="predictions", metric=names, kind="score", **options
    )


def test_every_measure_is_that_of_the_report() -> None:
    frame = weighted_scores()
    values = measures(frame, *MEASURED, *REQUESTED, weight="n", kind="score")
    assert values.metrics == (*MEASURED, *REQUESTED)
    options: dict[str, Any] = {"weight": "n", "kind": "score", "interval": "none"}
    report = clfeval.report(frame, measure=values.metrics, **options)
    rows = rows_by(report, "measures", "model", "measure")
    for i, model in enumerate(values.models):
        for j, name in enumerate(values.metrics):
            expected = value_of(rows[model, name]["value"])
            assert values.values[i, j] == pytest.approx(expected, rel=1e-12), name


def test_rows_drawn_again_are_measured_as_if_they_stood_there() -> None:
    """Of rows of one byte and of more, whole and in parts: the same as of repeated rows."""
    frame = weighted_scores(40).drop("n")
    names = ("ece", "auprg", "pr_auc", "aurc", *REQUESTED)
    times = np.random.default_rng(2).integers(0, 4, len(frame))
    resampled = frame.with_columns(n=pl.Series(times)).filter(pl.col("n") > 0)
    once = measures(resampled, *names, weight="n", kind="score").values
    repeated = resampled.select(pl.exclude("n").repeat_by("n").explode())
    np.testing.assert_allclose(measures(repeated, *names, kind="score").values, once, rtol=1e-12)
    options = InputOptions(weight="n", kind="score")
    with open_predictions(resampled, options) as predictions:
        counts = count_predictions(predictions)
        joint = counts.joint(scores=True)
        evaluate = make_evaluator(joint, names)
        for n in (joint.n[None], joint.n[None] * 1000, joint.n[None] / 8):
            np.testing.assert_allclose(evaluate(n)[0], once, rtol=1e-9)
        assert measure_models(counts, names[:2], resamples=20, seed=0).replicates is not None


def test_names_have_their_parameters_and_sets_what_lies_within_0_and_1() -> None:
    assert parse_measure_names(["f_meas:beta=2", "net_benefit:t=.1", "auc", "default"]) == (
        "f_beta:beta=2",
        "net_benefit@t:t=0.1",
        "roc_auc",
        *DEFAULT,
    )
    assert parse_measure_names(["ranking"]) == ("roc_auc", "average_precision", "ks", "pr_auc")
    hard = parse_measure_names(["hard"])
    assert {"accuracy", "sensitivity", "f1"} <= {*hard}
    assert not {*hard} & {"error_rate", "fnr", "jaccard", "mcc", "dor"}  # said already, or beyond
    parameters = {
        "ppv_at": "prevalence=.1",
        "npv_at": "prevalence=.1",
        "expected_cost": "fp=1,fn=1",
        "cost": "fp=1,fn=1",
    }
    for name in MLCPS_MEASURES.names:
        text = f"{name}:{parameters[name]}" if name in parameters else name
        assert all(measure_by_id(measure) for measure in parse_measure_names([text]))


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("f2", "'f_beta:beta=2'"),
        ("auprc", "--metric average_precision"),
        ("phi", ""),
        ("calibration_slope", ""),
        ("net_benefit", "net_benefit@t:t=0.1"),
        ("nri", "net_benefit"),
        ("expected_cost", "fn"),
        ("ordinal", ""),
        ("f_beta:beta=two", "--metric"),
    ],
)
def test_measures_that_are_not_computed_are_refused(name: str, offered: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_measure_names([name])
    assert offered in str(caught.value)
    assert "--measure" not in str(caught.value)
    check_text(str(caught.value))


def test_what_has_no_upper_end_is_refused_and_the_remedy_works() -> None:
    """Less of a cost is better, as its record says, and nothing says what the most is."""
    frame = weighted_scores().drop("n")
    names = ("roc_auc", "f1", "expected_cost:fp=1,fn=10")
    with pytest.raises(DataError) as caught:
        ranked_predictions(frame, *names)
    assert caught.value.problems[0].code == "unbounded-metric"
    assert "--rescale expected_cost:fn=10,fp=1=0:" in str(caught.value)
    text = frame.write_csv().encode()
    words = [word for name in names for word in ("--metric", name)]
    words += ["--rescale", "expected_cost:fn=10,fp=1=0:5", "-f", "json"]
    done = piped(text, "mlcps", "-", "--from", "predictions", *words)
    assert done.code == 0, done.err
    result = clfeval.Result.from_json(done.out)
    cost = row_of(result, "metrics", metric="expected_cost:fn=10,fp=1")
    assert cost["direction"] == "min"


def test_a_column_with_parameters_in_its_name_has_the_direction_of_the_measure() -> None:
    """As a report writes it, whose table goes on to mlcps."""
    table = pl.DataFrame(
        {"model": ["x", "y"], "f1": [0.5, 0.6], "roc_auc": [0.7, 0.8], "ece:bins=5": [0.1, 0.2]}
    )
    result = clfeval.mlcps(table)
    (note,) = warning_messages(result, "flipped")
    assert "ece:bins=5" in note
    assert "assumed-direction" not in warning_codes(result)
