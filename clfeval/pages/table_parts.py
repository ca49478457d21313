"""Parts that views of pages share: cells and notes as text, order of rows, whole views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from clfeval import formatting
from clfeval.document import Document
from clfeval.document.cells import (
    Cell,
    Estimate,
    Row,
    as_estimate,
    as_row,
    cell_number,
    cell_value,
    sort_value,
)
from clfeval.formatting import (
    DIGITS,
    format_class_ratio,
    format_close,
    format_count,
    format_number,
    format_rows,
    format_share,
    quote_if_ambiguous,
)
from clfeval.measures.catalog import CATALOG, measure_title, requested_measure
from clfeval.pages.chart import Rank
from clfeval.pages.schema import (
    P_ADJUSTED_HEADING,
    P_OF_MEASURE_HEADING,
    Column,
    Sign,
    Source,
    TableView,
    Write,
    comparison_rows,
)
from clfeval.pages.shared_tables import AT_PREVALENCE, MEASURED
from clfeval.placeholders import END, OPTION
from clfeval.records import replace

T = TypeVar("T")
ABSENT = "–"
INFINITE = {"infinite": "∞", "minus_infinite": "-∞"}
BAR_WIDTH = 12  # columns of a bar
ARROWS = {"max": "↑", "min": "↓"}

REASONS = {
    "needs_scores": "the model has labels only, no scores",
    "needs_threshold": "the threshold of the model is unknown",
    "not_probabilities": "scores are outside 0 to 1",
    "nothing_found": "no model detects any row of the target class",
    "no_other_model": "every model is in the set",
    "no_positive_prediction": "the model predicts no positives",
    "no_positive_truth": "there is no positive row",
    "no_negative_prediction": "the model predicts no negatives",
    "no_negative_truth": "there is no negative row",
    "no_tn": "true negatives were not counted",
    "zero_margin": "a row or column of the 2 x 2 table is empty",
    "nothing_positive": "there are no positives, true or predicted",
    "expected_agreement_one": "truth and predictions are all of one class",
    "class_absent": "truth lacks one of the classes",
    "single_class": "only one class occurs",
    "too_few_rows": "no rows, or too few",
    "separation": "scores are all 0 or 1, equal, or separate the classes",
    "nothing_expected": "all probabilities are 0",
    "no_uncertainty": "all probabilities are 0, 1/2 or 1",
    "certain_threshold": "the threshold is 0 or 1",
    "fractional_weights": "weights are fractions",
    "too_few_metrics": "a polygon needs 3 metrics",
    "missing_component": "a metric has no value",
    "zero_weight": "all weights are 0",
    "outside_scale": "a value is outside the range of the metric",
    "too_many_subsets": "the search takes too long to cross-validate",
    "too_few_clusters": "a class has rows of one cluster only",
    "few_clusters": "no interval with fewer than five clusters",
    "too_few_slices": "fewer than five slices",
    "flexible_rows": "the method needs 1,000 rows",
    "reversed_scores": "the scores rank in reverse",
    "contradicted": "a row had probability 0 of its class",
    "limit_unmet": "no threshold meets the limit",
    "limit_seldom_met": "fewer than half of the bootstrap tables meet the limit",
    "infinite_scores": "scores are infinite",
    "too_few_splits": "there is only one split",
    "constant": "all models have the same value",
    "first": "there is no earlier line",
    "other_settings": "it was made with other settings",
    "not_in_both": "one of the two lacks this measure",
    "hidden_counts": "small counts are hidden",
    "needs_exact_scores": f"counts of its scores give no bound; add {OPTION}--scores exact{END}",
    "not_in_baseline": "the baseline lacks this measure",
}


def format_cell(cell: Cell, digits: int = DIGITS, write: Write = format_number) -> str:
    """Return a cell as text: rounded, `∞` for infinite, a dash for undefined or absent."""
    if isinstance(cell, Estimate):
        if cell.value is None:
            return INFINITE.get(cell.reason or "", ABSENT)
        return write(cell.value, digits)
    if cell is None:
        return ABSENT
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return write(cell, digits)
    if isinstance(cell, list):
        return " + ".join(map(quote_if_ambiguous, cell))
    return str(cell)


def draw_bar(share: float | None, width: int = BAR_WIDTH) -> str:
    """Return 0..1 as a bar of blocks on a dotted track; full only for 1, empty only for 0."""
    if share is None:
        return ""
    eighth_count = 8 * width
    filled_eighths = min(max(round(share * eighth_count), 0), eighth_count)
    if 0 < share < 1:
        filled_eighths = min(max(filled_eighths, 1), eighth_count - 1)
    full_blocks, remainder = divmod(filled_eighths, 8)
    return ("█" * full_blocks + ("▏▎▍▌▋▊▉"[remainder - 1] if remainder else "")).ljust(width, "·")


def format_exact(cell: Cell) -> str:
    """Return a threshold or p-value with four significant digits, also close to 0 or 1."""
    return formatting.format_exact(cell) if isinstance(cell, float) else format_cell(cell)


def format_interval(cell: Cell, digits: int = DIGITS, write: Write = format_number) -> str:
    """Return an estimate's interval as text, empty without one; a missing limit is infinite."""
    if not isinstance(cell, Estimate) or cell.low is cell.high is None:
        return ""
    low = "-∞" if cell.low is None else write(cell.low, digits)
    return f"[{low}, {'∞' if cell.high is None else write(cell.high, digits)}]"


