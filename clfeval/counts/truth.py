"""The digest of ids and truth alone: by it rows that changed are told from models that did."""

from __future__ import annotations

from hashlib import sha256

from clfeval.counts.count import Sample
from clfeval.counts.counted import PredictionCounts
from clfeval.tables.cells import as_text
from clfeval.tables.scan import collect, concatenate_frames

_AT_ONCE = 2**16  # rows


def truth_digest(sample: Sample) -> str | None:
    """Return the sha256 of the rows without predictions; None for rates.

    `ids:` of id, truth, weight and cluster of each row, in the order of ids: one pass more.
    `rows:` of the same without ids, in the order of the table. `counts:` of a table of counts:
    positives and negatives of each slice.
    """
    if sample.counted is not None:
        return _of_rows(sample.counted)
    if not sample.sampled:
        return None
    parts = {
        f"{label!r} {positives} {negatives}"
        for label, one in (*sample.slices.items(), *sample.runs.items())
        for positives, negatives in zip(one.positives.tolist(), one.negatives.tolist(), strict=True)
    }
    said = "\n".join(sorted(parts)).encode("utf-8", "surrogatepass")
    return f"counts:{sha256(said).hexdigest()}"


def _of_rows(counted: PredictionCounts) -> str:
    columns, several = counted.kept.settled.columns, counted.several
    named = columns.id is not None
    frames = counted.kept.frames(key=named, cluster=True, labels=(0,) if several else ())
    names = [
        *(["key"] if named else []), "y" if several else "t", *(["w"] if columns.weight else []),
        *(["c"] if columns.cluster else []),
    ]  # fmt: skip
    rows = collect(concatenate_frames([frame.select(names) for frame in frames]))
    if named or counted.kept.settled.layout.gathers:
        rows = rows.sort(*names)
    found = sha256(f"{counted.positive!r} {names!r}\n".encode("utf-8", "surrogatepass"))
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        for name in names:
            texts = map(repr, map(as_text, part[name].to_list()))
            found.update("\n".join(texts).encode("utf-8", "surrogatepass"))
    return f"{'ids' if named else 'rows'}:{found.hexdigest()}"
