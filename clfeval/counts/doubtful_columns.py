"""Errors on doubtful columns: not models, scores of unknown scale, sums other than 1."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import add, or_
from typing import Any

from clfeval.counts.doubtful_scores import (
    MAX_NEAR_PROBABILITY,
    PERCENT,
    alternative_roles,
    guess_score_scale,
    looks_like_cluster,
    refuse_stray_scores,
    scale_midpoint,
)
from clfeval.counts.settings import CountSettings
from clfeval.errors import DataError, Problem, format_option, list_names
from clfeval.tables.cells import as_text, guess_positive, missing_word_hint
from clfeval.tables.columns import ModelColumns
from clfeval.tables.input import IF_MODEL, ColumnNames, Kind, find_column
from clfeval.tables.invalid_cells import FILE, ROW, column_as_number, numbered_rows
from clfeval.tables.lazy_imports import pl
from clfeval.tables.peek import is_score

# spellings of flags; scores of a fully grown tree are 0.0 and 1.0
BITS = {"0", "1", "false", "true", "False", "True", "FALSE", "TRUE"}
FOREIGN = 10  # so many different values without a known label are not labels with typing errors
MIN_TELLING_ROWS = 5  # different rows needed to rule out chance
HALF = 0.005  # of the last of two decimal places


def refuse_stray_columns(
    settled: CountSettings, votes: Sequence[Collection[Any]], unbounded: Collection[str]
) -> None:
    """Raise for 0/1 columns next to scores, or next to labels of another kind.

    Not if --model is given. votes: values of each model, for scores the first ones. unbounded:
    models of scores without a known scale, stray where fewer than labels.
    """
    roles, columns = settled.roles, settled.columns
    if roles.model or roles.kind or columns.answer:
        return
    bits = {
        model.name: model.kind != "classes"
        and model.name not in settled.reread
        and all(as_text(value) in (None, *BITS) for value in said)
        for model, said in zip(columns.models, votes, strict=True)
    }
    rest = [model for model in columns.models if not bits[model.name]]
    if {model.name for model in rest} <= {*unbounded} and len(rest) <= len(bits) - len(rest):
        return
    others = [model.kind for model in rest]
    scored = len(others) > others.count("label")
    strays = [
        model.columns[0]
        for model in columns.models
        if bits[model.name] and (scored or (others and model.kind == "score"))
    ]
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
    bits = [
        columns.source(model)
        for model in columns.models
        if model.kind == "score" and settled.texts(model) == {"0", "1"}
    ]
    if not bits or not roles.ranks or roles.kind or roles.threshold:
        return
    what = f"has only 0 and 1, but truth has {list_names(sorted(classes), 3)}: labels or scores?"
    alone = all(model.kind == "score" for model in columns.models)
    hint = "write labels as truth writes them, or add --kind score if they are scores"
    raise DataError(
        [Problem(what, "stray-labels", settled.name, None, name) for name in dict.fromkeys(bits)],
        hint=hint,
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
        first_rows = all(abs(float(a) + float(b) - 1) < 2 * HALF for a, b in rows)
        if len(rows) >= MIN_TELLING_ROWS and first_rows and _are_complementary(settled, one, two):
            first, second = (re.split(r"[\W_]+", name)[-1] for name in (one, two))
            guess, named = guess_positive({first: 1, second: 1})
            spare = two if named and guess == first != second else one
            other = two if spare == one else one
            what = f"always equals 1 - '{other}': is it the other class of the same model?"
            hint = f"add {format_option('--ignore', spare)} to leave it out; {IF_MODEL}"
            raise DataError.new(what, "complements", settled.name, None, spare, hint=hint,
                               fixes={"ignore": (spare,)})  # fmt: skip


def _are_complementary(settled: CountSettings, one: str, two: str) -> bool:
    """Return whether two columns sum to 1 in every row of all files that has both."""
    written = settled.columns.written
    total = column_as_number(one, written) + column_as_number(two, written)
    odd = ((total - 1).abs() >= 2 * HALF) & total.is_not_nan()
    frames = (numbered_rows(file, settled.columns.null_values) for file in settled.files)
    found = pl.concat(frame.select(odd.alias("odd")) for frame in frames)
    return found.filter("odd").collect().is_empty()


def refuse_text_columns(
    settled: CountSettings, known: Sequence[str], unknown: Collection[str]
) -> None:
    """Raise for text columns without any known label: ids, notes or groups rather than models."""
    columns = settled.columns
    if columns.answer:
        return
    suspects = [model for model in columns.models if model.name in unknown]
    others = len(suspects) < len(columns.models)
    foreign = [
        model
        for model in suspects
        for texts in [settled.texts(model)]
        # with two models of labels other than truth's it is unknown whether they are models
        if texts and not texts & {*known} and (len(texts) >= FOREIGN or others)
    ]
    if not foreign:
        return
    names = [model.columns[0] for model in foreign]
    ids = [name for name in names if settled.peeks[name].distinct] if columns.id is None else []
    rest = tuple(name for name in names if name not in ids[:1])
    fixes: dict[str, Any] = ({"id": ids[0]} if ids else {}) | ({"ignore": rest} if rest else {})
    shared = [name for name in rest if looks_like_cluster(settled, name)]
    if shared and columns.cluster is None:
        fixes["cluster"] = shared[0]
    hint = f"if it is not a model, add {alternative_roles(settled, names[0])} or "
    hint += format_option("--ignore", names[0])
    if naming := find_column(names, ColumnNames.MODEL):
        hint = f"if '{naming}' holds model names, rename the column of their predictions to " \
               f"'score' or 'prediction'; {hint}"  # fmt: skip
        fixes = {}
    raise DataError(
        [
            Problem(f"its values ({list_names(sorted(settled.texts(model)), 3)}) are not classes "
                    f"of truth ({list_names(known)})", "unknown-label", settled.name, None,
                    model.columns[0])
            for model in foreign
        ],
        hint=hint,
        fixes=fixes,
    )  # fmt: skip


def refuse_disjoint_labels(
    settled: CountSettings, known: Sequence[str], unknown: Collection[str]
) -> None:
    """Raise if no model predicts any label of truth: the classes are named differently."""
    models, columns = settled.columns.models, settled.columns
    said = reduce(or_, (settled.texts(model) for model in models), frozenset[str]())
    if not 1 < len(said) < FOREIGN or said & {*known} or len(unknown) < len(models):
        return
    if any(map(is_score, said)):  # then the other values are the invalid ones
        return
    if any(map(missing_word_hint, said)):
        return
    names = list(dict.fromkeys(columns.source(model) for model in models))
    what = (
        f"predicts {list_names(sorted(said))}, but truth '{columns.truth}' has {list_names(known)}"
    )
    hint = "write the same labels in both columns"
    if len(said) == len(known) == 2:
        (ours, one_named), (theirs, two_named) = (
            guess_positive(dict.fromkeys(sorted(one), 1)) for one in (said, known)
        )
        if one_named and two_named:
            hint += f", such as '{theirs}' instead of '{ours}' if they mean the same"
    hint += "; if a column is not a model, add --ignore COLUMN"
    raise DataError(
        [Problem(what, "unknown-label", settled.name, None, name) for name in names], hint=hint
    )


def refuse_mixed_answers(settled: CountSettings, known: Sequence[str]) -> None:
    """Raise for a long table in which some models predict labels, and others scores."""
    columns = settled.columns
    if not columns.answer:
        return
    text, answer = pl.col(columns.naming).cast(pl.String), pl.col(columns.answer).cast(pl.String)
    frames = [numbered_rows(file, columns.null_values) for file in settled.files]
    found = (
        pl.concat([frame.select(text.alias("m"), answer.alias("a")) for frame in frames])
        .drop_nulls()
        .group_by("m", maintain_order=True)
        .agg(pl.col("a").is_in(list(known)).all().alias("labels"),
             pl.col("a").cast(pl.Float64, strict=False).is_not_null().all().alias("numbers"))
        .filter(pl.col("m").is_in([model.name for model in columns.models]))
        .collect()
    )  # fmt: skip
    labels = found.filter(pl.col("labels") & ~pl.col("numbers"))["m"].to_list()
    scores = found.filter(pl.col("numbers") & ~pl.col("labels"))["m"].to_list()
    if not (labels and scores):
        return
    what = f"has labels of {list_names(labels, 3)} and scores of {list_names(scores, 3)}"
    ways: dict[Kind, list[str]] = {"score": scores, "label": labels}
    flags = [
        " ".join([*(format_option("--model", name) for name in names), f"--kind {kind}"])
        for kind, names in ways.items()
    ]
    hint = f"add {flags[0]} to evaluate the scores, or {flags[1]} to evaluate the labels"
    kept: Kind = "score" if len(scores) >= len(labels) else "label"
    raise DataError.new(what, "wrong-layout", settled.name, None, columns.answer, hint=hint,
                       fixes={"model": tuple(ways[kept]), "kind": kept})  # fmt: skip


def refuse_unbounded_scores(
    settled: CountSettings, found: Mapping[str, tuple[float, float]], *, any_range: bool
) -> None:
    """Raise for class probabilities outside 0..1, and for other such scores without a threshold.

    any_range: not if only the threshold is missing. found: the range of each model beyond 0..1.
    """
    models = {model.name: model for model in settled.columns.models}
    what = "class probabilities range from {} to {}"
    problems = [
        _out_of_range_problem(
            settled, models[name], what.format(*settled.ends(models[name], *ends))
        )
        for name, ends in found.items()
        if models[name].kind == "classes"
    ]
    if problems:
        fixes = {} if min(low for low, _ in found.values()) < 0 else {"renormalize": True}
        hint = "probabilities must lie between 0 and 1"
        hint += "; add --renormalize to divide them by their sum" if fixes else ""
        raise DataError(problems, hint=hint, fixes=fixes)
    if not found or any_range:
        return
    scaled = {models[name]: ends for name, ends in found.items()}
    refuse_stray_scores(settled, scaled)
    alone = settled.roles.ranks and len(found) == len(models)
    percent = any(scale_midpoint(*ends) == PERCENT for ends in found.values())
    if percent or not (alone and {*guess_score_scale(settled, scaled)[1]} <= {"threshold"}):
        what = "scores from {} to {} are outside 0 to 1, so they need a threshold"
        _raise_scales(settled, scaled, what)


def refuse_shared_threshold(
    settled: CountSettings, ranges: Mapping[str, tuple[float, float]]
) -> None:
    """Raise if one threshold applies to probabilities and to scores on another scale."""
    cuts = settled.roles.threshold
    cut = cuts.get(None)
    found = {
        model: ranges[model.name]
        for model in settled.columns.models
        if model.name in ranges and model.name not in cuts
    }
    if cut is None:
        return

    def fits(low: float, high: float) -> bool:
        probable = 0 < cut <= 1
        return (
            probable
            if low >= 0 and high <= MAX_NEAR_PROBABILITY
            else not probable and low <= cut <= high
        )

    scales = {scale_midpoint(*ends) for ends in found.values() if fits(*ends)}
    odd = {model: ends for model, ends in found.items() if scale_midpoint(*ends) not in scales}
    if not 0 < len(odd) < len(found):
        return
    what = f"scores from {{}} to {{}} are on a different scale: does --threshold {cut:g} apply?"
    _raise_scales(settled, odd, what)


def refuse_threshold_of_other_scale(
    settled: CountSettings, ranges: Mapping[str, tuple[float, float]]
) -> None:
    """Raise for a percentage as the threshold of probabilities, or the reverse."""
    cut = settled.roles.threshold.get(None)
    for name, (low, high) in ranges.items():
        if cut is None or name in settled.roles.threshold:
            continue
        too_high = 0 <= low <= high <= 1 < cut
        if not too_high and not (scale_midpoint(low, high) == PERCENT and 0 < cut < min(1, low)):
            continue
        meant = cut / 100 if too_high else 100 * cut
        fixes = (
            {"threshold": {None: meant}}
            if MAX_NEAR_PROBABILITY < cut <= 100 or not too_high
            else {}
        )
        all_rows = "no row" if too_high else "every row"
        what = f"scores range from {low:g} to {high:g}: at threshold {cut:g} {all_rows} is positive"
        hint = f"write --threshold {meant:g}" if fixes else "probabilities are at most 1"
        column = settled.column(name)
        raise DataError.new(
            what, "needs-threshold", settled.name, None, column, hint=hint, fixes=fixes
        )


def _raise_scales(
    settled: CountSettings, found: Mapping[ModelColumns, tuple[float, float]], what: str
) -> None:
    """Raise for scores without a known threshold; what: the problem, with the range to fill in."""
    problems = [
        Problem(what.format(*settled.ends(model, *ends)), "needs-threshold", settled.name, None,
                settled.columns.source(model))
        for model, ends in found.items()
    ]  # fmt: skip
    hint, fixes = guess_score_scale(settled, found)
    raise DataError(problems, hint=hint, fixes=fixes)


def _out_of_range_problem(settled: CountSettings, model: ModelColumns, what: str) -> Problem:
    """Return the problem of a model's probabilities outside 0..1, with the first such row."""
    values = [column_as_number(name, settled.columns.written) for name in model.columns]
    out = [(value < 0) | ((value > 1) & value.is_not_nan()) for value in values]
    rows = [
        numbered_rows(file, settled.columns.null_values)
        .select(FILE, ROW, *(one.alias(f"{i}") for i, one in enumerate(out)))
        .filter(pl.any_horizontal(f"{i}" for i in range(len(out))))
        .head(1)
        for file in settled.files
    ]
    found = pl.concat(rows).head(1).collect().rows()
    if not found:  # within the range after rounding
        return Problem(what, "bad-probability", settled.name, None, model.name)
    file, row, *which = found[0]
    return Problem(what, "bad-probability", file, row, model.columns[which.index(True)])


