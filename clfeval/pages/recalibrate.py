"""The page of recalibrate: gains of every method, and what becomes of probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.document import Document
from clfeval.document.cells import Row, as_estimate
from clfeval.formatting import format_count, join_names
from clfeval.pages.chart import Axis, Chart, Note, Series, row_point
from clfeval.pages.schema import MODEL, SHARED_WORDS, Column, Page, Table, TableView, cols
from clfeval.pages.table_parts import format_class_counts
from clfeval.records import replace

METHODS = (
    "none",
    "shift",
    "temperature",
    "logistic",
    "beta",
    "isotonic",
    "venn-abers",
    "one-vs-rest",
    "auto",
)
VERDICTS = ("helps", "harms", "undecided")
METHOD = Column(
    "method",
    "text",
    among=METHODS,
    meaning="shift adds to log odds, temperature multiplies, logistic both, beta per side; "
    "isotonic, venn-abers: steps; one-vs-rest: per class",
)
VERDICT = Column(
    "verdict",
    "text",
    among=(None, *VERDICTS),
    meaning="whether the limits of the gain lie above 0 (helps), below (harms) or around it",
)
GAINS = (
    Column(
        "log_loss_gain",
        "estimate",
        best="min",
        meaning="fall of the log loss on new rows, cross-fitted",
        headings=("gain in log loss",),
    ),
    Column(
        "brier_gain",
        "estimate",
        best="min",
        meaning="fall of the Brier score on new rows, cross-fitted",
        headings=("gain in Brier",),
    ),
    *cols(
        "number?",
        {
            "intercept": "added to the log odds",
            "power": "factor of ln p; with more than two classes the power of each probability",
        },
    ),
    Column(
        "complement_power", "number?", meaning="factor of -ln(1 - p)", headings=("power of 1 - p",)
    ),
)
TABLES = (
    Table(
        "models",
        (
            MODEL,
            replace(METHOD, among=(None, *METHODS)),
            VERDICT,
            Column(
                "loss",
                "text",
                among=("log_loss", "brier"),
                meaning="the loss that decides: the Brier score where the log loss is infinite",
            ),
            Column("before", "number?", meaning="the loss of the scores as they are"),
            Column(
                "gain", "estimate", best="min", meaning="fall of the loss on new rows, cross-fitted"
            ),
            *GAINS,
        ),
    ),
    Table(
        "methods",
        (
            MODEL,
            METHOD,
            Column(
                "chosen",
                "text",
                among=METHODS,
                meaning="the method itself; of auto the one that likelihood ratios choose",
            ),
            VERDICT,
            *GAINS,
        ),
    ),
    Table(
        "mapping",
        (
            MODEL,
            METHOD,
            *cols(
                "part",
                {
                    "probability": "the score of a model",
                    "recalibrated": "what the method makes of it",
                },
            ),
            *cols(
                "part?",
                {
                    "low": "of venn-abers: the isotonic share with the new row as a negative (p0)",
                    "high": "of venn-abers: the isotonic share with the new row as a positive (p1)",
                },
            ),
        ),
    ),
    Table(
        "classes",
        (
            MODEL,
            Column(
                "class",
                "text",
                meaning="the class whose probability is recalibrated against all other classes",
            ),
            *cols(
                "number",
                {
                    "intercept": "added to the log odds of the class",
                    "power": "factor of the log odds of the class",
                },
            ),
        ),
    ),
    Table(
        "columns",
        (
            MODEL,
            METHOD,
            Column("column", "text", meaning="the column with the recalibrated scores"),
            *cols(
                "count",
                {
                    "rows": "rows of the table",
                    "missing": "rows without a score, which stay so",
                    "outside": "rows with a score outside those that the calibrator was fitted to",
                    "at_ends": "rows with a score of exactly 0 or 1",
                },
            ),
        ),
    ),
    Table(
        "groups",
        (
            MODEL,
            Column("bin", "count", meaning="group by score, from the lowest"),
            Column("rows", "weight", meaning="number of rows of the group"),
            *cols(
                "part",
                {
                    "mean_score": "mean score of the group; with more than two classes that of the "
                    "most probable class",
                    "mean_recalibrated": "mean recalibrated score of the group",
                },
            ),
            Column(
                "observed",
                "estimate",
                meaning="share of positives in the group; with more than two classes share of rows "
                "whose most probable class is true",
            ),
        ),
    ),
)
SHARE_RANGE = (0.0, 1.0)
GAIN_COLUMNS = {"gain in\nlog loss": "log_loss_gain", "gain in\nBrier": "brier_gain"}
PARAMETER_COLUMNS = {
    "intercept": "intercept",
    "power": "power",
    "power of\n1 - p": "complement_power",
}


def headline(result: Document) -> list[str]:
    """Return the headline: inputs, and the rows of each class, or all without truth."""
    names_text = join_names([file.name for file in result.inputs])
    if "columns" in result.tables:
        return [
            f"Recalibrated scores of {names_text}: {format_count(result.summary['rows'], 'row')}"
        ]
    return [f"Recalibration of {names_text}: {format_class_counts(result)}"]


def page_tables(result: Document, __: int) -> Iterator[TableView]:
    """Yield the method in force of each model, all methods, and what becomes of probabilities.

    With stored calibrators the columns that they add.
    """
    if "columns" in result.tables:
        columns = {name: name for name in ("model", "method", "column", "rows", "missing")}
        columns |= {"outside\nfitted": "outside", "0 or 1": "at_ends"}
        yield TableView("columns", "Columns that calibrators add", columns, rank="main")
        return
    name_columns = {"model": "model", "method": "method"}
    parameter_columns = PARAMETER_COLUMNS
    grouped_by = "score"
    if _has_classes(result):
        parameter_columns = {"power": "power"}
        grouped_by = "largest probability"
    yield TableView(
        "models",
        "Gain on new rows by the recalibration of each model",
        {
            **name_columns,
            "verdict": "verdict",
            "loss": "loss",
            "before": "before",
            "gain": "gain",
            **parameter_columns,
        },
        rank="main",
        lead="gain",
        places=(),
    )
    yield TableView(
        "methods",
        "Gain on new rows by method",
        {
            **name_columns,
            "chosen": "chosen",
            "verdict": "verdict",
            **GAIN_COLUMNS,
            **parameter_columns,
        },
        places=(),
    )
    yield TableView("groups", f"Groups by {grouped_by} before and after", places=())
    if "mapping" in result.tables:
        yield TableView("mapping", "Recalibrated probabilities")
    if "classes" in result.tables:
        yield TableView("classes", "One-vs-rest recalibration of each class", places=())


def page_charts(result: Document) -> Iterator[Chart]:
    """Yield, for each model, groups by score before and after its recalibration."""
    rows = result.tables.get("groups", ())
    diagonal = Series("calibrated", ((SHARE_RANGE[:1] * 2, SHARE_RANGE[1:] * 2),), letter=":")
    for model in dict.fromkeys(row["model"] for row in rows):
        groups = [row for row in rows if row["model"] == model]
        observed_shares = [as_estimate(row["observed"]) for row in groups]
        limits = tuple((estimate.low, estimate.high) for estimate in observed_shares)
        dots = [
            Series(series_name, (tuple(_points(groups, column)),), shape="dots", spans=limits)
            for series_name, column in (("before", "mean_score"), ("after", "mean_recalibrated"))
        ]
        sentences = [answer.text for answer in result.answer if model in answer.models]
        yield Chart(
            "lines",
            f"Recalibration of {model}",
            Axis("probability", range=SHARE_RANGE),
            Axis(_observed_title(result), range=SHARE_RANGE),
            (*dots, diagonal),
            name="recalibration",
            key=(Note("dots: groups of a tenth of the rows by score, with confidence intervals"),),
            finding=sentences[0] if sentences else "",
            square=True,
        )


def _observed_title(result: Document) -> str:
    """Return what is observed in a group: with more than two classes, correct predictions."""
    return "share correct" if _has_classes(result) else "share of positives"


def _has_classes(result: Document) -> bool:
    """Return whether there are more than two classes, none of them positive."""
    return result.summary.get("classes") is not None


def _points(group_rows: Sequence[Row], column: str) -> Iterator[tuple[float, float]]:
    """Yield the points of groups: the mean of a column, and the observed share."""
    for row in group_rows:
        point = row_point(row, column, "observed")
        if point is not None:
            yield point


PAGE = Page(
    "recalibrate",
    TABLES,
    headline,
    page_tables,
    page_charts,
    plots=("recalibration",),
    glossary=SHARED_WORDS,
)
