"""The sentences on a history: change points first, then the last label against its reference."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from clfeval.compare.baseline.changes import (
    LEVEL,
    SIGNIFICANT,
    UNMOVED,
    change_answers,
    rows_answer,
    sentence_title,
)
from clfeval.compare.baseline.read import accept_command, better_direction, same_rows
from clfeval.compare.change import BETTER, CHANGED, UNDECIDED, WORSE, Change, direction
from clfeval.compare.history.change_point import ChangePoint
from clfeval.compare.history.file import HistoryLine
from clfeval.compare.not_excluded import LargestHarm
from clfeval.document import Answer
from clfeval.document.cells import Row, as_estimate, cell_text, cell_value
from clfeval.formatting import (
    format_count,
    format_number,
    format_p_value,
    join_names,
    join_words,
    quote_if_ambiguous,
)
from clfeval.measures.record import AIMS
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

ROWS, MODEL, SETTINGS = "rows", "model", "settings"
MAX_SENTENCES = 6
MODELS = 2  # with a sentence of their own on a change point
ROWS_DIFFER_EACH_LABEL = Answer(
    "events", "Each label has different rows: changes may come from the rows or the models."
)
WHY = {ROWS: ", where the rows changed", MODEL: ", where the model changed and the rows did not"}
OUTCOMES = {WORSE: "became worse", BETTER: "improved", CHANGED: "changed"}


@dataclass(frozen=True, slots=True)
class Trend:
    """What the sentences on a history are about.

    name: of the file. series: the lines of each model. accepted: its accepted line. references:
    the line that its last one is compared with. changes: rows of `comparisons`. points: significant
    change points, causes: what changed there. events: rows of that table. order: of measures.
    """

    name: str
    command: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[HistoryLine]]
    accepted: Mapping[str, HistoryLine]
    references: Mapping[str, HistoryLine]
    changes: Sequence[Row]
    points: Sequence[ChangePoint]
    causes: Sequence[str]
    events: Sequence[Row]
    order: Sequence[str]

    @property
    def last(self) -> str:
        """The last label."""
        return self.labels[-1]

    @property
    def other_settings(self) -> list[str]:
        """The models whose last line has other settings than its reference."""
        models = {
            row["model"]
            for row in self.changes
            if as_estimate(row["difference"]).reason == "other_settings"
        }
        return sorted(models)

    @property
    def compared(self) -> list[Row]:
        """The changes of models whose last line has the settings of its reference."""
        return [row for row in self.changes if row["model"] not in self.other_settings]


def trend_answer(trend: Trend) -> tuple[Answer, ...]:
    """Return at most six sentences: change points for the worse, then the last label, then labels.

    Other change points come before the last label, unless it is worse than its reference.
    """
    harm_sentences = [*_point_answers(trend, (WORSE,))]
    other_sentences = [*_point_answers(trend, (CHANGED, BETTER))][: 1 if harm_sentences else None]
    reference_sentences = [*_reference_answer(trend)]
    sentence_room = (
        MAX_SENTENCES - len(harm_sentences) - len(other_sentences) - len(reference_sentences)
    )
    last_label_sentences = [*_last_label_answers(trend)][: max(sentence_room, 1)]
    is_worse = any(
        row["verdict"] == WORSE and row["p_adjusted"] is not None for row in trend.compared
    )
    sentences = (
        [*harm_sentences, *last_label_sentences, *other_sentences]
        if is_worse
        else [*harm_sentences, *other_sentences, *last_label_sentences]
    )
    sentences += _nothing_compared_answer(trend)
    sentences += _events_answer(trend.events, trend.labels)
    sentences += _models_answer(trend)
    return (*sentences[: MAX_SENTENCES - len(reference_sentences)], *reference_sentences)


def _point_answers(trend: Trend, verdicts: Collection[str]) -> Iterator[Answer]:
    """Yield sentences on the change points of some verdicts, of a few models each.

    Changes without a direction of a model that became worse are counted in its sentence.
    """
    harmed_models = {point.model for point in trend.points if point.verdict == WORSE}
    indices_by_model: dict[tuple[str, str], list[int]] = {}
    for verdict in verdicts:
        for point_index, point in enumerate(trend.points):
            is_counted = verdict == CHANGED and point.model in harmed_models
            if point.verdict == verdict and not is_counted:
                indices_by_model.setdefault((verdict, point.model), []).append(point_index)
    for verdict, model in [*indices_by_model][:MODELS]:
        yield _point_answer(trend, indices_by_model[verdict, model])
    models_by_outcome: dict[str, list[str]] = {}
    for verdict, model in [*indices_by_model][MODELS:]:
        models_by_outcome.setdefault(OUTCOMES[verdict], []).append(model)
    for outcome, models in models_by_outcome.items():
        is_harm = outcome == OUTCOMES[WORSE]
        text = f"{join_names(models)} also {outcome} in the history."
        yield Answer("since", text, (*models,), harm=is_harm)


def _point_answer(trend: Trend, point_indices: Sequence[int]) -> Answer:
    """Return the sentence on change points of a model, with the values of one measure.

    point_indices: of one model and verdict. The measure is the leading one if it changed, else the
    most significant.
    """
    lead_measure = trend.order[0] if trend.order else ""
    point_index = min(
        point_indices, key=lambda point_index: trend.points[point_index].measure != lead_measure
    )
    point = trend.points[point_index]
    model_phrase = f" of {quote_if_ambiguous(point.model)}" if len(trend.series) > 1 else ""
    text = f"{_capitalized(sentence_title(point.measure))}{model_phrase} {_movement(point)}"
    further_facts = _further_facts(trend, point, other_count=len(point_indices) - 1)
    difference = point.change.difference
    return Answer(
        "since",
        f"{text}{_cause(trend, point_index)}.{further_facts}",
        (point.model,),
        point.measure,
        difference.value,
        difference.low,
        difference.high,
        harm=point.verdict == WORSE,
    )


def _cause(trend: Trend, point_index: int) -> str:
    """Return the words on what else changed at a change point.

    That the rows changed is left out where they change at each label.
    """
    cause = trend.causes[point_index]
    row_change_labels = {row["label"] for row in trend.events if row["changed"] == ROWS}
    if cause == ROWS and len(row_change_labels) == len(trend.labels) - 1:
        return ""
    return WHY.get(cause, f", where {cause} changed" if cause else "")


def _further_facts(trend: Trend, point: ChangePoint, other_count: int) -> str:
    """Return the sentence on other measures of the model that changed, and a later acceptance.

    other_count: how many of them have the verdict of the point.
    """
    count_by_outcome = {OUTCOMES[str(point.verdict)]: other_count}
    if point.verdict == WORSE:
        verdicts = [member.verdict for member in trend.points if member.model == point.model]
        count_by_outcome[OUTCOMES[CHANGED]] = verdicts.count(CHANGED)
    phrases = [
        f"{outcome} in {format_count(count, 'more measure')}"
        for outcome, count in count_by_outcome.items()
        if count
    ]
    clauses = [f"the model also {join_words(phrases)}"] if phrases else []
    later_labels = trend.labels[trend.labels.index(point.since.label) :]
    accepted = trend.accepted.get(point.model)
    if accepted is not None and accepted.label in later_labels:
        clauses.append(f"label {quote_if_ambiguous(accepted.label)} is accepted")
    return f" {_capitalized('; '.join(clauses))}." if clauses else ""


def _movement(point: ChangePoint) -> str:
    """Return the words on a change: `fell from 0.82 (W1 to W4) to 0.66 at W5 (p <0.001)`."""
    aim = direction(point.measure, better_direction(point.since.command, point.measure))
    target = AIMS.get(aim)
    verb = "rose" if (point.change.difference.value or 0.0) > 0 else "fell"
    if target is not None:
        verb = {WORSE: f"moved away from {target}:", BETTER: f"moved towards {target}:"}.get(
            str(point.verdict), "changed"
        )
    first_label, until_label = (
        quote_if_ambiguous(line.label) for line in (point.first, point.until)
    )
    labels_text = first_label if first_label == until_label else f"{first_label} to {until_label}"
    verdict_phrase = (
        f"{point.verdict}, " if aim == "min" and point.verdict in (WORSE, BETTER) else ""
    )
    old_text, new_text = (
        format_number(value or 0.0) for value in (point.change.old.value, point.value)
    )
    p_text = format_p_value(point.change.adjusted or 0.0)
    since_label = quote_if_ambiguous(point.since.label)
    text = f"{verb} from {old_text} ({labels_text}) to {new_text} at {since_label} "
    return f"{text}({verdict_phrase}{p_text})"


def _capitalized(title: str) -> str:
    """Return a title with a capital, but for Greek letters."""
    return f"{title[:1].upper()}{title[1:]}" if title[:1].isascii() else title


def _last_label_answers(trend: Trend) -> Iterator[Answer]:
    """Yield sentences on the changes of the last label from its references.

    A model that did not change from there, but has a change point, has none.
    """
    models_changed_before = {point.model for point in trend.points}
    compared_rows = trend.compared
    models_changed_now = {
        row["model"]
        for row in compared_rows
        if row["p_adjusted"] is not None and row["verdict"] in SIGNIFICANT
    }
    shown_rows = [
        row
        for row in compared_rows
        if row["model"] in models_changed_now or row["model"] not in models_changed_before
    ]
    if not shown_rows:
        return
    reference_labels = dict[str, None]()
    for row in shown_rows:
        accepted = trend.accepted.get(row["model"])
        label = cell_text(row["reference"])
        accepted_mark = " (accepted)" if accepted is not None and accepted.label == label else ""
        reference_labels[f"{quote_if_ambiguous(label)}{accepted_mark}"] = None
    level = trend.series[shown_rows[0]["model"]][0].level or LEVEL
    prevalence_answers = [*_prevalence_answer(shown_rows, level)]
    if prevalence_answers:  # measures that depend on prevalence come later
        shown_rows.sort(key=lambda row: row["measure"] not in UNMOVED)
    lead_measure = trend.order[0] if trend.order else None
    if lead_measure in {point.measure for point in trend.points}:
        lead_measure = None
    yield from change_answers(shown_rows, join_words([*reference_labels]), lead=lead_measure)
    if not models_changed_now and not trend.points:
        yield from _not_excluded_answer(trend, shown_rows)
    yield from prevalence_answers


def _not_excluded_answer(trend: Trend, rows: Sequence[Row]) -> Iterator[Answer]:
    """Yield the sentence on the largest harm by the leading measure that is not excluded.

    It is that of the simultaneous intervals of all models.
    """
    lead_measure = trend.order[0] if trend.order else ""
    tested_rows = [
        row for row in rows if row["measure"] == lead_measure and row["p_adjusted"] is not None
    ]
    has_changed = any(as_estimate(row["difference"]).value for row in rows)
    if not tested_rows or not has_changed:
        return
    level = trend.series[tested_rows[0]["model"]][-1].level or LEVEL
    harm = LargestHarm.from_differences(
        tested_rows, better_direction(trend.command, lead_measure), level
    )
    if harm is not None:
        text = f"A {harm.sentence(sentence_title(lead_measure))} ({100 * level:g}% CI)."
        value = -harm.size if harm.word == "drop" else harm.size
        yield Answer("not-excluded", text, (harm.model,), lead_measure, value)


def _prevalence_answer(changes: Sequence[Row], level: float) -> Iterator[Answer]:
    """Yield the sentence on prevalence and mean score, if prevalence changed significantly."""
    model = changes[0]["model"]
    titles = {
        "prevalence": "prevalence",
        "mean_score": f"mean score of {quote_if_ambiguous(model)}",
    }
    row_by_measure = {row["measure"]: row for row in changes if row["model"] == model}
    change_by_title = dict[str, Change]()
    for measure, title in titles.items():
        if measure in row_by_measure:
            row = row_by_measure[measure]
            old, new, difference = (as_estimate(row[name]) for name in ("old", "new", "difference"))
            change_by_title[title] = Change(old, new, difference, cell_value(row["p"]))
    if "prevalence" in change_by_title and change_by_title["prevalence"].significant(level):
        yield from rows_answer((), (), change_by_title, ((), ()), level)


def _nothing_compared_answer(trend: Trend) -> Iterator[Answer]:
    """Yield the sentence on different settings, or on nothing to compare with."""
    last_label = quote_if_ambiguous(trend.last)
    if trend.other_settings:
        text = f"The settings of {join_names(trend.other_settings)} at {last_label} differ from "
        text += "those before, so nothing is compared."
        yield Answer("other-settings", text, tuple(trend.other_settings))
    elif not trend.changes and not _models_without_reference(trend):
        text = f"There is no earlier label to compare {last_label} with."
        if any(line.label == trend.last for line in trend.accepted.values()):
            text = f"{last_label} is the accepted label, and there is no later label to compare."
        yield Answer("nothing-before", text)


def _models_without_reference(trend: Trend) -> list[str]:
    """Return the models whose earlier lines all missed a gate, and none of which is accepted."""
    return [
        name
        for name, lines in trend.series.items()
        if lines[-1].label == trend.last
        and len(lines) > 1
        and name not in trend.references
        and name not in trend.accepted
    ]


def _reference_answer(trend: Trend) -> Iterator[Answer]:
    """Yield the sentence on the reference where none is accepted, and how to accept one."""
    command = accept_command(trend.name, trend.command)
    failing_models = _models_without_reference(trend)
    if failing_models:
        subject = f" of {join_names(failing_models)}" if len(trend.series) > 1 else ""
        text = f"Every earlier line{subject} missed a gate, so none is the reference"
        yield Answer(
            "history-reference", f"{text}; accept one with {command}.", tuple(failing_models)
        )
        return
    excluded = {*trend.accepted, *trend.other_settings}
    models = [name for name in trend.references if name not in excluded]
    labels = dict.fromkeys(trend.references[name].label for name in models)
    if labels:
        text = f"No label is accepted, so the reference is {join_names([*labels])}, "
        text += "the first without a missed gate"
        yield Answer("history-reference", f"{text}; accept another with {command}.", tuple(models))


def _events_answer(events: Sequence[Row], labels: Sequence[str]) -> Iterator[Answer]:
    """Yield the sentence on labels at which rows changed, and on those at which models did."""
    row_change_labels = list(
        dict.fromkeys(row["label"] for row in events if row["changed"] == ROWS)
    )
    if (
        row_change_labels
        and len(row_change_labels) == len(labels) - 1
        and len(row_change_labels) > 1
    ):
        yield ROWS_DIFFER_EACH_LABEL
        return
    clauses = [f"The rows changed at {join_names(row_change_labels)}"] if row_change_labels else []
    model_events = [row for row in events if row["changed"] == MODEL]
    models = dict.fromkeys(row["model"] for row in model_events)
    for model in [*models][:3]:
        change_labels = [row["label"] for row in model_events if row["model"] == model]
        model_name = quote_if_ambiguous(model)
        clauses.append(f"{model_name} changed at {join_names(change_labels)} on unchanged rows")
    if clauses:
        yield Answer("events", f"{join_words(clauses)}.", tuple(models))


def _models_answer(trend: Trend) -> Iterator[Answer]:
    """Yield sentences on models with no line at the last label, or only there, or the same rows."""
    last_label, series = trend.last, trend.series
    gone_models = [name for name, lines in series.items() if lines[-1].label != last_label]
    has_several_labels = len(trend.labels) > 1
    new_models = [
        name
        for name, lines in series.items()
        if lines[0].label == last_label and has_several_labels
    ]
    for code, names, preposition in (("gone", gone_models, "at"), ("new", new_models, "before")):
        if names:
            verb = "has" if len(names) == 1 else "have"
            text = f"{join_names(names)} {verb} no line {preposition} "
            text += f"{quote_if_ambiguous(last_label)}."
            yield Answer(code, text, tuple(names))
    undecided_rows = [row for row in trend.compared if row["verdict"] == UNDECIDED]
    paired_models = [
        name
        for name in dict.fromkeys(row["model"] for row in undecided_rows)
        if same_rows(series[name][-1], trend.references[name])
    ]
    if paired_models:
        text = (
            "Both labels have the same rows: a paired comparison with the earlier table "
            f"({OPTION}--baseline TABLE{END}) has narrower intervals."
        )
        yield Answer("not-paired", text, tuple(paired_models))
