"""Single cells: missing values, texts of labels, hints, and guesses of the positive class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clfeval.errors import format_option

if TYPE_CHECKING:
    from clfeval.tables.input import Input

# negative and positive, as programs write them
PAIRS = (
    ("0", "1"), ("-1", "1"), ("0.0", "1.0"), ("-1.0", "1.0"),
    ("false", "true"), ("False", "True"), ("FALSE", "TRUE"),
)  # fmt: skip
# names that suggest the positive class, or the negative class
_SOUGHT = {
    "yes", "y", "true", "t", "positive", "pos", "p", "+", "case", "cases", "event",
    "malignant", "cancer", "tumor", "tumour", "disease", "diseased", "sick", "ill", "abnormal",
    "dead", "died", "deceased", "relapse", "default", "defaulted", "bad", "fraud", "fraudulent",
    "spam", "churn", "churned", "attack", "anomaly", "anomalous", "outlier", "defect", "defective",
    "fail", "failed", "failure", "faulty", "relevant", "include", "included", "hit", "toxic",
    "hate", "offensive", "fake", "phishing", "malware", "intrusion", "match", "duplicate",
    "unsafe", "unhealthy", "hiv+", "ja", "oui", "si", "krank", "success", "present", "detected",
    "infected", "bankrupt", "late", "alert",
}  # fmt: skip
_REST = {
    "no", "n", "false", "f", "negative", "neg", "-", "none", "control",
    "controls", "benign", "normal", "healthy", "well", "alive", "survived", "paid", "repaid",
    "good", "ok", "okay", "legit", "legitimate", "genuine", "ham", "stayed", "retained", "pass",
    "passed", "irrelevant", "exclude", "excluded", "clean", "real", "absent", "other", "others",
    "unmatched", "rest", "background", "nonevent", "censored",
}  # fmt: skip
_NOT = r"(?:not|non|no)[ _-]?"


def spell_as_truth(texts: Collection[str], classes: Collection[str]) -> tuple[str, str] | None:
    """Return truth's spelling of a 0/1 column, such as (False, True); None if it is the same."""
    mine, theirs = (
        next((pair for pair in PAIRS if {*one} <= {*pair}), ("", "")) if one else ("", "")
        for one in (classes, texts)
    )
    words = [pair[1].casefold() == "true" for pair in (mine, theirs)]
    numbers = mine in PAIRS[0:3:2], theirs == PAIRS[0]
    return mine if (words[0] and numbers[1]) or (numbers[0] and words[1]) else None


def default_positive(classes: Collection[str]) -> str | None:
    """Return 1 or true, as written, of classes like 0 and 1 or false and true; else None."""
    folded = {name.casefold(): name for name in classes}
    if len(folded) != len(classes) or not folded:
        return None
    for no, yes in PAIRS:
        if folded.keys() <= {no, yes}:
            written = next((pair[1] for pair in PAIRS if pair[0] == folded.get(no)), yes)
            return folded.get(yes, written)
    return None


def guess_positive(classes: Mapping[str, int]) -> tuple[str, bool]:
    """Return the likeliest positive class, given counts, and whether its name suggests it."""
    plain = {name: re.sub(r"[\W_]+", " ", name.casefold()).strip() or name for name in classes}
    # of 1 and 2 either may be positive
    known = _SOUGHT if "2" in classes else _SOUGHT | {"1"}
    sought = [name for name, word in plain.items() if word in known]
    if len(sought) == 1:
        return sought[0], True
    if len(classes) == 2:
        rest = [name for name, word in plain.items() if word in _REST]
        others = [name for name in classes if name not in rest]
        if len(rest) == 1:
            return others[0], True
        one, two = sorted(classes, key=len)
        if re.fullmatch(_NOT + re.sub(r"\W", ".", plain[one]), plain[two]):
            return one, True
    return min(sorted(classes), key=classes.__getitem__), False


FRAME = "<frame>"  # name of a table that is not a file
COMMA = "has a comma that may be a decimal sign or a thousands separator"
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}\s*%?")
_MISSING_WORDS = {"", "na", "n/a", "nan", "null", "none", "-", "?", ".", "missing"}


def is_missing(value: object) -> bool:
    """Return whether a cell is missing: None, NaN, or pandas' NA (which cannot be compared)."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return not isinstance(value, np.ndarray) and value != value


def as_text(value: object) -> str | None:
    """Write a label as text: True is true, 1 is 1, 1.0 is 1.0; None and NaN are missing."""
    if is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return str(value)


def distinct_texts(values: Iterable[object]) -> set[str]:
    """Return the distinct values as text, without missing ones."""
    return {text for text in map(as_text, set(values)) if text is not None}


def count_texts(values: Iterable[object], counts: Iterable[int]) -> Counter[str]:
    """Return the total count of each value, as text, without missing ones."""
    found: Counter[str] = Counter()
    for value, count in zip(values, counts, strict=True):
        text = as_text(value)
        if text is not None:
            found[text] += count
    return found


def missing_word_hint(text: str) -> str | None:
    """Return the hint for a word that usually means a missing value, else None."""
    return null_value_hint(text) if text.casefold() in _MISSING_WORDS else None


def comma_hint(texts: Sequence[str]) -> str | None:
    """Return a hint on commas that may be decimal or thousands separators, None if unambiguous."""
    if not texts or not all(map(_EITHER.fullmatch, map(str.strip, texts))):
        return None
    first = texts[0].strip()
    decimal, whole = first.replace(",", "."), first.replace(",", "")
    return f"add --decimal ',' to read '{first}' as {decimal}; if it is {whole}, remove the comma"


def null_value_hint(text: str) -> str:
    """Return the hint on the option that makes a text a missing value."""
    return f"if '{text}' means missing, add {format_option('--null-value', text)}"


def known_labels(classes: Iterable[str], roles: Input) -> set[str]:
    """Return truth's labels, the declared classes, and both labels of a pair like 0 / 1."""
    known = {*classes, *roles.classes}
    if roles.positive is not None:
        known.add(roles.positive)
    pair = next((pair for pair in PAIRS if known <= {*pair}), ()) if known else ()
    return known.union(pair)


def natural_sort_key(text: str) -> tuple[tuple[int, float, str], ...]:
    """Return the key that sorts numbers in text by value: 2 before 10, fold9 before fold10."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return tuple(
        (0, float(part), part) if index % 2 else (1, 0.0, part)
        for index, part in enumerate(parts)
        if part
    )
