"""Options of `recalibrate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from clfeval.errors import bad_option
from clfeval.methods.options import Level, PopulationOptions, Seed
from clfeval.options.declaration import Command, Opt
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

if TYPE_CHECKING:
    from clfeval.measures.record import Population

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
class RecalibrateOptions(PopulationOptions):
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
    calibrator: Annotated[
        str | None,
        Opt(
            "Add the columns of a saved calibrator; write the table with --save.",
            RECALIBRATION,
            metavar="FILE",
            reads=True,
        ),
    ] = None
    level: Level = 0.95
    seed: Seed = 0

    @property
    def population(self) -> Population | None:
        """The population that probabilities are for; None for that of the rows.

        Errors: UsageError for several.
        """
        populations = self.populations
        if len(populations) > 1:
            message = f"{OPTION}--prevalence{END} is one number here: a calibrator is for one"
            raise bad_option(message, "give one, or run the command for each")
        return populations[0] if populations else None


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
clfeval recalibrate preds.csv --prevalence 0.02 --show mapping
clfeval recalibrate preds.csv --model gbm --save gbm.calibrator.json --save gbm.sql""",
    brief="truth positive model cluster method prevalence show save",
    tables="CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too), or files of count; - is "
    "standard input; several files of one schema, or a quoted glob.",
    words={"prevalence": {"help": "Prevalence that probabilities are for, by label shift."}},
    without=("threshold", "by"),
)
