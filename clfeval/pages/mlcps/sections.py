"""A ranking as tables: scores, how firm they are, the metrics, and what was asked for besides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import inf
from typing import Any

from clfeval.pages.write import ABSENT, ARROWS, bar, show
from clfeval.result import Cell, Estimate, LazyRows, Result, Row, Rows, value_of
from clfeval.schema import Shown, Source
from clfeval.words import close, many, named, quoted

BEST = 20  # models shown to a person; files get them all
PER_MODEL = ("models", "ranks", "weights", "desirability", "compared")
LISTED = 60  # rows of tables of metrics
MATRIX = 24  # metrics side by side
SCORES = {
    "mlcps": "MLcps", "order_free": "order-free", "lowest": "lowest", "highest": "highest",
    "mean": "mean", "sd": "SD", "desirability": "D",
}  # fmt: skip
SPREAD = ("order_free", "lowest", "highest")
UNKNOWN, BREAKER = "?", "✗"
DECIDES = (
    ("order\ndecides", "order_dependent", "the order of the metrics decides"),
    ("weights\ndecide", "weight_dependent", "weights decide"),
)
WORDS = {
    "mlcps": "area of the polygon that the metrics span",
    "normalised": "the area as a share of the largest there can be",
    "desirability": "geometric mean of how desirable each value is, 0 to 1",
    "first": "share of the resamples in which the model is first, ties counted for each",
    "split_wins": "in so many splits the model is first",
    "mean": "of the metrics themselves, unweighted",
    "pareto": "no other model is as good in every metric and better in one",
}
_WISHED = "no other model is as good by every wish and metric and better by one"
_BROKEN = "deals broken: so many values are worth nothing, which makes D 0"
_PLAIN = "mean, SD: of the metrics themselves, unweighted"
_FIRM = (
    "order-free: mean area over all orders of the metrics, between lowest and highest; ranks: over "
    f"these orders; {_PLAIN}"
)
_SHARE = (
    "share: of weights drawn evenly from all that add up to one, by MLcps and by the order-free "
    "score; ×f: where each weight w may be anything from w/f to f w, the model can pass the first"
)


@dataclass(frozen=True, slots=True)
class Best:
    """The best models of a result: their places in its tables and their rows."""

    result: Result
    places: tuple[int, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, result: Result, most: int = BEST) -> Best:
        """Find them: by rank, then as in the table; a model without rank is last."""
        ranks, by = result.tables["ranks"], result.parameters["ranked_by"]
        columns = ranks.columns if isinstance(ranks, LazyRows) else {}  # without making rows
        column = columns[by] if by in columns else (row[by] for row in ranks)
        order = ((rank if isinstance(rank, int) else inf, i) for i, rank in enumerate(column))
        places = tuple(i for _, i in nsmallest(most, order))
        return cls(result, places, tuple(result.tables["models"][i] for i in places))

    def few(self, most: int) -> Best:
        """Return the best of the best."""
        return Best(self.result, self.places[:most], self.rows[:most])

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(str(row["model"]) for row in self.rows)

    @property
    def by_desirability(self) -> bool:
        """True where desirability ranks them."""
        return bool(self.result.parameters["ranked_by"] == "desirability")

    @property
    def score(self) -> str:
        """How the score that ranks them is called."""
        return SCORES[str(self.result.parameters["ranked_by"])]

    def of_table(self, name: str) -> list[list[Row]]:
        """Return the rows of each in a table of as many rows for every model, in their order."""
        table = self.result.tables[name]
        size = len(table) // len(self.result.tables["models"])
        return [list(table[i * size : (i + 1) * size]) for i in self.places]

    def found_in(self, table: Rows) -> list[Row]:
        """Return their rows of a table that has at most one for each model, in any order."""
        found = {str(row["model"]): row for row in table}
        return [found[name] for name in self.names if name in found]

    def table(
        self, name: str, title: str, columns: Mapping[str, Source],
        rows: Sequence[Row] | None = None, /, **more: Any,
    ) -> Shown:  # fmt: skip
        """Show the models' rows of a table, or other rows of it."""
        rows = self.rows if rows is None else rows
        # how many models are not among the best, whatever of them is shown
        left = len(self.result.tables["models"]) - len(self.rows)
        total = {"total": len(rows) + left} if name in PER_MODEL else {}
        whole = {"more": "--format csv"} if name == "models" else {}
        return Shown(name, title, columns, rows, **{**whole, **total, **more})


