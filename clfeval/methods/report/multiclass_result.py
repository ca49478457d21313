"""From the counts of more than two classes to the Result of the report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from clfeval.arrays import Counts
from clfeval.compare.families import BestSet
from clfeval.counts.classes import ClassPatterns, ClassScores
from clfeval.counts.clusters_and_weights import subtract_part
from clfeval.counts.patterns import from_units
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.sample import Sample
from clfeval.document import Answer, Document, Estimate, ResultNote, Row, shorten_answer
from clfeval.errors import UsageError, format_option
from clfeval.formatting import printable
from clfeval.measures.multiclass_scores import clipped_weight
from clfeval.methods.comparison_answer import comparison_answers, explain_untested
from clfeval.methods.measurement.label_measures import class_sizes
from clfeval.methods.measurement.measure_rows import (
    caveat_notes,
    fill_optional_columns,
    takes_scores,
)
from clfeval.methods.measurement.requested_measures import (
    guess_class_order,
    parse_multiclass_measures,
    set_row_units,
)
from clfeval.methods.provenance import (
    clipped_note,
    cluster_summary,
    counting_notes,
    report_provenance,
)
from clfeval.methods.report import comparisons, slice_tests
from clfeval.methods.report.answer import report_answer, slice_tested_models
from clfeval.methods.report.baselines import class_baselines, measures_with_baselines
from clfeval.methods.report.calibration import adjust_calibration_tests, calibration_test_rows
from clfeval.methods.report.model_estimates import (
    class_bootstrap_estimates,
    class_label_estimates,
    identical_columns,
    probability_estimates,
)
from clfeval.methods.report.multiclass_estimates import (
    multiclass_label_rows,
    multiclass_probability_rows,
)
from clfeval.methods.report.options import ReportOptions, numbers_by_measure

# as the table `models` has them: of probabilities, of labels; f1 is the mean over classes
OF_PROBABILITIES = ("roc_auc", "brier", "log_loss", "overconfidence", "top_k_accuracy")
OF_LABELS = ("balanced_accuracy", "mcc", "f1", "kappa", "accuracy")
RARE = 10  # rows of a class below which estimates are imprecise
MAX_LISTED = 3  # such classes by name


def multiclass_result(
    sample: Sample, counted: PredictionCounts, options: ReportOptions
) -> Document:
    """Return the result of a report on more than two classes, none of them positive."""
    names = (*options.measure, *options.compared)
    asked = set_row_units(
        parse_multiclass_measures(names, counted.order, ordered=counted.ordered), counted
    )
    _refuse_two_class_options(counted, options)
    every = counted.labels()
    whole, digests = every[None], [every[None].digest()]
    comparisons.check_reference(whole.models, options, same_rows=True)
    lead = _lead_measure(whole, counted)
    held = comparisons.compared_measures(asked, lead, options)
    metrics: dict[tuple[str | None, str], list[Row]] = {}
    by, sizes = (
        slice_tests.slice_test_measures(asked, several=True),
        dict[str, tuple[slice_tests.SliceSize, slice_tests.SliceSize]](),
    )
    for label, patterns in every.items():
        if label is not None:
            left = subtract_part(whole, patterns, "truth", "votes")
            sizes[label] = slice_tests.multiclass_slice_sizes(whole, patterns, left)
        for row in multiclass_label_rows(label, patterns, asked, options.interval_settings):
            metrics.setdefault((label, str(row["model"])), []).append(row)
    tests, lost = list[Row](), dict[str, float]()
    scores = dict[str, Mapping[str | None, ClassScores]]()
    for i, model in enumerate(counted.models):
        if model.kind != "classes":
            continue
        mine = counted.class_scores(i)
        for label, counts in mine.items():
            metrics[label, model.name] += multiclass_probability_rows(
                label, model.name, counts, asked, options.interval_settings
            )
        digests.append(f"{model.name}{mine[None].digest()}")
        lost[model.name] = clipped_weight(mine[None].truth, mine[None].p, mine[None].n).item()
        top = mine[None].most_probable()
        tests += calibration_test_rows(model.name, top, options.level, options.seed)
        if sizes:
            scores[model.name] = mine

    def rest_of(
        models: Collection[str], labels: Iterable[str], without: Sequence[str]
    ) -> dict[slice_tests.Key, slice_tests.Complement]:
        """Return the measures of the rows outside a slice and some other slices."""
        found, wanted = list[Row](), slice_tests.use_default_intervals(options.interval_settings)
        for label in labels:
            part = reduce(add, [every[one] for one in (label, *without)])
            left = subtract_part(whole, part, "truth", "votes")
            found += multiclass_label_rows(label, left, by, wanted)
            for name, mine in scores.items():
                if name in models:
                    some = reduce(add, [mine[one] for one in (label, *without)])
                    less = subtract_part(mine[None], some, "truth", "p")
                    found += multiclass_probability_rows(label, name, less, by, wanted)
        # the worst case of correlation where clusters are in several slices
        rho = -1.0 if any(size.spans for size, _ in sizes.values()) else 0.0
        return {
            key: replace(one, rho=rho) for key, one in slice_tests.complement_estimates(found, {})
        }

    order = {one.name: place for place, one in enumerate(asked)}
    rows = fill_optional_columns(
        [
            row
            for label in every
            for model in whole.models
            for row in sorted(metrics[label, model], key=lambda row: order[str(row["measure"])])
        ]
    )
    estimates = {
        one.name: paired
        for one in held
        if not takes_scores(one) and (paired := class_label_estimates(whole, one))
    }
    estimates |= probability_estimates(counted, whole, [one for one in held if takes_scores(one)])
    if options.reference is not None:
        estimates |= class_bootstrap_estimates(
            counted,
            held,
            comparisons.observed_values(rows),
            whole,
            options.reference,
            options.interval_settings,
        )

    def called(text: str) -> list[str]:
        """Return the names in tables of the measures that a name requests."""
        found = parse_multiclass_measures((text,), counted.order, ordered=counted.ordered)
        return [one.name for one in found if one.by == "name"]

    best, found = comparisons.compare_models(estimates, held, rows, whole, called, options, counted)
    compared_rows, tested = found.get("comparisons", []), best.get(lead)
    scored = OF_PROBABILITIES if any(row["measure"] == "roc_auc" for row in rows) else ()
    models = model_rows(
        rows, (*scored, *OF_LABELS, *(("kappa_quadratic", "ordinal_mae") * counted.ordered)), tested
    )
    confusion = [
        row
        for label, one in every.items()
        for row in confusion_rows(label, one.models, one.classes, one.tables, one.unit)
    ]
    firsts = [row for row in models if row["slice"] is None]
    same = identical_columns(dict(zip(whole.models, whole.votes.T, strict=True)))
    tables: dict[str, Sequence[Row]] = {
        "models": models,
        "measures": rows,
        "calibration_tests": adjust_calibration_tests(tests),
        **found,
        "confusion": confusion,
    }
    first, *more = report_answer(
        firsts,
        lead,
        tested,
        (),
        options.confidence,
        same=same,
        tests=tables["calibration_tests"],
        untested=explain_untested(options, same_rows=True),
    )
    told = list[Answer]()
    if sizes:
        found_slices, more_rows, told = slice_tests.SliceEstimates(
            slice_tests.slice_values(rows), by, sizes, options.confidence, sample.facets
        ).results(
            slice_tested_models(firsts, lead, options.reference, sample.roles.model),
            rest_of(whole.models, sizes, ()),
            lambda model, labels, without: rest_of([model], labels, without),
            {},
            estimates,
            comparisons.slice_label_estimates(every, held, lead, options, class_label_estimates),
            numbers_by_measure(options.margin, called),
            options,
        )
        tables |= found_slices
        compared_rows = tables["comparisons"] = [*compared_rows, *more_rows]
    if options.dummies:
        held_up = measures_with_baselines(asked)
        tables["baselines"] = sorted(
            class_baselines(whole, held_up, comparisons.observed_values(rows), options.seed),
            key=lambda row: [one.name for one in held_up].index(str(row["measure"])),
        )
    return Document(
        **report_provenance(sample, options, digests, weighed=whole.fractional),
        summary={
            "rows": from_units(whole.n.sum(), whole.unit).item(),
            "classes": len(counted.order),
            **cluster_summary(whole),
            "models": len(whole.models),
        },
        tables={name: found for name, found in tables.items() if found or name == "confusion"},
        answer=shorten_answer(
            (
                *_order_answers(counted),
                *comparison_answers(compared_rows, lead, options, called),
                *told[:1],
                first,
                *told[1:],
                *more,
            )
        ),
        warnings=(
            *_warnings(whole),
            *clipped_note(lost, whole.unit),
            *counting_notes(counted),
            *caveat_notes(asked),
        ),
    )


def _order_answers(counted: PredictionCounts) -> list[Answer]:
    """Return the hint on ordered classes, if labels are numbered or graded."""
    of_labels = all(model.kind != "classes" for model in counted.models)
    numbered = guess_class_order(counted.order)
    if counted.ordered or not of_labels or numbered is None:
        return []
    how = " ".join(format_option("--classes", one, bare=True) for one in numbered)
    text = f"If {numbered[0]} to {numbered[-1]} are ordered, add {how} "
    text += "to compare models by quadratic kappa."
    return [Answer("unordered-classes", text)]


def _refuse_two_class_options(counted: PredictionCounts, options: ReportOptions) -> None:
    """Raise UsageError for options that need two classes."""
    asked = {
        "--threshold": counted.roles.threshold,
        "--best-threshold": options.best_threshold,
        "--abstain": options.abstain,
        "--prevalence": options.prevalence,
    }
    for flag, set_to in asked.items():
        if set_to:
            what = f"{flag} needs a positive class, but none is named"
            hint = "add --positive CLASS to evaluate one class against the rest"
            raise UsageError.new(what, "positive-needed", hint=hint)


def _lead_measure(patterns: ClassPatterns, counted: PredictionCounts) -> str:
    """Return accuracy with an empty class, else Hand and Till's AUC, kappa or balanced accuracy."""
    scored = all(model.kind == "classes" for model in counted.models)
    absent = not patterns.tables[0].sum(axis=1).all()
    if absent or scored:
        return "accuracy" if absent else "roc_auc"
    return "kappa_quadratic" if counted.ordered else "balanced_accuracy"


