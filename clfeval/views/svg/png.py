"""PNG of a picture, by resvg; never without its text: a font is looked for first."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from clfeval.document import Document
from clfeval.errors import UsageError
from clfeval.views.svg.picture import picture_of

FAMILIES = ("DejaVu Sans", "Liberation Sans", "Arial", "Helvetica", "Noto Sans")
HINT = "install one, such as DejaVu Sans, name a file (font, in Python and batches), or save .svg"
ZOOM = 2  # pixels of a file to one of the picture, where no size is given
LETTER = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
FAMILY, WINDOWS = 1, 3  # of the records of a font's table of names


def as_png(result: Document, *, picture: str, options: Mapping[str, Any]) -> bytes:
    """Return one picture as PNG; options: size, caption, font. Raises UsageError."""
    family, draw = usable_font(options.get("font"))
    size = options.get("size")
    svg = picture_of(result, picture, size=size, caption=options.get("caption"))
    svg = svg.replace("'DejaVu Sans','Liberation Sans'", f"'{family}'", 1)
    return bytes(draw(svg_string=svg, zoom=1 if size else ZOOM))


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
    known: dict[str, Any] = {"font_files": [font], "skip_system_fonts": True} if font else {}
    draw = partial(svg_to_bytes, **known)
    for family in [font_family(font)] if font else FAMILIES:
        text = f"<text x='2' y='16' font-family='{escape(family)}'>M</text>"
        drawn, blank = (draw(svg_string=LETTER.format(one)) for one in (text, ""))
        if bytes(drawn) != bytes(blank):
            return family, draw
    what = f"'{font}' draws no letters" if font else "there is no font for a .png file"
    raise UsageError.new(what, "no-font", hint=HINT)


def font_family(path: str) -> str:
    """Return the name of the family of a TrueType or OpenType font; UsageError if it is none."""
    try:
        data = Path(path).read_bytes()
        tables = (struct.unpack_from(">4s4xII", data, 12 + 16 * i) for i in range(data[5]))
        start = next(offset for tag, offset, _ in tables if tag == b"name")
        count, texts = struct.unpack_from(">HH", data, start + 2)
        for i in range(count):
            platform, _, _, name, length, at = struct.unpack_from(">6H", data, start + 6 + 12 * i)
            if (platform, name) == (WINDOWS, FAMILY):
                begin = start + texts + at
                return data[begin : begin + length].decode("utf-16-be").replace("'", "")
    except (OSError, IndexError, StopIteration, struct.error, UnicodeDecodeError) as error:
        what = f"cannot read the font '{path}'"
        raise UsageError.new(what, "no-font", hint="give a .ttf or .otf file") from error
    raise UsageError.new(f"the font '{path}' has no name", "no-font", hint="give another")
