"""Options on reading a table and on the roles of its columns, TABLE arguments, column names."""

from __future__ import annotations

import glob
import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

from clfeval.errors import (
    UsageError,
    bad_option,
    format_option,
    list_names,
    not_a_table_error,
    suggestion,
)
from clfeval.options.declaration import COLUMNS, READING, Opt, as_list, to_float
from clfeval.options.syntax import parse_thresholds
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field, replace

Kind = Literal["label", "score"]
Missing = Literal["error", "drop"]
LayoutName = Literal["wide", "long", "probabilities", "counts"]
Engine = Literal["polars", "duckdb", "spark"]
Format = Literal["csv", "tsv", "parquet", "arrow", "ndjson", "json"]

DEFAULT_THRESHOLD = 0.5
JOIN_ROWS = "row"  # --join: by the number of the row, where no file has such a column
JOIN_NOTHING = "none"  # --join: the files are parts of one sample
FILE_NAME = "__clfeval_file"  # the column of the name of a file, also in numbered rows
CALIBRATOR_SUFFIX = ".json"  # of --model NAME:FILE
_SPEC = r"[-+0-9.eE,\s]+"


def _label(_: str, value: object) -> str | None:
    return next(iter(_labels("", [value])), None)


def _score_kind(flag: str, value: object) -> str | None:
    """Return `exact` or `buckets:M`; UsageError for other texts."""
    text = None if value is None else str(value)
    scheme, separator, bits = (text or "").partition(":")
    if text in (None, "exact"):
        return text
    if scheme != "buckets" or (separator and not (bits.isdecimal() and 4 <= int(bits) <= 20)):
        message = f"{OPTION}{flag}{END} '{text}' is neither exact nor buckets:M, M from 4 to 20"
        raise bad_option(message)
    return f"buckets:{int(bits or 10)}"


def _labels(_: str, values: object) -> tuple[str, ...]:
    from clfeval.tables.frames import as_text

    return tuple(text for text in map(as_text, as_list(values)) if text is not None)


def _thresholds(flag: str, values: Any) -> dict[str | None, float]:
    if values is None:
        return {}
    by_model = values if isinstance(values, Mapping) else {None: values}
    thresholds = {model: to_float(flag, value) for model, value in by_model.items()}
    for value in thresholds.values():
        if not math.isfinite(value):
            raise bad_option(f"{OPTION}{flag}{END} {value} is not a finite number")
    return thresholds


def _settings(flag: str, values: object) -> dict[str, str]:
    if values is None or (isinstance(values, (tuple, list)) and not values):
        return {}
    if not isinstance(values, Mapping):
        raise bad_option(f"{OPTION}{flag}{END} {values!r:.40} is not a mapping of settings")
    return {str(key): str(value) for key, value in values.items()}


