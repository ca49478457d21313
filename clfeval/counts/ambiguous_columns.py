"""Errors on ambiguous columns: not models, scores of unknown scale, sums other than 1."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

from clfeval.counts.settings import CountSettings
from clfeval.errors import DataError, Problem, format_option
from clfeval.formatting import format_count
from clfeval.placeholders import END, OPTION, SWITCH
from clfeval.tables.columns import ModelColumns
from clfeval.tables.frames import as_text, pl
from clfeval.tables.input import DEFAULT_THRESHOLD, JOIN_NOTHING
from clfeval.tables.invalid_cells import FILE, ROW, column_as_number, unknown_rows_error
from clfeval.tables.readings.candidate_columns import scale_of
from clfeval.tables.readings.names import is_probability_name, tags_of

PREDICTIONS = {"prediction", "model", "confidence"}
HALF = 0.005  # of the last of two decimal places


def refuse_unbounded_scores(
    settled: CountSettings, ranges: Mapping[str, Range], *, any_range: bool
) -> None:
    """Raise for class probabilities outside 0..1, and for other such scores without a threshold.

    any_range: not if only the threshold is missing. ranges: the range of each model beyond 0..1.
    """
    models = settled.columns.models
    scaled = {model: ranges[model.name] for model in models if model.name in ranges}
    shares = [
        (model, bounds)
        for model, bounds in scaled.items()
        if model.kind == "classes" or model.confidence
    ]
    problems = [_out_of_range_problem(settled, *model_and_range) for model_and_range in shares]
    if problems:
        is_negative = min(low for low, _ in ranges.values()) < 0
        fixes = {} if is_negative else {"renormalize": True}
        hint = "probabilities must lie between 0 and 1"
        hint += f"; add {SWITCH}--renormalize{END} to divide them by their sum" if fixes else ""
        raise DataError(problems, hint=hint, fixes=fixes)
    if not ranges or any_range:
        return
    if settled.roles.ranks and _has_measurements(settled, scaled):
        return  # they are ranked, each on its own scale
    refuse_stray_scores(settled, scaled)
    alone = settled.roles.ranks and len(ranges) == len(models)
    percent = any(scale_midpoint(*score_range) == PERCENT for score_range in ranges.values())
    if percent or not (alone and {*guess_score_scale(settled, scaled)[1]} <= {"threshold"}):
        _raise_scales(settled, scaled, "outside 0 to 1, so they need a threshold")


def _has_measurements(settled: CountSettings, models: Mapping[ModelColumns, Range]) -> bool:
    """Return whether some scores have a scale of their own: not 0 to 1, percent or log-odds.

    Whole numbers are percentages only in a column that is called like predictions.
    """
    for model, limits in models.items():
        name = settled.columns.source(model)
        profile, midpoint = settled.profiles[name], scale_midpoint(*limits)
        is_called_so = bool(tags_of(name) & PREDICTIONS) or is_probability_name(name)
        is_count = midpoint == PERCENT and profile.is_integer and not is_called_so
        if is_count or (midpoint is None and scale_of(profile) != "unit"):
            return True
    return False


def refuse_shared_threshold(settled: CountSettings, ranges: Mapping[str, Range]) -> None:
    """Raise if one threshold applies to scores on other scales, or to percentages or shares only.

    A percentage as the threshold of probabilities, or the reverse, predicts all rows alike.
    """
    cuts = settled.roles.threshold
    cut = cuts.get(None)
    if cut is None:
        return
    free = [model for model in settled.columns.models if model.name not in cuts]
    scaled = {model: ranges[model.name] for model in free if model.name in ranges}
    probable, scales = 0 < cut <= 1, set()
    for low, high in scaled.values():
        near_unit = low >= 0 and high <= MAX_NEAR_PROBABILITY
        if probable if near_unit else not probable and low <= cut <= high:
            scales.add(scale_midpoint(low, high))
    odd = {
        model: score_range
        for model, score_range in scaled.items()
        if scale_midpoint(*score_range) not in scales
    }
    if 0 < len(odd) < len(scaled):
        _raise_scales(
            settled, odd, f"on a different scale: does {OPTION}--threshold {cut:g}{END} apply?"
        )
    for model, score_range in scaled.items():
        _refuse_threshold_of_all_rows(settled, model, score_range, cut)


def _refuse_threshold_of_all_rows(
    settled: CountSettings, model: ModelColumns, score_range: Range, cut: float
) -> None:
    """Raise if a threshold is a percentage, but not the scores, or the reverse."""
    low, high = score_range
    too_high = 0 <= low <= high <= 1 < cut
    if not too_high and not (scale_midpoint(low, high) == PERCENT and 0 < cut < min(1, low)):
        return
    meant = cut / 100 if too_high else 100 * cut
    plausible = MAX_NEAR_PROBABILITY < cut <= 100 or not too_high
    all_rows = "no row" if too_high else "every row"
    message = f"scores range from {low:g} to {high:g}: at threshold {cut:g} {all_rows} is positive"
    hint = (
        f"write {OPTION}--threshold {meant:g}{END}" if plausible else "probabilities are at most 1"
    )
    fixes = {"threshold": {None: meant}} if plausible else {}
    column = settled.column(model.name)
    problem = Problem(message, "needs-threshold", settled.name, None, column)
    raise DataError([problem], hint=hint, fixes=fixes)


def _raise_scales(
    settled: CountSettings, ranges: Mapping[ModelColumns, Range], reason: str
) -> None:
    """Raise for scores without a known threshold; reason: what is wrong with their range."""
    problems = []
    for model, score_range in ranges.items():
        message = (
            "scores from {} to {} are ".format(*settled.format_like_column(model, *score_range))
            + reason
        )
        column = settled.columns.source(model)
        problems.append(Problem(message, "needs-threshold", settled.name, None, column))
    hint, fixes = guess_score_scale(settled, ranges)
    raise DataError(problems, hint=hint, fixes=fixes)


def _out_of_range_problem(
    settled: CountSettings, model: ModelColumns, score_range: Range
) -> Problem:
    """Return the problem of a model's probabilities outside 0..1, with the first such row."""
    message = "class probabilities range from {} to {}".format(
        *settled.format_like_column(model, *score_range)
    )
    if model.confidence:
        message = "a confidence is below 0 or above 1"
    values = [column_as_number(name, settled.columns.written) for name in model.columns]
    out = {
        f"{i}": (number < 0) | ((number > 1) & number.is_not_nan())
        for i, number in enumerate(values)
    }
    rows = settled.numbered_rows(FILE, ROW, **out).filter(pl.any_horizontal(*out))
    for file, row, *flags in rows.head(1).collect().rows():
        return Problem(message, "bad-probability", file, row, model.columns[flags.index(True)])
    # within the range after rounding
    return Problem(message, "bad-probability", settled.name, None, model.name)


