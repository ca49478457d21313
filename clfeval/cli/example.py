"""`clfeval example [DIR]`: write small real tables, to try every command on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clfeval.cli.output import print_result
from clfeval.errors import UsageError, bad_option
from clfeval.options import Command
from clfeval.shell import format_command_line
from clfeval.unnamed import Draft

TABLES = Path(__file__).parent.parent / "example"
READABLE = 0o644
TRIES = (
    ("report", "scores.csv", "--positive", "malignant"),
    ("mars", "labels.csv", "--positive", "malignant"),
    ("phidelta", "labels.csv", "--positive", "malignant"),
    ("tune-jpt", "scores.csv", "--positive", "malignant", "--prevalence", "0.01"),
    ("mlcps", "metrics.csv"),
)
EXAMPLE = Command(
    "example",
    (),
    have="no table yet",
    want="how it works, on a real table",
    help="Write example tables: predictions of six breast cancer classifiers.",
    examples="clfeval example\nclfeval example tables\n",
    tables="The folder; by default the current one. It is created if missing.",
    optional=True,
    files="DIR",
)


def write_example(_: Command, folders: Sequence[str], __: Mapping[str, Any]) -> None:
    """Write the tables and print what to run on them; UsageError rather than replace a file."""
    if len(folders) > 1:
        raise bad_option("example takes one folder", f"clfeval example {folders[0]}")
    folder = Path(*folders)
    tables = {folder / one.name: one.read_text("utf-8") for one in sorted(TABLES.glob("*.csv"))}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in tables.items():
            if path.exists() and path.read_text("utf-8", errors="replace") != text:
                hint = "name another folder: clfeval example DIR"
                raise UsageError.new(
                    "a different file has this name", "output", f"{path}", hint=hint
                )
        for path, text in tables.items():
            draft = Draft(path)
            try:
                draft.stream.write(text)
                draft.put(READABLE)
            finally:
                draft.close()
    except OSError as error:
        what = f"cannot write the example: {error.strerror}"
        raise UsageError.new(what, "output", f"{folder}") from None
    names = ", ".join(map(str, tables))
    commands = [
        format_command_line(["clfeval", name, str(folder / file), *more])
        for name, file, *more in TRIES
    ]
    lines = [f"Wrote {names}. Now try, for example:", *(f"  {one}" for one in commands)]
    print_result([f"{one}\n" for one in lines], for_people=True)
