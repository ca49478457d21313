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
    sentence_writer = TuneAnswers(tables, parameters, _compared_measure(rows[0], parameters))
    if len({row["model"] for row in rows}) > 1:
        answers = [*sentence_writer.population_answers(list(rows_by_odds.values())[:TARGETS])]
        title = (
            sentence_writer.short_title if answers[0].code == "best-at" else sentence_writer.title
        )
        answers += sentence_writer.lead_change_answers(title)
        if comparison_rows := tables.get("comparisons"):
            tie_codes = ("not-significantly-different", "significantly-worse")
            first_answer, *other_answers = (
                answer for answer in answers if answer.code not in tie_codes
            )
            answers = [
                first_answer,
                *_reference_answers(comparison_rows, parameters),
                *other_answers,
            ]
    else:
        answers = [
            answer
            for row_number, row in enumerate(rows[:TARGETS])
            for answer in sentence_writer.predictive_value_answers([row], further=row_number > 0)
        ]
    return tuple(answers[:MOST])


def _reference_answers(comparison_rows: Rows, parameters: Mapping[str, Any]) -> Iterator[Answer]:
    """Yield the sentences on models compared with the reference, population by population."""
    reference = str(parameters["reference"])
    for measure in dict.fromkeys(row["measure"] for row in comparison_rows):
        margin = (parameters["margin"] or {}).get(measure.partition(":")[0])
        yield from reference_answers(
            comparison_rows, measure, reference, margin, parameters["level"]
        )


def _compared_measure(row: Row, parameters: Mapping[str, Any]) -> str | None:
    """Return the measure that compares models, or would compare them."""
    if parameters.get("compared_by") is not None:
        return str(parameters["compared_by"])
    shown_measures = [name for name, cell in row.items() if isinstance(cell, Estimate)]
    ratio_dependent = [name for name in shown_measures if not CATALOG[name].invariant]
    candidates = [
        name
        for name in ("expected_cost", *ratio_dependent, *shown_measures)
        if name in shown_measures
    ]
    return next((name for name in candidates if CATALOG[name].best != "zero"), None)


@dataclass(frozen=True, slots=True)
class LeadingModels:
    """Names of the best, tied and worse models at one class ratio; value: of the best.

    is_only_defined: whether the measure is undefined for all other models.
    """

    names: tuple[str, ...]
    value: Estimate
    tied: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    is_only_defined: bool = False


