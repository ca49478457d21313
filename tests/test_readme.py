"""README and guides tell the truth: console blocks, Python, options, links."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import clfeval
from clfeval import COMMANDS
from clfeval.cli.app import app
from tests.readme import BLOCK, GUIDES, README, ROOT, regenerated

PAGES = {page.name: page.read_text(encoding="utf-8") for page in (README, *GUIDES)}
TEXT = PAGES["README.md"]
LONGEST = 200  # lines of the README


@pytest.mark.parametrize("page", PAGES)
def test_console_blocks_print_what_they_say(page: str) -> None:
    assert regenerated(PAGES[page]) == PAGES[page]


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    assert len(BLOCK.findall(TEXT)) >= 4
    assert len(TEXT.splitlines()) <= LONGEST
    for page in (README, *GUIDES):
        for link in re.findall(r"\]\(([^)#]+)\)", PAGES[page.name]):
            assert (page.parent / link).is_file(), (page.name, link)
    for guide in GUIDES:
        assert f"(clfeval/guide/{guide.name})" in TEXT


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_guide(command: str) -> None:
    assert f"{command}.md" in PAGES


def trained() -> dict[str, Any]:
    """Return two models and rows they were not fitted on, by the names that the README uses."""
    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, random_state=0)
    logreg = make_pipeline(StandardScaler(), LogisticRegression()).fit(x_train, y_train)
    forest = RandomForestClassifier(25, random_state=0).fit(x_train, y_train)
    return {"logreg": logreg, "forest": forest, "X_test": x_test, "y_test": y_test}


def test_python_blocks_print_what_their_comments_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, "README.md", "exec"), trained())
        said = "".join(f"{line[2:]}\n" for line in block.splitlines() if line.startswith("# "))
        assert out.getvalue() == said
    assert clfeval.report("preds.csv", id="id").unsliced_rows("models")


def test_every_option_the_readme_names_exists() -> None:
    known: set[str] = set()
    for command in (*COMMANDS, "batch", "history", "example"):
        done = CliRunner().invoke(
            app, [command, "--help-all"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"}
        )
        known |= set(re.findall(r"--[a-z][a-z-]+", done.stdout))
    for page, text in PAGES.items():
        named = set(re.findall(r"`[^`\n]*?(--[a-z][a-z-]+)", text))
        assert named - known <= {"--help", "--guide", "--write-texts"}, page


def test_the_two_commands_stand_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in TEXT
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_the_changelog_has_the_version() -> None:
    assert f"## {clfeval.__version__}" in Path(ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
