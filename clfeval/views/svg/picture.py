"""Pictures of a result as SVG and PNG: the charts of one name are the panels of one picture."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from clfeval.document import Document
from clfeval.errors import UsageError, list_names, suggestion
from clfeval.formatting import escape_control_characters, printable
from clfeval.pages.chart import Chart
from clfeval.pages.command_pages import page_of
from clfeval.placeholders import END, OPTION
from clfeval.views.limit_guides import pictures_with_limits
from clfeval.views.svg import elements as svg
from clfeval.views.svg import rows
from clfeval.views.svg.curves import draw_curves

PANEL_SIZE = (480, 360)  # pixels of a panel
PANELS_PER_LINE = 2  # panels in a line of a file
XMLNS = 'xmlns="http://www.w3.org/2000/svg" '
CAPTION_LINE = 14  # pixels of a line of the caption
REMEDY_OF_PICTURE = {
    "slices": f"add {OPTION}--by{END}",
    "risk": f"add {OPTION}--abstain{END}",
    "pairs": f"add {OPTION}--reference all-pairs{END}",
    "differences": f"add {OPTION}--reference{END}",
}
DRAW: Mapping[str, Callable[[Chart, svg.Colors, float, float], Iterator[str]]] = {
    "lines": draw_curves,
    "points": draw_curves,
    "intervals": rows.draw_rows,
    "bars": rows.draw_rows,
    "cells": rows.draw_matrix,
    "profile": rows.draw_matrix,
    "radar": rows.draw_radars,
}
# the heights that follow from the number of rows, where none is asked for
HEIGHTS: Mapping[str, Callable[[Chart], float]] = {
    "intervals": rows.rows_height,
    "bars": rows.rows_height,
    "cells": rows.matrix_height,
    "profile": rows.matrix_height,
    "radar": rows.radars_height,
}
Panel = tuple[str, float, float]  # elements of SVG, and their width and height in pixels


def draw_panel(chart: Chart, colors: svg.Colors, size: tuple[float, float] = PANEL_SIZE) -> Panel:
    """Return a chart drawn as wide as `size`; the height of charts of rows follows from these."""
    width, height = size
    title_lines = svg.fold(chart.title, width - 12, svg.FONT + 1.5)
    top = 8 + svg.LINE * len(title_lines)
    chart_height = HEIGHTS[chart.kind](chart) if chart.kind in HEIGHTS else max(height - top, 80.0)
    elements = [
        svg.label(6, svg.LINE * (line_index + 1) - 2, text, "title")
        for line_index, text in enumerate(title_lines)
    ]
    body = "".join(DRAW[chart.kind](chart, colors, width, chart_height))
    elements.append(f'<g transform="translate(0 {svg.pixel(top)})">{body}</g>')
    return "".join(elements), width, top + chart_height


def caption_lines(caption: str, width: float) -> list[str]:
    """Return a caption in lines of a picture's width."""
    return svg.fold(caption, width - 12, svg.FONT - 2) if caption else []


def svg_element(
    panels: Sequence[Panel],
    title: str,
    finding: str,
    *,
    style: str = "",
    caption: str = "",
    across: int = PANELS_PER_LINE,
    alone: bool = False,
) -> str:
    """Return an SVG element of panels side by side and below each other; alone: in a file."""
    elements, width, y = _arrange_panels(panels, across)
    for line in caption_lines(caption, width):
        y += CAPTION_LINE
        elements.append(svg.label(6, y - 3, line, "small dim"))
    view_box = f'viewBox="0 0 {svg.pixel(width)} {svg.pixel(y + 4)}"'
    size_attributes = f' width="{svg.pixel(width)}" height="{svg.pixel(y + 4)}"' if style else ""
    ground_element = f'<rect{size_attributes} class="ground"/>' if style else ""
    spoken_text = escape(printable(f"{title}. {finding}"))
    namespace = XMLNS if alone else ""
    text = (
        f'<svg {namespace}class="picture" {view_box}{size_attributes} role="img" '
        f'aria-label="{spoken_text}">'
        f"<title>{escape(printable(title))}</title><desc>{escape(printable(finding))}</desc>"
        f"{style}{ground_element}{''.join(elements)}</svg>"
    )
    return escape_control_characters(text)


def _arrange_panels(panels: Sequence[Panel], across: int) -> tuple[list[str], float, float]:
    """Return the elements of panels at their places, and the width and height of all."""
    rows_of_panels = [panels[start : start + across] for start in range(0, len(panels), across)]
    elements = []
    y = 0.0
    for row in rows_of_panels:
        x = 0.0
        for content, panel_width, _ in row:
            transform = f"translate({svg.pixel(x)} {svg.pixel(y)})"
            elements.append(f'<g transform="{transform}">{content}</g>')
            x += panel_width
        y += max(panel_height for _, _, panel_height in row) + 6
    width = max(sum(panel_width for _, panel_width, _ in row) for row in rows_of_panels)
    return elements, width, y


def pictures_by_name(result: Document) -> dict[str, tuple[Document, list[Chart]]]:
    """Return the pictures of a result and of its other commands, with the result of each."""
    pictures = {name: (result, charts) for name, charts in pictures_with_limits(result).items()}
    for command, document in result.methods.items():
        for name, charts in pictures_with_limits(document).items():
            pictures[f"{command}-{name}" if name in pictures else name] = document, charts
    return pictures


