"""Saved results without their data: read, and the models of several put side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from os import fspath
from typing import Any

from clfeval.baseline.read import differing, read_result
from clfeval.errors import UsageError, bad_option, listing
from clfeval.measures.catalog import CATALOG
from clfeval.pages import page_of
from clfeval.result import Answer, Result, Row, Rows, Warn, estimate
from clfeval.schema import CHANGES, JUDGED
from clfeval.tables.join import OF, stem
from clfeval.tables.source import named, paths_of
from clfeval.words import between, quoted
from clfeval.words import named as all_named

SAVED = "a result is saved with --save NAME.json"
JOINED = ("phidelta", "report", "tune-jpt")  # whose models are judged each by itself
SEED = "seed"  # another moves drawn ends of intervals alone
# tables that say of a model how it stands among the others, or against one
AMONG = ("best", "winner", CHANGES)


def saved_result(given: Any) -> Result:
    """Return a saved result, or several with their models side by side.

    given: a path, paths, each as `NAME=FILE` if wanted, or a mapping of names to paths or results.
    Raises UsageError for what is no result of ours, is too new, or was made with other settings.
    """
    pairs = _pairs(given)
    results = {name: one if isinstance(one, Result) else read_result(fspath(one), SAVED)
               for name, one in pairs}  # fmt: skip
    if len(results) < len(pairs):
        twice = [name for name, times in Counter(name for name, _ in pairs).items() if times > 1]
        hint = f"name each of them: {twice[0]}=FILE other=FILE"
        raise bad_option(f"two results are called {listing(twice)}", hint)
    if len(results) == 1:
        return replace(*results.values(), gates=(), again=True)
    return _side_by_side(results)


def _pairs(given: Any) -> list[tuple[str, Any]]:
    if isinstance(given, Mapping):
        return [(str(name), one) for name, one in given.items()]
    if isinstance(given, Result):
        return [("", given)]
    found = []
    for path in paths_of(given):
        name, file = named(path)
        found.append((name or stem(file.rpartition("/")[2]), file))
    if not found:
        raise bad_option("--from-result takes saved results, and here is none", SAVED)
    return found


def _side_by_side(results: Mapping[str, Result]) -> Result:
    """Join results of one command with the same settings: rows of models, one below the other."""
    (first, one), *others = results.items()
    for name, other in others:
        differ = [what for key, what in differing(one, other).items() if key != SEED]
        if differ:
            what = f"'{name}' was made with other settings than '{first}': {'; '.join(differ)}"
            hint = "join like with like: make both with the same options"
            raise UsageError.of(what.replace(" there", f" in '{name}'").replace(
                " here", f" in '{first}'"), "bad-option", hint=hint)  # fmt: skip
    if one.command not in JOINED:
        what = f"--from-result joins no results of {one.command}"
        hint = "what it says of a model depends on the others of its table: join the tables"
        raise UsageError.of(what, "bad-option", hint=hint)
    tables, left = _tables(results)
    warnings = {(note.code, note.message): note for each in results.values()
                for note in each.warnings}  # fmt: skip
    text = f"side by side from {listing(results, 8)}: no model is compared with another"
    if left:
        text += f"; left out for that: {listing(left, len(left))}"
    inputs = dict.fromkeys(file for each in results.values() for file in each.inputs)
    joined = replace(
        one, signature=_signature(list(results.values())), inputs=tuple(inputs),
        parameters={**one.parameters, **({"reference": None} if "reference" in one.parameters
                                         else {})},
        summary=_summary(list(results.values()), tables["models"], alone=len(inputs) == 1),
        tables=tables, gates=(), warnings=(*warnings.values(), Warn("side-by-side", text)),
        answer=(), methods={}, again=True,
    )  # fmt: skip
    return replace(joined, answer=(_answer(joined, results),))


def _tables(results: Mapping[str, Result]) -> tuple[dict[str, Rows], list[str]]:
    """Return the tables of models that all results have, and the names of others."""
    page, tables = page_of(next(iter(results.values())).command), dict[str, Rows]()
    every = dict.fromkeys(name for each in results.values() for name in each.tables)
    times = Counter(
        name for each in results.values()
        for name in dict.fromkeys(str(row["model"]) for row in each.tables["models"])
    )  # fmt: skip
    for name in every:
        columns = {column.name for column in page.table(name).columns}
        if "model" not in columns or "reference" in columns or name in AMONG:
            continue
        if not all(name in each.tables for each in results.values()):
            continue
        rows: list[Row] = []
        for called, each in results.items():
            rows += (_renamed(row, called, times) for row in each.tables[name])
        tables[name] = rows
    return tables, [name for name in every if name not in tables]


def _renamed(row: Row, called: str, times: Mapping[str, int]) -> Row:
    """Return a row with the model called after its result, where another has one of that name."""
    model = str(row["model"])
    new = {"model": OF.format(called, model)} if times.get(model, 0) > 1 else {}
    return {**row, **new, **({"tied": None} if "tied" in row else {})}


def _summary(results: Sequence[Result], models: Rows, *, alone: bool) -> dict[str, Any]:
    """Return what is said of the whole, where all results say the same of the same table."""
    first = results[0].summary
    kept = {
        name: value if alone and all(one.summary.get(name) == value for one in results) else None
        for name, value in first.items()
    }
    count = {"models": len({str(row["model"]) for row in models})} if "models" in first else {}
    return {**kept, **count}


def _signature(results: Sequence[Result]) -> str:
    """Return the settings of the first, with the data and the counts of all."""
    parts = [dict(part.partition(":")[::2] for part in one.signature.split("|")) for one in results]
    data = "+".join(dict.fromkeys(one.get("data", "-") for one in parts))
    stats = list(dict.fromkeys(one.get("stats", "") for one in parts))
    if len(stats) > 1:
        stats = [sha256("+".join(stats).encode()).hexdigest()[:8]]
    made = {**parts[0], "data": data, "stats": stats[0]}
    return "|".join(f"{key}:{value}" for key, value in made.items())


def _answer(joined: Result, results: Mapping[str, Result]) -> Answer:
    """Say which model has the best value of what decides, and that nothing is tested."""
    lead = next((one.measure for each in results.values() for one in each.answer
                 if one.measure in CATALOG and one.code not in JUDGED), None)  # fmt: skip
    rows = [row for row in joined.whole("models")
            if lead in row and estimate(row[str(lead)]).value is not None]  # fmt: skip
    of = all_named([*results])
    if lead is None or not rows:
        return Answer("joined-results", f"The models of {of}, side by side.")
    sign = CATALOG[lead].sign or 1
    best = max(rows, key=lambda row: sign * (estimate(row[lead]).value or 0.0))
    top, model = estimate(best[lead]), str(best["model"])
    value = between(top.value or 0.0, top.low, top.high)
    text = f"Of the models of {of}, {quoted(model)} has the best {CATALOG[lead].title}, {value}; "
    text += "whether that is chance is not tested without the rows."
    return Answer("joined-results", text, (model,), lead, top.value, top.low, top.high)
