"""Tables that options ask of report: comparisons, slices, best models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from clfeval.document import Document
from clfeval.document.cells import Cell, Estimate, Row, as_estimate, cell_number, cell_text
from clfeval.formatting import (
    NAMESAKES,
    candidates_first,
    describe_reference,
    format_count,
    format_number,
    is_reference,
    join_names,
    printable,
    quote_if_ambiguous,
)
from clfeval.measures.catalog import requested_measure
from clfeval.pages.report.operating_point_tables import SHORT, same_specificity_tables
from clfeval.pages.schema import Source, TableView, comparison_rows
from clfeval.pages.table_parts import (
    BEST_VIEW,
    column_heading,
    existing_tables,
    format_exact,
    format_interval,
    sort_by_column,
    split_by_measure,
)
from clfeval.placeholders import ADD, END, OPTION
from clfeval.records import replace

RECALL = "recall:class="  # measures of the recall of a class
FEW = 15  # comparisons, or slices, shown where an option asks for them
FAIRNESS = (
    "fairness criteria, by the measure that is equal: equal opportunity (sensitivity), predictive "
    "equality (specificity), predictive parity (precision), demographic parity "
    "(detection_prevalence)"
)
SLICE_HEADS = {
    "oe_ratio": "O:E →1",
    "roc_auc": "AUC ↑",
    "sensitivity": "sens. ↑",
    "specificity": "spec. ↑",
}
MCNEMAR = TableView(
    "mcnemar",
    "McNemar tests: rows that one of two models predicts correctly",
    "model reference newly_right newly_wrong p?",
    note="p: exact mid-p, given the rows that only one model predicts correctly; the p of accuracy "
    "uses the variance over all rows",
    rank="asked",
)
RESOLUTION = TableView(
    "resolution",
    "Sample size to detect a difference (power 0.8)",
    "measure model reference wanted rows_needed detectable",
    rank="asked",
)
CHANGES = TableView(
    "changes", "Changed predictions", "model reference id? row? truth before after", rank="asked"
)


def comparison_tables(result: Document) -> Iterator[TableView]:
    """Yield the differences requested by an option, the leading measures first."""
    yield from run_tables(result)
    yield from same_specificity_tables(result)
    if rows := comparison_rows(result, "reference"):
        lead_view, *other_views = split_by_measure(_difference_table(result, rows))
        yield _with_degrees_of_freedom(lead_view)
        yield from other_views
    baselines = _baseline_table(result.tables.get("baselines", ()))
    yield from existing_tables(result, MCNEMAR, baselines, RESOLUTION, CHANGES)


def _difference_table(result: Document, rows: Sequence[Row]) -> TableView:
    """Return the table of differences between models on the same rows."""
    pairs = {(row["model"], row["reference"]): row for row in rows}
    columns: dict[str, Source] = {"measure": "measure", "model": "model", "minus": "reference"}
    if _has_one_reference(result, rows) or len(pairs) == 1:
        columns.pop("minus")
    if len(pairs) == 1:
        columns.pop("model")
    columns |= SHORT
    return TableView(
        "comparisons",
        _difference_title(result, rows),
        columns,
        sort_requested_first(result, rows),
        max(FEW, len(pairs)),
        _adjustment_note(result, number_of_pairs=len(pairs)),
        rank="asked",
        lead="difference_adjusted",
        keep_columns=True,
    )


def _with_degrees_of_freedom(view: TableView) -> TableView:
    """Return the differences of one pair of models with those of Student's t, where it is used.

    Of several models a narrow screen has no room for them.
    """
    assert isinstance(view.columns, Mapping)
    if "model" in view.columns or not any(row["df"] for row in view.rows or ()):
        return view
    return replace(view, columns={**view.columns, "df": _degrees_of_freedom}, right=("df",))


def _degrees_of_freedom(row: Row) -> Cell:
    return f"{row['df']:,.4g}" if row["df"] else None


def _has_one_reference(result: Document, rows: Sequence[Row]) -> bool:
    """Return whether all models are compared with one, or each with its namesake."""
    references = {row["reference"] for row in rows}
    return len(references) == 1 or str(result.parameters.get("reference")).endswith(NAMESAKES)


def _difference_title(result: Document, rows: Sequence[Row]) -> str:
    """Return what the differences are from: a model, a reference, or any two models."""
    pairs = {(row["model"], cell_text(row["reference"])) for row in rows}
    if len(pairs) == 1:
        ((model, reference),) = pairs
        pair_phrase = f"{quote_if_ambiguous(model)} minus {quote_if_ambiguous(reference)}"
        return f"Paired differences, {pair_phrase}"
    if _has_one_reference(result, rows):
        references = {reference for _, reference in pairs}
        reference_option = str(result.parameters.get("reference"))
        return f"Paired differences from {describe_reference(min(references), reference_option)}"
    return "Paired differences between models"


def _adjustment_note(result: Document, *, number_of_pairs: int) -> str:
    """Return for what intervals and p are adjusted, and Cochran's Q where it has a p."""
    note = "intervals and p: adjusted for all comparisons of a measure, not across measures"
    if number_of_pairs == 1:
        note = "intervals and p: adjusted only for sensitivity and specificity together"
    for row in result.tables.get("together", ()):
        if row["p"] is not None:
            p_text = format_exact(cell_number(row["p"]))
            note += f"; Cochran's Q (equal accuracy of {row['models']} models): p {p_text}"
    return note


