"""Rows that are no observations: totals and means, repeated headers, and lines of separators."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isclose
from typing import Any

from clfeval.errors import DataError, OfferedReading, Problem, quote_name
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import ColumnProfile, ColumnProfiles
from clfeval.tables.readings.names import is_certain_truth, is_likely_truth, tags_of
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.truths import TruthCandidate, truth_candidates
from clfeval.tables.scan import TableFile

MOST_SUMMARIES = 4  # rows of a table
FEWEST_ROWS = 8
MOSTLY = 0.8  # of the columns, or of the values
_WORDS = re.compile(
    r"(?i)\W*(?:(?:grand|sub)?[\s_-]?totals?|all|overall|sums?|means?|averages?|avg|medians?|stdev|"
    r"std|sd|summe|gesamt|insgesamt|mittelwert|durchschnitt|zwischensumme|total\sgeneral|moyenne|"
    r"somme|ensemble|media|promedio|suma|totale|somma|média|soma|gemiddelde|totaal|som|medel|"
    r"summa|razem|średnia|toplam|ortalama|итого|всего|сумма|среднее|合计|总计|平均|合計|小计|小計|"
    r"합계|평균)\b.{0,12}"
)
_LINE = re.compile(r"[-=_*~#+.]{2,}|[-=_*~#]")


def refuse_summary_rows(
    files: Sequence[TableFile], profiles: ColumnProfiles, roles: InputOptions
) -> None:
    """Raise for rows that are no observations, with the condition that leaves them out."""
    if roles.where is not None or max((p.rows for p in profiles.values()), default=0) < FEWEST_ROWS:
        return
    headers = {name for name, profile in profiles.items() if name and name in profile.texts}
    if len(headers) >= max(2, MOSTLY * len(profiles)):
        cells = {name: [name] for name in headers}
        raise _summary_error(
            files[0].name, profiles, roles, cells, "repeats the names of the columns"
        )
    lines = {name: texts for name, p in profiles.items() if (texts := _rare(p, _LINE))}
    if len(lines) >= max(2, MOSTLY * len(profiles)):
        raise _summary_error(files[0].name, profiles, roles, lines, "is a line that separates rows")
    summaries = {
        name: texts
        for name, profile in profiles.items()
        if (texts := _rare(profile, _WORDS) or _numbers_of_summary(profile))
        and _has_other_values(profile, texts)
    }
    if summaries:
        message = "looks like a total or a mean, not an observation"
        raise _summary_error(files[0].name, profiles, roles, summaries, message)


def _rare(profile: ColumnProfile, pattern: re.Pattern[str]) -> list[str]:
    """Return the values of a few rows that match a pattern."""
    if profile.typed_number or (profile.mostly_numeric and profile.all_numbers):
        return []
    texts = [text for text in profile.texts if pattern.fullmatch(text)]
    rows = sum(profile.counts.get(text, 1) for text in texts)
    return sorted(texts) if 0 < rows <= MOST_SUMMARIES else []


def _has_other_values(profile: ColumnProfile, texts: Sequence[str]) -> bool:
    """Return whether the other values are numbers, or texts with digits, or a few classes."""
    others = profile.texts.difference(texts)
    if not others:
        return False
    with_digits = sum(any(sign.isdigit() for sign in text) for text in others)
    are_classes = len(others) <= MOST_SUMMARIES and profile.rows >= FEWEST_ROWS * len(others)
    return are_classes or with_digits >= MOSTLY * len(others)


def _numbers_of_summary(profile: ColumnProfile) -> list[str]:
    """Return the only number next to two whole codes that is their sum or mean, in one row."""
    numbers = profile.number_of_text
    if len(numbers) != 3:
        return []
    summaries = [text for text in numbers if _is_sum_or_mean_of_codes(text, profile)]
    return summaries if len(summaries) == 1 else []


def _is_sum_or_mean_of_codes(text: str, profile: ColumnProfile) -> bool:
    """Return whether a number of one row is the sum, or the mean, of the whole codes of the others.

    No third class is taken for one: a sum is larger than every code, a mean is no whole number.
    """
    number = profile.number_of_text[text]
    rows_of_code = {
        code: profile.counts.get(code_text, 0)
        for code_text, code in profile.number_of_text.items()
        if code_text != text
    }
    rows = sum(rows_of_code.values())
    if profile.counts.get(text) != 1 or rows < FEWEST_ROWS or not all(map(_is_whole, rows_of_code)):
        return False
    total = sum(code * count for code, count in rows_of_code.items())
    largest = max(MOST_SUMMARIES, *map(abs, rows_of_code))
    if number == total:
        return abs(number) > largest
    return not _is_whole(number) and isclose(number, total / rows, rel_tol=1e-3)


def _is_whole(number: float) -> bool:
    return float(number).is_integer()


def _summary_error(
    file: str,
    profiles: ColumnProfiles,
    roles: InputOptions,
    cells: dict[str, list[str]],
    message: str,
) -> DataError:
    """Build the error of rows that are no observations; cells: their values, by column."""
    truths = [
        name
        for name in cells
        if name == roles.truth or _is_truth_by_values(name, profiles, roles, cells[name])
    ]
    name = min(cells, key=lambda column: _place_of_column(column, profiles[column], truths))
    problems = [
        Problem(f"{quote_name(text)} {message}", "summary-row", file, None, name)
        for text in cells[name]
    ]
    hint = "remove the row"
    if profiles[name].missing:
        return DataError(problems, hint=hint)
    column = '"{}"'.format(name.replace('"', '""'))
    conditions = ("{} <> '{}'".format(column, text.replace("'", "''")) for text in cells[name])
    options: dict[str, Any] = {"where": " and ".join(conditions)}
    is_named = is_certain_truth(name) or is_likely_truth(name)
    if (is_named or name in truths) and roles.truth is None:
        options["truth"] = name
    words = "" if is_named or "truth" not in options else f"{quote_name(name)} is truth, "
    words += f"without the rows in which {quote_name(name)} is {' or '.join(cells[name])}"
    hint += f", or leave it out with {OPTION}--where{END}"
    return DataError(problems, hint=hint, readings=[OfferedReading(words, options)])


def _is_truth_by_values(
    name: str, profiles: ColumnProfiles, roles: InputOptions, texts: Sequence[str]
) -> bool:
    """Return whether a column is the likeliest truth by its values, without those of some rows."""
    rest = replace(profiles[name], texts=profiles[name].texts.difference(texts))
    observed = {**profiles, name: rest}
    candidates = truth_candidates(observed, roles, PairFacts(observed))
    return bool(candidates) and candidates[0] == TruthCandidate(name, "values")


def _place_of_column(
    name: str, profile: ColumnProfile, truths: Sequence[str]
) -> tuple[bool, bool, bool, bool]:
    """Return how well a column tells rows apart: without gaps, an id, or truth by name or values.

    A condition on a model would leave it out: columns that tell rows apart are no models.
    """
    is_id = bool(tags_of(name) & {"id", "like an id", "index", "cluster"})
    is_truth = is_certain_truth(name) or is_likely_truth(name)
    return (profile.missing > 0, not is_id, not is_truth, name not in truths)
