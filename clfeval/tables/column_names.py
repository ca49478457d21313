"""Guesses of roles from column names and first values: truth, ids, weights, runs, covariates."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import product

from clfeval.errors import DataError, Problem, format_option, list_names
from clfeval.tables.cells import COMMA, comma_hint, known_labels
from clfeval.tables.columns import ColumnPeek
from clfeval.tables.input import IF_MODEL, ColumnNames, Input, find_column, is_index_name

MOST_CLASSES = 20  # of a column that may be truth
# other names of truth, likeliest first
LIKELY = (
    "class", "y", "outcome", "labels", "gt", "gold", "gold_label", "gold_standard", "ground_truth",
    "groundtruth", "reference_standard", "true", "observed", "expected", "y_test", "truth_label",
    "label_true", "true_class", "actual_class", "diagnosis", "reference", "obs", "response",
    "status", "disease", "category", "annotation", "correct", "result", "event", "truth label",
    "true label", "default", "defaulted", "churn", "churned", "fraud", "is_fraud", "survived",
    "died", "death", "mortality", "relapse", "malignant", "cancer", "relevant", "relevance",
    "included", "include", "decision", "final_decision", "consensus", "adjudicated", "standard",
)  # fmt: skip
# a single certain one is used, the others are only proposed
CERTAIN = LIKELY[: LIKELY.index("diagnosis") + 1]
TRUE = {"actual", "true", "truth", "gold", "observed", "target"}  # words in a name of truth
PREDICTED = {"pred", "predicted", "prediction", "prob", "score"}
_METRICS = {"accuracy", "precision", "recall", "f1", "auc", "roc_auc", "mcc", "log_loss", "brier"}
# names of truth in a multilabel table, with one truth column per label
_TRUE = rf"(?:{'|'.join(ColumnNames.TRUTH)}|true|gt|gold)"
_OF_LABEL = re.compile(rf"\s*{_TRUE}[_ .:-]+\S.*|.*\S[_ .:-]+{_TRUE}\s*", re.IGNORECASE)
_COVARIATE = re.compile(
    r"(?:.*[_ .-])?(?:age|bmi|year|month|weekday|day|hour|height|weight|income|salary|price|los)"
    r"(?:[_ .-](?:years?|months?|days?|kg|lbs?|cm|m|in|eur|usd))?",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"(?:.*[_ .-])?(?:fraction|ratio|rate|spo2|saturation|hematocrit|confidence)", re.IGNORECASE
)
_ID = re.compile(r"(?:.*[ _.-])?(?:id|uid|uuid|guid)", re.IGNORECASE)


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
        called = _ID.fullmatch(name) and not peeks[name].texts & known
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
        name for name, peek in free.items()
        if find_column([name], ColumnNames.WEIGHT) and peek.mostly_numeric and peek.is_nonnegative
        and not (find_column([name], ColumnNames.WEIGHT[-1:]) and peek.texts <= {*classes})
    ]  # fmt: skip
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
            name for name in numbers
            if _SHARE.fullmatch(name) or (_COVARIATE.fullmatch(name) and not free[name].shares)
        ]  # fmt: skip
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
    several = [name for name in peeks if _OF_LABEL.fullmatch(name)] or _bare_labels(peeks)
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
        [Problem(text, "decimal-comma", file, None, name)
         for name, text in zip(found, texts, strict=True)],
        hint=either or "add --decimal ',' to read them",
        # scores keep their order either way; weights would be 1000 times larger
        fixes={} if either and roles.weight in found else {"decimal": ","},
    )  # fmt: skip
