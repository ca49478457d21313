"""Sentences of tune-jpt: the best model of each population, and the ratios at which it leads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, isfinite
from typing import Any

import numpy as np

from clfeval.compare.change import BETTER, EQUIVALENT, UNDECIDED
from clfeval.document import Answer, Estimate, Row, Rows, as_estimate, comparable_rows, sort_value
from clfeval.formatting import (
    describe_ties,
    format_close,
    format_count,
    format_exact,
    format_share,
    join_names,
    quote_if_ambiguous,
    with_interval,
)
from clfeval.measures.catalog import CATALOG, measure_title
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import OutcomeCosts
from clfeval.methods.comparison_answer import reference_answers
from clfeval.methods.other_prevalences import prevalence_answer, prevalence_phrase
from clfeval.methods.tune_jpt.options import FULL_SWEEP
from clfeval.records import dataclass

MOST = 5  # sentences
TARGETS = 3  # populations with a sentence each
NAMES = 6  # in one sentence
TIE_TOLERANCE = 1e-9  # relative; closer values are equal
TURNS = 4  # changes of the lead that are listed
ACCURACY = "tar"  # does not lead where one prediction for all rows has a higher accuracy


def tune_answer(tables: Mapping[str, Rows], parameters: Mapping[str, Any]) -> tuple[Answer, ...]:
    """Return the best model by the measure compared, its predictive values, and where it leads.

    Predictive values come first where one prediction for all rows has a higher accuracy than every
    model. One model has predictive values only.
    """
    rows = comparable_rows(tables["models"])
    places: dict[object, list[Row]] = {}
    for row in rows:
        places.setdefault(row["odds"], []).append(row)
    told = TuneAnswers(tables, parameters, _compared_measure(rows[0], parameters))
    if len({row["model"] for row in rows}) > 1:
        said = [*told.best(list(places.values())[:TARGETS])]
        said += told.changes(told.short if said[0].code == "best-at" else told.title)
        if compared := tables.get("comparisons"):
            ties = ("not-significantly-different", "significantly-worse")
            first, *others = (one for one in said if one.code not in ties)
            said, to = [first], str(parameters["reference"])
            for lead in dict.fromkeys(str(row["measure"]) for row in compared):  # per population
                margin = (parameters["margin"] or {}).get(lead.partition(":")[0])
                said += reference_answers(compared, lead, to, margin, parameters["level"])
            said += others
    else:
        said = [
            answer
            for number, row in enumerate(rows[:TARGETS])
            for answer in told.usable([row], further=number > 0)
        ]
    return tuple(said[:MOST])


def _compared_measure(row: Row, parameters: Mapping[str, Any]) -> str | None:
    """Return the measure that compares models, or would compare them."""
    if parameters.get("compared_by") is not None:
        return str(parameters["compared_by"])
    known = [name for name, cell in row.items() if isinstance(cell, Estimate)]
    moving = [name for name in known if not CATALOG[name].invariant]
    wanted = [name for name in ("expected_cost", *moving, *known) if name in known]
    return next((name for name in wanted if CATALOG[name].best != "zero"), None)


@dataclass(frozen=True, slots=True)
class LeadingModels:
    """Best, tied and worse models at one class ratio; only: undefined for all other models."""

    names: tuple[str, ...]
    cell: Estimate
    tied: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    only: bool = False


@dataclass(frozen=True, slots=True)
class TuneAnswers:
    """Sentences from the tables; measure: the one that compares models."""

    tables: Mapping[str, Rows]
    parameters: Mapping[str, Any]
    measure: str | None

    @property
    def title(self) -> str:
        """The title of the measure."""
        name = str(self.measure)
        accuracy = name == ACCURACY
        return "accuracy (TAR)" if accuracy else measure_title(name, self.parameters.get("beta"))

    @property
    def short(self) -> str:
        """The title without its explanation."""
        return self.title.split(" (")[0]

    def best(self, places: Sequence[Sequence[Row]]) -> Iterator[Answer]:
        """Yield sentences on the best model of each population; first also predictive values.

        At a target prevalence that is the model of a report, unless a measure is named.
        """
        if self._leads_as_report(places):
            yield from self._report_model_answers(places)
            return
        for number, here in enumerate(places if self.measure is not None else ()):
            where, lead = prevalence_phrase(here[0]), self.lead(here)
            if lead is None:
                text = f"{where}, {self.title} is undefined for every model."
                yield Answer("no-leader", text, (), self.measure)
                continue
            constant = self._constant(here[0], lead.cell)
            if constant and self.measure == ACCURACY:
                yield from self.usable(here, further=number > 0)
                if not number:
                    yield self._constant_answer(here, constant)
                    yield from self._margin_answer(here)
                continue
            yield self._sentence(here, lead, constant, tail=number > 0)
            if number:
                continue
            if others := describe_ties(lead.tied, lead.worse, most=NAMES):
                code = "not-significantly-different" if lead.tied else "significantly-worse"
                yield Answer(code, others, lead.tied, self.measure)
            elif not (lead.only or len(lead.names) > 1):
                text = "This lead is not tested for significance."
                yield Answer("untested", text, (), self.measure)
            yield from self._margin_answer(here)
            if len(places) < TARGETS:
                alone = here[0]["population"] == "sample" and len(lead.names) == 1
                yield from self.usable(here, lead.names[0], further=alone)

    def _leads_as_report(self, places: Sequence[Sequence[Row]]) -> bool:
        """Return whether the model of a report leads: at a target, without a named measure."""
        is_target = bool(places) and places[0][0]["population"] == "target"
        names_measure = self.parameters.get("measure") or self.parameters.get("cost") is not None
        return is_target and self.parameters.get("led_by") is not None and not names_measure

    def _report_model_answers(self, places: Sequence[Sequence[Row]]) -> Iterator[Answer]:
        """Yield sentences on predictive values of the model of a report, and on its ties."""
        for number, rows in enumerate(places):
            yield from self.usable(rows, further=number > 0)
        yield from self._ties_answer()
        rows = places[0]
        lead = self.lead(rows)
        constant = "" if lead is None else self._constant(rows[0], lead.cell)
        if lead is not None and constant and self.measure == ACCURACY:
            if not self._has_net_benefit:  # which says more than the accuracy
                yield self._constant_answer(rows, constant)
        elif lead is not None and len(places) == 1:
            yield self._sentence(rows, lead, constant, tail=True)
        yield from self._margin_answer(rows)

    @property
    def _has_net_benefit(self) -> bool:
        """Whether the first sentence compares the net benefit with both defaults."""
        rows = [r for r in self.tables["at_prevalence"] if r["population"] == "target"]
        return bool(rows) and as_estimate(rows[0]["net_benefit"]).value is not None

    def _ties_answer(self) -> Iterator[Answer]:
        """Yield the sentence on the measure by which the model leads, and on its ties."""
        rows = self.tables.get("at_prevalence", ())
        rows = [row for row in rows if row["odds"] == rows[0]["odds"]]
        if len(rows) < 2:
            return
        name, title = str(rows[0]["model"]), CATALOG[str(self.parameters["led_by"])].title
        tested = [row for row in rows[1:] if row["tied"] is not None]
        tied = [str(row["model"]) for row in tested if row["tied"]]
        worse = [str(row["model"]) for row in tested if not row["tied"]]
        text = f"{quote_if_ambiguous(name)} has the highest {title}"
        ties = describe_ties(tied, worse, most=NAMES)
        text += f". {ties}" if ties else "; this lead is not tested for significance."
        yield Answer("leading-model", text, (name,), str(self.parameters["led_by"]))

    def _constant_answer(self, rows: Sequence[Row], constant: str) -> Answer:
        """Return the sentence on a constant prediction with a higher accuracy than every model."""
        cut = _common_threshold(rows)
        phrase = prevalence_phrase(rows[0])
        who = f"{phrase} and {cut}, no model" if cut else f"{phrase}, no model"
        text = f"{who} has a higher accuracy than {constant}."
        return Answer("constant-better", text, (), self.measure)

    def lead(self, here: Sequence[Row]) -> LeadingModels | None:
        """Return the leading models at the odds of these rows; None without any value."""
        values, row = self._values(here), self._winner_row(here)
        if row is None:
            names = _leading_models(values, self._sign)
            cells = {str(row["model"]): as_estimate(row.get(str(self.measure))) for row in here}
            return LeadingModels(names, cells[names[0]], only=len(values) == 1) if names else None
        if row["leader"] is None:
            return None
        names = _leading_models(values, self._sign) or (str(row["leader"]),)
        listed = row["tied"] if isinstance(row["tied"], list) else []
        judged = self.parameters.get("interval") != "none"
        others = [name for name in values if name not in names and judged]
        tied, worse = (
            tuple(name for name in others if (name in listed) == yes) for yes in (True, False)
        )
        first = next(one for one in here if one["model"] == names[0])
        cell = as_estimate(first.get(str(self.measure), row["value"]))
        only = not listed and row["winner"] is None
        return LeadingModels(names, cell, tied, worse, only or len(values) == 1)

    def _margin_answer(self, here: Sequence[Row]) -> Iterator[Answer]:
        """Yield the sentence that compares the leader with the other models by the margin."""
        contest = self._winner_row(here)
        margin = (self.parameters["margin"] or {}).get(self.measure)
        if margin is None or contest is None or contest.get("verdict") is None:
            return
        leader, kind = quote_if_ambiguous(str(contest["leader"])), contest["verdict"]
        alike, maybe = (
            [*map(str, names)] if isinstance(names := contest[name], list) else []
            for name in ("equivalent", "possibly_better")
        )
        what = f"{leader} is not worse than any other model by this margin"
        if kind == BETTER:
            least = contest["least_lead"]
            by_more = isinstance(least, float) and least > margin
            by = "by more than this margin" if by_more else "but possibly by less than this margin"
            what = f"{leader} is better than every other model, {by}"
        elif kind == UNDECIDED:
            whether = f"{join_names(maybe, most=NAMES, word='or')} is better than {leader}"
            what = f"it is undecided whether {whether} by this margin"
        if alike:
            are = "is" if len(alike) == 1 else "are"
            also = f"{join_names(alike, most=NAMES)} {are} equivalent to {leader}"
            what = also + ("" if kind == EQUIVALENT else f"; {what}")
        text = f"With a margin of {format_exact(margin)} in {self.short}, {what}."
        yield Answer("margin", text, tuple(alike), self.measure)

    def _winner_row(self, here: Sequence[Row]) -> Row | None:
        """Return the row of `winners` at the odds of these rows, from the sweep if need be."""
        found = [
            row
            for row in self.tables.get("winners", ())
            if row["slice"] is None and row["odds"] == here[0]["odds"]
        ]
        return min(found, key=lambda row: row["population"] == "sweep") if found else None

    @property
    def _sign(self) -> int:
        return -1 if CATALOG[str(self.measure)].best == "min" else 1

    @property
    def _most(self) -> str:
        return "lowest" if self._sign < 0 else "highest"

    def _values(self, rows: Sequence[Row]) -> dict[str, float]:
        sizes = {str(row["model"]): sort_value(row.get(str(self.measure))) for row in rows}
        return {name: size for name, size in sizes.items() if size is not None}

    def _sentence(
        self, here: Sequence[Row], lead: LeadingModels, constant: str, *, tail: bool
    ) -> Answer:
        names, cell = lead.names, lead.cell
        cut = f" and {cut}" if (cut := _common_threshold(here)) else ""
        where = f"{prevalence_phrase(here[0])}{cut}, "
        most = f"{self._most} {self.short if tail else self.title}"
        value = _with_limits(cell, self.parameters.get("level", 0.95))
        text = f"{where}{_who_has(names)} the {most}: {value}"
        if lead.only:
            text += "; it is undefined for the other models"
        elif tail and (others := describe_ties(lead.tied, lead.worse, most=NAMES)):
            begins = others.startswith(("The other ", "Every other "))
            first = others[0].lower() if begins else others[0]  # that of a name stays
            text += f"; {first}{others[1:].removesuffix('.')}"
        text += f"; {constant} is better" if constant else ""
        return Answer("best-at", f"{text}.", names, self.measure, cell.value, cell.low, cell.high)

    def _constant(self, row: Row, cell: Estimate) -> str:
        """Return the constant prediction that is better than the best model; empty if none is."""
        size, p = sort_value(cell), float(str(row["prevalence"]))
        cost, beta = self.parameters.get("cost"), self.parameters.get("beta")
        stakes = OutcomeCosts(**cost) if cost else None
        given = CATALOG[str(self.measure)].with_settings(beta=beta, stakes=stakes)
        constant = ((0.0, "negative"), (1.0, "positive")) if size is not None and p < 1 else ()
        for rate, answer in constant:
            with np.errstate(all="ignore"):
                value = float(given.function(Confusion.from_prevalence(rate, rate, p)))
            lead = self._sign * (value - (size or 0.0))
            if isfinite(value) and lead > TIE_TOLERANCE * max(1, abs(value)):
                return f"predicting every row {answer} ({format_close(value, 3)})"
        return ""

    def usable(
        self, here: Sequence[Row], name: str | None = None, *, further: bool = False
    ) -> Iterator[Answer]:
        """Yield the sentence on predictive values of a model, or the first, at its threshold.

        further: at another prevalence than that of the sentence before.
        """
        for row in self.tables.get("at_prevalence", ()):
            there = (row["odds"], row["population"]) == (here[0]["odds"], here[0]["population"])
            if there and name in (None, row["model"]):
                known = further and row["chosen_by"] is None  # the threshold is that of before
                yield prevalence_answer(row, self.parameters["level"], further=known)
                return

    def changes(self, by: str) -> Iterator[Answer]:
        """Yield the sentence on the leading models over the sweep; by: the name of the measure."""
        swept = [
            row
            for row in self.tables.get("winners", ())
            if row["slice"] is None and row["population"] == "sweep" and row["leader"] is not None
        ]
        runs = self._runs(swept)
        ends = [str(swept[i]["odds"]) for i in (0, -1)] if swept else []
        within = "" if ends == [*FULL_SWEEP.split("..")] else f" from {' to '.join(ends)}"
        if len(runs) == 1:
            names, count = runs[0][0], format_count(len(swept), "class ratio")
            text = f"{_who_has(names)} the {self._most} {by} at all {count}{within}"
            text += f"{self._significant(swept, names)}."
            yield Answer("leads-everywhere", text, names, self.measure)
        elif runs:
            most = self._most.replace("est", "er") if len(self._models) == 2 else self._most
            parts = [f"{_who_has(runs[0][0])} the {most} {by} below prevalence "]
            for (first, _), (second, row) in pairwise(runs):
                at = self._crossing(first[0], second[0], swept, row)
                parts[0] += at if len(parts) == 1 else ""
                parts.append(join_names(second) + (f" from {at}" if len(parts) > 1 else " above"))
            left = format_count(len(parts) - TURNS, "more time")
            parts[TURNS:] = [f"then the lead changes {left}"] if len(parts) > TURNS else []
            text = f"{', '.join(parts)}{within and f' ({within[1:]})'}{self._significant(swept)}."
            names = tuple(dict.fromkeys(name for run, _ in runs for name in run))
            yield Answer("lead-changes", text, names, self.measure)

    def _runs(self, swept: Sequence[Row]) -> list[tuple[tuple[str, ...], Row]]:
        """Return the leading models in order of the odds, each with its first row."""
        places: dict[object, list[Row]] = {}
        for row in self.tables.get("sweep", ()):
            if row["slice"] is None:
                places.setdefault(row["ratio"], []).append(row)
        runs: list[tuple[tuple[str, ...], Row]] = []
        for row in swept:
            values = self._values(places.get(row["ratio"], ()))
            ahead = _leading_models(values, self._sign) or (str(row["leader"]),)
            still = tuple(name for name in runs[-1][0] if name in ahead) if runs else ()
            if still:
                runs[-1] = still, runs[-1][1]
            else:
                runs.append((ahead, row))
        return runs

    def _significant(self, swept: Sequence[Row], names: Sequence[str] = ()) -> str:
        """Return the phrase on the number of ratios at which the lead is significant."""
        tied = [
            {*row["tied"]} - {*names} if isinstance(row["tied"], list) else set() for row in swept
        ]
        if self.parameters.get("interval") == "none" or self._models == {*names}:
            return ""
        if not any(tied) and not any(row["winner"] or row["tied"] for row in swept):
            return "; the measure is undefined for the other models"
        count = sum(not some for some in tied)
        if names:
            where = "at all" if count == len(swept) else f"at {count}"
            return f", significantly {where}" if count else ", never significantly"
        share = "all" if count == len(swept) else f"{count}"
        ratios = format_count(len(swept), "class ratio")
        if len(self._models) == 2 and not count:
            return f"; no difference is significant at any of {ratios}"
        what = "difference" if len(self._models) == 2 else "lead"
        return f"; the {what} is significant at {share} of {ratios}"

    @property
    def _models(self) -> set[Any]:
        return {row["model"] for row in self.tables["models"]}

    def _crossing(self, first: str, second: str, swept: Sequence[Row], after: Row) -> str:
        """Return the prevalence at which two models cross; else the next one of the sweep."""
        end = float(str(after["prevalence"]))
        start = max(p for row in swept if (p := float(str(row["prevalence"]))) < end)
        for row in self.tables.get("crossovers", ()):
            at, pair = as_estimate(row["crossing"]).value, (row["leads_below"], row["leads_above"])
            here = row["slice"] is None and pair == (first, second)
            if here and at is not None and start <= at <= end:
                return format_share(at)
        return format_share(end)


def _leading_models(values: Mapping[str, float], sign: int) -> tuple[str, ...]:
    """Return the models with the best value."""
    best = max((sign * value for value in values.values()), default=0.0)
    return tuple(
        name
        for name, value in values.items()
        if sign * value == best or best - sign * value <= TIE_TOLERANCE * abs(best) < inf
    )


def _who_has(names: Sequence[str]) -> str:
    """Return names with `has`, or `have` where there are several."""
    one = len(names) == 1
    return f"{quote_if_ambiguous(names[0])} has" if one else f"{join_names(names, most=NAMES)} have"


def _with_limits(cell: Estimate, level: float) -> str:
    """Return a value with its interval, infinite ones included."""

    def write(value: float, digits: int) -> str:
        return f"{'-' * (value < 0)}∞" if abs(value) == inf else format_close(value, digits)

    value, low, high = inf if cell.value is None else cell.value, cell.low, cell.high
    if low is not None or high is not None:  # a limit that is lacking is infinite
        low, high = (-inf if low is None else low), (inf if high is None else high)
    return with_interval(value, low, high, level, write)


def _common_threshold(rows: Sequence[Row]) -> str:
    """Return the threshold of all models in words, empty where there is none or they differ."""
    cuts = {row.get("threshold") for row in rows} - {None}
    return f"threshold {format_exact(float(str(*cuts)))}" if len(cuts) == 1 else ""
