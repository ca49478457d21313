"""The catalogue of all measures, and the lookup of measures by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache

from clfeval.arrays import Floats, divide
from clfeval.errors import quote_name
from clfeval.measures import (
    calibration,
    calibration_spline,
    composite_scores,
    confusion,
    multiclass_scores,
    multiclass_table,
    odds,
    probability,
    ranking,
    score_decomposition,
)
from clfeval.measures.other_names import OTHER_NAMES, macro_stem, plain_heading, typing_error_of
from clfeval.measures.record import Measure, Needs
from clfeval.placeholders import END, OPTION

_MARS = "Restrepo et al. 2022, F1000Research 11:391 v2"

# measures of sets of models: of two counts of rows, numerator and denominator of the formula
_COVERAGE = (
    Measure(
        "shine_through",
        "ShineThrough",
        divide,
        "patterns",
        ("nothing_found",),
        "share",
        "target rows that only S detects / target rows that any model detects",
        _MARS,
    ),
    Measure(
        "occlusion",
        "Occlusion",
        divide,
        "patterns",
        ("nothing_found", "no_other_model"),
        "share",
        "target rows that S misses and all (rule any: some) other models detect / target rows"
        " that any model detects",
        _MARS,
        best="min",
    ),
    Measure(
        "yield",
        "yield",
        divide,
        "patterns",
        ("zero_margin",),
        "share",
        "detected / flagged rows",
        _MARS,
    ),
)

_OF_CLASSES = {
    **multiclass_table.OF_TABLES,
    **multiclass_table.AVERAGED,
    **multiclass_scores.OF_PROBABILITIES,
    **multiclass_scores.OF_TOP,
}

CATALOG: Mapping[str, Measure] = {
    measure.id: replace(measure, classes=_OF_CLASSES.get(measure.id, measure.classes))
    for measure in (
        *confusion.MEASURES,
        *odds.RATIOS,
        *confusion.INFORMATION,
        *odds.ODDS,
        *odds.UNBIASED,
        *confusion.INFORMATION_UNBIASED,
        *odds.TUNED,
        *confusion.MARGINS,
        *calibration.SELECTIVE,
        *odds.PLANE,
        *ranking.RANKING,
        *probability.PROBABILITIES,
        *score_decomposition.DECOMPOSITION,
        *calibration.CALIBRATION,
        *calibration_spline.CURVE_DISTANCES,
        *odds.DECISIONS,
        *multiclass_table.TABLES,
        *multiclass_scores.OF_MANY,
        *_COVERAGE,
        *composite_scores.AREA_MEASURES,
        *composite_scores.MEASURES,
    )
}

_AT_THRESHOLD = r"([^@:]+)(?:@|:t(?:hreshold)?=)(0?\.\d+)"
_TASK = r"^(binary|multiclass|multilabel)(?=[a-z])"  # of torchmetrics
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z][a-z])"
# names for two different areas under the precision-recall curve
TWO_AREAS = {"auprc", "aucpr", "auc_pr", "prauc", "prc_auc", "auc_prc", "aupr"}


def normalize_name(name: str) -> str:
    """Return a name in the form of ids: `ROC AUC` as `roc_auc`, `BrierScore` as `brier_score`."""
    plain_name = re.sub(r"[\s\-./]+", "_", re.sub(_CAMEL, "_", plain_heading(name)).casefold())
    return re.sub(_TASK, r"\1_", plain_name)


def _typed_names(measure: Measure) -> set[str]:
    """Return the exact names of a measure: its id and the spellings of its title."""
    return {measure.id, measure.title.casefold(), normalize_name(measure.title)}


_MEASURES_BY_NAME: dict[str, list[Measure]] = {}
for _measure in CATALOG.values():
    for _name in {*_typed_names(_measure), *_measure.aliases}:
        _MEASURES_BY_NAME.setdefault(_name, []).append(_measure)


def find_measure(name: str) -> Measure | None:
    """Return the measure with this id, title or alias."""
    return next(iter(_measures_named(name)), None)


def requested_measure(name: str) -> Measure | None:
    """Return the measure of a requested name, with parameters or as a macro average."""
    plain_name = plain_heading(name).partition(":")[0]
    return find_measure(plain_name) or find_measure(macro_stem(normalize_name(plain_name)) or "")


def equivalent_names(name: str) -> list[str]:
    """Return all names of a measure in results: the given one, ids, then aliases."""
    direct_measures = _measures_named(name)
    original_ids = [measure.twin or measure.id for measure in direct_measures]
    twin_measures = (
        m for original_id in original_ids for m in CATALOG.values() if original_id in (m.id, m.twin)
    )
    measures = {measure.id: measure for measure in (*direct_measures, *twin_measures)}
    aliases = (alias for measure in measures.values() for alias in measure.aliases)
    return list(dict.fromkeys([name, *measures, *aliases]))


def suggest_name(name: str, names: Iterable[str]) -> str | None:
    """Return `did you mean 'x'?` for a typing error of a known name of a measure; else None."""
    known_name = typing_error_of(normalize_name(name), names)
    return None if known_name is None else f"did you mean {quote_name(known_name)}?"


def threshold_hint(name: str) -> str | None:
    """Return a hint for a name with a threshold, as `sensitivity@0.1` or `f1:t=.2`, or None."""
    match = re.fullmatch(_AT_THRESHOLD, name.strip())
    if match is None:
        return None
    stem, threshold = match.groups()
    measure = find_measure(stem)
    if measure is None or measure.needs != "confusion":
        return None
    return f"use {OPTION}--threshold {threshold}{END} and the measure '{stem}'"


def measure_title(name: str, beta: float | None = None) -> str:
    """Return the title of a measure; that of F depends on beta."""
    if name in ("f_beta", "f_odds") and beta is not None:
        return f"F{beta:g}{' odds' * (name == 'f_odds')}"
    return CATALOG[name].title


def match_measure(name: str, ids: Sequence[str]) -> str | None:
    """Return which of these ids a name means, by id, title, alias or twin; or None."""
    spellings = {name.casefold(), normalize_name(name)}
    exact_id = next(
        (measure_id for measure_id in ids if spellings & _typed_names(CATALOG[measure_id])), None
    )
    if exact_id is not None:
        return exact_id
    equivalents = equivalent_names(name)
    return next((measure_id for measure_id in ids if measure_id in equivalents), None)


def all_spellings(ids: Sequence[str]) -> list[str]:
    """Return all accepted names of some measures: ids, then aliases and twins."""
    names = (name for measure_id in ids for name in equivalent_names(measure_id))
    return list(dict.fromkeys([*ids, *names]))


@lru_cache(maxsize=32)  # asked of each table of populations
def measure_functions(needs: Needs, **settings: object) -> Mapping[str, Callable[..., Floats]]:
    """Return the functions of the measures of one statistic by id, with settings filled in."""
    measures = (m.with_settings(**settings) for m in CATALOG.values() if m.needs == needs)
    names = {name for name, setting in settings.items() if setting is not None}
    return {m.id: m.compute for m in measures if m.compute and names.issuperset(m.takes)}


def _measures_named(name: str) -> list[Measure]:
    """Return the measures with exactly this name, matching ids first."""
    normal_name = normalize_name(name)
    spellings = dict.fromkeys([name.casefold(), normal_name])
    measures = {m.id: m for spelling in spellings for m in _MEASURES_BY_NAME.get(spelling, ())}
    if measures:
        return sorted(measures.values(), key=lambda measure: measure.id not in spellings)
    library_id = OTHER_NAMES.get(normal_name) or OTHER_NAMES.get(normal_name.removesuffix("_score"))
    return [] if library_id is None else [CATALOG[library_id]]


_PARAMETERS = r":\w+=[^:]*$"
_PREFIX = r"^(?:mean_test|test|valid|val|validation|eval|cv|oof)_(?=.)"
_SUFFIX = r"(?<=.)_(?:macro|micro|weighted|samples|binary|ovr|ovo|score|mean|avg)$"
# words in the name of a quantity of which lower values are better, in any unit
_LOWER_IS_BETTER = (
    r"(?:^|_)(?:loss|error|errors|err|cost|costs|risk|mae|mse|rmse|ece|mce|brier|nll|entropy|"
    r"perplexity|deviance|regret|time|seconds|latency|memory|bytes|size|distance|hamming|"
    r"params|parameters|flops|macs|runtime|duration|minutes|hours|ms|secs?|energy|emissions?|co2|"
    r"misclassification|eer|hter|fpr\d*|fnr\d*|fdr\d*|p_value|pvalue|difference|gap|disparity|"
    r"bias|false|wrong|missed|failures?|wer|mape|hinge|std|sd|elapsed|wall|walltime|delay|price|"
    r"v?ram|mem|mb|gb|watts?|joules?|kwh|carbon)(?:_|@|$)|^(?:1_|rank_|rank$)"
)
_HIGHER_IS_BETTER = (
    r"(?:^|_)(?:roc|aucpr|genauigkeit|präzision|trefferquote|sensitivität|spezifität|exactitude|"
    r"précision|rappel|sensibilité|spécificité|exactitud|precisión|sensibilidad|especificidad|"
    r"accuratezza|precisione|scores?|b?acc|accuracy|b?auc\d*|auroc|auprc|aupr|prauc|rocauc|ap|map|f_?\d?|f_?beta|"
    r"precision|recall|prec|rec|sens|sensitivity|spec|specificity|kappa|mcc|g_?means?|jaccard|iou|"
    r"dice|ndcg\d*|mrr|bleu\d*|rouge\d*|meteor|bertscore|r2|youden|informedness|markedness|hits?|"
    r"npv|ppv|tpr|tnr|gini|ks|lift|gain|balanced|quality|reward|win_?rate|wins?|power|coverage|"
    r"stability|fairness|robustness|similarity|utility|agreement|benefit|exact_match|em|top_?\d+|"
    r"pass|correct|success|trust|interpretability|explainability|consistency|concordance|"
    r"discrimination|throughput|speed|rating|votes|corr?|correlation|skill)(?:_|@|\d|$)"
)

# the measures of a line are equivalent: each is a formula of the same quantity; the averages that
# are accuracy are so for rows with one class each
_FORMULAS = (
    {"ROC AUC": "roc_auc", "2 ROC AUC - 1": "gini"},
    {
        "accuracy": "accuracy tar recall_weighted recall_micro precision_micro f1_micro",
        "1 - accuracy": "error_rate",
        "2 accuracy - 1": "delta_b",
        "accuracy / (1 - accuracy)": "tor",
    },
    {"sensitivity": "sensitivity recall", "1 - sensitivity": "fnr"},
    {"specificity": "specificity", "1 - specificity": "fpr"},
    {
        "precision": "precision ppv",
        "1 - precision": "fdr",
        "precision / (1 - precision)": "ppv_odds",
    },
    {"NPV": "npv", "1 - NPV": "for", "NPV / (1 - NPV)": "npv_odds"},
    {
        "balanced accuracy": "accuracy_u balanced_accuracy recall_macro",
        "2 balanced accuracy - 1": "j_index delta",
        "1 - balanced accuracy": "error_u",
    },
    {"F1": "f1 f_beta", "F1 / (2 - F1)": "jaccard", "F1 / (1 - F1)": "f_odds"},
    {"DOR": "dor", "sqrt(3)/π ln DOR": "dp"},
    {
        "Brier": "brier",
        "2 Brier": "brier_sum",
        "2 Brier / C": "brier_per_class",
        "1 - Brier / Brier of the class shares": "brier_skill",
    },
    {"log loss": "log_loss", "1 - log loss / log loss of the class shares": "log_loss_skill"},
    {"ordinal MSE": "ordinal_mse", "square root of the ordinal MSE": "ordinal_rmse"},
    {"mutual information": "mutual_information", "mutual information / H(truth)": "ic"},
)


def _formulas_by_name(names_by_formula: Mapping[str, str]) -> dict[str, str]:
    """Return the formula of each measure; names_by_formula: names, with spaces between them."""
    return {name: formula for formula, names in names_by_formula.items() for name in names.split()}


EQUIVALENCES: tuple[dict[str, str], ...] = tuple(map(_formulas_by_name, _FORMULAS))


def measure_of_column(name: str) -> Measure | None:
    """Return the measure of a column, ignoring average, fold and parameters in its name."""
    stem = normalize_name(re.sub(_PARAMETERS, "", name))
    measure = _measure_unless_letter(stem)
    while measure is None:
        shorter = re.sub(_SUFFIX, "", re.sub(_PREFIX, "", stem))
        if shorter == stem:
            return None
        stem = shorter
        measure = _measure_unless_letter(stem)
    return measure


def _measure_unless_letter(plain_name: str) -> Measure | None:
    """Return the measure of a name; None for a single letter, such as F or J."""
    measure = find_measure(plain_name)
    if measure is None or (len(plain_name) < 2 and plain_name not in measure.aliases):
        return None
    return measure


def lower_is_better_by_name(name: str) -> bool:
    """Return whether an unknown name suggests a loss, error, cost or duration."""
    return bool(re.search(_LOWER_IS_BETTER, normalize_name(name)))


def higher_is_better_by_name(name: str) -> bool:
    """Return whether an unknown name suggests a score, a quality or an agreement."""
    return bool(re.search(_HIGHER_IS_BETTER, normalize_name(name)))


def is_negated_loss(name: str) -> bool:
    """Return whether a name is that of a negated loss, as scikit-learn's `neg_log_loss`."""
    return bool(re.match(r"(?:.*_)?neg_", normalize_name(name)))


def equivalence_formula(first: str, second: str) -> str | None:
    """Return how two measures are equivalent, as `jaccard = F1 / (2 - F1)`; None if not."""
    first_id, first_prefix = _name_and_prefix(first)
    second_id, second_prefix = _name_and_prefix(second)
    if first_prefix != second_prefix:  # a measure on different rows is not equivalent
        return None
    for formulas in EQUIVALENCES:
        if first_id in formulas and second_id in formulas:
            if formulas[first_id] == formulas[second_id]:
                return f"both are {formulas[first_id]}"
            return f"'{first}' is {formulas[first_id]}, '{second}' is {formulas[second_id]}"
    return None


@cache
def _name_and_prefix(name: str) -> tuple[str, str]:
    """Return the name of a measure in EQUIVALENCES, averages too, and its prefix: test_, val_."""
    normal_name = normalize_name(name)
    plain_name = re.sub(_PREFIX, "", normal_name)
    measure = _measure_unless_letter(plain_name)
    return (plain_name if measure is None else measure.id), normal_name.removesuffix(plain_name)
