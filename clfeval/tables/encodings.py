"""Encodings of texts that are not UTF-8: which one it probably is, and how to convert it."""

from __future__ import annotations

import codecs
import re

from clfeval.records import dataclass

_KANA = "\u3041-\u30fa"
_WIDE = f"[{_KANA}\u3000-\u3002\u30fc\u4e00-\u9fff\uff01-\uff5e]"


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding: its codec in Python, its name for iconv, and that for readers."""

    codec: str
    iconv: str
    title: str

    @property
    def remedy(self) -> str:
        """The command that converts a file to UTF-8."""
        return f"iconv -f {self.iconv} -t UTF-8 FILE > NEW"


LATIN_1 = Encoding("latin-1", "LATIN1", "Latin-1")
WINDOWS_1252 = Encoding("cp1252", "WINDOWS-1252", "Windows-1252")
WINDOWS_1251 = Encoding("cp1251", "WINDOWS-1251", "Windows-1251")
SHIFT_JIS = Encoding("cp932", "CP932", "Shift-JIS")
EUC_JP = Encoding("euc_jp", "EUC-JP", "EUC-JP")
UTF_16 = Encoding("utf-16", "UTF-16", "UTF-16")
UTF_16_LE = Encoding("utf-16-le", "UTF-16LE", "UTF-16 (little-endian, without a byte-order mark)")
UTF_16_BE = Encoding("utf-16-be", "UTF-16BE", "UTF-16 (big-endian, without a byte-order mark)")
UTF_32 = Encoding("utf-32", "UTF-32", "UTF-32")


def wide_encoding(first_bytes: bytes) -> Encoding | None:
    """Return UTF-16 or UTF-32 if a text begins so, with a byte-order mark or without; else None.

    Without a mark: nine in ten characters of the first ones have a zero as their upper byte.
    """
    if first_bytes.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return UTF_32
    if first_bytes.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return UTF_16
    # each pair has the upper and the lower byte of a character, or the reverse
    byte_pairs = first_bytes[:400]
    pair_count = len(byte_pairs) // 2
    even_zeros = byte_pairs[0::2].count(0)
    odd_zeros = byte_pairs[1::2].count(0)
    if pair_count > 1 and odd_zeros > 0.9 * pair_count and not even_zeros:
        return UTF_16_LE
    if pair_count > 1 and even_zeros > 0.9 * pair_count and not odd_zeros:
        return UTF_16_BE
    return None


def guess_encoding(text: bytes) -> Encoding:
    """Return the likeliest encoding of bytes that are not UTF-8.

    Japanese if every stretch of other characters is of two or more Japanese ones, Cyrillic if most
    high bytes are its small letters in words, Windows-1252 if bytes are signs that Latin-1 lacks.
    """
    if _is_japanese(text, SHIFT_JIS.codec):
        return SHIFT_JIS
    if _is_japanese(text, EUC_JP.codec) and re.search(rb"[\xa4\xa5][\xa1-\xfe]", text):
        return EUC_JP
    high_stretches = re.findall(rb"[\x80-\xff]+", text)
    if all(re.fullmatch(rb"[\xa8\xb8\xc0-\xff]{2,}", stretch) for stretch in high_stretches):
        return WINDOWS_1251
    if any(byte in range(0x80, 0xA0) for byte in text) and _decodes(text, WINDOWS_1252.codec):
        return WINDOWS_1252
    return LATIN_1


def _is_japanese(text: bytes, codec: str) -> bool:
    """Return whether bytes are Japanese in an encoding: stretches of two or more characters."""
    if not _decodes(text, codec):
        return False
    other_stretches = re.findall(r"[^\x00-\x7f]+", text.decode(codec))
    return all(re.fullmatch(f"{_WIDE}{{2,}}", stretch) for stretch in other_stretches)


def _decodes(text: bytes, codec: str) -> bool:
    """Return whether bytes are valid in an encoding; the last character may be cut."""
    try:
        codecs.getincrementaldecoder(codec)("strict").decode(text)
    except UnicodeDecodeError:
        return False
    return True
