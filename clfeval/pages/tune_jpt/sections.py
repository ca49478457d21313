"""Tables of tune-jpt in reading order: counts, measures, crossings, best models, thresholds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from math import inf

from clfeval.document import Cell, Estimate, Row, cell_value, comparable_rows
from clfeval.document.rows import column_values, deferred_rows
from clfeval.formatting import format_class_ratio, format_rows, format_share, quote_if_ambiguous
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import Population
from clfeval.pages.chart import Rank
from clfeval.pages.schema import Source, TableView
from clfeval.pages.table_parts import ABSENT, CELLS, evenly_spaced, format_amount, format_exact
from clfeval.pages.tune_jpt.main_table import (
    AT_ODDS,
    EXPLAINED_COLUMNS,
    LATER,
    MAIN,
    MAX_ROWS,
    OPEN,
    PLACE,
    SWEPT,
    TableContext,
    describe_costs,
    format_odds,
    format_population,
    format_prevalence,
    format_some_names,
    has_sample,
)
from clfeval.placeholders import ADD, END, OPTION

SIMULTANEOUS_NOTE = "confidence intervals are simultaneous over all class ratios{}"


def detail_tables(look: TableContext, digits: int) -> Iterator[TableView]:
    """Yield the tables that are shown on request."""
    known = look.available_measures
    fixed = [name for name in known if CATALOG[name].invariant]
    staked = [name for name in known if "stakes" in CATALOG[name].takes]
    others = [name for name in known if name not in (*fixed, *staked)]
    odds = sorted((n for n in others if CATALOG[n].high == inf), key=LATER.__contains__)
    yield _cells_table(look, digits)
    for name, title, names, note in (
        (
            "moving",
            "Measures that depend on the class ratio",
            [name for name in others if name not in odds],
            "",
        ),
        ("odds", "Odds that depend on the class ratio", odds, ""),
        ("cost", "Cost and benefit per row", staked, describe_costs(look.result)),
    ):
        if names:
            columns = {**look.who(), PLACE: format_population, **look.measures(names)}
            yield look.table(
                "models", title, columns, note=note, name=name, legend=EXPLAINED_COLUMNS
            )
    if fixed:
        first: dict[tuple[Cell, Cell], Row] = {}
        for row in look.result.tables["models"]:
            first.setdefault((row["slice"], row["model"]), row)
        cut = any(row["threshold"] is not None for row in look.result.tables["models"])
        columns = {
            **look.who(),
            **({"threshold": "threshold"} if cut else {}),
            **look.measures(fixed),
        }
        title = "Measures that do not depend on the class ratio"
        yield look.table(
            "models", title, columns, [*first.values()], name="unmoved", legend=EXPLAINED_COLUMNS
        )
    if swept := look.result.unsliced_rows("sweep"):
        ratios, kept = _spaced_ratios(swept)
        measures = look.measures([*dict.fromkeys((look.sort_measure, *MAIN))])
        columns = {**look.who(), PLACE: format_population, **measures}
        title = f"Measures by class ratio: {len(kept)} of {ratios} ratios"
        rows = [row for row in swept if float(str(row["ratio"])) in kept]
        yield look.table("sweep", title, columns, rows, lead=look.sort_measure)
    yield from _crossover_table(look)
    yield from _winner_tables(look)
    yield from _threshold_tables(look)


def expected_count_tables(look: TableContext, names: Sequence[str]) -> Iterator[TableView]:
    """Yield the table of expected counts in a population of a given size."""
    every = look.result.tables.get("expected", ())
    if not every:
        return
    first = [row for row in comparable_rows(every) if row["model"] in names]
    first.sort(key=lambda row: (str(row["odds"]), names.index(str(row["model"]))))
    rest = [row for row in every if row not in first]
    title = f"Expected counts in {look.result.parameters['population']:,.10g} rows"
    note = "intervals are of the expected counts; the counts of one sample vary more"
    for rows, rank in ((first, "asked"), (rest, "detail")):
        if rows:
            several = len({format_population(row) for row in rows}) > 1
            columns = {
                **look.who(),
                **({PLACE: format_population} if several else {}),
                "TP": "tp",
                "FN": "fn",
                "FP": "fp",
                "TN": "tn",
                "flagged": "flagged",
            }
            at = "" if several else f", {look.prevalence_title(rows[0])}"
            yield look.table(
                "expected",
                title + at,
                columns,
                rows,
                note=note,
                write=format_amount,
                rank=rank,
                lead="tp",
                most=MAX_ROWS,
            )


def _spaced_ratios(rows: Sequence[Row]) -> tuple[int, set[float]]:
    """Return the number of odds, and a few evenly spaced ones."""
    ratios = sorted({float(str(ratio)) for ratio in column_values(rows, "ratio")})
    return len(ratios), evenly_spaced(ratios, SWEPT)


def _cells_table(look: TableContext, digits: int) -> TableView:
    """Return the table of each 2 x 2 table as rows of a population."""

    def count(row: Row, name: str) -> Cell:  # whole where rows were counted
        number = row[name]
        if not isinstance(number, (int, float)):
            return number
        return (
            format_rows(number) if row["population"] == "sample" else format_amount(number, digits)
        )

    per = look.result.parameters["rows_per"]
    cells: dict[str, Source] = {cell.name.upper(): partial(count, name=cell.name) for cell in CELLS}
    columns: dict[str, Source] = {
        **look.who(),
        "population": "population",
        AT_ODDS: format_odds,
        "prevalence": "prevalence",
        **cells,
    }
    title = f"Confusion matrix per {per:,.10g} rows" + " (sample: counts)" * has_sample(look.result)
    return look.table("models", title, columns, right=tuple(cells), name="cells")


def _crossover_table(look: TableContext) -> Iterator[TableView]:
    rows = look.result.tables.get("crossovers", ())
    if not rows:
        return
    rows = sorted(rows, key=lambda row: cell_value(row["crossing"]) is None)  # crossings first
    ends = [format_crossing_interval(row["crossing"]) for row in rows]
    at, limits = "prevalence\nof crossing", f"{look.result.parameters['level'] * 100:g}% CI"
    columns: dict[str, Source] = {
        **look.who(model=False),
        "models": lambda row: (
            f"{quote_if_ambiguous(str(row['first']))} and {quote_if_ambiguous(str(row['second']))}"
        ),
        **look.measure_column,
        "leading model": "verdict",
        at: lambda row: format_prevalence(cell_value(row["crossing"])),
    }
    if any(ends):
        columns[limits] = lambda row: format_crossing_interval(row["crossing"])
    notes = [SIMULTANEOUS_NOTE.format(" and pairs")] * look.has_intervals
    notes += [f"{OPEN}: beyond the range of class ratios"] * any(OPEN in text for text in ends)
    yield look.table(
        "crossovers",
        "Crossings of pairs of models",
        columns,
        rows,
        note="; ".join(notes),
        right=(at, limits),
    )


def format_crossing_interval(cell: Cell) -> str:
    """Return the interval of a crossing as text; a limit may lie beyond the swept odds."""
    if not isinstance(cell, Estimate) or cell.low is cell.high is None:
        return ""
    low, high = (OPEN if end is None else format_share(end) for end in (cell.low, cell.high))
    return f"[{low}, {high}]"


def _winner_tables(look: TableContext) -> Iterator[TableView]:
    rows, models = look.result.tables.get("winners", ()), look.result.tables["models"]
    judged = look.has_intervals
    order = {name: i for i, name in enumerate(dict.fromkeys(str(row["model"]) for row in models))}

    def ahead(row: Row) -> list[str]:
        if row["leader"] is None:
            return []
        undecided = row["tied"] if judged and row["winner"] is None else []
        tied = [str(row["leader"]), *(undecided if isinstance(undecided, list) else ())]
        return sorted(dict.fromkeys(tied), key=lambda name: order.get(name, len(order)))

    def best(row: Row) -> str:
        names = ahead(row)
        return f"tied: {format_some_names(names)}" if len(names) > 1 else leading(row)

    def leading(row: Row) -> str:
        """Return the name of the leader, whose value is shown, and then of those tied with it."""
        leader, others = row["leader"], [name for name in ahead(row) if name != row["leader"]]
        ties = f"; tied: {format_some_names(others)}" if others else ""
        return f"{ABSENT} no model has a value" if leader is None else f"{leader}{ties}"

    named = {**look.who(model=False), **look.measure_column}
    note = "model with the best value, not tested for significance"
    if judged:
        paired = " on the same rows" * bool(look.result.parameters.get("paired", True))
        note = f"tied: not significantly different from the best{paired} (adjusted for all pairs)"
    here = [row for row in rows if row["population"] != "sweep"]
    if here:
        columns = {**named, PLACE: format_population, "best model": leading, "value": "value"}
        yield look.table("winners", "Best model by population", columns, here, note=note)
    runs = merge_neighbours([row for row in rows if row["population"] == "sweep"], ahead)
    if runs:
        columns = {
            **named,
            "positives:negatives": "odds",
            "prevalences": "prevalence",
            "best model": best,
        }
        note = SIMULTANEOUS_NOTE.format("") if judged else "" if here else note
        yield look.table("winners", "Best model by class ratio", columns, runs, note=note)


def merge_neighbours(rows: Sequence[Row], ahead: Callable[[Row], list[str]]) -> list[Row]:
    """Return one row for neighbouring odds with the same best models, with the range of odds."""
    out: list[Row] = []
    for _, group in groupby(rows, lambda row: (row["slice"], row["measure"])):
        ordered = sorted(group, key=lambda row: float(str(row["ratio"])))
        for _, run in groupby(ordered, ahead):
            same = list(run)
            first, last = same[0], same[-1]
            kinds = {"odds": format_class_ratio, "prevalence": format_prevalence}
            ends = {
                name: dict.fromkeys(write(row[name]) for row in (first, last))
                for name, write in kinds.items()
            }
            out.append({**first, **{name: " to ".join(two) for name, two in ends.items()}})
    return out


def _threshold_tables(look: TableContext) -> Iterator[TableView]:
    if here := look.result.unsliced_rows("thresholds"):
        right = ("best\nthreshold", "fixed\nthreshold")
        columns: dict[str, Source] = {
            **look.who(),
            **look.measure_column,
            PLACE: format_population,
            right[0]: format_best_threshold,
            "best\nvalue": "value",
            "sens. at\nbest": "sensitivity",
            "spec. at\nbest": "specificity",
            right[1]: lambda row: (
                "largest class"
                if row["fixed_threshold"] is None
                else (format_exact(row["fixed_threshold"]))
            ),
            "value at\nfixed": "fixed_value",
            "corrected": "corrected",
        }
        title = "Best thresholds"
        yield look.table("thresholds", title, columns, here, legend=("corrected",), right=right)
    rows = look.swept("thresholds")
    if not rows:
        return
    # at a few evenly spaced odds, with a column for each measure
    ratios, kept = _spaced_ratios(rows)
    places = [i for i, ratio in enumerate(column_values(rows, "ratio")) if ratio in kept]
    keys = (column_values(rows, name) for name in ("slice", "model", "ratio"))
    who = list(zip(*keys, strict=True))

    def made() -> list[dict[str, Cell]]:
        found: dict[object, dict[str, Cell]] = {}
        for i in places:
            line = found.setdefault(who[i], {**rows[i]})
            line[f"best for {rows[i]['measure']}"] = format_best_threshold(rows[i])
        return list(found.values())

    names = dict.fromkeys(map(str, column_values(rows, "measure")))
    best: dict[str, Source] = {look.title(name): f"best for {name}" for name in names}
    note = "rows with this score or more are predicted positive"
    if "cutoffs" in look.result.tables:
        note += f"; for all class ratios, {ADD} {OPTION}--format csv --show cutoffs{END}"
    title = f"Best threshold by class ratio: {len(kept)} of {ratios}"
    lines = deferred_rows(len({who[i] for i in places}), made)
    yield look.table(
        "thresholds",
        title,
        {**look.who(), PLACE: format_population, **best},
        lines,
        note=note,
        right=tuple(best),
        name="cutoffs",
    )


def format_best_threshold(row: Row) -> Cell:
    """Return the best threshold, or that no row or every row is to be predicted positive."""
    always = row["rule"] in (None, "never positive", "always positive")
    return row["rule"] if always else format_exact(row["threshold"])


def range_tables(look: TableContext, first: Sequence[str]) -> Iterator[TableView]:
    """Yield tables of measures for an uncertain prevalence: the first ones, then the others."""
    parameters, named = look.result.parameters, {**look.who(), **look.measure_column}
    moving = [name for name in look.available_measures if not CATALOG[name].invariant]
    few = [name for name in first if name in moving] or moving[:1]
    for names in (few, [name for name in moving if name not in few]):
        rank: Rank = "asked" if names is few else "detail"
        span, simulated = (
            [row for row in look.result.tables.get(name, ()) if row["measure"] in names]
            for name in ("ranges", "simulated")
        )
        others = "" if names is few else ": other measures"
        if span:
            ends = (str(format_odds_of_prevalence(end)) for end in parameters["prevalence_range"])
            columns: dict[str, Source] = {
                **named,
                "lowest": "lowest",
                "at odds": lambda row: format_odds_of_prevalence(row["lowest_at"]),
                "highest": "highest",
                "at odds ": lambda row: format_odds_of_prevalence(row["highest_at"]),
            }
            title = f"Measures at class ratios (prevalences) from {' to '.join(ends)}"
            yield look.table("ranges", title + others, columns, span, rank=rank)
        if simulated:
            yield _simulated_table(look, simulated, others, rank)


def _simulated_table(look: TableContext, rows: Sequence[Row], others: str, rank: Rank) -> TableView:
    parameters = look.result.parameters
    a, b = parameters["prevalence_beta"]
    share = f"{parameters['level'] * 100:g}%"
    columns = {
        **look.who(),
        **look.measure_column,
        "mean": "mean",
        "median": "median",
        f"{share}\nlower": "low",
        f"{share}\nupper": "high",
        "undefined": "failed",
    }
    mean = f"mean {format_exact(a / (a + b))}, class ratio {a:g}:{b:g}"
    title = f"Measures with prevalence from Beta({a:g}, {b:g}): {mean}{others}"
    note = "sensitivity and specificity vary too, by their Jeffreys posteriors"
    note += f"; {parameters['draws']:,} simulations" if parameters.get("draws") else ""
    if any(row[of] is None for row in rows for of in ("mean", "median", "low", "high")):
        note += f"; {ABSENT} infinite, or undefined in every simulation"
    return look.table("simulated", title, columns, rows, note=note, rank=rank)


def format_odds_of_prevalence(prevalence: Cell) -> Cell:
    """Return the odds and prevalence of a population given by its prevalence."""
    if not isinstance(prevalence, float):
        return prevalence
    odds = Population.from_prevalence(prevalence).odds
    return f"{format_class_ratio(odds)} ({format_share(prevalence)})"
