"""Runs the console blocks of README.md; `python -m tests.readme` writes their output anew."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n\$ (?P<command>.+)\n(?P<output>(?:.*\n)*?)```\n")


def regenerated(text: str) -> str:
    """Return the text with the output of every console block as it is today."""
    return BLOCK.sub(lambda match: block_of(match["command"]), text)


def block_of(command: str) -> str:
    """Run one command as a reader would, 80 columns wide, and return its block."""
    bin_folder = str(Path(sys.executable).parent)
    environment = {
        "PATH": os.pathsep.join([bin_folder, os.environ["PATH"]]),
        "COLUMNS": "80",
        "LC_ALL": "C.UTF-8",
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "fixtures").symlink_to(ROOT / "fixtures")
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    code = f"[exit code {done.returncode}]\n" if done.returncode else ""
    return f"```console\n$ {command}\n{done.stdout.decode()}{code}```\n"


if __name__ == "__main__":
    README.write_text(regenerated(README.read_text(encoding="utf-8")), encoding="utf-8")