def model_rows(
    metrics: Sequence[Row],
    names: Sequence[str],
    tested: BestSet | None,
    more: Callable[[str | None, str], Row] = lambda *_: {},
) -> list[Row]:
    """Return the rows of the first screen: one per model and slice; more: further cells."""
    found: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in metrics:
        mine = found.setdefault((row["slice"], row["model"]), {})
        if row["estimator"] in comparisons.ESTIMATORS:
            mine[str(row["measure"])] = row["value"]
    none, ties = Estimate(None, reason="needs_scores"), {} if tested is None else tested.ties
    return [
        {
            "slice": label,
            "model": model,
            **more(label, model),
            **{name: mine.get(name, none) for name in names},
            "tied": None if label is not None else ties.get(model),
        }
        for (label, model), mine in found.items()
    ]


def confusion_rows(
    label: str | None,
    models: Sequence[str],
    names: Sequence[str],
    tables: Counts,
    unit: float = 1,
    *,
    every: bool = False,
) -> Iterator[Row]:
    """Yield the cells of confusion matrices, (k, C, C); every: those without rows too."""
    for model, table in zip(models, tables, strict=True):
        totals = table.sum(axis=1)
        for i, j in np.argwhere((table != 0) | every).tolist():
            yield {
                "slice": label,
                "model": model,
                "truth": names[i],
                "predicted": names[j],
                "rows": from_units(table[i, j], unit).item(),
                "share": float(table[i, j] / totals[i]) if totals[i] else None,
            }


def _warnings(patterns: ClassPatterns) -> Iterator[ResultNote]:
    """Yield warnings on classes without rows, with few rows, or never predicted."""
    rows = class_sizes(patterns, len(patterns.classes))
    said = patterns.tables.sum(axis=(0, 1))
    for code, which, what in (
        ("class-absent", rows == 0, "truth has no row of {}: balanced accuracy is undefined"),
        (
            "small-class",
            (rows > 0) & (rows < RARE),
            f"fewer than {RARE} rows of {{}}: estimates for it are imprecise",
        ),
        ("never-predicted", (said == 0) & (rows > 0), "no model predicts {}"),
    ):
        if names := [name for name, there in zip(patterns.classes, which, strict=True) if there]:
            listed = ", ".join(f"'{printable(name)}'" for name in names[:MAX_LISTED])
            left = len(names) - MAX_LISTED
            listed += f" and {left:,} more" if left > 0 else ""
            yield ResultNote(code, what.format(listed))
