"""How moving thresholds read, and what an uncertain prevalence does to every measure."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.measures.catalog import CATALOG
from clfeval.measures.population import Population
from clfeval.result import Cell, Result, Row
from clfeval.views.rows import ABSENT, Section, exact
from clfeval.views.tune_jpt_look import PLACE, Column, Look, more, place

SWEPT = 7  # odds of a sweep shown to a person
_HONEST = (
    "loss: what keeping the fixed threshold costs on these rows; cross-fitted: thresholds chosen "
    "on other rows than they are judged on; gain: cross-fitted less fixed, above 0 moving pays"
)


def moving(result: Result, look: Look) -> list[Section]:
    """Return the tables of thresholds, where there are scores, and of uncertain prevalences."""
    return [*_thresholds(result, look), *_by_odds(result, look), *_ranges(result, look)]


def _thresholds(result: Result, look: Look) -> list[Section]:
    rows = result.tables.get("thresholds", ())
    wanted = "target" if any(row["population"] == "target" for row in rows) else "sample"
    shown = [row for row in rows if row["population"] == wanted]
    if not shown:
        return []
    columns: dict[str, Column] = {
        **look.who(),
        "measure": lambda row: look.title(str(row["measure"])),
        PLACE: place,
        "best\nthreshold": best_threshold,
        "value\nthere": "value",
        "sens.\nthere": "sensitivity",
        "spec.\nthere": "specificity",
        "fixed\nthreshold": fixed_threshold,
        "value\nat it": "fixed_value",
        "loss": "loss",
        "cross-\nfitted": "honest",
        "gain": "honest_gain",
    }
    right = ("best\nthreshold", "fixed\nthreshold")
    return [
        look.table("Moving the threshold", shown, columns, "thresholds", note=_HONEST, right=right)
    ]


def fixed_threshold(row: Row) -> str:
    """Write the threshold in use."""
    return exact(row["fixed_threshold"]) if row["fixed_threshold"] is not None else "largest class"


def best_threshold(row: Row) -> Cell:
    """Write where to cut, or that nothing or everything is to be called positive."""
    rule = row["rule"]
    return rule if rule in (None, "never positive", "always positive") else exact(row["threshold"])


def _by_odds(result: Result, look: Look) -> list[Section]:
    """Show thresholds at a few evenly spaced odds, a column for each measure."""
    rows = [row for row in result.tables.get("thresholds", ()) if row["population"] == "sweep"]
    if not rows:
        return []
    ratios = sorted({float(str(row["ratio"])) for row in rows})
    last = len(ratios) - 1
    kept = {ratios[round(i * last / (SWEPT - 1))] for i in range(SWEPT)}
    lines: dict[tuple[str, str, float], dict[str, Cell]] = {}
    for row in rows:
        ratio = float(str(row["ratio"]))
        if ratio in kept:
            line = lines.setdefault((str(row["slice"]), str(row["model"]), ratio), {**row})
            line[f"best for {row['measure']}"] = best_threshold(row)
    measures = dict.fromkeys(str(row["measure"]) for row in rows)
    columns: dict[str, Column] = {f"{look.title(name)}": f"best for {name}" for name in measures}
    note = "positive from there up; " + (
        f"all odds, with every digit: {more('cutoffs')}" if "cutoffs" in result.tables else ""
    )
    title = f"Best threshold by odds: at {len(kept)} of {len(ratios)}"
    return [
        look.table(
            title, list(lines.values()), {**look.who(), PLACE: place, **columns}, "thresholds",
            note=note.removesuffix("; "), right=tuple(columns),
        )
    ]  # fmt: skip


def _ranges(result: Result, look: Look) -> list[Section]:
    parameters, tables = result.parameters, result.tables
    named: dict[str, Column] = {
        **look.who(),
        "measure": lambda row: look.title(str(row["measure"])),
    }
    out = []
    ranges, simulated = (_moved(tables.get(name, ())) for name in ("ranges", "simulated"))
    if ranges:
        low, high = (str(at_odds(end)) for end in parameters["range"])
        columns: dict[str, Column] = {
            **named,
            "lowest": "lowest",
            "at odds": lambda row: at_odds(row["lowest_at"]),
            "highest": "highest",
            "at odds ": lambda row: at_odds(row["highest_at"]),
        }
        title = f"Over the odds (prevalences) {low} to {high}"
        out.append(look.table(title, ranges, columns, "ranges"))
    if simulated:
        a, b = parameters["beta_prior"]
        share = f"{look.level * 100:g} %"
        columns = {
            **named, "mean": "mean", "median": "median", f"{share}\nfrom": "low",
            f"{share}\nto": "high", "undefined\ndraws": "failed",
        }  # fmt: skip
        mean = f"mean {exact(a / (a + b))}, odds {a:g}:{b:g}"
        title = f"Prevalence drawn from Beta({a:g}, {b:g}): {mean}"
        note = "the two rates are drawn too, from what their rows leave plausible (Jeffreys)"
        note += f"; {parameters['draws']:,} draws" if parameters.get("draws") else ""
        if any(
            row[part] is None for row in simulated for part in ("mean", "median", "low", "high")
        ):
            note += f"; {ABSENT} infinite, or undefined in every draw"
        out.append(look.table(title, simulated, columns, "simulated", note=note))
    return out


def _moved(rows: Sequence[Row]) -> list[Row]:
    """Leave out the measures that are the same at every prevalence."""
    return [row for row in rows if not CATALOG[str(row["measure"])].invariant]


def at_odds(prevalence: Cell) -> Cell:
    """Write odds and prevalence of a population known by its prevalence."""
    if not isinstance(prevalence, float):
        return prevalence
    return f"{Population.of_prevalence(prevalence).odds} ({exact(prevalence)})"
