"""Holm's rule: by hand, and as statsmodels has it."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from clfeval.inference.proportions import holm


def test_as_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "collect", lambda: 0)  # which each call of theirs asks for
    rng = np.random.default_rng(20261122)
    for size in (1, 2, 3, 5, 8) * 4:
        p = rng.random(size) ** rng.integers(1, 9)
        p[rng.random(size) < 0.2] = rng.choice([0.0, 1.0, p[0]])
        assert holm(p.tolist()) == pytest.approx(list(multipletests(p, method="holm")[1]))
