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
    settings: CountSettings, ranges: Mapping[str, Range], *, any_range: bool
) -> None:
    """Raise for class probabilities outside 0..1, and for other such scores without a threshold.

    any_range: not if only the threshold is missing. ranges: the range of each model beyond 0..1.
    """
    models = settings.columns.models
    model_ranges = {model: ranges[model.name] for model in models if model.name in ranges}
    probability_ranges = [
        (model, score_range)
        for model, score_range in model_ranges.items()
        if model.kind == "classes" or model.confidence
    ]
    problems = [
        _out_of_range_problem(settings, *model_and_range) for model_and_range in probability_ranges
    ]
    if problems:
        is_negative = min(low for low, _ in ranges.values()) < 0
        fixes = {} if is_negative else {"renormalize": True}
        hint = "probabilities must lie between 0 and 1"
        hint += f"; add {SWITCH}--renormalize{END} to divide them by their sum" if fixes else ""
        raise DataError(problems, hint=hint, fixes=fixes)
    if not ranges or any_range:
        return
    if settings.roles.ranks and _has_measurements(settings, model_ranges):
        return  # they are ranked, each on its own scale
    refuse_stray_scores(settings, model_ranges)
    all_are_outside = settings.roles.ranks and len(ranges) == len(models)
    has_percentages = any(
        scale_midpoint(*score_range) == PERCENT for score_range in ranges.values()
    )
    if has_percentages or not (all_are_outside and _needs_only_threshold(settings, model_ranges)):
        _raise_scales(settings, model_ranges, "outside 0 to 1, so they need a threshold")


def _needs_only_threshold(settings: CountSettings, ranges: Mapping[ModelColumns, Range]) -> bool:
    """Return whether the hint on scores outside 0..1 proposes no option but a threshold."""
    _, fixes = guess_score_scale(settings, ranges)
    return {*fixes} <= {"threshold"}


def _has_measurements(settings: CountSettings, models: Mapping[ModelColumns, Range]) -> bool:
    """Return whether some scores have a scale of their own: not 0 to 1, percent or log-odds.

    Whole numbers are percentages only in a column that is called like predictions.
    """
    for model, score_range in models.items():
        column = settings.columns.source(model)
        profile, midpoint = settings.profiles[column], scale_midpoint(*score_range)
        has_prediction_name = bool(tags_of(column) & PREDICTIONS) or is_probability_name(column)
        is_count = midpoint == PERCENT and profile.is_integer and not has_prediction_name
        if is_count or (midpoint is None and scale_of(profile) != "unit"):
            return True
    return False


def refuse_shared_threshold(settings: CountSettings, ranges: Mapping[str, Range]) -> None:
    """Raise if one threshold applies to scores on other scales, or to percentages or shares only.

    A percentage as the threshold of probabilities, or the reverse, predicts all rows alike.
    """
    thresholds = settings.roles.threshold
    shared_threshold = thresholds.get(None)
    if shared_threshold is None:
        return
    sharing_models = [model for model in settings.columns.models if model.name not in thresholds]
    model_ranges = {model: ranges[model.name] for model in sharing_models if model.name in ranges}
    is_probability, midpoints = 0 < shared_threshold <= 1, set()
    for low, high in model_ranges.values():
        is_near_unit = low >= 0 and high <= MAX_NEAR_PROBABILITY
        is_in_range = not is_probability and low <= shared_threshold <= high
        if is_probability if is_near_unit else is_in_range:
            midpoints.add(scale_midpoint(low, high))
    other_ranges = {
        model: score_range
        for model, score_range in model_ranges.items()
        if scale_midpoint(*score_range) not in midpoints
    }
    if 0 < len(other_ranges) < len(model_ranges):
        _raise_scales(
            settings,
            other_ranges,
            f"on a different scale: does {OPTION}--threshold {shared_threshold:g}{END} apply?",
        )
    for model, score_range in model_ranges.items():
        _refuse_threshold_of_all_rows(settings, model, score_range, shared_threshold)


