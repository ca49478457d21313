"""Options of `recalibrate`."""

from __future__ import annotations

from typing import Annotated, Literal

from clfeval.methods.options import Level, Seed
from clfeval.options.declaration import Command, Opt
from clfeval.records import dataclass

RECALIBRATION = "Recalibration"  # panel
Method = Literal["none", "shift", "temperature", "logistic", "beta", "isotonic", "auto"]
METHODS: tuple[Method, ...] = (
    "none",
    "shift",
    "temperature",
    "logistic",
    "beta",
    "isotonic",
    "auto",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RecalibrateOptions:
    """How probabilities are recalibrated, and the limits of the gain."""

    method: Annotated[
        Method,
        Opt(
            "Method: shift, temperature, logistic, beta, isotonic; default auto.",
            RECALIBRATION,
            metavar="METHOD",
            signed="method",
            stated=True,
        ),
    ] = "auto"
    level: Level = 0.95
    seed: Seed = 0


RECALIBRATE = Command(
    "recalibrate",
    (RecalibrateOptions,),
    have="probabilities that are miscalibrated",
    want="whether recalibrating them helps, and how",
    help="""Recalibrate probabilities, and test whether that helps on new rows.

    Each row is judged by calibrators that were fitted without it, or without its cluster. Methods:
    shift, temperature, logistic, beta and isotonic; auto chooses none, shift, logistic or beta by
    a closed test.
    """,
    examples="""clfeval recalibrate preds.csv --positive malignant
clfeval recalibrate preds.csv --model gbm --method logistic
clfeval recalibrate preds.csv --cluster patient --show mapping
clfeval recalibrate preds.csv --model gbm --save gbm.calibrator.json --save gbm.sql""",
    brief="truth positive model cluster method show save",
    tables="CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too), or files of count; - is "
    "standard input; several files of one schema, or a quoted glob.",
    without=("threshold", "by"),
)
