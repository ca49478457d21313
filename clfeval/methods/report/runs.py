"""A report of several runs of models: means over seeds or folds, from a report of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clfeval.compare.families import ALL_PAIRS, BEST
from clfeval.counts.count import Sample
from clfeval.counts.slices import slice_label
from clfeval.document import Document, Estimate, Row, as_estimate
from clfeval.errors import UsageError, bad_option, unknown_model
from clfeval.methods.measurement.run_means import (
    RunMean,
    Runs,
    row_differences,
    run_answers,
    run_comparisons,
    run_means,
    run_notes,
    run_ties,
)
from clfeval.methods.report.comparisons import ESTIMATORS
from clfeval.methods.report.options import ReportOptions

LEADS = ("roc_auc", "balanced_accuracy", "accuracy")  # the first that is known


def runs_as_slices(options: ReportOptions, sample: Sample) -> Sample:
    """Return the sample with runs as slices; UsageError for options that need distinct rows."""
    models = sample.slices[None].models
    for flag, given in (
        ("--margin", options.margin), ("--resolution", options.resolution),
        ("--list-changes", options.list_changes), ("--dummies", options.dummies),
        ("--best-threshold", options.best_threshold), ("--abstain", options.abstain),
        ("--prevalence", options.prevalence),
    ):  # fmt: skip
        if given:
            raise bad_option(f"{flag} is not available with runs, which may repeat rows")
    reference = options.reference
    if reference == BEST:
        raise bad_option("--reference best is not available with runs: name a model, or all-pairs")
    if reference not in (None, ALL_PAIRS, *models):
        raise unknown_model("--reference", str(reference), [*models, ALL_PAIRS])
    if reference is not None and len(models) == 1:
        raise bad_option(f"--reference {reference}: '{models[0]}' is the only model")
    if sample.counted is None:
        what = "--run needs predictions by row, but the table has counts"
        hint = "give a table with the predictions of all models"
        raise UsageError.new(what, "needs-predictions", hint=hint)
    return replace(sample, slices=dict(sample.counted.confusions), runs={})


def average_over_runs(
    sample: Sample, each: Document, runs: Runs, options: ReportOptions
) -> Document:
    """Return means over runs, from a report that has each of them as a slice."""
    level, prefix = options.confidence, slice_label((str(sample.roles.run),), ("",))
    of_runs = dict[tuple[str, str], dict[str, Row]]()
    for row in each.tables["measures"]:
        if row["slice"] is not None and row["estimator"] in ESTIMATORS:
            key = str(row["measure"]), str(row["model"])
            of_runs.setdefault(key, {})[str(row["slice"]).removeprefix(prefix)] = row
    values = {key: {run: as_estimate(row["value"]) for run, row in mine.items()}
              for key, mine in of_runs.items()}  # fmt: skip
    found = run_means(values, runs, level)
    means = {(one.metric, one.model): one for one in found}
    models = list(dict.fromkeys(str(row["model"]) for row in each.tables["models"]))
    lead = next((name for name in LEADS if any(
        one.metric == name and one.mean.value is not None for one in found
    )), LEADS[-1])  # fmt: skip
    tied = {} if level is None or options.reference is not None else run_ties(
        lead, found, values, models, runs, level=level, seed=options.seed)  # fmt: skip
    measures = list[Row]()  # of one class in the runs only
    for row in each.tables["measures"]:
        mean = means.get((str(row["measure"]), str(row["model"])))
        if row["slice"] is not None:
            measures.append(row)
        elif mean is not None and row["estimator"] in ESTIMATORS:
            measures.append({**row, "value": mean.mean, "se": None, "method": mean.method})
    tables: dict[str, Sequence[Row]] = {
        "models": [
            row if row["slice"] is not None else {
                **_mean_row(row, means, each.tables["models"]), "tied": tied.get(str(row["model"]))}
            for row in each.tables["models"]
        ],
        "measures": measures,
        "runs": [
            {"measure": metric, "model": model, "run": run, "value": row["value"], "se": row["se"]}
            for (metric, model), mine in of_runs.items() for run, row in mine.items()
        ],
        "run_spread": [
            {"measure": one.metric, "model": one.model, "runs": one.runs, "mean": one.mean,
             "sd": one.sd, "method": one.method} for one in found
        ],
        "confusion": [row for row in each.tables["confusion"] if row["slice"] is not None],
    }  # fmt: skip
    if options.reference is not None and level is not None:
        by_rows = row_differences(each.tables.get("comparisons", ()), prefix)
        tables["comparisons"] = [*run_comparisons(
            values, models, runs, options.reference, by_rows, level=level, seed=options.seed
        )]  # fmt: skip
    return replace(
        each, tables={name: rows for name, rows in tables.items() if rows or name == "confusion"},
        parameters={**each.parameters, "reference": options.reference},
        summary={**each.summary, "runs": len(runs.names)},
        answer=tuple(run_answers(lead, found, tables.get("comparisons", ()), runs, level, tied)),
        warnings=(
            *each.warnings, *run_notes(lead, values, runs, each.parameters["cluster"], level)
        ),
    )  # fmt: skip


def _mean_row(row: Row, means: Mapping[tuple[str, str], RunMean], models: Sequence[Row]) -> Row:
    """Return the row of a model on the first screen with means over runs, of the counts too."""
    mine = [one for one in models if one["model"] == row["model"] and one["slice"] is not None]
    found: dict[str, Any] = {**row}
    for name, cell in row.items():
        if isinstance(cell, Estimate) and (of_runs := means.get((name, str(row["model"])))):
            found[name] = of_runs.mean
        elif name in ("tp", "fp", "fn", "tn") and cell is not None:
            found[name] = float(np.mean([float(str(one[name])) for one in mine]))
    return found
