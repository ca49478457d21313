"""Feature counts: per feature, how often it is true among positives and among negatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clfeval.counts.patterns import Counts

Floats = NDArray[np.float64]
Rule = Literal[">=", ">", "soft"]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureCounts:
    """The sufficient statistic of k features, all fields of length k.

    names, columns (where they come from), kinds (binary, numeric, category, term).
    cuts and rules: a numeric feature is true where its value is `rule` (`>=` or `>`) the cut; cuts
    are NaN and rules None for features that need none, and for `soft` votes.
    tp, fp: positives and negatives for which the feature is true (sums of votes when soft);
    positives, negatives: those whose value is not missing; missing: rows without a value.
    A feature that is constant has no soft votes: NaN.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    cuts: Floats
    rules: tuple[Rule | None, ...]
    tp: Counts
    fp: Counts
    positives: Counts
    negatives: Counts
    missing: Counts

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.names)

    @classmethod
    def joined(cls, parts: Sequence[FeatureCounts]) -> FeatureCounts:
        """Put several sets of features behind one another."""
        fields: dict[str, Any] = {
            name: tuple(item for part in parts for item in getattr(part, name)) for name in _TEXTS
        }
        fields |= {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS
        }
        return cls(**fields)

    def take(self, order: NDArray[np.int64]) -> FeatureCounts:
        """Return the features at these positions, in this order."""
        fields: dict[str, Any] = {
            name: tuple(getattr(self, name)[i] for i in order.tolist()) for name in _TEXTS
        }
        return FeatureCounts(**fields, **{name: getattr(self, name)[order] for name in _ARRAYS})

    def digest(self) -> str:
        """Return the sha256 of the counts, whatever the order of features was."""
        columns = (self.tp, self.fp, self.positives, self.negatives)
        numbers = zip(*(column.tolist() for column in columns), strict=True)
        lines = sorted(
            f"{name!r} {cut!r} {rule} {' '.join(map(repr, row))}"
            for name, cut, rule, row in zip(
                self.names, self.cuts.tolist(), self.rules, numbers, strict=True
            )
        )
        return sha256("\n".join(lines).encode()).hexdigest()


_TEXTS = ("names", "columns", "kinds", "rules")
_ARRAYS = ("cuts", "tp", "fp", "positives", "negatives", "missing")
