"""How a MARS result reads: its tables, the sentences on top, what follows, and what to plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from clfeval.pages.asked import MEASURED, shown_measures
from clfeval.pages.columns import CELLS, MODEL, SLICE, shown_differences
from clfeval.pages.glossary import MARS, MARS_HEADINGS
from clfeval.pages.write import (
    ABSENT,
    amount,
    at_cut,
    class_counts,
    class_names,
    evenly,
    exact,
    joined,
    show,
    without_model,
)
from clfeval.result import Cell, Result, Row, value_of
from clfeval.schema import Axis, Chart, Column, Page, Point, Series, Shown, Source, Table, holds, of
from clfeval.words import even, many

PAIRS = 10  # that are listed before the matrices
LISTED = 20  # rows of a long table shown to a person; files get them all
SWEPT = 5  # cuts of a sweep shown to a person
MATRIX_MODELS = 12
HITS = {"positive": ("tp", "fp"), "negative": ("tn", "fn")}  # rows found, and called in vain
MEASURES = (("shine_through", "ShineThrough"), ("occlusion", "Occlusion"))

ROWS = (
    *of("weight", "rows positives negatives"),
    Column("found", "weight", best="max"),
    Column("missed_by_all", "weight", "missed by all", best="min"),
)
ALONE = (
    Column("exclusive_tp", "weight", "found alone", "target=positive"),
    Column("exclusive_tn", "weight", "found alone", "target=negative"),
    Column("shine_through", "share"),
    Column("exclusive_fn", "weight", "missed alone", "target=positive", best="min"),
    Column("exclusive_fp", "weight", "missed alone", "target=negative", best="min"),
    Column("occlusion", "share"),
)
REACH = (*of("text+", "models"), *of("weight", "covered effort"), *of("share", "yield"), *ALONE)
HONEST = (Column("corrected", "bare", "cross-fitted", best="max"),
          Column("corrected_yield", "bare", "yield cross-fitted", best="max"))  # fmt: skip
SIZE, GAIN, METHOD = Column("size", "count"), Column("gain", "weight"), Column("method", "text")
TABLES = (
    Table("models", (SLICE, MODEL, *of("cut?", "threshold"), *CELLS,
                     *of("share", "accuracy precision recall"), *ALONE), "", least=1),
    Table("pairs", (SLICE, *REACH, *of("weight", "first_alone second_alone"),
                    Column("p_value", "p?", "p")), ""),
    Table("subsets", (SLICE, *REACH)),
    Table("best", (SLICE, SIZE, GAIN, METHOD, *REACH, *HONEST)),
    Table("max_effort", (SLICE, SIZE, METHOD, *REACH, *HONEST)),
    Table("slices", (*of("text", "slice"), *ROWS)),
    Table("sweep", (SLICE, Column("threshold", "cut", when="sweep=threshold"),
                    Column("top", "cut", when="sweep=top"), MODEL,
                    *of("weight", "found hits"), *ALONE)),
    Table("exclusive", (MODEL, Column("list", "text", among=("found", "missed")),
                        *of("text", "file"), Column("id", "text", when="one"),
                        Column("row", "count", when="one"))),
    MEASURED,
)  # fmt: skip

HEADS = {"corrected": "cross-fitted", "yield": "yield ↑"}
REACHED = ("covered", "cross-fitted", "gain", "effort", "yield")  # what they mean stands below


def headline(result: Result) -> list[str]:
    """Say what was read, what is positive, and how much of it is found at all."""
    summary, parameters = result.summary, result.parameters
    names = joined([item.name for item in result.inputs])
    target = parameters["target"]
    wanted = f"{many(summary[f'{target}s'], f'{target} row')} ({class_names(result)[target]})"
    found, missed = f"{summary['found']:,.10g}", f"{summary['missed_by_all']:,.10g}"
    return [
        f"MARS of {names}: {class_counts(result)}",
        f"of the {wanted}, some model finds {found}, no model {missed}",
    ]


def shown(result: Result, digits: int) -> Iterator[Shown]:
    """Yield the tables in reading order."""
    tables = result.tables
    scores = " ".join(column.name for column in ALONE if holds(column.when, result))
    found = scores.split()[0]
    part = partial(Shown, most=LISTED, rank="asked")
    for name, title, columns in (
        ("best", "Best subset of each size", "size models covered corrected gain effort"),
        ("max_effort", "Best subset within the effort", "models covered corrected effort"),
    ):
        if name in tables:
            who = "slice " * any(row["slice"] is not None for row in tables[name])
            one = part(name, title, f"{who}{columns} yield", legend=REACHED)
            yield _chosen(one, tables[name], digits)
    if "subsets" in tables:
        title = "Subsets: what any member finds"
        columns = f"models covered effort yield {scores}"
        who = "slice " * bool(tables.get("slices"))
        yield part("subsets", title, f"{who}{columns}", legend=REACHED, lead="yield")
    yield from shown_differences(result)
    if "exclusive" in tables:
        title = "Found or missed by one model alone"
        yield part("exclusive", title, "model list file id? row?")
    if "sweep" in tables:
        yield from _sweep(result, scores, digits)
    yield from shown_measures(result)
    who = ""
    if tables.get("slices"):
        yield _slices(result)
        who = "slice "
    yield _main(result, found)
    # the confusion counts keep to the positive class whatever the target is
    aside = " (of the positive class)" if result.parameters["target"] == "negative" else ""
    rates = "threshold? tp fp fn tn accuracy precision recall"
    for name, title, columns in (
        ("alone", "What each model finds and misses alone", scores),
        ("rates", f"Each model by itself{aside}", rates),
    ):
        note = _without_model(result) if name == "rates" else ""
        more = "--format csv"
        yield Shown("models", title, f"{who}model {columns}", more=more, name=name, note=note)
    yield from _pairs(result, found, digits)


def _without_model(result: Result) -> str:
    """Say what accuracy needs no model, of all rows."""
    positives, negatives = result.summary["positives"], result.summary["negatives"]
    rows = positives + negatives
    return without_model([positives / rows]) if rows else ""


def _first(rows: Sequence[Row], target: str) -> list[Row]:
    """Sort models: those that find most first, and of equals those that call fewest rows."""
    hit, alarm = HITS[target]

    def place(row: Row) -> tuple[float, float]:
        found = _number(row[hit])
        return -even(found), even(found + _number(row[alarm]))

    return sorted(rows, key=place)


def _number(cell: Cell) -> float:
    return float(str(cell))


def _slices(result: Result) -> Shown:
    """Show what each slice holds, and who finds most there."""
    target = result.parameters["target"]
    models: dict[Cell, list[Row]] = {}
    for row in result.tables["models"]:
        models.setdefault(row["slice"], []).append(row)
    rows = [
        {**row, "first": best["model"], "hits": best[HITS[target][0]], "recall": best["recall"]}
        if row["found"] else {**row, "first": None, "hits": 0, "recall": None}
        for row in result.tables["slices"] for best in _first(models[row["slice"]], target)[:1]
    ]  # fmt: skip
    columns: dict[str, Source] = {
        "slice": "slice", "rows": "rows", f"{target}s": f"{target}s", "found": "found",
        "finds most": lambda row: row["first"] or ABSENT, "of them": "hits",
        **({"recall ↑": "recall"} if target == "positive" else {}),
        "missed\nby all": "missed_by_all",
    }  # fmt: skip
    more = "each model in each slice: --show alone, --show rates"
    lead = "recall" if target == "positive" else "hits"
    return Shown("slices", "Slices", columns, rows, LISTED, more, rank="asked", lead=lead)


def _main(result: Result, found: str) -> Shown:
    """Show one line a model, those that find most first."""
    target = result.parameters["target"]
    positive = target == "positive"
    hit, alarm = HITS[target]
    missed = "exclusive_fn" if positive else "exclusive_fp"

    def called(row: Row) -> float:
        return _number(row[hit]) + _number(row[alarm])

    rows = _first(result.whole("models"), target)
    columns: dict[str, Source] = {
        "model": "model", "found": hit, **({"recall ↑": "recall"} if positive else {}),
        "found\nalone": found, "missed\nalone": missed,
        "called": lambda row: f"{called(row):,.10g}",
        **({"precision ↑": "precision"} if positive else {}),
        "ShineThrough ↑": "shine_through", "Occlusion ↓": "occlusion",
    }  # fmt: skip
    rule = result.parameters["occlusion"]
    outside = "every" if rule == "all" else "some"
    words = {missed: f"by this model, and found by {outside} other (rule '{rule}')"}
    title = f"Models{at_cut(rows)}, those that find most first"
    return Shown(
        "models", title, columns, rows, rank="main", right=["called"],
        lead="recall" if positive else "shine_through", more="--format csv",
        legend=(found, "shine_through", "occlusion"), words=words,
    )  # fmt: skip


def _elsewhere(row: Row, digits: int) -> str:
    """Write how many rows sets find that were chosen on others, to a part of a row."""
    found = value_of(row["corrected"])
    return ABSENT if found is None else amount(found, digits)


def _chosen(one: Shown, rows: Sequence[Row], digits: int) -> Shown:
    """Say by which method subsets were chosen: below the table where it is one for all."""
    written = {"corrected": partial(_elsewhere, digits=digits)}
    names = str(one.columns).split()
    heads: dict[str, Source] = {HEADS.get(name, name): written.get(name, name) for name in names}
    methods = list(dict.fromkeys(str(row["method"]) for row in rows[: one.most]))
    if len(methods) > 1:
        return replace(one, columns={**heads, "method": "method"}, right=[HEADS["corrected"]])
    return replace(one, columns=heads, note="".join(methods), more="", right=[HEADS["corrected"]])


def _sweep(result: Result, scores: str, digits: int) -> Iterator[Shown]:
    """Show a few evenly spaced cuts of the whole table: a matrix of each measure, then all of them.

    Plots and files have every cut.
    """
    rows, cut = result.whole("sweep"), result.parameters["sweep"]
    cuts = list(dict.fromkeys(row[cut] for row in rows))
    some = evenly(cuts, SWEPT)
    kept = [one for one in cuts if one in some]
    here = [row for row in rows if row[cut] in kept]
    note = "all of them: --format csv --show sweep" if len(kept) < len(cuts) else ""
    heads = {one: exact(one) for one in kept}
    for measure, title in MEASURES:
        cells: dict[str, dict[str, Cell]] = {}
        for row in here:
            mine = cells.setdefault(str(row["model"]), {"model": row["model"]})
            mine[heads[row[cut]]] = show(row[measure], digits)
        arrow = "↓" if measure == "occlusion" else "↑"
        yield Shown(
            "sweep", f"{title} {arrow} at {len(kept)} of {len(cuts)} cuts ({cut})",
            {head: head for head in ("model", *heads.values())}, list(cells.values()), most=None,
            note=note, right=[*heads.values()], rank="asked",
        )  # fmt: skip
    yield Shown(
        "sweep", f"Sweep: at {len(kept)} of {len(cuts)} cuts", f"{cut} model found hits {scores}",
        here, most=None, note=note, name="cuts",
    )  # fmt: skip


def _pairs(result: Result, found: str, digits: int) -> Iterator[Shown]:
    """Show which pairs find most; then, as the paper does, a matrix of each measure."""
    whole = result.whole("pairs")
    most = sorted(whole, key=lambda row: (-_number(row["covered"]), _number(row["effort"])))
    if most:
        columns = f"models covered effort yield {found}"
        title = "Pairs, those that find most first"
        yield Shown("pairs", title, columns, most, PAIRS, lead="yield", legend=REACHED)
    models = [str(row["model"]) for row in result.whole("models")]
    if len(models) > MATRIX_MODELS:
        rows = sorted(whole, key=lambda row: -_number(row[found]))
        scores = f"models covered effort yield {found} shine_through occlusion"
        yield Shown("pairs", "Pairs that find most alone", scores, rows, LISTED)
    elif len(models) > 2:  # of two models the pair is everything
        heads = [str(j) for j in range(1, len(models) + 1)]
        matrix: dict[str, Source] = {head: head for head in ("model", *heads)}
        for measure, title in MEASURES:
            cells = pair_cells(result, measure)
            rows = [
                {"model": f"{i} {name}", **{head: show(cell, digits)
                                            for head, cell in zip(heads, line, strict=True)}}
                for i, (name, line) in enumerate(zip(models, cells, strict=True), start=1)
            ]  # fmt: skip
            title = f"{title} {'↓' if measure == 'occlusion' else '↑'} of pairs"
            title += " (single models on the diagonal)"
            yield Shown("pairs", title, matrix, rows, right=heads)


def pair_cells(result: Result, measure: str) -> list[list[Cell]]:
    """Return the k x k matrix of a measure, single models on the diagonal."""
    models = [str(row["model"]) for row in result.whole("models")]
    known = {frozenset({str(row["model"])}): row[measure] for row in result.whole("models")}
    for row in result.whole("pairs"):
        if isinstance(row["models"], list):
            known[frozenset(row["models"])] = row[measure]
    return [[known.get(frozenset({a, b})) for b in models] for a in models]


def charts(result: Result) -> Iterator[Chart]:
    """Yield exclusive finds and misses, the pairs, and the curves of a sweep."""
    models = result.whole("models")
    alone = [column.name for column in ALONE if column.title and holds(column.when, result)]
    for column, title in zip(alone, ("Found", "Missed"), strict=True):
        bars = (Series(str(row["model"]), values=(float(str(row[column])),)) for row in models)
        yield Chart("bars", f"{title} by one model alone", series=tuple(bars), name="bars")
    if 3 <= len(models) <= MATRIX_MODELS:
        lines = zip(models, pair_cells(result, "shine_through"), strict=True)
        matrix = (Series(str(row["model"]), values=tuple(map(value_of, c))) for row, c in lines)
        title = "ShineThrough of pairs (taller is more)"
        yield Chart("cells", title, series=tuple(matrix), name="matrix")
    if "sweep" in result.tables:
        yield from _curves(result)


def _curves(result: Result) -> Iterator[Chart]:
    rows, cut = result.whole("sweep"), result.parameters["sweep"]
    axis = Axis("rows taken from the top" if cut == "top" else cut)
    target = result.parameters["target"]
    for measure, title in MEASURES:
        points: dict[str, list[Point]] = {}
        for row in rows:
            value = value_of(row[measure])
            if value is not None:
                points.setdefault(str(row["model"]), []).append((float(str(row[cut])), value))
        forward = cut == "top"
        order = (str(row["model"]) for row in _first(result.whole("models"), target))
        curves = tuple(
            Series(name, (_steps(points[name], forward),)) for name in order if name in points
        )
        if curves:
            title = f"{title} at {len({row[cut] for row in rows})} cuts"
            yield Chart("lines", title, axis, series=curves, name="curves", rank="asked")


def _steps(points: Sequence[Point], forward: bool) -> tuple[Point, ...]:
    """Draw what lies between two cuts: the value of the upper threshold, or of the fewer rows."""
    out: list[Point] = []
    for i, (cut, value) in enumerate(points):
        other = points[min(i + 1, len(points) - 1)] if forward else points[max(i - 1, 0)]
        out += [(x, value) for x in sorted((cut, other[0]))]
    return tuple(out)


PAGE = Page(
    "mars", TABLES, headline, shown, charts, ROWS, "all", ("alone", "rates", "cuts"),
    ("bars", "matrix", "curves"), glossary=MARS, headings=MARS_HEADINGS,
)  # fmt: skip