def _baseline_table(rows: Sequence[Row]) -> TableView:
    """Return the table of uninformative models; a note explains the constant ones."""
    note = ""
    if any(row["model"] == "(majority)" for row in rows):
        note = "(constant): predicts the prevalence; (majority): predicts the majority class"
    return TableView(
        "baselines",
        "Baselines: permuted truth and constant models",
        "measure model value observed p?",
        note=note,
        rank="asked",
    )


def sort_requested_first(result: Document, rows: Sequence[Row]) -> list[Row]:
    """Return rows sorted: the leading measure, then those that options name, then others."""
    option_values = (
        result.parameters.get(name, ()) for name in ("measure", "margin", "resolution")
    )
    measures = map(requested_measure, chain.from_iterable(option_values))
    requested_ids = {measure.id for measure in measures if measure is not None}
    lead_measure = rows[0]["measure"]

    def is_unrequested(row: Row) -> bool:
        measure_id, _, _ = row["measure"].partition(":")
        return row["measure"] != lead_measure and measure_id not in requested_ids

    return sorted(rows, key=is_unrequested)


def run_tables(result: Document) -> Iterator[TableView]:
    """Yield tables of means over runs, of their differences, and of each run."""
    yield from existing_tables(
        result,
        TableView("run_spread", "Means over runs", "measure model mean sd runs method"),
        TableView("runs", "Each run", "measure model run value"),
    )
    if rows := comparison_rows(result, "run"):
        references = {cell_text(row["reference"]) for row in rows}
        title = "Differences of means over runs, all pairs"
        columns: dict[str, Source] = {"measure": "measure", "model": "model"}
        if len(references) == 1:
            title = f"Differences from {quote_if_ambiguous(*references)}, means over runs"
        else:
            columns["minus"] = "reference"
        columns |= SHORT
        note = "intervals and p: adjusted for all comparisons of a measure"
        if any(row["p"] is None for row in rows) and any(row["p"] is not None for row in rows):
            note += (
                "; runs of the same rows have them only for the leading measure and "
                f"{OPTION}--measure{END}"
            )
        view = TableView(
            "comparisons",
            title,
            columns,
            sort_requested_first(result, rows),
            FEW,
            note,
            rank="asked",
            lead="difference_adjusted",
            keep_columns=True,
            name="runs_compared",
        )
        yield from split_by_measure(view)


EXTREMES = TableView("extremes", "Largest differences between slices")


