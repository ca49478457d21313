"""Where classifiers' confusion counts come from: predictions, counts tables, slices and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clfeval.counts.confusion import ConfusionCounts
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.predictions import Counted, FileCount, count_predictions
from clfeval.errors import DataError, Problem, UsageError, listing
from clfeval.methods.notes import check_thresholds
from clfeval.methods.phidelta.options import ClassifierOptions
from clfeval.tables.confusion import Confusion, read_confusions
from clfeval.tables.diagnose import missing_label, numbered, run_checks
from clfeval.tables.fingerprint import FingerprintTask
from clfeval.tables.labels import natural
from clfeval.tables.layout import match_names
from clfeval.tables.prediction import Predictions

MISSING = "(missing)"


@dataclass(frozen=True, slots=True)
class Sources:
    """Confusion counts of the whole table (slice None), of slices, and of runs.

    patterns: the same from predictions, which alone say what models share; none for counts tables.
    counted: what was counted, file by file when every file is a run; none for counts tables.
    """

    slices: Mapping[str | None, ConfusionCounts]
    runs: Mapping[str, ConfusionCounts]
    patterns: Mapping[str | None, PatternCounts]
    counted: tuple[Counted, ...]
    files: tuple[FileCount, ...]
    positive: str
    negative: tuple[str, ...]
    thresholds: Mapping[str, float | None]


def read_sources(predictions: Predictions, options: ClassifierOptions) -> Sources:
    """Count the predictions, or read the counts table."""
    if predictions.layout.name == "counts":
        return _counts_table(predictions, options)
    if options.run_files:
        return _file_runs(predictions)
    counted = count_predictions(predictions)
    check_thresholds(counted)
    slices = {label: ConfusionCounts.of_patterns(p) for label, p in counted.slices.items()}
    patterns, runs = counted.slices, {}
    if options.run is not None:
        prefix = f"{options.run}="
        runs = {str(label).removeprefix(prefix): c for label, c in slices.items() if label}
        if MISSING in runs:
            _complain(predictions, options.run)
        slices, patterns = {None: slices[None]}, {None: patterns[None]}
    return _sources(slices, runs, patterns, (counted,))


def _sources(
    slices: Mapping[str | None, ConfusionCounts],
    runs: Mapping[str, ConfusionCounts],
    patterns: Mapping[str | None, PatternCounts],
    counted: tuple[Counted, ...],
) -> Sources:
    first = counted[0]
    classes = dict.fromkeys(name for one in counted for name in one.classes)
    return Sources(
        slices=slices,
        runs=runs,
        patterns=patterns,
        counted=counted,
        files=tuple(file for one in counted for file in one.files),
        positive=first.positive,
        negative=tuple(name for name in sorted(classes, key=natural) if name != first.positive),
        thresholds=first.thresholds,
    )


def _file_runs(predictions: Predictions) -> Sources:
    """Count every file by itself, as a run of its own; their sum is the whole."""
    if len(predictions.files) < 2:
        raise UsageError(
            Problem("--run-files takes every file as a run, and there is one", "bad-option"),
            hint="name several files, or --run COLUMN",
        )
    if predictions.roles.by:
        raise UsageError(Problem("--run-files and --by: one at a time", "bad-option"))
    counted: list[Counted] = []
    for file in predictions.files:
        roles = predictions.roles
        if counted:
            roles = replace(roles, positive=counted[0].positive)
        counted.append(count_predictions(replace(predictions, files=(file,), roles=roles)))
        check_thresholds(counted[-1])
    whole = counted[0].slices[None]
    runs: dict[str, ConfusionCounts] = {}
    for file, one in zip(predictions.files, counted, strict=True):
        patterns = one.slices[None]
        if set(patterns.models) != set(whole.models):
            here, there = listing(patterns.models), listing(whole.models)
            what = f"models {here}, where {predictions.files[0].name} has {there}"
            raise DataError(Problem(what, "different-models", file.name))
        name = one.files[0].name if one.files[0].name not in runs else file.name
        runs[name] = ConfusionCounts.of_patterns(patterns)
        whole = whole + patterns if one is not counted[0] else whole
    slices: dict[str | None, ConfusionCounts] = {None: ConfusionCounts.of_patterns(whole)}
    return _sources(slices, runs, {None: whole}, tuple(counted))


def _counts_table(predictions: Predictions, options: ClassifierOptions) -> Sources:
    roles = predictions.roles
    keys = roles.by
    rows: list[Confusion] = []
    runs: dict[str, list[Confusion]] = {}
    files: list[FileCount] = []
    tasks = [FingerprintTask(f.source) if f.source else None for f in predictions.files]
    for file, task in zip(predictions.files, tasks, strict=True):
        found = read_confusions(file, predictions.layout.model_column, keys)
        if roles.models:
            names = list(dict.fromkeys(row.model for row in found))
            chosen = match_names(file.name, names, roles.models)
            found = [row for name in chosen for row in found if row.model == name]
        rows += found
        name = file.source.display if file.source else file.name
        total = max((r.tp + r.fp + r.fn + r.tn for r in found), default=0)
        if options.run is None:
            runs.setdefault(name if name not in runs else file.name, []).extend(found)
        else:
            for row in found:
                runs.setdefault(row.keys[0], []).append(row)
            total = sum(
                max(r.tp + r.fp + r.fn + r.tn for r in found if r.keys == key)
                for key in {r.keys for r in found}
            )
        files.append(FileCount(name, task.result().sha256 if task else None, total, 0))
    if len(predictions.files) > 1 and not options.run_files:
        _refuse_repeats(predictions, rows)
    slices: dict[str | None, ConfusionCounts] = {None: ConfusionCounts.of_rows(rows)}
    if keys and options.run is None:
        labels = {
            row.keys: ", ".join(map("=".join, zip(keys, row.keys, strict=True))) for row in rows
        }
        for key in sorted(labels, key=lambda key: natural(labels[key])):
            slices[labels[key]] = ConfusionCounts.of_rows([r for r in rows if r.keys == key])
    positive = roles.positive or "positive"
    return Sources(
        slices=slices,
        runs={
            name: ConfusionCounts.of_rows(runs[name])
            for name in (sorted(runs, key=natural) if options.run else runs)
        } if options.runs else {},
        patterns={},
        counted=(),
        files=tuple(files),
        positive=positive,
        negative=("negative",) if roles.positive is None else (f"not {positive}",),
        thresholds={},
    )  # fmt: skip


def _refuse_repeats(predictions: Predictions, rows: Sequence[Confusion]) -> None:
    seen: set[tuple[str, ...]] = set()
    for row in rows:
        place = (row.model, *row.keys)
        if place in seen:
            what = f"'{', '.join(place)}' stands in several files"
            raise DataError(
                Problem(what, "duplicate-row", predictions.files[-1].name),
                hint="files of several runs: --run-files",
            )
        seen.add(place)


def _complain(predictions: Predictions, column: str) -> None:
    """Raise for the rows that do not say which run they belong to."""
    for file in predictions.files:
        frame = numbered(file, predictions.roles.null_values)
        problems, totals = run_checks(frame, [missing_label(column)])
        if problems:
            hint = "every row belongs to a run"
            raise DataError(problems, hint=hint, totals=totals)
