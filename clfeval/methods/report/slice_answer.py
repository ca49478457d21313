"""The sentence on slices: in which of them which model is worse, and what is not excluded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, log

from clfeval.compare.change import BETTER, CHANGED, WORSE
from clfeval.compare.families import BestSet
from clfeval.document import Answer
from clfeval.document.cells import Row, as_estimate, cell_text, cell_value
from clfeval.formatting import (
    candidates_first,
    format_count,
    format_number,
    format_p_value,
    is_reference,
    join_names,
    join_words,
    printable,
    quote_if_ambiguous,
)
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.label_measures import OF_A_CLASS, ROWS
from clfeval.records import dataclass

MOST_MODELS = 10  # whose slices are judged
MOST_HARMS = 3  # slices, and measures in all, with their values
MOST_NAMES = 3  # further measures of a slice, by name
HARMS = (WORSE, CHANGED)


@dataclass(frozen=True, slots=True)
class SliceModels:
    """The models whose slices are tested, the most important first; every: all of the report.

    references: those that others are compared with.
    """

    names: Sequence[str]
    every: bool
    references: Sequence[str] = ()

    @classmethod
    def from_ranking(
        cls,
        ranked: Sequence[str],
        best_set: BestSet | None,
        reference: str | None,
        requested: Sequence[str],
    ) -> SliceModels:
        """Choose at most ten: tied with the best, compared with a reference, or requested.

        ranked: all models, the best first. Where no test tells which are tied, all count as such.
        """
        models = candidates_first(ranked, reference)
        if best_set is not None and reference is None and not requested:
            ties = best_set.ties
            models = [model for model in models if ties.get(model, False) is not False]
            models = models or [*candidates_first(ranked, reference)][:1]
        return cls(
            models[:MOST_MODELS],
            len(models) == len(ranked) <= MOST_MODELS,
            [model for model in models if is_reference(model, reference)],
        )


def harm_size(row: Row, slice_row: Row) -> float:
    """Return how much worse a measure is inside a slice than outside: a drop of 0.1 is 0.1.

    Of the O:E ratio the difference of predicted and observed risk. slice_row: of table `slices`.
    """
    new, old = (as_estimate(row[name]).value for name in ("new", "old"))
    if new is None or old is None:
        return 0.0
    if row["measure"] == "oe_ratio":
        risks = _risks(new, slice_row)
        if risks is not None:
            return abs(risks[0] - risks[1])
        return abs(log(new)) if new > 0 else inf
    best = CATALOG[_measure_id(row)].best
    if best in ("max", "min"):
        return old - new if best == "max" else new - old
    return abs(new) - abs(old)


@dataclass(frozen=True, slots=True, eq=False)
class _Harm:
    """A slice in which a model is worse; rows: of `comparisons`, the largest difference first."""

    model: str
    label: str
    rows: Sequence[Row]
    slice_row: Row
    size: float


def slice_answer(
    slices: Sequence[Row],
    compared: Sequence[Row],
    tested_models: SliceModels,
    level: float | None,
    *,
    clustered: bool = False,
) -> Iterator[Answer]:
    """Yield the sentence on slices where tested models are worse; slices: their table."""
    if level is None or not compared:
        return
    tested = [
        row
        for row in compared
        if row["model"] in tested_models.names and row["p_adjusted"] is not None
    ]
    if not tested:
        text = f"No slice is large enough for a test: {ROWS} rows, or {OF_A_CLASS} of a class, "
        text += "are needed inside and outside the slice"
        text += f", of {OF_A_CLASS} clusters." if clustered else "."
        yield Answer("slices", text, tuple(tested_models.names[:1]))
        return
    harms = _harms(slices, tested, tested_models.references)
    yield (
        _harms_answer(harms, tested, tested_models)
        if harms
        else _no_harm_answer(tested, tested_models)
    )


def _harms(slices: Sequence[Row], tested: Sequence[Row], references: Sequence[str]) -> list[_Harm]:
    """Return the slices in which models are significantly worse, or different, the worst first.

    Those of a reference come after those of the models that are compared with it.
    """
    slice_rows = {(row["model"], cell_text(row["slice"])): row for row in slices}
    rows_by_pair = dict[tuple[str, str], list[Row]]()
    for row in tested:
        if row["verdict"] in HARMS:
            rows_by_pair.setdefault((row["model"], cell_text(row["slice"])), []).append(row)
    harms = list[_Harm]()
    for (model, label), rows in rows_by_pair.items():
        slice_row = slice_rows[model, label]
        sizes = {id(row): harm_size(row, slice_row) for row in rows}
        worst = sorted(rows, key=lambda row: (row["verdict"] != WORSE, -sizes[id(row)]))
        harms.append(_Harm(model, label, worst, slice_row, sizes[id(worst[0])]))

    def importance(harm: _Harm) -> tuple[bool, bool, float]:
        return harm.rows[0]["verdict"] != WORSE, harm.model in references, -harm.size

    harms.sort(key=importance)
    return harms


def _harms_answer(
    harms: Sequence[_Harm], tested: Sequence[Row], tested_models: SliceModels
) -> Answer:
    """Return the sentences on the worst slices, the number of further ones, and other models."""
    clear = _models_without(harms, tested, tested_models)
    clear_text = f"{_no_difference(clear, tested)} in any slice" if clear else ""
    value = as_estimate(harms[0].rows[0]["new"])
    return Answer(
        "slices",
        _harms_text(harms, MOST_HARMS, clear_text),
        tuple(dict.fromkeys(harm.model for harm in harms)),
        harms[0].rows[0]["measure"],
        value.value,
        value.low,
        value.high,
        brief=_harms_text(harms, 1, ""),
        harm=True,
    )


def _harms_text(harms: Sequence[_Harm], most: int, clear_text: str) -> str:
    """Return the sentences on so many of the worst slices; clear_text: on models without harms."""
    worst = harms[:most]
    with_values = 1 + most - len(worst)  # measures of the worst slice
    sentences = [
        _describe_harm(harm, 1 if place else with_values) for place, harm in enumerate(worst)
    ]
    further = [harm for harm in harms[most:] if harm.rows[0]["verdict"] == WORSE]
    if further:
        models = list(dict.fromkeys(harm.model for harm in further))
        several = f"Another {len(further):,} slices"
        subject = "Another slice" if len(further) == 1 else several
        text = f"{subject} of {join_names(models, most=MOST_MODELS)} {_are(further)} "
        text += "significantly worse, "
        sentences.append(f"{text}listed below")
    if clear_text:
        if len(sentences) == len(harms[0].rows) == 1:
            sentences = [f"{sentences[0]}; {clear_text}"]
        else:
            sentences.append(clear_text)
    return f"{'. '.join(sentences)}."


def _describe_harm(harm: _Harm, most: int) -> str:
    """Return the sentence on a slice: up to so many measures with values, others by name."""
    kind = harm.rows[0]["verdict"]
    rows = [row for row in harm.rows if row["verdict"] == kind]
    values = join_words([_describe_values(row, harm.slice_row) for row in rows[:most]])
    text = f"In {harm.label}, {quote_if_ambiguous(harm.model)} has {values}"
    others = [row for row in harm.rows if row not in rows[:most]]
    if others:
        titles = [_title(row) for row in others]
        subject = f"its {join_words(titles)}"
        if len(titles) > MOST_NAMES:
            subject = f"{len(titles):,} further measures"
        worse = any(row["verdict"] == WORSE for row in others)
        text += f"; {subject} {_are(titles)} also significantly {'worse' if worse else 'different'}"
    return text


def _describe_values(row: Row, slice_row: Row) -> str:
    """Return a measure inside and elsewhere; of O:E the predicted and the observed risk."""
    new, old = (as_estimate(row[name]).value or 0.0 for name in ("new", "old"))
    value = format_number(new)
    elsewhere = format_number(old)
    q = f"q {format_p_value(cell_value(row['p_adjusted']) or 0.0).removeprefix('p ')}"
    risks = _risks(new, slice_row) if row["measure"] == "oe_ratio" else None
    if risks is None:
        return f"{_title(row)} {value} ({elsewhere} elsewhere, {q})"
    predicted, observed = map(format_number, risks)
    text = f"predicted risk {predicted} where {observed} is observed"
    return f"{text} (O:E {value}, {elsewhere} elsewhere, {q})"


def _risks(ratio: float, slice_row: Row) -> tuple[float, float] | None:
    """Return the predicted and the observed risk of a slice; None where these are unknown."""
    positives = cell_value(slice_row.get("positives"))
    rows = cell_value(slice_row.get("rows"))
    if positives is None or not rows or not ratio:
        return None
    observed = positives / rows
    return observed / ratio, observed


def _models_without(
    harms: Sequence[_Harm], tested: Sequence[Row], tested_models: SliceModels
) -> list[str]:
    """Return the tested models that are worse in no slice."""
    worse = {harm.model for harm in harms}
    models = {row["model"] for row in tested}
    return [model for model in tested_models.names if model in models and model not in worse]


def _has_better(models: Sequence[str], tested: Sequence[Row]) -> bool:
    """Return whether one of the models is significantly better in a slice."""
    return any(row["verdict"] == BETTER for row in tested if row["model"] in models)


def _no_difference(models: Sequence[str], tested: Sequence[Row]) -> str:
    """Return that models are not significantly worse, or different where none is better."""
    if _has_better(models, tested):
        return f"{join_names(models, most=MOST_MODELS)} {_are(models)} not significantly worse"
    do = "does" if len(models) == 1 else "do"
    return f"{join_names(models, most=MOST_MODELS)} {do} not differ significantly"


def _are(subjects: Sequence[object]) -> str:
    return "is" if len(subjects) == 1 else "are"


def _no_harm_answer(tested: Sequence[Row], tested_models: SliceModels) -> Answer:
    """Return that tested models are not worse in any slice, and which drops are not excluded."""
    models = _models_without((), tested, tested_models)
    slices = list(dict.fromkeys(cell_text(row["slice"]) for row in tested))
    place = "the slice" if len(slices) == 1 else f"any of {format_count(len(slices), 'slice')}"
    text = f"{_no_difference(models, tested)} in {place}."
    if tested_models.every and len(models) == len(tested_models.names) > 1:
        better = _has_better(models, tested)
        differs = "is significantly worse" if better else "differs significantly"
        text = f"No model {differs} in {place}."
    drop, row = _largest_drop(tested)
    if row is not None:
        several = len(models) > 1
        whose = f"For {quote_if_ambiguous(str(row['model']))}, drops" if several else "Drops"
        text += f" {whose} of up to {format_number(drop)} in {_title(row)} are not excluded at "
        text += f"{row['slice']}."
    return Answer("slices", text, tuple(models), tested[0]["measure"])


def _largest_drop(tested: Sequence[Row]) -> tuple[float, Row | None]:
    """Return the largest drop of a measure inside its simultaneous interval, and its row."""
    largest = 0.0
    worst = None
    for row in tested:
        measure = CATALOG[_measure_id(row)]
        low = as_estimate(row["difference_adjusted"]).low
        old = as_estimate(row["old"]).value
        if measure.best != "max" or low is None or old is None:
            continue
        drop = min(-low, old - measure.low)
        if drop > largest:
            largest, worst = drop, row
    return largest, worst


def _measure_id(row: Row) -> str:
    return row["measure"].partition(":")[0]


def _title(row: Row) -> str:
    """Return the title of a measure, of a class with its name."""
    name, _, settings = row["measure"].partition(":")
    of_class = settings.removeprefix("class=") if settings.startswith("class=") else ""
    title = CATALOG[name].title
    return f"{title} of {printable(of_class)}" if of_class else title
