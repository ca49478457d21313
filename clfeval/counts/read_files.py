"""Files of counts: read, added, and taken apart again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.counts import stored_columns
from clfeval.counts.buckets import BITS, LEAST_BITS, MOST_DISTINCT, Buckets, with_buckets
from clfeval.counts.evaluated_rows import EvaluatedRows, Facets, slice_rows
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.settings import CountSettings, input_file, start_fingerprints
from clfeval.counts.stored_columns import check_cells, check_column_types
from clfeval.errors import UsageError
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass
from clfeval.tables.columns import Columns, ModelColumns
from clfeval.tables.frames import natural_sort_key, nw, pl
from clfeval.tables.layouts.counts_file import FILE, read_description
from clfeval.tables.layouts.counts_schema import damaged_counts
from clfeval.tables.predictions import Predictions
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.scan import TableFile

SUFFIX = ".counts.parquet"
PATTERNS, SCORES = stored_columns.PATTERNS, stored_columns.SCORES
RUNS = "runs"  # of scores whose small counts are hidden, in the description of a file
EXACT = "exact"
FEWEST = 50  # rows of a table that is not another one by chance
COUNTED = ("block", "model", "truth", "pattern", "key")  # what a row counts, and the slices
SUMMED = ("n", "m1", "m2", "lo", "hi")
MOST_ROWS_AT_HAND = 2**17  # of a file that is not read again for the sum of several


class StoredRows(EvaluatedRows):
    """Stands for the rows that counts files do not hold."""

    def frames(self, **_: object) -> Any:
        """Raise UsageError: there are no rows."""
        message = f"this needs rows, but of {self.settled.name} there are counts only"
        hint = f"give the table of predictions, without {OPTION}--engine{END}"
        raise UsageError.new(message, "needs-predictions", hint=hint)


@dataclass(frozen=True, slots=True, eq=False)
class StoredCounts:
    """The merged counts of files: the scores of each model by slice, and the file they make.

    joint: sums over the rows of each part by measure, for comparisons of scores; empty where they
    were not made for just these counts. unknown: positives and negatives of slices and models whose
    labels are hidden.
    """

    scores: Mapping[int, Mapping[str | None, ScoreCounts]]
    table: pl.DataFrame
    description: Mapping[str, Any]
    joint: Sequence[Any]
    unknown: Mapping[tuple[str | None, str], tuple[int, int]]


def read_counts(
    opened_table: Predictions, descriptions: Sequence[Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Read counts files, and add their counts; return the fields of `PredictionCounts`.

    descriptions: given where the counts are in no file. Raises DataError for a damaged file.
    """
    columns = opened_table.columns
    if descriptions is None:
        descriptions = [read_description(file) or {} for file in opened_table.files]
        files_with_descriptions = [*zip(opened_table.files, descriptions, strict=True)]
        frames = [
            _verified_counts(*pair, alone=len(files_with_descriptions) == 1)
            for pair in files_with_descriptions
        ]
    else:
        frames = [*map(_lazy_table, opened_table.files)]
    merged = _merge_descriptions(descriptions)
    by, requested_scores = slice_columns(merged), opened_table.roles.scores
    table, merged["scores"] = _merge(frames, by, descriptions, requested_scores)
    joint = _usable_joint_sums(table, merged)
    if columns.by == (FILE,) and not merged["facets"]:
        merged |= {"facets": [[FILE]], "by": [FILE]}
        frames = _with_file_names(frames, opened_table.files)
        table, _ = _merge(frames, slice_columns(merged), descriptions, requested_scores)
    short_names = {name: f"b{j}" for j, name in enumerate(columns.by)}
    _check_sums(table, merged, opened_table.files[0].name)
    slice_patterns, unknown = _patterns_by_slice(table, merged, columns, short_names)
    scores = scores_by_model(table, columns.models, columns.facets, short_names)
    stored = StoredCounts(scores, table, merged, joint, unknown)
    return {
        "slices": slice_patterns,
        "stored": stored,
        **_count_fields(opened_table, merged, descriptions),
    }


