"""The tables of mlcps in reading order, of the best models of a ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from heapq import nsmallest
from math import inf
from typing import Any

from clfeval.document import Document
from clfeval.document.cells import Cell, Row, Rows, as_row, cell_value
from clfeval.document.rows import LazyRows
from clfeval.formatting import format_close, format_count, join_names
from clfeval.pages.schema import Source, TableView
from clfeval.pages.table_parts import ABSENT, ARROWS, difference_tables, draw_bar, format_cell
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

MAX_MODELS = 20  # models on a screen; files have all
MAX_METRIC_ROWS = 60  # rows of tables of metrics
TITLE_OF_SCORE = {
    "mlcps": "MLcps",
    "order_free": "order-free",
    "lowest": "lowest",
    "highest": "highest",
    "mean": "mean",
    "sd": "SD",
    "desirability": "D",
}


@dataclass(frozen=True, slots=True)
class BestModels:
    """The best models of a result: their indices in its tables and their rows."""

    result: Document
    indices: tuple[int, ...]
    rows: tuple[Row, ...]

    @classmethod
    def from_result(cls, result: Document, most: int = MAX_MODELS) -> BestModels:
        """Return the best models by rank, then by table order; models without rank are last."""
        ranks = result.tables["ranks"]
        score = result.parameters["ranked_by"]
        columns = ranks.columns if isinstance(ranks, LazyRows) else {}  # without making rows
        score_ranks = columns[score] if score in columns else (row[score] for row in ranks)
        rank_and_index = (
            (rank if isinstance(rank, int) else inf, index)
            for index, rank in enumerate(score_ranks)
        )
        indices = tuple(index for _, index in nsmallest(most, rank_and_index))
        return cls(result, indices, tuple(result.tables["models"][index] for index in indices))

    def head(self, most: int) -> BestModels:
        """Return the first of the best models."""
        return BestModels(self.result, self.indices[:most], self.rows[:most])

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(row["model"] for row in self.rows)

    @property
    def by_desirability(self) -> bool:
        """True where desirability ranks them."""
        return bool(self.result.parameters["ranked_by"] == "desirability")

    def of_table(self, name: str) -> list[list[Row]]:
        """Return the rows of each model in a table with equally many rows for every model."""
        table = self.result.tables[name]
        rows_per_model = len(table) // len(self.result.tables["models"])
        return [
            list(table[index * rows_per_model : (index + 1) * rows_per_model])
            for index in self.indices
        ]

    def rows_in(self, table: Rows) -> list[Row]:
        """Return the models' rows of a table that has at most one for each, in any order."""
        row_of_model = {row["model"]: row for row in table}
        return [row_of_model[name] for name in self.names if name in row_of_model]

    def table(
        self,
        name: str,
        title: str,
        columns: Mapping[str, Source],
        rows: Sequence[Row] | None = None,
        /,
        **fields: Any,
    ) -> TableView:
        """Return a table of the models' rows, or of other rows; fields: of the `TableView`."""
        rows = self.rows if rows is None else rows
        defaults: dict[str, Any] = {}
        if name in ("models", "ranks", "weights", "desirability", "compared"):
            # the models that are not among the best count too, whichever of these are shown
            defaults["total"] = len(rows) + len(self.result.tables["models"]) - len(self.rows)
        if name == "models":
            defaults["rest_hint"] = f"{OPTION}--format csv{END}"
        return TableView(name, title, columns, rows, **{**defaults, **fields})


def format_names(cell: Cell) -> str:
    """Return the names in a cell as one text, in which commas of names cannot mislead."""
    return join_names(cell) if isinstance(cell, list) and cell else ABSENT


MAX_COLUMNS = 24  # metrics side by side
DEALBREAKER_SIGN = "✗"


