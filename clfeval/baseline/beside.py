"""A result beside one that was: each change in a table, what decides in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from clfeval.baseline.compare import (
    BETTER,
    GONE,
    MOVED,
    NEW,
    OPEN,
    SAME,
    WORSE,
    Shift,
    best_of,
    labelled,
    moved_between,
    name_of,
    verdict,
)
from clfeval.baseline.read import check_comparable
from clfeval.errors import listing
from clfeval.measures.catalog import CATALOG, same_measure
from clfeval.result import Answer, Cell, Estimate, Result, Row, Warn, estimate
from clfeval.schema import BASELINE, CHANGES
from clfeval.words import between, many, named, quoted

SENTENCES = 5  # of an answer, at most
LEAST = ("resolution", "same-answers")  # of an answer, left out first


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was: a result, and what more is known of the changes since.

    name: what it is called. names: what models of today were called then. paired: changes on the
    same rows, by model, measure and slice. rows: how many rows those are. changes: the rows that
    are newly wrong. counts: how many are newly right and newly wrong, by model. gone: models
    of then that are not there today.
    """

    before: Result
    name: str = "the baseline"
    names: Mapping[str, str] = field(default_factory=dict)
    paired: Mapping[tuple[str, str, str | None], Shift] = field(default_factory=dict)
    rows: int | None = None
    changes: Sequence[Row] = ()
    counts: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[Warn, ...] = ()
    gone: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, result: Result, before: Result, name: str = "the baseline",
        but: Collection[str] = (), **more: Any,
    ) -> Baseline:  # fmt: skip
        """Put a result beside what was; raises UsageError where settings differ.

        but: settings that may. A model that is gone, and one that is new with every number alike,
        are taken for one.
        """
        notes = [*check_comparable(result, before, but)]
        was, is_ = labelled(before), labelled(result)
        gone, new = ([one for one in mine if one not in other]
                     for mine, other in ((was, is_), (is_, was)))  # fmt: skip
        names: dict[str, str] = {}
        for label in new:
            alike = [one for one in gone if _alike(was[one], is_[label])]
            if len(alike) == 1 and alike[0] not in names.values():
                names[label] = alike[0]
        if names:
            pairs = listing([f"{new} was {old}" for new, old in names.items()])
            text = f"models with other names and the same numbers are taken for one: {pairs}"
            notes.append(Warn("baseline-renamed", text))
        gone = sorted(one for one in gone if one not in names.values())
        new = [one for one in new if one not in names]
        sides = {"models of the baseline that are gone": gone, "models that it has not": new}
        if was and (said := [f"{what}: {listing(some)}" for what, some in sides.items() if some]):
            notes.append(Warn("baseline-models", "; ".join(said)))
        notes += more.pop("notes", ())
        return cls(before, name, names, notes=tuple(notes), gone=tuple(gone), **more)

    def moved(self, label: str, metric: str, now: Cell, part: str | None = None) -> Shift:
        """Return how far a value moved; part: of a slice."""
        if (label, metric, part) in self.paired:
            return self.paired[label, metric, part]
        row = labelled(self.before, part).get(self.names.get(label, label), {})
        there = next((name for name in same_measure(metric) if name in row), metric)
        return moved_between(row.get(there), now)

    def gone_of(self, metric: str, model: str | None, part: str | None) -> list[str]:
        """Return the models that had a measure and are gone; model: those that a pattern fits."""
        rows = labelled(self.before, part)
        return [
            one for one in self.gone
            if not {*rows.get(one, ())}.isdisjoint(same_measure(metric))
            and (model is None or fnmatchcase(name_of(rows[one]), model))
        ]  # fmt: skip

    def of_summary(self, metric: str, now: float) -> Shift:
        """Return how far a number of the whole table moved."""
        return moved_between(self.before.summary.get(metric), now)

    def shown(self, result: Result) -> Result:
        """Return the result with the tables of changes, a sentence of its answer, and notes."""
        rows = [*self._rows(result)]
        tables = {**result.tables, BASELINE: rows}
        if self.changes:
            tables[CHANGES] = self.changes
        first, *others = result.answer or (None,)
        said = [one for one in (first, *self._answer(result, rows), *others) if one is not None]
        for code in LEAST:
            if len(said) > SENTENCES:
                said = [one for one in said if one.code != code]
        warnings = (*result.warnings, *self.notes)
        return replace(result, tables=tables, answer=tuple(said[:SENTENCES]), warnings=warnings)

    def _rows(self, result: Result) -> Iterator[Row]:
        """Yield each model's measures then and now, the change, its interval and a verdict."""
        before, now = labelled(self.before), labelled(result)
        was = {new: old for old, new in ((self.names.get(one, one), one) for one in now)}
        gone = [one for one in before if one not in was.values()]
        for model in (*now, *gone):
            old, new = before.get(was.get(model, model), {}), now.get(model, {})
            for name in dict.fromkeys((*new, *old)):
                if not any(isinstance(one.get(name), Estimate) for one in (old, new)):
                    continue
                moved = self.paired.get((model, name, None)) or _estimated(
                    old.get(name), new.get(name)
                )
                yield {
                    "model": model, "measure": name, "old": moved.old, "new": moved.new,
                    "change": moved.change, "verdict": _said(moved, best_of(result, name)),
                    "paired": moved.paired,
                }  # fmt: skip

    def _answer(self, result: Result, rows: Sequence[Row]) -> Iterator[Answer]:
        """Say who changed by the measure that decides, and whether that may be chance."""
        measures = {str(row["measure"]) for row in rows}
        lead = next((one.measure for one in result.answer if one.measure in measures), None)
        if lead is None:
            lead = next(iter(dict.fromkeys(str(row["measure"]) for row in rows)), None)
        mine = [row for row in rows if row["measure"] == lead]
        if lead is None or not mine:
            return
        title = CATALOG[lead].title if lead in CATALOG else lead
        by: dict[str, list[Row]] = {}
        for row in mine:
            by.setdefault(str(row["verdict"]), []).append(row)
        parts = [self._moved(by[word], word) for word in (WORSE, BETTER, MOVED) if word in by]
        for word, says in ((OPEN, "cannot be told from before"), (SAME, "as before")):
            if word in by:
                some = [str(row["model"]) for row in by[word]]
                is_ = "is " if len(some) == 1 else "are "
                parts.append(f"{named(some)} {is_ * (word == SAME)}{says}")
        others = sum(len(some) for word, some in by.items()
                     if word not in (WORSE, BETTER, MOVED, OPEN, SAME))  # fmt: skip
        if others:
            parts.append(f"{many(others, 'model')} cannot be compared")
        rows_of = "unpaired (by each estimate's own interval)"
        if any(row["paired"] for row in mine):
            rows_of = "on the same rows" if self.rows is None else f"on the same {self.rows:,} rows"
        text = f"Beside {self.name}, {rows_of}, by {title}: {'; '.join(parts)}."
        changed = next((by[word] for word in (WORSE, BETTER, MOVED) if word in by), ())
        most = max((estimate(row["change"]) for row in changed), default=Estimate(None),
                   key=lambda one: abs(one.value or 0.0))  # fmt: skip
        models = tuple(str(row["model"]) for word in (WORSE, BETTER) for row in by.get(word, ()))
        yield Answer("baseline", text, models, lead, most.value, most.low, most.high)

    def _moved(self, rows: Sequence[Row], word: str) -> str:
        """Say which models changed, and of the one that changed most by how much, in which rows."""
        most = max(rows, key=lambda row: abs(estimate(row["change"]).value or 0.0))
        model, change = str(most["model"]), estimate(most["change"])
        text = f"{quoted(model)} is {word}"
        if change.value is not None:
            text += f", {between(change.value, change.low, change.high)}"
        if most["paired"] and model in self.counts:
            right, wrong = self.counts[model]
            text += f" ({wrong:,.10g} rows newly wrong, {right:,.10g} newly right)"
        others = [str(row["model"]) for row in rows if row is not most]
        are = "is" if len(others) == 1 else "are"
        return f"{text}, and {named(others)} {are} {word} too" if others else text


def _alike(old: Row, new: Row) -> bool:
    """Tell whether every measure of two models is the same, to the last digit."""
    both = [name for name in new if isinstance(new[name], Estimate) and name in old]
    known = [name for name in both if estimate(new[name]).value is not None]
    return len(known) > 1 and all(old[name] == new[name] for name in both)


def _estimated(old: Cell, new: Cell) -> Shift:
    """Return how far an estimate moved; nothing where one of the two is none."""
    if isinstance(old, Estimate) and isinstance(new, Estimate):
        return moved_between(old, new)
    nothing = Estimate(None, reason="not_in_both")
    was, is_ = (one if isinstance(one, Estimate) else nothing for one in (old, new))
    return Shift(was, is_, nothing)


def _said(moved: Shift, best: str) -> str:
    """Return the verdict; of what is in one of the two only, which."""
    there = [estimate(one).reason != "not_in_both" for one in (moved.old, moved.new)]
    if all(there):
        return verdict(moved, best)
    return NEW if there[1] else GONE