def slice_columns(description: Mapping[str, Any]) -> list[str]:
    """Return the columns of the slices in a counts file."""
    return [
        f"b{j}" for j in range(len({name for facet in description["facets"] for name in facet}))
    ]


def _lazy_table(file: TableFile) -> pl.LazyFrame:
    assert file.native is not None
    frame: pl.LazyFrame = file.native.to_native()
    return frame


def _verified_counts(
    file: TableFile, description: Mapping[str, Any], *, alone: bool
) -> pl.LazyFrame:
    """Return the counts of a file; DataError where they break a rule, or were changed.

    alone: no others are added, so that they are kept, whatever their number.
    """
    keys = [*COUNTED[:1], *slice_columns(description), *COUNTED[1:]]
    frame = _lazy_table(file).select(*keys, *SUMMED)
    table = frame.collect()
    check_column_types(table, file.name)
    check_cells(table, description, file.name)
    _check_keys(table, description, file.name)
    if file_digest(table, description) != description["digest"]:
        table = table.sort(keys)  # as clfeval wrote it
        if file_digest(table, description) != description["digest"]:
            problem = "its digest is of other counts, or of another description"
            raise damaged_counts(problem, file.name)
    is_kept = alone or len(table) <= MOST_ROWS_AT_HAND
    return table.lazy() if is_kept else frame


def _check_keys(table: pl.DataFrame, description: Mapping[str, Any], name: str) -> None:
    """Raise DataError where the keys of a file are not in the order of its scores."""
    scores = table.filter(block=SCORES)
    if description["scores"] in (EXACT, RUNS):
        keys = exact_keys(scores["lo"].to_numpy())
        is_ordered = np.array_equal(keys, scores["key"].to_numpy())
    else:
        extremes = (pl.col("lo").min(), pl.col("hi").max())
        buckets = scores.group_by("model", "key").agg(*extremes).sort("model", "key")
        is_same_model = pl.col("model") == pl.col("model").shift()
        overlaps = is_same_model & (pl.col("lo") <= pl.col("hi").shift())
        is_ordered = not buckets.select(overlaps.any()).item()
    if not is_ordered:
        raise damaged_counts("is not in the order of the scores", name, column="key")


