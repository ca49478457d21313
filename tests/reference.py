"""A deliberately naive MARS, row by row in plain Python, written from METHODS sections 0 and 1.

Every function loops over rows and asks the definition's question of each. Nothing here is fast,
shared with clfeval, or clever: that is its use as the second opinion of the tests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class Row:
    """One observation: its truth, every model's vote, and how many times it counts."""

    truth: int
    votes: tuple[int, ...]
    n: int = 1


@dataclass(frozen=True)
class ScoredRow:
    """One observation with every model's score instead of its vote."""

    truth: int
    scores: tuple[float, ...]
    n: int = 1


Members = Collection[int]


def exchanged(rows: Sequence[Row]) -> list[Row]:
    """Exchange 0 and 1 in the truth and in every vote."""
    return [Row(1 - row.truth, tuple(1 - vote for vote in row.votes), row.n) for row in rows]


def seen_from(rows: Sequence[Row], target: str) -> list[Row]:
    """Return rows in which the target class is 1, whichever class it was."""
    return exchanged(rows) if target == "negative" else list(rows)


def repeated(rows: Sequence[Row]) -> list[Row]:
    """Write a row of weight n as n rows of weight 1."""
    return [Row(row.truth, row.votes) for row in rows for _ in range(row.n)]


def subsets_of(k: int) -> Iterator[tuple[int, ...]]:
    """Yield all 2**k subsets of k models, the empty one first."""
    for size in range(k + 1):
        yield from combinations(range(k), size)


def targets(rows: Sequence[Row], target: str = "positive") -> int:
    """Count the rows of the target class (P, or N)."""
    return sum(row.n for row in seen_from(rows, target) if row.truth == 1)


def ttp(rows: Sequence[Row], target: str = "positive") -> int:
    """Count the target rows that at least one model finds."""
    total = 0
    for row in seen_from(rows, target):
        if row.truth == 1 and 1 in row.votes:
            total += row.n
    return total


def covered(rows: Sequence[Row], members: Members, target: str = "positive") -> int:
    """Count the target rows that at least one member finds."""
    total = 0
    for row in seen_from(rows, target):
        if row.truth == 1 and any(row.votes[j] == 1 for j in members):
            total += row.n
    return total


def effort(rows: Sequence[Row], members: Members, target: str = "positive") -> int:
    """Count the rows of either class that at least one member claims to be of the target class."""
    total = 0
    for row in seen_from(rows, target):
        if any(row.votes[j] == 1 for j in members):
            total += row.n
    return total


def etp(rows: Sequence[Row], members: Members, target: str = "positive") -> int:
    """Count the target rows that some member finds and no model outside does."""
    total = 0
    for row in seen_from(rows, target):
        inside = [vote for j, vote in enumerate(row.votes) if j in members]
        outside = [vote for j, vote in enumerate(row.votes) if j not in members]
        if row.truth == 1 and 1 in inside and 1 not in outside:
            total += row.n
    return total


def efn(rows: Sequence[Row], members: Members, rule: str, target: str = "positive") -> int:
    """Count the target rows no member finds and every (`all`) or some (`any`) model outside does.

    With nobody outside there is nobody to find them: 0 under both rules.
    """
    total = 0
    for row in seen_from(rows, target):
        inside = [vote for j, vote in enumerate(row.votes) if j in members]
        outside = [vote for j, vote in enumerate(row.votes) if j not in members]
        if row.truth == 0 or 1 in inside or 1 not in outside:
            continue
        if rule == "any" or 0 not in outside:
            total += row.n
    return total


def confusion(rows: Sequence[Row], j: int) -> tuple[int, int, int, int]:
    """Return TP, FP, FN, TN of model j, positive being 1 whatever the target."""
    cells = {(1, 1): 0, (0, 1): 0, (1, 0): 0, (0, 0): 0}
    for row in rows:
        cells[row.truth, row.votes[j]] += row.n
    return cells[1, 1], cells[0, 1], cells[1, 0], cells[0, 0]


def merged(
    rows: Sequence[Row], groups: Sequence[Members], target: str = "positive"
) -> tuple[list[tuple[int, ...]], list[Row]]:
    """Replace each group by one model that finds what any member finds; return who is who.

    A group stands where its first member stood. Finding means saying 1, or 0 for the negatives.
    """
    k = len(rows[0].votes)
    columns: list[tuple[int, ...]] = []
    for j in range(k):
        own = next((tuple(sorted(group)) for group in groups if j in group), (j,))
        if own not in columns:
            columns.append(own)
    union = min if target == "negative" else max
    return columns, [
        Row(row.truth, tuple(union(row.votes[j] for j in column) for column in columns), row.n)
        for row in rows
    ]


def voted(rows: Sequence[ScoredRow], cut: float) -> list[Row]:
    """Turn scores into votes: at or above the cut is 1."""
    return [Row(row.truth, tuple(int(score >= cut) for score in row.scores), row.n) for row in rows]


def voted_top(rows: Sequence[ScoredRow], count: float) -> list[Row]:
    """Turn scores into votes: 1 for a row while fewer than `count` rows score strictly higher.

    Each model has its own order of all rows, of both classes; ties at the cut all come in.
    """
    result = []
    for row in rows:
        votes = []
        for j, score in enumerate(row.scores):
            above = sum(other.n for other in rows if other.scores[j] > score)
            votes.append(int(above < count))
        result.append(Row(row.truth, tuple(votes), row.n))
    return result
