"""Long files of reader studies (iMRMC): truth in rows of its own, a row per reader and modality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clfeval.errors import DataError, list_names
from clfeval.records import dataclass
from clfeval.tables.formats.frames import numbered_frame, with_frame
from clfeval.tables.formats.record import Converted, FormatTable
from clfeval.tables.frames import pl
from clfeval.tables.invalid_cells import ROW
from clfeval.tables.scan import TableFile

TRUTH = "truth"
_NO_READER = ("-1", "-1.0")


@dataclass(frozen=True, slots=True)
class StudyColumns:
    """The columns of a long file of a reader study."""

    reader: str
    case: str
    modality: str
    score: str


def convert_reader_study(
    table: FormatTable, columns: Mapping[str, Sequence[str]]
) -> Converted | None:
    """Return a row for each reader and case, with truth and a column for each modality.

    The score of a row of the modality `truth`, or of the reader -1, is the truth of its case.
    """
    names = StudyColumns(*(matching[0] for matching in columns.values()))
    truth, scores = _truth_and_scores(table.file, names)
    if not truth.height or not scores.height:
        return None
    _check_rows(table.file.name, names, truth, scores)
    models = scores[names.modality].unique(maintain_order=True).to_list()
    frame = _joined_rows(names, truth, scores)
    new_columns = [TRUTH, names.reader, names.case, *models]
    remark = f"a row for each reader and case, models {list_names(models, 4)}, readers are fixed"
    return Converted(
        with_frame(table.file, frame.select(ROW, *new_columns).lazy(), new_columns),
        {"truth": TRUTH, "cluster": names.case, "model": tuple(models)},
        remark,
    )


def _truth_and_scores(file: TableFile, names: StudyColumns) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows that have the truth of a case, and those that have a score of a reader."""
    cells = pl.col(names.reader, names.case, names.modality, names.score).cast(pl.String)
    rows = numbered_frame(file).select(ROW, cells).collect()
    marks = pl.col(names.reader, names.modality).str.strip_chars().str.to_lowercase()
    is_truth = pl.any_horizontal(marks.is_in([TRUTH, *_NO_READER]))
    return rows.filter(is_truth), rows.filter(~is_truth.fill_null(value=False))


def _joined_rows(names: StudyColumns, truth: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each reader and case, numbered by the first of its scores."""
    keys = [names.reader, names.case]
    wide = scores.pivot(names.modality, index=keys, values=names.score)
    labels = truth.select(names.case, pl.col(names.score).alias(TRUTH))
    numbers = scores.group_by(keys).agg(pl.col(ROW).min())
    return wide.join(numbers, on=keys).join(labels, on=names.case).sort(ROW)


def _check_rows(file: str, names: StudyColumns, truth: pl.DataFrame, scores: pl.DataFrame) -> None:
    """Raise for cases without truth, and for two rows of one case, reader and modality."""
    _refuse_repeated(file, truth, [names.case], "has two rows of truth")
    keys = [names.reader, names.case, names.modality]
    _refuse_repeated(file, scores, keys, "has two scores")
    lacking = scores.join(truth, on=names.case, how="anti")
    if lacking.height:
        message = f"'{lacking[names.case][0]}' has no row of truth"
        hint = f"each case needs a row with {names.modality} '{TRUTH}'"
        raise DataError.new(message, "no-truth", file, lacking[ROW][0], names.case, hint=hint)


def _refuse_repeated(file: str, rows: pl.DataFrame, keys: Sequence[str], message: str) -> None:
    """Raise for rows that have the same keys as earlier ones."""
    again = rows.filter(~pl.struct(keys).is_first_distinct())
    if again.height:
        text = f"'{', '.join(map(str, again.select(keys).row(0)))}' {message}"
        hint = "keep one of these rows"
        raise DataError.new(text, "duplicate-row", file, again[ROW][0], keys[-1], hint=hint)
