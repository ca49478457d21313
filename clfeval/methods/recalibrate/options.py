"""Options of `recalibrate`."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Annotated

from clfeval.errors import bad_option
from clfeval.methods.options import Level, PopulationOptions, Seed, prevalence_option
from clfeval.methods.recalibration.method_names import Method, RecalibrationSettings
from clfeval.options.declaration import Command, Opt
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

if TYPE_CHECKING:
    from clfeval.measures.record import Population

RECALIBRATION = "Recalibration"  # panel


def _accept_path(flag: str, path: object) -> str | None:
    """Return a path as text; UsageError for other values."""
    if path is None or isinstance(path, (str, PathLike)):
        return None if path is None else fspath(path)
    raise bad_option(f"{OPTION}{flag}{END} {path!r:.60} is not a path")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RecalibrateOptions(PopulationOptions):
    """How probabilities are recalibrated, and the limits of the gain."""

    method: Annotated[
        Method,
        Opt(
            "logistic, isotonic and others; many classes: one-vs-rest.",
            RECALIBRATION,
            metavar="METHOD",
            signed="method",
            is_parameter=True,
        ),
    ] = "auto"
    prevalence: Annotated[
        tuple[str | float, ...],
        prevalence_option("Prevalence that probabilities are for, by label shift."),
    ] = ()
    calibrator: Annotated[
        str | None,
        Opt(
            "Add columns to a table by the calibrators of a saved file.",
            RECALIBRATION,
            metavar="FILE",
            accept=_accept_path,
            takes=str | PathLike[str] | None,
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

    @property
    def settings(self) -> RecalibrationSettings:
        """The settings of the recalibration of each model."""
        return RecalibrationSettings(self.method, self.level, self.seed, self.population)


RECALIBRATE = Command(
    "recalibrate",
    (RecalibrateOptions,),
    have="probabilities",
    want="whether recalibrating them helps",
    help="""Recalibrate probabilities, and test whether that helps on new rows.

    Each row is judged by calibrators that were fitted without it, or without its cluster. Methods:
    shift, temperature, logistic, beta, isotonic and venn-abers; auto, the default, chooses none,
    shift, logistic or beta by a closed test. Of more than two classes, without --positive, they are
    temperature and one-vs-rest, and auto chooses none or one of them.
    """,
    examples="""clfeval recalibrate preds.csv --positive malignant
clfeval recalibrate preds.csv --model gbm --method logistic
clfeval recalibrate preds.csv --prevalence 0.02 --show mapping
clfeval recalibrate preds.csv --model gbm --save gbm.calibrator.json""",
    brief="truth positive cluster method prevalence show save",
    tables="CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too), or files of count; - is "
    "standard input; several files of one schema, or a quoted glob.",
    unused_fields=("threshold", "by", "spark_conf"),
)