def requested_tables(best_models: BestModels, digits: int) -> Iterator[TableView]:
    """Yield the tables of options, in reading order."""
    tables = best_models.result.tables
    parameters = best_models.result.parameters
    if tables.get("weights"):
        columns: dict[str, Source] = {
            "model": "model",
            "bar": lambda row: draw_bar(cell_value(row.get("share"))),
            "share": "share",
            "order-free\nshare": "share_order_free",
        }
        title = f"Share of first ranks under random weights ({parameters['draws']:,} weightings)"
        yield best_models.table(
            "weights",
            title,
            columns,
            [row for (row,) in best_models.of_table("weights")],
            right=["bar"],
            rank="asked",
            lead="share",
            legend=("share", "share_order_free"),
        )
    if tables.get("desirability"):
        yield _desirability_table(best_models, digits)
        columns = {"metric": "metric", "goal": "goal", "weight": _format_weight}
        goals = best_models.of_table("desirability")[0]
        yield best_models.table(
            "desirability",
            "Desirability goals",
            columns,
            goals,
            right=["weight"],
            total=None,
            name="goals",
        )
    if tables.get("compared"):
        columns = {
            "model": "model",
            "here": "here",
            "there": "there",
            "rank here": "rank_here",
            "rank there": "rank_there",
            "rank change": _format_rank_change,
        }
        score_title = TITLE_OF_SCORE[str(parameters["ranked_by"])]
        title = f"Models in {parameters['compare']} by {score_title}"
        rows = best_models.rows_in(tables["compared"])
        yield best_models.table("compared", title, columns, rows, rank="asked")
    if agreement_rows := [*tables.get("agreement", ())]:
        yield _agreement_table(best_models, agreement_rows)


def _agreement_table(best_models: BestModels, rows: Sequence[Row]) -> TableView:
    """Return the table of how far the ranks of two tables agree, by each score."""
    columns: dict[str, Source] = {
        "score": lambda row: TITLE_OF_SCORE.get(row["measure"], row["measure"]),
        "Kendall τ": "kendall",
        "Spearman ρ": "spearman",
        "first here": lambda row: format_names(row["top_here"]),
        "first there": lambda row: (
            "the same" if row["same_top"] else format_names(row["top_there"])
        ),
    }
    models_phrase = format_count(int(str(rows[0]["models"])), "model")
    title = f"Agreement with {best_models.result.parameters['compare']} on {models_phrase}"
    return best_models.table("agreement", title, columns, rows, rank="asked")


def _desirability_table(best_models: BestModels, digits: int) -> TableView:
    """Return the table of desirabilities, models by metrics, with dealbreakers marked."""
    rows_of_models = best_models.of_table("desirability")
    metrics = [row["metric"] for row in rows_of_models[0]]
    rows = []
    for row, metric_rows in zip(best_models.rows, rows_of_models, strict=True):
        cells = {"model": row["model"], "D": format_cell(row["desirability"], digits)}
        for metric_row in metric_rows:
            mark = f"{DEALBREAKER_SIGN} " if metric_row["dealbreaker"] else ""
            cells[f"d of\n{metric_row['metric']}"] = mark + format_cell(metric_row["d"], digits)
        rows.append(as_row(cells))
    right_headings = ["D", *(f"d of\n{metric}" for metric in metrics[:MAX_COLUMNS])]
    columns: dict[str, Source] = {head: head for head in ("model", *right_headings)}
    notes = []
    fields = {}
    if len(metrics) > MAX_COLUMNS:
        omission_phrase = f"{format_count(len(metrics) - MAX_COLUMNS, 'more metric')}, all: "
        notes.append(f"{omission_phrase}{OPTION}--format csv --show desirability{END}")
        fields["total"] = 0
    if any(DEALBREAKER_SIGN in str(cell) for row in rows for cell in row.values()):
        notes.append(f"{DEALBREAKER_SIGN} unacceptable: d = 0 makes D = 0")
    return best_models.table(
        "desirability",
        "Desirability of each value, 0 to 1",
        columns,
        rows,
        note="; ".join(notes),
        right=right_headings,
        rank="asked",
        **fields,
    )


def _format_weight(row: Row) -> str:
    return f"{row['weight']:g}"


def _format_rank_change(row: Row) -> str:
    rank_change = row["moved"]
    if not isinstance(rank_change, int):
        return ABSENT
    return (
        f"{abs(rank_change)} {'lower' if rank_change > 0 else 'higher'}"
        if rank_change
        else "the same"
    )


UNKNOWN_SIGN = "?"


def format_range(limits: Sequence[object]) -> str:
    """Return a range as `-1 to 1`."""
    return " to ".join(f"{limit:g}" for limit in limits)


