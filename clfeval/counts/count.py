"""Counting for the methods: predictions, tables of counts, and counts given as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.evaluated_rows import Facets, slice_label, slice_rows
from clfeval.counts.group_rows import group_rows
from clfeval.counts.invalid_rows import (
    check_patterns,
    check_thresholds,
    corrected_settings,
    refuse_invalid_patterns,
    refuse_invalid_rows,
    refuse_rows_without_run,
)
from clfeval.counts.patterns import ConfusionCounts, PatternCounts, rounding_error, weight_unit
from clfeval.counts.prediction_counts import PredictionCounts, TopRows
from clfeval.counts.scores import parse_top_count, read_scores, top_thresholds
from clfeval.counts.settings import (
    CountSettings,
    check_structure,
    convert_read_error,
    input_file,
    resolve_settings,
    start_fingerprints,
    with_label_thresholds,
)
from clfeval.document import InputFile
from clfeval.errors import DataError, UsageError, bad_option, join_texts, list_names
from clfeval.records import dataclass, field, replace
from clfeval.tables.columns import Facts
from clfeval.tables.input import ColumnNames, Input, find_column, match_names
from clfeval.tables.layouts.long import CountsRow, read_confusions
from clfeval.tables.recognition import Predictions
from clfeval.tables.scan import engine_errors, scan


def count_predictions(
    opened: Predictions, *, top: str | None = None, any_range: bool = False
) -> PredictionCounts:
    """Count the patterns of a prediction table.

    `top`: each model's highest rows are predicted positive, instead of thresholds; `any_range`:
    allow scores outside 0..1 without threshold. Raises DataError with every problem of the table.
    """
    if top is not None and opened.roles.threshold:
        raise bad_option("--top and --threshold cannot be combined")
    try:
        counted = _count_patterns(resolve_settings(opened), any_range=any_range or top is not None)
        if top is None:
            return counted
        table, _ = read_scores(counted.kept, "all")
        rows, settled = parse_top_count(top, counted.patterns.rows), counted.kept.settled
        cuts, taken = top_thresholds(table, rows)
        settled = replace(settled, thresholds={**settled.thresholds, **cuts})
        return _count_patterns(settled, any_range=True, top=TopRows(rows, taken))
    except engine_errors() as error:
        raise convert_read_error(opened.files, error) from error


def _count_patterns(
    settled: CountSettings, *, any_range: bool, top: TopRows | None = None
) -> PredictionCounts:
    if settled.strange:
        check_structure(settled.files, settled.tasks)
        settled.refuse_similar_labels(dict.fromkeys(settled.classes, 0), settled.strange)
        refuse_invalid_rows(settled, settled.classes, settled.strange)
    while True:
        if settled.related is None:
            settled = with_label_thresholds(settled)
        grouped = group_rows(settled)  # the one pass
        judged = check_patterns(grouped, settled)
        better = corrected_settings(judged, settled)
        if better is None:
            break
        settled = better
    refuse_invalid_patterns(judged, settled, any_range=any_range)
    weight, nulls = settled.columns.weight, settled.columns.null_values
    sampling = settled.roles.sampling_weights or judged.grouped.n.dtype.kind == "f"
    if weight is not None and sampling:  # fractional weights, counted in whole units
        scans = [scan(file, {weight: "loose"}, null_values=nulls) for file in settled.files]
        unit = weight_unit(scans, weight)
        settled = replace(settled, unit=unit, rounding=rounding_error(scans, weight, unit))
        judged = check_patterns(group_rows(settled), settled)
    counted = PredictionCounts.from_patterns(judged, settled, top)
    check_thresholds(settled)
    if settled.columns.run and f"{settled.columns.run}=(missing)" in counted.slices:
        refuse_rows_without_run(settled)
    return counted


ConfusionSlices = Mapping[str | None, ConfusionCounts]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Confusion counts of the whole table (slice None), of slices, and of runs.

    counted: the predictions, or None for tables of counts. sampled: counts of rows, not rates.
    """

    slices: ConfusionSlices
    files: tuple[InputFile, ...]
    positive: str
    negative: tuple[str, ...]
    roles: Input
    name: str = ""
    runs: Mapping[str, ConfusionCounts] = field(default_factory=dict)
    thresholds: Mapping[str, float | None] = field(default_factory=dict)
    counted: PredictionCounts | None = None
    sampled: bool = True
    facets: Facets = ()

    @property
    def facts(self) -> Facts:
        """Facts on the counts: rows, models, thresholds, slices."""
        counts, counted = self.slices[None], self.counted
        found: dict[str, object] = {"rows": sum(file.rows for file in self.files)}
        if dropped := sum(file.dropped for file in self.files):
            found["rows dropped"] = dropped
        if counted is not None and counted.multiclass:
            found["classes"] = f"{len(counted.order)}: {list_names(counted.order)}"
        else:
            for word, names in (("positive", (self.positive,)), ("negative", self.negative)):
                totals = counts.display_units(f"{word}s")
                ends = dict.fromkeys((totals.min().item(), totals.max().item()))
                said = " to ".join(f"{number:,.10g}" for number in ends)
                found[f"{word}: {list_names(names)}"] = said
        found["models"] = len(counts.models)
        whole = self.patterns.get(None)
        if whole is not None and isinstance(whole.clusters, ClusterCounts):
            found["clusters"] = len(whole.clusters)
        cuts = {cut for cut in self.thresholds.values() if cut is not None}
        if cuts:
            found["thresholds"] = join_texts([f"{cut:g}" for cut in sorted(cuts)])
        parts = {"runs": len(self.runs), "slices": len(self.slices) - 1}
        return found | {name: number for name, number in parts.items() if number}

    @property
    def patterns(self) -> Mapping[str | None, PatternCounts]:
        """Pattern counts of the table and its slices; empty if only counts per model are known."""
        slices = {} if self.counted is None else self.counted.slices
        return {label: one for label, one in slices.items() if label in self.slices}

    @classmethod
    def from_predictions(cls, counted: PredictionCounts) -> Sample:
        """Build from counted predictions; slices by run become runs."""
        slices, runs = dict(counted.confusions), {}
        if counted.roles.run is not None:
            prefix = slice_label((counted.roles.run,), ("",))
            runs = {str(name).removeprefix(prefix): one for name, one in slices.items() if name}
            slices = {None: slices[None]}
        table = (counted.files, counted.positive, counted.negative, counted.roles, counted.name)
        facets = counted.kept.settled.columns.facets
        return cls(slices, *table, runs, counted.thresholds, counted, facets=facets)

    @classmethod
    def from_confusions(
        cls, slices: ConfusionSlices, files: Sequence[InputFile], roles: Input, **more: Any
    ) -> Sample:
        """Build from counts of the whole table (None) and of slices, without predictions."""
        positive, negative = "positive", "negative"
        if roles.positive is not None:
            positive, negative = roles.positive, f"not {roles.positive}"
        return cls(slices, tuple(files), positive, (negative,), roles, **more)


