"""Options of mlcps."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, TypeVar

from clfeval.errors import bad_option
from clfeval.methods import options as shared
from clfeval.options import syntax
from clfeval.options.declaration import READING, Command, Opt, to_float, to_float_pair, to_mapping
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field, replace

PREDICTIONS, SCORE, FIRM = "With --from predictions", "Score", "Stability"  # panels
Direction = Literal["max", "min"]
Path = str | os.PathLike[str]

T = TypeVar("T")

LEAST_WEIGHT = 1e-6
MOST = 1e15  # of a scale's ends


def _accept_weights(flag: str, value: object) -> dict[str, float]:
    if isinstance(value, (str, os.PathLike)) and value != "":
        from clfeval.methods.mlcps.desirability_goals import read_weights

        weights = read_weights(value)
    else:
        mapping = to_mapping(flag, value, "metrics to weights, not a file")
        weights = {
            name: to_float(flag, weight_text, f" {name}=") for name, weight_text in mapping.items()
        }
    for name, weight in weights.items():
        if weight != 0 and not LEAST_WEIGHT <= weight <= 1 / LEAST_WEIGHT:
            bounds = f"{LEAST_WEIGHT:g} to {1 / LEAST_WEIGHT:g}"
            raise bad_option(
                f"{OPTION}{flag}{END} {name}={weight:g} is neither 0 nor a number from {bounds}"
            )
    return weights


def _accept_directions(flag: str, value: object) -> dict[str, Direction]:
    directions = to_mapping(flag, value, "metrics to directions")
    for name, direction in directions.items():
        if direction not in ("max", "min"):
            raise bad_option(f"{OPTION}{flag}{END} {name}= is '{direction}', not max or min")
    return directions


def _accept_ranges(flag: str, value: object) -> dict[str, tuple[float, float]]:
    range_entries = to_mapping(flag, value, "metrics to ranges").items()
    ranges = {
        name: to_float_pair(flag, range_entry, f" {name}")
        for name, range_entry in range_entries
        if range_entry is not None
    }
    for name, (low, high) in ranges.items():
        if not (-MOST <= low < high <= MOST):
            hint = f"; set the direction with {OPTION}--direction{END}" if low > high else ""
            raise bad_option(
                f"{OPTION}{flag}{END} {name}={low:g}:{high:g} is not LOW:HIGH within -{MOST:g} to "
                f"{MOST:g}{hint}"
            )
    return ranges


def _accept_goals(flag: str, value: object) -> tuple[Any, ...]:
    if value is None:
        return ()
    from clfeval.methods.mlcps.desirability_goals import read_goals

    is_file = isinstance(value, (str, os.PathLike)) and value != ""
    return read_goals(value if is_file else to_mapping(flag, value, "metrics to goals, not a file"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MlcpsOptions:
    """Weights, scales, desirabilities and sensitivity analyses; resamples: None for the default."""

    source: Annotated[
        Literal["metrics", "predictions"],
        Opt(
            "Content of the table: metrics, or predictions.",
            READING,
            flags=("--from",),
            signed="from",
        ),
    ] = "metrics"
    transpose: Annotated[bool, Opt("Read columns as models and rows as metrics.", READING)] = False
    metric: Annotated[
        tuple[str, ...],
        Opt("Metric to use, by name or quoted glob; repeat.", SCORE, completes="ranked"),
    ] = ()
    weight: Annotated[
        Mapping[str, float],
        Opt(
            "Weight of a metric, default 1; repeat.",
            SCORE,
            flags=("--metric-weight",),
            metavar="METRIC=W",
            parse=syntax.parse_weights,
            accept=_accept_weights,
            takes=Mapping[str, float] | Path | None,
        ),
    ] = field(default_factory=dict)
    zero_weight: Annotated[
        Literal["drop", "ray"],
        Opt(
            "Drop a metric of weight 0, or keep its ray as the R package does.",
            SCORE,
            is_parameter=True,
            shell=False,
        ),
    ] = "drop"
    direction: Annotated[
        Mapping[str, Direction],
        Opt(
            "Direction of a metric: max or min is better.",
            SCORE,
            metavar="METRIC=max|min",
            parse=syntax.parse_directions,
            accept=_accept_directions,
            takes=Mapping[str, Direction] | None,
        ),
    ] = field(default_factory=dict)
    rescale: Annotated[
        Mapping[str, tuple[float, float]],
        Opt(
            "Rescale a metric from range A:B to 0 to 1; repeat.",
            SCORE,
            metavar="METRIC=A:B",
            parse=syntax.parse_ranges,
            accept=_accept_ranges,
            write=syntax.format_range,
            takes=Mapping[str, Sequence[float]] | None,
        ),
    ] = field(default_factory=dict)
    desirability: Annotated[
        tuple[Any, ...],
        Opt(
            "Rank by desirability, defined in a YAML file.",
            SCORE,
            metavar="FILE.yaml",
            repeatable=False,
            accept=_accept_goals,
            takes=Mapping[str, Any] | Path | None,
        ),
    ] = ()
    weight_sensitivity: Annotated[bool, Opt("Rank under random weights.", FIRM)] = False
    draws: Annotated[
        int | None,
        Opt(
            "Number of random weights; default 10,000.",
            FIRM,
            minimum=100,
            maximum=1_000_000,
            shell=False,
            needs=("weight_sensitivity", "sets the number of random weights"),
        ),
    ] = None
    compare: Annotated[
        Any,
        Opt(
            "Compare ranks with a second table of the models.",
            FIRM,
            metavar="OTHER",
            accept=shared.accept_table,
            reads=True,
        ),
    ] = None
    reference: Annotated[str | None, shared.reference_option()] = None
    margin: Annotated[Mapping[str, float], shared.margin_option()] = field(default_factory=dict)
    interval: shared.Interval = "exact"
    level: shared.Level = 0.95
    resamples: Annotated[
        int | None,
        Opt(
            "Number of bootstrap resamples; default 1000, fewer for many rows.",
            shared.INTERVALS,
            minimum=100,
            maximum=10**6,
            shell=False,
        ),
    ] = None
    seed: shared.Seed = 0

    @property
    def random_weights(self) -> int | None:
        """The number of random weights; None without --weight-sensitivity."""
        return (self.draws or 10_000) if self.weight_sensitivity else None

    @property
    def unused(self) -> set[str]:
        """The metrics that are not used: weight 0 with drop, and no desirability goal."""
        droppable_weights = self.weight if self.zero_weight == "drop" else {}
        with_goal = {wish.metric for wish in self.desirability}
        return {name for name, weight in droppable_weights.items() if weight == 0} - with_goal

    def expand_globs(self, metrics: Sequence[str]) -> MlcpsOptions:
        """Return the options with globs expanded to metrics; exact names take precedence."""
        expanded_goals = [
            replace(wish, metric=next(iter(_matching_metrics(wish.metric, metrics)), wish.metric))
            for wish in self.desirability
        ]
        option_names = ("weight", "direction", "rescale")
        settings: dict[str, Any] = {
            name: _expand_settings(getattr(self, name), metrics) for name in option_names
        }
        return replace(self, **settings, desirability=tuple(expanded_goals))


def _expand_settings(settings: Mapping[str, T], metrics: Sequence[str]) -> dict[str, T]:
    """Replace globs by the metrics they match, and synonyms of measures; keep unknown names."""
    expanded_settings: dict[str, T] = {}
    for pattern, value in settings.items():
        matching_metrics = _matching_metrics(pattern, metrics)
        expanded_settings |= {
            metric: value
            for metric in matching_metrics
            if metric == pattern or metric not in settings
        }
        if not matching_metrics:
            expanded_settings[pattern] = value
    return expanded_settings


def _matching_metrics(name: str, metrics: Sequence[str]) -> list[str]:
    """Return the metrics of a name: itself, those it matches, or the equivalent measure."""
    from clfeval.measures.catalog import equivalent_names, normalize_name

    if name in metrics:
        return [name]
    matching_metrics = [metric for metric in metrics if fnmatchcase(metric, name)]
    synonyms = equivalent_names(normalize_name(name))
    return matching_metrics or [metric for metric in metrics if metric in synonyms][:1]


MLCPS = Command(
    "mlcps",
    (MlcpsOptions,),
    have="metrics of many models",
    want="one ranking, and how stable it is",
    help="Combine many metrics into one score and show how stable the ranking is.",
    examples="""clfeval mlcps metrics.csv
