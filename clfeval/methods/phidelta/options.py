"""Options of phidelta."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Annotated, Any, Literal, SupportsFloat

from clfeval.errors import UsageError, bad_option, suggestion
from clfeval.methods import options as shared
from clfeval.options import syntax
from clfeval.options.declaration import Command, Opt, as_list, changed_options, to_float, to_mapping
from clfeval.placeholders import COMMAND, END, OPTION, SWITCH
from clfeval.records import dataclass, field

PLANE, CLASSIFIERS, FEATURES = "Diamond", "Classifiers", "Features"  # panels

ISOMETRICS = ("sensitivity", "specificity", "accuracy", "precision", "npv", "mutual_information")
CUTS = ("median", "mean", "best", "soft")
COMPARED = ("delta", "phi")  # measures that compare models
PHI_MAX, DELTA_MIN = 0.95, 0.1  # defaults of --select
LIMIT: dict[str, Any] = {
    "above": 0,
    "maximum": 1,
    "bounds_error": "is not above 0 and at most 1",
    "needs": ("select", "limits a selection"),
    "is_parameter": True,
    "shell": False,
}

CutChoice = Literal["median", "mean", "best", "soft"] | float


def _accept_isometrics(flag: str, value: object) -> dict[str, tuple[float, ...]]:
    entries = to_mapping(flag, value, "measures to values")
    values_by_measure = {
        measure: tuple(to_float(flag, value_of_line) for value_of_line in as_list(line_values))
        for measure, line_values in entries.items()
    }
    for measure, line_values in values_by_measure.items():
        if measure not in ISOMETRICS:
            hint = suggestion(measure, ISOMETRICS) or f"choose one of {', '.join(ISOMETRICS)}"
            raise bad_option(f"{OPTION}{flag}{END}: '{measure}' has no isometric lines", hint)
        for value_of_line in line_values:
            if not 0 <= value_of_line <= 1:
                raise bad_option(
                    f"{OPTION}{flag}{END} {measure}={value_of_line:g} is not between 0 and 1"
                )
    return values_by_measure


def _accept_cut(flag: str, value: object) -> CutChoice | None:
    """Return a number as a float, or the name of a rule; UsageError for other values."""
    if value is None:
        return None
    if isinstance(value, str) and value in CUTS:
        return value  # type: ignore[return-value]
    message = f"{OPTION}{flag}{END} '{value}' is neither a number nor one of {', '.join(CUTS)}"
    if isinstance(value, str):
        raise UsageError.new(message, "bad-cut", hint=suggestion(value, CUTS))
    if isinstance(value, (bool, complex)) or not isinstance(value, (Number, SupportsFloat)):
        raise bad_option(message)
    cut = to_float(flag, value)
    if not math.isfinite(cut):
        raise bad_option(f"{OPTION}{flag}{END} {cut} is not a finite number")
    return cut


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PlaneOptions(shared.IntervalOptions, shared.PopulationOptions):
    """Options of classifiers and features: intervals, populations, lines of equal measure."""

    isometrics: Annotated[
        Mapping[str, tuple[float, ...]],
        Opt(
            "Draw lines on which a measure, such as precision, is constant.",
            PLANE,
            metavar="MEASURE=V,V",
            accept=_accept_isometrics,
            takes=Mapping[str, Sequence[float]] | None,
            is_parameter=True,
            shell=False,
        ),
    ] = field(default_factory=dict)
    interval: shared.Interval = "exact"
    level: shared.Level = 0.95


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClassifierOptions(shared.RunOptions):
    """Options of classifiers."""

    reference: Annotated[str | None, shared.reference_option()] = None
    curve: Annotated[
        bool, Opt("Evaluate every threshold: ROC curve, Gini, largest δ.", CLASSIFIERS)
    ] = False
    points: Annotated[int | Literal["all"] | None, shared.curve_points_option(CLASSIFIERS)] = None
    margin: Annotated[Mapping[str, float], shared.margin_option()] = field(default_factory=dict)
    measure: Annotated[tuple[str, ...], shared.measure_option(CLASSIFIERS)] = ()
    totals: shared.Totals = "random"

    def check(self) -> None:
        """Raise UsageError for unknown measures."""
        shared.check_measures(self.measure)

    def check_together(self) -> None:
        """Raise UsageError for options of classifiers that exclude each other."""
        if self.points is not None and not self.curve:
            raise bad_option(
                f"{OPTION}--points{END} is the number of points of a curve: add "
                f"{SWITCH}--curve{END}"
            )
        shared.check_reference(None, None, self.margin, COMPARED)
        if self.margin and self.runs:
            raise bad_option(
                f"{OPTION}--margin{END} is for differences on the same rows: omit "
                f"{OPTION}--margin{END} or {OPTION}--run{END}"
            )
        self.check_runs()
        if self.measure and self.runs:
            message = (
                f"{OPTION}--measure{END} needs independent rows, and several runs may have the "
                "same rows"
            )
            hint = (
                "for means over runs use "
                f"{COMMAND}clfeval report --run COLUMN --measure MEASURE{END}"
            )
            raise bad_option(message, hint)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FeatureOptions:
    """Options of features."""

    features: Annotated[bool, Opt("Evaluate columns as features, not as models.", FEATURES)] = False
    feature: Annotated[
        tuple[str, ...],
        Opt(
            "Feature by name or quoted glob; repeat. Default: all.",
            FEATURES,
            completes="column",
            shell=False,
        ),
    ] = ()
    truth_table: Annotated[
        Any,
        Opt(
            "Table with the class of each row of a sparse table.",
            FEATURES,
            metavar="FILE",
            accept=shared.accept_table,
            reads=True,
            shell=False,
        ),
    ] = None
    cut: Annotated[
        CutChoice | None,
        Opt(
            "Cut point of numeric features: median, mean, best, soft or a number.",
            FEATURES,
            metavar="RULE|NUMBER",
            parse=syntax.parse_number_or_word,
            accept=_accept_cut,
            is_parameter=True,
        ),
    ] = None
    select: Annotated[
        int | Literal["all"] | None,
        Opt(
            "Keep the N best features, or all significant ones.",
            FEATURES,
            metavar="N|all",
            parse=syntax.parse_count_or_all,
            minimum=1,
            is_parameter=True,
        ),
    ] = None
    phi_max: Annotated[
        float | None,
        Opt(f"Select features with |φ| below this; default {PHI_MAX}.", FEATURES, **LIMIT),
    ] = None
    delta_min: Annotated[
        float | None,
        Opt(f"Select features with |φ| + |δ|/X from 1 up; default {DELTA_MIN}.", FEATURES, **LIMIT),
    ] = None

    @property
    def top(self) -> int | None:
        """The largest number of features kept."""
        return self.select if isinstance(self.select, int) else None

    @property
    def limits(self) -> tuple[float, float]:
        """The largest |phi| and the least delta of a selection."""
        return self.phi_max or PHI_MAX, self.delta_min or DELTA_MIN

    def check(self) -> None:
        """Raise UsageError for options of features without --features."""
        changed = changed_options(self)
        if changed and not self.features:
            raise bad_option(
                f"{OPTION}{changed[0].flag}{END} is for features: add {SWITCH}--features{END}"
            )


PHIDELTA = Command(
    "phidelta",
    (PlaneOptions, ClassifierOptions, FeatureOptions),
    have="predictions or features",
    want="discrimination and bias",
    help="Measure discrimination (δ) and bias (φ) of classifiers or features.",
    examples="""clfeval phidelta preds.csv --positive malignant --reference logreg
clfeval phidelta scores.parquet --curve
clfeval phidelta cv.csv --run fold --id id --reference logreg
clfeval phidelta table.csv --features --truth outcome --select 20
""",
    brief="truth positive ignore threshold by prevalence "
    "run reference curve features select show save",
    tables="CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too); - is standard input; "
    "several files of one schema, or a quoted glob; with --join NAME=FILE, one file per model.",
    unused_fields=("scores", "spark_conf"),
)
