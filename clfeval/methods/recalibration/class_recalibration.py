"""Every recalibration method for class probabilities assessed for one model, and why one is not."""

from __future__ import annotations

from clfeval.counts.classes import ClassScores
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.inference.resampling import random_stream
from clfeval.measures.multiclass_scores import clipped_weight, mean_row_loss
from clfeval.methods.recalibration.class_assessment import (
    CLASS_LOSSES,
    assess_class_methods,
    rows_of_other_classes,
)
from clfeval.methods.recalibration.method_names import CLASS_METHODS, RecalibrationSettings
from clfeval.methods.recalibration.model_recalibration import ModelRecalibration
from clfeval.records import replace

MOST_NUMBERS = 2**24  # rows times classes that are recalibrated: they need up to 3 GB of memory


def recalibrate_classes(
    model: str, scores: ClassScores, settings: RecalibrationSettings
) -> ModelRecalibration:
    """Return the methods for class probabilities of a model, assessed on new rows."""
    if not rows_of_other_classes(scores):
        return ModelRecalibration(
            model, settings.method, classes=scores.classes, table_reason="single_class"
        )
    stream = random_stream(settings.seed, f"{model}\0recalibrate")
    has_ends = ((scores.p == 0) | (scores.p == 1)).any(axis=1)
    methods = [method for method in CLASS_METHODS[1:] if method in settings.methods]
    return ModelRecalibration(
        model,
        settings.method,
        assess_class_methods(scores, methods, settings.level, stream),
        {
            loss: float(mean_row_loss(losses, scores.truth, scores.p, scores.n))
            for loss, losses in CLASS_LOSSES.items()
        },
        contradicted=float(clipped_weight(scores.truth, scores.p, scores.n) / scores.unit),
        unchanged=float(scores.n[has_ends].sum() / scores.unit),
        rows=float(scores.n.sum() / scores.unit),
        score_range=(float(scores.p.min()), float(scores.p.max())),
        digest=scores.digest(),
        digest_of_rows=replace(scores, clusters=None).digest(),
        classes=scores.classes,
        clusters=len(scores.clusters) if isinstance(scores.clusters, ClusterCounts) else None,
    )
