"""The tables of MARS, with what their columns mean."""

from __future__ import annotations

from clfeval.pages.schema import MODEL, SLICE, Column, Table, cols
from clfeval.pages.shared_tables import CELLS, MEASURED, POSITIVES, ROWS, THRESHOLD
from clfeval.placeholders import END, OPTION
from clfeval.records import replace

FOUND = Column(
    "found",
    "weight",
    "detected by any",
    best="max",
    meaning="rows of the target class that any model detects",
)
SUMMARY = (
    ROWS,
    POSITIVES,
    Column("negatives", "weight", meaning="rows of all other classes"),
    FOUND,
    Column(
        "missed_by_all",
        "weight",
        "missed by all",
        best="min",
        meaning="rows of the target class that no model detects",
    ),
)
ALONE_COLUMNS = (
    Column(
        "exclusive_tp",
        "weight",
        "unique TP",
        "target=positive",
        meaning="positives that only this model detects",
    ),
    Column(
        "exclusive_tn",
        "weight",
        "unique TN",
        "target=negative",
        meaning="negatives that only this model predicts negative",
    ),
    Column(
        "shine_through",
        "share",
        meaning="unique detections as a share of the rows that any model detects",
    ),
    Column(
        "exclusive_fn",
        "weight",
        "unique misses",
        "target=positive",
        best="min",
        meaning=f"positives that only this model misses; with {OPTION}--occlusion any{END}, those "
        "that it misses and another model detects",
    ),
    Column(
        "exclusive_fp",
        "weight",
        "unique misses",
        "target=negative",
        best="min",
        meaning="negatives that only this model predicts positive; with "
        f"{OPTION}--occlusion any{END}, those that it predicts positive and another model negative",
    ),
    Column(
        "occlusion", "share", meaning="unique misses as a share of the rows that any model detects"
    ),
)
COVERED = Column(
    "covered",
    "weight",
    "detected",
    meaning="rows of the target class that any model of the set detects",
)
EFFORT = Column("effort", "weight", "flagged", meaning="rows that any model of the set flags")
MODELS = Column(
    "models", "text+", meaning="the models of a set; it flags a row if any of them does"
)
REACH = (
    MODELS,
    COVERED,
    EFFORT,
    Column("yield", "share", meaning="detected / flagged rows, the precision of the set"),
    *ALONE_COLUMNS,
)
CORRECTED = (
    Column(
        "corrected",
        "estimate",
        best="max",
        meaning="detections expected on new data from a subset selected this way",
    ),
    Column(
        "corrected_yield",
        "bare",
        "corrected yield",
        best="max",
        meaning="yield expected on new data from a subset selected this way",
    ),
)
SIZE = Column("size", "count", meaning="number of models in the set")
METHOD = Column(
    "method",
    "text",
    meaning="how the set was chosen: exact, among all sets, or greedy, one model at a time",
)
FIRST_ALONE = Column("first_alone", "weight", "unique to first")
SECOND_ALONE = Column("second_alone", "weight", "unique to second")
REFERENCE = Column("reference", "text+", meaning="the models compared with")
TABLES = (
    Table(
        "models",
        (
            SLICE,
            MODEL,
            THRESHOLD,
            *CELLS,
            *cols("share", "accuracy"),
            Column("precision", "share", "PPV ↑"),
            Column("recall", "share", "sensitivity ↑"),
            *ALONE_COLUMNS,
        ),
        "",
        min_rows=1,
    ),
    Table(
        "pairs",
        (
            SLICE,
            *REACH,
            replace(
                FIRST_ALONE,
                meaning="rows of the target class that only the first model of the pair detects",
            ),
            replace(
                SECOND_ALONE,
                meaning="rows of the target class that only the second model of the pair detects",
            ),
            Column(
                "p_value",
                "p?",
                "p",
                meaning="exact sign test that first_alone and second_alone are equally likely",
            ),
        ),
        "",
    ),
    Table("subsets", (SLICE, *REACH)),
    Table(
        "best",
        (
            SLICE,
            SIZE,
            Column("gain", "weight", meaning="additional detections compared with the row above"),
            METHOD,
            *REACH,
            *CORRECTED,
        ),
    ),
    Table("max_effort", (SLICE, SIZE, METHOD, *REACH, *CORRECTED)),
    Table("slices", (replace(SLICE, kind="text"), *SUMMARY)),
    Table(
        "lead_tests",
        (
            Column(
                "kind",
                "text",
                among=("model", "pair"),
                meaning="model: a model and the best one; pair: a pair and the best pair",
            ),
            MODELS,
            REFERENCE,
            replace(
                FIRST_ALONE,
                meaning="rows of the target class that the models detect, not the reference",
            ),
            replace(
                SECOND_ALONE, meaning="rows of the target class that only the reference detects"
            ),
            Column("p", "p", meaning="exact sign test that both are equally likely"),
            Column(
                "p_adjusted", "p", meaning="p adjusted by Holm's rule for the tests of its kind"
            ),
        ),
    ),
    Table(
        "best_pair",
        (
            MODELS,
            REFERENCE,
            COVERED,
            EFFORT,
            replace(
                FIRST_ALONE, meaning="rows of the target class that the pair detects, not the model"
            ),
            replace(
                SECOND_ALONE,
                meaning="rows of the target class that the model detects, not the pair",
            ),
            Column(
                "gain",
                "estimate",
                "corrected gain",
                meaning="additional detections on new data, corrected for choosing pair and model",
            ),
        ),
    ),
    Table(
        "equal_effort",
        (
            MODEL,
            Column(
                "threshold",
                "number",
                meaning="threshold at which the model flags at most as many rows as the best pair",
            ),
            COVERED,
            EFFORT,
        ),
    ),
    Table(
        "sweep",
        (
            SLICE,
            Column(
                "threshold",
                "cut",
                when="sweep=threshold",
                meaning="score at or above which every model flags a row",
            ),
            Column(
                "top",
                "cut",
                "top rows",
                "sweep=top",
                meaning="number of rows that each model flags, those of the highest scores",
            ),
            MODEL,
            replace(FOUND, best=None),
            Column(
                "hits",
                "weight",
                "detected",
                meaning="rows of the target class that the model detects",
            ),
            *ALONE_COLUMNS,
        ),
    ),
    Table(
        "exclusive",
        (
            MODEL,
            Column(
                "list",
                "text",
                among=("found", "missed"),
                meaning="found: only this model detects the row; missed: only this model misses it",
            ),
            Column("file", "text", meaning="the file of the row"),
            Column("id", "text", when="one", meaning="the id of the row"),
            Column(
                "row",
                "count",
                when="one",
                meaning="number of the row in its file; the header is row 1",
            ),
        ),
    ),
    MEASURED,
)
