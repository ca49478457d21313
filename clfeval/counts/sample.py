"""Counts of classifiers, wherever they come from: predictions, counts tables, or bare numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from clfeval.counts.count import Counted, count
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.settle import FileCount, file_count, fingerprints, slice_label
from clfeval.errors import DataError, Problem, UsageError, listing
from clfeval.tables.cells import natural
from clfeval.tables.input import Input, Names, find, match_names
from clfeval.tables.layouts.counts import CountsRow, read_confusions
from clfeval.tables.prediction import Predictions
from clfeval.tables.scan import FILE_NAME, TableFile


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Confusion counts of the whole table (slice None), of slices, and of runs.

    counted: the predictions behind them, which alone hold scores and say what models share; tables
    of counts, and bare numbers, have none. sampled: they are counted rows, and no rates.
    """

    slices: Mapping[str | None, ConfusionCounts]
    files: tuple[FileCount, ...]
    positive: str
    negative: tuple[str, ...]
    roles: Input
    name: str = ""
    runs: Mapping[str, ConfusionCounts] = field(default_factory=dict)
    thresholds: Mapping[str, float | None] = field(default_factory=dict)
    counted: Counted | None = None
    sampled: bool = True

    @property
    def patterns(self) -> Mapping[str | None, PatternCounts]:
        """The patterns behind the slices; none where nobody knows what models share."""
        slices = {} if self.counted is None else self.counted.slices
        return {label: one for label, one in slices.items() if label in self.slices}

    @classmethod
    def of(cls, counted: Counted) -> Sample:
        """Take what was counted; slices by run are runs."""
        slices, runs = dict(counted.confusions), {}
        if counted.roles.run is not None:
            prefix = f"{counted.roles.run}="
            runs = {str(name).removeprefix(prefix): one for name, one in slices.items() if name}
            names = _run_names(counted.kept.settled.files, counted.roles)
            if names:  # in the order the files were given
                runs = {shown: runs[name] for name, shown in names.items() if name in runs}
            slices = {None: slices[None]}
        return cls(
            slices=slices,
            files=counted.files,
            positive=counted.positive,
            negative=tuple(name for name in counted.classes if name != counted.positive),
            roles=counted.roles,
            name=counted.name,
            runs=runs,
            thresholds=counted.thresholds,
            counted=counted,
        )

    @classmethod
    def given(
        cls, counts: ConfusionCounts, file: FileCount, roles: Input, *, sampled: bool = True
    ) -> Sample:
        """Take numbers that no table holds; `sampled` where they are counts."""
        return cls({None: counts}, (file,), *_named(roles), roles, file.name, sampled=sampled)


def read_sample(opened: Predictions) -> Sample:
    """Count the predictions, or read the counts table."""
    roles = opened.roles
    if roles.run == FILE_NAME and len(opened.files) < 2:
        raise UsageError(
            Problem("--run-files takes every file as a run, and there is one", "bad-option"),
            hint="name several files, or --run COLUMN",
        )
    return Sample.of(count(opened)) if opened.layout.expand is None else _counts_table(opened)


def _named(roles: Input) -> tuple[str, tuple[str, ...]]:
    """Return what counts call their classes."""
    if roles.positive is None:
        return "positive", ("negative",)
    return roles.positive, (f"not {roles.positive}",)


def _run_names(files: Sequence[TableFile], roles: Input) -> dict[str, str]:
    """Return what files are called as runs: without their folders, numbered where that is alike."""
    if roles.run != FILE_NAME:
        return {}
    shown = {f.name: f.shown for f in files}
    often = Counter(shown.values())
    numbers = Counter[str]()
    for name, display in shown.items():
        if often[display] > 1:
            numbers[display] += 1
            shown[name] = f"{display} ({numbers[display]})"
    return shown


def _counts_table(opened: Predictions) -> Sample:
    roles, naming = opened.roles, opened.columns.naming
    for option, given in (
        ("--threshold", roles.threshold), ("--weight", roles.weight), ("--kind", roles.kind),
    ):  # fmt: skip
        if given:
            what = f"{option} has nothing to act on: the table holds counts"
            raise UsageError.of(what, "needs-predictions", hint="leave it out")
    keys = roles.by
    if {naming, *(find(opened.peeks, (name,)) for name in Names.COUNT)} & set(keys):
        what = f"{listing(keys)} is a column of counts or models: it tells no runs or slices apart"
        raise UsageError.of(what, "bad-option")
    rows: list[CountsRow] = []
    files: list[FileCount] = []
    for file, task in zip(opened.files, fingerprints(opened.files), strict=True):
        found = read_confusions(file, naming, keys)
        if roles.model:
            listed = list(dict.fromkeys(row.model for row in found))
            chosen = match_names(file.name, listed, roles.model)
            found = [row for name in chosen for row in found if row.model == name]
        _refuse_repeats(file.name, rows, found)
        rows += found
        files.append(file_count(file, task, _most(found)))
    labels = {row.keys: slice_label(keys, row.keys) for row in rows}
    names = _run_names(opened.files, roles)
    if roles.run is not None:
        labels = {key: names.get(key[0], key[0]) for key in labels}
    parts = {
        labels[key]: ConfusionCounts.of_rows([row for row in rows if row.keys == key])
        for key in (labels if names else sorted(labels, key=lambda key: natural(labels[key])))
    }
    slices: dict[str | None, ConfusionCounts] = {None: ConfusionCounts.of_rows(rows)}
    if keys and roles.run is None:
        slices.update(parts)
    runs = parts if roles.run is not None else {}
    return Sample(slices, tuple(files), *_named(roles), roles, opened.files[0].name, runs)


def _most(rows: list[CountsRow]) -> int:
    """Return how many observations a file holds: the most any model was counted on, run by run."""
    totals: dict[tuple[str, ...], int] = {}
    for row in rows:
        total = row.tp + row.fp + row.fn + row.tn
        totals[row.keys] = max(total, totals.get(row.keys, 0))
    return sum(totals.values())


def _refuse_repeats(file: str, before: list[CountsRow], found: list[CountsRow]) -> None:
    seen = {(row.model, *row.keys) for row in before}
    for row in found:
        place = (row.model, *row.keys)
        if place in seen:
            what = f"'{', '.join(place)}' stands in an earlier file already"
            raise DataError.of(
                what, "duplicate-row", file, hint="files of several runs: --run-files"
            )
