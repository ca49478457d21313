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

FOLDER = Path(__file__).parent
LONG_CELL = 50  # letters: cells with more are in several lines
WIDE_PANELS = 2  # panels from which on a picture takes the whole width of a page
MAX_POINTS, MAX_MODELS = 400, 50  # of a model under the sliders, and models there, at most
SCOPE = ".clfeval"  # of the styles in a notebook


def as_html(result: Document, *, digits: int = DIGITS, names: Collection[str] = ()) -> str:
    """Return one `<div>` for a notebook: answer, gates, main tables, picture; the rest folded."""
    page_tables = layout.sort_tables(result, names, digits)
    style = f"<style>{_asset('notebook.css')}</style>"
    html_parts = [f'<div class="clfeval">{style}', *_answer(result), *_gates(result)]
    for view in page_tables.opened:
        html_parts.append(_table(layout.layout_table(view, result, digits, wide=page_tables.wide)))
    if pictures_with_limits(result):
        html_parts.append(picture_of(result, scope=SCOPE))
    views = (*page_tables.opened, *page_tables.folded)
    html_parts += [f"<p>{escape(reason)}</p>" for reason in layout.undefined_reasons(result, views)]
    html_parts += [f"<p>{escape(warning.message)}</p>" for warning in result.warnings]
    if page_tables.folded:
        folded_tables = (
            _table(layout.layout_table(view, result, digits)) for view in page_tables.folded
        )
        html_parts.append(_folded("More tables", "".join(folded_tables)))
    html_parts.append(f"<p><code>{escape(result.signature)}</code></p></div>")
    for _, document, document_names in layout.other_results(result, names):
        html_parts.append(f"<hr>{as_html(document, digits=digits, names=document_names)}")
    # here once for all texts: names may hold control characters
    return escape_control_characters("\n".join(html_parts))


