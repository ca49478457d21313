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
    harms = [*_point_answers(trend, (WORSE,))]
    others = [*_point_answers(trend, (CHANGED, BETTER))][: 1 if harms else None]
    reference = [*_reference_answer(trend)]
    room = MAX_SENTENCES - len(harms) - len(others) - len(reference)
    last_label = [*_last_label_answers(trend)][: max(room, 1)]
    is_worse = any(
        row["verdict"] == WORSE and row["p_adjusted"] is not None for row in trend.compared
    )
    answer = [*harms, *last_label, *others] if is_worse else [*harms, *others, *last_label]
    answer += _nothing_compared_answer(trend)
    answer += _events_answer(trend.events, trend.labels)
    answer += _models_answer(trend)
    return (*answer[: MAX_SENTENCES - len(reference)], *reference)


def _point_answers(trend: Trend, verdicts: Collection[str]) -> Iterator[Answer]:
    """Yield sentences on the change points of some verdicts, of a few models each.

    Changes without a direction of a model that became worse are counted in its sentence.
    """
    harmed = {point.model for point in trend.points if point.verdict == WORSE}
    positions: dict[tuple[str, str], list[int]] = {}
    for verdict in verdicts:
        for position, point in enumerate(trend.points):
            is_counted = verdict == CHANGED and point.model in harmed
            if point.verdict == verdict and not is_counted:
                positions.setdefault((verdict, point.model), []).append(position)
    for verdict, model in [*positions][:MODELS]:
        yield _point_answer(trend, positions[verdict, model])
    remaining: dict[str, list[str]] = {}
    for verdict, model in [*positions][MODELS:]:
        remaining.setdefault(OUTCOMES[verdict], []).append(model)
    for outcome, models in remaining.items():
        harm = outcome == OUTCOMES[WORSE]
        text = f"{join_names(models)} also {outcome} in the history."
        yield Answer("since", text, (*models,), harm=harm)


def _point_answer(trend: Trend, positions: Sequence[int]) -> Answer:
    """Return the sentence on change points of a model, with the values of one measure.

    positions: of the points, of one verdict. The measure is the leading one if it changed, else the
    most significant.
    """
    lead = trend.order[0] if trend.order else ""
    position = min(positions, key=lambda position: trend.points[position].measure != lead)
    point = trend.points[position]
    model = f" of {quote_if_ambiguous(point.model)}" if len(trend.series) > 1 else ""
    text = f"{_capitalized(sentence_title(point.measure))}{model} {_movement(point)}"
    difference = point.change.difference
    return Answer(
        "since",
        f"{text}{_cause(trend, position)}.{_further_facts(trend, point, len(positions) - 1)}",
        (point.model,),
        point.measure,
        difference.value,
        difference.low,
        difference.high,
        harm=point.verdict == WORSE,
    )


def _cause(trend: Trend, position: int) -> str:
    """Return the words on what else changed at a change point.

    That the rows changed is left out where they change at each label.
    """
    cause = trend.causes[position]
    labels = {row["label"] for row in trend.events if row["changed"] == ROWS}
    if cause == ROWS and len(labels) == len(trend.labels) - 1:
        return ""
    return WHY.get(cause, f", where {cause} changed" if cause else "")


def _further_facts(trend: Trend, point: ChangePoint, number: int) -> str:
    """Return a sentence on a number of measures with the same verdict, and a later acceptance."""
    outcomes = {OUTCOMES[str(point.verdict)]: number}
    if point.verdict == WORSE:
        verdicts = [member.verdict for member in trend.points if member.model == point.model]
        outcomes[OUTCOMES[CHANGED]] = verdicts.count(CHANGED)
    parts = [
        f"{outcome} in {format_count(count, 'more measure')}"
        for outcome, count in outcomes.items()
        if count
    ]
    facts = [f"the model also {join_words(parts)}"] if parts else []
    labels = trend.labels[trend.labels.index(point.since.label) :]
    accepted = trend.accepted.get(point.model)
    if accepted is not None and accepted.label in labels:
        facts.append(f"label {quote_if_ambiguous(accepted.label)} is accepted")
    return f" {_capitalized('; '.join(facts))}." if facts else ""


def _movement(point: ChangePoint) -> str:
    """Return the words on a change: `fell from 0.82 (W1 to W4) to 0.66 at W5 (p <0.001)`."""
    aim = direction(point.measure, better_direction(point.since.command, point.measure))
    target = AIMS.get(aim)
    verb = "rose" if (point.change.difference.value or 0.0) > 0 else "fell"
    if target is not None:
        verb = {WORSE: f"moved away from {target}:", BETTER: f"moved towards {target}:"}.get(
            str(point.verdict), "changed"
        )
    first, until = (quote_if_ambiguous(line.label) for line in (point.first, point.until))
    labels = first if first == until else f"{first} to {until}"
    quality = f"{point.verdict}, " if aim == "min" and point.verdict in (WORSE, BETTER) else ""
    old, new = (format_number(x or 0.0) for x in (point.change.old.value, point.value))
    p = format_p_value(point.change.adjusted or 0.0)
    since = quote_if_ambiguous(point.since.label)
    return f"{verb} from {old} ({labels}) to {new} at {since} ({quality}{p})"


def _capitalized(title: str) -> str:
    """Return a title with a capital, but for Greek letters."""
    return f"{title[:1].upper()}{title[1:]}" if title[:1].isascii() else title


