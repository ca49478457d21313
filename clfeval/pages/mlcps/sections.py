"""A ranking as tables: scores, how firm they are, the metrics and what each of them decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.pages.columns import shown_differences
from clfeval.pages.mlcps.asked import asked
from clfeval.pages.mlcps.best import LISTED, SCORES, Best, names_in
from clfeval.pages.write import ABSENT, ARROWS, bar, show
from clfeval.result import Result, Row, value_of
from clfeval.schema import Shown, Source
from clfeval.words import close, many

SPREAD = ("order_free", "lowest", "highest")
UNKNOWN = "?"
DECIDES = (
    ("order\ndecides", "order_dependent", "the order of the metrics decides"),
    ("weights\ndecide", "weight_dependent", "weights decide"),
)
EXPLAINED = (
    "mlcps", "normalised", "desirability", "first", "split_wins", "mean", "pareto", "deals broken",
)  # fmt: skip
FIRM = ("order_free", "lowest", "highest", "mean", "sd", "ranks")
WISHED = "no other model is as good by every wish and metric and better by one"


def ends(limits: Sequence[object]) -> str:
    """Write a range as `-1..1`."""
    return "..".join(f"{end:g}" for end in limits)


def shown(result: Result, digits: int) -> Iterator[Shown]:
    """Yield the tables in reading order: what was asked for, then what every ranking has."""
    best, tables = Best.of(result), result.tables
    yield from asked(best, digits)
    yield from shown_differences(result)
    yield _ranking(best)
    yield _firm(best)
    if result.summary["models"] > 1:
        yield _ranks(best)
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
        note = "each split: --format csv --show splits"
        yield best.table("models", title, columns, note=note, name="splits")


def _ranking(best: Best) -> Shown:
    """Show one line a model, best first; the bar is of the score that ranks."""
    first, by = best.rows[0], best.by_desirability
    score = "desirability" if by else "normalised"
    columns: dict[str, Source] = {"model": "model", "rank": lambda row: show(row["rank"])}
    if by:
        columns["D ↑"] = "desirability"
    if any(row.get("dealbreakers") for row in best.rows):
        columns["deals\nbroken"] = _broken
    columns |= {"MLcps ↑": "mlcps", "normalised ↑": "normalised"}
    if "first" in first:
        columns["first in\nresamples"] = "first"
    if "split_wins" in first:
        columns["splits\nwon"] = "split_wins"
    columns |= {
        "mean ↑": "mean", "Pareto\nfront": "pareto",
        "bar": lambda row: bar(value_of(row.get(score))),
    }  # fmt: skip
    title = f"Ranking, best first (bar: {'D' if by else 'normalised'}, full at 1)"
    return best.table(
        "models", title, columns, right=["rank", "bar"], rank="main",
        lead="desirability" if by else "mlcps", legend=EXPLAINED,
        words={"pareto": WISHED} if by else {},
    )  # fmt: skip


def _broken(row: Row) -> int:
    deals = row["dealbreakers"]
    return len(deals) if isinstance(deals, list) else 0


def _firm(best: Best) -> Shown:
    """Show what else may be said of each model: other orders, the plain mean, the Pareto front."""
    polygon = best.result.parameters["orders"] is not None
    ranks: dict[str, str] = {}
    for (row,) in best.of_table("ranks"):
        low, high = row["best_over_orders"], row["worst_over_orders"]
        ranks[str(row["model"])] = f"{low}" if low == high else f"{low}-{high}"
    columns: dict[str, Source] = {"model": "model"}
    if polygon:
        columns |= {f"{name.replace('_', '-')}\n↑": name for name in SPREAD}
    columns |= {"mean\n↑": "mean", "SD": "sd"}
    if polygon:
        columns["ranks"] = lambda row: ranks[str(row["model"])]
    columns["Pareto\nfront"] = lambda row: (
        "yes" if row["pareto"] else f"no: under {row['dominated_by']}"
    )
    if any(row.get("dealbreakers") for row in best.rows):
        columns["dealbreakers"] = lambda row: names_in(row["dealbreakers"])
    title = "How firm the scores are"
    title += " (MLcps and its kin; the ranking is by D)" * best.by_desirability
    given = best.result.parameters["from"] == "metrics"
    note = "sampling error is not in it: a table of metrics does not tell" if given else ""
    return best.table(
        "models", title, columns, right=["ranks"], name="firm", legend=FIRM, note=note
    )


def _ranks(best: Best) -> Shown:
    """Show the ranks by every score, and whether they hold."""
    rows = [row for (row,) in best.of_table("ranks")]
    scores = [name for name in SCORES if any(row.get(name) is not None for row in rows)]
    columns: dict[str, Source] = {"model": "model", **{SCORES[name]: name for name in scores}}
    notes = []
    for head, name, words in DECIDES if best.result.parameters["orders"] else ():
        known = [row for row in rows if row[name] is not None]
        if known:
            columns[head] = _depends(name)
        if len(known) < len(rows):
            notes.append(f"{f'{UNKNOWN}: ' if known else ''}whether {words} is not known")
    return best.table(
        "ranks", "Rank by each score", columns, rows, note="; ".join(notes), legend=["sd"]
    )


def _depends(name: str) -> Source:
    return lambda row: UNKNOWN if row[name] is None else show(row[name])


def _metrics(best: Best) -> Shown:
    """Show what each metric is and how its values lie, numbered as its ray is in the radar."""
    rays, rows = best.result.parameters["metrics"], best.result.tables["metrics"]
    columns: dict[str, Source] = {
        "ray": lambda row: str(rays.index(row["metric"]) + 1),
        "metric": lambda row: f"{row['metric']} {ARROWS[str(row['direction'])]}",
        "scale": lambda row: "as is" if row["low"] is None else ends([row["low"], row["high"]]),
        "weight": lambda row: f"{row['weight']:g}",
        "least": "least", "average": "average", "most": "most",
    }  # fmt: skip
    title, right = "Metrics, in the order of their rays", ["ray", "scale", "weight"]
    return best.table("metrics", title, columns, rows, right=right, write=close)


def _changes(best: Best) -> Iterator[Shown]:
    known = [row for row in best.result.tables["metrics"] if row["winner_doubled"] is not None]
    if best.result.summary["models"] < 2 or not known:
        return
    # who is first by MLcps, named as the metrics table does: of several the first, and how many
    names = [str(row["model"]) for (row,) in best.of_table("ranks") if row["mlcps"] == 1]
    if not best.by_desirability:
        names = list(best.result.summary["best"])
    now = names[0] + f" (and {len(names) - 1} more)" * (len(names) > 1) if names else None
    rows = [
        row for row in known
        if row["moved_without"] or row["moved_doubled"]
        or any(row[f"winner_{word}"] not in (None, now) for word in ("without", "doubled"))
    ]  # fmt: skip
    title = "MLcps if one metric is left out or has double weight"
    if not rows:
        none = {"what": "no model changes its rank"}
        yield best.table("metrics", title, {"result": "what"}, [none], name="changes")
        return

    def first(word: str) -> Source:
        def write(row: Row) -> str:
            name = row[f"winner_{word}"]
            return f"{name}, as now" if name == now else show(name)

        return write

    columns: dict[str, Source] = {
        "metric": "metric", "first without it": first("without"),
        "models\nmoved": "moved_without", "first at double weight": first("doubled"),
        "models\nmoved ": "moved_doubled",
    }  # fmt: skip
    same = len(known) - len(rows)
    notes = [f"{many(same, 'more metric')}: no rank moves"] if same else []
    if any(row["winner_without"] is None for row in rows[:LISTED]):
        notes.append(f"{ABSENT} fewer than 3 metrics would be left")
    yield best.table("metrics", title, columns, rows, note="; ".join(notes), name="changes")


def _dominance(best: Best) -> Shown:
    table, wished = best.result.tables["dominance"], "desirability" in best.result.tables
    measured = "by every wish and metric" if wished else "in every metric"
    columns: dict[str, Source] = {
        "model": "model",
        f"as good or better {measured}, better in one": lambda row: names_in(row["dominated_by"]),
    }
    title = "Dominated models, off the Pareto front"
    return best.table("dominance", title, columns, best.found_in(table), total=len(table))
