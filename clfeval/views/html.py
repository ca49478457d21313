"""The HTML view: the tables as plain HTML, for notebooks and files; no script, no network."""

from __future__ import annotations

from html import escape

from clfeval.pages.write import DIGITS
from clfeval.result import Result
from clfeval.views.render import Section, headline, reasons, sections

_STYLE = (
    "<style>.clfeval td,.clfeval th{padding:.15em .6em;text-align:left}"
    ".clfeval .n{text-align:right;font-variant-numeric:tabular-nums}"
    ".clfeval thead{border-bottom:1px solid}</style>"
)


def as_html(result: Result, *, digits: int = DIGITS) -> str:
    """Return one `<div>` with the headline and every table."""
    first, *others = headline(result)
    parts = [f'<div class="clfeval">{_STYLE}<p><strong>{escape(first)}</strong></p>']
    parts += [f"<p>{escape(line)}</p>" for line in others]
    parts += [_table(part) for part in sections(result, digits=digits)]
    parts += [f"<p>{escape(reason)}</p>" for reason in reasons(result)]
    parts += [f"<p>{escape(warning.message)}</p>" for warning in result.warnings]
    parts.append(f"<p><code>{escape(result.signature)}</code></p></div>")
    return "\n".join(parts)


def as_page(result: Result, *, digits: int = DIGITS) -> str:
    """Return a whole page around the tables."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>clfeval {escape(result.command)}</title></head>"
        '<body style="font-family:sans-serif;overflow-x:auto">\n'
        f"{as_html(result, digits=digits)}\n</body></html>\n"
    )


def _table(part: Section) -> str:
    if not part.rows:
        return f"<h4>{escape(part.title)}</h4><p>none</p>"

    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "".join(
            f"<{tag}{' class=n' if strip.numeric else ''}>{escape(cell)}</{tag}>"
            for cell, strip in zip(row, part.strips, strict=True)
        )

    head = f"<thead><tr>{cells('th', part.headings)}</tr></thead>"
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in part.rows)
    note = f"<p>{escape(part.note)}</p>" if part.note else ""
    return f"<h4>{escape(part.title)}</h4><table>{head}<tbody>{body}</tbody></table>{note}"
