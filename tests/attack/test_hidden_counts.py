"""Attempts to tell single rows and small counts from files of `count --min-cell`.

Two attackers. One has all files of a table that the guide allows to give away, and knows the
program and which models are made from one another: no sum or difference of what is published may
be a count below N. The other has one file, and knows the scores and the slice of every row too: no
row may have to be of its class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.errors import DataError
from tests.samples import logistic
from tests.thoroughness import full, thinned

ROWS = 300
TABLES = thinned(range(200), range(5))
# in the gate, only tables of five sites (0, 2) are counted by site, and log odds (4) both ways
TABLES_AND_SITES = thinned(
    product(range(200), (False, True)),
    [(seed, seed % 2 == 0) for seed in range(4)] + [(4, False), (4, True)],
)
SMALLEST = 3  # the smallest N of the files
ALIKE = ("a", "labels", "halved")  # models of one order
SIMPLE_ATTEMPTS = 30  # tables in which only two rows exchange their classes
ATTEMPTS = 150  # tables that are tried for one row


@dataclass(frozen=True)
class HiddenFile:
    """What one file publishes: its counts, and whether they are of slices."""

    least: int
    by_site: bool
    table: pl.DataFrame


def logit(x: float) -> float:
    """Return log odds, infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return float(np.log(x) - np.log1p(-x))


@dataclass(frozen=True)
class AttackedTable:
    """Rows of a few sites, with models of one order and another one; cut: of the labels.

    odds: `a` is the log odds of the score whose half is `halved`.
    """

    rows: pl.DataFrame
    cut: float
    odds: bool

    def score_of(self, model: str, value: float) -> float:
        """Return the score at which a model of the same order as `a` has a value."""
        if model == "labels":
            return self.cut if value > 0 else 0.0
        if model == "halved":
            return 2 * value
        if not self.odds:
            return value
        # found among the rows, as log odds are rounded; between two rows just above the lower one
        log_odds, score = self.rows["a"].to_numpy(), 2 * self.rows["halved"].to_numpy()
        if (log_odds == value).any():
            return float(score[log_odds == value].min())
        below = score[log_odds < value]
        return float(np.nextafter(below.max(), np.inf)) if len(below) else 0.0


def table_of(seed: int) -> AttackedTable:
    """Return a table, some of whose sites are small."""
    dice = np.random.default_rng([55, seed])
    rate, skill = dice.choice([0.1, 0.2, 0.4, 0.5]), dice.choice([0.5, 1.5, 3])
    signal = dice.normal(size=ROWS)
    truth = dice.random(ROWS) < logistic(skill * signal + logit(rate))
    score = logistic(skill * (signal + 0.5 * dice.normal(size=ROWS)))
    if seed % 3:
        score = np.round(score, int(dice.choice([1, 2, 3])))
    shares = dice.dirichlet(np.full(int(dice.integers(1, 6)), 0.8))
    cut = float(np.quantile(score, dice.uniform(0.1, 0.9)))
    odds = seed % 5 == 4
    clipped = np.clip(score, 1e-9, 1 - 1e-9)
    rows = pl.DataFrame(
        {
            "truth": np.where(truth, "yes", "no"),
            "site": [f"s{part}" for part in dice.choice(len(shares), ROWS, p=shares)],
            "a": [logit(x) for x in clipped] if odds else score,
            "labels": np.where(score >= cut, "yes", "no"),
            "halved": score / 2,
            "other": dice.random(ROWS),
        }
    )
    return AttackedTable(rows, cut, odds)


def hidden_count(table: pl.DataFrame, least: int, *, by_site: bool) -> Result | None:
    """Return the counts that are published, None where the program finds too few rows for them."""
    options: dict[str, Any] = {"by": "site"} if by_site else {}
    if table["a"].min() < 0:  # log odds, which are refused without a threshold
        options["threshold"] = {"a": 0.0}
    if not by_site:
        table = table.drop("site")
    try:
        return clfeval.count(table, positive="yes", min_cell=least, **options)
    except DataError as error:
        if "[empty-table]" in str(error):
            return None
        raise


