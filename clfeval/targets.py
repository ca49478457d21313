"""Which files are read, and whether one that is written would take their place."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import PurePath

DEEP = "**"  # of a pattern: any folders


def target_path(name: str) -> str:
    """Return where a file is put: its folder is looked up, a link of its own name is replaced."""
    folder, last = os.path.split(name)
    return os.path.join(os.path.realpath(folder or os.curdir), last)


class ProtectedFiles:
    """Files that nothing is written in place of, by their names and patterns."""

    def __init__(self, names: Iterable[str]) -> None:
        """Look up the files and patterns; patterns of nested folders (`**`) are not searched."""
        self._patterns: list[str] = []
        self._files: set[str] = set()
        for name in names:
            if glob.has_magic(name) and not os.path.exists(name):
                self._patterns.append(target_path(name))
                files = [] if DEEP in name else glob.glob(name)
                self._files |= {os.path.realpath(one) for one in files}
            else:
                self._files.add(os.path.realpath(name))

    def __contains__(self, name: str) -> bool:
        """Tell whether a file of this name would be one of them."""
        place = target_path(name)
        known = os.path.realpath(name) in self._files
        return known or any(
            fnmatchcase(place, pattern.replace(f"{DEEP}/", "*")) if DEEP in pattern
            else PurePath(place).match(pattern) for pattern in self._patterns
        )  # fmt: skip
