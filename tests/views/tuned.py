"""A tune-jpt result as the command makes it, from four counts a model and its measures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import Stakes
from clfeval.measures.population import BALANCED, Population
from clfeval.methods.tune_jpt.tables import formulas
from clfeval.result import Cell, Estimate, InputFile, Result, Row, Rows

ORDER = (
    "tar", "tor", "ppv", "npv", "ppv_odds", "npv_odds", "epa", "f_beta", "f_odds", "mcc", "ic",
    "sensitivity", "specificity", "j_index", "phi", "delta", "lr_pos", "lr_neg", "dor", "dp",
    "expected_cost", "net_benefit",
)  # fmt: skip
Counts = tuple[int, int, int, int]  # tp, fp, fn, tn
# of 600 positives and 400 negatives: sensitivities .67 .69 .85, specificities .95 .85 .7
MODELS: Mapping[str, Counts] = {
    "anti-CCP": (402, 20, 198, 380), "RF": (414, 60, 186, 340), "triage": (510, 120, 90, 280),
}  # fmt: skip
THRESHOLD_MEASURES = ("tar", "f_beta", "mcc")


def estimate(name: str, value: float) -> Estimate:
    """Return a value with limits around it, or why there is none."""
    if math.isnan(value):
        reason = {"ppv": "no_positive_prediction", "ppv_odds": "no_positive_prediction",
                  "npv": "no_negative_prediction", "epa": "no_positive_prediction"}  # fmt: skip
        return Estimate(None, reason=reason.get(name, "zero_margin"))
    if math.isinf(value):
        if value < 0:
            return Estimate(None, None, 1.25, "minus_infinite")
        return Estimate(None, 12.3, None, "infinite")
    return Estimate(value, value - abs(value) / 8, min(value + abs(value) / 4, high(name, value)))


def high(name: str, value: float) -> float:
    """Return where an upper limit ends."""
    shares = ("tar", "ppv", "npv", "f_beta", "mcc", "ic", "sensitivity", "specificity", "phi")
    return max(1.0, value) if name in (*shares, "j_index", "delta") else math.inf


def tuned(
    models: Mapping[str, Counts] = MODELS,
    *,
    targets: Sequence[str] = ("1:100", "1:1000"),
    points: int = 31,
    scores: bool = True,
    rates_only: bool = False,
    shown: Sequence[str] = ORDER[:-2],
    beta: float = 1.0,
    cost: Stakes | None = None,
    population: float | None = None,
    slices: Sequence[str | None] = (None,),
    interval: str = "exact",
    uncertain: bool = True,
) -> Result:
    """Build the result; `points` 0 is no sweep, `scores` False are labels."""
    known = formulas(beta, cost)
    wanted = [Population.of_odds(text) for text in targets]
    grid = 10.0 ** np.linspace(-3, 3, points) if points else []
    swept = [Population.of_ratio(float(f"{ratio:.12g}")) for ratio in grid]
    tables = {name: Confusion(*map(float, counts)) for name, counts in models.items()}
    first = next(iter(models.values()))
    p, n = first[0] + first[2], first[1] + first[3]
    sample = Population.of_counts(p, n)

    def measured(table: Confusion) -> dict[str, Cell]:
        found = {name: estimate(name, float(known[name](table))) for name in shown}
        bare = rates_only or interval == "none"
        return {k: Estimate(e.value, reason=e.reason) if bare else e for k, e in found.items()}

    def head(label: str | None, model: str) -> dict[str, Cell]:
        return {"slice": label, "model": model}

    def model_row(label: str | None, model: str, kind: str, at: Population) -> Row:
        table = tables[model].tuned(at.ratio).per(1000)
        rows = 1000.0 if kind != "sample" else float(p + n)
        cells = dict(zip(("tp", "fp", "fn", "tn"), models[model], strict=True))
        if kind != "sample":
            cells = {name: float(getattr(table, name)) for name in ("tp", "fp", "fn", "tn")}
        threshold = 0.5 if scores else None
        return {
            **head(label, model), "population": kind, "prevalence": at.prevalence,
            "odds": at.odds, "rows": rows, **cells, "threshold": threshold,
            **measured(tables[model] if kind == "sample" else table),
        }  # fmt: skip

    places = [("1:1", BALANCED), *(("target", one) for one in wanted)]
    if not rates_only:
        places = [("sample", sample), *places]
    out: dict[str, Rows] = {
        "models": [model_row(s, m, *place) for s in slices for m in models for place in places]
    }
    if population is not None:
        out["expected"] = [
            expected_row(s, m, at, population, tables[m]) for s in slices for m in models
            for at in wanted
        ]  # fmt: skip
    if swept:
        out["sweep"] = [
            {**head(s, m), "prevalence": at.prevalence, "odds": at.odds, "ratio": at.ratio,
             **measured(tables[m].tuned(at.ratio))}
            for s in slices for at in swept for m in models
        ]  # fmt: skip
    compared = next((name for name in shown if name not in ORDER[11:20]), None)
    if len(models) > 1 and compared:
        out["crossovers"] = [
            crossing(s, a, b, tables) for s in slices for a, b in combinations(models, 2)
        ]
        everywhere = [(k, at) for k, at in places if k != "1:1"] + [("sweep", at) for at in swept]
        out["winners"] = [
            winner(s, compared, kind, at, {m: float(known[compared](tables[m].tuned(at.ratio)))
                                           for m in models})
            for s in slices for kind, at in everywhere
        ]  # fmt: skip
    if scores and not rates_only:
        everywhere = [*places, *(("sweep", at) for at in swept)]
        out["thresholds"] = [
            threshold_row(s, m, name, kind, at, float(known[name](tables[m].tuned(at.ratio))))
            for s in slices for m in models for name in THRESHOLD_MEASURES if name in shown
            for kind, at in everywhere
        ]  # fmt: skip
        out["cutoffs"] = [
            {"model": row["model"], "measure": row["measure"], "odds": row["odds"],
             "threshold": row["threshold"], "rule": row["rule"]} for row in out["thresholds"]
        ]  # fmt: skip
    if uncertain:
        ends = [Population.of_prevalence(end) for end in (0.001, 0.02)]
        out["ranges"] = [ranged(s, m, name, ends, [float(known[name](tables[m].tuned(e.ratio)))
                                                   for e in ends])
                         for s in slices for m in models for name in shown[:3]]  # fmt: skip
        out["simulated"] = [
            {**head(s, m), "measure": name, "mean": 0.0312345, "median": None, "low": 0.00123,
             "high": 13400.123, "failed": 3}
            for s in slices for m in models for name in shown[:2]
        ]  # fmt: skip
    counts: dict[str, object] = {"rows": p + n, "positives": p, "negatives": n,
                                 "prevalence": sample.prevalence, "odds": sample.odds}  # fmt: skip
    if rates_only:
        counts = dict.fromkeys(counts)
    return Result(
        command="tune-jpt",
        signature="clfeval tune-jpt",
        inputs=() if rates_only else (InputFile("table.csv", None, p + n),),
        parameters={
            "positive": "ill", "negative": ["well"], "level": 0.95, "interval": interval,
            "measures": list(shown), "beta": beta, "compared_by": compared, "rows_per": 1000,
            "population": population, "paired": not rates_only,
            "targets": [{"prevalence": t.prevalence, "odds": t.odds} for t in wanted],
            "sweep": {"from": swept[0].odds, "to": swept[-1].odds, "points": points}
            if swept else None,
            "cost": {"fp": cost.fp, "fn": cost.fn, "tp": cost.tp, "tn": cost.tn} if cost else None,
            "prevalence_range": [0.001, 0.02] if uncertain else None,
            "prevalence_beta": [2.0, 98.0] if uncertain else None, "by": None,
        },
        summary=counts,
        tables=out,
    )  # fmt: skip


def expected_row(
    label: str | None, model: str, at: Population, rows: float, table: Confusion
) -> Row:
    """Return the cells of a population of so many rows, and how many are called positive."""
    there = table.tuned(at.ratio).per(rows)
    cells = {name: float(getattr(there, name)) for name in ("tp", "fp", "fn", "tn")}
    cells["flagged"] = cells["tp"] + cells["fp"]
    shown = {name: Estimate(x, x * 0.875, x * 1.125) for name, x in cells.items()}
    return {
        "slice": label, "model": model, "population": "target", "prevalence": at.prevalence,
        "odds": at.odds, "rows": rows, "positives": rows * at.prevalence,
        "negatives": rows * (1 - at.prevalence), **shown,
    }  # fmt: skip


def crossing(label: str | None, a: str, b: str, tables: Mapping[str, Confusion]) -> Row:
    """Return where two models have the same TAR: p = dtnr / (dtnr - dtpr)."""
    one, other = tables[a].normalised(), tables[b].normalised()
    d_tpr, d_tnr = float(one.tp - other.tp), float(one.tn - other.tn)
    head: dict[str, Cell] = {"slice": label, "measure": "tar", "first": a, "second": b}
    if d_tpr * d_tnr >= 0:
        leader = (a if d_tpr + d_tnr > 0 else b) if d_tpr or d_tnr else None
        words = f"{leader} leads throughout" if leader else "equal at every class ratio"
        reason = "none" if leader else "identical"
        return {**head, "crossing": Estimate(None, reason=reason),
                "odds": None, "leads_below": leader, "leads_above": leader,
                "verdict": f"none: {words}"}  # fmt: skip
    p = d_tnr / (d_tnr - d_tpr)
    at = Population.of_prevalence(p)
    below, above = (a, b) if d_tnr > 0 else (b, a)
    words = f"{below} leads below prevalence {p:.3g} ({at.odds}), {above} above"
    return {**head, "crossing": Estimate(p, p * 0.75, None if p > 0.8 else p * 1.0625),
            "odds": at.odds, "leads_below": below, "leads_above": above,
            "verdict": words}  # fmt: skip


def winner(
    label: str | None, name: str, kind: str, at: Population, values: Mapping[str, float]
) -> Row:
    """Return the leader, called where it is ahead by more than a hundredth."""
    leader = max(values, key=lambda model: (not math.isnan(values[model]), values[model]))
    near = [m for m, v in values.items() if m != leader and v > values[leader] - 0.01]
    return {
        "slice": label, "measure": name, "population": kind, "prevalence": at.prevalence,
        "odds": at.odds, "ratio": at.ratio, "leader": leader,
        "value": Estimate(values[leader]) if math.isfinite(values[leader]) else
        Estimate(None, reason="infinite"),
        "winner": None if near else leader, "tied": near,
    }  # fmt: skip


def threshold_row(
    label: str | None, model: str, name: str, kind: str, at: Population, fixed: float
) -> Row:
    """Return a threshold that falls as positives become frequent; above all scores where rare."""
    cut = None if at.ratio < 0.002 else round(1 / (1 + at.ratio**0.5), 2)
    undefined = math.isnan(fixed)
    value = Estimate(None, reason="zero_margin") if undefined else Estimate(fixed)
    more = Estimate(None, reason="zero_margin") if undefined else Estimate(fixed + 0.01)
    return {
        "slice": label, "model": model, "measure": name, "population": kind,
        "prevalence": at.prevalence, "odds": at.odds, "ratio": at.ratio, "threshold": cut,
        "rule": "never positive" if cut is None else "score >= t",
        "sensitivity": 0.5, "specificity": 0.9, "value": more,
        "fixed_threshold": 0.5, "fixed_value": value,
        "corrected": Estimate(None, reason="zero_margin") if undefined else Estimate(fixed - 0.002),
    }  # fmt: skip


def ranged(
    label: str | None, model: str, name: str, ends: Sequence[Population], values: Sequence[float]
) -> Row:
    """Return the ends of a measure over two prevalences, itself at both."""
    (low, low_at), (top, top_at) = sorted(
        zip(values, [end.prevalence for end in ends], strict=True)
    )
    return {
        "slice": label, "model": model, "measure": name, "lowest": estimate(name, low),
        "lowest_at": low_at, "highest": estimate(name, top), "highest_at": top_at,
    }  # fmt: skip