def _refuse_threshold_of_all_rows(
    settings: CountSettings, model: ModelColumns, score_range: Range, threshold: float
) -> None:
    """Raise if a threshold is a percentage, but not the scores, or the reverse."""
    low, high = score_range
    is_too_high = 0 <= low <= high <= 1 < threshold
    is_too_low = scale_midpoint(low, high) == PERCENT and 0 < threshold < min(1, low)
    if not (is_too_high or is_too_low):
        return
    rescaled_threshold = threshold / 100 if is_too_high else 100 * threshold
    is_plausible = MAX_NEAR_PROBABILITY < threshold <= 100 or not is_too_high
    rows_phrase = "no row" if is_too_high else "every row"
    message = f"scores range from {low:g} to {high:g}: at threshold {threshold:g} "
    message += f"{rows_phrase} is positive"
    hint = (
        f"write {OPTION}--threshold {rescaled_threshold:g}{END}"
        if is_plausible
        else "probabilities are at most 1"
    )
    fixes = {"threshold": {None: rescaled_threshold}} if is_plausible else {}
    column = settings.column(model.name)
    problem = Problem(message, "needs-threshold", settings.name, None, column)
    raise DataError([problem], hint=hint, fixes=fixes)


def _raise_scales(
    settings: CountSettings, ranges: Mapping[ModelColumns, Range], reason: str
) -> None:
    """Raise for scores without a known threshold; reason: what is wrong with their range."""
    problems = []
    for model, score_range in ranges.items():
        low_text, high_text = settings.format_like_column(model, *score_range)
        message = f"scores from {low_text} to {high_text} are {reason}"
        column = settings.columns.source(model)
        problems.append(Problem(message, "needs-threshold", settings.name, None, column))
    hint, fixes = guess_score_scale(settings, ranges)
    raise DataError(problems, hint=hint, fixes=fixes)


def _out_of_range_problem(
    settings: CountSettings, model: ModelColumns, score_range: Range
) -> Problem:
    """Return the problem of a model's probabilities outside 0..1, with the first such row."""
    low_text, high_text = settings.format_like_column(model, *score_range)
    message = f"class probabilities range from {low_text} to {high_text}"
    if model.confidence:
        message = "a confidence is below 0 or above 1"
    probabilities = [column_as_number(name, settings.columns.written) for name in model.columns]
    is_outside = {
        f"{i}": (probability < 0) | ((probability > 1) & probability.is_not_nan())
        for i, probability in enumerate(probabilities)
    }
    outside_rows = settings.numbered_rows(FILE, ROW, **is_outside).filter(
        pl.any_horizontal(*is_outside)
    )
    for file, row, *flags in outside_rows.head(1).collect().rows():
        return Problem(message, "bad-probability", file, row, model.columns[flags.index(True)])
    # within the range after rounding
    return Problem(message, "bad-probability", settings.name, None, model.name)


def refuse_probability_sums(
    settings: CountSettings, classes: Collection[str], deviations: Mapping[str, float]
) -> None:
    """Raise for class probabilities that do not sum to 1; deviations: the largest by model."""
    problems = []
    for model in settings.columns.models:
        tolerance = HALF * len(model.columns) + 1e-9
        if not {*classes} <= {*model.classes} or deviations.get(model.name, 0.0) <= tolerance:
            continue
        written = settings.columns.written
        probability_total = reduce(add, (column_as_number(name, written) for name in model.columns))
        rows = settings.numbered_rows(
            FILE, ROW, sum=probability_total, off=(probability_total - 1).abs()
        )
        worst_row = rows.filter(pl.col("off").is_not_nan()).sort("off", descending=True).head(1)
        file, row, probability_sum, deviation = worst_row.collect().row(0)
        if deviation <= tolerance:  # among the first rows of Spark
            raise unknown_rows_error(settings.name)
        (sum_text,) = settings.format_like_column(model, float(f"{probability_sum:.4g}"))
        message = f"the class probabilities of '{model.name}' sum to {sum_text}, not 1 (worst row)"
        problems.append(Problem(message, "bad-sum", file, row, model.columns[0]))
    if problems:
        hint = f"add {SWITCH}--renormalize{END} to divide them by their sum in each row"
        raise DataError(problems, hint=hint, fixes={"renormalize": True})


