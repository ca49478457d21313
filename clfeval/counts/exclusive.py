"""The observations behind exclusive finds and misses: their ids, for close reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clfeval.counts.kept import Kept, Target
from clfeval.tables.engine import collect
from clfeval.tables.names import natural
from clfeval.tables.peek import as_text


@dataclass(frozen=True, slots=True)
class Listed:
    """One observation found or missed by one model alone; without id, its row (header is row 1)."""

    model: str
    kind: str
    file: str
    key: str  # "id" or "row"
    id: str | int


def list_exclusive(
    kept: Kept,
    kinds: Sequence[str],
    *,
    target: Target,
    rule: str,
    groups: Mapping[str, tuple[str, ...]],
) -> list[Listed]:
    """List the target rows that one model alone finds (`found`) or alone misses (`missed`).

    Missed alone means: by this model, while every other (rule `all`) or some other (rule `any`)
    finds it. Order: model, kind, then the order of the table (of the ids, for a long table).
    """
    settled = kept.settled
    key = "row" if settled.columns.id is None else "id"
    member_of = {member: name for name, members in groups.items() for member in members}
    names = [member_of.get(model.name, model.name) for model in settled.columns.models]
    unique = list(dict.fromkeys(names))
    listed = []
    frames = kept.frames(votes=True, key=True, target=target)
    for file, frame in zip(settled.files, frames, strict=not settled.layout.gathers):
        table = collect(frame)
        votes = np.column_stack([table[f"v{i}"].to_numpy() for i in range(len(names))])
        keys, hits = table["key"].to_numpy(), votes == (target == "positive")
        merged = np.column_stack(
            [hits[:, [i for i, n in enumerate(names) if n == name]].any(axis=1) for name in unique]
        )
        finders = merged.sum(axis=1)
        for j, model in enumerate(unique):
            for kind in kinds:
                if kind == "found":
                    mask = merged[:, j] & (finders == 1)
                else:
                    enough = finders == len(unique) - 1 if rule == "all" else finders > 0
                    mask = ~merged[:, j] & enough & (len(unique) > 1)
                listed += [
                    (j, kinds.index(kind), Listed(model, kind, file.shown, key, name))
                    for value in keys[mask].tolist()
                    for name in [int(value) if key == "row" else as_text(value) or ""]
                ]
    if settled.layout.gathers:  # a long table has no order of observations
        listed.sort(key=lambda item: natural(str(item[2].id)))
    listed.sort(key=lambda item: item[:2])
    return [item for _, _, item in listed]
