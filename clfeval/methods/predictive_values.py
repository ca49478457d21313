"""PPV, NPV and alarms of models in a population: table `at_prevalence`, and its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from clfeval.counts.count import Sample
from clfeval.counts.patterns import ConfusionCounts
from clfeval.document import Answer, Estimate, Row, as_estimate
from clfeval.formatting import (
    format_class_ratio,
    format_close,
    format_exact,
    format_share,
    join_words,
    quote_if_ambiguous,
    with_interval,
)
from clfeval.methods.estimates import Cells, concatenate_counts, make_estimate
from clfeval.methods.options import Interval, Totals
from clfeval.methods.tune_jpt.options import ROWS, TuneOptions
from clfeval.methods.tune_jpt.tables import Place, TunedModels

RATES = ("sensitivity", "specificity", "ppv", "npv")
RULES = {"j_index": "largest J", "expected_cost": "lowest expected cost"}


class UsedThreshold(NamedTuple):
    """The threshold of a model, its rule, and its tables on new data and on these rows."""

    model: str
    rule: str | None  # None if not chosen
    threshold: float | None  # None for labels, and above every score
    expected: ConfusionCounts  # on new data
    here: ConfusionCounts
    risk: float | None = None  # threshold probability of net benefit


def prevalence_options(
    prevalence: Any, level: float, totals: Totals, interval: Interval
) -> TuneOptions:
    """Return the options of `prevalence_rows` from those of a report."""
    return TuneOptions(
        prevalence=prevalence, sweep=None, level=level, totals=totals, interval=interval
    )


def prevalence_rows(
    given: Sample, options: TuneOptions, places: Sequence[Place], used: Sequence[UsedThreshold]
) -> list[Row]:
    """Return PPV, NPV and alarms of models in each population, expected on new data.

    Limits reach to the values here. alarms: of 1,000 rows; alarms_per_case: 1 / PPV.
    """
    rows, every = list[Row](), np.arange(len(used))
    expected = concatenate_counts({i: one.expected for i, one in enumerate(used)})[1]
    here = concatenate_counts({i: one.here for i, one in enumerate(used)})[1]
    tuner = TunedModels(given, options, (None,) * len(used), expected)
    for kind, one in places:
        ratio = np.full(len(used), np.nan if kind == "sample" else one.ratio)
        cells, chosen = (Cells.at_odds(x, every, ratio) for x in (expected, here))
        found = {name: tuner.estimates(name, cells, chosen) for name in RATES}
        alarms = tuner.estimates("detection_prevalence", cells, chosen, ROWS)
        benefit = list[Estimate]()
        for i, (*_, t) in enumerate(used):
            own = options if t is None or not 0 < t < 1 else replace(options, cost=(t, 1 - t))
            benefit.append(Estimate(None, reason="needs_threshold"))
            if own.outcome_costs is not None:
                mine, seen = (x.where(np.array([i])) for x in (cells, chosen))
                (benefit[i],) = replace(tuner, options=own).estimates("net_benefit", mine, seen)
        rows += [
            {
                "model": at.model, "chosen_by": at.rule, "threshold": at.threshold,
                "population": kind, "prevalence": one.prevalence, "odds": one.odds,
                **{name: values[i] for name, values in found.items()}, "alarms": alarms[i],
                "alarms_per_case": _inverse_estimate(found["ppv"][i]), "net_benefit": benefit[i],
            }
            for i, at in enumerate(used)
        ]  # fmt: skip
    return rows


def _inverse_estimate(share: Estimate) -> Estimate:
    """Return 1 / share, infinite at 0."""
    if share.value is None:
        return share
    ends = (share.high, share.value, share.low)
    low, value, high = (np.nan if end is None else 1 / end if end else np.inf for end in ends)
    return make_estimate(value, low, high)


def prevalence_answer(row: Row, level: float, *, same: bool = False, most: str = "") -> Answer:
    """Return the sentence on PPV, NPV and alarms at a prevalence; most: why this model."""
    rule = str(row["chosen_by"]).partition(":")[0]
    cut = "" if (at := row["threshold"]) is None else f"threshold {format_exact(float(str(at)))}"
    why = f" ({RULES[rule]})" if rule in RULES else ""
    names = ("ppv", "npv", "alarms", "alarms_per_case", "net_benefit")
    ppv, npv, alarms, each, benefit = (as_estimate(row[name]) for name in names)
    name = str(row["model"])
    who = "the model" if name == "model" else quote_if_ambiguous(name)
    if most:
        text = f"{prevalence_phrase(row)}, {who} has the {most}{f' ({cut})' * bool(cut)}"
    else:
        where = " and ".join(filter(None, ["" if same else prevalence_phrase(row), cut]))
        text = f"{where}{why}, {who}" if where else who
        text = f"At {text}" if text.startswith("threshold") else text
    if ppv.value is None or alarms.value is None:
        text += f"{', but' * bool(most)} predicts no positives: PPV is undefined."
        return Answer("at-prevalence", text, (name,), "ppv")
    said = [
        f"{title} {with_interval(one.value, one.low, one.high, level, format_close)}"
        for title, one in (("PPV", ppv), ("NPV", npv)) if one.value is not None
    ]  # fmt: skip
    if same:
        said[1:] = [] if npv.value is None else [f"NPV {format_close(npv.value, 3)}"]
        said.append(f"{format_close(alarms.value, 1)} alarms per {ROWS:,} rows")
        text += f" has {join_words(said)}."
        return Answer("at-prevalence", text, (name,), "ppv", ppv.value, ppv.low, ppv.high)
    per = "" if each.value is None else f", {format_close(each.value, 1)} per case detected"
    text += f"{':' if most else ' has'} {' and '.join(said)}. "
    text += f"It raises {format_close(alarms.value, 1)} alarms per {ROWS:,} rows{per}."
    if benefit.value is not None:
        ends = with_interval(benefit.value, benefit.low, benefit.high, level, format_close)
        text += f" Its net benefit is {ends}; that of treat-none is 0."
    return Answer("at-prevalence", text, (name,), "ppv", ppv.value, ppv.low, ppv.high)


def prevalence_phrase(row: Row) -> str:
    """Return the phrase on the prevalence of a row, to begin a sentence."""
    share = format_share(float(str(row["prevalence"])))
    if row["population"] == "sample":
        return f"At the prevalence of these rows ({share})"
    return f"At prevalence {share} ({format_class_ratio(row['odds'])})"
