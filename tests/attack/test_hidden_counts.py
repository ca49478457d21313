"""Attempts to tell single rows and small counts from files of `count --min-cell`.

The attacker knows the program, the scores and the slice of every row, and which models are made
from one another; he does not know the classes. Nothing that follows from his files may be a count
below N, nor may all rows of a set be of one class.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.errors import DataError
from tests.thoroughness import full, thinned

ROWS = 300
TABLES = thinned(range(200), range(12))
SMALLEST = 3  # the smallest N of the files
ALIKE = ("a", "labels", "squared")  # models of one order
SIMPLE_ATTEMPTS = 30  # tables in which only two rows exchange their classes
ATTEMPTS = 150  # tables that are tried for one row


@dataclass(frozen=True)
class HiddenFile:
    """What one file publishes: its counts, and whether they are of slices."""

    least: int
    by_site: bool
    table: pl.DataFrame


def table_of(seed: int) -> pl.DataFrame:
    """Return rows of a few sites, some of them small, with models of one order and another one."""
    dice = np.random.default_rng([55, seed])
    rate, skill = dice.choice([0.1, 0.2, 0.4, 0.5]), dice.choice([0.5, 1.5, 3])
    signal = dice.normal(size=ROWS)
    truth = dice.random(ROWS) < 1 / (1 + np.exp(-skill * signal - np.log(rate / (1 - rate))))
    score = 1 / (1 + np.exp(-skill * (signal + 0.5 * dice.normal(size=ROWS))))
    if seed % 3:
        score = np.round(score, int(dice.choice([1, 2, 3])))
    shares = dice.dirichlet(np.full(int(dice.integers(1, 6)), 0.8))
    cut = float(np.quantile(score, dice.uniform(0.1, 0.9)))
    return pl.DataFrame(
        {
            "truth": np.where(truth, "yes", "no"),
            "site": [f"s{part}" for part in dice.choice(len(shares), ROWS, p=shares)],
            "a": np.log(np.clip(score, 1e-9, 1 - 1e-9) / (1 - np.clip(score, 1e-9, 1 - 1e-9)))
            if seed % 5 == 4
            else score,
            "labels": np.where(score >= cut, "yes", "no"),
            "squared": score**2,
            "other": dice.random(ROWS),
        }
    )


def hidden_file(table: pl.DataFrame, least: int, *, by_site: bool) -> HiddenFile | None:
    """Return what a file publishes, None where the program refuses to write it."""
    options = {"by": "site"} if by_site else {}
    if not by_site:
        table = table.drop("site")
    try:
        result = clfeval.count(table, positive="yes", min_cell=least, **options)
    except DataError:
        return None
    return HiddenFile(least, by_site, result.counted["table"])


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


def equations(
    table: pl.DataFrame, files: Sequence[HiddenFile], models: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sets of rows whose positives are published, (e, rows), and how many they are."""
    sets, counts = [], []
    for file in files:
        for run in file.table.filter("truth").to_dicts():
            if run["model"] in models:
                sets.append(run_rows(table, run).astype(int))
                counts.append(run["n"])
    return np.array(sets), np.array(counts)


def candidate_sets(table: pl.DataFrame, atoms: np.ndarray) -> np.ndarray:
    """Return sets of atoms that an attacker asks about: stretches of scores, by sites or all."""
    order = np.argsort(table["a"].to_numpy(), kind="stable")
    in_order = list(dict.fromkeys(atoms[order].tolist()))
    site_of_atom = dict(zip(atoms.tolist(), table["site"].to_list(), strict=True))
    sites = sorted({*site_of_atom.values()})
    groups = [{site} for site in sites] + [{*sites} - {site} for site in sites] + [{*sites}]
    sets = []
    for group in groups:
        members = [atom for atom in in_order if site_of_atom[atom] in group]
        for start in range(len(members)):
            inside = np.zeros(len(in_order), bool)
            for atom in members[start:]:
                inside[atom] = True
                sets.append(inside.copy())
    return np.array(sets)


@pytest.mark.parametrize("seed", TABLES)
def test_no_small_count_follows_from_all_files_of_a_table(seed: int) -> None:
    """With and without sites, with N of 3, 5 and 8, of a score, its labels and its square.

    A number follows if it is a linear combination of published ones.
    """
    table = table_of(seed)
    files = files_of(table)
    if not files:
        return
    positive = (table["truth"] == "yes").to_numpy()
    sets, counts = equations(table, files, ALIKE)
    assert (sets @ positive.astype(int) == counts).all()
    keys = np.column_stack([*sets, table["site"].rank("dense").to_numpy()])
    _, atoms = np.unique(keys, axis=0, return_inverse=True)
    atoms = atoms.reshape(-1)
    members = np.arange(atoms.max() + 1)[:, None] == atoms
    _, first = np.unique(atoms, return_index=True)
    matrix = sets[:, first].astype(float)
    _, sizes, directions = np.linalg.svd(matrix, full_matrices=False)
    basis = directions[sizes > 1e-9 * sizes.max()]
    asked = candidate_sets(table, atoms).astype(float)
    known = np.abs(asked - (asked @ basis.T) @ basis).max(axis=1) < 1e-7
    rows_of_set = asked[known] @ members
    positives = rows_of_set @ positive.astype(float)
    negatives = rows_of_set @ (~positive).astype(float)
    told = (np.minimum(positives, negatives) < SMALLEST) & (positives + negatives > 0)
    assert known.any()
    assert not told.any(), (positives[told], negatives[told])


@pytest.mark.parametrize("by_site", [False, True])
@pytest.mark.parametrize("seed", TABLES)
def test_every_row_may_be_of_the_other_class(seed: int, by_site: bool) -> None:
    """A table in which a row is of the other class, with the same scores, gives the same file."""
    table = table_of(seed).drop("other")
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
    for seed in range(12):
        table = table_of(seed)
        try:
            result = clfeval.count(table, positive="yes", by="site", min_cell=5)
        except DataError:
            continue
        document = result.to_dict()
        numbers = list(document["summary"].values())
        numbers += [item[key] for item in document["inputs"] for key in ("rows", "dropped")]
        models = len(document["tables"]["models"])
        assert not {number for number in numbers if 0 < number < 5} - {models}
        assert all(item["sha256"] is None for item in document["inputs"])
        assert document["warnings"] == []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert result.counted["table"]["n"].min() >= 5