def page_tables(result: Document, digits: int) -> Iterator[TableView]:
    """Yield the tables in reading order: those of options, then those of every ranking."""
    best_models = BestModels.from_result(result)
    tables = result.tables
    yield from requested_tables(best_models, digits)
    yield from difference_tables(result)
    yield _ranking_table(best_models)
    yield _stability_table(best_models)
    if result.summary["models"] > 1:
        yield _ranks_table(best_models)
    columns: dict[str, Source]
    if metric_rows := [*tables["metrics"]]:
        ray_names = result.parameters["metrics"]
        columns = {
            "ray": lambda row: str(ray_names.index(row["metric"]) + 1),
            "metric": lambda row: f"{row['metric']} {ARROWS[str(row['direction'])]}",
            "scale": lambda row: (
                "unchanged" if row["low"] is None else format_range([row["low"], row["high"]])
            ),
            "weight": _format_weight,
            "minimum": "least",
            "average": "average",
            "maximum": "most",
        }
        yield best_models.table(
            "metrics",
            "Metrics in the order of their rays",
            columns,
            metric_rows,
            right=["ray", "scale", "weight"],
            write=format_close,
        )
    if redundant_rows := tables.get("redundant"):
        columns = {"first": "first", "second": "second", "why": "why", "reason": "note"}
        yield best_models.table("redundant", "Redundant metrics", columns, redundant_rows)
    yield from _influence_table(best_models)
    if dominated_rows := tables.get("dominance"):
        columns = {"model": "model", "dominated by": lambda row: format_names(row["dominated_by"])}
        yield best_models.table(
            "dominance",
            "Dominated models (not on the Pareto front)",
            columns,
            best_models.rows_in(dominated_rows),
            total=len(dominated_rows),
        )
    if "split_mean" in best_models.rows[0] and len(tables.get("splits", ())):
        columns = {
            "model": "model",
            "mean MLcps ↑": "split_mean",
            "SD": "split_sd",
            "splits won": "split_wins",
        }
        title = f"MLcps over {len(tables['splits']) // len(tables['models'])} splits"
        note = f"each split: {OPTION}--format csv --show splits{END}"
        yield best_models.table("models", title, columns, note=note, name="splits")


def _ranking_table(best_models: BestModels) -> TableView:
    """Return the ranking: one line per model, best first, with a bar of the score that ranks."""
    first_row = best_models.rows[0]
    by_desirability = best_models.by_desirability
    score = "desirability" if by_desirability else "normalised"
    has_dealbreakers = any(row.get("dealbreakers") for row in best_models.rows)
    columns: dict[str, Source] = {
        "model": "model",
        "rank": lambda row: format_cell(row["rank"]),
        **({"D ↑": "desirability"} if by_desirability else {}),
        **({"metrics\nwith d = 0": _dealbreaker_count} if has_dealbreakers else {}),
        "MLcps ↑": "mlcps",
        "normalised ↑": "normalised",
        **({"first in\nbootstrap": "first"} if "first" in first_row else {}),
        **({"splits\nwon": "split_wins"} if "split_wins" in first_row else {}),
        "mean ↑": "mean",
        "Pareto\nfront": "pareto",
        "bar": lambda row: draw_bar(cell_value(row.get(score))),
    }
    title = "Models by desirability (D)" if by_desirability else "Models by MLcps"
    resamples = best_models.result.parameters["resamples"]
    note = f"bootstrap: {resamples:,} paired resamples of the rows" if resamples else ""
    return best_models.table(
        "models",
        title,
        columns,
        right=["rank", "bar"],
        rank="main",
        note=note,
        lead="desirability" if by_desirability else "mlcps",
        legend=("mlcps", "desirability", "metrics with d = 0"),
    )


def _dealbreaker_count(row: Row) -> int:
    dealbreakers = row["dealbreakers"]
    return len(dealbreakers) if isinstance(dealbreakers, list) else 0


