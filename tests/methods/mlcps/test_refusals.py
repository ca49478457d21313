"""What has no honest ray is refused, with file, row, column and what to type."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import polars as pl
import pytest

import clfeval
from clfeval import DataError, UsageError
from tests.results import rows_of, warning_codes, warning_messages
from tests.shell import at_shell
from tests.texts import check_text, numbers_in, problem_places


def metrics_file(folder: Path, text: str) -> Path:
    path = folder / "metrics.csv"
    path.write_text(text, encoding="utf-8")
    return path


def refusal_of(folder: Path, text: str, **options: object) -> DataError:
    path = metrics_file(folder, text)
    with pytest.raises(DataError) as caught:
        at_shell(clfeval.mlcps)(path, **options)  # type: ignore[arg-type]
    return caught.value


def checked_places(error: DataError, folder: Path) -> list[str]:
    """Return where the problems are, and check the text."""
    text = str(error).replace(f"{folder}/", "")
    check_text(text)
    return problem_places(text)


REFUSED: dict[str, tuple[str, list[str], str]] = {
    "negative": (
        "f1,mcc,auc\na,.8,.1,.9\nb,.7,-.2,.8\nc,.6,-.3,.8\n",
        ["metrics.csv:3: column 'mcc': [negative-metric]"],
        "--rescale mcc=-1:1",
    ),
    "a loss turned round": (
        "f1,neg_log_loss,auc\na,.8,-.5,.9\nb,.7,-1.2,.8\n",
        ["metrics.csv:2: column 'neg_log_loss': [negative-metric]"],
        "--rescale neg_log_loss=-2:0",
    ),
    "percentages beside shares": (
        "acc,f1,auc\na,87.5,.8,.9\nb,70,.7,.8\n",
        ["metrics.csv:2: column 'acc': [above-one]"],
        "--rescale acc=0:100",
    ),
    "percentages alone": (
        "acc,f1,auc\na,87.5,80,90\nb,70,70,80\n",
        [f"metrics.csv:2: column '{name}': [above-one]" for name in ("acc", "f1", "auc")],
        "--rescale",
    ),
    "unbounded": (
        "f1,dor,auc\na,.8,13.5,.9\nb,.7,200,.8\n",
        ["metrics.csv:2: column 'dor': [above-one]"],
        "--rescale dor=0:X",
    ),
    "hardly above one": (
        "f1,mcc,auc\na,1.0000001,.1,.9\nb,.7,.2,.8\n",
        ["metrics.csv:2: column 'f1': [above-one]"],
        "",
    ),
    "unknown": (
        "f1,gain,auc\na,.9,20,.9\nb,.7,30,.8\n",
        ["metrics.csv:2: column 'gain': [above-one]"],
        "--rescale gain=0:100",
    ),
    "a loss": (
        "f1,log_loss,auc\na,.8,.25,.9\nb,.7,.5,.8\n",
        ["metrics.csv:2: column 'log_loss': [unbounded-metric]"],
        "--rescale log_loss=0:X",
    ),
    "several": (
        "f1,mcc,loss\na,80,-.2,.2\nb,70,.1,.1\n",
        [
            f"metrics.csv:2: column '{name}': [{code}]"
            for name, code in (
                ("f1", "above-one"),
                ("mcc", "negative-metric"),
                ("loss", "unknown-direction"),
            )
        ],
        "",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_values_that_no_ray_can_have(case: str, tmp_path: Path) -> None:
    text, places, offered = REFUSED[case]
    error = refusal_of(tmp_path, f"model,{text}")
    assert checked_places(error, tmp_path) == places
    assert offered in str(error.hint)
    if case == "unbounded":
        assert error.fixes == {"rescale": {"dor": (0, 200)}}


@pytest.mark.parametrize(
    ("name", "values", "scale", "d"),
    [
        ("mcc", (0.1, -0.2), (-1, 1), ((0.1 + 1) / 2, (-0.2 + 1) / 2)),
        ("neg_log_loss", (-0.5, -1.2), (-2, 0), (1 - 0.5 / 2, 1 - 1.2 / 2)),
        ("log_loss", (0.25, 0.5), (0, 1), (0.75, 0.5)),
    ],
)
def test_a_scale_makes_a_ray_of_a_metric_that_had_none(
    name: str, values: tuple[float, float], scale: tuple[float, float], d: tuple[float, float]
) -> None:
    frame = pl.DataFrame({"model": ["a", "b"], "f1": [0.8, 0.7], name: values, "auc": [0.9, 0.8]})
    rows = rows_of(clfeval.mlcps(frame, rescale={name: scale}), "profile", metric=name)
    assert [row["d"] for row in rows] == pytest.approx(d)


@pytest.mark.parametrize("low", [True, False])
def test_a_scale_that_hardly_tells_models_apart_is_noted(low: bool) -> None:
    f1 = [0.94, 0.5] if low else [99.9, 99.8]
    frame = pl.DataFrame({"model": ["a", "b"], "f1": f1, "x": [0.1, 0.2], "y": [0.3, 0.4]})
    result = clfeval.mlcps(frame, rescale={"f1": (0, 100)}, direction={"x": "max", "y": "max"})
    assert "narrow" in warning_codes(result)
    assert "narrow" not in warning_codes(
        clfeval.mlcps(frame, metric=["x", "y", "f1"], rescale={"f1": (0, 1) if low else (99, 100)})
    )


def test_globs_stand_for_metrics_and_names_go_before_them(tmp_path: Path) -> None:
    path = metrics_file(tmp_path, "model,acc,f1,auc\na,87.5,80,90\nb,70,70,80\n")
    result = clfeval.mlcps(path, rescale={"*": (0, 100), "f1": (0, 200)}, metric_weight={"a*": 2})
    assert result.parameters["scales"] == {"acc": [0, 100], "f1": [0, 200], "auc": [0, 100]}
    assert result.parameters["weights"] == {"acc": 2, "f1": 1, "auc": 2}
    with pytest.raises(UsageError) as caught:
        at_shell(clfeval.mlcps)(path, rescale={"x*": (0, 100)})
    assert "--rescale" in str(caught.value)
    assert "'x*'" in str(caught.value)


def test_ids_and_truth_are_predictions_whatever_the_truth_is_made_of(tmp_path: Path) -> None:
    error = refusal_of(tmp_path, "id,truth,rf,svm,lr\ns1,benign,.8,.7,.6\ns2,malignant,.9,.8,.7\n")
    assert error.problems[0].code == "which-layout"
    assert "--from predictions" in str(error.parts[0].hint)
    assert error.fixes == {"source": "predictions"}


def test_outside_the_scale_given(tmp_path: Path) -> None:
    error = refusal_of(tmp_path, "model,f1,auc,x\na,.8,.9,3\nb,.7,.8,7\n", rescale={"x": (0, 5)})
    assert checked_places(error, tmp_path) == ["metrics.csv:3: column 'x': [outside-scale]"]


@pytest.mark.parametrize("name", ["val_loss", "Test Error", "latency ms", "rmse"])
def test_a_name_that_speaks_of_less_must_be_explained(name: str, tmp_path: Path) -> None:
    text = f"model,f1,auc,{name}\na,.8,.9,.2\nb,.7,.8,.1\n"
    error = refusal_of(tmp_path, text)
    assert error.problems[0].code == "unknown-direction"
    for direction in ("min", "max"):
        assert f"--direction {quote(name)}={direction}" in str(error.hint)
    result = clfeval.mlcps(metrics_file(tmp_path, text), direction={name: "min"})
    assert [row["d"] for row in rows_of(result, "profile", metric=name)] == [0.8, 0.9]


@pytest.mark.parametrize(("name", "best"), [("phi", 0), ("calibration_slope", 1), ("citl", 0)])
def test_a_measure_that_is_best_in_between(tmp_path: Path, name: str, best: int) -> None:
    error = refusal_of(tmp_path, f"model,f1,auc,{name}\na,.8,.9,.2\nb,.7,.8,.1\n")
    assert error.problems[0].code == "no-direction"
    assert best in numbers_in(error.problems[0].message)


def test_weights_of_zero_may_leave_too_few(tmp_path: Path) -> None:
    path = metrics_file(tmp_path, "model,f1,auc,mcc\na,.8,.9,.5\n")
    with pytest.raises(DataError) as few:
        at_shell(clfeval.mlcps)(path, metric_weight={"mcc": 0})
    assert few.value.problems[0].code == "too-few-metrics"
    with pytest.raises(UsageError, match=r"\[zero-weight\]"):
        at_shell(clfeval.mlcps)(
            path, metric_weight=dict.fromkeys(("f1", "auc", "mcc"), 0), zero_weight="ray"
        )
    checked_places(few.value, tmp_path)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("metric_weight", {"f_1": 2}),
        ("direction", {"f_1": "min"}),
        ("rescale", {"f_1": (0, 2)}),
        ("desirability", {"f_1": {"goal": "maximize", "low": 0, "high": 1}}),
    ],
)
def test_options_that_name_no_metric(option: str, value: object, tmp_path: Path) -> None:
    path = metrics_file(tmp_path, "model,f1,auc,mcc\na,.8,.9,.5\n")
    with pytest.raises(UsageError) as caught:
        at_shell(clfeval.mlcps)(path, **{option: value})  # type: ignore[arg-type]
    assert f"--{option.replace('_', '-')}" in caught.value.problems[0].message
    assert "'f1'" in str(caught.value.hint)


@pytest.mark.parametrize(
    "options",
    [
        {"metric_weight": {"f1": -1}},
        {"metric_weight": {"f1": float("nan")}},
        {"metric_weight": {"f1": 1e9}},
        {"metric_weight": {"f1": "2"}},
        {"zero_weight": "keep"},
        {"direction": {"f1": "up"}},
        {"rescale": {"f1": (1, 0)}},
        {"rescale": {"f1": (1, 1)}},
        {"rescale": {"f1": 2}},
        {"rescale": {"f1": (0, float("inf"))}},
        {"level": 95},
        {"draws": 5, "weight_sensitivity": True},
        {"seed": -1},
        {"seed": 0.5},
        {"resamples": 1000},
        {"truth": "x"},
        {"threshold": 0.4},
        {"weight": "n"},
        {"layout": "counts"},
        {"source": "scores"},
        {"interval": "influence"},
    ],
    ids=str,
)
def test_options_no_computation_accepts(options: dict[str, object], tmp_path: Path) -> None:
    path = metrics_file(tmp_path, "model,f1,auc,mcc\na,.8,.9,.5\n")
    flag = {"source": "--from"}.get(name := next(iter(options)), f"--{name.replace('_', '-')}")
    with pytest.raises(UsageError, match=f"^{flag} "):
        at_shell(clfeval.mlcps)(path, **options)  # type: ignore[arg-type]


def test_warnings_name_what_is_assumed_or_turned() -> None:
    frame = pl.DataFrame(
        {
            "model": ["a", "b", "c"],
            "f1": [0.8, 0.7, 0.9],
            "brier": [0.1, 0.3, 0.2],
            "mcc": [0.3, 0.1, 0.2],
            "gain": [0.2, 0.2, 0.1],
        }
    )
    result = clfeval.mlcps(frame)
    assert {"flipped", "assumed-direction", "other-scale"} <= set(warning_codes(result))
    (flipped,) = warning_messages(result, "flipped")
    assert "'brier'" in flipped
    (assumed,) = warning_messages(result, "assumed-direction")
    assert "'gain'" in assumed
    quiet = clfeval.mlcps(frame, direction={"gain": "max"}, rescale={"mcc": (-1, 1)})
    assert not {"assumed-direction", "other-scale"} & set(warning_codes(quiet))


def test_rounding_is_no_offence() -> None:
    """Sums of shares may pass 1, or miss 0, by the last digit."""
    frame = pl.DataFrame({"model": ["a"], "x": [1 + 2e-16], "y": [-1e-17], "z": [1.0]})
    assert [row["d"] for row in clfeval.mlcps(frame).tables["profile"]] == [1.0, 0.0, 1.0]
