"""The main table of tune-jpt, and what all of its tables share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clfeval import formatting
from clfeval.document import Document, comparable_rows
from clfeval.document.cells import (
    Cell,
    CellsByColumn,
    Estimate,
    Row,
    as_estimate,
    cell_text,
    sort_value,
)
from clfeval.document.rows import RowsBySlice, rows_where
from clfeval.measures.catalog import CATALOG
from clfeval.measures.odds import OutcomeCosts
from clfeval.pages.schema import Sign, Source, TableView
from clfeval.pages.table_parts import ABSENT, column_title, format_exact, majority_class_note
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

MAX_NAMES = 4  # names of models in one cell
PLACE = "positives:\nnegatives\n(prevalence)"
AT_ODDS = "positives:\nnegatives"
COMMON_NAMES = {
    "tar": "accuracy (TAR)",
    "tor": "odds of accuracy (TOR)",
    "epa": "mean odds of PPV and NPV (EPA)",
}
LATER = ("tor", "f_odds")  # after EPA and its two terms
MAX_ROWS = 20  # rows of requested tables
MAIN = ("ppv", "npv", "sensitivity", "specificity")
SWEPT = 7  # odds of a sweep on a screen
OPEN = "…"  # a confidence limit beyond the swept odds
EXPLAINED_COLUMNS = ("tar", "ppv", "npv", "ic", "epa", "tor", "lr_pos", "lr_neg", "dor", "dp")


@dataclass(frozen=True, slots=True)
class TableContext:
    """A result, with the context that all its tables share."""

    result: Document

    def title(self, measure: str) -> str:
        """Return the name of a measure for a sentence or a cell."""
        beta = self.result.parameters.get("beta")
        return column_title(measure, 1.0 if beta is None else beta).split(" (")[0]

    def heading(self, measure: str) -> str:
        """Return the name of a measure for a heading: that of a paper after the common one."""
        return COMMON_NAMES.get(measure, self.title(measure))

    @property
    def available_measures(self) -> list[str]:
        """The measures that the result has."""
        rows = self.result.tables["models"]
        return [name for name, cell in rows[0].items() if isinstance(cell, Estimate)]

    @property
    def compared(self) -> str:
        """The measure by which models are, or would be, compared."""
        measure = self.result.parameters.get("compared_by")
        return self.sort_measure if measure is None else str(measure)

    @property
    def sort_measure(self) -> str:
        """The measure that sorts models: the one compared, else the first that is not constant."""
        compared = str(self.result.parameters.get("compared_by"))
        available_measures = self.available_measures
        ratio_dependent = [name for name in available_measures if not CATALOG[name].invariant]
        preferred = [name for name in (compared, "expected_cost") if name in available_measures]
        names = (
            name
            for name in (*preferred, *ratio_dependent, *available_measures)
            if CATALOG[name].best != "zero"
        )
        return next(names, "")

    @property
    def requested_measures(self) -> list[str]:
        """The requested measures with TAR, and cost and benefit."""
        measures = self.result.parameters.get("measure") or ()
        names = ("tar", *measures) if measures else ()
        return [
            name
            for name in self.available_measures
            if name in names or "stakes" in CATALOG[name].takes
        ]

    @property
    def has_intervals(self) -> bool:
        """Whether differences of models have intervals."""
        return has_sample(self.result) and self.result.parameters.get("interval") != "none"

    @property
    def sliced(self) -> bool:
        """Whether there are slices."""
        return any(row["slice"] is not None for row in self.result.tables["models"])

    @property
    def winner_rows(self) -> dict[Cell, Row]:
        """The row of `winners` of the whole table by odds, at the odds all models share."""
        rows = self.result.tables.get("winners", ())
        sweep_first = sorted(rows, key=lambda row: row["population"] != "sweep")
        odds = {row["odds"] for row in comparable_rows(self.result.tables["models"])}
        return {
            row["odds"]: row for row in sweep_first if row["slice"] is None and row["odds"] in odds
        }

    def prevalence_title(self, row: Row) -> str:
        """Return the prevalence of a row for a title."""
        share = format_prevalence(row["prevalence"])
        if row["population"] == "sample":
            return f"at the prevalence of these rows ({share})"
        return f"at prevalence {share} ({format_odds(row)})"

    def who(self, *, model: bool = True) -> dict[str, Source]:
        """Return the columns of slice and model."""
        names = [*(["slice"] if self.sliced else []), *(["model"] if model else [])]
        return {name: name for name in names}

    @property
    def measure_column(self) -> dict[str, Source]:
        """Return the column of the measure."""
        return {"measure": lambda row: self.title(row["measure"])}

    def measures(self, measures: Sequence[str], **heads: str) -> dict[str, Source]:
        """Return the columns of those measures that the result has; heads: short headings."""
        available = self.available_measures
        names = (name for name in measures if name in available)
        return {heads.get(n, f"{self.title(n)} {CATALOG[n].arrow}"): n for n in names}

    def table(
        self,
        table: str,
        title: str,
        columns: Mapping[str, Source],
        rows: Sequence[Row] | None = None,
        **fields: Any,
    ) -> TableView:
        """Return a view of rows of a table, with more digits where they are close to 0 or 1.

        fields: further ones of the `TableView`.
        """
        fields = {"write": formatting.format_close, **fields}
        return TableView(table, title, columns, rows, **fields)

    def swept(self, table: str) -> Sequence[Row]:
        """Return the rows of a table that are of swept odds: they are of no slice."""
        rows = self.result.tables.get(table, ())
        rows = rows.first if isinstance(rows, RowsBySlice) else rows
        return rows_where(rows, "population", "sweep")


def format_population(row: Row) -> str:
    """Return a row's population as text: odds, prevalence, and whether it is the sample's."""
    kind = "sample " if row.get("population") == "sample" else ""
    return f"{kind}{format_odds(row)} ({format_prevalence(row['prevalence'])})"


def format_odds(row: CellsByColumn) -> str:
    """Return the odds as text; a sample without one of the classes has none."""
    return ABSENT if row["odds"] is None else formatting.format_class_ratio(row["odds"])


def format_prevalence(share: Cell) -> str:
    """Return a prevalence as text, with three digits or as it was given."""
    return formatting.format_share(share) if isinstance(share, float) else format_exact(share)


def format_some_names(names: Sequence[str]) -> str:
    """Return the names of some models, and the number of the rest."""
    omitted_count = len(names) - MAX_NAMES
    return ", ".join(map(formatting.quote_if_ambiguous, names[:MAX_NAMES])) + (
        f" and {omitted_count} more" if omitted_count > 0 else ""
    )


def has_sample(result: Document) -> bool:
    """Return whether rows were counted, so that there is a sample."""
    return any(row["population"] == "sample" for row in result.tables["models"])


def describe_costs(result: Document) -> str:
    """Return the costs of errors and the benefits of correct predictions as text."""
    cost: Mapping[str, Any] = result.parameters.get("cost") or {}
    phrase_of_outcome = {
        "fp": "a false positive costs",
        "fn": "a false negative costs",
        "tp": "a true positive brings",
        "tn": "a true negative brings",
    }
    return ", ".join(
        f"{phrase} {cost[outcome]:g}"
        for outcome, phrase in phrase_of_outcome.items()
        if cost.get(outcome) or (outcome in cost and outcome in ("fp", "fn"))
    )


MIN_ROWS = 3  # of each target
HEADING_OF_MEASURE = {
    "sensitivity": "sens. ↑",
    "specificity": "spec. ↑",
    "expected_cost": "expected\ncost ↓",
    "net_benefit": "net\nbenefit ↑",
}
EXPLAINED_MEASURES = ("tar", "ic", "net_benefit")


def main_table(context: TableContext) -> TableView:
    """Return the main table: one line per model and target, the best first."""
    rows = comparable_rows(context.result.tables["models"])
    lead_measure = context.sort_measure
    sorted_rows = sorted(rows, key=lambda row: _best_first_key(row, lead_measure))
    rows_by_odds = [
        [row for row in sorted_rows if row["odds"] == odds]
        for odds in dict.fromkeys(row["odds"] for row in rows)
    ]
    has_several_targets = len(rows_by_odds) > 1
    max_rows = max(MIN_ROWS, MAX_ROWS // len(rows_by_odds))
    rows_to_show = [row for rows_of_odds in rows_by_odds for row in rows_of_odds[:max_rows]]
    thresholds = list(dict.fromkeys(row["threshold"] for row in rows))
    columns: dict[str, Source] = {
        "model": "model",
        **({"prevalence": "prevalence"} if has_several_targets else {}),
        **({"threshold": "threshold"} if len(thresholds) > 1 else {}),
        **context.measures(list(dict.fromkeys([lead_measure, *MAIN])), **HEADING_OF_MEASURE),
        **({"alarms\n/ case": _alarms_per_case} if "ppv" in context.available_measures else {}),
        **context.measures(context.requested_measures, **HEADING_OF_MEASURE),
    }
    return context.table(
        "models",
        _main_title(context, rows, several_targets=has_several_targets),
        columns,
        rows_to_show,
        most=None,
        total=len(rows),
        rest_hint=f"{OPTION}--format csv{END}",
        rank="main",
        lead=lead_measure,
        legend=EXPLAINED_MEASURES,
        words=_main_meanings(context, rows),
        places=(
            [_best_or_tied_sign(context, row, rows_by_odds) for row in rows_to_show]
            if has_several_targets
            else None
        ),
    )


def _main_title(context: TableContext, rows: Sequence[Row], *, several_targets: bool) -> str:
    """Return the title of the main table, with the measure that sorts it and what all share."""
    population_clause = "at each target" if several_targets else context.prevalence_title(rows[0])
    thresholds = list(dict.fromkeys(row["threshold"] for row in rows))
    if thresholds != [None] and len(thresholds) == 1:
        population_clause += f", threshold {format_exact(thresholds[0])}"
    if len({row["model"] for row in rows}) == 1:
        return f"Model {population_clause}"
    lead_measure = context.sort_measure
    return (
        f"Models by {context.heading(lead_measure)} {population_clause}"
        if lead_measure
        else f"Models {population_clause}"
    )


def _main_meanings(context: TableContext, rows: Sequence[Row]) -> dict[str, str]:
    """Return the meanings of columns of the main table that depend on costs and prevalences."""
    meaning_of_column = {}
    if context.sort_measure in ("expected_cost", "net_benefit"):
        meaning_of_column[context.sort_measure] = f"per row; {describe_costs(context.result)}"
    if costs := context.result.parameters.get("cost"):
        threshold = formatting.format_share(OutcomeCosts(**costs).probability)
        meaning_of_column.setdefault(
            "net_benefit", f"(TP - FP × t / (1 - t)) / rows, t = {threshold} (from the costs)"
        )
    note = majority_class_note([row["prevalence"] for row in rows])
    meaning_of_column["tar"] = "; ".join(filter(None, ["accuracy", note]))
    return meaning_of_column


def _alarms_per_case(row: Row) -> Estimate:
    """Return how many rows are predicted positive for each true positive."""
    ppv = as_estimate(row["ppv"])
    return Estimate(1 / ppv.value) if ppv.value else Estimate(None, reason=ppv.reason or "infinite")


def _best_first_key(row: Row, lead_measure: str) -> tuple[bool, float]:
    """Return a sort key, the best value first, undefined values last."""
    value = sort_value(row.get(lead_measure))
    sign = 1 if CATALOG[lead_measure].best == "min" else -1
    return value is None, (value or 0.0) * sign


def _best_or_tied_sign(
    context: TableContext, row: Row, rows_by_odds: Sequence[Sequence[Row]]
) -> Sign:
    """Return the sign of a model that is the best at a target, or tied with it, else none."""
    winner_row = context.winner_rows.get(row["odds"])
    if winner_row is None or winner_row["leader"] is None:
        return ""
    rows_of_odds = next(
        rows_of_odds for rows_of_odds in rows_by_odds if rows_of_odds[0]["odds"] == row["odds"]
    )
    leader_row = next(
        model_row for model_row in rows_of_odds if model_row["model"] == winner_row["leader"]
    )
    value = sort_value(row.get(context.compared))
    if row is leader_row or (
        value is not None and value == sort_value(leader_row.get(context.compared))
    ):
        return "best"
    tied_models = winner_row["tied"] if context.has_intervals else None
    return "equal" if isinstance(tied_models, list) and row["model"] in tied_models else ""


def slice_table(context: TableContext, main: TableView) -> Iterator[TableView]:
    """Yield the table of the best model of each slice, or of the measures of the only model."""
    if not context.sliced:
        return
    has_winners = "winners" in context.result.tables
    table = "winners" if has_winners else "models"
    slice_rows = [row for row in context.result.tables[table] if row["slice"] is not None]
    population = "target" if any(row["population"] == "target" for row in slice_rows) else "sample"
    rows = [row for row in slice_rows if row["population"] == population]
    columns: dict[str, Source] = {"slice": "slice", "prevalence": "prevalence"}
    title = "Results by slice"
    lead = main.lead
    if has_winners:
        title = "Best model of each slice"
        lead = "value"
        columns |= {"best model": "leader", context.title(context.compared): lead}
        columns |= {"tied with\nthe best": _tied_count} if context.has_intervals else {}
    else:
        columns |= context.measures([lead, *MAIN], **HEADING_OF_MEASURE)
    yield context.table(
        table,
        title,
        columns,
        rows,
        most=MAX_ROWS,
        rest_hint=f"{OPTION}--format csv --show {table}{END}",
        rank="asked",
        name="slices",
        lead=lead,
        right=("tied with\nthe best",),
    )


def _tied_count(row: Row) -> str:
    """Return the number of models of a slice that are tied with its best one."""
    tied_models = row["tied"] if isinstance(row["tied"], list) else []
    return (
        "none" if row["winner"] is not None else formatting.format_count(len(tied_models), "other")
    )


def leading_order(result: Document) -> Mapping[str, int]:
    """Return the models sorted by how they lead: at the targets, then over the sweep."""
    context = TableContext(result)
    winner_rows = [row for row in result.tables.get("winners", ()) if row["slice"] is None]
    leaders = [cell_text(row["leader"]) for row in winner_rows if row["leader"] is not None]
    target_leaders = [
        cell_text(row["leader"])
        for row in context.winner_rows.values()
        if row["leader"] is not None
    ]
    sorted_leaders = sorted(dict.fromkeys(leaders), key=lambda name: -leaders.count(name))
    names = [row["model"] for row in result.unsliced_rows("models")]
    ranked_models = dict.fromkeys((*target_leaders, *sorted_leaders, *names))
    return {name: rank for rank, name in enumerate(ranked_models)}
