"""Columns next to a truth: their names, the kind of their cells, and the scale of their numbers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from clfeval.records import dataclass
from clfeval.tables.profiles import NEAR_ONE, ColumnProfile, are_mostly_numbers
from clfeval.tables.readings.labels import spelling_as_truth
from clfeval.tables.readings.names import Tag, is_probability_name

CellKind = Literal["label", "number", "text", "empty"]
ScoreScale = Literal["unit", "percent", "signed", "whole", "real", ""]

MANY_ROWS = 33  # of more the numbers of rows differ by chance in no score
EQUAL_PAIRS = 3  # pairs of equal scores that are expected by chance; of so many some occur
HUGE = 10_000_000  # no score is a whole number beyond it
RATED = 20  # numbers up to it are ratings, not percentages
MOSTLY = 0.9  # share of the values that make a scale


# names of other parts than those of models
BARRED: frozenset[Tag] = frozenset(
    {
        "covariate",
        "share",
        "id",
        "index",
        "run",
        "weight",
        "cluster",
        "count",
        "date",
        "error",
        "like an id",
    }
)


@dataclass(frozen=True, slots=True)
class CandidateColumn:
    """A column next to a truth: its name, what that says, its profile, and what follows from both.

    kind: classes of truth, numbers, other texts, or no cells. scale: that of its numbers.
    """

    name: str
    tags: frozenset[Tag]
    profile: ColumnProfile
    kind: CellKind
    scale: ScoreScale = ""

    @property
    def predicts(self) -> bool:
        """True if its name is that of a prediction or of a model."""
        return bool(self.tags & {"prediction", "model", "confidence"})

    @property
    def is_percentage(self) -> bool:
        """True if it is called a percentage, and not more than that, and has such numbers."""
        is_named_percentage = is_probability_name(self.name) and self.tags & BARRED <= {"share"}
        return is_named_percentage and self.scale in ("unit", "percent")

    @property
    def counts_rows(self) -> bool:
        """True if each row has its own whole number, as scores do not have by chance.

        Each whole number occurs once, or many rows have numbers of a narrow range, or huge ones.
        """
        profile = self.profile
        if not (profile.distinct and profile.is_integer and profile.numbers):
            return False
        width = max(profile.numbers) - min(profile.numbers) + 1
        if width == profile.rows:
            return profile.rows > 4
        has_no_ties = profile.rows**2 / 2 > EQUAL_PAIRS * width
        is_huge = max(map(abs, profile.numbers)) > HUGE
        return profile.rows > MANY_ROWS and (has_no_ties or is_huge)

    @property
    def may_count_rows(self) -> bool:
        """True if each of many rows has its own whole number, as fine scores may have too."""
        return self.profile.distinct and self.profile.is_integer and self.profile.rows > MANY_ROWS


def kind_of_cells(profile: ColumnProfile, classes: Collection[str]) -> CellKind:
    """Return what the cells of a column are next to a truth with some classes.

    One invalid cell changes nothing.
    """
    texts = profile.texts
    if not texts:
        return "empty"
    spelled = spelling_as_truth(texts, classes)
    unknown_texts = texts.difference(spelled)
    if not unknown_texts:
        return "label"
    are_codes = len(classes) > 2 and {*spelled.values()} == {*classes} and len(unknown_texts) == 1
    if are_codes and profile.is_integer:
        return "label"  # of each class, and a code such as 99 for none
    if profile.mostly_numeric and (profile.all_numbers or are_mostly_numbers(unknown_texts)):
        return "number"
    return "label" if spelled else "text"


def scale_of(profile: ColumnProfile) -> ScoreScale:
    """Return the scale of the numbers of a column: that of nine in ten of them."""
    numbers = profile.numbers
    if not numbers:
        return ""
    counts = profile.counts
    unit_row_count = number_row_count = 0
    for text, number in profile.number_of_text.items():
        row_count = counts.get(text, 1)
        number_row_count += row_count
        if 0 <= number <= 1:
            unit_row_count += row_count
    if unit_row_count >= MOSTLY * number_row_count:
        return "unit"
    lowest = min(numbers)
    greatest = max(numbers)
    if lowest < 0 < greatest:
        return "signed"
    if lowest >= 0 and greatest <= NEAR_ONE:
        return "unit"
    if lowest >= 0 and RATED < greatest <= 100:
        return "percent"
    return "whole" if profile.is_integer else "real"
