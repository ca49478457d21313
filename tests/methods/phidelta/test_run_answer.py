"""What phidelta says of runs: every sentence where it is true, and where it must not be."""

from __future__ import annotations

from clfeval.methods.phidelta.answer import run_answer
from clfeval.methods.phidelta.tables import spread_rows
from clfeval.result import Answer

FRACTION, LEVEL = 0.9, 0.95


def answered(
    fraction: float | None = FRACTION, level: float | None = LEVEL, phi: float = 0.0,
    **models: list[float],
) -> dict[str, Answer]:  # fmt: skip
    """Return the sentences by code, of models given by the δ of each run."""
    points = {
        name: {str(i): (phi, delta) for i, delta in enumerate(deltas)}
        for name, deltas in models.items()
    }
    said = run_answer(points, spread_rows(points, fraction, level), fraction, level)
    assert len({sentence.code for sentence in said}) == len(said) <= 5
    return {sentence.code: sentence for sentence in said}


def test_the_best_by_its_mean_and_who_is_worse_for_certain() -> None:
    said = answered(b=[0.2, 0.21, 0.19, 0.22], a=[0.8, 0.81, 0.79, 0.8])
    best = said["best-delta"]
    assert best.text.startswith("a discriminates best on average over 4 runs: δ 0.800 [")
    assert best.models == ("a",)
    assert said["told-apart"].text == (
        "Over these runs each other model discriminates less, and chance does not explain it."
    )
    assert set(said) == {"best-delta", "told-apart"}


def test_who_cannot_be_told_from_the_best() -> None:
    # differences of .1, -.1, .1 and 0
    said = answered(a=[0.8, 0.5, 0.7, 0.6], b=[0.7, 0.6, 0.6, 0.6])
    assert said["not-told-apart"].text == "Over these runs it cannot be told from b."
    assert "told-apart" not in said


def test_a_difference_that_never_moves_is_not_tested() -> None:
    constant = answered(a=[0.75, 0.5, 1.0], b=[0.5, 0.25, 0.75])
    assert constant["untested"].text.startswith("These runs are too few, or too much alike")
    one_run = answered(a=[0.75], b=[0.5])
    assert "untested" in one_run
    some = answered(a=[0.75, 0.5, 1.0], b=[0.5, 0.25, 0.75], c=[0.01, -0.25, 0.26])
    assert some["not-told-apart"].models == ("b",)  # c is tested, and worse


def test_the_other_way_round_in_common_runs_is_no_proof() -> None:
    # the mean of a is .75; in both runs of b, b is better by about .2
    said = answered(a=[0.5, 0.5, 1.0, 1.0], b=[0.7, 0.701])
    assert said["best-delta"].models == ("a",)
    assert said["not-told-apart"].models == ("b",)


def test_without_the_share_trained_on_or_without_intervals_nothing_is_tested() -> None:
    deltas = {"a": [0.8, 0.81, 0.79], "b": [0.2, 0.25, 0.19]}
    said = answered(None, **deltas)
    assert said["best-delta"].text == "a discriminates best on average over 3 runs: δ 0.800."
    assert "share of rows the models were trained on" in said["untested"].text
    assert answered(FRACTION, None, **deltas)["untested"].text.startswith("No intervals")
    assert "untested" not in answered(**deltas)


def test_one_model_is_compared_with_none() -> None:
    said = answered(only=[0.8, 0.9])
    assert list(said) == ["best-delta"]
    assert said["best-delta"].text.startswith("only has on average over 2 runs: δ 0.850 [")


def test_tied_means_and_means_below_zero() -> None:
    said = answered(None, a=[0.5, 0.25], b=[0.25, 0.5], c=[0.125, 0.25])
    text = "a and b discriminate best, alike, on average over 2 runs: δ 0.375."
    assert said["best-delta"].text == text
    below = answered(None, a=[-0.5, -0.25], b=[-0.75, -0.5])
    assert below["best-delta"].text == "a has the largest δ on average over 2 runs: -0.375."
    alike = answered(None, a=[-0.5, -0.25], b=[-0.25, -0.5], c=[-0.75, -0.5])
    assert alike["best-delta"].text == (
        "a and b have the largest δ on average over 2 runs: -0.375."
    )


def test_nothing_discriminates_best_whose_mean_may_be_zero() -> None:
    # mean .05; its SD is far above that, and t of one degree of freedom is 12.7
    text = answered(a=[0.5, -0.4], b=[-0.5, 0.3])["best-delta"].text
    assert text.startswith("a has the largest δ on average over 2 runs: 0.050 [-")


def test_all_tied_are_not_said_to_be_untested() -> None:
    assert list(answered(None, a=[0.5, 0.25], b=[0.25, 0.5])) == ["best-delta"]


def test_who_leans_for_certain_over_runs() -> None:
    deltas = [0.1, 0.12, 0.11, 0.1]
    points = {"a": {str(i): (0.5 + i / 100, delta) for i, delta in enumerate(deltas)}}
    said = run_answer(points, spread_rows(points, FRACTION, LEVEL), FRACTION, LEVEL)
    assert [sentence.code for sentence in said] == ["best-delta", "leans-positive"]
    assert "leans-positive" not in answered(a=deltas)
    assert "leans-positive" not in answered(None, a=deltas, phi=0.5)  # no interval


def test_runs_of_one_class_alone_have_no_best() -> None:
    said = answered(a=[], b=[])
    assert [sentence.code for sentence in said.values()] == ["no-position"]
    assert said["no-position"].models == ()
