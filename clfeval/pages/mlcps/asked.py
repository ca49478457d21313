"""Tables of a ranking that options request: random weights, desirability, another table."""

from __future__ import annotations

from collections.abc import Iterator

from clfeval.document import Row, cell_value
from clfeval.pages.mlcps.best import SCORES, BestModels, format_names
from clfeval.pages.write import ABSENT, draw_bar, format_cell
from clfeval.schema import Source, TableView
from clfeval.words import format_count

MATRIX = 24  # metrics side by side
BREAKER = "✗"


def requested_tables(best: BestModels, digits: int) -> Iterator[TableView]:
    """Yield them in reading order."""
    tables = best.result.tables
    if tables.get("weights"):
        yield _weights_table(best)
    if tables.get("desirability"):
        yield _desirability_table(best, digits)
        yield _goals_table(best)
    if tables.get("compared"):
        yield _compared_table(best)
    if tables.get("agreement"):
        yield _agreement_table(best)


def _weights_table(best: BestModels) -> TableView:
    columns: dict[str, Source] = {
        "model": "model", "bar": lambda row: draw_bar(cell_value(row.get("share"))),
        "share": "share",
        "order-free\nshare": "share_order_free",
    }  # fmt: skip
    draws = best.result.parameters["draws"]
    title = f"Share of first ranks under random weights ({draws:,} weightings)"
    rows = [row for (row,) in best.of_table("weights")]
    return best.table(
        "weights", title, columns, rows, right=["bar"], rank="asked", lead="share",
        legend=("share", "share_order_free"),
    )  # fmt: skip


def _goals_table(best: BestModels) -> TableView:
    wanted = best.of_table("desirability")[0]
    columns: dict[str, Source] = {
        "metric": "metric", "goal": "goal", "weight": lambda row: f"{row['weight']:g}",
    }  # fmt: skip
    title, right = "Desirability goals", ["weight"]
    return best.table("desirability", title, columns, wanted, right=right, total=None, name="goals")


def _desirability_table(best: BestModels, digits: int) -> TableView:
    """Show desirabilities as models by metrics, with dealbreakers marked."""
    blocks = best.of_table("desirability")
    metrics = [str(row["metric"]) for row in blocks[0]]
    rows = [
        {"model": str(row["model"]), "D": format_cell(row["desirability"], digits), **{
            f"d of\n{one['metric']}": f"{BREAKER} " * bool(one["dealbreaker"])
            + format_cell(one["d"], digits) for one in there
        }}
        for row, there in zip(best.rows, blocks, strict=True)
    ]  # fmt: skip
    right = ["D", *(f"d of\n{metric}" for metric in metrics[:MATRIX])]
    columns: dict[str, Source] = {head: head for head in ("model", *right)}
    broken = any(BREAKER in cell for row in rows for cell in row.values())
    notes = [f"{BREAKER} unacceptable: d = 0 makes D = 0"] if broken else []
    more = {}
    if len(metrics) > MATRIX:
        left = f"{format_count(len(metrics) - MATRIX, 'more metric')}, all: "
        notes.insert(0, f"{left}--format csv --show desirability")
        more = {"total": 0}
    title, note = "Desirability of each value, 0 to 1", "; ".join(notes)
    return best.table(
        "desirability", title, columns, rows, note=note, right=right, rank="asked", **more
    )


def _compared_table(best: BestModels) -> TableView:
    columns: dict[str, Source] = {
        "model": "model", "here": "here", "there": "there", "rank here": "rank_here",
        "rank there": "rank_there", "rank change": _rank_change,
    }  # fmt: skip
    rows = best.found_in(best.result.tables["compared"])
    title = f"Models in {best.result.parameters['compare']} by {best.score}"
    return best.table("compared", title, columns, rows, rank="asked")


def _agreement_table(best: BestModels) -> TableView:
    rows = best.result.tables["agreement"]
    columns: dict[str, Source] = {
        "score": lambda row: SCORES.get(str(row["measure"]), str(row["measure"])),
        "Kendall τ": "kendall", "Spearman ρ": "spearman",
        "first here": lambda row: format_names(row["top_here"]),
        "first there": lambda row: "the same" if row["same_top"] else format_names(
            row["top_there"]),
    }  # fmt: skip
    models = format_count(int(str(rows[0]["models"])), "model")
    title = f"Agreement with {best.result.parameters['compare']} on {models}"
    return best.table("agreement", title, columns, rows, rank="asked")


def _rank_change(row: Row) -> str:
    moved = row["moved"]
    if not isinstance(moved, int):
        return ABSENT
    return f"{abs(moved)} {'lower' if moved > 0 else 'higher'}" if moved else "the same"
