"""Errors on scores on other scales or outside 0..1, and on multilabel tables, with hints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from clfeval.counts.settings import CountSettings, refuse_class_columns_not_in_truth
from clfeval.errors import DataError, Problem, format_option, list_names
from clfeval.formatting import format_count
from clfeval.tables.cells import as_text
from clfeval.tables.columns import ModelColumns
from clfeval.tables.input import DEFAULT_THRESHOLD, ColumnNames, find_column
from clfeval.tables.invalid_cells import FILE, ROW, column_as_number, column_as_text
from clfeval.tables.lazy_imports import pl

if TYPE_CHECKING:
    from clfeval.counts.prediction_counts import PredictionCounts

FEW = 0.1  # share of the scores that may be mistaken
MAX_VALUES_IN_HINT = 3  # different values in a hint
ROUNDED = 1e-3  # beyond 0..1 by rounding, in as many rows as there are


def refuse_stray_scores(settled: CountSettings, models: Iterable[ModelColumns]) -> None:
    """Raise for scores that are probabilities except for a few, with the first of those."""
    problems, hint, cuts, naming = [], "", {}, settled.columns.naming
    score = pl.col("number")
    for model in models:
        column = settled.columns.source(model)
        if model.kind != "score" or settled.peeks[column].is_integer:
            continue
        number = column_as_number(column, settled.columns.written)
        mine = pl.col(naming) == model.name if naming else pl.lit(value=True)
        frame = settled.numbered_rows(
            FILE, ROW, value=pl.col(column), number=number, mine=mine & number.is_not_nan()
        )
        rows = frame.filter("mine").collect()
        beyond = rows.filter((score < 0) | (score > 1))
        rounded = beyond.filter(~score.is_between(-ROUNDED, 1 + ROUNDED)).is_empty()
        if not 0 < len(beyond) < len(rows) or not (rounded or len(beyond) <= FEW * len(rows)):
            continue
        file, row, value, *_ = beyond.row(0)
        more = f" and {len(beyond) - 1:,} more lie" if len(beyond) > 1 else " lies"
        inside = format_count(len(rows) - len(beyond), "score")
        what = f"{as_text(value)}{more} outside 0 to 1; {inside} lie inside"
        problems.append(Problem(what, "needs-threshold", file, row, column))
        cuts[model.name] = DEFAULT_THRESHOLD
        if not hint:
            values = beyond["value"].unique(maintain_order=True)[: MAX_VALUES_IN_HINT + 1]
            texts = [str(as_text(one)) for one in values]
            flags = " ".join(format_option("--null-value", text) for text in texts)
            few = f", or drop their rows with {flags} --missing drop"
            cut = format_option("--threshold", f"{model.name}={DEFAULT_THRESHOLD}")
            hint = f"correct the values outside{few if len(texts) <= MAX_VALUES_IN_HINT else ''}"
            hint += f"; if these scores are not probabilities, add {cut}"
    if problems:
        raise DataError(problems, hint=hint, fixes={"threshold": cuts})


MAX_NEAR_PROBABILITY = 1.5  # numbers up to it are probabilities beyond 1 by rounding or by mistake
PERCENT = 50.0  # midpoint of percentages
RATED = 20  # numbers up to it are ratings, not percentages
# ranges of measurements differ by this factor, or there are this many
MEASUREMENT_SPREAD, MANY_MEASUREMENTS = 2, 10
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
    inside = any(m.kind != "label" and m not in found for m in others)
    labels = sum(m.kind == "label" for m in others)
    cuts = {model: scale_midpoint(*ends) for model, ends in found.items()}
    first, names = next(iter(found)), [model.columns[0] for model in found]
    whole = [n for m, n in zip(found, names, strict=True)
             if wide and found[m][0] >= 0 and settled.peeks[n].is_integer]  # fmt: skip
    percent = {*cuts.values()} == {PERCENT}
    if not (inside or (len(whole) < len(names) and not percent)):
        whole = []
    if wide and labels >= len(found):
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
        model, middle = next(iter(scores.items()))
        fixes["threshold"] = {None: middle} if alone else {m.name: c for m, c in scores.items()}
        one = f"{model.name}={middle:g}"
        said = f"--threshold {middle:g}" if alone else format_option("--threshold", one)
        kind = {PERCENT: "percentages", 0.0: "log-odds or margins"}.get(middle, "probabilities")
        if kind == "probabilities" and any(found[model][1] > 1 for model in scores):
            kind += " with rounding errors"
        divided = " or divide them by 100" if percent and alone else ""
        hint = f"if they are {kind}, add {said}{divided}; otherwise add {cut}"
    elif not whole:
        hint = f"add {cut}, or --classes CLASS for each value if the values are classes"
    highs = [max(abs(end) for end in ends) for ends in found.values()]
    apart = max(highs) > MEASUREMENT_SPREAD * min(highs)
    many = len(found) >= MANY_MEASUREMENTS and not percent
    if wide and len(found) > 2 and (apart or many):
        hint = f"if the columns are features, run phidelta with --features; {hint}"
        fixes["features"] = True
        fixes.pop("threshold", None)
    return hint, fixes


SEPARATORS = re.compile(r"\s*[;|,]\s*")
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
    cells = {}
    for name in sorted(every - {*roles.classes, roles.positive}):
        parts = [part for part in SEPARATORS.split(name.strip()) if part]
        if len(parts) > 1:
            cells[name] = parts
    known = every - cells.keys()
    repeated = Counter[str]()
    for name, parts in cells.items():
        repeated.update(() if "," in name else {*parts})
    known |= {part for part, times in repeated.items() if times > 1}
    joined = [name for name, parts in cells.items() if {*parts} <= known]
    if joined:
        names = dict.fromkeys([columns.truth, *(columns.source(model) for model in models)])
        what = f"{list_names(joined, 3)}: a cell has several classes "
        what += f"({list_names(cells[joined[0]], 3)})"
        wanted, place = [name.strip() for name in joined], (settled.name, None, columns.truth)
        for column in names:  # the first cell with one of them
            found = column_as_text(column).str.strip_chars().is_in(wanted)
            rows = settled.numbered_rows(FILE, ROW, found=found).filter("found").head(1).collect()
            if len(rows):
                place = (*rows.row(0)[:2], column)
                break
        raise DataError.new(what, "multi-label", *place, hint=RECIPE)
