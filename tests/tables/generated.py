"""Tables of predictions whose meaning is known: what each column holds, and the numbers it gives.

A table is made of a base (how models are laid out), names, an order of rows, one further column, a
coding of labels, a scale of scores, and one or two files; all are drawn by the seed of the table.
`python -m tests.tables.generated 600` judges how the program reads tables 0 to 599.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tests.tables import column_name_samples as samples
from tests.tables.row_questions import ROW_QUESTIONS, possible_questions
from tests.tables.table_drafts import (
    BASE_SHARES,
    BASES,
    CONSTANT_ROWS,
    EXTRAS,
    Array,
    Cells,
    Columns,
    Dice,
    Draft,
    Heading,
    Meaning,
    Model,
    is_number,
    latent_scores,
    noisy_labels,
    pick,
    scaled,
    score_names,
)
from tests.tables.tool_tables import EXTENDABLE, TOOLS, swapped

SEED = 56
TOOL_SHARE, QUESTION_SHARE = 0.3, 0.4
ALL_EXTRAS = EXTRAS | ROW_QUESTIONS


@dataclass
class GeneratedTable:
    """Files, the words after them, and what is known of them.

    accepted: readings that may be computed without a question. offered: readings of which a list of
    offers must have one. refusable: its meaning cannot be said by options. clear: truth has a
    listed name and one look leaves one reading. heading: of every file. closed: accepted and
    offered are all true readings, else the options of a command say whether its result is true.
    """

    seed: int
    traits: dict[str, str]
    files: dict[str, dict[str, Cells]]
    words: tuple[str, ...]
    truth: str
    roles: dict[str, str]
    accepted: tuple[Meaning, ...]
    offered: tuple[Meaning, ...]
    name_listed: bool
    clear: bool
    refusable: bool
    heading: Heading = field(default_factory=Heading)
    closed: bool = False

    def without_truth(self) -> dict[str, dict[str, Cells]]:
        """Return the files without the column of truth and its copies; empty files left out.

        Nothing for a table that has no such column.
        """
        gone = {name for name, role in self.roles.items() if role in ("truth", "copy of truth")}
        if not gone:
            return {}
        files = {}
        for file, columns in self.files.items():
            rest = {name: cells for name, cells in columns.items() if name not in gone}
            if {*rest} - {"id", *samples.JOIN_IDS}:
                files[file] = rest
        return files

    def reordered(self, order: str) -> dict[str, dict[str, Cells]]:
        """Return the files with their rows sorted by class, reversed or shuffled."""
        files = {}
        for file, columns in self.files.items():
            rows = len(next(iter(columns.values())))
            index = np.arange(rows)[::-1]
            if order == "shuffled":
                index = np.random.default_rng([SEED, self.seed, 9]).permutation(rows)
            elif order == "sorted" and self.truth in columns:
                index = np.argsort(np.array(columns[self.truth]), kind="stable")
            files[file] = {name: [cells[i] for i in index] for name, cells in columns.items()}
        return files


def write_files(
    files: dict[str, dict[str, Cells]], folder: Path, heading: Heading | None = None
) -> None:
    """Write files of columns as delimited text."""
    heading = heading or Heading()
    for name, columns in files.items():
        with (folder / name).open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n", delimiter=heading.delimiter)
            writer.writerows(heading.lines([*columns]))
            writer.writerows(zip(*columns.values(), strict=True))


# truth


def draw_truth(
    dice: Dice, many_classes: bool, rows: int, constant: bool
) -> tuple[Array, tuple[str, ...]]:
    """Return codes of truth and the names of classes."""
    if many_classes:
        classes = tuple(pick(dice, samples.MANY_CLASSES))
        truth = dice.integers(0, len(classes), rows)
    else:
        classes = tuple(pick(dice, samples.TWO_CLASSES)[:2])
        truth = (dice.random(rows) < dice.uniform(0.2, 0.6)).astype(int)
    for code in range(len(classes)):
        truth[5 * code : 5 * code + 5] = code
    truth = dice.permutation(truth)
    return np.concatenate([np.zeros(CONSTANT_ROWS * constant, int), truth]), classes


def draw_truth_name(dice: Dice, many_classes: bool) -> tuple[str, bool]:
    """Return a name of truth, and whether a list of such names has it: half of them."""
    if dice.random() < 0.5:
        unlisted = (
            samples.TRUTH_UNLISTED_OF_MANY_CLASSES if many_classes else samples.TRUTH_UNLISTED
        )
        return pick(dice, unlisted), False
    of_any = samples.TRUTH_LIKELY[: samples.TRUTH_LIKELY.index("default")]
    likely = of_any if many_classes else samples.TRUTH_LIKELY
    return pick(dice, samples.TRUTH_CERTAIN if dice.random() < 0.5 else likely), True


def decided_positive(classes: tuple[str, ...]) -> bool:
    """Tell whether one look at the classes decides the positive one, or none is needed."""
    return len(classes) > 2 or (*classes, True) in samples.TWO_CLASSES


# layouts


def lengthen(draft: Draft, dice: Dice, truth: str) -> Columns:
    """Return the columns of a long table: one row per id and model."""
    id_name, model_name, label_name, score_name = pick(dice, samples.LONG)
    rows, models = len(draft.truth), draft.models
    row, model = (part.ravel() for part in np.indices((rows, len(models))))
    if dice.random() < 0.5:  # model by model
        order = np.argsort(model, kind="stable")
        row, model = row[order], model[order]
    prediction = label_name if models[0].score is None else score_name
    cells = [draft.columns[single.name] for single in models]
    columns = {
        id_name: [str(i + 1) for i in row],
        model_name: [models[m].name for m in model],
        prediction: [cells[m][i] for i, m in zip(row, model, strict=True)],
        truth: [draft.columns[truth][i] for i in row],
    }
    names = {single.name for single in models}
    rest = [name for name in draft.columns if name not in {*names, *columns}]
    for name in rest:
        columns[name] = [draft.columns[name][i] for i in row]
    for name in names:
        del draft.roles[name]
    draft.roles |= {id_name: "id", model_name: "model", prediction: "prediction"}
    draft.refusable |= model_name == "algorithm"  # no list has it, no option names it
    return columns


def join_models(draft: Draft, dice: Dice, labels: bool) -> None:
    """Give the draft two models, for two files in which their column has one name."""
    stems = [name.removesuffix(".csv") for name in pick(dice, samples.FILES_OF_MODELS)]
    for stem in stems:
        if labels:
            codes = noisy_labels(dice, draft.truth, len(draft.classes))
            draft.columns[stem] = draft.written(codes)
            draft.models.append(Model(stem, label=codes))
        else:
            values, cells = scaled(latent_scores(dice, draft.truth), draft.scale)
            draft.columns[stem] = cells
            draft.models.append(Model(stem, score=values))


def split_models(
    draft: Draft, dice: Dice, truth: str, order: Array
) -> tuple[dict[str, Columns], tuple[str, ...]]:
    """Return one file per model, with or without truth, and the words that join them."""
    id_name = pick(dice, samples.JOIN_IDS)
    of_labels = draft.models[0].score is None
    prediction = pick(dice, samples.LABEL_ALONE if of_labels else score_names(draft.scale))
    ids = [str(number) for number in dice.permutation(len(order)) + 1]
    own_file = dice.random() < 0.3
    words = ("--join", id_name) if own_file or dice.random() < 0.7 else ()
    if not words:
        draft.doubts.append("two models or one sample")
    stems = [model.name for model in draft.models]
    rest = [name for name in draft.columns if name not in {truth, *stems}]
    files = {}
    for number, stem in enumerate(stems):
        index = dice.permutation(order) if number and dice.random() < 0.5 else order
        cells = {id_name: ids} | ({} if own_file else {truth: draft.columns[truth]})
        cells |= {name: draft.columns[name] for name in ([] if own_file else rest)}
        cells |= {prediction: draft.columns[stem]}
        files[f"{stem}.csv"] = {name: [column[i] for i in index] for name, column in cells.items()}
    if own_file:
        cells = {id_name: ids, truth: draft.columns[truth]}
        cells |= {name: draft.columns[name] for name in rest}
        files = {"labels.csv": cells} | files
    draft.roles |= {id_name: "id", prediction: "prediction"}
    return files, words


def repeat_settings(draft: Draft, base: str, names_seed: list[int], dice: Dice) -> Draft:
    """Return a draft in which every id occurs once per value of a setting."""
    setting = pick(dice, samples.SETTINGS)
    values = pick(dice, [("0.1", "0.5"), ("a", "b", "c"), ("1", "2", "3"), ("10", "100")])
    rows = len(draft.truth)
    stacked = Draft(np.tile(draft.truth, len(values)), draft.classes, draft.scale)
    stacked.offered, parts = [], []
    for value in values:
        part = Draft(draft.truth, draft.classes, draft.scale)
        BASES[base](part, np.random.default_rng(names_seed), dice)
        stacked.offered.append(part.meaning(f"{setting} = {value}"))
        parts.append(part)
    stacked.scale, stacked.coding = part.scale, part.coding
    stacked.refusable, stacked.unsayable = part.refusable, part.unsayable
    with_id = dice.random() < 0.65
    if with_id:
        id_name = str(pick(dice, ["id", "question", "item", "case_id"]))
        stacked.add(id_name, "id", [f"k{row}" for row in range(rows)] * len(values))
    stacked.in_order = not with_id
    stacked.add(setting, "setting", np.repeat(values, rows).tolist())
    for name, role in part.roles.items():
        stacked.add(
            name, role, [cell for setting_draft in parts for cell in setting_draft.columns[name]]
        )
    for models in zip(*(setting_draft.models for setting_draft in parts), strict=True):
        arrays = {
            kind: np.concatenate([getattr(model, kind) for model in models])
            for kind in ("label", "score", "probabilities")
            if getattr(models[0], kind) is not None
        }
        stacked.models.append(Model(models[0].name, unranked=models[0].unranked, **arrays))
    if len(parts[0].models) == 1:
        single = [replace(p.models[0], name=v) for p, v in zip(parts, values, strict=True)]
        stacked.offered.append(parts[0].meaning("one model per setting", single))
    runs = np.repeat(np.arange(len(values)), rows)
    stacked.offered.append(stacked.meaning("mean of settings", runs=runs))
    stacked.accepted = []
    stacked.doubts = [*part.doubts, "setting"]
    return stacked


# whole tables


def possible_extras(base: str, draft: Draft) -> list[str]:
    """Return the further columns that make sense beside the models of a draft."""
    extras = ["date", "covariate"]
    if base in TOOLS:
        return extras if base in EXTENDABLE else []
    if "joined" in base:
        return extras
    extras += ["weight", "run"]
    if "long" in base:
        return extras
    extras += ["id", "account", "marker", "flag", "counts", "copy"]
    kinds = {(model.label is None, model.score is None) for model in draft.models}
    numbers = all(map(is_number, draft.classes)) or draft.models[0].score is not None
    if base in ("labels", "scores") and len(draft.models) > 1 and len(kinds) == 1 and numbers:
        extras.append("total")
    if len(draft.truth) < CONSTANT_ROWS:
        extras.append("setting")
        extras += possible_questions(base, draft)
    return extras


def row_order(dice: Dice, cells: Cells, order: str) -> Array:
    """Return the order of rows: as they are, shuffled, or sorted by the cells of truth."""
    if order in ("constant first", "as made"):
        return np.arange(len(cells))
    if order == "sorted":
        return np.argsort(np.array(cells), kind="stable")
    return dice.permutation(len(cells))


def place_columns(columns: Columns, truth: str, dice: Dice) -> Columns:
    """Return the columns in another order: truth first, last, or among the others."""
    names = [name for name in columns if name != truth]
    if dice.random() < 0.4:  # ids, covariates and weights come first as often as last
        names = names[-1:] + names[:-1]
    position = pick(dice, [0, 0, len(names), len(names), int(dice.integers(len(names) + 1))])
    names.insert(position, truth)
    return {name: columns[name] for name in names}


def split_rows(dice: Dice, columns: Columns) -> dict[str, Columns]:
    """Return one file, or two with different rows."""
    rows = len(next(iter(columns.values())))
    if rows < 30 or dice.random() > 0.12:
        return {"preds.csv": columns}
    cut = int(0.55 * rows)
    first, second = pick(dice, samples.FILES_OF_PARTS)
    return {
        first: {name: cells[:cut] for name, cells in columns.items()},
        second: {name: cells[cut:] for name, cells in columns.items()},
    }


def make_draft(
    seed: int, dice: Dice, base: str, extra: str | None, rows: int | None, order: str
) -> tuple[Draft, str]:
    """Return the models of a table and its further column, and the name of that."""
    may_be_many = base in ("long", "joined labels") or (
        base in TOOLS and base not in ("reader study", "detections")
    )
    many_classes = "many" in base or (may_be_many and dice.random() < 0.4)
    size = int(dice.integers(100, 260)) if rows is None else rows
    truth, classes = draw_truth(dice, many_classes, size, order == "constant first")
    scale = pick(dice, ["unit"] * 12 + ["percent", "log-odds"] * 2 + ["ratings", "wide"] * 2)
    draft = Draft(truth, classes, scale, one_scale="long" in base)
    names_seed = [SEED, seed, 1]
    if "joined" in base:
        join_models(draft, dice, "labels" in base)
    else:
        make = TOOLS[base] if base in TOOLS else BASES[base]
        make(draft, np.random.default_rng(names_seed), dice)
        draft.closed = base in TOOLS
    if extra is None:
        possible = possible_extras(base, draft)
        questions = [name for name in possible if name in ROW_QUESTIONS]
        if questions and dice.random() < QUESTION_SHARE:
            possible = questions
        extra = str(pick(dice, possible)) if possible and dice.random() < 0.75 else "none"
    if extra == "setting":
        draft = repeat_settings(draft, base, names_seed, dice)
    elif extra != "none":
        ALL_EXTRAS[extra](draft, dice)
    return draft, extra


def name_copies(draft: Draft, truth: str) -> None:
    """Call the copies of truth after it."""
    for pattern in [name for name, role in draft.roles.items() if role == "copy of truth"]:
        draft.columns[pattern.format(truth)] = draft.columns.pop(pattern)
        draft.roles[pattern.format(truth)] = draft.roles.pop(pattern)


def lay_out_rows(
    draft: Draft, dice: Dice, base: str, truth: str, order: str
) -> tuple[dict[str, Columns], tuple[str, ...]]:
    """Return the files of a draft, their rows in order, and the words after them."""
    if draft.ready_files:
        return draft.ready_files, draft.words
    if "joined" in base:
        return split_models(draft, dice, truth, row_order(dice, draft.columns[truth], order))
    order = "as made" if draft.in_order or not truth else order
    columns = lengthen(draft, dice, truth) if "long" in base else draft.columns
    index = row_order(dice, next(iter(columns.values())) if not truth else columns[truth], order)
    columns = {name: [cells[i] for i in index] for name, cells in columns.items()}
    for name, role in draft.roles.items():
        if role == "counting id":
            columns[name] = [str(row + 1) for row in range(len(index))]
        elif role == "restarting id":
            columns[name] = [str(row % (len(index) // 5) + 1) for row in range(len(index))]
    for row in draft.last_rows:
        columns = {
            name: [*cells, row["truth" if name == truth else name]]
            for name, cells in columns.items()
        }
    if base in TOOLS:
        return {"preds.tab" if draft.heading.delimiter == "\t" else "preds.csv": columns}, ()
    if draft.last_rows:
        return {"preds.csv": place_columns(columns, truth, dice)}, ()
    return split_rows(dice, place_columns(columns, truth, dice)), ()


def generate(
    seed: int, *, base: str | None = None, extra: str | None = None, rows: int | None = None
) -> GeneratedTable:
    """Return the table of a seed; base, extra and rows instead of drawn ones."""
    dice = np.random.default_rng([SEED, seed])
    drawn_base = dice.choice([*BASES], p=np.array(BASE_SHARES) / sum(BASE_SHARES))
    drawn_tool = str(pick(dice, [*TOOLS]))
    base = base or (drawn_tool if dice.random() < TOOL_SHARE else str(drawn_base))
    order = str(dice.choice(["shuffled", "sorted", "constant first"], p=[0.6, 0.34, 0.06]))
    if rows is not None:
        order = "shuffled"
    draft, extra = make_draft(seed, dice, base, extra, rows, order)
    name, name_listed = draw_truth_name(dice, len(draft.classes) > 2)
    if draft.truth_name is None:
        truth = draft.add(name, "truth", draft.written(draft.truth))
        name_copies(draft, truth)
    else:
        truth, name_listed = draft.truth_name, True
    files, words = lay_out_rows(draft, dice, base, truth, order)
    default = [draft.meaning("as made")]
    accepted = default if draft.accepted is None else draft.accepted
    offered = accepted if draft.offered is None else draft.offered
    if draft.unsayable:
        accepted, offered = [], []
    elif draft.closed and len(draft.classes) == 2:
        offered = [*offered, *map(swapped, offered)]
    traits = {"base": base, "extra": extra, "order": order, "truth": truth}
    traits |= {"classes": "/".join(draft.classes), "coding": draft.coding, "scale": draft.scale}
    traits |= {"doubts": ", ".join(draft.doubts), "files": " ".join(files)}
    return GeneratedTable(
        seed,
        traits,
        files,
        words,
        truth,
        draft.roles,
        tuple(accepted),
        tuple(offered),
        name_listed,
        clear=name_listed and not draft.doubts and one_look_is_enough(draft),
        refusable=draft.refusable or are_copies_in_files(draft, files),
        heading=draft.heading,
        closed=draft.closed,
    )


def are_copies_in_files(draft: Draft, files: dict[str, Columns]) -> bool:
    """Tell whether rows with ids are copied into several files, of which no option counts one."""
    repeats_ids = "repeated id" in draft.roles.values()
    return "copied rows" in draft.doubts and repeats_ids and len(files) > 1


def one_look_is_enough(draft: Draft) -> bool:
    """Tell whether the positive class is decided and the meaning can be said."""
    return decided_positive(draft.classes) and not draft.refusable


if __name__ == "__main__":
    from tests.tables.reading_judge import main

    main(sys.argv[1:])
