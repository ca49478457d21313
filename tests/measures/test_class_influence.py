"""Influence functions of tables of classes: numerical differentiation, jackknife, known errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from clfeval.arrays import Counts, Floats
from clfeval.measures.catalog import CATALOG
from clfeval.measures.multiclass_table import Average, average_influence, class_average
from tests.measures.test_classes import DICE

Of = Callable[[Counts], Floats]
EVENT = np.array([[2613, 750], [564, 2180]])  # Kuhn and Johnson, Table 15.1


def smooth(c: int) -> Iterator[tuple[str, Of, Of]]:
    """Yield what has an influence function on tables of c classes: name, measure, function."""
    costs = np.random.default_rng(c).normal(size=(c, c))
    for name, measure in CATALOG.items():
        one = measure.with_settings(costs=costs, beta=2.0)
        form = one.classes
        if form is None or measure.needs not in ("confusion", "classes"):
            continue
        if form.compute is not None and form.influence is not None:
            yield name, form.compute, form.influence
        elif form.parts is not None:
            averages: tuple[Average, ...] = ("macro", "weighted", "micro")
            for by in averages:
                yield (
                    f"{name} {by}",
                    lambda n, m=one, by=by: class_average(m, n, by),
                    lambda n, m=one, by=by: average_influence(m, n, by),
                )


def class_tables() -> list[Counts]:
    rng = np.random.default_rng(1)
    unsaid = rng.integers(1, 30, (4, 4)) + np.diag([9, 30, 2, 50])
    unsaid[:, 2] = 0
    return [rng.integers(1, 30, (c, c)) + np.diag(rng.integers(5, 60, c)) for c in (2, 3, 5)] + [
        unsaid
    ]


def slopes(of: Of, n: Floats, step: float) -> Floats:
    """Return M d theta / d n of each cell, on the last axis, by central differences."""
    found = []
    for cell in range(n.size):
        one = np.zeros(n.size)
        one[cell] = step
        one = one.reshape(n.shape)
        found.append((of(n + one) - of(n - one)) / (2 * step))
    return np.asarray(np.stack(found, axis=-1) * n.sum())


@pytest.mark.parametrize("n", class_tables(), ids=["2", "3", "5", "never said"])
def test_numerical_differentiation(n: Counts) -> None:
    counts, shares = n.astype(float), (n / n.sum()).ravel()
    inside = n.ravel() > 0  # an empty cell has no count below
    for name, of, influence in smooth(len(n)):
        found = influence(n)
        with np.errstate(invalid="ignore"):
            slope = slopes(of, counts, 1e-3)
        defined = ~np.isnan(found)
        np.testing.assert_allclose(
            found[..., inside], slope[..., inside], atol=2e-6, rtol=2e-6, err_msg=name
        )
        mean = np.where(defined, found, 0.0) @ shares
        np.testing.assert_allclose(mean, 0, atol=1e-13, err_msg=name)
        assert defined.any(), name


def kappa_error(name: str, n: Counts) -> float:
    form = CATALOG[name].classes
    assert form is not None
    assert form.influence is not None
    return math.sqrt(float(form.influence(n) ** 2 @ n.ravel())) / float(n.sum())


def test_the_error_of_kappa_is_that_of_fleiss_cohen_and_everitt() -> None:
    assert kappa_error("kappa", EVENT) == pytest.approx(0.0105354058, abs=5e-11)
    rng = np.random.default_rng(3)
    tables = [EVENT, DICE[:5, :5], *(rng.integers(0, 40, (c, c)) for c in range(2, 13))]
    for n in tables:
        for name, weights in (
            ("kappa", None),
            ("kappa_linear", "linear"),
            ("kappa_quadratic", "quadratic"),
        ):
            peer = cohens_kappa(n, wt=weights)
            assert kappa_error(name, n) == pytest.approx(peer.std_kappa, rel=1e-11)


def test_what_is_not_smooth_or_undefined_has_none() -> None:
    perfect, alike = np.diag([7, 1, 3]), np.diag([5, 0, 0])
    for name, n in (
        ("ordinal_rmse", perfect),
        ("mcc", alike),
        ("kappa", alike),
        ("balanced_accuracy", alike),
    ):
        form = CATALOG[name].classes
        assert form is not None
        assert form.influence is not None
        assert np.isnan(form.influence(n)).all(), name
    rate = CATALOG["no_information_rate"].classes
    assert rate is not None
    assert rate.influence is None
    assert not np.isnan(average_influence(CATALOG["precision"], alike, "macro")).any()
    assert np.isnan(average_influence(CATALOG["precision"], np.zeros((3, 3)), "macro")).all()
    with pytest.raises(ValueError, match="kappa"):
        average_influence(CATALOG["kappa"], perfect, "macro")
