"""Words as a shell takes them: what is pasted says what was meant, whatever stands in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from shlex import quote

_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "'": r"\'"}
# as they are written here
WORD = r"""(?:\$'(?:\\.|[^'\\])*'|'[^']*'|"[^"$`\\!]*"|[^\s'"])+"""
_PIECE = re.compile(
    r"""\$'(?P<escaped>(?:\\.|[^'\\])*)'|'(?P<plain>[^']*)'|"(?P<mark>[^"$`\\!]*)"|(.)"""
)


def quote_word(text: str, *, bare: bool = True) -> str:
    """Quote text as one word, if needed or not `bare`; `$'..'` for control characters."""
    if not text.isprintable():
        return f"$'{''.join(map(_escape_character, text))}'"
    if "'" in text and not {*text} & {*'"$`\\!'}:
        return f'"{text}"'
    return quote(text) if bare or "'" in text else f"'{text}'"


def format_option(flag: str, value: str, *, bare: bool = False) -> str:
    """Write an option with its value in quotes; one that looks like an option stands behind `=`."""
    between = "=" if value.startswith("-") and value != "-" else " "
    return f"{flag}{between}{quote_word(value, bare=bare)}"


def format_command_line(words: Iterable[str]) -> str:
    """Write words as a command line."""
    return " ".join(map(quote_word, words))


def unquote_word(text: str) -> str:
    """Return what a shell reads in a word that was written here."""
    return "".join(map(_unquote_piece, _PIECE.finditer(text)))


def _escape_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors="surrogateescape"))


def _unquote_piece(piece: re.Match[str]) -> str:
    if piece["escaped"] is None:
        return next(part for part in piece.groups()[1:] if part is not None)
    known = {written[1:].encode(): sign.encode() for sign, written in _ESCAPES.items()}

    def byte(found: re.Match[bytes]) -> bytes:
        return known.get(found[1]) or bytes([int(found[1][1:], 16)])

    raw = re.sub(rb"\\(x[0-9a-f]{2}|.)", byte, piece["escaped"].encode())
    return raw.decode(errors="surrogateescape")
