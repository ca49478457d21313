"""Every recalibration method assessed for one model, and why one is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from clfeval.arrays import Floats
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.resampling import random_stream
from clfeval.measures.calibrators import shift_log_odds
from clfeval.measures.catalog import CATALOG
from clfeval.measures.class_calibrators import (
    AnyCalibrator,
    OneVsRestCalibrator,
    TemperatureCalibrator,
)
from clfeval.methods.recalibration.assessment import Assessment, assess_methods, contradicted_rows
from clfeval.methods.recalibration.cross_fitting import LOSSES, LossName, class_rows
from clfeval.methods.recalibration.gain import GainEstimate
from clfeval.methods.recalibration.method_fits import FLEXIBLE, FLEXIBLE_ROWS
from clfeval.methods.recalibration.method_names import METHODS, Method, RecalibrationSettings
from clfeval.methods.recalibration.row_kinds import RowKinds
from clfeval.records import dataclass, field

WITHOUT_LIMITS = ("few_clusters", "too_few_rows")  # reasons of a calibrator without a gain
FEWEST_OF_CLASS = 10  # rows of the rarer class, below which only a shift is fitted


@dataclass(frozen=True, slots=True, eq=False)
class ModelRecalibration:
    """The assessed methods of one model, and the one in force.

    losses: of the scores as they are. contradicted: rows whose class had probability 0, by which
    the log loss is infinite. unchanged: of the rows, those with a score of exactly 0 or 1.
    few_rows: of a class, so that a shift is in force. score_range: the lowest and highest score.
    digest: of the counts; digest_of_rows: whatever the clusters. prior_shift: of the log odds, to
    the prevalence asked for. classes: in order, of more than two. table_reason: why no method is
    assessed. clusters: their number.
    """

    model: str
    method: Method
    assessments: Sequence[Assessment] = ()
    losses: Mapping[LossName, float] = field(default_factory=dict)
    contradicted: float = 0.0
    unchanged: float = 0.0
    rows: float = 0.0
    few_rows: bool = False
    score_range: tuple[float, float] = (0.0, 1.0)
    digest: str = ""
    digest_of_rows: str = ""
    prior_shift: float = 0.0
    classes: tuple[str, ...] = ()
    table_reason: str | None = None
    clusters: int | None = None

    @property
    def loss(self) -> LossName:
        """The loss that decides: the Brier score where the log loss is infinite."""
        return "brier" if self.contradicted else "log_loss"

    @property
    def in_force(self) -> Assessment | None:
        """The assessment of the method in force; None if it is not available."""
        return next(
            (assessment for assessment in self.assessments if assessment.method == self.method),
            None,
        )

    @property
    def allows_steps(self) -> bool:
        """Whether the rows are enough for methods of steps, which change scores of 0 and 1."""
        return any(assessment.method == "isotonic" for assessment in self.assessments)

    @property
    def calibrator(self) -> AnyCalibrator | None:
        """The calibrator of the method in force, fitted to all rows."""
        return None if self.in_force is None else self.in_force.calibrator

    @property
    def final_calibrator(self) -> AnyCalibrator | None:
        """The calibrator in force, for the prevalence asked for."""
        if self.calibrator is None or self.reason not in (None, *WITHOUT_LIMITS):
            return None
        if isinstance(self.calibrator, TemperatureCalibrator | OneVsRestCalibrator):
            return self.calibrator
        return shift_log_odds(self.calibrator, self.prior_shift)

    @property
    def selected(self) -> Method | None:
        """The method in force; of `auto` the one that it chooses."""
        return None if self.in_force is None else self.in_force.selected

    @property
    def gain(self) -> GainEstimate | None:
        """The gain of the method in force in the deciding loss; None with a reason."""
        if self.reason is not None or self.in_force is None:
            return None
        return self.in_force.gains[self.loss]

    @property
    def reason(self) -> str | None:
        """Why the method in force has no gain."""
        if self.table_reason is not None:
            return self.table_reason
        if self.in_force is None:
            return "flexible_rows"
        return self.in_force.reason


def recalibrate_model(
    model: str, counts: ScoreCounts, settings: RecalibrationSettings
) -> ModelRecalibration:
    """Return the methods that the rows of a model allow, assessed on new rows."""
    class_totals = class_rows(counts).sum(axis=1) / counts.unit
    if not class_totals.all():
        return ModelRecalibration(model, settings.method, table_reason="single_class")
    if counts.scores[0] < 0 or counts.scores[-1] > 1:
        return ModelRecalibration(
            model,
            settings.method,
            score_range=(float(counts.scores[0]), float(counts.scores[-1])),
            table_reason="not_probabilities",
        )
    few_rows = bool(class_totals.min() < FEWEST_OF_CLASS)
    allowed_methods = available_methods(counts, few_rows=few_rows)
    stream = random_stream(settings.seed, f"{model}\0recalibrate")
    return ModelRecalibration(
        model,
        "shift" if few_rows else settings.method,
        assess_methods(
            counts,
            [method for method in allowed_methods if few_rows or method in settings.methods],
            settings.level,
            stream,
        ),
        {
            loss: float(CATALOG[loss].function(counts.scores, counts.positives, counts.negatives))
            for loss in LOSSES
        },
        contradicted_rows(counts),
        _rows_at_ends(counts),
        float(class_totals.sum()),
        few_rows,
        (float(counts.scores[0]), float(counts.scores[-1])),
        counts.digest(),
        counts.digest(clusters=False),
        _prior_shift(class_totals, settings),
        clusters=len(counts.clusters) if isinstance(counts.clusters, ClusterCounts) else None,
    )


def _prior_shift(class_totals: Floats, settings: RecalibrationSettings) -> float:
    """Return what the log odds move by from the prevalence of the rows to that asked for."""
    population = settings.population
    return (
        0.0
        if population is None
        else log(population.ratio) - log(class_totals[0] / class_totals[1])
    )


def available_methods(counts: ScoreCounts, *, few_rows: bool) -> list[Method]:
    """Return the methods that so many rows allow; few_rows: of a class."""
    if few_rows:
        return ["shift"]
    if RowKinds.from_scores(counts).in_effect < FLEXIBLE_ROWS:
        return [method for method in METHODS if method not in ("none", *FLEXIBLE)]
    return [method for method in METHODS if method != "none"]


def _rows_at_ends(counts: ScoreCounts) -> float:
    """Return the rows with a score of exactly 0 or 1, which methods on log odds keep."""
    is_at_end = (counts.scores == 0) | (counts.scores == 1)
    end_rows = class_rows(counts)[:, is_at_end].sum()
    return float(end_rows / counts.unit)
