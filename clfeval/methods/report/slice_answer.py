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
        ranked_models: Sequence[str],
        best_set: BestSet | None,
        reference: str | None,
        requested_models: Sequence[str],
    ) -> SliceModels:
        """Choose at most ten: tied with the best, compared with a reference, or requested.

        ranked_models: all, the best first. Where no test tells which are tied, all count as such.
        """
        models = candidates_first(ranked_models, reference)
        if best_set is not None and reference is None and not requested_models:
            ties = best_set.ties
            models = [model for model in models if ties.get(model, False) is not False]
            models = models or [*candidates_first(ranked_models, reference)][:1]
        return cls(
            models[:MOST_MODELS],
            len(models) == len(ranked_models) <= MOST_MODELS,
            [model for model in models if is_reference(model, reference)],
        )


def harm_size(row: Row, slice_row: Row) -> float:
    """Return how much worse a measure is inside a slice than outside: a drop of 0.1 is 0.1.

    Of the O:E ratio the difference of predicted and observed risk. row: of the table
    `comparisons`; slice_row: of the table `slices`.
    """
    value_inside, value_outside = (as_estimate(row[side]).value for side in ("new", "old"))
    if value_inside is None or value_outside is None:
        return 0.0
    if row["measure"] == "oe_ratio":
        risks = _risks(value_inside, slice_row)
        if risks is not None:
            predicted, observed = risks
            return abs(predicted - observed)
        return abs(log(value_inside)) if value_inside > 0 else inf
    direction = CATALOG[_measure_id(row)].best
    if direction in ("max", "min"):
        return value_outside - value_inside if direction == "max" else value_inside - value_outside
    return abs(value_inside) - abs(value_outside)


@dataclass(frozen=True, slots=True, eq=False)
class _Harm:
    """A slice in which a model is worse; rows: of `comparisons`, the largest difference first."""

    model: str
    slice_name: str
    rows: Sequence[Row]
    slice_row: Row
    size: float


def slice_answer(
    slice_rows: Sequence[Row],
    comparison_rows: Sequence[Row],
    tested_models: SliceModels,
    level: float | None,
    *,
    clustered: bool = False,
) -> Iterator[Answer]:
    """Yield the sentence on slices where tested models are worse; slice_rows: table `slices`.

    comparison_rows: of the table `comparisons`; clustered: rows are in clusters.
    """
    if level is None or not comparison_rows:
        return
    tested_rows = [
        row
        for row in comparison_rows
        if row["model"] in tested_models.names and row["p_adjusted"] is not None
    ]
    if not tested_rows:
        text = f"No slice is large enough for a test: {ROWS} rows, or {OF_A_CLASS} of a class, "
        text += "are needed inside and outside the slice"
        text += f", of {OF_A_CLASS} clusters." if clustered else "."
        yield Answer("slices", text, tuple(tested_models.names[:1]))
        return
    harms = _harms(slice_rows, tested_rows, tested_models.references)
    yield (
        _harms_answer(harms, tested_rows, tested_models)
        if harms
        else _no_harm_answer(tested_rows, tested_models)
    )


def _harms(
    slice_table: Sequence[Row], tested_rows: Sequence[Row], references: Sequence[str]
) -> list[_Harm]:
    """Return the slices in which models are significantly worse, or different, the worst first.

    Those of a reference come after those of the models that are compared with it.
    """
    slice_rows = {(row["model"], cell_text(row["slice"])): row for row in slice_table}
    rows_by_pair = dict[tuple[str, str], list[Row]]()
    for row in tested_rows:
        if row["verdict"] in HARMS:
            rows_by_pair.setdefault((row["model"], cell_text(row["slice"])), []).append(row)
    harms = list[_Harm]()
    for (model, slice_name), rows in rows_by_pair.items():
        slice_row = slice_rows[model, slice_name]
        harm_sizes = {id(row): harm_size(row, slice_row) for row in rows}
        sorted_rows = sorted(rows, key=lambda row: (row["verdict"] != WORSE, -harm_sizes[id(row)]))
        harms.append(
            _Harm(model, slice_name, sorted_rows, slice_row, harm_sizes[id(sorted_rows[0])])
        )

    def importance(harm: _Harm) -> tuple[bool, bool, float]:
        return harm.rows[0]["verdict"] != WORSE, harm.model in references, -harm.size

    harms.sort(key=importance)
    return harms