def column_heading(column: Column | str) -> str:
    """Return the heading of a column, with an arrow in the better direction."""
    name, title = (column, None) if isinstance(column, str) else (column.name, column.title)
    if title is None and name in CATALOG:
        return f"{CATALOG[name].title} {CATALOG[name].arrow}".rstrip()
    return title or name.replace("_", " ")


def column_title(name: str, beta: float | None = None, column: Column | None = None) -> str:
    """Return the title of a measure or another column; that of F depends on beta."""
    title = measure_title(name, beta) if name in CATALOG else column and column.title
    return title or name


def format_amount(number: float, digits: int) -> str:
    """Return an expected number of rows as text, with about `digits` significant digits."""
    if not number:
        return "0"
    if number < 1:
        return f"{number:#.{max(1, digits)}g}" if number >= 1e-4 else f"{number:.{digits}g}"
    digits_before_point = len(f"{number:.0f}")
    return f"{number:,.{max(1 if digits_before_point < 4 else 0, digits - digits_before_point)}f}"


# entries of the summary of rows with sampling weights
SAMPLED_BY_WEIGHT = frozenset({"effective_rows", "effective_clusters"})


def format_class_counts(result: Document) -> str:
    """Return the number of rows, and of each class, as text, with the name of the positive one.

    Of more than two classes their number, and that of the models.
    """
    summary = result.summary
    if summary.get("classes") is not None:
        models = format_count(summary["models"], "model")
        return f"{format_row_count(result)} of {summary['classes']} classes, {models}"
    other_class_count = len(result.parameters["negative"])
    if summary["rows"] is None and summary["positives"] is not None:
        return f"{summary['positives']:,} positive, true negatives were not counted"
    if summary["rows"] is None:
        return "models with different class totals"
    positive_name = quote_if_ambiguous(str(result.parameters["positive"]))
    positive_name = f"class {positive_name}" if positive_name[:1].isdigit() else positive_name
    class_name = "" if positive_name == "positive" else f" ({positive_name})"
    merged_clause = f" ({other_class_count} other classes)" if other_class_count > 1 else ""
    positives = f"{format_rows(summary['positives'])} positive{class_name}"
    negatives = f"{format_rows(summary['negatives'])} negative{merged_clause}"
    return f"{format_row_count(result)}, {positives}, {negatives}"


