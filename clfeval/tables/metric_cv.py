"""Cross-validation results as scikit-learn's searches give them: means, spreads and splits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clfeval.tables.metric_cells import Grid, numbers_of, text_of, texts_of
from clfeval.tables.metric_sheet import Asked, Sheet, by_rows, chosen, column_of
from clfeval.tables.names import MODEL_NAMES, find

_MEAN, _PARAM = "mean_test_", "param_"
_SPLIT = re.compile(r"split(\d+)_test_(.*)", re.DOTALL)


def is_cv(grid: Grid) -> bool:
    """Tell whether a table has means over test splits."""
    return any(name.startswith(_MEAN) for name in grid.columns)


def cv_sheet(grid: Grid, asked: Asked) -> Sheet:
    """One row per candidate; metrics are the names after mean_test_."""
    place = {name: i for i, name in enumerate(grid.columns)}
    measured = {name.removeprefix(_MEAN): i for name, i in place.items() if name.startswith(_MEAN)}
    columns = chosen(grid, asked, measured, place)
    parsed = {i: numbers_of(grid.cells[i]) for i in columns.values()}
    named = column_of(grid, asked) if asked.id is not None or grid.outer else None
    names = _candidates(grid) if named is None else texts_of(grid.cells[named])
    kinds = find(grid.columns, MODEL_NAMES) if named is None else None
    if kinds is not None:  # searches of several models, one below the other
        models = texts_of(grid.cells[place[kinds]])
        names = [f"{m} {n}" if m and n else m or n for m, n in zip(models, names, strict=True)]
    sheet = by_rows(
        grid, names, range(len(grid.rows)), columns, parsed,
        layout="cv",
        named=named,
    )  # fmt: skip
    splits, by_split = _splits(grid, place, sheet.metrics)
    return replace(sheet, sds=_sds(grid, place, sheet.metrics), splits=splits, by_split=by_split)


def _candidates(grid: Grid) -> list[str | None]:
    """Name candidates by their parameters: `C=1, kernel=rbf`; a parameter not theirs is left out.

    So is one that is the same for all, where others are not, and the step of a pipeline it belongs
    to, where its own name is enough. An empty cell is a parameter that is None when the column
    `params` knows the parameter.
    """
    place = {name: i for i, name in enumerate(grid.columns)}
    texts = {
        name.removeprefix(_PARAM): texts_of(grid.cells[i])
        for name, i in place.items()
        if name.startswith(_PARAM)
    }
    varying = {name: column for name, column in texts.items() if len(set(column)) > 1}
    texts = varying or texts
    short = {name: name.rpartition("__")[2] for name in texts}
    if len(set(short.values())) < len(short):
        short = {name: name for name in texts}
    params = grid.cells[place["params"]] if "params" in place else [None] * len(grid.rows)
    names: list[str | None] = []
    for i, row in enumerate(grid.rows):
        parts = [
            f"{short[name]}={column[i]}"
            for name, column in texts.items()
            if column[i] is not None or _knows(params[i], name)
        ]
        names.append(", ".join(parts) or text_of(params[i]) or f"row {row}")
    return names


def _knows(params: object, name: str) -> bool:
    """Tell whether a candidate's parameters, a mapping or its text, have this one."""
    if isinstance(params, Mapping):
        return name in params
    return isinstance(params, str) and f"'{name}':" in params


def _sds(
    grid: Grid, place: Mapping[str, int], metrics: Sequence[str]
) -> NDArray[np.float64] | None:
    found = [place.get(f"std_test_{metric}") for metric in metrics]
    if all(column is None for column in found):
        return None
    empty = np.full(len(grid.rows), np.nan)
    return np.column_stack(
        [empty if i is None else numbers_of(grid.cells[i]).values for i in found]
    )


def _splits(
    grid: Grid, place: Mapping[str, int], metrics: Sequence[str]
) -> tuple[tuple[str, ...], NDArray[np.float64] | None]:
    """Return the splits and their values (s, k, n); none unless every metric has them all."""
    found: dict[int, dict[str, int]] = {}
    for name, i in place.items():
        match = _SPLIT.fullmatch(name)
        if match and match[2] in metrics:
            found.setdefault(int(match[1]), {})[match[2]] = i
    if not found or any(len(columns) < len(metrics) for columns in found.values()):
        return (), None
    values = [
        np.column_stack([numbers_of(grid.cells[found[split][metric]]).values for metric in metrics])
        for split in sorted(found)
    ]
    return tuple(f"split{split}" for split in sorted(found)), np.array(values)
