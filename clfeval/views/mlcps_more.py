"""Tables a ranking has only if asked for: splits, weights, desirability, another table's ranks."""

from __future__ import annotations

from clfeval.result import Cell, Estimate, Row
from clfeval.views.mlcps_look import LISTED, Column, Look, bar, estimate, many, named
from clfeval.views.rows import ABSENT, Section, show, value_of

BREAKER = "✗"
SIDES = ("lower", "upper")
MATRIX = 24  # metrics side by side


def more(look: Look) -> list[Section]:
    """Return what the result has of them."""
    return [*_dominance(look), *_splits(look), *_weights(look), *_dethroning(look),
            *_goals(look), *_desirability(look), *_agreement(look), *_compared(look)]  # fmt: skip


def _dominance(look: Look) -> list[Section]:
    rows = look.result.tables.get("dominance", ())
    if not rows:
        return []
    found = {str(row["model"]): row for row in rows}
    shown = [found[name] for name in look.best.names if name in found]
    measured = (
        "by every wish and metric" if "desirability" in look.result.tables else "in every metric"
    )
    columns: dict[str, Column] = {
        "model": "model",
        f"as good or better {measured}, better in one": lambda row: _names(row["dominated_by"]),
    }
    left = len(rows) - len(shown)
    more = f"{many(left, 'more row')}; all of them: --format csv --table dominance" if left else ""
    return [look.table("Dominated models, off the Pareto front", shown, columns, left_out=more)]


def _splits(look: Look) -> list[Section]:
    """Summarise the splits; the table has each."""
    rows = look.best.rows
    table = look.result.tables.get("splits", ())
    if "split_mean" not in rows[0] or not len(table):
        return []
    count = len(table) // len(look.result.tables["models"])
    columns: dict[str, Column] = {
        "model": "model", "mean MLcps ↑": "split_mean", "SD": "split_sd", "first in": "split_wins",
    }  # fmt: skip
    left = look.rest("models")
    return [look.table(f"Over the {count} splits", rows, columns, left_out=left,
                       note="each split: --format csv --table splits")]  # fmt: skip


def _weights(look: Look) -> list[Section]:
    table = look.result.tables.get("weights", ())
    if not table:
        return []
    columns: dict[str, Column] = {
        "model": "model", "bar": lambda row: bar(estimate(row, "share")), "share": "share",
        "order-free\nshare": "share_order_free", "passes the\nfirst at": _factor,
    }  # fmt: skip
    draws = look.result.parameters.get("draws")
    title = "How often each is first if weights are drawn at random"
    title += f" ({draws:,} draws)" if draws else ""
    note = (
        "share: of weights drawn evenly from all that add up to one, by MLcps and by the "
        "order-free score; ×f: where each weight w may be anything from w/f to f w, the model can "
        "pass the first"
    )
    shown, right = look.best.in_table(table), ["bar", "passes the\nfirst at"]
    return [look.table(title, shown, columns, note=note, left_out=look.rest("weights"),
                       right=right)]  # fmt: skip


def _factor(row: Row) -> str:
    cell = row["factor"]
    value = value_of(cell)
    if value is not None:
        return f"×{value:.3g}"
    reason = cell.reason if isinstance(cell, Estimate) else None
    return {"winner": "is first", "never": "never"}.get(reason or "", ABSENT)


def _dethroning(look: Look) -> list[Section]:
    """Show the weights beyond which another model is first."""
    rows = look.result.tables.get("dethroning", ())
    if not rows:
        return []

    def beyond(side: str, word: str) -> Column:
        def write(row: Row) -> str:
            value = estimate(row, side)
            return "never" if value is None else f"{word} {value:.3g}: {row[f'{side}_winner']}"

        return write

    columns: dict[str, Column] = {
        "metric": "metric", "weight": lambda row: f"{row['weight']:g}",
        "lowered alone": beyond("lower", "below"), "raised alone": beyond("upper", "above"),
    }  # fmt: skip
    note = ""
    joint = [row for row in rows if row["joint"] is not None]
    if joint:
        columns["together"] = lambda row: _weight(row["joint"])
        winner = joint[0]["joint_winner"]
        note = f"together: the smallest change of all weights that puts {winner} first"
    title = f"Weights at which another model passes {_first(look)}"
    if not joint and all(estimate(row, side) is None for row in rows for side in SIDES):
        none = {"what": "none: in this order, no weights above 0 put another model first"}
        return [look.table(title, [none], {"result": "what"})]
    return [look.table(title, rows[:LISTED], columns, note=note, right=["weight", "together"])]


