"""The table of coverage in the guide `numbers`: families of intervals in twelve designs.

Whole reports of two models are made of each simulated table, with the default intervals. The true
values are those of a table of a million rows drawn in the same way. It is written by

    python -m tests.benchmarks.coverage.guide_table [--replicates N] [--only 1,2] [--save FILE]
    [--write]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import clfeval
from clfeval.document.cells import Estimate, as_estimate

GUIDE = Path(__file__).parents[3] / "clfeval" / "guide" / "numbers.md"
HEADING = "## Coverage of each family of intervals"
NEXT = "## Coverage of corrected and derived values"  # the heading that follows
# the population has fewer than 2^20 rows, so that scores are not counted in buckets
POPULATION, REPLICATES, SEED, ALIKE = 1_000_000, 1000, 20261129, 0.6
FEWEST_DEFINED = 0.5  # share of the tables with an interval, below which no coverage is printed
Arrays = Any

# families of two classes: what the guide calls them, and the measure
BINARY: Mapping[str, str] = {
    "ROC AUC": "roc_auc",
    "average precision": "average_precision",
    "PR AUC, trapezoid": "pr_auc",
    "partial AUC": "partial_auc",
    "AURC": "aurc",
    "Brier score": "brier",
    "log loss": "log_loss",
    "calibration slope": "calibration_slope",
    "calibration-in-the-large": "calibration_in_the_large",
    "O:E ratio": "oe_ratio",
    "net benefit": "net_benefit",
    "standardised net benefit": "net_benefit_standardised",
    "interventions avoided": "interventions_avoided",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "precision (PPV)": "precision",
    "NPV": "npv",
    "F1": "f1",
    "MCC": "mcc",
    "kappa": "kappa",
    "Youden's J": "j_index",
    "LR+": "lr_pos",
    "odds ratio": "dor",
    "precision at prevalence 1/2": "precision_u",
}
# families of several classes: the measure and its estimator
SEVERAL: Mapping[str, tuple[str, str]] = {
    "accuracy": ("accuracy", "multiclass"),
    "balanced accuracy": ("balanced_accuracy", "multiclass"),
    "macro precision": ("precision", "macro"),
    "macro F1": ("f1", "macro"),
    "weighted F1": ("f1", "weighted"),
    "kappa, several classes": ("kappa", "multiclass"),
    "MCC, several classes": ("mcc", "multiclass"),
}
COMPARED = (
    "roc_auc",
    "average_precision",
    "brier",
    "net_benefit",
    "sensitivity",
    "precision",
    "precision_u",
    "mcc",
)
DIFFERENCE = "difference of "


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Truth and two models of n rows, with options of the report; chance of each to be sampled."""

    truth: Arrays
    models: dict[str, Arrays]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """How tables are drawn: `draw(rng, rows)`, and once more as a population."""

    text: str
    rows: int
    draw: Callable[[np.random.Generator, int], Table]
    population: Callable[[np.random.Generator, int], Table]
    classes: int = 2

    @property
    def measures(self) -> list[str]:
        """The measures that a report of the design is asked for."""
        if self.classes == 2:
            return [*BINARY.values()]
        return sorted({name for name, _ in SEVERAL.values()})


def _scores(
    rng: np.random.Generator, truth: Arrays, prevalence: float, area: float, shared: Arrays
) -> dict[str, Arrays]:
    """Return calibrated probabilities of two models with this area, correlated by `shared`."""
    apart = sqrt(2) * ndtri(area)
    odds = log(prevalence / (1 - prevalence))
    models = {}
    for name in ("a", "b"):
        own = rng.standard_normal(len(truth))
        latent = sqrt(ALIKE) * shared + sqrt(1 - ALIKE) * own + apart * truth
        models[name] = 1 / (1 + np.exp(-(odds + apart * latent - apart**2 / 2)))
    return models


def two_classes(rows: int, prevalence: float, area: float) -> Design:
    """Return the design of independent rows of two classes."""

    def draw(rng: np.random.Generator, n: int) -> Table:
        truth = rng.random(n) < prevalence
        models = _scores(rng, truth, prevalence, area, rng.standard_normal(n))
        return Table(truth, models, {"threshold": prevalence})

    return Design(f"{rows:,} rows, prevalence {prevalence:g}, AUC {area:g}", rows, draw, draw)


def clustered(clusters: int, members: int, prevalence: float, area: float) -> Design:
    """Return the design of clusters whose classes and scores are alike (ICC .3 and .5)."""

    def draw(rng: np.random.Generator, n: int) -> Table:
        owner = np.arange(n) // members
        count = int(owner[-1]) + 1
        alike = rng.beta(prevalence / 0.3 * 0.7, (1 - prevalence) / 0.3 * 0.7, count)
        truth = rng.random(n) < alike[owner]
        common = rng.standard_normal(count)[owner]
        shared = (common + rng.standard_normal(n)) / sqrt(2)
        models = _scores(rng, truth, prevalence, area, shared)
        return Table(truth, models, {"threshold": prevalence, "cluster": owner})

    text = f"{clusters} clusters of {members} rows, prevalence {prevalence:g}, AUC {area:g}"
    return Design(text, clusters * members, draw, _without(draw, "cluster"))


