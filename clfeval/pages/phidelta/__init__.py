"""The page of phi-delta: views of its tables, words of its screens."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import isclose

from clfeval.document import Document
from clfeval.document.cells import Cell, Row, as_estimate, as_row, cell_number, cell_value
from clfeval.measures.odds import BOUNDARIES, LEAN
from clfeval.pages.chart import Point, row_point
from clfeval.pages.phidelta.tables import TABLES
from clfeval.pages.schema import INTERVAL_WORD, SHARED_WORDS, Page, Source, TableView
from clfeval.pages.shared_tables import CELLS, RATE_MEANINGS
from clfeval.pages.table_parts import (
    BEST_VIEW,
    MAX_ROWS,
    difference_tables,
    existing_tables,
    format_class_counts,
    format_exact,
    format_interval,
    join_names,
    majority_class_note,
    measure_tables,
    sort_by_column,
    threshold_note,
)
from clfeval.placeholders import ADD, END, OPTION, SWITCH

FEATURED, IMPLIED = 20, 8  # features, and what they imply, shown to a person
CSV = f"{OPTION}--format csv{END}"
READINGS = ("worse than chance", "no better than chance", "informative", "near oracle")
EXPLAINED = (
    "delta",
    "phi",
    "reading",
    "delta_mean",
    "phi_mean",
    "bias",
    "variance",
    "precision",
    "odds",
    "npv",
    "gini",
)
J = "sensitivity + specificity - 1 (Youden's J)"


def headline(result: Document) -> list[str]:
    """Return the headline: inputs, and the rows of each class."""
    names_text = join_names([file.name for file in result.inputs])
    summary = result.summary
    parameters = result.parameters
    if parameters["mode"] != "features":
        runs_clause = f", {summary['runs']} runs" if summary.get("runs") else ""
        return [f"Youden's J in {names_text}: {format_class_counts(result)}{runs_clause}"]
    features = f"{summary['features']:,} features in {names_text}"
    lines = [f"Youden's J of {features}: {format_class_counts(result)}"]
    has_numeric = any(row["kind"] == "numeric" for row in result.tables["features"][:MAX_ROWS])
    if has_numeric and parameters["cut"] is None:
        hint = f"best threshold: {OPTION}--cut best{END}"
        lines.append(f"Numeric features are true above their median ({hint}).")
    if "selected" in summary:
        rule = f"|φ| < {parameters['phi_max']:g} and |φ| + |δ|/{parameters['delta_min']:g} >= 1"
        lines.append(f"Selection rule: {rule}")
    return lines


def page_tables(result: Document, _digits: int) -> Iterator[TableView]:
    """Yield the tables in reading order."""
    if result.parameters["mode"] == "features":
        yield from _feature_tables(result)
        return
    tables = result.tables
    models = tables["models"]
    key_columns = "slice model" if any(row["slice"] is not None for row in models) else "model"
    yield from _requested_tables(result, key_columns)
    yield from measure_tables(result)
    if "run_spread" in tables:
        rows = sort_by_column(tables["run_spread"], "delta_mean")
        columns = "model delta_mean delta_sd phi_mean phi_sd runs bias? variance?"
        yield TableView(
            "run_spread",
            "Models by mean δ over runs",
            columns,
            rows,
            MAX_ROWS,
            rank="main",
            lead="delta_mean",
            legend=EXPLAINED,
        )
    else:
        best_first = sort_by_column(result.unsliced_rows("models"), "delta")
        threshold_clause = threshold_note(best_first)
        hint = f" (all thresholds: {SWITCH}--curve{END})" if threshold_clause else ""
        yield TableView(
            "models",
            f"Models{threshold_clause} by δ{hint}",
            "model delta phi sensitivity specificity reading?",
            list(map(_add_reading, best_first[:MAX_ROWS])),
            rest_hint=CSV,
            total=len(best_first),
            rank="main",
            lead="delta",
            legend=("delta", "reading"),
            words={"delta": f"{J}; φ: sensitivity - specificity"},
        )
    yield from _detail_tables(result, key_columns)


def _requested_tables(result: Document, key_columns: str) -> Iterator[TableView]:
    """Yield the tables that options request: one line per model, by the leading measure."""
    tables = result.tables
    view_of = partial(TableView, most=MAX_ROWS, rank="asked", legend=EXPLAINED)
    if "populations" in tables:
        several_targets = len(result.parameters["targets"]) > 1
        title = f"Models at {_target_words(result)}"
        population_columns = {"prevalence": "prevalence", "P:N": "odds"} if several_targets else {}
        sources = {
            **{name: name for name in key_columns.split()},
            **population_columns,
            "PPV ↑": "precision",
            "NPV ↑": "npv",
            "accuracy ↑": "accuracy",
        }
        rows = sort_by_column(tables["populations"], "precision")
        note = majority_class_note([row["prevalence"] for row in rows])
        yield view_of("populations", title, sources, rows, lead="precision", note=note)
    yield from difference_tables(result)
    if "curves" in tables:
        columns = f"{key_columns} gini best_delta best_threshold roc_auc"
        rows = sort_by_column(tables["curves"], "gini")
        yield view_of("curves", "ROC curves by Gini", columns, rows, lead="gini")
    if "slice" in key_columns:
        rows = [row for row in tables["models"] if row["slice"] is not None]
        columns = f"{key_columns} delta phi sensitivity specificity"
        title = "Models in each slice"
        yield view_of(
            "models", title, columns, rows, name="slices", lead="delta", rest_hint=CSV, legend=()
        )


def _add_reading(row: Row) -> Row:
    """Return a row with the reading of its position, over the confidence interval."""
    phi = as_estimate(row["phi"])
    delta = as_estimate(row["delta"])
    if delta.low is None or delta.high is None:
        return as_row({**row, "reading": None})
    lowest = READINGS[bisect_left(BOUNDARIES, delta.low)]
    highest = READINGS[bisect_right(BOUNDARIES, delta.high)]
    distance = READINGS.index(highest) - READINGS.index(lowest)
    reading = f"{lowest} {'or' if distance == 1 else 'to'} {highest}" if distance else lowest
    if phi.value in (-1, 1):
        reading += f", always {'positive' if phi.value > 0 else 'negative'}"
    elif phi.low is not None and phi.high is not None and max(phi.low, -phi.high) > LEAN:
        reading += f", biased towards {'positive' if phi.low > 0 else 'negative'}"
    return as_row({**row, "reading": reading})


def _target_words(result: Document) -> str:
    """Return the prevalence as text, where there is one."""
    targets = result.parameters.get("targets") or []
    if len(targets) != 1:
        return "other prevalences"
    (target,) = targets
    return f"prevalence {format_exact(target['prevalence'])} ({target['odds']})"


RUN_TABLES = (
    TableView(
        "run_spread",
        "Spread over runs",
        "model covariance accuracy_u_mean accuracy_u_sd method",
        name="spread",
    ),
    TableView(
        "runs", "Results of each run", "model run sensitivity specificity phi delta", name="runs"
    ),
)


def _detail_tables(result: Document, key_columns: str) -> Iterator[TableView]:
    """Yield the other tables, which are shown by name."""
    yield _reading_table(result, key_columns)
    prevalences = [row["prevalence"] for row in result.tables.get("populations", ())]
    yield from existing_tables(
        result,
        TableView(
            "populations",
            f"Positions at {_target_words(result)}",
            f"{key_columns} prevalence odds phi_b delta_b mutual_information",
            name="plane",
            note=majority_class_note(prevalences),  # δ_b is 2 accuracy - 1
        ),
        TableView(
            "curves",
            "Largest δ and break-even point of each curve",
            f"{key_columns} best_delta best_phi break_even_delta break_even_threshold points",
            name="break-even",
        ),
        BEST_VIEW,
        *RUN_TABLES,
    )
    yield from _measure_group_tables(result, key_columns)
    yield from _region_tables(result, key_columns)


def _reading_table(result: Document, key_columns: str) -> TableView:
    """Return the positions of models; without a reading, those the interval includes, and why."""
    rows: list[Row] = []
    for row in result.tables["models"]:
        interval_reading = _add_reading(row)["reading"]
        reason = row["reading_withheld"]
        withheld = f"{interval_reading} ({reason})" if interval_reading else reason
        reading = row["reading"] or withheld
        rows.append(as_row({**row, "reading": reading}))
    pooled_clause = ", rows of all runs pooled" if "runs" in result.tables else ""
    title = f"Youden's J and bias (φ-δ) in words{pooled_clause}"
    columns, total = f"{key_columns} phi delta reading", len(rows)
    return TableView("models", title, columns, rows, rest_hint=CSV, total=total, name="readings")


def _measure_group_tables(result: Document, key_columns: str) -> Iterator[TableView]:
    """Yield the rates, the measures with balanced classes, and those of the sample."""
    view_of = partial(TableView, "models", rest_hint=CSV)
    cells = " ".join(cell.name for cell in CELLS)
    columns = f"{key_columns} threshold? {cells} sensitivity specificity"
    yield view_of("Rates", columns, name="rates")
    yield view_of(
        "Measures with balanced classes (1:1)",
        f"{key_columns} accuracy_u precision_u npv_u f1_u mcc_u mutual_information_u",
        name="unbiased",
    )
    odds = result.summary["odds"]
    population = f"the sample's class ratio, {odds}" if odds else "each model's class ratio"
    yield view_of(
        f"Measures at {population}",
        f"{key_columns} accuracy precision npv f1 mcc mutual_information phi_b delta_b",
        name="sample",
        note=majority_class_note([result.summary.get("prevalence")]),
    )


def _region_tables(result: Document, key_columns: str) -> Iterator[TableView]:
    """Yield the joint confidence regions, if any model has one."""
    models = result.tables["models"]
    level = result.parameters["level"]
    rates = ("region_sensitivity", "region_specificity")
    if all(any(format_interval(row.get(name)) for row in models[:MAX_ROWS]) for name in rates):
        yield TableView(
            "models",
            f"Joint {level * 100:g}% confidence region",
            f"{key_columns} {' '.join(rates)}",
            models,
            rest_hint=CSV,
            note=f"two Clopper-Pearson intervals, each at level √{level:g}",
            interval_heading="joint CI",
            name="regions",
        )


def _feature_tables(result: Document) -> Iterator[TableView]:
    """Yield the tables of the best features, and of implications without exception."""
    implications = result.tables["implications"]
    has_selected = "selected" in result.tables
    name, title = ("selected", "Selected features") if has_selected else ("features", "Features")
    yield _feature_table(result, name, f"{title} by |δ|")
    if implications:
        rows = sorted(implications, key=lambda row: -cell_number(row["support"]))
        note = "f: the feature, c: the positive class; without exception in these rows"
        note += "; intervals are not adjusted" if len(implications) > 1 else ""
        if len(rows) > IMPLIED:
            note += f"; for all, {ADD} {OPTION}--format csv --show implications{END}"
        columns = "feature implication support confidence"
        yield TableView(
            "implications", "Implications by support", columns, rows, IMPLIED, note, rest_hint=""
        )
    if has_selected:
        all_features = _feature_table(result, "features", "All features by |δ|")
        yield replace(all_features, rank="detail", lead="")


def _feature_table(result: Document, name: str, title: str) -> TableView:
    """Return the table of features, each with the values for which it is true."""
    rows = result.tables[name]
    visible_rows = rows[:FEATURED]
    # features far from 0 in either direction are good
    columns: dict[str, Source] = {"feature": "feature", "δ": "delta", "φ": "phi"}
    if any(row["rule"] for row in visible_rows):
        columns["true where"] = _true_where
    has_corrected = any("corrected_delta" in row for row in visible_rows)
    columns |= {"corrected\nδ": "corrected_delta"} if has_corrected else {}
    columns |= {"role": "role", "support": "support"}
    if any(row["missing"] for row in visible_rows):
        columns["missing"] = "missing"
    if len({row["kind"] for row in visible_rows}) > 1:
        columns["kind"] = "kind"
    if any(row["implications"] for row in visible_rows):
        columns["implications"] = lambda row: join_names(row["implications"])
    return TableView(
        name,
        title,
        columns,
        rows,
        FEATURED,
        rank="main",
        lead="corrected_delta" if has_corrected else "delta",
        legend=("delta", "phi", "role"),
    )


def _true_where(row: Row) -> Cell:
    rule = row["rule"]
    return (rule or "") if rule in (None, "soft") else f"{rule} {format_exact(row['cut'])}"


def isometric_lines(
    result: Document, odds: str, suffix: str
) -> Iterator[tuple[str, float, tuple[tuple[Point, ...], ...]]]:
    """Yield measure, value and branches of lines of equal value; suffix: `_b` of tilted axes."""
    points_of_line: dict[tuple[str, float], dict[str, list[Point]]] = {}
    for row in result.tables.get("isometrics", ()):
        point = row_point(row, f"phi{suffix}", f"delta{suffix}")
        value = cell_value(row["value"])
        is_balanced = isclose(cell_number(row["prevalence"]), 0.5)
        in_diamond = str(row["odds"]) == odds or (is_balanced and not suffix)
        if point and value is not None and in_diamond:
            points_of_branch = points_of_line.setdefault((row["measure"], value), {})
            points_of_branch.setdefault(str(row["branch"]), []).append(point)
    for (measure, value), points_of_branch in points_of_line.items():
        yield measure, value, tuple(map(tuple, points_of_branch.values()))


GLOSSARY: Mapping[str, str] = {
    **SHARED_WORDS,
    "delta": "sensitivity + specificity - 1 (Youden's J): 1 perfect, 0 chance",
    "phi": "sensitivity - specificity: 1 always positive, -1 always negative",
    "precision": RATE_MEANINGS["precision"],
    "npv": RATE_MEANINGS["npv"],
    "gini": "2 ROC AUC - 1, the mean δ over all thresholds",
    "true where": "values for which the feature is true; soft: true to a degree between 0 and 1",
}
PARTS = ("readings", "rates", "unbiased", "sample", "regions", "slices", "plane")
PAGE = Page(
    "phidelta",
    TABLES,
    headline,
    page_tables,
    lambda _: (),
    parts=(*PARTS, "break-even", "spread"),
    plots=("diamond",),
    pictures=("forest",),
    glossary=GLOSSARY,
    headings={"joint CI": INTERVAL_WORD},
)
