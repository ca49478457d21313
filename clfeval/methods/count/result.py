"""From counts to the Result of `count`: what the file holds."""

from __future__ import annotations

from clfeval.counts.count import PredictionCounts
from clfeval.counts.files import count_table, counts_digest
from clfeval.document import Answer, Document, Row
from clfeval.formatting import format_count
from clfeval.methods.provenance import (
    build_parameters,
    build_signature,
    counting_notes,
    format_thresholds,
)


def count_result(counted: PredictionCounts) -> Document:
    """Return how many counts each model has; the counts themselves are in the file."""
    table, about = count_table(counted)
    said = counted.kept.settled.roles
    rows: list[Row] = []
    for model in counted.models:
        mine = table.filter(table["model"] == model.name)
        rows.append({
            "model": model.name, "kind": "labels" if model.kind == "label" else "scores",
            "threshold": counted.thresholds[model.name],
            "distinct_scores": mine["key"].n_unique() if len(mine) else None,
            "counts": len(mine),
        })  # fmt: skip
    patterns = int((table["block"] == "patterns").sum())
    text = f"{format_count(about['rows'], 'row')} of {format_count(len(rows), 'model')} are "
    text += f"{format_count(len(table), 'count')}, {patterns:,} of them of combined predictions."
    whole, known = counted.patterns, about["parts"] if counted.stored is None else []
    positives = whole.n[whole.truth].sum().item()
    found = {"positive": counted.positive, "negative": list(counted.negative),
             "by": list(said.by)}  # fmt: skip
    cut = format_thresholds(counted.thresholds)
    return Document(
        command="count",
        signature=build_signature(
            "cmd pos cut by miss", {"cmd": "count", "pos": counted.positive, "cut": cut,
                                    "by": ",".join(found["by"]), "miss": said.missing},
            said, files=counted.files,
            statistics=known[0] if known else counts_digest(table, about),
        ),
        inputs=counted.files,
        parameters=build_parameters("positive negative by missing", found, said),
        summary={"rows": about["rows"], "positives": positives,
                 "negatives": about["rows"] - positives, "models": len(rows),
                 "counts": len(table), "patterns": patterns},
        tables={"models": rows},
        answer=(Answer("counted", text),),
        warnings=tuple(counting_notes(counted)),
        counted={"table": table, "about": about},
    )  # fmt: skip
