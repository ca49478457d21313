"""Array types, division without warnings, influence values on demand, cache of the last call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from clfeval.records import dataclass

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Counts = NDArray[Any]  # int64, or float64 for fractional weights
MOST = 2**60  # the largest count of rows: sums of a few such still fit 64 bits
Number = Any  # a float or an array of numbers
_ALL_BITS = np.int64(2**63 - 1)  # but the sign


def divide(numerator: Number, denominator: Number) -> Floats:
    """Return numerator / denominator: NaN for 0/0, infinite for more than 0 over 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.divide(np.asarray(numerator, np.float64), denominator))


def safe_for_products(*counts: Counts) -> list[Counts]:
    """Return counts, as floats if sums of products of two would overflow 64 bits."""
    largest = max(
        (float(np.max(count_array)) for count_array in counts if count_array.size), default=0.0
    )
    if largest**2 < 2.0**61:
        return list(counts)
    return [count_array.astype(np.float64) for count_array in counts]


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """The influence values f of rows on a measure, for a positive and a negative row at m scores.

    values_at(indices, y): those of the class y at the scores of these indices, on demand. As an
    array all, (2 m,), positives first. powers: where known, the sums over rows of f² and f⁴.
    """

    m: int
    values_at: Callable[[Ints | slice, bool], Floats]
    powers: Callable[[], Any] | None = None

    @classmethod
    def from_arrays(cls, positive: Floats, negative: Floats) -> Influence:
        """Wrap influence values that are already computed, (m,) each."""
        return cls(len(positive), lambda indices, y: (positive if y else negative)[indices])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """Return all influence values, (2 m,), positives first."""
        values: Floats = np.concatenate([self.values_at(slice(None), y) for y in (True, False)])
        return values if dtype is None else values.astype(dtype)


def sort_rows(x: Counts) -> tuple[Ints, Counts]:
    """Return the indices that sort x, (n,) floats or uint64, and the sorted x.

    It takes half the time of `np.argsort`: it sorts int64 codes, each made of the first bits of a
    number and of its index, and then, where these bits do not decide, the almost sorted numbers.
    """
    index_bits = len(x).bit_length()
    code = x
    if x.dtype != np.uint64:
        code = (np.asarray(x, np.float64) + 0.0).view(np.int64)  # -0.0 is 0.0
        if (code < 0).any():
            code ^= (code >> 63) & _ALL_BITS  # ascends as the numbers do
        code -= code.min(initial=_ALL_BITS)
        code = code.view(np.uint64)
    dropped_bits = np.uint64(max(0, int(code.max(initial=0)).bit_length() + index_bits - 63))
    order = (code >> dropped_bits).view(np.int64)
    order <<= index_bits
    order |= np.arange(len(x))
    order.sort()
    order &= 2**index_bits - 1
    sorted_x = x.take(order)
    if (sorted_x[1:] < sorted_x[:-1]).any():
        stable_order = np.argsort(sorted_x, kind="stable")
        order = order[stable_order]
        sorted_x = sorted_x[stable_order]
    return order, sorted_x


def count_up_to(ascending: Floats, limits: Floats) -> Ints:
    """Return how many of ascending numbers are at most each limit, (n,).

    Searched in sorted order, which is up to ten times faster for millions.
    """
    order, sorted_limits = sort_rows(limits)
    counts = np.empty(len(limits), np.int64)
    counts[order] = np.searchsorted(ascending, sorted_limits, side="right")
    return counts


def constant_arrays(*arrays: Counts) -> list[Counts]:
    """Return read-only views, so that `cache_last_call` recognises arrays that occur again."""
    views = [array.view() for array in arrays]
    for view in views:
        view.setflags(write=False)
    return views


def cache_last_call(function: Callable[..., Floats]) -> Callable[..., Floats]:
    """Cache the last call of a function of read-only arrays, by thread; results are read-only."""
    last = threading.local()

    def forget_call(_: object = None) -> None:
        last.call = (), None

    @wraps(function)
    def call_cached(*arguments: object) -> Floats:
        references, value = getattr(last, "call", ((), None))
        if value is not None and _refer_to(references, arguments):
            return np.asarray(value)
        del value  # the old value is freed first: two at a time take too much memory
        forget_call()
        value = function(*arguments)
        if all(map(_is_constant, arguments)):
            value.setflags(write=False)
            last.call = tuple(ref(argument, forget_call) for argument in arguments), value
        return value

    return call_cached


def _refer_to(references: tuple[Callable[[], object], ...], arguments: tuple[object, ...]) -> bool:
    """Return whether weak references are of these arguments, and not of equal ones."""
    pairs = zip(references, arguments, strict=True)
    return all(reference() is argument for reference, argument in pairs)


def _is_constant(argument: object) -> bool:
    """Return whether an argument is a function or a read-only array."""
    return callable(argument) or (isinstance(argument, np.ndarray) and not argument.flags.writeable)


@cache_last_call
def running_sums(*count_arrays: Counts) -> Counts:
    """Return the sums of k counts, (m,) each, below each of m places and of all: (k, m + 1)."""
    sums = np.zeros(
        (len(count_arrays), len(count_arrays[0]) + 1), np.result_type(np.int64, *count_arrays)
    )
    for sums_row, counts in zip(sums, count_arrays, strict=True):
        np.cumsum(counts, out=sums_row[1:])
    return sums
