"""Runs the console blocks of README and guides; `python -m tests.readme` rewrites them."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from tests.process.runner import run
from tests.process.scripts import run_script
from tests.texts import with_kept_digits

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
GUIDES = sorted((ROOT / "clfeval" / "guide").glob("*.md"))
BLOCK = re.compile(r"```console\n\$ (?P<command>.+)\n(?P<output>(?:.*\n)*?)```\n")


def regenerated(text: str) -> str:
    """Return the text with the output of every console block as it is today."""
    return BLOCK.sub(lambda match: with_kept_digits(block_of(match["command"]), match[0]), text)


def block_of(command: str) -> str:
    """Run one command as a reader would, 80 columns wide, and return its block."""
    bin_folder = str(Path(sys.executable).parent)
    environment = {
        "PATH": os.pathsep.join([bin_folder, os.environ["PATH"]]),
        "COLUMNS": "80",
        "LC_ALL": "C.UTF-8",
    }
    said, piped, code = "", b"", 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("fixtures").symlink_to(ROOT / "fixtures")
        run(["example"], b"", environment)
        for part in command.split(" | "):
            if part.startswith("clfeval ") and part.endswith(" --quiet"):
                done = run(shlex.split(part)[1:], piped, environment)
                said, piped, code = said + done.err, done.out.encode(), done.code
            else:  # a shell; it keeps what is said between lines of the result in its place
                done = run_script(part, piped, environment, is_merged=True)
                piped, code = done.out.encode(), done.code
    ending = f"[exit code {code}]\n" if code else ""
    return f"```console\n$ {command}\n{said}{piped.decode()}{ending}```\n"


if __name__ == "__main__":
    for page in (README, *GUIDES):
        page.write_text(regenerated(page.read_text(encoding="utf-8")), encoding="utf-8")