def refuse_probability_sums(
    settled: CountSettings, classes: Collection[str], deviations: Mapping[str, float]
) -> None:
    """Raise for class probabilities that do not sum to 1; deviations: the largest by model."""
    problems = []
    for model in settled.columns.models:
        allowed = HALF * len(model.columns) + 1e-9
        if not {*classes} <= {*model.classes} or deviations.get(model.name, 0.0) <= allowed:
            continue
        written = settled.columns.written
        total = reduce(add, (column_as_number(name, written) for name in model.columns))
        rows = settled.numbered_rows(FILE, ROW, sum=total, off=(total - 1).abs())
        worst = rows.filter(pl.col("off").is_not_nan()).sort("off", descending=True).head(1)
        file, row, probability_sum, most = worst.collect().row(0)
        if most <= allowed:  # among the first rows of Spark
            raise unknown_rows_error(settled.name)
        sum_text = settled.format_like_column(model, float(f"{probability_sum:.4g}"))[0]
        message = f"the class probabilities of '{model.name}' sum to {sum_text}, not 1 (worst row)"
        problems.append(Problem(message, "bad-sum", file, row, model.columns[0]))
    if problems:
        hint = f"add {SWITCH}--renormalize{END} to divide them by their sum in each row"
        raise DataError(problems, hint=hint, fixes={"renormalize": True})


