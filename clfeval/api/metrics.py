"""From a metric table to what is ranked."""

from __future__ import annotations

from hashlib import sha256

from clfeval.errors import DataError, Problem, listing
from clfeval.measures.metric_names import measure_of
from clfeval.methods.mlcps.given import Given
from clfeval.result import Input, Warn
from clfeval.tables.metric.table import MetricTable


def of_metrics(table: MetricTable, *, chosen: bool = False) -> Given:
    """Take a metric table as it is; `chosen` where somebody named the metrics.

    Errors: DataError for what looks turned, headless, or like a known metric without numbers.
    """
    if table.layout == "wide":
        check_sides(table, chosen=chosen)
    notes = [Warn("partly-read", note) for note in table.notes]
    if table.dropped:
        models = "model" if table.dropped == 1 else "models"
        text = f"{table.dropped} {models} with missing values left out"
        notes.append(Warn("dropped", text))
    if table.splits:
        text = (
            f"means over {len(table.splits)} splits are scored; splits share training rows, so "
            "their spread is no interval"
        )
        notes.append(Warn("splits", text))
    return Given(
        name=table.name,
        models=table.models,
        metrics=table.metrics,
        values=table.values,
        inputs=(Input(table.display, table.sha256, len(table.models), table.dropped),),
        statistics=_digest(table),
        problem=table.problem,
        splits=table.splits,
        by_split=table.by_split,
        sds=table.sds,
        lenient=table.layout == "result" and not chosen,
        notes=tuple(notes),
    )


def check_sides(table: MetricTable, *, chosen: bool) -> None:
    """Raise DataError for a table whose numbers would be ranked and mean something else.

    Not where the metrics were chosen by name: then somebody knows what they are.
    """
    if chosen:
        return
    known = [name for name in table.ignored if measure_of(name) is not None]
    if known:
        raise DataError(
            [Problem("holds text, no numbers", "bad-number", table.name, None, n) for n in known],
            hint="write plain numbers, or name the metrics to take with --metric",
        )
    if all(map(_is_number, table.metrics)) and not all(map(str.isdigit, table.metrics)):
        raise DataError(
            Problem(
                f"the columns are called {listing(table.metrics, 4)}: is the header missing?",
                "no-header", table.name, 1,
            ),
            hint="put a line of names on top, such as model,f1,recall,roc_auc",
        )  # fmt: skip
    rows_known = all(measure_of(name) is not None for name in table.models)
    if rows_known and not any(measure_of(name) is not None for name in table.metrics):
        raise DataError(
            Problem(
                f"its rows are metrics ({listing(table.models, 3)}) and its columns models",
                "turned-table", table.name,
            ),
            hint="add --transpose",
        )  # fmt: skip


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _digest(table: MetricTable) -> str:
    """Return the sha256 of the values whatever the order of models; metrics keep theirs."""
    order = sorted(range(len(table.models)), key=table.models.__getitem__)
    names = repr([list(table.metrics), [table.models[i] for i in order], list(table.splits)])
    found = sha256(names.encode("utf-8", "surrogatepass"))
    found.update(table.values[order].astype("<f8").tobytes())
    if table.by_split is not None:
        found.update(table.by_split[:, order].astype("<f8").tobytes())
    return found.hexdigest()
