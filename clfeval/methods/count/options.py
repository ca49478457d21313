"""Options of `count`."""

from __future__ import annotations

from typing import Annotated, Any

from clfeval.errors import bad_option
from clfeval.methods.options import accept_table
from clfeval.options.declaration import Command, Opt
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

COUNTS = "Counts"  # panel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CountOptions:
    """What is counted besides the predictions and scores of each model."""

    joint: Annotated[
        Any,
        Opt(
            "Count what compares scores too: pairs, or FILE with the counts of all.",
            COUNTS,
            metavar="pairs|FILE",
            accept=accept_table,
        ),
    ] = None
    min_cell: Annotated[
        int | None,
        Opt(
            "Count neighbouring scores together: no count is below N, 3 or more.",
            COUNTS,
            metavar="N",
            minimum=3,
            bounds_error="is not a whole number of at least 3",
        ),
    ] = None

    @property
    def compares_pairs(self) -> bool:
        """Whether what compares the scores of models is counted."""
        return self.joint is not None

    @property
    def counts_of_all(self) -> Any:
        """The added counts of all tables, of which this is one; None without."""
        is_word = isinstance(self.joint, str) and self.joint == "pairs"
        return None if is_word else self.joint

    def check(self) -> None:
        """Raise UsageError for options that exclude or need each other."""
        if self.min_cell is not None and self.compares_pairs:
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
    unused_fields=("weight", "sampling_weights", "cluster"),
)