def _stability_table(best_models: BestModels) -> TableView:
    """Return the table of each model in other orders of the metrics, its mean, the Pareto front."""
    has_polygon = best_models.result.parameters["orders"] is not None
    ranks_over_orders = {
        row["model"]: dict.fromkeys((row["best_over_orders"], row["worst_over_orders"]))
        for (row,) in best_models.of_table("ranks")
    }
    columns: dict[str, Source] = {"model": "model"}
    if has_polygon:
        columns |= {"order-free\n↑": "order_free", "lowest\n↑": "lowest", "highest\n↑": "highest"}
    columns |= {"mean\n↑": "mean", "SD": "sd"}
    if has_polygon:
        columns["ranks"] = lambda row: "-".join(map(str, ranks_over_orders[row["model"]]))
    columns["Pareto\nfront"] = lambda row: (
        "yes" if row["pareto"] else f"no: {row['dominated_by']} dominates"
    )
    if any(row.get("dealbreakers") for row in best_models.rows):
        columns["dealbreakers"] = lambda row: format_names(row["dealbreakers"])
    title = "Stability of MLcps"
    title += " (the ranking is by D)" if best_models.by_desirability else ""
    note = ""
    if best_models.result.parameters["from"] == "metrics":
        note = "sampling error is not included: a table of metrics does not show it"
    return best_models.table(
        "models",
        title,
        columns,
        right=["ranks"],
        name="firm",
        note=note,
        legend=("order_free", "ranks"),
    )


def _ranks_table(best_models: BestModels) -> TableView:
    """Return the table of ranks by every score, and of what they depend on."""
    rows = [row for (row,) in best_models.of_table("ranks")]
    scores = [name for name in TITLE_OF_SCORE if any(row.get(name) is not None for row in rows)]
    columns: dict[str, Source] = {
        "model": "model",
        **{TITLE_OF_SCORE[name]: name for name in scores},
    }
    notes = []

    def dependence(row: Row, name: str) -> str:
        return UNKNOWN_SIGN if row[name] is None else format_cell(row[name])

    dependence_columns = (
        ("depends\non order", "order_dependent", "the order of the metrics"),
        ("depends on\nweights", "weight_dependent", "the weights"),
    )
    for head, name, subject in (
        dependence_columns if best_models.result.parameters["orders"] else ()
    ):
        known_rows = [row for row in rows if row[name] is not None]
        if known_rows:
            columns[head] = partial(dependence, name=name)
        if len(known_rows) < len(rows):
            notes.append(
                f"{f'{UNKNOWN_SIGN}: ' if known_rows else ''}unknown if ranks depend on {subject}"
            )
    return best_models.table(
        "ranks", "Rank by each score", columns, rows, note="; ".join(notes), legend=["sd"]
    )


def _influence_table(best_models: BestModels) -> Iterator[TableView]:
    """Yield the table of metrics without which, or at whose double weight, ranks change."""
    metrics = [
        row for row in best_models.result.tables["metrics"] if row["winner_doubled"] is not None
    ]
    if best_models.result.summary["models"] < 2 or not metrics:
        return
    # the first model by MLcps, named as in the metrics table: of ties the first, and their number
    names = [row["model"] for (row,) in best_models.of_table("ranks") if row["mlcps"] == 1]
    if not best_models.by_desirability:
        names = list(best_models.result.summary["best"])
    current_winner = names[0] if names else None
    if len(names) > 1:
        current_winner = f"{names[0]} (and {len(names) - 1} more)"
    rows = [
        row
        for row in metrics
        if row["moved_without"]
        or row["moved_doubled"]
        or any(
            row[f"winner_{change}"] not in (None, current_winner)
            for change in ("without", "doubled")
        )
    ]
    title = "Influence of single metrics on MLcps"
    if not rows:
        no_change_row = as_row({"what": "no model changes its rank"})
        yield best_models.table(
            "metrics", title, {"result": "what"}, [no_change_row], name="changes"
        )
        return

    def format_winner(row: Row, change: str) -> str:
        name = row[f"winner_{change}"]
        return f"{name}, unchanged" if name == current_winner else format_cell(name)

    columns: dict[str, Source] = {
        "metric": "metric",
        "first without it": partial(format_winner, change="without"),
        "ranks\nchanged": "moved_without",
        "first at double weight": partial(format_winner, change="doubled"),
        "ranks\nchanged ": "moved_doubled",
    }
    without_change = len(metrics) - len(rows)
    notes = []
    if without_change:
        notes.append(f"{format_count(without_change, 'more metric')}: no rank changes")
    if any(row["winner_without"] is None for row in rows[:MAX_METRIC_ROWS]):
        notes.append(f"{ABSENT} fewer than 3 metrics would be left")
    yield best_models.table("metrics", title, columns, rows, note="; ".join(notes), name="changes")