def hidden_file(table: pl.DataFrame, least: int, *, by_site: bool) -> HiddenFile | None:
    """Return what a file publishes, None where it has too few rows."""
    result = hidden_count(table, least, by_site=by_site)
    return None if result is None else HiddenFile(least, by_site, result.extras["table"])


def files_of(table: pl.DataFrame) -> list[HiddenFile]:
    """Return the files of one table that the guide allows to give away together."""
    asked = [(least, by_site) for least in (SMALLEST, 5, 8) for by_site in (False, True)]
    files = (hidden_file(table, least, by_site=by_site) for least, by_site in asked)
    return [file for file in files if file is not None]


def run_rows(table: pl.DataFrame, run: Mapping[str, object]) -> np.ndarray:
    """Return which rows a published run counts, whatever their class."""
    values = table[str(run["model"])]
    if values.dtype == pl.String:
        values = (values == "yes").cast(pl.Float64)
    rows = (values >= run["lo"]) & (values <= run["hi"])
    if run.get("b0") is not None:
        rows &= table["site"] == run["b0"]
    return rows.to_numpy()


@dataclass(frozen=True)
class PublishedSums:
    """Sums that the files publish: which cells each adds up, (e, sites, cells), and its rows.

    ends: the scores at which cells begin.
    """

    sites: list[str]
    ends: list[float]
    cells: np.ndarray
    positives: np.ndarray


def published_sums(table: AttackedTable, files: Sequence[HiddenFile]) -> PublishedSums:
    """Return what all files publish of the models of one order, in cells of sites and scores."""
    runs = [run for file in files for run in file.table.filter("truth").to_dicts()]
    runs = [run for run in runs if run["model"] in ALIKE]
    starts = [table.score_of(run["model"], run["lo"]) for run in runs]
    above = np.nextafter([run["hi"] for run in runs], np.inf)
    stops = [
        table.score_of(run["model"], end) if run["hi"] not in (1.0, 1e300) else np.inf
        for run, end in zip(runs, above, strict=True)
    ]
    ends = sorted({*starts})
    sites = sorted({*table.rows["site"]})
    cells = np.zeros((len(runs), len(sites), len(ends)))
    for place, (run, start, stop) in enumerate(zip(runs, starts, stops, strict=True)):
        inside = [start <= end < stop for end in ends]
        counted = [run.get("b0") in (None, site) for site in sites]
        cells[place] = np.outer(counted, inside)
    return PublishedSums(sites, ends, cells, np.array([run["n"] for run in runs]))


def counts_of_cells(table: AttackedTable, sums: PublishedSums) -> np.ndarray:
    """Return the true positives and negatives of every cell, (2, sites, cells)."""
    score = [table.score_of("halved", value) for value in table.rows["halved"]]
    cell = np.searchsorted(sums.ends, score, side="right") - 1
    site = np.array([sums.sites.index(name) for name in table.rows["site"]])
    side = (table.rows["truth"] != "yes").cast(pl.Int64).to_numpy()
    counts = np.zeros((2, len(sums.sites), len(sums.ends)))
    np.add.at(counts, (side, site, cell), 1)
    return counts


def asked_sets(sums: PublishedSums) -> np.ndarray:
    """Return sets of cells that the attacker asks about: stretches of scores, of some sites."""
    alone = np.eye(len(sums.sites), dtype=bool)
    groups = np.unique([*alone, *~alone, np.ones(len(alone), bool)], axis=0)
    cells = range(len(sums.ends))
    stretches = [
        [start <= cell < stop for cell in cells]
        for start in cells
        for stop in range(start + 1, len(sums.ends) + 1)
    ]
    return np.array([np.outer(group, stretch) for group in groups for stretch in stretches], float)