def _harms_answer(
    harms: Sequence[_Harm], tested_rows: Sequence[Row], tested_models: SliceModels
) -> Answer:
    """Return the sentences on the worst slices, the number of further ones, and other models."""
    unharmed_models = _models_without(harms, tested_rows, tested_models)
    unharmed_clause = (
        f"{_no_difference(unharmed_models, tested_rows)} in any slice" if unharmed_models else ""
    )
    worst_value = as_estimate(harms[0].rows[0]["new"])
    return Answer(
        "slices",
        _harms_text(harms, MOST_HARMS, unharmed_clause),
        tuple(dict.fromkeys(harm.model for harm in harms)),
        harms[0].rows[0]["measure"],
        worst_value.value,
        worst_value.low,
        worst_value.high,
        brief=_harms_text(harms, 1, ""),
        harm=True,
    )


def _harms_text(harms: Sequence[_Harm], named_count: int, unharmed_clause: str) -> str:
    """Return the sentences on so many of the worst slices; unharmed_clause: on other models."""
    worst_harms = harms[:named_count]
    detailed_count = 1 + named_count - len(worst_harms)  # measures with values of the worst slice
    sentences = [
        _describe_harm(harm, detailed_count if index == 0 else 1)
        for index, harm in enumerate(worst_harms)
    ]
    further_harms = [harm for harm in harms[named_count:] if harm.rows[0]["verdict"] == WORSE]
    if further_harms:
        models = list(dict.fromkeys(harm.model for harm in further_harms))
        count = len(further_harms)
        subject = "Another slice" if count == 1 else f"Another {count:,} slices"
        further_clause = (
            f"{subject} of {join_names(models, most=MOST_MODELS)} {_are(further_harms)} "
        )
        further_clause += "significantly worse, "
        sentences.append(f"{further_clause}listed below")
    if unharmed_clause:
        if len(sentences) == len(harms[0].rows) == 1:
            sentences = [f"{sentences[0]}; {unharmed_clause}"]
        else:
            sentences.append(unharmed_clause)
    return f"{'. '.join(sentences)}."


def _describe_harm(harm: _Harm, detailed_count: int) -> str:
    """Return the sentence on a slice: `detailed_count` measures with values, others by name."""
    verdict = harm.rows[0]["verdict"]
    rows = [row for row in harm.rows if row["verdict"] == verdict]
    values_phrase = join_words(
        [_describe_values(row, harm.slice_row) for row in rows[:detailed_count]]
    )
    text = f"In {harm.slice_name}, {quote_if_ambiguous(harm.model)} has {values_phrase}"
    other_rows = [row for row in harm.rows if row not in rows[:detailed_count]]
    if other_rows:
        titles = [_title(row) for row in other_rows]
        titles_phrase = f"its {join_words(titles)}"
        if len(titles) > MOST_NAMES:
            titles_phrase = f"{len(titles):,} further measures"
        is_worse = any(row["verdict"] == WORSE for row in other_rows)
        claim = "worse" if is_worse else "different"
        text += f"; {titles_phrase} {_are(titles)} also significantly {claim}"
    return text


def _describe_values(row: Row, slice_row: Row) -> str:
    """Return a measure inside and elsewhere; of O:E the predicted and the observed risk."""
    value_inside, value_outside = (as_estimate(row[side]).value or 0.0 for side in ("new", "old"))
    inside_text = format_number(value_inside)
    outside_text = format_number(value_outside)
    q_text = f"q {format_p_value(cell_value(row['p_adjusted']) or 0.0).removeprefix('p ')}"
    risks = _risks(value_inside, slice_row) if row["measure"] == "oe_ratio" else None
    if risks is None:
        return f"{_title(row)} {inside_text} ({outside_text} elsewhere, {q_text})"
    predicted, observed = map(format_number, risks)
    risk_text = f"predicted risk {predicted} where {observed} is observed"
    return f"{risk_text} (O:E {inside_text}, {outside_text} elsewhere, {q_text})"


