"""The observations behind exclusive finds and misses: their ids, for close reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.counts.kept import Kept, Target
from clfeval.counts.patterns import any_of, merged
from clfeval.tables.cells import as_text
from clfeval.tables.engine import collect
from clfeval.tables.names import natural


def list_exclusive(
    kept: Kept,
    kinds: Sequence[str],
    *,
    target: Target,
    rule: str,
    groups: Mapping[str, tuple[str, ...]],
) -> list[dict[str, Any]]:
    """List the target rows that one model alone finds (`found`) or alone misses (`missed`).

    A row names model, list and file, and the id of the observation, or else its row.
    Missed alone means: by this model, while every other (rule `all`) or some other (rule `any`)
    finds it. Order: model, kind, then the order of the table (of the ids, for a long table).
    """
    settled = kept.settled
    key = "row" if settled.columns.id is None else "id"
    models = [model.name for model in settled.columns.models]
    together = merged(models, groups)
    listed: list[tuple[int, int, dict[str, Any]]] = []
    frames = kept.frames(votes=True, key=True, target=target)
    for file, frame in zip(settled.files, frames, strict=not settled.layout.gathers):
        table = collect(frame)
        votes = np.column_stack([table[f"v{i}"].to_numpy() for i in range(len(models))])
        keys, hits = table["key"].to_numpy(), any_of(votes == (target == "positive"), together)
        finders = hits.sum(axis=1)
        for j, model in enumerate(together):
            for kind in kinds:
                if kind == "found":
                    mask = hits[:, j] & (finders == 1)
                else:
                    enough = finders == len(together) - 1 if rule == "all" else finders > 0
                    mask = ~hits[:, j] & enough & (len(together) > 1)
                listed += [
                    (
                        j,
                        kinds.index(kind),
                        {"model": model, "list": kind, "file": file.shown, key: name},
                    )
                    for value in keys[mask].tolist()
                    for name in [int(value) if key == "row" else as_text(value) or ""]
                ]
    if settled.layout.gathers:  # a long table has no order of observations
        listed.sort(key=lambda item: natural(item[2]["id"]))
    listed.sort(key=lambda item: item[:2])
    return [item for _, _, item in listed]
