"""How a phi-delta result reads: of classifiers, their runs and curves, and of features."""

from __future__ import annotations

from collections.abc import Iterator

from clfeval.measures import plane
from clfeval.pages.columns import CELLS, MODEL, SLICE
from clfeval.pages.write import ABSENT, class_counts, exact, interval, joined
from clfeval.result import Cell, Result, Row
from clfeval.schema import Column, Page, Shown, Source, Table, of

IMPLICATIONS = ("f → c", "¬f → ¬c", "f → ¬c", "¬f → c")
CORNERS = tuple(plane.CORNERS)
CLASSIFIERS, FEATURES = "mode=classifiers", "mode=features"
THRESHOLD = Column("threshold", "cut?")
PLACE = of("signed", "phi delta")
RATES = of("share", "sensitivity specificity")
AT = (*of("prevalence", "prevalence"), Column("odds", "odds", "positives:negatives"))
BOUNDS = {"minimum": -1, "maximum": 1}
MOVED = (Column("phi_b", "doubled"), Column("delta_b", "signed"))
DIFFERENCES = (Column("phi_difference", "doubled", "difference of φ"),
               Column("delta_difference", "doubled", "difference of δ"))  # fmt: skip
FEATURE = (
    *of("text", "feature column"),
    Column("kind", "text", among=("binary", "numeric", "category", "term")),
    *of("cut?", "cut"), Column("rule", "text", among=(None, ">=", ">", "soft")),
    *of("weight", "rows missing"), *of("weight?", "support tp fp fn tn sensitivity"),
    Column("fpr", "weight?", "share of negatives"), *PLACE,
    Column("role", "text", among=(None, "covariant", "contravariant", "pervasive", "rare")),
    Column("implications", "text*", more={"items": {"enum": list(IMPLICATIONS)}}),
    Column("selected", "flag", when="+selected"),
)  # fmt: skip
TABLES = (
    Table("models", (
        SLICE, MODEL, THRESHOLD, *CELLS, *RATES, *PLACE, *of("text?", "reading reading_withheld"),
        *of("share", "accuracy_u error_u precision_u npv_u f1_u"), *of("signed", "mcc_u"),
        *of("share", "mutual_information_u accuracy error_rate precision npv f1"),
        *of("signed", "mcc"), *of("share", "mutual_information"), *MOVED,
        Column("region_sensitivity", "share", "sensitivity"),
        Column("region_specificity", "share", "specificity"),
    ), CLASSIFIERS, 1),
    Table("comparisons", (
        SLICE, MODEL, *of("text", "reference"), *DIFFERENCES,
        Column("differing_positives", "weight", "P differing"),
        Column("differing_negatives", "weight", "N differing"),
    ), f"{CLASSIFIERS}?"),
    Table("run_spread", (
        MODEL, *of("count", "runs"),
        Column("phi_mean", "signed", "mean φ"), Column("phi_sd", "number?", "SD of φ"),
        Column("delta_mean", "signed", "mean δ"), Column("delta_sd", "number?", "SD of δ"),
        *of("number?", "covariance"),
        Column("accuracy_u_mean", "share", "mean unbiased accuracy"),
        Column("accuracy_u_sd", "number?", "SD of it"),
        Column("bias", "text", among=(None, "low", "towards positive", "towards negative")),
        Column("variance", "text", among=(None, "low", "high")),
    ), f"{CLASSIFIERS}?"),
    Table("run_comparisons", (
        MODEL, *of("text", "reference"), *of("count", "runs"), *DIFFERENCES[::-1],
        *of("cut?", "t"), Column("df", "count?"), Column("p_value", "p?", "p"),
    ), f"{CLASSIFIERS}?"),
    Table("runs", (MODEL, *of("text", "run"), THRESHOLD, *CELLS, *RATES, *PLACE,
                   *of("share", "accuracy_u")), f"{CLASSIFIERS}?"),
    Table("curves", (
        SLICE, MODEL, *of("signed", "gini"), *of("share", "roc_auc"),
        Column("best_threshold", "cut?", "at threshold"), Column("best_phi", "number?", "φ there"),
        Column("best_delta", "number?", "largest δ"),
        Column("break_even_threshold", "cut?", "near threshold"),
        Column("break_even_delta", "number?", "δ at φ = 0"), *of("count", "points"),
    ), f"{CLASSIFIERS}?"),
    Table("curve", (SLICE, MODEL, THRESHOLD, *CELLS[:2], *of("part", "sensitivity specificity"),
                    *of("number", "phi delta", more=BOUNDS)), f"{CLASSIFIERS}?"),
    Table("populations", (SLICE, MODEL, *AT, *MOVED,
                          *of("share", "accuracy precision npv mutual_information")),
          f"{CLASSIFIERS}?"),
    Table("features", FEATURE, FEATURES),
    Table("selected", FEATURE, f"{FEATURES}?"),
    Table("implications", (
        *of("text", "feature"), Column("implication", "text", among=IMPLICATIONS),
        *of("weight", "support"), *of("share", "confidence"),
    ), FEATURES),
    Table("corners", (*AT, Column("corner", "text", among=CORNERS),
                      *of("number", "phi_b", more={"minimum": -2, "maximum": 2}),
                      *of("number", "delta_b", more=BOUNDS)), "", 4),
    Table("isometrics", (
        Column("measure", "text", among=(
            "sensitivity", "specificity", "accuracy", "precision", "npv", "mutual_information",
        )),
        *of("part", "value"), *AT, *of("count", "branch point"),
        *of("number", "phi delta", more=BOUNDS),
        *of("number", "phi_b", more={"minimum": -2, "maximum": 2}),
        *of("number", "delta_b", more=BOUNDS),
    )),
)  # fmt: skip


