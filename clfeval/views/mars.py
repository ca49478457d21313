"""How a MARS result reads: the sentence on top, which tables follow, and what to plot."""

from __future__ import annotations

from clfeval.result import Cell, Result, Row
from clfeval.views.rows import DIGITS, Section, section, show

LISTED = 20  # rows of a long table shown to a person; files get them all
SLICED = 60  # rows of models by slices shown to a person
SWEPT = 5  # cuts of a sweep shown to a person
MATRIX_MODELS = 12


def headline(result: Result) -> list[str]:
    """Say what was read, what is positive, and what the two measures mean here."""
    summary, parameters = result.summary, result.parameters
    names = ", ".join(item.name for item in result.inputs)
    negative = parameters["negative"]
    others = " and ".join(f"'{name}'" for name in negative)
    if len(negative) > 2:
        others = f"the {len(negative)} other classes"
    classes = {
        "positive": (summary["positives"], f"'{parameters['positive']}'"),
        "negative": (summary["negatives"], others or "none"),
    }
    wanted, label = classes[parameters["target"]]
    found, missed = f"{summary['found']:,.10g}", f"{summary['missed_by_all']:,.10g}"
    outside = "every" if parameters["occlusion"] == "all" else "some"
    counts = ", ".join(f"{n:,.10g} {name} ({text})" for name, (n, text) in classes.items())
    rows = f"{summary['rows']:,.10g} row{'s' * (summary['rows'] != 1)}"
    target = f"{wanted:,.10g} {parameters['target']} row{'s' * (wanted != 1)}"
    return [
        f"MARS of {names}: {rows}, {counts}",
        f"of the {target} ({label}), some model finds {found}, no model {missed}",
        f"ShineThrough ↑  share of those {found} found by X and by no other model",
        f"Occlusion ↓     share missed by X and found by {outside} other model "
        f"(rule '{parameters['occlusion']}')",
    ]


def sections(result: Result, *, digits: int = DIGITS) -> list[Section]:
    """Return the tables in reading order."""
    tables, level = result.tables, result.parameters["level"]
    found, missed = exclusive_columns(result)
    sliced = ["slice"] if len(tables.get("slices", ())) else []
    named = [*sliced, "model"]
    models = [_with_slice(row) for row in tables["models"][:SLICED]]
    total = len(tables["models"])
    rest = "all of them: --format csv" if total > SLICED else ""
    cut = ["threshold"] if any(row.get("threshold") is not None for row in models) else []

    def part(title: str, name: str, columns: list[str], *, methods: bool = False) -> Section:
        rows = tables[name]
        shown = [_with_slice(row) for row in rows[:LISTED]]
        note = f"all of them: --format csv --table {name}" if len(rows) > LISTED else ""
        if methods:
            used = list(dict.fromkeys(str(row["method"]) for row in shown))
            if len(used) > 1:
                columns = [*columns, "method"]
            else:
                note = "".join(used)
        return section(
            title, shown, columns, digits=digits, level=level, note=note, total=len(rows)
        )

    out = [
        section(
            "What each model finds and misses alone", models,
            [*named, found, "shine_through", missed, "occlusion"], digits=digits, level=level,
            total=total,
            note=rest,
        ),
        section(
            _by_itself(result), models,
            [*named, *cut, "tp", "fp", "fn", "tn", "accuracy", "precision", "recall"],
            digits=digits, level=level, total=total,
            note=rest,
        ),
    ]  # fmt: skip
    if sliced:
        columns = ["slice", "rows", "positives", "negatives", "found", "missed_by_all"]
        out.append(part("Slices", "slices", columns))
    out += pair_matrices(result, digits=digits)
    scores = ["covered", "effort", "yield", found, "shine_through", missed, "occlusion"]
    if "subsets" in tables:
        out.append(part("Subsets: what any member finds", "subsets", [*sliced, "models", *scores]))
    if "best" in tables:
        columns = [*sliced, "size", "models", "covered", "gain", "effort", "yield"]
        out.append(part("Best subset of each size", "best", columns, methods=True))
    if "max_effort" in tables:
        columns = [*sliced, "models", "covered", "effort", "yield"]
        out.append(part("Best subset within the effort", "max_effort", columns, methods=True))
    if "sweep" in tables:
        scores = ["found", "hits", found, "shine_through", missed, "occlusion"]
        out += [_sweep(result, scores, digits)]
    if "exclusive" in tables:
        key = "row" if any("row" in row for row in tables["exclusive"][:1]) else "id"
        out.append(
            part("Found or missed by one model alone", "exclusive", ["model", "list", "file", key])
        )
    return out


