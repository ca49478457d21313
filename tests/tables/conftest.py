"""Every test of tables works in a folder of its own, so that messages name bare files."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def at_home(folder: Path) -> None:
    """Run in the folder."""
