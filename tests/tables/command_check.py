"""What the options of a printed command say, and whether its result has the numbers of that.

Only the words of the command and the cells of the table are used: no code of the program.
"""

from __future__ import annotations

import fnmatch
import itertools
import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from tests.tables.generated import GeneratedTable
from tests.tables.model_facts import (
    binary_facts,
    cell_value,
    differences,
    many_class_facts,
    mean_over_runs,
    model_rows,
    rank_auc,
    reading_differences,
    shown_weights,
)
from tests.tables.table_drafts import Array, Columns, Facts, is_number

FLAGS = {"-q", "--quiet", "-v", "--verbose", "--fold-labels", "--renormalize", "--dry-run"}
LARGEST = "largest of"
SCALES = (":percent", ":reversed")
SHORT = {"-f": "--format", "-d": "--delimiter"}


@dataclass
class Command:
    """Files and options of a `clfeval report` command line."""

    files: list[str] = field(default_factory=list)
    options: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, line: str) -> Command:
        """Read a shell line; ValueError if it is no report."""
        words = shlex.split(line)
        if words[:2] != ["clfeval", "report"]:
            raise ValueError("does not begin with clfeval report")
        command = cls()
        rest = iter(words[2:])
        for word in rest:
            if word in FLAGS:
                command.options.setdefault(word, [])
            elif word.startswith("-") and word != "-":
                name, equals, value = word.partition("=")
                name = SHORT.get(name, name)
                command.options.setdefault(name, []).append(value if equals else next(rest, ""))
            else:
                command.files.append(word)
        return command

    def value(self, option: str) -> str | None:
        """Return the last value of an option."""
        values = self.options.get(option)
        value = values[-1] if values else None
        if option == "--weight" and value is not None:  # with what the weights are
            return value.removesuffix(":counts").removesuffix(":sampling")
        return value

    def names(self, option: str, columns: Sequence[str]) -> set[str]:
        """Return the columns that an option names: some by a pattern, or by a model's name.

        A model of class probabilities is called as its columns begin: `prob` of `prob_cat`.
        """
        values = self.options.get(option, [])
        for scale in SCALES:
            values = [value.removesuffix(scale) for value in values]
        patterns = [value.rpartition(":")[2] for value in values] + values
        stems = tuple(values) if option == "--model" else ()
        patterns += [part for value in values if "+" in value for part in value.split("+")]
        return {
            name
            for name in columns
            if any(name == pattern or fnmatch.fnmatch(name, pattern) for pattern in patterns)
            or (stems and name.lstrip(".").startswith(stems))
        }


@dataclass
class WideTable:
    """One row per observation; models: the columns that may hold the predictions of each name."""

    columns: Columns
    models: dict[str, list[str]]

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))

    def filter(self, mask: Array) -> WideTable:
        """Return the table of some rows."""
        index = np.flatnonzero(mask)
        columns = {name: [cells[i] for i in index] for name, cells in self.columns.items()}
        return WideTable(columns, self.models)


def appended_files(files: Mapping[str, Columns]) -> WideTable:
    """Return the rows of files of the same columns."""
    first = next(iter(files.values()))
    columns = {
        name: [cell for file in files.values() for cell in file.get(name, [])] for name in first
    }
    return WideTable(columns, {name: [name] for name in columns})


def joined_files(files: Mapping[str, Columns], names: Mapping[str, str], join: str) -> WideTable:
    """Return the rows of files joined on an id; columns of one file are called FILE:COLUMN too.

    join: the column of ids, two of them as `a+b`, or `row`, where no file has such a column.
    """
    keys: dict[str, list[str]] = {}
    for file, columns in files.items():
        rows = len(next(iter(columns.values())))
        id_names = [name for name in (join, *join.split("+")) if name in columns]
        keys[file] = columns[id_names[0]] if id_names else [str(row) for row in range(rows)]
    ids = next(iter(keys.values()))
    wide = WideTable({join: ids}, {})
    for file, columns in files.items():
        position = {cell: row for row, cell in enumerate(keys[file])}
        order = [position[cell] for cell in ids]
        for name, cells in columns.items():
            if cells is keys[file]:
                continue
            key, aligned = f"{names[file]}:{name}", [cells[row] for row in order]
            wide.columns[key] = aligned
            for alias in (key, names[file], name):
                wide.models.setdefault(alias, []).append(key)
            wide.columns.setdefault(name, aligned)
    return wide


