"""Every test of a history works in a folder of its own, with a small table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.process.program import WIDE


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder the program runs in; it holds `t.csv`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(WIDE, encoding="utf-8")
    return tmp_path
