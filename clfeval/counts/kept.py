"""The rows that were counted, as one relation: every later pass is a few of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clfeval.counts.group import lacks, says_positive, score_column
from clfeval.counts.settle import Settled
from clfeval.late import nw
from clfeval.tables.columns import KEY, Frame, Mode

Target = Literal["positive", "negative", "all"]


@dataclass(frozen=True, slots=True)
class Kept:
    """What tells the rows that were counted, and what they say, from the rest of the files.

    positive_values, vote_values: the raw values of truth, and of each label model, that mean the
    positive class. complete: no row lacks a value; whole: weights are counts. rows: in all.
    """

    settled: Settled
    mode: Mode
    positive_values: tuple[Any, ...]
    vote_values: tuple[tuple[Any, ...], ...]
    complete: bool
    whole: bool
    rows: int

    @property
    def counts(self) -> Any:
        """The type of counts: whole numbers, or sums of weights."""
        return np.int64 if self.whole else np.float64

    def frames(
        self,
        *,
        votes: bool = False,
        scores: Sequence[int] = (),
        by: bool = False,
        key: bool = False,
        target: Target = "all",
    ) -> list[Frame]:
        """Return the rows of each file: truth t, weight w, and votes v0.., scores s.., slices b0..

        A layout that gathers rows has one frame for all files. `key` names the observation: its id,
        or its row (header is row 1). `target` leaves out the other class.
        """
        settled = self.settled
        columns = settled.columns
        picked = {"t": _one_of(columns.truth, self.positive_values), "w": nw.lit(1.0)}
        if columns.weight is not None:
            picked["w"] = nw.col(columns.weight).cast(nw.Float64)
        if key:
            picked["key"] = nw.col(KEY).cast(nw.String)
        for i, model in enumerate(columns.models if votes else ()):
            label = model.kind == "label"
            values = self.vote_values[i]
            picked[f"v{i}"] = (
                _one_of(model.columns[0], values) if label else says_positive(model, settled)
            )
        for i in scores:
            score = score_column(columns.models[i], settled.positive)
            # -0 is 0, and would sort before it
            picked[f"s{i}"] = nw.when(score == 0).then(nw.lit(0.0)).otherwise(score)
        for j, name in enumerate(columns.by if by else ()):
            picked[f"b{j}"] = nw.col(name)
        found = settled.layout.rows(settled.files, columns, self.mode, "key" if key else "nothing")
        return [self._among(frame, target).select(**picked) for frame in found]

    def _among(self, frame: Frame, target: Target) -> Frame:
        """Leave out rows that lack a value, weigh nothing or are of the other class."""
        columns = self.settled.columns
        wanted = [nw.col(columns.weight) != 0] if columns.weight is not None else []
        if not self.complete:  # otherwise columns that nobody asked for need not be read
            schema = frame.collect_schema()
            labels = [m.columns[0] for m in columns.models if m.kind == "label"]
            for name in (columns.truth, *labels):
                wanted.append(~nw.col(name).is_null())
                wanted += [~nw.col(name).is_nan()] if schema[name].is_float() else []
            scored = [model for model in columns.models if model.kind != "label"]
            wanted += [~lacks(model, self.settled) for model in scored]
        if target != "all":
            positive = _one_of(columns.truth, self.positive_values)
            wanted.append(positive if target == "positive" else ~positive)
        return frame.filter(*wanted) if wanted else frame


def _one_of(column: str, values: tuple[Any, ...]) -> nw.Expr:
    """True where a column holds one of the values, which may be none."""
    return nw.col(column).is_in(list(values)) if values else nw.col(column).is_null()
