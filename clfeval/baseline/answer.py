"""Sentences on changes: which measures are significantly worse, which are not, and the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.compare.change import BETTER, CHANGED, WORSE, Change
from clfeval.document import Answer, Row, as_estimate
from clfeval.measures.catalog import CATALOG
from clfeval.words import (
    format_count,
    format_number,
    format_p_value,
    join_names,
    join_words,
    quote_if_ambiguous,
)

CODE, ROWS_CODE = "baseline", "baseline-rows"
SIGNIFICANT = (WORSE, BETTER, CHANGED)
SPELT_OUT, SPELT_OUT_TOO = 3, 1  # measures with their values, of the first kind, of others
MODELS = 2  # with a sentence of their own


def sentence_title(metric: str) -> str:
    """Return what a measure is called in sentences."""
    name = metric.partition(":")[0]
    return CATALOG[name].title if name in CATALOG else metric


def change_answers(
    rows: Sequence[Row], name: str, how: str = "", lead: str | None = None
) -> Iterator[Answer]:
    """Return sentences on significant changes of each model from a baseline.

    rows: of the table `comparisons`, the worst first. name: of the baseline; how: on which rows.
    lead: the measure named where it did not change.
    """
    tested = [row for row in rows if row["p_adjusted"] is not None]
    start = f"Compared with {name}{how}"
    if not tested:
        known = any(as_estimate(row["difference"]).value is not None for row in rows)
        why = (
            "no intervals were computed"
            if known
            else "no model has a value in both; --join compares models of several files"
        )
        yield Answer(CODE, f"{start}, nothing is tested: {why}.")
        return
    told = [row for row in tested if row["verdict"] in SIGNIFICANT]
    every = dict.fromkeys(str(row["model"]) for row in tested)
    models = [*dict.fromkeys(str(row["model"]) for row in told)]
    if not models:
        who = join_names([*every]) if len(every) < 3 else f"{len(every)} models"
        text = f"no measure of {who} changed significantly"
        if not any(as_estimate(row["difference"]).value for row in rows):
            yield Answer(CODE, f"{start}, all measures of {who} are identical.", (), lead)
            return
        yield Answer(
            CODE, f"{start}, {text} ({format_count(len(tested), 'adjusted test')}).", (), lead
        )
        return
    for place, model in enumerate(models[:MODELS]):
        mine = [row for row in tested if row["model"] == model]
        yield _model_answer(
            mine,
            f"{start}, {quote_if_ambiguous(model)}" if not place else quote_if_ambiguous(model),
            lead,
        )
    also, others = models[MODELS:], [one for one in every if one not in models]
    parts = [f"{join_names(also)} also changed significantly"] if also else []
    parts += [f"{join_names(others)} did not change significantly in any measure"] if others else []
    if parts:
        yield Answer(CODE, f"{'; '.join(parts)}.", tuple(also))


def _model_answer(rows: Sequence[Row], start: str, lead: str | None) -> Answer:
    """Say by which measures a model changed: the largest standardised changes with their values."""
    kinds = {kind: [row for row in rows if row["verdict"] == kind] for kind in SIGNIFICANT}
    said, most = list[str](), SPELT_OUT
    for kind, some in kinds.items():
        parts = []
        for row in some[:most]:
            old, new = (
                format_number(as_estimate(row[side]).value or 0.0) for side in ("old", "new")
            )
            p = format_p_value(float(str(row["p_adjusted"])))
            parts.append(f"{sentence_title(str(row['measure']))} ({new}, was {old}, {p})")
        if len(some) > most:
            parts.append(format_count(len(some) - most, "more measure"))
        if some:
            said.append(f"{kind} in {join_words(parts)}")
            most = SPELT_OUT_TOO
    said[0] = f"{start} is significantly {said[0]}"
    said += [f"{sentence_title(str(row['measure']))} did not change significantly" for row in rows
             if row["measure"] == lead and row["verdict"] not in SIGNIFICANT]  # fmt: skip
    first = next(some[0] for some in kinds.values() if some)
    d = as_estimate(first["difference"])
    return Answer(CODE, f"{'; '.join(said)}.", (str(rows[0]["model"]),), str(first["measure"]),
                  d.value, d.low, d.high)  # fmt: skip


def rows_answer(
    same: Sequence[str], counts: Sequence[object], described: Mapping[str, Change],
    classes: Sequence[Sequence[str]], level: float,
) -> Iterator[Answer]:  # fmt: skip
    """Return sentences on the change of rows, class shares and scores.

    same: sentences that come first. counts, classes: of the baseline, and now. described: by name.
    """
    facts = []
    sizes = [f"{one:,.10g}" for one in counts if isinstance(one, (int, float))]
    if len(sizes) == 2:
        was = "as before" if sizes[0] == sizes[1] else f"was {sizes[0]}"
        facts.append(f"{sizes[1]} rows ({was})")
    for title, change in described.items():
        d = change.difference
        if d.value is not None:
            old, new = (format_number(one.value or 0.0) for one in (change.old, change.new))
            ends = ""
            if d.low is not None and d.high is not None:
                low, high = (format_number(end) for end in (d.low, d.high))
                ends = f", {100 * level:g}% CI of the change {low} to {high}"
                ends = ", not significant" if d.low <= 0 <= d.high else ends
            was = f"was {old}{ends}" if d.value else "as before"
            facts.append(f"{title} {new} ({was})")
    parts = [f"The table has {join_words(facts)}"] if facts else []
    then, now = classes
    for some, others, word in ((now, then, "new"), (then, now, "missing")):
        if then and now and (left := [one for one in some if one not in others]):
            are = "class {} is" if len(left) == 1 else "classes {} are"
            parts.append(f"{are.format(join_names(left))} {word}")
    if parts:
        d = next(iter(described.values())).difference
        text = ". ".join([*same, "; ".join(parts)])
        yield Answer(ROWS_CODE, f"{text}.", (), next(iter(described)), d.value, d.low,
                     d.high)  # fmt: skip
