"""Columns called by models and classes, such as `rf_mild` or `p1`: probabilities if they add up."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from clfeval.tables.peek import ColumnPeek, is_score
from clfeval.tables.positive import PAIRS

ROUNDED = 0.005  # of the last of two decimal places
_WORD = (
    r"(?:y|p|probs?|probas?|probability|probabilities|preds?|predicted|scores?|logits?|class|of)"
)
_MODEL = re.compile(rf"[\W_]*(?:{_WORD}(?![^\W_])[\W_]*)*(.*?)(?:[\W_]+{_WORD})*[\W_]*", re.I)
Pairs = list[tuple[str, str]]  # of a column and its class


def columns_by_class(
    free: Sequence[str], peeks: Mapping[str, ColumnPeek], classes: Collection[str], alone: str
) -> dict[str, Pairs]:
    """Return columns with their classes, by model, from column names that contain a class.

    The first rows must sum to 1, or names have all of three or more classes with a separator. A
    model's name is separated from the class: `rf0` and `rf1` are two models, `p0` and `p1` one.
    Case is ignored. alone: the name of a model without one in its columns.
    """
    found: dict[str, Pairs] = {}
    left = {name: name.casefold() for name in free if peeks[name].mostly_numeric}
    spelt = {label.casefold(): label for label in classes}
    key = max(sorted(spelt), key=len, default="")
    if len(spelt) < len(classes) or len({*left.values()}) < len(left):
        return found
    there = {*left.values()}
    for name in list(left):
        for before, after in _split_around_label(name, key) if name in left and key else ():
            word = _MODEL.fullmatch(f"{before}_{after}")
            model = word[1] if word else ""
            apart = re.search(r"[\W_]$", before) or re.match(r"[\W_]", after)
            ends = before.casefold(), after.casefold()
            named = {f"{label}".join(ends): spelt[label] for label in spelt}
            if not named.keys() <= there or (model and not apart):
                continue
            pairs = [(one, named[folded]) for one, folded in left.items() if folded in named]
            like = [
                (other, other[len(before) : len(other) - len(after)])
                for other, folded in left.items()
                if folded.startswith(ends[0]) and folded.endswith(ends[1])
                and len(other) > len(before) + len(after)
            ]  # fmt: skip
            sets = [pairs, like] if len(like) > len(pairs) else [pairs]
            whole = next((one for one in sets if _add_up(one, peeks, classes)), None)
            if whole is None and apart and len(pairs) > 2:
                whole = pairs
            if whole:
                called = model or alone
                found[called if called not in found else f"{before}{after}"] = whole
                for one, _ in whole:
                    del left[one]
                there = {*left.values()}
                break
    pair = next((one for one in PAIRS[1:] if {*classes} == {*one}), None)
    if found or pair is None:
        return found
    meant = dict(zip(PAIRS[0], pair, strict=True))  # `p0` and `p1` of true and false
    bits = columns_by_class(free, peeks, PAIRS[0], alone)
    return {
        model: [(name, meant.get(bit, bit)) for name, bit in one] for model, one in bits.items()
    }


def _split_around_label(name: str, label: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before and behind a label in a name, wherever it stands."""
    at = name.casefold().rfind(label)
    while at >= 0:
        yield name[:at], name[at + len(label) :]
        at = name.casefold().rfind(label, 0, at + len(label) - 1)


def _add_up(pairs: Pairs, peeks: Mapping[str, ColumnPeek], classes: Collection[str]) -> bool:
    """Tell whether numbers are 1 together in each of the first rows, and no classes themselves."""
    if len(pairs) < 2 or all(peeks[name].texts <= {*classes} for name, _ in pairs):
        return False
    rows = zip(*(peeks[name].first for name, _ in pairs), strict=True)
    sums = [sum(map(float, row)) for row in rows if all(text and is_score(text) for text in row)]
    return bool(sums) and max(abs(one - 1) for one in sums) <= ROUNDED * len(pairs) + 1e-9
