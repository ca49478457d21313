"""Sentences of tune-jpt: the best model of each population, and the ratios at which it leads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, isfinite
from typing import Any

import numpy as np

from clfeval.compare.change import BETTER, EQUIVALENT, UNDECIDED
from clfeval.document import Answer, comparable_rows
from clfeval.document.cells import (
    Cell,
    Estimate,
    Row,
    Rows,
    as_estimate,
    cell_number,
    cell_text,
    sort_value,
)
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
    rows_by_odds: dict[object, list[Row]] = {}
    for row in rows:
        rows_by_odds.setdefault(row["odds"], []).append(row)
    sentences = TuneAnswers(tables, parameters, _compared_measure(rows[0], parameters))
    if len({row["model"] for row in rows}) > 1:
        answers = [*sentences.population_answers(list(rows_by_odds.values())[:TARGETS])]
        title = sentences.short_title if answers[0].code == "best-at" else sentences.title
        answers += sentences.lead_change_answers(title)
        if compared := tables.get("comparisons"):
            ties = ("not-significantly-different", "significantly-worse")
            first, *others = (answer for answer in answers if answer.code not in ties)
            answers = [first, *_reference_answers(compared, parameters), *others]
    else:
        answers = [
            answer
            for number, row in enumerate(rows[:TARGETS])
            for answer in sentences.predictive_value_answers([row], further=number > 0)
        ]
    return tuple(answers[:MOST])


def _reference_answers(compared: Rows, parameters: Mapping[str, Any]) -> Iterator[Answer]:
    """Yield the sentences on models compared with the reference, population by population."""
    reference = str(parameters["reference"])
    for measure in dict.fromkeys(row["measure"] for row in compared):
        margin = (parameters["margin"] or {}).get(measure.partition(":")[0])
        yield from reference_answers(compared, measure, reference, margin, parameters["level"])


def _compared_measure(row: Row, parameters: Mapping[str, Any]) -> str | None:
    """Return the measure that compares models, or would compare them."""
    if parameters.get("compared_by") is not None:
        return str(parameters["compared_by"])
    measures = [name for name, cell in row.items() if isinstance(cell, Estimate)]
    moving = [name for name in measures if not CATALOG[name].invariant]
    candidates = [name for name in ("expected_cost", *moving, *measures) if name in measures]
    return next((name for name in candidates if CATALOG[name].best != "zero"), None)


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
    def short_title(self) -> str:
        """The title without its explanation."""
        return self.title.split(" (")[0]

    def population_answers(self, populations: Sequence[Sequence[Row]]) -> Iterator[Answer]:
        """Yield sentences on the best model of each population; first also predictive values.

        At a target prevalence that is the model of a report, unless a measure is named.
        populations: the rows of the models in each.
        """
        if self._leads_as_report(populations):
            yield from self._report_model_answers(populations)
            return
        for number, rows in enumerate(populations if self.measure is not None else ()):
            lead = self.lead(rows)
            if lead is None:
                text = f"{prevalence_phrase(rows[0])}, {self.title} is undefined for every model."
                yield Answer("no-leader", text, (), self.measure)
                continue
            constant = self._better_constant(rows[0], lead.cell)
            if constant and self.measure == ACCURACY:
                yield from self.predictive_value_answers(rows, further=number > 0)
                if not number:
                    yield self._constant_answer(rows, constant)
                    yield from self._margin_answer(rows)
                continue
            yield self._best_model_answer(rows, lead, constant, tail=number > 0)
            if number:
                continue
            if ties := describe_ties(lead.tied, lead.worse, most=NAMES):
                code = "not-significantly-different" if lead.tied else "significantly-worse"
                yield Answer(code, ties, lead.tied, self.measure)
            elif not (lead.only or len(lead.names) > 1):
                text = "This lead is not tested for significance."
                yield Answer("untested", text, (), self.measure)
            yield from self._margin_answer(rows)
            if len(populations) < TARGETS:
                is_single = rows[0]["population"] == "sample" and len(lead.names) == 1
                yield from self.predictive_value_answers(rows, lead.names[0], further=is_single)

    def _leads_as_report(self, populations: Sequence[Sequence[Row]]) -> bool:
        """Return whether the model of a report leads: at a target, without a named measure."""
        is_target = bool(populations) and populations[0][0]["population"] == "target"
        names_measure = self.parameters.get("measure") or self.parameters.get("cost") is not None
        return is_target and self.parameters.get("led_by") is not None and not names_measure

    def _report_model_answers(self, populations: Sequence[Sequence[Row]]) -> Iterator[Answer]:
        """Yield sentences on predictive values of the model of a report, and on its ties."""
        for number, rows in enumerate(populations):
            yield from self.predictive_value_answers(rows, further=number > 0)
        yield from self._ties_answer()
        rows = populations[0]
        lead = self.lead(rows)
        constant = "" if lead is None else self._better_constant(rows[0], lead.cell)
        if lead is not None and constant and self.measure == ACCURACY:
            if not self._has_net_benefit:  # which says more than the accuracy
                yield self._constant_answer(rows, constant)
        elif lead is not None and len(populations) == 1:
            yield self._best_model_answer(rows, lead, constant, tail=True)
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
        name = rows[0]["model"]
        title = CATALOG[str(self.parameters["led_by"])].title
        tested = [row for row in rows[1:] if row["tied"] is not None]
        tied = [row["model"] for row in tested if row["tied"]]
        worse = [row["model"] for row in tested if not row["tied"]]
        text = f"{quote_if_ambiguous(name)} has the highest {title}"
        ties = describe_ties(tied, worse, most=NAMES)
        text += f". {ties}" if ties else "; this lead is not tested for significance."
        yield Answer("leading-model", text, (name,), str(self.parameters["led_by"]))

    def _constant_answer(self, rows: Sequence[Row], constant: str) -> Answer:
        """Return the sentence on a constant prediction with a higher accuracy than every model."""
        threshold = _common_threshold(rows)
        phrase = prevalence_phrase(rows[0])
        who = f"{phrase} and {threshold}, no model" if threshold else f"{phrase}, no model"
        text = f"{who} has a higher accuracy than {constant}."
        return Answer("constant-better", text, (), self.measure)

    def lead(self, rows: Sequence[Row]) -> LeadingModels | None:
        """Return the leading models at the odds of these rows; None without any value."""
        values = self._values(rows)
        contest = self._winner_row(rows)
        if contest is None:
            names = _leading_models(values, self._sign)
            cells = {row["model"]: as_estimate(row.get(str(self.measure))) for row in rows}
            return LeadingModels(names, cells[names[0]], only=len(values) == 1) if names else None
        if contest["leader"] is None:
            return None
        names = _leading_models(values, self._sign) or (cell_text(contest["leader"]),)
        tied_names = contest["tied"] if isinstance(contest["tied"], list) else []
        is_tested = self.parameters.get("interval") != "none"
        others = [name for name in values if name not in names and is_tested]
        tied = tuple(name for name in others if name in tied_names)
        worse = tuple(name for name in others if name not in tied_names)
        leader_row = next(row for row in rows if row["model"] == names[0])
        cell = as_estimate(leader_row.get(str(self.measure), contest["value"]))
        only = not tied_names and contest["winner"] is None
        return LeadingModels(names, cell, tied, worse, only or len(values) == 1)

    def _margin_answer(self, rows: Sequence[Row]) -> Iterator[Answer]:
        """Yield the sentence that compares the leader with the other models by the margin."""
        contest = self._winner_row(rows)
        margin = (self.parameters["margin"] or {}).get(self.measure)
        if margin is None or contest is None or contest.get("verdict") is None:
            return
        leader = quote_if_ambiguous(cell_text(contest["leader"]))
        verdict = contest["verdict"]
        equivalent = _names_in(contest["equivalent"])
        claim = f"{leader} is not worse than any other model by this margin"
        if verdict == BETTER:
            least_lead = contest["least_lead"]
            by_more = isinstance(least_lead, float) and least_lead > margin
            by = "by more than this margin" if by_more else "but possibly by less than this margin"
            claim = f"{leader} is better than every other model, {by}"
        elif verdict == UNDECIDED:
            rivals = join_names(_names_in(contest["possibly_better"]), most=NAMES, word="or")
            claim = f"it is undecided whether {rivals} is better than {leader} by this margin"
        if equivalent:
            are = "is" if len(equivalent) == 1 else "are"
            equivalence = f"{join_names(equivalent, most=NAMES)} {are} equivalent to {leader}"
            claim = equivalence + ("" if verdict == EQUIVALENT else f"; {claim}")
        text = f"With a margin of {format_exact(margin)} in {self.short_title}, {claim}."
        yield Answer("margin", text, tuple(equivalent), self.measure)

    def _winner_row(self, rows: Sequence[Row]) -> Row | None:
        """Return the row of `winners` at the odds of these rows, from the sweep if need be."""
        winners = [
            row
            for row in self.tables.get("winners", ())
            if row["slice"] is None and row["odds"] == rows[0]["odds"]
        ]
        return min(winners, key=lambda row: row["population"] == "sweep") if winners else None

    @property
    def _sign(self) -> int:
        return -1 if CATALOG[str(self.measure)].best == "min" else 1

    @property
    def _superlative(self) -> str:
        return "lowest" if self._sign < 0 else "highest"

    def _values(self, rows: Sequence[Row]) -> dict[str, float]:
        sizes = {row["model"]: sort_value(row.get(str(self.measure))) for row in rows}
        return {name: size for name, size in sizes.items() if size is not None}

    def _best_model_answer(
        self, rows: Sequence[Row], lead: LeadingModels, constant: str, *, tail: bool
    ) -> Answer:
        names = lead.names
        cell = lead.cell
        threshold = _common_threshold(rows)
        opening = prevalence_phrase(rows[0]) + (f" and {threshold}" if threshold else "")
        most = f"{self._superlative} {self.short_title if tail else self.title}"
        value = _with_limits(cell, self.parameters.get("level", 0.95))
        text = f"{opening}, {_who_has(names)} the {most}: {value}"
        if lead.only:
            text += "; it is undefined for the other models"
        elif tail:
            text += _ties_clause(describe_ties(lead.tied, lead.worse, most=NAMES))
        text += f"; {constant} is better" if constant else ""
        return Answer("best-at", f"{text}.", names, self.measure, cell.value, cell.low, cell.high)

    def _better_constant(self, row: Row, cell: Estimate) -> str:
        """Return the constant prediction that is better than the best model; empty if none is."""
        size = sort_value(cell)
        p = cell_number(row["prevalence"])
        cost = self.parameters.get("cost")
        stakes = OutcomeCosts(**cost) if cost else None
        measure = CATALOG[str(self.measure)].with_settings(
            beta=self.parameters.get("beta"), stakes=stakes
        )
        predictions = ((0.0, "negative"), (1.0, "positive")) if size is not None and p < 1 else ()
        for rate, label in predictions:
            with np.errstate(all="ignore"):
                value = float(measure.function(Confusion.from_prevalence(rate, rate, p)))
            lead = self._sign * (value - (size or 0.0))
            if isfinite(value) and lead > TIE_TOLERANCE * max(1, abs(value)):
                return f"predicting every row {label} ({format_close(value, 3)})"
        return ""

    def predictive_value_answers(
        self, rows: Sequence[Row], name: str | None = None, *, further: bool = False
    ) -> Iterator[Answer]:
        """Yield the sentence on predictive values of a model, or the first, at its threshold.

        further: at another prevalence than that of the sentence before.
        """
        population = (rows[0]["odds"], rows[0]["population"])
        for row in self.tables.get("at_prevalence", ()):
            is_population = (row["odds"], row["population"]) == population
            if is_population and name in (None, row["model"]):
                is_further = further and row["chosen_by"] is None  # the threshold is that of before
                yield prevalence_answer(row, self.parameters["level"], further=is_further)
                return

    def lead_change_answers(self, title: str) -> Iterator[Answer]:
        """Yield the sentence on the leading models over the sweep; title: of the measure."""
        swept = [
            row
            for row in self.tables.get("winners", ())
            if row["slice"] is None and row["population"] == "sweep" and row["leader"] is not None
        ]
        runs = self._runs(swept)
        range_odds = [str(swept[i]["odds"]) for i in (0, -1)] if swept else []
        is_full = range_odds == [*FULL_SWEEP.split("..")]
        range_phrase = "" if is_full else f"from {' to '.join(range_odds)}"
        if len(runs) == 1:
            names = runs[0][0]
            count = format_count(len(swept), "class ratio")
            text = f"{_who_has(names)} the {self._superlative} {title} at all {count}"
            text += f" {range_phrase}" if range_phrase else ""
            text += f"{self._significance_phrase(swept, names)}."
            yield Answer("leads-everywhere", text, names, self.measure)
        elif runs:
            clauses = self._change_clauses(runs, swept, title)
            text = ", ".join(clauses) + (f" ({range_phrase})" if range_phrase else "")
            text += f"{self._significance_phrase(swept)}."
            names = tuple(dict.fromkeys(name for run, _ in runs for name in run))
            yield Answer("lead-changes", text, names, self.measure)

    def _change_clauses(
        self, runs: Sequence[tuple[tuple[str, ...], Row]], swept: Sequence[Row], title: str
    ) -> list[str]:
        """Return a clause for each run of leading models, with the prevalences between them."""
        most = (
            self._superlative.replace("est", "er") if len(self._models) == 2 else self._superlative
        )
        clauses = [f"{_who_has(runs[0][0])} the {most} {title} below prevalence "]
        for (first, _), (second, row) in pairwise(runs):
            crossing = self._crossing_prevalence(first[0], second[0], swept, row)
            clauses[0] += crossing if len(clauses) == 1 else ""
            position = f"from {crossing}" if len(clauses) > 1 else "above"
            clauses.append(f"{join_names(second)} {position}")
        further = format_count(len(clauses) - TURNS, "more time")
        clauses[TURNS:] = [f"then the lead changes {further}"] if len(clauses) > TURNS else []
        return clauses

    def _runs(self, swept: Sequence[Row]) -> list[tuple[tuple[str, ...], Row]]:
        """Return the leading models in order of the odds, each with its first row."""
        rows_by_ratio: dict[object, list[Row]] = {}
        for row in self.tables.get("sweep", ()):
            if row["slice"] is None:
                rows_by_ratio.setdefault(row["ratio"], []).append(row)
        runs: list[tuple[tuple[str, ...], Row]] = []
        for row in swept:
            values = self._values(rows_by_ratio.get(row["ratio"], ()))
            leaders = _leading_models(values, self._sign) or (cell_text(row["leader"]),)
            remaining = tuple(name for name in runs[-1][0] if name in leaders) if runs else ()
            if remaining:
                runs[-1] = remaining, runs[-1][1]
            else:
                runs.append((leaders, row))
        return runs

    def _significance_phrase(self, swept: Sequence[Row], names: Sequence[str] = ()) -> str:
        """Return the phrase on the number of ratios at which the lead is significant."""
        tied = [
            {*row["tied"]} - {*names} if isinstance(row["tied"], list) else set() for row in swept
        ]
        if self.parameters.get("interval") == "none" or self._models == {*names}:
            return ""
        if not any(tied) and not any(row["winner"] or row["tied"] for row in swept):
            return "; the measure is undefined for the other models"
        count = sum(not rivals for rivals in tied)
        if names:
            extent = "at all" if count == len(swept) else f"at {count}"
            return f", significantly {extent}" if count else ", never significantly"
        share = "all" if count == len(swept) else f"{count}"
        ratios = format_count(len(swept), "class ratio")
        if len(self._models) == 2 and not count:
            return f"; no difference is significant at any of {ratios}"
        noun = "difference" if len(self._models) == 2 else "lead"
        return f"; the {noun} is significant at {share} of {ratios}"

    @property
    def _models(self) -> set[Any]:
        return {row["model"] for row in self.tables["models"]}

    def _crossing_prevalence(
        self, first: str, second: str, swept: Sequence[Row], next_row: Row
    ) -> str:
        """Return the prevalence at which two models cross; else the next one of the sweep."""
        end = cell_number(next_row["prevalence"])
        prevalences = (cell_number(row["prevalence"]) for row in swept)
        start = max(prevalence for prevalence in prevalences if prevalence < end)
        for row in self.tables.get("crossovers", ()):
            crossing = as_estimate(row["crossing"]).value
            pair = (row["leads_below"], row["leads_above"])
            is_pair = row["slice"] is None and pair == (first, second)
            if is_pair and crossing is not None and start <= crossing <= end:
                return format_share(crossing)
        return format_share(end)


def _leading_models(values: Mapping[str, float], sign: int) -> tuple[str, ...]:
    """Return the models with the best value."""
    best = max((sign * value for value in values.values()), default=0.0)
    return tuple(
        name
        for name, value in values.items()
        if sign * value == best or best - sign * value <= TIE_TOLERANCE * abs(best) < inf
    )


def _names_in(cell: Cell) -> list[str]:
    """Return the names of models that a cell lists; empty for a cell without a list."""
    return [*map(str, cell)] if isinstance(cell, list) else []


def _ties_clause(sentence: str) -> str:
    """Return the sentence on ties as a clause to end another one; empty if it is."""
    if not sentence:
        return ""
    begins = sentence.startswith(("The other ", "Every other "))
    first_letter = sentence[0].lower() if begins else sentence[0]  # that of a name stays
    return f"; {first_letter}{sentence[1:].removesuffix('.')}"


def _who_has(names: Sequence[str]) -> str:
    """Return names with `has`, or `have` where there are several."""
    is_single = len(names) == 1
    return (
        f"{quote_if_ambiguous(names[0])} has"
        if is_single
        else f"{join_names(names, most=NAMES)} have"
    )


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
    return f"threshold {format_exact(cell_number(*cuts))}" if len(cuts) == 1 else ""
