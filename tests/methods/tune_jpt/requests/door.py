"""Asking for tuned tables: the result, its rows and estimates, or the refusal with its code."""

from __future__ import annotations

from functools import partial
from typing import Any

from clfeval.api.commands import tune_jpt
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from tests.process.program import clfeval
from tests.results import Line, estimate_of, four_cells, rows_by, value_of
from tests.shell import at_shell
from tests.tables.door import Door

CCP, RF = (67, 5, 33, 95), (69, 15, 31, 85)  # Nishimura's pooled rates, of 100 and 100
COUNTS = "67,5,33,95"
RESULTS: dict[str, Result] = {}


def tuned(table: Any = None, **options: Any) -> Result:
    """Return the result, without a sweep unless one is asked for; JSON takes every number of it.

    Given counts are tuned once: nothing in a result can be changed.
    """
    request = repr(options)
    if table is None and request in RESULTS:
        return RESULTS[request]
    result = tune_jpt(table, **{"sweep": None, **options})
    result.to_json()
    if table is None:
        RESULTS[request] = result
    return result


def rows_at(result: Result, population: str) -> dict[str, Line]:
    """Return the rows of the whole table at one kind of population, by model."""
    return rows_by(result, "models", "model", population=population, slice=None)


def cells_by_model(result: Result, population: str = "sample") -> dict[str, tuple[Any, ...]]:
    """Return tp, fp, fn, tn of every model."""
    return {name: four_cells(row) for name, row in rows_at(result, population).items()}


def estimate_at(result: Result, measure: str, population: str = "target") -> Estimate:
    """Return the estimate of the only model in the only population of a kind."""
    (row,) = rows_at(result, population).values()
    return estimate_of(row[measure])


def value_at(result: Result, measure: str, population: str = "target") -> float:
    """Return the value of an estimate that is defined."""
    return value_of(estimate_at(result, measure, population))


TUNED = Door(partial(at_shell(tune_jpt), sweep=None))
refusal, data_message, usage_message = TUNED.refusal, TUNED.data_message, TUNED.usage_message


def command(*words: str) -> tuple[int, str]:
    """Run `clfeval tune-jpt WORDS` in this process; return its exit code and what it says."""
    done = clfeval("tune-jpt", "-q", *words)
    return done.code, done.out + done.err
