"""Guesses from names and values: roles of columns, the positive class, missing values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from clfeval.errors import DataError, Problem, format_option, list_names
from clfeval.tables.input import IF_MODEL, ColumnNames, Input, find_column, is_index_name

if TYPE_CHECKING:
    from clfeval.tables.columns import ColumnPeek

# negative and positive, as programs write them
# fmt: off
PAIRS = (
    ("0", "1"), ("-1", "1"), ("0.0", "1.0"), ("-1.0", "1.0"),
    ("false", "true"), ("False", "True"), ("FALSE", "TRUE"),
)
# fmt: on
# names that suggest the positive class, or the negative class
# fmt: off
_SOUGHT = {
    "yes", "y", "true", "t", "positive", "pos", "p", "+", "case", "cases", "event",
    "malignant", "cancer", "tumor", "tumour", "disease", "diseased", "sick", "ill", "abnormal",
    "dead", "died", "deceased", "relapse", "default", "defaulted", "bad", "fraud", "fraudulent",
    "spam", "churn", "churned", "attack", "anomaly", "anomalous", "outlier", "defect", "defective",
    "fail", "failed", "failure", "faulty", "relevant", "include", "included", "hit", "toxic",
    "hate", "offensive", "fake", "phishing", "malware", "intrusion", "match", "duplicate",
    "unsafe", "unhealthy", "hiv+", "ja", "oui", "si", "krank", "success", "present", "detected",
    "infected", "bankrupt", "late", "alert",
}
_REST = {
    "no", "n", "false", "f", "negative", "neg", "-", "none", "control",
    "controls", "benign", "normal", "healthy", "well", "alive", "survived", "paid", "repaid",
    "good", "ok", "okay", "legit", "legitimate", "genuine", "ham", "stayed", "retained", "pass",
    "passed", "irrelevant", "exclude", "excluded", "clean", "real", "absent", "other", "others",
    "unmatched", "rest", "background", "nonevent", "censored",
}
# fmt: on
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


COMMA = "has a comma that may be a decimal sign or a thousands separator"
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}\s*%?")
_MISSING_WORDS = {"", "na", "n/a", "nan", "null", "none", "-", "?", ".", "missing"}


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


MOST_CLASSES = 20  # of a column that may be truth
# other names of truth, likeliest first
# fmt: off
LIKELY = (
    "class", "y", "outcome", "labels", "gt", "gold", "gold_label", "gold_standard", "ground_truth",
    "groundtruth", "reference_standard", "true", "observed", "expected", "y_test", "truth_label",
    "label_true", "true_class", "actual_class", "diagnosis", "reference", "obs", "response",
    "status", "disease", "category", "annotation", "correct", "result", "event", "truth label",
    "true label", "default", "defaulted", "churn", "churned", "fraud", "is_fraud", "survived",
    "died", "death", "mortality", "relapse", "malignant", "cancer", "relevant", "relevance",
    "included", "include", "decision", "final_decision", "consensus", "adjudicated", "standard",
)
# fmt: on
# a single certain one is used, the others are only proposed
CERTAIN = LIKELY[: LIKELY.index("diagnosis") + 1]
TRUE = {"actual", "true", "truth", "gold", "observed", "target"}  # words in a name of truth
PREDICTED = {"pred", "predicted", "prediction", "prob", "score"}
_METRICS = {"accuracy", "precision", "recall", "f1", "auc", "roc_auc", "mcc", "log_loss", "brier"}
# names of truth in a multilabel table, with one truth column per label
_TRUE = rf"(?:{'|'.join(ColumnNames.TRUTH)}|true|gt|gold)"
_OF_LABEL = rf"(?i)\s*{_TRUE}[_ .:-]+\S.*|.*\S[_ .:-]+{_TRUE}\s*"
_COVARIATE = (
    r"(?i)(?:.*[_ .-])?"
    r"(?:age|bmi|year|month|weekday|day|hour|height|weight|income|salary|price|los)"
    r"(?:[_ .-](?:years?|months?|days?|kg|lbs?|cm|m|in|eur|usd))?"
)
_SHARE = r"(?i)(?:.*[_ .-])?(?:fraction|ratio|rate|spo2|saturation|hematocrit|confidence)"
_ID = r"(?i)(?:.*[ _.-])?(?:id|uid|uuid|guid)"


def find_truth(peeks: Mapping[str, ColumnPeek], roles: Input) -> str | None:
    """Return the truth column: the one given by option, or recognised by its name."""
    named = roles.truth or find_column(peeks, ColumnNames.TRUTH)
    if named is not None:
        return named
    likely = [name for name in peeks if name.strip().casefold() in LIKELY]
    if len(likely) != 1 or likely[0].strip().casefold() not in CERTAIN:
        return None
    column = peeks[likely[0]]
    return likely[0] if column.classes and 1 < len(column.texts) <= MOST_CLASSES else None


def likely_id(peeks: Mapping[str, ColumnPeek], truth: str) -> str | None:
    """Return the id column: named like one, and without repeated values."""
    others = [name for name in peeks if name != truth]
    named = find_column(others, ColumnNames.ID)
    if named is not None:
        return named
    known = peeks[truth].texts if truth in peeks else frozenset()
    for name in filter(None, others):
        called = re.fullmatch(_ID, name) and not peeks[name].texts & known
        if peeks[name].distinct and (is_index_name(name) or called):
            return name
    return None


def refuse_two_truths(file: str, free: Iterable[str], truth: str, roles: Input) -> None:
    """Raise if another column named like truth would be a model."""
    others = [name for name in free if name.strip().casefold() in ColumnNames.TRUTH]
    if others and roles.truth is None and not roles.model:
        left = [name for name in free if name not in others]
        what = f"its name suggests truth, as does '{truth}': which one is truth?"
        raise DataError(
            [Problem(what, "two-truths", file, None, name) for name in others],
            hint=f"add {format_option('--truth', truth)} to evaluate the others as models, or "
            "--ignore COLUMN to leave one out",
            fixes={"truth": truth} | ({"ignore": tuple(others)} if left else {}),
        )


def refuse_weight_columns(
    file: str, free: Mapping[str, ColumnPeek], classes: Collection[str], roles: Input
) -> None:
    """Raise if a column of numbers named like row weights would be a model; free: columns."""
    found = [
        name
        for name, peek in free.items()
        if find_column([name], ColumnNames.WEIGHT)
        and peek.mostly_numeric
        and peek.is_nonnegative
        and not (find_column([name], ColumnNames.WEIGHT[-1:]) and peek.texts <= {*classes})
    ]
    if not found or len(found) == len(free) or roles.model or roles.weight:
        return
    weight = str(find_column(found, ColumnNames.WEIGHT))
    rest = tuple(name for name in found if name != weight)
    what = "is it a model or a column of row weights?"
    raise DataError(
        [Problem(what, "stray-weight", file, None, name) for name in found],
        hint=f"add {format_option('--weight', weight)} to weight the rows, or "
        f"{format_option('--ignore', weight)} to leave it out; {IF_MODEL}",
        fixes={"weight": weight} | ({"ignore": rest} if rest else {}),
    )


def refuse_run_columns(file: str, free: Collection[str], roles: Input) -> None:
    """Raise if a column named like runs, folds or seeds would be a model."""
    found = [name for name in free if find_column([name], ColumnNames.RUN)]
    if not found or len(found) == len(free) or roles.model:
        return
    run, *rest = found
    what = "is it a model or a column of runs (folds, seeds)?"
    raise DataError(
        [Problem(what, "stray-run", file, None, name) for name in found],
        hint=f"add {format_option('--run', run)} to evaluate each run (report, phidelta), or "
        f"{format_option('--ignore', run)} to pool all rows; {IF_MODEL}",
        fixes={"ignore": (run, *rest)},
        instead={"run": run} | ({"ignore": tuple(rest)} if rest else {}),
    )


def refuse_covariates(file: str, free: Mapping[str, ColumnPeek], roles: Input) -> None:
    """Raise if numeric columns named like covariates (age, year) would be models.

    Also if some columns are named like predictions, and more of them are not.
    """
    numbers = [name for name, peek in free.items() if peek.mostly_numeric]
    named = [name for name in numbers if {*re.split(r"[\W_]+", name.casefold())} & PREDICTED]
    found = [name for name in numbers if name not in named]
    if not named or len(found) <= len(named):
        found = [
            name
            for name in numbers
            if re.fullmatch(_SHARE, name)
            or (re.fullmatch(_COVARIATE, name) and not free[name].shares)
        ]
    if not found or len(found) == len(free) or roles.model:
        return
    what = "is it a model or a property of the rows?"
    raise DataError(
        [Problem(what, "stray-covariate", file, None, name) for name in found],
        hint=f"add {format_option('--ignore', found[0])} to leave it out, or "
        f"{format_option('--by', f'{found[0]}:4')} to compare four groups; {IF_MODEL}",
        fixes={"ignore": tuple(found)},
    )


def no_truth_error(file: str, peeks: Mapping[str, ColumnPeek]) -> DataError:
    """Build the error for a table without a recognised truth column, with a proposed one."""
    what = f"no truth column; columns: {list_names(peeks)}"
    hint, fixes = "add --truth COLUMN to name it", dict[str, str]()
    several = [name for name in peeks if re.fullmatch(_OF_LABEL, name)] or _bare_labels(peeks)
    if all(find_column(peeks, (name,)) for name in ("sensitivity", "specificity")):
        hint = (
            "if these are rates, run clfeval tune-jpt with counts (columns model, tp, fp, fn, tn), "
            "or with --sensitivity 0.9 --specificity 0.8; clfeval mlcps ranks models by rates"
        )
    elif sum(name.strip().casefold() in _METRICS for name in peeks) > 1:
        hint = "if this is a table of metrics, run clfeval mlcps; otherwise add --truth COLUMN"
    elif len(several) > 1:
        hint = (
            f"if {list_names(several, 3)} are labels, write one row per label, with columns row, "
            "label, truth and prediction, then add --by label --cluster row --positive 1; "
            "otherwise add --truth COLUMN"
        )
        return DataError.new(what, "multi-label", file, 1, several[1], hint=hint)
    elif guess := likely_truth(peeks):
        hint, fixes = f"add {format_option('--truth', guess[0])}: {guess[1]}", {"truth": guess[0]}
    return DataError.new(what, "no-truth", file, hint=hint, fixes=fixes)


def _bare_labels(peeks: Mapping[str, ColumnPeek]) -> list[str]:
    """Return 0/1 columns whose names end those of others, as `sun` in `m_sun`: multilabel."""
    bits = [name for name, column in peeks.items() if name and column.texts <= {"0", "1"}]
    models: dict[str, list[str]] = {}
    for label, name in product(bits, bits):
        found = re.fullmatch(rf"(.*\S)[_ .:-]{re.escape(label)}", name)
        if found:
            models.setdefault(found[1], []).append(label)
    return max(models.values(), key=len, default=[])


def likely_truth(peeks: Mapping[str, ColumnPeek]) -> tuple[str, str] | None:
    """Return the column that may be truth, with the reason; None if there is no candidate."""
    few = {n: p for n, p in peeks.items() if n and 1 < len(p.texts) <= MOST_CLASSES and p.classes}
    named = find_column(few, LIKELY)
    if named is not None:
        return named, "its name suggests truth"
    parts = {name: {*re.split(r"[\W_]+", name.casefold())} for name in few}
    called = [name for name, words in parts.items() if words & TRUE and not words & PREDICTED]
    if len(called) == 1:
        return called[0], "its name suggests truth"
    # other columns have the same classes
    said = {
        name: sum(other.texts == column.texts for key, other in few.items() if key != name)
        for name, column in few.items()
    }
    most = max(said.values(), default=0)
    best = [name for name, count in said.items() if count == most]
    if most and len(best) == 1:
        return best[0], "other columns predict its classes"
    texts = [name for name in few if not few[name].mostly_numeric]
    if len(texts) == 1:
        return texts[0], "the only text column with few different values"
    return (best[0], "the only column with few different values") if len(few) == 1 else None


def refuse_decimal_commas(
    file: str, names: Iterable[str], truth: str, peeks: Mapping[str, ColumnPeek], roles: Input
) -> None:
    """Raise for predictions in the named columns, or weights, with a decimal comma."""
    known = known_labels(peeks[truth].texts, roles) if truth in peeks else set()
    asked = [name for name in (*names, roles.weight or "") if name and name in peeks]
    found = [name for name in asked if peeks[name].commas and not peeks[name].texts <= known]
    if not found:
        return
    commas = [text for name in found for text in sorted(peeks[name].texts) if "," in text]
    either = comma_hint(commas)
    what = f"'{{}}' {COMMA}" if either else "numbers with a decimal comma, such as '{}'"
    texts = [what.format(min(peeks[name].texts)) for name in found]
    raise DataError(
        [
            Problem(text, "decimal-comma", file, None, name)
            for name, text in zip(found, texts, strict=True)
        ],
        hint=either or "add --decimal ',' to read them",
        # scores keep their order either way; weights would be 1000 times larger
        fixes={} if either and roles.weight in found else {"decimal": ","},
    )
