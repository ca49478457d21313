"""What names of columns say: the words that truth, models, ids, weights and covariates are called.

A name claims a role, rules one out, or only orders what is offered.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

from clfeval.tables.input import ColumnNames, find_column, is_index_name

Tag = Literal[
    "prediction",
    "model",
    "confidence",
    "covariate",
    "share",
    "index",
    "id",
    "like an id",
    "weight",
    "count",
    "run",
    "cluster",
    "date",
    "error",
]

# names that only truth has; of two of them neither is taken
# fmt: off
CERTAIN_TRUTH = (
    *ColumnNames.TRUTH, "actual_class", "true_class", "class_true", "label_true", "truth_label",
    "ground_truth", "groundtruth", "gt", "gold", "gold_label", "gold_standard", "golden",
    "reference_standard", "y_test", "y_actual", "y_obs", "actual_label", "actuals", "true_labels",
    "targets", "is_actual", "reference_label", "target_class", "target_label", "gold_class",
)
# names that truth often has, likeliest first
LIKELY_TRUTH = (
    "class", "y", "outcome", "labels", "true", "observed", "expected", "diagnosis", "reference",
    "obs", "response", "status", "disease", "category", "annotation", "correct", "result", "event",
    "default", "defaulted", "churn", "churned", "fraud", "is_fraud", "survived", "died", "death",
    "mortality", "relapse", "malignant", "cancer", "relevant", "relevance", "included", "include",
    "decision", "final_decision", "consensus", "adjudicated", "standard", "human", "annotator",
    "human_label", "gold_answer", "verdict", "readmitted", "converted", "clicked", "spam",
)
# fmt: on
PREDICTED = {
    "pred",
    "preds",
    "predict",
    "predicted",
    "prediction",
    "predictions",
    "prob",
    "probs",
    "proba",
    "probas",
    "probability",
    "probabilities",
    "score",
    "scores",
    "yhat",
    "hat",
    "logit",
    "logits",
    "margin",
    "pr",
    "call",
    "guess",
    "logodds",
    "linpred",
    "forecast",
    "forecasts",
    "prognose",
    "vorhersage",
    "prévision",
    "pronóstico",
    "antwort",
    "respuesta",
    "réponse",
    "risposta",
}
# names of truth that predictions have too
_OF_EITHER = {
    "label",
    "labels",
    "class",
    "category",
    "decision",
    "final_decision",
    "verdict",
    "result",
    "response",
    "status",
}
_DECISION = ("decision_function", "log_odds", "lin_pred", "linear_predictor", "raw_output")
# fmt: off
MODELS = {
    "rf", "svm", "svc", "knn", "gbm", "gb", "xgb", "xgboost", "lgbm", "lightgbm", "catboost", "lr",
    "logreg", "logistic", "logit", "lasso", "ridge", "nb", "bayes", "tree", "forest", "mlp", "nn",
    "net", "cnn", "lstm", "bert", "gpt", "llm", "model", "clf", "classifier", "ensemble", "ada",
    "adaboost", "resnet", "vit", "dt", "lda", "qda", "glm", "gam", "dnn", "ann", "rnn", "baseline",
    "glmnet", "densenet", "densenet121", "efficientnet", "inception", "vgg", "unet", "yolo", "swin",
    "roberta", "distilbert", "deberta", "t5", "claude", "gpt4", "gemini", "llama", "mistral",
    "qwen", "mixtral", "judge", "rule", "hard", "labels", "svm1", "ranger", "earth", "xgbtree",
    "randomforest", "kneighbors",
}
_COVARIATES = (
    "age|bmi|year|month|week|weekday|day|days|hour|hours|minute|minutes|height|weight|income|"
    "salary|price|los|sex|gender|race|ethnicity|smoker|smoking|married|region|site|country|city|"
    "state|hospital|center|centre|ward|department|insurance|education|lat|lon|latitude|longitude|"
    "zip|zipcode|postcode|children|dependents|parity|ses|followup|follow_up|time|timestamp|"
    "language|lang|source|device|browser"
)
_COVARIATE = (
    rf"(?i)(?:.*[_ .-])?(?:{_COVARIATES})"
    r"(?:[_ .-](?:years?|months?|days?|kg|lbs?|cm|m|in|eur|usd|mg|at|of)(?:[_ .-].*)?)?"
)
# fmt: on
_SHARE = r"(?i)(?:.*[_ .-])?(?:fraction|ratio|rate|spo2|saturation|percent|pct|share|proportion)"
_PROBABILITY = (
    r"(?i)(?:.*[_ .(-])?(?:p\d*|pop|prob|probs|proba|probability|probabilities|chance|chances|"
    r"likelihood|percent|percentage|pct|prozent|wahrscheinlichkeit|probabilité|probabilidad|"
    r"probabilità|porcentaje|pourcentage|%)\)?(?:[_ .-].*)?"
)
_LIKE_ID = (
    r"(?i)(?:.*[ _.-])?(?:id|ids|uid|uuid|guid|account|acct|accountnumber|customer|client|member|"
    r"number|no|num|nr|key|code|ref|mrn|ssn|inst#|instance|index|idx|row|rowid|rownum|line|case|"
    r"filename|file|path|url|image|name|email|phone|iban|isbn|doi|№|#|[^\W\d_]*nummer|"
    r"[^\W\d_]*nr|kennung|konto|kunde|lfd|zeile|numero|número|numéro|identifiant|matricule|ligne|"
    r"fila|cuenta|cliente|compte|expediente|código|codigo|codice|номер|ид|编号|序号|番号)\.?"
)
_JOINED_ID = r".*[a-z](?:Id|ID)"  # PassengerId
_COUNT = ("n", "freq", "frequency", "count", "counts", "cnt", "num_rows", "n_rows", "cases")
_COPIED = r"(?:[ ._-]?\(?\d+\)?|[ ._-]?(?:copy|dup|duplicate|x|y))"
_DATE = r"(?i)(?:.*[_ .-])?(?:date|datetime|timestamp|time|dob|created|updated)(?:[_ .-]at)?"
_CONFIDENCE = r"(?i)(?:.*[_ .-])?(?:confidence|conf|certainty|max_?prob(?:ability)?)"
_ERROR = r"(?i)(?:error|err|residual|correct\?|is_correct|hit|mistake|errors)"


def words_of(name: str) -> set[str]:
    """Return the words of a name, in lower case."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return {word for word in re.split(r"[\W_]+|(?<=[a-z])(?=\d)", spaced.casefold()) if word}


