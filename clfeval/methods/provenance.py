"""How a result was computed: parameters, signature, and notes on counting and clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    order: str, found: Mapping[str, Any], *groups: object, without: str = "", weighed: bool = False
) -> dict[str, Any]:
    """Return parameters detected and parameters of the option groups, names in `order` first."""
    said = reduce(or_, map(declaration.document_parameters, groups)) | {**found}
    if "cluster" in said and "cluster" not in without.split():
        column = said["cluster"]
        said["independence"] = (
            f"independent clusters of '{column}'" if column else "independent rows"
        )
        methods = CLUSTERED if said["cluster"] is not None else WEIGHED if weighed else {}
        if methods and said.get("interval") != "none":
            said["interval_methods"] = {**said.get("interval_methods", {}), **methods}
    names = [name for name in (*order.split(), *said) if name not in without.split()]
    return {name: said[name] for name in names if name in said}


def build_signature(
    order: str,
    found: Mapping[str, Any],
    *groups: object,
    files: Iterable[InputFile],
    statistics: str,
) -> str:
    """Join `key:value` parts: parameters, then the sha256 of the files and of the statistics."""
    said = reduce(or_, map(declaration.signature_settings, groups)) | {**found}
    data = "+".join(file.sha256[:8] if file.sha256 else "-" for file in files)
    parts = [
        *((name, said[name]) for name in dict.fromkeys((*order.split(), *said)) if name in said),
        ("data", data),
        ("stats", statistics[:8]),
        ("clfeval", __version__),
    ]
    return "|".join(
        f"{key}:{str(value).translate(QUOTED)}" for key, value in parts if value not in (None, "")
    )


def name_interval_methods(methods: Mapping[str, str], how: str) -> dict[str, str]:
    """Return the method of each interval; that of shares as named by --interval."""
    if how in ("exact", "none"):
        return dict(methods)
    return {what: one.replace("Clopper-Pearson", how.title()) for what, one in methods.items()}


def format_thresholds(thresholds: Mapping[str, float | None]) -> str:
    """Write the thresholds: one number when all models share it, `none` when there is none."""
    cuts = {name: cut for name, cut in thresholds.items() if cut is not None}
    if len(set(cuts.values())) <= 1:
        return "".join(repr(cut) for cut in set(cuts.values())) or "none"
    return ",".join(f"{name}={cut!r}" for name, cut in sorted(cuts.items()))


def prefix_threshold(said: Answer, thresholds: Mapping[str, float | None]) -> Answer:
    """Prefix a sentence with the threshold of the scores, if all models share it."""
    (cut, *others) = {*thresholds.values()} or {None}
    if cut is None or others or not said.models:
        return said
    first, space, rest = said.text.partition(" ")
    first = first.lower() if first in ("No", "All", "Every") else first
    return replace(said, text=f"At threshold {format_exact(cut)}, {first}{space}{rest}")


def class_totals(sample: Sample) -> dict[str, Any]:
    """Return rows, class totals and class ratio of the whole table, and its clusters."""
    positives, negatives, ratio = slice_totals(sample, None)
    unit = sample.slices[None].unit
    rows = None if positives is None or negatives is None else positives + negatives
    said = {"rows": rows, "positives": positives, "negatives": negatives}
    return {
        **{name: n if n is None else from_units(n, unit) for name, n in said.items()},
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


def class_rows(sample: Sample, label: str | None) -> tuple[list[float], list[float]]:
    """Return the positives and negatives of a slice for each model, effective if weighted."""
    counts, patterns = sample.slices[label], sample.patterns.get(label)
    if patterns is not None and patterns.fractional:
        negatives, positives = np.round(class_sizes(patterns, 2)).tolist()
        return [positives], [negatives]
    return counts.display_units("positives").tolist(), counts.display_units("negatives").tolist()


def slice_totals(sample: Sample, label: str | None) -> tuple[Any, Any, Population | None]:
    """Return the class totals of a slice and their ratio; None where undefined or models differ."""
    counts = sample.slices[label]
    if not sample.counts_negatives:
        totals = {*counts.positives.tolist()}
        return (totals.pop() if len(totals) == 1 else None), None, None
    pairs = set(zip(counts.positives.tolist(), counts.negatives.tolist(), strict=True))
    one = len(pairs) == 1 and sample.sampled
    positives, negatives = pairs.pop() if one else (None, None)
    if not (positives and negatives):
        return positives, negatives, None
    return positives, negatives, Population.from_counts(positives, negatives, counts.unit)


def exclusion_notes(files: Sequence[InputFile], blank: int, apart: int = 0) -> list[ResultNote]:
    """Return warnings on excluded rows and blank lines; apart: rows without a match in a join."""
    dropped, said = sum(file.dropped for file in files) - apart, []
    if apart:
        were = "was" if apart == 1 else "were"
        text = f"{format_count(apart, 'row')} {were} excluded: the id is missing in some file"
        said.append(ResultNote("dropped", text))
    if dropped:
        rows, were = ("row", "was") if dropped == 1 else ("rows", "were")
        said.append(ResultNote("dropped", f"{dropped} {rows} with missing values {were} excluded"))
    if blank:
        said.append(ResultNote("blank-lines", f"{blank} blank line{'s' * (blank > 1)} skipped"))
    return said


def clipped_note(lost: Mapping[str, float], unit: float = 1) -> list[ResultNote]:
    """Return a warning on rows where models gave the true class probability 0, if any."""
    some = sorted(((from_units(rows, unit), name) for name, rows in lost.items() if rows))
    each = [f"{format_count(rows, 'row')} of {quote_name(name)}" for rows, name in some[::-1]]
    text = "probability 0 of the true class is replaced by 2**-52 for log_loss"
    return [ResultNote("clipped", f"in {join_texts(each, 3)}, {text}")] if each else []


def bucket_notes(counted: PredictionCounts, *, curves: bool = True) -> list[ResultNote]:
    """Return a note on curves of scores that are counted in buckets."""
    scored = any(model.kind != "label" for model in counted.models)
    if not (curves and scored) or counted.bits is None:
        return []
    text = "scores are counted in buckets: curves have a point where each starts, and thresholds "
    text += f"are among these ({COMMAND}clfeval report --scores exact{END}: one by one, "
    text += f"{OPTION}--with{END} other methods)"
    return [ResultNote("score-buckets", text)]


def _scale_notes(columns: Columns) -> list[ResultNote]:
    """Return notes on scores that are read on another scale than they are written."""
    percents = [name for name, (_, divisor) in columns.scaled.items() if abs(divisor) > 1]
    notes = []
    if percents:
        verb = "is a percentage" if len(percents) == 1 else "are percentages"
        text = f"{list_names(percents, 4)} {verb}: the scores are divided by 100"
        notes.append(ResultNote("percentages", text))
    turned = {name: offset for name, (offset, divisor) in columns.scaled.items() if divisor < 0}
    for name, offset in turned.items():
        text = f"{quote_name(name)} is reversed: its scores and thresholds are those of "
        notes.append(ResultNote("reversed", f"{text}{'1 minus it' if offset else 'minus it'}"))
    for name in columns.log_odds:
        text = f"{quote_name(name)} is read as log odds: its scores and thresholds are "
        notes.append(ResultNote("log-odds", f"{text}probabilities, 1 / (1 + exp(-x))"))
    for name, calibrated in columns.calibrated.items():
        text = f"{quote_name(name)} has the scores of {quote_name(calibrated.stored.model)} as "
        notes.append(ResultNote("recalibrated", f"{text}{calibrated.file.name} recalibrates them"))
    return [*notes, *verdict_notes(columns.calibrated.values())]


def offer_of_log_odds(model: str, predictions: PredictionCounts) -> str:
    """Return how scores of a model become probabilities, if they are log odds.

    By an option where it applies, which is not to counts, long tables and joined files.
    """
    settled = predictions.kept.settled
    is_joined = settled.roles.join not in (None, JOIN_NOTHING)
    if predictions.stored is not None or settled.columns.answer or is_joined:
        return "if these are log odds, 1 / (1 + exp(-x)) converts them to probabilities"
    option = format_option("--model", f"{model}:logit", bare=True)
    return f"if these are log odds, add {option} to read probabilities"


def verdict_notes(calibrated: Iterable[CalibratedColumn]) -> list[ResultNote]:
    """Return notes on calibrators that were not found to help when they were fitted."""
    models = dict[tuple[str, str], list[str]]()  # by the name of the file and what is to be said
    for column in calibrated:
        stored = column.stored
        if stored.method != "none" and (stored.gain is None or stored.gain.verdict != "helps"):
            models.setdefault((column.file.name, _caution(stored.gain)), []).append(stored.model)
    return [
        ResultNote("calibrator-verdict", f"{file}: recalibration of {list_names(names, 4)} {text}")
        for (file, text), names in models.items()
    ]


def _caution(gain: StoredGain | None) -> str:
    """Return what is known of a recalibration that was not found to help."""
    if gain is None:
        return "has no verdict; whether it lowers the loss of new rows is unknown"
    loss = LOSS_TITLES[gain.loss]
    if gain.verdict == "harms":
        return f"harms: it raises the {loss} of new rows; keep the scores"
    return f"is undecided: it may raise the {loss} of new rows; keep the scores, or get more rows"


def counting_notes(counted: PredictionCounts, *, clusters: bool = True) -> list[ResultNote]:
    """Return warnings on exclusions, columns and ties; clusters: whether the command uses them."""
    said = [] if counted.roles.where is None else [_condition_note(counted.roles.where)]
    said += cluster_notes(counted) if clusters else []
    apart = sum(file.lost for file in counted.kept.settled.files)
    said += exclusion_notes(counted.files, counted.blank_rows, apart)
    if (off := counted.kept.settled.rounding) > 1e-12:
        text = f"weights differ too much and are rounded, the smallest by up to {off:.1g} of it"
        said.append(ResultNote("rounded-weights", text))
    for model in counted.models:
        cut = counted.thresholds[model.name]
        if not model.beside:
            continue
        pair = f"{list_names((model.beside, *model.columns), 4)} are one model, '{model.name}'"
        if len(model.columns) == 1:
            pair = f"'{model.beside}' and '{model.columns[0]}' are one model, '{model.name}'"
        text = f"{pair}: it predicts the most probable class"
        if cut is not None:
            what = "scores" if model.kind == "score" else f"probabilities of '{counted.positive}'"
            text = f"{pair}: {what} of {format_exact(cut)} or more are positive"
        ends = (counted.kept.settled.related or {}).get(model.name, ())
        others = [
            f"{word} {format_exact(end)}"
            for word, end in zip(("above", "up to"), ends, strict=False)
            if isfinite(end)
        ]
        if others:  # which give the same labels from the scores
            text += f"; any threshold {' and '.join(others)} gives the same labels"
        said.append(ResultNote("labels-and-scores", text))
    if counted.positive in ("0", "false", "False", "FALSE") and any(
        model.kind == "score" for model in counted.models
    ):
        said.append(ResultNote("score-direction", f"high scores should mean '{counted.positive}'"))
    if rounded := {model.name: model.rounded for model in counted.models if model.rounded}:
        text = f"scores of {list_names(rounded, 3)} lie up to {max(rounded.values()):.1g} outside "
        said.append(ResultNote("rounded-scores", f"{text}0 to 1; they are evaluated as 0 and 1"))
    said += _scale_notes(counted.kept.settled.columns)
    if are_entity_tags(counted.classes):
        text = "labels are tags of entities, such as B-, I- and O: tokens are counted, not entities"
        said.append(ResultNote("tokens-counted", text))
    text = "several classes are equally probable; the first is used"
    return said + [
        ResultNote("argmax-ties", f"in {format_count(rows, 'row')} of '{name}' {text}")
        for name, rows in counted.ties.items()
        if counted.thresholds[name] is None
    ]


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
    said, counted = sample.roles, sample.counted
    first, *others = digests
    statistics = sha256("".join([first, *sorted(others)]).encode()).hexdigest()
    signed: dict[str, Any] = {"pos": sample.positive, "cut": format_thresholds(sample.thresholds)}
    found: dict[str, Any] = {"positive": sample.positive, "negative": list(sample.negative)}
    methods = INTERVAL_METHODS
    if counted is not None and counted.multiclass:
        order, methods = counted.order, OF_MORE_CLASSES
        signed = {"classes": len(order)}
        found = {"positive": None, "negative": [], "classes": list(order)}
        found["ordered"] = counted.ordered
    found["by"] = list(said.by if said.run is None else ())
    signed |= {
        "cmd": "report",
        "miss": said.missing,
        "weight": "yes" if said.weight else None,
        "by": ",".join(found["by"]),
        "run": "file" if options.run_files else options.run,
        "ci": options.interval,
        "level": f"{options.level:g}",
        "seed": options.seed,
        "measures": ",".join(options.measure),
        "best": " ".join(options.best_threshold),
        "abstain": " ".join(options.abstain),
    }
    cutting = {"best_threshold": options.best_threshold, "abstain": options.abstain}
    found |= {name: list(given) for name, given in cutting.items() if given}
    if targets := options.populations:
        found["targets"] = [{"prevalence": t.prevalence, "odds": t.odds} for t in targets]
        signed["odds"] = ",".join(t.odds for t in targets)
    if options.interval == "bootstrap":  # the others are used where it has no limits
        methods = {"every measure in `metrics`": "percentile bootstrap of rows", **methods}
    found["interval_methods"] = {} if options.confidence is None else methods
    return {
        "command": "report",
        "signature": build_signature(
            "cmd pos classes cut best abstain odds miss weight by run cluster ci level totals "
            "resamples seed measures",
            signed,
            said,
            options,
            files=sample.files,
            statistics=statistics if others else first,
        ),
        "inputs": sample.files,
        "parameters": build_parameters(
            "positive negative classes ordered level interval totals interval_methods missing by "
            "run cluster measure",
            found,
            said,
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
        every = np.ones((1, len(patterns.n)), bool)
        size = float(share_design(patterns.clusters, every, every)[1][0])
        many = len(patterns.clusters)
        return {"clusters": many, "design_effect": None, "effective_clusters": size}
    if isinstance(patterns, ClassPatterns):
        each = accuracy_influence(patterns.tables)
        moved = np.array([one[patterns.cells(i)] for i, one in enumerate(each)])
        effects = influence_covariance(moved, patterns.n, clusters=patterns.clusters).effect
    else:
        effects = _of_rates(patterns, patterns.clusters)
    effects = effects[np.isfinite(effects)]
    most = float(effects.max()) if len(effects) else None
    return {"clusters": len(patterns.clusters), "design_effect": most}


def _of_rates(patterns: PatternCounts, clusters: Owned) -> Floats:
    """Return the design effects of sensitivities and specificities."""
    truth, votes, found = patterns.truth[:, None], patterns.votes, list[Floats]()
    for mine, right in ((truth, votes), (~truth, ~votes)):
        each = share_design(clusters, (mine & right).T, mine.T, cautious=False)[0]
        moves = ((patterns.n @ (mine & right)) > 0) & ((patterns.n @ (mine & ~right)) > 0)
        found.append(each[moves])
    return np.concatenate(found)


def cluster_notes(counted: PredictionCounts) -> list[ResultNote]:
    """Return warnings on few clusters, or on a column that may identify clusters."""
    clusters = counted.patterns.clusters
    if isinstance(clusters, ClusterCounts):
        many, n = len(clusters), counted.patterns.n.astype(np.float64)
        alike = n.sum() ** 2 / clusters.products(np.ones((1, len(n)))).item() if many > 1 else 1
        if alike >= ENOUGH:
            return []
        text = f"only {many} clusters: intervals are approximate"
        if many < 2:
            text = "all rows are in one cluster: intervals cannot be computed"
        elif many < FEWEST_CLUSTERS:
            text = f"only {many} clusters: intervals and tests need {FEWEST_CLUSTERS}"
        elif many < FEW:
            text += f", by Student's t with {many - 1} degrees of freedom"
        elif many >= ENOUGH:
            size = "weight" if counted.patterns.fractional else "size"
            text = f"{many} clusters of unequal {size} are equivalent to {alike:.0f} equal ones: "
            text += "intervals are approximate"
        return [ResultNote("few-clusters", text)]
    name = counted.kept.likely_cluster()
    text = f"'{name}' repeats: if rows with the same value are correlated, intervals are too "
    text += f"narrow; add {format_option('--cluster', str(name))}"
    return [] if name is None else [ResultNote("may-share", text)]
