"""Further columns and rows that leave a question: ids, copies, abstentions, reversals, totals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tests.tables import column_name_samples as samples
from tests.tables.table_drafts import Array, Cells, Dice, Draft, Meaning, Model, is_number, pick

FINE = 60  # different scores of a model, from which on equal rows are copies


def add_fine_id(draft: Draft, dice: Dice) -> None:
    """Add whole numbers, all different, on another scale than any score."""
    rows = len(draft.truth)
    start = int(10 ** dice.uniform(4, 11))
    kinds = {
        "one after the other": start + np.arange(rows),
        "shuffled": start + dice.permutation(rows),
        "in steps": start + int(dice.integers(2, 9000)) * dice.permutation(rows),
        "drawn": start + dice.choice(9 * start, rows, replace=False),
    }
    numbers = kinds[str(pick(dice, [*kinds]))]
    opaque = dice.random() < 0.4
    name = str(pick(dice, samples.OPAQUE_NUMBERS if opaque else samples.FINE_IDS))
    draft.add(name, "id", [str(number) for number in numbers])
    if opaque:
        draft.doubts.append("number of no name")


def add_copied_rows(draft: Draft, dice: Dice) -> None:
    """Repeat every row, with its id or without one."""
    times = int(dice.integers(2, 6))
    rows = len(draft.truth)
    single = draft.meaning("each row once")
    if dice.random() < 0.3:
        name = str(pick(dice, samples.IDS))
        draft.add(name, "repeated id", [f"k{row:05}" for row in range(rows)])
    index = np.tile(np.arange(rows), times)
    for name, cells in draft.columns.items():
        draft.columns[name] = [cells[row] for row in index]
    draft.truth = draft.truth[index]
    draft.models = [selected_rows(model, index) for model in draft.models]
    complete = draft.meaning("every row")
    draft.offered = [single, complete]
    scores = [model.score for model in draft.models if model.score is not None]
    is_fine = any(len(np.unique(values)) >= FINE for values in scores)
    draft.accepted = [] if is_fine else [complete]
    draft.doubts.append("copied rows")


def selected_rows(model: Model, rows: Array) -> Model:
    """Return a model on some rows."""
    parts = {
        kind: getattr(model, kind)[rows]
        for kind in ("label", "score", "probabilities")
        if getattr(model, kind) is not None
    }
    return replace(model, **parts)


def add_abstentions(draft: Draft, dice: Dice) -> None:
    """Replace some labels by words of a model that does not decide, or by a code for that."""
    numeric = all(map(is_number, draft.classes))
    texts = [str(pick(dice, samples.ABSTENTIONS))]
    if numeric and dice.random() < 0.4:
        texts = [str(pick(dice, ["-1", "9", "99", "-9", "-99"]))]
        draft.closed = True
    elif dice.random() < 0.3:
        texts = [samples.ABSTENTIONS[i] for i in dice.permutation(len(samples.ABSTENTIONS))[:3]]
    rows = len(draft.truth)
    some_abstain = np.zeros(rows, bool)
    models = []
    abstaining = int(dice.integers(1, len(draft.models) + 1))
    for position, model in enumerate(draft.models):
        abstains = (dice.random(rows) < dice.uniform(0.03, 0.15)) & (position < abstaining)
        which = dice.integers(0, len(texts), rows)
        cells = draft.columns[model.name]
        draft.columns[model.name] = [
            texts[number] if absent else cell
            for cell, absent, number in zip(cells, abstains, which, strict=True)
        ]
        assert model.label is not None
        models.append(
            replace(
                model,
                label=np.where(abstains, len(draft.classes) + which, model.label),
                foreign_labels=True,
            )
        )
        some_abstain |= abstains
    kept = np.flatnonzero(~some_abstain)
    rest = [selected_rows(model, kept) for model in draft.models]
    without = Meaning("without abstentions", draft.truth[kept], tuple(rest), draft.classes)
    errors = Meaning("abstentions are errors", draft.truth, tuple(models), (*draft.classes, *texts))
    draft.offered = [without, errors]
    if draft.closed:
        numbers = np.array([float(name) for name in (*draft.classes, *texts)])
        scores = [Model(m.name, score=numbers[m.label], cut=None) for m in models]
        draft.offered.append(draft.meaning("codes are scores", scores))
    draft.accepted = []
    draft.models = models
    draft.doubts.append("abstentions")


def reversed_values(values: Array, scale: str) -> tuple[Array, Cells]:
    """Return scores that are low where the others are high, and their cells."""
    if scale == "unit":
        turned = np.round(1 - values, 4)
    elif scale == "percent":
        turned = np.round(100 - values, 1)
    elif scale == "log-odds":
        turned = -values
    else:
        turned = np.round(values.min() + values.max() - values)
    whole = scale in ("ratings", "wide")
    return turned, [str(int(value)) if whole else str(value) for value in turned]


def add_reversal(draft: Draft, dice: Dice) -> None:
    """Reverse the scores of all models, or of the last one."""
    first = 0 if dice.random() < 0.6 else len(draft.models) - 1
    turned = list(draft.models)
    for position in range(first, len(draft.models)):
        model = draft.models[position]
        assert model.score is not None
        values, cells = reversed_values(model.score, draft.scale)
        draft.columns[model.name] = cells
        turned[position] = replace(model, score=values)
        unreversed = replace(model, score=-values, cut=None)
        draft.models[position] = unreversed
    right = draft.meaning("reversed scores")
    draft.models = turned
    as_written = draft.meaning("scores as they are", noted="revers")
    draft.accepted = [as_written]
    draft.offered = [as_written, right]
    draft.doubts.append("reversed scores")


def add_whole_weights(draft: Draft, dice: Dice) -> None:
    """Add whole weights of a sample: the inverse of the share that was sampled, or of a survey."""
    rows = len(draft.truth)
    by_class = dice.integers(2, 60, len(draft.classes))
    by_class[int(dice.integers(len(draft.classes)))] = 1
    kinds = {
        "of classes": by_class[draft.truth],
        "of strata": dice.choice([3, 10, 25, 40], rows),
        "of a survey": dice.integers(50, 4000, rows),
        "in hundreds": 100 * dice.integers(1, 30, rows),
    }
    weight = kinds[str(pick(dice, [*kinds]))].astype(float)
    name = str(pick(dice, samples.WHOLE_WEIGHTS))
    draft.add(name, "weight", [str(int(number)) for number in weight])
    weighted = draft.meaning("sampling weights", weight=weight, sampling=True)
    draft.accepted = [weighted]
    draft.offered = [weighted, draft.meaning("counts", weight=weight, sampling=False)]
    draft.doubts.append("whole weights")


def add_last_rows(draft: Draft, dice: Dice) -> None:
    """Add a row of sums or means below the observations, with an id or without one."""
    with_id = dice.random() < 0.7
    if with_id:
        name = str(pick(dice, samples.IDS))
        texts = dice.random() < 0.5
        ids = [f"k{row:04}" if texts else str(row + 1) for row in range(len(draft.truth))]
        draft.add(name, "id", ids)
    words = [str(pick(dice, samples.SUMMARY_WORDS))]
    if with_id and dice.random() < 0.2:
        words = ["Mean", "SD"]
    numeric = {
        column: np.array([float(cell) for cell in cells])
        for column, cells in draft.columns.items()
        if all(map(is_number, cells)) and draft.roles[column] != "id"
    }
    if all(map(is_number, draft.classes)):
        numeric["truth"] = np.array([float(draft.classes[code]) for code in draft.truth])
    for word in words:
        compute = {"SD": np.std}.get(word, np.mean if word in samples.WORDS_OF_MEANS else np.sum)
        row = dict.fromkeys([*draft.columns, "truth"], "")
        row |= {column: f"{compute(values):.6g}" for column, values in numeric.items()}
        if with_id:
            row[name] = word
        elif not row["truth"]:
            row["truth"] = word
        draft.last_rows.append(row)
    draft.offered = [draft.meaning("without the last rows")]
    draft.accepted = []
    draft.doubts.append("last rows")


ROW_QUESTIONS: dict[str, Callable[[Draft, Dice], None]] = {
    "fine id": add_fine_id,
    "copied rows": add_copied_rows,
    "abstentions": add_abstentions,
    "reversal": add_reversal,
    "whole weights": add_whole_weights,
    "last rows": add_last_rows,
}


def possible_questions(base: str, draft: Draft) -> list[str]:
    """Return the questions that a table of this base can leave."""
    names = ["fine id", "copied rows", "whole weights"]
    if base in ("labels", "many classes") and draft.coding == "same":
        names.append("abstentions")
    if base in ("score", "scores") and draft.scale != "several":
        names.append("reversal")
    if base in ("labels", "score", "scores", "probabilities") and draft.coding == "same":
        names.append("last rows")
    return names