def read_sample(opened: Predictions) -> Sample:
    """Count predictions, or read a counts table."""
    if opened.layout.expand is None:
        return Sample.from_predictions(count_predictions(opened))
    return _counts_table(opened)


def _counts_table(opened: Predictions) -> Sample:
    roles, naming = opened.roles, opened.columns.naming
    unfit = {
        "--threshold": roles.threshold, "--weight": roles.weight, "--kind": roles.kind,
        "--cluster": roles.cluster,
    }  # fmt: skip
    for option, given in unfit.items():
        if given:
            what = f"{option} needs predictions, but the table holds counts"
            raise UsageError.new(what, "needs-predictions", hint="leave it out")
    keys, facets = opened.columns.by, opened.columns.facets
    if {naming, *(find_column(opened.peeks, (name,)) for name in ColumnNames.COUNT)} & set(keys):
        what = f"{list_names(keys)} is a column of counts or models, not of runs or slices"
        raise bad_option(what)
    rows: list[CountsRow] = []
    files: list[InputFile] = []
    for file, task in zip(opened.files, start_fingerprints(opened.files), strict=True):
        found = read_confusions(file, naming, keys)
        if roles.model:
            listed = list(dict.fromkeys(row.model for row in found))
            chosen = match_names(file.name, listed, roles.model)
            found = [row for name in chosen for row in found if row.model == name]
        before = {(row.model, *row.keys) for row in rows}
        for again in (row for row in found if (row.model, *row.keys) in before):
            what = f"'{', '.join((again.model, *again.keys))}' is already in an earlier file"
            hint = "if each file is a run, add --run-files"
            raise DataError.new(what, "duplicate-row", file.name, hint=hint)
        rows += found
        # the largest number of observations of any model, summed over runs
        totals: dict[tuple[str, ...], int] = {}
        for row in found:
            total = row.tp + row.fp + row.fn + row.tn
            totals[row.keys] = max(total, totals.get(row.keys, 0))
        files.append(input_file(file, task, sum(totals.values())))
    columns = {name: [row.keys[i] for row in rows] for i, name in enumerate(keys)}
    slices: dict[str | None, ConfusionCounts] = {None: ConfusionCounts.from_rows(rows)}
    runs: dict[str, ConfusionCounts] = {}
    for label, some in slice_rows(facets, columns).items():
        part = ConfusionCounts.from_rows([rows[i] for i in some.tolist()])
        if roles.run is None:
            slices[label] = part
        else:
            runs[label.removeprefix(slice_label(keys, ("",)))] = part
    name = opened.files[0].name
    return Sample.from_confusions(slices, files, roles, name=name, runs=runs, facets=facets)