def slice_tables(result: Document) -> Iterator[TableView]:
    """Yield the slices in which a judged model is worse, then those of the models first shown."""
    slice_rows = result.tables.get("slices", ())
    if not slice_rows:
        return
    shown_models = slice_models(result)
    rows = [row for row in slice_rows if row["worse"] or row["model"] in shown_models]
    yield _slices_of_models(result, rows)
    yield from _reference_in_slices(result)
    yield from existing_tables(
        result,
        _inside_and_outside(result),
        EXTREMES,
        _heterogeneity_table(result.tables.get("heterogeneity", ())),
    )


def slice_models(result: Document) -> list[str]:
    """Return the models whose slices are all shown: the best one, or the candidate and reference.

    The candidate: the best one that is compared with the reference.
    """
    model_rows = sort_by_column(result.unsliced_rows("models"), _lead_of_slices(result))
    models = [row["model"] for row in model_rows]
    reference = result.parameters.get("reference")
    references = [model for model in models if is_reference(model, reference)]
    return candidates_first(models, reference)[: 1 + len(references)]


def _lead_of_slices(result: Document) -> str:
    """Return the measure by which the answer names the best model."""
    return next((answer.measure for answer in result.answer if answer.code == "best"), None) or ""


def _slices_of_models(result: Document, rows: Sequence[Row]) -> TableView:
    """Return slices that are tested, or all if none is tested, with their measures."""
    tested_rows = [row for row in rows if row["q"] is not None] or list(rows)
    first_row = tested_rows[0]
    models = dict.fromkeys(row["model"] for row in tested_rows)
    columns: dict[str, Source] = {"slice": "slice"}
    if len(models) > 1:
        columns["model"] = "model"
    columns["rows"] = "rows"
    if "positives" in first_row:
        columns["positives"] = "positives"
    columns |= {
        SLICE_HEADS.get(name, column_heading(name)): partial(_format_marked, measure=name)
        for name in first_row
        if isinstance(first_row[name], Estimate)
    }
    recall_texts = _worse_recalls(result)
    if recall_texts:
        columns["recall ▼"] = lambda row: recall_texts.get((row["model"], row["slice"]), "")
    worse_count = sum(bool(row["worse"]) for row in tested_rows)
    title = f"Slices of {quote_if_ambiguous(*models)}" if len(models) == 1 else "Slices"
    return TableView(
        "slices",
        f"{title}, worst first" if worse_count > 1 else title,
        {**columns, "q": "q"},
        tested_rows,
        max(FEW, worse_count),
        _slice_note(result, rows),
        rank="asked",
        keep_columns=True,
        places=(),
    )


def _worse_recalls(result: Document) -> dict[tuple[Cell, Cell], str]:
    """Return the classes of lower recall of each model and slice, with it."""
    recall_texts = dict[tuple[Cell, Cell], list[str]]()
    for row in comparison_rows(result, "slice", within_slices=True):
        measure = row["measure"]
        if row["verdict"] == "worse" and measure.startswith(RECALL):
            value = format_number(as_estimate(row["new"]).value or 0.0)
            recall_text = f"{printable(measure.removeprefix(RECALL))}: {value}"
            recall_texts.setdefault((row["model"], row["slice"]), []).append(recall_text)
    return {pair: ", ".join(texts) for pair, texts in recall_texts.items()}


def _slice_note(result: Document, rows: Sequence[Row]) -> str:
    """Return what the marks mean and how many slices are not tested, or why none is."""
    if "min_cell" in result.summary:
        return "slices are not tested, as small counts are hidden"
    note = "▼ significantly worse than outside the slice; q: p adjusted for all tests"
    tested_slices = {row["slice"] for row in rows if row["q"] is not None}
    untested_count = len({row["slice"] for row in rows} - tested_slices)
    if untested_count:
        note += f"; {format_count(untested_count, 'slice')} too small to test"
        note += f"; for all, {ADD} {OPTION}--format csv --show slices{END}"
    slice_rows = result.tables["slices"]
    tested_models = {row["model"] for row in slice_rows if row["q"] is not None}
    models = dict.fromkeys(row["model"] for row in slice_rows)
    untested_models = [model for model in models if model not in tested_models]
    if tested_models and untested_models:
        note += f"; not tested: {join_names(untested_models)}; "
        note += f"for a test, {ADD} {OPTION}--model NAME{END}"
    return note


