"""The rows of class probabilities themselves: what models share on them no counts of one tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clfeval.arrays import Counts, Floats, Ints
from clfeval.counts.classes import encode_classes, probabilities_by_class
from clfeval.counts.kept import EvaluatedRows
from clfeval.late import nw
from clfeval.tables.cells import as_text
from clfeval.tables.scan import collect


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityRows:
    """Every row of a table with one model's probabilities of C classes.

    truth (n,): indices of classes; p (n, C): probabilities; weights (n,) or None; owners (n,): the
    cluster of each row, None where rows are independent.
    """

    truth: Ints
    p: Floats
    weights: Counts | None
    owners: Ints | None

    @property
    def n(self) -> Counts:
        """How often each row counts."""
        return np.ones(len(self.truth), np.int64) if self.weights is None else self.weights


def read_probability_rows(kept: EvaluatedRows, i: int, classes: tuple[str, ...]) -> ProbabilityRows:
    """Read the rows evaluated, with the class probabilities of model i, in order of any ids."""
    columns = kept.settled.columns
    picked = ["y", *(["w"] if columns.weight else []), *(["c"] if columns.cluster else [])]
    picked += ["key"] if columns.id else []
    table = nw.concat([
        collect(frame.select(*picked, *(f"p{k}" for k in range(len(columns.models[i].columns)))))
        for frame in kept.frames(shares=i, cluster=True, key=columns.id is not None)
    ])  # fmt: skip
    table = table.sort("key") if columns.id else table
    owners = None
    if columns.cluster:
        texts = [as_text(value) for value in table["c"].to_list()]
        _, owners = np.unique(np.array(texts, object), return_inverse=True)
    return ProbabilityRows(
        encode_classes(table["y"].to_list(), classes),
        probabilities_by_class(table, columns.models[i], classes),
        table["w"].to_numpy().astype(np.int64) if columns.weight else None,
        owners,
    )