def ends(limits: Sequence[object]) -> str:
    """Write a range as `-1..1`."""
    return "..".join(f"{end:g}" for end in limits)


def shown(result: Result, digits: int) -> Iterator[Shown]:
    """Yield the tables in reading order: of every ranking, then what it has only if asked for."""
    best, tables = Best.of(result), result.tables
    if tables.get("weights"):
        yield _weights(best)
    if tables.get("dethroning"):
        yield _dethroning(best)
    if tables.get("desirability"):
        yield _desirability(best, digits)
        yield _goals(best)
    if tables.get("compared"):
        yield _compared(best)
    if tables.get("agreement"):
        yield _agreement(best)
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
        note = "each split: --format csv --table splits"
        yield best.table("models", title, columns, note=note, name="splits")


def _ranking(best: Best) -> Shown:
    """Show one line a model, best first; the bar is of the score that ranks."""
    first, by = best.rows[0], best.by_desirability
    score = "desirability" if by else "normalised"
    columns: dict[str, Source] = {"model": "model", "rank": lambda row: show(row["rank"])}
    if by:
        columns["D ↑"] = "desirability"
    if broken := any(row.get("dealbreakers") for row in best.rows):
        columns["deals\nbroken"] = _broken
    columns |= {"MLcps ↑": "mlcps", "normalised ↑": "normalised"}
    if "first" in first:
        columns["P(first)"] = "first"
    if "split_wins" in first:
        columns["splits\nwon"] = "split_wins"
    columns |= {
        "mean ↑": "mean", "Pareto\nfront": "pareto",
        "bar": lambda row: bar(value_of(row.get(score))),
    }  # fmt: skip
    words = {**WORDS, **({"pareto": _WISHED} if by else {})}
    title = f"Ranking, best first (bar: {'D' if by else 'normalised'}, full at 1)"
    return best.table(
        "models", title, columns, right=["rank", "bar"], rank="main",
        lead="desirability" if by else "mlcps", words=words, note=_BROKEN * broken,
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
        columns["dealbreakers"] = lambda row: _names(row["dealbreakers"])
    title = "How firm the scores are"
    title += " (MLcps and its kin; the ranking is by D)" * best.by_desirability
    note = _FIRM if polygon else _PLAIN
    return best.table("models", title, columns, note=note, right=["ranks"], name="firm")


def _ranks(best: Best) -> Shown:
    """Show the ranks by every score, and whether they hold."""
    rows = [row for (row,) in best.of_table("ranks")]
    scores = [name for name in SCORES if any(row.get(name) is not None for row in rows)]
    columns: dict[str, Source] = {"model": "model", **{SCORES[name]: name for name in scores}}
    notes = ["SD: the smallest first"]
    for head, name, words in DECIDES if best.result.parameters["orders"] else ():
        known = [row for row in rows if row[name] is not None]
        if known:
            columns[head] = _depends(name)
        if len(known) < len(rows):
            notes.append(f"{f'{UNKNOWN}: ' if known else ''}whether {words} is not known")
    return best.table("ranks", "Rank by each score", columns, rows, note="; ".join(notes))


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
        f"as good or better {measured}, better in one": lambda row: _names(row["dominated_by"]),
    }
    title = "Dominated models, off the Pareto front"
    return best.table("dominance", title, columns, best.found_in(table), total=len(table))


def _weights(best: Best) -> Shown:
    columns: dict[str, Source] = {
        "model": "model", "bar": lambda row: bar(value_of(row.get("share"))), "share": "share",
        "order-free\nshare": "share_order_free", "passes the\nfirst at": _factor,
    }  # fmt: skip
    draws = best.result.parameters["draws"]
    title = f"How often each is first if weights are drawn at random ({draws:,} draws)"
    rows, right = [row for (row,) in best.of_table("weights")], ["bar", "passes the\nfirst at"]
    return best.table(
        "weights", title, columns, rows, note=_SHARE, right=right, rank="asked", lead="share"
    )


def _factor(row: Row) -> str:
    if (value := value_of(row.get("factor"))) is not None:
        return f"×{value:.3g}"
    return "is first" if _is_first(row) else "never"


def _is_first(row: Row) -> bool:
    cell = row["factor"]
    return isinstance(cell, Estimate) and cell.reason == "winner"


