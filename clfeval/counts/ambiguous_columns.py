"""Errors on ambiguous columns: not models, scores of unknown scale, sums other than 1."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

from clfeval.counts.ambiguous_labels import FOREIGN
from clfeval.counts.settings import CountSettings
from clfeval.errors import DataError, Problem, format_option, list_names
from clfeval.formatting import format_count
from clfeval.tables.column_guesses import guess_positive
from clfeval.tables.columns import ModelColumns, is_score
from clfeval.tables.frames import as_text, pl
from clfeval.tables.input import DEFAULT_THRESHOLD, IF_MODEL, ColumnNames, find_column
from clfeval.tables.invalid_cells import FILE, ROW, column_as_number, unknown_rows_error

# spellings of flags; scores of a fully grown tree are 0.0 and 1.0
BITS = {"0", "1", "false", "true", "False", "True", "FALSE", "TRUE"}
MIN_TELLING_ROWS = 5  # different rows needed to rule out chance
HALF = 0.005  # of the last of two decimal places


def refuse_stray_columns(
    settled: CountSettings, votes: Sequence[Collection[Any]], unbounded: Collection[str]
) -> None:
    """Raise for 0/1 columns next to scores, or next to labels of another kind.

    Not if --model is given. votes: labels of each model; of scores the first ones are looked at.
    unbounded: models of scores without a known scale, stray where fewer than labels.
    """
    roles, columns = settled.roles, settled.columns
    if roles.model or roles.kind or columns.answer:
        return
    bits = {
        model.name
        for model, labels in zip(columns.models, votes, strict=True)
        for said in [labels if model.kind == "label" else settled.texts(model)]
        if model.kind != "classes"
        and model.name not in settled.reread
        and all(as_text(value) in (None, *BITS) for value in said)
    }
    rest = [model for model in columns.models if model.name not in bits]
    if {model.name for model in rest} <= {*unbounded} and len(rest) <= len(bits):
        return
    scored = any(model.kind != "label" for model in rest)
    binary = [model for model in columns.models if model.name in bits]
    strays = [one.columns[0] for one in binary if scored or (rest and one.kind == "score")]
    if strays:
        others_have = "scores" if scored else "labels"
        what = f"has only 0 and 1, while other models have {others_have}: is it a model?"
        raise DataError(
            [Problem(what, "stray-labels", settled.name, None, name) for name in strays],
            hint=f"add {format_option('--ignore', strays[0])} to leave it out; {IF_MODEL}",
            fixes={"ignore": tuple(strays)},
            instead={"model": tuple(model.name for model in columns.models)},
        )


def refuse_binary_predictions(settled: CountSettings, classes: Collection[str]) -> None:
    """Raise if all predictions are 0 and 1, but truth has other labels."""
    roles, columns = settled.roles, settled.columns
    scored = [model for model in columns.models if model.kind == "score"]
    bits = [columns.source(one) for one in scored if settled.texts(one) == {"0", "1"}]
    if not bits or not roles.ranks or roles.kind or roles.threshold:
        return
    what = f"has only 0 and 1, but truth has {list_names(sorted(classes), 3)}: labels or scores?"
    alone = len(scored) == len(columns.models)
    raise DataError(
        [Problem(what, "stray-labels", settled.name, None, name) for name in dict.fromkeys(bits)],
        hint="write labels as truth writes them, or add --kind score if they are scores",
        fixes={"kind": "score"} if alone else {"ignore": tuple(bits)},
    )


def refuse_complements(settled: CountSettings) -> None:
    """Raise for adjacent score columns that sum to 1 in every row: both classes of one model."""
    roles, columns = settled.roles, settled.columns
    if roles.model or roles.kind or columns.answer:
        return
    names = [model.columns[0] for model in columns.models if model.kind == "score"]
    for one, two in pairwise(names):
        pairs = zip(settled.peeks[one].first, settled.peeks[two].first, strict=True)
        rows = {(a, b) for a, b in pairs if a and b and is_score(a) and is_score(b)}
        if len(rows) < MIN_TELLING_ROWS or any(
            abs(float(a) + float(b) - 1) >= 2 * HALF for a, b in rows
        ):
            continue
        first, second = (column_as_number(name, columns.written) for name in (one, two))
        off = (first + second - 1).abs()  # in every row of all files that has both
        odd = settled.numbered_rows(odd=(off >= 2 * HALF) & off.is_not_nan()).filter("odd")
        if not odd.collect().is_empty():
            continue
        ends = [re.split(r"[\W_]+", name)[-1] for name in (one, two)]
        guess, named = guess_positive(dict.fromkeys(ends, 1))
        spare, other = (two, one) if named and guess == ends[0] != ends[1] else (one, two)
        what = f"always equals 1 - '{other}': is it the other class of the same model?"
        hint = f"add {format_option('--ignore', spare)} to leave it out; {IF_MODEL}"
        raise DataError.new(
            what, "complements", settled.name, None, spare, hint=hint, fixes={"ignore": (spare,)}
        )


def refuse_text_columns(
    settled: CountSettings, known: Sequence[str], unknown: Collection[str]
) -> None:
    """Raise for text columns without any known label: ids, notes or groups rather than models."""
    columns = settled.columns
    suspects = [model for model in columns.models if model.name in unknown]
    others = len(suspects) < len(columns.models)
    texts = {model.columns[0]: settled.texts(model) for model in suspects}
    names = [
        name
        for name, values in texts.items()
        # with two models of labels other than truth's it is unknown whether they are models
        if values and not values & {*known} and (len(values) >= FOREIGN or others)
    ]
    if columns.answer or not names:
        return
    ids = [name for name in names if settled.peeks[name].distinct] if columns.id is None else []
    rest = tuple(name for name in names if name not in ids[:1])
    fixes: dict[str, Any] = ({"id": ids[0]} if ids else {}) | ({"ignore": rest} if rest else {})
    shared = [name for name in rest if looks_like_cluster(settled, name)]
    if shared and columns.cluster is None:
        fixes["cluster"] = shared[0]
    hint = f"if it is not a model, add {alternative_roles(settled, names[0])} or "
    hint += format_option("--ignore", names[0])
    if naming := find_column(names, ColumnNames.MODEL):
        hint = (
            f"if '{naming}' holds model names, rename the column of their predictions to "
            f"'score' or 'prediction'; {hint}"
        )
        fixes = {}
    problems = []
    for name in names:
        what = f"its values ({list_names(sorted(texts[name]), 3)}) are not classes of truth "
        what += f"({list_names(known)})"
        problems.append(Problem(what, "unknown-label", settled.name, None, name))
    raise DataError(problems, hint=hint, fixes=fixes)


def refuse_unbounded_scores(
    settled: CountSettings, found: Mapping[str, Range], *, any_range: bool
) -> None:
    """Raise for class probabilities outside 0..1, and for other such scores without a threshold.

    any_range: not if only the threshold is missing. found: the range of each model beyond 0..1.
    """
    models = settled.columns.models
    scaled = {model: found[model.name] for model in models if model.name in found}
    shares = [(model, ends) for model, ends in scaled.items() if model.kind == "classes"]
    problems = [_out_of_range_problem(settled, *one) for one in shares]
    if problems:
        fixes = {} if min(low for low, _ in found.values()) < 0 else {"renormalize": True}
        hint = "probabilities must lie between 0 and 1"
        hint += "; add --renormalize to divide them by their sum" if fixes else ""
        raise DataError(problems, hint=hint, fixes=fixes)
    if not found or any_range:
        return
    refuse_stray_scores(settled, scaled)
    alone = settled.roles.ranks and len(found) == len(models)
    percent = any(scale_midpoint(*ends) == PERCENT for ends in found.values())
    if percent or not (alone and {*guess_score_scale(settled, scaled)[1]} <= {"threshold"}):
        _raise_scales(settled, scaled, "outside 0 to 1, so they need a threshold")


def refuse_shared_threshold(settled: CountSettings, ranges: Mapping[str, Range]) -> None:
    """Raise if one threshold applies to scores on other scales, or to percentages or shares only.

    A percentage as the threshold of probabilities, or the reverse, predicts all rows alike.
    """
    cuts = settled.roles.threshold
    cut = cuts.get(None)
    if cut is None:
        return
    free = [model for model in settled.columns.models if model.name not in cuts]
    found = {model: ranges[model.name] for model in free if model.name in ranges}
    probable, scales = 0 < cut <= 1, set()
    for low, high in found.values():
        near = low >= 0 and high <= MAX_NEAR_PROBABILITY
        if probable if near else not probable and low <= cut <= high:
            scales.add(scale_midpoint(low, high))
    odd = {model: ends for model, ends in found.items() if scale_midpoint(*ends) not in scales}
    if 0 < len(odd) < len(found):
        _raise_scales(settled, odd, f"on a different scale: does --threshold {cut:g} apply?")
    for model, (low, high) in found.items():
        too_high = 0 <= low <= high <= 1 < cut
        if not too_high and not (scale_midpoint(low, high) == PERCENT and 0 < cut < min(1, low)):
            continue
        meant = cut / 100 if too_high else 100 * cut
        plausible = MAX_NEAR_PROBABILITY < cut <= 100 or not too_high
        all_rows = "no row" if too_high else "every row"
        what = f"scores range from {low:g} to {high:g}: at threshold {cut:g} {all_rows} is positive"
        hint = f"write --threshold {meant:g}" if plausible else "probabilities are at most 1"
        fixes = {"threshold": {None: meant}} if plausible else {}
        problem = Problem(what, "needs-threshold", settled.name, None, settled.column(model.name))
        raise DataError([problem], hint=hint, fixes=fixes)


def _raise_scales(settled: CountSettings, found: Mapping[ModelColumns, Range], why: str) -> None:
    """Raise for scores without a known threshold; why: what is wrong with their range."""
    problems = []
    for model, ends in found.items():
        what = "scores from {} to {} are ".format(*settled.format_like_column(model, *ends)) + why
        column = settled.columns.source(model)
        problems.append(Problem(what, "needs-threshold", settled.name, None, column))
    hint, fixes = guess_score_scale(settled, found)
    raise DataError(problems, hint=hint, fixes=fixes)


def _out_of_range_problem(settled: CountSettings, model: ModelColumns, ends: Range) -> Problem:
    """Return the problem of a model's probabilities outside 0..1, with the first such row."""
    what = "class probabilities range from {} to {}".format(
        *settled.format_like_column(model, *ends)
    )
    values = [column_as_number(name, settled.columns.written) for name in model.columns]
    out = {f"{i}": (one < 0) | ((one > 1) & one.is_not_nan()) for i, one in enumerate(values)}
    rows = settled.numbered_rows(FILE, ROW, **out).filter(pl.any_horizontal(*out))
    for file, row, *which in rows.head(1).collect().rows():
        return Problem(what, "bad-probability", file, row, model.columns[which.index(True)])
    # within the range after rounding
    return Problem(what, "bad-probability", settled.name, None, model.name)


