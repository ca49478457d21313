"""Gates at the edge of their values: one that must miss misses, one that must pass passes.

Limits are the value itself and its neighbours among the floats: of values, confidence limits,
slices, gaps between slices and changes; of rows, saved results, counts, buckets and hidden counts.
Where counts do not tell, exit code 3 is right too, but never the outcome that the rows do not have.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import Measure
from tests.attack.attempts import answer
from tests.samples import detections, informed_scores
from tests.thoroughness import thinned

TABLES = 42  # with 18 gates that must miss and 16 that must pass, or more
OPTIONS = ("--positive", "yes", "--id", "id", "--by", "site")
KINDS = {"exact": [], "buckets": ["--scores", "buckets:4"], "hidden": ["--min-cell", "5"]}
ENDS = {"value": "", "low": ".low", "high": ".high"}
Document = Mapping[str, Any]

pytestmark = pytest.mark.usefixtures("folder", "long_names")


@dataclass(frozen=True)
class Edge:
    """A number that a gate may be set on: its name in a gate, and the side of the limit.

    bound: how far the number of the rows can be from that of counts.
    """

    name: str
    kind: str
    value: float
    bound: float = 0.0

    @property
    def step(self) -> float:
        """The direction in which a limit becomes one that is missed."""
        return math.inf if self.kind == "fail-under" else -math.inf

    def gate(self, limit: float) -> list[str]:
        """Return the words of a gate with a limit."""
        return [f"--{self.kind}", f"{self.name}={limit!r}"]


def random_table(seed: int) -> pl.DataFrame:
    """Return two models with scores, one with labels, and two or three slices."""
    dice = np.random.default_rng([4, seed])
    rows = int(dice.integers(60, 260))
    truth = dice.random(rows) < dice.choice([0.15, 0.3, 0.5])
    truth[:4] = [True, False, True, False]
    digits = int(dice.choice([1, 2, 4]))
    return pl.DataFrame(
        {
            "id": range(rows),
            "truth": np.where(truth, "yes", "no"),
            "a": informed_scores(dice, truth, 0.3, digits),
            "b": informed_scores(dice, truth, 0.1, digits),
            "rule": detections(dice, truth, 0.8),
            "site": dice.choice(["x", "y", "z"][: 2 + seed % 2], rows),
        }
    )


def numbers_of(estimate: Any) -> Iterator[tuple[str, float]]:
    """Yield the finite numbers of an estimate, with the end of a gate's name."""
    for part, end in ENDS.items():
        if isinstance(number := estimate[part], (int, float)):
            yield end, float(number)


def kind_of(measure: str, part: str) -> str:
    """Return the kind of gate that a measure has: on its worse side, or a random one."""
    best = CATALOG[measure.partition(":")[0]].best
    if part == "change" and best == "min":  # the other one would pass what is worse
        return "fail-over"
    if part or best not in ("max", "min"):
        return random.Random(f"{measure}{part}").choice(("fail-under", "fail-over"))
    return "fail-under" if best == "max" else "fail-over"


def value_edges(document: Document) -> Iterator[Edge]:
    """Yield the numbers of measures, of the whole table and of slices."""
    for row in document["tables"]["measures"]:
        if row["class"] is not None:
            continue
        part = "" if row["slice"] is None else f"[{row['slice']}]"
        kind = kind_of(row["measure"], "")
        for end, number in numbers_of(row["value"]):
            name = f"{row['model']}:{row['measure']}{part}{end}"
            yield Edge(name, kind, number, row["bound"] or 0.0 if "bound" in row else 0.0)


def gap_edges(document: Document) -> Iterator[Edge]:
    """Yield the gaps between a slice and the other rows, and between the extreme slices."""
    for row in document["tables"].get("extremes", ()):
        for end, number in numbers_of(row["gap"]):
            name = f"{row['model']}:{row['measure']}.extremes{end}"
            yield Edge(name, kind_of(row["measure"], "extremes"), number)
    for row in document["tables"].get("comparisons", ()):
        if row["against"] == "slice":
            for end, number in numbers_of(row["difference"]):
                name = f"{row['model']}:{row['measure']}[{row['slice']}].gap{end}"
                yield Edge(name, kind_of(row["measure"], "gap"), number)


def change_edges(document: Document) -> Iterator[Edge]:
    """Yield the changes since the baseline, and how much worse values became."""
    for row in document["tables"]["comparisons"]:
        if row["against"] != "baseline":
            continue
        part = "" if row["slice"] is None else f"[{row['slice']}]"
        name = f"{row['model']}:{row['measure']}{part}"
        for end, number in numbers_of(row["difference"]):
            yield Edge(f"{name}.change{end}", kind_of(row["measure"], "change"), number)
        best = CATALOG[row["measure"].partition(":")[0]].best
        values = [row[side]["value"] for side in ("old", "new")]
        if best in ("max", "min") and None not in values:
            old, new = (Decimal(repr(value)) for value in values)
            drop = float(old - new if best == "max" else new - old)
            if drop > 0:
                yield Edge(name, "max-drop", drop)


def measure_of(name: str) -> Measure:
    """Return the measure that a gate is on."""
    return CATALOG[re.split(r"[:.\[]", name.partition(":")[2])[0]]


