"""The measures a command can be asked for by name, listed or completed without a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clfeval.methods.measured.asked import Askable


def known_to(command: str) -> Askable:
    """Return the measures a command can be asked for."""
    from clfeval.methods.measured import asked

    if command == "tune-jpt":
        from clfeval.methods.tune_jpt.asked import KNOWN

        return KNOWN
    if command == "mlcps":
        from clfeval.methods.mlcps import asked as folded

        return folded.KNOWN
    return asked.OF_PREDICTIONS if command == "report" else asked.OF_TWO_CLASSES