def weighted(rows: int, prevalence: float, area: float) -> Design:
    """Return the design of rows sampled by score, with weights from 1 to 10."""

    def population(rng: np.random.Generator, n: int) -> Table:
        truth = rng.random(n) < prevalence
        models = _scores(rng, truth, prevalence, area, rng.standard_normal(n))
        return Table(truth, models, {"threshold": prevalence})

    def draw(rng: np.random.Generator, n: int) -> Table:
        everyone = population(rng, 12 * n)
        score = everyone.models["a"]
        latent = np.log(score / (1 - score))
        place = (latent - latent.mean()) / latent.std()
        weights = 1 + 9 * ndtr(place)
        sampled = np.flatnonzero(rng.random(len(weights)) < 1 / weights)[:n]
        models = {name: values[sampled] for name, values in everyone.models.items()}
        options = {**everyone.options, "weight": weights[sampled]}
        return Table(everyone.truth[sampled], models, options)

    text = f"{rows:,} rows with weights 1 to 10 by score, prevalence {prevalence:g}, AUC {area:g}"
    return Design(text, rows, draw, population)


def several_classes(shares: Sequence[float], rows: int, right: float, text: str) -> Design:
    """Return the design of labels of several classes, of which `right` are predicted rightly."""
    probabilities = np.array(shares) / sum(shares)
    classes = len(shares)

    def draw(rng: np.random.Generator, n: int) -> Table:
        truth = rng.choice(classes, n, p=probabilities)
        models = {}
        for name in ("a", "b"):
            other = (truth + rng.integers(1, classes, n)) % classes
            models[name] = np.where(rng.random(n) < right, truth, other)
        named = {name: _class_names(values) for name, values in models.items()}
        options = {"classes": [f"c{k}" for k in range(classes)]}
        return Table(_class_names(truth), named, options)

    return Design(text, rows, draw, draw, classes)


def _class_names(values: Arrays) -> list[str]:
    return [f"c{k}" for k in values.tolist()]


def _without(draw: Callable[..., Table], option: str) -> Callable[..., Table]:
    def population(rng: np.random.Generator, n: int) -> Table:
        table = draw(rng, n)
        options = {key: value for key, value in table.options.items() if key != option}
        return Table(table.truth, table.models, options)

    return population


DESIGNS = (
    two_classes(50, 0.5, 0.8),
    two_classes(200, 0.3, 0.8),
    two_classes(200, 0.3, 0.95),
    two_classes(500, 0.05, 0.7),
    two_classes(1000, 0.05, 0.9),
    two_classes(1000, 0.3, 0.99),
    two_classes(5000, 0.05, 0.8),
    clustered(40, 5, 0.3, 0.8),
    weighted(200, 0.2, 0.8),
    several_classes((60, 38, 2), 300, 0.75, "3 classes of 60, 38 and 2%, 300 rows"),
    several_classes((1,) * 10, 100, 0.7, "10 classes, 100 rows"),
    several_classes((1,) * 100, 1000, 0.7, "100 classes, 1,000 rows"),
)


def families(design: Design) -> dict[str, Key]:
    """Return the families of a design: their measure and estimator; of differences, the family."""
    if design.classes > 2:
        return dict(SEVERAL)
    singles = {name: (measure, "binary") for name, measure in BINARY.items()}
    titles = {measure: name for name, measure in BINARY.items()}
    differences = {f"{DIFFERENCE}{titles[one]}": (one, DIFFERENCE) for one in COMPARED}
    return {**singles, **differences}


Key = tuple[str, str]  # measure and estimator


def population_values(design: Design, rng: np.random.Generator) -> dict[Key, float]:
    """Return the values of model a in a large table, and its differences from b."""
    table = design.population(rng, POPULATION)
    result = clfeval.report(
        table.truth, table.models, measure=design.measures, interval="none", **table.options
    )
    first, second = (_estimates(result.tables["measures"], name) for name in ("a", "b"))
    values = {key: one.value for key, one in first.items() if one.value is not None}
    for measure in COMPARED if design.classes == 2 else ():
        key = measure, "binary"
        values[measure, DIFFERENCE] = values[key] - second[key].value
    return values


def reported(table: Table, design: Design) -> dict[Key, Estimate]:
    """Return the estimates of model a by measure and estimator, and its differences from b."""
    compared = {"reference": "b"} if design.classes == 2 else {}
    result = clfeval.report(
        table.truth, table.models, measure=design.measures, **compared, **table.options
    )
    estimates = _estimates(result.tables["measures"], "a")
    for row in result.tables.get("comparisons", ()):
        if row["slice"] is None and row["model"] == "a":
            estimates[row["measure"], DIFFERENCE] = as_estimate(row["difference"])
    return estimates


