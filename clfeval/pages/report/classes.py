"""A report on more than two classes in reading order: models, classes, what is taken for what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from clfeval.document import Document, Row, estimate, value_of
from clfeval.pages.asked import named_rows, shown_measures
from clfeval.pages.report.order import CALIBRATION_TESTS, LISTED, places, ranked
from clfeval.pages.write import exact
from clfeval.schema import Shown, Source
from clfeval.words import many, plain, quoted

CLASSES = 6  # shown unasked, the least F1 first
WORST = 10  # confusions shown unasked
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
    "accuracy\n↑": "accuracy", "macro\nF1 ↑": "f1",
    "MCC\n↑": "mcc", "kappa\n↑": "kappa", "Brier\n↓": "brier",
    "top-2\naccuracy ↑": "top_k_accuracy",
}  # fmt: skip
OF_ORDER: Mapping[str, Source] = {
    "quadratic\nkappa ↑": "kappa_quadratic", "places\noff ↓": "ordinal_mae",
}  # fmt: skip
LED = {"roc_auc": "ROC AUC", BALANCED: "balanced accuracy", "accuracy": "accuracy",
       "kappa_quadratic": "quadratic kappa"}  # fmt: skip
WORDS = {
    "roc_auc": "mean ROC AUC of all pairs of classes (Hand and Till)",
    BALANCED: "mean recall of the classes",
    "ordinal_mae": "mean distance of predicted and true class in their order",
}


def shown_classes(result: Document) -> Iterator[Shown]:
    """Yield the tables in reading order."""
    yield from shown_measures(result, named_rows(result), name="asked")
    models = result.whole("models")
    scored = "roc_auc" in models[0]
    of_all = (one.measure for one in result.answer if one.code != "slices")
    lead = next((one for one in of_all if one in LED), BALANCED)
    rows = ranked(models, lead)
    columns = OF_PROBABILITIES if scored else OF_LABELS
    first = {head: source for head, source in columns.items() if source in ("model", lead)}
    columns = {**first, **(OF_ORDER if "ordinal_mae" in models[0] else {}), **columns}
    confusion = result.whole("confusion")
    best = str(rows[0]["model"])
    yield Shown(
        "models", f"Models by {LED[lead]}", columns, rows[:LISTED],
        total=len(rows), rank="main", lead=lead, more="--format csv",
        places=places(rows[:LISTED]), note=_without(confusion, best),
        words={name: text for name, text in WORDS.items() if name in columns.values()},
    )  # fmt: skip
    if confusion:  # of rows that runs repeat there is none
        yield from _each_class(result, best)
        yield from _confusions(confusion, best)
        yield from _matrix(result, confusion, best)
    if "calibration_tests" in result.tables:
        yield Shown(*CALIBRATION_TESTS, legend=("p_adjusted",))
    yield Shown("measures", "All measures", "model measure estimator class? value method",
                result.whole("measures"), LISTED * 4)  # fmt: skip
    if confusion:
        yield Shown("confusion", "Confusion counts", "model truth predicted rows share", confusion,
                    LISTED)  # fmt: skip


def _without(confusion: Sequence[Row], model: str) -> str:
    """Say what accuracy the largest class gives by itself."""
    rows: dict[str, float] = {}
    for row in confusion:
        if row["model"] == model:
            name = str(row["truth"])
            rows[name] = rows.get(name, 0.0) + (value_of(row["rows"]) or 0.0)
    share = max(rows.values(), default=0.0) / (sum(rows.values()) or 1.0)
    return f"always predicting the majority class: accuracy {share:.3f}" if share else ""


def _each_class(result: Document, model: str) -> Iterator[Shown]:
    """Show what the best model does in each class: the worst ones first where they are many."""
    found: dict[str, dict[str, object]] = {}
    for row in result.whole("measures"):
        if row["model"] == model and row["estimator"] == "class":
            mine = found.setdefault(str(row["class"]), {"class": plain(str(row["class"]))})
            mine[str(row["measure"])] = row["value"]
    counts = dict.fromkeys(found, 0.0)
    for row in result.whole("confusion"):
        if row["model"] == model:
            counts[str(row["truth"])] += value_of(row["rows"]) or 0.0
    rows: list[Row] = [
        {**mine, "rows": f"{counts[name]:,.10g}"}  # type: ignore[dict-item]
        for name, mine in found.items()
    ]
    few = rows
    if len(rows) > CLASSES:
        few = sorted(rows, key=lambda row: _least(row["f1"]))[:CLASSES]
    columns: dict[str, Source] = {
        "class": "class", "recall ↑": "sensitivity", "precision ↑": "precision", "F1 ↑": "f1",
        "rows": "rows",
    }  # fmt: skip
    title = f"Per-class results of {quoted(model)}"
    first = f"{title}, lowest F1 first" if few is not rows else title
    yield Shown(
        "measures", first, columns, few, rank="main", total=len(rows), name="worst classes",
        more="--show classes", lead="class", places=[""] * len(few), right=("rows",),
    )  # fmt: skip
    if few is not rows:
        yield Shown("measures", f"{title}, all classes", columns, rows, 500,
                    name="classes", right=("rows",))  # fmt: skip


def _least(cell: object) -> float:
    """Sort by a value, undefined ones last."""
    value = estimate(cell).value
    return float("inf") if value is None else value


def _confusions(confusion: Sequence[Row], model: str) -> Iterator[Shown]:
    """Show which classes the best model confuses, those of most rows first."""
    wrong = [row for row in confusion if row["model"] == model and row["truth"] != row["predicted"]]
    wrong.sort(key=lambda row: (-(value_of(row["rows"]) or 0.0), -(value_of(row["share"]) or 0.0)))
    said = [_confused(row) for row in wrong[:WORST]]
    if not said:
        return
    title = f"Most frequent confusions of {quoted(model)}"
    if max(map(len, said)) > NARROW or len(said) < 3:
        lines: list[Row] = [{"first": text} for text in said[: WORST // 2]]
        columns: dict[str, Source] = {CONFUSED: "first"}
    else:
        half = (len(said) + 1) // 2
        pairs = zip_longest(said[:half], said[half:], fillvalue="")
        lines = [{"first": one, "second": other} for one, other in pairs]
        columns = {CONFUSED: "first", " ": "second"}
    left = len(wrong) - sum(len([text for text in row.values() if text]) for row in lines)
    note = f"{left:,} not shown; for all, add --show confusion" if left else ""
    yield Shown("confusion", title, columns, lines, rank="main", name="confusions", note=note,
                more="", whole=True, places=[""] * len(lines))  # fmt: skip


def _confused(row: Row) -> str:
    rows, share = value_of(row["rows"]) or 0.0, value_of(row["share"]) or 1.0
    truth, said = plain(str(row["truth"])), plain(str(row["predicted"]))
    return f"{truth} predicted as {said}: {rows:,.10g} of {many(round(rows / share, 9), 'row')}"


def _matrix(result: Document, confusion: Sequence[Row], model: str) -> Iterator[Shown]:
    """Show the whole table of truth and answers of the best model, of few classes."""
    names = [str(name) for name in result.parameters["classes"]]
    if len(names) > MATRIX:
        return
    cells = {
        (row["truth"], row["predicted"]): exact(row["rows"])
        for row in confusion
        if row["model"] == model
    }
    rows: list[Row] = [
        {"truth": plain(truth), **{f"said {k}": cells.get((truth, said), "·")
                                   for k, said in enumerate(names)}}
        for truth in names
    ]  # fmt: skip
    columns: dict[str, Source] = {"truth": "truth"}
    columns |= {plain(name) + " " * k: f"said {k}" for k, name in enumerate(names)}
    yield Shown(
        "confusion", f"Confusion matrix of {quoted(model)}: rows are true classes",
        columns, rows, name="matrix", right=tuple(columns)[1:], whole=True,
    )  # fmt: skip
