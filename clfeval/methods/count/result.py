"""From counts to the Result of `count`: what the file holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clfeval.counts.files import count_table
from clfeval.counts.min_cell import hide_small_cells
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.read_files import PATTERNS, counts_digest, scores_by_model
from clfeval.document import Answer, Document, InputFile, ResultNote
from clfeval.document.cells import Row, as_row
from clfeval.errors import DataError, UsageError, format_option
from clfeval.formatting import format_count
from clfeval.methods import provenance
from clfeval.methods.count.options import CountOptions
from clfeval.methods.measurement.joint_sums import sums_of_table
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass
from clfeval.tables.columns import ModelColumns
from clfeval.tables.frames import pl
from clfeval.tables.layouts.counts_file import refuse_unlike_counts


@dataclass(frozen=True, slots=True, eq=False)
class PublishedCounts:
    """The counts of the file with their description, and what a result may say of their source.

    Of hidden counts nothing is told that does not follow from them: files have no digest, which
    would confirm a guess of all rows, nor rows that are left out one by one.
    """

    table: pl.DataFrame
    description: Mapping[str, Any]
    files: tuple[InputFile, ...]
    notes: tuple[ResultNote, ...]

    @property
    def rows_by_truth(self) -> tuple[int, int]:
        """Positives and negatives."""
        # of combined predictions, or of one model: each has all rows
        rows = self.table.filter(self.table["model"].eq_missing(self.table["model"][0]))
        positives = int(rows.filter("truth")["n"].sum())
        return positives, int(rows["n"].sum()) - positives

    @property
    def patterns(self) -> int:
        """The number of counts of combined predictions."""
        return int((self.table["block"] == PATTERNS).sum())

    @property
    def negative(self) -> list[str]:
        """The names of the negative classes."""
        return [
            name for name in self.description["classes"] if name != self.description["positive"]
        ]


def count_result(
    predictions: PredictionCounts, options: CountOptions, merged: PredictionCounts | None = None
) -> Document:
    """Return how many counts each model has; the counts themselves are in the file.

    merged: the counts of all tables, for comparisons.
    """
    published = _counts_to_publish(predictions, options, merged)
    positives, negatives = published.rows_by_truth
    rows = [_model_row(predictions, model, published.table) for model in predictions.models]
    input_options = predictions.evaluated.settled.roles
    parameters = {
        "positive": predictions.positive,
        "negative": published.negative,
        "by": list(input_options.by),
    }
    return Document(
        command="count",
        signature=_signature(predictions, published),
        inputs=published.files,
        parameters=provenance.build_parameters(
            "positive negative by missing", parameters, input_options
        ),
        summary={
            "rows": positives + negatives,
            "positives": positives,
            "negatives": negatives,
            "models": len(rows),
            "counts": len(published.table),
            "patterns": published.patterns,
        },
        tables={"models": rows},
        answer=(Answer("counted", _sentence(predictions, published)),),
        warnings=published.notes,
        extras={"table": published.table, "about": dict(published.description)},
    )


def _counts_to_publish(
    counts: PredictionCounts, options: CountOptions, merged: PredictionCounts | None
) -> PublishedCounts:
    """Return the counts as the options ask for them."""
    table, description = count_table(counts)
    notes = (*_cluster_note(counts), *provenance.counting_notes(counts, clusters=False))
    if options.compares_pairs:
        description = {**description, "joint": _joint_sums(counts, merged, table, description)}
    if options.min_cell is None:
        return PublishedCounts(table, description, counts.files, notes)
    if description["min_cell"]:
        message = f"its counts below {description['min_cell']} are hidden already"
        hint = f"leave {OPTION}--min-cell{END} out, or count the table again"
        raise UsageError.new(message, "bad-option", counts.name, hint=hint)
    table, description = hide_small_cells(table, description, options.min_cell, counts.name)
    files = [
        InputFile(
            file.name,
            None,
            0 if file_index else description["rows"],
            0 if file_index else description["dropped"],
        )
        for file_index, file in enumerate(counts.files)
    ]
    return PublishedCounts(table, description, tuple(files), ())


def _cluster_note(counts: PredictionCounts) -> Iterator[ResultNote]:
    """Yield a note on a column that may identify clusters, which counts do not keep."""
    column = counts.evaluated.likely_cluster()
    if column is not None:
        text = f"'{column}' repeats, and counts have no clusters: if rows with the same value are "
        text += "correlated, intervals from these counts are too narrow; evaluate the rows with "
        yield ResultNote("may-share", f"{text}{format_option('--cluster', column, bare=True)}")


def _model_row(predictions: PredictionCounts, model: ModelColumns, table: pl.DataFrame) -> Row:
    """Return the row of a model in the table of models."""
    counts = table.filter(table["model"] == model.name)
    has_single_scores = len(counts) > 0 and counts["lo"].equals(counts["hi"])
    return as_row(
        {
            "model": model.name,
            "kind": "labels" if model.kind == "label" else "scores",
            "threshold": predictions.thresholds[model.name],
            "distinct_scores": counts["key"].n_unique() if has_single_scores else None,
            "counts": len(counts),
        }
    )


def _sentence(counts: PredictionCounts, published: PublishedCounts) -> str:
    """Return how many counts stand for how many rows, and what is left out."""
    row_total = sum(published.rows_by_truth)
    text = f"{format_count(row_total, 'row')} of {format_count(len(counts.models), 'model')} are "
    text += format_count(len(published.table), "count")
    min_cell = published.description["min_cell"]
    if not min_cell:
        return f"{text}, {published.patterns:,} of them of combined predictions."
    text += f" of at least {min_cell} rows."
    left_out_count = counts.patterns.n.sum().item() - row_total
    if counts.stored is None and left_out_count:
        text += f" Slices with fewer than {min_cell} rows of a class are left out, with others so "
        text += (
            f"that they are at least {min_cell} of each class together: {left_out_count:,} rows."
        )
    return text


def _signature(counts: PredictionCounts, published: PublishedCounts) -> str:
    """Return the signature of the counts: settings, and the digest of the counts."""
    input_options = counts.evaluated.settled.roles
    settings = {
        "cmd": "count",
        "pos": counts.positive,
        "cut": provenance.format_thresholds(counts.thresholds),
        "by": ",".join(input_options.by),
        "miss": input_options.missing,
    }
    return provenance.build_signature(
        "cmd pos cut by miss",
        settings,
        input_options,
        files=published.files,
        statistics=counts_digest(published.table, published.description),
    )


def _joint_sums(
    predictions: PredictionCounts,
    merged: PredictionCounts | None,
    table: pl.DataFrame,
    description: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what compares scores of models in a table; DataError if `merged` does not count it.

    table, description: the counts of the table itself.
    """
    if predictions.stored is not None:
        message = f"{OPTION}--joint pairs{END} needs rows, but of {predictions.name} "
        message += "there are counts only"
        raise UsageError.new(message, "needs-predictions", hint="give it where rows are counted")
    if all(model.kind == "label" for model in predictions.models):
        message = f"{OPTION}--joint pairs{END} needs scores, but every model has labels only"
        raise UsageError.new(
            message, "needs-scores", hint="leave it out: labels are compared anyway"
        )
    merged_table, merged_description = (
        (table, description) if merged is None else count_table(merged)
    )
    if merged is not None:
        refuse_unlike_counts(description, merged_description, predictions.name, merged.name)
        if not {*description["parts"]} <= {*merged_description["parts"]}:
            message = f"its counts are not among those of {merged.name}"
            hint = "add its counts to the others first, counted with the same options"
            raise DataError.new(message, "unequal-counts", predictions.name, hint=hint)
    scores = {
        model_index: by_slice[None]
        for model_index, by_slice in scores_by_model(
            merged_table, predictions.models, (), {}
        ).items()
    }
    sums = sums_of_table(predictions, merged or predictions, scores)
    return {"against": counts_digest(merged_table, merged_description), "sums": [sums]}
