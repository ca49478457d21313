"""The simulations behind the guide's tables of coverage run against today's code."""

from __future__ import annotations

import pytest

from tests.benchmarks.coverage.__main__ import topics

FEW = 10  # tables of each setting: enough for one of them to have what is measured


@pytest.mark.slow
@pytest.mark.parametrize("topic", topics())
def test_every_simulation_has_lines(topic: str) -> None:
    """They say something of each setting, and it is a share."""
    lines = topics()[topic](FEW)
    assert lines
    assert all(0 <= line.covered <= 1 for line in lines)