def _by_itself(result: Result) -> str:
    """Title the confusion counts; they keep to the positive class whatever the target is."""
    aside = " (of the positive class)" if result.parameters["target"] == "negative" else ""
    return f"Each model by itself{aside}"


def _sweep(result: Result, scores: list[str], digits: int) -> Section:
    """Show a few evenly spaced cuts of the whole table; plots and files have them all."""
    rows = [row for row in result.tables["sweep"] if row["slice"] is None]
    cut = "top" if rows and "top" in rows[0] else "threshold"
    cuts = list(dict.fromkeys(row[cut] for row in rows))
    last = len(cuts) - 1
    kept = {cuts[round(i * last / (SWEPT - 1))] for i in range(SWEPT)} if cuts else set()
    return section(
        f"Sweep: at {len(kept)} of {len(cuts)} cuts", [row for row in rows if row[cut] in kept],
        [cut, "model", *scores], digits=digits, level=result.parameters["level"],
        note="all of them: --format csv --table sweep" if len(kept) < len(cuts) else "",
    )  # fmt: skip


def exclusive_columns(result: Result) -> tuple[str, str]:
    """Return the names of the columns of exclusive finds and misses for the target class."""
    if result.parameters["target"] == "negative":
        return "exclusive_tn", "exclusive_fp"
    return "exclusive_tp", "exclusive_fn"


def pair_matrices(result: Result, *, digits: int = DIGITS) -> list[Section]:
    """Lay the pairs out as the paper does: a matrix per measure, single models on the diagonal."""
    models = [row for row in result.tables["models"] if row["slice"] is None]
    if not 3 <= len(models) <= MATRIX_MODELS:
        return _pair_list(result, len(models), digits)
    names = [str(row["model"]) for row in models]
    out = []
    for measure, title in (("shine_through", "ShineThrough ↑"), ("occlusion", "Occlusion ↓")):
        cells = pair_cells(result, measure)
        rows = tuple(
            (f"{i} {name}", *(show(cells[i - 1][j], digits) for j in range(len(names))))
            for i, name in enumerate(names, start=1)
        )
        heads = ("model", *(str(i) for i in range(1, len(names) + 1)))
        title = f"{title} of pairs (single models on the diagonal)"
        out.append(Section(title, heads, rows, (False, *(True for _ in names))))
    return out


def pair_cells(result: Result, measure: str) -> list[list[Cell]]:
    """Return the k x k matrix of a measure, single models on the diagonal."""
    models = [row for row in result.tables["models"] if row["slice"] is None]
    index = {str(row["model"]): i for i, row in enumerate(models)}
    cells: list[list[Cell]] = [[None] * len(models) for _ in models]
    for row in models:
        i = index[str(row["model"])]
        cells[i][i] = row[measure]
    for row in result.tables["pairs"]:
        if row["slice"] is None and isinstance(row["models"], list):
            i, j = (index[name] for name in row["models"])
            cells[i][j] = cells[j][i] = row[measure]
    return cells


def _pair_list(result: Result, models: int, digits: int) -> list[Section]:
    rows = [row for row in result.tables["pairs"] if row["slice"] is None]
    if models <= MATRIX_MODELS:
        return []  # of two models the pair is everything
    found, _ = exclusive_columns(result)
    ordered = sorted(rows, key=lambda row: -int(str(row[found])))
    return [
        section(
            "Pairs that find most alone", ordered[:LISTED],
            ["models", "covered", "effort", "yield", found, "shine_through", "occlusion"],
            digits=digits, note="all of them: --format csv --table pairs",
            level=result.parameters["level"], total=len(rows),
        )
    ]  # fmt: skip


def _with_slice(row: Row) -> Row:
    return {**row, "slice": row.get("slice") or "all"}
