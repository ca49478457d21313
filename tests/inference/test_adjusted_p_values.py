"""Rules of Holm and Hochberg: as statsmodels has them."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from clfeval.inference.proportions import hochberg, holm


@pytest.mark.parametrize(("rule", "name"), [(holm, "holm"), (hochberg, "simes-hochberg")])
def test_as_statsmodels(
    rule: Callable[[list[float]], list[float]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "collect", lambda: 0)  # which each call of theirs asks for
    rng = np.random.default_rng(20261122)
    for size in (1, 2, 3, 5, 8) * 4:
        p = rng.random(size) ** rng.integers(1, 9)
        p[rng.random(size) < 0.2] = rng.choice([0.0, 1.0, p[0]])
        assert rule(p.tolist()) == pytest.approx(list(multipletests(p, method=name)[1]))


def test_as_by_hand() -> None:
    """Of .01, .04, .03: Holm 3 x .01, 2 x .03, no less; Hochberg .04, no more, 3 x .01."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
