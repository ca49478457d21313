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
        vector_values = cell.get("values")
        if vector_values is None:
            return None
        if cell.get("indices") is not None and cell.get("size") is not None:
            return _dense_numbers(int(cell["size"]), list(cell["indices"]), list(vector_values))
        return [float(number) for number in vector_values]
    cells = cell.to_list() if isinstance(cell, pl.Series) else cell
    if isinstance(cells, Sequence) and all(isinstance(number, (int, float)) for number in cells):
        return [float(number) for number in cells]
    return None


def _numbers_of_text(cell: str) -> list[float] | None:
    """Return the numbers of a dense or sparse vector in a text; None for other texts."""
    if dense_match := _DENSE.fullmatch(cell):
        return [float(number) for number in re.split(r"[,\s]+", dense_match[1].strip())]
    sparse_match = _SPARSE.fullmatch(cell)
    if sparse_match is None:
        return None
    indices = [int(index) for index in re.findall(r"\d+", sparse_match[2])]
    values = [float(number) for number in re.split(r"[,\s]+", sparse_match[3].strip()) if number]
    return _dense_numbers(int(sparse_match[1]), indices, values)


def _dense_numbers(size: int, indices: Sequence[int], values: Sequence[float]) -> list[float]:
    """Return all numbers of a sparse vector, 0 where it has none."""
    numbers = [0.0] * size
    for index, value in zip(indices, values, strict=True):
        numbers[index] = value
    return numbers


def first_vectors(file: TableFile, name: str) -> list[list[float] | None]:
    """Return the vectors of the first rows of a column."""
    if file.head is not None:
        column_index = file.columns.index(name)
        return [numbers_of_vector(row[column_index]) for row in file.head.sample[:FIRST_ROWS]]
    first_rows = numbered_frame(file).select(name).head(FIRST_ROWS).collect()
    return [numbers_of_vector(cell) for cell in first_rows[name].to_list()]


def are_vectors(file: TableFile, name: str) -> bool:
    """Return whether the first cells of a column are vectors of one size, two or more."""
    vectors = first_vectors(file, name)
    sizes = {None if vector is None else len(vector) for vector in vectors}
    return len(sizes) == 1 and all(size is not None and size > 1 for size in sizes)


def convert_vectors(
    table: FormatTable, columns_by_pattern: Mapping[str, Sequence[str]]
) -> Converted | None:
    """Return the table with a column for each class in place of vectors, named `vector:class`.

    Classes are the numbers of the places, as truth writes them (`1.0`). Raw predictions are left
    out next to probabilities; without these, the last of two ranks the rows.
    """
    vector_columns = list(chain(*columns_by_pattern.values()))
    vector_column = next(
        (name for name in vector_columns if name.startswith(PROBABILITY)), vector_columns[0]
    )
    size = len(first_vectors(table.file, vector_column)[0] or ())
    other_columns = [name for name in table.names if name not in vector_columns]
    labels = _texts_of_classes(table, other_columns, size)
    if labels is None:
        return None
    class_indices = list(range(size)) if vector_column.startswith(PROBABILITY) else [size - 1]
    if len(class_indices) == 1 and size > 2:
        return None
    numbers = pl.col(vector_column).map_elements(
        numbers_of_vector, return_dtype=pl.List(pl.Float64), skip_nulls=True
    )
    expr_of_column = {
        f"{vector_column}:{labels[class_index]}": numbers.list.get(class_index, null_on_oob=True)
        for class_index in class_indices
    }
    converted = replaced_columns(
        table.file,
        vector_columns,
        [number.alias(name) for name, number in expr_of_column.items()],
        [*expr_of_column],
    )
    return Converted(converted, {}, f"numbers of the vectors of '{vector_column}'")


def _texts_of_classes(
    table: FormatTable, other_columns: Sequence[str], size: int
) -> list[str] | None:
    """Return the classes 0, 1, ... as truth, else predictions, write them; None without any."""
    profiles = {name: table.profiles[name] for name in other_columns}
    candidates = truth_candidates(profiles, table.options, PairFacts(profiles))
    truth_columns = [candidate.name for candidate in candidates if candidate.name in profiles]
    for name in (
        *truth_columns,
        *(name for name in other_columns if name.startswith("prediction")),
    ):
        number_of_text = profiles[name].number_of_text
        text_of_number = {number: text for text, number in number_of_text.items()}
        if number_of_text and {*text_of_number} <= {*map(float, range(size))}:
            has_points = any("." in text for text in number_of_text)
            return [
                text_of_number.get(
                    class_index, f"{class_index}.0" if has_points else f"{class_index}"
                )
                for class_index in range(size)
            ]
    return None
