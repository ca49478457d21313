"""The layouts of prediction tables: one module each, and this list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clfeval.tables.columns import Layout


def layouts() -> tuple[Layout, ...]:
    """Return the layouts in order of recognition, imported on first use."""
    from clfeval.tables.layouts import counts, long, wide

    return (counts.LAYOUT, long.LAYOUT, wide.PROBABILITIES, wide.LAYOUT)