def format_row_count(result: Document) -> str:
    """Return the number of rows as text, and how weights change it.

    Sampling weights have a mean of 1; weights that are copies of a row are added up.
    """
    summary = result.summary
    line_count = sum(file.rows for file in result.inputs)
    if not SAMPLED_BY_WEIGHT.isdisjoint(summary):
        return format_count(summary["rows"], "weighted row")
    rows_text = format_count(summary["rows"], "row")
    return (
        rows_text
        if line_count == summary["rows"]
        else f"{rows_text} by the weights of {line_count:,}"
    )


def independence_note(result: Document) -> str:
    """Return the note on what intervals assume to be independent, empty where that is obvious."""
    independent_units = result.parameters.get("independence")
    clusters = result.summary.get("clusters")
    if result.summary.get("runs"):  # intervals are those of means over them
        return ""
    if clusters is None:
        effective_size = result.summary.get("effective_rows")
        row_count = sum(file.rows for file in result.inputs)
        size_clause = (
            ""
            if effective_size is None
            else f", effective sample size {effective_size:,.0f} of {row_count:,} rows"
        )
        return f"assumes {independent_units}{size_clause}" if independent_units else size_clause[2:]
    design_effect = result.summary["design_effect"]
    effective_clusters = result.summary.get("effective_clusters")
    note = f"assumes {clusters:,} {independent_units}"
    if design_effect is not None:
        note += f", design effect up to {design_effect:.2g}"
    if effective_clusters is not None:
        note += f", weighted like {effective_clusters:,.0f} equal clusters"
    return note


def majority_class_note(prevalences: Sequence[Cell]) -> str:
    """Return the note on the accuracy of the majority class, at each share of positives.

    Source: Kuhn and Johnson, Applied Machine Learning for Tabular Data, section 15.2 (the
    no-information rate).
    """
    shares = sorted(
        {
            max(prevalence, 1 - prevalence)
            for prevalence in prevalences
            if isinstance(prevalence, (int, float))
        }
    )
    if not shares:
        return ""
    share_texts = (format_close(share, DIGITS) for share in (shares[0], shares[-1]))
    accuracy = " to ".join(dict.fromkeys(share_texts))
    return f"always predicting the majority class: accuracy {accuracy}"


def threshold_note(rows: Sequence[Row]) -> str:
    """Return the note on the threshold of models with scores, if they share it."""
    thresholds = [*{row["threshold"]: None for row in rows}]
    return (
        ""
        if len(thresholds) != 1 or thresholds[0] is None
        else f" at threshold {format_exact(thresholds[0])}"
    )


def evenly_spaced(values: Sequence[T], most: int) -> set[T]:
    """Return `most` values, two or more, at even steps from the first to the last."""
    last_index = len(values) - 1
    return {values[round(i * last_index / (most - 1))] for i in range(most)} if values else set()


def join_names(cell: Cell) -> str:
    """Return the names in a cell as one text, in which commas of names cannot mislead."""
    return ", ".join(map(quote_if_ambiguous, cell)) if isinstance(cell, list) else ""


# rows shown; differences between models shown by default
MAX_COMPARISON_ROWS, MAX_SHOWN_DIFFERENCES = 20, 20


def sort_by_column(rows: Sequence[Row], column: str) -> list[Row]:
    """Return rows sorted by value within each slice and prevalence, those without a value last."""

    def group_of(row: Row) -> tuple[Cell, Cell]:
        return row.get("slice"), row.get("prevalence")

    groups = dict.fromkeys(map(group_of, rows))
    rank_of_group = dict(zip(groups, range(len(groups)), strict=True))

    def sort_key(row: Row) -> tuple[int, bool, float]:
        value = cell_value(row.get(column))
        return rank_of_group[group_of(row)], value is None, -(value or 0.0)

    return sorted(rows, key=sort_key)


def best_and_tied_signs(rows: Sequence[Row]) -> list[Sign]:
    """Return the signs of the best of several models and those tied with it, where tested."""
    tied_flags = [row["tied"] for row in rows]
    if len(tied_flags) < 2 or all(tied is None for tied in tied_flags):
        return []
    best_index = next((index for index, tied in enumerate(tied_flags) if tied), 0)
    return [
        "best" if index == best_index else "equal" if tied else ""
        for index, tied in enumerate(tied_flags)
    ]


