"""What a reader of the numbers must know about how the rows were counted."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.counts.count import Counted
from clfeval.counts.settle import FileCount
from clfeval.result import Warn


def dropped_rows(files: Sequence[FileCount]) -> list[Warn]:
    """Say how many rows with missing values were left out."""
    dropped = sum(file.dropped for file in files)
    if not dropped:
        return []
    rows, were = ("row", "was") if dropped == 1 else ("rows", "were")
    return [Warn("dropped", f"{dropped} {rows} with missing values {were} left out")]


def blank_lines(count: int) -> list[Warn]:
    """Say how many blank lines were passed over."""
    return [Warn("blank-lines", f"{count} blank line{'s' * (count > 1)} skipped")] if count else []


def counting_notes(counted: Counted) -> list[Warn]:
    """Say what was left out, read otherwise than it looked, or decided by a tie."""
    said = [*dropped_rows(counted.files), *blank_lines(counted.blank_rows)]
    for name in counted.reread:
        said.append(Warn("read-as-scores", f"'{name}' holds numbers that are no labels: scores"))
    if counted.positive in ("0", "false", "False", "FALSE") and any(
        model.kind == "score" for model in counted.models
    ):
        said.append(Warn("score-direction", f"a high score is taken to mean '{counted.positive}'"))
    for name, count in counted.ties.items():
        if counted.thresholds[name] is not None:
            continue
        text = f"'{name}': {count} rows tie for the largest class; first class taken"
        said.append(Warn("argmax-ties", text))
    return said