FEW = 0.1  # share of the scores that may be mistaken
MAX_VALUES_IN_HINT = 3  # different values in a hint
NEARLY = 1e-3  # beyond 0..1 by a small mistake, in as many rows as there are


def refuse_stray_scores(settings: CountSettings, models: Iterable[ModelColumns]) -> None:
    """Raise for scores that are probabilities except for a few, with the first of those."""
    problems, hint, thresholds = [], "", {}
    if not settings.numbers_rows:
        return
    scored = [
        model
        for model in models
        if model.kind == "score"
        and not settings.profiles[settings.columns.source(model)].is_integer
    ]
    for model, score_count in _models_with_few_beyond(settings, scored) if scored else ():
        column = settings.columns.source(model)
        outside_rows = _rows_beyond_probabilities(settings, model)
        file, row, value, *_ = outside_rows.row(0)
        others_clause = (
            f" and {len(outside_rows) - 1:,} more lie" if len(outside_rows) > 1 else " lies"
        )
        inside_phrase = format_count(score_count - len(outside_rows), "score")
        message = f"{as_text(value)}{others_clause} outside 0 to 1; {inside_phrase} lie inside"
        problems.append(Problem(message, "needs-threshold", file, row, column))
        thresholds[model.name] = DEFAULT_THRESHOLD
        hint = hint or _stray_hint(model, outside_rows)  # on the first of the models
    if problems:
        raise DataError(problems, hint=hint, fixes={"threshold": thresholds})


def _models_with_few_beyond(
    settings: CountSettings, models: Sequence[ModelColumns]
) -> list[tuple[ModelColumns, int]]:
    """Return the models of which a few scores lie outside 0..1, each with its number of scores."""
    score_frame = settings.numbered_rows(
        **{model.name: _scores_of(settings, model) for model in models}
    )
    is_outside = ~pl.all().is_between(0, 1)
    is_far = ~pl.all().is_between(-NEARLY, 1 + NEARLY)
    counts = score_frame.select(
        pl.all().count().name.suffix(":scores"),
        is_outside.sum().name.suffix(":beyond"),
        is_far.sum().name.suffix(":far"),
    )
    row = counts.collect(engine="streaming").row(0)
    count_columns = [row[start : start + len(models)] for start in range(0, len(row), len(models))]
    return [
        (model, score_count)
        for model, score_count, outside_count, far_count in zip(models, *count_columns, strict=True)
        if 0 < outside_count < score_count and (not far_count or outside_count <= FEW * score_count)
    ]


def _scores_of(settings: CountSettings, model: ModelColumns) -> pl.Expr:
    """Return the scores of a model, null in rows without one."""
    naming = settings.columns.naming
    score = column_as_number(settings.columns.source(model), settings.columns.written)
    is_model_row = pl.col(naming) == model.name if naming else pl.lit(value=True)
    return pl.when(is_model_row & score.is_not_nan()).then(score)


def _rows_beyond_probabilities(settings: CountSettings, model: ModelColumns) -> pl.DataFrame:
    """Return the rows of scores outside 0..1."""
    column = settings.columns.source(model)
    frame = settings.numbered_rows(
        FILE, ROW, value=pl.col(column), score=_scores_of(settings, model)
    )
    return frame.filter(~pl.col("score").is_between(0, 1)).collect()


def _stray_hint(model: ModelColumns, outside_rows: pl.DataFrame) -> str:
    """Return the hint on scores outside 0..1: an error, missing values, or no probabilities."""
    values = outside_rows["value"].unique(maintain_order=True)[: MAX_VALUES_IN_HINT + 1]
    texts = [str(as_text(value)) for value in values]
    hint = "correct the values outside"
    if len(texts) <= MAX_VALUES_IN_HINT:
        null_flags = " ".join(format_option("--null-value", text) for text in texts)
        hint += f", or drop their rows with {null_flags} {OPTION}--missing drop{END}"
    threshold_flag = format_option("--threshold", f"{model.name}={DEFAULT_THRESHOLD}")
    return f"{hint}; if these scores are not probabilities, add {threshold_flag}"


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
    is_percent = low >= 0 and RATED < high <= 100 and low < PERCENT < high
    return PERCENT if is_percent else None