def chosen_changes(words: list[str], dice: random.Random) -> list[Edge]:
    """Return three changes of a run that has a gate on each: only such a run pairs their rows."""
    edges = [*change_edges(document_of(*words, "--max-drop", "sensitivity=1"))]
    names = [edge.name.partition(".")[0] for edge in dice.sample(edges, 3)]
    gates = []
    for name in names:
        measure = measure_of(name)
        most = min(measure.high - measure.low, 1e9)
        lower_is_better = measure.best == "min"
        limit = most if lower_is_better else -most
        gates += ["--fail-over" if lower_is_better else "--fail-under", f"{name}.change={limit!r}"]
    compared = [*change_edges(document_of(*words, *gates))]
    return [
        dice.choice([edge for edge in compared if edge.name.partition(".")[0] == name])
        for name in names
    ]


def is_possible(edge: Edge, limit: float) -> bool:
    """Return whether a limit lies where the measure can; others are refused as slips."""
    measure = measure_of(edge.name)
    width = measure.high - measure.low
    compared = any(f".{part}" in edge.name for part in ("gap", "extremes", "change"))
    if edge.kind == "max-drop":
        return 0 <= limit <= width
    return -width <= limit <= width if compared else measure.low <= limit <= measure.high


def limits_around(edge: Edge) -> tuple[list[float], list[float]]:
    """Return the limits that must pass, and those that must miss."""
    beyond = math.nextafter(edge.value, edge.step)
    behind = math.nextafter(edge.value, -edge.step)
    passing = [edge.value, behind] if edge.kind != "max-drop" else [math.nextafter(edge.value, 9)]
    return [x for x in passing if is_possible(edge, x)], [beyond] if is_possible(
        edge, beyond
    ) else []


def document_of(*words: str) -> Document:
    """Return the document of a run without gates."""
    run = answer("gates", *words, "-q", "-f", "json")
    assert run.code == 0, run.err
    return dict(json.loads(run.out))


def check_gates(words: list[str], edges: list[Edge], counts: Counter[str]) -> None:
    """See that all limits that must pass do, in one run, and all that must miss, in another."""
    for outcome, place in (("pass", 0), ("miss", 1)):
        gates = [edge.gate(limit) for edge in edges for limit in limits_around(edge)[place]]
        if not gates:
            continue
        arguments = [word for gate in gates for word in gate]
        run = answer("gates", *words, "-q", "-f", "json", *arguments)
        assert run.code == place, (outcome, arguments, run.err)
        passed = [gate["passed"] for gate in json.loads(run.out)["gates"]]
        assert passed == [outcome == "pass"] * len(gates), (outcome, arguments, run.err)
        counts[outcome] += len(gates)


def check_counts(
    words: list[str], edges: list[Edge], rows: Mapping[str, Edge], counts: Counter[str]
) -> None:
    """See that no gate on counts has an outcome that the rows do not have.

    A limit farther from the value than its bound is decided.
    """
    for edge in edges:
        exact = rows[edge.name]
        for place, limits in enumerate(limits_around(exact)):
            for limit in limits[:1]:
                run = answer("gates", *words, "-q", *edge.gate(limit))
                assert run.code in (place, 3), (edge, exact, limit, run.err)
                counts["pass" if place == 0 else "miss"] += 1
                counts["undecided"] += run.code == 3
        if edge.name.endswith(("low", "high")):
            continue
        away = math.copysign(1.01 * edge.bound, edge.step)
        for place, limit in enumerate((edge.value - away, edge.value + away)):
            if edge.bound and is_possible(edge, limit):
                run = answer("gates", *words, "-q", *edge.gate(limit))
                assert run.code == place, (edge, exact, limit, run.err)
                counts["pass" if place == 0 else "miss"] += 1


@pytest.mark.parametrize("seed", thinned(range(TABLES), [0]))
def test_no_gate_has_the_wrong_outcome(seed: int) -> None:
    table, dice, counts = random_table(seed), random.Random(f"gates {seed}"), Counter[str]()
    table.write_csv("t.csv")
    changed = table.with_columns(a=(pl.col("a") * 0.9 + 0.02).round(4), b=pl.col("b").reverse())
    changed.write_csv("old.csv")
    of_rows = ["report", "t.csv", *OPTIONS]
    rows = document_of(*of_rows, "--save", "t.json")
    edges = {edge.name: edge for edge in value_edges(rows)}
    gaps = [*gap_edges(rows)]
    check_gates(of_rows, dice.sample([*edges.values()], 3), counts)
    check_gates(["report", "t.json"], dice.sample([*edges.values(), *gaps], 3), counts)
    check_gates(["report", "t.json"], dice.sample(gaps, 2), counts)
    document_of("report", "old.csv", *OPTIONS, "--save", "old.json")
    baseline = ["--baseline", dice.choice(("old.csv", "old.json"))]
    compared = [*of_rows, *baseline]
    check_gates(compared, chosen_changes(compared, dice), counts)
    for kind, options in KINDS.items():
        path = f"{kind}.counts.parquet"
        count = answer("count", "count", "t.csv", *OPTIONS, *options, "-q", "--save", path)
        if count.code == 3 and kind == "hidden":  # too few rows of a class
            continue
        assert count.code == 0, count.err
        same_edges = [
            edge for edge in value_edges(document_of("report", path)) if edge.name in edges
        ]
        if kind != "exact":
            check_counts(["report", path], dice.sample(same_edges, 3), edges, counts)
        else:
            assert all(edge == edges[edge.name] for edge in same_edges)
            check_gates(["report", path], dice.sample(same_edges, 3), counts)
    print(f"gates of table {seed}: {dict(counts)}")
    assert min(counts["miss"], counts["pass"]) >= 8
