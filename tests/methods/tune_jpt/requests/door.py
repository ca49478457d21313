"""Asking for tuned tables: the result, its rows and estimates, or the refusal with its code."""

from __future__ import annotations

from functools import partial
from typing import Any

from clfeval.api.commands import tune_jpt
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from tests.process.program import clfeval
from tests.shell import at_shell
from tests.tables.door import Door

Row = dict[str, Any]
CCP, RF = (67, 5, 33, 95), (69, 15, 31, 85)  # Nishimura's pooled rates, of 100 and 100
COUNTS = "67,5,33,95"
RESULTS: dict[str, Result] = {}


def tuned(table: Any = None, **options: Any) -> Result:
    """Return the result, without a sweep unless one is asked for; JSON takes every number of it.

    Given counts are tuned once: nothing in a result can be changed.
    """
    asked = repr(options)
    if table is None and asked in RESULTS:
        return RESULTS[asked]
    result = tune_jpt(table, **{"sweep": None, **options})
    result.to_json()
    if table is None:
        RESULTS[asked] = result
    return result


def rows_of(result: Result, population: str, table: str = "models") -> dict[str, Row]:
    """Return the rows of the whole table at one kind of population, by model."""
    rows = [dict(row) for row in result.tables[table]]
    found = [row for row in rows if row["population"] == population and row["slice"] is None]
    named = {str(row["model"]): row for row in found}
    assert len(named) == len(found), "two rows of one model"
    return named


def cells(result: Result, population: str = "sample") -> dict[str, tuple[Any, ...]]:
    """Return tp, fp, fn, tn of every model."""
    rows = rows_of(result, population)
    return {name: tuple(row[c] for c in ("tp", "fp", "fn", "tn")) for name, row in rows.items()}


def one(result: Result, measure: str, population: str = "target") -> Estimate:
    """Return the estimate of the only model in the only population of a kind."""
    (row,) = rows_of(result, population).values()
    found = row[measure]
    assert isinstance(found, Estimate)
    return found


def value(result: Result, measure: str, population: str = "target") -> float:
    """Return the value of an estimate that is defined."""
    found = one(result, measure, population)
    assert found.value is not None, f"{measure} is {found.reason}"
    return found.value


def codes(result: Result) -> list[str]:
    """Return the codes of the warnings."""
    return [warning.code for warning in result.warnings]


TUNED = Door(partial(at_shell(tune_jpt), sweep=None))
refusal, data_message, usage_message = TUNED.refusal, TUNED.data_message, TUNED.usage_message


def command(*words: str) -> tuple[int, str]:
    """Run `clfeval tune-jpt WORDS` in this process; return its exit code and what it says."""
    done = clfeval("tune-jpt", "-q", *words)
    return done.code, done.out + done.err
