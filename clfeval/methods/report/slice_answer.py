"""Sentences about slices: which is significantly worse, by what, and what is unaffected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.compare.change import BETTER, CHANGED, VERDICTS, WORSE
from clfeval.document import Answer, Row, estimate
from clfeval.measures.catalog import CATALOG
from clfeval.methods.clustered import OF_A_CLASS, ROWS
from clfeval.words import chance, listed, many, named, number, quoted

SPELT_OUT, LISTED = 2, 4  # slices with their values, slices by name
OE, UNCHANGED = "oe_ratio", [one for one in VERDICTS if one not in (WORSE, BETTER, CHANGED)]
NAMED = {WORSE: "significantly worse", CHANGED: "significantly different"}


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
        worse = [row for kind in NAMED for row in tested if row["verdict"] == kind]
        if worse:
            yield _worse(model, worse, tested, [row for row in rows if row["model"] == model])
        elif model == models[0]:
            yield _none(model, tested)


def judged_models(
    models: Sequence[Row], lead: str, reference: str | None, named_: Sequence[str]
) -> list[str]:
    """Return the models whose slices are judged: the leader, the reference, those named."""
    sign = -1 if CATALOG[lead].best == "max" else 1
    known = [row for row in models if estimate(row.get(lead)).value is not None]
    first = sorted(known, key=lambda row: sign * (estimate(row[lead]).value or 0.0))[:1]
    names = [str(row["model"]) for row in models]
    others = names if named_ else [name for name in names if name == reference]
    return list(dict.fromkeys([*(str(row["model"]) for row in first), *others])) or names[:1]


def _none(model: str, tested: Sequence[Row]) -> Answer:
    slices = list(dict.fromkeys(str(row["slice"]) for row in tested))
    titles = [CATALOG[name.partition(":")[0]].title
              for name in dict.fromkeys(str(row["measure"]) for row in tested)]  # fmt: skip
    if not tested:
        text = f"No slice is large enough for a test: {ROWS} rows, or {OF_A_CLASS} of a class, "
        return Answer("slices", f"{text}are needed inside and outside the slice.", (model,))
    text = f"{quoted(model)} is not significantly worse inside than outside "
    text += "the slice" if len(slices) == 1 else f"any of {many(len(slices), 'slice')}"
    text += f" (by {listed(titles, most=4, word='or')})."
    return Answer("slices", text, (model,), str(tested[0]["measure"]))


def _worse(model: str, worse: Sequence[Row], tested: Sequence[Row], table: Sequence[Row]) -> Answer:
    """Name the worst slices with their values inside and outside, and what is unaffected."""
    labels = list(dict.fromkeys(str(row["slice"]) for row in worse))
    sizes = {str(row["slice"]): row for row in table}
    parts = []
    for label in labels[:SPELT_OUT]:
        here = [row for row in worse if row["slice"] == label]
        said = []
        for kind, words in NAMED.items():
            values = [_value(row, sizes[label]) for row in here if row["verdict"] == kind]
            said += [f"{words}: {listed(values)}"] if values else []
        text = f"In {label}, {quoted(model)} is {'; '.join(said)}"
        for kinds, words in (
            ((BETTER,), "significantly better"), (UNCHANGED, "not significantly different")
        ):  # fmt: skip
            some = [CATALOG[str(row["measure"]).partition(":")[0]].title for row in tested
                    if row["slice"] == label and row["verdict"] in kinds]  # fmt: skip
            are = "is" if len(some) == 1 else "are"
            text += f"; {listed(some, most=4)} {are} {words}" if some else ""
        parts.append(f"{text}.")
    bad = {str(row["slice"]) for row in worse if row["verdict"] == WORSE}
    if left_ := [label for label in labels[SPELT_OUT:] if label in bad]:
        verb = "is" if len(left_) == 1 else "are"
        parts.append(f"{named(left_, most=LISTED)} {verb} also significantly worse.")
    value = estimate(worse[0]["new"])
    return Answer("slices", " ".join(parts), (model,), str(worse[0]["measure"]), value.value,
                  value.low, value.high)  # fmt: skip


def _value(row: Row, size: Row) -> str:
    """Write a measure inside and outside; of O:E the predicted and the observed risk."""
    there, elsewhere = (number(estimate(row[name]).value or 0.0) for name in ("new", "old"))
    title = CATALOG[str(row["measure"]).partition(":")[0]].title
    q = f"q {chance(float(str(row['p_adjusted']))).removeprefix('p ')}"
    ratio = estimate(row["new"]).value
    if row["measure"] == OE and size.get("positives") is not None and ratio:
        observed = float(str(size["positives"])) / float(str(size["rows"]))
        return (f"predicted risk {number(observed / ratio)} where {number(observed)} is observed "
                f"(O:E {there}, outside {elsewhere}, {q})")  # fmt: skip
    return f"{title} {there} (outside {elsewhere}, {q})"
