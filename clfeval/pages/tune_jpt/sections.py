"""Tables of tune-jpt in reading order: counts, measures, crossings, best models, thresholds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from math import inf

from clfeval.document import comparable_rows
from clfeval.document.cells import Cell, Estimate, Row, as_row, cell_number, cell_value
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


def detail_tables(context: TableContext, digits: int) -> Iterator[TableView]:
    """Yield the tables that are shown on request."""
    yield _cells_table(context, digits)
    yield from _measure_group_tables(context)
    yield from _sweep_table(context)
    yield from _crossover_table(context)
    yield from _winner_tables(context)
    yield from _threshold_tables(context)


def _measure_group_tables(context: TableContext) -> Iterator[TableView]:
    """Yield all measures: those that depend on the class ratio, odds, costs, and the others."""
    available = context.available_measures
    fixed = [name for name in available if CATALOG[name].invariant]
    staked = [name for name in available if "stakes" in CATALOG[name].takes]
    others = [name for name in available if name not in (*fixed, *staked)]
    odds = sorted((n for n in others if CATALOG[n].high == inf), key=LATER.__contains__)
    moving = [name for name in others if name not in odds]
    costs = describe_costs(context.result)
    for name, title, names, note in (
        ("moving", "Measures that depend on the class ratio", moving, ""),
        ("odds", "Odds that depend on the class ratio", odds, ""),
        ("cost", "Cost and benefit per row", staked, costs),
    ):
        if names:
            columns = {**context.who(), PLACE: format_population, **context.measures(names)}
            yield context.table(
                "models", title, columns, note=note, name=name, legend=EXPLAINED_COLUMNS
            )
    if fixed:
        yield _fixed_table(context, fixed)


def _fixed_table(context: TableContext, names: Sequence[str]) -> TableView:
    """Return the table of measures that do not depend on the class ratio, a row a model."""
    all_rows = context.result.tables["models"]
    first_rows: dict[tuple[Cell, Cell], Row] = {}
    for row in all_rows:
        first_rows.setdefault((row["slice"], row["model"]), row)
    has_threshold = any(row["threshold"] is not None for row in all_rows)
    columns = {
        **context.who(),
        **({"threshold": "threshold"} if has_threshold else {}),
        **context.measures(names),
    }
    title = "Measures that do not depend on the class ratio"
    rows = [*first_rows.values()]
    return context.table("models", title, columns, rows, name="unmoved", legend=EXPLAINED_COLUMNS)


def _sweep_table(context: TableContext) -> Iterator[TableView]:
    """Yield the main measures at a few evenly spaced odds."""
    swept = context.result.unsliced_rows("sweep")
    if swept:
        ratios, spaced = _spaced_ratios(swept)
        measures = context.measures([*dict.fromkeys((context.sort_measure, *MAIN))])
        columns = {**context.who(), PLACE: format_population, **measures}
        title = f"Measures by class ratio: {len(spaced)} of {ratios} ratios"
        rows = [row for row in swept if cell_number(row["ratio"]) in spaced]
        yield context.table("sweep", title, columns, rows, lead=context.sort_measure)


def expected_count_tables(context: TableContext, names: Sequence[str]) -> Iterator[TableView]:
    """Yield the table of expected counts in a population of a given size."""
    every = context.result.tables.get("expected", ())
    if not every:
        return
    first = [row for row in comparable_rows(every) if row["model"] in names]
    first.sort(key=lambda row: (str(row["odds"]), names.index(row["model"])))
    rest = [row for row in every if row not in first]
    title = f"Expected counts in {context.result.parameters['population']:,.10g} rows"
    note = "intervals are of the expected counts; the counts of one sample vary more"
    for rows, rank in ((first, "asked"), (rest, "detail")):
        if rows:
            several = len({format_population(row) for row in rows}) > 1
            columns = {
                **context.who(),
                **({PLACE: format_population} if several else {}),
                "TP": "tp",
                "FN": "fn",
                "FP": "fp",
                "TN": "tn",
                "flagged": "flagged",
            }
            population = "" if several else f", {context.prevalence_title(rows[0])}"
            yield context.table(
                "expected",
                title + population,
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
    ratios = sorted({cell_number(ratio) for ratio in column_values(rows, "ratio")})
    return len(ratios), evenly_spaced(ratios, SWEPT)


def _cells_table(context: TableContext, digits: int) -> TableView:
    """Return the table of each 2 x 2 table as rows of a population."""

    def count(row: Row, name: str) -> Cell:  # whole where rows were counted
        number = row[name]
        if not isinstance(number, (int, float)):
            return number
        return (
            format_rows(number) if row["population"] == "sample" else format_amount(number, digits)
        )

    per = context.result.parameters["rows_per"]
    cells: dict[str, Source] = {cell.name.upper(): partial(count, name=cell.name) for cell in CELLS}
    columns: dict[str, Source] = {
        **context.who(),
        "population": "population",
        AT_ODDS: format_odds,
        "prevalence": "prevalence",
        **cells,
    }
    title = f"Confusion matrix per {per:,.10g} rows" + " (sample: counts)" * has_sample(
        context.result
    )
    return context.table("models", title, columns, right=tuple(cells), name="cells")


def _crossover_table(context: TableContext) -> Iterator[TableView]:
    rows = context.result.tables.get("crossovers", ())
    if not rows:
        return
    rows = sorted(rows, key=lambda row: cell_value(row["crossing"]) is None)  # crossings first
    intervals = [format_crossing_interval(row["crossing"]) for row in rows]
    crossing = "prevalence\nof crossing"
    limits = f"{context.result.parameters['level'] * 100:g}% CI"
    columns: dict[str, Source] = {
        **context.who(model=False),
        "models": lambda row: (
            f"{quote_if_ambiguous(str(row['first']))} and {quote_if_ambiguous(str(row['second']))}"
        ),
        **context.measure_column,
        "leading model": "verdict",
        crossing: lambda row: format_prevalence(cell_value(row["crossing"])),
    }
    if any(intervals):
        columns[limits] = lambda row: format_crossing_interval(row["crossing"])
    notes = [SIMULTANEOUS_NOTE.format(" and pairs")] * context.has_intervals
    notes += [f"{OPEN}: beyond the range of class ratios"] * any(OPEN in text for text in intervals)
    yield context.table(
        "crossovers",
        "Crossings of pairs of models",
        columns,
        rows,
        note="; ".join(notes),
        right=(crossing, limits),
    )


def format_crossing_interval(cell: Cell) -> str:
    """Return the interval of a crossing as text; a limit may lie beyond the swept odds."""
    if not isinstance(cell, Estimate) or cell.low is cell.high is None:
        return ""
    low, high = (OPEN if limit is None else format_share(limit) for limit in (cell.low, cell.high))
    return f"[{low}, {high}]"


def _winner_tables(context: TableContext) -> Iterator[TableView]:
    rows = context.result.tables.get("winners", ())
    tested = context.has_intervals
    models = dict.fromkeys(row["model"] for row in context.result.tables["models"])
    order = {name: i for i, name in enumerate(models)}

    def best_models(row: Row) -> list[str]:
        if row["leader"] is None:
            return []
        undecided = row["tied"] if tested and row["winner"] is None else []
        tied = [row["leader"], *(undecided if isinstance(undecided, list) else ())]
        return sorted(dict.fromkeys(tied), key=lambda name: order.get(name, len(order)))

    def best(row: Row) -> str:
        names = best_models(row)
        return f"tied: {format_some_names(names)}" if len(names) > 1 else leading(row)

    def leading(row: Row) -> str:
        """Return the name of the leader, whose value is shown, and then of those tied with it."""
        leader = row["leader"]
        others = [name for name in best_models(row) if name != leader]
        ties = f"; tied: {format_some_names(others)}" if others else ""
        return f"{ABSENT} no model has a value" if leader is None else f"{leader}{ties}"

    key_columns = {**context.who(model=False), **context.measure_column}
    note = "model with the best value, not tested for significance"
    if tested:
        paired = " on the same rows" * bool(context.result.parameters.get("paired", True))
        note = f"tied: not significantly different from the best{paired} (adjusted for all pairs)"
    populations = [row for row in rows if row["population"] != "sweep"]
    if populations:
        columns = {**key_columns, PLACE: format_population, "best model": leading, "value": "value"}
        yield context.table("winners", "Best model by population", columns, populations, note=note)
    swept = [row for row in rows if row["population"] == "sweep"]
    ranges = merge_neighbours(swept, best_models)
    if ranges:
        columns = {
            **key_columns,
            "positives:negatives": "odds",
            "prevalences": "prevalence",
            "best model": best,
        }
        note = SIMULTANEOUS_NOTE.format("") if tested else "" if populations else note
        yield context.table("winners", "Best model by class ratio", columns, ranges, note=note)


def merge_neighbours(rows: Sequence[Row], best_models: Callable[[Row], list[str]]) -> list[Row]:
    """Return one row for neighbouring odds with the same best models, with the range of odds."""
    merged: list[Row] = []
    for _, group in groupby(rows, lambda row: (row["slice"], row["measure"])):
        ordered = sorted(group, key=lambda row: cell_number(row["ratio"]))
        for _, neighbours in groupby(ordered, best_models):
            first, *others = neighbours
            last = others[-1] if others else first
            odds = dict.fromkeys(format_class_ratio(row["odds"]) for row in (first, last))
            shares = dict.fromkeys(format_prevalence(row["prevalence"]) for row in (first, last))
            merged.append(
                as_row({**first, "odds": " to ".join(odds), "prevalence": " to ".join(shares)})
            )
    return merged


def _threshold_tables(context: TableContext) -> Iterator[TableView]:
    if populations := context.result.unsliced_rows("thresholds"):
        right = ("best\nthreshold", "fixed\nthreshold")
        columns: dict[str, Source] = {
            **context.who(),
            **context.measure_column,
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
        yield context.table(
            "thresholds", title, columns, populations, legend=("corrected",), right=right
        )
    rows = context.swept("thresholds")
    if rows:
        yield _swept_thresholds_table(context, rows)


def _swept_thresholds_table(context: TableContext, rows: Sequence[Row]) -> TableView:
    """Return the best thresholds at a few evenly spaced odds, with a column for each measure."""
    ratios, spaced = _spaced_ratios(rows)
    indices = [i for i, ratio in enumerate(column_values(rows, "ratio")) if ratio in spaced]
    key_columns = (column_values(rows, name) for name in ("slice", "model", "ratio"))
    keys = list(zip(*key_columns, strict=True))

    def lines_by_key() -> list[dict[str, Cell]]:
        lines: dict[object, dict[str, Cell]] = {}
        for i in indices:
            line = lines.setdefault(keys[i], {**rows[i]})
            line[f"best for {rows[i]['measure']}"] = format_best_threshold(rows[i])
        return list(lines.values())

    names = dict.fromkeys(map(str, column_values(rows, "measure")))
    best: dict[str, Source] = {context.title(name): f"best for {name}" for name in names}
    note = "rows with this score or more are predicted positive"
    if "cutoffs" in context.result.tables:
        note += f"; for all class ratios, {ADD} {OPTION}--format csv --show cutoffs{END}"
    return context.table(
        "thresholds",
        f"Best threshold by class ratio: {len(spaced)} of {ratios}",
        {**context.who(), PLACE: format_population, **best},
        deferred_rows(len({keys[i] for i in indices}), lines_by_key),
        note=note,
        right=tuple(best),
        name="cutoffs",
    )


def format_best_threshold(row: Row) -> Cell:
    """Return the best threshold, or that no row or every row is to be predicted positive."""
    always = row["rule"] in (None, "never positive", "always positive")
    return row["rule"] if always else format_exact(row["threshold"])


def range_tables(context: TableContext, first: Sequence[str]) -> Iterator[TableView]:
    """Yield tables of measures for an uncertain prevalence: the first ones, then the others."""
    moving = [name for name in context.available_measures if not CATALOG[name].invariant]
    first = [name for name in first if name in moving] or moving[:1]
    others = [name for name in moving if name not in first]
    parts: tuple[tuple[Sequence[str], Rank, str], ...] = (
        (first, "asked", ""),
        (others, "detail", ": other measures"),
    )
    tables = context.result.tables
    for names, rank, suffix in parts:
        ranges = [row for row in tables.get("ranges", ()) if row["measure"] in names]
        if ranges:
            yield _range_table(context, ranges, suffix, rank)
        simulated = [row for row in tables.get("simulated", ()) if row["measure"] in names]
        if simulated:
            yield _simulated_table(context, simulated, suffix, rank)


def _range_table(context: TableContext, rows: Sequence[Row], suffix: str, rank: Rank) -> TableView:
    """Return the smallest and largest values over a range of prevalences; suffix: of the title."""
    limits = context.result.parameters["prevalence_range"]
    odds = (str(format_odds_of_prevalence(limit)) for limit in limits)
    columns: dict[str, Source] = {
        **context.who(),
        **context.measure_column,
        "lowest": "lowest",
        "at odds": lambda row: format_odds_of_prevalence(row["lowest_at"]),
        "highest": "highest",
        "at odds ": lambda row: format_odds_of_prevalence(row["highest_at"]),
    }
    title = f"Measures at class ratios (prevalences) from {' to '.join(odds)}{suffix}"
    return context.table("ranges", title, columns, rows, rank=rank)


def _simulated_table(
    context: TableContext, rows: Sequence[Row], suffix: str, rank: Rank
) -> TableView:
    """Return measures under an uncertain prevalence, simulated; suffix: of the title."""
    parameters = context.result.parameters
    a, b = parameters["prevalence_beta"]
    share = f"{parameters['level'] * 100:g}%"
    columns = {
        **context.who(),
        **context.measure_column,
        "mean": "mean",
        "median": "median",
        f"{share}\nlower": "low",
        f"{share}\nupper": "high",
        "undefined": "failed",
    }
    mean = f"mean {format_exact(a / (a + b))}, class ratio {a:g}:{b:g}"
    title = f"Measures with prevalence from Beta({a:g}, {b:g}): {mean}{suffix}"
    note = "sensitivity and specificity vary too, by their Jeffreys posteriors"
    note += f"; {parameters['draws']:,} simulations" if parameters.get("draws") else ""
    values = (row[name] for row in rows for name in ("mean", "median", "low", "high"))
    if any(value is None for value in values):
        note += f"; {ABSENT} infinite, or undefined in every simulation"
    return context.table("simulated", title, columns, rows, note=note, rank=rank)


def format_odds_of_prevalence(prevalence: Cell) -> Cell:
    """Return the odds and prevalence of a population given by its prevalence."""
    if not isinstance(prevalence, float):
        return prevalence
    odds = Population.from_prevalence(prevalence).odds
    return f"{format_class_ratio(odds)} ({format_share(prevalence)})"
