"""The best points of ROC curves at some odds, for measures whose best lies on the hull."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, over
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.roc import unbeaten, vertices
from clfeval.methods.threshold_optimism import best_places
from clfeval.methods.tune_jpt.tables import Formula

CELLS = 2**16  # tables measured at a time, few enough to stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class OddsRules:
    """k measures that are to be best at g class ratios each: r = k g rules, measure by measure.

    ratios (g,): odds, NaN for the class ratio of the rows themselves.
    """

    measures: Mapping[str, Formula]
    ratios: Floats

    def choose(self, tp: Counts, fp: Counts) -> Ints:
        """Return the places of the best points of b whole curves, -1 where none is, (r, b).

        An infinite value beats every other one; ties are those of `best_places`. Each curve is
        looked at where its hull has its points, which are few: see `roc.candidates`.
        """
        cuts = _hulls(tp, fp)
        ends = tp[:, -1:], fp[:, -1:]
        tp, fp = (np.take_along_axis(one, cuts, axis=1) for one in (tp, fp))
        place = self.best(tp, fp, *ends)
        return np.where(place < 0, -1, cuts[np.arange(len(cuts)), place])

    def best(self, tp: Counts, fp: Counts, p: Counts, n: Counts) -> Ints:
        """Return the same among points (b, h) of curves with so many rows, (b, 1) each."""
        table = Confusion(*(np.asarray(one, np.float64) for one in (tp, fp, p - tp, n - fp)))
        ratios = self.ratios[:, None, None]
        ratios = np.where(np.isnan(ratios), over(p, n), ratios)
        found = [
            best_places(CATALOG[name].sign * at_odds(name, of, table, some), tp, fp, p, n)
            for name, of in self.measures.items()
            for some in np.array_split(ratios, min(len(ratios), len(ratios) * tp.size // CELLS + 1))
        ]
        return np.concatenate(found)

    def values(self, tables: Confusion) -> Floats:
        """Return the value of each rule's measure in a table of its own, (r,)."""
        every = zip(tables.tp, tables.fp, tables.fn, tables.tn, strict=True)
        cells = np.array([*every]).reshape(len(self.measures), len(self.ratios), 4)
        found = [
            at_odds(name, of, Confusion(*mine.T), self.ratios)
            for (name, of), mine in zip(self.measures.items(), cells, strict=True)
        ]
        return np.concatenate(found)

    def gains(self, tables: Confusion) -> Floats:
        """Return the same, larger is better."""
        signs = [CATALOG[name].sign for name in self.measures]
        return np.repeat(signs, len(self.ratios)) * self.values(tables)


def at_odds(name: str, of: Formula, table: Confusion, ratios: Floats) -> Floats:
    """Return a measure of tables at odds, or of them as they are where the ratio is NaN.

    A measure that odds do not change is always of tables as they are: so the same counts give the
    same value to the last bit, wherever they are compared.
    """
    own = np.isnan(ratios) | CATALOG[name].invariant
    if own.all():
        return np.broadcast_to(of(table), np.broadcast_shapes(np.shape(table.tp), own.shape))
    tuned = of(table.tuned(ratios))
    return np.where(own, of(table), tuned) if own.any() else tuned


def _hulls(tp: Counts, fp: Counts) -> Ints:
    """Return which points of curves (b, m) are candidates as of `roc.candidates`, (b, h).

    Filled up with the first point.
    """
    width = tp.shape[1]
    starts, chosen = np.zeros((2, *tp.shape), bool)
    starts[:, 0] = True
    tops, bottoms = (
        vertices(up.ravel(), right.ravel(), starts.ravel()) for up, right in ((tp, fp), (fp, tp))
    )
    chosen.flat[tops] = chosen.flat[bottoms] = True
    chosen[:, -1] = True
    for row in np.flatnonzero(np.bincount(tops // width, minlength=len(tp)) <= 2).tolist():
        chosen[row, unbeaten(tp[row], fp[row])] = True
    order = np.argsort(~chosen, axis=1, kind="stable")[:, : chosen.sum(axis=1).max()]
    return np.where(np.take_along_axis(chosen, order, axis=1), order, 0)