FEW = 0.1  # share of the scores that may be mistaken
MAX_VALUES_IN_HINT = 3  # different values in a hint
NEARLY = 1e-3  # beyond 0..1 by a small mistake, in as many rows as there are


def refuse_stray_scores(settled: CountSettings, models: Iterable[ModelColumns]) -> None:
    """Raise for scores that are probabilities except for a few, with the first of those."""
    problems, hint, cuts = [], "", {}
    if not settled.numbers_rows:
        return
    scored = [
        model
        for model in models
        if model.kind == "score" and not settled.profiles[settled.columns.source(model)].is_integer
    ]
    for model, rows in _models_with_few_beyond(settled, scored) if scored else ():
        column = settled.columns.source(model)
        beyond = _rows_beyond_probabilities(settled, model)
        file, row, value, *_ = beyond.row(0)
        further = f" and {len(beyond) - 1:,} more lie" if len(beyond) > 1 else " lies"
        probabilities = format_count(rows - len(beyond), "score")
        message = f"{as_text(value)}{further} outside 0 to 1; {probabilities} lie inside"
        problems.append(Problem(message, "needs-threshold", file, row, column))
        cuts[model.name] = DEFAULT_THRESHOLD
        hint = hint or _stray_hint(model, beyond)
    if problems:
        raise DataError(problems, hint=hint, fixes={"threshold": cuts})


def _models_with_few_beyond(
    settled: CountSettings, models: Sequence[ModelColumns]
) -> list[tuple[ModelColumns, int]]:
    """Return the models of which a few scores lie outside 0..1, with their numbers of scores."""
    scores = settled.numbered_rows(**{model.name: _scores_of(settled, model) for model in models})
    is_beyond = ~pl.all().is_between(0, 1)
    is_far = ~pl.all().is_between(-NEARLY, 1 + NEARLY)
    counts = scores.select(
        pl.all().count().name.suffix(":scores"),
        is_beyond.sum().name.suffix(":beyond"),
        is_far.sum().name.suffix(":far"),
    )
    row = counts.collect(engine="streaming").row(0)
    columns = [row[start : start + len(models)] for start in range(0, len(row), len(models))]
    return [
        (model, rows)
        for model, rows, beyond, far in zip(models, *columns, strict=True)
        if 0 < beyond < rows and (not far or beyond <= FEW * rows)
    ]


def _scores_of(settled: CountSettings, model: ModelColumns) -> pl.Expr:
    """Return the scores of a model, null in rows without one."""
    naming = settled.columns.naming
    score = column_as_number(settled.columns.source(model), settled.columns.written)
    of_model = pl.col(naming) == model.name if naming else pl.lit(value=True)
    return pl.when(of_model & score.is_not_nan()).then(score)


def _rows_beyond_probabilities(settled: CountSettings, model: ModelColumns) -> pl.DataFrame:
    """Return the rows of scores outside 0..1."""
    column = settled.columns.source(model)
    frame = settled.numbered_rows(FILE, ROW, value=pl.col(column), score=_scores_of(settled, model))
    return frame.filter(~pl.col("score").is_between(0, 1)).collect()


def _stray_hint(model: ModelColumns, beyond: pl.DataFrame) -> str:
    """Return the hint on scores outside 0..1: an error, missing values, or no probabilities."""
    values = beyond["value"].unique(maintain_order=True)[: MAX_VALUES_IN_HINT + 1]
    texts = [str(as_text(value)) for value in values]
    hint = "correct the values outside"
    if len(texts) <= MAX_VALUES_IN_HINT:
        flags = " ".join(format_option("--null-value", text) for text in texts)
        hint += f", or drop their rows with {flags} {OPTION}--missing drop{END}"
    cut = format_option("--threshold", f"{model.name}={DEFAULT_THRESHOLD}")
    return f"{hint}; if these scores are not probabilities, add {cut}"


