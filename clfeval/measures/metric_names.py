"""What the columns of metric tables are called, and which measure of the catalogue is meant."""

from __future__ import annotations

import re
from functools import cache

from clfeval.measures.catalog import find_measure, folded
from clfeval.measures.record import Measure

_PREFIX = re.compile(r"^(?:mean_test|test|valid|val|validation|eval|cv|oof)_(?=.)")
_SUFFIX = re.compile(r"(?<=.)_(?:macro|micro|weighted|samples|binary|ovr|ovo|score|mean|avg)$")
# words in the name of something of which less is better, in whatever unit
_LESS = re.compile(
    r"(?:^|_)(?:loss|error|errors|err|cost|costs|risk|mae|mse|rmse|ece|mce|brier|nll|entropy|"
    r"perplexity|deviance|regret|time|seconds|latency|memory|bytes|size|distance|hamming|"
    r"misclassification|eer|hter|fpr\d*|fnr\d*|fdr\d*|p_value|pvalue|difference|gap|disparity|"
    r"bias|false|wrong|missed|failures?|wer|mape|hinge|std|sd)(?:_|@|$)|^(?:1_|rank_|rank$)"
)

# every name of a line says what its first name says, by this formula
SAME: tuple[dict[str, str], ...] = (
    {"roc_auc": "ROC AUC", "gini": "2 ROC AUC - 1"},
    {
        "accuracy": "accuracy",
        "tar": "accuracy",
        "error_rate": "1 - accuracy",
        "delta_b": "2 accuracy - 1",
        "tor": "accuracy / (1 - accuracy)",
        # of rows that have one class each
        "recall_weighted": "accuracy",
        "recall_micro": "accuracy",
        "precision_micro": "accuracy",
        "f1_micro": "accuracy",
    },
    {"sensitivity": "sensitivity", "recall": "sensitivity", "fnr": "1 - sensitivity"},
    {"specificity": "specificity", "fpr": "1 - specificity"},
    {
        "precision": "precision",
        "ppv": "precision",
        "fdr": "1 - precision",
        "ppv_odds": "precision / (1 - precision)",
    },
    {"npv": "NPV", "for": "1 - NPV", "npv_odds": "NPV / (1 - NPV)"},
    {
        "accuracy_u": "balanced accuracy",
        "balanced_accuracy": "balanced accuracy",
        "recall_macro": "balanced accuracy",
        "j_index": "2 balanced accuracy - 1",
        "delta": "2 balanced accuracy - 1",
        "error_u": "1 - balanced accuracy",
    },
    {"f1": "F1", "f_beta": "F1", "jaccard": "F1 / (2 - F1)", "f_odds": "F1 / (1 - F1)"},
    {"dor": "DOR", "dp": "sqrt(3)/π ln DOR"},
    {
        "brier": "Brier",
        "brier_sum": "2 Brier",
        "brier_skill": "1 - Brier / Brier of the class shares",
    },
    {"log_loss": "log loss", "log_loss_skill": "1 - log loss / log loss of the class shares"},
    {"ordinal_mse": "ordinal MSE", "ordinal_rmse": "square root of the ordinal MSE"},
    {"mutual_information": "mutual information", "ic": "mutual information / H(truth)"},
)


def measure_of(name: str) -> Measure | None:
    """Find the measure a column holds, whatever average, fold or spelling its name adds."""
    plain = folded(name)
    while True:
        found = _known(plain)
        if found is not None:
            return found
        shorter = _SUFFIX.sub("", _PREFIX.sub("", plain))
        if shorter == plain:
            return None
        plain = shorter


def _known(plain: str) -> Measure | None:
    """Find a measure by name; a column of one letter is not its symbol, as F or J."""
    found = find_measure(plain)
    return found if found is not None and (len(plain) > 1 or plain in found.aliases) else None


def sounds_like_less(name: str) -> bool:
    """Tell whether an unknown name speaks of losses, errors, costs or time."""
    return bool(_LESS.search(folded(name)))


def negated(name: str) -> bool:
    """Tell whether a name is that of a loss turned round, as scikit-learn's `neg_log_loss`."""
    return bool(re.match(r"(?:.*_)?neg_", folded(name)))


def same_thing(first: str, second: str) -> str | None:
    """Say why two measures tell one thing: `jaccard = F1 / (2 - F1)`; None when they do not."""
    (one, where), (other, there) = _listed(first), _listed(second)
    if where != there:  # one measure on other rows is another thing
        return None
    for line in SAME:
        if one in line and other in line:
            if line[one] == line[other]:
                return f"both are {line[one]}"
            return f"'{first}' is {line[one]}, '{second}' is {line[other]}"
    return None


@cache
def _listed(name: str) -> tuple[str, str]:
    """Return the name a measure has in SAME, and the rows it was taken on: test, val, ...

    Averages over classes are measures of their own.
    """
    whole = folded(name)
    plain = _PREFIX.sub("", whole)
    found = _known(plain)
    return (found.id if found is not None else plain), whole.removesuffix(plain)
