"""A YAML file of weights: one number per metric."""

from __future__ import annotations

import os

from clfeval.methods.mlcps.entries import Entries
from clfeval.tables.yaml_file import read_yaml

HINT = "one metric a line with its weight, for example f1: 2"


def read_weights(name: str | os.PathLike[str]) -> dict[str, float]:
    """Read a mapping of metrics to weights; UsageError with line and column for anything else."""
    file = read_yaml(name)
    if not isinstance(file.value, dict) or not file.value:
        raise file.wrong((), "weights are a mapping of metrics to numbers", HINT)
    entries = Entries(file.place)
    weights = {
        metric: entries.number((metric,), f"the weight of '{metric}'", weight, ">= 0")
        for metric, weight in file.value.items()
    }
    entries.done()
    return {metric: weight for metric, weight in weights.items() if weight is not None}