def widened(table: GeneratedTable, appended: WideTable) -> WideTable:
    """Return a long table with one row per id and one column per model."""
    by_role = {role: name for name, role in table.roles.items()}
    id_name, model_name, prediction = by_role["id"], by_role["model"], by_role["prediction"]
    columns = appended.columns
    ids = list(dict.fromkeys(columns[id_name]))
    first: dict[str, int] = {}
    cells: dict[str, dict[str, str]] = {}
    for row, (key, model) in enumerate(zip(columns[id_name], columns[model_name], strict=True)):
        first.setdefault(key, row)
        cells.setdefault(model, {})[key] = columns[prediction][row]
    rest = [name for name in columns if name not in (model_name, prediction)]
    wide = {name: [columns[name][first[key]] for key in ids] for name in rest}
    wide |= {model: [by_id[key] for key in ids] for model, by_id in cells.items()}
    return WideTable(wide, {name: [name] for name in wide})


def widened_by_setting(wide: WideTable, id_name: str, setting: str) -> WideTable:
    """Return one row per id, with each other column once for each value of a setting."""
    columns = wide.columns
    ids = list(dict.fromkeys(columns[id_name]))
    rows_of: dict[str, dict[str, int]] = {}
    for row, (key, value) in enumerate(zip(columns[id_name], columns[setting], strict=True)):
        rows_of.setdefault(value, {})[key] = row
    first = next(iter(rows_of.values()))
    ids = [key for key in ids if all(key in by_id for by_id in rows_of.values())]
    pivoted = {name: [cells[first[key]] for key in ids] for name, cells in columns.items()}
    for value, by_id in rows_of.items():
        for name, cells in columns.items():
            pivoted[f"{name} of {value}"] = [cells[by_id[key]] for key in ids]
    return WideTable(pivoted, {name: [name] for name in pivoted})


def meets_condition(columns: Columns, condition: str) -> Array:
    """Return which rows meet a condition of --where."""
    texts = pl.DataFrame(columns)
    numbers = texts.with_columns(
        pl.col(name).cast(pl.Float64)
        for name, cells in columns.items()
        if all(map(is_number, cells))
    )
    for frame in (numbers, texts):
        try:
            mask = frame.select(pl.sql_expr(condition).alias("kept"))["kept"]
        except pl.exceptions.PolarsError:
            continue
        return mask.fill_null(False).to_numpy()
    raise ValueError(f"the condition {condition!r} cannot be read")


def largest_classes(table: GeneratedTable, wide: WideTable) -> Columns:
    """Return the class of the largest probability, for each set of one column per class."""
    names = [name for name, role in table.roles.items() if role == "probability"]
    classes = table.traits["classes"].split("/")
    columns = {}
    for start in range(0, len(names), len(classes)):
        part = names[start : start + len(classes)]
        matrix = np.array([[float(cell) for cell in wide.columns[name]] for name in part])
        columns[f"{LARGEST} {', '.join(part)}"] = [classes[i] for i in matrix.argmax(axis=0)]
    return columns