@dataclass(frozen=True, slots=True)
class TuneAnswers:
    """Sentences from the tables; measure: the one that compares models."""

    tables: Mapping[str, Rows]
    parameters: Mapping[str, Any]
    measure: str | None

    @property
    def title(self) -> str:
        """The title of the measure."""
        measure_id = str(self.measure)
        is_accuracy = measure_id == ACCURACY
        return (
            "accuracy (TAR)"
            if is_accuracy
            else measure_title(measure_id, self.parameters.get("beta"))
        )

    @property
    def short_title(self) -> str:
        """The title without its explanation."""
        return self.title.split(" (")[0]

    def population_answers(self, rows_by_population: Sequence[Sequence[Row]]) -> Iterator[Answer]:
        """Yield sentences on the best model of each population; first also predictive values.

        At a target prevalence that is the model of a report, unless a measure is named.
        rows_by_population: the rows of the models in each.
        """
        if self._leads_as_report(rows_by_population):
            yield from self._report_model_answers(rows_by_population)
            return
        for population_index, rows in enumerate(
            rows_by_population if self.measure is not None else ()
        ):
            leaders = self.lead(rows)
            if leaders is None:
                text = f"{prevalence_phrase(rows[0])}, {self.title} is undefined for every model."
                yield Answer("no-leader", text, (), self.measure)
                continue
            constant_phrase = self._better_constant(rows[0], leaders.value)
            if constant_phrase and self.measure == ACCURACY:
                yield from self.predictive_value_answers(rows, further=population_index > 0)
                if not population_index:
                    yield self._constant_answer(rows, constant_phrase)
                    yield from self._margin_answer(rows)
                continue
            yield self._best_model_answer(
                rows, leaders, constant_phrase, is_later=population_index > 0
            )
            if population_index:
                continue  # ties, margin and predictive values: of the first population only
            if ties_sentence := describe_ties(leaders.tied, leaders.worse, most=NAMES):
                code = "not-significantly-different" if leaders.tied else "significantly-worse"
                yield Answer(code, ties_sentence, leaders.tied, self.measure)
            elif not (leaders.is_only_defined or len(leaders.names) > 1):
                text = "This lead is not tested for significance."
                yield Answer("untested", text, (), self.measure)
            yield from self._margin_answer(rows)
            if len(rows_by_population) < TARGETS:
                is_single = rows[0]["population"] == "sample" and len(leaders.names) == 1
                yield from self.predictive_value_answers(rows, leaders.names[0], further=is_single)

    def _leads_as_report(self, rows_by_population: Sequence[Sequence[Row]]) -> bool:
        """Return whether the model of a report leads: at a target, without a named measure."""
        is_target = bool(rows_by_population) and rows_by_population[0][0]["population"] == "target"
        names_measure = self.parameters.get("measure") or self.parameters.get("cost") is not None
        return is_target and self.parameters.get("led_by") is not None and not names_measure

    def _report_model_answers(
        self, rows_by_population: Sequence[Sequence[Row]]
    ) -> Iterator[Answer]:
        """Yield sentences on predictive values of the model of a report, and on its ties."""
        for population_index, rows in enumerate(rows_by_population):
            yield from self.predictive_value_answers(rows, further=population_index > 0)
        yield from self._ties_answer()
        rows = rows_by_population[0]
        leaders = self.lead(rows)
        constant_phrase = "" if leaders is None else self._better_constant(rows[0], leaders.value)
        if leaders is not None and constant_phrase and self.measure == ACCURACY:
            if not self._has_net_benefit:  # which says more than the accuracy
                yield self._constant_answer(rows, constant_phrase)
        elif leaders is not None and len(rows_by_population) == 1:
            yield self._best_model_answer(rows, leaders, constant_phrase, is_later=True)
        yield from self._margin_answer(rows)

    @property
    def _has_net_benefit(self) -> bool:
        """Whether the first sentence compares the net benefit with both defaults."""
        target_rows = [row for row in self.tables["at_prevalence"] if row["population"] == "target"]
        return bool(target_rows) and as_estimate(target_rows[0]["net_benefit"]).value is not None

    def _ties_answer(self) -> Iterator[Answer]:
        """Yield the sentence on the measure by which the model leads, and on its ties."""
        table = self.tables.get("at_prevalence", ())
        prevalence_rows = [row for row in table if row["odds"] == table[0]["odds"]]
        if len(prevalence_rows) < 2:
            return  # a single model leads nobody
        leader = prevalence_rows[0]["model"]
        title = CATALOG[str(self.parameters["led_by"])].title
        tested_rows = [row for row in prevalence_rows[1:] if row["tied"] is not None]
        tied_names = [row["model"] for row in tested_rows if row["tied"]]
        worse_names = [row["model"] for row in tested_rows if not row["tied"]]
        text = f"{quote_if_ambiguous(leader)} has the highest {title}"
        ties_sentence = describe_ties(tied_names, worse_names, most=NAMES)
        text += (
            f". {ties_sentence}" if ties_sentence else "; this lead is not tested for significance."
        )
        yield Answer("leading-model", text, (leader,), str(self.parameters["led_by"]))

    def _constant_answer(self, rows: Sequence[Row], constant_phrase: str) -> Answer:
        """Return the sentence on a constant prediction with a higher accuracy than every model."""
        threshold_phrase = _common_threshold(rows)
        population_phrase = prevalence_phrase(rows[0])
        subject = (
            f"{population_phrase} and {threshold_phrase}, no model"
            if threshold_phrase
            else f"{population_phrase}, no model"
        )
        text = f"{subject} has a higher accuracy than {constant_phrase}."
        return Answer("constant-better", text, (), self.measure)

    def lead(self, rows: Sequence[Row]) -> LeadingModels | None:
        """Return the leading models at the odds of these rows; None without any value."""
        values = self._values(rows)
        winner_row = self._winner_row(rows)
        if winner_row is None:
            leader_names = _leading_models(values, self._sign)
            estimates = {row["model"]: as_estimate(row.get(str(self.measure))) for row in rows}
            return (
                LeadingModels(
                    leader_names, estimates[leader_names[0]], is_only_defined=len(values) == 1
                )
                if leader_names
                else None
            )
        if winner_row["leader"] is None:
            return None
        leader_names = _leading_models(values, self._sign) or (cell_text(winner_row["leader"]),)
        tied_names = winner_row["tied"] if isinstance(winner_row["tied"], list) else []
        is_tested = self.parameters.get("interval") != "none"
        other_names = [name for name in values if name not in leader_names and is_tested]
        tied = tuple(name for name in other_names if name in tied_names)
        worse = tuple(name for name in other_names if name not in tied_names)
        leader_row = next(row for row in rows if row["model"] == leader_names[0])
        value = as_estimate(leader_row.get(str(self.measure), winner_row["value"]))
        is_only_defined = not tied_names and winner_row["winner"] is None
        return LeadingModels(leader_names, value, tied, worse, is_only_defined or len(values) == 1)

    def _margin_answer(self, rows: Sequence[Row]) -> Iterator[Answer]:
        """Yield the sentence that compares the leader with the other models by the margin."""
        winner_row = self._winner_row(rows)
        margin = (self.parameters["margin"] or {}).get(self.measure)
        if margin is None or winner_row is None or winner_row.get("verdict") is None:
            return
        leader = quote_if_ambiguous(cell_text(winner_row["leader"]))
        verdict = winner_row["verdict"]
        equivalent_names = _names_in(winner_row["equivalent"])
        claim = f"{leader} is not worse than any other model by this margin"
        if verdict == BETTER:
            least_lead = winner_row["least_lead"]
            exceeds_margin = isinstance(least_lead, float) and least_lead > margin
            extent_phrase = (
                "by more than this margin"
                if exceeds_margin
                else "but possibly by less than this margin"
            )
            claim = f"{leader} is better than every other model, {extent_phrase}"
        elif verdict == UNDECIDED:
            rivals_phrase = join_names(
                _names_in(winner_row["possibly_better"]), most=NAMES, word="or"
            )
            claim = (
                f"it is undecided whether {rivals_phrase} is better than {leader} by this margin"
            )
        if equivalent_names:
            are = "is" if len(equivalent_names) == 1 else "are"
            equivalence = f"{join_names(equivalent_names, most=NAMES)} {are} equivalent to {leader}"
            claim = equivalence + ("" if verdict == EQUIVALENT else f"; {claim}")
        text = f"With a margin of {format_exact(margin)} in {self.short_title}, {claim}."
        yield Answer("margin", text, tuple(equivalent_names), self.measure)

    def _winner_row(self, rows: Sequence[Row]) -> Row | None:
        """Return the row of `winners` at the odds of these rows, from the sweep if need be."""
        winner_rows = [
            row
            for row in self.tables.get("winners", ())
            if row["slice"] is None and row["odds"] == rows[0]["odds"]
        ]
        return (
            min(winner_rows, key=lambda row: row["population"] == "sweep") if winner_rows else None
        )

    @property
    def _sign(self) -> int:
        return -1 if CATALOG[str(self.measure)].best == "min" else 1

    @property
    def _superlative(self) -> str:
        return "lowest" if self._sign < 0 else "highest"

    def _values(self, rows: Sequence[Row]) -> dict[str, float]:
        values_by_model = {row["model"]: sort_value(row.get(str(self.measure))) for row in rows}
        return {name: value for name, value in values_by_model.items() if value is not None}

    def _best_model_answer(
        self, rows: Sequence[Row], leaders: LeadingModels, constant_phrase: str, *, is_later: bool
    ) -> Answer:
        """Return the sentence on the best models; is_later: it is not the first of the answer."""
        names = leaders.names
        estimate = leaders.value
        threshold_phrase = _common_threshold(rows)
        opening = prevalence_phrase(rows[0]) + (
            f" and {threshold_phrase}" if threshold_phrase else ""
        )
        superlative_title = f"{self._superlative} {self.short_title if is_later else self.title}"
        value_text = _with_limits(estimate, self.parameters.get("level", 0.95))
        text = f"{opening}, {_who_has(names)} the {superlative_title}: {value_text}"
        if leaders.is_only_defined:
            text += "; it is undefined for the other models"
        elif is_later:
            text += _ties_clause(describe_ties(leaders.tied, leaders.worse, most=NAMES))
        text += f"; {constant_phrase} is better" if constant_phrase else ""
        return Answer(
            "best-at", f"{text}.", names, self.measure, estimate.value, estimate.low, estimate.high
        )

    def _better_constant(self, row: Row, estimate: Estimate) -> str:
        """Return the constant prediction that is better than the best model; empty if none is."""
        best_value = sort_value(estimate)
        prevalence = cell_number(row["prevalence"])
        cost = self.parameters.get("cost")
        stakes = OutcomeCosts(**cost) if cost else None
        measure = CATALOG[str(self.measure)].with_settings(
            beta=self.parameters.get("beta"), stakes=stakes
        )
        constants = (
            ((0.0, "negative"), (1.0, "positive"))
            if best_value is not None and prevalence < 1
            else ()
        )
        for positive_rate, class_word in constants:
            with np.errstate(all="ignore"):
                value = float(
                    measure.function(
                        Confusion.from_prevalence(positive_rate, positive_rate, prevalence)
                    )
                )
            advantage = self._sign * (value - (best_value or 0.0))
            if isfinite(value) and advantage > TIE_TOLERANCE * max(1, abs(value)):
                return f"predicting every row {class_word} ({format_close(value, 3)})"
        return ""

    def predictive_value_answers(
        self, rows: Sequence[Row], model_name: str | None = None, *, further: bool = False
    ) -> Iterator[Answer]:
        """Yield the sentence on predictive values of a model, or the first, at its threshold.

        further: at another prevalence than that of the sentence before.
        """
        population_key = (rows[0]["odds"], rows[0]["population"])
        for row in self.tables.get("at_prevalence", ()):
            is_population = (row["odds"], row["population"]) == population_key
            if is_population and model_name in (None, row["model"]):
                is_further = further and row["chosen_by"] is None  # the threshold is that of before
                yield prevalence_answer(row, self.parameters["level"], further=is_further)
                return

    def lead_change_answers(self, title: str) -> Iterator[Answer]:
        """Yield the sentence on the leading models over the sweep; title: of the measure."""
        sweep_rows = [
            row
            for row in self.tables.get("winners", ())
            if row["slice"] is None and row["population"] == "sweep" and row["leader"] is not None
        ]
        runs = self._runs(sweep_rows)
        end_odds = [str(sweep_rows[i]["odds"]) for i in (0, -1)] if sweep_rows else []
        is_full_sweep = end_odds == [*FULL_SWEEP.split("..")]
        range_phrase = "" if is_full_sweep else f"from {' to '.join(end_odds)}"
        if len(runs) == 1:
            names = runs[0][0]
            ratios_phrase = format_count(len(sweep_rows), "class ratio")
            text = f"{_who_has(names)} the {self._superlative} {title} at all {ratios_phrase}"
            text += f" {range_phrase}" if range_phrase else ""
            text += f"{self._significance_phrase(sweep_rows, names)}."
            yield Answer("leads-everywhere", text, names, self.measure)
        elif runs:
            clauses = self._change_clauses(runs, sweep_rows, title)
            text = ", ".join(clauses) + (f" ({range_phrase})" if range_phrase else "")
            text += f"{self._significance_phrase(sweep_rows)}."
            names = tuple(dict.fromkeys(name for run, _ in runs for name in run))
            yield Answer("lead-changes", text, names, self.measure)

    def _change_clauses(
        self, runs: Sequence[tuple[tuple[str, ...], Row]], sweep_rows: Sequence[Row], title: str
    ) -> list[str]:
        """Return a clause for each run of leading models, with the prevalences between them."""
        comparative = (
            self._superlative.replace("est", "er") if len(self._models) == 2 else self._superlative
        )
        clauses = [f"{_who_has(runs[0][0])} the {comparative} {title} below prevalence "]
        for (first_names, _), (second_names, row) in pairwise(runs):
            crossing_text = self._crossing_prevalence(
                first_names[0], second_names[0], sweep_rows, row
            )
            clauses[0] += crossing_text if len(clauses) == 1 else ""
            position_phrase = f"from {crossing_text}" if len(clauses) > 1 else "above"
            clauses.append(f"{join_names(second_names)} {position_phrase}")
        more_changes = format_count(len(clauses) - TURNS, "more time")
        clauses[TURNS:] = [f"then the lead changes {more_changes}"] if len(clauses) > TURNS else []
        return clauses

    def _runs(self, sweep_rows: Sequence[Row]) -> list[tuple[tuple[str, ...], Row]]:
        """Return runs of the same leading models in order of the odds, each with its first row."""
        rows_by_ratio: dict[object, list[Row]] = {}
        for row in self.tables.get("sweep", ()):
            if row["slice"] is None:
                rows_by_ratio.setdefault(row["ratio"], []).append(row)
        runs: list[tuple[tuple[str, ...], Row]] = []
        for row in sweep_rows:
            values_by_model = self._values(rows_by_ratio.get(row["ratio"], ()))
            leader_names = _leading_models(values_by_model, self._sign) or (
                cell_text(row["leader"]),
            )
            shared_names = (
                tuple(name for name in runs[-1][0] if name in leader_names) if runs else ()
            )
            if shared_names:
                runs[-1] = shared_names, runs[-1][1]
            else:
                runs.append((leader_names, row))
        return runs

    def _significance_phrase(
        self, sweep_rows: Sequence[Row], leader_names: Sequence[str] = ()
    ) -> str:
        """Return the phrase on the number of ratios at which the lead is significant."""
        rivals_by_row = [
            {*row["tied"]} - {*leader_names} if isinstance(row["tied"], list) else set()
            for row in sweep_rows
        ]
        if self.parameters.get("interval") == "none" or self._models == {*leader_names}:
            return ""
        if not any(rivals_by_row) and not any(row["winner"] or row["tied"] for row in sweep_rows):
            return "; the measure is undefined for the other models"
        significant_count = sum(not rivals for rivals in rivals_by_row)
        if leader_names:
            extent_phrase = (
                "at all" if significant_count == len(sweep_rows) else f"at {significant_count}"
            )
            return (
                f", significantly {extent_phrase}" if significant_count else ", never significantly"
            )
        count_phrase = "all" if significant_count == len(sweep_rows) else f"{significant_count}"
        ratios_phrase = format_count(len(sweep_rows), "class ratio")
        if len(self._models) == 2 and not significant_count:
            return f"; no difference is significant at any of {ratios_phrase}"
        noun = "difference" if len(self._models) == 2 else "lead"
        return f"; the {noun} is significant at {count_phrase} of {ratios_phrase}"

    @property
    def _models(self) -> set[Any]:
        return {row["model"] for row in self.tables["models"]}

    def _crossing_prevalence(
        self, lower_leader: str, upper_leader: str, sweep_rows: Sequence[Row], next_row: Row
    ) -> str:
        """Return the prevalence at which two models cross; else the next one of the sweep."""
        end_prevalence = cell_number(next_row["prevalence"])
        prevalences = (cell_number(row["prevalence"]) for row in sweep_rows)
        start_prevalence = max(
            prevalence for prevalence in prevalences if prevalence < end_prevalence
        )
        for row in self.tables.get("crossovers", ()):
            crossing = as_estimate(row["crossing"]).value
            leaders = (row["leads_below"], row["leads_above"])
            is_same_pair = row["slice"] is None and leaders == (lower_leader, upper_leader)
            if (
                is_same_pair
                and crossing is not None
                and start_prevalence <= crossing <= end_prevalence
            ):
                return format_share(crossing)
        return format_share(end_prevalence)