def guess_score_scale(settings: CountSettings, ranges: Mapping[ModelColumns, Range]) -> Guess:
    """Return a hint on models with scores outside 0..1, and the options it proposes."""
    is_wide = not settings.columns.answer
    first_model = next(iter(ranges))
    are_percentages = {scale_midpoint(*score_range) for score_range in ranges.values()} == {PERCENT}
    threshold_option = (
        f"{format_option('--threshold', f'{first_model.name}=T')} with its threshold T"
    )
    fixes: dict[str, Any] = {}
    hint = f"add {threshold_option}, or {OPTION}--classes CLASS{END} "
    hint += "for each value if the values are classes"
    if guess := _threshold_of_scale(settings, ranges):
        scale_hint, fixes = guess
        hint = f"{scale_hint}; otherwise add {threshold_option}"
    magnitudes = [max(abs(limit) for limit in score_range) for score_range in ranges.values()]
    magnitudes_differ = max(magnitudes) > MEASUREMENT_SPREAD * min(magnitudes)
    are_measurements = len(ranges) >= MANY_MEASUREMENTS and not are_percentages
    if is_wide and len(ranges) > 2 and (magnitudes_differ or are_measurements):
        hint = f"if the columns are features, run phidelta with {OPTION}--features{END}; {hint}"
        fixes["features"] = True
        fixes.pop("threshold", None)
    return hint, fixes


def _threshold_of_scale(
    settings: CountSettings, ranges: Mapping[ModelColumns, Range]
) -> Guess | None:
    """Return the thresholds at the midpoints of known scales; None if no scale is known."""
    midpoints = {model: scale_midpoint(*score_range) for model, score_range in ranges.items()}
    known_midpoints = {
        model: midpoint for model, midpoint in midpoints.items() if midpoint is not None
    }
    if not known_midpoints:
        return None
    has_probabilities = any(
        scored_model.kind != "label" and scored_model not in ranges
        for scored_model in settings.columns.models
    )
    has_one_scale = len({*known_midpoints.values()}) == 1 and len(known_midpoints) == len(ranges)
    is_common = has_one_scale and not has_probabilities
    model, midpoint = next(iter(known_midpoints.items()))
    thresholds: dict[str | None, float] = {
        scored_model.name: middle for scored_model, middle in known_midpoints.items()
    }
    thresholds = {None: midpoint} if is_common else thresholds
    option = f"{OPTION}--threshold {midpoint:g}{END}"
    if not is_common:
        option = format_option("--threshold", f"{model.name}={midpoint:g}")
    scale_phrase = {PERCENT: "percentages", 0.0: "log-odds or margins"}.get(
        midpoint, "probabilities"
    )
    if scale_phrase == "probabilities" and any(ranges[model][1] > 1 for model in known_midpoints):
        scale_phrase += " with rounding errors"
    in_percent = is_common and {*midpoints.values()} == {PERCENT}
    is_wide = not settings.columns.answer and settings.roles.join in (None, JOIN_NOTHING)
    if in_percent and settings.roles.ranks and is_wide:
        model_options = [
            f"{scored.name}:percent" if scored in known_midpoints else scored.name
            for scored in settings.columns.models
        ]
        option = " ".join(
            format_option("--model", name) for name in model_options[:MAX_VALUES_IN_HINT]
        )
        return f"if they are {scale_phrase}, add {option}", {"model": tuple(model_options)}
    division_phrase = " or divide them by 100" if in_percent else ""
    return f"if they are {scale_phrase}, add {option}{division_phrase}", {"threshold": thresholds}