def _risks(ratio: float, slice_row: Row) -> tuple[float, float] | None:
    """Return the predicted and the observed risk of a slice; None where these are unknown."""
    positives = cell_value(slice_row.get("positives"))
    rows = cell_value(slice_row.get("rows"))
    if positives is None or not rows or not ratio:
        return None
    observed = positives / rows
    return observed / ratio, observed


def _models_without(
    harms: Sequence[_Harm], tested_rows: Sequence[Row], tested_models: SliceModels
) -> list[str]:
    """Return the tested models that are worse in no slice."""
    worse_models = {harm.model for harm in harms}
    measured_models = {row["model"] for row in tested_rows}
    return [
        model
        for model in tested_models.names
        if model in measured_models and model not in worse_models
    ]


def _has_better(models: Sequence[str], tested_rows: Sequence[Row]) -> bool:
    """Return whether one of the models is significantly better in a slice."""
    return any(row["verdict"] == BETTER for row in tested_rows if row["model"] in models)


def _no_difference(models: Sequence[str], tested_rows: Sequence[Row]) -> str:
    """Return that models are not significantly worse, or different where none is better."""
    if _has_better(models, tested_rows):
        return f"{join_names(models, most=MOST_MODELS)} {_are(models)} not significantly worse"
    verb = "does" if len(models) == 1 else "do"
    return f"{join_names(models, most=MOST_MODELS)} {verb} not differ significantly"


def _are(subjects: Sequence[object]) -> str:
    return "is" if len(subjects) == 1 else "are"


def _no_harm_answer(tested_rows: Sequence[Row], tested_models: SliceModels) -> Answer:
    """Return that tested models are not worse in any slice, and which drops are not excluded."""
    models = _models_without((), tested_rows, tested_models)
    slice_count = len({cell_text(row["slice"]) for row in tested_rows})
    slices_phrase = (
        "the slice" if slice_count == 1 else f"any of {format_count(slice_count, 'slice')}"
    )
    text = f"{_no_difference(models, tested_rows)} in {slices_phrase}."
    if tested_models.every and len(models) == len(tested_models.names) > 1:
        has_better = _has_better(models, tested_rows)
        verb_phrase = "is significantly worse" if has_better else "differs significantly"
        text = f"No model {verb_phrase} in {slices_phrase}."
    drop, drop_row = _largest_drop(tested_rows)
    if drop_row is not None:
        names_model = len(models) > 1
        drops_subject = (
            f"For {quote_if_ambiguous(str(drop_row['model']))}, drops" if names_model else "Drops"
        )
        text += f" {drops_subject} of up to {format_number(drop)} in {_title(drop_row)} "
        text += f"are not excluded at {drop_row['slice']}."
    return Answer("slices", text, tuple(models), tested_rows[0]["measure"])


def _largest_drop(tested_rows: Sequence[Row]) -> tuple[float, Row | None]:
    """Return the largest drop of a measure inside its simultaneous interval, and its row."""
    largest_drop = 0.0
    largest_row = None
    for row in tested_rows:
        measure = CATALOG[_measure_id(row)]
        low = as_estimate(row["difference_adjusted"]).low
        old = as_estimate(row["old"]).value
        if measure.best != "max" or low is None or old is None:
            continue
        drop = min(-low, old - measure.low)
        if drop > largest_drop:
            largest_drop, largest_row = drop, row
    return largest_drop, largest_row


def _measure_id(row: Row) -> str:
    return row["measure"].partition(":")[0]


def _title(row: Row) -> str:
    """Return the title of a measure, of a class with its name."""
    name, _, settings = row["measure"].partition(":")
    class_name = settings.removeprefix("class=") if settings.startswith("class=") else ""
    title = CATALOG[name].title
    return f"{title} of {printable(class_name)}" if class_name else title
