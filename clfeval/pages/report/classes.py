"""A report on more than two classes in reading order: models, classes, confusions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from math import inf

from clfeval.document import Document, Row, cell_value
from clfeval.formatting import format_count, printable, quote_if_ambiguous
from clfeval.pages.formatting import format_exact
from clfeval.pages.schema import Source, TableView
from clfeval.pages.shared_columns import (
    MAX_ROWS,
    best_and_tied_signs,
    measure_tables,
    requested_rows,
    sort_by_column,
)

CLASSES = 6  # shown by default, the lowest F1 first
WORST = 10  # confusions shown by default
NARROW = 38  # characters of a confusion, of which two stand side by side
MATRIX = 20  # classes of which people read a matrix
BALANCED = "balanced_accuracy"
CONFUSED = "class predicted as another"
OF_LABELS: Mapping[str, Source] = {
    "model": "model", "balanced\naccuracy ↑": BALANCED, "accuracy\n↑": "accuracy",
    "macro\nF1 ↑": "f1", "kappa\n↑": "kappa", "MCC\n↑": "mcc",
}  # fmt: skip
OF_PROBABILITIES: Mapping[str, Source] = {
    "model": "model", "AUC\n↑": "roc_auc", "log loss\n↓": "log_loss",
    "overconf.\n→ 0": "overconfidence", "balanced\naccuracy ↑": BALANCED,
    "accuracy\n↑": "accuracy", "macro\nF1 ↑": "f1", "MCC\n↑": "mcc", "kappa\n↑": "kappa",
    "Brier\n↓": "brier", "top-2\naccuracy ↑": "top_k_accuracy",
}  # fmt: skip
OF_ORDER: Mapping[str, Source] = {
    "quadratic\nkappa ↑": "kappa_quadratic",
    "places\noff ↓": "ordinal_mae",
}
LED = {"roc_auc": "ROC AUC", BALANCED: "balanced accuracy", "accuracy": "accuracy",
       "kappa_quadratic": "quadratic kappa"}  # fmt: skip
CALIBRATION_TESTS = (
    "calibration_tests", "Calibration tests",
    "model test statistic df p p_adjusted method contradicted groups_off? largest_gap?",
)  # fmt: skip
WORDS = {
    "roc_auc": "mean ROC AUC of all pairs of classes (Hand and Till)",
    BALANCED: "mean recall of the classes",
    "ordinal_mae": "mean distance of predicted and true class in their order",
}


def class_tables(result: Document) -> Iterator[TableView]:
    """Yield the tables in reading order."""
    yield from measure_tables(result, requested_rows(result), name="asked")
    models = result.whole("models")
    scored = "roc_auc" in models[0]
    of_all = (one.measure for one in result.answer if one.code != "slices")
    lead = next((one for one in of_all if one in LED), BALANCED)
    rows = sort_by_column(models, lead)
    columns = OF_PROBABILITIES if scored else OF_LABELS
    first = {head: source for head, source in columns.items() if source in ("model", lead)}
    columns = {**first, **(OF_ORDER if "ordinal_mae" in models[0] else {}), **columns}
    confusion = result.whole("confusion")
    best = str(rows[0]["model"])
    mine = [row for row in confusion if row["model"] == best]
    sizes: dict[str, float] = {}
    for row in mine:
        name = str(row["truth"])
        sizes[name] = sizes.get(name, 0.0) + (cell_value(row["rows"]) or 0.0)
    share = max(sizes.values(), default=0.0) / (sum(sizes.values()) or 1.0)
    yield TableView(
        "models", f"Models by {LED[lead]}", columns, rows[:MAX_ROWS],
        total=len(rows), rank="main", lead=lead, more="--format csv",
        places=best_and_tied_signs(rows[:MAX_ROWS]),
        note=f"always predicting the majority class: accuracy {share:.3f}" if share else "",
        words={name: text for name, text in WORDS.items() if name in columns.values()},
    )  # fmt: skip
    if confusion:  # of rows that runs repeat there is none
        yield from _each_class(result, best, sizes)
        yield from _confusions_table(mine, best)
        yield from _matrix_table(result, mine, best)
    if "calibration_tests" in result.tables:
        yield TableView(*CALIBRATION_TESTS, legend=("p_adjusted",))
    yield TableView("measures", "All measures", "model measure estimator class? value method",
                    result.whole("measures"), MAX_ROWS * 4)  # fmt: skip
    if confusion:
        yield TableView("confusion", "Confusion counts", "model truth predicted rows share",
                        confusion, MAX_ROWS)  # fmt: skip


def _each_class(result: Document, model: str, sizes: Mapping[str, float]) -> Iterator[TableView]:
    """Yield the per-class results of the best model, the worst classes first if there are many."""
    found: dict[str, dict[str, object]] = {}
    for row in result.whole("measures"):
        if row["model"] == model and row["estimator"] == "class":
            mine = found.setdefault(str(row["class"]), {"class": printable(str(row["class"]))})
            mine[str(row["measure"])] = row["value"]
    rows: list[Row] = [
        {**mine, "rows": f"{sizes.get(name, 0.0):,.10g}"}  # type: ignore[dict-item]
        for name, mine in found.items()
    ]
    few = rows
    if len(rows) > CLASSES:
        few = sorted(rows, key=lambda r: inf if (x := cell_value(r["f1"])) is None else x)[:CLASSES]
    columns: dict[str, Source] = {
        "class": "class", "recall ↑": "sensitivity", "precision ↑": "precision", "F1 ↑": "f1",
        "rows": "rows",
    }  # fmt: skip
    title = f"Per-class results of {quote_if_ambiguous(model)}"
    first = f"{title}, lowest F1 first" if few is not rows else title
    yield TableView(
        "measures", first, columns, few, rank="main", total=len(rows), name="worst classes",
        more="--show classes", lead="class", places=(), right=("rows",),
    )  # fmt: skip
    if few is not rows:
        yield TableView("measures", f"{title}, all classes", columns, rows, 500,
                    name="classes", right=("rows",))  # fmt: skip


def _confusions_table(mine: Sequence[Row], model: str) -> Iterator[TableView]:
    """Yield the table of classes that the best model confuses, those of most rows first."""

    def size(row: Row) -> tuple[float, float]:
        return cell_value(row["rows"]) or 0.0, cell_value(row["share"]) or 0.0

    wrong = [row for row in mine if row["truth"] != row["predicted"]]
    wrong.sort(key=size, reverse=True)
    said = []
    for row in wrong[:WORST]:
        (rows, share), names = size(row), (printable(str(row[of])) for of in ("truth", "predicted"))
        every = format_count(round(rows / (share or 1.0), 9), "row")
        said.append(f"{' predicted as '.join(names)}: {rows:,.10g} of {every}")
    if not said:
        return
    title = f"Most frequent confusions of {quote_if_ambiguous(model)}"
    if max(map(len, said)) > NARROW or len(said) < 3:
        lines: list[Row] = [{"first": text} for text in said[: WORST // 2]]
        columns: dict[str, Source] = {CONFUSED: "first"}
    else:
        half = (len(said) + 1) // 2
        pairs = zip_longest(said[:half], said[half:], fillvalue="")
        lines = [{"first": one, "second": other} for one, other in pairs]
        columns = {CONFUSED: "first", " ": "second"}
    left = len(wrong) - sum(bool(text) for row in lines for text in row.values())
    note = f"{left:,} not shown; for all, add --show confusion" if left else ""
    yield TableView("confusion", title, columns, lines, rank="main", name="confusions", note=note,
                    more="", whole=True, places=())  # fmt: skip


def _matrix_table(result: Document, mine: Sequence[Row], model: str) -> Iterator[TableView]:
    """Yield the confusion matrix of the best model, if there are few classes."""
    names = [str(name) for name in result.parameters["classes"]]
    if len(names) > MATRIX:
        return
    cells = {(row["truth"], row["predicted"]): format_exact(row["rows"]) for row in mine}
    rows: list[Row] = [
        {"truth": printable(truth), **{f"said {k}": cells.get((truth, said), "·")
                                   for k, said in enumerate(names)}}
        for truth in names
    ]  # fmt: skip
    columns: dict[str, Source] = {"truth": "truth"}
    columns |= {printable(name) + " " * k: f"said {k}" for k, name in enumerate(names)}
    yield TableView(
        "confusion", f"Confusion matrix of {quote_if_ambiguous(model)}: rows are true classes",
        columns, rows, name="matrix", right=tuple(columns)[1:], whole=True,
    )  # fmt: skip
