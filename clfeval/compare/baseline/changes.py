"""A result compared with an earlier one: each change, and the sentences on what changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from clfeval.compare.baseline import read
from clfeval.compare.change import (
    BETTER,
    CHANGED,
    WORSE,
    Change,
    change_of_independent,
    comparison_row,
    shared_correlation,
)
from clfeval.compare.families import adjusted_fdr
from clfeval.compare.not_excluded import LargestHarm
from clfeval.document import Answer, Document, ResultNote
from clfeval.document.cells import (
    EMPTY_ROW,
    Cell,
    Estimate,
    Row,
    as_estimate,
    cell_number,
    cell_value,
)
from clfeval.errors import list_names
from clfeval.formatting import (
    format_count,
    format_number,
    format_p_value,
    format_rows,
    join_names,
    join_words,
    quote_if_ambiguous,
)
from clfeval.measures.catalog import CATALOG, equivalent_names
from clfeval.pages.schema import CHANGES, COMPARISONS
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field, replace

CHANGE_CODE, ROWS_CODE = "baseline", "baseline-rows"
SIGNIFICANT = (WORSE, BETTER, CHANGED)
# measures with their values, of the first verdict, and of each further one
MAX_FIRST_MEASURES, MAX_OTHER_MEASURES = 3, 1
MAX_MODELS = 2  # with their own sentence


def sentence_title(metric: str) -> str:
    """Return the title of a measure for sentences."""
    name = metric.partition(":")[0]
    return CATALOG[name].title if name in CATALOG else metric


def change_answers(
    rows: Sequence[Row],
    name: str,
    rows_phrase: str = "",
    lead: str | None = None,
    not_excluded: str = "",
) -> Iterator[Answer]:
    """Return sentences on significant changes of each model from a baseline.

    rows: of the table `comparisons`, the worst first. name: of the baseline; rows_phrase: on which
    rows. lead: the measure named where it did not change. not_excluded: the clause on the harm that
    intervals do not exclude where no measure changed.
    """
    tested_rows = [row for row in rows if row["p_adjusted"] is not None]
    opening = f"Compared with {name}{rows_phrase}"
    difference_values = [as_estimate(row["difference"]).value for row in rows]
    if not tested_rows:
        reason = (
            f"no model has a value in both; {OPTION}--join{END} compares models of several files"
        )
        if any(difference is not None for difference in difference_values):
            reason = "no intervals were computed"
        yield Answer(CHANGE_CODE, f"{opening}, nothing is tested: {reason}.")
        return
    models = [*dict.fromkeys(row["model"] for row in tested_rows)]
    significant_rows = [row for row in tested_rows if row["verdict"] in SIGNIFICANT]
    changed_models = [*dict.fromkeys(row["model"] for row in significant_rows)]
    if not changed_models:
        subject = join_names(models) if len(models) < 3 else f"{len(models)} models"
        outcome = f"all measures of {subject} are identical"
        if any(difference_values):
            tests_text = format_count(len(tested_rows), "adjusted test")
            outcome = f"no measure of {subject} changed significantly ({tests_text})"
            outcome += f"; a {not_excluded}" if not_excluded else ""
        yield Answer(CHANGE_CODE, f"{opening}, {outcome}.", measure=lead)
        return
    for index, model in enumerate(changed_models[:MAX_MODELS]):
        model_rows = [row for row in tested_rows if row["model"] == model]
        subject = quote_if_ambiguous(model) if index else f"{opening}, {quote_if_ambiguous(model)}"
        yield _model_answer(model_rows, subject, lead)
    yield from _further_models(
        changed_models[MAX_MODELS:],
        [unchanged_model for unchanged_model in models if unchanged_model not in changed_models],
    )


def _further_models(
    changed_models: Sequence[str], unchanged_models: Sequence[str]
) -> Iterator[Answer]:
    """Yield the sentence on models without a sentence of their own, if there are any."""
    clauses = [f"{join_names(changed_models)} also changed significantly"] if changed_models else []
    if unchanged_models:
        clauses.append(
            f"{join_names(unchanged_models)} did not change significantly in any measure"
        )
    if clauses:
        yield Answer(CHANGE_CODE, f"{'; '.join(clauses)}.", tuple(changed_models))


def _model_answer(rows: Sequence[Row], opening: str, lead_measure: str | None) -> Answer:
    """Return the sentence on the measures by which a model changed, the largest changes first."""
    first_rows = next(iter(_rows_by_verdict(rows).values()))
    difference = as_estimate(first_rows[0]["difference"])
    return Answer(
        CHANGE_CODE,
        _model_text(rows, opening, lead_measure, MAX_FIRST_MEASURES),
        (rows[0]["model"],),
        first_rows[0]["measure"],
        difference.value,
        difference.low,
        difference.high,
        brief=_model_text(rows, opening, lead_measure, MAX_OTHER_MEASURES),
        harm=first_rows[0]["verdict"] == WORSE,
    )


def _rows_by_verdict(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the significant changes by their verdict, those for the worse first."""
    rows_of_verdict = {
        verdict: [row for row in rows if row["verdict"] == verdict] for verdict in SIGNIFICANT
    }
    return {
        verdict: verdict_rows for verdict, verdict_rows in rows_of_verdict.items() if verdict_rows
    }


