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

CODE, ROWS_CODE = "baseline", "baseline-rows"
SIGNIFICANT = (WORSE, BETTER, CHANGED)
SPELT_OUT, SPELT_OUT_TOO = 3, 1  # measures with their values, of the first kind, of others
MODELS = 2  # with their own sentence


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
    tested = [row for row in rows if row["p_adjusted"] is not None]
    start = f"Compared with {name}{rows_phrase}"
    differences = [as_estimate(row["difference"]).value for row in rows]
    if not tested:
        reason = (
            f"no model has a value in both; {OPTION}--join{END} compares models of several files"
        )
        if any(difference is not None for difference in differences):
            reason = "no intervals were computed"
        yield Answer(CODE, f"{start}, nothing is tested: {reason}.")
        return
    models = [*dict.fromkeys(row["model"] for row in tested)]
    significant = [row for row in tested if row["verdict"] in SIGNIFICANT]
    changed = [*dict.fromkeys(row["model"] for row in significant)]
    if not changed:
        subject = join_names(models) if len(models) < 3 else f"{len(models)} models"
        text = f"all measures of {subject} are identical"
        if any(differences):
            tests = format_count(len(tested), "adjusted test")
            text = f"no measure of {subject} changed significantly ({tests})"
            text += f"; a {not_excluded}" if not_excluded else ""
        yield Answer(CODE, f"{start}, {text}.", (), lead)
        return
    for i, model in enumerate(changed[:MODELS]):
        model_rows = [row for row in tested if row["model"] == model]
        subject = quote_if_ambiguous(model) if i else f"{start}, {quote_if_ambiguous(model)}"
        yield _model_answer(model_rows, subject, lead)
    yield from _further_models(changed[MODELS:], [m for m in models if m not in changed])


def _further_models(changed: Sequence[str], unchanged: Sequence[str]) -> Iterator[Answer]:
    """Yield the sentence on models without a sentence of their own, if there are any."""
    parts = [f"{join_names(changed)} also changed significantly"] if changed else []
    if unchanged:
        parts.append(f"{join_names(unchanged)} did not change significantly in any measure")
    if parts:
        yield Answer(CODE, f"{'; '.join(parts)}.", tuple(changed))


def _model_answer(rows: Sequence[Row], start: str, lead: str | None) -> Answer:
    """Return the sentence on the measures by which a model changed, the largest changes first."""
    first = next(rows for rows in _rows_by_verdict(rows).values())
    d = as_estimate(first[0]["difference"])
    return Answer(
        CODE,
        _model_text(rows, start, lead, SPELT_OUT),
        (rows[0]["model"],),
        first[0]["measure"],
        d.value,
        d.low,
        d.high,
        brief=_model_text(rows, start, lead, SPELT_OUT_TOO),
        harm=first[0]["verdict"] == WORSE,
    )


