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
    table: FormatTable, columns_by_pattern: Mapping[str, Sequence[str]]
) -> Converted | None:
    """Return a row for each reader and case, with truth and a column for each modality.

    The score of a row of the modality `truth`, or of the reader -1, is the truth of its case.
    """
    study_columns = StudyColumns(*(matches[0] for matches in columns_by_pattern.values()))
    truth_rows, score_rows = _truth_and_scores(table.file, study_columns)
    if not truth_rows.height or not score_rows.height:
        return None
    _check_rows(table.file.name, study_columns, truth_rows, score_rows)
    models = score_rows[study_columns.modality].unique(maintain_order=True).to_list()
    frame = _joined_rows(study_columns, truth_rows, score_rows)
    new_columns = [TRUTH, study_columns.reader, study_columns.case, *models]
    remark = f"a row for each reader and case, models {list_names(models, 4)}, readers are fixed"
    return Converted(
        with_frame(table.file, frame.select(ROW, *new_columns).lazy(), new_columns),
        {"truth": TRUTH, "cluster": study_columns.case, "model": tuple(models)},
        remark,
    )


def _truth_and_scores(
    file: TableFile, study_columns: StudyColumns
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows that have the truth of a case, and those that have a score of a reader."""
    cells = pl.col(
        study_columns.reader, study_columns.case, study_columns.modality, study_columns.score
    ).cast(pl.String)
    rows = numbered_frame(file).select(ROW, cells).collect()
    reader_and_modality = (
        pl.col(study_columns.reader, study_columns.modality).str.strip_chars().str.to_lowercase()
    )
    is_truth = pl.any_horizontal(reader_and_modality.is_in([TRUTH, *_NO_READER]))
    return rows.filter(is_truth), rows.filter(~is_truth.fill_null(value=False))


def _joined_rows(
    study_columns: StudyColumns, truth_rows: pl.DataFrame, score_rows: pl.DataFrame
) -> pl.DataFrame:
    """Return a row for each reader and case, numbered by the first of its scores."""
    keys = [study_columns.reader, study_columns.case]
    wide_rows = score_rows.pivot(study_columns.modality, index=keys, values=study_columns.score)
    labels_of_cases = truth_rows.select(
        study_columns.case, pl.col(study_columns.score).alias(TRUTH)
    )
    row_numbers = score_rows.group_by(keys).agg(pl.col(ROW).min())
    return (
        wide_rows.join(row_numbers, on=keys).join(labels_of_cases, on=study_columns.case).sort(ROW)
    )


def _check_rows(
    file: str, study_columns: StudyColumns, truth_rows: pl.DataFrame, score_rows: pl.DataFrame
) -> None:
    """Raise for cases without truth, and for two rows of one case, reader and modality."""
    _refuse_repeated(file, truth_rows, [study_columns.case], "has two rows of truth")
    keys = [study_columns.reader, study_columns.case, study_columns.modality]
    _refuse_repeated(file, score_rows, keys, "has two scores")
    rows_without_truth = score_rows.join(truth_rows, on=study_columns.case, how="anti")
    if rows_without_truth.height:
        message = f"'{rows_without_truth[study_columns.case][0]}' has no row of truth"
        hint = f"each case needs a row with {study_columns.modality} '{TRUTH}'"
        raise DataError.new(
            message, "no-truth", file, rows_without_truth[ROW][0], study_columns.case, hint=hint
        )


def _refuse_repeated(file: str, rows: pl.DataFrame, keys: Sequence[str], message: str) -> None:
    """Raise for rows that have the same keys as earlier ones."""
    repeated_rows = rows.filter(~pl.struct(keys).is_first_distinct())
    if repeated_rows.height:
        full_message = f"'{', '.join(map(str, repeated_rows.select(keys).row(0)))}' {message}"
        hint = "keep one of these rows"
        raise DataError.new(
            full_message, "duplicate-row", file, repeated_rows[ROW][0], keys[-1], hint=hint
        )
