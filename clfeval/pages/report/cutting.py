"""Where to cut, and where not to answer: tables, what they mean, the risk-coverage curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.pages.columns import CELLS, MODEL, SLICE
from clfeval.pages.report.order import LISTED, ranked
from clfeval.pages.write import INFINITE, REASONS, exact
from clfeval.result import Result, Row, estimate, value_of
from clfeval.schema import Axis, Chart, Column, Point, Series, Shown, Source, Table, of
from clfeval.words import percent

RULES = ("score >= t", "never positive", "always positive")
LIMITED = "within a limit the specificity is to be largest, or the sensitivity"
TABLES = (
    Table("cutoffs", (
        SLICE, MODEL, *of("text", "chosen_by"), *of("cut?", "threshold"),
        Column("threshold_low", "cut?"), Column("threshold_high", "cut?"),
        Column("rule", "text", among=(None, *RULES)), *(Column(one.name, "weight?", one.title)
                                                       for one in CELLS),
        *of("text", "measure"), *of("estimate", "value"),
        Column("corrected", "estimate", "value on other rows"),
        Column("limited", "estimate?", "limited measure on other rows"),
        *of("share", "sensitivity specificity precision npv flagged"),
    ), "best_threshold?"),
    Table("abstentions", (
        SLICE, MODEL, *of("text", "chosen_by"), *of("cut?", "threshold low high"),
        *of("share", "coverage"),
        *(Column(one.name, "weight?", one.title) for one in CELLS),
        *of("share", "accuracy"), Column("accuracy_of_all", "share", "accuracy of all"),
        *of("share", "sensitivity specificity precision npv"),
        *of("number?", "cost cost_of_all aurc"),
    ), "abstain?"),
    Table("risk", (
        SLICE, MODEL, *of("number", "distance"), *of("part", "coverage risk"),
    ), "abstain?"),
)  # fmt: skip
ON_OTHERS = "to expect on other rows"
OF_RATES: Mapping[str, str] = {
    "sensitivity": "share of the positives that are called positive",
    "specificity": "share of the negatives that are called negative",
    "precision": "share of the positive answers that are right",
    "npv": "share of the negative answers that are right",
}
MEANINGS: Mapping[str, str] = {
    "chosen_by": "the rule: what is to be best, or the limit that is to be kept to",
    "cutoffs.threshold": "the best by the rule: from there up a score is positive; none where "
    "nothing is to be positive, or no threshold is best",
    "threshold_low": "tables of rows drawn again choose thresholds from here up, by the confidence "
    "of --level",
    "threshold_high": "and up to here; none where nothing is to be positive",
    "rule": "how the threshold is used",
    **{f"cutoffs.{name}": f"{words}, at the threshold" for name, words in (
        ("tp", "positive rows that are called positive"),
        ("fp", "negative rows that are called positive"),
        ("fn", "positive rows that are called negative"),
        ("tn", "negative rows that are called negative"))},
    "cutoffs.measure": "what is to be best: within a limit specificity where the limit is on what "
    "misses cost, else sensitivity",
    "cutoffs.value": "its value at the threshold on the rows that chose it, which flatters where "
    "it is to be best",
    "corrected": "the same on other rows: less the optimism of the choice, by the bootstrap",
    "limited": "the measure of the limit on other rows, by the same method",
    **{f"cutoffs.{name}": f"{words}, on other rows" for name, words in (
        *OF_RATES.items(), ("flagged", "share of all rows that are called positive"))},
    "abstentions.chosen_by": "about which share of the rows has no answer, or what errors and no "
    "answer cost",
    "abstentions.threshold": "where answers change if every row has one",
    "low": "the zone without an answer begins here",
    "high": "and ends below: a score from here up is positive; none where no score is",
    "coverage": "share of the rows that have an answer, the farthest from the threshold",
    **{f"abstentions.{name}": f"{words}, of rows that have an answer" for name, words in (
        ("tp", "positives called positive"), ("fp", "negatives called positive"),
        ("fn", "positives called negative"), ("tn", "negatives called negative"),
        ("accuracy", "share that is right"), *OF_RATES.items())},
    "accuracy_of_all": "share that is right if every row has an answer",
    "cost": "what a row costs on average, rows without an answer too",
    "cost_of_all": "what it costs if every row has an answer, at `threshold`",
    "aurc": "mean share of errors over all coverages, the rows farthest from the threshold first",
    "distance": "of the scores from the threshold: rows at least so far from it have an answer",
    "risk.coverage": "share of the rows that have an answer",
    "risk": "share of errors among them",
    "drawn again": "between which thresholds most tables of rows drawn again choose",
    "here": "what is to be best, on the rows that chose the threshold: it flatters, or the limit "
    "does",
    "on others": f"the same {ON_OTHERS}",
    "zone": "of a share: the rows nearest the threshold in force; cost: where both answers cost "
    "more than none (Chow)",
    "no answer": "scores from the first number up and below the second have no answer",
    "answered": "share of the rows that have an answer",
    "of all": "accuracy if every row has an answer",
}  # fmt: skip
HEADINGS: Mapping[str, str] = {
    "value on other rows": "corrected", "limited measure on other rows": "limited",
    "accuracy of all": "accuracy_of_all", "called": "flagged",
}  # fmt: skip
RATES: Mapping[str, Source] = {
    "sens.": "sensitivity", "spec.": "specificity", "PPV": "precision", "NPV": "npv",
}  # fmt: skip


def shown_cuts(result: Result) -> Iterator[Shown]:
    """Yield chosen thresholds, zones without an answer, and what these leave."""
    rows = _ordered(result, "cutoffs")
    if rows:
        columns: dict[str, Source] = {
            **_model(rows), "chosen by": _chosen, "cut": _cut, "on others": "corrected",
            "here": "value", **RATES, "called": "flagged", "drawn again": _drawn,
        }  # fmt: skip
        note = f"on others, sens. and so on: {ON_OTHERS}"
        if any(row["limited"] is not None for row in rows):
            note += f"; {LIMITED}"
        note += _undefined(rows)
        yield Shown(
            "cutoffs", "Thresholds chosen on these rows", columns, rows, LISTED, note,
            rank="asked", lead="corrected", right=("cut",), total=len(rows),
            places=[""] * len(rows), legend=("here", "drawn again"),
        )  # fmt: skip
    rows = _ordered(result, "abstentions")
    chosen = dict.fromkeys(str(row["chosen_by"]) for row in rows)
    costs = [name for name in chosen if name.startswith("cost")]
    if rows:
        columns = {
            **_model(rows), "zone": _kind if len(costs) == 1 else _chosen, "no answer": _zone,
            "answered": "coverage", "accuracy": "accuracy", "of all": "accuracy_of_all", **RATES,
        }  # fmt: skip
        note = "accuracy, sens. and so on: of rows that have an answer"
        if costs:
            columns |= {"cost": "cost", "cost of all": "cost_of_all"}
        if len(costs) == 1:
            note += f"; cost: {costs[0].partition(':')[2].replace(',', ', ')}"
        yield Shown(
            "abstentions", "Without an answer near the threshold", columns, rows, LISTED,
            note, rank="asked", lead="accuracy", total=len(rows), places=[""] * len(rows),
        )  # fmt: skip
    if "risk" in result.tables:
        rows = [*result.whole("risk")]
        yield Shown("risk", "Risk by coverage: errors among the rows farthest from the threshold",
                    "model coverage risk distance", [*_steps(rows)], 4 * LISTED,
                    total=len(rows))  # fmt: skip


def risk_chart(result: Result, names: Sequence[str]) -> Iterator[Chart]:
    """Yield the risk-coverage curves, the best model first."""
    points: dict[str, list[Point]] = {}
    for row in result.whole("risk"):
        x, y = value_of(row["coverage"]), value_of(row["risk"])
        if x is not None and y is not None:
            points.setdefault(str(row["model"]), []).append((x, y))
    series = tuple(Series(name, (tuple(points[name]),)) for name in names
                   if len(points.get(name, ())) > 1)  # fmt: skip
    if series:
        title = "Risk by coverage: share of errors among the answered rows"
        yield Chart("lines", title, Axis("share of rows answered", ends=(0.0, 1.0)), Axis(),
                    series, name="risk")  # fmt: skip


def _ordered(result: Result, table: str) -> list[Row]:
    """Return the rows of the whole table: rule by rule, the models in their order."""
    rows = result.whole(table)
    if not rows:
        return []
    names = [row["model"] for row in ranked(result.whole("models"), "roc_auc")]
    rules = list(dict.fromkeys(row["chosen_by"] for row in rows))
    return sorted(rows, key=lambda row: (rules.index(row["chosen_by"]), names.index(row["model"])))


def _steps(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the first point of each model from every twentieth of the rows on."""
    last: tuple[object, int] = ("", -1)
    for row in rows:
        here = row["model"], int(20 * (value_of(row["coverage"]) or 0.0) + 1e-9)
        if here != last:
            yield row
        last = here


