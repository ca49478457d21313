"""Rows that one of two models alone has right, by their ids: one pass more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.counts.classes import coded
from clfeval.counts.counted import Counted
from clfeval.late import nw
from clfeval.result import Row
from clfeval.tables.cells import as_text, natural
from clfeval.tables.prediction import ModelColumns
from clfeval.tables.scan import collect


def list_changes(counted: Counted, pairs: Sequence[tuple[str, str]], most: int) -> Iterator[Row]:
    """Yield, of each pair of a model and its reference, rows newly wrong, then those newly right.

    At most so many of each, in the order of the table (of the ids, of a long table). A row names
    its id, or else file and row; truth, what the reference said (before), and the model (after).
    """
    settled = counted.kept.settled
    places = {model.name: i for i, model in enumerate(settled.columns.models)}
    key = "row" if settled.columns.id is None else "id"
    for model, reference in pairs:
        found = [*_changed(counted, places[model], places[reference], most)]
        if settled.layout.gathers:
            found.sort(key=lambda row: natural(row[3]))
        for right in (False, True):
            some = [row for row in found if row[1] is right][:most]
            for file, _, truth, name, before, after in some:
                yield {
                    "model": model, "reference": reference, "file": file,
                    key: int(name) if key == "row" else as_text(name) or "",
                    "truth": truth, "before": before, "after": after,
                }  # fmt: skip


_Change = tuple[str, bool, str, str, str, str]  # file, newly right, truth, key, before, after


def _changed(counted: Counted, i: int, j: int, most: int) -> Iterator[_Change]:
    """Yield what model i alone has wrong, or right, beside model j."""
    kept = counted.kept
    files = kept.settled.files
    if counted.several:
        yield from _other_classes(counted, i, j)
        return
    positive, names = counted.positive, [one for one in counted.order if one != counted.positive]
    said = {True: positive, False: names[0] if len(names) == 1 else f"not {positive}"}
    mine, theirs, truth = nw.col(f"v{i}"), nw.col(f"v{j}"), nw.col("t")
    frames = kept.frames(votes=True, key=True)
    for file, frame in zip(files, frames, strict=not kept.settled.layout.gathers):
        for right in (False, True):
            which = (mine != theirs) & ((mine == truth) if right else (theirs == truth))
            table = frame.filter(which).select("key", t=truth, before=theirs, after=mine)
            if not kept.settled.layout.gathers:
                table = table.head(most)
            for key, *sides in collect(table).rows():
                y, before, after = (said[bool(one)] for one in sides)
                yield file.shown, right, y, key, before, after


def _other_classes(counted: Counted, i: int, j: int) -> Iterator[_Change]:
    """Yield the same of more than two classes: of their labels as they are called."""
    kept, models = counted.kept, counted.kept.settled.columns.models
    frames = kept.frames(labels=(i, j), key=True)
    for file, frame in zip(kept.settled.files, frames, strict=not kept.settled.layout.gathers):
        table = collect(frame.select("key", "y", f"y{i}", f"y{j}"))
        truth, *said = (
            coded(table["y"].to_list(), counted.order),
            *(coded(_labels(table[f"y{k}"].to_list(), models[k]), counted.order) for k in (i, j)),
        )
        keys, names = table["key"].to_list(), counted.order
        after, before = said
        for at in (
            ((after != before) & ((after == truth) | (before == truth))).nonzero()[0].tolist()
        ):
            yield (
                file.shown, bool(after[at] == truth[at]), names[truth[at]], keys[at],
                names[before[at]], names[after[at]],
            )  # fmt: skip


def _labels(said: Sequence[object], model: ModelColumns) -> Sequence[object]:
    """Return labels; of class probabilities those that the places of the largest mean."""
    if model.kind != "classes":
        return said
    return [model.classes[int(str(place))] for place in said]
