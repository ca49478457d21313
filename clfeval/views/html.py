"""The HTML view: the tables as plain HTML, for notebooks and files; no script, no network."""

from __future__ import annotations

from collections.abc import Collection
from html import escape
from itertools import zip_longest

from clfeval.document import Document
from clfeval.formatting import DIGITS, escape_control_characters
from clfeval.schema import PLOTS
from clfeval.views.table_layout import (
    BEST,
    GATE_SIGNS,
    TextTable,
    gates_to_show,
    layout_table,
    other_results,
    result_headline,
    sort_tables,
    undefined_reasons,
)

WIDTH = 100  # columns of a plot
_STYLE = (
    "<style>.clfeval td,.clfeval th{padding:.15em .6em;text-align:left}"
    ".clfeval .n{text-align:right;font-variant-numeric:tabular-nums}"
    ".clfeval thead{border-bottom:1px solid}.clfeval .n{white-space:nowrap}"
    ".clfeval .best{font-weight:bold}.clfeval td:first-child{white-space:nowrap}"
    ".clfeval .b{font-family:monospace;white-space:pre}.clfeval .w{overflow-x:auto}"
    ".clfeval th{white-space:normal}.clfeval code{overflow-wrap:anywhere}"
    ".clfeval pre{line-height:1.1}</style>"
)


def as_html(
    result: Document, *, digits: int = DIGITS, names: Collection[str] = (), plots: str = ""
) -> str:
    """Return one `<div>`: answer, gates, main tables and those of `names`, the rest folded away."""
    first, *others = result_headline(result)
    page = sort_tables(result, names, digits)
    out = [f'<div class="clfeval">{_STYLE}<p><strong>{escape(first)}</strong></p>']
    out += [f'<p class="answer">{escape(sentence.text)}</p>' for sentence in result.answer]
    out += [f"<p>{escape(line)}</p>" for line in others]
    gates, left_out = gates_to_show(result)
    out += [f'<p class="gate">{GATE_SIGNS[gate.state]} {escape(str(gate))}</p>' for gate in gates]
    out += [f"<p>{escape(left_out)}</p>"] if left_out else []
    out += [_table_html(layout_table(one, result, digits, wide=page.wide)) for one in page.opened]
    shown = (*page.opened, *page.folded)
    out += [f"<p>{escape(reason)}</p>" for reason in undefined_reasons(result, shown)]
    out += [f"<p>{escape(warning.message)}</p>" for warning in result.warnings]
    if page.folded:
        out.append("<details><summary>More tables</summary>")
        out += [_table_html(layout_table(one, result, digits)) for one in page.folded]
        out.append("</details>")
    if plots:
        out.append(f"<details><summary>Plots</summary><pre>{escape(plots)}</pre></details>")
    out.append(f"<p><code>{escape(result.signature)}</code></p></div>")
    for _, other, shown_too in other_results(result, names):
        out.append(f"<hr>{as_html(other, digits=digits, names=shown_too)}")
    return escape_control_characters(
        "\n".join(out)
    )  # here alone: whatever a name holds, no reader is steered by it


def as_page(result: Document, *, digits: int = DIGITS, names: Collection[str] = ()) -> str:
    """Return a whole page around the tables and plots."""
    from clfeval.views.plots import draw_plots as drawn

    plots = drawn(result, (PLOTS,), width=WIDTH)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>clfeval {escape(result.command)}</title></head>"
        '<body style="font-family:sans-serif;overflow-x:auto">\n'
        f"{as_html(result, digits=digits, names=names, plots=plots)}\n</body></html>\n"
    )


def _table_html(part: TextTable) -> str:
    if not part.rows:
        return f"<h4>{escape(part.title)}</h4><p>none</p>"

    kinds = [" class=b" if strip.heading == "bar" else " class=n" * strip.numeric
             for strip in part.strips]  # fmt: skip

    def cells(tag: str, row: tuple[str, ...]) -> str:
        each = zip(row, kinds, strict=True)
        return "".join(f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in each)

    head = f"<thead><tr>{cells('th', part.headings)}</tr></thead>"
    body = "".join(
        f"<tr{' class=best' if sign == BEST else ''}>{cells('td', row)}</tr>"
        for row, sign in zip_longest(part.rows, part.signs)
    )
    said = (*part.legend, *([part.note] if part.note else []))
    note = "".join(f"<p>{escape(line)}</p>" for line in said)
    table = f"<table>{head}<tbody>{body}</tbody></table>"
    return f'<h4>{escape(part.title)}</h4><div class="w">{table}</div>{note}'
