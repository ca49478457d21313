"""Every test of tables works in a folder of its own, so that messages name bare files."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder the test runs in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