def as_page(
    result: Document, *, digits: int = DIGITS, names: Collection[str] = (), target: str = ""
) -> str:
    """Return a whole page that makes no request; target: its path, from which links start."""
    file_names = ", ".join(file.name for file in result.inputs) or "no file"
    title = f"{result.command} of {file_names}"
    style = _style()
    script = _asset("sliders.js") if _operating_points(result) else ""
    policy_rules = [f"style-src 'sha256-{_digest(style)}'"]
    policy_rules += [f"script-src 'sha256-{_digest(script)}'"] if script else []
    policy = "; ".join(
        ["default-src 'none'", *policy_rules, "base-uri 'none'", "form-action 'none'"]
    )
    sections = list(_sections(result, digits, names, target))
    links = "".join(
        f'<li><a href="#{section_id}">{escape(section_title)}</a></li>'
        for section_id, section_title, _ in sections
    )
    body = "\n".join(
        f'<section id="{section_id}" aria-labelledby="{section_id}-h">'
        f'<h2 id="{section_id}-h">{escape(section_title)}</h2>\n{content}</section>'
        for section_id, section_title, content in sections
    )
    page_html = (
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
    return escape_control_characters(page_html)


@cache
def _asset(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


@cache
def _style() -> str:
    """Return the style of a page: as printed and on light ground, and on dark ground."""
    theme_rules = []
    for theme_index, (link_color, edge_color) in enumerate(
        (("#0b57d0", "#c3c9d0"), ("#8ab4f8", "#454b53"))
    ):
        ink_color, ground_color, alert_color = (
            TONES[tone][theme_index] for tone in ("ink", "ground", "bad")
        )
        theme_rules.append(
            f"html,#sliders{{background:{ground_color};color:{ink_color}}}#sliders{{border-color:{edge_color}}}"
            f"a{{color:{link_color}}}.missed,.undefined{{color:{alert_color}}}.now{{stroke:{ink_color}}}"
            f"{color_rules(theme_index, 'svg')}"
        )
    dark_rules = f"@media screen and (prefers-color-scheme:dark){{{theme_rules[1]}}}"
    return f"{_asset('page.css')}{shape_rules('svg')}{theme_rules[0]}{dark_rules}"


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def _answer(result: Document) -> list[str]:
    paragraphs = [f'<p class="answer">{escape(sentence.text)}</p>' for sentence in result.answer]
    headline = layout.result_headline(result)
    return [*paragraphs, *(f"<p>{escape(line)}</p>" for line in headline)]


def _gates(result: Document) -> list[str]:
    """Return the list of gates as HTML, empty without gates."""
    gates, omission_note = layout.gates_to_show(result)
    if not gates and not omission_note:
        return []
    list_entries = [
        f'<li class="{gate.state}">{SAYS[gate.state][0]}: {escape(gate_sentence(gate))}</li>'
        for gate in gates
    ]
    list_entries += [f"<li>{escape(omission_note)}</li>"] if omission_note else []
    return [f'<ul class="gates">{"".join(list_entries)}</ul>']


Section = tuple[str, str, str]  # id, title and content


def _sections(
    result: Document, digits: int, names: Collection[str], target: str, prefix: str = ""
) -> Iterator[Section]:
    """Yield the sections of a result and of those of other commands; prefix: of ids of these."""
    command_clause = f" of {result.command}" if prefix else ""
    tables_html = "\n".join(_tables(result, digits, names))
    gate_lists = _gates(result)
    if gate_lists:
        yield f"{prefix}gates", f"Gates{command_clause}{_gate_counts(result)}", "".join(gate_lists)
    if result.command == SUITE:
        yield "tables", "Runs", tables_html
        yield "runs", "Results of runs", _runs(result, digits, target)
        yield f"{prefix}method", "How it was computed", _method(result)
        return
    pictures_html = _pictures(result, sliders=not prefix)
    if pictures_html:
        yield f"{prefix}pictures", f"Pictures{command_clause}", pictures_html
    yield f"{prefix}tables", f"Tables{command_clause}", tables_html
    yield f"{prefix}method", f"How it was computed{command_clause}", _method(result)
    for command, document, document_names in layout.other_results(result, names):
        sentences = (escape(sentence.text) for sentence in document.answer)
        answer_html = "".join(f'<p class="answer">{sentence}</p>' for sentence in sentences)
        further_sections = _sections(document, digits, document_names, target, f"{command}-")
        section_id, title, content = next(further_sections)
        yield section_id, title, answer_html + content
        yield from further_sections


def _tables(result: Document, digits: int, names: Collection[str]) -> Iterator[str]:
    """Yield the tables, those of details folded, then what is undefined in them, and notes."""
    page = layout.sort_tables(result, names, digits)
    views = (*page.opened, *page.folded)
    for index, view in enumerate(views):
        is_opened = index < len(page.opened)
        table = layout.layout_table(view, result, digits, wide=page.wide or not is_opened)
        yield _folded(table.title, _table(table, titled=False), opened=is_opened)
    for reason in layout.undefined_reasons(result, views):
        yield f"<p>{escape(reason)}</p>"
    for warning in result.warnings:
        yield f"<p>{escape(warning.message)}</p>"


def _gate_counts(result: Document) -> str:
    """Return how many gates are missed and how many warn, for a title."""
    missed_count = sum(gate.failed for gate in result.gates)
    warning_count = sum(gate.state == "warned" for gate in result.gates)
    counts_text = (
        f": {format_count(missed_count, 'gate')} missed" if missed_count else ": none missed"
    )
    return (
        f"{counts_text}, {format_count(warning_count, 'warning')}" if warning_count else counts_text
    )


def _method(result: Document) -> str:
    """Return how the numbers were computed: intervals, files, signature, version."""
    files_html = "".join(
        f"<li>{escape(file.name)}: {format_count(file.rows, 'row')}"
        + (f", {file.dropped:,} left out as missing" if file.dropped else "")
        + (f", SHA-256 <code>{file.sha256}</code>" if file.sha256 else "")
        + "</li>"
        for file in result.inputs
    )
    method_of_measure = result.parameters.get("interval_methods") or {}
    methods_html = "".join(
        f"<li>{escape(measure)}: {escape(method)}</li>"
        for measure, method in method_of_measure.items()
    )
    intervals_html = f"<h3>Confidence intervals</h3><ul>{methods_html}</ul>" if methods_html else ""
    settings_json = dumps(
        {
            name: value
            for name, value in result.parameters.items()
            if value not in (None, [], {}) and name != "interval_methods"
        }
    )
    return (
        f"<h3>Files</h3><ul>{files_html}</ul>{intervals_html}<h3>Settings</h3>"
        f"<p>clfeval {escape(result.version)}, command <code>{escape(result.command)}</code>, "
        f"with <code>{escape(settings_json)}</code></p>"
        f"<p>Signature <code>{escape(result.signature)}</code></p>"
    )


def _runs(result: Document, digits: int, target: str) -> str:
    """Return links to the pages of runs, else their answers and pictures, folded."""
    run_parts = []
    for row in result.tables["runs"]:
        run_name = row["run"]
        state = cell_text(row["state"])
        if page_path := row.get("page"):
            link = os.path.relpath(str(page_path), os.path.dirname(target) or ".").replace(
                os.sep, "/"
            )
            run_parts.append(
                f'<p><a href="{quote(link)}">{escape(run_name)}</a>: {escape(state)}</p>'
            )
            continue
        content = f"<p>{escape(str(row['answer'] or ''))}</p>"
        if run := result.runs.get(run_name):
            content = _run_content(run, digits)
        run_parts.append(_folded(f"{run_name}: {state}", content))
    return "\n".join(run_parts) or "<p>No run was computed.</p>"


def _run_content(run: Document, digits: int) -> str:
    """Return the answer, gates, main tables and pictures of a run."""
    page_tables = layout.sort_tables(run, digits=digits)
    tables = (
        layout.layout_table(view, run, digits, wide=page_tables.wide) for view in page_tables.opened
    )
    content_parts = [
        *_answer(run),
        *_gates(run),
        *map(_table, tables),
        _pictures(run, sliders=False),
    ]
    return "".join(content_parts)


def _pictures(result: Document, *, sliders: bool) -> str:
    """Return the pictures with their findings, key ones first, and the sliders above them."""
    colors = Colors.from_result(result)
    opened_figures: list[str] = []
    folded_figures: list[str] = []
    for name, charts in pictures_with_limits(result).items():
        figures = folded_figures if charts[0].rank == "detail" else opened_figures
        figures.append(_figure(name, charts, colors))
    if not opened_figures and not folded_figures:
        return ""
    sliders_html = _slider_panel(result) if sliders else ""
    main_html = f'<div class="pictures">{"".join(opened_figures)}</div>' if opened_figures else ""
    details_html = ""
    if folded_figures:
        folded_html = "\n".join(folded_figures)
        details_html = f'<div class="pictures">{folded_html}</div>'
        if opened_figures:
            details_html = _folded("More pictures", details_html)
    return f"{sliders_html}{main_html}{details_html}"


def _figure(name: str, charts: Sequence[Chart], colors: Colors) -> str:
    """Return the panels of a picture with its finding."""
    panels = "".join(
        svg_element([draw_panel(chart, colors)], chart.title, chart.finding) for chart in charts
    )
    wide_class = " wide" if len(charts) >= WIDE_PANELS else ""
    findings_text = " ".join(dict.fromkeys(chart.finding for chart in charts))
    return (
        f'<figure class="p-{name}{wide_class}"><div class="panels">{panels}</div>'
        f"<figcaption>{escape(findings_text)}</figcaption></figure>"
    )


def _operating_points(result: Document) -> list[dict[str, Any]]:
    """Return for each of the best models its class totals and points (threshold, TP, FP)."""
    curve_of_model = _curves_of_models(result)
    if not curve_of_model:
        return []
    models_with_risks = {row["model"] for row in result.unsliced_rows("decision")}
    rows = sort_by_column(result.unsliced_rows("models"), deciding_measure(result))
    slider_models = []
    for row in rows[:MAX_MODELS]:
        curve = curve_of_model.get(row["model"], [])
        tp, fp, fn, tn = (cell_value(row.get(key)) for key in ("tp", "fp", "fn", "tn"))
        if not curve or tp is None or fp is None or fn is None or tn is None:
            continue  # a model without scores, or without counts, has no point to move
        threshold = cell_value(row["threshold"])
        points = _slider_points(curve, threshold, [tp, fp])
        point_thresholds = [point[0] for point in points]
        if tp + fn and fp + tn:
            slider_models.append(
                {
                    "name": printable(row["model"]),
                    "positives": tp + fn,
                    "negatives": fp + tn,
                    "start": point_thresholds.index(threshold)
                    if threshold in point_thresholds
                    else 0,
                    "risks": row["model"] in models_with_risks,
                    "points": points,
                }
            )
    return slider_models


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
    step = -(-len(curve) // MAX_POINTS)  # rounded up
    points = [*curve[:-1][::step], curve[-1]]
    if threshold is not None and threshold not in [point[0] for point in points]:
        points.append([threshold, *counts])
        points.sort(key=lambda point: -point[0])
    return points


def _slider_panel(result: Document) -> str:
    """Return the two sliders, hidden until the script runs, with their numbers and the data."""
    models = _operating_points(result)
    if not models:
        return ""
    slider_values = {"prevalence": result.summary["prevalence"], "models": models}
    values_json = dumps(slider_values).replace("<", "\\u003c").replace("&", "\\u0026")
    model_options = "".join(
        f'<option value="{index}">{escape(model["name"])}</option>'
        for index, model in enumerate(models)
    )
    title_of_number = {
        "threshold": "listed threshold",
        "sensitivity": "sensitivity",
        "ppv": "PPV",
        "specificity": "specificity",
        "npv": "NPV",
        "benefit": "net benefit",
        "alarms": "alarms per 1,000",
    }
    outputs = "".join(
        f'<div><dt>{title}</dt><dd id="now-{number_id}"></dd></div>'
        for number_id, title in title_of_number.items()
    )
    fields = (
        f'<label><span>Model</span><select name="model">{model_options}</select></label>'
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
        f'<script type="application/json" id="operating-points">{values_json}</script>'
    )


def _folded(title: str, content: str, *, opened: bool = False) -> str:
    open_attribute = " open" if opened else ""
    return f"<details{open_attribute}><summary>{escape(title)}</summary>{content}</details>"


def _table(table: layout.TextTable, *, titled: bool = True) -> str:
    """Return a table as HTML; titled: with its title above it."""
    title = f"<h3>{escape(table.title)}</h3>" if titled else ""
    if not table.rows:
        return f"{title}<p>none</p>"
    class_attributes = [
        " class=b"
        if column.heading == "bar"
        else " class=n"
        if column.numeric
        else " class=t"
        if any(len(row[column_index]) > LONG_CELL for row in table.rows)
        else ""
        for column_index, column in enumerate(table.columns)
    ]

    def row_html(tag: str, row: Sequence[str]) -> str:
        cells_html = ""
        for cell, class_attribute in zip(row, class_attributes, strict=True):
            cell_tag = tag if cell.strip() else "td"
            cells_html += f"<{cell_tag}{class_attribute}>{escape(cell)}</{cell_tag}>"
        return cells_html

    head = f"<thead><tr>{row_html('th', table.headings)}</tr></thead>"
    body = "".join(
        f"<tr{' class=best' if sign == layout.BEST else ''}>{row_html('td', row)}</tr>"
        for row, sign in zip_longest(table.rows, table.signs)
    )
    notes_html = "".join(
        f"<p>{escape(line)}</p>" for line in filter(None, (*table.legend, table.note))
    )
    table_html = f"<table>{head}<tbody>{body}</tbody></table>"
    label = escape(table.title)
    return (
        f'{title}<div class="w" tabindex="0" role="region" aria-label="{label}">{table_html}</div>'
        f"{notes_html}"
    )
