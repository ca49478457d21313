"""Options of MARS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from clfeval.errors import UsageError, bad_option, unknown_model_error
from clfeval.methods import options as shared
from clfeval.options.declaration import Command, Opt, as_list, to_mapping
from clfeval.options.syntax import parse_count_or_all, parse_groups
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field

ANALYSIS = "Analysis"  # panel
MEASURE = {"positive": "recall", "negative": "specificity"}  # by target
COMPARED = ("recall", "specificity", "precision")  # measures that compare models
PYTHON_ONLY: dict[str, Any] = {"is_parameter": True, "shell": False}


def _accept_groups(flag: str, value: object) -> dict[str, tuple[str, ...]]:
    """Return the models of each group; UsageError unless the value is a mapping."""
    groups = to_mapping(flag, value, "names to models")
    return {name: tuple(map(str, as_list(models))) for name, models in groups.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MarsOptions(shared.IntervalOptions):
    """Options of MARS: target class, occlusion rule, tables and intervals."""

    occlusion: Annotated[
        Literal["all", "any"],
        Opt(
            "Count a miss if all, or any, of the other models detect the row.",
            ANALYSIS,
            signed="rule",
            **PYTHON_ONLY,
        ),
    ] = "all"
    target: Annotated[
        Literal["positive", "negative"],
        Opt(
            "Class that is detected: positive or negative.",
            ANALYSIS,
            signed="target",
            **PYTHON_ONLY,
        ),
    ] = "positive"
    group: Annotated[
        Mapping[str, tuple[str, ...]],
        Opt(
            "Treat several models as one; repeat.",
            ANALYSIS,
            metavar="NAME=A,B",
            parse=parse_groups,
            accept=_accept_groups,
            takes=Mapping[str, Sequence[str]] | None,
        ),
    ] = field(default_factory=dict)
    subsets: Annotated[
        int | Literal["all"] | None,
        Opt(
            "Evaluate every subset of up to K models.",
            ANALYSIS,
            metavar="K|all",
            parse=parse_count_or_all,
            minimum=1,
        ),
    ] = None
    best: Annotated[
        int | None,
        Opt(
            "Show the subsets of 1 to K models that detect most.", ANALYSIS, metavar="K", minimum=1
        ),
    ] = None
    max_effort: Annotated[
        float | None,
        Opt(
            "Show the best subset that flags at most N rows.",
            ANALYSIS,
            metavar="N",
            minimum=0,
            bounds_error="is not a number of rows",
        ),
    ] = None
    top: Annotated[
        str | None,
        Opt(
            "Flag the highest scores: 200, 0.05 or 5% of rows.",
            ANALYSIS,
            metavar="N|P%",
            accept=lambda _, value: None if value is None else str(value),
            takes=str | float | None,
            is_parameter=True,
        ),
    ] = None
    sweep: Annotated[
        Literal["threshold", "top"] | None,
        Opt("Evaluate every threshold, or every number of top rows.", ANALYSIS, **PYTHON_ONLY),
    ] = None
    points: Annotated[
        int | Literal["all"] | None,
        Opt(
            "Number of thresholds a sweep lists; default at most 2000.",
            ANALYSIS,
            metavar="N|all",
            parse=parse_count_or_all,
            minimum=1,
            needs=("sweep", "is the number of thresholds of a sweep"),
            shell=False,
        ),
    ] = None
    list: Annotated[
        tuple[Literal["found", "missed"], ...],
        Opt("List rows that only one model detects, or misses.", ANALYSIS, metavar="found|missed"),
    ] = ()
    measure: Annotated[tuple[str, ...], shared.measure_option(ANALYSIS)] = ()
    reference: Annotated[str | None, shared.reference_option()] = None
    margin: Annotated[Mapping[str, float], shared.margin_option()] = field(default_factory=dict)
    interval: shared.Interval = "exact"
    level: shared.Level = 0.95
    seed: Annotated[
        int,
        Opt(
            "Seed of the random numbers of cross-validation and bootstrap.",
            shared.INTERVALS,
            minimum=0,
            maximum=2**63,
            shell=False,
        ),
    ] = 0

    def check(self) -> None:
        """Raise UsageError for a group without members, and for unknown measures."""
        shared.check_measures(self.measure)
        shared.check_reference(self.reference, self.confidence, self.margin, COMPARED)
        for group, group_models in self.group.items():
            if not group_models:
                raise bad_option(f"{OPTION}--group{END} {group} names no models")

    def check_groups(self, models: Sequence[str]) -> None:
        """Raise UsageError for groups of unknown models, of one twice, or named as a model."""
        grouped_models: set[str] = set()
        for group, group_models in self.group.items():
            for model in group_models:
                if model not in models:
                    raise unknown_model_error("--group", model, models, part=f" {group}")
                if model in grouped_models:
                    raise UsageError.new(
                        f"'{model}' is in two groups of {OPTION}--group{END}", "bad-group"
                    )
                grouped_models.add(model)
        for group, group_models in self.group.items():
            if group in models and group not in group_models:
                message = (
                    f"{OPTION}--group{END} {group} is also the name of a model; choose another name"
                )
                raise UsageError.new(message, "bad-group")


MARS = Command(
    "mars",
    (MarsOptions,),
    have="predictions of models",
    want="positives that one model detects alone",
    help="""Show which positives only one classifier detects or misses.

    ShineThrough: share of the positives detected by any model that this model alone detects.
    Occlusion: share of them that this model misses and every other model detects.
    """,
    examples="""clfeval mars preds.csv --positive malignant
clfeval mars scores.parquet --threshold 0.3 --subsets 2 --best 3
cat preds.csv | clfeval mars - -f json | jq .tables.models
clfeval mars preds.csv --list found -f csv --show exclusive
clfeval mars preds.csv --measure roc_auc --measure f_beta:beta=2
clfeval mars preds.csv --fail-under 'new:shine_through.low=0.01'
""",
    brief="truth positive ignore threshold by group best "
    "max-effort top list reference fail-under show save",
    tables="CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too); - is standard input; "
    "several files of one schema, or a quoted glob; with --join NAME=FILE, one file per model.",
    unused_fields=("scores", "spark_conf"),
)
