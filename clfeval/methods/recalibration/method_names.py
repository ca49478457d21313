"""The names of recalibration methods, and what a recalibration is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from clfeval.records import dataclass

if TYPE_CHECKING:
    from clfeval.measures.record import Population

Method = Literal[
    "none",
    "shift",
    "temperature",
    "logistic",
    "beta",
    "isotonic",
    "venn-abers",
    "one-vs-rest",
    "auto",
]
CLASS_METHODS: tuple[Method, ...] = ("none", "temperature", "one-vs-rest", "auto")
ALL_METHODS: tuple[Method, ...] = get_args(Method)
METHODS = tuple(method for method in ALL_METHODS if method != "one-vs-rest")  # of two classes


@dataclass(frozen=True, slots=True)
class RecalibrationSettings:
    """The method, the level and the seed of its limits, and the population it is for.

    methods: those assessed; population: None for that of the rows.
    """

    method: Method = "auto"
    level: float = 0.95
    seed: int = 0
    population: Population | None = None
    methods: tuple[Method, ...] = ALL_METHODS
