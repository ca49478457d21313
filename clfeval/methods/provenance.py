"""How a result was computed: parameters, signature, and notes on counting and clusters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from hashlib import sha256
from math import isfinite
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np

from clfeval import __version__
from clfeval.arrays import Floats
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.clusters_and_weights import ClusterCounts, Owned, RowWeights
from clfeval.counts.patterns import PatternCounts, from_units
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.sample import Sample
from clfeval.document import Answer, InputFile, ResultNote
from clfeval.errors import format_option, join_texts, list_names, quote_name
from clfeval.formatting import format_count, format_exact
from clfeval.inference.influence_and_clusters import FEWEST_CLUSTERS, influence_covariance
from clfeval.measures.multiclass_table import accuracy_influence
from clfeval.measures.record import Population
from clfeval.methods.measurement.label_measures import class_sizes, share_design
from clfeval.options import declaration
from clfeval.placeholders import COMMAND, END, OPTION
from clfeval.tables.calibrator_files import LOSS_TITLES, StoredGain
from clfeval.tables.columns import CalibratedColumn, Columns
from clfeval.tables.input import JOIN_NOTHING
from clfeval.tables.readings.labels import are_entity_tags

if TYPE_CHECKING:
    from clfeval.methods.report.options import ReportOptions

# the bar separates parts, and one line is one signature
QUOTED = str.maketrans({"|": "%7C", "%": "%25", "\n": "%0A", "\r": "%0D"})


def build_parameters(
    order: str, values: Mapping[str, Any], *groups: object, omitted: str = "", weighed: bool = False
) -> dict[str, Any]:
    """Return parameters by name: `values`, and those of the option groups; `order` comes first.

    order, omitted: names separated by spaces. weighed: rows have sampling weights.
    """
    parameters = reduce(or_, map(declaration.document_parameters, groups)) | {**values}
    if "cluster" in parameters and "cluster" not in omitted.split():
        column = parameters["cluster"]
        parameters["independence"] = (
            f"independent clusters of '{column}'" if column else "independent rows"
        )
        methods = WEIGHED if weighed else {}
        if column is not None:
            methods = CLUSTERED
        if methods and parameters.get("interval") != "none":
            row_methods = parameters.get("interval_methods", {})
            parameters["interval_methods"] = {**row_methods, **methods}
    parameter_names = [
        name for name in (*order.split(), *parameters) if name not in omitted.split()
    ]
    return {name: parameters[name] for name in parameter_names if name in parameters}


def build_signature(
    order: str,
    values: Mapping[str, Any],
    *groups: object,
    files: Iterable[InputFile],
    statistics: str,
) -> str:
    """Join `key:value` parts: settings, then the sha256 of the files and of the statistics.

    order: names of the settings that come first, separated by spaces. statistics: their digest.
    """
    settings = reduce(or_, map(declaration.signature_settings, groups)) | {**values}
    setting_names = [
        name for name in dict.fromkeys((*order.split(), *settings)) if name in settings
    ]
    keys_and_values = [
        *((name, settings[name]) for name in setting_names),
        ("data", "+".join(file.sha256[:8] if file.sha256 else "-" for file in files)),
        ("stats", statistics[:8]),
        ("clfeval", __version__),
    ]
    return "|".join(
        f"{key}:{str(value).translate(QUOTED)}"
        for key, value in keys_and_values
        if value not in (None, "")
    )


def name_interval_methods(methods: Mapping[str, str], interval: str) -> dict[str, str]:
    """Return the method of each interval; that of shares as named by --interval."""
    if interval in ("exact", "none"):
        return dict(methods)
    title = interval.title()
    return {name: method.replace("Clopper-Pearson", title) for name, method in methods.items()}


def format_thresholds(thresholds: Mapping[str, float | None]) -> str:
    """Write the thresholds: one number when all models share it, `none` when there is none."""
    known_thresholds = {
        name: threshold for name, threshold in thresholds.items() if threshold is not None
    }
    if len(set(known_thresholds.values())) <= 1:
        return "".join(repr(threshold) for threshold in set(known_thresholds.values())) or "none"
    return ",".join(f"{name}={threshold!r}" for name, threshold in sorted(known_thresholds.items()))


def prefix_threshold(answer: Answer, thresholds: Mapping[str, float | None]) -> Answer:
    """Prefix a sentence with the threshold of the scores, if all models share it."""
    (threshold, *other_thresholds) = {*thresholds.values()} or {None}
    if threshold is None or other_thresholds or not answer.models:
        return answer
    first_word, separator, remainder = answer.text.partition(" ")
    if first_word in ("No", "All", "Every"):
        first_word = first_word.lower()
    return replace(
        answer, text=f"At threshold {format_exact(threshold)}, {first_word}{separator}{remainder}"
    )


def class_totals(sample: Sample) -> dict[str, Any]:
    """Return rows, class totals and class ratio of the whole table, and its clusters."""
    positives, negatives, ratio = slice_totals(sample, None)
    unit = sample.slices[None].unit
    rows = None if positives is None or negatives is None else positives + negatives
    totals = {"rows": rows, "positives": positives, "negatives": negatives}
    return {
        **{
            name: total if total is None else from_units(total, unit)
            for name, total in totals.items()
        },
        "prevalence": ratio and ratio.prevalence,
        "odds": ratio and ratio.odds,
        **cluster_summary(sample.patterns.get(None)),
    }


def multiclass_summary(patterns: ClassPatterns) -> dict[str, Any]:
    """Return the totals of rows, more than two classes, clusters and models."""
    return {
        "rows": from_units(patterns.n.sum(), patterns.unit).item(),
        "classes": len(patterns.classes),
        **cluster_summary(patterns),
        "models": len(patterns.models),
    }


def class_rows(sample: Sample, slice_name: str | None) -> tuple[list[float], list[float]]:
    """Return the positives and negatives of a slice for each model, effective if weighted."""
    counts = sample.slices[slice_name]
    patterns = sample.patterns.get(slice_name)
    if patterns is not None and patterns.fractional:
        negatives, positives = np.round(class_sizes(patterns, 2)).tolist()
        return [positives], [negatives]
    return counts.display_units("positives").tolist(), counts.display_units("negatives").tolist()


def slice_totals(sample: Sample, slice_name: str | None) -> tuple[Any, Any, Population | None]:
    """Return the class totals of a slice and their ratio; None where undefined or models differ."""
    counts = sample.slices[slice_name]
    if not sample.counts_negatives:
        positive_totals = {*counts.positives.tolist()}
        return (positive_totals.pop() if len(positive_totals) == 1 else None), None, None
    model_totals = set(zip(counts.positives.tolist(), counts.negatives.tolist(), strict=True))
    is_equal = len(model_totals) == 1 and sample.sampled
    positives, negatives = model_totals.pop() if is_equal else (None, None)
    if not (positives and negatives):
        return positives, negatives, None
    return positives, negatives, Population.from_counts(positives, negatives, counts.unit)


def exclusion_notes(files: Sequence[InputFile], blank: int, unmatched: int = 0) -> list[ResultNote]:
    """Return warnings on excluded rows and blank lines; unmatched: rows that a join leaves out."""
    notes = list[ResultNote]()
    dropped = sum(file.dropped for file in files) - unmatched
    if unmatched:
        verb = "was" if unmatched == 1 else "were"
        text = f"{format_count(unmatched, 'row')} {verb} excluded: the id is missing in some file"
        notes.append(ResultNote("dropped", text))
    if dropped:
        noun, verb = ("row", "was") if dropped == 1 else ("rows", "were")
        text = f"{dropped} {noun} with missing values {verb} excluded"
        notes.append(ResultNote("dropped", text))
    if blank:
        lines = "lines" if blank > 1 else "line"
        notes.append(ResultNote("blank-lines", f"{blank} blank {lines} skipped"))
    return notes


def clipped_note(clipped_rows: Mapping[str, float], unit: float = 1) -> list[ResultNote]:
    """Return a warning on rows where models gave the true class probability 0, if any."""
    rows_and_models = sorted(
        ((from_units(rows, unit), model) for model, rows in clipped_rows.items() if rows)
    )
    if not rows_and_models:
        return []
    phrases = [
        f"{format_count(rows, 'row')} of {quote_name(model)}"
        for rows, model in rows_and_models[::-1]
    ]
    text = "probability 0 of the true class is replaced by 2**-52 for log_loss"
    return [ResultNote("clipped", f"in {join_texts(phrases, 3)}, {text}")]


def bucket_notes(predictions: PredictionCounts, *, curves: bool = True) -> list[ResultNote]:
    """Return a note on curves of scores that are counted in buckets."""
    has_scores = any(model.kind != "label" for model in predictions.models)
    if not (curves and has_scores) or predictions.bits is None:
        return []
    text = "scores are counted in buckets: curves have a point where each starts, and thresholds "
    text += f"are among these ({COMMAND}clfeval report --scores exact{END}: one by one, "
    text += f"{OPTION}--with{END} other methods)"
    return [ResultNote("score-buckets", text)]


def _scale_notes(columns: Columns) -> list[ResultNote]:
    """Return notes on scores that are read on another scale than they are written."""
    percentage_columns = [
        column for column, (_, divisor) in columns.scaled.items() if abs(divisor) > 1
    ]
    notes = []
    if percentage_columns:
        verb = "is a percentage" if len(percentage_columns) == 1 else "are percentages"
        text = f"{list_names(percentage_columns, 4)} {verb}: the scores are divided by 100"
        notes.append(ResultNote("percentages", text))
    reversed_offsets = {
        column: offset for column, (offset, divisor) in columns.scaled.items() if divisor < 0
    }
    for column, offset in reversed_offsets.items():
        text = f"{quote_name(column)} is reversed: its scores and thresholds are those of "
        notes.append(ResultNote("reversed", f"{text}{'1 minus it' if offset else 'minus it'}"))
    for column in columns.log_odds:
        text = f"{quote_name(column)} is read as log odds: its scores and thresholds are "
        notes.append(ResultNote("log-odds", f"{text}probabilities, 1 / (1 + exp(-x))"))
    for column, calibrated_column in columns.calibrated.items():
        model = quote_name(calibrated_column.stored.model)
        text = f"{quote_name(column)} has the scores of {model} as "
        notes.append(
            ResultNote("recalibrated", f"{text}{calibrated_column.file.name} recalibrates them")
        )
    return [*notes, *verdict_notes(columns.calibrated.values())]


def offer_of_log_odds(model: str, predictions: PredictionCounts) -> str:
    """Return how scores of a model become probabilities, if they are log odds.

    By an option where it applies, which is not to counts, long tables and joined files.
    """
    settled = predictions.evaluated.settled
    is_joined = settled.roles.join not in (None, JOIN_NOTHING)
    if predictions.stored is not None or settled.columns.answer or is_joined:
        return "if these are log odds, 1 / (1 + exp(-x)) converts them to probabilities"
    option = format_option("--model", f"{model}:logit", bare=True)
    return f"if these are log odds, add {option} to read probabilities"


def verdict_notes(calibrated: Iterable[CalibratedColumn]) -> list[ResultNote]:
    """Return notes on calibrators that were not found to help when they were fitted."""
    # by the name of the file and the caution
    models_by_caution = dict[tuple[str, str], list[str]]()
    for column in calibrated:
        stored = column.stored
        if stored.method != "none" and (stored.gain is None or stored.gain.verdict != "helps"):
            models_by_caution.setdefault((column.file.name, _caution(stored.gain)), []).append(
                stored.model
            )
    return [
        ResultNote(
            "calibrator-verdict", f"{file_name}: recalibration of {list_names(models, 4)} {caution}"
        )
        for (file_name, caution), models in models_by_caution.items()
    ]


def _caution(gain: StoredGain | None) -> str:
    """Return what is known of a recalibration that was not found to help."""
    if gain is None:
        return "has no verdict; whether it lowers the loss of new rows is unknown"
    loss = LOSS_TITLES[gain.loss]
    if gain.verdict == "harms":
        return f"harms: it raises the {loss} of new rows; keep the scores"
    return f"is undecided: it may raise the {loss} of new rows; keep the scores, or get more rows"


def counting_notes(predictions: PredictionCounts, *, clusters: bool = True) -> list[ResultNote]:
    """Return warnings on exclusions, columns and ties; clusters: whether the command uses them."""
    settled = predictions.evaluated.settled
    condition = predictions.roles.where
    notes = [] if condition is None else [_condition_note(condition)]
    notes += cluster_notes(predictions) if clusters else []
    unmatched = sum(file.lost for file in settled.files)
    notes += exclusion_notes(predictions.files, predictions.blank_rows, unmatched)
    if settled.rounding > 1e-12:
        text = "weights differ too much and are rounded, the smallest by up to "
        text += f"{settled.rounding:.1g} of it"
        notes.append(ResultNote("rounded-weights", text))
    notes += _paired_column_notes(predictions)
    has_scores = any(model.kind == "score" for model in predictions.models)
    if has_scores and predictions.positive in ("0", "false", "False", "FALSE"):
        text = f"high scores should mean '{predictions.positive}'"
        notes.append(ResultNote("score-direction", text))
    rounding_by_model = {model.name: model.rounded for model in predictions.models if model.rounded}
    if rounding_by_model:
        distance = max(rounding_by_model.values())
        text = f"scores of {list_names(rounding_by_model, 3)} lie up to {distance:.1g} outside "
        notes.append(ResultNote("rounded-scores", f"{text}0 to 1; they are evaluated as 0 and 1"))
    notes += _scale_notes(settled.columns)
    if are_entity_tags(predictions.classes):
        text = "labels are tags of entities, such as B-, I- and O: tokens are counted, not entities"
        notes.append(ResultNote("tokens-counted", text))
    text = "several classes are equally probable; the first is used"
    return notes + [
        ResultNote("argmax-ties", f"in {format_count(rows, 'row')} of '{name}' {text}")
        for name, rows in predictions.ties.items()
        if predictions.thresholds[name] is None
    ]


def _paired_column_notes(predictions: PredictionCounts) -> Iterator[ResultNote]:
    """Yield a note on each column of labels that is one model with columns of scores."""
    for model in predictions.models:
        if not model.label_column:
            continue
        columns_phrase = (
            f"{list_names((model.label_column, *model.columns), 4)} are one model, '{model.name}'"
        )
        if len(model.columns) == 1:
            columns_phrase = (
                f"'{model.label_column}' and '{model.columns[0]}' are one model, '{model.name}'"
            )
        threshold = predictions.thresholds[model.name]
        text = f"{columns_phrase}: it predicts the most probable class"
        if threshold is not None:
            noun = f"probabilities of '{predictions.positive}'"
            if model.kind == "score":
                noun = "scores"
            text = f"{columns_phrase}: {noun} of {format_exact(threshold)} or more are positive"
        limits = (predictions.evaluated.settled.related or {}).get(model.name, ())
        ranges = [
            f"{relation} {format_exact(limit)}"
            for relation, limit in zip(("above", "up to"), limits, strict=False)
            if isfinite(limit)
        ]
        if ranges:  # which give the same labels from the scores
            text += f"; any threshold {' and '.join(ranges)} gives the same labels"
        yield ResultNote("labels-and-scores", text)


def _condition_note(condition: str) -> ResultNote:
    """Return the note on the rows that a condition keeps."""
    return ResultNote("condition", f"only the rows with {condition} are evaluated")


_BEST = {"models tied with the best": "multiple comparisons with the best (Hsu)"}
INTERVAL_METHODS = {
    "shares of rows": "Clopper-Pearson",
    "other measures of the 2 x 2 table": "range over the score region, class totals random",
    "roc_auc": "DeLong, logit; with few rows, or near 0 or 1, extended to Newcombe's score "
    "interval",
    "means over rows, and functions of them": "influence values with Student's t, else the "
    "bootstrap",
    "net_benefit": "square-and-add of Wilson intervals of TP and FP, with the design effect",
    "net_benefit_standardised, interventions_avoided": "the same, of TP/P and FP/P; of TN and FN",
    "thresholds of higher net benefit": "the same, simultaneous for all thresholds "
    "(Naiman's bound)",
    **_BEST,
}
OF_MORE_CLASSES = {
    "shares of rows": "Clopper-Pearson",
    "means over classes of shares and F1": "square-and-add of the limits of the classes",
    "other measures": "influence values on the logit or Fisher scale, else the bootstrap",
    **_BEST,
}


def report_provenance(
    sample: Sample, options: ReportOptions, digests: Sequence[str], *, weighed: bool
) -> dict[str, Any]:
    """Return the parameters and signature of a Result; digests: of labels, then of scores."""
    input_options = sample.roles
    predictions = sample.predictions
    labels_digest, *score_digests = digests
    statistics = sha256("".join([labels_digest, *sorted(score_digests)]).encode()).hexdigest()
    signed: dict[str, Any] = {"pos": sample.positive, "cut": format_thresholds(sample.thresholds)}
    parameters: dict[str, Any] = {"positive": sample.positive, "negative": list(sample.negative)}
    methods = INTERVAL_METHODS
    if predictions is not None and predictions.multiclass:
        classes = predictions.order
        methods = OF_MORE_CLASSES
        signed = {"classes": len(classes)}
        parameters = {"positive": None, "negative": [], "classes": list(classes)}
        parameters["ordered"] = predictions.ordered
    parameters["by"] = list(input_options.by if input_options.run is None else ())
    signed |= {
        "cmd": "report",
        "miss": input_options.missing,
        "weight": "yes" if input_options.weight else None,
        "by": ",".join(parameters["by"]),
        "run": "file" if options.run_files else options.run,
        "ci": options.interval,
        "level": f"{options.level:g}",
        "seed": options.seed,
        "measures": ",".join(options.measure),
        "best": " ".join(options.best_threshold),
        "abstain": " ".join(options.abstain),
    }
    rule_texts = {"best_threshold": options.best_threshold, "abstain": options.abstain}
    parameters |= {name: list(texts) for name, texts in rule_texts.items() if texts}
    if targets := options.populations:
        parameters["targets"] = [{"prevalence": t.prevalence, "odds": t.odds} for t in targets]
        signed["odds"] = ",".join(target.odds for target in targets)
    if options.interval == "bootstrap":  # the others are used where it has no limits
        methods = {"every measure in `metrics`": "percentile bootstrap of rows", **methods}
    parameters["interval_methods"] = {} if options.confidence is None else methods
    return {
        "command": "report",
        "signature": build_signature(
            "cmd pos classes cut best abstain odds miss weight by run cluster ci level totals "
            "resamples seed measures",
            signed,
            input_options,
            options,
            files=sample.files,
            statistics=statistics if score_digests else labels_digest,
        ),
        "inputs": sample.files,
        "parameters": build_parameters(
            "positive negative classes ordered level interval totals interval_methods missing by "
            "run cluster measure",
            parameters,
            input_options,
            options,
            weighed=weighed,
        ),
    }


def format_pairs(values: dict[str, Any]) -> str:
    """Write values by name for a signature: NAME=VALUE, a range as LOW:HIGH."""
    return ",".join(
        f"{name}={':'.join(map(repr, value)) if isinstance(value, tuple) else repr(value)}"
        for name, value in values.items()
    )


FEW, ENOUGH = 10, 20  # clusters
CLUSTERED = {  # in addition to the methods of independent rows
    "rows that share clusters": "counts divided by the design effect and (t/z)² (Korn and Graubard "
    "1998), DeLong by clusters (Obuchowski 1997), bootstrap of clusters; p-values by sign tests of "
    "clusters"
}
WEIGHED = {
    "rows with sampling weights": "influence values with squared weights (Binder 1983); counts "
    "scaled to the effective sample size (Kish 1965) and divided by (t/z)²; Bayesian bootstrap "
    "(Rubin 1981)"
}


def cluster_summary(patterns: PatternCounts | ClassPatterns | None) -> dict[str, Any]:
    """Return the number of clusters and the largest design effect of a model's rates.

    The design effect is that of sensitivity or specificity, of more classes accuracy, or None. With
    sampling weights Kish's effective number (sum w)² / sum w².
    """
    if patterns is None or patterns.clusters is None:
        return {}
    if isinstance(patterns.clusters, RowWeights):
        return {"effective_rows": float(f"{patterns.clusters.size:.12g}")}  # sums of fractions
    if patterns.fractional:
        all_rows = np.ones((1, len(patterns.n)), bool)
        _, effective_clusters = share_design(patterns.clusters, all_rows, all_rows)
        return {
            "clusters": len(patterns.clusters),
            "design_effect": None,
            "effective_clusters": float(effective_clusters.item()),
        }
    if isinstance(patterns, ClassPatterns):
        influence_tables = enumerate(accuracy_influence(patterns.tables))
        influence = np.array(
            [table[patterns.cells(model_index)] for model_index, table in influence_tables]
        )
        effects = influence_covariance(influence, patterns.n, clusters=patterns.clusters).effect
    else:
        effects = _rate_design_effects(patterns, patterns.clusters)
    effects = effects[np.isfinite(effects)]
    largest_effect = float(effects.max()) if len(effects) else None
    return {"clusters": len(patterns.clusters), "design_effect": largest_effect}


def _rate_design_effects(patterns: PatternCounts, clusters: Owned) -> Floats:
    """Return the design effects of sensitivities and specificities."""
    truth = patterns.truth[:, None]
    effects = list[Floats]()
    for in_class, is_correct in ((truth, patterns.votes), (~truth, ~patterns.votes)):
        correct_in_class = in_class & is_correct
        class_effects, _ = share_design(clusters, correct_in_class.T, in_class.T, cautious=False)
        varies = ((patterns.n @ correct_in_class) > 0) & (
            (patterns.n @ (in_class & ~is_correct)) > 0
        )
        effects.append(class_effects[varies])
    return np.concatenate(effects)


def cluster_notes(predictions: PredictionCounts) -> list[ResultNote]:
    """Return warnings on few clusters, or on a column that may identify clusters."""
    clusters = predictions.patterns.clusters
    if isinstance(clusters, ClusterCounts):
        row_counts = predictions.patterns.n.astype(np.float64)
        equivalent_count = 1.0  # the number of clusters of equal size
        if len(clusters) > 1:
            equivalent_count = (
                row_counts.sum() ** 2 / clusters.products(np.ones((1, len(row_counts)))).item()
            )
        if equivalent_count >= ENOUGH:
            return []
        has_weights = predictions.patterns.fractional
        text = _few_clusters_text(len(clusters), equivalent_count, has_weights=has_weights)
        return [ResultNote("few-clusters", text)]
    column = predictions.evaluated.likely_cluster()
    if column is None:
        return []
    text = f"'{column}' repeats: if rows with the same value are correlated, intervals are too "
    return [ResultNote("may-share", f"{text}narrow; add {format_option('--cluster', str(column))}")]


def _few_clusters_text(cluster_count: int, equivalent_count: float, *, has_weights: bool) -> str:
    """Return what few clusters mean for intervals; equivalent_count: of clusters of equal size."""
    if cluster_count < 2:
        return "all rows are in one cluster: intervals cannot be computed"
    if cluster_count < FEWEST_CLUSTERS:
        return f"only {cluster_count} clusters: intervals and tests need {FEWEST_CLUSTERS}"
    text = f"only {cluster_count} clusters: intervals are approximate"
    if cluster_count < FEW:
        return f"{text}, by Student's t with {cluster_count - 1} degrees of freedom"
    if cluster_count < ENOUGH:
        return text
    size = "weight" if has_weights else "size"
    text = f"{cluster_count} clusters of unequal {size} are equivalent to {equivalent_count:.0f} "
    return f"{text}equal ones: intervals are approximate"