def existing_tables(result: Document, *views: TableView) -> Iterator[TableView]:
    """Yield the views of those tables that the result has."""
    yield from (view for view in views if view.table in result.tables)


def split_by_measure(view: TableView) -> Iterator[TableView]:
    """Yield the differences of the leading measure, the first, and then those of the others.

    The p of these has a heading of its own: one question has one p, which is not adjusted for the
    number of measures.
    """
    rows = view.rows or ()
    leading_rows = [row for row in rows if row["measure"] == rows[0]["measure"]]
    other_rows = [row for row in rows if row["measure"] != rows[0]["measure"]]
    assert isinstance(view.columns, Mapping)
    other_headings = {P_ADJUSTED_HEADING: P_OF_MEASURE_HEADING}
    columns = {other_headings.get(head, head): source for head, source in view.columns.items()}
    if not other_rows or P_ADJUSTED_HEADING not in view.columns:
        yield view
        return
    yield replace(view, rows=leading_rows, note="")
    yield replace(view, title=f"{view.title}: other measures", columns=columns, rows=other_rows)


def difference_tables(result: Document) -> Iterator[TableView]:
    """Yield the table of differences from a reference, or of any two models over runs."""
    run_rows = comparison_rows(result, "run")
    reference = result.parameters.get("reference")
    rows = comparison_rows(result, "reference") + comparison_rows(
        result, "reference", within_slices=True
    )
    if not (rows := rows or run_rows):
        return
    title_end = f"from {quote_if_ambiguous(reference)}" if reference else "between models"
    noun = "Differences" if run_rows or not reference else "Paired differences"
    over_runs = " in means over runs" if run_rows else ""
    columns: dict[str, Source] = {
        **({"slice": "slice"} if any(row["slice"] is not None for row in rows) else {}),
        "measure": "measure",
        "model": "model",
        **({} if reference else {"minus": "reference"}),
        "difference": "difference_adjusted",
    }
    note = ""
    if any(row["p"] is not None for row in rows):
        columns |= {P_ADJUSTED_HEADING: "p_adjusted", "verdict": "verdict"}
        note = "intervals, p and verdict are adjusted for all models"
    view = TableView(
        "comparisons",
        f"{noun} {title_end}{over_runs}",
        columns,
        rows,
        MAX_COMPARISON_ROWS,
        note,
        lead="difference_adjusted",
        rank="asked" if reference is not None or len(rows) <= MAX_SHOWN_DIFFERENCES else "detail",
    )
    yield from split_by_measure(view)


BEST_VIEW = TableView(
    "best",
    "Models tied with the best, with confidence intervals of ranks",
    "measure model tied p_first rank_low rank_high",
)
MAX_ROWS = 30  # rows of a table shown to a person; files get them all


def requested_rows(result: Document) -> list[Row]:
    """Return measures of a report, not of single classes, requested by name or only by a set."""
    first_model = result.tables["models"][0]
    requested_measures = [requested_measure(name) for name in result.parameters.get("measure", ())]
    measure_ids = {measure.id for measure in requested_measures if measure is not None}
    has_set = None in requested_measures
    rows = [row for row in result.unsliced_rows("measures") if row["estimator"] != "class"]
    measures_of_sets = {
        row["measure"] for row in rows if has_set and row["measure"] not in first_model
    }
    return [
        row
        for row in rows
        if row["measure"] in measures_of_sets or row["measure"].partition(":")[0] in measure_ids
    ]


def _score_option(result: Document) -> str:
    """Return the option that reads labels such as 0 and 1 as scores; nothing for other labels."""
    if result.parameters.get("positive") not in ("1", "1.0"):
        return ""
    return f"; if these are scores, add {OPTION}--kind score{END}"


