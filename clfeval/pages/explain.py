"""Explanations by name, and the names that --show and --explain accept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf

from clfeval.measures.catalog import CATALOG, equivalent_names, find_measure, match_measure
from clfeval.measures.record import Measure
from clfeval.pages.codes import ANSWERS, ERRORS, GATES, WARNINGS
from clfeval.pages.schema import INTERVAL_WORD, Column, Page
from clfeval.pages.table_parts import REASONS, column_heading
from clfeval.placeholders import fill_for_shell
from clfeval.records import dataclass

ALL = "all"
ANY_NAME = "…"  # at the end of a heading: whatever name follows
CODES: Mapping[str, Mapping[str, str]] = {
    "an error": ERRORS,
    "a warning": WARNINGS,
    "an answer": ANSWERS,
    "an undefined value": REASONS,
    "a gate": GATES,
}
DIRECTION_TEXTS = {
    "max": "higher is better",
    "min": "lower is better",
    "zero": "nearer to 0 is better",
    "one": "nearer to 1 is better",
    "none": "neither high nor low is better",
}
_ARROW = r" ?(?:↑|↓|→ ?[01])$"
_LEVEL = r"^\d+(?:\.\d+)?% ?"  # before what an interval's column is called
_BETA = r"(?i)^F[\d.]+(?= odds$|$)"


@dataclass(frozen=True, slots=True)
class Term:
    """An explained term: a column with the tables that have it, or another word on screens.

    headings: further ones on screens.
    """

    name: str
    heading: str
    meaning: str
    tables: tuple[str, ...] = ()
    measure: Measure | None = None
    headings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Its name, with its heading where that differs."""
        one_line_heading = heading_on_one_line(self.heading)
        if one_line_heading.replace("-", "_").casefold() == self.name.casefold():
            return self.name
        return (
            self.name
            if one_line_heading == self.name.replace("_", " ")
            else f"{self.name} ({one_line_heading})"
        )

    @property
    def short(self) -> str:
        """Its meaning in one sentence; for a measure without one its formula."""
        return self.meaning or (self.measure.formula if self.measure else "")

    def lines(self, *, with_measure: bool = True) -> Iterator[str]:
        """Yield the full explanation, with or without the lines on its measure."""
        if self.meaning:
            yield self.meaning
        if self.measure is not None and with_measure:
            yield from _measure_lines(self.measure)
        if self.tables:
            yield f"in {'table' if len(self.tables) == 1 else 'tables'} {', '.join(self.tables)}"


def heading_on_one_line(head: str) -> str:
    """Return a heading on one line, without its arrow."""
    joined = " ".join(re.sub(r"-\s*\n\s*", "-", head).split())
    return re.sub(_LEVEL, "", re.sub(_ARROW, "", joined))


def page_terms(page: Page) -> list[Term]:
    """Return columns of a page's tables, headings made for its screens, and names of --show."""
    terms = [*_column_terms(page), *_glossary_terms(page)]
    text_of_name = {**NAMES_BY_COMMAND.get(page.command, {}), **EVERYWHERE, **WORDS}
    return terms + [Term(name, name, text) for name, text in text_of_name.items()]


def _column_terms(page: Page) -> Iterator[Term]:
    """Yield a term for each column; tables that mean the same by it share the term."""
    columns_of_meaning: dict[tuple[str, str, str], dict[str, Column]] = {}
    for table in page.every:
        for column in table.columns:
            meaning = fill_for_shell(page.meaning(column.name, table.name))
            column_meaning = (column.name, column_heading(column), meaning)
            columns_of_meaning.setdefault(column_meaning, {})[table.name] = column
    for (name, heading, meaning), column_of_table in columns_of_meaning.items():
        columns = list(column_of_table.values())
        measure = CATALOG.get(name)
        if columns[0].kind == "rank" or (measure and measure.best == "none"):
            measure = None  # ranks and settings
        further_headings = chain.from_iterable(column.headings for column in columns)
        unique_headings = tuple(dict.fromkeys(further_headings))
        yield Term(name, heading, meaning, tuple(column_of_table), measure, unique_headings)


def _glossary_terms(page: Page) -> Iterator[Term]:
    """Yield a term for each word of the glossary that is no column."""
    column_names = {column.name for table in page.every for column in table.columns}
    for word, meaning in page.glossary.items():
        if word not in column_names:
            yield Term(word, word, meaning)


