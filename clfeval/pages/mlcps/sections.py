"""Tables of a ranking: scores, their stability, the metrics and the influence of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.document import Document, Row, cell_value
from clfeval.pages.columns import difference_tables
from clfeval.pages.mlcps.asked import requested_tables
from clfeval.pages.mlcps.best import MAX_METRIC_ROWS, SCORES, BestModels, format_names
from clfeval.pages.write import ABSENT, ARROWS, draw_bar, format_cell
from clfeval.schema import Source, TableView
from clfeval.words import format_close, format_count

ORDER_SCORES = ("order_free", "lowest", "highest")
UNKNOWN = "?"
DECIDES = (
    ("depends\non order", "order_dependent", "the order of the metrics"),
    ("depends on\nweights", "weight_dependent", "the weights"),
)
EXPLAINED = ("mlcps", "desirability", "metrics with d = 0")
STABILITY = ("order_free", "ranks")


def format_range(limits: Sequence[object]) -> str:
    """Return a range as `-1 to 1`."""
    return " to ".join(f"{end:g}" for end in limits)


def page_tables(result: Document, digits: int) -> Iterator[TableView]:
    """Yield the tables in reading order: those of options, then those of every ranking."""
    best, tables = BestModels.from_result(result), result.tables
    yield from requested_tables(best, digits)
    yield from difference_tables(result)
    yield _ranking_table(best)
    yield _stability_table(best)
    if result.summary["models"] > 1:
        yield _ranks_table(best)
    if len(tables["metrics"]):
        yield _metrics_table(best)
    if tables.get("redundant"):
        title = "Redundant metrics"
        columns: dict[str, Source] = {"first": "first", "second": "second", "why": "why",
                                      "reason": "note"}  # fmt: skip
        yield best.table("redundant", title, columns, tables["redundant"])
    yield from _influence_table(best)
    if tables.get("dominance"):
        yield _dominance_table(best)
    if "split_mean" in best.rows[0] and len(tables.get("splits", ())):
        columns = {"model": "model", "mean MLcps ↑": "split_mean", "SD": "split_sd",
                   "splits won": "split_wins"}  # fmt: skip
        title = f"MLcps over {len(tables['splits']) // len(tables['models'])} splits"
        note = "each split: --format csv --show splits"
        yield best.table("models", title, columns, note=note, name="splits")


def _ranking_table(best: BestModels) -> TableView:
    """Show one line per model, best first, with a bar of the score that ranks."""
    first, by = best.rows[0], best.by_desirability
    score = "desirability" if by else "normalised"
    columns: dict[str, Source] = {"model": "model", "rank": lambda row: format_cell(row["rank"])}
    if by:
        columns["D ↑"] = "desirability"
    if any(row.get("dealbreakers") for row in best.rows):
        columns["metrics\nwith d = 0"] = _dealbreaker_count
    columns |= {"MLcps ↑": "mlcps", "normalised ↑": "normalised"}
    if "first" in first:
        columns["first in\nbootstrap"] = "first"
    if "split_wins" in first:
        columns["splits\nwon"] = "split_wins"
    columns |= {
        "mean ↑": "mean", "Pareto\nfront": "pareto",
        "bar": lambda row: draw_bar(cell_value(row.get(score))),
    }  # fmt: skip
    by_score = "desirability (D)" if by else "MLcps"
    title, resamples = f"Models by {by_score}", best.result.parameters["resamples"]
    note = f"bootstrap: {resamples:,} paired resamples of the rows" if resamples else ""
    return best.table(
        "models", title, columns, right=["rank", "bar"], rank="main", note=note,
        lead="desirability" if by else "mlcps", legend=EXPLAINED,
    )  # fmt: skip


def _dealbreaker_count(row: Row) -> int:
    deals = row["dealbreakers"]
    return len(deals) if isinstance(deals, list) else 0


def _stability_table(best: BestModels) -> TableView:
    """Show each model in other orders of the metrics, its mean, and the Pareto front."""
    polygon = best.result.parameters["orders"] is not None
    ranks: dict[str, str] = {}
    for (row,) in best.of_table("ranks"):
        low, high = row["best_over_orders"], row["worst_over_orders"]
        ranks[str(row["model"])] = f"{low}" if low == high else f"{low}-{high}"
    columns: dict[str, Source] = {"model": "model"}
    if polygon:
        columns |= {f"{name.replace('_', '-')}\n↑": name for name in ORDER_SCORES}
    columns |= {"mean\n↑": "mean", "SD": "sd"}
    if polygon:
        columns["ranks"] = lambda row: ranks[str(row["model"])]
    columns["Pareto\nfront"] = lambda row: (
        "yes" if row["pareto"] else f"no: {row['dominated_by']} dominates"
    )
    if any(row.get("dealbreakers") for row in best.rows):
        columns["dealbreakers"] = lambda row: format_names(row["dealbreakers"])
    title = "Stability of MLcps" + " (the ranking is by D)" * best.by_desirability
    given = best.result.parameters["from"] == "metrics"
    note = "sampling error is not included: a table of metrics does not show it" if given else ""
    return best.table(
        "models", title, columns, right=["ranks"], name="firm", legend=STABILITY, note=note
    )


def _ranks_table(best: BestModels) -> TableView:
    """Show the ranks by every score, and what they depend on."""
    rows = [row for (row,) in best.of_table("ranks")]
    scores = [name for name in SCORES if any(row.get(name) is not None for row in rows)]
    columns: dict[str, Source] = {"model": "model", **{SCORES[name]: name for name in scores}}
    notes = []
    for head, name, words in DECIDES if best.result.parameters["orders"] else ():
        known = [row for row in rows if row[name] is not None]
        if known:
            columns[head] = _dependence_cell(name)
        if len(known) < len(rows):
            notes.append(f"{f'{UNKNOWN}: ' if known else ''}unknown if ranks depend on {words}")
    return best.table(
        "ranks", "Rank by each score", columns, rows, note="; ".join(notes), legend=["sd"]
    )


def _dependence_cell(name: str) -> Source:
    return lambda row: UNKNOWN if row[name] is None else format_cell(row[name])


def _metrics_table(best: BestModels) -> TableView:
    """Show scale, weight and range of each metric, numbered as its ray in the radar."""
    rays, rows = best.result.parameters["metrics"], best.result.tables["metrics"]
    columns: dict[str, Source] = {
        "ray": lambda row: str(rays.index(row["metric"]) + 1),
        "metric": lambda row: f"{row['metric']} {ARROWS[str(row['direction'])]}",
        "scale": lambda row: "unchanged" if row["low"] is None else format_range(
            [row["low"], row["high"]]),
        "weight": lambda row: f"{row['weight']:g}",
        "minimum": "least", "average": "average", "maximum": "most",
    }  # fmt: skip
    title, right = "Metrics in the order of their rays", ["ray", "scale", "weight"]
    return best.table("metrics", title, columns, rows, right=right, write=format_close)


def _influence_table(best: BestModels) -> Iterator[TableView]:
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
    title = "Influence of single metrics on MLcps"
    if not rows:
        none = {"what": "no model changes its rank"}
        yield best.table("metrics", title, {"result": "what"}, [none], name="changes")
        return

    def first(word: str) -> Source:
        def write(row: Row) -> str:
            name = row[f"winner_{word}"]
            return f"{name}, unchanged" if name == now else format_cell(name)

        return write

    columns: dict[str, Source] = {
        "metric": "metric", "first without it": first("without"),
        "ranks\nchanged": "moved_without", "first at double weight": first("doubled"),
        "ranks\nchanged ": "moved_doubled",
    }  # fmt: skip
    same = len(known) - len(rows)
    notes = [f"{format_count(same, 'more metric')}: no rank changes"] if same else []
    if any(row["winner_without"] is None for row in rows[:MAX_METRIC_ROWS]):
        notes.append(f"{ABSENT} fewer than 3 metrics would be left")
    yield best.table("metrics", title, columns, rows, note="; ".join(notes), name="changes")


def _dominance_table(best: BestModels) -> TableView:
    table = best.result.tables["dominance"]
    columns: dict[str, Source] = {
        "model": "model", "dominated by": lambda row: format_names(row["dominated_by"]),
    }  # fmt: skip
    title = "Dominated models (not on the Pareto front)"
    return best.table("dominance", title, columns, best.found_in(table), total=len(table))