def picture_of(
    result: Document,
    name: str | None = None,
    *,
    size: tuple[int, int] | None = None,
    caption: str | None = None,
    scope: str = "",
) -> str:
    """Return one picture as an SVG document that needs no other file; by default the first.

    size: width and height in pixels of the whole picture; pictures of rows are as high as these
    need. caption: by default files, rows and version. scope: a selector before each rule of the
    style, where the picture is part of a document. Raises UsageError for other names.
    """
    document, charts = _charts_of_picture(result, name)
    caption_text = default_caption(document) if caption is None else caption
    column_count = min(len(charts), PANELS_PER_LINE)
    row_count = -(-len(charts) // column_count)
    width, height = size or (PANEL_SIZE[0] * column_count, PANEL_SIZE[1] * row_count)
    if size:  # of the whole picture, with what is below the panels
        height -= 4 + 6 * row_count + CAPTION_LINE * len(caption_lines(caption_text, width))
    colors = svg.Colors.from_result(document)
    panel_size = width / column_count, height / row_count
    return svg_element(
        [draw_panel(chart, colors, panel_size) for chart in charts],
        charts[0].title,
        " ".join(dict.fromkeys(chart.finding for chart in charts)),
        style=f"<style>{svg.shape_rules(scope)}{svg.color_rules(tones=0, scope=scope)}</style>",
        caption=caption_text,
        across=column_count,
        alone=not scope,
    )


def _charts_of_picture(result: Document, name: str | None) -> tuple[Document, list[Chart]]:
    """Return the charts of a picture, by default the first, and their result; else UsageError."""
    pictures = pictures_by_name(result)
    if not pictures:
        raise UsageError.new(f"this result of {result.command} has no pictures", "unknown-table")
    name = next(iter(pictures)) if name is None else name
    if name not in pictures:
        needs_option = name in page_of(result.command).all_pictures
        default_hint = f"there are {list_names([*pictures], 40)}"
        hint = suggestion(name, pictures) or default_hint
        if needs_option:
            hint = REMEDY_OF_PICTURE.get(name, "some need an option")
        raise UsageError.new(f"no picture '{name}' in this result", "unknown-table", hint=hint)
    return pictures[name]


def as_svg(result: Document, *, picture: str, options: Mapping[str, Any]) -> str:
    """Return the text of a file with one picture; options: size and caption, where given."""
    size = options.get("size")
    caption = options.get("caption")
    return f"{picture_of(result, picture, size=size, caption=caption)}\n"


def default_caption(result: Document) -> str:
    """Return what a picture is about where it stands alone: files, rows, and the settings."""
    file_names = ", ".join(file.name for file in result.inputs)
    rows_read = sum(file.rows for file in result.inputs)
    return f"{result.command} of {file_names}, {rows_read:,} rows; clfeval {result.version}"


# of files .png, which resvg draws; never without its text: a font is looked for first
FAMILIES = ("DejaVu Sans", "Liberation Sans", "Arial", "Helvetica", "Noto Sans")
FONT_HINT = (
    "install one, such as DejaVu Sans, name a file (font, in Python and batches), or save .svg"
)
DEFAULT_ZOOM = 2  # pixels of a file to one of the picture, where no size is given
LETTER = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
FAMILY, WINDOWS = 1, 3  # of the records of a font's table of names


def as_png(result: Document, *, picture: str, options: Mapping[str, Any]) -> bytes:
    """Return one picture as PNG; options: size, caption, font. Raises UsageError."""
    family, draw_svg = usable_font(options.get("font"))
    size = options.get("size")
    svg_text = picture_of(result, picture, size=size, caption=options.get("caption"))
    svg_text = svg_text.replace("'DejaVu Sans','Liberation Sans'", f"'{family}'", 1)
    return bytes(draw_svg(svg_string=svg_text, zoom=1 if size else DEFAULT_ZOOM))


def usable_font(font: str | None) -> tuple[str, Callable[..., Any]]:
    """Return the family of a font that draws a letter, and a function that draws with it.

    font: a file; else one of the system. Raises UsageError where the extra `png` is not installed,
    or no font draws a letter.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        hint = "pip install 'clfeval[png]', or save .svg"
        raise UsageError.new("a .png file needs resvg-py", "no-library", hint=hint) from error
    font_options: dict[str, Any] = {"font_files": [font], "skip_system_fonts": True} if font else {}
    draw_svg = partial(svg_to_bytes, **font_options)
    for family in [font_family(font)] if font else FAMILIES:
        text = f"<text x='2' y='16' font-family='{escape(family)}'>M</text>"
        letter_png = draw_svg(svg_string=LETTER.format(text))
        blank_png = draw_svg(svg_string=LETTER.format(""))
        if bytes(letter_png) != bytes(blank_png):
            return family, draw_svg
    message = f"'{font}' draws no letters" if font else "there is no font for a .png file"
    raise UsageError.new(message, "no-font", hint=FONT_HINT)


def font_family(path: str) -> str:
    """Return the name of the family of a TrueType or OpenType font; UsageError if it is none."""
    try:
        font_bytes = Path(path).read_bytes()
        table_records = (
            struct.unpack_from(">4s4xII", font_bytes, 12 + 16 * i) for i in range(font_bytes[5])
        )
        names_start = next(
            table_offset for table_tag, table_offset, _ in table_records if table_tag == b"name"
        )
        record_count, texts_offset = struct.unpack_from(">HH", font_bytes, names_start + 2)
        for i in range(record_count):
            record = struct.unpack_from(">6H", font_bytes, names_start + 6 + 12 * i)
            platform, _, _, name_id, length, text_offset = record
            if (platform, name_id) == (WINDOWS, FAMILY):
                text_start = names_start + texts_offset + text_offset
                return (
                    font_bytes[text_start : text_start + length]
                    .decode("utf-16-be")
                    .replace("'", "")
                )
    except (OSError, IndexError, StopIteration, struct.error, UnicodeDecodeError) as error:
        message = f"cannot read the font '{path}'"
        raise UsageError.new(message, "no-font", hint="give a .ttf or .otf file") from error
    raise UsageError.new(f"the font '{path}' has no name", "no-font", hint="give another")
