"""`clfeval.tune_jpt`: the same classifiers in another population."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any

from clfeval.api.numbers import number, pair, whole
from clfeval.api.populations import populations_of
from clfeval.api.roles import Names, Thresholds, roles_of, strings, tables_of
from clfeval.counts.sample import read_sample
from clfeval.errors import Problem, UsageError, bad_option, listing
from clfeval.measures.odds import Stakes
from clfeval.methods.tune_jpt.notes import of_counts, of_rates, of_table
from clfeval.methods.tune_jpt.options import (
    FULL_SWEEP,
    Interval,
    Ratio,
    Sweep,
    TuneOptions,
    check_points,
    measure_ids,
)
from clfeval.methods.tune_jpt.result import tune_result
from clfeval.result import Result
from clfeval.tables.prediction import Predictions, open_predictions
from clfeval.tables.roles import Kind, LayoutName, Missing, Roles

Counts = Mapping[str, Sequence[float]] | Sequence[float]


def tune_jpt(
    table: Any = None,
    *,
    counts: Counts | None = None,
    sensitivity: float | None = None,
    specificity: float | None = None,
    truth: str | None = None,
    model: Names = (),
    id: str | None = None,  # noqa: A002
    positive: object = None,
    labels: Sequence[object] = (),
    kind: Kind | None = None,
    threshold: Thresholds = None,
    weight: str | None = None,
    by: Names = (),
    missing: Missing = "error",
    null_value: Names = (),
    layout: LayoutName | None = None,
    input_format: str | None = None,
    delimiter: str | None = None,
    level: float = 0.95,
    interval: Interval = "exact",
    prevalence: float | Sequence[float] = (),
    odds: Names = (),
    sweep: str | None = FULL_SWEEP,
    points: int = 31,
    prevalence_range: Sequence[float] | None = None,
    prevalence_beta: Sequence[float] | None = None,
    measure: Names = (),
    beta: float = 1.0,
    crossover: str | None = None,
    cost: Sequence[float] | None = None,
    benefit: Sequence[float] | None = None,
    ratio: Ratio | None = None,
    population: float | None = None,
    folds: int = 10,
    resamples: int = 2000,
    seed: int = 0,
    on_open: Callable[[Predictions], None] | None = None,
) -> Result:
    """Tell what 2 x 2 tables would look like at other ratios of positives to negatives.

    A table is normalised by dividing its positives by P and its negatives by N, and tuned to odds
    r by TP = r TP/P, FN = r FN/P, FP = FP/N, TN = TN/N, up to a common factor; the prevalence is
    r / (1 + r). Every measure is given as counted, at 1:1 and at each target, with an interval for
    which positives and negatives are independent samples; undefined, with a reason, without both.

    `table` is a path, a list of paths, or a polars, pandas or Arrow frame (never changed) of
    predictions or of counts. Instead of it: `counts`, (TP, FP, FN, TN) or a mapping of models to
    such, or the two rates `sensitivity` and `specificity`. The other options are those of
    `clfeval tune-jpt`: `odds` and `sweep` are texts (`"1:100"`, `"1:1000..1000:1"`), `cost` is
    (FP, FN), `benefit` is (TP, TN), `prevalence_range` two ends, `prevalence_beta` the two
    parameters of a Beta distribution. Raises UsageError and DataError.
    Source: Eiland and Liebrock 2013, Advances in Artificial Intelligence 2013:427958.
    """
    for option, text in (("--sweep", sweep), ("--crossover", crossover)):
        if not isinstance(text, (str, NoneType)):
            raise bad_option(f"{option} {text!r} is not text")
    if not isinstance(measure, (Iterable, NoneType)):
        raise bad_option(f"--measure {measure!r} is not text")
    check_points(whole("--points", points))
    targets = populations_of(prevalence, odds)
    swept = None if sweep is None else Sweep.parse(sweep, whole("--points", points))
    if swept is not None and sweep == FULL_SWEEP:  # nobody chose where it ends
        swept = swept.covering(targets)
    options = TuneOptions(
        level=number("--level", level),
        interval=interval,
        targets=targets,
        sweep=swept,
        prevalence_range=pair("--prevalence-range", prevalence_range),
        beta_prior=pair("--prevalence-beta", prevalence_beta),
        wanted=measure_ids([str(one) for one in strings(() if measure is None else measure)]),
        beta=number("--beta", beta),
        crossover=None if crossover is None else measure_ids([crossover], "--crossover")[0],
        stakes=_stakes(pair("--cost", cost), pair("--benefit", benefit)),
        ratio=ratio,
        population=None if population is None else number("--population", population),
        folds=whole("--folds", folds),
        resamples=whole("--resamples", resamples),
        seed=whole("--seed", seed),
    )
    options.check()
    roles = roles_of(
        truth=truth, model=model, id=id, positive=positive, labels=labels, kind=kind,
        threshold=threshold, weight=weight, by=by, missing=missing, null_value=null_value,
        layout=layout,
    )  # fmt: skip
    rates = sensitivity is not None or specificity is not None
    numbers = _by_model(counts)
    _one_source(table=table is not None, counts=bool(numbers), rates=rates)
    if table is None:
        _no_table_options(roles, input_format, delimiter)
        given = (
            of_rates(
                None if sensitivity is None else number("--sensitivity", sensitivity),
                None if specificity is None else number("--specificity", specificity),
                roles,
            )
            if rates
            else of_counts(numbers, roles)
        )
        return tune_result(given, options)
    with open_predictions(
        tables_of(table), roles, input_format=input_format, delimiter=delimiter, keep_counts=True
    ) as predictions:
        if on_open is not None:
            on_open(predictions)
        return tune_result(of_table(read_sample(predictions)), options)


def _one_source(**given: bool) -> None:
    """Refuse none of them, and more than one."""
    words = {"table": "a table", "counts": "--counts", "rates": "--sensitivity and --specificity"}
    named = [words[name] for name, there in given.items() if there]
    if not named:
        raise UsageError(
            Problem("nothing to tune", "no-input"),
            hint="a table of predictions or counts, or --counts TP,FP,FN,TN, or --sensitivity and "
            "--specificity",
        )
    if len(named) > 1:
        raise bad_option(f"{listing(named)} say each what to tune: give one")


def _no_table_options(roles: Roles, input_format: str | None, delimiter: str | None) -> None:
    """Refuse options that say how to read a table where there is none."""
    plain = Roles(positive=roles.positive)
    given = {
        name: getattr(roles, name) != getattr(plain, name) for name in Roles.__dataclass_fields__
    }
    given |= {"input_format": input_format is not None, "delimiter": delimiter is not None}
    options = {"models": "model", "thresholds": "threshold", "null_values": "null-value"}
    for name, there in given.items():
        if there:
            option = options.get(name, name.replace("_", "-"))
            raise bad_option(f"--{option} is for a table, and there is none")


def _by_model(counts: Any) -> dict[str, Sequence[float]]:
    """Return four numbers per model; UsageError for what is neither numbers nor such a mapping."""
    if counts is None:
        return {}
    by_model = counts if isinstance(counts, Mapping) else {"model": counts}
    for numbers in by_model.values():
        if isinstance(numbers, str) or not isinstance(numbers, Iterable):
            raise bad_option(
                "--counts: four numbers (TP, FP, FN, TN), or a mapping of models to four numbers"
            )
    return {str(model): tuple(numbers) for model, numbers in by_model.items() if len(numbers)}


def _stakes(cost: tuple[float, float] | None, benefit: tuple[float, float] | None) -> Stakes | None:
    if cost is None:
        if benefit is not None:
            raise bad_option("--benefit adds to --cost FP:FN: give both")
        return None
    for option, both in (("--cost", cost), ("--benefit", benefit or (0.0, 0.0))):
        if not all(0 <= one < float("inf") for one in both):
            raise bad_option(f"{option} {both[0]:g}:{both[1]:g}: numbers from 0 up")
    stakes = Stakes(*cost, *(benefit or ()))
    if not (stakes.fp + stakes.tn > 0 and stakes.fn + stakes.tp > 0):
        raise bad_option(
            f"--cost {cost[0]:g}:{cost[1]:g}: where one kind of error is free, the best answer is "
            "always the other"
        )
    return stakes
