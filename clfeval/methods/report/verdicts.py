"""What is said of a comparison in words: never more than its interval and its p-value bear."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.inference.best import POWER
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import Measure
from clfeval.methods.report.together import ALL_PAIRS, BEST
from clfeval.methods.verdict import BETTER, EQUIVALENT, NOT_WORSE, UNDECIDED, WORSE
from clfeval.result import Answer, Row, estimate
from clfeval.words import between, exact, many, named, number, quoted, reference_of

LISTED = 6  # models by name


def sentence(row: Row, measure: Measure, margin: float | None) -> str:
    """Say in a sentence how a model compares with its reference by a measure.

    The difference is of the values as they are: of a measure of which less is better, less is
    better.
    """
    apart = estimate(row["difference"])
    model, other = (quoted(str(row[name])) for name in ("model", "reference"))
    d, title = apart.value or 0.0, measure.title
    size = f"{title} {'more' if d > 0 else 'less'} by {_size(d, apart.low, apart.high)}"
    if not d:
        size = f"the same {title}"
    elif apart.low is None:
        size = f"{title} {'more' if d > 0 else 'less'} by {number(abs(d))}"
    found = row["verdict"]
    if found in (BETTER, WORSE):
        return f"{model} is {found} than {other}: {size}."
    if found == EQUIVALENT and margin is not None:
        return f"{model} is equivalent to {other} within {exact(margin)}: {size}."
    if found == NOT_WORSE and margin is not None:
        return f"{model} is not worse than {other} by {exact(margin)}: {size}."
    if found == UNDECIDED:
        return f"{model} cannot be told from {other}: {size}."
    return f"{model} beside {other}: {size}."  # neither more nor less is better


def _size(d: float, low: float | None, high: float | None) -> str:
    """Write how much more, or less, with the limits the same way round."""
    if d >= 0:
        return between(d, low, high)
    return between(-d, None if high is None else -high, None if low is None else -low)


def compared_answer(
    rows: Sequence[Row], lead: str, reference: str, margin: float | None
) -> tuple[Answer, ...]:
    """Say how models compare with the reference by the measure that leads; of one pair, how far."""
    rows = [row for row in rows if row["metric"] == lead]
    if not rows:
        text = f"Nobody can compare models by {CATALOG[lead].title} here: it is undefined, or its "
        return (Answer("not-compared", f"{text}error is not known."),)
    measure = CATALOG[lead]
    if len(rows) == 1:
        (row,), apart = rows, estimate(rows[0]["difference"])
        text = sentence(row, measure, margin)
        if row["verdict"] == UNDECIDED and row["detectable"] is not None:
            seen = number(float(str(row["detectable"])))
            text = f"{text[:-1]}; one of {seen} would be seen with power {POWER:g}."
        return (Answer("compared", text, (str(row["model"]),), lead, apart.value, apart.low,
                       apart.high),)  # fmt: skip
    kinds: dict[str, list[str]] = {}
    for row in rows:
        kinds.setdefault(str(row["verdict"]), []).append(str(row["model"]))
    if reference == ALL_PAIRS:
        told = len(kinds.get(BETTER, [])) + len(kinds.get(WORSE, []))
        text = (
            f"{told:,} of {many(len(rows), 'pair')} of models are told apart by {measure.title}; "
            f"{many(len(rows), 'test')} together, by Holm's rule."
        )
        return (Answer("compared", text, (), lead, float(told)),)
    to, said = reference_of(str(rows[0]["reference"]), reference), list[str]()
    within = "" if margin is None else exact(margin)
    for kind, words in (
        (BETTER, "better"), (WORSE, "worse"), (EQUIVALENT, f"equivalent within {within}"),
        (NOT_WORSE, f"not worse by {within}"),
    ):  # fmt: skip
        if names := kinds.get(kind):
            verb = "is" if len(names) == 1 else "are"
            said.append(f"{named(names, most=LISTED)} {verb} {words}")
    if names := kinds.get(UNDECIDED):
        who = named(names, most=LISTED) if len(names) < len(rows) else "no model"
        said.append(f"{who} {'can' if who == 'no model' else 'cannot'} be told from it")
    chosen = f"{to}, the best of these rows" if reference == BEST else to
    text = f"Against {chosen}, by {measure.title}: {'; '.join(said)}."
    return (Answer("compared", text, tuple(kinds.get(BETTER, [])), lead),)
