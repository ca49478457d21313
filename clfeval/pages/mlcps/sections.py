"""A ranking as tables: scores, how firm they are, the metrics, and what was asked for besides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clfeval.pages.mlcps.look import Best, ends, estimate, rays
from clfeval.pages.write import ABSENT, ARROWS, bar, close, joined, listed, many, show, value_of
from clfeval.result import Cell, Estimate, Result, Row
from clfeval.schema import Shown, Source

LISTED = 60  # rows of tables of metrics
MATRIX = 24  # metrics side by side
SCORES = {
    "mlcps": "MLcps", "order_free": "order-free", "lowest": "lowest", "highest": "highest",
    "mean": "mean", "sd": "SD", "desirability": "D",
}  # fmt: skip
UNKNOWN, BREAKER = "?", "✗"
SIDES = ("lower", "upper")
DECIDES = (
    ("order\ndecides", "order_dependent", "the order of the metrics decides"),
    ("weights\ndecide", "weight_dependent", "weights decide"),
)
_AREA = "MLcps: area of the metrics' polygon; normalised: as a share of the largest"
_OVERALL = "D: geometric mean of the desirabilities"
_FIRST = "P(first): share of the resamples, ties counted for each"
_PLAIN = "mean, SD: of the metrics themselves, unweighted"
_FIRM = (
    "order-free: mean area over all orders of the metrics, between lowest and highest; ranks: over "
    f"these orders; {_PLAIN}"
)
_TOO_FEW = f"{ABSENT} fewer than 3 metrics would be left"
_SHARE = (
    "share: of weights drawn evenly from all that add up to one, by MLcps and by the order-free "
    "score; ×f: where each weight w may be anything from w/f to f w, the model can pass the first"
)


def shown(result: Result, digits: int) -> Iterator[Shown]:
    """Yield the tables in reading order: of every ranking, then what it has only if asked for."""
    best, tables = Best.of(result), result.tables
    yield _ranking(best)
    yield _firm(best)
    yield from _ranks(best)
    if len(tables["metrics"]):
        yield _metrics(best)
    if tables.get("redundant"):
        title = "Metrics that say the same, and so weigh double"
        columns: dict[str, Source] = {"first": "first", "second": "second", "why": "why",
                                      "in words": "note"}  # fmt: skip
        yield best.table("redundant", title, columns, tables["redundant"])
    yield from _changes(best)
    if tables.get("dominance"):
        yield _dominance(best)
    if "split_mean" in best.rows[0] and len(tables.get("splits", ())):
        columns = {"model": "model", "mean MLcps ↑": "split_mean", "SD": "split_sd",
                   "first in": "split_wins"}  # fmt: skip
        title = f"Over the {len(tables['splits']) // len(tables['models'])} splits"
        yield best.table("models", title, columns, note="each split: --format csv --table splits")
    if tables.get("weights"):
        yield _weights(best)
    if tables.get("dethroning"):
        yield _dethroning(best)
    if tables.get("desirability"):
        yield _goals(best)
        yield _desirability(best, digits)
    if tables.get("agreement"):
        yield _agreement(best)
    if tables.get("compared"):
        columns = {"model": "model", "here": "here", "there": "there", "rank here": "rank_here",
                   "rank there": "rank_there", "there it stands": _move}  # fmt: skip
        rows = best.found_in(tables["compared"])
        title = f"The models in {result.parameters['compare']}"
        yield best.table("compared", title, columns, rows)


def _ranking(best: Best) -> Shown:
    """Show the scores, best first; the bar is of the score that ranks."""
    first, by = best.rows[0], best.by_desirability
    score = "desirability" if by else "normalised"
    columns: dict[str, Source] = {
        "rank": lambda row: ABSENT if row["rank"] is None else str(row["rank"]), "model": "model",
        "bar": lambda row: bar(estimate(row, score)),
        **({"D ↑": "desirability"} if "desirability" in first else {}), "MLcps ↑": "mlcps",
        "normalised ↑": "normalised", **({"P(first)": "first"} if "first" in first else {}),
    }  # fmt: skip
    if "dealbreakers" in first:
        columns["dealbreakers"] = lambda row: joined(row["dealbreakers"])
    notes = [_AREA, *([_OVERALL] if by else []), *([_FIRST] if "first" in first else [])]
    title = f"Ranking, best first (bar: {'D' if by else 'normalised'}, full at 1)"
    return best.table("models", title, columns, note="; ".join(notes), right=["bar"])


def _firm(best: Best) -> Shown:
    """Show what else may be said of each model: other orders, the plain mean, the Pareto front."""
    polygon = best.result.parameters["orders"] is not None
    over = {row["model"]: row for row in best.in_table(best.result.tables["ranks"])}
    spread: dict[str, Source] = {
        "order-free\n↑": "order_free", "lowest\n↑": "lowest", "highest\n↑": "highest",
    }  # fmt: skip
    columns: dict[str, Source] = {
        "model": "model", **(spread if polygon else {}), "mean\n↑": "mean", "SD": "sd",
        **({"ranks": lambda row: _span(over.get(row["model"], {}))} if polygon else {}),
        "Pareto\nfront": _pareto,
    }  # fmt: skip
    title = "How firm the scores are"
    title += " (MLcps and its kin; the ranking is by D)" * best.by_desirability
    note = _FIRM if polygon else _PLAIN
    return best.table("models", title, columns, note=note, right=["ranks"])


def _ranks(best: Best) -> Iterator[Shown]:
    """Show the ranks by every score, of the models for which they differ."""
    rows = best.in_table(best.result.tables["ranks"])
    scores = {name: head for name, head in SCORES.items()
              if any(row.get(name) is not None for row in rows)}  # fmt: skip
    telling = [name for name in scores if name != "sd"]
    differ = [row for row in rows if len({row[name] for name in telling}) > 1
              or row["order_dependent"] or row["weight_dependent"]]  # fmt: skip
    if not differ:
        return
    columns: dict[str, Source] = {"model": "model", **{scores[name]: name for name in scores}}
    notes = ["SD: the smallest first"]
    for head, name, words in DECIDES if best.result.parameters["orders"] else ():
        known = [row for row in differ if row[name] is not None]
        if known:
            columns[head] = _depends(name)
        if len(known) < len(differ):
            notes.append(f"{f'{UNKNOWN}: ' if known else ''}whether {words} is not known")
    same = len(rows) - len(differ)
    if same:
        keep = "keeps" if same == 1 else "keep"
        notes.append(f"{same} of the best {len(rows)} {keep} one rank by every score but SD")
    yield best.table("ranks", "Rank by each score", columns, differ, note="; ".join(notes))


def _depends(name: str) -> Source:
    return lambda row: UNKNOWN if row[name] is None else show(row[name])


def _metrics(best: Best) -> Shown:
    """Show what each metric is and how its values lie, numbered as its ray is in the radar."""
    numbers = {metric: str(i) for i, metric in enumerate(rays(best.result), start=1)}
    columns: dict[str, Source] = {
        "ray": lambda row: numbers.get(str(row["metric"]), ABSENT),
        "metric": lambda row: f"{row['metric']} {ARROWS[str(row['direction'])]}",
        "scale": lambda row: "as is" if row["low"] is None else ends([row["low"], row["high"]]),
        "weight": lambda row: f"{row['weight']:g}",
        "least": "least", "average": "average", "most": "most",
    }  # fmt: skip
    return best.table(
        "metrics", "Metrics, in the order of their rays", columns, best.result.tables["metrics"],
        right=["ray", "scale", "weight"], write=close,
    )  # fmt: skip


def _changes(best: Best) -> Iterator[Shown]:
    """Show what leaving out or doubling a metric changes."""
    known = [row for row in best.result.tables["metrics"] if row["winner_doubled"] is not None]
    if best.result.summary["models"] < 2 or not known:
        return
    now = _first_now(best)
    rows = [
        row for row in known
        if row["moved_without"] or row["moved_doubled"]
        or any(row[f"winner_{word}"] not in (None, now) for word in ("without", "doubled"))
    ]  # fmt: skip
    title = "MLcps if one metric is left out or has double weight"
    if not rows:
        none = {"what": "no model changes its rank"}
        yield best.table("metrics", title, {"result": "what"}, [none])
        return

    def first(word: str) -> Source:
        return lambda row: _winner(row[f"winner_{word}"], now)

    columns: dict[str, Source] = {
        "metric": "metric", "first without it": first("without"),
        "models\nmoved": "moved_without", "first at double weight": first("doubled"),
        "models\nmoved ": "moved_doubled",
    }  # fmt: skip
    same = len(known) - len(rows)
    notes = [f"{many(same, 'more metric')}: no rank moves"] if same else []
    notes += [_TOO_FEW] if any(row["winner_without"] is None for row in rows[:LISTED]) else []
    yield best.table("metrics", title, columns, rows, note="; ".join(notes))


def _first_now(best: Best) -> str | None:
    """Name who is first by MLcps as the metrics table does: of several the first, and how many."""
    ranks = best.in_table(best.result.tables["ranks"])
    names = [str(row["model"]) for row in ranks if row["mlcps"] == 1]
    if not best.by_desirability:
        names = list(best.result.summary["best"])
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


def _dominance(best: Best) -> Shown:
    table = best.result.tables["dominance"]
    wished = "desirability" in best.result.tables
    measured = "by every wish and metric" if wished else "in every metric"
    columns: dict[str, Source] = {
        "model": "model",
        f"as good or better {measured}, better in one": lambda row: _names(row["dominated_by"]),
    }
    title = "Dominated models, off the Pareto front"
    return best.table("dominance", title, columns, best.found_in(table), total=len(table))


def _weights(best: Best) -> Shown:
    columns: dict[str, Source] = {
        "model": "model", "bar": lambda row: bar(estimate(row, "share")), "share": "share",
        "order-free\nshare": "share_order_free", "passes the\nfirst at": _factor,
    }  # fmt: skip
    draws = best.result.parameters.get("draws")
    title = "How often each is first if weights are drawn at random"
    title += f" ({draws:,} draws)" if draws else ""
    rows, right = best.in_table(best.result.tables["weights"]), ["bar", "passes the\nfirst at"]
    return best.table("weights", title, columns, rows, note=_SHARE, right=right)


def _factor(row: Row) -> str:
    cell = row["factor"]
    value = value_of(cell)
    if value is not None:
        return f"×{value:.3g}"
    reason = cell.reason if isinstance(cell, Estimate) else None
    return {"winner": "is first", "never": "never"}.get(reason or "", ABSENT)


def _dethroning(best: Best) -> Shown:
    """Show the weights beyond which another model is first."""
    rows = best.result.tables["dethroning"]

    def beyond(side: str, word: str) -> Source:
        def write(row: Row) -> str:
            value = estimate(row, side)
            return "never" if value is None else f"{word} {value:.3g}: {row[f'{side}_winner']}"

        return write

    columns: dict[str, Source] = {
        "metric": "metric", "weight": lambda row: f"{row['weight']:g}",
        "lowered alone": beyond("lower", "below"), "raised alone": beyond("upper", "above"),
    }  # fmt: skip
    note = ""
    joint = [row for row in rows if row["joint"] is not None]
    if joint:
        columns["together"] = lambda row: _weight(row["joint"])
        winner = joint[0]["joint_winner"]
        note = f"together: the smallest change of all weights that puts {winner} first"
    title = f"Weights at which another model passes {_first(best)}"
    if not joint and all(estimate(row, side) is None for row in rows for side in SIDES):
        none = {"what": "none: in this order, no weights above 0 put another model first"}
        return best.table("dethroning", title, {"result": "what"}, [none])
    right = ["weight", "together"]
    return best.table("dethroning", title, columns, rows[:LISTED], note=note, right=right)


def _first(best: Best) -> str:
    """Name the model the others have to pass: the first by MLcps."""
    for row in best.result.tables.get("weights", ()):
        cell = row["factor"]
        if isinstance(cell, Estimate) and cell.reason == "winner":
            return str(row["model"])
    return listed(list(best.result.summary["best"]))


def _weight(cell: Cell) -> str:
    return ABSENT if cell is None else f"{float(str(cell)):.3g}"


def _goals(best: Best) -> Shown:
    """Say what is wanted of each metric."""
    table = best.result.tables["desirability"]
    wanted = [row for row in table[:LISTED] if row["model"] == table[0]["model"]]
    columns: dict[str, Source] = {
        "metric": "metric", "goal": "goal", "weight": lambda row: f"{row['weight']:g}",
    }  # fmt: skip
    title, right = "What is wanted", ["weight"]
    return best.table("desirability", title, columns, wanted, right=right, total=0)


def _desirability(best: Best, digits: int) -> Shown:
    """Lay the desirabilities out as models by metrics; those that break a deal are marked."""
    blocks = best.blocks(best.result.tables["desirability"])
    metrics = [str(row["metric"]) for row in blocks[best.names[0]]]
    overall = {str(row["model"]): row["desirability"] for row in best.rows}
    rows = [
        {"model": name, "D": show(overall[name], digits), **{
            f"d of\n{row['metric']}": f"{BREAKER} " * bool(row["dealbreaker"])
            + show(row["d"], digits) for row in there
        }}
        for name, there in blocks.items()
    ]  # fmt: skip
    columns: dict[str, Source] = {"model": "model", "D": "D"}
    columns |= {head: head for head in (f"d of\n{metric}" for metric in metrics[:MATRIX])}
    right = [head for head in columns if head != "model"]
    broken = any(BREAKER in cell for row in rows for cell in row.values())
    notes = [f"{BREAKER} a dealbreaker: d = 0 makes D = 0"] if broken else []
    more = {}
    if len(metrics) > MATRIX:
        left = f"{many(len(metrics) - MATRIX, 'more metric')}, all: "
        notes.insert(0, f"{left}--format csv --table desirability")
        more = {"total": 0}
    title = "How desirable each value is, 0 to 1"
    note = "; ".join(notes)
    return best.table("desirability", title, columns, rows, note=note, right=right, **more)


def _agreement(best: Best) -> Shown:
    rows = best.result.tables["agreement"]
    columns: dict[str, Source] = {
        "score": lambda row: SCORES.get(str(row["measure"]), str(row["measure"])),
        "Kendall τ": "kendall", "Spearman ρ": "spearman",
        "first here": lambda row: _names(row["top_here"]),
        "first there": lambda row: "the same" if row["same_top"] else _names(row["top_there"]),
    }  # fmt: skip
    other = best.result.parameters["compare"]
    title = f"Agreement with {other} on {many(int(str(rows[0]['models'])), 'model')}"
    return best.table("agreement", title, columns, rows[:LISTED])


def _move(row: Row) -> str:
    moved = row["moved"]
    if not isinstance(moved, int):
        return ABSENT
    return f"{abs(moved)} {'lower' if moved > 0 else 'higher'}" if moved else "the same"


def _names(cell: Cell) -> str:
    return listed(cell) if isinstance(cell, list) and cell else ABSENT
