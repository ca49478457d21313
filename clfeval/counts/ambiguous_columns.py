"""Errors on doubtful columns: not models, scores of unknown scale, sums other than 1."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

from clfeval.counts.ambiguous_scores import (
    MAX_NEAR_PROBABILITY,
    PERCENT,
    Range,
    alternative_roles,
    guess_score_scale,
    looks_like_cluster,
    refuse_stray_scores,
    scale_midpoint,
)
from clfeval.counts.settings import CountSettings
from clfeval.errors import DataError, Problem, format_option, list_names
from clfeval.tables.cells import as_text, guess_positive, missing_word_hint
from clfeval.tables.columns import ModelColumns, is_score
from clfeval.tables.input import IF_MODEL, ColumnNames, find_column
from clfeval.tables.invalid_cells import FILE, ROW, column_as_number, column_as_text
from clfeval.tables.lazy_imports import pl

# spellings of flags; scores of a fully grown tree are 0.0 and 1.0
BITS = {"0", "1", "false", "true", "False", "True", "FALSE", "TRUE"}
FOREIGN = 10  # so many different values without a known label are not labels with typing errors
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
        raise DataError.new(what, "complements", settled.name, None, spare, hint=hint,
                           fixes={"ignore": (spare,)})  # fmt: skip


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
        hint = f"if '{naming}' holds model names, rename the column of their predictions to " \
               f"'score' or 'prediction'; {hint}"  # fmt: skip
        fixes = {}
    problems = []
    for name in names:
        what = f"its values ({list_names(sorted(texts[name]), 3)}) are not classes of truth "
        what += f"({list_names(known)})"
        problems.append(Problem(what, "unknown-label", settled.name, None, name))
    raise DataError(problems, hint=hint, fixes=fixes)


def refuse_disjoint_labels(
    settled: CountSettings, known: Sequence[str], unknown: Collection[str]
) -> None:
    """Raise if no model predicts any label of truth: the classes are named differently."""
    models, columns = settled.columns.models, settled.columns
    said = frozenset[str]().union(*map(settled.texts, models))
    if not 1 < len(said) < FOREIGN or said & {*known} or len(unknown) < len(models):
        return
    if any(is_score(text) or missing_word_hint(text) for text in said):
        return  # the other values are the invalid ones
    what = f"predicts {list_names(sorted(said))}, but truth '{columns.truth}' has "
    what += list_names(known)
    hint = "write the same labels in both columns"
    if len(said) == len(known) == 2:
        (ours, one_named), (theirs, two_named) = (
            guess_positive(dict.fromkeys(sorted(one), 1)) for one in (said, known)
        )
        if one_named and two_named:
            hint += f", such as '{theirs}' instead of '{ours}' if they mean the same"
    hint += "; if a column is not a model, add --ignore COLUMN"
    names = dict.fromkeys(columns.source(model) for model in models)
    raise DataError(
        [Problem(what, "unknown-label", settled.name, None, name) for name in names], hint=hint
    )


def refuse_mixed_predictions(settled: CountSettings, known: Sequence[str]) -> None:
    """Raise for a long table in which some models predict labels, and others scores."""
    columns, text = settled.columns, pl.col("a")
    if not columns.answer:
        return
    names = [model.name for model in columns.models]
    model, answer = column_as_text(str(columns.naming)), column_as_text(columns.answer)
    rows = settled.numbered_rows(m=model, a=answer).drop_nulls()
    every = rows.group_by("m", maintain_order=True).agg(
        label=text.is_in(list(known)).all(), score=column_as_number("a").is_not_null().all()
    )
    found = every.filter(pl.col("m").is_in(names), pl.col("label") != pl.col("score")).collect()
    labels, scores = (found.filter(kind)["m"].to_list() for kind in ("label", "score"))
    if not (labels and scores):
        return
    what = f"has labels of {list_names(labels, 3)} and scores of {list_names(scores, 3)}"
    label_flags, score_flags = (
        " ".join([*(format_option("--model", name) for name in some), f"--kind {kind}"])
        for some, kind in ((labels, "label"), (scores, "score"))
    )
    hint = f"add {score_flags} to evaluate the scores, or {label_flags} to evaluate the labels"
    fixes: dict[str, Any] = {"model": tuple(scores), "kind": "score"}
    if len(labels) > len(scores):
        fixes = {"model": tuple(labels), "kind": "label"}
    problem = Problem(what, "wrong-layout", settled.name, None, columns.answer)
    raise DataError([problem], hint=hint, fixes=fixes)


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
        file, row, found, _ = worst.collect().row(0)
        said = settled.format_like_column(model, float(f"{found:.4g}"))[0]
        what = f"the class probabilities of '{model.name}' sum to {said}, not 1 (worst row)"
        problems.append(Problem(what, "bad-sum", file, row, model.columns[0]))
    if problems:
        hint = "add --renormalize to divide them by their sum in each row"
        raise DataError(problems, hint=hint, fixes={"renormalize": True})