def measure_tables(
    result: Document, rows: Sequence[Row] | None = None, *, name: str = ""
) -> Iterator[TableView]:
    """Yield the table of requested measures, with those of slices; rows: only these."""
    rows = result.tables.get(MEASURED.name, ()) if rows is None else rows
    if not rows:
        return
    columns = [
        *(["slice"] if any(row["slice"] is not None for row in rows) else []),
        "model measure",
        *(["estimator"] if len({row["estimator"] for row in rows}) > 1 else []),
        "value",
        *(["bound?"] if any("bound" in row for row in rows) else []),
        *(
            ["calibrated_mean? calibrated_high?"]
            if any("calibrated_mean" in row for row in rows)
            else []
        ),
        *(["p?"] if any("p" in row for row in rows) else []),
        "method",
    ]
    yield TableView(
        MEASURED.name,
        "Requested measures",
        " ".join(columns),
        rows,
        MAX_ROWS,
        rank="asked",
        name=name,
        note="; ".join(_reasons_of_measures(result, rows[:MAX_ROWS])),
    )


def _reasons_of_measures(result: Document, rows: Sequence[Row]) -> Iterator[str]:
    """Yield why measures are undefined, those with the same reason together."""
    measures_by_reason: dict[str, dict[str, None]] = {}
    for row in rows:
        reason = as_estimate(row["value"]).reason
        if reason is not None and reason not in INFINITE:
            measures_by_reason.setdefault(reason, {})[row["measure"]] = None
    for reason, measures in measures_by_reason.items():
        if reason == "needs_scores":
            yield f"–: the model has labels only{_score_option(result)}"
        else:
            yield f"– {', '.join(measures)}: {REASONS.get(reason, reason.replace('_', ' '))}"


PREVALENCE_COLUMNS: Mapping[str, Source] = {
    "PPV ↑": "ppv",
    "NPV ↑": "npv",
    "alarms\n/ case": "alarms_per_case",
    "alarms\n/ 1,000": "alarms",
    "net\nbenefit ↑": "net_benefit",
    "sens. ↑": "sensitivity",
    "spec. ↑": "specificity",
}


def prevalence_table(rows: Sequence[Row], rank: Rank) -> TableView:
    """Return the table of PPV, NPV and alarms at each prevalence."""
    rows = sorted(rows, key=lambda row: cell_number(row["prevalence"]))
    odds_in_order = list(dict.fromkeys(row["odds"] for row in rows))
    rules = {row["chosen_by"] for row in rows}
    columns: dict[str, Source] = {
        "model": "model",
        **({"chosen by": "chosen_by"} if len(rules) > 1 else {}),
        **({"prevalence": "prevalence"} if len(odds_in_order) > 1 else {}),
        **({"threshold": "threshold"} if any(row["threshold"] is not None for row in rows) else {}),
        **PREVALENCE_COLUMNS,
    }
    if all(sort_value(row["net_benefit"]) is None for row in rows):
        del columns["net\nbenefit ↑"]
    title = "Predictive values"
    if len(odds_in_order) == 1:
        share_text = format_share(cell_number(rows[0]["prevalence"]))
        title += f" at prevalence {share_text} ({format_class_ratio(odds_in_order[0])})"
    rule_names = {"j_index": "largest J", "expected_cost": "lowest expected cost"}
    rule_name = rule_names.get(str(min(rules, key=str)), "") if len(rules) == 1 else ""
    note = f"threshold of the {rule_name}; values expected on new data" if rule_name else ""
    signs = _ties_by_prevalence(rows)
    return TableView(
        AT_PREVALENCE,
        title,
        columns,
        rows,
        rank=rank,
        lead="ppv",
        write=format_close,
        note=note,
        legend=("alarms_per_case",) if signs else ("alarms", "alarms_per_case"),
        places=signs,
    )


def _ties_by_prevalence(rows: Sequence[Row]) -> list[Sign]:
    """Return the signs of the best model and of those tied with it, at each prevalence."""
    signs = list[Sign]()
    for _, rows_of_odds in groupby(rows, key=lambda row: row["odds"]):
        tied_rows = [as_row({**row, "tied": row.get("tied")}) for row in rows_of_odds]
        signs += best_and_tied_signs(tied_rows) or [""] * len(tied_rows)
    return signs if any(signs) else []