def _last_label_answers(trend: Trend) -> Iterator[Answer]:
    """Yield sentences on the changes of the last label from its references.

    A model that did not change from there, but has a change point, has none.
    """
    changed_before = {point.model for point in trend.points}
    compared = trend.compared
    changed_now = {
        row["model"]
        for row in compared
        if row["p_adjusted"] is not None and row["verdict"] in SIGNIFICANT
    }
    rows = [
        row for row in compared if row["model"] in changed_now or row["model"] not in changed_before
    ]
    if not rows:
        return
    labels = dict[str, None]()
    for row in rows:
        accepted = trend.accepted.get(row["model"])
        label = cell_text(row["reference"])
        mark = " (accepted)" if accepted is not None and accepted.label == label else ""
        labels[f"{quote_if_ambiguous(label)}{mark}"] = None
    level = trend.series[rows[0]["model"]][0].level or LEVEL
    prevalence = [*_prevalence_answer(rows, level)]
    if prevalence:  # measures that depend on prevalence come later
        rows.sort(key=lambda row: row["measure"] not in UNMOVED)
    lead = trend.order[0] if trend.order else None
    if lead in {point.measure for point in trend.points}:
        lead = None
    yield from change_answers(rows, join_words([*labels]), lead=lead)
    if not changed_now and not trend.points:
        yield from _not_excluded_answer(trend, rows)
    yield from prevalence


def _not_excluded_answer(trend: Trend, rows: Sequence[Row]) -> Iterator[Answer]:
    """Yield the sentence on the largest harm by the leading measure that is not excluded.

    It is that of the simultaneous intervals of all models.
    """
    lead = trend.order[0] if trend.order else ""
    tested = [row for row in rows if row["measure"] == lead and row["p_adjusted"] is not None]
    is_changed = any(as_estimate(row["difference"]).value for row in rows)
    if not tested or not is_changed:
        return
    level = trend.series[tested[0]["model"]][-1].level or LEVEL
    harm = LargestHarm.from_differences(tested, better_direction(trend.command, lead), level)
    if harm is not None:
        text = f"A {harm.sentence(sentence_title(lead))} ({100 * level:g}% CI)."
        value = -harm.size if harm.word == "drop" else harm.size
        yield Answer("not-excluded", text, (harm.model,), lead, value)


def _prevalence_answer(changes: Sequence[Row], level: float) -> Iterator[Answer]:
    """Yield the sentence on prevalence and mean score, if prevalence changed significantly."""
    model = changes[0]["model"]
    titles = {
        "prevalence": "prevalence",
        "mean_score": f"mean score of {quote_if_ambiguous(model)}",
    }
    rows = {row["measure"]: row for row in changes if row["model"] == model}
    change_by_title = dict[str, Change]()
    for measure, title in titles.items():
        if measure in rows:
            row = rows[measure]
            old, new, difference = (as_estimate(row[name]) for name in ("old", "new", "difference"))
            change_by_title[title] = Change(old, new, difference, cell_value(row["p"]))
    if "prevalence" in change_by_title and change_by_title["prevalence"].significant(level):
        yield from rows_answer((), (), change_by_title, ((), ()), level)


def _nothing_compared_answer(trend: Trend) -> Iterator[Answer]:
    """Yield the sentence on different settings, or on nothing to compare with."""
    last = quote_if_ambiguous(trend.last)
    if trend.other_settings:
        text = f"The settings of {join_names(trend.other_settings)} at {last} differ from "
        text += "those before, so nothing is compared."
        yield Answer("other-settings", text, tuple(trend.other_settings))
    elif not trend.changes and not _models_without_reference(trend):
        text = f"There is no earlier label to compare {last} with."
        if any(line.label == trend.last for line in trend.accepted.values()):
            text = f"{last} is the accepted label, and there is no later label to compare."
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
    failing = _models_without_reference(trend)
    if failing:
        subject = f" of {join_names(failing)}" if len(trend.series) > 1 else ""
        text = f"Every earlier line{subject} missed a gate, so none is the reference"
        yield Answer("history-reference", f"{text}; accept one with {command}.", tuple(failing))
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
    rows = list(dict.fromkeys(row["label"] for row in events if row["changed"] == ROWS))
    if rows and len(rows) == len(labels) - 1 and len(rows) > 1:
        yield ROWS_DIFFER_EACH_LABEL
        return
    parts = [f"The rows changed at {join_names(rows)}"] if rows else []
    model_events = [row for row in events if row["changed"] == MODEL]
    models = dict.fromkeys(row["model"] for row in model_events)
    for model in [*models][:3]:
        changed_at = [row["label"] for row in model_events if row["model"] == model]
        name = quote_if_ambiguous(model)
        parts.append(f"{name} changed at {join_names(changed_at)} on unchanged rows")
    if parts:
        yield Answer("events", f"{join_words(parts)}.", tuple(models))


def _models_answer(trend: Trend) -> Iterator[Answer]:
    """Yield sentences on models with no line at the last label, or only there, or the same rows."""
    last, series = trend.last, trend.series
    gone = [name for name, lines in series.items() if lines[-1].label != last]
    several = len(trend.labels) > 1
    new = [name for name, lines in series.items() if lines[0].label == last and several]
    for code, names, preposition in (("gone", gone, "at"), ("new", new, "before")):
        if names:
            verb = "has" if len(names) == 1 else "have"
            text = f"{join_names(names)} {verb} no line {preposition} {quote_if_ambiguous(last)}."
            yield Answer(code, text, tuple(names))
    undecided = [row for row in trend.compared if row["verdict"] == UNDECIDED]
    paired = [
        name
        for name in dict.fromkeys(row["model"] for row in undecided)
        if same_rows(series[name][-1], trend.references[name])
    ]
    if paired:
        text = (
            "Both labels have the same rows: a paired comparison with the earlier table "
            f"({OPTION}--baseline TABLE{END}) has narrower intervals."
        )
        yield Answer("not-paired", text, tuple(paired))
