"""The ranking as tables: scores and bars, how firm each is, ranks by score, the metrics."""

from __future__ import annotations

from collections.abc import Mapping

from clfeval.result import Cell, Row
from clfeval.views.mlcps_look import ARROWS, LISTED, Column, Look, bar, ends, estimate, many, rays
from clfeval.views.rows import ABSENT, Section, close, show

SCORES = {
    "mlcps": "MLcps", "order_free": "order-free", "lowest": "lowest", "highest": "highest",
    "mean": "mean", "sd": "SD", "desirability": "D",
}  # fmt: skip
UNKNOWN = "?"
RANKS = "ranks"
DECIDES = (
    ("order\ndecides", "order_dependent", "the order of the metrics decides"),
    ("weights\ndecide", "weight_dependent", "weights decide"),
)
_AREA = "MLcps: area of the metrics' polygon; normalised: as a share of the largest"
_OVERALL = "D: geometric mean of the desirabilities"
_PLAIN = "mean, SD: of the metrics themselves, unweighted"
_FIRM = (
    "order-free: mean area over all orders of the metrics, between lowest and highest; ranks: over "
    f"these orders; {_PLAIN}"
)
_TOO_FEW = f"{ABSENT} fewer than 3 metrics would be left"


def standing(look: Look) -> list[Section]:
    """Return what is there for every ranking."""
    return [_ranking(look), _firm(look), *_ranks(look), *_metrics(look), *_redundant(look),
            *_changes(look)]  # fmt: skip


def _ranking(look: Look) -> Section:
    """Show the scores, best first; the bar is of the score that ranks."""
    rows = look.best.rows
    by = look.result.parameters["ranked_by"] == "desirability"
    score = "desirability" if by else "normalised"
    columns: dict[str, Column] = {
        "rank": lambda row: ABSENT if row["rank"] is None else str(row["rank"]),
        "model": "model",
        "bar": lambda row: bar(estimate(row, score)),
        **({"D ↑": "desirability"} if "desirability" in rows[0] else {}),
        "MLcps ↑": "mlcps",
        "normalised ↑": "normalised",
    }
    if "first" in rows[0]:
        columns["P(first)"] = "first"
    if "dealbreakers" in rows[0]:
        columns["dealbreakers"] = lambda row: _joined(row["dealbreakers"])
    note = f"{_AREA}; {_OVERALL}" if by else _AREA
    note += (
        "; P(first): share of the resamples, ties counted for each" if "first" in rows[0] else ""
    )
    title = f"Ranking, best first (bar: {'D' if by else 'normalised'}, full at 1)"
    return look.table(title, rows, columns, note=note, left_out=look.rest("models"), right=["bar"])


def _firm(look: Look) -> Section:
    """Show what else may be said of each model: other orders, the plain mean, the Pareto front."""
    rows, polygon = look.best.rows, look.result.parameters["orders"] is not None
    by = look.result.parameters["ranked_by"] == "desirability"
    over = {row["model"]: row for row in look.best.in_table(look.result.tables["ranks"])}
    spread: dict[str, Column] = {
        "order-free\n↑": "order_free", "lowest\n↑": "lowest", "highest\n↑": "highest",
    }  # fmt: skip
    columns: dict[str, Column] = {
        "model": "model",
        **(spread if polygon else {}),
        "mean\n↑": "mean",
        "SD": "sd",
        **({RANKS: lambda row: _span(over.get(row["model"], {}))} if polygon else {}),
        "Pareto\nfront": _pareto,
    }
    title = "How firm the scores are" + " (MLcps and its kin; the ranking is by D)" * by
    return look.table(title, rows, columns, note=_FIRM if polygon else _PLAIN,
                      left_out=look.rest("models"), right=[RANKS])  # fmt: skip


def _ranks(look: Look) -> list[Section]:
    """Show the ranks by every score, of the models for which they differ."""
    shown = look.best.in_table(look.result.tables["ranks"])
    scores = {name: head for name, head in SCORES.items()
              if any(row.get(name) is not None for row in shown)}  # fmt: skip
    telling = [name for name in scores if name != "sd"]
    differ = [row for row in shown if len({row[name] for name in telling}) > 1
              or row["order_dependent"] or row["weight_dependent"]]  # fmt: skip
    if not differ:
        return []
    columns: dict[str, Column] = {"model": "model", **{scores[name]: name for name in scores}}
    notes = ["SD: the smallest first"]
    for head, name, words in DECIDES if look.result.parameters["orders"] else ():
        known = [row for row in differ if row[name] is not None]
        if known:
            columns[head] = _depends(name)
        if len(known) < len(differ):
            notes.append(f"{f'{UNKNOWN}: ' if known else ''}whether {words} is not known")
    same = len(shown) - len(differ)
    if same:
        keep = "keeps" if same == 1 else "keep"
        notes.append(f"{same} of the best {len(shown)} {keep} one rank by every score but SD")
    return [look.table("Rank by each score", differ, columns, note="; ".join(notes),
                       left_out=look.rest("ranks"))]  # fmt: skip


