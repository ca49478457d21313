"""Long files of reader studies (iMRMC): truth in rows of its own, a row per reader and modality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clfeval.errors import DataError, list_names
from clfeval.tables.formats.frames import numbered_frame, with_frame
from clfeval.tables.formats.record import Converted, FormatTable
from clfeval.tables.frames import pl
from clfeval.tables.invalid_cells import ROW

TRUTH = "truth"


def convert_reader_study(
    table: FormatTable, columns: Mapping[str, Sequence[str]]
) -> Converted | None:
    """Return a row for each reader and case, with truth and a column for each modality.

    The score of a row of the modality `truth` is the truth of its case.
    """
    reader, case, modality, score = (names[0] for names in columns.values())
    names = dict(zip(("reader", "case", "modality", "score"), (reader, case, modality, score)))
    cells = numbered_frame(table.file).with_columns(pl.col([*names.values()]).cast(pl.String))
    rows = cells.collect(engine="streaming")
    is_truth = pl.col(modality).str.strip_chars().str.to_lowercase() == TRUTH
    truth = rows.filter(is_truth)
    scores = rows.filter(~is_truth.fill_null(value=False))
    if not truth.height or not scores.height:
        return None
    _refuse_repeated(table.file.name, truth, [case], "has two rows of truth")
    _refuse_repeated(table.file.name, scores, [reader, case, modality], "has two scores")
    lacking = scores.join(truth, on=case, how="anti")
    if lacking.height:
        message = f"'{lacking[case][0]}' has no row of truth"
        hint = f"each case needs a row with {modality} '{TRUTH}'"
        raise DataError.new(message, "no-truth", table.file.name, lacking[ROW][0], case, hint=hint)
    models = scores[modality].unique(maintain_order=True).to_list()
    wide = scores.pivot(modality, index=[reader, case], values=score).with_columns(
        scores.group_by(reader, case, maintain_order=True).agg(pl.col(ROW).min())[ROW]
    )
    labels = truth.select(case, pl.col(score).alias(TRUTH))
    frame = wide.join(labels, on=case, how="left", maintain_order="left")
    new_columns = [TRUTH, reader, case, *models]
    file = with_frame(table.file, frame.select(ROW, *new_columns).lazy(), new_columns)
    options = {"truth": TRUTH, "cluster": case, "model": tuple(models)}
    remark = f"a row for each reader and case, models {list_names(models, 4)}, readers are fixed"
    return Converted(file, options, remark)


def _refuse_repeated(
    file: str, rows: pl.DataFrame, keys: Sequence[str], message: str
) -> None:
    """Raise for rows that have the same keys as earlier ones."""
    again = rows.filter(~pl.struct(keys).is_first_distinct())
    if again.height:
        text = f"'{', '.join(map(str, again.select(keys).row(0)))}' {message}"
        hint = "keep one of these rows"
        raise DataError.new(text, "duplicate-row", file, again[ROW][0], keys[-1], hint=hint)
