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
    files: Sequence[TableFile], profiles: ColumnProfiles, input_options: InputOptions
) -> None:
    """Raise for rows that are no observations, with the condition that leaves them out."""
    if (
        input_options.where is not None
        or max((profile.rows for profile in profiles.values()), default=0) < FEWEST_ROWS
    ):
        return
    header_columns = {name for name, profile in profiles.items() if name and name in profile.texts}
    if len(header_columns) >= max(2, MOSTLY * len(profiles)):
        cells = {name: [name] for name in header_columns}
        raise _summary_error(
            files[0].name, profiles, input_options, cells, "repeats the names of the columns"
        )
    lines_by_column = {
        name: texts for name, profile in profiles.items() if (texts := _rare(profile, _LINE))
    }
    if len(lines_by_column) >= max(2, MOSTLY * len(profiles)):
        raise _summary_error(
            files[0].name, profiles, input_options, lines_by_column, "is a line that separates rows"
        )
    summaries_by_column = {
        name: texts
        for name, profile in profiles.items()
        if (texts := _rare(profile, _WORDS) or _numbers_of_summary(profile))
        and _has_other_values(profile, texts)
    }
    if summaries_by_column:
        message = "looks like a total or a mean, not an observation"
        raise _summary_error(files[0].name, profiles, input_options, summaries_by_column, message)


def _rare(profile: ColumnProfile, pattern: re.Pattern[str]) -> list[str]:
    """Return the values of a few rows that match a pattern."""
    if profile.typed_number or (profile.mostly_numeric and profile.all_numbers):
        return []
    texts = [text for text in profile.texts if pattern.fullmatch(text)]
    row_count = sum(profile.counts.get(text, 1) for text in texts)
    return sorted(texts) if 0 < row_count <= MOST_SUMMARIES else []


def _has_other_values(profile: ColumnProfile, texts: Sequence[str]) -> bool:
    """Return whether the other values are numbers, or texts with digits, or a few classes."""
    other_texts = profile.texts.difference(texts)
    if not other_texts:
        return False
    digit_text_count = sum(any(character.isdigit() for character in text) for text in other_texts)
    are_classes = len(other_texts) <= MOST_SUMMARIES and profile.rows >= FEWEST_ROWS * len(
        other_texts
    )
    return are_classes or digit_text_count >= MOSTLY * len(other_texts)


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
    row_count = sum(rows_of_code.values())
    if (
        profile.counts.get(text) != 1
        or row_count < FEWEST_ROWS
        or not all(map(_is_whole, rows_of_code))
    ):
        return False
    total = sum(code * count for code, count in rows_of_code.items())
    largest = max(MOST_SUMMARIES, *map(abs, rows_of_code))
    if number == total:
        return abs(number) > largest
    return not _is_whole(number) and isclose(number, total / row_count, rel_tol=1e-3)


def _is_whole(number: float) -> bool:
    return float(number).is_integer()


def _summary_error(
    file: str,
    profiles: ColumnProfiles,
    input_options: InputOptions,
    cells: dict[str, list[str]],
    message: str,
) -> DataError:
    """Build the error of rows that are no observations; cells: their values, by column.

    message: words that follow each value, such as `repeats the names of the columns`.
    """
    truths = [
        column_name
        for column_name in cells
        if column_name == input_options.truth
        or _is_truth_by_values(column_name, profiles, input_options, cells[column_name])
    ]
    column_name = min(cells, key=lambda name: _place_of_column(name, profiles[name], truths))
    problems = [
        Problem(f"{quote_name(text)} {message}", "summary-row", file, None, column_name)
        for text in cells[column_name]
    ]
    hint = "remove the row"
    if profiles[column_name].missing:
        return DataError(problems, hint=hint)
    quoted_column = '"{}"'.format(column_name.replace('"', '""'))
    conditions = (
        "{} <> '{}'".format(quoted_column, text.replace("'", "''")) for text in cells[column_name]
    )
    options: dict[str, Any] = {"where": " and ".join(conditions)}
    is_named = is_certain_truth(column_name) or is_likely_truth(column_name)
    if (is_named or column_name in truths) and input_options.truth is None:
        options["truth"] = column_name
    meaning = "" if is_named or "truth" not in options else f"{quote_name(column_name)} is truth, "
    meaning += (
        f"without the rows in which {quote_name(column_name)} is {' or '.join(cells[column_name])}"
    )
    hint += f", or leave it out with {OPTION}--where{END}"
    return DataError(problems, hint=hint, readings=[OfferedReading(meaning, options)])


def _is_truth_by_values(
    name: str, profiles: ColumnProfiles, input_options: InputOptions, texts: Sequence[str]
) -> bool:
    """Return whether a column is the likeliest truth by its values, without those of some rows."""
    observed_profile = replace(profiles[name], texts=profiles[name].texts.difference(texts))
    observed_profiles = {**profiles, name: observed_profile}
    candidates = truth_candidates(observed_profiles, input_options, PairFacts(observed_profiles))
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
