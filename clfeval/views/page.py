"""The page of a result as one HTML file: answer, gates, pictures with sliders, tables, method."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import quote

from clfeval.compare.gates.kinds import gate_sentence
from clfeval.document import Document, dumps
from clfeval.document.cells import cell_number, cell_text, cell_value
from clfeval.formatting import DIGITS, escape_control_characters, format_count, printable
from clfeval.pages.chart import Chart
from clfeval.pages.intervals import deciding_measure
from clfeval.pages.schema import SUITE
from clfeval.pages.table_parts import sort_by_column
from clfeval.views import table_layout as layout
from clfeval.views.limit_guides import pictures_with_limits
from clfeval.views.svg.elements import TONES, Colors, color_rules, shape_rules
from clfeval.views.svg.picture import draw_panel, picture_of, svg_element
from clfeval.views.terminal import SAYS

HERE = Path(__file__).parent
LONG = 50  # letters: cells with more are in several lines
WIDE = 2  # panels from which on a picture takes the whole width of a page
POINTS, MODELS = 400, 50  # of a model under the sliders, and models there, at most
SCOPE = ".clfeval"  # of the styles in a notebook


def as_html(result: Document, *, digits: int = DIGITS, names: Collection[str] = ()) -> str:
    """Return one `<div>` for a notebook: answer, gates, main tables, picture; the rest folded."""
    page = layout.sort_tables(result, names, digits)
    style = f"<style>{_asset('notebook.css')}</style>"
    parts = [f'<div class="clfeval">{style}', *_answer(result), *_gates(result)]
    for view in page.opened:
        parts.append(_table(layout.layout_table(view, result, digits, wide=page.wide)))
    if pictures_with_limits(result):
        parts.append(picture_of(result, scope=SCOPE))
    views = (*page.opened, *page.folded)
    parts += [f"<p>{escape(reason)}</p>" for reason in layout.undefined_reasons(result, views)]
    parts += [f"<p>{escape(warning.message)}</p>" for warning in result.warnings]
    if page.folded:
        folded = (_table(layout.layout_table(view, result, digits)) for view in page.folded)
        parts.append(_folded("More tables", "".join(folded)))
    parts.append(f"<p><code>{escape(result.signature)}</code></p></div>")
    for _, document, document_names in layout.other_results(result, names):
        parts.append(f"<hr>{as_html(document, digits=digits, names=document_names)}")
    # here once for all texts: names may hold control characters
    return escape_control_characters("\n".join(parts))


def as_page(
    result: Document, *, digits: int = DIGITS, names: Collection[str] = (), target: str = ""
) -> str:
    """Return a whole page that makes no request; target: its path, from which links start."""
    files = ", ".join(file.name for file in result.inputs) or "no file"
    title = f"{result.command} of {files}"
    style = _style()
    script = _asset("sliders.js") if _operating_points(result) else ""
    rules = [f"style-src 'sha256-{_digest(style)}'"]
    rules += [f"script-src 'sha256-{_digest(script)}'"] if script else []
    policy = "; ".join(["default-src 'none'", *rules, "base-uri 'none'", "form-action 'none'"])
    sections = list(_sections(result, digits, names, target))
    links = "".join(f'<li><a href="#{key}">{escape(name)}</a></li>' for key, name, _ in sections)
    body = "\n".join(
        f'<section id="{key}" aria-labelledby="{key}-h"><h2 id="{key}-h">{escape(name)}</h2>\n'
        f"{text}</section>"
        for key, name, text in sections
    )
    text = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(printable(title))} · clfeval</title><style>{style}</style></head><body>\n"
        '<a class="skip" href="#main">Skip to the results</a>\n'
        f"<header><h1>{escape(printable(title))}</h1>{''.join(_answer(result))}</header>\n"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>\n<main id="main">\n{body}\n</main>\n'
        + (f"<script>{script}</script>\n" if script else "")
        + "</body></html>\n"
    )
    return escape_control_characters(text)


@cache
def _asset(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@cache
def _style() -> str:
    """Return the style of a page: as printed and on light ground, and on dark ground."""
    themes = []
    for i, (link, edge) in enumerate((("#0b57d0", "#c3c9d0"), ("#8ab4f8", "#454b53"))):
        ink, ground, bad = (TONES[name][i] for name in ("ink", "ground", "bad"))
        themes.append(
            f"html,#sliders{{background:{ground};color:{ink}}}#sliders{{border-color:{edge}}}"
            f"a{{color:{link}}}.missed,.undefined{{color:{bad}}}.now{{stroke:{ink}}}"
            f"{color_rules(i, 'svg')}"
        )
    dark = f"@media screen and (prefers-color-scheme:dark){{{themes[1]}}}"
    return f"{_asset('page.css')}{shape_rules('svg')}{themes[0]}{dark}"


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def _answer(result: Document) -> list[str]:
    sentences = [f'<p class="answer">{escape(sentence.text)}</p>' for sentence in result.answer]
    headline = layout.result_headline(result)
    return [*sentences, *(f"<p>{escape(line)}</p>" for line in headline)]


def _gates(result: Document) -> list[str]:
    gates, left_out = layout.gates_to_show(result)
    if not gates and not left_out:
        return []
    lines = [
        f'<li class="{gate.state}">{SAYS[gate.state][0]}: {escape(gate_sentence(gate))}</li>'
        for gate in gates
    ]
    lines += [f"<li>{escape(left_out)}</li>"] if left_out else []
    return [f'<ul class="gates">{"".join(lines)}</ul>']


Section = tuple[str, str, str]  # id, title and content


def _sections(
    result: Document, digits: int, names: Collection[str], target: str, prefix: str = ""
) -> Iterator[Section]:
    """Yield the sections of a result and of those of other commands; prefix: of ids of these."""
    of_command = f" of {result.command}" if prefix else ""
    tables = "\n".join(_tables(result, digits, names))
    gates = _gates(result)
    if gates:
        yield f"{prefix}gates", f"Gates{of_command}{_gate_counts(result)}", "".join(gates)
    if result.command == SUITE:
        yield "tables", "Runs", tables
        yield "runs", "Results of runs", _runs(result, digits, target)
        yield f"{prefix}method", "How it was computed", _method(result)
        return
    pictures = _pictures(result, sliders=not prefix)
    if pictures:
        yield f"{prefix}pictures", f"Pictures{of_command}", pictures
    yield f"{prefix}tables", f"Tables{of_command}", tables
    yield f"{prefix}method", f"How it was computed{of_command}", _method(result)
    for command, document, document_names in layout.other_results(result, names):
        sentences = (escape(sentence.text) for sentence in document.answer)
        answer = "".join(f'<p class="answer">{sentence}</p>' for sentence in sentences)
        sections = _sections(document, digits, document_names, target, f"{command}-")
        key, title, content = next(sections)
        yield key, title, answer + content
        yield from sections


def _tables(result: Document, digits: int, names: Collection[str]) -> Iterator[str]:
    """Yield the tables, those of details folded, then what is undefined in them, and notes."""
    page = layout.sort_tables(result, names, digits)
    views = (*page.opened, *page.folded)
    for i, view in enumerate(views):
        opened = i < len(page.opened)
        table = layout.layout_table(view, result, digits, wide=page.wide or not opened)
        yield _folded(table.title, _table(table, titled=False), opened=opened)
    for reason in layout.undefined_reasons(result, views):
        yield f"<p>{escape(reason)}</p>"
    for warning in result.warnings:
        yield f"<p>{escape(warning.message)}</p>"


def _gate_counts(result: Document) -> str:
    """Return how many gates are missed and how many warn, for a title."""
    missed_gates = sum(gate.failed for gate in result.gates)
    warned = sum(gate.state == "warned" for gate in result.gates)
    counts = f": {format_count(missed_gates, 'gate')} missed" if missed_gates else ": none missed"
    return f"{counts}, {format_count(warned, 'warning')}" if warned else counts


def _method(result: Document) -> str:
    """Return how the numbers were computed: intervals, files, signature, version."""
    files = "".join(
        f"<li>{escape(file.name)}: {format_count(file.rows, 'row')}"
        + (f", {file.dropped:,} left out as missing" if file.dropped else "")
        + (f", SHA-256 <code>{file.sha256}</code>" if file.sha256 else "")
        + "</li>"
        for file in result.inputs
    )
    method_of_measure = result.parameters.get("interval_methods") or {}
    methods = "".join(
        f"<li>{escape(measure)}: {escape(method)}</li>"
        for measure, method in method_of_measure.items()
    )
    intervals = f"<h3>Confidence intervals</h3><ul>{methods}</ul>" if methods else ""
    settings = dumps(
        {
            name: value
            for name, value in result.parameters.items()
            if value not in (None, [], {}) and name != "interval_methods"
        }
    )
    return (
        f"<h3>Files</h3><ul>{files}</ul>{intervals}<h3>Settings</h3>"
        f"<p>clfeval {escape(result.version)}, command <code>{escape(result.command)}</code>, "
        f"with <code>{escape(settings)}</code></p>"
        f"<p>Signature <code>{escape(result.signature)}</code></p>"
    )


def _runs(result: Document, digits: int, target: str) -> str:
    """Return links to the pages of runs, else their answers and pictures, folded."""
    parts = []
    for row in result.tables["runs"]:
        name = row["run"]
        state = cell_text(row["state"])
        if page := row.get("page"):
            link = os.path.relpath(str(page), os.path.dirname(target) or ".").replace(os.sep, "/")
            parts.append(f'<p><a href="{quote(link)}">{escape(name)}</a>: {escape(state)}</p>')
            continue
        content = f"<p>{escape(str(row['answer'] or ''))}</p>"
        if run := result.runs.get(name):
            content = _run_content(run, digits)
        parts.append(_folded(f"{name}: {state}", content))
    return "\n".join(parts) or "<p>No run was computed.</p>"


def _run_content(run: Document, digits: int) -> str:
    """Return the answer, gates, main tables and pictures of a run."""
    page = layout.sort_tables(run, (), digits)
    tables = (layout.layout_table(view, run, digits, wide=page.wide) for view in page.opened)
    parts = [*_answer(run), *_gates(run), *map(_table, tables), _pictures(run, sliders=False)]
    return "".join(parts)


def _pictures(result: Document, *, sliders: bool) -> str:
    """Return the pictures with their findings, key ones first, and the sliders above them."""
    colors = Colors.from_result(result)
    opened: list[str] = []
    folded: list[str] = []
    for name, charts in pictures_with_limits(result).items():
        figures = folded if charts[0].rank == "detail" else opened
        figures.append(_figure(name, charts, colors))
    if not opened and not folded:
        return ""
    panel = _slider_panel(result) if sliders else ""
    main = f'<div class="pictures">{"".join(opened)}</div>' if opened else ""
    details = "\n".join(folded)
    details = f'<div class="pictures">{details}</div>' if details else ""
    details = _folded("More pictures", details) if opened and details else details
    return f"{panel}{main}{details}"


def _figure(name: str, charts: Sequence[Chart], colors: Colors) -> str:
    """Return the panels of a picture with its finding."""
    panels = "".join(
        svg_element([draw_panel(chart, colors)], chart.title, chart.finding) for chart in charts
    )
    wide = " wide" * (len(charts) >= WIDE)
    findings = " ".join(dict.fromkeys(chart.finding for chart in charts))
    return (
        f'<figure class="p-{name}{wide}"><div class="panels">{panels}</div>'
        f"<figcaption>{escape(findings)}</figcaption></figure>"
    )


def _operating_points(result: Document) -> list[dict[str, Any]]:
    """Return for each of the best models its class totals and points (threshold, TP, FP)."""
    curves = _curves_of_models(result)
    if not curves:
        return []
    risks = {row["model"] for row in result.unsliced_rows("decision")}
    rows = sort_by_column(result.unsliced_rows("models"), deciding_measure(result))
    models = []
    for row in rows[:MODELS]:
        curve = curves.get(row["model"], [])
        tp, fp, fn, tn = (cell_value(row.get(key)) for key in ("tp", "fp", "fn", "tn"))
        if not curve or tp is None or fp is None or fn is None or tn is None:
            continue
        threshold = cell_value(row["threshold"])
        points = _slider_points(curve, threshold, [tp, fp])
        thresholds = [point[0] for point in points]
        if tp + fn and fp + tn:
            models.append(
                {
                    "name": printable(row["model"]),
                    "positives": tp + fn,
                    "negatives": fp + tn,
                    "start": thresholds.index(threshold) if threshold in thresholds else 0,
                    "risks": row["model"] in risks,
                    "points": points,
                }
            )
    return models


def _curves_of_models(result: Document) -> dict[str, list[list[float]]]:
    """Return the points (threshold, TP, FP) of each model of a report."""
    curves: dict[str, list[list[float]]] = {}
    for row in result.unsliced_rows("curves") if result.command == "report" else ():
        if row["threshold"] is not None:
            point = [cell_number(row[key]) for key in ("threshold", "tp", "fp")]
            curves.setdefault(row["model"], []).append(point)
    return curves


def _slider_points(
    curve: Sequence[list[float]], threshold: float | None, counts: Sequence[float]
) -> list[list[float]]:
    """Return as many points of a curve as a slider has, with that of the listed threshold.

    counts: true and false positives at this threshold.
    """
    points = [*curve[:-1][:: -(-len(curve) // POINTS)], curve[-1]]
    if threshold is not None and threshold not in [point[0] for point in points]:
        points.append([threshold, *counts])
        points.sort(key=lambda point: -point[0])
    return points


def _slider_panel(result: Document) -> str:
    """Return the two sliders, hidden until the script runs, with their numbers and the data."""
    models = _operating_points(result)
    if not models:
        return ""
    points = {"prevalence": result.summary["prevalence"], "models": models}
    island = dumps(points).replace("<", "\\u003c").replace("&", "\\u0026")
    options = "".join(
        f'<option value="{i}">{escape(model["name"])}</option>' for i, model in enumerate(models)
    )
    numbers = {
        "threshold": "listed threshold",
        "sensitivity": "sensitivity",
        "ppv": "PPV",
        "specificity": "specificity",
        "npv": "NPV",
        "benefit": "net benefit",
        "alarms": "alarms per 1,000",
    }
    outputs = "".join(
        f'<div><dt>{title}</dt><dd id="now-{key}"></dd></div>' for key, title in numbers.items()
    )
    fields = (
        f'<label><span>Model</span><select name="model">{options}</select></label>'
        '<label><span>Threshold</span><input type="range" name="point" min="0" step="1" '
        'aria-label="Threshold, by its place"><input type="number" name="threshold" step="any" '
        'aria-label="Threshold"></label>'
        '<label><span>Prevalence</span><input type="range" name="logit" min="-100" max="100" '
        'step="1" aria-label="Prevalence, by its log odds"><input type="number" name="prevalence" '
        'min="0" max="1" step="any" aria-label="Prevalence"></label>'
    )
    return (
        f'<form id="sliders" aria-label="Operating point" hidden>{fields}'
        f'<dl aria-live="polite">{outputs}</dl><p>PPV and NPV assume unchanged '
        "sensitivity and specificity. Curves show the prevalence of the table. "
        '<button type="button" id="back">Back to the table</button></p></form>'
        f'<script type="application/json" id="operating-points">{island}</script>'
    )


def _folded(title: str, content: str, *, opened: bool = False) -> str:
    state = " open" * opened
    return f"<details{state}><summary>{escape(title)}</summary>{content}</details>"


def _table(table: layout.TextTable, *, titled: bool = True) -> str:
    title = f"<h3>{escape(table.title)}</h3>" if titled else ""
    if not table.rows:
        return f"{title}<p>none</p>"
    kinds = [
        " class=b"
        if column.heading == "bar"
        else " class=n"
        if column.numeric
        else " class=t" * any(len(row[i]) > LONG for row in table.rows)
        for i, column in enumerate(table.columns)
    ]

    def cells(tag: str, row: Sequence[str]) -> str:
        text = ""
        for cell, kind in zip(row, kinds, strict=True):
            cell_tag = tag if cell.strip() else "td"
            text += f"<{cell_tag}{kind}>{escape(cell)}</{cell_tag}>"
        return text

    head = f"<thead><tr>{cells('th', table.headings)}</tr></thead>"
    body = "".join(
        f"<tr{' class=best' if sign == layout.BEST else ''}>{cells('td', row)}</tr>"
        for row, sign in zip_longest(table.rows, table.signs)
    )
    note = "".join(f"<p>{escape(line)}</p>" for line in filter(None, (*table.legend, table.note)))
    grid = f"<table>{head}<tbody>{body}</tbody></table>"
    name = escape(table.title)
    return (
        f'{title}<div class="w" tabindex="0" role="region" aria-label="{name}">{grid}</div>{note}'
    )