def _rows_by_verdict(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the significant changes by their verdict, those for the worse first."""
    by_verdict = {kind: [row for row in rows if row["verdict"] == kind] for kind in SIGNIFICANT}
    return {kind: changes for kind, changes in by_verdict.items() if changes}


def _model_text(rows: Sequence[Row], start: str, lead: str | None, most: int) -> str:
    """Return the text on changes of a model; most: so many of the first verdict with values."""
    clauses: list[str] = []
    for verdict, verdict_rows in _rows_by_verdict(rows).items():
        measures: list[str] = []
        for row in verdict_rows[:most]:
            old = format_number(as_estimate(row["old"]).value or 0.0)
            new = format_number(as_estimate(row["new"]).value or 0.0)
            p = format_p_value(cell_number(row["p_adjusted"]))
            measures.append(f"{sentence_title(str(row['measure']))} ({new}, was {old}, {p})")
        if len(verdict_rows) > most:
            measures.append(format_count(len(verdict_rows) - most, "more measure"))
        clauses.append(f"{verdict} in {join_words(measures)}")
        most = SPELT_OUT_TOO
    clauses[0] = f"{start} is significantly {clauses[0]}"
    clauses += [
        f"{sentence_title(str(row['measure']))} did not change significantly"
        for row in rows
        if row["measure"] == lead and row["verdict"] not in SIGNIFICANT
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
    sizes = [format_rows(count) for count in counts if isinstance(count, (int, float))]
    if len(sizes) == 2:
        text = "as before" if sizes[0] == sizes[1] else f"was {sizes[0]}"
        facts.append(f"{sizes[1]} rows ({text})")
    facts += [
        _format_change(title, change, level)
        for title, change in changes.items()
        if change.difference.value is not None
    ]
    parts = [f"The table has {join_words(facts)}"] if facts else []
    parts += _class_changes(*classes)
    if parts:
        title, change = next(iter(changes.items()))
        d = change.difference
        yield Answer(ROWS_CODE, f"{'; '.join(parts)}.", (), title, d.value, d.low, d.high)


def _format_change(title: str, change: Change, level: float) -> str:
    """Write a value with the earlier one and the interval of the change."""
    d = change.difference
    old, new = (format_number(value.value or 0.0) for value in (change.old, change.new))
    if not d.value:
        return f"{title} {new} (as before)"
    interval = ""
    if d.low is not None and d.high is not None:
        low = format_number(d.low)
        high = format_number(d.high)
        interval = f", {100 * level:g}% CI of the change {low} to {high}"
        interval = ", not significant" if d.low <= 0 <= d.high else interval
    return f"{title} {new} (was {old}{interval})"


def _class_changes(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the phrases on classes that are new, and on those that are missing."""
    phrases = []
    for classes, compared, word in ((new, old, "new"), (old, new, "missing")):
        names = [name for name in classes if name not in compared]
        if old and new and names:
            verb = "class {} is" if len(names) == 1 else "classes {} are"
            phrases.append(f"{verb.format(join_names(names))} {word}")
    return phrases


LEVEL = 0.95  # default of results without one
# by the share of positives
UNMOVED = ("roc_auc", "sensitivity", "specificity", "balanced_accuracy", "calibration_slope")
NOT_THERE = Estimate(None, reason="not_in_baseline")
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

    def change(self, label: str, metric: str, now: Cell, part: str | None = None) -> Change:
        """Return the change of a value from the baseline; part: of a slice."""
        row = read.rows_by_label(self.earlier, part).get(self.names.get(label, label), EMPTY_ROW)
        return self._change((label, metric, part), row, now)

    def _change(self, key: tuple[str, str, str | None], row: Row, now: Cell) -> Change:
        if key in self.shared:
            return self.shared[key]
        metric = key[1]
        old = next((row[name] for name in equivalent_names(metric) if name in row), row.get(metric))
        old = NOT_THERE if old is None else old
        bound = self.bounds.get(key, 0.0)
        return change_of_independent(old, now, level=self.level, bound=bound)

    def missing_models(
        self, metric: str, model: str | None, part: str | None, present: Collection[str]
    ) -> list[str]:
        """Return the baseline's models with a measure that match a pattern, except `present`."""
        former_names = {self.names.get(label, label) for label in present}
        return [
            label
            for label, row in read.rows_by_label(self.earlier, part).items()
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
        lead = next((answer.measure for answer in answers if answer.measure is not None), None)
        models = [model for answer in answers for model in answer.models if model in new_rows]
        leader = next(iter([*models, *new_rows]), "")
        old = old_rows.get(self.names.get(leader, leader), EMPTY_ROW)
        changes = self._changes_of_rows(result, leader, old, new_rows.get(leader, EMPTY_ROW))
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
                lead,
                self._not_excluded(rows, lead, result.command),
            ),
            *rows_answer(sentences, counts, changes, classes, self.level),
            *result.answer,
        )
        warnings = tuple(dict.fromkeys((*result.warnings, *self.notes)))
        return replace(result, tables=tables, answer=answer, warnings=warnings)

    def _not_excluded(self, rows: Sequence[Row], lead: str | None, command: str) -> str:
        """Return the clause on the largest harm by the leading measure that is not excluded."""
        tested = [row for row in rows if row["measure"] == lead and row["p_adjusted"] is not None]
        best = read.better_direction(command, lead or "")
        harm = LargestHarm.from_differences(tested, best, self.level)
        return "" if harm is None else harm.sentence(sentence_title(lead or ""))

    def _changes_of_rows(
        self, result: Document, leader: str, old: Row, new: Row
    ) -> dict[str, Change]:
        """Return the changes of the prevalence, and of the mean score of the leading model."""
        prevalence = self.shared.get((leader, "prevalence", None))
        if prevalence is None:
            prevalences = (_prevalence(self.earlier, old), _prevalence(result, new))
            prevalence = change_of_independent(*prevalences, level=self.level)
        mean = self._mean_score_change(result, leader, old, new)
        return {"prevalence": prevalence, f"mean score of {quote_if_ambiguous(leader)}": mean}

    def _mean_score_change(self, result: Document, leader: str, old: Row, new: Row) -> Change:
        """Return the change of the mean score of all rows, also where changes are paired."""
        change = self._change((leader, "mean_score", None), old, new.get("mean_score"))
        if not change.paired or change.rows is None:
            return change
        sizes = [float(document.summary["rows"]) for document in (self.earlier, result)]
        if sizes == [change.rows, change.rows]:
            return change
        share = min(1.0, change.rows / math.sqrt(math.prod(sizes)))
        correlation = shared_correlation(change, share)
        return change_of_independent(
            old.get("mean_score"), new.get("mean_score"), level=self.level, rho=correlation
        )

    def _rows(self, old_rows: read.Labelled, new_rows: read.Labelled, command: str) -> list[Row]:
        """Return a row for each measure of each model, old and new, the worst change first."""
        former_names = {self.names.get(model, model) for model in new_rows}
        removed = [model for model in old_rows if model not in former_names]
        changes: dict[ChangeKey, Change] = {}
        for model in (*new_rows, *removed):
            old = old_rows.get(self.names.get(model, model), EMPTY_ROW)
            new = new_rows.get(model, EMPTY_ROW)
            for name in dict.fromkeys((*new, *old)):
                if isinstance(old.get(name), Estimate) or isinstance(new.get(name), Estimate):
                    changes[model, name] = self._change((model, name, None), old, new.get(name))
        return change_rows("baseline", changes, command, lambda _: (self.name, self.level))