def confidence_scores(table: GeneratedTable, wide: WideTable, command: Command) -> Columns:
    """Return the probability of the positive and of the other class, from a confidence.

    It is that of the labels which a model such as `labels+confidence` names.
    """
    by_role = {role: name for name, role in table.roles.items()}
    if "confidence" not in by_role:
        return {}
    ending = f"+{by_role['confidence']}"
    pairs = [name for name in command.options.get("--model", []) if name.endswith(ending)]
    label_name = pairs[0].removesuffix(ending) if pairs else by_role["label"]
    positive = normal(table.traits["classes"].split("/")[1])
    labels, confidences = wide.columns[label_name], wide.columns[by_role["confidence"]]
    chance = [
        float(cell) if normal(label) == positive else 1 - float(cell)
        for label, cell in zip(labels, confidences, strict=True)
    ]
    return {
        f"{LARGEST} {by_role['confidence']}": [str(value) for value in chance],
        f"{LARGEST} other {by_role['confidence']}": [str(1 - value) for value in chance],
    }


def percentages_of(result: Mapping[str, Any]) -> str:
    """Return what a result says on columns that were divided by 100."""
    texts = [note["message"] for note in result["warnings"] if note["code"] == "percentages"]
    return " ".join(texts)


def assemble(table: GeneratedTable, command: Command, percentages: str = "") -> WideTable:
    """Return the table that a command names, without the rows that --where leaves out.

    percentages: what the result says on columns that it divided by 100.
    """
    files, names = {}, {}
    for word in command.files:
        stem, equals, file = word.rpartition("=")
        file = file if equals else word
        if file not in table.files:
            raise ValueError(f"there is no file {file}")
        files[file] = table.files[file]
        names[file] = stem if equals else file.removesuffix(".csv")
    if {*files} != {*table.files}:
        raise ValueError("a file is left out")
    join = command.value("--join")
    is_one_sample = join in (None, "none")
    wide = appended_files(files) if is_one_sample else joined_files(files, names, str(join))
    if "model" in table.roles.values():
        [model_name] = [name for name, role in table.roles.items() if role == "model"]
        if not command.names("--ignore", [model_name]):
            wide = widened(table, wide)
    if command.value("--layout") == "long":
        [setting] = [name for name, role in table.roles.items() if role == "setting"]
        wide = widened_by_setting(wide, str(command.value("--id")), setting)
    # one set of probabilities without a name of its own is called so
    wide.models.setdefault(
        "model", [name for name, role in table.roles.items() if role == "probability"]
    )
    wide.columns |= largest_classes(table, wide) | confidence_scores(table, wide, command)
    rescale(command, wide, percentages)
    drop_missing(command, wide)
    condition = command.value("--where")
    if condition is not None and "copy" in condition and "copy" not in wide.columns:
        wide.columns["copy"] = copy_numbers(wide)
    return wide if condition is None else wide.filter(meets_condition(wide.columns, condition))


def rescale(command: Command, wide: WideTable, percentages: str) -> None:
    """Divide the percentages and reverse the scores that --model or the result says are such."""
    values = command.options.get("--model", [])
    for name, cells in wide.columns.items():
        is_percent = f"{name}:percent" in values or repr(name) in percentages
        is_reversed = f"{name}:reversed" in values
        if not (is_percent or is_reversed):
            continue
        numbers = np.array([float(cell or "nan") for cell in cells]) / (100 if is_percent else 1)
        if is_reversed:
            numbers = 1 - numbers if numbers.min() >= 0 and numbers.max() <= 1 else -numbers
        wide.columns[name] = [str(number) for number in numbers]


def drop_missing(command: Command, wide: WideTable) -> None:
    """Leave out the rows with an empty cell, or one that --null-value names, if a command does."""
    marks = {"", *command.options.get("--null-value", [])}
    ignored = command.names("--ignore", [*wide.columns])
    if command.value("--missing") != "drop":
        return
    used = [cells for name, cells in wide.columns.items() if name not in ignored]
    kept = [row for row, cells in enumerate(zip(*used, strict=True)) if not marks & {*cells}]
    wide.columns = {name: [cells[row] for row in kept] for name, cells in wide.columns.items()}


