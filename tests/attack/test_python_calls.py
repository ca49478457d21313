"""906 calls with values of every type: only errors of clfeval escape.

But for TypeError of an unknown keyword, as of every function of Python.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import clfeval
from clfeval.methods.command_lookup import command_of
from clfeval.options.declaration import Option
from tests.attack.attempts import alarm, numbers
from tests.attack.python_values import COLUMNS, SCORES, TABLES, TRUTH, VALUES, column_of, make_table
from tests.thoroughness import thinned

CALLS, PARTS = 906, 30
FUNCTIONS = [getattr(clfeval, name) for name in clfeval.FUNCTIONS]
UNKNOWN = ("treshold", "sample_weight", "n_boot", "pos_label", "x" * 300, "table ")
# what starts Spark or reads the whole system is no subject here
LEFT_OUT = {"engine", "spark_conf", "on_open"}

pytestmark = pytest.mark.usefixtures("folder", "quoted_words")


def options_of(function: Callable[..., Any]) -> list[Option]:
    """Return the options of a function that any value is keywords to."""
    options = command_of(function.__name__.replace("_", "-")).options()
    return [option for option in options if option.name not in LEFT_OUT]


def given_options(function: Callable[..., Any], dice: random.Random) -> dict[str, Any]:
    """Return up to three options with values of any type, or an array for each row."""
    options = dice.sample(options_of(function), dice.choice((0, 0, 0, 1, 1, 2)))
    keywords = {option.name: dice.choice((*VALUES, *option.choices)) for option in options}
    for name in keywords:
        if dice.randrange(4) == 0:
            keywords[name] = COLUMNS[dice.choice([*COLUMNS])]()
    return keywords


def call_of(number: int) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    """Return a function, its arguments and its keywords."""
    dice = random.Random(f"call {number}")
    function = dice.choice(FUNCTIONS)
    keywords = given_options(function, dice)
    if number % 13 == 12:
        keywords[dice.choice(UNKNOWN)] = 1
    if number % 2:
        return function, [make_table(dice.choice(TABLES), dice)], keywords
    column = column_of(dice)
    others: tuple[list[Any], ...] = (
        [[*TRUTH], column],
        [[*TRUTH], {"a": [*SCORES], "b": column}],
        [column, [*SCORES]],
        [column, {"a": column}],
        [[*TRUTH], {"a": make_table(dice.choice(TABLES), dice)}],
    )
    return function, dice.choice(others), keywords


def outcome(number: int) -> str:
    """Make a call, and return how it ended; what may not escape does."""
    function, arguments, keywords = call_of(number)
    try:
        with alarm(f"call {number}"):
            result = function(*arguments, **keywords)
            assert result.to_json()
            assert str(result)
    except clfeval.ClfevalError as error:
        return "refused" if str(error).strip() else "refused without a reason"
    except TypeError as error:
        if {*keywords} & {*UNKNOWN} and "keyword" in str(error):
            return "unknown keyword"
        raise
    return "computed"


@pytest.mark.parametrize("part", thinned(range(PARTS), [0]))
def test_only_errors_of_clfeval_escape(part: int) -> None:
    outcomes, escaped = Counter[str](), list[str]()
    for number in numbers(CALLS, part, PARTS):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the libraries that made the values
                outcomes[outcome(number)] += 1
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            escaped.append(f"call {number}: {type(error).__name__}: {error!s:.200}")
    print(f"calls, part {part}: {dict(outcomes)}")
    assert escaped == []
    assert {"computed", "refused"} <= {*outcomes}
