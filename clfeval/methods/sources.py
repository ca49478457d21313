"""Where classifiers' confusion counts come from: predictions, counts tables, slices and runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from clfeval.counts.count import Counted, FileCount, count_predictions
from clfeval.counts.judge import missing_run, slice_label
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.errors import DataError, Problem, UsageError, listing
from clfeval.methods.notes import check_thresholds
from clfeval.tables.confusion import Confusion, read_confusions
from clfeval.tables.csv import FingerprintTask
from clfeval.tables.names import COUNT_NAMES, find, match_names, natural
from clfeval.tables.prediction import Predictions
from clfeval.tables.scan import FILE_NAME

MISSING = "(missing)"


@dataclass(frozen=True, slots=True)
class Sources:
    """Confusion counts of the whole table (slice None), of slices, and of runs.

    patterns: the same from predictions, which alone say what models share; none for counts tables,
    which have no `counted` either.
    """

    slices: Mapping[str | None, ConfusionCounts]
    runs: Mapping[str, ConfusionCounts]
    patterns: Mapping[str | None, PatternCounts]
    counted: Counted | None
    files: tuple[FileCount, ...]
    positive: str
    negative: tuple[str, ...]
    thresholds: Mapping[str, float | None]


def read_sources(predictions: Predictions) -> Sources:
    """Count the predictions, or read the counts table."""
    roles = predictions.roles
    if roles.run == FILE_NAME and len(predictions.files) < 2:
        raise UsageError(
            Problem("--run-files takes every file as a run, and there is one", "bad-option"),
            hint="name several files, or --run COLUMN",
        )
    if predictions.layout.name == "counts":
        return _counts_table(predictions)
    counted = count_predictions(predictions)
    check_thresholds(counted)
    slices = {label: ConfusionCounts.of_patterns(p) for label, p in counted.slices.items()}
    patterns, runs = counted.slices, {}
    if roles.run is not None:
        prefix, names = f"{roles.run}=", _run_names(predictions)
        runs = {str(label).removeprefix(prefix): c for label, c in slices.items() if label}
        if MISSING in runs:
            missing_run(predictions)
        if names:  # in the order the files were given
            runs = {shown: runs[name] for name, shown in names.items() if name in runs}
        slices, patterns = {None: slices[None]}, {None: patterns[None]}
    return Sources(
        slices=slices,
        runs=runs,
        patterns=patterns,
        counted=counted,
        files=counted.files,
        positive=counted.positive,
        negative=tuple(name for name in counted.classes if name != counted.positive),
        thresholds=counted.thresholds,
    )


def _run_names(predictions: Predictions) -> dict[str, str]:
    """Return what files are called as runs: without their folders, numbered where that is alike."""
    if predictions.roles.run != FILE_NAME:
        return {}
    shown = {f.name: f.source.display if f.source else f.name for f in predictions.files}
    often = Counter(shown.values())
    numbers = Counter[str]()
    for name, display in shown.items():
        if often[display] > 1:
            numbers[display] += 1
            shown[name] = f"{display} ({numbers[display]})"
    return shown


def _counts_table(predictions: Predictions) -> Sources:
    roles = predictions.roles
    for option, given in (
        ("--threshold", roles.thresholds), ("--weight", roles.weight), ("--kind", roles.kind),
    ):  # fmt: skip
        if given:
            what = f"{option} has nothing to act on: the table holds counts"
            raise UsageError(Problem(what, "needs-predictions"), hint="leave it out")
    keys = roles.by
    taken = {predictions.layout.model_column, *(find(predictions.peeks, (n,)) for n in COUNT_NAMES)}
    if taken & set(keys):
        what = f"{listing(keys)} is a column of counts or models: it tells no runs or slices apart"
        raise UsageError(Problem(what, "bad-option"))
    rows: list[Confusion] = []
    files: list[FileCount] = []
    tasks = [FingerprintTask(f.source) if f.source else None for f in predictions.files]
    for file, task in zip(predictions.files, tasks, strict=True):
        found = read_confusions(file, predictions.layout.model_column, keys)
        if roles.models:
            listed = list(dict.fromkeys(row.model for row in found))
            chosen = match_names(file.name, listed, roles.models)
            found = [row for name in chosen for row in found if row.model == name]
        _refuse_repeats(file.name, rows, found)
        rows += found
        name = file.source.display if file.source else file.name
        files.append(FileCount(name, task.result().sha256 if task else None, _most(found), 0))
    labels = {row.keys: slice_label(keys, row.keys) for row in rows}
    names = _run_names(predictions)
    if roles.run is not None:
        labels = {key: names.get(key[0], key[0]) for key in labels}
    parts = {
        labels[key]: ConfusionCounts.of_rows([row for row in rows if row.keys == key])
        for key in (labels if names else sorted(labels, key=lambda key: natural(labels[key])))
    }
    slices: dict[str | None, ConfusionCounts] = {None: ConfusionCounts.of_rows(rows)}
    if keys and roles.run is None:
        slices.update(parts)
    positive = roles.positive or "positive"
    return Sources(
        slices=slices,
        runs=parts if roles.run is not None else {},
        patterns={},
        counted=None,
        files=tuple(files),
        positive=positive,
        negative=("negative" if roles.positive is None else f"not {positive}",),
        thresholds={},
    )


def _most(rows: list[Confusion]) -> int:
    """Return how many observations a file holds: the most any model was counted on, run by run."""
    totals: dict[tuple[str, ...], int] = {}
    for row in rows:
        total = row.tp + row.fp + row.fn + row.tn
        totals[row.keys] = max(total, totals.get(row.keys, 0))
    return sum(totals.values())


def _refuse_repeats(file: str, before: list[Confusion], found: list[Confusion]) -> None:
    seen = {(row.model, *row.keys) for row in before}
    for row in found:
        place = (row.model, *row.keys)
        if place in seen:
            what = f"'{', '.join(place)}' stands in an earlier file already"
            raise DataError(
                Problem(what, "duplicate-row", file), hint="files of several runs: --run-files"
            )
