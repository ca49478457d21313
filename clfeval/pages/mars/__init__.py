"""The page of MARS: views of its tables, headline and charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from clfeval.document import Document
from clfeval.document.cells import Cell, CellsByColumn, Row, as_row, cell_number, cell_value
from clfeval.formatting import format_rows, round_sum
from clfeval.pages import table_parts as parts
from clfeval.pages.chart import Axis, Chart, Point, Series
from clfeval.pages.mars.tables import ALONE_COLUMNS, SUMMARY, TABLES
from clfeval.pages.schema import SHARED_WORDS, Page, Source, TableView, is_present
from clfeval.placeholders import ADD, END, OPTION

MAX_PAIRS = 10  # that are listed before the matrices
MAX_ROWS = 20  # rows of a long table shown to a person; files get them all
MAX_THRESHOLDS = 5  # thresholds of a sweep shown to a person
MAX_MATRIX_MODELS = 12
DETECTION_CELLS = {
    "positive": ("tp", "fp"),
    "negative": ("tn", "fn"),
}  # rows detected, false alarms
NOUN_OF_SWEEP = {"threshold": "thresholds", "top": "numbers of top rows"}
MEASURES = (
    ("shine_through", "unique detections (ShineThrough)"),
    ("occlusion", "unique misses (Occlusion)"),
)

HEADING_OF_COLUMN = {"covered": "detected", "effort": "flagged", "yield": "yield ↑"}
EXPLAINED_COLUMNS = ("corrected", "gain", "yield")


def headline(result: Document) -> list[str]:
    """Return the headline: inputs, and the rows of each class."""
    names = parts.join_names([file.name for file in result.inputs])
    return [f"Detections in {names}: {parts.format_class_counts(result)}"]


def page_tables(result: Document, digits: int) -> Iterator[TableView]:
    """Yield the tables in reading order."""
    tables = result.tables
    alone_columns = " ".join(
        column.name for column in ALONE_COLUMNS if is_present(column.when, result)
    )
    unique_detections = alone_columns.split()[0]
    yield from _best_subset_tables(result, digits)
    key_columns = "slice " if tables.get("slices") else ""
    make_view = partial(TableView, most=MAX_ROWS, rank="asked")
    if "subsets" in tables:
        columns = f"{key_columns}models covered effort yield {alone_columns}"
        yield make_view(
            "subsets", "Subsets of models", columns, legend=EXPLAINED_COLUMNS, lead="yield"
        )
    yield from parts.difference_tables(result)
    if "exclusive" in tables:
        yield make_view("exclusive", "Rows that one model alone detects or misses")
    if "sweep" in tables:
        yield from _sweep_tables(result, alone_columns, digits)
    yield from parts.measure_tables(result)
    if key_columns:
        yield _slice_table(result)
    yield _main_table(result, unique_detections)
    # the confusion counts are those of the positive class for any target
    class_clause = " (of the positive class)" if result.parameters["target"] == "negative" else ""
    positives = result.summary["positives"]
    negatives = result.summary["negatives"]
    prevalences = [positives / (positives + negatives)] if positives + negatives else []
    rate_columns = f"{key_columns}model threshold? tp fp fn tn accuracy precision recall"
    make_model_view = partial(TableView, "models", rest_hint=f"{OPTION}--format csv{END}")
    yield make_model_view(
        "Unique detections and misses", f"{key_columns}model {alone_columns}", name="alone"
    )
    note = parts.majority_class_note(prevalences)
    yield make_model_view(
        f"Confusion counts and rates{class_clause}", rate_columns, name="rates", note=note
    )
    yield from _pair_tables(result, unique_detections, digits)
    yield from _lead_tables(result)


def _lead_tables(result: Document) -> Iterator[TableView]:
    """Yield the tests of the best model and pair, and single models of equal effort."""
    yield from parts.existing_tables(
        result,
        TableView(
            "lead_tests",
            "Tests of the other models with the best one, and of pairs with the best pair",
            "models reference first_alone second_alone p p_adjusted",
            most=MAX_ROWS,
        ),
        TableView(
            "best_pair",
            "The best pair compared with the best model",
            "models reference covered effort gain",
        ),
        TableView("equal_effort", "Single models that flag as many rows as the best pair"),
    )


def _sort_by_detected(rows: Sequence[Row], target_class: str) -> list[Row]:
    """Return models by rows detected; among equals the one that flags fewest rows is first."""
    detection_cell, alarm_cell = DETECTION_CELLS[target_class]

    def sort_key(row: Row) -> tuple[float, float]:
        detected = _cell_number(row[detection_cell])
        return -round_sum(detected), round_sum(detected + _cell_number(row[alarm_cell]))

    return sorted(rows, key=sort_key)


def _cell_number(cell: Cell) -> float:
    return cell_number(cell)


def _slice_table(result: Document) -> TableView:
    """Return the table of slices: their rows, and the model that detects most in each."""
    target_class = result.parameters["target"]
    model_rows: dict[Cell, list[Row]] = {}
    for row in result.tables["models"]:
        model_rows.setdefault(row["slice"], []).append(row)
    rows = [
        as_row({**row, **_best_model_cells(row, best_row, target_class)})
        for row in result.tables["slices"]
        for best_row in _sort_by_detected(model_rows[row["slice"]], target_class)[:1]
    ]
    columns: dict[str, Source] = {
        "slice": "slice",
        "rows": "rows",
        f"{target_class}s": f"{target_class}s",
        "detected\nby any": "found",
        "best\nmodel": lambda row: row["first"] or parts.ABSENT,
        "detected": "hits",
        **({"sensitivity ↑": "recall"} if target_class == "positive" else {}),
        "missed\nby all": "missed_by_all",
    }
    none_note = f"{parts.ABSENT} no {target_class} is detected in the slice; "
    note = none_note if any(not row["hits"] for row in rows) else ""
    note += f"for each model in each slice, {ADD} {OPTION}--show rates{END}"
    lead_column = "recall" if target_class == "positive" else "hits"
    return TableView(
        "slices", "Slices", columns, rows, MAX_ROWS, note, rank="asked", lead=lead_column
    )


def _best_model_cells(row: Row, best_row: Row, target_class: str) -> CellsByColumn:
    """Return the best model of a slice with what it detects; none where nothing is detected."""
    if not row["found"]:
        return {"first": None, "hits": 0, "recall": None}
    return {
        "first": best_row["model"],
        "hits": best_row[DETECTION_CELLS[target_class][0]],
        "recall": best_row["recall"],
    }


def _main_table(result: Document, unique_detections: str) -> TableView:
    """Return the main table: one line per model, by rows detected."""
    target_class = result.parameters["target"]
    is_positive = target_class == "positive"
    detection_cell, alarm_cell = DETECTION_CELLS[target_class]

    def flagged_rows(row: Row) -> str:
        return format_rows(_cell_number(row[detection_cell]) + _cell_number(row[alarm_cell]))

    rows = _sort_by_detected(result.unsliced_rows("models"), target_class)
    columns: dict[str, Source] = {
        "model": "model",
        "detected": detection_cell,
        **({"sensitivity ↑": "recall"} if is_positive else {}),
        f"unique\nT{target_class[0].upper()}": unique_detections,
        "unique\nmisses": "exclusive_fn" if is_positive else "exclusive_fp",
        "flagged" if is_positive else "predicted\nnegative": flagged_rows,
        **({"PPV ↑": "precision"} if is_positive else {}),
        "ShineThrough ↑": "shine_through",
        "Occlusion ↓": "occlusion",
    }
    counts_every_miss = result.parameters["occlusion"] == "all"
    misses_phrase = "only it misses" if counts_every_miss else "it misses, another model detects"
    meanings = {
        unique_detections: f"{target_class}s only this model detects; "
        f"unique misses: {misses_phrase}",
        "shine_through": "unique TP / detected by any model; Occlusion: unique misses / the same",
    }
    title = f"Models{parts.threshold_note(rows)} by {target_class}s detected"
    return TableView(
        "models",
        title,
        columns,
        rows,
        rank="main",
        right=["flagged", "predicted\nnegative"],
        lead="recall" if is_positive else "shine_through",
        rest_hint=f"{OPTION}--format csv{END}",
        legend=(unique_detections, "shine_through"),
        words=meanings,
    )


def _best_subset_tables(result: Document, digits: int) -> Iterator[TableView]:
    """Yield the best subsets, with the search method below the table where all have the same."""

    def expected_detections(row: Row) -> str:  # on new data, with decimals
        detected = cell_value(row["corrected"])
        return parts.ABSENT if detected is None else parts.format_amount(detected, digits)

    for table, title, column_names in (
        ("best", "Best subset of each size", "size models covered corrected gain effort yield"),
        (
            "max_effort",
            f"Best subset within {OPTION}--max-effort{END}",
            "models covered corrected effort yield",
        ),
    ):
        rows = result.tables.get(table, ())
        has_slices = any(row["slice"] is not None for row in rows)
        columns_text = f"slice {column_names}" if has_slices else column_names
        columns: dict[str, Source] = {
            HEADING_OF_COLUMN.get(name, name): name for name in columns_text.split()
        }
        columns["corrected"] = expected_detections
        methods = list(dict.fromkeys(str(row["method"]) for row in rows[:MAX_ROWS]))
        has_several_methods = len(methods) > 1
        yield from parts.existing_tables(
            result,
            TableView(
                table,
                title,
                columns | ({"method": "method"} if has_several_methods else {}),
                most=MAX_ROWS,
                note=""
                if has_several_methods
                else "".join(f"search: {method.replace(':', ',')}" for method in methods),
                rest_hint=None if has_several_methods else "",
                right=["corrected"],
                rank="asked",
                legend=EXPLAINED_COLUMNS,
            ),
        )


def _sweep_tables(result: Document, alone_columns: str, digits: int) -> Iterator[TableView]:
    """Yield tables of a few evenly spaced thresholds: a matrix per measure, then all columns."""
    rows = result.unsliced_rows("sweep")
    threshold_column = result.parameters["sweep"]
    thresholds = list(dict.fromkeys(row[threshold_column] for row in rows))
    spaced_thresholds = parts.evenly_spaced(thresholds, MAX_THRESHOLDS)
    heading_of_threshold = {
        threshold: parts.format_exact(threshold)
        for threshold in thresholds
        if threshold in spaced_thresholds
    }
    extent_phrase = (
        f"{len(heading_of_threshold)} of {len(thresholds)} {NOUN_OF_SWEEP[threshold_column]}"
    )
    note = ""
    if len(heading_of_threshold) < len(thresholds):
        note = f"for all, {ADD} {OPTION}--format csv --show sweep{END}"
    spaced_rows = [row for row in rows if row[threshold_column] in spaced_thresholds]
    for measure, title in MEASURES:
        row_of_model: dict[str, dict[str, Cell]] = {}
        for row in spaced_rows:
            matrix_row = row_of_model.setdefault(row["model"], {"model": row["model"]})
            matrix_row[heading_of_threshold[row[threshold_column]]] = parts.format_cell(
                row[measure], digits
            )
        arrow = "↓" if measure == "occlusion" else "↑"
        yield TableView(
            "sweep",
            f"{title} {arrow} at {extent_phrase}",
            {heading: heading for heading in ("model", *heading_of_threshold.values())},
            [as_row(cells) for cells in row_of_model.values()],
            most=None,
            note=note,
            right=[*heading_of_threshold.values()],
            rank="asked",
        )
    yield TableView(
        "sweep",
        f"Sweep: {extent_phrase}",
        f"{threshold_column} model found hits {alone_columns}",
        spaced_rows,
        most=None,
        note=note,
        name="cuts",
    )


def _pair_tables(result: Document, unique_detections: str, digits: int) -> Iterator[TableView]:
    """Yield the pairs that detect most; then, as in the paper, a matrix of each measure."""
    pairs = result.unsliced_rows("pairs")
    columns = f"models covered effort yield {unique_detections}"
    if pairs:
        rows = sorted(
            pairs, key=lambda pair: (-_cell_number(pair["covered"]), _cell_number(pair["effort"]))
        )
        title = f"Pairs by {result.parameters['target']}s detected"
        yield TableView(
            "pairs", title, columns, rows, MAX_PAIRS, lead="yield", legend=EXPLAINED_COLUMNS
        )
    models = [row["model"] for row in result.unsliced_rows("models")]
    if len(models) > MAX_MATRIX_MODELS:
        rows = sorted(pairs, key=lambda row: -_cell_number(row[unique_detections]))
        columns += " shine_through occlusion"
        yield TableView("pairs", "Pairs by unique detections", columns, rows, MAX_ROWS)
    elif len(models) > 2:  # with two models the only pair is the whole set
        number_headings = [str(number) for number in range(1, len(models) + 1)]
        matrix_columns: dict[str, Source] = {head: head for head in ("model", *number_headings)}
        for measure, title in MEASURES:
            matrix_cells = pair_cells(result, measure)
            matrix_rows: list[Row] = []
            for number, (model, cells_of_model) in enumerate(
                zip(models, matrix_cells, strict=True), start=1
            ):
                texts = (parts.format_cell(cell, digits) for cell in cells_of_model)
                matrix_rows.append(
                    as_row(
                        {
                            "model": f"{number} {model}",
                            **dict(zip(number_headings, texts, strict=True)),
                        }
                    )
                )
            title = f"{title} {'↓' if measure == 'occlusion' else '↑'} of pairs"
            title += " (single models on the diagonal)"
            yield TableView("pairs", title, matrix_columns, matrix_rows, right=number_headings)


def pair_cells(result: Document, measure: str) -> list[list[Cell]]:
    """Return the k x k matrix of a measure, single models on the diagonal."""
    models = [row["model"] for row in result.unsliced_rows("models")]
    cell_of_models = {
        frozenset({row["model"]}): row[measure] for row in result.unsliced_rows("models")
    }
    for row in result.unsliced_rows("pairs"):
        if isinstance(row["models"], list):
            cell_of_models[frozenset(row["models"])] = row[measure]
    return [
        [cell_of_models.get(frozenset({first, second})) for second in models] for first in models
    ]


def page_charts(result: Document) -> Iterator[Chart]:
    """Yield unique detections and misses, the pairs, and the curves of a sweep."""
    yield from _bar_and_matrix_charts(result)
    if result.unsliced_rows("sweep"):
        yield from _sweep_charts(result)


def _bar_and_matrix_charts(result: Document) -> Iterator[Chart]:
    """Yield unique detections and misses of models, and the unique detections of pairs."""
    models = result.unsliced_rows("models")
    alone_columns = [
        column.name for column in ALONE_COLUMNS if column.title and is_present(column.when, result)
    ]
    for column, title in zip(alone_columns, ("detections", "misses"), strict=True):
        bars = (Series(row["model"], values=(cell_number(row[column]),)) for row in models)
        yield Chart("bars", f"Unique {title}", series=tuple(bars), name="bars")
    if 3 <= len(models) <= MAX_MATRIX_MODELS:
        rows_and_cells = zip(models, pair_cells(result, "shine_through"), strict=True)
        matrix_rows = (
            Series(row["model"], values=tuple(map(cell_value, cells)))
            for row, cells in rows_and_cells
        )
        title = "Unique detections of pairs (ShineThrough; taller is more)"
        yield Chart("cells", title, series=tuple(matrix_rows), name="matrix")


def _sweep_charts(result: Document) -> Iterator[Chart]:
    """Yield the curves of each measure over the thresholds of a sweep."""
    rows = result.unsliced_rows("sweep")
    threshold_column = str(result.parameters.get("sweep"))
    make_steps = partial(_step_points, forward=threshold_column == "top")
    models = _sort_by_detected(result.unsliced_rows("models"), result.parameters["target"])
    model_names = [row["model"] for row in models]
    for measure, title in MEASURES:
        points_of_model: dict[str, list[Point]] = {}
        for row in rows:
            if (value := cell_value(row[measure])) is not None:
                points_of_model.setdefault(row["model"], []).append(
                    (cell_number(row[threshold_column]), value)
                )
        curves = tuple(
            Series(name, (make_steps(points_of_model[name]),))
            for name in model_names
            if name in points_of_model
        )
        if curves:
            thresholds = (
                f"{len({row[threshold_column] for row in rows})} {NOUN_OF_SWEEP[threshold_column]}"
            )
            title = f"{title[0].upper()}{title[1:]} at {thresholds}"
            axis = Axis("number of top rows" if threshold_column == "top" else threshold_column)
            yield Chart("lines", title, axis, series=curves, name="curves", rank="asked")


def _step_points(points: Sequence[Point], *, forward: bool) -> tuple[Point, ...]:
    """Return points of steps: each value extends to the next point, or back to the one before."""
    neighbours = [*points[1:], points[-1]] if forward else [points[0], *points[:-1]]
    return tuple(
        (x, value)
        for (x_start, value), (x_end, _) in zip(points, neighbours, strict=True)
        for x in sorted((x_start, x_end))
    )


GLOSSARY: Mapping[str, str] = {
    **SHARED_WORDS,
    "detected": "rows of the target class that are detected",
    "flagged": "rows that are predicted to be of the target class, correctly or not",
    "best model": "the model that detects most rows of the target class in the slice",
}
PAGE = Page(
    "mars",
    TABLES,
    headline,
    page_tables,
    page_charts,
    SUMMARY,
    "all",
    ("alone", "rates", "cuts"),
    ("bars", "matrix", "curves"),
    ("forest",),
    glossary=GLOSSARY,
    headings={"predicted negative": "flagged"},
)