def _merge_descriptions(descriptions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the description of added counts."""
    description: dict[str, Any] = {**descriptions[0], "uncut": {**descriptions[0]["uncut"]}}
    description.pop("digest", None)
    for file_description in descriptions[1:]:
        description["classes"] = sorted(
            {*description["classes"], *file_description["classes"]}, key=natural_sort_key
        )
        description["parts"] = sorted([*description["parts"], *file_description["parts"]])
        for name, (low, high) in file_description["uncut"].items():
            lowest, highest = description["uncut"].get(name, (low, high))
            description["uncut"][name] = [min(low, lowest), max(high, highest)]
        description |= {
            name: description[name] + file_description[name] for name in ("rows", "dropped")
        }
    description["joint"] = _merge_joint_sums(descriptions)
    return description


def _usable_joint_sums(table: pl.DataFrame, description: Mapping[str, Any]) -> Sequence[Any]:
    """Return the joint sums of all files; none where they were made for other counts."""
    joint = description["joint"]
    reference_digest = joint["against"] if joint else None
    return joint["sums"] if reference_digest == counts_digest(table, description) else []


def _with_file_names(
    frames: Sequence[pl.LazyFrame], files: Sequence[TableFile]
) -> list[pl.LazyFrame]:
    """Return the counts of files with their names as slices; with folders where names are equal."""
    stems = [file.display_name.removesuffix(SUFFIX) for file in files]
    if len({*stems}) < len(stems):
        stems = [file.name.removesuffix(SUFFIX) for file in files]
    return [frame.with_columns(b0=pl.lit(stem)) for frame, stem in zip(frames, stems, strict=True)]


def _patterns_by_slice(
    table: pl.DataFrame,
    description: Mapping[str, Any],
    columns: Columns,
    short_names: Mapping[str, str],
) -> tuple[dict[str | None, PatternCounts], dict[tuple[str | None, str], tuple[int, int]]]:
    """Return the patterns of each slice, and the rows of hidden labels of slices and models.

    short_names: the columns b0.. of the slices by name.
    """
    models = [model.name for model in columns.models]
    unknown = dict[tuple[str | None, str], tuple[int, int]]()
    pattern_rows = table.filter(block=SCORES if description["min_cell"] else PATTERNS)
    slice_patterns = dict[str | None, PatternCounts]()
    for label, row_indices in _slices(pattern_rows, columns.facets, short_names).items():
        slice_table = pattern_rows[row_indices]
        if description["min_cell"]:
            slice_table, hidden_rows = _label_totals(slice_table, description)
            unknown |= {(label, model): row_counts for model, row_counts in hidden_rows.items()}
        votes = np.array([list(text) for text in slice_table["pattern"].to_list()], "U1") == "1"
        votes = votes.reshape(len(slice_table), len(models))
        slice_patterns[label] = PatternCounts.from_votes(
            models, slice_table["truth"].to_numpy(), votes, slice_table["n"].to_numpy()
        )
    return slice_patterns, unknown


def _count_fields(
    opened_table: Predictions,
    description: Mapping[str, Any],
    descriptions: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the fields of `PredictionCounts` that follow from descriptions."""
    input_options, columns = opened_table.roles, opened_table.columns
    tasks = start_fingerprints(opened_table.files)
    files = tuple(
        input_file(file, task, file_description["rows"], file_description["dropped"])
        for file, task, file_description in zip(
            opened_table.files, tasks, descriptions, strict=True
        )
    )
    thresholds = {
        name: np.inf if threshold is None else threshold
        for name, threshold in description["thresholds"].items()
    }
    names = [columns.truth, *(model.name for model in columns.models)]
    profiles = {name: ColumnProfile(frozenset(description["classes"])) for name in names}
    settings = CountSettings(
        columns,
        description["positive"],
        thresholds,
        input_options,
        opened_table.layout,
        opened_table.files,
        tasks,
        profiles,
    )
    rows = sum(file.rows for file in files)
    no_votes = ((),) * len(columns.models)
    return {
        "files": files,
        "positive": description["positive"],
        "classes": tuple(description["classes"]),
        "order": tuple(description["classes"]),
        "models": columns.models,
        "thresholds": description["thresholds"],
        "ties": {},
        "blank_rows": 0,
        "roles": input_options,
        "evaluated": StoredRows(
            settings,
            mode="plain",
            positive_values=(),
            vote_values=no_votes,
            complete=True,
            rows=rows,
        ),
        "uncut": {name: tuple(limits) for name, limits in description["uncut"].items()},
    }


def file_digest(table: pl.DataFrame, description: Mapping[str, Any]) -> str:
    """Return the sha256 of the counts of a file and of its description."""
    return _digest(table, {name: description[name] for name in description if name != "digest"})


def counts_digest(table: pl.DataFrame, description: Mapping[str, Any]) -> str:
    """Return the sha256 of counts, the same from every engine, version and order of files."""
    part_fields = ("parts", "joint", "digest")
    return _digest(
        table, {name: description[name] for name in description if name not in part_fields}
    )


def digests(table: pl.DataFrame, description: Mapping[str, Any]) -> list[str]:
    """Return the digest of the counted rows as a list, empty for so few that others may be equal.

    It is the same whatever options the rows were counted with, alone and among others: that of
    the counts of the whole table in the largest buckets. Where small counts are hidden, it is the
    digest of what is published.
    """
    if description["rows"] < FEWEST:
        return []
    if description["min_cell"]:
        return [_digest(table, {"min_cell": description["min_cell"]})]
    rows = table.lazy().select(*COUNTED, *SUMMED)
    counts = _fold_scores(_sum_counts(rows, COUNTED), LEAST_BITS, description["thresholds"])
    return [_digest(counts, {"models": description["models"], "positive": description["positive"]})]


def _digest(table: pl.DataFrame, description: Mapping[str, Any]) -> str:
    """Return the sha256 of columns, in the order of the rows, and of a description."""
    hasher = sha256(json.dumps(description, sort_keys=True).encode())
    for column in table.rechunk().iter_columns():
        null_count = column.null_count()
        hasher.update(f"{column.name} {len(column)} {null_count}".encode())
        if null_count == len(column):
            continue
        if column.dtype == pl.String:  # few runs of equal texts
            hasher.update(repr(column.rle().struct.unnest().rows()).encode())
            continue
        numbers = column.cast(pl.Int64) if column.dtype == pl.Boolean else column
        if null_count:
            hasher.update(np.packbits(column.is_null().to_numpy()).tobytes())
            numbers = numbers.fill_null(0)
        dtype = "<f8" if column.dtype == pl.Float64 else "<i8"
        hasher.update((numbers.to_numpy() + 0).astype(dtype, copy=False).tobytes())  # -0.0 is 0.0
    return hasher.hexdigest()


def _merge(
    frames: Sequence[pl.LazyFrame],
    by: Sequence[str],
    descriptions: Sequence[Any],
    requested_scores: str | None,
) -> tuple[pl.DataFrame, str]:
    """Return the added counts of files, and whether scores are single or in buckets."""
    keys = [*COUNTED[:1], *by, *COUNTED[1:]]
    rows = pl.concat([frame.select(*keys, *SUMMED) for frame in frames])
    table = _sum_counts(rows, keys) if len(frames) > 1 else rows.collect()
    bits = _bits_in_force(table, descriptions, requested_scores)
    if descriptions[0]["min_cell"]:
        return table.select(*keys, *SUMMED), RUNS
    file_bits = {parse_bits(description["scores"]) for description in descriptions}
    if bits is not None and file_bits != {bits}:
        table = _fold_scores(table, bits, descriptions[0]["thresholds"])
    return table.select(*keys, *SUMMED), format_bits(bits)


def _merge_joint_sums(descriptions: Sequence[Any]) -> dict[str, Any]:
    """Return the joint sums of all files; {} unless all have them, by the same counts."""
    joint_sums = [description.get("joint") or {"against": None} for description in descriptions]
    references = {joint["against"] for joint in joint_sums}
    if None in references or len(references) > 1:
        return {}
    sums = sorted(
        (part_sums for joint in joint_sums for part_sums in joint["sums"]), key=json.dumps
    )
    return {"against": references.pop(), "sums": sums}


def _fold_scores(table: pl.DataFrame, bits: int, thresholds: Mapping[str, float | None]) -> Any:
    """Return counts with all scores in buckets, from single scores or smaller buckets."""
    keys = [name for name in table.columns if name not in SUMMED]
    blocks = [table.filter(pl.col("block") != SCORES)]
    for model_rows in table.filter(block=SCORES).partition_by("model"):
        threshold = thresholds[model_rows["model"][0]]
        folded = with_buckets(nw.from_native(model_rows.lazy()), "lo", bits, threshold)
        terms = {f"m{i}": pl.coalesce(f"m{i}", pl.col(f"d{i}") * pl.col("n")) for i in (1, 2)}
        blocks.append(folded.to_native().with_columns(**terms).select(table.columns).collect())
    return _sum_counts(pl.concat(blocks).lazy(), keys)


def _sum_counts(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return counts with equal keys added, sorted."""
    sums = (pl.col(SUMMED[:3]).sum(), pl.col("lo").min(), pl.col("hi").max())
    is_single = pl.col("m1").is_null().all().alias("single")
    table = rows.group_by(keys).agg(*sums, is_single).sort(keys)
    # null where no row has a sum: polars would give 0
    known_sums = pl.when(~pl.col("single")).then(pl.col("m1", "m2"))
    return table.with_columns(known_sums).drop("single").collect(engine="streaming")


def exact_keys(scores: Floats) -> Ints:
    """Return integers (n,) in the order of the scores, a different one for each."""
    bits = (scores + 0.0).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)


def _check_sums(table: pl.DataFrame, description: Mapping[str, Any], name: str) -> None:
    """Raise DataError for counts that do not add up to the rows: a part is missing or changed."""
    hides_counts = description["min_cell"] > 0
    models = description["models"]
    scored_models = [model["name"] for model in models if hides_counts or model["kind"] == "score"]
    totals = table.group_by("block", "model").agg(pl.col("n").sum()).rows()
    sums = {(block, model): row_count for block, model, row_count in totals}
    blocks = {(SCORES, model) for model in scored_models}
    if not hides_counts:
        blocks.add((PATTERNS, None))
    pattern_lengths = table.filter(block=PATTERNS)["pattern"].str.len_bytes()
    is_complete = {*sums} == blocks and {*sums.values()} == {description["rows"]}
    if not is_complete or not {*pattern_lengths} <= {len(models)}:
        raise damaged_counts("they do not add up", name)


def _label_totals(
    runs: pl.DataFrame, description: Mapping[str, Any]
) -> tuple[pl.DataFrame, dict[str, tuple[int, int]]]:
    """Return patterns with the numbers of each label of each model, and rows of hidden labels.

    Which rows have the same labels is not known: patterns are those of the fewest rows that differ.
    Hidden labels, of positives and of negatives of a model, are counted as negative.
    """
    models = description["models"]
    # labels are counted as scores 0 and 1
    thresholds = {model["name"]: 0.5 if model["kind"] == "label" else np.inf for model in models}
    thresholds |= {
        name: threshold
        for name, threshold in description["thresholds"].items()
        if threshold is not None
    }
    model_threshold = pl.col("model").replace_strict(thresholds, return_dtype=pl.Float64)
    flagged_rows = _rows_by_model_and_truth(runs.filter(pl.col("lo") >= model_threshold))
    split_rows = _rows_by_model_and_truth(
        runs.filter(pl.col("lo") < model_threshold, pl.col("hi") >= model_threshold)
    )
    pattern_rows = list[tuple[str, bool, int]]()
    first_runs = runs.filter(model=models[0]["name"])
    for truth, n in first_runs.group_by("truth").agg(pl.col("n").sum()).rows():
        flagged_counts = [flagged_rows.get((model, truth), 0) for model in thresholds]
        for low_count, high_count in pairwise(sorted({0, *flagged_counts, n})):
            pattern = "".join("01"[low_count < count] for count in flagged_counts)
            pattern_rows.append((pattern, truth, high_count - low_count))
    hidden_rows = {
        model: (split_rows.get((model, True), 0), split_rows.get((model, False), 0))
        for model, _ in split_rows
    }
    return pl.DataFrame(pattern_rows, ["pattern", "truth", "n"], orient="row"), hidden_rows


def _rows_by_model_and_truth(runs: pl.DataFrame) -> dict[tuple[str, bool], int]:
    """Return the number of rows of each model and truth."""
    totals = runs.group_by("model", "truth").agg(pl.col("n").sum())
    return {(model, truth): n for model, truth, n in totals.rows()}


def _slices(
    table: pl.DataFrame, facets: Facets, short_names: Mapping[str, str]
) -> dict[str | None, Ints]:
    """Return the row indices of the whole table (None) and of each slice."""
    columns = {name: table[short_name].to_list() for name, short_name in short_names.items()}
    rows_by_slice: dict[str | None, Ints] = {None: np.arange(len(table))}
    return rows_by_slice | slice_rows(facets, columns)


def scores_by_model(
    table: pl.DataFrame,
    models: Sequence[ModelColumns],
    facets: Facets,
    short_names: Mapping[str, str],
) -> dict[int, Mapping[str | None, ScoreCounts]]:
    """Return the scores, or buckets, of each model with scores, by its index among all models."""
    return {
        i: score_counts_by_slice(table.filter(block=SCORES, model=model.name), facets, short_names)
        for i, model in enumerate(models)
        if model.kind != "label"
    }


def score_counts_by_slice(
    table: pl.DataFrame, facets: Facets, short_names: Mapping[str, str]
) -> dict[str | None, ScoreCounts]:
    """Return the scores, or buckets, of a model in the whole table and in each slice.

    short_names: the columns b0.. of the slices by name.
    """
    columns = ("key", "truth", *SUMMED)
    key, truth, n, m1, m2, low, high = (table[name].fill_null(0).to_numpy() for name in columns)
    has_sums = table["m1"].null_count() < len(table)
    has_buckets = has_sums or bool((low < high).any())
    _, key_index = np.unique(key, return_inverse=True)
    lowest = np.full(key_index.max(initial=-1) + 1, np.inf)
    np.minimum.at(lowest, key_index, low)

    def count_scores(rows: Ints) -> ScoreCounts:
        is_positive = truth[rows]
        if not has_buckets:
            positives = np.where(is_positive, n[rows], 0)
            negatives = np.where(is_positive, 0, n[rows])
            return ScoreCounts.from_scores(low[rows], positives, negatives)
        present_keys, bucket_index = np.unique(key_index[rows], return_inverse=True)
        cell_indices = (~is_positive).astype(np.int64), bucket_index
        sums = np.zeros((3, 2, len(present_keys)), np.int64)
        for cell_sums, column in zip(sums, (n, m1, m2), strict=True):
            np.add.at(cell_sums, cell_indices, column[rows])
        smallest = np.full((2, len(present_keys)), np.inf)
        largest = np.full((2, len(present_keys)), -np.inf)
        np.minimum.at(smallest, cell_indices, low[rows])
        np.maximum.at(largest, cell_indices, high[rows])
        (positives, negatives), m1_sums, m2_sums = sums
        buckets = Buckets.from_sums(m1_sums, m2_sums, smallest, largest, hidden=not has_sums)
        return ScoreCounts(lowest[present_keys], positives, negatives, buckets=buckets)

    return {
        label: count_scores(rows) for label, rows in _slices(table, facets, short_names).items()
    }


def _bits_in_force(
    table: pl.DataFrame, descriptions: Sequence[Any], requested_scores: str | None
) -> int | None:
    """Return the bits of the buckets of added counts: the fewest of those of files and requested.

    None for single scores.
    """
    file_bits = [parse_bits(description["scores"]) for description in descriptions]
    if requested_scores == EXACT and any(file_bits):
        message = f"{OPTION}--scores{END} {EXACT}, but counts hold buckets of scores"
        raise UsageError.new(message, "needs-predictions", hint="count the tables again with it")
    requested_bits = [] if requested_scores is None else [parse_bits(requested_scores)]
    known_bits = [bits for bits in (*file_bits, *requested_bits) if bits is not None]
    if known_bits:
        return min(known_bits)
    distinct_expr = pl.col("key").n_unique()
    most_distinct = table.filter(block=SCORES).group_by("model").agg(distinct_expr)["key"].max()
    # the number is None without scores
    has_many = isinstance(most_distinct, int) and most_distinct > MOST_DISTINCT
    return BITS if requested_scores is None and has_many else None


def parse_bits(text: str) -> int | None:
    """Return the bits of `buckets:M`; None of `exact`."""
    return None if text == EXACT else int(text.partition(":")[2] or BITS)


def format_bits(bits: int | None) -> str:
    """Return `exact`, or `buckets:M`."""
    return EXACT if bits is None else f"buckets:{bits}"
