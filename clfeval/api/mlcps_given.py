"""What callers of `clfeval.mlcps` may pass, checked and brought into one form."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from clfeval.api.numbers import number, whole
from clfeval.errors import Problem, UsageError, bad_option
from clfeval.methods.mlcps.options import DRAWS
from clfeval.methods.mlcps.wishes import Wish, read_weights, read_wishes, wishes_of
from clfeval.tables.roles import Roles

Weights = Mapping[str, float] | str | os.PathLike[str] | None
Wishes = Mapping[str, Any] | str | os.PathLike[str] | None
# of predictions; a metric table has no use for them
PREDICTED = ("truth", "positive", "labels", "kind", "thresholds", "weight")


def check_kinds(**given: Any) -> None:
    """Refuse what is neither the text nor the mapping that an option takes."""
    text, paths = (str,), (str, os.PathLike)
    kinds: dict[str, tuple[Any, ...]] = {
        "id": text, "direction": (Mapping,), "rescale": (Mapping,),
        "weight": (Mapping, *paths), "desirability": (Mapping, *paths),
    }  # fmt: skip
    for name, allowed in kinds.items():
        if given[name] is not None and not isinstance(given[name], allowed):
            raise bad_option(f"--{name} {given[name]!r:.60} is of no kind it takes")
    names = given["metric"]
    if not isinstance(names, Iterable) or not all(isinstance(one, str) for one in names):
        raise bad_option(f"--metric {names!r:.60} is not text")


def stdin_once(table: Any, compare: Any) -> None:
    """Refuse to read standard input for both tables."""
    if [*_listed(table), *_listed(compare)].count("-") > 1:
        raise UsageError(
            Problem("named twice: standard input can be read once", "repeated-file", "-")
        )


def _listed(table: Any) -> list[Any]:
    """Return the paths that a table is named by; none for a frame."""
    if isinstance(table, (list, tuple)):
        return list(table)
    return [table] if isinstance(table, str) else []


def refuse_predicted(roles: Roles, resamples: int | None) -> None:
    """Refuse options that mean something for predictions only."""
    plain = Roles()
    said = {"thresholds": "threshold", "weight": "row-weight"}
    given = [said.get(n, n) for n in PREDICTED if getattr(roles, n) != getattr(plain, n)]
    given += ["resamples"] if resamples is not None else []
    if given:
        raise UsageError(
            Problem(f"--{given[0]} is for predictions, and this is a metric table", "bad-option"),
            hint="--from predictions measures the models of a prediction table",
        )


def draws_of(draws: int | None, *, wanted: bool) -> int | None:
    """Return how many weights to draw, None where nobody asked for any."""
    if not wanted:
        if draws is not None:
            raise bad_option("--draws says how many weights to draw: add --weight-sensitivity")
        return None
    return DRAWS if draws is None else whole("--draws", draws)


def weights_of(weight: Weights) -> dict[str, float]:
    """Return the weights of a mapping or a file."""
    if weight is None:
        return {}
    if isinstance(weight, Mapping):
        return {str(name): number(f"--weight {name}=", one) for name, one in weight.items()}
    return read_weights(weight)


def wishes_from(desirability: Wishes) -> tuple[Wish, ...]:
    """Return the wishes of a mapping or a file."""
    if desirability is None:
        return ()
    if isinstance(desirability, Mapping):
        return wishes_of(desirability)
    return read_wishes(desirability)
