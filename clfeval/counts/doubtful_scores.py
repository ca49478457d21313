"""Errors on scores on other scales or outside 0..1, and on multilabel tables, with hints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from clfeval.counts.settings import CountSettings, refuse_class_columns_not_in_truth
from clfeval.errors import DataError, Problem, format_option, list_names
from clfeval.formatting import format_count
from clfeval.tables.cells import as_text
from clfeval.tables.columns import ModelColumns
from clfeval.tables.input import DEFAULT_THRESHOLD, ColumnNames, find_column
from clfeval.tables.invalid_cells import FILE, ROW, column_as_number, column_as_text, numbered_rows
from clfeval.tables.lazy_imports import pl

if TYPE_CHECKING:
    from clfeval.counts.prediction_counts import PredictionCounts

FEW = 0.1  # share of the scores that may be mistaken
MAX_VALUES_IN_HINT = 3  # different values in a hint
ROUNDED = 1e-3  # beyond 0..1 by rounding, in as many rows as there are
VALUE = "__clfeval_value"


def refuse_stray_scores(settled: CountSettings, models: Iterable[ModelColumns]) -> None:
    """Raise for scores that are probabilities except for a few, with the first of those."""
    problems, hint, cuts = [], "", {}
    for model in models:
        column = settled.columns.source(model)
        if model.kind != "score" or settled.peeks[column].whole:
            continue
        number = column_as_number(column, settled.columns.written)
        mine = pl.lit(value=True)
        if settled.columns.naming:
            mine = pl.col(settled.columns.naming) == model.name
        rows = pl.concat(
            numbered_rows(file, settled.columns.null_values)
            .filter(mine & number.is_not_nan())
            .select(FILE, ROW, pl.col(column).alias(VALUE), number.alias("number"))
            for file in settled.files
        ).collect()
        beyond = rows.filter((pl.col("number") < 0) | (pl.col("number") > 1))
        rounded = beyond.filter(~pl.col("number").is_between(-ROUNDED, 1 + ROUNDED)).is_empty()
        if not 0 < len(beyond) < len(rows) or not (rounded or len(beyond) <= FEW * len(rows)):
            continue
        file, row, value, _ = beyond.row(0)
        text = str(as_text(value))
        more = f" and {len(beyond) - 1:,} more lie" if len(beyond) > 1 else " lies"
        inside = format_count(len(rows) - len(beyond), "score")
        what = f"{text}{more} outside 0 to 1; {inside} lie inside"
        problems.append(Problem(what, "needs-threshold", file, row, column))
        cuts[model.name] = DEFAULT_THRESHOLD
        cut = format_option("--threshold", f"{model.name}={DEFAULT_THRESHOLD}")
        hint = hint or (
            f"correct the values outside{_left_out(beyond[VALUE])}; if these scores are not "
            f"probabilities, add {cut}"
        )
    if problems:
        raise DataError(problems, hint=hint, fixes={"threshold": cuts})


def _left_out(values: pl.Series) -> str:
    """Return the option that drops rows with a few distinct values; "" for more of them."""
    texts = [
        str(as_text(value))
        for value in values.unique(maintain_order=True)[: MAX_VALUES_IN_HINT + 1]
    ]
    flags = " ".join(format_option("--null-value", text) for text in texts)
    return (
        f", or drop their rows with {flags} --missing drop"
        if len(texts) <= MAX_VALUES_IN_HINT
        else ""
    )


MAX_NEAR_PROBABILITY = 1.5  # numbers up to it are probabilities beyond 1 by rounding or by mistake
PERCENT = 50.0  # midpoint of percentages
RATED = 20  # numbers up to it are ratings, not percentages
MEASUREMENT_SPREAD, MANY_MEASUREMENTS = (
    2,
    10,
)  # ranges of measurements differ by this factor, or there are this many
Range = tuple[float, float]
Guess = tuple[str, dict[str, Any]]  # a hint, and the options it proposes


def alternative_roles(settled: CountSettings, name: str) -> str:
    """Return the options for other roles a column may have than a model."""
    if looks_like_cluster(settled, name):
        return f"{format_option('--cluster', name)} (mars, phidelta, tune-jpt, report)"
    by = format_option("--by", name)
    if settled.layout.joined or not settled.peeks[name].distinct:
        return by
    return f"{format_option('--id', name)}, {by}"


def looks_like_cluster(settled: CountSettings, name: str) -> bool:
    """Return whether a column is named like clusters and has repeated values."""
    return bool(find_column([name], ColumnNames.CLUSTER)) and not settled.peeks[name].distinct


def scale_midpoint(low: float, high: float) -> float | None:
    """Return the midpoint of the scale that numbers from low to high probably have; else None."""
    if low < 0 < high:
        return 0.0  # log-odds, margins
    if low >= 0 and high <= MAX_NEAR_PROBABILITY:
        return 0.5
    return PERCENT if low >= 0 and RATED < high <= 100 else None


def guess_score_scale(settled: CountSettings, found: Mapping[ModelColumns, Range]) -> Guess:
    """Return a hint on models with scores outside 0..1, and the options it proposes."""
    wide, others = not settled.columns.answer, settled.columns.models
    inside = [m for m in others if m.kind != "label" and m not in found]
    labels = [m for m in others if m.kind == "label"]
    cuts = {model: scale_midpoint(*ends) for model, ends in found.items()}
    first, names = next(iter(found)), [model.columns[0] for model in found]
    whole = [n for m, n in zip(found, names, strict=True)
             if wide and found[m][0] >= 0 and settled.peeks[n].whole]  # fmt: skip
    percent = {*cuts.values()} == {PERCENT}
    if not (inside or (len(whole) < len(names) and not percent)):
        whole = []
    if wide and len(labels) >= len(found):
        whole = names
    cut = f"{format_option('--threshold', f'{first.name}=T')} with its threshold T"
    fixes: dict[str, Any] = {}
    if whole:
        shared = [name for name in whole if looks_like_cluster(settled, name)]
        ways = f"{alternative_roles(settled, shared[0])} or " if shared else ""
        hint = f"add {ways}{format_option('--ignore', whole[0])} if it is not a model, or {cut}"
        fixes["ignore"] = tuple(whole)
        if shared and settled.columns.cluster is None:
            fixes["cluster"] = shared[0]
    scores = {m: c for m, c in cuts.items() if m.columns[0] not in whole and c is not None}
    if scores:
        alone = not (inside or whole) and len({*scores.values()}) == 1 and len(scores) == len(found)
        middle = next(iter(scores.values()))
        fixes["threshold"] = {None: middle} if alone else {m.name: c for m, c in scores.items()}
        one = f"{next(iter(scores)).name}={middle:g}"
        said = f"--threshold {middle:g}" if alone else format_option("--threshold", one)
        over = any(found[model][1] > 1 for model in scores)
        kind = {PERCENT: "percentages", 0.0: "log-odds or margins"}.get(
            middle, "probabilities with rounding errors" if over else "probabilities"
        )
        divided = " or divide them by 100" if percent and alone else ""
        hint = f"if they are {kind}, add {said}{divided}; otherwise add {cut}"
    elif not whole:
        hint = f"add {cut}, or --classes CLASS for each value if the values are classes"
    highs = [max(abs(end) for end in ends) for ends in found.values()]
    apart = max(highs) > MEASUREMENT_SPREAD * min(highs) or (
        len(found) >= MANY_MEASUREMENTS and not percent
    )
    if wide and len(found) > 2 and apart:
        hint = f"if the columns are features, run phidelta with --features; {hint}"
        fixes["features"] = True
        fixes.pop("threshold", None)
    return hint, fixes


SEPARATORS, COMMAS = re.compile(r"\s*[;|,]\s*"), re.compile(",")
RECIPE = (
    "write one row per label, with columns row, label, truth and prediction (1 where the label "
    "applies), then add --by label --cluster row --positive 1"
)


def refuse_multilabel(counted: PredictionCounts) -> None:
    """Raise for cells with several classes, as `a;b`, and for columns of classes not in truth."""
    classes = [*counted.classes]
    refuse_multilabel_cells(counted.kept.settled, classes)
    declared = (name for name in counted.roles.classes if name not in classes)
    refuse_class_columns_not_in_truth(counted.name, counted.models, [*classes, *declared])


def refuse_multilabel_cells(
    settled: CountSettings, classes: Iterable[str], others: Iterable[Iterable[str]] = ()
) -> None:
    """Raise for cells with several labels, as `a;b`, unless declared.

    Their parts are labels, or parts of other cells. others: predictions that are not classes.
    """
    roles, columns = settled.roles, settled.columns
    models = [model for model in columns.models if model.kind == "label"]
    every = {*classes}.union(*others, *(settled.texts(model) for model in models))
    meant = {*roles.classes, roles.positive}
    cells = {
        name: {*_split_labels(name)}
        for name in sorted(every)
        if _split_labels(name) and name not in meant
    }
    known = every - cells.keys()
    held = Counter(chain.from_iterable(p for name, p in cells.items() if not COMMAS.search(name)))
    known |= {part for part, times in held.items() if times > 1}
    joined = [name for name, parts in cells.items() if parts <= known]
    if joined:
        names = [columns.truth, *(columns.source(model) for model in models)]
        file, row, column = _first(settled, joined, list(dict.fromkeys(names)))
        labels = list_names(_split_labels(joined[0]), 3)
        what = f"{list_names(joined, 3)}: a cell has several classes ({labels})"
        raise DataError.new(what, "multi-label", file, row, column, hint=RECIPE)


def _split_labels(name: str) -> Sequence[str]:
    """Return the labels in a cell with several, else none."""
    parts = [part for part in SEPARATORS.split(name.strip()) if part]
    return parts if len(parts) > 1 else ()


def _first(
    settled: CountSettings, names: Sequence[str], columns: Sequence[str]
) -> tuple[str, int | None, str]:
    """Return file, row and column of the first cell with one of the names."""
    wanted = [name.strip() for name in names]
    for column in columns:
        text = column_as_text(column).str.strip_chars()
        for file in settled.files:
            frame = numbered_rows(file, settled.columns.null_values).filter(text.is_in(wanted))
            for place in frame.select(FILE, ROW).head(1).collect().rows():
                return (*place, column)
    return settled.name, None, columns[0]
