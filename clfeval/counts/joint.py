"""Joint counts: how often each combination of truth and every model's vote and score occurs."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import narwhals as nw
import numpy as np

from clfeval.arrays import Bools, Counts, Floats
from clfeval.counts.count import Counted
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.raw import (
    MISSING,
    collect,
    counting_rows,
    score_column,
    vote_expression,
)
from clfeval.counts.reading import frames


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
        by_name = _by_name(patterns.models)
        keys = [patterns.truth, *(patterns.votes[:, i] for i in by_name)]
        order = np.lexsort(keys[::-1])
        votes = patterns.votes[order]
        return cls(patterns.models, patterns.truth[order], votes, None, patterns.n[order])

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


def joint_counts(counted: Counted) -> JointCounts:
    """Count the distinct rows of the whole table, with the scores of every model that has them.

    One more pass over the files; none where all models hold labels. The rows, and every vote, are
    those of the pattern counts.
    """
    models = counted.models
    scored = [i for i, model in enumerate(models) if model.kind != "label"]
    if not scored:
        return JointCounts.of_patterns(counted.slices[None])
    parts = [_selected(frame, counted) for frame in frames(counted.predictions, counted.mode)]
    rows = nw.concat(parts) if len(parts) > 1 else parts[0]
    by_name = _by_name(tuple(model.name for model in models))
    keys = ["t", *(f"v{i}" for i in by_name), *(f"s{i}" for i in by_name if i in scored)]
    table = collect(rows.group_by(*keys).agg(nw.col("w").sum()).sort(*keys))
    m, k = len(table), len(models)
    # a column at a time is what everybody wants of them
    votes, scores = np.empty((m, k), bool, order="F"), np.full((m, k), np.nan, order="F")
    for i in range(k):
        votes[:, i] = table[f"v{i}"].to_numpy()
    for i in scored:
        scores[:, i] = table[f"s{i}"].to_numpy()
    kind = counted.slices[None].n.dtype  # weights of nothing but whole numbers are counts
    n = table["w"].to_numpy().astype(np.float64).astype(kind)
    names = tuple(model.name for model in models)
    return JointCounts(names, table["t"].to_numpy().astype(bool), votes, scores, n)


def _selected(frame: nw.LazyFrame[Any], counted: Counted) -> nw.LazyFrame[Any]:
    """Return truth t, votes v0.. and scores s0.. of the rows that were counted, weight w."""
    plan = counted.plan
    weight = nw.lit(1.0) if plan.weight is None else nw.col(plan.weight).cast(nw.Float64)
    picked = {"t": nw.col(plan.truth), "w": weight}
    votes, complete = {}, []
    for i, model in enumerate(plan.models):
        name = f"v{i}"
        picked[name] = vote_expression(model, plan.thresholds[model.name], plan.positive)
        if model.kind == "label":
            votes[name] = _one_of(name, counted.vote_values[i])
        else:
            score = score_column(model, plan.positive)
            # -0 is 0, and would sort before it
            picked[f"s{i}"] = nw.when(score == 0).then(nw.lit(0.0)).otherwise(score)
            votes[name] = nw.col(name) == 1
            complete.append(nw.col(name) != MISSING)
    narrow = counting_rows(frame, plan).select(**picked).drop_nulls(subset=["t", *votes])
    if complete:
        narrow = narrow.filter(*complete)
    return narrow.with_columns(t=_one_of("t", counted.positive_values), **votes)


def _one_of(name: str, values: tuple[Any, ...]) -> nw.Expr:
    """True where a column holds one of the values, which may be none."""
    return nw.col(name).is_in(list(values)) if values else nw.col(name).is_null()


def _by_name(models: tuple[str, ...]) -> list[int]:
    """Return the places of the models in the order of their names."""
    return sorted(range(len(models)), key=models.__getitem__)
