"""One slice seen from the target class, and the columns every table of subsets has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clfeval.counts.patterns import Bools, Counts, TargetCounts
from clfeval.methods.mars.coverage import SubsetScores
from clfeval.methods.mars.options import MarsOptions, estimates
from clfeval.result import Estimate


@dataclass(frozen=True, slots=True)
class View:
    """One slice seen from the target class."""

    label: str | None
    counts: TargetCounts
    options: MarsOptions
    ttp: int | float

    def estimates(self, k: Counts, n: Counts | int | float, reason: str) -> list[Estimate]:
        """Return k / n with intervals, one per row; undefined with the reason where n is 0."""
        return estimates(k, n, reason, self.options)

    def scores(self, subsets: SubsetScores) -> list[dict[str, Any]]:
        """Return the four MARS columns of each subset."""
        options = self.options
        missed = subsets.missed(options.rule)
        shine = self.estimates(subsets.exclusive_found, self.ttp, "nothing_found")
        hidden = self.estimates(missed, self.ttp, "nothing_found")
        everyone = np.asarray(subsets.members.all(axis=1))
        return [
            {
                options.found_name: subsets.exclusive_found[i].item(),
                "shine_through": shine[i],
                options.missed_name: missed[i].item(),
                "occlusion": Estimate(None, reason="no_other_model")
                if everyone[i] and self.ttp
                else hidden[i],
            }
            for i in range(len(subsets))
        ]


def subset_rows(view: View, subsets: SubsetScores) -> list[dict[str, Any]]:
    """Return the columns every table of subsets has."""
    gained = view.estimates(subsets.covered, subsets.effort, "zero_margin")
    return [
        {
            "slice": view.label,
            "models": _names(view.counts, subsets.members[i]),
            "covered": subsets.covered[i].item(),
            "effort": subsets.effort[i].item(),
            "yield": gained[i],
            **scores,
        }
        for i, scores in enumerate(view.scores(subsets))
    ]


def _names(counts: TargetCounts, members: Bools) -> list[str]:
    return [counts.models[j] for j in np.flatnonzero(members)]