def _renamed_models(old_rows: read.Labelled, new_rows: read.Labelled) -> dict[str, str]:
    """Return the former names of new models that have the numbers of one missing model."""
    missing = [label for label in old_rows if label not in new_rows]
    names: dict[str, str] = {}
    for label in new_rows:
        if label in old_rows:
            continue
        identical = [old for old in missing if _identical_measures(old_rows[old], new_rows[label])]
        if len(identical) == 1 and identical[0] not in names.values():
            names[label] = identical[0]
    return names


def _model_notes(
    old_rows: read.Labelled, new_rows: read.Labelled, names: Mapping[str, str]
) -> list[ResultNote]:
    """Return the notes on renamed models, and on models of one of two results."""
    notes = []
    if names:
        pairs = list_names([f"{new} was {old}" for new, old in names.items()])
        text = f"models with identical numbers are treated as one: {pairs}"
        notes.append(ResultNote("baseline-renamed", text))
    sides = {
        "models only in the baseline": sorted({*old_rows} - {*new_rows} - {*names.values()}),
        "models only in this result": [
            label for label in new_rows if label not in old_rows and label not in names
        ],
    }
    texts = [f"{title}: {list_names(labels)}" for title, labels in sides.items() if labels]
    if old_rows and texts:
        notes.append(ResultNote("baseline-models", "; ".join(texts)))
    return notes


def _summed_bounds(
    baseline: Document, result: Document, names: Mapping[str, str]
) -> dict[ValueKey, float]:
    """Return how far changes can be from those of rows; names: former ones, by model."""
    new_bounds = value_bounds(result)
    new_names = {old: new for new, old in names.items()}
    old_bounds = {
        (new_names.get(str(model), model), *key): bound
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
    screen = read.tested_measures(command)
    tested = [key for key in changes if key[1] in screen]
    adjusted = dict(zip(tested, adjusted_fdr([changes[key] for key in tested]), strict=True))
    rows = []
    for (model, metric), change in {**changes, **adjusted}.items():
        reference, level = reference_and_level(model)
        best = read.better_direction(command, metric)
        rows.append(comparison_row(kind, metric, model, reference, change, level, best=best))
    return sorted(rows, key=_severity)


def _severity(row: Row) -> tuple[bool, int, float]:
    """Return the sort key of a row of `comparisons`: see `change_rows`."""
    d = as_estimate(row["difference"])
    size = 0.0
    if d.value and d.low is not None and d.high is not None:
        half_width = d.value - d.low if d.value > 0 else d.high - d.value
        size = abs(d.value) / half_width if half_width else math.inf
    verdict = row["verdict"]
    rank = SIGNIFICANT.index(str(verdict)) if verdict in SIGNIFICANT else len(SIGNIFICANT)
    return row["p_adjusted"] is None, rank, -size


def _prevalence(result: Document, row: Row) -> Cell:
    """Return the share of positives, with its interval where the result has one."""
    if isinstance(row.get("prevalence"), Estimate):
        return row["prevalence"]
    rows, positives = (result.summary.get(name) for name in ("rows", "positives"))
    return positives / rows if rows and isinstance(positives, (int, float)) else None


def _class_names(result: Document) -> list[str]:
    """Return the names of the classes of a result, as far as its parameters have them."""
    names = result.parameters.get("classes")
    if not names:
        names = [result.parameters.get("positive"), *result.parameters.get("negative", ())]
    return [str(name) for name in names if name is not None]


def _identical_measures(old: Row, new: Row) -> bool:
    """Return whether all measures of two models are exactly equal."""
    shared = [name for name in new if isinstance(new[name], Estimate) and name in old]
    defined = [name for name in shared if as_estimate(new[name]).value is not None]
    return len(defined) > 1 and all(old[name] == new[name] for name in shared)
