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
            for word, names in (("positive", (self.positive,)), ("negative", self.negative)):
                totals = counts.display_units(f"{word}s")
                if word == "negative" and not self.counts_negatives:
                    continue
                extremes = dict.fromkeys((totals.min().item(), totals.max().item()))
                facts[f"{word}: {list_names(names)}"] = " to ".join(map(format_rows, extremes))
        facts["models"] = len(counts.models)
        all_rows = self.patterns.get(None)
        if all_rows is not None and isinstance(all_rows.clusters, ClusterCounts):
            facts["clusters"] = len(all_rows.clusters)
        if cuts := {cut for cut in self.thresholds.values() if cut is not None}:
            facts["thresholds"] = join_texts([f"{cut:g}" for cut in sorted(cuts)])
        parts = {"runs": len(self.runs), "slices": len(self.slices) - 1}
        return facts | {name: number for name, number in parts.items() if number}

    @property
    def counts_negatives(self) -> bool:
        """True unless the true negatives were not counted."""
        return not np.isnan(self.slices[None].tn).any()

    @property
    def patterns(self) -> Mapping[str | None, PatternCounts]:
        """Pattern counts of the table and its slices; empty if only counts per model are known."""
        hidden = self.predictions is None or self.predictions.min_cell
        slices = {} if self.predictions is None or hidden else self.predictions.slices
        return {label: patterns for label, patterns in slices.items() if label in self.slices}

    @classmethod
    def from_predictions(cls, predictions: PredictionCounts) -> Sample:
        """Build from counted predictions; slices by run become runs."""
        slices, runs = dict(predictions.confusions), {}
        if predictions.roles.run is not None:
            prefix = slice_label((predictions.roles.run,), ("",))
            runs = {
                str(name).removeprefix(prefix): confusions
                for name, confusions in slices.items()
                if name
            }
            slices = {None: slices[None]}
        table = (
            predictions.files,
            predictions.positive,
            predictions.negative,
            predictions.roles,
            predictions.name,
        )
        facets = predictions.evaluated.settled.columns.facets
        return cls(slices, *table, runs, predictions.thresholds, predictions, facets=facets)

    @classmethod
    def from_confusions(
        cls, slices: ConfusionSlices, files: Sequence[InputFile], roles: InputOptions, **fields: Any
    ) -> Sample:
        """Build from counts of the whole table (None) and of slices, without predictions."""
        positive, negative = "positive", "negative"
        if roles.positive is not None:
            positive, negative = roles.positive, f"not {roles.positive}"
        return cls(slices, tuple(files), positive, (negative,), roles, **fields)


def read_sample(opened: Predictions) -> Sample:
    """Count predictions, or read a counts table."""
    if opened.layout.expand is None:
        return Sample.from_predictions(count_predictions(opened))
    roles = opened.roles
    _refuse_needing_predictions(roles)
    keys = opened.columns.by
    count_columns = [find_column(opened.profiles, (name,)) for name in ColumnNames.COUNT]
    if keys and None in count_columns:
        message = f"slices and runs of counts need true negatives: {list_names(keys)}"
        raise UsageError.new(
            message,
            "no-tn",
            opened.files[0].name,
            hint="add the column tn, or leave the option out",
        )
    if {opened.columns.naming, *count_columns} & set(keys):
        message = f"{list_names(keys)} is a column of counts or models, not of runs or slices"
        raise bad_option(message)
    tasks = start_fingerprints(opened.files)
    parts = read_confusion_files(opened.files, opened.columns.naming, keys, roles.model)
    files = [
        input_file(file, task, _total_rows(rows))
        for file, task, rows in zip(opened.files, tasks, parts, strict=True)
    ]
    rows = [row for part in parts for row in part]
    slices: dict[str | None, ConfusionCounts] = {None: ConfusionCounts.from_rows(rows)}
    runs: dict[str, ConfusionCounts] = {}
    columns = {name: [row.keys[i] for row in rows] for i, name in enumerate(keys)}
    for label, positions in slice_rows(opened.columns.facets, columns).items():
        counts = ConfusionCounts.from_rows([rows[i] for i in positions.tolist()])
        if roles.run is None:
            slices[label] = counts
        else:
            runs[label.removeprefix(slice_label(keys, ("",)))] = counts
    return Sample.from_confusions(
        slices, files, roles, name=opened.files[0].name, runs=runs, facets=opened.columns.facets
    )


def _refuse_needing_predictions(roles: InputOptions) -> None:
    """Raise UsageError if an option is given that a table of counts cannot serve."""
    for option in ("threshold", "weight", "kind", "cluster"):
        if getattr(roles, option):
            message = f"{OPTION}--{option}{END} needs predictions, but the table holds counts"
            raise UsageError.new(message, "needs-predictions", hint="leave it out")


def _total_rows(rows: Sequence[CountsRow]) -> int:
    """Return the largest number of observations of any model, summed over runs."""
    totals: dict[tuple[str, ...], int] = {}
    for row in rows:
        total = row.tp + row.fp + row.fn + (0 if isnan(row.tn) else int(row.tn))
        totals[row.keys] = max(total, totals.get(row.keys, 0))
    return sum(totals.values())