def _depends(name: str) -> Column:
    return lambda row: UNKNOWN if row[name] is None else show(row[name])


def _metrics(look: Look) -> list[Section]:
    """Show what each metric is and how its values lie, numbered as its ray is in the radar."""
    table = look.result.tables["metrics"]
    numbers = {metric: str(i) for i, metric in enumerate(rays(look.result), start=1)}
    columns: dict[str, Column] = {
        "ray": lambda row: numbers.get(str(row["metric"]), ABSENT),
        "metric": lambda row: f"{row['metric']} {ARROWS[str(row['direction'])]}",
        "scale": lambda row: "as is" if row["low"] is None else ends([row["low"], row["high"]]),
        "weight": lambda row: f"{row['weight']:g}",
        "least": "least", "average": "average", "most": "most",
    }  # fmt: skip
    part = look.table("Metrics, in the order of their rays", table[:LISTED], columns,
                      left_out=_more(len(table), "metrics"), right=["ray", "scale", "weight"],
                      write=close)  # fmt: skip
    return [part] if part.rows else []


def _redundant(look: Look) -> list[Section]:
    """Show which metrics say the same, so that it counts twice."""
    rows = look.result.tables.get("redundant", ())
    if not rows:
        return []
    columns: dict[str, Column] = {"first": "first", "second": "second", "why": "why",
                                  "in words": "note"}  # fmt: skip
    return [look.table("Metrics that say the same, and so weigh double", rows[:LISTED],
                       columns, left_out=_more(len(rows), "redundant"))]  # fmt: skip


def _changes(look: Look) -> list[Section]:
    """Show what leaving out or doubling a metric changes."""
    table = look.result.tables["metrics"]
    known = [row for row in table if row["winner_doubled"] is not None]
    if look.result.summary["models"] < 2 or not known:
        return []
    now = _first_now(look)
    rows = [
        row for row in known
        if row["moved_without"] or row["moved_doubled"]
        or any(row[f"winner_{word}"] not in (None, now) for word in ("without", "doubled"))
    ]  # fmt: skip
    title = "MLcps if one metric is left out or has double weight"
    if not rows:
        return [look.table(title, [{"what": "no model changes its rank"}], {"result": "what"})]

    def first(word: str) -> Column:
        return lambda row: _winner(row[f"winner_{word}"], now)

    columns: dict[str, Column] = {
        "metric": "metric", "first without it": first("without"),
        "models\nmoved": "moved_without", "first at double weight": first("doubled"),
        "models\nmoved ": "moved_doubled",
    }  # fmt: skip
    same = len(known) - len(rows)
    notes = [f"{many(same, 'more metric')}: no rank moves"] if same else []
    notes += [_TOO_FEW] if any(row["winner_without"] is None for row in rows) else []
    return [look.table(title, rows[:LISTED], columns, left_out=_more(len(rows), "metrics"),
                       note="; ".join(notes))]  # fmt: skip


def _first_now(look: Look) -> str | None:
    """Name who is first by MLcps as the metrics table does: of several the first, and how many."""
    ranks = {
        str(row["model"]): row["mlcps"] for row in look.best.in_table(look.result.tables["ranks"])
    }
    names = [name for name, rank in ranks.items() if rank == 1]
    if look.result.parameters["ranked_by"] == "mlcps":
        names = list(look.result.summary["best"])
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return f"{names[0]}{more}" if names else None


def _winner(name: Cell, now: str | None) -> str:
    if name is None:
        return ABSENT
    return f"{name}, as now" if name == now else str(name)


def _pareto(row: Row) -> str:
    if row["pareto"]:
        return "yes"
    return f"no: under {row['dominated_by']}" if row["dominated_by"] else "no"


def _span(row: Mapping[str, Cell]) -> str:
    """Write the ranks a model has over the orders as `1-3`."""
    low, high = row.get("best_over_orders"), row.get("worst_over_orders")
    if low is None or high is None:
        return UNKNOWN
    return f"{low}" if low == high else f"{low}-{high}"


def _joined(cell: Cell) -> str:
    return ", ".join(cell) if isinstance(cell, list) else ""


def _more(total: int, table: str) -> str:
    left = total - LISTED
    return (
        f"{many(left, 'more row')}; all of them: --format csv --table {table}" if left > 0 else ""
    )