def _model_text(
    rows: Sequence[Row], opening: str, lead_measure: str | None, max_measures: int
) -> str:
    """Return the text on changes of a model.

    max_measures: how many measures of the first verdict are named with their values.
    """
    clauses: list[str] = []
    for verdict, verdict_rows in _rows_by_verdict(rows).items():
        measures: list[str] = []
        for row in verdict_rows[:max_measures]:
            old_text = format_number(as_estimate(row["old"]).value or 0.0)
            new_text = format_number(as_estimate(row["new"]).value or 0.0)
            p_text = format_p_value(cell_number(row["p_adjusted"]))
            measures.append(
                f"{sentence_title(str(row['measure']))} ({new_text}, was {old_text}, {p_text})"
            )
        if len(verdict_rows) > max_measures:
            measures.append(format_count(len(verdict_rows) - max_measures, "more measure"))
        clauses.append(f"{verdict} in {join_words(measures)}")
        max_measures = MAX_OTHER_MEASURES  # for each further verdict
    clauses[0] = f"{opening} is significantly {clauses[0]}"
    clauses += [
        f"{sentence_title(str(row['measure']))} did not change significantly"
        for row in rows
        if row["measure"] == lead_measure and row["verdict"] not in SIGNIFICANT
    ]
    return f"{'; '.join(clauses)}."


def rows_answer(
    sentences: Sequence[str],
    counts: Sequence[object],
    changes: Mapping[str, Change],
    classes: Sequence[Sequence[str]],
    level: float,
) -> Iterator[Answer]:
    """Return sentences on the change of rows, class shares and scores.

    sentences: on the choice of the baseline. counts, classes: of it, and now. changes: by name.
    """
    if sentences:
        yield Answer("baseline-choice", " ".join(f"{sentence}." for sentence in sentences))
    facts = []
    count_texts = [format_rows(count) for count in counts if isinstance(count, (int, float))]
    if len(count_texts) == 2:
        change_text = "as before" if count_texts[0] == count_texts[1] else f"was {count_texts[0]}"
        facts.append(f"{count_texts[1]} rows ({change_text})")
    facts += [
        _format_change(title, change, level)
        for title, change in changes.items()
        if change.difference.value is not None
    ]
    clauses = [f"The table has {join_words(facts)}"] if facts else []
    clauses += _class_changes(*classes)
    if clauses:
        title, change = next(iter(changes.items()))
        difference = change.difference
        yield Answer(
            ROWS_CODE,
            f"{'; '.join(clauses)}.",
            measure=title,
            value=difference.value,
            low=difference.low,
            high=difference.high,
        )


def _format_change(title: str, change: Change, level: float) -> str:
    """Write a value with the earlier one and the interval of the change."""
    difference = change.difference
    old_text, new_text = (format_number(value.value or 0.0) for value in (change.old, change.new))
    if not difference.value:
        return f"{title} {new_text} (as before)"
    interval_clause = ""
    if difference.low is not None and difference.high is not None:
        low_text = format_number(difference.low)
        high_text = format_number(difference.high)
        interval_clause = f", {100 * level:g}% CI of the change {low_text} to {high_text}"
        interval_clause = (
            ", not significant" if difference.low <= 0 <= difference.high else interval_clause
        )
    return f"{title} {new_text} (was {old_text}{interval_clause})"


