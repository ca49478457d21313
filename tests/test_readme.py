"""The README tells the truth: its console blocks, its Python, its options and its codes."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path

from typer.testing import CliRunner

from clfeval.cli.app import app
from tests.readme import BLOCK, README, ROOT, regenerated

TEXT = README.read_text(encoding="utf-8")


def test_console_blocks_print_what_they_say() -> None:
    assert len(BLOCK.findall(TEXT)) >= 4
    assert regenerated(TEXT) == TEXT


def test_python_blocks_print_what_their_comments_say() -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert blocks
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        for block in blocks:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, "README.md", "exec"), {})
            said = "".join(f"{line[2:]}\n" for line in block.splitlines() if line.startswith("# "))
            assert out.getvalue() == said
    finally:
        os.chdir(before)


def test_every_option_the_readme_names_exists() -> None:
    known: set[str] = set()
    for command in ("mars", "phidelta", "tune-jpt", "mlcps"):
        done = CliRunner().invoke(
            app, [command, "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"}
        )
        known |= set(re.findall(r"--[a-z][a-z-]+", done.stdout))
    named = set(re.findall(r"`[^`\n]*?(--[a-z][a-z-]+)", TEXT))
    assert named - known <= {"--help"}


def test_the_two_commands_stand_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in TEXT
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_the_changelog_has_the_version() -> None:
    import clfeval

    assert f"## {clfeval.__version__}" in Path(ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
