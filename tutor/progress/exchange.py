"""Taking progress to another machine, and bringing it together there."""

from __future__ import annotations

from pathlib import Path

from tutor.progress.log import Log, read
from tutor.progress.records import encode


def export(path: Path) -> bytes:
    """Every record of a file that can be read, as lines. Raises OSError."""
    return b"".join(encode(record) for record in read(path).records)


def merge(path: Path, other: Path) -> tuple[int, int]:
    """Add the records of another file that are not there yet. Raises OSError.

    Returns how many were added, and how many lines of the other file could not be read.
    """
    theirs = read(other)
    ours = Log(path)
    try:
        known = {encode(record) for record in ours.records}
        new = [record for record in theirs.records if encode(record) not in known]
        ours.extend(new)
    finally:
        ours.close()
    return len(new), theirs.damaged
