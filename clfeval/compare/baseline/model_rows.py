"""The rows of a result that speak for its models, and which of their measures are tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from clfeval.compare.families import CHANGING
from clfeval.document import POPULATIONS, Cell, Document, Row, Rows, whole_table_rows
from clfeval.errors import UsageError
from clfeval.measures.catalog import CATALOG
from clfeval.pages import page_of
from clfeval.schema import gateable_names

Labelled = Mapping[str, Row]


def rows_by_label(result: Document, part: str | None = None) -> Labelled:
    """Return the rows that speak for models, or features, by label; part: of a slice."""
    rows, tidy = (
        _of_slice(result, table, part)
        for table in ("models" if "models" in result.tables else "features", "measures")
    )
    several = bool(len(rows)) and rows[0].get("population") == POPULATIONS[0]
    found = {
        f"{model_or_feature_name(row)} at {row['odds']}"
        if several
        else model_or_feature_name(row): row
        for row in rows
    }
    if len(found) < len(rows):
        twice = Counter(map(model_or_feature_name, rows)).most_common(1)[0][0]
        raise UsageError.new(f"the result contains '{twice}' twice", "baseline")
    more = _by_measure(tidy)
    return {label: {**more.get(label, {}), **row} for label, row in found.items()}


def slice_names(result: Document) -> list[str]:
    """Return the names of the slices, in their order."""
    rows = result.tables.get("models", ())
    return [*dict.fromkeys(str(row["slice"]) for row in rows if row.get("slice") is not None)]


def _of_slice(result: Document, table: str, part: str | None) -> Rows:
    if part is None:
        return result.whole(table)
    rows = [row for row in result.tables.get(table, ()) if row.get("slice") == part]
    return whole_table_rows(
        [{name: cell for name, cell in row.items() if name != "slice"} for row in rows]
    )


def _by_measure(tidy: Rows) -> dict[str, dict[str, Cell]]:
    """Return the values of a table of measures by model, and by the name with its parameters."""
    found: dict[str, dict[str, Cell]] = {}
    for row in tidy:
        if "model" in row:  # other tables of that name are about measures alone
            found.setdefault(str(row["model"]), {}).setdefault(str(row["measure"]), row["value"])
    return found


def model_or_feature_name(row: Row) -> str:
    """Return the name of a model or feature."""
    return str(row.get("model", row.get("feature")))


def better_direction(command: str, metric: str) -> str:
    """Say which way is better: of a measure as it says, of another column as its table says."""
    column, name = page_of(command).column(metric), metric.partition(":")[0]
    return CATALOG[name].best if name in CATALOG else (column and column.best) or "max"


def tested_measures(command: str) -> Collection[str]:
    """Return the measures whose changes are one family: those of the command's first screen."""
    return CHANGING if command == "report" else gateable_names(page_of(command))
