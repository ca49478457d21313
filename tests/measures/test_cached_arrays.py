"""What was made of arrays is remembered only while nobody can have changed them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from clfeval.arrays import Counts, Floats, cache_last_call, constant_arrays
from clfeval.measures import calibration_spline
from clfeval.measures.calibration import (
    calibration_in_the_large,
    calibration_slope,
    slope_influence,
)
from tests.samples import logistic


def fixed(*numbers: float) -> Counts:
    array = np.array(numbers)
    array.setflags(write=False)
    return array


def counting() -> tuple[list[int], Callable[..., Floats]]:
    asked: list[int] = []

    def total(*arrays: Counts) -> Floats:
        asked.append(threading.get_ident())
        return np.asarray(sum(array.sum() for array in arrays))

    return asked, cache_last_call(total)


def test_the_same_arrays_are_not_looked_at_twice() -> None:
    asked, total = counting()
    a, b = fixed(1, 2), fixed(3)
    assert [total(a, b).item(), total(a, b).item()] == [6, 6]
    assert len(asked) == 1
    assert total(b, a) == 6  # in another order they are others
    assert total(a, b) == 6  # and only the last are remembered
    assert len(asked) == 3


def test_equal_arrays_are_not_the_same() -> None:
    asked, total = counting()
    for _ in range(3):
        total(fixed(1, 2))  # each is gone when the next one comes, which may take its place
    assert len(asked) == 3


def test_what_can_be_written_to_is_looked_at_again() -> None:
    _, total = counting()
    a = np.array([1.0, 2.0])
    assert total(a) == 3
    a[0] = 10
    assert total(a) == 12


def test_what_is_remembered_cannot_be_written_to() -> None:
    double = cache_last_call(lambda a: 2 * a)
    a = fixed(1, 2)
    with pytest.raises(ValueError, match="read-only"):
        double(a)[0] = 5
    assert double(a).tolist() == [2, 4]


def test_summaries_of_constant_arrays_share_one_calibration_curve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    curves = []

    def curve_values(*counts: Counts) -> Floats:
        curves.append(counts)
        return np.array([0.5, 0.5, 0.5])

    monkeypatch.setattr(calibration_spline, "curve_values", curve_values)
    arrays = (np.array([0.1, 0.4, 0.9]), np.array([1, 0, 3]), np.array([2, 3, 0]))
    views = constant_arrays(*arrays)
    # distances .4 of 3 rows, .1 of 3 and .4 of 3
    assert calibration_spline.ici(*views) == pytest.approx(0.3)
    assert calibration_spline.distance_quantile(0.1, *views) == pytest.approx(0.1)
    assert calibration_spline.distance_quantile(1, *views) == pytest.approx(0.4)
    assert len(curves) == 1
    arrays[1][:] = (2, 0, 2)  # they can still be written to
    assert calibration_spline.ici(*constant_arrays(*arrays)) == pytest.approx(0.3)
    assert len(curves) == 2


def test_every_thread_remembers_for_itself() -> None:
    asked, total = counting()
    a = fixed(1, 2)
    total(a)
    other = threading.Thread(target=total, args=(a,))
    other.start()
    other.join()
    assert len(asked) == len({*asked}) == 2


def test_calibration_is_the_same_for_arrays_nobody_can_write_to() -> None:
    rng = np.random.default_rng(20261122)
    p = np.sort(rng.uniform(0.01, 0.99, 6000))
    positives = (rng.uniform(size=6000) < p).astype(np.int64)
    free = p, positives, 1 - positives
    kept = tuple(fixed(*part.tolist()) for part in free)
    for of in (calibration_slope, calibration_in_the_large, slope_influence):
        np.testing.assert_array_equal(of(*free), of(*kept))
        np.testing.assert_array_equal(of(*kept), of(*kept))


def test_many_scores_start_near_the_top_and_end_at_it() -> None:
    """sum n / (1 + exp(-a - x)) = P, also where blocks of scores say where to start."""
    rng = np.random.default_rng(7)
    x = np.sort(rng.normal(0, 3, 9000))
    positives = (rng.uniform(size=9000) < logistic(x - 2)).astype(np.int64)
    p = logistic(x)
    a = calibration_in_the_large(p, positives, 1 - positives).item()
    expected = (1 / (1 + np.exp(-a - np.log(p) + np.log1p(-p)))).sum()
    assert expected == pytest.approx(positives.sum(), rel=1e-12)
