"""Which columns may be truth: by an option, by their names, or by nothing but their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from clfeval.records import dataclass
from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import ColumnProfile, is_score
from clfeval.tables.readings.labels import PAIRS
from clfeval.tables.readings.names import (
    copied_name,
    is_certain_truth,
    is_likely_truth,
    tags_of,
    truth_rank,
)
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.reading import Claim
from clfeval.tables.readings.requirements import MOST_CLASSES

MOST_NAMED_CLASSES = 1000  # of a truth by its name
_NUMBER_LIKE = re.compile(r"\s*[-+]?\d[\d.,:/ -]*%?\s*")  # 7/10, 2024-05-01, 1.5 %
# names of columns that are never truth while another column can be
_NO_TRUTH = {
    "prediction",
    "model",
    "confidence",
    "weight",
    "run",
    "id",
    "index",
    "count",
    "date",
    "error",
}
_SELDOM_TRUTH = {"covariate", "cluster", "share", "like an id"}


@dataclass(frozen=True, slots=True)
class TruthCandidate:
    """A column that may be truth, and how that is known."""

    name: str
    claim: Claim


def truth_candidates(
    profiles: Mapping[str, ColumnProfile], input_options: InputOptions, facts: PairFacts
) -> list[TruthCandidate]:
    """Return the columns that may be truth, the likeliest first.

    A name that only truth has claims it where its values allow that, and without such a name the
    only one that truth often has. A name whose values do not allow it leaves no other column.
    """
    if input_options.truth is not None:
        return [TruthCandidate(input_options.truth, "given")]
    excluded = {
        input_options.id,
        input_options.weight,
        input_options.cluster,
        *input_options.by,
        "",
    }
    free_columns = _without_copies(
        [name for name in profiles if name not in excluded], profiles, facts
    )
    claimed_columns = _without_copies(
        [name for name in profiles if is_certain_truth(name)], profiles, facts
    )
    certain_columns = sorted(claimed_columns, key=truth_rank)
    certain_columns = [name for name in certain_columns if name not in excluded] or certain_columns
    columns_of_classes = [
        name for name in certain_columns if has_classes(profiles[name], MOST_NAMED_CLASSES)
    ]
    if certain_columns:
        return [
            TruthCandidate(name, "certain") for name in columns_of_classes or certain_columns[:1]
        ]
    likely_columns = sorted(filter(is_likely_truth, free_columns), key=truth_rank)
    likely_columns = [name for name in likely_columns if _has_several_classes(profiles[name])]
    if likely_columns:
        return [TruthCandidate(name, "likely") for name in likely_columns]
    unnamed_columns = [name for name in free_columns if name not in input_options.model]
    return [TruthCandidate(name, "values") for name in _by_values(profiles, unnamed_columns, facts)]


def _without_copies(
    names: Sequence[str], profiles: Mapping[str, ColumnProfile], facts: PairFacts
) -> list[str]:
    """Return names without columns that repeat another column, and are called like it."""
    originals = []
    for name in names:
        original = copied_name(name)
        if original not in profiles or not facts.are_equal(str(original), name):
            originals.append(name)
    return originals


def named_truth(profiles: Mapping[str, ColumnProfile], input_options: InputOptions) -> str | None:
    """Return the column of truth that an option or its name gives; None if none does."""
    candidates = truth_candidates(profiles, input_options, PairFacts(profiles))
    return next((candidate.name for candidate in candidates if candidate.claim != "values"), None)


def has_classes(profile: ColumnProfile, most: int) -> bool:
    """Return whether the values of a column may be classes: texts or whole numbers, not many."""
    is_all_distinct = profile.distinct and profile.rows > 2
    return 0 < len(profile.texts) <= most and profile.classes and not is_all_distinct


def _has_several_classes(profile: ColumnProfile) -> bool:
    return len(profile.texts) > 1 and has_classes(profile, MOST_CLASSES)


def _by_values(
    profiles: Mapping[str, ColumnProfile], free_columns: Collection[str], facts: PairFacts
) -> list[str]:
    """Return the columns that may be truth by their values, those of 0 and 1 first."""
    columns = [name for name in free_columns if _has_several_classes(profiles[name])]
    columns = [name for name in columns if not _is_like_numbers(profiles[name])]
    tags = {name: tags_of(name) for name in columns}
    columns = [name for name in columns if not tags[name] & _NO_TRUTH]
    likely_columns = [name for name in columns if not tags[name] & _SELDOM_TRUTH]
    columns = likely_columns or columns
    cut_columns = {name for name in columns if _is_cut(name, profiles, facts)}
    # a model may be without errors: what one threshold on its scores gives may still be truth
    return sorted(columns, key=lambda name: (name in cut_columns, _preference(profiles[name])))


def _preference(profile: ColumnProfile) -> tuple[int, int]:
    """Return the place of a possible truth: 0 and 1 first, then other two values, then more."""
    has_bits = any(profile.texts == {*pair} for pair in PAIRS)
    rank_of_others = 1 if len(profile.texts) == 2 else 2
    return (0 if has_bits else rank_of_others, 0)


def _is_like_numbers(profile: ColumnProfile) -> bool:
    """Return whether most texts are numbers in another writing: 7/10, 3-5, 10:30."""
    texts = [text for text in profile.texts if not is_score(text)]
    number_count = sum(bool(_NUMBER_LIKE.fullmatch(text)) for text in texts)
    return 2 * number_count > len(profile.texts)


def _is_cut(name: str, profiles: Mapping[str, ColumnProfile], facts: PairFacts) -> bool:
    """Return whether a column of two labels is the cut of a column of scores."""
    profile = profiles[name]
    if len(profile.texts) != 2:
        return False
    score_columns = [
        score
        for score, score_profile in profiles.items()
        if score != name and score_profile.mostly_numeric and len(score_profile.texts) > 2
        # row numbers cut truth where rows are sorted by class
        if not (score_profile.distinct and score_profile.is_integer)
    ]
    return any(facts.upper_label(name, score) is not None for score in score_columns[:MOST_CLASSES])
