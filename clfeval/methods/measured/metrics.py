"""The tidy table of measures: every one of every model, in the whole table and its slices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan

from clfeval.counts.count import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate, Row, Warn, estimate
from clfeval.measures.catalog import CATALOG
from clfeval.methods.clustered import Redrawn
from clfeval.methods.estimates import end_to_end
from clfeval.methods.measured import hard, scored
from clfeval.methods.measured.asked import AT_RISK, NET_BENEFIT, Asked
from clfeval.methods.measured.calibrated import calibrated_values, with_columns
from clfeval.methods.measured.decisions import net_benefit
from clfeval.methods.options import Certainty

TWO_CLASSES = "binary"
UNCUT = "needs_threshold"
OF_TRUTH = ("prevalence", "no_information_rate")  # in which there is no threshold


def hard_rows(sample: Sample, asked: Sequence[Asked], wanted: Certainty) -> list[Row]:
    """Return the measures of the 2 x 2 tables of all models, slice by slice, all found at once."""
    labelled = [one for one in asked if one.needs == "confusion" and one.name != NET_BENEFIT]
    uncut = {} if sample.counted is None else sample.counted.uncut
    none, rows = Estimate(None, reason=UNCUT), list[Row]()
    labels, counts = end_to_end(sample.slices)
    patterns, who = sample.patterns, list(zip(labels, counts.models, strict=True))
    owned = {label: one.clusters for label, one in patterns.items()}
    sizes = {label: 0.0 if one is None else one.size for label, one in owned.items()}
    sure = hard.HardLimits(
        wanted,
        [f"{model}\0{label or ''}" for label, model in who],
        [Redrawn.of(patterns.get(label), model) for label, model in who],
        [sizes.get(label, 0.0) for label in labels],
    )  # fmt: skip
    found = {one.name: hard.measured(one, counts, sure) for one in labelled}
    for i, (label, model) in enumerate(who):
        for name, one in found.items():
            known = one.at(i)
            if model in uncut and name not in OF_TRUTH:
                known = none, nan, hard.NONE
            rows.append(_row(label, model, name, *known))
    return rows


def score_rows(
    label: str | None, model: str, counts: ScoreCounts, threshold: float | None,
    asked: Iterable[Asked], wanted: Certainty,
) -> list[Row]:  # fmt: skip
    """Return the measures of one model's scores; net benefit is at its threshold, or at 0.5."""
    rows, name = list[Row](), f"{model}\0{label or ''}"
    some = [one for one in asked if takes_scores(one)]
    calibrated = calibrated_values(some, counts, wanted, name)
    for one in some:
        t = risk_of(one, threshold)
        if t is not None:
            known = _worth(counts, t, wanted, name)
        else:
            known = scored.measured(one.measure, counts, wanted, name)
        row = _row(label, model, one.name, known.value, known.error, known.method)
        rows.append({**row, **calibrated.get(one.name, {})})
    return rows


def takes_scores(one: Asked) -> bool:
    """Tell whether a measure is of scores and not of labels."""
    return one.name == NET_BENEFIT or one.needs in ("scores", "probabilities")


def risk_of(one: Asked, threshold: float | None) -> float | None:
    """Return at which risk a net benefit is asked for, its own or at the threshold; else None."""
    if one.name != NET_BENEFIT and one.measure.id != AT_RISK:
        return None
    t = threshold if one.name == NET_BENEFIT else one.settings.get("t")
    return 0.5 if t is None else float(t)


def without_scores(
    label: str | None, model: str, asked: Iterable[Asked]
) -> list[Row]:  # fmt: skip
    """Return rows of the measures that were asked for by more than default, and need scores."""
    none = Estimate(None, reason="needs_scores")
    return [
        _row(label, model, one.name, none, nan, hard.NONE)
        for one in asked
        if one.by != "default" and (one.needs != "confusion" or one.name == NET_BENEFIT)
    ]


def _worth(counts: ScoreCounts, t: float, wanted: Certainty, name: str) -> scored.Known:
    """Return the net benefit at the threshold t; default limits where a bootstrap has none."""
    m = len(counts.scores)
    if m and not (counts.scores[0] >= 0 and counts.scores[-1] <= 1):
        return scored.Known(Estimate(None, reason=scored.PROBABILITIES), nan, hard.NONE)
    value, error = net_benefit(counts, t, wanted.level)
    method = hard.NONE
    if value.value is not None and wanted.how == "bootstrap":
        known = scored.measured(CATALOG[AT_RISK].given(t=t), counts, wanted, name)
        if known.value.low is not None:
            return known
    if value.low is not None:
        method = hard.WEIGHED if counts.clusters is None else f"{hard.WEIGHED}, design effect"
    return scored.Known(value, error, method)


def _row(
    label: str | None, model: str, name: str, value: Estimate, error: float,
    method: str,
) -> Row:  # fmt: skip
    return {
        "slice": label, "model": model, "measure": name, "estimator": TWO_CLASSES,
        "class": None, "value": value, "se": None if isnan(error) else float(error),
        "method": method,
    }  # fmt: skip


def by_model(rows: Sequence[Row]) -> Mapping[tuple[str | None, str], dict[str, Estimate]]:
    """Return the estimates by slice and model, then by measure."""
    found: dict[tuple[str | None, str], dict[str, Estimate]] = {}
    for row in rows:
        key = (None if row["slice"] is None else str(row["slice"]), str(row["model"]))
        found.setdefault(key, {})[str(row["measure"])] = estimate(row["value"])
    return found


def any_scored(sample: Sample) -> bool:
    """Tell whether any model has scores."""
    models = () if sample.counted is None else sample.counted.models
    return any(model.kind != "label" for model in models)


def unscored_rows(sample: Sample, asked: Sequence[Asked]) -> list[Row]:
    """Say of models without scores that what was asked for needs some."""
    models = () if sample.counted is None else sample.counted.models
    scored = {model.name for model in models if model.kind != "label"}
    return [
        row
        for label, counts in sample.slices.items()
        for model in counts.models
        if model not in scored
        for row in without_scores(label, model, asked)
    ]


def in_order(rows: Sequence[Row], sample: Sample, asked: Sequence[Asked]) -> list[Row]:
    """Sort measures by slice, model, and in the order they were asked for."""
    slices = {label: i for i, label in enumerate(sample.slices)}
    models = {model: i for i, model in enumerate(sample.slices[None].models)}
    names = {one.name: i for i, one in enumerate(asked)}
    return sorted(
        with_columns(rows),
        key=lambda row: (
            slices[row["slice"]], models[str(row["model"])], names[str(row["measure"])],  # type: ignore[index]
        ),
    )  # fmt: skip


def caveats(asked: Sequence[Asked]) -> list[Warn]:
    """Say of what was asked for by name how it misleads, each once."""
    named = {one.measure.id: one.measure for one in asked if one.by == "name"}
    return [
        Warn("caveat", f"{measure.title}: {measure.caveat}")
        for measure in named.values()
        if measure.caveat
    ]
