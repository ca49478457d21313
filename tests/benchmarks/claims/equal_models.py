"""What a report says of equal models: whether one is called worse, whether sentences contradict.

Models are exchangeable, tables have 2 to 5,000 rows in turn, scores are probabilities, those
rounded to tenths, or labels alone. With a reference: the first model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl

from clfeval.errors import ClfevalError
from clfeval.result import Result
from tests.benchmarks.claims import Cell, Event, Judged, Promise
from tests.benchmarks.claims.populations import equal
from tests.benchmarks.claims.reports import report_of
from tests.benchmarks.claims.sentences import (
    CALIBRATION,
    OPERATING,
    RANKING,
    Pair,
    Relation,
    claimed,
    miscalibrated,
    pairs,
    ranking,
    sentences,
    tied_set,
)

COUNTS, ROWS = (2, 5, 10), (2, 4, 10, 30, 100, 200, 1000, 5000)
FORMS = {"scores": 5000, "tenths": 1000, "labels": 1000}  # how many tables of each
WORSE, PAIRS = "an equal model called worse or left out", "p, interval and verdict disagree"
CONTRADICTING = "sentences or tables contradict each other"


def cells() -> list[Cell]:
    """Return a cell for each count of models and form of scores, with and without a reference."""
    return [
        Cell(
            f"equal/{models}/{form}/{'reference' if reference else 'alone'}", tables,
            partial(judge, models, form, reference), _promised(form, reference),
        )
        for models, (form, tables), reference in product(COUNTS, FORMS.items(), (False, True))
    ]  # fmt: skip


def _promised(form: str, reference: bool) -> dict[str, Promise]:
    promised = {
        CONTRADICTING: Promise(most=0, slack=0),
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
    return judged(result, names, first, n, form), (result,)


def as_form(frame: pl.DataFrame, names: Sequence[str], form: str) -> pl.DataFrame:
    """Return the scores as they are, in tenths, or as labels."""
    columns = pl.col(list(names))
    if form == "tenths":
        return frame.with_columns((columns * 10).floor().clip(0, 9) / 10 + 0.05)
    return frame.with_columns((columns >= 0.5).cast(pl.Int64)) if form == "labels" else frame


def judged(
    result: Result, names: Sequence[str], reference: str | None, n: int, form: str
) -> dict[str, Event]:
    """Return the events of a table."""
    lead = next((one.measure for one in result.answer if one.code == "best"), None) or "roc_auc"
    said = ranking(result, names, reference)
    compared = pairs(result)
    leading = [one for one in compared if one.metric == lead]
    tied = tied_set(result, lead)
    there = bool(sentences(result, RANKING))
    by_sentence = any(one.worse for one in said)
    by_set, by_pairs = not all(tied.values()), any(one.told for one in leading)
    worse = by_sentence or by_set or by_pairs
    tables = [*_of_pairs(leading), *_of_set(result, tied)]
    both = contradictions([*said, *tables])
    found = {
        CONTRADICTING: Event(bool(both), there),
        "two sentences contradict each other": Event(bool(contradictions(said)), there),
        PAIRS: _disagree(leading),
        f"{PAIRS}, any measure": _disagree(compared),
        WORSE: Event(worse, there),
        "by a sentence": Event(by_sentence, there),
        "by the tied set": Event(by_set, bool(tied)),
        "by the pairs": Event(by_pairs, bool(leading)),
        "no relation read": Event(not said, there),
    }
    if reference:
        differing, there = claimed(result, OPERATING), bool(sentences(result, OPERATING))
        found["operating point false"] = Event(bool(differing), there)
        told = {one.metric for one in compared if one.told} & {"sensitivity", "specificity"}
        found["operating point is not as its table"] = Event(there and differing != told, there)
    found[f"{WORSE}, {n} rows"] = Event(worse, there)
    if form == "scores":  # tenths are not quite calibrated
        event = Event(miscalibrated(result), bool(sentences(result, CALIBRATION)))
        found |= {"calibration false": event, f"calibration false, {n} rows": event}
    return found


def _disagree(compared: Sequence[Pair]) -> Event:
    """Tell whether any pair's numbers disagree; said: the interval of all pairs is in the table."""
    said = any(one.joint is not None for one in compared)
    return Event(not all(one.agrees for one in compared), said)


def contradictions(relations: Sequence[Relation]) -> list[tuple[Relation, Relation]]:
    """Return pairs of statements on the same two models of which one at least is false."""
    return [
        (one, other)
        for one, other in combinations(relations, 2)
        if one.key() == other.key() and one.kind() != other.kind()
    ]


def _of_pairs(leading: Sequence[Pair]) -> Iterator[Relation]:
    for one in leading:
        better = one.verdict == "better"
        first, second = (one.other, one.model) if better else (one.model, one.other)
        yield Relation(first, second, one.told, "comparisons")


def _of_set(result: Result, tied: dict[str, bool]) -> Iterator[Relation]:
    best = next((one for one in result.answer if one.code == "best"), None)
    if best is None or not best.models:
        return
    for model, is_tied in tied.items():
        if model not in best.models:
            yield Relation(model, best.models[0], not is_tied, "tied set")
