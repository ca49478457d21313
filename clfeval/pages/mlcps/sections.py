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

BEST = 20  # models on a screen; files have all
MAX_METRIC_ROWS = 60  # rows of tables of metrics
SCORES = {
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
    places: tuple[int, ...]
    rows: tuple[Row, ...]

    @classmethod
    def from_result(cls, result: Document, most: int = BEST) -> BestModels:
        """Return the best models by rank, then by table order; models without rank are last."""
        ranks = result.tables["ranks"]
        score = result.parameters["ranked_by"]
        columns = ranks.columns if isinstance(ranks, LazyRows) else {}  # without making rows
        column = columns[score] if score in columns else (row[score] for row in ranks)
        order = ((rank if isinstance(rank, int) else inf, i) for i, rank in enumerate(column))
        places = tuple(i for _, i in nsmallest(most, order))
        return cls(result, places, tuple(result.tables["models"][i] for i in places))

    def head(self, most: int) -> BestModels:
        """Return the first of the best models."""
        return BestModels(self.result, self.places[:most], self.rows[:most])

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
        size = len(table) // len(self.result.tables["models"])
        return [list(table[i * size : (i + 1) * size]) for i in self.places]

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


MATRIX = 24  # metrics side by side
BREAKER = "✗"


def requested_tables(best: BestModels, digits: int) -> Iterator[TableView]:
    """Yield the tables of options, in reading order."""
    tables = best.result.tables
    parameters = best.result.parameters
    if tables.get("weights"):
        columns: dict[str, Source] = {
            "model": "model",
            "bar": lambda row: draw_bar(cell_value(row.get("share"))),
            "share": "share",
            "order-free\nshare": "share_order_free",
        }
        title = f"Share of first ranks under random weights ({parameters['draws']:,} weightings)"
        yield best.table(
            "weights",
            title,
            columns,
            [row for (row,) in best.of_table("weights")],
            right=["bar"],
            rank="asked",
            lead="share",
            legend=("share", "share_order_free"),
        )
    if tables.get("desirability"):
        yield _desirability_table(best, digits)
        columns = {"metric": "metric", "goal": "goal", "weight": _format_weight}
        goals = best.of_table("desirability")[0]
        yield best.table(
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
        title = f"Models in {parameters['compare']} by {SCORES[str(parameters['ranked_by'])]}"
        rows = best.rows_in(tables["compared"])
        yield best.table("compared", title, columns, rows, rank="asked")
    if rows := [*tables.get("agreement", ())]:
        columns = {
            "score": lambda row: SCORES.get(row["measure"], row["measure"]),
            "Kendall τ": "kendall",
            "Spearman ρ": "spearman",
            "first here": lambda row: format_names(row["top_here"]),
            "first there": lambda row: (
                "the same" if row["same_top"] else format_names(row["top_there"])
            ),
        }
        models = format_count(int(str(rows[0]["models"])), "model")
        title = f"Agreement with {parameters['compare']} on {models}"
        yield best.table("agreement", title, columns, rows, rank="asked")


def _desirability_table(best: BestModels, digits: int) -> TableView:
    """Return the table of desirabilities, models by metrics, with dealbreakers marked."""
    blocks = best.of_table("desirability")
    metrics = [row["metric"] for row in blocks[0]]
    rows = []
    for row, block in zip(best.rows, blocks, strict=True):
        cells = {"model": row["model"], "D": format_cell(row["desirability"], digits)}
        for metric_row in block:
            mark = f"{BREAKER} " if metric_row["dealbreaker"] else ""
            cells[f"d of\n{metric_row['metric']}"] = mark + format_cell(metric_row["d"], digits)
        rows.append(as_row(cells))
    right = ["D", *(f"d of\n{metric}" for metric in metrics[:MATRIX])]
    columns: dict[str, Source] = {head: head for head in ("model", *right)}
    notes = []
    fields = {}
    if len(metrics) > MATRIX:
        left = f"{format_count(len(metrics) - MATRIX, 'more metric')}, all: "
        notes.append(f"{left}{OPTION}--format csv --show desirability{END}")
        fields["total"] = 0
    if any(BREAKER in str(cell) for row in rows for cell in row.values()):
        notes.append(f"{BREAKER} unacceptable: d = 0 makes D = 0")
    return best.table(
        "desirability",
        "Desirability of each value, 0 to 1",
        columns,
        rows,
        note="; ".join(notes),
        right=right,
        rank="asked",
        **fields,
    )


def _format_weight(row: Row) -> str:
    return f"{row['weight']:g}"


def _format_rank_change(row: Row) -> str:
    ranks = row["moved"]
    if not isinstance(ranks, int):
        return ABSENT
    return f"{abs(ranks)} {'lower' if ranks > 0 else 'higher'}" if ranks else "the same"


UNKNOWN = "?"


def format_range(limits: Sequence[object]) -> str:
    """Return a range as `-1 to 1`."""
    return " to ".join(f"{end:g}" for end in limits)


def page_tables(result: Document, digits: int) -> Iterator[TableView]:
    """Yield the tables in reading order: those of options, then those of every ranking."""
    best = BestModels.from_result(result)
    tables = result.tables
    yield from requested_tables(best, digits)
    yield from difference_tables(result)
    yield _ranking_table(best)
    yield _stability_table(best)
    if result.summary["models"] > 1:
        yield _ranks_table(best)
    columns: dict[str, Source]
    if metrics := [*tables["metrics"]]:
        rays = result.parameters["metrics"]
        columns = {
            "ray": lambda row: str(rays.index(row["metric"]) + 1),
            "metric": lambda row: f"{row['metric']} {ARROWS[str(row['direction'])]}",
            "scale": lambda row: (
                "unchanged" if row["low"] is None else format_range([row["low"], row["high"]])
            ),
            "weight": _format_weight,
            "minimum": "least",
            "average": "average",
            "maximum": "most",
        }
        yield best.table(
            "metrics",
            "Metrics in the order of their rays",
            columns,
            metrics,
            right=["ray", "scale", "weight"],
            write=format_close,
        )
    if redundant := tables.get("redundant"):
        columns = {"first": "first", "second": "second", "why": "why", "reason": "note"}
        yield best.table("redundant", "Redundant metrics", columns, redundant)
    yield from _influence_table(best)
    if dominated := tables.get("dominance"):
        columns = {"model": "model", "dominated by": lambda row: format_names(row["dominated_by"])}
        yield best.table(
            "dominance",
            "Dominated models (not on the Pareto front)",
            columns,
            best.rows_in(dominated),
            total=len(dominated),
        )
    if "split_mean" in best.rows[0] and len(tables.get("splits", ())):
        columns = {
            "model": "model",
            "mean MLcps ↑": "split_mean",
            "SD": "split_sd",
            "splits won": "split_wins",
        }
        title = f"MLcps over {len(tables['splits']) // len(tables['models'])} splits"
        note = f"each split: {OPTION}--format csv --show splits{END}"
        yield best.table("models", title, columns, note=note, name="splits")


def _ranking_table(best: BestModels) -> TableView:
    """Return the ranking: one line per model, best first, with a bar of the score that ranks."""
    first = best.rows[0]
    by_desirability = best.by_desirability
    score = "desirability" if by_desirability else "normalised"
    broken = any(row.get("dealbreakers") for row in best.rows)
    columns: dict[str, Source] = {
        "model": "model",
        "rank": lambda row: format_cell(row["rank"]),
        **({"D ↑": "desirability"} if by_desirability else {}),
        **({"metrics\nwith d = 0": _dealbreaker_count} if broken else {}),
        "MLcps ↑": "mlcps",
        "normalised ↑": "normalised",
        **({"first in\nbootstrap": "first"} if "first" in first else {}),
        **({"splits\nwon": "split_wins"} if "split_wins" in first else {}),
        "mean ↑": "mean",
        "Pareto\nfront": "pareto",
        "bar": lambda row: draw_bar(cell_value(row.get(score))),
    }
    title = "Models by desirability (D)" if by_desirability else "Models by MLcps"
    resamples = best.result.parameters["resamples"]
    note = f"bootstrap: {resamples:,} paired resamples of the rows" if resamples else ""
    return best.table(
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
    deals = row["dealbreakers"]
    return len(deals) if isinstance(deals, list) else 0


def _stability_table(best: BestModels) -> TableView:
    """Return the table of each model in other orders of the metrics, its mean, the Pareto front."""
    polygon = best.result.parameters["orders"] is not None
    ranks_over_orders = {
        row["model"]: dict.fromkeys((row["best_over_orders"], row["worst_over_orders"]))
        for (row,) in best.of_table("ranks")
    }
    columns: dict[str, Source] = {"model": "model"}
    if polygon:
        columns |= {"order-free\n↑": "order_free", "lowest\n↑": "lowest", "highest\n↑": "highest"}
    columns |= {"mean\n↑": "mean", "SD": "sd"}
    if polygon:
        columns["ranks"] = lambda row: "-".join(map(str, ranks_over_orders[row["model"]]))
    columns["Pareto\nfront"] = lambda row: (
        "yes" if row["pareto"] else f"no: {row['dominated_by']} dominates"
    )
    if any(row.get("dealbreakers") for row in best.rows):
        columns["dealbreakers"] = lambda row: format_names(row["dealbreakers"])
    title = "Stability of MLcps" + " (the ranking is by D)" * best.by_desirability
    note = ""
    if best.result.parameters["from"] == "metrics":
        note = "sampling error is not included: a table of metrics does not show it"
    return best.table(
        "models",
        title,
        columns,
        right=["ranks"],
        name="firm",
        note=note,
        legend=("order_free", "ranks"),
    )


def _ranks_table(best: BestModels) -> TableView:
    """Return the table of ranks by every score, and of what they depend on."""
    rows = [row for (row,) in best.of_table("ranks")]
    scores = [name for name in SCORES if any(row.get(name) is not None for row in rows)]
    columns: dict[str, Source] = {"model": "model", **{SCORES[name]: name for name in scores}}
    notes = []

    def dependence(row: Row, name: str) -> str:
        return UNKNOWN if row[name] is None else format_cell(row[name])

    decides = (
        ("depends\non order", "order_dependent", "the order of the metrics"),
        ("depends on\nweights", "weight_dependent", "the weights"),
    )
    for head, name, words in decides if best.result.parameters["orders"] else ():
        decided = [row for row in rows if row[name] is not None]
        if decided:
            columns[head] = partial(dependence, name=name)
        if len(decided) < len(rows):
            notes.append(f"{f'{UNKNOWN}: ' if decided else ''}unknown if ranks depend on {words}")
    return best.table(
        "ranks", "Rank by each score", columns, rows, note="; ".join(notes), legend=["sd"]
    )


def _influence_table(best: BestModels) -> Iterator[TableView]:
    metrics = [row for row in best.result.tables["metrics"] if row["winner_doubled"] is not None]
    if best.result.summary["models"] < 2 or not metrics:
        return
    # the first model by MLcps, named as in the metrics table: of ties the first, and their number
    names = [row["model"] for (row,) in best.of_table("ranks") if row["mlcps"] == 1]
    if not best.by_desirability:
        names = list(best.result.summary["best"])
    now = names[0] + f" (and {len(names) - 1} more)" * (len(names) > 1) if names else None
    rows = [
        row
        for row in metrics
        if row["moved_without"]
        or row["moved_doubled"]
        or any(row[f"winner_{word}"] not in (None, now) for word in ("without", "doubled"))
    ]
    title = "Influence of single metrics on MLcps"
    if not rows:
        none = as_row({"what": "no model changes its rank"})
        yield best.table("metrics", title, {"result": "what"}, [none], name="changes")
        return

    def first(row: Row, word: str) -> str:
        name = row[f"winner_{word}"]
        return f"{name}, unchanged" if name == now else format_cell(name)

    columns: dict[str, Source] = {
        "metric": "metric",
        "first without it": partial(first, word="without"),
        "ranks\nchanged": "moved_without",
        "first at double weight": partial(first, word="doubled"),
        "ranks\nchanged ": "moved_doubled",
    }
    without_change = len(metrics) - len(rows)
    notes = []
    if without_change:
        notes.append(f"{format_count(without_change, 'more metric')}: no rank changes")
    if any(row["winner_without"] is None for row in rows[:MAX_METRIC_ROWS]):
        notes.append(f"{ABSENT} fewer than 3 metrics would be left")
    yield best.table("metrics", title, columns, rows, note="; ".join(notes), name="changes")
