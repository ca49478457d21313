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
    opened: Predictions, descriptions: Sequence[Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Read counts files, and add their counts; return the fields of `PredictionCounts`.

    descriptions: given where the counts are in no file. Raises DataError for a damaged file.
    """
    columns = opened.columns
    if descriptions is None:
        descriptions = [read_description(file) or {} for file in opened.files]
        pairs = [*zip(opened.files, descriptions, strict=True)]
        parts = [_verified_counts(*pair, alone=len(pairs) == 1) for pair in pairs]
    else:
        parts = [*map(_lazy_table, opened.files)]
    merged = _merge_descriptions(descriptions)
    by, scores_asked = slice_columns(merged), opened.roles.scores
    table, merged["scores"] = _merge(parts, by, descriptions, scores_asked)
    joint = _usable_joint_sums(table, merged)
    if columns.by == (FILE,) and not merged["facets"]:
        merged |= {"facets": [[FILE]], "by": [FILE]}
        parts = _with_file_names(parts, opened.files)
        table, _ = _merge(parts, slice_columns(merged), descriptions, scores_asked)
    texts = {name: f"b{j}" for j, name in enumerate(columns.by)}
    _check_sums(table, merged, opened.files[0].name)
    by_slice, unknown = _patterns_by_slice(table, merged, columns, texts)
    scores = scores_by_model(table, columns.models, columns.facets, texts)
    stored = StoredCounts(scores, table, merged, joint, unknown)
    return {"slices": by_slice, "stored": stored, **_count_fields(opened, merged, descriptions)}


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
    at_hand = alone or len(table) <= MOST_ROWS_AT_HAND
    return table.lazy() if at_hand else frame


def _check_keys(table: pl.DataFrame, description: Mapping[str, Any], name: str) -> None:
    """Raise DataError where the keys of a file are not in the order of its scores."""
    scores = table.filter(block=SCORES)
    if description["scores"] in (EXACT, RUNS):
        keys = exact_keys(scores["lo"].to_numpy())
        ordered = np.array_equal(keys, scores["key"].to_numpy())
    else:
        limits = (pl.col("lo").min(), pl.col("hi").max())
        buckets = scores.group_by("model", "key").agg(*limits).sort("model", "key")
        same_model = pl.col("model") == pl.col("model").shift()
        ordered = not buckets.select(
            (same_model & (pl.col("lo") <= pl.col("hi").shift())).any()
        ).item()
    if not ordered:
        raise damaged_counts("is not in the order of the scores", name, column="key")


def _merge_descriptions(descriptions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the description of added counts."""
    description: dict[str, Any] = {**descriptions[0], "uncut": {**descriptions[0]["uncut"]}}
    description.pop("digest", None)
    for part in descriptions[1:]:
        description["classes"] = sorted(
            {*description["classes"], *part["classes"]}, key=natural_sort_key
        )
        description["parts"] = sorted([*description["parts"], *part["parts"]])
        for name, (low, high) in part["uncut"].items():
            lowest, highest = description["uncut"].get(name, (low, high))
            description["uncut"][name] = [min(low, lowest), max(high, highest)]
        description |= {name: description[name] + part[name] for name in ("rows", "dropped")}
    description["joint"] = _merge_joint_sums(descriptions)
    return description


def _usable_joint_sums(table: pl.DataFrame, description: Mapping[str, Any]) -> Sequence[Any]:
    """Return the joint sums of all files; none where they were made for other counts."""
    joint = description["joint"]
    made_for = joint["against"] if joint else None
    return joint["sums"] if made_for == counts_digest(table, description) else []


def _with_file_names(
    parts: Sequence[pl.LazyFrame], files: Sequence[TableFile]
) -> list[pl.LazyFrame]:
    """Return the counts of files with their names as slices, in folders where others are equal."""
    stems = [file.display_name.removesuffix(SUFFIX) for file in files]
    if len({*stems}) < len(stems):
        stems = [file.name.removesuffix(SUFFIX) for file in files]
    return [part.with_columns(b0=pl.lit(stem)) for part, stem in zip(parts, stems, strict=True)]


def _patterns_by_slice(
    table: pl.DataFrame, description: Mapping[str, Any], columns: Columns, texts: Mapping[str, str]
) -> tuple[dict[str | None, PatternCounts], dict[tuple[str | None, str], tuple[int, int]]]:
    """Return the patterns of each slice, and the rows of hidden labels of slices and models.

    texts: the columns b0.. of the slices by name.
    """
    models = [model.name for model in columns.models]
    unknown = dict[tuple[str | None, str], tuple[int, int]]()
    patterns = table.filter(block=SCORES if description["min_cell"] else PATTERNS)
    by_slice = dict[str | None, PatternCounts]()
    for label, rows in _slices(patterns, columns.facets, texts).items():
        part = patterns[rows]
        if description["min_cell"]:
            part, hidden = _label_totals(part, description)
            unknown |= {(label, model): numbers for model, numbers in hidden.items()}
        votes = np.array([list(text) for text in part["pattern"].to_list()], "U1") == "1"
        votes = votes.reshape(len(part), len(models))
        by_slice[label] = PatternCounts.from_votes(
            models, part["truth"].to_numpy(), votes, part["n"].to_numpy()
        )
    return by_slice, unknown


def _count_fields(
    opened: Predictions, description: Mapping[str, Any], descriptions: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the fields of `PredictionCounts` that follow from descriptions."""
    roles, columns = opened.roles, opened.columns
    tasks = start_fingerprints(opened.files)
    files = tuple(
        input_file(file, task, part["rows"], part["dropped"])
        for file, task, part in zip(opened.files, tasks, descriptions, strict=True)
    )
    thresholds = {
        name: np.inf if cut is None else cut for name, cut in description["thresholds"].items()
    }
    names = [columns.truth, *(model.name for model in columns.models)]
    profiles = {name: ColumnProfile(frozenset(description["classes"])) for name in names}
    settled = CountSettings(
        columns,
        description["positive"],
        thresholds,
        roles,
        opened.layout,
        opened.files,
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
        "roles": roles,
        "evaluated": StoredRows(settled, "plain", (), no_votes, True, rows),
        "uncut": {name: tuple(limits) for name, limits in description["uncut"].items()},
    }


def file_digest(table: pl.DataFrame, description: Mapping[str, Any]) -> str:
    """Return the sha256 of the counts of a file and of its description."""
    return _digest(table, {name: description[name] for name in description if name != "digest"})


def counts_digest(table: pl.DataFrame, description: Mapping[str, Any]) -> str:
    """Return the sha256 of counts, the same from every engine, version and order of files."""
    of_parts = ("parts", "joint", "digest")
    return _digest(table, {name: description[name] for name in description if name not in of_parts})


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
    digest = sha256(json.dumps(description, sort_keys=True).encode())
    for column in table.rechunk().iter_columns():
        nulls = column.null_count()
        digest.update(f"{column.name} {len(column)} {nulls}".encode())
        if nulls == len(column):
            continue
        if column.dtype == pl.String:  # few runs of equal texts
            digest.update(repr(column.rle().struct.unnest().rows()).encode())
            continue
        numbers = column.cast(pl.Int64) if column.dtype == pl.Boolean else column
        if nulls:
            digest.update(np.packbits(column.is_null().to_numpy()).tobytes())
            numbers = numbers.fill_null(0)
        kind = "<f8" if column.dtype == pl.Float64 else "<i8"
        digest.update((numbers.to_numpy() + 0).astype(kind, copy=False).tobytes())  # -0.0 is 0.0
    return digest.hexdigest()


def _merge(
    parts: Sequence[pl.LazyFrame],
    by: Sequence[str],
    descriptions: Sequence[Any],
    requested: str | None,
) -> tuple[pl.DataFrame, str]:
    """Return the added counts of files, and whether scores are single or in buckets."""
    keys = [*COUNTED[:1], *by, *COUNTED[1:]]
    rows = pl.concat([part.select(*keys, *SUMMED) for part in parts])
    table = _sum_counts(rows, keys) if len(parts) > 1 else rows.collect()
    bits = _bits_in_force(table, descriptions, requested)
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
    sums = sorted((part for joint in joint_sums for part in joint["sums"]), key=json.dumps)
    return {"against": references.pop(), "sums": sums}


def _fold_scores(table: pl.DataFrame, bits: int, thresholds: Mapping[str, float | None]) -> Any:
    """Return counts with all scores in buckets, from single scores or smaller buckets."""
    keys = [name for name in table.columns if name not in SUMMED]
    parts = [table.filter(pl.col("block") != SCORES)]
    for rows in table.filter(block=SCORES).partition_by("model"):
        cut = thresholds[rows["model"][0]]
        folded = with_buckets(nw.from_native(rows.lazy()), "lo", bits, cut)
        terms = {f"m{i}": pl.coalesce(f"m{i}", pl.col(f"d{i}") * pl.col("n")) for i in (1, 2)}
        parts.append(folded.to_native().with_columns(**terms).select(table.columns).collect())
    return _sum_counts(pl.concat(parts).lazy(), keys)


def _sum_counts(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return counts with equal keys added, sorted."""
    sums = (pl.col(SUMMED[:3]).sum(), pl.col("lo").min(), pl.col("hi").max())
    single = pl.col("m1").is_null().all().alias("single")
    table = rows.group_by(keys).agg(*sums, single).sort(keys)
    none = pl.when(~pl.col("single")).then(pl.col("m1", "m2"))
    return table.with_columns(none).drop("single").collect(engine="streaming")


def exact_keys(scores: Floats) -> Ints:
    """Return integers (n,) in the order of the scores, a different one for each."""
    bits = (scores + 0.0).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)


def _check_sums(table: pl.DataFrame, description: Mapping[str, Any], name: str) -> None:
    """Raise DataError for counts that do not add up to the rows: a part is missing or changed."""
    hides = description["min_cell"] > 0
    models = description["models"]
    scored = [model["name"] for model in models if hides or model["kind"] == "score"]
    totals = table.group_by("block", "model").agg(pl.col("n").sum()).rows()
    sums = {(block, model): n for block, model, n in totals}
    blocks = {*[(PATTERNS, None)] * (not hides), *((SCORES, model) for model in scored)}
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
    cuts = {model["name"]: 0.5 if model["kind"] == "label" else np.inf for model in models}
    cuts |= {name: cut for name, cut in description["thresholds"].items() if cut is not None}
    cut = pl.col("model").replace_strict(cuts, return_dtype=pl.Float64)
    above = _rows_by_model_and_truth(runs.filter(pl.col("lo") >= cut))
    split = _rows_by_model_and_truth(runs.filter(pl.col("lo") < cut, pl.col("hi") >= cut))
    rows = list[tuple[str, bool, int]]()
    first_runs = runs.filter(model=models[0]["name"])
    for truth, n in first_runs.group_by("truth").agg(pl.col("n").sum()).rows():
        flagged = [above.get((model, truth), 0) for model in cuts]
        for low, high in pairwise(sorted({0, *flagged, n})):
            pattern = "".join("01"[low < count] for count in flagged)
            rows.append((pattern, truth, high - low))
    hidden = {
        model: (split.get((model, True), 0), split.get((model, False), 0)) for model, _ in split
    }
    return pl.DataFrame(rows, ["pattern", "truth", "n"], orient="row"), hidden


def _rows_by_model_and_truth(runs: pl.DataFrame) -> dict[tuple[str, bool], int]:
    """Return the number of rows of each model and truth."""
    totals = runs.group_by("model", "truth").agg(pl.col("n").sum())
    return {(model, truth): n for model, truth, n in totals.rows()}


def _slices(
    table: pl.DataFrame, facets: Facets, texts: Mapping[str, str]
) -> dict[str | None, Ints]:
    """Return the rows of the whole table (None) and of each slice."""
    columns = {name: table[short].to_list() for name, short in texts.items()}
    rows_by_slice: dict[str | None, Ints] = {None: np.arange(len(table))}
    return rows_by_slice | slice_rows(facets, columns)


def scores_by_model(
    table: pl.DataFrame, models: Sequence[ModelColumns], facets: Facets, texts: Mapping[str, str]
) -> dict[int, Mapping[str | None, ScoreCounts]]:
    """Return the scores, or buckets, of each model with scores, by its place among all."""
    return {
        i: score_counts_by_slice(table.filter(block=SCORES, model=model.name), facets, texts)
        for i, model in enumerate(models)
        if model.kind != "label"
    }


def score_counts_by_slice(
    table: pl.DataFrame, facets: Facets, texts: Mapping[str, str]
) -> dict[str | None, ScoreCounts]:
    """Return the scores, or buckets, of a model in the whole table and in each slice.

    texts: the columns b0.. of the slices by name.
    """
    names = ("key", "truth", *SUMMED)
    key, truth, n, m1, m2, low, high = (table[name].fill_null(0).to_numpy() for name in names)
    summed = table["m1"].null_count() < len(table)
    bucketed = summed or bool((low < high).any())
    _, place = np.unique(key, return_inverse=True)
    lowest = np.full(place.max(initial=-1) + 1, np.inf)
    np.minimum.at(lowest, place, low)

    def count_scores(rows: Ints) -> ScoreCounts:
        is_positive = truth[rows]
        if not bucketed:
            positives = np.where(is_positive, n[rows], 0)
            negatives = np.where(is_positive, 0, n[rows])
            return ScoreCounts.from_scores(low[rows], positives, negatives)
        present, bucket = np.unique(place[rows], return_inverse=True)
        cells = (~is_positive).astype(np.int64), bucket
        sums = np.zeros((3, 2, len(present)), np.int64)
        for cell_sums, column in zip(sums, (n, m1, m2), strict=True):
            np.add.at(cell_sums, cells, column[rows])
        smallest = np.full((2, len(present)), np.inf)
        largest = np.full((2, len(present)), -np.inf)
        np.minimum.at(smallest, cells, low[rows])
        np.maximum.at(largest, cells, high[rows])
        buckets = Buckets.from_sums(sums[1], sums[2], smallest, largest, hidden=not summed)
        return ScoreCounts(lowest[present], sums[0, 0], sums[0, 1], buckets=buckets)

    return {label: count_scores(rows) for label, rows in _slices(table, facets, texts).items()}


def _bits_in_force(
    table: pl.DataFrame, descriptions: Sequence[Any], requested: str | None
) -> int | None:
    """Return the bits of the buckets of added counts: the fewest of those of files and requested.

    None for single scores.
    """
    file_bits = [parse_bits(description["scores"]) for description in descriptions]
    if requested == EXACT and any(file_bits):
        message = f"{OPTION}--scores{END} {EXACT}, but counts hold buckets of scores"
        raise UsageError.new(message, "needs-predictions", hint="count the tables again with it")
    requested_bits = [] if requested is None else [parse_bits(requested)]
    known_bits = [bits for bits in (*file_bits, *requested_bits) if bits is not None]
    if known_bits:
        return min(known_bits)
    distinct = pl.col("key").n_unique()
    most = table.filter(block=SCORES).group_by("model").agg(distinct)["key"].max()
    return BITS if requested is None and isinstance(most, int) and most > MOST_DISTINCT else None


def parse_bits(text: str) -> int | None:
    """Return the bits of `buckets:M`; None of `exact`."""
    return None if text == EXACT else int(text.partition(":")[2] or BITS)


def format_bits(bits: int | None) -> str:
    """Return `exact`, or `buckets:M`."""
    return EXACT if bits is None else f"buckets:{bits}"
