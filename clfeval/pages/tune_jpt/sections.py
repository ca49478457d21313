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
from clfeval.pages.shared_tables import CELLS
from clfeval.pages.table_parts import ABSENT, evenly_spaced, format_amount, format_exact
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
    available_measures = context.available_measures
    fixed_measures = [name for name in available_measures if CATALOG[name].invariant]
    cost_measures = [name for name in available_measures if "stakes" in CATALOG[name].takes]
    other_measures = [
        name for name in available_measures if name not in (*fixed_measures, *cost_measures)
    ]
    odds_measures = sorted(
        (n for n in other_measures if CATALOG[n].high == inf), key=LATER.__contains__
    )
    ratio_dependent = [name for name in other_measures if name not in odds_measures]
    costs = describe_costs(context.result)
    for name, title, group_measures, note in (
        ("moving", "Measures that depend on the class ratio", ratio_dependent, ""),
        ("odds", "Odds that depend on the class ratio", odds_measures, ""),
        ("cost", "Cost and benefit per row", cost_measures, costs),
    ):
        if group_measures:
            columns = {
                **context.who(),
                PLACE: format_population,
                **context.measures(group_measures),
            }
            yield context.table(
                "models", title, columns, note=note, name=name, legend=EXPLAINED_COLUMNS
            )
    if fixed_measures:
        yield _fixed_table(context, fixed_measures)


def _fixed_table(context: TableContext, measures: Sequence[str]) -> TableView:
    """Return the table of measures that do not depend on the class ratio, a row a model."""
    all_rows = context.result.tables["models"]
    first_row_of_model: dict[tuple[Cell, Cell], Row] = {}
    for row in all_rows:
        first_row_of_model.setdefault((row["slice"], row["model"]), row)
    has_threshold = any(row["threshold"] is not None for row in all_rows)
    columns = {
        **context.who(),
        **({"threshold": "threshold"} if has_threshold else {}),
        **context.measures(measures),
    }
    title = "Measures that do not depend on the class ratio"
    rows = [*first_row_of_model.values()]
    return context.table("models", title, columns, rows, name="unmoved", legend=EXPLAINED_COLUMNS)


def _sweep_table(context: TableContext) -> Iterator[TableView]:
    """Yield the main measures at a few evenly spaced odds."""
    sweep_rows = context.result.unsliced_rows("sweep")
    if sweep_rows:
        ratio_count, spaced_ratios = _spaced_ratios(sweep_rows)
        measures = context.measures([*dict.fromkeys((context.sort_measure, *MAIN))])
        columns = {**context.who(), PLACE: format_population, **measures}
        title = f"Measures by class ratio: {len(spaced_ratios)} of {ratio_count} ratios"
        rows = [row for row in sweep_rows if cell_number(row["ratio"]) in spaced_ratios]
        yield context.table("sweep", title, columns, rows, lead=context.sort_measure)