def _estimates(rows: Any, model: str) -> dict[Key, Estimate]:
    return {
        (row["measure"], row["estimator"]): as_estimate(row["value"])
        for row in rows
        if row["model"] == model and row["slice"] is None and row["class"] is None
    }


def coverage(design: Design, replicates: int, number: int) -> dict[str, tuple[float, float]]:
    """Return the coverage of each family, 0..1, and the share of tables with an interval."""
    rng = np.random.default_rng([SEED, number])
    population = population_values(design, rng)
    asked = families(design)
    held = dict.fromkeys(asked, 0)
    defined = dict.fromkeys(asked, 0)
    for _ in range(replicates):
        estimates = reported(design.draw(rng, design.rows), design)
        for family, key in asked.items():
            estimate, true = estimates.get(key), population.get(key)
            if estimate is None or estimate.low is None or true is None:
                continue
            defined[family] += 1
            high = np.inf if estimate.high is None else estimate.high
            held[family] += estimate.low <= true <= high
    return {family: (held[family] / max(n, 1), n / replicates) for family, n in defined.items()}


def table_lines(
    measured: Mapping[int, Mapping[str, tuple[float, float]]], replicates: int
) -> Iterator[str]:
    """Yield the lines of the section of the guide; measured: coverage by number of a design."""
    error = 100 * sqrt(0.95 * 0.05 / replicates)
    tables = f"{replicates:,} simulated tables of each design"
    yield f"Coverage in percent of nominal 95% intervals in {tables}"
    yield f"(Monte Carlo error {error:.1f} at 95%), by whole reports of two models with default"
    yield "intervals. True values are those of a table of a million rows. –: most tables have no"
    yield "interval, or the measure does not apply."
    yield ""
    for number in measured:
        yield f"{number}. {DESIGNS[number - 1].text}"
    yield ""
    yield f"| interval | {' | '.join(map(str, measured))} |"
    yield f"|---|{'---:|' * len(measured)}"
    rows = dict.fromkeys(family for cells in measured.values() for family in cells)
    for family in rows:
        cells = [_cell(column.get(family)) for column in measured.values()]
        yield f"| {family} | {' | '.join(cells)} |"


def _cell(coverage_and_share: tuple[float, float] | None) -> str:
    if coverage_and_share is None or coverage_and_share[1] < FEWEST_DEFINED:
        return "–"
    return f"{100 * coverage_and_share[0]:.1f}"


def with_section(text: str, lines: Sequence[str]) -> str:
    """Return the text of the guide with the lines below their heading.

    They replace those that are there; without the heading it is put before the heading `NEXT`.
    """
    if f"{HEADING}\n" not in text:
        text = text.replace(f"{NEXT}\n", f"{HEADING}\n\n{NEXT}\n", 1)
    before, _, after = text.partition(f"{HEADING}\n")
    section = "\n".join([HEADING, "", *lines, "", ""])
    return before + section + after[after.index("## ") :]


def saved_designs(file: Path | None, replicates: int) -> dict[int, Mapping[str, Any]]:
    """Return the designs in a file, by number, that were simulated with as many replicates."""
    if file is None or not file.exists():
        return {}
    saved = json.loads(file.read_text(encoding="utf-8"))
    if saved["replicates"] != replicates:
        return {}
    return {int(number): families for number, families in saved["designs"].items()}


def main() -> None:
    """Simulate, print the section, and write it into the guide if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=REPLICATES, metavar="N")
    parser.add_argument("--only", metavar="1,2", help="numbers of designs; default all")
    parser.add_argument("--write", action="store_true", help="into the guide")
    help_ = "JSON of the designs that are done, written after each; those in it are not repeated"
    parser.add_argument("--save", type=Path, metavar="FILE", help=help_)
    asked = parser.parse_args()
    everything = range(1, len(DESIGNS) + 1)
    numbers = [int(part) for part in asked.only.split(",")] if asked.only else everything
    measured = saved_designs(asked.save, asked.replicates)
    for number in numbers:
        if number not in measured:
            start = perf_counter()
            measured[number] = coverage(DESIGNS[number - 1], asked.replicates, number)
            print(f"design {number}: {perf_counter() - start:.0f} s", flush=True)
        if asked.save is not None:
            saved = {"replicates": asked.replicates, "designs": measured}
            asked.save.write_text(json.dumps(saved), encoding="utf-8")
    lines = [*table_lines({number: measured[number] for number in numbers}, asked.replicates)]
    print("\n".join(lines))
    if asked.write:
        GUIDE.write_text(with_section(GUIDE.read_text(encoding="utf-8"), lines), "utf-8")


if __name__ == "__main__":
    main()
