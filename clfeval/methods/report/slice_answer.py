"""Sentences about slices: which is significantly worse, by what, and what is unaffected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.compare.change import BETTER, CHANGED, VERDICTS, WORSE
from clfeval.document import Answer, Row, as_estimate
from clfeval.measures.catalog import CATALOG
from clfeval.methods.clustered import OF_A_CLASS, ROWS
from clfeval.words import (
    format_count,
    format_number,
    format_p_value,
    join_names,
    join_words,
    quote_if_ambiguous,
)

SPELT_OUT, MAX_LISTED = 2, 4  # slices with their values, slices by name
OE, UNCHANGED = "oe_ratio", [one for one in VERDICTS if one not in (WORSE, BETTER, CHANGED)]
VERDICT_WORDS = {WORSE: "significantly worse", CHANGED: "significantly different"}


def slice_answer(
    rows: Sequence[Row], compared: Sequence[Row], models: Sequence[str], level: float | None
) -> Iterator[Answer]:
    """Say in which slices models are significantly worse than outside the slice.

    rows: the table of slices; compared: comparisons of slices. models: the leader first.
    """
    if level is None or not compared:
        return
    for model in models:
        mine = [row for row in compared if row["model"] == model]
        tested = [row for row in mine if row["p_adjusted"] is not None]
        worse = [row for kind in VERDICT_WORDS for row in tested if row["verdict"] == kind]
        if worse:
            yield _worse_slices_answer(
                model, worse, tested, [row for row in rows if row["model"] == model]
            )
        elif model == models[0]:
            yield _no_worse_answer(model, tested)


def slice_tested_models(
    models: Sequence[Row], lead: str, reference: str | None, named_: Sequence[str]
) -> list[str]:
    """Return the models whose slices are judged: the leader, the reference, those named."""
    sign = -1 if CATALOG[lead].best == "max" else 1
    known = [row for row in models if as_estimate(row.get(lead)).value is not None]
    first = sorted(known, key=lambda row: sign * (as_estimate(row[lead]).value or 0.0))[:1]
    names = [str(row["model"]) for row in models]
    others = names if named_ else [name for name in names if name == reference]
    return list(dict.fromkeys([*(str(row["model"]) for row in first), *others])) or names[:1]


def _no_worse_answer(model: str, tested: Sequence[Row]) -> Answer:
    slices = list(dict.fromkeys(str(row["slice"]) for row in tested))
    titles = [CATALOG[name.partition(":")[0]].title
              for name in dict.fromkeys(str(row["measure"]) for row in tested)]  # fmt: skip
    if not tested:
        text = f"No slice is large enough for a test: {ROWS} rows, or {OF_A_CLASS} of a class, "
        return Answer("slices", f"{text}are needed inside and outside the slice.", (model,))
    text = f"{quote_if_ambiguous(model)} is not significantly worse inside than outside "
    text += "the slice" if len(slices) == 1 else f"any of {format_count(len(slices), 'slice')}"
    text += f" (by {join_words(titles, most=4, word='or')})."
    return Answer("slices", text, (model,), str(tested[0]["measure"]))


def _worse_slices_answer(
    model: str, worse: Sequence[Row], tested: Sequence[Row], table: Sequence[Row]
) -> Answer:
    """Name the worst slices with their values inside and outside, and what is unaffected."""
    labels = list(dict.fromkeys(str(row["slice"]) for row in worse))
    sizes = {str(row["slice"]): row for row in table}
    parts = []
    for label in labels[:SPELT_OUT]:
        here = [row for row in worse if row["slice"] == label]
        said = []
        for kind, words in VERDICT_WORDS.items():
            values = [
                _format_comparison(row, sizes[label]) for row in here if row["verdict"] == kind
            ]
            said += [f"{words}: {join_words(values)}"] if values else []
        text = f"In {label}, {quote_if_ambiguous(model)} is {'; '.join(said)}"
        for kinds, words in (
            ((BETTER,), "significantly better"), (UNCHANGED, "not significantly different")
        ):  # fmt: skip
            some = [CATALOG[str(row["measure"]).partition(":")[0]].title for row in tested
                    if row["slice"] == label and row["verdict"] in kinds]  # fmt: skip
            are = "is" if len(some) == 1 else "are"
            text += f"; {join_words(some, most=4)} {are} {words}" if some else ""
        parts.append(f"{text}.")
    bad = {str(row["slice"]) for row in worse if row["verdict"] == WORSE}
    if left_ := [label for label in labels[SPELT_OUT:] if label in bad]:
        verb = "is" if len(left_) == 1 else "are"
        parts.append(f"{join_names(left_, most=MAX_LISTED)} {verb} also significantly worse.")
    value = as_estimate(worse[0]["new"])
    return Answer("slices", " ".join(parts), (model,), str(worse[0]["measure"]), value.value,
                  value.low, value.high)  # fmt: skip


def _format_comparison(row: Row, size: Row) -> str:
    """Write a measure inside and outside; of O:E the predicted and the observed risk."""
    there, elsewhere = (
        format_number(as_estimate(row[name]).value or 0.0) for name in ("new", "old")
    )
    title = CATALOG[str(row["measure"]).partition(":")[0]].title
    q = f"q {format_p_value(float(str(row['p_adjusted']))).removeprefix('p ')}"
    ratio = as_estimate(row["new"]).value
    if row["measure"] == OE and size.get("positives") is not None and ratio:
        observed = float(str(size["positives"])) / float(str(size["rows"]))
        return (f"predicted risk {format_number(observed / ratio)} where {format_number(observed)} "
                f"is observed (O:E {there}, outside {elsewhere}, {q})")  # fmt: skip
    return f"{title} {there} (outside {elsewhere}, {q})"