def expected_count_tables(context: TableContext, models: Sequence[str]) -> Iterator[TableView]:
    """Yield the table of expected counts in a population of a given size."""
    all_rows = context.result.tables.get("expected", ())
    if not all_rows:
        return
    rows_at_same_odds = [row for row in comparable_rows(all_rows) if row["model"] in models]
    rows_at_same_odds.sort(key=lambda row: (str(row["odds"]), models.index(row["model"])))
    other_rows = [row for row in all_rows if row not in rows_at_same_odds]
    title = f"Expected counts in {context.result.parameters['population']:,.10g} rows"
    note = "intervals are of the expected counts; the counts of one sample vary more"
    for rows, rank in ((rows_at_same_odds, "asked"), (other_rows, "detail")):
        if rows:
            has_several_populations = len({format_population(row) for row in rows}) > 1
            columns = {
                **context.who(),
                **({PLACE: format_population} if has_several_populations else {}),
                "TP": "tp",
                "FN": "fn",
                "FP": "fp",
                "TN": "tn",
                "flagged": "flagged",
            }
            population_clause = (
                "" if has_several_populations else f", {context.prevalence_title(rows[0])}"
            )
            yield context.table(
                "expected",
                title + population_clause,
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

    def format_cell_count(row: Row, name: str) -> Cell:  # whole where rows were counted
        count = row[name]
        if not isinstance(count, (int, float)):
            return count
        return format_rows(count) if row["population"] == "sample" else format_amount(count, digits)

    rows_per = context.result.parameters["rows_per"]
    cell_columns: dict[str, Source] = {
        cell.name.upper(): partial(format_cell_count, name=cell.name) for cell in CELLS
    }
    columns: dict[str, Source] = {
        **context.who(),
        "population": "population",
        AT_ODDS: format_odds,
        "prevalence": "prevalence",
        **cell_columns,
    }
    title = f"Confusion matrix per {rows_per:,.10g} rows"
    title += " (sample: counts)" if has_sample(context.result) else ""
    return context.table("models", title, columns, right=tuple(cell_columns), name="cells")


def _crossover_table(context: TableContext) -> Iterator[TableView]:
    """Yield the table of crossings of pairs of models; pairs that cross come first."""
    rows = context.result.tables.get("crossovers", ())
    if not rows:
        return
    rows = sorted(rows, key=lambda row: cell_value(row["crossing"]) is None)  # crossings first
    intervals = [format_crossing_interval(row["crossing"]) for row in rows]
    crossing_heading = "prevalence\nof crossing"
    interval_heading = f"{context.result.parameters['level'] * 100:g}% CI"
    columns: dict[str, Source] = {
        **context.who(model=False),
        "models": lambda row: (
            f"{quote_if_ambiguous(str(row['first']))} and {quote_if_ambiguous(str(row['second']))}"
        ),
        **context.measure_column,
        "leading model": "verdict",
        crossing_heading: lambda row: format_prevalence(cell_value(row["crossing"])),
    }
    if any(intervals):
        columns[interval_heading] = lambda row: format_crossing_interval(row["crossing"])
    notes = [SIMULTANEOUS_NOTE.format(" and pairs")] if context.has_intervals else []
    if any(OPEN in text for text in intervals):
        notes.append(f"{OPEN}: beyond the range of class ratios")
    yield context.table(
        "crossovers",
        "Crossings of pairs of models",
        columns,
        rows,
        note="; ".join(notes),
        right=(crossing_heading, interval_heading),
    )


def format_crossing_interval(cell: Cell) -> str:
    """Return the interval of a crossing as text; a limit may lie beyond the swept odds."""
    if not isinstance(cell, Estimate) or cell.low is cell.high is None:
        return ""
    low, high = (OPEN if limit is None else format_share(limit) for limit in (cell.low, cell.high))
    return f"[{low}, {high}]"


def _winner_tables(context: TableContext) -> Iterator[TableView]:
    """Yield the tables of the best models: by population, then by swept class ratio."""
    rows = context.result.tables.get("winners", ())
    is_tested = context.has_intervals
    models = dict.fromkeys(row["model"] for row in context.result.tables["models"])
    rank_of_model = {name: rank for rank, name in enumerate(models)}

    def best_models(row: Row) -> list[str]:
        if row["leader"] is None:
            return []
        tied_models = row["tied"] if is_tested and row["winner"] is None else []
        best_names = [row["leader"], *(tied_models if isinstance(tied_models, list) else ())]
        return sorted(
            dict.fromkeys(best_names), key=lambda name: rank_of_model.get(name, len(rank_of_model))
        )

    def format_best(row: Row) -> str:
        names = best_models(row)
        return f"tied: {format_some_names(names)}" if len(names) > 1 else format_leader(row)

    def format_leader(row: Row) -> str:
        """Return the name of the leader, whose value is shown, and then of those tied with it."""
        leader = row["leader"]
        tied_names = [name for name in best_models(row) if name != leader]
        ties_clause = f"; tied: {format_some_names(tied_names)}" if tied_names else ""
        return f"{ABSENT} no model has a value" if leader is None else f"{leader}{ties_clause}"

    key_columns = {**context.who(model=False), **context.measure_column}
    note = "model with the best value, not tested for significance"
    if is_tested:
        is_paired = context.result.parameters.get("paired", True)
        paired_clause = " on the same rows" if is_paired else ""
        note = f"tied: not significantly different from the best{paired_clause} "
        note += "(adjusted for all pairs)"
    population_rows = [row for row in rows if row["population"] != "sweep"]
    if population_rows:
        columns = {
            **key_columns,
            PLACE: format_population,
            "best model": format_leader,
            "value": "value",
        }
        yield context.table(
            "winners", "Best model by population", columns, population_rows, note=note
        )
    sweep_rows = [row for row in rows if row["population"] == "sweep"]
    merged_rows = merge_neighbours(sweep_rows, best_models)
    if merged_rows:
        columns = {
            **key_columns,
            "positives:negatives": "odds",
            "prevalences": "prevalence",
            "best model": format_best,
        }
        note = SIMULTANEOUS_NOTE.format("") if is_tested else "" if population_rows else note
        yield context.table("winners", "Best model by class ratio", columns, merged_rows, note=note)


def merge_neighbours(rows: Sequence[Row], best_models: Callable[[Row], list[str]]) -> list[Row]:
    """Return one row for neighbouring odds with the same best models, with the range of odds."""
    merged_rows: list[Row] = []
    for _, rows_of_measure in groupby(rows, lambda row: (row["slice"], row["measure"])):
        sorted_rows = sorted(rows_of_measure, key=lambda row: cell_number(row["ratio"]))
        for _, equal_neighbours in groupby(sorted_rows, best_models):
            first_row, *other_rows = equal_neighbours
            last_row = other_rows[-1] if other_rows else first_row
            odds_texts = dict.fromkeys(
                format_class_ratio(row["odds"]) for row in (first_row, last_row)
            )
            prevalence_texts = dict.fromkeys(
                format_prevalence(row["prevalence"]) for row in (first_row, last_row)
            )
            merged_rows.append(
                as_row(
                    {
                        **first_row,
                        "odds": " to ".join(odds_texts),
                        "prevalence": " to ".join(prevalence_texts),
                    }
                )
            )
    return merged_rows


def _threshold_tables(context: TableContext) -> Iterator[TableView]:
    """Yield the tables of best thresholds: by population, then by swept class ratio."""
    if rows_of_populations := context.result.unsliced_rows("thresholds"):
        right_headings = ("best\nthreshold", "fixed\nthreshold")
        columns: dict[str, Source] = {
            **context.who(),
            **context.measure_column,
            PLACE: format_population,
            right_headings[0]: format_best_threshold,
            "best\nvalue": "value",
            "sens. at\nbest": "sensitivity",
            "spec. at\nbest": "specificity",
            right_headings[1]: lambda row: (
                "largest class"
                if row["fixed_threshold"] is None
                else (format_exact(row["fixed_threshold"]))
            ),
            "value at\nfixed": "fixed_value",
            "corrected": "corrected",
        }
        title = "Best thresholds"
        yield context.table(
            "thresholds",
            title,
            columns,
            rows_of_populations,
            legend=("corrected",),
            right=right_headings,
        )
    rows = context.swept("thresholds")
    if rows:
        yield _swept_thresholds_table(context, rows)


def _swept_thresholds_table(context: TableContext, rows: Sequence[Row]) -> TableView:
    """Return the best thresholds at a few evenly spaced odds, with a column for each measure."""
    ratio_count, spaced_ratios = _spaced_ratios(rows)
    indices = [
        index for index, ratio in enumerate(column_values(rows, "ratio")) if ratio in spaced_ratios
    ]
    key_columns = (column_values(rows, name) for name in ("slice", "model", "ratio"))
    key_of_row = list(zip(*key_columns, strict=True))

    def merge_lines() -> list[dict[str, Cell]]:
        line_of_key: dict[object, dict[str, Cell]] = {}
        for index in indices:
            cells = line_of_key.setdefault(key_of_row[index], {**rows[index]})
            cells[f"best for {rows[index]['measure']}"] = format_best_threshold(rows[index])
        return list(line_of_key.values())

    measures = dict.fromkeys(map(str, column_values(rows, "measure")))
    best_columns: dict[str, Source] = {context.title(name): f"best for {name}" for name in measures}
    note = "rows with this score or more are predicted positive"
    if "cutoffs" in context.result.tables:
        note += f"; for all class ratios, {ADD} {OPTION}--format csv --show cutoffs{END}"
    return context.table(
        "thresholds",
        f"Best threshold by class ratio: {len(spaced_ratios)} of {ratio_count}",
        {**context.who(), PLACE: format_population, **best_columns},
        deferred_rows(len({key_of_row[index] for index in indices}), merge_lines),
        note=note,
        right=tuple(best_columns),
        name="cutoffs",
    )


def format_best_threshold(row: Row) -> Cell:
    """Return the best threshold, or that no row or every row is to be predicted positive."""
    always = row["rule"] in (None, "never positive", "always positive")
    return row["rule"] if always else format_exact(row["threshold"])


def range_tables(context: TableContext, first_measures: Sequence[str]) -> Iterator[TableView]:
    """Yield tables of measures for an uncertain prevalence: the first ones, then the others."""
    ratio_dependent = [name for name in context.available_measures if not CATALOG[name].invariant]
    first_measures = [
        name for name in first_measures if name in ratio_dependent
    ] or ratio_dependent[:1]
    other_measures = [name for name in ratio_dependent if name not in first_measures]
    measure_groups: tuple[tuple[Sequence[str], Rank, str], ...] = (
        (first_measures, "asked", ""),
        (other_measures, "detail", ": other measures"),
    )
    tables = context.result.tables
    for measures, rank, suffix in measure_groups:
        range_rows = [row for row in tables.get("ranges", ()) if row["measure"] in measures]
        if range_rows:
            yield _range_table(context, range_rows, suffix, rank)
        simulated_rows = [row for row in tables.get("simulated", ()) if row["measure"] in measures]
        if simulated_rows:
            yield _simulated_table(context, simulated_rows, suffix, rank)


def _range_table(context: TableContext, rows: Sequence[Row], suffix: str, rank: Rank) -> TableView:
    """Return the smallest and largest values over a range of prevalences; suffix: of the title."""
    prevalence_limits = context.result.parameters["prevalence_range"]
    odds_texts = (str(format_odds_of_prevalence(limit)) for limit in prevalence_limits)
    columns: dict[str, Source] = {
        **context.who(),
        **context.measure_column,
        "lowest": "lowest",
        "at odds": lambda row: format_odds_of_prevalence(row["lowest_at"]),
        "highest": "highest",
        "at odds ": lambda row: format_odds_of_prevalence(row["highest_at"]),
    }
    title = f"Measures at class ratios (prevalences) from {' to '.join(odds_texts)}{suffix}"
    return context.table("ranges", title, columns, rows, rank=rank)


def _simulated_table(
    context: TableContext, rows: Sequence[Row], suffix: str, rank: Rank
) -> TableView:
    """Return measures under an uncertain prevalence, simulated; suffix: of the title."""
    parameters = context.result.parameters
    a, b = parameters["prevalence_beta"]
    level_text = f"{parameters['level'] * 100:g}%"
    columns = {
        **context.who(),
        **context.measure_column,
        "mean": "mean",
        "median": "median",
        f"{level_text}\nlower": "low",
        f"{level_text}\nupper": "high",
        "undefined": "failed",
    }
    mean_text = f"mean {format_exact(a / (a + b))}, class ratio {a:g}:{b:g}"
    title = f"Measures with prevalence from Beta({a:g}, {b:g}): {mean_text}{suffix}"
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
