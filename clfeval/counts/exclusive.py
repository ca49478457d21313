"""The observations behind exclusive finds and misses: their ids, for close reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from clfeval.arrays import Bools
from clfeval.counts.count import Counted
from clfeval.counts.raw import MISSING, collect, vote_expression
from clfeval.counts.reading import frames
from clfeval.tables.names import natural
from clfeval.tables.peek import as_text

ROW = "__clfeval_row"


@dataclass(frozen=True, slots=True)
class Listed:
    """One observation found or missed by one model alone; without id, its row (header is row 1)."""

    model: str
    kind: str
    file: str
    key: str  # "id" or "row"
    id: str | int


def list_exclusive(
    counted: Counted,
    kinds: Sequence[str],
    *,
    target: str,
    rule: str,
    groups: Mapping[str, tuple[str, ...]],
) -> list[Listed]:
    """List the target rows that one model alone finds (`found`) or alone misses (`missed`).

    Missed alone means: by this model, while every other (rule `all`) or some other (rule `any`)
    finds it. Order: model, kind, then the order of the table (of the ids, for a long table).
    """
    key = "row" if counted.predictions.layout.id is None else "id"
    member_of = {member: name for name, members in groups.items() for member in members}
    names = [member_of.get(model.name, model.name) for model in counted.models]
    listed = []
    single = counted.predictions.layout.name == "long"
    files = [counted.files[0].name] if single else [file.name for file in counted.files]
    scans = frames(counted.predictions, counted.mode, keep_id=True)
    for file, frame in zip(files, scans, strict=True):
        keys, hits = _hits(frame, counted, target)
        unique = list(dict.fromkeys(names))
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
                    (j, kinds.index(kind), Listed(model, kind, file, key, name))
                    for value in keys[mask].tolist()
                    for name in [int(value) if key == "row" else as_text(value) or ""]
                ]
    if single:  # a long table has no order of observations
        listed.sort(key=lambda item: natural(str(item[2].id)))
    listed.sort(key=lambda item: item[:2])
    return [item for _, _, item in listed]


def _hits(frame: nw.LazyFrame[Any], counted: Counted, target: str) -> tuple[NDArray[Any], Bools]:
    plan = counted.plan
    row_id = counted.predictions.layout.id
    if row_id is None:
        frame = _with_rows(frame, first=2 if counted.predictions.files[0].head else 1)
    truth = nw.col(plan.truth)
    is_positive = truth.is_in(list(counted.positive_values))
    votes = {}
    for i, model in enumerate(plan.models):
        vote = vote_expression(model, plan.thresholds[model.name], plan.positive)
        if model.kind == "label":
            yes = vote.is_in(list(counted.vote_values[i]))
            vote = (
                nw.when(vote.is_null()).then(nw.lit(MISSING))
                .otherwise(nw.when(yes).then(nw.lit(1)).otherwise(nw.lit(0)))
            )  # fmt: skip
        votes[f"v{i}"] = vote.cast(nw.Int8)
    key = nw.col("id" if counted.predictions.layout.name == "long" else row_id or ROW)
    if plan.weight is not None:
        frame = frame.filter(nw.col(plan.weight) > 0)
    table = collect(
        frame.filter(~truth.is_null())
        .filter(is_positive if target == "positive" else ~is_positive)
        .select(
            key.cast(nw.String).alias("key"), *[vote.alias(name) for name, vote in votes.items()]
        )
    )
    codes = np.column_stack([table[name].to_numpy() for name in votes])
    complete = (codes != MISSING).all(axis=1)
    hits = codes[complete] == (1 if target == "positive" else 0)
    return table["key"].to_numpy()[complete], hits


def _with_rows(frame: nw.LazyFrame[Any], *, first: int) -> nw.LazyFrame[Any]:
    native: Any = frame.to_native()
    if isinstance(native, pl.LazyFrame):
        return nw.from_native(native.with_row_index(ROW, offset=first))
    numbered: pl.DataFrame = frame.collect("polars").to_native().with_row_index(ROW, offset=first)
    return nw.from_native(numbered.lazy())