def _dethroning(best: Best) -> Shown:
    rows = best.result.tables["dethroning"]
    first = next(row["model"] for row in best.result.tables["weights"] if _is_first(row))

    def beyond(side: str, word: str) -> Source:
        def write(row: Row) -> str:
            value = value_of(row.get(side))
            return "never" if value is None else f"{word} {value:.3g}: {row[f'{side}_winner']}"

        return write

    columns: dict[str, Source] = {
        "metric": "metric", "weight": lambda row: f"{row['weight']:g}",
        "lowered alone": beyond("lower", "below"), "raised alone": beyond("upper", "above"),
    }  # fmt: skip
    note = ""
    joint = [row for row in rows if row["joint"] is not None]
    if joint:
        columns["together"] = lambda row: f"{row['joint']:.3g}"
        winner = joint[0]["joint_winner"]
        note = f"together: the smallest change of all weights that puts {quoted(str(winner))} first"
    title = f"Weights at which another model passes {first}"
    never = all(value_of(row[side]) is None for row in rows for side in ("lower", "upper"))
    if never and not joint:
        none = {"what": "none: in this order, no weights above 0 put another model first"}
        return best.table("dethroning", title, {"result": "what"}, [none], rank="asked")
    right = ["weight", "together"]
    rows = rows[:LISTED]
    return best.table("dethroning", title, columns, rows, note=note, right=right, rank="asked")


def _goals(best: Best) -> Shown:
    wanted = best.of_table("desirability")[0][:LISTED]
    columns: dict[str, Source] = {
        "metric": "metric", "goal": "goal", "weight": lambda row: f"{row['weight']:g}",
    }  # fmt: skip
    title, right = "What is wanted", ["weight"]
    return best.table("desirability", title, columns, wanted, right=right, total=0, name="goals")


def _desirability(best: Best, digits: int) -> Shown:
    """Lay the desirabilities out as models by metrics; those that break a deal are marked."""
    blocks = best.of_table("desirability")
    metrics = [str(row["metric"]) for row in blocks[0]]
    rows = [
        {"model": str(row["model"]), "D": show(row["desirability"], digits), **{
            f"d of\n{one['metric']}": f"{BREAKER} " * bool(one["dealbreaker"])
            + show(one["d"], digits) for one in there
        }}
        for row, there in zip(best.rows, blocks, strict=True)
    ]  # fmt: skip
    right = ["D", *(f"d of\n{metric}" for metric in metrics[:MATRIX])]
    columns: dict[str, Source] = {head: head for head in ("model", *right)}
    broken = any(BREAKER in cell for row in rows for cell in row.values())
    notes = [f"{BREAKER} a dealbreaker: d = 0 makes D = 0"] if broken else []
    more = {}
    if len(metrics) > MATRIX:
        left = f"{many(len(metrics) - MATRIX, 'more metric')}, all: "
        notes.insert(0, f"{left}--format csv --table desirability")
        more = {"total": 0}
    title, note = "How desirable each value is, 0 to 1", "; ".join(notes)
    return best.table(
        "desirability", title, columns, rows, note=note, right=right, rank="asked", **more
    )


def _compared(best: Best) -> Shown:
    columns: dict[str, Source] = {
        "model": "model", "here": "here", "there": "there", "rank here": "rank_here",
        "rank there": "rank_there", "there it stands": _move,
    }  # fmt: skip
    rows = best.found_in(best.result.tables["compared"])
    title = f"The models in {best.result.parameters['compare']}, by {best.score}"
    return best.table("compared", title, columns, rows, rank="asked")


def _agreement(best: Best) -> Shown:
    rows = best.result.tables["agreement"]
    columns: dict[str, Source] = {
        "score": lambda row: SCORES.get(str(row["measure"]), str(row["measure"])),
        "Kendall τ": "kendall", "Spearman ρ": "spearman",
        "first here": lambda row: _names(row["top_here"]),
        "first there": lambda row: "the same" if row["same_top"] else _names(row["top_there"]),
    }  # fmt: skip
    models = many(int(str(rows[0]["models"])), "model")
    title = f"Agreement with {best.result.parameters['compare']} on {models}"
    return best.table("agreement", title, columns, rows[:LISTED], rank="asked")


def _move(row: Row) -> str:
    moved = row["moved"]
    if not isinstance(moved, int):
        return ABSENT
    return f"{abs(moved)} {'lower' if moved > 0 else 'higher'}" if moved else "the same"


def _names(cell: Cell) -> str:
    return named(cell) if isinstance(cell, list) and cell else ABSENT
