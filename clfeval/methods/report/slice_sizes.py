"""Sizes of slices and of the rows outside them: rows, classes and clusters that a test needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from clfeval.arrays import Ints
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.clusters_and_weights import ClusterCounts, Owned
from clfeval.counts.patterns import from_units
from clfeval.counts.sample import Sample
from clfeval.methods.measurement.label_measures import OF_A_CLASS, ROWS, class_sizes
from clfeval.methods.provenance import class_rows
from clfeval.records import dataclass, replace

# rows, and classes, that a slice and the other rows need for a test
NEEDED: Mapping[str, tuple[int, Sequence[int] | None]] = {
    "sensitivity": (0, (1,)),
    "specificity": (0, (0,)),
    "roc_auc": (0, None),
    "oe_ratio": (ROWS, ()),
    "accuracy": (ROWS, ()),
    "overconfidence": (ROWS, ()),
}
RECALL = "recall:class="  # of one of several classes, with its name


@dataclass(frozen=True, slots=True)
class SliceSize:
    """Rows or weight of a slice, and effective sizes."""

    rows: Any
    classes: tuple[float, ...]  # effective rows of each, negatives first of two
    fewest: float  # effective rows, or clusters, of the smallest class
    has_plain_rows: bool  # independent, unweighted rows
    spans: bool  # a cluster has rows outside the slice
    names: tuple[str, ...] = ()  # of several classes
    clusters: float = inf

    @property
    def enough(self) -> bool:
        """Whether there are enough rows to compare models."""
        return sum(self.classes) >= ROWS and self.fewest >= OF_A_CLASS

    def enough_for(self, metric: str) -> bool:
        """Return whether there are enough rows to test a measure."""
        if metric.startswith(RECALL):
            return self.class_size(metric) >= OF_A_CLASS
        needed_rows, class_indices = NEEDED.get(metric, (ROWS, None))
        tested_classes = (
            self.classes if class_indices is None else [self.classes[k] for k in class_indices]
        )
        return sum(self.classes) >= needed_rows and min(tested_classes, default=inf) >= OF_A_CLASS

    def class_size(self, metric: str) -> float:
        """Return the effective rows, or clusters, of the class whose recall a measure is."""
        sizes = dict(zip(self.names, self.classes, strict=True))
        return min(self.clusters, sizes.get(metric.removeprefix(RECALL), 0.0))


Sizes = Mapping[str, tuple[SliceSize, SliceSize]]  # of each slice, and of the other rows


def slice_sizes(sample: Sample, complements: Sample) -> Sizes:
    """Return the sizes of each slice and of its complement."""
    sizes = dict[str, tuple[SliceSize, SliceSize]]()
    for slice_name in filter(None, complements.slices):
        sizes[slice_name] = _sizes_of_parts(
            _rows_and_clusters(sample, slice_name), _rows_and_clusters(complements, slice_name)
        )
    return sizes


def _rows_and_clusters(
    sample: Sample, slice_name: str
) -> tuple[Any, Sequence[float], Owned | None]:
    """Return the rows of a slice, those of each class (of any model), and its clusters."""
    patterns = sample.patterns.get(slice_name)
    return (
        sample.slices[slice_name].rows.max().item(),
        [min(model_rows) for model_rows in class_rows(sample, slice_name)[::-1]],
        None if patterns is None else patterns.clusters,
    )


def positives_by_slice(sample: Sample) -> dict[str, Any]:
    """Return the number of positives of each slice."""
    return {
        slice_name: counts.display_units("positives").max().item()
        for slice_name, counts in sample.slices.items()
        if slice_name is not None
    }


def multiclass_slice_sizes(
    all_rows: ClassPatterns, slice_rows: ClassPatterns, complement: ClassPatterns
) -> tuple[SliceSize, SliceSize]:
    """Return the sizes of a slice and of its complement with several classes."""
    is_present = class_sizes(all_rows, len(all_rows.classes)) > 0
    class_names = tuple(np.array(all_rows.classes, object)[is_present].tolist())
    slice_size, complement_size = _sizes_of_parts(
        *(
            (
                from_units(patterns.n.sum(), patterns.unit).item(),
                class_sizes(patterns, len(patterns.classes))[is_present].tolist(),
                patterns.clusters,
            )
            for patterns in (slice_rows, complement)
        )
    )
    return replace(slice_size, names=class_names), replace(complement_size, names=class_names)


def _sizes_of_parts(
    *parts: tuple[Any, Sequence[float], Owned | None],
) -> tuple[SliceSize, SliceSize]:
    """Return the sizes of two parts; each: rows, rows of each class (of any model), clusters."""
    spans_parts = shared_clusters(*(clusters for *_, clusters in parts)) is not None
    part_sizes = list[SliceSize]()
    for rows, rows_by_class, clusters in parts:
        cluster_count = clusters.size if isinstance(clusters, ClusterCounts) else inf
        smallest_size = min(cluster_count, *rows_by_class) if rows_by_class else 0.0
        sizes = tuple(rows_by_class)
        part_sizes.append(
            SliceSize(
                rows, sizes, smallest_size, clusters is None, spans_parts, clusters=cluster_count
            )
        )
    slice_size, complement_size = part_sizes
    return slice_size, complement_size


def shared_clusters(
    clusters: Owned | None, other_clusters: Owned | None
) -> tuple[ClusterCounts, ClusterCounts, tuple[Ints, Ints]] | None:
    """Return the clusters of two parts, and the indices in each of the clusters in both.

    None without clusters, or where none is in both.
    """
    if not (isinstance(clusters, ClusterCounts) and isinstance(other_clusters, ClusterCounts)):
        return None
    shared_indices = clusters.shared(other_clusters)
    own_indices, _ = shared_indices
    return (clusters, other_clusters, shared_indices) if len(own_indices) else None
