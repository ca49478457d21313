"""Results of clfeval as metric tables: which rows are models, which columns are measures."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.errors import listing
from clfeval.tables.metric_cells import (
    Cells,
    Grid,
    Numbers,
    is_estimate,
    numbers_of,
    take,
    text_of,
    texts_of,
    with_reasons,
)
from clfeval.tables.metric_sheet import (
    Asked,
    Sheet,
    by_rows,
    chosen,
    column_of,
    first_of_names,
    no_models,
    no_rows,
)

_BESIDE = ("_low", "_high", "_reason")


def measured_columns(grid: Grid) -> dict[str, int]:
    """Return the columns of measures: estimates in JSON, four columns each in CSV."""
    place = {name: i for i, name in enumerate(grid.columns)}
    return {
        name: i
        for name, i in place.items()
        if all(name + end in place for end in _BESIDE) or _estimates(grid.cells[i])
    }


def _estimates(cells: Cells) -> bool:
    return is_estimate(next((cell for cell in cells if cell is not None), None))


def result_sheet(grid: Grid, asked: Asked, measured: dict[str, int]) -> Sheet:
    """One row per model and population; rows of slices are left out."""
    place = {name: i for i, name in enumerate(grid.columns)}
    named = column_of(grid, asked)
    if named is None:
        named = first_of_names(grid, {i: numbers_of(cells) for i, cells in enumerate(grid.cells)})
    if named is None:
        raise no_models(grid)
    columns = chosen(grid, asked, measured, place)
    keep, notes = _whole(grid, place)
    if not keep:
        raise no_rows(grid, "every row belongs to a slice")
    names = texts_of(take(grid.cells[named], keep))
    keep, names, said = _of_one_population(grid, place, keep, names)
    reasons = {i: place[f"{name}_reason"] for name, i in place.items() if f"{name}_reason" in place}
    parsed = {i: _parsed(grid, i, keep, reasons.get(i)) for i in columns.values()}
    return by_rows(
        grid, names, keep, columns, parsed,
        layout="result",
        named=named,
        reasons=reasons,
        notes=(*notes, *said),
    )  # fmt: skip


def _parsed(grid: Grid, column: int, keep: Sequence[int], reason: int | None) -> Numbers:
    numbers = numbers_of(take(grid.cells[column], keep))
    return numbers if reason is None else with_reasons(numbers, take(grid.cells[reason], keep))


def _whole(grid: Grid, place: dict[str, int]) -> tuple[list[int], tuple[str, ...]]:
    """Return the records of the whole table, and a word on those of slices."""
    every = list(range(len(grid.rows)))
    if "slice" not in place:
        return every, ()
    slices = texts_of(grid.cells[place["slice"]])
    keep = [i for i in every if slices[i] is None]
    left = len(every) - len(keep)
    return keep, (f"{left:,} row{'s' * (left > 1)} of slices left out",) if left else ()


def _of_one_population(
    grid: Grid, place: dict[str, int], keep: list[int], names: list[str | None]
) -> tuple[list[int], list[str | None], tuple[str, ...]]:
    """Keep the target populations, else the sample, else equal classes, as gates do."""
    if "population" not in place:
        return keep, names, ()
    kinds = [text_of(grid.cells[place["population"]][i]) for i in keep]
    kind = next((one for one in ("target", "sample", "1:1") if one in kinds), None)
    kept = [(i, name) for i, name, one in zip(keep, names, kinds, strict=True) if one == kind]
    others = [one for one in dict.fromkeys(kinds) if one not in (kind, None)]
    said = (f"population '{kind}' taken, {listing(map(str, others))} left out",) if others else ()
    if "odds" in place:
        odds = [text_of(grid.cells[place["odds"]][i]) for i, _ in kept]
        if len(set(odds)) > 1 and kind == "target":
            names = [name and f"{name} at {one}" for (_, name), one in zip(kept, odds, strict=True)]
            return [i for i, _ in kept], names, said
    return [i for i, _ in kept], [name for _, name in kept], said
