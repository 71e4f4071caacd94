"""The file of records: added to line by line, each on the disk before the call returns."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from tutor.progress.records import AnyRecord, Edited, Record, decode, encode

COMPACT_AT = 4_000_000
"""Bytes from which on a file is rewritten without the edits that later ones replaced."""

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # no such locks on this system: files are never rewritten there
    fcntl = None


@dataclass(frozen=True, slots=True)
class Contents:
    """The records of a file; `damaged` lines could not be read; `torn`: no end of line."""

    records: list[AnyRecord]
    damaged: int
    torn: bool
    size: int


def read(path: Path) -> Contents:
    """What a file holds; a file that is cut anywhere holds what stands before the cut."""
    data = path.read_bytes()
    lines = [line for line in data.split(b"\n") if line.strip()]
    found = [decode(line) for line in lines]
    torn = bool(data) and not data.endswith(b"\n")
    damaged = sum(record is None for record in found)
    if torn and found and found[-1] is None:
        damaged -= 1  # a crash in the middle of a line is nothing to be told of
    return Contents([r for r in found if r is not None], damaged, torn, len(data))


class Log:
    """An open file of records. Raises OSError where it cannot be opened or written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = _opened(path)
        contents = read(path)
        self.records = contents.records
        """What was there when it was opened."""
        self.damaged = contents.damaged
        """How many lines could not be read."""
        self._torn = contents.torn
        if contents.size > COMPACT_AT or contents.damaged or contents.torn:
            self._compact()

    def append(self, record: Record) -> None:
        """Add one record, and wait until it is on the disk."""
        self.extend([record])

    def extend(self, records: Iterable[Record]) -> None:
        """Add several records, and wait until they are on the disk."""
        data = b"".join(encode(record) for record in records)
        if self._torn:  # what a crash left of a line gets its end, so that the next stands alone
            data = b"\n" + data
            self._torn = False
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) or 0 :]
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; nothing is pending."""
        self._file.close()

    def _compact(self) -> None:
        """Rewrite the file without damage and replaced edits, if nobody else has it open."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        if self.damaged:
            shutil.copyfile(self.path, self.path.with_suffix(".damaged"))
        aside = self.path.with_suffix(".new")
        with open(aside, "wb") as new:
            new.write(b"".join(encode(record) for record in without_replaced(self.records)))
            new.flush()
            os.fsync(new.fileno())
        os.replace(aside, self.path)
        self._file.close()
        self._file = _opened(self.path)
        self._torn = False


def _opened(path: Path) -> BinaryIO:
    """The file, open for adding and marked as in use, so that nobody else rewrites it."""
    while True:
        file = open(path, "ab", buffering=0)  # noqa: SIM115 (open as long as its log)
        if fcntl is None:
            return file
        try:
            fcntl.flock(file, fcntl.LOCK_SH)
        except OSError:  # a file system without locks
            return file
        try:
            if os.fstat(file.fileno()).st_ino == os.stat(path).st_ino:
                return file
        except FileNotFoundError:
            pass
        file.close()  # it was rewritten between the two calls: take the new one


def without_replaced(records: Iterable[AnyRecord]) -> list[AnyRecord]:
    """The records without edits that a later edit of the same step replaced."""
    every = list(records)
    latest = {
        (record.lesson, record.step): index
        for index, record in enumerate(every)
        if isinstance(record, Edited)
    }
    return [
        record
        for index, record in enumerate(every)
        if not isinstance(record, Edited) or latest[record.lesson, record.step] == index
    ]
