"""Fixtures useful to every test."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of small tables with known origin."""
    return ROOT / "fixtures"


@pytest.fixture(scope="session")
def paper(fixtures: Path) -> Path:
    """The worked example of the MARS paper in its several layouts."""
    return fixtures / "mars-paper"