def _reference_in_slices(result: Document) -> Iterator[TableView]:
    """Yield the differences of models from the reference within each slice, if there are any."""
    rows = comparison_rows(result, "reference", within_slices=True)
    if not rows:
        return
    reference_option = str(result.parameters["reference"])
    title = f"Differences from {describe_reference(str(rows[0]['reference']), reference_option)}"
    title += " in each slice"
    columns: dict[str, Source] = {"slice": "slice"}
    measures = {row["measure"] for row in rows}
    if len(measures) > 1:
        columns["measure"] = "measure"
    else:
        title += f", by {column_heading(*measures)}"
    view = TableView(
        "comparisons",
        title,
        {**columns, "model": "model", **SHORT},
        rows,
        FEW,
        "intervals: unadjusted; p: adjusted (Benjamini-Hochberg)",
        rank="asked",
        lead="difference_adjusted",
        keep_columns=True,
        name="within",
    )
    yield from split_by_measure(view)


def _inside_and_outside(result: Document) -> TableView:
    """Return the measures of the judged models inside each slice and outside it."""
    shown_models = slice_models(result)
    rows = [
        row
        for row in comparison_rows(result, "slice", within_slices=True)
        if row["p_adjusted"] is not None or row["model"] in shown_models
    ]
    row_models = dict.fromkeys(row["model"] for row in rows)
    columns: dict[str, Source] = {"measure": "measure"}
    if len(row_models) > 1:
        columns["model"] = "model"
    columns |= {
        "slice": "slice",
        "in slice": "new",
        "outside": "old",
        "difference": "difference",
        "q": "p_adjusted",
        "verdict": "verdict",
    }
    title = "Inside slices compared with outside"
    if len(row_models) == 1:
        title = f"Slices of {quote_if_ambiguous(*row_models)}: inside compared with outside"
    return TableView("comparisons", title, columns, rows, 60, FAIRNESS, name="gaps")


def _heterogeneity_table(rows: Sequence[Row]) -> TableView:
    """Return the heterogeneity between slices, of each --by if they are several."""
    facet_column: dict[str, Source] = {"by": "by"} if len({row["by"] for row in rows}) > 1 else {}
    columns: dict[str, Source] = {
        **facet_column,
        "measure": "measure",
        "model": "model",
        "mean": "mean",
        "prediction\ninterval": lambda row: format_interval(as_estimate(row["prediction"])),
        "SD between\nslices (τ)": "tau",
        "I²": "i2",
        "slices": "slices",
        "p": "p",
    }
    return TableView(
        "heterogeneity",
        "Heterogeneity between slices",
        columns,
        lead="mean",
        rank="asked",
        note="prediction interval: of a new slice, from five slices on; τ of logit ROC AUC, log "
        "O:E ratio or slope; AUC of 0 or 1 and values without error left out",
    )


def _format_marked(row: Row, *, measure: str) -> str:
    """Return a measure of a slice as text, marked where it is significantly worse."""
    value = as_estimate(row[measure]).value
    worse_measures = row["worse"]
    mark = "▼" if isinstance(worse_measures, list) and measure in worse_measures else " "
    return "" if value is None else f"{format_number(value)}{mark}"


def best_model_tables(result: Document) -> Iterator[TableView]:
    """Yield tables of the models tied with the best by each measure, and corrected best values."""
    yield from existing_tables(
        result,
        BEST_VIEW,
        TableView("winner", "Value of the best model, corrected for selection bias"),
        TableView("together", "Cochran's Q test of equal accuracy"),
    )