@pytest.mark.parametrize("seed", TABLES)
def test_no_small_count_follows_from_all_files_of_a_table(seed: int) -> None:
    """With and without sites, with N of 3, 5 and 8, of a score, its labels and its half.

    A number follows if it is a linear combination of published ones.
    """
    table = table_of(seed)
    files = files_of(table.rows)
    if not files:
        return
    sums = published_sums(table, files)
    counts = counts_of_cells(table, sums)
    equations = sums.cells.reshape(len(sums.cells), -1)
    assert (equations @ counts[0].reshape(-1) == sums.positives).all()
    _, sizes, directions = np.linalg.svd(equations, full_matrices=False)
    basis = directions[sizes > 1e-9 * sizes.max()]
    asked = asked_sets(sums)
    asked = asked.reshape(len(asked), -1)
    follows = np.abs(asked - (asked @ basis.T) @ basis).max(axis=1) < 1e-7
    positives, negatives = (asked[follows] @ side.reshape(-1) for side in counts)
    told = (np.minimum(positives, negatives) < SMALLEST) & (positives + negatives > 0)
    assert follows.any()
    assert not told.any(), (positives[told], negatives[told])


@pytest.mark.parametrize(("seed", "by_site"), TABLES_AND_SITES)
def test_every_row_may_be_of_the_other_class(seed: int, by_site: bool) -> None:
    """A table in which a row is of the other class, with the same scores, gives the same file."""
    table = table_of(seed).rows.drop("other")
    file = hidden_file(table, 5, by_site=by_site)
    if file is None:
        return
    sets = np.array([run_rows(table, run) for run in file.table.filter("truth").to_dicts()])
    published = sets.any(axis=0)
    keys = [sets[:, row].tobytes() for row in range(len(table))]
    score = table["a"].to_numpy()
    dice = np.random.default_rng(seed)
    for row in rows_at_risk(score, keys, published, dice):
        attempts = (exchanged(table, row, keys, dice, attempt) for attempt in range(ATTEMPTS))
        assert any(same_file(changed, file) for changed in attempts), row


def exchanged(
    table: pl.DataFrame, row: int, keys: Sequence[bytes], dice: np.random.Generator, attempt: int
) -> pl.DataFrame:
    """Return the table with the class of a row exchanged with that of another one of its runs.

    In later attempts two other rows of some run exchange theirs too.
    """
    truth = table["truth"].to_list()
    for first in (row, *dice.choice(len(truth), attempt // SIMPLE_ATTEMPTS).tolist()):
        partners = [
            other
            for other, key in enumerate(keys)
            if key == keys[first] and truth[other] != truth[first] and row != other
        ]
        if partners and (first != row or truth[row] == table["truth"][row]):
            other = int(dice.choice(partners))
            truth[first], truth[other] = truth[other], truth[first]
    assert truth[row] != table["truth"][row]
    return table.with_columns(truth=pl.Series(truth))


def rows_at_risk(
    score: np.ndarray, keys: Sequence[bytes], published: np.ndarray, dice: np.random.Generator
) -> list[int]:
    """Return the rows next to the ends of runs, and some others."""
    order = [row for row in np.argsort(score, kind="stable").tolist() if published[row]]
    ends = [
        row
        for place, row in enumerate(order)
        if place in (0, len(order) - 1)
        or keys[row] != keys[order[place - 1]]
        or keys[row] != keys[order[place + 1]]
    ]
    several = dice.permutation(ends)[: 12 if full() else 6]
    return sorted({*several.tolist(), *dice.choice(order, 3).tolist()})


def same_file(changed: pl.DataFrame, file: HiddenFile) -> bool:
    """Return whether a table gives the same file."""
    other = hidden_file(changed, file.least, by_site=file.by_site)
    return other is not None and other.table.equals(file.table)


def test_results_tell_no_more_than_the_file() -> None:
    """Neither the JSON of `count` nor that of `report` has a small count, a name or a digest."""
    written = 0
    for seed in range(12):
        result = hidden_count(table_of(seed).rows, 5, by_site=True)
        if result is None:
            continue
        document = result.to_dict()
        numbers = list(document["summary"].values())
        numbers += [item[key] for item in document["inputs"] for key in ("rows", "dropped")]
        models = len(document["tables"]["models"])
        assert not {number for number in numbers if 0 < number < 5} - {models}
        assert all(item["sha256"] is None for item in document["inputs"])
        assert document["warnings"] == []
        assert result.extras["table"]["n"].min() >= 5
        written += 1
    assert written > 3
