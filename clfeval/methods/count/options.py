"""Options of `count`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from clfeval.errors import bad_option
from clfeval.options.declaration import Command, Opt
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

COUNTS = "Counts"  # panel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CountOptions:
    """What is counted besides the predictions and scores of each model."""

    joint: Annotated[
        Literal["none", "pairs"],
        Opt("Count what compares scores of models too (pairs), in a second scan.", COUNTS),
    ] = "none"
    against: Annotated[
        Any,
        Opt(
            "Added counts of all tables, of which this is one.",
            COUNTS,
            metavar="FILE",
            accept=lambda _, given: given,
        ),
    ] = None
    min_cell: Annotated[
        int | None,
        Opt(
            "Count neighbouring scores together: no count is below N, 3 or more.",
            COUNTS,
            metavar="N",
            least=3,
            outside="is not a whole number of at least 3",
        ),
    ] = None

    def check(self) -> None:
        """Raise UsageError for options that exclude or need each other."""
        if self.against is not None and self.joint == "none":
            raise bad_option(
                f"{OPTION}--against{END} belongs to {OPTION}--joint pairs{END}",
                f"add {OPTION}--joint pairs{END}",
            )
        if self.min_cell is not None and self.joint != "none":
            raise bad_option(
                f"{OPTION}--joint pairs{END} and {OPTION}--min-cell{END} cannot be combined",
                "leave one out",
            )


COUNT = Command(
    "count",
    (CountOptions,),
    have="predictions of models",
    want="their counts as one file that adds up",
    help="""Count predictions into a file that report and the other methods read.

    The file has the numbers of rows with each prediction or score: no ids, no other columns. Files
    of several tables or places are added: clfeval report a.counts.parquet b.counts.parquet
    """,
    examples="""clfeval count preds.parquet --save preds.counts.parquet
clfeval count 'preds/*.parquet' --by site --save week.counts.parquet
clfeval count a.counts.parquet b.counts.parquet --save both.counts.parquet
clfeval count a.csv --joint pairs --save a.counts.parquet
clfeval count a.csv --min-cell 5 --save a.counts.parquet
clfeval report a.counts.parquet b.counts.parquet""",
    brief="truth positive ignore threshold by show save",
    tables="CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too), or files of this command; - "
    "is standard input; several files of one schema, or a quoted glob.",
    without=("weight", "sampling_weights", "cluster"),
)
