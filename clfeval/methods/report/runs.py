"""Several runs of models, seeds or folds: means over runs, how far runs lie apart, how sure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot, isnan, nan, sqrt
from typing import Any

import numpy as np

from clfeval.compare.change import BETTER, WORSE, Change, bounded, comparison_row, known, limits_p
from clfeval.compare.families import ALL_PAIRS, BEST, joint_maximum, pairs_of
from clfeval.counts.count import Sample
from clfeval.counts.counted import Counted
from clfeval.errors import UsageError, bad_option, unknown_model
from clfeval.inference.resampling import corrected_t, stream
from clfeval.inference.special import student_quantile
from clfeval.measures.catalog import CATALOG
from clfeval.methods.report.comparisons import ESTIMATORS
from clfeval.methods.report.options import ReportOptions
from clfeval.result import Answer, Estimate, Result, Row, Warn, estimate
from clfeval.words import between, listed, many, named, number, quoted

FOLDS, REPEATS = "folds", "repeats"  # runs with half of all rows at most; with more of them
CORRECTED, SAME = "corrected t (Nadeau-Bengio)", "runs and rows, square-and-add"
NONE = "none"
LISTED = 3  # runs by name
LEADS = ("roc_auc", "balanced_accuracy", "accuracy")  # the first that is known
ByRun = Mapping[tuple[str, str], Mapping[str, Row]]  # by measure and model, then by run


@dataclass(frozen=True, slots=True)
class Runs:
    """How runs share rows: kind None where no id tells.

    rows: observations in all; train: what part of them a run lacks. each: how many runs have a row,
    on average.
    """

    names: Sequence[str]
    kind: str | None
    rows: float = nan
    train: float = nan
    each: float = nan

    def reference(self, asked: str | None) -> str | None:
        """Return with what models are compared in each run, for the errors of its rows."""
        return asked if self.kind == REPEATS and asked != ALL_PAIRS else None

    @classmethod
    def of(cls, counted: Counted) -> Runs:
        """Look which observations stand in which run; DataError where two have another truth."""
        prefix = f"{counted.roles.run}="
        names = [str(label).removeprefix(prefix) for label in counted.slices if label is not None]
        if counted.kept.settled.columns.id is None:
            return cls(names, None)
        distinct, sizes = counted.kept.runs_of_rows()
        size = float(np.mean(sizes))
        kind = REPEATS if size > distinct / 2 else FOLDS
        return cls(names, kind, distinct, 1 - size / distinct, sum(sizes) / distinct)


def check_runs(options: ReportOptions, models: Sequence[str]) -> None:
    """Raise for what is asked of rows taken together, which runs may repeat."""
    for flag, given in (
        ("--margin", options.margin), ("--resolution", options.resolution),
        ("--list-changes", options.list_changes), ("--dummies", options.dummies),
        ("--best-threshold", options.best_threshold), ("--abstain", options.abstain),
    ):  # fmt: skip
        if given:
            raise bad_option(f"{flag} is about rows taken together, and runs may repeat them")
    reference = options.reference
    if reference == BEST:
        what = "--reference best is chosen on these runs: name a model, or all-pairs"
        raise bad_option(what)
    if reference not in (None, ALL_PAIRS, *models):
        raise unknown_model("--reference", str(reference), [*models, ALL_PAIRS])
    if reference is not None and len(models) == 1:
        raise bad_option(f"--reference {reference}: '{models[0]}' is the only model here")


def each_run(sample: Sample) -> tuple[Sample, Counted]:
    """Return the sample with its runs for slices, and what was counted."""
    if sample.counted is None:
        raise UsageError.of(
            "--run looks how runs share rows, and counts do not say", "needs-predictions",
            hint="give the predictions of every model in every row",
        )  # fmt: skip
    return replace(sample, slices=dict(sample.counted.confusions), runs={}), sample.counted


def over_runs(sample: Sample, each: Result, runs: Runs, options: ReportOptions) -> Result:
    """Return means over runs, from a report that has each of them as a slice."""
    level = options.confidence
    values, prefix = dict[tuple[str, str], dict[str, Row]](), f"{sample.roles.run}="
    for row in each.tables["metrics"]:
        if row["slice"] is not None and row["estimator"] in ESTIMATORS:
            key = str(row["metric"]), str(row["model"])
            values.setdefault(key, {})[str(row["slice"]).removeprefix(prefix)] = row
    spread = [_spread(key, mine, runs, level) for key, mine in values.items()]
    means = {(row["metric"], row["model"]): row for row in spread}
    tables: dict[str, Sequence[Row]] = {
        "models": [_of_model(row, means, each) for row in each.tables["models"]],
        "metrics": [
            _of_metric(row, means) for row in each.tables["metrics"]
            if row["slice"] is not None or ((row["metric"], row["model"]) in means
            and row["estimator"] in ESTIMATORS)
        ],
        "runs": [
            {"metric": metric, "model": model, "run": run, "value": row["value"], "se": row["se"]}
            for (metric, model), mine in values.items() for run, row in mine.items()
        ],
        "run_spread": spread,
        "confusion": [row for row in each.tables["confusion"] if row["slice"] is not None],
    }  # fmt: skip
    models = list(dict.fromkeys(str(row["model"]) for row in each.tables["models"]))
    if options.reference is not None and level is not None:
        tables["comparisons"] = [*_compared(values, models, runs, options, _paired(each, prefix))]
    lead = next((name for name in LEADS if any(
        row["metric"] == name and estimate(row["mean"]).value is not None for row in spread
    )), LEADS[-1])  # fmt: skip
    return replace(
        each, tables={name: rows for name, rows in tables.items() if rows or name == "confusion"},
        parameters={**each.parameters, "reference": options.reference},
        summary={**each.summary, "runs": len(runs.names)},
        answer=tuple(_answer(lead, spread, tables.get("comparisons", ()), runs, level)),
        warnings=(
            *each.warnings, *_notes(lead, values, runs, level),
            *_alone(runs, each.parameters["cluster"], level),
        ),
    )  # fmt: skip


def mean_of(
    each: Sequence[Estimate], runs: Runs, level: float | None
) -> tuple[float, float, float, float, str]:
    """Return the mean over runs, the SD between them, limits of the mean and the method.

    each: what is known in each run, with its limits by the rows. folds: variance
    (1/J + n_test / n_train) S², J - 1 degrees of freedom; n_test: rows of a run on average, n_train
    the other rows of all: of K folds 1/J + 1/(K - 1). repeats: square-and-add of t S / sqrt(J) and
    of how far, on average, the limits of a run lie from its value: rows err alike in every run, for
    they are the same. No limits where those of a run are not known.

    Source: Nadeau and Bengio 2003, Machine Learning 52:239; Zou and Donner 2008, Statistics in
    Medicine 27:1693.
    """
    values = np.array([one.value for one in each], np.float64)
    j, mean = len(values), float(values.mean()) if len(values) else nan
    sd = float(values.std(ddof=1)) if j > 1 else nan
    if j < 2 or runs.kind is None or level is None:
        return mean, sd, nan, nan, NONE
    if runs.kind == FOLDS:
        if not np.ptp(values):  # runs that are all alike tell nothing of others
            return mean, sd, nan, nan, NONE
        found = corrected_t(values, runs.train, level=level)
        return mean, sd, found.low, found.high, CORRECTED
    between_runs = float(student_quantile(j - 1, level=level)) * sd / sqrt(j)
    ends = np.array([(one.low, one.high) for one in each], np.float64).mean(axis=0)  # None is NaN
    below, above = (hypot(between_runs, abs(float(end) - mean)) for end in ends)
    if isnan(below + above) or not below + above:
        return mean, sd, nan, nan, NONE
    return mean, sd, mean - below, mean + above, SAME


def _paired(each: Result, prefix: str) -> dict[tuple[str, str, str, str], Estimate]:
    """Return the differences on the rows of each run: by measure, model, reference and run."""
    return {
        (str(row["metric"]), str(row["model"]), str(row["reference"]),
         str(row["slice"]).removeprefix(prefix)): estimate(row["difference"])
        for row in each.tables.get("comparisons", ()) if row["slice"] is not None
    }  # fmt: skip


def _spread(key: tuple[str, str], mine: Mapping[str, Row], runs: Runs, level: float | None) -> Row:
    metric, model = key
    measure = CATALOG[metric.partition(":")[0]]
    known = [row for row in mine.values() if estimate(row["value"]).value is not None]
    mean, sd, low, high, method = mean_of([estimate(row["value"]) for row in known], runs, level)
    value = Estimate(None, reason=next(
        (estimate(row["value"]).reason for row in mine.values()), "too_few_rows"))  # fmt: skip
    if known:
        ends = (None, None) if isnan(low) else (max(low, measure.low), min(high, measure.high))
        value = Estimate(mean, *ends)
    return {
        "metric": metric, "model": model, "runs": len(known), "mean": value,
        "sd": None if isnan(sd) else sd, "method": method,
    }  # fmt: skip


def _of_model(row: Row, means: Mapping[Any, Row], each: Result) -> Row:
    """Return a row of the first screen: of all runs the means, and of the counts too."""
    if row["slice"] is not None:
        return row
    mine = [one for one in each.tables["models"]
            if one["model"] == row["model"] and one["slice"] is not None]  # fmt: skip
    found: dict[str, Any] = {**row, "tied": None}
    for name, cell in row.items():
        if isinstance(cell, Estimate):
            of_runs = means.get((name, row["model"]))
            found[name] = cell if of_runs is None else of_runs["mean"]
        elif name in ("tp", "fp", "fn", "tn") and cell is not None:
            found[name] = float(np.mean([float(str(one[name])) for one in mine]))
    return found


def _of_metric(row: Row, means: Mapping[Any, Row]) -> Row:
    if row["slice"] is not None:
        return row
    mine = means[row["metric"], row["model"]]
    return {**row, "value": mine["mean"], "se": None, "method": mine["method"]}


def _compared(
    values: ByRun, models: Sequence[str], runs: Runs, options: ReportOptions,
    paired: Mapping[tuple[str, str, str, str], Estimate],
) -> Iterator[Row]:  # fmt: skip
    """Yield the mean difference of models over their runs in common, all pairs taken together.

    paired: the difference in each run with its limits by the rows, without which runs of the same
    rows tell nothing of other rows.
    """
    level, pairs = options.level, pairs_of(options.reference, models)
    for metric in dict.fromkeys(metric for metric, _ in values):
        found, rng = list[tuple[Change, int, str]](), stream(options.seed, f"runs\0{metric}")
        for i, j in pairs:
            one, other = (values.get((metric, models[at]), {}) for at in (i, j))
            both = {run: [estimate(side[run]["value"]).value for side in (one, other)]
                    for run in one if run in other}  # fmt: skip
            apart = {run: a - b for run, (a, b) in both.items() if a is not None and b is not None}
            by_rows = [paired.get((metric, models[i], models[j], run), Estimate(None))
                       for run in apart]  # fmt: skip
            each = [replace(at, value=d) for at, d in zip(by_rows, apart.values(), strict=True)]
            mean, _, low, high, method = mean_of(each, runs, level)
            p = float(limits_p(mean, low, high, len(apart) - 1, level=level))
            if runs.kind is not None and len(apart) > 1 and not any(apart.values()):
                p = 1.0
            means = [Estimate(float(np.mean([both[run][k] for run in apart])) if apart else None)
                     for k in (1, 0)]  # fmt: skip
            d = bounded(mean, low, high, "too_few_rows" if isnan(mean) else None)
            found.append(
                (Change(means[0], means[1], d, known(p), rows=len(apart), paired=True), j, method)
            )
        tested = [k for k, (change, *_) in enumerate(found) if change.p is not None]
        first, second = np.array([pairs[k] for k in tested], np.int64).reshape(-1, 2).T
        adjusted, each_level = joint_maximum(
            np.array([found[k][0].p for k in tested], np.float64), first, second,
            np.eye(len(models)), level=level, rng=rng,
        )  # fmt: skip
        of_all = dict(zip(tested, adjusted.tolist(), strict=True))
        for k, (change, j, method) in enumerate(found):
            d, df = change.difference, max((change.rows or 1) - 1, 1)
            t, own = (float(student_quantile(df, level=at)) for at in (each_level, level))
            ends = [None if end is None or d.value is None else d.value + (end - d.value) * t / own
                    for end in (d.low, d.high)]  # fmt: skip
            all_of = replace(change, adjusted=of_all.get(k), simultaneous=replace(
                d, low=ends[0], high=ends[1]))  # fmt: skip
            yield comparison_row("run", metric, models[pairs[k][0]], models[j], all_of, level,
                                 method=method)  # fmt: skip


def _answer(
    lead: str, spread: Sequence[Row], compared: Sequence[Row], runs: Runs, level: float | None
) -> Iterator[Answer]:
    """Say whose mean is largest, what its limits cover, and who is told from the reference."""
    measure, j = CATALOG[lead], len(runs.names)
    mine = [row for row in spread if row["metric"] == lead]
    known = [row for row in mine if estimate(row["mean"]).value is not None]
    if not known:
        yield Answer("no-position", f"{measure.title} is undefined in every run.")
        return
    first = max(known, key=lambda row: measure.sign * (estimate(row["mean"]).value or 0.0))
    found = estimate(first["mean"])
    models = [str(row["model"]) for row in known if estimate(row["mean"]).value == found.value]
    best = "has a" if len(mine) == 1 else "has the largest" if len(models) == 1 else (
        "have the largest")  # fmt: skip
    size = between(found.value or 0.0, found.low, found.high)
    apart = "" if first["sd"] is None else f", SD {number(float(str(first['sd'])))}"
    over = many(float(str(first["runs"])), "run")
    text = f"{named(models)} {best} mean {measure.title} over {over}, {size}{apart}."
    yield Answer("best", text, tuple(models), lead, found.value, found.low, found.high)
    yield from _told(lead, compared, runs)
    if level is None or found.low is None:
        return
    text = "Every row is in one run" if runs.each == 1 else "Runs share some of their rows"
    text += ": limits are as of splits, each of a model trained on all rows but its own."
    if runs.kind == REPEATS:
        text = f"All {j:,} runs have the same {runs.rows:,.0f} rows"
        if runs.each < j:
            text = f"Runs share most of their {runs.rows:,.0f} rows"
        text += ": limits are of other runs and other rows, and no row counts twice."
    yield Answer("runs", text)


def _told(lead: str, compared: Sequence[Row], runs: Runs) -> Iterator[Answer]:
    """Say which models are better or worse over other runs, all taken together."""
    rows = [row for row in compared if row["metric"] == lead]
    if not rows:
        return
    title, tests = CATALOG[lead].title, many(len(rows), "test")
    if all(row["p"] is None for row in rows):
        text = f"Nothing tells by {title} whether models differ over other runs"
        if runs.kind == REPEATS and len({row["reference"] for row in rows}) > 1:
            text += ": runs of the same rows are compared with one model, by --reference MODEL"
        text += "."
        yield Answer("compared", text, (), lead)
        return
    kinds = {kind: [row for row in rows if row["verdict"] == kind] for kind in (BETTER, WORSE)}
    told, rule = [*kinds[BETTER], *kinds[WORSE]], f"({tests} adjusted together)"
    if len({row["reference"] for row in rows}) > 1:
        pairs = [_best_first(row) for row in told]
        text = f"{len(told):,} of {many(len(rows), 'pair')} of models differ significantly in mean "
        text += f"{title} over other runs {rule}"
        shown = [f"{quoted(one)} over {quoted(other)}" for one, other in pairs[:LISTED]]
        text += f": {', '.join(shown)}" if shown else ""
        more = len(pairs) - len(shown)
        text += f" and {more:,} more" if more else ""
        yield Answer("compared", f"{text}.", (), lead)
        return
    reference = quoted(str(rows[0]["reference"]))
    found = [
        f"{named([str(row['model']) for row in mine])} "
        f"{'is' if len(mine) == 1 else 'are'} significantly {kind} than {reference}"
        for kind, mine in kinds.items() if mine
    ]  # fmt: skip
    what = " and ".join(found) or f"no model is significantly different from {reference}"
    text = f"By mean {title} over other runs {what} {rule}."
    yield Answer("compared", text, tuple(str(row["model"]) for row in told), lead)


def _best_first(row: Row) -> tuple[str, str]:
    pair = str(row["model"]), str(row["reference"])
    return pair if row["verdict"] == BETTER else pair[::-1]


def _alone(runs: Runs, cluster: str | None, level: float | None) -> Iterator[Warn]:
    """Say that limits by runs with rows of their own take these as independent, not clusters."""
    if runs.kind == FOLDS and cluster is not None and level is not None:
        text = f"limits over runs take runs for independent, whatever '{cluster}' they share"
        yield Warn("runs-dependent", text)


def _notes(lead: str, values: ByRun, runs: Runs, level: float | None) -> Iterator[Warn]:
    """Say why there are no limits, and which runs are not in the means."""
    if len(runs.names) == 1:
        yield Warn("runs-dependent", "one run alone: nothing tells how others would differ")
    elif runs.kind is None and level is not None:
        text = "whether runs share rows no column tells: means get limits with --id COLUMN"
        yield Warn("runs-dependent", text)
    left = {
        run
        for (metric, _), mine in values.items() if metric == lead
        for run in runs.names
        if run not in mine or estimate(mine[run]["value"]).value is None
    }  # fmt: skip
    if left:
        text = f"not in the means of {CATALOG[lead].title}, which is undefined there: run"
        names = listed([one for one in runs.names if one in left], most=LISTED)
        yield Warn("runs-left-out", f"{text}{'s' * (len(left) > 1)} {names}")
