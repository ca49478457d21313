"""Fixtures useful to every test, and what the gate leaves to a full run."""

from __future__ import annotations

import gc
import random
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import tests.thoroughness  # noqa: F401 - it registers the profiles
from clfeval.placeholders import fill_for_shell

pytest_plugins = ["tests.texts", "tests.language"]
ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="all examples, sizes and grids too")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all tests are known
    heed_signals()
    full = config.getoption("full")
    settings.load_profile("full" if full else "gate")
    if full and config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = random.randrange(1 << 32)  # handed to every worker


def heed_signals() -> None:
    """Let what tests start end on every signal, also where our caller ignores some (nohup, &)."""
    for name in ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)  # we go on; a child starts with the default


def pytest_report_header(config: pytest.Config) -> str:
    if config.getoption("full"):
        return f"everything, with --hypothesis-seed={config.getoption('hypothesis_seed')}"
    return "the gate: few examples of each property, always the same; make test FULL=1 for the rest"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("full"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        config.stash[LEFT_OUT] = len(slow)


def pytest_collection_finish() -> None:
    """Spare every look for garbage the million objects of the tests, which stay to the end."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Escape the marks of placeholders in a report, which a worker could not send."""
    report = yield
    text = str(report.longrepr or "")
    if not text.isascii() and text != fill_for_shell(text):
        report.longrepr = text.encode(errors="backslashreplace").decode()
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    found = getattr(node, "workeroutput", {}).get("left out", 0)  # every worker collects all
    node.config.stash[LEFT_OUT] = max(found, node.config.stash.get(LEFT_OUT, 0))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if left_out := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{left_out} slow tests deselected (sizes, clocks, whole grids): make test FULL=1"
        )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder the test runs in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of small tables with known origin."""
    return ROOT / "fixtures"


@pytest.fixture(scope="session")
def paper(fixtures: Path) -> Path:
    """The worked example of the MARS paper in its several layouts."""
    return fixtures / "mars-paper"