LISTED = 60  # rows of a table shown to a person; files get them all
FEATURED, IMPLIED = 20, 8  # the same of features and of what they imply
CSV = "--format csv"


def headline(result: Result) -> list[str]:
    """Say what was read, what is positive, and what the two measures mean."""
    summary, names = result.summary, ", ".join(item.name for item in result.inputs)
    if result.parameters["mode"] == "features":
        return _of_features(result, names)
    runs = f", {summary['runs']} runs" if summary.get("runs") else ""
    return [
        f"φ-δ of {names}: {class_counts(result)}{runs}",
        "δ ↑  sensitivity + specificity - 1: 1 oracle, 0 chance, -1 anti-oracle",
        "φ    sensitivity - specificity: 1 always positive, 0 no lean, -1 always negative",
    ]


def _of_features(result: Result, names: str) -> list[str]:
    summary, parameters = result.summary, result.parameters
    lines = [
        f"φ-δ of {summary['features']:,} features in {names}: {class_counts(result)}",
        "δ    share of positives with the feature - share of negatives with it",
        "φ    their sum - 1: 1 nearly always true, -1 nearly always false",
    ]
    if "selected" in summary:
        limits = f"|φ| < {parameters['phi_max']:g} and |φ| + |δ|/{parameters['delta_min']:g} >= 1"
        lines.append(f"selected {summary['selected']:,}: {limits}")
    return lines


def shown(result: Result, _digits: int) -> Iterator[Shown]:
    """Yield the tables in reading order."""
    if result.parameters["mode"] == "features":
        yield from _features(result)
        return
    models, tables = result.tables["models"], result.tables
    sliced = any(row["slice"] is not None for row in models)
    who = "slice model" if sliced else "model"
    ratio, level = result.summary["odds"], result.parameters["level"]
    at = f"at the sample's class ratio, {ratio}" if ratio else "at each model's class ratio"
    pooled = ", all runs' rows together" if "runs" in tables else ""
    read = [{**row, "reading": row["reading"] or f"withheld: {row['reading_withheld']}"}
            for row in models]  # fmt: skip
    title = f"Position in the diamond{pooled}"
    yield Shown("models", title, f"{who} phi delta reading", read, more=CSV)
    reference = f"Difference from {result.parameters.get('reference')}, on the same rows"
    for name, title, columns in (
        ("comparisons", reference,
         f"{who} phi_difference delta_difference differing_positives differing_negatives"),
        ("run_spread", "Runs together",
         "model runs phi_mean phi_sd delta_mean delta_sd covariance accuracy_u_mean accuracy_u_sd"
         " bias variance"),
        ("run_comparisons", "Models over the runs",
         "model reference runs delta_difference phi_difference t df p_value"),
        ("runs", "Each run", "model run sensitivity specificity phi delta"),
        ("curves", "Curves",
         f"{who} gini roc_auc best_delta best_phi best_threshold break_even_delta"
         " break_even_threshold"),
        ("populations", "In other populations",
         f"{who} prevalence odds phi_b delta_b accuracy precision npv mutual_information"),
    ):  # fmt: skip
        if name in tables:
            yield Shown(name, title, columns)
    for title, columns in (
        ("Rates", f"threshold? {' '.join(cell.name for cell in CELLS)} sensitivity specificity"),
        (
            "Without the class ratio (1:1)",
            "accuracy_u precision_u npv_u f1_u mcc_u mutual_information_u",
        ),
        (f"With it: {at}", "accuracy precision npv f1 mcc mutual_information phi_b delta_b"),
    ):
        yield Shown("models", title, f"{who} {columns}", more=CSV)
    regions = ("region_sensitivity", "region_specificity")
    if all(any(interval(row.get(name)) for row in models[:LISTED]) for name in regions):
        note = "both intervals exact, each at the square root of the level"
        yield Shown(
            "models", f"Joint {level * 100:g} % region of the point", f"{who} {' '.join(regions)}",
            more=CSV, note=note, between="from .. to",
        )  # fmt: skip


def _features(result: Result) -> Iterator[Shown]:
    """Show the most telling features, and what always held."""
    name = "selected" if "selected" in result.tables else "features"
    rows, implied = result.tables[name], result.tables["implications"]
    here = rows[:FEATURED]
    columns: dict[str, Source] = {"feature": "feature"}
    if len({row["kind"] for row in here}) != 1:
        columns["kind"] = "kind"
    for column, heading, source in (("rule", "true where", _where), ("missing",) * 3):
        if any(row[column] for row in here):
            columns[heading] = source
    # a feature is good for being far from 0, in either direction
    columns |= {"support": "support", "φ": "phi", "δ": "delta"}
    columns["role"] = lambda row: row["role"] or ABSENT
    if any(row["implications"] for row in here):
        columns["implications"] = lambda row: joined(row["implications"])
    title = "Selected features" if name == "selected" else "Features by |δ|"
    yield Shown(name, title, columns, rows, FEATURED)
    if implied:
        best = sorted(implied, key=lambda row: -float(str(row["support"])))
        note = "f: the feature, c: the positive class; always held in these rows"
        note += "; all of them: --format csv --table implications" * (len(best) > IMPLIED)
        what = "feature implication support confidence"
        title = "Implications of largest support"
        yield Shown("implications", title, what, best, IMPLIED, note, more="")


def _where(row: Row) -> Cell:
    rule = row["rule"]
    return "" if rule is None else rule if rule == "soft" else f"{rule} {exact(row['cut'])}"


PAGE = Page("phidelta", TABLES, headline, shown, lambda _: ())
