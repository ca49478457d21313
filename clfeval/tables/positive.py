"""Which of two classes is the positive one: known of some pairs, guessed of others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from re import fullmatch, sub

# negative and positive, as programs write them
PAIRS = (
    ("0", "1"), ("-1", "1"), ("0.0", "1.0"), ("-1.0", "1.0"),
    ("false", "true"), ("False", "True"), ("FALSE", "TRUE"),
)  # fmt: skip
# names that say which class is looked for, or which is the rest
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


def binary_pair(labels: Collection[str]) -> set[str]:
    """Return both of a pair like 0 and 1, where the labels are one of it or both; else nothing."""
    return set(next((pair for pair in PAIRS if {*labels} <= {*pair}), ()) if labels else ())


def spell_as_truth(texts: Collection[str], classes: Collection[str]) -> tuple[str, str] | None:
    """Return how truth writes the bits of a column, such as False and True for 0 and 1, or None."""
    mine, theirs = (
        next((pair for pair in PAIRS if {*one} <= {*pair}), ("", "")) if one else ("", "")
        for one in (classes, texts)
    )
    words = [pair[1].casefold() == "true" for pair in (mine, theirs)]
    numbers = mine in PAIRS[0:3:2], theirs == PAIRS[0]
    return mine if (words[0] and numbers[1]) or (numbers[0] and words[1]) else None


def default_positive(classes: Collection[str]) -> str | None:
    """Return 1 or true, as written, of classes among 0 and 1, -1 and 1, or false and true."""
    folded = {name.casefold(): name for name in classes}
    if len(folded) != len(classes) or not folded:
        return None
    for no, yes in PAIRS:
        if folded.keys() <= {no, yes}:
            written = next((pair[1] for pair in PAIRS if pair[0] == folded.get(no)), yes)
            return folded.get(yes, written)
    return None


def guess_positive(classes: Mapping[str, int]) -> tuple[str, bool]:
    """Return the likeliest positive class of counted ones, and whether a name suggests it."""
    plain = {name: sub(r"[\W_]+", " ", name.casefold()).strip() or name for name in classes}
    # of 1 and 2 some programs mean the one, some the other
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
        if fullmatch(_NOT + sub(r"\W", ".", plain[one]), plain[two]):
            return one, True
    return min(sorted(classes), key=classes.__getitem__), False
