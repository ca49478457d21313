"""The signature: the settings that change numbers, and the hashes of what they were applied to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clfeval import __version__
from clfeval.counts.files import FileCount
from clfeval.result import Input

# the bar separates parts, and one line is one signature
QUOTED = str.maketrans({"|": "%7C", "%": "%25", "\n": "%0A", "\r": "%0D"})


def signature(
    settings: Iterable[tuple[str, Any]], files: Iterable[FileCount | Input], statistics: str
) -> str:
    """Join `key:value` parts: the settings, the sha256 of the files, that of the statistics."""
    data = "+".join(file.sha256[:8] if file.sha256 else "-" for file in files)
    parts = [*settings, ("data", data), ("stats", statistics[:8]), ("clfeval", __version__)]
    return "|".join(f"{key}:{str(value).translate(QUOTED)}" for key, value in parts)


def cuts_in_force(thresholds: Mapping[str, float | None]) -> str:
    """Write the thresholds: one number when all models share it, `none` when there is none."""
    cuts = {name: cut for name, cut in thresholds.items() if cut is not None}
    if len(set(cuts.values())) <= 1:
        return "".join(repr(cut) for cut in set(cuts.values())) or "none"
    return ",".join(f"{name}={cut!r}" for name, cut in sorted(cuts.items()))
