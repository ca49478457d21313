"""PPV, NPV and alarms at a prevalence: the table, and what its columns mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clfeval.document import Row, sort_value
from clfeval.formatting import format_class_ratio, format_close, format_share
from clfeval.pages.shared_columns import MODEL
from clfeval.schema import Column, Rank, Source, Table, TableView, columns_of_kind

NAME = "at_prevalence"
TABLE = Table(NAME, (
    MODEL, Column("chosen_by", "text?"), Column("threshold", "cut?"),
    Column("population", "text", among=("sample", "1:1", "target")),
    *columns_of_kind("prevalence", "prevalence"), *columns_of_kind("odds", "odds"),
    *columns_of_kind("share", "sensitivity specificity ppv npv"),
    *columns_of_kind("amount", "alarms alarms_per_case"),
    *columns_of_kind("estimate", "net_benefit"),
))  # fmt: skip
MEANINGS: Mapping[str, str] = {
    f"{NAME}.chosen_by": "the rule that chose the threshold; values are expected on new data",
    "alarms": "rows predicted positive per 1,000 rows",
    "alarms_per_case": "rows predicted positive per true positive, 1 / PPV",
    "ppv": "share of predicted positives that are positive",
    "population": "the sample as counted, balanced classes (1:1), a target, or one of the sweep",
}
HEADINGS = {"alarms / 1,000": "alarms", "alarms / case": "alarms_per_case"}
CHOSEN_BY_WORDS = {"j_index": "largest J", "expected_cost": "lowest expected cost"}
FULL: Mapping[str, Source] = {
    "PPV ↑": "ppv", "NPV ↑": "npv", "alarms\n/ case": "alarms_per_case",
    "alarms\n/ 1,000": "alarms", "net\nbenefit ↑": "net_benefit", "sens. ↑": "sensitivity",
    "spec. ↑": "specificity",
}  # fmt: skip


def prevalence_table(rows: Sequence[Row], rank: Rank) -> TableView:
    """Return the table of PPV, NPV and alarms at each prevalence."""
    rows = sorted(rows, key=lambda row: float(str(row["prevalence"])))
    order = list(dict.fromkeys(row["odds"] for row in rows))
    columns: dict[str, Source] = {"model": "model"}
    every = {row["chosen_by"] for row in rows}
    columns |= {"chosen by": "chosen_by"} if len(every) > 1 else {}
    columns |= {"prevalence": "prevalence"} if len(order) > 1 else {}
    by = any(sort_value(row["net_benefit"]) is not None for row in rows)
    cut = any(row["threshold"] is not None for row in rows)
    columns |= {"threshold": "threshold"} if cut else {}
    columns |= {head: name for head, name in FULL.items() if name != "net_benefit" or by}
    title = "Predictive values"
    if len(order) == 1:
        share = format_share(float(str(rows[0]["prevalence"])))
        title += f" at prevalence {share} ({format_class_ratio(order[0])})"
    note = CHOSEN_BY_WORDS.get(str(next(iter(every))), "") if len(every) == 1 else ""
    note = f"threshold of the {note}; values expected on new data" if note else ""
    return TableView(
        NAME, title, columns, rows, rank=rank, lead="ppv", write=format_close, note=note,
        legend=("alarms", "alarms_per_case"), places=[""] * len(rows),
        total=len(rows),
    )  # fmt: skip
