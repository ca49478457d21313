"""Joint counts: how often each combination of truth and every model's vote and score occurs."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Counts, Floats
from clfeval.counts.kept import Kept
from clfeval.counts.patterns import PatternCounts
from clfeval.late import nw
from clfeval.tables.engine import collect, together


@dataclass(frozen=True, slots=True, eq=False)
class JointCounts:
    """The sufficient statistic of several models measured together: m distinct rows of a table.

    truth (m,) and votes (m, k) are True for the positive class; scores (m, k) are NaN in the
    columns of models that hold labels, None where no score is counted; n (m,) is how many rows, or
    what weight, are alike. Rows are distinct and sorted by truth, then the votes and then the
    scores of the models in the order of their names: equal tables are equal arrays whatever order
    their rows and columns came in.
    """

    models: tuple[str, ...]
    truth: Bools
    votes: Bools
    scores: Floats | None
    n: Counts

    @classmethod
    def of_patterns(cls, patterns: PatternCounts) -> JointCounts:
        """Take pattern counts as they are: rows of votes without scores."""
        return cls.of(patterns.models, patterns.truth, patterns.votes, None, patterns.n)

    @classmethod
    def of(
        cls,
        models: tuple[str, ...],
        truth: Bools,
        votes: Bools,
        scores: Floats | None,
        n: Counts,
    ) -> JointCounts:
        """Merge equal rows, and put them in order."""
        by_name = _by_name(models)
        keys: list[Any] = [truth, *(votes[:, i] for i in by_name)]
        if scores is not None:  # NaN stands in whole columns, which tell no rows apart
            keys += [scores[:, i] for i in by_name if not np.isnan(scores[:, i]).all()]
        order = np.lexsort(keys[::-1])
        new = np.zeros(len(n), bool)
        new[:1] = True
        for key in keys:
            new[1:] |= key[order][1:] != key[order][:-1]
        first = order[new]
        merged = np.add.reduceat(n[order], np.flatnonzero(new)) if len(n) else n
        return cls(
            models, truth[first], votes[first], None if scores is None else scores[first], merged
        )

    def __add__(self, other: JointCounts) -> JointCounts:
        """Add the counts of other rows of the same models."""
        if self.models != other.models or (self.scores is None) != (other.scores is None):
            raise ValueError(f"different models: {self.models} and {other.models}")
        scores = None
        if self.scores is not None and other.scores is not None:
            scores = np.concatenate([self.scores, other.scores])
        return JointCounts.of(
            self.models,
            np.concatenate([self.truth, other.truth]),
            np.concatenate([self.votes, other.votes]),
            scores,
            np.concatenate([self.n, other.n]),
        )

    def digest(self) -> str:
        """Return the sha256 of the counts, whatever the order of rows and columns was."""
        by_name = _by_name(self.models)
        found = sha256(repr([self.models[i] for i in by_name]).encode("utf-8", "surrogatepass"))
        found.update(np.packbits(self.truth).tobytes())
        for i in by_name:
            found.update(np.packbits(self.votes[:, i]).tobytes())
            if self.scores is not None:
                found.update(self.scores[:, i].astype("<f8").tobytes())
        found.update(self.n.astype(f"<{self.n.dtype.kind}8").tobytes())
        return found.hexdigest()


def joint_counts(kept: Kept) -> JointCounts:
    """Count the distinct rows of the whole table, with the scores of every model that has them.

    One more pass over the files. The rows, and every vote, are those of the pattern counts.
    """
    models = tuple(model.name for model in kept.settled.columns.models)
    scored = [i for i, model in enumerate(kept.settled.columns.models) if model.kind != "label"]
    by_name = _by_name(models)
    keys = ["t", *(f"v{i}" for i in by_name), *(f"s{i}" for i in by_name if i in scored)]
    rows = together(kept.frames(votes=True, scores=scored))
    table = collect(rows.group_by(*keys).agg(nw.col("w").sum()).sort(*keys))
    m, k = len(table), len(models)
    # a column at a time is what everybody wants of them
    votes, scores = np.empty((m, k), bool, order="F"), np.full((m, k), np.nan, order="F")
    for i in range(k):
        votes[:, i] = table[f"v{i}"].to_numpy()
    for i in scored:
        scores[:, i] = table[f"s{i}"].to_numpy()
    n = table["w"].to_numpy().astype(np.float64).astype(kept.counts)
    return JointCounts(models, table["t"].to_numpy().astype(bool), votes, scores, n)


def _by_name(models: tuple[str, ...]) -> list[int]:
    """Return the places of the models in the order of their names."""
    return sorted(range(len(models)), key=models.__getitem__)