def find_terms(page: Page, name: str) -> list[Term]:
    """Return the terms with a name on a page, as written or in any case; else the measure."""
    all_terms = page_terms(page)
    name = heading_on_one_line(name)
    terms_in_any_case = [term for term in all_terms if _name_fits(page, term, name, str.casefold)]
    names_as_written = {
        term.name for term in terms_in_any_case if _name_fits(page, term, name, str)
    }
    terms = [
        term for term in terms_in_any_case if not names_as_written or term.name in names_as_written
    ]
    code = name if names_as_written else name.casefold()
    for code_kind, meanings in CODES.items():
        if code in meanings:
            terms.append(Term(code, code, f"code of {code_kind}: {meanings[code]}"))
    if not terms:
        return _measure_terms(all_terms, name)
    measure = None if any(term.measure for term in terms) else CATALOG.get(name)
    return terms + ([Term(name, measure.title, meaning="", measure=measure)] if measure else [])


def _measure_terms(terms: Sequence[Term], name: str) -> list[Term]:
    """Return the terms of the measure with another of its names, else the measure itself."""
    measure_terms = [term for term in terms if term.measure is not None]
    for spelling in (name, re.sub(_BETA, "F", name)):
        column = match_measure(spelling, list(dict.fromkeys(term.name for term in measure_terms)))
        if column is not None:
            return [term for term in measure_terms if term.name == column]
        if (measure := find_measure(spelling)) is not None:
            return [Term(measure.id, measure.title, meaning="", measure=measure)]
    return []


def explainable_names(page: Page) -> list[str]:
    """Return all names that can be explained, each once, for suggestions and completion."""
    names = chain.from_iterable(_term_names(page, term) for term in page_terms(page))
    all_names = chain(
        (ALL,), (name for name in names if not name.endswith(ANY_NAME)), *CODES.values(), CATALOG
    )
    return list(dict.fromkeys(all_names))


def explain_page(page: Page) -> Iterator[tuple[str, list[str]]]:
    """Yield the explanations of a page: columns by table, other words, measures, codes."""
    terms = page_terms(page)
    for table in page.every:
        table_terms = [term for term in terms if table.name in term.tables]
        explained_names = [term.name for term in table_terms if term.tables[0] != table.name]
        new_terms = (term for term in table_terms if term.tables[0] == table.name)
        lines = [f"{term.title}: {term.short}" for term in new_terms]
        if explained_names:
            lines.append(f"as above: {', '.join(explained_names)}")
        yield f"table {table.name}", lines
    other_terms = [term for term in terms if not term.tables]
    yield "other words on screens", [f"{term.title}: {term.short}" for term in other_terms]
    measure_of_name = {term.name: term.measure for term in terms if term.measure is not None}
    for name, measure in measure_of_name.items():
        yield f"measure {name} ({measure.title})", list(_measure_lines(measure))
    for code_kind, codes in CODES.items():
        yield f"codes of {code_kind}", [f"{code}: {sentence}" for code, sentence in codes.items()]


def _term_names(page: Page, term: Term) -> Iterator[str]:
    """Yield the names of a term in files and on screens."""
    yield term.name
    yield heading_on_one_line(term.heading)
    yield from term.headings
    yield from (heading for heading, word in page.headings.items() if word == term.name)
    if term.name == INTERVAL_WORD:
        yield "CI"


def _name_fits(page: Page, term: Term, name: str, fold: Callable[[str], str]) -> bool:
    """Return whether a name is one of a term's, or starts as its heading that ends in any name."""
    folded_name = fold(name)
    headings = map(fold, _term_names(page, term))
    return any(
        heading == folded_name
        or (heading.endswith(ANY_NAME) and folded_name.startswith(heading[: -len(ANY_NAME)]))
        for heading in headings
    )


def _measure_lines(measure: Measure) -> Iterator[str]:
    """Yield formula, range, direction, other names, when it is undefined, and source."""
    yield f"formula: {measure.formula}"
    low = _format_limit(measure.low)
    high = _format_limit(measure.high)
    yield f"range: {low} to {high}; {DIRECTION_TEXTS[measure.best]}"
    if measure.invariant:
        yield "independent of the class ratio"
    other_names = [name for name in equivalent_names(measure.id) if name != measure.id]
    if other_names:
        yield f"also called: {', '.join(other_names)}"
    reasons = [REASONS.get(reason, reason.replace("_", " ")) for reason in measure.undefined]
    yield f"undefined if: {'; '.join(reasons)}"
    if measure.caveat:
        yield f"note: {measure.caveat}"
    yield f"source: {measure.source}"


def _format_limit(limit: float) -> str:
    if abs(limit) == inf:
        return "-∞" if limit < 0 else "∞"
    return f"{limit:.4g}"