def refuse_probability_sums(
    settled: CountSettings, classes: Collection[str], off: Mapping[str, float]
) -> None:
    """Raise for class probabilities that do not sum to 1; off: largest deviation by model."""
    problems = []
    for model in settled.columns.models:
        allowed = HALF * len(model.columns) + 1e-9
        if not {*classes} <= {*model.classes} or off.get(model.name, 0.0) <= allowed:
            continue
        written = settled.columns.written
        total = reduce(add, (column_as_number(name, written) for name in model.columns))
        rows = settled.numbered_rows(FILE, ROW, sum=total, off=(total - 1).abs())
        worst = rows.filter(pl.col("off").is_not_nan()).sort("off", descending=True).head(1)
        file, row, found, most = worst.collect().row(0)
        if most <= allowed:  # among the first rows of Spark
            raise unknown_rows_error(settled.name)
        said = settled.format_like_column(model, float(f"{found:.4g}"))[0]
        what = f"the class probabilities of '{model.name}' sum to {said}, not 1 (worst row)"
        problems.append(Problem(what, "bad-sum", file, row, model.columns[0]))
    if problems:
        hint = "add --renormalize to divide them by their sum in each row"
        raise DataError(problems, hint=hint, fixes={"renormalize": True})


FEW = 0.1  # share of the scores that may be mistaken
MAX_VALUES_IN_HINT = 3  # different values in a hint
ROUNDED = 1e-3  # beyond 0..1 by rounding, in as many rows as there are


def refuse_stray_scores(settled: CountSettings, models: Iterable[ModelColumns]) -> None:
    """Raise for scores that are probabilities except for a few, with the first of those."""
    problems, hint, cuts, naming = [], "", {}, settled.columns.naming
    if not settled.numbers_rows:
        return
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
    whole = [
        n
        for m, n in zip(found, names, strict=True)
        if wide and found[m][0] >= 0 and settled.peeks[n].is_integer
    ]
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
