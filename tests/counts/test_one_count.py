"""One page may use several methods: a table is opened once, counted once, and read once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import clfeval
from clfeval.api.texts import fill_result
from clfeval.counts import group_rows as group
from clfeval.counts.count import count_predictions
from clfeval.counts.evaluated_rows import EvaluatedRows
from clfeval.counts.sample import Sample
from clfeval.methods.mars.options import MarsOptions
from clfeval.methods.mars.result import mars_result
from clfeval.methods.phidelta.options import ClassifierOptions, PlaneOptions
from clfeval.methods.phidelta.result import classifier_result
from clfeval.methods.report.leading_model import rank_models
from clfeval.methods.tune_jpt.options import TuneOptions
from clfeval.methods.tune_jpt.result import sample_from_table, tune_result
from clfeval.placeholders import fill_for_shell
from clfeval.tables.input import InputOptions
from clfeval.tables.prediction_files import open_predictions
from tests.shell import at_shell

FIXTURES = Path(__file__).parents[2] / "fixtures"
CANCER = FIXTURES / "breast-cancer"


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every pass over rows that is begun: the count, and what is asked of the rows it kept."""
    made: list[str] = []
    first, later = group.group_frame, EvaluatedRows.frames

    def raw(*given: Any) -> Any:
        made.append("count")
        return first(*given)

    def frames(kept: EvaluatedRows, **asked: Any) -> Any:
        made.append("kept")
        return later(kept, **asked)

    monkeypatch.setattr(group, "group_frame", raw)
    monkeypatch.setattr(EvaluatedRows, "frames", frames)
    return made


def tuned(sample: Sample) -> Any:
    """The result of tune-jpt, with the models in the order of a report."""
    checked, options = sample_from_table(sample), TuneOptions()
    return tune_result(checked, options, rank_models(checked, options.confidence, options.seed))


def test_three_methods_of_one_count(passes: list[str]) -> None:
    with open_predictions([CANCER / "labels.csv"], InputOptions(positive="malignant")) as opened:
        counted = count_predictions(opened)
        found = [
            mars_result(counted, MarsOptions()),
            classifier_result(
                Sample.from_predictions(counted), PlaneOptions(), ClassifierOptions()
            ),
            tuned(Sample.from_predictions(counted)),
        ]
    assert passes == ["count"]
    for name, result in zip(("mars", "phidelta", "tune_jpt"), found, strict=True):
        alone = at_shell(getattr(clfeval, name))([str(CANCER / "labels.csv")], positive="malignant")
        assert fill_result(result, fill_for_shell).to_json() == alone.to_json()


def test_scores_are_read_once_for_all_methods(passes: list[str]) -> None:
    with open_predictions([CANCER / "scores.csv"], InputOptions(positive="malignant")) as opened:
        counted = count_predictions(opened)
        models = range(len(counted.models))
        for _ in ("curves", "thresholds"):
            assert [counted.scores(i)[None].positives.sum() for i in models] == [106] * 6
        joint = counted.joint(scores=True)
        assert counted.joint(scores=True) is joint
    assert passes == ["count", *("kept" for _ in models), "kept"]
