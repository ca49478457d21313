"""What a reader of the numbers must know about how the rows were counted."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.counts.count import Counted, FileCount
from clfeval.errors import Problem, UsageError, unknown_model
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


def check_thresholds(counted: Counted) -> None:
    """Raise UsageError for thresholds of models that are not there or hold labels."""
    models = {model.name: model for model in counted.models}
    given = counted.predictions.roles.thresholds
    for name in given:
        if name is None:
            continue
        if name not in models:
            raise unknown_model("--threshold", name, models)
        if models[name].kind == "label":
            raise UsageError(
                Problem(f"--threshold for '{name}', which holds labels", "needs-scores")
            )
    if given and all(model.kind == "label" for model in models.values()):
        raise UsageError(
            Problem("--threshold has nothing to act on: all models hold labels", "needs-scores"),
            hint="leave it out, or give a table of scores",
        )
