"""Labels: how programs spell them, which are equal, and which class is the positive one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import is_score, numbers_of_texts

# negative and positive, as programs write them
# fmt: off
PAIRS = (
    ("0", "1"), ("-1", "1"), ("0.0", "1.0"), ("-1.0", "1.0"),
    ("false", "true"), ("False", "True"), ("FALSE", "TRUE"),
)
# names that suggest the positive class, or the negative class
POSITIVE_WORDS = {
    "yes", "y", "true", "t", "positive", "pos", "p", "+", "case", "cases", "event",
    "malignant", "cancer", "tumor", "tumour", "disease", "diseased", "sick", "ill", "abnormal",
    "dead", "died", "deceased", "relapse", "default", "defaulted", "bad", "fraud", "fraudulent",
    "spam", "churn", "churned", "attack", "anomaly", "anomalous", "outlier", "defect", "defective",
    "fail", "failed", "failure", "faulty", "relevant", "include", "included", "hit", "toxic",
    "hate", "offensive", "fake", "phishing", "malware", "intrusion", "match", "duplicate",
    "unsafe", "unhealthy", "hiv+", "ja", "oui", "si", "krank", "success", "present", "detected",
    "infected", "bankrupt", "late", "alert", "poor",
}
NEGATIVE_WORDS = {
    "no", "n", "false", "f", "negative", "neg", "-", "none", "control",
    "controls", "benign", "normal", "healthy", "well", "alive", "survived", "paid", "repaid",
    "good", "ok", "okay", "legit", "legitimate", "genuine", "ham", "stayed", "retained", "pass",
    "passed", "irrelevant", "exclude", "excluded", "clean", "real", "absent", "other", "others",
    "unmatched", "rest", "background", "nonevent", "censored", "nein", "non", "gesund",
}
# fmt: on
_NOT = r"(?:not|non|no)[ _-]?"
_PLACE = r"^\d+:"  # of a class, as Weka numbers it: `2:yes`
_TAG_PARTS = "BIESLUM"
_TAG = re.compile(rf"(?P<first>[{_TAG_PARTS}])[-_].+|.+[-_](?P<last>[{_TAG_PARTS}])")


_BIT_OF_WORD = {"false": 0.0, "true": 1.0}


def known_labels(classes: Iterable[str], input_options: InputOptions) -> set[str]:
    """Return truth's labels, the declared classes, and both labels of a pair like 0 / 1."""
    labels = {*classes, *input_options.classes}
    if input_options.positive is not None:
        labels.add(input_options.positive)
    pair = next((pair for pair in PAIRS if labels <= {*pair}), ()) if labels else ()
    return labels.union(pair)


def spelling_as_truth(texts: Collection[str], classes: Collection[str]) -> dict[str, str]:
    """Return truth's spelling of the texts of a column that are labels of truth.

    Texts are equal as they are written, as numbers (`2`, `2.0`), or as 0 and 1 for false and true.
    """
    spelled = {text: text for text in texts if text in classes}
    number_of_text = numbers_of_texts(frozenset(texts))
    bit_of_text = {text: number for text, number in number_of_text.items() if number in (0.0, 1.0)}
    for text in texts:
        if len(text) <= len("false") and text.casefold() in _BIT_OF_WORD:
            bit_of_text[text] = _BIT_OF_WORD[text.casefold()]
    for value_of, value_of_text in ((_number, number_of_text), (_bit, bit_of_text)):
        class_of_value = {value_of(name): name for name in classes}
        if None in class_of_value or len(class_of_value) < len(classes):
            continue
        for text, value in value_of_text.items():
            if value in class_of_value:
                spelled.setdefault(text, class_of_value[value])
    return spelled


def _number(text: str) -> float | None:
    return float(text) if is_score(text) and text not in ("nan", "NaN") else None


def _bit(text: str) -> float | None:
    """Return 0 or 1 of a text that is false or true, or one of these numbers."""
    if text.casefold() in _BIT_OF_WORD:
        return _BIT_OF_WORD[text.casefold()]
    number = _number(text)
    return number if number in (0.0, 1.0) else None


