"""Packed tables: gzip and zstd are recognised by their first bytes and unpacked to a plain file."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType

from clfeval.errors import DataError, Problem

CHUNK = 1 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def packing_of(magic: bytes) -> str | None:
    """Name the packing by the file's first bytes; None for a plain file."""
    if magic.startswith(_GZIP):
        return "gzip"
    return "zstd" if magic.startswith(_ZSTD) else None


def unpack(name: str, packed: Path, plain: Path, packing: str) -> None:
    """Unpack into a plain file; raises DataError for damaged data."""
    import zlib

    try:
        with packed.open("rb") as raw, plain.open("wb") as out:
            if packing == "gzip":
                import gzip

                with gzip.open(raw) as stream:
                    shutil.copyfileobj(stream, out, CHUNK)
            else:
                with _zstd().open(raw) as stream:
                    shutil.copyfileobj(stream, out, CHUNK)
    except (OSError, EOFError, zlib.error, ValueError, _zstd().ZstdError) as error:
        raise DataError(
            Problem(f"the {packing} data is damaged: {error}", "damaged-file", name)
        ) from error


def _zstd() -> ModuleType:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
