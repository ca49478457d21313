"""Facts of several columns: labels that cut a score, columns that sum to 1, the largest of a row.

They are summaries that can be added: of all scores at once for each column of labels, and of sets
of columns that their names or places suggest; never of all pairs of columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, nan

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.records import dataclass, field
from clfeval.tables.profiles import ColumnProfile, numbers_of_texts

HALF = 0.005  # of the last of two decimal places
FEW_ROWS = 30  # fewer may be a cut of a score by chance
FEWEST = 5  # different rows needed to rule out chance that two columns sum to 1

Ranges = Mapping[str, tuple[float, float]]  # least and greatest score of rows with a label


@dataclass(slots=True)
class PairFacts:
    """Facts of the sample of a table, computed when they are asked for, and of all rows if known.

    ranges: by column of labels and of scores; broken: pairs of columns for which all rows deny
    what the sample shows. Parameters such as labels, scores and columns are names of columns.
    """

    profiles: Mapping[str, ColumnProfile]
    broken: frozenset[tuple[str, str]] = frozenset()
    _numbers: dict[str, Floats] = field(default_factory=dict)
    _codes: dict[str, tuple[Sequence[str], list[Bools]]] = field(default_factory=dict)

    def numbers(self, column: str) -> Floats:
        """Return the numbers in the sample of a column, NaN where it has none."""
        if column not in self._numbers:
            cells = self.profiles[column].sample
            number_of_text = numbers_of_texts(frozenset(text for text in cells if text))
            values = [number_of_text.get(text or "", nan) for text in cells]
            self._numbers[column] = np.array(values, float)
        return self._numbers[column]

    def ranges(self, labels: str, scores: str) -> Ranges:
        """Return the range of the scores of each label, in rows that have both."""
        if labels not in self._codes:
            cells = np.array([text or "" for text in self.profiles[labels].sample], object)
            label_texts = sorted({*cells} - {""})
            self._codes[labels] = label_texts, [cells == label for label in label_texts]
        numbers, ranges = self.numbers(scores), {}
        for label, has_label in zip(*self._codes[labels], strict=True):
            scores_of_label = numbers[has_label]
            scores_of_label = scores_of_label[~np.isnan(scores_of_label)]
            ranges[label] = (
                (scores_of_label.min(), scores_of_label.max())
                if scores_of_label.size
                else (inf, -inf)
            )
        return ranges

    def upper_label(self, labels: str, scores: str) -> str | None:
        """Return the label of the rows at or above a threshold on the scores; None if none cuts.

        Of a column with one label the only one, where nothing can be known.
        """
        if (labels, scores) in self.broken or len(self.profiles[labels].texts) > 2:
            return None
        ranges = sorted(self.ranges(labels, scores).items(), key=lambda label_range: label_range[1])
        if len(ranges) != 2:
            return None
        (_, (_, highest_lower)), (high_label, (lowest_upper, _)) = ranges
        return high_label if highest_lower < lowest_upper else None

    def are_unique(self, columns: Sequence[str]) -> bool:
        """Return whether no two rows of the sample have the same values in some columns."""
        rows = list(zip(*(self.profiles[name].sample for name in columns), strict=True))
        return len({*rows}) == len(rows)

    def are_equal(self, first: str, second: str) -> bool:
        """Return whether two columns have the same texts in every row of the sample."""
        if (first, second) in self.broken:
            return False
        return [*self.profiles[first].sample] == [*self.profiles[second].sample]

    def are_largest(self, labels: str, columns: Sequence[str], classes: Sequence[str]) -> bool:
        """Return whether every label is that of the largest of some columns in its row."""
        if (labels, columns[0]) in self.broken:
            return False
        table = np.array([self.numbers(name) for name in columns])
        largest = np.max(table, axis=0)
        class_index = {name: i for i, name in enumerate(classes)}
        label_texts = self.profiles[labels].sample
        for row, text in enumerate(label_texts):
            if text is None or largest[row] != largest[row]:  # missing, or NaN
                continue
            if text not in class_index or table[class_index[text], row] < largest[row]:
                return False
        return True

    def sum_to_one(self, columns: Sequence[str]) -> bool:
        """Return whether columns sum to 1 in every row of the sample, within rounding."""
        if tuple(columns[:2]) in self.broken:
            return False
        row_sums = np.sum([self.numbers(name) for name in columns], axis=0)
        known_sums = row_sums[~np.isnan(row_sums)]
        tolerance = HALF * len(columns) + 1e-9
        return bool(known_sums.size) and bool(np.abs(known_sums - 1).max() <= tolerance)

    def are_complements(self, first: str, second: str) -> bool:
        """Return whether two columns sum to 1 in every row, in enough different rows."""
        if not self.sum_to_one((first, second)):
            return False
        pairs = zip(self.profiles[first].sample, self.profiles[second].sample, strict=True)
        return len({*pairs}) >= FEWEST

    def rows(self, columns: Iterable[str]) -> int:
        """Return the number of rows of the sample."""
        return max((len(self.profiles[name].sample) for name in columns), default=0)