_PER_MODEL = "2 x 2 table and measures of each model, with --by also of each slice"
_REQUESTED_MEASURES = "the measures requested by --measure, with the methods of their intervals"
_AT_PREVALENCE = "PPV, NPV and alarms at a prevalence, at the chosen threshold"
_SLICES = "the models in each slice of --by"
_FOREST = "picture: the deciding measure of each model with its interval"
EVERYWHERE: Mapping[str, str] = {
    "comparisons": "differences from a reference, the rows outside a slice, a baseline or a label",
    "baseline": "changes since the baseline, worst first",
    "baseline_changes": "rows that a model predicted correctly in the baseline, and wrongly now",
    "intervals": "every confidence interval next to its value, in all tables shown",
    "plots": "all plots of the command",
    "all": "every table and plot",
}
WORDS: Mapping[str, str] = {  # of sentences and screens, which are no tables
    "clusters": "values of the --cluster column, such as patients; rows of one cluster are "
    "correlated, and intervals allow for it",
    "power": "probability that a test on this number of rows detects a given difference",
    "design effect": "variance relative to that of independent rows; the effective sample size is "
    "the number of rows divided by it",
    "cross-fitted": "chosen on some folds and evaluated on the remaining fold, in turn: expected "
    "on new data",
    "answer": "the sentences on the result; on a screen that is too small they are printed last",
    "≈": "tied: not significantly different from the best",
    "treat-all": "predict every row positive; treat-none: predict no row positive",
    "O:E": "observed positives / expected positives (sum of the probabilities): 1 if calibrated",
    "corrected for selection": "value of the best of several models without the bias of choosing "
    "it (Efron 2011)",
    "joint maximum": "adjustment for several comparisons of correlated models, by the maximum of "
    "their statistics (Hothorn, Bretz and Westfall 2008)",
    "Holm": "adjustment of p-values that controls any false positive (Holm 1979)",
    "q": "p adjusted to control the false discovery rate (Benjamini and Hochberg 1995)",
    "DeLong": "variance of ROC AUC and of differences of correlated AUCs (DeLong et al. 1988)",
}
NAMES_BY_COMMAND: Mapping[str, Mapping[str, str]] = {
    "mars": {
        "alone": "unique true positives and unique misses of each model",
        "rates": "the 2 x 2 tables with accuracy, precision and recall",
        "cuts": "detections of each model at each threshold of --sweep",
        "models": _PER_MODEL,
        "pairs": "detections of each pair of models, joint and unique",
        "subsets": "all subsets of models that were evaluated",
        "best": "the subset of each size that detects most",
        "max_effort": "the subset that detects most within --max-effort",
        "lead_tests": "tests of other models with the best one, and of pairs with the best pair",
        "best_pair": "the best pair, and its gain corrected for the choice",
        "equal_effort": "thresholds at which single models flag as many rows as the best pair",
        "slices": _SLICES,
        "sweep": "detections at every threshold of --sweep",
        "exclusive": "the rows that one model alone detects or misses",
        "measures": _REQUESTED_MEASURES,
        "bars": "plot: unique true positives of each model",
        "matrix": "plot: unique detections (ShineThrough) of every pair",
        "forest": _FOREST,
        "curves": "plot: detections over the thresholds of --sweep",
    },
    "count": {"models": "number of counts of each model"},
    "recalibrate": {
        "models": "the recalibration of each model, and its gain on new rows",
        "methods": "the gain of every method for every model",
        "mapping": "what becomes of probabilities",
        "groups": "groups by score, before and after",
        "classes": "the one-vs-rest recalibration of each class",
        "columns": "the columns that stored calibrators add to a table",
        "recalibration": "plot: groups by score, before and after",
    },
    "phidelta": {
        "best": "models tied with the best δ, with rank intervals",
        "readings": "interpretation of each point of the diamond",
        "rates": "the 2 x 2 tables, sensitivity and specificity",
        "unbiased": "the measures at a class ratio of 1:1",
        "sample": "the measures at the class ratio of the rows",
        "regions": "joint confidence region of sensitivity and specificity",
        "slices": _SLICES,
        "plane": "the points at the class ratios of --prevalence",
        "break-even": "thresholds of largest δ and of no bias (φ = 0)",
        "spread": "spread of the runs of each model",
        "models": _PER_MODEL,
        "run_spread": "mean and spread of the runs of each model",
        "runs": "the points of single runs",
        "curves": "Gini and largest δ of each curve of --curve",
        "curve": "points of the curves of --curve",
        "populations": "measures at the class ratios of --prevalence",
        "measures": _REQUESTED_MEASURES,
        "features": "discrimination and bias of each feature",
        "selected": "the selected features",
        "implications": "implications between features and classes that always held",
        "corners": "corners of the diamond at each class ratio",
        "isometrics": "isometrics: lines on which a measure is constant",
        "diamond": "plot: δ over φ, one point per model",
        "forest": _FOREST,
    },
    "tune-jpt": {
        "slices": _SLICES,
        "cells": "2 x 2 tables at each class ratio",
        "moving": "measures that depend on the class ratio",
        "odds": "measures as odds",
        "cost": "expected costs of the errors",
        "unmoved": "measures that do not depend on the class ratio",
        "models": _PER_MODEL,
        "at_prevalence": _AT_PREVALENCE,
        "expected": "expected true and false predictions in a population",
        "sweep": "the measures at every class ratio of --sweep",
        "crossovers": "class ratios at which one model overtakes another",
        "winners": "leading model in each population or range of class ratios",
        "thresholds": "the best threshold of each model in each population",
        "cutoffs": "the best threshold of each model at each class ratio",
        "ranges": "smallest and largest value over a range of prevalences",
        "simulated": "measures under an uncertain prevalence, simulated",
        "curves": "plot: a measure by class ratio",
        "cuts": "plot: best thresholds",
    },
    "mlcps": {
        "firm": "stability of the scores: order of the metrics, mean, Pareto front",
        "changes": "effect of leaving one metric out, or of doubling its weight",
        "goals": "desirability goals of the metrics",
        "models": "metrics, scores and rank of each model",
        "ranks": "rank of each model by each score",
        "metrics": "range, direction and weight of each metric",
        "profile": "each metric of each model, as given and as scaled for the score; also a plot",
        "redundant": "redundant metrics",
        "dominance": "models that dominate others: as good in all metrics, better in one",
        "splits": "scores in each split of a cross-validation",
        "weights": "share of random weights under which each model ranks first",
        "desirability": "desirability of each value",
        "agreement": "rank agreement with the table of --compare",
        "compared": "ranks in this table and in that of --compare",
        "radars": "plot: polygons of the best models",
        "scatter": "plot: SD of the metrics over the score",
    },
    "report": {
        "probabilities": "ranking and probabilities: AUC, Brier score, calibration, net benefit",
        "errors": "classification measures at the threshold used",
        "classes": "per-class results: each class against the rest",
        "confusions": "most frequent confusions between classes",
        "matrix": "confusion matrix: true classes in rows, predictions in columns",
        "slices": "slices in which tested models are worse, then all of the models first shown",
        "gaps": "inside and outside each slice, all measures of the tested models",
        "extremes": "largest difference between two slices, by each measure",
        "heterogeneity": "mean over slices but bins, prediction interval of a new one; AUC and O:E",
        "spread": "score distribution by class",
        "cutoffs": "the threshold of each rule, with its performance expected on new data",
        "abstentions": "performance with abstention",
        "risk": "error rate over coverage; also a plot",
        "at_prevalence": _AT_PREVALENCE,
        "same_specificity": "sensitivity of models at the specificity of a reference with labels",
        "operating_points": "thresholds with at least the specificity of the reference",
        "equally_flagged": "sensitivity when flagging as many rows as the reference",
        "mcnemar": "rows that only the model, or only the reference, predicts correctly",
        "best": "models tied with the best by each measure, with rank intervals",
        "winner": "value of the best of three or more models, corrected for selection",
        "run_spread": "mean and standard deviation over runs, by each measure",
        "runs": "every measure of each run",
        "together": "Cochran's Q: whether all models have the same accuracy",
        "baselines": "every measure under permuted truth and of constant models, with p",
        "resolution": "sample size needed to detect a difference",
        "changes": "rows that exactly one of model and reference predicts correctly",
        "models": "main measures and 2 x 2 table of each model",
        "measures": "every measure of every model, with the method of its interval",
        "confusion": "rows by true and predicted class",
        "calibration": "observed share of positives by score; also a plot",
        "forest": _FOREST,
        "calibration_band": "calibration curve by a spline, with confidence bands",
        "calibration_curve": "isotonic calibration: shares of positives that rise with the score",
        "roc_band": "regions in which both rates of a threshold lie jointly",
        "differences": "picture: differences from the reference with simultaneous intervals",
        "pairs": "picture: differences of all pairs of models",
        "scores": "picture: scores by class, with the threshold",
        "calibration_tests": "two tests of calibration per model",
        "curves": "rates, precision and lift at each threshold",
        "thresholds": "counts and rates at thresholds",
        "decision": "net benefit at each threshold, with treat-all and treat-none",
        "distribution": "rows of each class by bins of the score",
        "roc": "plot, ROC curve: sensitivity over 1 - specificity",
        "pr": "plot: precision over recall",
        "gain": "plot: share of positives detected over share of rows flagged",
        "lift": "plot: lift over share of rows flagged",
        "benefit": "plot: net benefit over the threshold probability",
    },
}
