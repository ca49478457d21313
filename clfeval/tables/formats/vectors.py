"""Vectors in cells, as of Spark ML: `[0.2,0.8]`, `(2,[1],[0.8])`, lists, and structs of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from clfeval.tables.formats.frames import numbered_frame, replaced_columns
from clfeval.tables.formats.record import Converted, FormatTable
from clfeval.tables.frames import pl
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.truths import truth_candidates
from clfeval.tables.scan import TableFile

FIRST_ROWS = 50
_NUMBER = r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*"
_DENSE = re.compile(rf"\s*(?:DenseVector\()?\[({_NUMBER}(?:[,\s]{_NUMBER})+)\]\)?\s*")
_SPARSE = re.compile(r"\s*(?:SparseVector)?\(\s*(\d+),\s*\[([\d,\s]*)\],\s*\[(.*)\]\)\s*")
PROBABILITY, RAW = "probability", "rawPrediction"


def numbers_of_vector(cell: object) -> list[float] | None:
    """Return the numbers of a vector: of its text, a list, or a struct; None for other cells."""
    if isinstance(cell, str):
        return _numbers_of_text(cell)
    if isinstance(cell, Mapping):
        values = cell.get("values")
        if values is None:
            return None
        if cell.get("indices") is not None and cell.get("size") is not None:
            return _dense_numbers(int(cell["size"]), list(cell["indices"]), list(values))
        return [float(number) for number in values]
    cells = cell.to_list() if isinstance(cell, pl.Series) else cell
    if isinstance(cells, Sequence) and all(isinstance(part, (int, float)) for part in cells):
        return [float(number) for number in cells]
    return None


def _numbers_of_text(cell: str) -> list[float] | None:
    if dense := _DENSE.fullmatch(cell):
        return [float(number) for number in re.split(r"[,\s]+", dense[1].strip())]
    sparse = _SPARSE.fullmatch(cell)
    if sparse is None:
        return None
    places = [int(place) for place in re.findall(r"\d+", sparse[2])]
    values = [float(number) for number in re.split(r"[,\s]+", sparse[3].strip()) if number]
    return _dense_numbers(int(sparse[1]), places, values)


def _dense_numbers(size: int, places: Sequence[int], values: Sequence[float]) -> list[float]:
    numbers = [0.0] * size
    for place, value in zip(places, values, strict=True):
        numbers[place] = value
    return numbers


def first_vectors(file: TableFile, name: str) -> list[list[float] | None]:
    """Return the vectors of the first rows of a column."""
    if file.head is not None:
        position = file.columns.index(name)
        return [numbers_of_vector(row[position]) for row in file.head.sample[:FIRST_ROWS]]
    first_rows = numbered_frame(file).select(name).head(FIRST_ROWS).collect()
    return [numbers_of_vector(cell) for cell in first_rows[name].to_list()]


def are_vectors(file: TableFile, name: str) -> bool:
    """Return whether the first cells of a column are vectors of one size, two or more."""
    vectors = first_vectors(file, name)
    sizes = {None if vector is None else len(vector) for vector in vectors}
    return len(sizes) == 1 and None not in sizes and min(size or 0 for size in sizes) > 1


def convert_vectors(table: FormatTable, columns: Mapping[str, Sequence[str]]) -> Converted | None:
    """Return the table with a column for each class in place of vectors, named `vector:class`.

    Classes are the numbers of the places, as truth writes them (`1.0`). Raw predictions are left
    out next to probabilities; without these, the last of two ranks the rows.
    """
    names = list(chain(*columns.values()))
    vector = next((name for name in names if name.startswith(PROBABILITY)), names[0])
    size = len(first_vectors(table.file, vector)[0] or ())
    others = [name for name in table.names if name not in names]
    labels = _number_of_class(table, others, size)
    if labels is None:
        return None
    places = list(range(size)) if vector.startswith(PROBABILITY) else [size - 1]
    if len(places) == 1 and size > 2:
        return None
    numbers = pl.col(vector).map_elements(
        numbers_of_vector, return_dtype=pl.List(pl.Float64), skip_nulls=True
    )
    added = {
        f"{vector}:{labels[place]}": numbers.list.get(place, null_on_oob=True) for place in places
    }
    converted = replaced_columns(
        table.file, names, [number.alias(name) for name, number in added.items()], [*added]
    )
    return Converted(converted, {}, f"numbers of the vectors of '{vector}'")


def _number_of_class(table: FormatTable, names: Sequence[str], size: int) -> list[str] | None:
    """Return the classes 0, 1, ... as truth, else predictions, write them; None without any."""
    profiles = {name: table.profiles[name] for name in names}
    candidates = truth_candidates(profiles, table.options, PairFacts(profiles))
    truths = [candidate.name for candidate in candidates if candidate.name in profiles]
    for name in (*truths, *(name for name in names if name.startswith("prediction"))):
        numbers = profiles[name].number_of_text
        text_of = {number: text for text, number in numbers.items()}
        if numbers and {*text_of} <= {*map(float, range(size))}:
            pointed = any("." in text for text in numbers)
            return [
                text_of.get(place, f"{place}.0" if pointed else f"{place}") for place in range(size)
            ]
    return None