def _undefined(rows: Sequence[Row]) -> str:
    """Say why values on other rows are missing."""
    whys = dict.fromkeys(estimate(row["corrected"]).reason for row in rows)
    said = [REASONS.get(why, why) for why in whys if why is not None and why not in INFINITE]
    return "".join(f"; –: {why}" for why in said)


def _model(rows: Sequence[Row]) -> dict[str, Source]:
    return {"model": "model"} if len({row["model"] for row in rows}) > 1 else {}


def _chosen(row: Row) -> str:
    """Write a rule as it is typed, a share in percent."""
    text = str(row["chosen_by"])
    try:
        return f"{percent(float(text))} %"
    except ValueError:
        return text.replace("expected_cost:", "cost:")


def _kind(row: Row) -> str:
    """Write a zone in a word, where one alone is by costs."""
    return "cost" if str(row["chosen_by"]).startswith("cost") else _chosen(row)


def _cut(row: Row) -> str:
    words = {RULES[1]: "none", RULES[2]: "all", None: "–"}
    return words.get(row["rule"]) or exact(row["threshold"])  # type: ignore[arg-type]


def _drawn(row: Row) -> str:
    low, high = row["threshold_low"], row["threshold_high"]
    if low is None:
        return ""
    return f"{exact(low)} to {'none' if high is None else exact(high)}"


def _zone(row: Row) -> str:
    if row["low"] is None:
        return "–"
    if row["high"] is None:
        return f"from {exact(row['low'])} up"
    return "none" if row["low"] == row["high"] else f"{exact(row['low'])} to {exact(row['high'])}"