def copy_numbers(wide: WideTable) -> list[str]:
    """Return to which copy of the table each row belongs: equal rows are dealt to the copies.

    Columns with a different value in every row, such as row numbers, are no part of a copy.
    """
    columns = [cells for cells in wide.columns.values() if len({*cells}) < len(cells)]
    rows = [*zip(*columns, strict=True)]
    sizes = Counter(rows)
    copies = math.gcd(*sizes.values())
    seen: Counter[tuple[str, ...]] = Counter()
    numbers = []
    for row in rows:
        numbers.append(str(seen[row] // (sizes[row] // copies) + 1))
        seen[row] += 1
    return numbers


def normal(cell: str) -> str:
    """Return a cell so that equal numbers, and booleans and numbers, are equal."""
    if is_number(cell):
        return str(float(cell))
    return {"false": "0.0", "true": "1.0"}.get(cell.casefold(), cell)


@dataclass
class Context:
    """One way to count that a command allows: positive class, weights, runs."""

    wide: WideTable
    truth: list[str]
    positive: str | None
    weight: Array | None
    runs: Array | None
    candidates: list[str]

    def facts(self, cells: Sequence[str], threshold: float | None, kind: str) -> Facts:
        """Return the numbers of a column as `label`, `score` or `auc`."""
        classes = {name: code for code, name in enumerate(sorted({*self.truth, *cells}))}
        if self.positive is not None:
            truth = np.array([int(cell == self.positive) for cell in self.truth])
            codes = np.array([int(cell == self.positive) for cell in cells])
        else:
            truth = np.array([classes[cell] for cell in self.truth])
            codes = np.array([classes[cell] for cell in cells])
        score = np.array([float(cell) for cell in cells]) if kind != "label" else codes
        if kind == "score":
            codes = (score >= threshold).astype(int)

        def compute(rows: Array) -> Facts:
            weight = None if self.weight is None else self.weight[rows]
            if kind == "auc":
                return {"roc_auc": rank_auc(truth[rows], score[rows], weight)}
            if self.positive is None:
                return many_class_facts(truth[rows], codes[rows], weight)
            return binary_facts(truth[rows], codes[rows], weight)

        return mean_over_runs(self.runs, len(truth), compute)


def possible_positives(command: Command, truth: Sequence[str]) -> list[str | None]:
    """Return the positive class of a command, either class of two, or none."""
    positive = command.value("--positive")
    if "--classes" in command.options and positive is None:
        return [None]
    if positive is not None:
        return [normal(positive)]
    classes = sorted({*truth})
    return [None] if len(classes) > 2 else [*classes]


def model_columns(command: Command, wide: WideTable, truth: str) -> list[str]:
    """Return the columns that may be of models by the options of a command."""
    ignored = command.names("--ignore", [*wide.columns])
    roles = ("--weight", "--run", "--id", "--join", "--by", "--cluster", "--truth")
    used = {truth, *ignored, *(command.value(role) for role in roles)}
    names = [name for name in wide.columns if name not in used]
    if "--model" not in command.options:
        return names
    models = command.names("--model", [*wide.models])
    wanted_keys = {key for model in models for key in wide.models[model]} | models
    return [name for name in names if name in wanted_keys or name.startswith(LARGEST)]


def contexts(table: GeneratedTable, command: Command, wide: WideTable) -> list[Context]:
    """Return the ways to count that the options of a command allow."""
    truth_name = command.value("--truth") or table.truth
    if truth_name not in wide.columns:
        raise ValueError(f"there is no column {truth_name} of truth")
    truth = [normal(cell) for cell in wide.columns[truth_name]]
    ignored = command.names("--ignore", [*wide.columns])
    weights = [
        None if name is None else np.array([float(cell) for cell in wide.columns[name]])
        for name in spoken_or_claimed(table, command, "--weight", "weight", ignored)
    ]
    runs = [
        None if name is None else np.array(wide.columns[name])
        for name in spoken_or_claimed(table, command, "--run", "run", ignored)
    ]
    candidates = model_columns(command, wide, truth_name)
    positives = possible_positives(command, truth)
    return [
        Context(wide, truth, *way, candidates)
        for way in itertools.product(positives, weights, runs)
    ]


def spoken_or_claimed(
    table: GeneratedTable, command: Command, option: str, role: str, ignored: set[str]
) -> list[str | None]:
    """Return the column an option names; without it a column of a certain name, or none."""
    name = command.value(option)
    if name is not None:
        return [name]
    roles = {role, "count"} if role == "weight" else {role}
    claimed = [column for column, column_role in table.roles.items() if column_role in roles]
    return [None, *(column for column in claimed if column not in ignored)]


def column_explains(
    context: Context, key: str, row: Mapping[str, Any], measures: Sequence[str]
) -> bool:
    """Tell whether a column, as labels or by its scores, gives these numbers of a row."""
    cells = context.wide.columns[key]
    numeric, threshold = all(map(is_number, cells)), row.get("threshold")
    kinds = ["auc"] if "roc_auc" in measures else ["label", "score"]
    if not numeric:
        kinds = [kind for kind in kinds if kind == "label"]
    elif threshold is None:
        kinds = [kind for kind in kinds if kind != "score"]
    for kind in kinds:
        texts = [normal(cell) for cell in cells] if kind == "label" else cells
        facts = context.facts(texts, threshold, kind)
        if not differences(row, {name: facts[name] for name in measures}):
            return True
    return False


def row_complaints(context: Context, row: Mapping[str, Any]) -> list[str]:
    """Return what of a model's row no column explains."""
    hard = ["tp", "fp", "tn"]
    groups = [["roc_auc"], hard]
    if context.positive is None:  # AUC of many classes is compared with the readings known
        groups = [["accuracy", "balanced_accuracy"]]
    complaints = []
    for measures in groups:
        numbers = {name: cell_value(row, name) for name in measures}
        if all(number is None for number in numbers.values()):
            continue
        if context.positive is None:  # the recall of a class without rows is undefined
            measures = [name for name in measures if numbers[name] is not None]
        if not any(column_explains(context, key, row, measures) for key in context.candidates):
            complaints.append(f"{row['model']}: no column gives its {numbers}")
    return complaints


def context_complaints(context: Context, result: Mapping[str, Any]) -> list[str]:
    """Return what of a result differs from what the options say, counted in one way."""
    if context.weight is not None:
        context = replace(context, weight=shown_weights(result, context.weight))
    weight = np.ones(len(context.truth)) if context.weight is None else context.weight
    summary = result["summary"]
    complaints = []
    if not np.isclose(summary["rows"], weight.sum()):
        complaints.append(f"{summary['rows']} rows, not {weight.sum()}")
    if context.positive is not None:
        positives = weight[np.array(context.truth) == context.positive].sum()
        if not np.isclose(summary.get("positives", -1), positives):
            complaints.append(f"{summary.get('positives')} positives, not {positives}")
    for row in model_rows(result):
        complaints += row_complaints(context, row)
    return complaints


def command_complaints(table: GeneratedTable, line: str, result: Mapping[str, Any]) -> list[str]:
    """Return in what the result of a printed command differs from what its options say."""
    try:
        command = Command.parse(line)
        wide = assemble(table, command, percentages_of(result))
        ways = contexts(table, command, wide)
    except ValueError as error:
        return [str(error)]
    ignored = command.names("--ignore", [*wide.columns])
    models = [str(row["model"]) for row in model_rows(result)]
    complaints = [f"{model} is ignored, but is a model" for model in models if model in ignored]
    if len({*ways[0].truth}) > 2 and ways[0].positive is None:
        meanings = [*table.accepted, *table.offered]
        if any(not reading_differences(result, meaning) for meaning in meanings):
            return complaints
    return complaints + min((context_complaints(way, result) for way in ways), key=len)
