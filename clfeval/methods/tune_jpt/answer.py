"""What tune-jpt answers: who is best at each target, what that is worth, and where it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from clfeval.compare.change import BETTER, EQUIVALENT, UNDECIDED
from clfeval.measures.catalog import CATALOG, weighed
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import Stakes
from clfeval.methods.comparison_answer import comparison_answer
from clfeval.methods.predictive_values import at_place, prevalence_answer
from clfeval.result import Answer, Estimate, Row, Rows, estimate, side_by_side, size_of
from clfeval.words import between, close, exact, many, named, quoted, ties

MOST = 5  # sentences
TARGETS = 3  # populations spoken of
NAMES = 6  # said in one sentence
NEAR = 1e-9  # relative; closer values are one
TURNS = 4  # changes of the lead told one by one
TIES = ("not-significantly-different", "significantly-worse")  # sentences on other models
ACCURACY = "tar"  # says nothing of a model where one prediction for all rows is better


def tune_answer(tables: Mapping[str, Rows], parameters: Mapping[str, Any]) -> tuple[Answer, ...]:
    """Say who is best by the measure compared, what its predictions mean, and where the lead ends.

    Which others are not significantly different, and which are worse, is what table `winners` has.
    Where one prediction for all rows has a higher accuracy than every model, accuracy does not
    lead: what predictions mean comes first. Of one model it is all there is to say.
    """
    rows = side_by_side(tables["models"])
    places: dict[object, list[Row]] = {}
    for row in rows:
        places.setdefault(row["odds"], []).append(row)
    several = len({row["model"] for row in rows}) > 1
    told = Told(tables, parameters, _measure(rows[0], parameters))
    if several:
        said = [*told.best(list(places.values())[:TARGETS]), *told.changes()]
        if compared := tables.get("comparisons"):
            first, *others = (one for one in said if one.code not in TIES)
            said = [first, *_compared(compared, parameters), *others]
    else:
        said = [one for row in rows[:TARGETS] for one in told.usable([row])]
    return tuple(said[:MOST])


def _compared(rows: Rows, parameters: Mapping[str, Any]) -> Iterator[Answer]:
    """Say how models compare with the reference, at each place one sentence."""
    for lead in dict.fromkeys(str(row["measure"]) for row in rows):
        measure, to = lead.partition(":")[0], str(parameters["reference"])
        margin = (parameters["margin"] or {}).get(measure)
        yield from comparison_answer(rows, lead, to, margin, parameters["level"])


def _measure(row: Row, parameters: Mapping[str, Any]) -> str | None:
    """Return what models are compared by, or what would compare them."""
    if parameters.get("compared_by") is not None:
        return str(parameters["compared_by"])
    known = [name for name, cell in row.items() if isinstance(cell, Estimate)]
    moving = [name for name in known if not CATALOG[name].invariant]
    wanted = [name for name in ("expected_cost", *moving, *known) if name in known]
    return next((name for name in wanted if CATALOG[name].best != "zero"), None)


@dataclass(frozen=True, slots=True)
class Lead:
    """Who has the best value at one class ratio, alone of all; who is tied, who is worse."""

    names: tuple[str, ...]
    cell: Estimate
    tied: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    only: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """The tables, and the measure that decides."""

    tables: Mapping[str, Rows]
    parameters: Mapping[str, Any]
    measure: str | None

    @property
    def title(self) -> str:
        """The measure's name."""
        return weighed(str(self.measure), self.parameters.get("beta"))

    @property
    def short(self) -> str:
        """The same without an explanation."""
        return self.title.split(" (")[0]

    @property
    def judged(self) -> bool:
        """Whether differences have intervals."""
        return self.parameters.get("interval") != "none"

    def best(self, places: Sequence[Sequence[Row]]) -> Iterator[Answer]:
        """Say who is best at each target; of the first one also what to do."""
        for number, here in enumerate(places if self.measure is not None else ()):
            where, lead = at_place(here[0]), self.lead(here)
            if lead is None:
                text = f"{where} {self.title} is undefined for every model."
                yield Answer("no-leader", text, (), self.measure)
                continue
            constant = self._constant(here[0], lead.cell)
            if constant and self.measure == ACCURACY:
                yield from self.usable(here)
                if not number:
                    text = f"No model has a higher accuracy than {constant}."
                    yield Answer("constant-better", text, (), self.measure)
                    yield from self._that_matters(here)
                continue
            yield self._said(here, lead, constant, tail=number > 0)
            if number:
                continue
            if others := ties(lead.tied, lead.worse, most=NAMES):
                code = "not-significantly-different" if lead.tied else "significantly-worse"
                yield Answer(code, others, lead.tied, self.measure)
            elif not (lead.only or len(lead.names) > 1):
                text = "No test tells whether its lead is more than chance."
                yield Answer("untested", text, (), self.measure)
            yield from self._that_matters(here)
            if len(places) < TARGETS:
                yield from self.usable(here, lead.names[0])

    def lead(self, here: Sequence[Row]) -> Lead | None:
        """Return who leads at the odds of these rows; None where nobody has a value."""
        values, row = self._values(here), self._contest(here)
        if row is None:
            names = _first(values, self._sign)
            cells = {str(row["model"]): estimate(row.get(str(self.measure))) for row in here}
            return Lead(names, cells[names[0]], only=len(values) == 1) if names else None
        if row["leader"] is None:
            return None
        names = _first(values, self._sign) or (str(row["leader"]),)
        listed = row["tied"] if isinstance(row["tied"], list) else []
        others = [name for name in values if name not in names] if self.judged else []
        tied, worse = (tuple(name for name in others if (name in listed) == yes)
                       for yes in (True, False))  # fmt: skip
        first = next(one for one in here if one["model"] == names[0])
        cell = estimate(first.get(str(self.measure), row["value"]))
        only = not listed and row["winner"] is None
        return Lead(names, cell, tied, worse, only or len(values) == 1)

    def _that_matters(self, here: Sequence[Row]) -> Iterator[Answer]:
        """Say what is known of differences as large as matters, where somebody says how large."""
        contest = self._contest(here)
        margin = (self.parameters["margin"] or {}).get(self.measure)
        if margin is None or contest is None or contest.get("verdict") is None:
            return
        leader, kind = quoted(str(contest["leader"])), contest["verdict"]
        equal, open_ = (contest[name] for name in ("equivalent", "possibly_better"))
        alike = [str(name) for name in equal] if isinstance(equal, list) else []
        maybe = [str(name) for name in open_] if isinstance(open_, list) else []
        what = f"{leader} is not worse than any other by so much"
        if kind == BETTER:
            least = contest["least_lead"]
            by_more = isinstance(least, float) and least > margin
            by = "by more" if by_more else "perhaps by less"
            what = f"{leader} is better than each other, {by}"
        elif kind == UNDECIDED:
            what = f"{named(maybe, most=NAMES, word='or')} may be better than {leader} by so much"
        if alike:
            also = f"{named(alike, most=NAMES)} {'is' if len(alike) == 1 else 'are'} equivalent"
            what = f"{also} to {leader}" + ("" if kind == EQUIVALENT else f"; {what}")
        text = f"If {self.short} has to differ by {exact(margin)} to matter: {what}."
        yield Answer("margin", text, tuple(alike), self.measure)

    def _contest(self, here: Sequence[Row]) -> Row | None:
        """Return who leads at the odds of these rows; of the sweep where nobody asked for them."""
        found = [
            row for row in self.tables.get("winners", ())
            if row["slice"] is None and row["odds"] == here[0]["odds"]
        ]  # fmt: skip
        return min(found, key=lambda row: row["population"] == "sweep") if found else None

    @property
    def _sign(self) -> int:
        return -1 if CATALOG[str(self.measure)].best == "min" else 1

    def _values(self, rows: Sequence[Row]) -> dict[str, float]:
        sizes = {str(row["model"]): size_of(row.get(str(self.measure))) for row in rows}
        return {name: size for name, size in sizes.items() if size is not None}

    def _said(self, here: Sequence[Row], lead: Lead, constant: str, *, tail: bool) -> Answer:
        names, cell = lead.names, lead.cell
        best = self.short if tail else self.title
        text = f"{at_place(here[0])} {_with_verb(names)} the best {best}, {_with_ends(cell)}"
        if lead.only:
            text += ", the only one that is defined"
        elif tail and (others := ties(lead.tied, lead.worse, most=NAMES)):
            text += f"; {_inside(others)}"
        text += f"; better is {constant}" if constant else ""
        return Answer("best-at", f"{text}.", names, self.measure, cell.value, cell.low, cell.high)

    def _constant(self, row: Row, cell: Estimate) -> str:
        """Say which prediction for all rows is better than the best model, where one is."""
        size, p = size_of(cell), float(str(row["prevalence"]))
        if size is None or p >= 1:
            return ""
        cost = self.parameters.get("cost")
        stakes = Stakes(**cost) if cost else None
        given = CATALOG[str(self.measure)].given(beta=self.parameters.get("beta"), stakes=stakes)
        for rate, answer in ((0.0, "negative"), (1.0, "positive")):
            with np.errstate(all="ignore"):
                value = float(given.function(Confusion.of_prevalence(rate, rate, p)))
            if np.isfinite(value) and self._sign * (value - size) > NEAR * max(1, abs(value)):
                return f"predicting every row {answer} ({close(value, 3)})"
        return ""

    def usable(self, here: Sequence[Row], name: str | None = None) -> Iterator[Answer]:
        """Say what predictions of a model mean at its best usable threshold.

        Without a name those of the first model of the table.
        """
        for row in self.tables.get("at_prevalence", ()):
            there = (row["odds"], row["population"]) == (here[0]["odds"], here[0]["population"])
            if there and name in (None, row["model"]):
                yield prevalence_answer(row, self.parameters["level"])
                return

    def changes(self) -> Iterator[Answer]:
        """Say who leads from where on over the sweep."""
        swept = [
            row for row in self.tables.get("winners", ())
            if row["slice"] is None and row["population"] == "sweep" and row["leader"] is not None
        ]  # fmt: skip
        runs = self._runs(swept)
        if len(runs) == 1:
            names = runs[0][0]
            ends = f"from {swept[0]['odds']} to {swept[-1]['odds']}"
            text = f"{_with_verb(names)} the best {self.short} at all ratios looked at {ends}"
            text += f"{self._significant(swept, names)}."
            yield Answer("leads-everywhere", text, names, self.measure)
        elif runs:
            parts = [f"first that of {named(runs[0][0])}"]
            for (first, _), (second, row) in pairwise(runs):
                at = self._crossing(first[0], second[0], swept, row)
                parts.append(f"from prevalence {at} that of {named(second)}")
            left = len(parts) - TURNS
            parts[TURNS:] = [f"then {many(left, 'more change')}"] if left > 0 else []
            ends = f"From {swept[0]['odds']} to {swept[-1]['odds']}"
            text = f"{ends} the best {self.short} is {', '.join(parts)}{self._significant(swept)}."
            names = tuple(dict.fromkeys(name for run, _ in runs for name in run))
            yield Answer("lead-changes", text, names, self.measure)

    def _runs(self, swept: Sequence[Row]) -> list[tuple[tuple[str, ...], Row]]:
        """Return who leads, one after the other, with the first row each leads in."""
        places: dict[object, list[Row]] = {}
        for row in self.tables.get("sweep", ()):
            if row["slice"] is None:
                places.setdefault(row["ratio"], []).append(row)
        runs: list[tuple[tuple[str, ...], Row]] = []
        for row in swept:
            values = self._values(places.get(row["ratio"], ()))
            ahead = _first(values, self._sign) or (str(row["leader"]),)
            still = tuple(name for name in runs[-1][0] if name in ahead) if runs else ()
            if still:
                runs[-1] = still, runs[-1][1]
            else:
                runs.append((ahead, row))
        return runs

    def _significant(self, swept: Sequence[Row], names: Sequence[str] = ()) -> str:
        """Say at how many ratios every model but those that lead is significantly worse."""
        tied = [{*row["tied"]} - {*names} if isinstance(row["tied"], list) else set()
                for row in swept]  # fmt: skip
        if not self.judged or {row["model"] for row in self.tables["models"]} == {*names}:
            return ""
        if not any(tied) and not any(row["winner"] or row["tied"] for row in swept):
            return ", the only one that is defined"
        count = sum(not some for some in tied)
        share = {0: "none", len(swept): "all"}.get(count, f"{count}")
        worse = "every other model is significantly worse"
        return f"; {worse} at {share} of the {many(len(swept), 'ratio')}"

    def _crossing(self, first: str, second: str, swept: Sequence[Row], after: Row) -> str:
        """Return the prevalence where two change places; else the first one swept after it."""
        end = float(str(after["prevalence"]))
        start = max(p for row in swept if (p := float(str(row["prevalence"]))) < end)
        for row in self.tables.get("crossovers", ()):
            at, pair = estimate(row["crossing"]).value, (row["leads_below"], row["leads_above"])
            here = row["slice"] is None and pair == (first, second)
            if here and at is not None and start <= at <= end:
                return exact(at)
        return exact(end)


def _inside(text: str) -> str:
    """Write a sentence as a part of another one; it may begin with a name."""
    inside = text.removesuffix(".")
    begins = inside.startswith(("The other ", "Every other "))
    return inside[0].lower() + inside[1:] if begins else inside


def _first(values: Mapping[str, float], sign: int) -> tuple[str, ...]:
    """Return who has the best value: several where they have one."""
    if not values:
        return ()
    best = max(sign * value for value in values.values())
    return tuple(
        name for name, value in values.items()
        if sign * value == best or best - sign * value <= NEAR * abs(best) < inf
    )  # fmt: skip


def _with_verb(names: Sequence[str]) -> str:
    """Write names with the verb."""
    if len(names) == 1:
        return f"{quoted(names[0])} has"
    return f"{named(names, most=NAMES)} have"


def _with_ends(cell: Estimate) -> str:
    """Write a value with its interval, infinite ones included."""
    if cell.value is not None:
        return between(cell.value, cell.low, cell.high, close)
    return "∞" if cell.low is None else f"∞ [{close(cell.low, 3)}, ∞]"