def _leading_models(values: Mapping[str, float], sign: int) -> tuple[str, ...]:
    """Return the models with the best value."""
    best_value = max((sign * value for value in values.values()), default=0.0)
    return tuple(
        name
        for name, value in values.items()
        if sign * value == best_value
        or best_value - sign * value <= TIE_TOLERANCE * abs(best_value) < inf
    )


def _names_in(cell: Cell) -> list[str]:
    """Return the names of models that a cell lists; empty for a cell without a list."""
    return [*map(str, cell)] if isinstance(cell, list) else []


def _ties_clause(ties_sentence: str) -> str:
    """Return the sentence on ties as a clause that ends another sentence; empty if it is empty."""
    if not ties_sentence:
        return ""
    starts_with_article = ties_sentence.startswith(("The other ", "Every other "))
    # the first letter of a name stays as it is
    first_letter = ties_sentence[0].lower() if starts_with_article else ties_sentence[0]
    return f"; {first_letter}{ties_sentence[1:].removesuffix('.')}"


def _who_has(names: Sequence[str]) -> str:
    """Return names with `has`, or `have` where there are several."""
    is_single = len(names) == 1
    return (
        f"{quote_if_ambiguous(names[0])} has"
        if is_single
        else f"{join_names(names, most=NAMES)} have"
    )


def _with_limits(estimate: Estimate, level: float) -> str:
    """Return a value with its interval, infinite ones included."""

    def format_value(value: float, digits: int) -> str:
        return ("-∞" if value < 0 else "∞") if abs(value) == inf else format_close(value, digits)

    value = inf if estimate.value is None else estimate.value
    low = estimate.low
    high = estimate.high
    if low is not None or high is not None:  # a limit that is lacking is infinite
        low, high = (-inf if low is None else low), (inf if high is None else high)
    return with_interval(value, low, high, level, format_value)


def _common_threshold(rows: Sequence[Row]) -> str:
    """Return the threshold of all models in words, empty where there is none or they differ."""
    thresholds = {row.get("threshold") for row in rows} - {None}
    return f"threshold {format_exact(cell_number(*thresholds))}" if len(thresholds) == 1 else ""