def _class_changes(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the phrases on classes that are new, and on those that are missing."""
    phrases = []
    for classes, other_classes, description in ((new, old, "new"), (old, new, "missing")):
        unshared_names = [name for name in classes if name not in other_classes]
        if old and new and unshared_names:
            verb = "class {} is" if len(unshared_names) == 1 else "classes {} are"
            phrases.append(f"{verb.format(join_names(unshared_names))} {description}")
    return phrases


LEVEL = 0.95  # default of results without one
# by the share of positives
UNMOVED = ("roc_auc", "sensitivity", "specificity", "balanced_accuracy", "calibration_slope")
NOT_IN_BASELINE = Estimate(None, reason="not_in_baseline")
ChangeKey = tuple[str, str]  # model and measure


ValueKey = tuple[Cell, ...]  # model, measure and slice


def value_bounds(result: Document) -> dict[ValueKey, float]:
    """Return how far values can be from those of rows, where counts do not tell."""
    bounds: dict[ValueKey, float] = {}
    for row in result.tables.get("measures", ()):
        if bound := cell_value(row.get("bound")):
            bounds[row["model"], row["measure"], row["slice"]] = bound
    return bounds


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline result, and changes since then.

    earlier: its result. name: of the baseline; rows_phrase: rows of the comparison. names: former
    names of models. shared: changes on shared rows, by model, measure and slice. changes: rows
    newly wrong. bounds: of changes, by model, measure and slice, where counts do not tell them
    exactly. choice: why it is the baseline.
    """

    earlier: Document
    name: str
    rows_phrase: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    shared: Mapping[tuple[str, str, str | None], Change] = field(default_factory=dict)
    changes: Sequence[Row] = ()
    notes: tuple[ResultNote, ...] = ()
    level: float = LEVEL
    bounds: Mapping[ValueKey, float] = field(default_factory=dict)
    choice: str = ""

    @classmethod
    def from_results(
        cls, result: Document, earlier: read.EarlierResult, but: Collection[str] = (), **fields: Any
    ) -> Baseline:
        """Compare a result with an earlier one; UsageError where settings but `but` differ.

        A missing model and a new one with identical numbers are treated as one.
        """
        baseline, name, baseline_notes, choice = earlier
        notes = [*read.check_comparable(result, baseline, but)]
        old_rows = read.rows_by_label(baseline)
        new_rows = read.rows_by_label(result)
        names = _renamed_models(old_rows, new_rows)
        notes += _model_notes(old_rows, new_rows, names)
        return cls(
            baseline,
            name,
            names=names,
            notes=(*notes, *baseline_notes),
            level=result.parameters.get("level") or LEVEL,
            bounds=_summed_bounds(baseline, result, names),
            choice=choice,
            **fields,
        )

    def change(self, model: str, metric: str, new: Cell, slice_name: str | None = None) -> Change:
        """Return the change of a value from the baseline; slice_name: None for the whole table."""
        row = read.rows_by_label(self.earlier, slice_name).get(
            self.names.get(model, model), EMPTY_ROW
        )
        return self._change((model, metric, slice_name), row, new)

    def _change(self, key: tuple[str, str, str | None], row: Row, new: Cell) -> Change:
        if key in self.shared:
            return self.shared[key]
        metric = key[1]
        old = next((row[name] for name in equivalent_names(metric) if name in row), row.get(metric))
        old = NOT_IN_BASELINE if old is None else old
        bound = self.bounds.get(key, 0.0)
        return change_of_independent(old, new, level=self.level, bound=bound)

    def missing_models(
        self,
        metric: str,
        model: str | None,
        slice_name: str | None,
        present_models: Collection[str],
    ) -> list[str]:
        """Return the baseline's models with a measure that match a pattern, but no present ones."""
        former_names = {self.names.get(label, label) for label in present_models}
        return [
            label
            for label, row in read.rows_by_label(self.earlier, slice_name).items()
            if label not in former_names
            and not {*row}.isdisjoint(equivalent_names(metric))
            and (model is None or fnmatchcase(read.subject_name(row), model))
        ]

    def with_changes(self, result: Document) -> Document:
        """Return the result with its changes as rows of `comparisons`, sentences and notes."""
        old_rows = read.rows_by_label(self.earlier)
        new_rows = read.rows_by_label(result)
        rows = self._rows(old_rows, new_rows, result.command)
        tables = {**result.tables, COMPARISONS: [*result.tables.get(COMPARISONS, ()), *rows]}
        if self.changes:
            tables[CHANGES] = self.changes
        answers = sorted(result.answer, key=lambda answer: answer.code != "best")
        lead_measure = next(
            (answer.measure for answer in answers if answer.measure is not None), None
        )
        models = [model for answer in answers for model in answer.models if model in new_rows]
        leader = next(iter([*models, *new_rows]), "")
        old_row = old_rows.get(self.names.get(leader, leader), EMPTY_ROW)
        changes = self._changes_of_rows(result, leader, old_row, new_rows.get(leader, EMPTY_ROW))
        if changes["prevalence"].significant(self.level):  # what depends on it comes later
            rows = sorted(rows, key=lambda row: row["measure"] not in UNMOVED)
        sentences = [self.choice] if self.choice else []
        sentences += [
            f"T{note.message[1:]}" for note in self.notes if note.code == "baseline-same-rows"
        ]
        counts = [document.summary.get("rows") for document in (self.earlier, result)]
        classes = [_class_names(document) for document in (self.earlier, result)]
        answer = (
            *change_answers(
                rows,
                self.name,
                self.rows_phrase,
                lead_measure,
                self._not_excluded(rows, lead_measure, result.command),
            ),
            *rows_answer(sentences, counts, changes, classes, self.level),
            *result.answer,
        )
        warnings = tuple(dict.fromkeys((*result.warnings, *self.notes)))
        return replace(result, tables=tables, answer=answer, warnings=warnings)

    def _not_excluded(self, rows: Sequence[Row], lead_measure: str | None, command: str) -> str:
        """Return the clause on the largest harm by the leading measure that is not excluded."""
        tested_rows = [
            row for row in rows if row["measure"] == lead_measure and row["p_adjusted"] is not None
        ]
        direction = read.better_direction(command, lead_measure or "")
        harm = LargestHarm.from_differences(tested_rows, direction, self.level)
        return "" if harm is None else harm.sentence(sentence_title(lead_measure or ""))

    def _changes_of_rows(
        self, result: Document, leader: str, old_row: Row, new_row: Row
    ) -> dict[str, Change]:
        """Return the changes of the prevalence, and of the mean score of the leading model."""
        prevalence = self.shared.get((leader, "prevalence", None))
        if prevalence is None:
            prevalences = (_prevalence(self.earlier, old_row), _prevalence(result, new_row))
            prevalence = change_of_independent(*prevalences, level=self.level)
        mean_score = self._mean_score_change(result, leader, old_row, new_row)
        return {"prevalence": prevalence, f"mean score of {quote_if_ambiguous(leader)}": mean_score}

    def _mean_score_change(
        self, result: Document, leader: str, old_row: Row, new_row: Row
    ) -> Change:
        """Return the change of the mean score of all rows, also where changes are paired."""
        change = self._change((leader, "mean_score", None), old_row, new_row.get("mean_score"))
        if not change.paired or change.rows is None:
            return change
        sizes = [float(document.summary["rows"]) for document in (self.earlier, result)]
        if sizes == [change.rows, change.rows]:
            return change
        shared_fraction = min(1.0, change.rows / math.sqrt(math.prod(sizes)))
        correlation = shared_correlation(change, shared_fraction)
        return change_of_independent(
            old_row.get("mean_score"), new_row.get("mean_score"), level=self.level, rho=correlation
        )

    def _rows(self, old_rows: read.Labelled, new_rows: read.Labelled, command: str) -> list[Row]:
        """Return a row for each measure of each model, old and new, the worst change first."""
        former_names = {self.names.get(model, model) for model in new_rows}
        removed_models = [model for model in old_rows if model not in former_names]
        changes: dict[ChangeKey, Change] = {}
        for model in (*new_rows, *removed_models):
            old_row = old_rows.get(self.names.get(model, model), EMPTY_ROW)
            new_row = new_rows.get(model, EMPTY_ROW)
            for name in dict.fromkeys((*new_row, *old_row)):
                if isinstance(old_row.get(name), Estimate) or isinstance(
                    new_row.get(name), Estimate
                ):
                    changes[model, name] = self._change(
                        (model, name, None), old_row, new_row.get(name)
                    )
        return change_rows("baseline", changes, command, lambda _: (self.name, self.level))


def _renamed_models(old_rows: read.Labelled, new_rows: read.Labelled) -> dict[str, str]:
    """Return the former names of new models that have the numbers of one missing model."""
    missing_labels = [label for label in old_rows if label not in new_rows]
    old_name_of_model: dict[str, str] = {}
    for new_label in new_rows:
        if new_label in old_rows:
            continue
        identical_labels = [
            old_label
            for old_label in missing_labels
            if _identical_measures(old_rows[old_label], new_rows[new_label])
        ]
        if len(identical_labels) == 1 and identical_labels[0] not in old_name_of_model.values():
            old_name_of_model[new_label] = identical_labels[0]
    return old_name_of_model


def _model_notes(
    old_rows: read.Labelled, new_rows: read.Labelled, old_name_of_model: Mapping[str, str]
) -> list[ResultNote]:
    """Return the notes on renamed models, and on models of one of two results."""
    notes = []
    if old_name_of_model:
        pairs_text = list_names(
            [f"{new_name} was {old_name}" for new_name, old_name in old_name_of_model.items()]
        )
        text = f"models with identical numbers are treated as one: {pairs_text}"
        notes.append(ResultNote("baseline-renamed", text))
    models_of_title = {
        "models only in the baseline": sorted(
            {*old_rows} - {*new_rows} - {*old_name_of_model.values()}
        ),
        "models only in this result": [
            label for label in new_rows if label not in old_rows and label not in old_name_of_model
        ],
    }
    texts = [
        f"{title}: {list_names(labels)}" for title, labels in models_of_title.items() if labels
    ]
    if old_rows and texts:
        notes.append(ResultNote("baseline-models", "; ".join(texts)))
    return notes


def _summed_bounds(
    baseline: Document, result: Document, old_name_of_model: Mapping[str, str]
) -> dict[ValueKey, float]:
    """Return how far changes can be from those of rows; old_name_of_model: by the new name."""
    new_bounds = value_bounds(result)
    new_name_of_old = {old_name: new_name for new_name, old_name in old_name_of_model.items()}
    old_bounds = {
        (new_name_of_old.get(str(model), model), *key): bound
        for (model, *key), bound in value_bounds(baseline).items()
    }
    return {
        key: new_bounds.get(key, 0.0) + old_bounds.get(key, 0.0) for key in new_bounds | old_bounds
    }


def change_rows(
    kind: str,
    changes: Mapping[ChangeKey, Change],
    command: str,
    reference_and_level: Callable[[str], tuple[str, float]],
) -> list[Row]:
    """Return rows of `comparisons`, the worst change first.

    Measures of the first screen are adjusted by Benjamini and Hochberg's rule. kind: of the
    references. reference_and_level: what a model is compared with, and the level of its intervals.
    Order: measures of the first screen, then worse ones, then the largest changes.
    """
    screen_measures = read.tested_measures(command)
    tested_keys = [key for key in changes if key[1] in screen_measures]
    adjusted_changes = dict(
        zip(tested_keys, adjusted_fdr([changes[key] for key in tested_keys]), strict=True)
    )
    rows = []
    for (model, metric), change in {**changes, **adjusted_changes}.items():
        reference, level = reference_and_level(model)
        direction = read.better_direction(command, metric)
        rows.append(comparison_row(kind, metric, model, reference, change, level, best=direction))
    return sorted(rows, key=_severity)


def _severity(row: Row) -> tuple[bool, int, float]:
    """Return the sort key of a row of `comparisons`: see `change_rows`."""
    difference = as_estimate(row["difference"])
    relative_size = 0.0
    if difference.value and difference.low is not None and difference.high is not None:
        half_width = (
            difference.value - difference.low
            if difference.value > 0
            else difference.high - difference.value
        )
        relative_size = abs(difference.value) / half_width if half_width else math.inf
    verdict = row["verdict"]
    verdict_rank = SIGNIFICANT.index(str(verdict)) if verdict in SIGNIFICANT else len(SIGNIFICANT)
    return row["p_adjusted"] is None, verdict_rank, -relative_size


def _prevalence(result: Document, row: Row) -> Cell:
    """Return the share of positives, with its interval where the result has one."""
    if isinstance(row.get("prevalence"), Estimate):
        return row["prevalence"]
    row_count, positives = (result.summary.get(name) for name in ("rows", "positives"))
    return positives / row_count if row_count and isinstance(positives, (int, float)) else None


def _class_names(result: Document) -> list[str]:
    """Return the names of the classes of a result, as far as its parameters have them."""
    names = result.parameters.get("classes")
    if not names:
        names = [result.parameters.get("positive"), *result.parameters.get("negative", ())]
    return [str(name) for name in names if name is not None]


def _identical_measures(old: Row, new: Row) -> bool:
    """Return whether all measures of two models are exactly equal."""
    shared_measures = [name for name in new if isinstance(new[name], Estimate) and name in old]
    defined_measures = [
        name for name in shared_measures if as_estimate(new[name]).value is not None
    ]
    return len(defined_measures) > 1 and all(old[name] == new[name] for name in shared_measures)
