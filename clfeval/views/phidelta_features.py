"""How a phi-delta result of features reads: the most telling ones, and what always held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clfeval.result import Result, Row
from clfeval.views.rows import DIGITS, Section, exact, section

LISTED, IMPLIED = 20, 8  # rows of a table shown to a person; files get them all


def headline(result: Result) -> list[str]:
    """Say what was read, what is positive, and what the two measures mean."""
    summary, parameters = result.summary, result.parameters
    positive, negative = parameters["positive"], parameters["negative"]
    others = f"'{negative[0]}'" if len(negative) == 1 else f"{len(negative)} other classes"
    names = ", ".join(item.name for item in result.inputs)
    lines = [
        f"φ-δ of {summary['features']:,} features in {names}: {summary['rows']:,.10g} rows, "
        f"{summary['positives']:,.10g} positive ('{positive}'), "
        f"{summary['negatives']:,.10g} negative ({others})",
        "δ    share of positives with the feature - share of negatives with it",
        "φ    their sum - 1: 1 nearly always true, -1 nearly always false",
    ]
    if "selected" in summary:
        limits = f"|φ| < {parameters['phi_max']:g} and |φ| + |δ|/{parameters['delta_min']:g} >= 1"
        lines.append(f"selected {summary['selected']:,}: {limits}")
    return lines


def sections(result: Result, *, digits: int = DIGITS) -> list[Section]:
    """Return the tables in reading order."""
    level = result.parameters["level"]
    name = "selected" if "selected" in result.tables else "features"
    rows = result.tables[name]
    shown = [_with_cut(row) for row in rows[:LISTED]]
    columns = ["feature", "kind", "support", "phi", "delta", "role", "implications"]
    for column in ("missing", "rule"):
        if any(row[column] for row in shown):
            columns.insert(2, "true where" if column == "rule" else column)
    if len({row["kind"] for row in shown}) == 1:
        columns.remove("kind")
    if not any(row["implications"] for row in shown):
        columns.remove("implications")
    title = "Selected features" if name == "selected" else "Features by |δ|"
    out = [
        section(
            title, shown, columns, digits=digits, level=level, total=len(rows),
            note=f"all of them: --format csv --table {name}" if len(rows) > LISTED else "",
        )
    ]  # fmt: skip
    # a feature is good for being far from 0, in either direction
    plain = tuple(title.removesuffix(" →0").removesuffix(" ↑") for title in out[0].headings)
    out[0] = replace(out[0], headings=plain)
    out += _implications(result.tables["implications"], digits, level)
    return out


def _with_cut(row: Row) -> Row:
    rule, cut = row["rule"], row["cut"]
    where = "" if rule is None else "soft" if rule == "soft" else f"{rule} {exact(cut)}"
    listed = row["implications"]
    shown = ", ".join(listed) if isinstance(listed, list) else ""
    return {**row, "true where": where, "role": row["role"] or "–", "implications": shown}


def _implications(rows: Sequence[Row], digits: int, level: float) -> list[Section]:
    if not rows:
        return []
    best = sorted(rows, key=lambda row: -float(str(row["support"])))[:IMPLIED]
    note = "f: the feature, c: the positive class; always held in these rows"
    if len(rows) > IMPLIED:
        note += "; all of them: --format csv --table implications"
    return [
        section(
            "Implications of largest support", best,
            ["feature", "implication", "support", "confidence"],
            digits=digits, level=level, total=len(rows), note=note,
        )
    ]  # fmt: skip