def refuse_probability_sums(
    settled: CountSettings, classes: Collection[str], off: Mapping[str, float]
) -> None:
    """Raise for class probabilities that do not sum to 1; off: largest deviation by model."""
    problems = []
    for model in settled.columns.models:
        allowed = HALF * len(model.columns) + 1e-9
        if {*classes} <= {*model.classes} and off.get(model.name, 0.0) > allowed:
            file, row, total = _worst_sum(settled, model)
            said = settled.ends(model, float(f"{total:.4g}"))[0]
            what = f"the class probabilities of '{model.name}' sum to {said}, not 1 (worst row)"
            problems.append(Problem(what, "bad-sum", file, row, model.columns[0]))
    if problems:
        hint = "add --renormalize to divide them by their sum in each row"
        raise DataError(problems, hint=hint, fixes={"renormalize": True})


def _worst_sum(settled: CountSettings, model: ModelColumns) -> tuple[str, int, float]:
    """Return file and row with the sum of probabilities farthest from 1, and this sum."""
    written = settled.columns.written
    total = reduce(add, (column_as_number(name, written) for name in model.columns))
    rows = [
        numbered_rows(file, settled.columns.null_values)
        .select(FILE, ROW, total.alias("sum"), (total - 1).abs().alias("off"))
        .filter(pl.col("off").is_not_nan())
        .sort("off", descending=True)
        .head(1)
        for file in settled.files
    ]
    file, row, found, _ = pl.concat(rows).sort("off", descending=True).head(1).collect().row(0)
    return file, row, found
