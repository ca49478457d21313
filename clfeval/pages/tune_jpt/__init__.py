"""How tuned tables of a classifier read: which populations, what never moves, what to plot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import floor, inf, log10

from clfeval.measures.catalog import CATALOG
from clfeval.measures.odds import JPT
from clfeval.pages.columns import CELLS, MODEL, SLICE
from clfeval.pages.tune_jpt.sections import Look, between, counted, more, shown
from clfeval.pages.write import class_counts, exact, some
from clfeval.result import Cell, Estimate, Result, Row, value_of
from clfeval.schema import Axis, Chart, Column, Json, Mark, Note, Page, Point, Series, Table, of

POPULATIONS = ("sample", "1:1", "target", "sweep")
RULES = ("score >= t", "never positive", "always positive")
KINDS = {(0.0, 1.0): "share", (0.0, inf): "amount", (-1.0, 1.0): "signed"}  # by range
MEASURES = tuple(
    Column(name, KINDS.get((CATALOG[name].low, CATALOG[name].high), "estimate"), when="?")
    for name in JPT
)
WHO = (SLICE, MODEL)
MEASURE = Column("measure", "measure")
AT = (*of("prevalence", "prevalence"), *of("odds", "odds"))
MAYBE_AT = (*of("prevalence?", "prevalence"), *of("odds?", "odds"))
PLACED = Column("population", "text", among=POPULATIONS[:3])
HERE = (*AT, *of("positive", "ratio"))
# the cells are null where a class is absent, but for the sample, of which they are the counts
SAMPLE: Json = {
    "if": {"properties": {"population": {"const": "sample"}}},
    "then": {"properties": {column.name: {"type": "number"} for column in CELLS}},
    "else": {"properties": {"prevalence": {"type": "number"}, "odds": {"type": "string"}}},
}
TABLES = (
    Table("models", (
        *WHO, PLACED, *MAYBE_AT, *of("weight", "rows"),
        *(Column(cell.name, "weight?", cell.title, best=cell.best) for cell in CELLS),
        Column("threshold", "cut?"), *MEASURES,
    ), "", 1, SAMPLE),
    Table("expected", (
        *WHO, PLACED, *AT, *of("positive", "rows"),
        *of("weight", "positives negatives"), *of("amount", "tp fp fn tn called"),
    )),
    Table("sweep", (*WHO, *HERE, *MEASURES), least=2),
    Table("crossovers", (
        SLICE, MEASURE, *of("text", "first second"), *of("crossing", "crossing"),
        *of("odds?", "odds"), *of("text?", "leads_below leads_above"), *of("text", "verdict"),
    )),
    Table("winners", (
        SLICE, MEASURE, Column("population", "text", among=("sample", "target", "sweep")), *HERE,
        *of("text?", "leader"), *of("estimate", "value"), *of("text?", "winner"),
        *of("text*", "undecided"),
    )),
    Table("thresholds", (
        *WHO, MEASURE, Column("population", "text", among=POPULATIONS), *HERE,
        Column("threshold", "cut?", more={"description": "null: above every score"}),
        Column("rule", "text", among=(None, *RULES)), *of("part?", "sensitivity specificity"),
        *of("estimate", "value"),
        Column("fixed_threshold", "cut?", more={"description": "null: the largest class"}),
        Column("fixed_value", "estimate", "value at the fixed threshold"), *of("amount", "loss"),
        Column("honest", "estimate", "cross-fitted value"),
        Column("honest_gain", "estimate", "gain from moving"),
    )),
    Table("cutoffs", (
        MODEL, MEASURE, *of("odds", "odds"), *of("cut?", "threshold"),
        Column("rule", "text", among=RULES),
    )),
    Table("ranges", (
        *WHO, MEASURE, *of("estimate", "lowest"), *of("prevalence", "lowest_at"),
        *of("estimate", "highest"), *of("prevalence", "highest_at"),
    )),
    Table("simulated", (
        *WHO, MEASURE, *of("number?", "mean median low high"),
        Column("failed", "count", more={"description": "draws for which it is undefined"}),
    )),
)  # fmt: skip


DRAWN = 12  # curves whose crossings are marked
CROSSINGS = 9  # marked one by one
FEW = 3  # measures drawn one by one
FACTOR = 100  # a measure without upper end that varies more has a log axis


def charts(result: Result) -> Iterator[Chart]:
    """Yield a measure over the swept odds, and the best thresholds, as far as they are there."""
    rows = result.whole("sweep")
    for name in _shown(result, rows):
        yield _measure(name, rows, result)
    rows = [row for row in Look(result).swept("thresholds") if row["slice"] is None]
    rows = [row for row in rows if row["measure"] == rows[0]["measure"]]
    points = [(_x(row), value_of(row["threshold"])) for row in rows]
    if any(y is not None for _, y in points):
        curves = tuple(Series(one.name, tuple(map(_steps, one.parts)))
                       for one in _curves(rows, points))  # fmt: skip
        lacking = any(row["threshold"] is None for row in rows)
        key = [Note("gaps: it is best to call nothing positive")] if lacking else []
        title = f"Best threshold for {Look(result).title(str(rows[0]['measure']))}"
        yield _chart(title, result, rows, curves, (), key)


def _measure(name: str, rows: Sequence[Row], result: Result) -> Chart:
    values = [value_of(row[name]) for row in rows]
    known = [value for value in values if value is not None]
    log = CATALOG[name].high == inf and min(known) > 0 and max(known) >= FACTOR * min(known)
    points = [(_x(row), value and log10(value) if log else value)
              for row, value in zip(rows, values, strict=True)]  # fmt: skip
    curves = _curves(rows, points)
    marks, key = _crossings(result, name, curves)
    key += [Note("gaps: infinite or undefined values")] if len(known) < len(values) else []
    title = f"{Look(result).title(name)} over the class ratio"
    return _chart(title, result, rows, curves, marks, key, log=log)


def _shown(result: Result, rows: Sequence[Row]) -> list[str]:
    """Choose the measure models are compared by, and if few were asked for, those that move."""
    wanted = result.parameters.get("crossover")
    names = [name for name, cell in rows[0].items() if isinstance(cell, Estimate)] if rows else []
    moving = [name for name in names if not CATALOG[name].invariant and name != wanted]
    names = [name for name in (wanted,) if name in names] + moving
    drawable = [n for n in names if any(value_of(row[n]) is not None for row in rows)]
    return drawable[: FEW if len(moving) <= FEW else 1]


def _chart(
    title: str, result: Result, rows: Sequence[Row], curves: tuple[Series, ...],
    marks: Sequence[Mark], key: Sequence[Note], *, log: bool = False,
) -> Chart:  # fmt: skip
    """Put the populations on top of the curves: the targets, and the sample if models share it."""
    odds = {_x(row): str(row["odds"]) for row in rows}
    low, high = min(odds), max(odds)
    places: list[Mark] = []
    words = []
    found = [("T", "target", one) for one in result.parameters["targets"]]
    found += [("S", "sample", result.summary)] if result.summary["odds"] is not None else []
    for letter, kind, one in found:
        share = one["prevalence"]
        x = _logit(share)
        inside = low <= x <= high
        places += [Mark(letter, x)] if inside else []
        where = "" if inside else ", outside the plot"
        words.append(Note(f"{letter} {kind} {one['odds']}, prevalence {exact(share)}{where}"))
    axis = Axis("positives:negatives", "odds", (low, high), (odds[low], odds[high]))
    return Chart(
        "lines", title, axis, Axis(scale="log" if log else "linear"), curves,
        (*places, *marks), (*dict.fromkeys(words), *key),
    )  # fmt: skip


def _crossings(
    result: Result, name: str, curves: Sequence[Series]
) -> tuple[list[Mark], list[Note]]:
    """Number the crossings of the curves that are drawn, for the plot and the key."""
    drawn = {curve.name: curve for curve in curves[:DRAWN]}
    marks: list[Mark] = []
    key: list[Note] = []
    left = 0
    for row in result.whole("crossovers"):
        share, names = value_of(row["crossing"]), (str(row["first"]), str(row["second"]))
        if row["measure"] != name or share is None:
            continue
        if not drawn.keys() >= set(names) or len(marks) == CROSSINGS:
            left += 1
            continue
        x = _logit(share)
        marks.append(Mark(str(len(marks) + 1), x, height_at(drawn[names[0]], x)))
        limits = between(row["crossing"])
        at = f"prevalence {exact(share)}{f' {limits}' if limits else ''}, odds {row['odds']}"
        key.append(Note(f"{marks[-1].letter} {{}} = {{}} at {at}", names))
    if left:
        key.append(Note(f"{left} more crossings: {more('crossovers')}"))
    return marks, key


def height_at(curve: Series, x: float) -> float | None:
    """Return the height of a curve between two points; None beside it."""
    for part in curve.parts:
        for (x0, y0), (x1, y1) in pairwise(part):
            if x0 <= x <= x1:
                return y0 + (y1 - y0) * ((x - x0) / (x1 - x0) if x1 > x0 else 0.0)
    return None


def _curves(
    rows: Sequence[Row], points: Sequence[tuple[float, float | None]]
) -> tuple[Series, ...]:
    """Gather the points by model, in parts where some are missing."""
    parts: dict[str, list[list[Point]]] = {}
    for row, (x, y) in zip(rows, points, strict=True):
        here = parts.setdefault(str(row["model"]), [[]])
        if y is None:
            here.append([])
        else:
            here[-1].append((x, y))
    return tuple(
        Series(name, tuple(tuple(part) for part in found if part)) for name, found in parts.items()
    )


def _steps(part: Sequence[Point]) -> tuple[Point, ...]:
    """Change from one threshold to the next halfway between their odds."""
    out = list(part[:1])
    for (x0, y0), (x1, y1) in pairwise(part):
        out += [((x0 + x1) / 2, y0), ((x0 + x1) / 2, y1), (x1, y1)]
    return tuple(out)


def _logit(share: float) -> float:
    return log10(share / (1 - share)) if share < 1 else inf


def _x(row: Mapping[str, Cell]) -> float:
    return log10(float(str(row["ratio"])))


TARGETS = 4  # populations named on top
SAID = 3  # sentences; the tables have them all
ANSWERS = (("ppv", "positive"), ("npv", "negative"))


def headline(result: Result) -> list[str]:
    """Say what was read, what share of it is positive, and which populations follow."""
    summary, parameters = result.summary, result.parameters
    names = ", ".join(item.name for item in result.inputs) or "given rates"
    read = class_counts(result) if counted(result) else "sensitivity and specificity, no rows"
    lines = [f"joint probability tables of {names}: {read}"]
    if summary["odds"] is not None:
        at = f"prevalence {exact(summary['prevalence'])}, odds {summary['odds']}"
        lines.append(f"in the sample: {at} (positives : negatives)")
    targets = [f"{one['odds']} (prevalence {exact(one['prevalence'])})"
               for one in ({"odds": "1:1", "prevalence": 0.5}, *parameters["targets"])]  # fmt: skip
    lines.append(f"tuned to positives : negatives {some(targets, 1 + TARGETS)}")
    sweep = parameters.get("sweep")
    if sweep:
        lines[-1] += f"; swept from {sweep['from']} to {sweep['to']} at {sweep['points']} odds"
    lines.append("tuning keeps sensitivity and specificity; only the share of positives changes")
    return [*lines, *sentences(result)]


def sentences(result: Result) -> list[str]:
    """Say in words what the first few tables of target populations hold."""
    rows = [row for row in result.whole("models") if row["population"] == "target"]
    told = [row for row in rows if row["tp"] is not None]
    many = len({row["model"] for row in result.tables["models"]}) > 1
    left = len(told) - SAID
    rest = [f"... and {left} more, in the tables"] if left > 0 else []
    return [*(_sentence(row, named=many) for row in told[:SAID]), *rest]


def _sentence(row: Row, *, named: bool) -> str:
    tp, fp, fn, tn, total = (float(str(row[name])) for name in ("tp", "fp", "fn", "tn", "rows"))
    who = f"{row['model']} at" if named else "at"
    found, missed = (_many(rows, of=tp + fn) for rows in (tp, fn))
    words = (
        f"{who} prevalence {exact(row['prevalence'])} ({row['odds']}): of {total:,.0f} rows "
        f"{_many(tp + fn)} are positive, {found} of them found and {missed} missed; "
        f"{_many(fp, of=fp + tn)} of {_many(fp + tn)} negatives are called positive too"
    )
    right = []
    for name, answer in ANSWERS:
        cell = row.get(name)
        if isinstance(cell, Estimate) and cell.value is not None:
            ends = [_share(end) for end in (cell.low, cell.high) if end is not None]
            limits = f" ({' to '.join(ends)})" if len(ends) == 2 else ""
            right.append(f"a {answer} answer is right in {_share(cell.value)} %{limits}")
    return f"{words}; {', '.join(right)}" if right else words


def _share(share: float) -> str:
    """Write a percentage: three digits, and next to 100 two of what is lacking."""
    lacking = 100 * (1 - share)
    if not 0 < lacking < 1:
        return f"{100 * share:.3g}"
    if lacking < 1e-4:
        return ">99.9999"
    return f"{100 * share:.{1 - floor(log10(lacking))}f}"


def _many(rows: float, *, of: float | None = None) -> str:
    """Write expected rows: with more decimals the fewer rows the class they are of has."""
    whole = rows if of is None else of
    if whole >= 100 or abs(rows - round(rows)) < 1e-9:
        return f"{rows:,.0f}"
    return f"{rows:.1f}" if whole >= 10 else f"{rows:.2f}" if rows >= 0.1 else f"{rows:.2g}"


PAGE = Page("tune-jpt", TABLES, headline, shown, charts)
