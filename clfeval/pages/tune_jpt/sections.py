"""Tuned tables in reading order: expected cells, measures, odds, which model where, thresholds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import inf
from typing import Any

from clfeval.measures.catalog import CATALOG
from clfeval.measures.population import Population
from clfeval.pages.write import ABSENT, amount, evenly, exact, some, title_of
from clfeval.result import Cell, Estimate, Result, Row, value_of
from clfeval.schema import Shown, Source
from clfeval.words import close

FEW = 4  # names of models in one cell
PLACE = "positives:\nnegatives\n(prevalence)"
AT_ODDS = "positives:\nnegatives"
LATER = ("tor", "f_odds")  # after EPA and its two terms
SWEPT = 7  # odds of a sweep shown to a person
OPEN = "…"  # an interval's end beyond the swept odds
EXPLAINED = {
    "tar": "TAR: share of right answers, accuracy",
    "ppv": "PPV, NPV: shares of the positive and of the negative answers that are right",
    "ic": "IC: share of the truth's information in the answer",
    "epa": "EPA: mean of PPV odds and NPV odds, its two terms; the smaller one hardly shows in it",
    "tor": "TOR: right answers for each wrong one", "lr_pos": "LR: likelihood ratios",
    "dor": "DOR: diagnostic odds ratio", "dp": "DP: discriminant power",
}  # fmt: skip
CALLED = "called where the interval of each difference{} excludes 0"
UNCALLED = "without intervals no winner is called: this is the model of the best value"
HONEST = (
    "loss: what keeping the fixed threshold costs on these rows; cross-fitted: thresholds chosen "
    "on other rows than they are judged on; gain: cross-fitted less fixed, above 0 moving pays"
)


@dataclass(frozen=True, slots=True)
class Look:
    """A result, with what all its tables share."""

    result: Result

    def title(self, measure: str) -> str:
        """Name a measure in a sentence or a cell."""
        beta = self.result.parameters.get("beta")
        return title_of(measure, 1.0 if beta is None else beta).split(" (")[0]

    def who(self, *, model: bool = True) -> dict[str, Source]:
        """Return the columns that say whose row it is."""
        sliced = any(row["slice"] is not None for row in self.result.tables["models"])
        return {**({"slice": "slice"} if sliced else {}), **({"model": "model"} if model else {})}

    @property
    def named(self) -> dict[str, Source]:
        """Return the column that says of which measure a row is."""
        return {"measure": lambda row: self.title(str(row["measure"]))}

    def measures(self, measures: Sequence[str]) -> dict[str, Source]:
        """Return the columns of measures."""
        return {f"{self.title(name)} {CATALOG[name].arrow}": name for name in measures}

    def table(
        self, name: str, title: str, columns: Mapping[str, Source],
        rows: Sequence[Row] | None = None, **more: Any,
    ) -> Shown:  # fmt: skip
        """Show rows of a table, with more digits where they are close to 0 or 1."""
        return Shown(name, title, columns, rows, **{"write": close, **more})

    def swept(self, table: str) -> list[Row]:
        """Return the rows of a table that are of swept odds."""
        rows = self.result.tables.get(table, ())
        return [row for row in rows if row["population"] == "sweep"]


def more(name: str) -> str:
    """Say how to get a whole table."""
    return f"--format csv --table {name}"


def place(row: Row) -> str:
    """Write a row's population: its odds and its prevalence, and whether it is the sample's."""
    kind = "sample " if row.get("population") == "sample" else ""
    return f"{kind}{odds_of(row)} ({exact(row['prevalence'])})"


def odds_of(row: Row) -> str:
    """Write the odds; a sample without one of the classes has none."""
    return ABSENT if row["odds"] is None else str(row["odds"])


def shown(result: Result, digits: int) -> Iterator[Shown]:
    """Yield the tables in reading order."""
    look, rows = Look(result), result.tables["models"]
    shares, odds, staked, fixed = _measured(rows)
    yield _cells(look, digits)
    if result.tables.get("expected"):
        title = f"To expect in {result.parameters['population']:,.10g} rows"
        columns = {**look.who(), PLACE: place, "TP": "tp", "FP": "fp", "FN": "fn", "TN": "tn",
                   "called positive": "called"}  # fmt: skip
        note = "intervals: what is not known of the model; one such sample varies more"
        yield look.table("expected", title, columns, note=note, write=amount)
    for title, names, note in (
        ("Measures that move with the class ratio", shares, _explained(shares)),
        ("Odds, which move with the class ratio", odds, _explained(odds)),
        ("Cost and benefit of a row", staked, _stakes(result)),
    ):
        if names:
            columns = {**look.who(), PLACE: place, **look.measures(names)}
            yield look.table("models", title, columns, note=note)
    if fixed:
        yield _unmoved(look, fixed)
    yield from _crossovers(look)
    yield from _winners(look)
    yield from _thresholds(look)
    yield from _ranges(look)


def counted(result: Result) -> bool:
    """Say whether rows were counted, so that there is a sample."""
    return any(row["population"] == "sample" for row in result.tables["models"])


def _measured(rows: Sequence[Row]) -> tuple[list[str], list[str], list[str], list[str]]:
    """Sort the measures at hand: shares, odds, cost and benefit, and what never moves."""
    known = [name for name, cell in rows[0].items() if isinstance(cell, Estimate)] if rows else []
    fixed = [name for name in known if CATALOG[name].invariant]
    staked = [name for name in known if "stakes" in CATALOG[name].takes]
    others = [name for name in known if name not in (*fixed, *staked)]
    odds = [name for name in others if CATALOG[name].high == inf]
    shares = [name for name in others if name not in odds]
    return shares, sorted(odds, key=LATER.__contains__), staked, fixed


def _cells(look: Look, digits: int) -> Shown:
    """Show each table as rows of a population, which is what a clinic will see."""
    per = look.result.parameters["rows_per"]
    cells: dict[str, Source] = {
        name.upper(): partial(_rows, name=name, digits=digits) for name in ("tp", "fp", "fn", "tn")
    }
    columns: dict[str, Source] = {
        **look.who(),
        "population": lambda row: "sample as counted" if row["population"] == "sample"
        else row["population"],
        AT_ODDS: odds_of, "prevalence": "prevalence", **cells,
    }  # fmt: skip
    title = f"Per {per:,.10g} rows" + " (the sample: as counted)" * counted(look.result)
    return look.table("models", title, columns, right=tuple(cells))


def _rows(row: Row, *, name: str, digits: int) -> Cell:
    """Write a cell, whole where rows were counted."""
    number = row[name]
    if not isinstance(number, (int, float)):
        return number
    return f"{number:,.10g}" if row["population"] == "sample" else amount(number, digits)


def _unmoved(look: Look, names: Sequence[str]) -> Shown:
    """Show what never moves once for each model, as counted where rows were."""
    rows = look.result.tables["models"]
    first: dict[tuple[object, object], Row] = {}
    for row in rows:
        first.setdefault((row["slice"], row["model"]), row)
    cut = any(row["threshold"] is not None for row in rows)
    columns = {**look.who(), **({"threshold": "threshold"} if cut else {}), **look.measures(names)}
    title = "Measures that do not move with the class ratio"
    return look.table("models", title, columns, list(first.values()), note=_explained(names))


def _explained(names: Sequence[str]) -> str:
    return "; ".join(EXPLAINED[name] for name in names if name in EXPLAINED)


def _stakes(result: Result) -> str:
    """Say what errors cost and what right answers bring."""
    cost: Mapping[str, Any] = result.parameters.get("cost") or {}
    words = {"fp": "a false positive costs", "fn": "a false negative costs",
             "tp": "a true positive brings", "tn": "a true negative brings"}  # fmt: skip
    named = [f"{text} {cost[key]:g}" for key, text in words.items()
             if cost.get(key) or (key in cost and key in ("fp", "fn"))]  # fmt: skip
    return ", ".join(named)


def _crossovers(look: Look) -> Iterator[Shown]:
    rows = look.result.tables.get("crossovers", ())
    if not rows:
        return
    rows = sorted(rows, key=lambda row: value_of(row["crossing"]) is None)  # crossings first
    ends = [between(row["crossing"]) for row in rows]
    at, limits = "crossing at\nprevalence", f"{look.result.parameters['level'] * 100:g} % interval"
    columns: dict[str, Source] = {
        **look.who(model=False), "models": lambda row: f"{row['first']}, {row['second']}",
        **look.named, "which leads": "verdict", at: lambda row: exact(value_of(row["crossing"])),
    }  # fmt: skip
    if any(ends):
        columns[limits] = lambda row: between(row["crossing"])
    note = f"{OPEN} beyond the swept odds" if any(OPEN in text for text in ends) else ""
    title = "Where two models change places"
    yield look.table("crossovers", title, columns, rows, note=note, right=(at, limits))


def between(cell: Cell) -> str:
    """Write the interval of a crossing, whose ends may lie beyond the swept odds."""
    if not isinstance(cell, Estimate) or cell.low is cell.high is None:
        return ""
    low, high = (OPEN if end is None else exact(end) for end in (cell.low, cell.high))
    return f"[{low}, {high}]"


def _winners(look: Look) -> Iterator[Shown]:
    rows, models = look.result.tables.get("winners", ()), look.result.tables["models"]
    parameters = look.result.parameters
    judged = counted(look.result) and parameters.get("interval") != "none"
    order = {name: i for i, name in enumerate(dict.fromkeys(str(row["model"]) for row in models))}

    def ahead(row: Row) -> list[str]:
        if row["leader"] is None:
            return []
        undecided = row["undecided"] if judged and row["winner"] is None else []
        tied = [str(row["leader"]), *(undecided if isinstance(undecided, list) else ())]
        return sorted(dict.fromkeys(tied), key=lambda name: order.get(name, len(order)))

    def best(row: Row) -> str:
        names = ahead(row)
        return f"undecided: {some(names, FEW)}" if len(names) > 1 else leading(row)

    def leading(row: Row) -> str:
        """Name the leader, whose value is shown, and then those it does not beat for sure."""
        leader, others = row["leader"], [name for name in ahead(row) if name != row["leader"]]
        unsure = f", not for sure over {some(others, FEW)}" if others else ""
        return f"{ABSENT} no model has a value" if leader is None else f"{leader}{unsure}"

    named = {**look.who(model=False), **look.named}
    paired = ", on the same rows," if parameters.get("paired", True) else ""
    note = CALLED.format(paired) if judged else UNCALLED
    here = [row for row in rows if row["population"] != "sweep"]
    if here:
        columns = {**named, PLACE: place, "best model": leading, "its value": "value"}
        yield look.table("winners", "Which model where", columns, here, note=note)
        note = ""
    runs = neighbours(look.swept("winners"), ahead)
    if runs:
        columns = {**named, "positives:negatives": "odds", "prevalences": "prevalence",
                   "best model": best}  # fmt: skip
        yield look.table("winners", "Which model at which odds", columns, runs, note=note)


def neighbours(rows: Sequence[Row], ahead: Callable[[Row], list[str]]) -> list[Row]:
    """Put neighbouring odds with the same models ahead together: their first row, their ends."""
    out: list[Row] = []
    for _, group in groupby(rows, lambda row: (row["slice"], row["measure"])):
        ordered = sorted(group, key=lambda row: float(str(row["ratio"])))
        for _, run in groupby(ordered, ahead):
            first, *others = run
            last = others[-1] if others else first
            ends = {name: [write(row[name]) for row in (first, last)]
                    for name, write in (("odds", str), ("prevalence", exact))}  # fmt: skip
            out.append({**first, **{n: " .. ".join(dict.fromkeys(two)) for n, two in ends.items()}})
    return out


def _thresholds(look: Look) -> Iterator[Shown]:
    rows = look.result.tables.get("thresholds", ())
    wanted = "target" if any(row["population"] == "target" for row in rows) else "sample"
    here = [row for row in rows if row["population"] == wanted]
    if here:
        right = ("best\nthreshold", "fixed\nthreshold")
        columns: dict[str, Source] = {
            **look.who(), **look.named, PLACE: place, right[0]: best_threshold,
            "value\nthere": "value", "sens.\nthere": "sensitivity", "spec.\nthere": "specificity",
            right[1]: fixed_threshold, "value\nat it": "fixed_value", "loss": "loss",
            "cross-\nfitted": "honest", "gain": "honest_gain",
        }  # fmt: skip
        title = "Moving the threshold"
        yield look.table("thresholds", title, columns, here, note=HONEST, right=right)
    rows = look.swept("thresholds")
    if rows:
        yield _by_odds(look, rows)


def fixed_threshold(row: Row) -> str:
    """Write the threshold in use."""
    return exact(row["fixed_threshold"]) if row["fixed_threshold"] is not None else "largest class"


def best_threshold(row: Row) -> Cell:
    """Write where to cut, or that nothing or everything is to be called positive."""
    rule = row["rule"]
    return rule if rule in (None, "never positive", "always positive") else exact(row["threshold"])


def _by_odds(look: Look, rows: Sequence[Row]) -> Shown:
    """Show thresholds at a few evenly spaced odds, a column for each measure."""
    ratios = sorted({float(str(row["ratio"])) for row in rows})
    kept = evenly(ratios, SWEPT)
    lines: dict[tuple[str, str, float], dict[str, Cell]] = {}
    for row in rows:
        ratio = float(str(row["ratio"]))
        if ratio in kept:
            line = lines.setdefault((str(row["slice"]), str(row["model"]), ratio), {**row})
            line[f"best for {row['measure']}"] = best_threshold(row)
    names = dict.fromkeys(str(row["measure"]) for row in rows)
    columns: dict[str, Source] = {look.title(name): f"best for {name}" for name in names}
    note = "positive from there up"
    if "cutoffs" in look.result.tables:
        note += f"; all odds, with every digit: {more('cutoffs')}"
    title = f"Best threshold by odds: at {len(kept)} of {len(ratios)}"
    return look.table(
        "thresholds", title, {**look.who(), PLACE: place, **columns}, list(lines.values()),
        note=note, right=tuple(columns),
    )  # fmt: skip


def _ranges(look: Look) -> Iterator[Shown]:
    """Show what an uncertain prevalence does to the measures that move with it."""
    parameters, named = look.result.parameters, {**look.who(), **look.named}
    moving = {name for name, measure in CATALOG.items() if not measure.invariant}
    ranges, simulated = (
        [row for row in look.result.tables.get(name, ()) if row["measure"] in moving]
        for name in ("ranges", "simulated")
    )
    if ranges:
        low, high = (str(at_odds(end)) for end in parameters["range"])
        columns: dict[str, Source] = {
            **named, "lowest": "lowest", "at odds": lambda row: at_odds(row["lowest_at"]),
            "highest": "highest", "at odds ": lambda row: at_odds(row["highest_at"]),
        }  # fmt: skip
        yield look.table("ranges", f"Over the odds (prevalences) {low} to {high}", columns, ranges)
    if simulated:
        a, b = parameters["beta_prior"]
        share = f"{parameters['level'] * 100:g} %"
        columns = {**named, "mean": "mean", "median": "median", f"{share}\nfrom": "low",
                   f"{share}\nto": "high", "undefined\ndraws": "failed"}  # fmt: skip
        mean = f"mean {exact(a / (a + b))}, odds {a:g}:{b:g}"
        title = f"Prevalence drawn from Beta({a:g}, {b:g}): {mean}"
        note = "the two rates are drawn too, from what their rows leave plausible (Jeffreys)"
        note += f"; {parameters['draws']:,} draws" if parameters.get("draws") else ""
        if any(row[of] is None for row in simulated for of in ("mean", "median", "low", "high")):
            note += f"; {ABSENT} infinite, or undefined in every draw"
        yield look.table("simulated", title, columns, simulated, note=note)


def at_odds(prevalence: Cell) -> Cell:
    """Write odds and prevalence of a population known by its prevalence."""
    if not isinstance(prevalence, float):
        return prevalence
    return f"{Population.of_prevalence(prevalence).odds} ({exact(prevalence)})"
