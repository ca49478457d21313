"""The tidy table of measures: every one of every model, in the whole table and its slices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan

from clfeval.counts.count import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate, ResultWarning, Row, as_estimate
from clfeval.measures.catalog import CATALOG
from clfeval.methods.clustered import TableResampler
from clfeval.methods.estimates import concatenate_counts
from clfeval.methods.measured import hard, scored
from clfeval.methods.measured.asked import AT_RISK, NET_BENEFIT, RequestedMeasure
from clfeval.methods.measured.calibrated import fill_calibration_columns, perfect_calibration_values
from clfeval.methods.measured.decisions import net_benefit
from clfeval.methods.options import IntervalSettings

TWO_CLASSES = "binary"
UNCUT = "needs_threshold"
OF_TRUTH = ("prevalence", "no_information_rate")  # in which there is no threshold


def label_measure_rows(
    sample: Sample, asked: Sequence[RequestedMeasure], wanted: IntervalSettings
) -> list[Row]:
    """Return the measures of the 2 x 2 tables of all models, slice by slice, all found at once."""
    labelled = [one for one in asked if one.needs == "confusion" and one.name != NET_BENEFIT]
    uncut = {} if sample.counted is None else sample.counted.uncut
    none, rows = Estimate(None, reason=UNCUT), list[Row]()
    labels, counts = concatenate_counts(sample.slices)
    patterns, who = sample.patterns, list(zip(labels, counts.models, strict=True))
    owned = {label: one.clusters for label, one in patterns.items()}
    sizes = {label: 0.0 if one is None else one.size for label, one in owned.items()}
    sure = hard.LabelLimitSettings(
        wanted,
        [f"{model}\0{label or ''}" for label, model in who],
        [TableResampler.from_patterns(patterns.get(label), model) for label, model in who],
        [sizes.get(label, 0.0) for label in labels],
    )  # fmt: skip
    found = {one.name: hard.estimate_label_measure(one, counts, sure) for one in labelled}
    for i, (label, model) in enumerate(who):
        for name, one in found.items():
            known = one.at(i)
            if model in uncut and name not in OF_TRUTH:
                known = none, nan, hard.NONE
            rows.append(_measure_row(label, model, name, *known))
    return rows


def score_measure_rows(
    label: str | None, model: str, counts: ScoreCounts, threshold: float | None,
    asked: Iterable[RequestedMeasure], wanted: IntervalSettings,
) -> list[Row]:  # fmt: skip
    """Return the measures of one model's scores; net benefit is at its threshold, or at 0.5."""
    rows, name = list[Row](), f"{model}\0{label or ''}"
    some = [one for one in asked if takes_scores(one)]
    calibrated = perfect_calibration_values(some, counts, wanted, name)
    for one in some:
        t = risk_threshold(one, threshold)
        if t is not None:
            known = _net_benefit_estimate(counts, t, wanted, name)
        else:
            known = scored.estimate_score_measure(one.measure, counts, wanted, name)
        row = _measure_row(label, model, one.name, known.value, known.error, known.method)
        rows.append({**row, **calibrated.get(one.name, {})})
    return rows


def takes_scores(one: RequestedMeasure) -> bool:
    """Tell whether a measure is of scores and not of labels."""
    return one.name == NET_BENEFIT or one.needs in ("scores", "probabilities")


def risk_threshold(one: RequestedMeasure, threshold: float | None) -> float | None:
    """Return at which risk a net benefit is asked for, its own or at the threshold; else None."""
    if one.name != NET_BENEFIT and one.measure.id != AT_RISK:
        return None
    t = threshold if one.name == NET_BENEFIT else one.settings.get("t")
    return 0.5 if t is None else float(t)


def missing_score_rows(
    label: str | None, model: str, asked: Iterable[RequestedMeasure]
) -> list[Row]:  # fmt: skip
    """Return rows of the measures that were asked for by more than default, and need scores."""
    none = Estimate(None, reason="needs_scores")
    return [
        _measure_row(label, model, one.name, none, nan, hard.NONE)
        for one in asked
        if one.by != "default" and (one.needs != "confusion" or one.name == NET_BENEFIT)
    ]


def _net_benefit_estimate(
    counts: ScoreCounts, t: float, wanted: IntervalSettings, name: str
) -> scored.MeasureEstimate:
    """Return the net benefit at the threshold t; default limits where a bootstrap has none."""
    m = len(counts.scores)
    if m and not (counts.scores[0] >= 0 and counts.scores[-1] <= 1):
        return scored.MeasureEstimate(Estimate(None, reason=scored.PROBABILITIES), nan, hard.NONE)
    value, error = net_benefit(counts, t, wanted.level)
    method = hard.NONE
    if value.value is not None and wanted.how == "bootstrap":
        known = scored.estimate_score_measure(CATALOG[AT_RISK].given(t=t), counts, wanted, name)
        if known.value.low is not None:
            return known
    if value.low is not None:
        method = hard.WEIGHED if counts.clusters is None else f"{hard.WEIGHED}, design effect"
    return scored.MeasureEstimate(value, error, method)


def _measure_row(
    label: str | None, model: str, name: str, value: Estimate, error: float,
    method: str,
) -> Row:  # fmt: skip
    return {
        "slice": label, "model": model, "measure": name, "estimator": TWO_CLASSES,
        "class": None, "value": value, "se": None if isnan(error) else float(error),
        "method": method,
    }  # fmt: skip


def estimates_by_model(rows: Sequence[Row]) -> Mapping[tuple[str | None, str], dict[str, Estimate]]:
    """Return the estimates by slice and model, then by measure."""
    found: dict[tuple[str | None, str], dict[str, Estimate]] = {}
    for row in rows:
        key = (None if row["slice"] is None else str(row["slice"]), str(row["model"]))
        found.setdefault(key, {})[str(row["measure"])] = as_estimate(row["value"])
    return found


def has_scored_model(sample: Sample) -> bool:
    """Tell whether any model has scores."""
    models = () if sample.counted is None else sample.counted.models
    return any(model.kind != "label" for model in models)


def unscored_model_rows(sample: Sample, asked: Sequence[RequestedMeasure]) -> list[Row]:
    """Say of models without scores that what was asked for needs some."""
    models = () if sample.counted is None else sample.counted.models
    scored = {model.name for model in models if model.kind != "label"}
    return [
        row
        for label, counts in sample.slices.items()
        for model in counts.models
        if model not in scored
        for row in missing_score_rows(label, model, asked)
    ]


def sort_measure_rows(
    rows: Sequence[Row], sample: Sample, asked: Sequence[RequestedMeasure]
) -> list[Row]:
    """Sort measures by slice, model, and in the order they were asked for."""
    slices = {label: i for i, label in enumerate(sample.slices)}
    models = {model: i for i, model in enumerate(sample.slices[None].models)}
    names = {one.name: i for i, one in enumerate(asked)}
    return sorted(
        fill_calibration_columns(rows),
        key=lambda row: (
            slices[row["slice"]], models[str(row["model"])], names[str(row["measure"])],  # type: ignore[index]
        ),
    )  # fmt: skip


def caveat_notes(asked: Sequence[RequestedMeasure]) -> list[ResultWarning]:
    """Say of what was asked for by name how it misleads, each once."""
    named = {one.measure.id: one.measure for one in asked if one.by == "name"}
    return [
        ResultWarning("caveat", f"{measure.title}: {measure.caveat}")
        for measure in named.values()
        if measure.caveat
    ]
