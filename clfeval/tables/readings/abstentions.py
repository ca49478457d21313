"""Abstentions: verdicts such as "I cannot judge this", which are no class of truth."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import chain

from clfeval.errors import DataError, OfferedReading, Problem, join_texts, quote_name
from clfeval.tables.columns import Columns
from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import ColumnProfile, ColumnProfiles, count_rows
from clfeval.tables.readings.labels import known_labels
from clfeval.tables.readings.notations import means_missing

MOST_ABSTENTIONS = 8  # different texts of a column
MOST_ROWS = 0.5  # share of the rows; of more the texts are classes
SENTENCE = 4  # words of a text that is no class, next to classes of at most two words
CODES = {"-1", "-2", "-9", "-99", "-999", "9", "99", "999", "-1.0", "-9.0", "9.0", "99.0"}
_ENGLISH = (
    r"can\s?not|can['’]?t|cannot|could\s?n[o'’]t|unable|not\sable|unsure|not\ssure|uncertain|"
    r"don['’]?t\sknow|do\snot\sknow|dunno|idk|no\sidea|refus\w*|declin\w*|abstain\w*|abstention|"
    r"undecided|undetermined|indeterminate|inconclusive|undecidable|insufficient|unclear|"
    r"no\s(?:answer|verdict|decision|opinion|response|judge?ment|consensus)|"
    r"not\s(?:enough|assessable|applicable|judged|gradable|ratable)|skip(?:ped)?|ambiguous|"
    r"unjudgeable|ungradable|unknown"
)
_OTHER_LANGUAGES = (
    r"unbekannt|unklar|unsicher|wei(?:ß|ss)\s(?:es\s)?nicht|keine\s(?:angabe|ahnung|antwort)|"
    r"enthaltung|nicht\s(?:beurteilbar|bewertbar|entscheidbar)|kann\s.*nicht|je\sne\ssais\spas|"
    r"ne\ssait\spas|inconnu|indéterminé|sans\sréponse|incertain|impossible\sde|no\s(?:lo\s)?(?:sé|sabe)|"
    r"no\sse\spuede|desconocido|indeterminado|sin\srespuesta|abstención|non\s(?:lo\s)?so|"
    r"non\svalutabile|sconosciuto|não\s(?:sei|sabe)|desconhecido|weet\s(?:ik\s)?niet|onbekend|"
    r"vet\s(?:ej|inte)|nie\swiem"
)
_WITHOUT_SPACES = r"не\sзнаю|неизвестно|わからない|不明|不知道|无法|無法|모름"
_WORDS = re.compile(rf"(?i)\b(?:{_ENGLISH}|{_OTHER_LANGUAGES})\b|{_WITHOUT_SPACES}")


def refuse_abstentions(
    file: str, columns: Columns, profiles: ColumnProfiles, input_options: InputOptions
) -> None:
    """Raise for predictions, or true labels, that say that there is no verdict: what are they?"""
    if columns.truth not in profiles or input_options.kind_of_models == "score":
        return
    truth = profiles[columns.truth]
    predicted_columns = _columns_of_labels(columns, profiles)
    declared = {*input_options.classes, input_options.positive}
    texts_by_column: dict[str, list[str]] = {}
    labels = [text for text in truth.texts if not _says_nothing(text, ())]
    for name in predicted_columns:
        unknown_texts = profiles[name].texts - known_labels(truth.texts, input_options) - declared
        abstentions = _abstentions(profiles[name], unknown_texts, labels)
        if abstentions and not unknown_texts.difference(abstentions):
            texts_by_column[name] = abstentions
    never_predicted = truth.texts - declared
    for name in predicted_columns:
        never_predicted -= profiles[name].texts
    truth_abstentions = _abstentions(truth, never_predicted, labels) if len(labels) > 1 else []
    if truth_abstentions:
        texts_by_column = {columns.truth: truth_abstentions, **texts_by_column}
    if texts_by_column:
        raise _abstentions_error(file, profiles, texts_by_column, input_options)


def _columns_of_labels(columns: Columns, profiles: ColumnProfiles) -> list[str]:
    """Return the columns of predictions with most classes of truth among their values."""
    names = [columns.answer] if columns.answer else []
    names += [model.columns[0] for model in columns.models if len(model.columns) == 1]
    truth = profiles[columns.truth].texts
    return [
        name
        for name in dict.fromkeys(names)
        if name in profiles and len(profiles[name].texts & truth) * 2 >= len(truth) > 1
    ]


def _abstentions(
    profile: ColumnProfile, unknown_texts: Collection[str], labels: Collection[str]
) -> list[str]:
    """Return the texts, of those that are no classes, that say that there is no verdict.

    labels: of truth, which are verdicts.
    """
    texts = [text for text in unknown_texts if _says_nothing(text, labels)]
    row_count = sum(profile.counts.get(text, 1) for text in texts)
    if len(texts) > MOST_ABSTENTIONS or row_count > MOST_ROWS * profile.rows:
        return []
    return sorted(texts)


def _says_nothing(text: str, labels: Collection[str]) -> bool:
    """Return whether a text is no verdict: by its words, as a sentence, or as a code."""
    if means_missing(text):
        return False
    if labels and text in CODES:
        return {*labels} <= {"0", "1", "0.0", "1.0"}
    if _WORDS.search(text):
        return True
    are_short = labels and all(len(label.split()) <= SENTENCE // 2 for label in labels)
    return bool(are_short) and len(text.split()) >= SENTENCE


def _question(file: str, column: str, rows_of_text: Mapping[str, int]) -> Problem:
    """Return the question about texts of a column, each with its number of rows."""
    quoted = [f"{quote_name(text)} ({count_rows(rows)})" for text, rows in rows_of_text.items()]
    message = f"is this a class, or no verdict: {join_texts(quoted)}?"
    return Problem(message, "unknown-label", file, None, column)


def _abstentions_error(
    file: str,
    profiles: ColumnProfiles,
    texts_by_column: Mapping[str, list[str]],
    input_options: InputOptions,
) -> DataError:
    """Build the error that offers to leave the rows out, or to count a further class."""
    problems = []
    row_phrases = []
    for name, column_texts in texts_by_column.items():
        rows_of_text = {text: profiles[name].counts.get(text, 1) for text in column_texts}
        problems.append(_question(file, name, rows_of_text))
        row_phrase = count_rows(sum(rows_of_text.values()))
        row_phrases.append(f"the {row_phrase} without a verdict of {quote_name(name)}")
    texts = tuple(dict.fromkeys(chain(*texts_by_column.values())))
    meaning = f"without {' and '.join(row_phrases)}"
    readings = [OfferedReading(meaning, {"null_value": texts, "missing": "drop"})]
    names = join_texts([quote_name(text) for text in texts])
    if all(text in CODES for text in texts):
        meaning = f"{names} and the classes are scores"
        readings.append(OfferedReading(meaning, {"kind": "score"}))
    elif input_options.several and input_options.positive is None:
        meaning = f"{names} {'is a further class' if len(texts) == 1 else 'are further classes'}"
        meaning += ": an error where truth has another class"
        readings.append(OfferedReading(meaning, {"classes": texts}))
    return DataError(problems, readings=readings)
