"""The tables of report in reading order: those of models, of two classes or of more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from math import inf

from clfeval.document import Document
from clfeval.document.cells import (
    Cell,
    Row,
    as_estimate,
    as_row,
    cell_number,
    cell_text,
    cell_value,
)
from clfeval.document.rows import column_values, deferred_rows, rows_where
from clfeval.formatting import (
    candidates_first,
    format_count,
    format_rows,
    format_share,
    printable,
    quote_if_ambiguous,
)
from clfeval.pages.report import requested_tables
from clfeval.pages.report.threshold_tables import format_rule, order_by_rule, threshold_tables
from clfeval.pages.schema import Source, TableView
from clfeval.pages.shared_tables import AT_PREVALENCE, CELLS
from clfeval.pages.table_parts import (
    MAX_ROWS,
    best_and_tied_signs,
    evenly_spaced,
    existing_tables,
    format_exact,
    majority_class_note,
    measure_tables,
    prevalence_table,
    requested_rows,
    sort_by_column,
    threshold_note,
)
from clfeval.placeholders import ADD, END, OPTION
from clfeval.records import dataclass, replace

THRESHOLD_HINT = f" (change it with {OPTION}--threshold T{END})"
BLOCKS = "·▁▂▃▄▅▆▇█"
CALIBRATED = "slope < 1: too extreme; CITL > 0: too low"
PROBABLE: Mapping[str, Source] = {
    "model": "model",
    "AUC ↑": "roc_auc",
    "Brier ↓": "brier",
    "slope\n→ 1": "calibration_slope",
    "CITL\n→ 0": "calibration_in_the_large",
    "net\nbenefit ↑": "net_benefit",
}
RATES: Mapping[str, Source] = {
    "model": "model",
    "sens. ↑": "sensitivity",
    "spec. ↑": "specificity",
    "PPV ↑": "precision",
    "NPV ↑": "npv",
    "MCC ↑": "mcc",
}
OF_LABELS: Mapping[str, Source] = {
    "model": "model",
    "balanced\naccuracy ↑": "balanced_accuracy",
    "sens. ↑": "sensitivity",
    "spec. ↑": "specificity",
    "PPV ↑": "precision",
    "NPV ↑": "npv",
    "MCC ↑": "mcc",
    "F1 ↑": "f1",
    "kappa ↑": "kappa",
}


def page_tables(result: Document, _digits: int) -> Iterator[TableView]:
    """Yield the tables in reading order."""
    if result.parameters["positive"] is None:
        yield from requested_tables.comparison_tables(result)
        yield from class_tables(result)
        yield from requested_tables.slice_tables(result)
        yield from requested_tables.best_model_tables(result)
        return
    yield from threshold_tables(result)
    if prevalence_rows := result.unsliced_rows(AT_PREVALENCE):
        is_asked = any(row["population"] == "target" for row in prevalence_rows)
        ordered_rows = order_by_rule(result, prevalence_rows, "balanced_accuracy")
        yield prevalence_table(ordered_rows, "asked" if is_asked else "detail")
    yield from requested_tables.comparison_tables(result)
    model_rows = result.unsliced_rows("models")
    aucs = [as_estimate(row["roc_auc"]) for row in model_rows if "roc_auc" in row]
    if any(auc.reason != "needs_scores" for auc in aucs):
        yield from _score_tables(result, sort_by_column(model_rows, "roc_auc"))
    else:
        yield from _label_tables(result, model_rows)
    yield from requested_tables.slice_tables(result)
    yield from _detail_tables(result)


def _label_tables(result: Document, model_rows: Sequence[Row]) -> Iterator[TableView]:
    """Yield the tables of models that have labels only: measures and confusion matrices."""
    accuracies = [as_estimate(row["balanced_accuracy"]) for row in model_rows]
    lacks_tn = any(accuracy.reason == "no_tn" for accuracy in accuracies)
    lead_column, title = ("f1", "F1") if lacks_tn else ("balanced_accuracy", "balanced accuracy")
    sorted_rows = sort_by_column(model_rows, lead_column)
    yield TableView(
        "models",
        f"Models by {title}",
        OF_LABELS,
        sorted_rows[:MAX_ROWS],
        total=len(sorted_rows),
        rank="main",
        lead=lead_column,
        rest_hint=f"{OPTION}--format csv{END}",
        places=best_and_tied_signs(sorted_rows[:MAX_ROWS]),
    )
    count_columns: dict[str, Source] = {
        "model": "model",
        **{cell.name.upper(): cell.name for cell in CELLS},
    }
    yield TableView(
        "models",
        "Confusion matrices",
        count_columns,
        sorted_rows[:MAX_ROWS],
        total=len(sorted_rows),
        rank="main",
        note=majority_class_note([result.summary.get("prevalence")]),
        rest_hint=f"{OPTION}--format csv{END}",
        name="errors",
        keep_columns=True,
        places=(),
    )


@dataclass(frozen=True, slots=True)
class ThresholdsInForce:
    """The thresholds of the tables: for a title, as a column if they differ, and for a note."""

    title: str
    columns: Mapping[str, Source]
    benefit: str = ""
    note: str = ""
    hint: bool = False  # how to change the threshold is of use


def _thresholds_in_force(result: Document, rows: Sequence[Row]) -> ThresholdsInForce:
    """Return the thresholds in force of models with scores."""
    scored_rows = [row for row in rows if row["threshold"] is not None]
    phrase = threshold_note(scored_rows)
    has_labelled = len(scored_rows) < len(rows)
    columns = RATES
    if not phrase:
        columns = {"model": "model", "threshold": "threshold", **RATES}
    cutoffs = result.unsliced_rows("cutoffs")
    rule = str(cutoffs[0]["chosen_by"]) if cutoffs else ""
    rule_cuts = {row["model"]: row["threshold"] for row in cutoffs if row["chosen_by"] == rule}
    if scored_rows and all(row["threshold"] == rule_cuts.get(row["model"]) for row in scored_rows):
        title = f"{phrase}, chosen by " if phrase else ", each model at its threshold by "
        title += format_rule(cutoffs[0])
        benefit = phrase.strip() or "at each model's threshold"
        note = "values of the rows that chose the threshold; the table above has expected ones"
        return ThresholdsInForce(title, columns, benefit, note)
    if phrase:
        title = f"{phrase}, or by given labels" if has_labelled else phrase
        return ThresholdsInForce(title, RATES, title.strip(), hint=not has_labelled)
    if scored_rows:
        benefit = f"at each model's threshold; for common ones, {ADD} {OPTION}--show decision{END}"
        return ThresholdsInForce(", each model at its own threshold", columns, benefit)
    return ThresholdsInForce("", RATES)


def _prevalence_note(result: Document) -> str:
    """Return the note on measures at the prevalence of the rows, where others are requested."""
    has_target = any(row["population"] == "target" for row in result.unsliced_rows(AT_PREVALENCE))
    if not has_target:
        return ""
    return f"at the prevalence of these rows ({_share_of_rows(result)})"


def _share_of_rows(result: Document) -> str:
    """Return the prevalence of the rows as text."""
    return format_share(cell_value(result.summary["prevalence"]) or 0.0)


def _score_tables(result: Document, rows: Sequence[Row]) -> Iterator[TableView]:
    thresholds = _thresholds_in_force(result, rows)
    prevalence_note = _prevalence_note(result)
    benefit_words = thresholds.benefit
    if benefit_words and prevalence_note:
        benefit_words = f"{benefit_words.partition(';')[0]}, prevalence {_share_of_rows(result)}"
    column_words = {"net_benefit": benefit_words} if benefit_words else {}
    columns = PROBABLE
    note = CALIBRATED
    if all(as_estimate(row["brier"]).reason == "not_probabilities" for row in rows):
        columns = {"model": "model", "AUC ↑": "roc_auc"}
        note = "scores are outside 0 to 1: no Brier score, calibration or net benefit"
    yield TableView(
        "models",
        "Models by ROC AUC",
        columns,
        rows[:MAX_ROWS],
        total=len(rows),
        rank="main",
        lead="roc_auc",
        rest_hint=f"{OPTION}--format csv{END}",
        name="probabilities",
        places=best_and_tied_signs(rows[:MAX_ROWS]),
        words=column_words,
        note=note,
    )
    if any(row["tp"] is not None for row in rows):  # else no threshold is known
        hint = THRESHOLD_HINT if thresholds.hint and not result.again else ""
        rates_note = f"PPV, NPV and MCC are {prevalence_note}" if prevalence_note else ""
        yield TableView(
            "models",
            f"Classification{thresholds.title}{hint}",
            thresholds.columns,
            rows[:MAX_ROWS],
            total=len(rows),
            rank="main",
            name="errors",
            rest_hint=f"{OPTION}--format csv{END}",
            lead="model",
            places=(),
            note="; ".join(filter(None, (thresholds.note, rates_note))),
        )
    models_with_scores = {row["model"] for row in result.unsliced_rows("distribution")}
    models = candidates_first([row["model"] for row in rows], result.parameters.get("reference"))
    first_model = next((model for model in models if model in models_with_scores), None)
    if first_model is not None:  # of models with labels there are no scores
        yield _score_distribution(result, first_model)


def _score_distribution(result: Document, model: str) -> TableView:
    """Return the histogram of scores of the best model by class: one block per bin."""
    bins = [row for row in result.unsliced_rows("distribution") if row["model"] == model]
    low = format_exact(bins[0]["from"])
    high = format_exact(bins[-1]["to"])
    lines: list[Row] = []
    for class_name in dict.fromkeys(cell_text(row["class"]) for row in bins):
        shares = [cell_value(row["share"]) or 0.0 for row in bins if row["class"] == class_name]
        # at least the lowest block, unless the share is 0
        largest = max(shares)
        block_indices = [
            max(1, round(share / largest * (len(BLOCKS) - 1))) if share else 0 for share in shares
        ]
        blocks = "".join(BLOCKS[block_index] for block_index in block_indices)
        lines.append(as_row({"class": class_name, "scores": f"{low} {blocks} {high}"}))
    columns: dict[str, Source] = {"": "class", " ": "scores"}
    return TableView(
        "distribution",
        f"Score distribution by class ({quote_if_ambiguous(model)})",
        columns,
        lines,
        rank="main",
        rest_hint="",
        keep_columns=True,
    )


CALIBRATION_TESTS = (
    "calibration_tests",
    "Calibration tests",
    "model test statistic df p p_adjusted verdict method contradicted groups_off? largest_gap?",
)
HELPS = "helps: significantly above treat-all and treat-none, adjusted for all thresholds"
DETAILS = (
    TableView(
        "calibration",
        "Calibration by score group",
        "model bin from to rows mean_score observed",
        most=2 * MAX_ROWS,
    ),
    TableView(
        "calibration_band",
        "Calibration curve",
        "model score rows curve low high low_all high_all isotonic consistency_low? "
        "consistency_high?",
        most=2 * MAX_ROWS,
    ),
    TableView(*CALIBRATION_TESTS, most=2 * MAX_ROWS),
    TableView(
        "thresholds",
        "Results by threshold",
        "model threshold flagged sensitivity specificity precision npv",
        most=2 * MAX_ROWS,
    ),
    TableView(
        "decision",
        "Decision curve: net benefit by threshold probability",
        "model threshold net_benefit gain helps?",
        most=2 * MAX_ROWS,
        note=HELPS,
    ),
    TableView(
        "curves",
        "Curve points",
        "model threshold sensitivity fpr precision flagged lift",
        most=MAX_ROWS,
    ),
    TableView(
        "distribution",
        "Score distribution by class",
        "model class from to rows share",
        most=2 * MAX_ROWS,
        name="spread",
    ),
)


def _detail_tables(result: Document) -> Iterator[TableView]:
    """Yield the other tables, which are shown by name."""
    yield from measure_tables(result, requested_rows(result), name="asked")
    yield from requested_tables.best_model_tables(result)
    yield TableView(
        "measures",
        "All measures",
        "model measure value bound? method",
        result.unsliced_rows("measures"),
        MAX_ROWS * 4,
    )
    if confusion := result.unsliced_rows("confusion"):
        yield TableView(
            "confusion", "Confusion counts", "model truth predicted rows share", confusion, MAX_ROWS
        )
    yield from _calibration_curve(result)
    for view in existing_tables(result, *DETAILS):
        if view.table == "calibration_band":  # whose rows take time: made where they are shown
            yield replace(view, total=len(result.tables[view.table]))
            continue
        rows = result.unsliced_rows(view.table)
        if view.table == "decision":
            title = f"{view.title}{curve_prevalence(rows)}"
            visible_rows = _thin_decision_curves(rows, view.most)
            yield replace(view, title=title, rows=visible_rows, total=len(rows))
        else:
            yield replace(view, rows=rows, total=len(rows))


CURVE_POINTS = 13  # of a calibration curve on a screen


def _calibration_curve(result: Document) -> Iterator[TableView]:
    """Yield some points of the calibration curve of the best model, with its bands."""
    table = result.tables.get("calibration_band", ())
    models_with_band = {*column_values(table, "model")}
    ranked = [row["model"] for row in sort_by_column(result.unsliced_rows("models"), "roc_auc")]
    candidates = candidates_first(ranked, result.parameters.get("reference"))
    best_model = next((model for model in candidates if model in models_with_band), None)
    if best_model is None:
        return
    rows = rows_where(table, "model", best_model)
    point_indices = sorted(evenly_spaced(range(len(rows)), CURVE_POINTS))
    yield TableView(
        "calibration_band",
        f"Calibration curve of {quote_if_ambiguous(best_model)}",
        "score rows curve low high low_all high_all",
        deferred_rows(len(point_indices), lambda: [rows[i] for i in point_indices]),
        name="calibration",
    )


def curve_prevalence(rows: Sequence[Row]) -> str:
    """Return the prevalence of a decision curve for its title, empty for that of the rows."""
    prevalence = rows[0].get("prevalence")
    return "" if prevalence is None else f", at prevalence {format_share(cell_number(prevalence))}"


def _thin_decision_curves(rows: Sequence[Row], max_rows: int | None) -> list[Row]:
    """Return every fifth hundredth of the thresholds, which are the same for all models."""
    first_model_rows = rows_where(rows, "model", rows[0]["model"])
    thresholds = sorted({cell_number(row["threshold"]) for row in first_model_rows})
    visible_thresholds = evenly_spaced(thresholds, 21)
    return list(islice((row for row in rows if row["threshold"] in visible_thresholds), max_rows))


CLASSES = 6  # shown by default, the lowest F1 first
WORST = 10  # confusions shown by default
NARROW = 38  # characters of a confusion, of which two stand side by side
MATRIX = 20  # classes of which people read a matrix
BALANCED = "balanced_accuracy"
CONFUSED = "class predicted as another"
MULTICLASS_LABELS: Mapping[str, Source] = {
    "model": "model",
    "balanced\naccuracy ↑": BALANCED,
    "accuracy\n↑": "accuracy",
    "macro\nF1 ↑": "f1",
    "kappa\n↑": "kappa",
    "MCC\n↑": "mcc",
}
MULTICLASS_PROBABILITIES: Mapping[str, Source] = {
    "model": "model",
    "AUC\n↑": "roc_auc",
    "log loss\n↓": "log_loss",
    "overconf.\n→ 0": "overconfidence",
    "balanced\naccuracy ↑": BALANCED,
    "accuracy\n↑": "accuracy",
    "macro\nF1 ↑": "f1",
    "MCC\n↑": "mcc",
    "kappa\n↑": "kappa",
    "Brier\n↓": "brier",
    "top-2\naccuracy ↑": "top_k_accuracy",
}
ORDERED_CLASSES: Mapping[str, Source] = {
    "quadratic\nkappa ↑": "kappa_quadratic",
    "places\noff ↓": "ordinal_mae",
}
LOWEST_RECALL: Mapping[str, Source] = {
    "lowest\nrecall ↑": "lowest_recall",
    "of\nclass": "lowest_recall_class",
}
LED = {
    "roc_auc": "ROC AUC",
    BALANCED: "balanced accuracy",
    "accuracy": "accuracy",
    "kappa_quadratic": "quadratic kappa",
}
MULTICLASS_WORDS = {
    "roc_auc": "mean ROC AUC of all pairs of classes (Hand and Till)",
    BALANCED: "mean recall of the classes",
    "ordinal_mae": "mean distance of predicted and true class in their order",
}


def class_tables(result: Document) -> Iterator[TableView]:
    """Yield the tables of models of more than two classes in reading order."""
    yield from measure_tables(result, requested_rows(result), name="asked")
    model_rows = result.unsliced_rows("models")
    has_scores = "roc_auc" in model_rows[0]
    measures = (sentence.measure for sentence in result.answer if sentence.code != "slices")
    lead_measure = next((measure for measure in measures if measure in LED), BALANCED)
    sorted_rows = sort_by_column(model_rows, lead_measure)
    columns = MULTICLASS_PROBABILITIES if has_scores else MULTICLASS_LABELS
    columns = {**(ORDERED_CLASSES if "ordinal_mae" in model_rows[0] else {}), **columns}
    first_columns = {head: columns[head] for head in columns if columns[head] == lead_measure}
    if "lowest_recall" in model_rows[0]:
        first_columns |= LOWEST_RECALL
    columns = {"model": "model", **first_columns, **columns}
    confusion = result.unsliced_rows("confusion")
    best_model = sorted_rows[0]["model"]
    best_confusion = [row for row in confusion if row["model"] == best_model]
    sizes: dict[str, float] = {}
    for row in best_confusion:
        name = row["truth"]
        sizes[name] = sizes.get(name, 0.0) + (cell_value(row["rows"]) or 0.0)
    share = max(sizes.values(), default=0.0) / (sum(sizes.values()) or 1.0)
    majority_note = f"always predicting the majority class: accuracy {share:.3f}" if share else ""
    yield TableView(
        "models",
        f"Models by {LED[lead_measure]}",
        columns,
        sorted_rows[:MAX_ROWS],
        total=len(sorted_rows),
        rank="main",
        lead=lead_measure,
        rest_hint=f"{OPTION}--format csv{END}",
        places=best_and_tied_signs(sorted_rows[:MAX_ROWS]),
        note=majority_note,
        words={name: text for name, text in MULTICLASS_WORDS.items() if name in columns.values()},
    )
    if confusion:  # of rows that runs repeat there is none
        yield from _each_class(result, best_model, sizes)
        yield from _confusions_table(best_confusion, best_model)
        yield from _matrix_table(result, best_confusion, best_model)
    if "calibration_tests" in result.tables:
        yield TableView(*CALIBRATION_TESTS, legend=("p_adjusted",))
    yield TableView(
        "measures",
        "All measures",
        "model measure estimator class? value method",
        result.unsliced_rows("measures"),
        MAX_ROWS * 4,
    )
    if confusion:
        yield TableView(
            "confusion", "Confusion counts", "model truth predicted rows share", confusion, MAX_ROWS
        )


def _each_class(result: Document, model: str, sizes: Mapping[str, float]) -> Iterator[TableView]:
    """Yield the results of each class, the worst first if there are many; sizes: their rows."""
    row_of_class: dict[str, dict[str, Cell]] = {}
    for row in result.unsliced_rows("measures"):
        if row["model"] == model and row["estimator"] == "class":
            class_name = cell_text(row["class"])
            class_row = row_of_class.setdefault(
                class_name,
                {"class": printable(class_name), "rows": format_rows(sizes.get(class_name, 0.0))},
            )
            class_row[row["measure"]] = row["value"]
    rows = [as_row(cells) for cells in row_of_class.values()]
    has_many = len(rows) > CLASSES
    worst_rows = sorted(rows, key=_f1_or_infinity)[:CLASSES] if has_many else rows
    columns: dict[str, Source] = {
        "class": "class",
        "recall ↑": "sensitivity",
        "precision ↑": "precision",
        "F1 ↑": "f1",
        "rows": "rows",
    }
    title = f"Per-class results of {quote_if_ambiguous(model)}"
    yield TableView(
        "measures",
        f"{title}, lowest F1 first" if has_many else title,
        columns,
        worst_rows,
        rank="main",
        total=len(rows),
        name="worst classes",
        rest_hint=f"{OPTION}--show classes{END}",
        lead="class",
        places=(),
        right=("rows",),
    )
    if has_many:
        yield TableView(
            "measures", f"{title}, all classes", columns, rows, 500, name="classes", right=("rows",)
        )


def _f1_or_infinity(row: Row) -> float:
    value = cell_value(row["f1"])
    return inf if value is None else value


def _rows_and_share(row: Row) -> tuple[float, float]:
    """Return the rows of a cell of a confusion matrix, and their share of the true class."""
    return cell_value(row["rows"]) or 0.0, cell_value(row["share"]) or 0.0


def _confusion_text(row: Row) -> str:
    """Return a cell of a confusion matrix in words."""
    rows, share = _rows_and_share(row)
    class_rows = format_count(round(rows / (share or 1.0), 9), "row")
    class_names = (printable(str(row[column])) for column in ("truth", "predicted"))
    return f"{' predicted as '.join(class_names)}: {format_rows(rows)} of {class_rows}"


def _confusions_table(confusion: Sequence[Row], model: str) -> Iterator[TableView]:
    """Yield the table of classes that the best model confuses, those of most rows first."""
    errors = [row for row in confusion if row["truth"] != row["predicted"]]
    errors.sort(key=_rows_and_share, reverse=True)
    texts = [_confusion_text(row) for row in errors[:WORST]]
    if not texts:
        return
    title = f"Most frequent confusions of {quote_if_ambiguous(model)}"
    if max(map(len, texts)) > NARROW or len(texts) < 3:
        lines: list[Row] = [as_row({"first": text}) for text in texts[: WORST // 2]]
        columns: dict[str, Source] = {CONFUSED: "first"}
    else:
        left_count = (len(texts) + 1) // 2
        pairs = zip_longest(texts[:left_count], texts[left_count:], fillvalue="")
        lines = [as_row({"first": first, "second": second}) for first, second in pairs]
        columns = {CONFUSED: "first", " ": "second"}
    unshown_count = len(errors) - sum(bool(text) for row in lines for text in row.values())
    note = ""
    if unshown_count:
        note = f"{unshown_count:,} not shown; for all, {ADD} {OPTION}--show confusion{END}"
    yield TableView(
        "confusion",
        title,
        columns,
        lines,
        rank="main",
        name="confusions",
        note=note,
        rest_hint="",
        keep_columns=True,
        places=(),
    )


def _matrix_table(result: Document, confusion: Sequence[Row], model: str) -> Iterator[TableView]:
    """Yield the confusion matrix of the best model, if there are few classes."""
    classes = [str(name) for name in result.parameters["classes"]]
    if len(classes) > MATRIX:
        return
    cells = {(row["truth"], row["predicted"]): format_exact(row["rows"]) for row in confusion}
    rows: list[Row] = []
    for truth in classes:
        texts = (cells.get((truth, predicted), "·") for predicted in classes)
        class_cells = {f"class {k}": text for k, text in enumerate(texts)}
        rows.append(as_row({"truth": printable(truth), **class_cells}))
    columns: dict[str, Source] = {"truth": "truth"}
    columns |= {printable(name) + " " * k: f"class {k}" for k, name in enumerate(classes)}
    yield TableView(
        "confusion",
        f"Confusion matrix of {quote_if_ambiguous(model)}: rows are true classes",
        columns,
        rows,
        name="matrix",
        right=tuple(columns)[1:],
        keep_columns=True,
    )
