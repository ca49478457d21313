"""The formats of tools: a record for each. A table has the first whose columns and cells it has."""

from __future__ import annotations

from clfeval.tables.formats.class_columns import LOGITS, NUMBERS, convert_logits, convert_numbered
from clfeval.tables.formats.counts import (
    FN,
    FP,
    TP,
    convert_counts,
    convert_true_positives,
    refuse_two_truths,
)
from clfeval.tables.formats.one_hot import convert_one_hot
from clfeval.tables.formats.predicted_labels import convert_spelling
from clfeval.tables.formats.record import TableFormat
from clfeval.tables.formats.studies import convert_reader_study
from clfeval.tables.formats.vectors import convert_vectors

_PIPELINE = r"(?:pred|predicted|prediction|model|hf|pipeline)"

FORMATS = (
    TableFormat(
        "Weka",
        needs={
            "inst#": "any",
            "actual": "texts",
            "predicted": "texts",
            "error": "any",
            "prediction": "unit",
        },
        parts={
            "inst#": "id",
            "actual": "truth",
            "predicted": "labels",
            "prediction": "confidence",
            "error": "unused",
        },
        others="unused",
    ),
    TableFormat(
        "Weka",
        needs={"inst#": "any", "actual": "texts", "predicted": "texts", "distribution:.+": "any"},
        parts={
            "inst#": "id",
            "actual": "truth",
            "predicted": "labels",
            "distribution:.+": "probability",
        },
        others="unused",
    ),
    TableFormat(
        "tidymodels",
        needs={r"\.pred_class": "labels", r"\.row": "counts"},
        parts={
            r"\.pred_class": "labels",
            r"\.pred_.*": "probability",
            r"\.row": "id",
            r"id\d*": "unused",
            r"\.config|\.iter": "setting",
        },
        others="outcome",
    ),
    TableFormat(
        "caret",
        needs={"pred": "labels", "obs": "labels", "rowIndex": "counts"},
        parts={"obs": "truth", "pred": "labels", "rowIndex": "id", "Resample": "unused"},
    ),
    TableFormat(
        "H2O",
        needs={"predict": "labels", r"p\d+": "unit"},
        parts={"predict": "labels", r"p\d+": "probability", "StdErr|cal_.*": "unused"},
        others="outcome",
    ),
    TableFormat(
        "KNIME",
        needs={r"Prediction \(.+(?<!\(Confidence\))": "labels"},
        parts={
            r"Prediction \(.+ \(Confidence\)": "unused",
            r"Prediction \(.+": "labels",
            r"P \(.+=.+": "probability",
            r"(?i)row ?id": "id",
        },
        others="outcome",
    ),
    TableFormat(
        "Hugging Face pipeline",
        needs={f"{_PIPELINE}_label": "texts", f"(?:{_PIPELINE}_)?score": "unit"},
        parts={f"{_PIPELINE}_label": "labels", f"(?:{_PIPELINE}_)?score": "confidence"},
        others="outcome",
        convert=convert_spelling,
    ),
    TableFormat(
        "Hugging Face pipeline",
        needs={"label": "texts", "score": "unit"},
        parts={"label": "labels", "score": "confidence"},
        others="outcome",
        convert=convert_spelling,
    ),
    TableFormat("logits", needs={LOGITS: "numbers"}, convert=convert_logits),
    TableFormat("numbered classes", needs={NUMBERS: "unit"}, convert=convert_numbered),
    TableFormat(
        "Spark ML", needs={"(?:probability|rawPrediction).*": "vectors"}, convert=convert_vectors
    ),
    TableFormat(
        "iMRMC",
        needs={
            "(?i)reader_?id": "any",
            "(?i)case_?id": "any",
            "(?i)modality_?id": "any",
            "(?i)score": "any",
        },
        convert=convert_reader_study,
    ),
    TableFormat(
        "hap.py",
        needs={r"TRUTH\.TP": "any", r"TRUTH\.FN": "any", r"QUERY\.FP": "any"},
        convert=refuse_two_truths,
    ),
    TableFormat(
        "true and false positives",
        needs={TP: "counts", FP: "counts", FN: "counts"},
        convert=convert_true_positives,
    ),
    TableFormat("R counts", needs={"(?i)freq|n|count": "counts"}, convert=convert_counts),
    TableFormat(
        "one-hot classes", needs={".+": "any"}, convert=convert_one_hot, by_first_rows=True
    ),
)
