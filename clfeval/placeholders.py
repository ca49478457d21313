"""Placeholders for options and command lines in messages, which each dialect fills.

A message writes an option between two marks: f"add {OPTION}--missing drop{END} to drop rows". For a
shell, a text without its marks is complete; for Python and YAML `options/syntax.py` writes what the
marks enclose: `missing='drop'`. Where a value ends is marked and never inferred.

Each mark is a lone surrogate, which no file, table or argument decodes to: user data cannot hold a
placeholder, and a text with a mark cannot be written by mistake.
"""

from __future__ import annotations

OPTION = "\ud800"  # an option alone, or with its value: --id, --id COLUMN
SWITCH = "\ud801"  # an option without a value that is to be set: --transpose
COMMAND = "\ud802"  # a command line, the same in every dialect
_VERB = "\ud803"
END = "\ud804"
ADD = f"{_VERB}add{END}"  # in front of options on output, which are methods in Python
_MARKS = {ord(mark): None for mark in (OPTION, SWITCH, COMMAND, _VERB, END)}


def fill_for_shell(text: str) -> str:
    """Return a text with its placeholders filled for a shell: without the marks."""
    return text if text.isascii() else text.translate(_MARKS)
