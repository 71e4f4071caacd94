"""Noticing that files of a pack were saved."""

from __future__ import annotations

from pathlib import Path

Stamp = tuple[int, int]


class Watch:
    """Remembers when the YAML files of a pack were written; asking is a few `stat` calls."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = self._look()

    def changed(self) -> bool:
        """Whether a file was written, came or went since this was asked last."""
        now = self._look()
        different = now != self._known
        self._known = now
        return different

    def _look(self) -> dict[Path, Stamp]:
        found: dict[Path, Stamp] = {}
        patterns = ("*.yaml", "[!.]*/*.yaml", "i18n/*/*/*.yaml")
        for path in (p for pattern in patterns for p in self._folder.glob(pattern)):
            try:
                stat = path.stat()
            except OSError:
                continue  # it is just being replaced: the next look sees it
            found[path] = (stat.st_mtime_ns, stat.st_size)
        return found
