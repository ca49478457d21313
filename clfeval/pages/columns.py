"""Columns that tables of several pages have."""

from __future__ import annotations

from clfeval.schema import Column, of

SLICE, MODEL = of("slice", "slice") + of("text", "model")
CELLS = tuple(
    Column(name, "weight", name.upper(), best="min" if name in ("fp", "fn") else None)
    for name in ("tp", "fp", "fn", "tn")
)