def variants_of(label: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the folded texts that stand for a label: the given ones, and spellings of programs."""
    variants = {text.strip().lower() for text in texts}
    number = _number(label)
    if number is not None:
        variants |= {repr(number), f"{number:g}"}
    if (bit := _bit(label)) is not None:
        spellings = ("0", "0.0", "false") if bit == 0 else ("1", "1.0", "true")
        variants |= {*spellings} if label.casefold() in ("false", "true", *spellings) else set()
    return tuple(sorted(variants))


def are_entity_tags(classes: Collection[str]) -> bool:
    """Return whether classes are tags of tokens in entities: O, and B-PER, I-PER, or PER-B, B, I.

    Of the schemes BIO, BIOES, BILOU and BMES; a begin or a single tag, and O or a further part.
    """
    if {"B", "I"} <= {*classes} <= {*_TAG_PARTS, "O"}:
        return True
    tag_parts = set()
    for name in {*classes} - {"O"}:
        match = _TAG.fullmatch(name)
        if match is None:
            return False
        tag_parts.add(match["first"] or match["last"])
    return bool(tag_parts & {*"BSU"}) and ("O" in classes or len(tag_parts) > 1)


def plain_label(name: str) -> str:
    """Return the words of a label in lower case, without signs and a leading `2:`."""
    bare = re.sub(_PLACE, "", name)
    return re.sub(r"[\W_]+", " ", bare.casefold()).strip() or name


def default_positive(classes: Collection[str]) -> str | None:
    """Return the positive class that follows from how classes are written; None if none does.

    It is 1 of 0 and 1, true of false and true, and of two words with known meanings the one that
    is sought, such as yes of no and yes.
    """
    folded_names = {name.casefold(): name for name in classes}
    if len(folded_names) != len(classes) or not folded_names:
        return None
    for no, yes in PAIRS:
        if folded_names.keys() <= {no, yes}:
            positive_text = next(
                (pair[1] for pair in PAIRS if pair[0] == folded_names.get(no)), yes
            )
            return folded_names.get(yes, positive_text)
    bare_names = {re.sub(_PLACE, "", name).casefold(): name for name in classes}
    for no, yes in PAIRS:
        if bare_names.keys() == {no, yes} and all(re.match(_PLACE, name) for name in classes):
            return bare_names[yes]  # Weka's 1:0 and 2:1
    return positive_of_words(classes)


def positive_of_words(classes: Collection[str]) -> str | None:
    """Return the sought one of two classes whose words are both known; else None."""
    if len(classes) != 2:
        return None
    words = {name: plain_label(name) for name in classes}
    positive_names = [name for name, word in words.items() if word in POSITIVE_WORDS]
    negative_names = [name for name, word in words.items() if word in NEGATIVE_WORDS]
    if len(positive_names) == len(negative_names) == 1:
        return positive_names[0]
    shorter, longer = sorted(classes, key=len)
    is_negated = re.fullmatch(_NOT + re.sub(r"\W", ".", words[shorter]), words[longer])
    return shorter if is_negated and not is_score(shorter) else None


def guess_positive(classes: Mapping[str, int]) -> tuple[str, bool]:
    """Return the likeliest positive class, given counts, and whether its name suggests it."""
    words = {name: plain_label(name) for name in classes}
    # of 1 and 2 either is
    positive_words = POSITIVE_WORDS if "2" in classes else POSITIVE_WORDS | {"1"}
    positive_names = [name for name, word in words.items() if word in positive_words]
    if len(positive_names) == 1:
        return positive_names[0], True
    if len(classes) == 2:
        possible_names = [name for name, word in words.items() if word not in NEGATIVE_WORDS]
        if len(possible_names) == 1:
            return possible_names[0], True
        if (positive := positive_of_words(classes)) is not None:
            return positive, True
    return min(sorted(classes), key=classes.__getitem__), False