def _first(look: Look) -> str:
    """Name the model the others have to pass: the first by MLcps."""
    for row in look.result.tables.get("weights", ()):
        cell = row["factor"]
        if isinstance(cell, Estimate) and cell.reason == "winner":
            return str(row["model"])
    return named(list(look.result.summary["best"]))


def _weight(cell: Cell) -> str:
    return ABSENT if cell is None else f"{float(str(cell)):.3g}"


def _goals(look: Look) -> list[Section]:
    """Say what is wanted of each metric."""
    table = look.result.tables.get("desirability", ())
    wanted = [row for row in table[:LISTED] if row["model"] == table[0]["model"]]
    columns: dict[str, Column] = {
        "metric": "metric", "goal": "goal", "weight": lambda row: f"{row['weight']:g}",
    }  # fmt: skip
    return [look.table("What is wanted", wanted, columns, right=["weight"])] if wanted else []


def _desirability(look: Look) -> list[Section]:
    """Lay the desirabilities out as models by metrics; those that break a deal are marked."""
    table = look.result.tables.get("desirability", ())
    if not table:
        return []
    blocks = look.best.blocks(table)
    metrics = [str(row["metric"]) for row in blocks[look.best.names[0]]]
    overall = {str(row["model"]): row["desirability"] for row in look.best.rows}
    rows = [
        {"model": name, "D": show(overall[name], look.digits),
         **{f"d of\n{row['metric']}": _desired(look, row) for row in there}}
        for name, there in blocks.items()
    ]  # fmt: skip
    columns: dict[str, Column] = {"model": "model", "D": "D"}
    columns |= {head: head for head in (f"d of\n{metric}" for metric in metrics[:MATRIX])}
    left = look.rest("desirability")
    if len(metrics) > MATRIX:
        left = (
            f"{many(len(metrics) - MATRIX, 'more metric')}, all: --format csv --table desirability"
        )
    note = f"{BREAKER} a dealbreaker: d = 0 makes D = 0" if any(
        BREAKER in str(cell) for row in rows for cell in row.values()) else ""  # fmt: skip
    right = [head for head in columns if head != "model"]
    return [look.table("How desirable each value is, 0 to 1", rows, columns, note=note,
                       left_out=left, right=right)]  # fmt: skip


def _desired(look: Look, row: Row) -> str:
    mark = f"{BREAKER} " if row["dealbreaker"] else ""
    return f"{mark}{show(row['d'], look.digits)}"


def _agreement(look: Look) -> list[Section]:
    rows = look.result.tables.get("agreement", ())
    if not rows:
        return []
    columns: dict[str, Column] = {
        "score": lambda row: TITLES.get(str(row["measure"]), str(row["measure"])),
        "Kendall τ": "kendall", "Spearman ρ": "spearman",
        "first here": lambda row: _names(row["top_here"]),
        "first there": lambda row: "the same" if row["same_top"] else _names(row["top_there"]),
    }  # fmt: skip
    other = look.result.parameters["compare"]
    title = f"Agreement with {other} on {many(int(str(rows[0]['models'])), 'model')}"
    return [look.table(title, rows[:LISTED], columns)]


TITLES = {"mlcps": "MLcps", "order_free": "order-free", "mean": "mean", "desirability": "D"}


def _compared(look: Look) -> list[Section]:
    table = look.result.tables.get("compared", ())
    if not table:
        return []
    found = {str(row["model"]): row for row in table}
    rows = [found[name] for name in look.best.names if name in found]
    columns: dict[str, Column] = {
        "model": "model", "here": "here", "there": "there", "rank here": "rank_here",
        "rank there": "rank_there", "there it stands": _move,
    }  # fmt: skip
    return [look.table(f"The models in {look.result.parameters['compare']}", rows, columns,
                       left_out=look.rest("compared"))]  # fmt: skip


def _move(row: Row) -> str:
    moved = row["moved"]
    if not isinstance(moved, int):
        return ABSENT
    return f"{abs(moved)} {'lower' if moved > 0 else 'higher'}" if moved else "the same"


def _names(cell: Cell) -> str:
    return named(cell) if isinstance(cell, list) and cell else ABSENT