MAX_NEAR_PROBABILITY = 1.5  # numbers up to it are probabilities beyond 1 by rounding or by mistake
PERCENT = 50.0  # midpoint of percentages
RATED = 20  # numbers up to it are ratings, not percentages
# ranges of measurements differ by this factor, or there are this many
MEASUREMENT_SPREAD, MANY_MEASUREMENTS = 2, 10
Range = tuple[float, float]
Guess = tuple[str, dict[str, Any]]  # a hint, and the options it proposes


def scale_midpoint(low: float, high: float) -> float | None:
    """Return the midpoint of the scale that numbers from low to high probably have; else None."""
    if low < 0 < high:
        return 0.0  # log-odds, margins
    if low >= 0 and high <= MAX_NEAR_PROBABILITY:
        return 0.5
    percent = low >= 0 and RATED < high <= 100 and low < PERCENT < high
    return PERCENT if percent else None


def guess_score_scale(settled: CountSettings, ranges: Mapping[ModelColumns, Range]) -> Guess:
    """Return a hint on models with scores outside 0..1, and the options it proposes."""
    wide = not settled.columns.answer
    first = next(iter(ranges))
    percent = {scale_midpoint(*bounds) for bounds in ranges.values()} == {PERCENT}
    cut = f"{format_option('--threshold', f'{first.name}=T')} with its threshold T"
    fixes: dict[str, Any] = {}
    hint = f"add {cut}, or {OPTION}--classes CLASS{END} for each value if the values are classes"
    if threshold := _threshold_of_scale(settled, ranges):
        hint, fixes = f"{threshold[0]}; otherwise add {cut}", threshold[1]
    highs = [max(abs(end) for end in bounds) for bounds in ranges.values()]
    are_distant = max(highs) > MEASUREMENT_SPREAD * min(highs)
    are_measurements = len(ranges) >= MANY_MEASUREMENTS and not percent
    if wide and len(ranges) > 2 and (are_distant or are_measurements):
        hint = f"if the columns are features, run phidelta with {OPTION}--features{END}; {hint}"
        fixes["features"] = True
        fixes.pop("threshold", None)
    return hint, fixes


def _threshold_of_scale(
    settled: CountSettings, ranges: Mapping[ModelColumns, Range]
) -> Guess | None:
    """Return the thresholds at the midpoints of known scales; None if no scale is known."""
    cuts = {model: scale_midpoint(*bounds) for model, bounds in ranges.items()}
    scores = {model: middle for model, middle in cuts.items() if middle is not None}
    if not scores:
        return None
    has_probabilities = any(m.kind != "label" and m not in ranges for m in settled.columns.models)
    share_scale = len({*scores.values()}) == 1 and len(scores) == len(ranges)
    alone = share_scale and not has_probabilities
    model, middle = next(iter(scores.items()))
    thresholds = {None: middle} if alone else {m.name: c for m, c in scores.items()}
    option = f"{OPTION}--threshold {middle:g}{END}"
    if not alone:
        option = format_option("--threshold", f"{model.name}={middle:g}")
    kind = {PERCENT: "percentages", 0.0: "log-odds or margins"}.get(middle, "probabilities")
    if kind == "probabilities" and any(ranges[model][1] > 1 for model in scores):
        kind += " with rounding errors"
    in_percent = alone and {*cuts.values()} == {PERCENT}
    is_wide = not settled.columns.answer and settled.roles.join in (None, JOIN_NOTHING)
    if in_percent and settled.roles.ranks and is_wide:
        models = [
            f"{scored.name}:percent" if scored in scores else scored.name
            for scored in settled.columns.models
        ]
        option = " ".join(format_option("--model", name) for name in models[:MAX_VALUES_IN_HINT])
        return f"if they are {kind}, add {option}", {"model": tuple(models)}
    divided = " or divide them by 100" if in_percent else ""
    return f"if they are {kind}, add {option}{divided}", {"threshold": thresholds}
