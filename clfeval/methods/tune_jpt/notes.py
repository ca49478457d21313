"""What is tuned, and what a reader of the tuned tables must know."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import inf
from operator import index
from typing import Any

import numpy as np

from clfeval.arrays import MOST
from clfeval.counts.count import Sample
from clfeval.counts.patterns import ConfusionCounts
from clfeval.errors import DataError, UsageError, listing
from clfeval.measures.catalog import CATALOG
from clfeval.methods.document import counting_notes
from clfeval.methods.tune_jpt.options import TuneOptions
from clfeval.result import Estimate, InputFile, Row, Rows, Warn

ENOUGH = 400  # rows of a class below which the paper's simulations found measures optimistic
_ONE_SIDE = {  # errors of one kind do not count
    "ppv", "ppv_odds", "lr_pos", "npv", "npv_odds", "lr_neg", "sensitivity", "specificity",
}  # fmt: skip
_NAMED = 5  # slices
_ONE_SIDED = 10  # one odds this many times the other is all that their average shows

_ADVICE = {
    "matters": "where the class ratio matters, because errors add up over everybody (cost, "
    "workload), read what moves with it, in the target population: TAR, TOR, PPV, NPV, EPA with "
    "its two terms, F, MCC, cost; sensitivity, J and LR± are the same everywhere and cannot tell",
    "confounds": "where the class ratio confounds, because each case stands alone, read what does "
    "not move: sensitivity, specificity, J, LR±, DOR; and MCC, IC and EPA only in the rows 1:1, "
    "for elsewhere they move with the ratio",
    "": "does the class ratio matter here? where errors add up over everybody, read the measures "
    "of the target population (--ratio matters); where each case stands alone, those that do not "
    "move, and MCC, IC and EPA at 1:1 (--ratio confounds)",
}


def warnings_of(
    given: Sample, options: TuneOptions, tables: Mapping[str, Rows], failed: int,
    unbounded: Sequence[str],
) -> tuple[Warn, ...]:  # fmt: skip
    """Return the notes, the weightiest first."""
    said: list[Warn] = []
    counts = given.slices[None]
    if given.sampled:
        if len(counts.models) > 1 and not given.patterns and "winners" in tables:
            text = (
                "counts do not say which rows models share: differences are taken as of different "
                "rows, which is cautious where the rows are the same and the models tend to agree"
            )
            said.append(Warn("unpaired", text))
        said += _lacking(given)
        said += _small(given)
    else:
        text = "nobody knows how many rows these rates come from: no intervals (--counts has them)"
        said.append(Warn("rates-only", text))
    said += _one_sided(tables["models"])
    if options.confidence is not None and options.interval == "bootstrap" and _empty_cells(given):
        text = (
            "a bootstrap takes an empty cell for known, and its intervals there are too narrow: "
            "--interval exact does not"
        )
        said.append(Warn("bootstrap-empty-cell", text))
    if failed:
        text = (
            f"in up to {failed:,} of {options.resamples:,} bootstrap replicates a measure was "
            "undefined; these are left out"
        )
        said.append(Warn("replicates-left-out", text))
    if unbounded:
        text = f"scores of {listing(unbounded)} are infinite: no threshold can be chosen there"
        said.append(Warn("infinite-scores", text))
    if tables.get("thresholds"):
        text = (
            "best thresholds flatter on the rows they were chosen on: on new rows expect the "
            f"cross-fitted value ({options.folds} folds)"
        )
        said.append(Warn("chosen-threshold", text))
    if len(counts.models) > 1 and "winners" not in tables:
        text = (
            "models are compared over class ratios by a measure that moves: name one, --crossover"
        )
        said.append(Warn("not-compared", text))
    one_sided = [CATALOG[name].title for name in options.tuned if name in _ONE_SIDE]
    if one_sided and tables.get("thresholds"):
        text = (
            f"{' and '.join(one_sided)} alone choose extreme thresholds: look at the sensitivity "
            "and specificity there"
        )
        said.append(Warn("one-sided-measure", text))
    if options.ratio != "confounds" and not (
        options.populations or options.prevalence_range or options.prevalence_beta
    ):
        text = "no target population: name one with --prevalence 0.01 or --odds 1:100"
        said.append(Warn("no-target", text))
    said.append(Warn("advice", _ADVICE[options.ratio or ""]))
    return (*said, *(counting_notes(given.counted) if given.counted else ()))


def _lacking(given: Sample) -> list[Warn]:
    """Name slices, and models of counts tables, without one of the classes."""
    out = []
    for label, counts in given.slices.items():
        for name, totals in (("positive", counts.positives), ("negative", counts.negatives)):
            lost = [m for m, n in zip(counts.models, totals.tolist(), strict=True) if not n]
            if lost and len(lost) == len(counts.models):
                out.append(Warn("single-class", f"{label}: no {name} row, so nothing is tuned"))
            elif lost:
                where = f"{label}: " if label else ""
                text = f"{where}no {name} row for {listing(lost)}, so nothing is tuned there"
                out.append(Warn("single-class", text))
    return out


def _small(given: Sample) -> list[Warn]:
    """Say how many rows the smaller class has, in the whole table and in each slice, if too few."""
    few = {}
    for label, counts in given.slices.items():
        both = [n for n in (*counts.positives.tolist(), *counts.negatives.tolist()) if n]
        if both and min(both) < ENOUGH:
            few[label] = min(both)
    if not few:
        return []
    slices = [f"{n:,.10g} in {label}" for label, n in few.items() if label is not None]
    whole = [f"{few[None]:,.10g} rows"] if None in few else []
    where = ", ".join([*whole, *slices[:_NAMED]])
    left = len(slices) - _NAMED
    more = f" and {left} more slices" if left > 0 else ""
    text = (
        f"the smaller class has {where}{more}: below {ENOUGH}, normalised and tuned measures tend "
        "to look better than they are; mind the intervals"
    )
    return [Warn("small-class", text)]


def _one_sided(rows: Rows) -> list[Warn]:
    """Say where the average of the two odds shows only one of them, with the worst case."""
    worst: tuple[float, Row] | None = None
    targets = [row for row in rows if row["population"] == "target"]
    for row in targets or rows:
        terms = [_number(row.get(name)) for name in ("ppv_odds", "npv_odds")]
        if "epa" not in row or None in terms:
            continue
        low, high = sorted(term for term in terms if term is not None)
        times = high / low if low > 0 else inf if high > 0 else 1.0
        if low < inf and times >= _ONE_SIDED and (worst is None or times > worst[0]):
            worst = times, row
    if worst is None:
        return []
    row = worst[1]
    epa, ppv, npv = (f"{_number(row[n]):.4g}" for n in ("epa", "ppv_odds", "npv_odds"))
    text = (
        f"EPA hides one of its odds: {epa} of {row['model']} at {row['odds']} is the mean of PPV "
        f"odds {ppv} and NPV odds {npv}; read the two"
    )
    return [Warn("epa-one-sided", text)]


def _number(cell: object) -> float | None:
    """Return a value, infinite ones included."""
    if not isinstance(cell, Estimate):
        return None
    return inf if cell.reason == "infinite" else cell.value


def _empty_cells(given: Sample) -> bool:
    counts = given.slices[None]
    return not all(part.all() for part in (counts.tp, counts.fp, counts.fn, counts.tn))


NAMES = ("TP", "FP", "FN", "TN")


def of_table(sample: Sample) -> Sample:
    """Take a table; DataError where it lacks a class altogether, for then nothing is tuned."""
    column, hint = None, "both TP and FN, or both FP and TN, are 0 for every model"
    if sample.counted is not None:
        column = sample.counted.truth
        held = f"'{column}' holds {listing(sample.counted.classes)}"
        hint = f"the positive class is '{sample.positive}', and {held}: is it --positive?"
    _need_classes(sample.slices[None], sample.name, hint, column)
    return sample


def of_counts(counts: Mapping[str, Sequence[float]], roles: Any) -> Sample:
    """Take TP, FP, FN, TN per model; UsageError for what is not four counts."""
    cells = []
    for model, numbers in counts.items():
        if not model:
            what, hint = "--counts: a model without a name", "for example --counts rf=69,15,31,85"
            raise UsageError.of(what, "bad-counts", hint=hint)
        where = f"--counts {model}=" if model != "model" else "--counts "
        shown = where + ",".join(map(str, numbers))
        if len(numbers) != len(NAMES):
            what, hint = (
                f"{shown} is not four numbers TP,FP,FN,TN",
                "for example --counts 67,5,33,95",
            )
            raise UsageError.of(what, "bad-counts", hint=hint)
        whole = []
        for name, number in zip(NAMES, numbers, strict=True):
            try:
                whole.append(index(int(number) if float(number).is_integer() else number))  # type: ignore[arg-type]
            except (TypeError, ValueError, OverflowError):
                whole.append(-1)
            if not 0 <= whole[-1] <= MOST:
                why = "not a whole number"
                if isinstance(number, (int, float)) and number < 0:
                    why = "negative"
                elif whole[-1] > MOST:
                    why = f"more than {MOST:,}"
                hint = (
                    "counts are whole numbers of rows from 0 up; of rates alone: "
                    "--sensitivity 0.67 --specificity 0.95"
                )
                what = f"{shown}: {name} is {number}, {why}"
                raise UsageError.of(what, "bad-counts", hint=hint)
        cells.append(whole)
    confusions = ConfusionCounts.of_cells(list(counts), cells)
    _need_classes(confusions, "--counts", "both TP and FN, or both FP and TN, are 0")
    total = int((confusions.positives + confusions.negatives).max())
    return Sample.given(confusions, InputFile("--counts", None, total), roles)


def of_rates(sensitivity: float | None, specificity: float | None, roles: Any) -> Sample:
    """Take two rates without the rows behind them; UsageError unless both are in 0..1."""
    rates = {"sensitivity": sensitivity, "specificity": specificity}
    for name, rate in rates.items():
        if rate is None:
            other = next(key for key in rates if key != name)
            what = f"--{other} alone says nothing of the other class: add --{name}"
            raise UsageError.of(what, "bad-option")
        if not 0 <= rate <= 1 or math.isnan(rate):
            hint = "a share, for example 0.95 for 95 %" if rate > 1 else None
            raise UsageError.of(
                f"--{name} {rate:g} is not between 0 and 1", "bad-option", hint=hint
            )
    tp, tn = (np.array([float(rate or 0.0)]) for rate in rates.values())
    one = np.ones(1)
    confusions = ConfusionCounts(("model",), tp, 1 - tn, 1 - tp, tn, one, one)
    files = InputFile("--sensitivity --specificity", None, 0)
    return Sample.given(confusions, files, roles, sampled=False)


def _need_classes(
    counts: ConfusionCounts, where: str, hint: str, column: str | None = None
) -> None:
    for name, totals in (("positive", counts.positives), ("negative", counts.negatives)):
        if not totals.any():
            what = f"no {name} row: tuning needs rows of both classes"
            raise DataError.of(what, "single-class", where, column=column, hint=hint)