def _parse_settings(flag: str, texts: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for text, (key, sign, _) in zip(texts, pairs, strict=True):
        if not (key and sign):
            hint = f"for example {OPTION}{flag} spark.executor.memory=4g{END}"
            raise bad_option(f"{OPTION}{flag}{END} {text}: KEY=VALUE is needed", hint)
    return {key.strip(): value.strip() for key, _, value in pairs}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class InputOptions:
    """How a table is read, and the roles of columns; None: recognised from the table.

    threshold: by model; the key None for all others. run: a column also in `by`, ids being unique
    in each run. several: the command supports more than two classes. ranks: it has measures of
    scores without threshold. runs: it evaluates runs. denied: pairs
    of columns of which all rows deny what the first rows show. reference: the model that others
    are compared with.
    """

    input_format: Annotated[
        Format | None,
        Opt("Format of the input; default from the suffix or content.", READING, shell=False),
    ] = None
    delimiter: Annotated[
        str | None,
        Opt("Delimiter of a text table; default a comma.", READING, flags=("-d", "--delimiter")),
    ] = None
    layout: Annotated[
        LayoutName | None, Opt("Layout of the table; default recognised from the header.", READING)
    ] = None
    missing: Annotated[
        Missing,
        Opt(
            "Stop at missing values (error), or drop their rows (drop).", READING, is_parameter=True
        ),
    ] = "error"
    null_value: Annotated[
        tuple[str, ...],
        Opt("Text that means a missing value, as an empty field does; repeat.", READING),
    ] = ()
    decimal: Annotated[
        Literal[".", ","], Opt("Decimal sign of numbers in a text table.", READING, signed="dec")
    ] = "."
    fold_labels: Annotated[
        bool, Opt("Merge labels that differ only in case or outer spaces.", READING, signed="fold")
    ] = False
    where: Annotated[
        str | None,
        Opt(
            "Use only some rows: \"split = 'test' and age >= 18\".",
            READING,
            metavar="CONDITION",
            signed="where",
        ),
    ] = None
    renormalize: Annotated[
        bool, Opt("Divide class probabilities by their sum in each row.", READING, signed="renorm")
    ] = False
    scores: Annotated[
        str | None,
        Opt(
            "Count every score, or in buckets; default by their number.",
            READING,
            metavar="exact|buckets[:M]",
            accept=_score_kind,
            signed="scores",
        ),
    ] = None
    engine: Annotated[
        Engine | None, Opt("Engine that reads and counts the rows; default polars.", READING)
    ] = None
    spark_conf: Annotated[
        Mapping[str, str],
        Opt(
            "Setting of Spark; spark.remote=sc://HOST:PORT is a server; repeat.",
            READING,
            metavar="KEY=VALUE",
            parse=_parse_settings,
            accept=_settings,
            takes=Mapping[str, str],
        ),
    ] = field(default_factory=dict)
    dry_run: Annotated[
        bool, Opt("Show how the table is read and what is ambiguous; compute nothing.", READING)
    ] = False
    truth: Annotated[
        str | None,
        Opt("True classes; default truth, y_true, target, ...", COLUMNS, completes="column"),
    ] = None
    model: Annotated[
        tuple[str, ...],
        Opt(
            "Model name or glob, NAME:reversed, :percent, :logit, :FILE; repeat.",
            COLUMNS,
            completes="model",
        ),
    ] = ()
    ignore: Annotated[
        tuple[str, ...],
        Opt("Leave out this column, by name or glob; repeat.", COLUMNS, completes="column"),
    ] = ()
    id: Annotated[str | None, Opt("Column of row ids.", COLUMNS, completes="column")] = None
    join: Annotated[
        str | None,
        Opt(
            "Join files NAME=FILE on this column of ids, A+B or row.",
            COLUMNS,
            signed="join",
            completes="column",
        ),
    ] = None
    positive: Annotated[
        str | None,
        Opt(
            "Positive class; default 1 or true.",
            COLUMNS,
            accept=_label,
            takes=object,
            completes="class",
        ),
    ] = None
    classes: Annotated[
        tuple[str, ...],
        Opt(
            "Class, lowest first where classes are ordered; repeat for each.",
            COLUMNS,
            accept=_labels,
            takes=Sequence[object],
        ),
    ] = ()
    kind: Annotated[
        Literal["label", "score", "confidence"] | None,
        Opt("Content of models: labels, scores, or confidences of labels.", COLUMNS),
    ] = None
    threshold: Annotated[
        Mapping[str | None, float],
        Opt(
            "Predict positive at or above T; default 0.5.",
            COLUMNS,
            metavar="T|MODEL=T",
            parse=parse_thresholds,
            accept=_thresholds,
            takes=float | Mapping[str | None, float] | None,
        ),
    ] = field(default_factory=dict)
    weight: Annotated[
        str | None,
        Opt(
            "Column of weights; COLUMN:counts (of rows) or COLUMN:sampling.",
            COLUMNS,
            completes="column",
        ),
    ] = None
    sampling_weights: Annotated[
        bool,
        Opt(
            "Treat integer weights as sampling weights, not as repeats.",
            COLUMNS,
            needs=("weight", "says what weights are"),
            signed="sampling",
            shell=False,
        ),
    ] = False
    by: Annotated[
        tuple[str, ...],
        Opt(
            "Evaluate each slice too: COLUMN, 'a*b', 'age:4'.",
            COLUMNS,
            is_parameter=True,
            completes="column",
        ),
    ] = ()
    cluster: Annotated[
        str | None,
        Opt(
            "Column of clusters (patients) of correlated rows.",
            COLUMNS,
            is_parameter=True,
            signed="cluster",
            completes="column",
        ),
    ] = None
    run: str | None = None
    confidences: bool = False  # --kind confidence
    repeats: bool = False  # --weight COLUMN:counts
    turned: tuple[str, ...] = ()  # --model NAME:reversed
    percents: tuple[str, ...] = ()  # --model NAME:percent
    log_odds: tuple[str, ...] = ()  # --model NAME:logit
    calibrations: tuple[tuple[str, str], ...] = ()  # --model NAME:FILE.json
    only_calibrated: tuple[str, ...] = ()  # of these, models that are not evaluated themselves
    several: bool = False
    ranks: bool = False
    runs: bool = False
    denied: tuple[tuple[str, str], ...] = ()
    reference: str | None = None

    def folded(self) -> InputOptions:
        """Return the options with classes stripped and in lower case if `fold_labels` is set."""
        if not self.fold_labels:
            return self
        positive = self.positive and self.positive.strip().lower()
        classes = tuple(label.strip().lower() for label in self.classes)
        return replace(self, positive=positive, classes=classes)

    @property
    def kind_of_models(self) -> Kind | None:
        """What --kind says that the columns of models hold, one column each."""
        return None if self.kind == "confidence" else self.kind

    def with_confidences(self) -> Self:
        """Return the options with `confidences` in place of --kind confidence."""
        return replace(self, kind=None, confidences=True) if self.kind == "confidence" else self

    def with_weight_kind(self) -> Self:
        """Return the options with the kind of weights in place of --weight COLUMN:KIND."""
        column, _, kind = (self.weight or "").rpartition(":")
        if not column or kind not in ("sampling", "counts"):
            return self
        if kind == "counts":
            return replace(self, weight=column, repeats=True)
        return replace(self, weight=column, sampling_weights=True)

    def with_scales(self) -> Self:
        """Return the options with the scales of models in place of --model NAME:SCALE."""
        models_by_scale: dict[str, list[str]] = {"reversed": [], "percent": [], "logit": []}
        calibrations = list[tuple[str, str]]()
        models = list[str]()
        for model_text in self.model:
            if (calibration := split_calibrator(model_text)) is not None:
                calibrations.append(calibration)
                continue
            name, _, scale = model_text.rpartition(":")
            has_scale = bool(name) and scale in models_by_scale
            if has_scale:
                models_by_scale[scale].append(name)
            models.append(name if has_scale else model_text)
        if not (any(models_by_scale.values()) or calibrations):
            return self
        if self.join not in (None, JOIN_NOTHING):
            scale = next((key for key, names in models_by_scale.items() if names), "FILE.json")
            option = f"{OPTION}--model NAME:{scale}{END}"
            message = f"{option} and {OPTION}--join{END} cannot be combined"
            raise bad_option(message, "change the scores in the file")
        calibrated_models = [name for name, _ in calibrations]
        return replace(
            self,
            model=tuple(dict.fromkeys([*models, *calibrated_models])),
            turned=tuple(models_by_scale["reversed"]),
            percents=tuple(models_by_scale["percent"]),
            log_odds=tuple(models_by_scale["logit"]),
            calibrations=tuple(calibrations),
            only_calibrated=tuple(name for name in calibrated_models if name not in models),
        )

    def with_runs(self, column: str | None, *, files: bool) -> InputOptions:
        """Return the options with the column of runs, or the file names as runs, if given."""
        if column is None and not files:
            return self
        if self.by:
            flag = "--run-files" if files else "--run"
            raise bad_option(f"{OPTION}{flag}{END} and {OPTION}--by{END} cannot be combined")
        run = FILE_NAME if files else str(column)
        return replace(self, by=(run,), run=run)

    @property
    def named_models(self) -> set[str]:
        """The models that options other than --model name."""
        return {name for name in (*self.threshold, self.reference) if name is not None}

    def threshold_of(self, model: str) -> float:
        """Return the threshold of a model: scores at or above it are predicted positive."""
        return self.threshold.get(model, self.threshold.get(None, DEFAULT_THRESHOLD))

    def has_threshold(self, model: str) -> bool:
        """Return whether the user gave a threshold for this model."""
        return model in self.threshold or None in self.threshold


class ColumnNames:
    """Default names of columns by role, likeliest first."""

    TRUTH = ("truth", "y_true", "target", "actual", "label", "true_label")
    LONG_TRUTH = (*TRUTH, "actual_class", "true_class")
    MODEL = (
        "model",
        "classifier",
        "classifier_name",
        "model_name",
        "system",
        "algorithm",
        "algo",
        "learner",
        "predictor",
    )
    PREDICTION = (
        "prediction",
        "pred_label",
        "predicted_class",
        "predicted",
        "pred",
        "y_pred",
        "yhat",
        "y_hat",
        "score",
        "y_score",
        "probability",
        "prob",
        "y_prob",
        "proba",
        "y_proba",
        "pred_prob",
        "predicted_probability",
    )
    ID = ("id", "instance_id", "observation_id", "row_id")
    CLUSTER = (
        "cluster",
        "cluster_id",
        "group",
        "group_id",
        "patient",
        "patient_id",
        "subject",
        "subject_id",
        "participant",
        "participant_id",
        "person",
        "person_id",
        "user",
        "user_id",
        "case",
        "case_id",
        "document",
        "document_id",
        "doc",
        "doc_id",
        "session",
        "session_id",
    )
    SAMPLING_WEIGHT = (
        "sampling_weight",
        "sampling_weights",
        "survey_weight",
        "survey_weights",
        "design_weight",
        "pweight",
        "inv_prob",
        "inverse_probability",
        "inverse_prob",
        "expansion_factor",
        "expansion_weight",
        "ipw",
        "iptw",
    )
    WEIGHT = (
        "weight",
        "weights",
        "row_weight",
        "sample_weight",
        "sample_weights",
        "case_weight",
        "case_weights",
        "w",
        "wt",
        "wts",
        "wgt",
        "sampwt",
        "gewicht",
        "gewichte",
        "poids",
        "peso",
        "pesos",
        *SAMPLING_WEIGHT,
    )
    RUN = (
        "run",
        "run_id",
        "fold",
        "fold_id",
        "cv_fold",
        "seed",
        "random_seed",
        "repeat",
        "repetition",
        "replicate",
        "split",
    )
    ROW = (*ID, "row", "doc", "document", "doc_id", "document_id", "sample", "sample_id")
    FEATURE = ("feature", "term", "token", "word")
    VALUE = ("value", "count", "frequency", "tf")
    COUNT = ("tp", "fp", "fn", "tn")
    METRIC = ("metric", ".metric", "measure", "variable")
    METRIC_VALUE = ("value", ".estimate", "estimate", "score", "mean")
    ESTIMATOR = ("estimator", ".estimator")
    SLICE = ("slice", "class")


_INDEX = r"|Unnamed: \d+|__index_level_\d+__"


def find_column(columns: Iterable[str], names: Sequence[str]) -> str | None:
    """Return the column with the earliest of some names, ignoring case and spaces.

    `Patient No` is `patient_id`.
    """
    known_columns = list(columns)
    columns_by_name = {_normalise_name(column): column for column in reversed(known_columns)}
    columns_by_name |= {column: column for column in known_columns if column in names}
    return next((columns_by_name[name] for name in names if name in columns_by_name), None)


def _normalise_name(name: str) -> str:
    with_underscores = re.sub(r"[\s-]+", "_", name.strip().casefold())
    return re.sub(r"_(no|nr|num|number|code|key)\.?$", "_id", with_underscores)


def is_index_name(name: str) -> bool:
    """Return whether a column has the name of an unnamed row index of pandas or Parquet."""
    return bool(re.fullmatch(_INDEX, name))


def parse_facets(
    input_options: InputOptions, columns: Collection[str]
) -> tuple[tuple[str, ...], ...]:
    """Return the columns of entries of --by: `a*b` is a and b (unless a column), `age:4` is age."""
    known_names = {*columns, *([] if input_options.run is None else [input_options.run])}
    facets = dict[tuple[str, ...], None]()
    for by_text in input_options.by:
        facet_parts = [by_text] if by_text in known_names else map(str.strip, by_text.split("*"))
        facet = dict.fromkeys(parse_bins(facet_part, known_names)[0] for facet_part in facet_parts)
        facets[tuple(facet)] = None
    return tuple(facets)


def refuse_ignored_columns(
    ignored: Collection[str], names_by_option: Mapping[str, Iterable[str | None]]
) -> None:
    """Raise if an option names a column that --ignore leaves out."""
    for flag, names in names_by_option.items():
        for name in names:
            if name in ignored:
                raise bad_option(
                    f"{OPTION}--ignore{END} leaves out '{name}', but {OPTION}{flag}{END} names it"
                )


def match_names(
    file: str, names: Sequence[str], patterns: Sequence[str], *, kind: str = "model"
) -> list[str]:
    """Return the names that match exact names or globs; UsageError for one without a match."""
    matched_names: dict[str, None] = {}
    known_names = set(names)
    for pattern in patterns:
        pattern_matches = [pattern]
        if pattern not in known_names:
            pattern_matches = [name for name in names if fnmatchcase(name, pattern)]
        if not pattern_matches:
            message = f"no {kind} matches '{pattern}'; {kind}s: {list_names(names)}"
            pattern_parts = [pattern_part.strip() for pattern_part in pattern.split(",")]
            hint = suggestion(pattern, names)
            if len(pattern_parts) > 1 and known_names.issuperset(pattern_parts):
                flag = {"column": "--ignore"}.get(kind, f"--{kind}")
                options = (format_option(flag, pattern_part) for pattern_part in pattern_parts)
                hint = f"name each one: {' '.join(options)}"
            raise UsageError.new(message, f"unknown-{kind}", file, hint=hint)
        matched_names |= dict.fromkeys(pattern_matches)
    return list(matched_names)


def parse_bins(text: str, columns: Collection[str]) -> tuple[str, str]:
    """Split an entry of --by into column and bins; the bins are "" if it has none."""
    name, separator, bins_text = text.rpartition(":")
    if (
        text in columns
        or not separator
        or name not in columns
        or not re.fullmatch(_SPEC, bins_text)
    ):
        return text, ""
    return name, bins_text


def split_calibrator(text: str) -> tuple[str, str] | None:
    """Split `NAME:FILE.json` into a model and a file of calibrators; None for another text."""
    colon_parts = text.split(":")
    if len(colon_parts) == 1 or not text.lower().endswith(CALIBRATOR_SUFFIX):
        return None
    for name_part_count in range(len(colon_parts) - 1, 0, -1):
        name = ":".join(colon_parts[:name_part_count])
        path = ":".join(colon_parts[name_part_count:])
        if name and os.path.exists(path):
            return name, path
    return ":".join(colon_parts[:-1]), colon_parts[-1]


def split_path(text: str) -> tuple[str | None, str]:
    """Split `NAME=FILE` into name and path; no name if the whole text is an existing path."""
    equals_parts = text.split("=")
    if len(equals_parts) == 1 or not equals_parts[0] or os.path.exists(text) or glob.glob(text):
        return None, text
    for name_part_count in range(1, len(equals_parts)):
        name = "=".join(equals_parts[:name_part_count])
        path = "=".join(equals_parts[name_part_count:])
        if path == "-" or os.path.exists(path) or glob.glob(path):
            return name, path
    return equals_parts[0], text.removeprefix(f"{equals_parts[0]}=")


def table_paths(table: object) -> list[str]:
    """Return the paths of a table given as one path or a list; an empty list for a data frame."""
    if isinstance(table, (str, os.PathLike)):
        table = [table]
    if not isinstance(table, (list, tuple)):
        return []
    if not table:
        raise UsageError.new("no table given", "no-input")
    for path in table:
        if not isinstance(path, (str, os.PathLike)):
            raise not_a_table_error(path)
    return [os.fspath(path) for path in table]
