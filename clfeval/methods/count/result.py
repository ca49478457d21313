"""From counts to the Result of `count`: what the file holds."""

from __future__ import annotations

from typing import Any

from clfeval.counts.count import PredictionCounts
from clfeval.counts.files import count_table
from clfeval.counts.min_cell import hide_small_cells
from clfeval.counts.read_files import counts_digest, scores_by_model
from clfeval.document import Answer, Document, Row
from clfeval.errors import DataError, UsageError
from clfeval.formatting import format_count
from clfeval.methods import provenance
from clfeval.methods.count.options import CountOptions
from clfeval.methods.measurement.joint_sums import sums_of_table
from clfeval.records import replace
from clfeval.tables.layouts.counts_file import refuse_unlike_counts


def count_result(
    counted: PredictionCounts, options: CountOptions, merged: PredictionCounts | None = None
) -> Document:
    """Return how many counts each model has; the counts themselves are in the file.

    merged: the counts of all tables, for comparisons.
    """
    table, about = count_table(counted)
    if options.min_cell is not None:
        if about["min_cell"]:
            what = f"its counts below {about['min_cell']} are hidden already"
            hint = "leave --min-cell out, or count the table again"
            raise UsageError.new(what, "bad-option", counted.name, hint=hint)
        table, about = hide_small_cells(table, about, options.min_cell, counted.name)
    if options.joint == "pairs":
        about = {**about, "joint": _joint_sums(counted, merged, table, about)}
    said = counted.kept.settled.roles
    rows: list[Row] = []
    for model in counted.models:
        mine = table.filter(table["model"] == model.name)
        rows.append(
            {
                "model": model.name,
                "kind": "labels" if model.kind == "label" else "scores",
                "threshold": counted.thresholds[model.name],
                "distinct_scores": mine["key"].n_unique()
                if len(mine) and mine["lo"].equals(mine["hi"])
                else None,
                "counts": len(mine),
            }
        )
    # combined predictions, or one model: each has all rows
    whole = table.filter(table["model"].eq_missing(table["model"][0]))
    known = about["parts"] if counted.stored is None else []
    total, positives = int(whole["n"].sum()), int(whole.filter("truth")["n"].sum())
    files = counted.files
    if options.min_cell is not None:  # without rows that are left out
        files = (
            replace(files[0], rows=total, dropped=0),
            *(replace(one, rows=0, dropped=0) for one in files[1:]),
        )
    patterns = int((table["block"] == "patterns").sum())
    text = f"{format_count(total, 'row')} of {format_count(len(rows), 'model')} are "
    text += format_count(len(table), "count")
    least, more = about["min_cell"], f", {patterns:,} of them of combined predictions."
    text += f" of at least {least} rows." if least else more
    if left_out := max(counted.patterns.n.sum().item() - total, 0):
        rest = f"{left_out:,}" if left_out >= least else f"fewer than {least}"
        text += f" Slices with fewer than {least} rows of a class are left out: {rest} rows."
    found = {"positive": counted.positive, "negative": list(counted.negative), "by": list(said.by)}
    cut = provenance.format_thresholds(counted.thresholds)
    return Document(
        command="count",
        signature=provenance.build_signature(
            "cmd pos cut by miss",
            {
                "cmd": "count",
                "pos": counted.positive,
                "cut": cut,
                "by": ",".join(found["by"]),
                "miss": said.missing,
            },
            said,
            files=files,
            statistics=known[0] if known else counts_digest(table, about),
        ),
        inputs=files,
        parameters=provenance.build_parameters("positive negative by missing", found, said),
        summary={
            "rows": total,
            "positives": positives,
            "negatives": total - positives,
            "models": len(rows),
            "counts": len(table),
            "patterns": patterns,
        },
        tables={"models": rows},
        answer=(Answer("counted", text),),
        warnings=tuple(provenance.counting_notes(counted)),
        counted={"table": table, "about": about},
    )


def _joint_sums(
    counted: PredictionCounts, merged: PredictionCounts | None, table: Any, about: dict[str, Any]
) -> dict[str, Any]:
    """Return what compares scores of models in a table; DataError if `merged` does not count it.

    table, about: the counts of the table itself.
    """
    if counted.stored is not None:
        what = f"--joint pairs needs rows, but of {counted.name} there are counts only"
        raise UsageError.new(what, "needs-predictions", hint="give it where rows are counted")
    if all(model.kind == "label" for model in counted.models):
        what = "--joint pairs needs scores, but every model has labels only"
        raise UsageError.new(what, "needs-scores", hint="leave it out: labels are compared anyway")
    every, described = (table, about) if merged is None else count_table(merged)
    if merged is not None:
        refuse_unlike_counts(about, described, counted.name, merged.name)
        if not {*about["parts"]} <= {*described["parts"]}:
            what = f"its counts are not among those of {merged.name}"
            hint = "add its counts to the others first, counted with the same options"
            raise DataError.new(what, "unequal-counts", counted.name, hint=hint)
    scores = {i: found[None] for i, found in scores_by_model(every, counted.models, (), {}).items()}
    sums = sums_of_table(counted, merged or counted, scores)
    return {"against": counts_digest(every, described), "sums": [sums]}
