"""Signature and parameters of a report, of two classes or of more."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from clfeval.counts.count import Sample
from clfeval.methods.provenance import build_parameters, build_signature, format_thresholds
from clfeval.methods.report.options import ReportOptions

_BEST = {"models tied with the best": "multiple comparisons with the best (Hsu)"}
INTERVAL_METHODS = {
    "shares of rows": "Clopper-Pearson",
    "other measures of the 2 x 2 table": "range over the score region, class totals random",
    "roc_auc": "DeLong, logit; with few rows, or near 0 or 1, extended to Newcombe's score "
    "interval",
    "means over rows, and functions of them": "influence values with Student's t, else the "
    "bootstrap",
    "net_benefit": "square-and-add of Wilson intervals of TP and FP, with the design effect",
    "thresholds of higher net benefit": "the same, simultaneous for all thresholds "
    "(Naiman's bound)",
    **_BEST,
}
OF_MORE_CLASSES = {
    "shares of rows": "Clopper-Pearson",
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
    if counted is not None and counted.several:
        order, methods = counted.order, OF_MORE_CLASSES
        signed = {"classes": len(order)}
        found = {"positive": None, "negative": [], "classes": list(order)}
        found["ordered"] = counted.ordered
    found["by"] = list(said.by if said.run is None else ())
    signed |= {
        "cmd": "report", "miss": said.missing, "weight": "yes" if said.weight else None,
        "by": ",".join(found["by"]), "run": "file" if options.run_files else options.run,
        "ci": options.interval, "level": f"{options.level:g}",
        "seed": options.seed, "measures": ",".join(options.measure),
        "best": " ".join(options.best_threshold), "abstain": " ".join(options.abstain),
    }  # fmt: skip
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
            signed, said, options, files=sample.files, statistics=statistics if others else first,
        ),
        "inputs": sample.files,
        "parameters": build_parameters(
            "positive negative classes ordered level interval totals interval_methods missing by "
            "run cluster measure",
            found, said, options, weighed=weighed,
        ),
    }  # fmt: skip
