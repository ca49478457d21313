"""Counts of predictions, or of a table of counts, as methods take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.count import count_predictions
from clfeval.counts.evaluated_rows import Facets, slice_label, slice_rows
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.settings import input_file, start_fingerprints
from clfeval.document import InputFile
from clfeval.errors import UsageError, bad_option, join_texts, list_names
from clfeval.formatting import format_rows
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field
from clfeval.tables.input import ColumnNames, InputOptions, find_column
from clfeval.tables.layouts.counts_table import CountsRow, read_confusion_files
from clfeval.tables.predictions import Facts, Predictions

ConfusionSlices = Mapping[str | None, ConfusionCounts]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Confusion counts of the whole table (slice None), of slices, and of runs.

    predictions: the predictions, or None for tables of counts. sampled: counts of rows, not rates.
    """

    slices: ConfusionSlices
    files: tuple[InputFile, ...]
    positive: str
    negative: tuple[str, ...]
    roles: InputOptions
    name: str = ""
    runs: Mapping[str, ConfusionCounts] = field(default_factory=dict)
    thresholds: Mapping[str, float | None] = field(default_factory=dict)
    predictions: PredictionCounts | None = None
    sampled: bool = True
    facets: Facets = ()

    @property
    def facts(self) -> Facts:
        """Facts on the counts: rows, models, thresholds, slices."""
        counts = self.slices[None]
        predictions = self.predictions
        facts: dict[str, object] = {"rows": sum(file.rows for file in self.files)}
        if dropped := sum(file.dropped for file in self.files):
            facts["rows dropped"] = dropped
        if predictions is not None and predictions.multiclass:
            facts["classes"] = f"{len(predictions.order)}: {list_names(predictions.order)}"
        else:
            for class_word, classes in (
                ("positive", (self.positive,)),
                ("negative", self.negative),
            ):
                row_counts = counts.display_units(f"{class_word}s")
                if class_word == "negative" and not self.counts_negatives:
                    continue
                extremes = dict.fromkeys((row_counts.min().item(), row_counts.max().item()))
                facts[f"{class_word}: {list_names(classes)}"] = " to ".join(
                    map(format_rows, extremes)
                )
        facts["models"] = len(counts.models)
        all_patterns = self.patterns.get(None)
        if all_patterns is not None and isinstance(all_patterns.clusters, ClusterCounts):
            facts["clusters"] = len(all_patterns.clusters)
        if known_thresholds := {
            threshold for threshold in self.thresholds.values() if threshold is not None
        }:
            facts["thresholds"] = join_texts(
                [f"{threshold:g}" for threshold in sorted(known_thresholds)]
            )
        part_counts = {"runs": len(self.runs), "slices": len(self.slices) - 1}
        return facts | {name: part_count for name, part_count in part_counts.items() if part_count}

    @property
    def counts_negatives(self) -> bool:
        """True unless the true negatives were not counted."""
        return not np.isnan(self.slices[None].tn).any()

    @property
    def patterns(self) -> Mapping[str | None, PatternCounts]:
        """Pattern counts of the table and its slices; empty if only counts per model are known."""
        is_hidden = self.predictions is None or self.predictions.min_cell
        slices = {} if self.predictions is None or is_hidden else self.predictions.slices
        return {label: patterns for label, patterns in slices.items() if label in self.slices}

    @classmethod
    def from_predictions(cls, predictions: PredictionCounts) -> Sample:
        """Build from counted predictions; slices by run become runs."""
        slices, runs = dict(predictions.confusions), {}
        if predictions.roles.run is not None:
            prefix = slice_label((predictions.roles.run,), ("",))
            runs = {
                str(label).removeprefix(prefix): confusions
                for label, confusions in slices.items()
                if label  # None is the whole table
            }
            slices = {None: slices[None]}
        table_fields = (
            predictions.files,
            predictions.positive,
            predictions.negative,
            predictions.roles,
            predictions.name,
        )
        facets = predictions.evaluated.settled.columns.facets
        return cls(slices, *table_fields, runs, predictions.thresholds, predictions, facets=facets)

    @classmethod
    def from_confusions(
        cls,
        slices: ConfusionSlices,
        files: Sequence[InputFile],
        input_options: InputOptions,
        **fields: Any,
    ) -> Sample:
        """Build from counts of the whole table (None) and of slices, without predictions."""
        positive, negative = "positive", "negative"
        if input_options.positive is not None:
            positive, negative = input_options.positive, f"not {input_options.positive}"
        return cls(slices, tuple(files), positive, (negative,), input_options, **fields)


def read_sample(opened_table: Predictions) -> Sample:
    """Count predictions, or read a counts table."""
    if opened_table.layout.expand is None:
        return Sample.from_predictions(count_predictions(opened_table))
    input_options = opened_table.roles
    _refuse_needing_predictions(input_options)
    by = opened_table.columns.by
    count_columns = [find_column(opened_table.profiles, (name,)) for name in ColumnNames.COUNT]
    if by and None in count_columns:
        message = f"slices and runs of counts need true negatives: {list_names(by)}"
        raise UsageError.new(
            message,
            "no-tn",
            opened_table.files[0].name,
            hint="add the column tn, or leave the option out",
        )
    if {opened_table.columns.naming, *count_columns} & set(by):
        message = f"{list_names(by)} is a column of counts or models, not of runs or slices"
        raise bad_option(message)
    tasks = start_fingerprints(opened_table.files)
    rows_of_files = read_confusion_files(
        opened_table.files, opened_table.columns.naming, by, input_options.model
    )
    files = [
        input_file(file, task, _total_rows(file_rows))
        for file, task, file_rows in zip(opened_table.files, tasks, rows_of_files, strict=True)
    ]
    rows = [row for file_rows in rows_of_files for row in file_rows]
    slices: dict[str | None, ConfusionCounts] = {None: ConfusionCounts.from_rows(rows)}
    runs: dict[str, ConfusionCounts] = {}
    slice_values = {name: [row.keys[i] for row in rows] for i, name in enumerate(by)}
    for label, row_indices in slice_rows(opened_table.columns.facets, slice_values).items():
        counts = ConfusionCounts.from_rows([rows[i] for i in row_indices.tolist()])
        if input_options.run is None:
            slices[label] = counts
        else:
            runs[label.removeprefix(slice_label(by, ("",)))] = counts
    return Sample.from_confusions(
        slices,
        files,
        input_options,
        name=opened_table.files[0].name,
        runs=runs,
        facets=opened_table.columns.facets,
    )


def _refuse_needing_predictions(input_options: InputOptions) -> None:
    """Raise UsageError if an option is given that a table of counts cannot serve."""
    for option in ("threshold", "weight", "kind", "cluster"):
        if getattr(input_options, option):
            message = f"{OPTION}--{option}{END} needs predictions, but the table holds counts"
            raise UsageError.new(message, "needs-predictions", hint="leave it out")


def _total_rows(rows: Sequence[CountsRow]) -> int:
    """Return the largest number of observations of any model, summed over runs."""
    largest_counts: dict[tuple[str, ...], int] = {}
    for row in rows:
        row_count = row.tp + row.fp + row.fn + (0 if isnan(row.tn) else int(row.tn))
        largest_counts[row.keys] = max(row_count, largest_counts.get(row.keys, 0))
    return sum(largest_counts.values())
