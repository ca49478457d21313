"""The main table of tune-jpt, one line per model and target, and tables requested by options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from clfeval.document import Document, Estimate, Row, as_estimate, comparable_rows, sort_value
from clfeval.formatting import format_count, format_share
from clfeval.measures.catalog import CATALOG
from clfeval.measures.odds import OutcomeCosts
from clfeval.pages.formatting import format_exact, majority_class_note
from clfeval.pages.schema import Sign, Source, TableView
from clfeval.pages.shared_columns import AT_PREVALENCE, difference_tables, prevalence_table
from clfeval.pages.tune_jpt.sections import (
    describe_costs,
    detail_tables,
    expected_count_tables,
    range_tables,
)
from clfeval.pages.tune_jpt.table_context import MAIN, MAX_ROWS, TableContext

FEWEST = 3  # of each target
HEADS = {
    "sensitivity": "sens. ↑",
    "specificity": "spec. ↑",
    "expected_cost": "expected\ncost ↓",
    "net_benefit": "net\nbenefit ↑",
}
EXPLAINED = ("tar", "ic", "net_benefit")


def page_tables(result: Document, digits: int) -> Iterator[TableView]:
    """Yield the tables in reading order; the first answer decides which one is the main table."""
    look, rows = TableContext(result), result.unsliced_rows(AT_PREVALENCE)
    main = _main_table(look)
    predictive = [one.code for one in result.answer[:1]] == ["at-prevalence"]
    yield from expected_count_tables(look, [str(row["model"]) for row in main.rows or ()])
    yield from range_tables(look, [name for name in (main.lead, "ppv") if name])
    yield from difference_tables(result)
    yield from _slice_table(look, main)
    if rows:
        yield prevalence_table(rows, "main" if predictive else "detail")
    yield main if look.requested_measures or not predictive else replace(main, rank="detail")
    yield from detail_tables(look, digits)


def _main_table(look: TableContext) -> TableView:
    """Return the main table: one line per model and target, the best first."""
    rows, lead = comparable_rows(look.result.tables["models"]), look.lead
    ordered = sorted(rows, key=lambda row: _best_first_key(row, lead))
    groups = [[row for row in ordered if row["odds"] == odds]
              for odds in dict.fromkeys(row["odds"] for row in rows)]  # fmt: skip
    several, most = len(groups) > 1, max(FEWEST, MAX_ROWS // len(groups))
    listed = [row for group in groups for row in group[:most]]
    cuts = list(dict.fromkeys(row["threshold"] for row in rows))
    staked = lead in ("expected_cost", "net_benefit")
    words = {lead: f"per row; {describe_costs(look.result)}"} if staked else {}
    alone = majority_class_note([row["prevalence"] for row in rows])
    if stakes_of := look.result.parameters.get("cost"):
        t = format_share(OutcomeCosts(**stakes_of).probability)
        words.setdefault("net_benefit", f"(TP - FP × t / (1 - t)) / rows, t = {t} (from the costs)")
    words["tar"] = "; ".join(filter(None, ["accuracy", alone]))
    columns: dict[str, Source] = {
        "model": "model",
        **({"prevalence": "prevalence"} if several else {}),
        **({"threshold": "threshold"} if len(cuts) > 1 else {}),
        **look.measures(list(dict.fromkeys([lead, *MAIN])), **HEADS),
        **({"alarms\n/ case": _alarms_per_case} if "ppv" in look.available_measures else {}),
        **look.measures(look.requested_measures, **HEADS),
    }
    at = "at each target" if several else look.where(rows[0])
    cut = f", threshold {format_exact(cuts[0])}" if cuts != [None] and len(cuts) == 1 else ""
    only = len({row["model"] for row in rows}) == 1
    by = "accuracy (TAR)" if lead == "tar" else look.title(lead) if lead else ""
    title = f"Models by {by} {at}{cut}" if by and not only else f"Model{'s' * (not only)} {at}{cut}"
    return look.table(
        "models", title, columns, listed, most=None, total=len(rows), more="--format csv",
        rank="main", lead=lead, legend=EXPLAINED, words=words,
        places=[_best_or_tied_sign(look, row, groups) for row in listed] if several else None,
    )  # fmt: skip


def _alarms_per_case(row: Row) -> Estimate:
    """Return how many rows are predicted positive for each true positive."""
    ppv = as_estimate(row["ppv"])
    return Estimate(1 / ppv.value) if ppv.value else Estimate(None, reason=ppv.reason or "infinite")


def _best_first_key(row: Row, lead: str) -> tuple[bool, float]:
    """Return a sort key, the best value first, undefined values last."""
    size = sort_value(row.get(lead))
    return size is None, (size or 0.0) * (1 if CATALOG[lead].best == "min" else -1)


def _best_or_tied_sign(look: TableContext, row: Row, groups: Sequence[Sequence[Row]]) -> Sign:
    """Return the sign of a model that is the best at a target, or tied with it, else none."""
    contest = look.contests.get(row["odds"])
    if contest is None or contest["leader"] is None:
        return ""
    group = next(group for group in groups if group[0]["odds"] == row["odds"])
    leader = next(one for one in group if one["model"] == contest["leader"])
    sizes = [sort_value(one.get(look.compared)) for one in (row, leader)]
    if row is leader or (sizes[0] is not None and sizes[0] == sizes[1]):
        return "best"
    undecided = contest["tied"] if look.has_intervals else None
    return "equal" if isinstance(undecided, list) and row["model"] in undecided else ""


def _slice_table(look: TableContext, main: TableView) -> Iterator[TableView]:
    """Yield the table of the best model of each slice, or of the measures of the only model."""
    if not look.sliced:
        return
    contested = "winners" in look.result.tables
    table = "winners" if contested else "models"
    every = [row for row in look.result.tables[table] if row["slice"] is not None]
    kind = "target" if any(row["population"] == "target" for row in every) else "sample"
    rows = [row for row in every if row["population"] == kind]
    columns: dict[str, Source] = {"slice": "slice", "prevalence": "prevalence"}
    title, lead = "Results by slice", main.lead
    if contested:
        lead, title = "value", "Best model of each slice"
        columns |= {"best model": "leader", look.title(look.compared): lead}
        columns |= {"tied with\nthe best": _tied_count} if look.has_intervals else {}
    else:
        columns |= look.measures([lead, *MAIN], **HEADS)
    yield look.table(
        table, title, columns, rows, most=MAX_ROWS, more=f"--format csv --show {table}",
        rank="asked", name="slices", lead=lead, right=("tied with\nthe best",),
    )  # fmt: skip


def _tied_count(row: Row) -> str:
    """Return the number of models of a slice that are tied with its best one."""
    undecided = row["tied"] if isinstance(row["tied"], list) else []
    return "none" if row["winner"] is not None else format_count(len(undecided), "other")


def leading_order(result: Document) -> Mapping[str, int]:
    """Return the models sorted by how they lead: at the targets, then over the sweep."""
    look = TableContext(result)
    contests = [row for row in result.tables.get("winners", ()) if row["slice"] is None]
    ahead = [str(row["leader"]) for row in contests if row["leader"] is not None]
    at_targets = [str(row["leader"]) for row in look.contests.values() if row["leader"] is not None]
    swept = sorted(dict.fromkeys(ahead), key=lambda name: -ahead.count(name))
    names = [str(row["model"]) for row in result.unsliced_rows("models")]
    ordered = dict.fromkeys((*at_targets, *swept, *names))
    return {name: place for place, name in enumerate(ordered)}