def tags_of(name: str) -> frozenset[Tag]:
    """Return what a name says of a column."""
    words = words_of(name)
    is_weight = is_named(name, ColumnNames.WEIGHT)  # inv_prob is no probability
    is_predicted = bool(words & PREDICTED) or _plain(name).endswith(_DECISION)
    tags: dict[Tag, bool] = {
        "prediction": is_predicted and not is_weight,
        "model": bool(words & MODELS),
        "confidence": bool(re.fullmatch(_CONFIDENCE, name)),
        "covariate": bool(re.fullmatch(_COVARIATE, name)),
        "share": bool(re.fullmatch(_SHARE, name)),
        "index": not name or is_index_name(name),
        "id": is_named(name, ColumnNames.ID),
        "like an id": bool(re.fullmatch(_LIKE_ID, name) or re.fullmatch(_JOINED_ID, name)),
        "weight": is_weight,
        "count": name.strip().casefold() in _COUNT,
        "run": is_named(name, ColumnNames.RUN),
        "cluster": is_named(name, ColumnNames.CLUSTER),
        "date": bool(re.fullmatch(_DATE, name)),
        "error": bool(re.fullmatch(_ERROR, name)),
    }
    return frozenset(tag for tag, holds in tags.items() if holds)


def is_named(name: str, names: Collection[str]) -> bool:
    """Return whether a name is one of some names, ignoring case and spaces."""
    return find_column([name], tuple(names)) is not None


def is_sampling_weight(name: str) -> bool:
    """Return whether only weights of sampled rows have this name."""
    return is_named(name, ColumnNames.SAMPLING_WEIGHT)


def is_probability_name(name: str) -> bool:
    """Return whether a name says that numbers are probabilities, or percentages."""
    return bool(re.fullmatch(_PROBABILITY, name))


def is_certain_truth(name: str) -> bool:
    """Return whether only truth has this name."""
    return _plain(name) in CERTAIN_TRUTH


def is_likely_truth(name: str) -> bool:
    """Return whether truth often has this name."""
    return _plain(name) in LIKELY_TRUTH


def is_name_of_predictions(name: str) -> bool:
    """Return whether a name of truth is one of predictions too, such as `label`."""
    return _plain(name) in _OF_EITHER


def truth_rank(name: str) -> int:
    """Return the place of a name among those of truth, the likeliest first."""
    ranked_names = (*CERTAIN_TRUTH, *LIKELY_TRUTH)
    plain_name = _plain(name)
    return ranked_names.index(plain_name) if plain_name in ranked_names else len(ranked_names)


def copied_name(name: str) -> str | None:
    """Return the name of which a name is that of a second column: `y` of `y.1`, `y_copy`."""
    match = re.fullmatch(rf"(?i)(.+?){_COPIED}", name)
    return match[1] if match else None


def _plain(name: str) -> str:
    """Return a name in lower case, with underscores for spaces, points and hyphens."""
    return re.sub(r"[\s.-]+", "_", name.strip().casefold())
