"""How a table is read and what its columns are: the options with one meaning in every command."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from clfeval.errors import UsageError
from clfeval.notation import thresholds
from clfeval.options import COLUMNS, READING, Command, Opt, listed, number
from clfeval.tables.layouts import LayoutName as LayoutName

Kind = Literal["label", "score"]
Missing = Literal["error", "drop"]
Format = Literal["csv", "tsv", "parquet", "arrow", "ndjson", "json"]

DEFAULT_THRESHOLD = 0.5


def _label(_: str, value: object) -> str | None:
    return next(iter(_labels("", [value])), None)


def _labels(_: str, values: object) -> tuple[str, ...]:
    from clfeval.tables.cells import as_text

    return tuple(text for text in map(as_text, listed(values)) if text is not None)


def _thresholds(flag: str, given: Any) -> dict[str | None, float]:
    chosen = given if isinstance(given, Mapping) else {} if given is None else {None: given}
    chosen = {model: number(flag, value) for model, value in chosen.items()}
    for value in chosen.values():
        if not math.isfinite(value):
            raise UsageError.of(f"the threshold {value} is no finite number", "bad-option")
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Input:
    """How a table is read, and which column is what; all that is unsaid is recognised from it.

    threshold: from a model to its own; the key None holds the one for all others. run: a column
    that stands in `by` too, where an observation stands once in each run.
    """

    input_format: Annotated[
        Format | None, Opt("Instead of guessing by suffix or content.", READING)
    ] = None
    delimiter: Annotated[
        str | None, Opt("Of a text table; default a comma.", READING, flags=("-d", "--delimiter"))
    ] = None
    layout: Annotated[
        LayoutName | None, Opt("Instead of recognising it from the header.", READING)
    ] = None
    missing: Annotated[
        Missing, Opt("Stop at missing values, or drop their rows.", READING, stated=True)
    ] = "error"
    null_value: Annotated[
        tuple[str, ...],
        Opt("Text that means missing; repeat. An empty field always does.", READING),
    ] = ()
    truth: Annotated[
        str | None,
        Opt(
            "The true label; default the first of truth, y_true, target, actual, label, "
            "true_label.",
            COLUMNS, completes="column",
        ),
    ] = None  # fmt: skip
    model: Annotated[
        tuple[str, ...],
        Opt(
            "A model's name or a quoted glob; repeat. Default: all other columns.",
            COLUMNS, completes="model",
        ),
    ] = ()  # fmt: skip
    id: Annotated[str | None, Opt("Names the observation.", COLUMNS, completes="column")] = None
    positive: Annotated[
        str | None,
        Opt(
            "The positive class; all others are negative. Default 1 or true.",
            COLUMNS, accept=_label, takes=object, completes="class",
        ),
    ] = None  # fmt: skip
    labels: Annotated[
        tuple[str, ...],
        Opt(
            "Declare a class truth may lack; repeat.",
            COLUMNS, accept=_labels, takes=Sequence[object],
        ),
    ] = ()  # fmt: skip
    kind: Annotated[
        Kind | None,
        Opt(
            "What model columns hold; default: labels if they are truth's labels, "
            "scores if they are numbers.",
            COLUMNS,
        ),
    ] = None
    threshold: Annotated[
        Mapping[str | None, float],
        Opt(
            "Scores at or above it are positive; repeat. Default 0.5.",
            COLUMNS, metavar="T|MODEL=T", parse=thresholds, accept=_thresholds,
            takes=float | Mapping[str | None, float] | None,
        ),
    ] = field(default_factory=dict)  # fmt: skip
    weight: Annotated[
        str | None,
        Opt("How often a row counts.", COLUMNS, also=("row_weight",), completes="column"),
    ] = None
    by: Annotated[
        tuple[str, ...],
        Opt("Also compute every slice of this column; repeat.", COLUMNS, stated=True,
            completes="column"),
    ] = ()  # fmt: skip
    run: str | None = None

    def threshold_of(self, model: str) -> float:
        """Return the threshold in force for a model: scores at or above it are positive."""
        return self.threshold.get(model, self.threshold.get(None, DEFAULT_THRESHOLD))

    def has_threshold(self, model: str) -> bool:
        """Tell whether the user gave this model's threshold."""
        return model in self.threshold or None in self.threshold


def with_input(command: Command) -> Command:
    """Return a command with the options of its table, which are those of every command."""
    return replace(command, input=Input)
