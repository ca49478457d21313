"""What a report says of equal models: whether one is called worse, whether sentences contradict.

Models are exchangeable, tables have 2 to 5,000 rows in turn, scores are probabilities, those
rounded to tenths, or labels alone. With a reference: the first model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from clfeval.api.result import Result
from clfeval.errors import ClfevalError
from tests.benchmarks.claims import Cell, Event, Judged, Promise
from tests.benchmarks.claims.populations import equal
from tests.benchmarks.claims.reports import report_of
from tests.benchmarks.claims.said import (
    CALIBRATION,
    OPERATING,
    RANKING,
    Pair,
    answers,
    astray,
    claimed,
    contradictions,
    leading,
    miscalibrated,
    pairs,
    ranked_worse,
    relations,
)

COUNTS, ROWS = (2, 5, 10), (2, 4, 10, 30, 100, 200, 1000, 5000)
FORMS = {"scores": 5000, "tenths": 1000, "labels": 1000}  # how many tables of each
WORSE, PAIRS = "an equal model called worse or left out", "p, interval and verdict disagree"
CONTRADICTING, ASTRAY = "two tables contradict each other", "an answer is not of its table"


def cells() -> list[Cell]:
    """Return a cell for each count of models and form of scores, with and without a reference."""
    return [
        Cell(
            f"equal/{models}/{form}/{'reference' if reference else 'alone'}",
            tables,
            partial(judge, models, form, reference),
            _promised(form, reference),
        )
        for models, (form, tables), reference in product(COUNTS, FORMS.items(), (False, True))
    ]


def _promised(form: str, reference: bool) -> dict[str, Promise]:
    promised = {
        CONTRADICTING: Promise(most=0, slack=0),
        ASTRAY: Promise(most=0, slack=0),
        PAIRS: Promise(most=0, slack=0),
        f"{PAIRS}, any measure": Promise(most=0, slack=0),
        WORSE: Promise(most=0.057, slack=0),
    }
    if reference:
        promised["operating point false"] = Promise(most=0.05)
    if form == "scores":
        promised["calibration false"] = Promise(most=0.05)
    return promised


def judge(
    models: int, form: str, reference: bool, rng: np.random.Generator, number: int, folder: Path
) -> Judged:
    """Judge a table of equal models; of how many rows its number says."""
    n = ROWS[number % len(ROWS)]
    names = [f"m{i}" for i in range(models)]
    frame = as_form(equal(rng, n, models).frame(names), names, form)
    first = names[0] if reference else None
    try:
        result = report_of(frame, reference=first, kind="label" if form == "labels" else "score")
    except ClfevalError as error:
        return {f"refused: {error}": Event(True)}, ()
    return judged(result, first, n, form), (result,)


def as_form(frame: pl.DataFrame, names: Sequence[str], form: str) -> pl.DataFrame:
    """Return the scores as they are, in tenths, or as labels."""
    columns = pl.col(list(names))
    if form == "tenths":
        return frame.with_columns((columns * 10).floor().clip(0, 9) / 10 + 0.05)
    return frame.with_columns((columns >= 0.5).cast(pl.Int64)) if form == "labels" else frame


def judged(result: Result, reference: str | None, n: int, form: str) -> dict[str, Event]:
    """Return the events of a table."""
    said, compared = relations(result), pairs(result)
    there, worse = bool(answers(result, RANKING)), ranked_worse(result)
    by_lead = [one for one in compared if one.metric == leading(result)]
    found = {
        CONTRADICTING: Event(bool(contradictions(said)), there),
        ASTRAY: Event(bool(astray(result)), there),
        PAIRS: _disagree(by_lead),
        f"{PAIRS}, any measure": _disagree(compared),
        WORSE: Event(worse, there),
    }
    for source in ("tied set", "pairs"):
        some = [one for one in said if one.source == source]
        found[f"by {source}"] = Event(any(one.worse for one in some), bool(some))
    if reference:
        differing, there = claimed(result, OPERATING), bool(answers(result, OPERATING))
        found["operating point false"] = Event(bool(differing), there)
        told = {one.metric for one in compared if one.told} & {"sensitivity", "specificity"}
        found["operating point is not as its table"] = Event(there and differing != told, there)
    found[f"{WORSE}, {n} rows"] = Event(worse, there)
    if form == "scores":  # tenths are not quite calibrated
        event = Event(miscalibrated(result), bool(answers(result, CALIBRATION)))
        found |= {"calibration false": event, f"calibration false, {n} rows": event}
    return found


def _disagree(compared: Sequence[Pair]) -> Event:
    """Tell whether any pair's numbers disagree; said: the interval of all pairs is in the table."""
    said = any(one.joint is not None for one in compared)
    return Event(not all(one.agrees for one in compared), said)
