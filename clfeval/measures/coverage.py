"""Measures of models together: which rows some find and others miss, as shares of rows."""

from __future__ import annotations

from clfeval.arrays import over
from clfeval.measures.record import Measure

_MARS = "Restrepo et al. 2022, F1000Research 11:391 v2"

# of two counts of rows, the part and the whole of the formula
MEASURES = (
    Measure("shine_through", "ShineThrough", over, "patterns", "max", 0, 1, ("nothing_found",),
            "share",
            "rows of the target class found by S and by no model outside / rows found by any model",
            _MARS),
    Measure("occlusion", "Occlusion", over, "patterns", "min", 0, 1,
            ("nothing_found", "no_other_model"), "share",
            "rows of the target class missed by S and found by every model outside (rule all; some"
            " model outside under rule any) / rows found by any model", _MARS),
    Measure("yield", "yield", over, "patterns", "max", 0, 1, ("zero_margin",), "share",
            "covered / effort", _MARS),
)  # fmt: skip
