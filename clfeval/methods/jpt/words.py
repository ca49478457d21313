"""What a reader of tuned tables must know: small classes, one-sided averages, what fits what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clfeval.errors import listing
from clfeval.measures.catalog import CATALOG
from clfeval.methods.jpt.given import Given
from clfeval.methods.jpt.options import TuneOptions
from clfeval.methods.notes import counting_notes
from clfeval.result import Estimate, Row, Table, Warn

ENOUGH = 400  # rows of a class below which the paper's simulations found measures optimistic
_ONE_SIDED = 10  # one odds this many times the other is all that their average shows

_ADVICE = {
    "matters": "where the class ratio matters, because errors add up over everybody (cost, "
    "workload), read what moves with it, in the target population: TAR, TOR, PPV, NPV, F, cost; "
    "sensitivity, J and the likelihood ratios are the same everywhere and cannot tell",
    "confounds": "where the class ratio confounds, because each case stands alone, read what does "
    "not move: sensitivity, specificity, J, LR±, DOR; and MCC, IC and EPA only in the rows 1:1, "
    "for elsewhere they move with the ratio",
    "": "does the class ratio matter here? where errors add up over everybody, read the measures "
    "of the target population (--ratio matters); where each case stands alone, those that do not "
    "move, and MCC, IC and EPA at 1:1 (--ratio confounds)",
}


def warnings_of(
    given: Given,
    options: TuneOptions,
    tables: Mapping[str, Table],
    failed: int,
    unbounded: Sequence[str],
) -> tuple[Warn, ...]:
    """Return the notes, the weightiest first."""
    said: list[Warn] = []
    counts = given.sources.slices[None]
    if given.sampled:
        if len(counts.models) > 1 and not given.sources.patterns and "winners" in tables:
            text = (
                "counts do not say which rows models share: differences are taken as of different "
                "rows, which is cautious if they are the same"
            )
            said.append(Warn("unpaired", text))
        said += _lacking(given)
        said += _small(given)
    else:
        text = "nobody knows how many rows these rates come from: no intervals (--counts has them)"
        said.append(Warn("rates-only", text))
    said += _one_sided(tables["models"])
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
    if not (options.targets or options.prevalence_range or options.beta_prior):
        text = "no target population: name one with --prevalence 0.01 or --odds 1:100"
        said.append(Warn("no-target", text))
    said.append(Warn("advice", _ADVICE[options.ratio or ""]))
    return (*said, *(counting_notes(given.sources.counted) if given.sources.counted else ()))


def _lacking(given: Given) -> list[Warn]:
    """Name slices, and models of counts tables, without one of the classes."""
    out = []
    for label, counts in given.sources.slices.items():
        for name, totals in (("positive", counts.positives), ("negative", counts.negatives)):
            lost = [m for m, n in zip(counts.models, totals.tolist(), strict=True) if not n]
            if lost and len(lost) == len(counts.models):
                out.append(Warn("single-class", f"{label}: no {name} row, so nothing is tuned"))
            elif lost:
                where = f"{label}: " if label else ""
                text = f"{where}no {name} row for {listing(lost)}, so nothing is tuned there"
                out.append(Warn("single-class", text))
    return out


def _small(given: Given) -> list[Warn]:
    counts = given.sources.slices[None]
    both = [*counts.positives.tolist(), *counts.negatives.tolist()]
    least = min((n for n in both if n), default=0)
    if least >= ENOUGH:
        return []
    text = (
        f"the smaller class has {least:,.10g} rows: below {ENOUGH}, normalised and tuned measures "
        "tend to look better than they are; mind the intervals"
    )
    return [Warn("small-class", text)]


def _one_sided(rows: Table) -> list[Warn]:
    """Say where the average of the two odds shows only one of them, with the worst case."""
    worst: tuple[float, Row] | None = None
    for row in rows:
        terms = [_value(row.get(name)) for name in ("ppv_odds", "npv_odds")]
        if (
            _value(row.get("epa")) is None
            or None in terms
            or not min(filter(None, terms), default=0)
        ):
            continue
        high, low = max(t for t in terms if t is not None), min(t for t in terms if t is not None)
        if low > 0 and high / low >= _ONE_SIDED and (worst is None or high / low > worst[0]):
            worst = high / low, row
    if worst is None:
        return []
    row = worst[1]
    epa, ppv, npv = (_value(row[name]) for name in ("epa", "ppv_odds", "npv_odds"))
    text = (
        f"EPA hides one of its odds: {CATALOG['epa'].title} {epa:.4g} of {row['model']} at "
        f"{row['odds']} is the mean of PPV odds {ppv:.4g} and NPV odds {npv:.4g}; read the two"
    )
    return [Warn("epa-one-sided", text)]


def _value(cell: object) -> float | None:
    return cell.value if isinstance(cell, Estimate) else None