clfeval mlcps metrics.csv --metric-weight recall=2 --rescale mcc=-1:1
clfeval mlcps cv_results.csv --metric f1 --metric roc_auc --metric precision
clfeval mlcps preds.csv --from predictions --positive malignant
clfeval mlcps test.csv --compare train.csv
clfeval mlcps metrics.csv --desirability wishes.yaml --weight-sensitivity
""",
    brief="from metric metric-weight direction rescale desirability "
    "compare reference weight-sensitivity fail-under show save",
    tables="Metrics, one row per model: CSV, TSV, Parquet, Arrow IPC, NDJSON or JSON (.gz and "
    ".zst too), cross-validation results of scikit-learn, or a result of clfeval; - is "
    "standard input; of predictions, several files of one schema, or a quoted glob; "
    "with --join NAME=FILE, one file per model.",
    words={
        "missing": {"help": "Stop at missing values (error), or drop their models (drop)."},
        "model": {
            "help": "Model to rank, by name or quoted glob; repeat. Default: all.",
            "completes": None,
        },
        "ignore": {"help": "Column or metric to leave out, by name or quoted glob; repeat."},
        "id": {"help": "Column of model names; default model, classifier, ..."},
        "truth": {
            "help": f"Column of true classes, for {OPTION}--from predictions{END}.",
            "panel": PREDICTIONS,
        },
        "positive": {"help": "Positive class.", "panel": PREDICTIONS, "completes": None},
        "classes": {"panel": PREDICTIONS},
        "kind": {"help": "Labels or scores of the models.", "panel": PREDICTIONS, "shell": False},
        "threshold": {"panel": PREDICTIONS},
        "weight": {"panel": PREDICTIONS},
    },
    unused_fields=("by", "cluster", "sampling_weights", "spark_conf"),
)
