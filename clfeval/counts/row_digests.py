"""The digest of ids and truth, and the rows that only one of two models predicts correctly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import product

from clfeval.counts.classes import encode_classes, predicted_labels
from clfeval.counts.count import Sample
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.document import Row
from clfeval.tables.cells import as_text, natural_sort_key
from clfeval.tables.lazy_imports import nw
from clfeval.tables.scan import collect, concatenate_frames

_AT_ONCE = 2**16  # rows


def truth_digest(sample: Sample) -> str | None:
    """Return the sha256 of the rows without predictions; None for rates.

    `ids:` of id, truth, weight and cluster of each row, in the order of ids: one pass more.
    `rows:` of the same without ids, in the order of the table. `counts:` of a table of counts:
    positives and negatives of each slice.
    """
    counted = sample.counted
    if counted is None and not sample.sampled:
        return None
    if counted is None:
        parts = set[str]()
        for label, one in (*sample.slices.items(), *sample.runs.items()):
            totals = zip(one.positives.tolist(), one.negatives.tolist(), strict=True)
            parts |= {f"{label!r} {positives} {negatives}" for positives, negatives in totals}
        said = "\n".join(sorted(parts)).encode("utf-8", "surrogatepass")
        return f"counts:{sha256(said).hexdigest()}"
    columns, several = counted.kept.settled.columns, counted.several
    named = columns.id is not None
    frames = counted.kept.frames(key=named, cluster=True, labels=(0,) if several else ())
    names = [*(["key"] if named else []), "y" if several else "t"]
    names += [*(["w"] if columns.weight else []), *(["c"] if columns.cluster else [])]
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


_FIRST = 2**14  # rows read first, which usually have enough changes


def list_changes(
    counted: PredictionCounts, pairs: Sequence[tuple[str, str]], most: int
) -> Iterator[Row]:
    """Yield, for each pair of model and reference, the rows newly wrong, then those newly right.

    At most `most` of each, in the order of the table (of ids in a long table). A row has its id, or
    file and row; truth, prediction of the reference (before) and of the model (after).
    """
    settled = counted.kept.settled
    names = [model.name for model in settled.columns.models]
    key = "row" if settled.columns.id is None else "id"
    places = [(names.index(model), names.index(reference)) for model, reference in pairs]
    if counted.several:
        found = [[*_other_classes(counted, *pair)] for pair in places]
    else:
        found = _two_classes(counted, places, most)
    for (model, reference), changes in zip(pairs, found, strict=True):
        if settled.layout.gathers:
            changes.sort(key=lambda row: natural_sort_key(row[3]))
        for right in (False, True):
            some = [row for row in changes if row[1] is right][:most]
            for file, _, truth, name, before, after in some:
                yield {
                    "model": model, "reference": reference, "file": file,
                    key: int(name) if key == "row" else as_text(name) or "",
                    "truth": truth, "before": before, "after": after,
                }  # fmt: skip


_Change = tuple[str, bool, str, str, str, str]  # file, newly right, truth, key, before, after


def _two_classes(
    counted: PredictionCounts, pairs: Sequence[tuple[int, int]], most: int
) -> list[list[_Change]]:
    """Return the rows that only one model of each pair predicts correctly, of two classes."""
    found: list[list[_Change]] = [[] for _ in pairs]
    kept, positive = counted.kept, counted.positive
    names = [one for one in counted.order if one != positive]
    said = {True: positive, False: names[0] if len(names) == 1 else f"not {positive}"}
    gathers, truth = kept.settled.layout.gathers, nw.col("t")
    frames = kept.frames(votes=True, key=True)
    for file, frame in zip(kept.settled.files, frames, strict=not gathers):
        first = None if gathers else collect(frame.head(_FIRST))
        for ((i, j), changes), right in product(zip(pairs, found, strict=True), (False, True)):
            mine, theirs = nw.col(f"v{i}"), nw.col(f"v{j}")
            which = (mine != theirs) & ((mine == truth) if right else (theirs == truth))
            sides = {"t": truth, "before": theirs, "after": mine}
            if first is not None:
                table = first.filter(which).select("key", **sides).head(most)
            if first is None or (len(table) < most and len(first) == _FIRST):
                rest = frame.filter(which).select("key", **sides)
                table = collect(rest if gathers else rest.head(most))
            for key, *each in table.rows():
                y, before, after = (said[bool(one)] for one in each)
                changes.append((file.shown, right, y, key, before, after))
    return found


def _other_classes(counted: PredictionCounts, i: int, j: int) -> Iterator[_Change]:
    """Yield the rows that only one of two models predicts correctly, of more than two classes."""
    kept, names = counted.kept, counted.order
    frames = kept.frames(labels=(i, j), key=True)
    for file, frame in zip(kept.settled.files, frames, strict=not kept.settled.layout.gathers):
        table = collect(frame.select("key", "y", f"y{i}", f"y{j}"))
        keys, truth = table["key"].to_list(), encode_classes(table["y"].to_list(), names)
        after, before = (
            encode_classes(predicted_labels(kept.settled.columns.models[k], table[f"y{k}"]), names)
            for k in (i, j)
        )
        differ = (after != before) & ((after == truth) | (before == truth))
        for at in differ.nonzero()[0].tolist():
            yield (
                file.shown, bool(after[at] == truth[at]), names[truth[at]], keys[at],
                names[before[at]], names[after[at]],
            )  # fmt: skip
