"""A pack as one file: made, and opened without writing anywhere but into its folder.

The file is a zip archive. Only what makes a pack is taken out of it, and an archive that tries
anything else (a way out of the folder, a link, a device, more than it says) is refused whole.
"""

from __future__ import annotations

import errno
import stat
import zipfile
from pathlib import Path
from typing import IO

from tutor.lesson.shelf import KEPT, files_of

MOST_FILES = 2_000
MOST_BYTES = 20_000_000
"""What an archive may hold, unpacked."""

_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive: the same pack makes the same bytes."""

_CHUNK = 65_536


class BadArchive(ValueError):
    """The file is no archive of a pack, or not a harmless one; the text says what is wrong."""


def build(folder: Path, out: Path) -> int:
    """Write the archive of a pack's folder; returns how many files it holds."""
    count = 0
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for below, path in files_of(folder):
            entry = zipfile.ZipInfo(below, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, path.read_bytes())
            count += 1
    return count


def unpack(source: Path, into: Path) -> None:
    """Unpack an archive into a folder that is there and empty. Raises `BadArchive`, `OSError`."""
    try:
        with zipfile.ZipFile(source) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_FILES:
                raise BadArchive(f"it holds {len(entries)} files; {MOST_FILES} are the most")
            seen: set[str] = set()
            for entry in entries:
                _refuse(entry, seen)
            left = MOST_BYTES
            for entry in entries:
                if not entry.is_dir() and KEPT.match(entry.filename):
                    target = into / entry.filename
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(entry) as data:
                        left -= _copy(data, target, left)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, zipfile.LargeZipFile) as error:
        raise BadArchive(f"it is no archive of a pack: {error}") from error
    except (RuntimeError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, BadArchive):
            raise
        raise BadArchive(f"it cannot be read: {error}") from error
    except OSError as error:
        if error.errno == errno.EINVAL:  # a place before the beginning of the file
            raise BadArchive("it is damaged") from error
        raise
    except Exception as error:
        # Each way of packing has errors of its own (zlib.error, lzma.LZMAError).
        if type(error).__module__ in ("zlib", "_lzma", "lzma", "bz2"):
            raise BadArchive(f"it is damaged: {error}") from error
        raise


def _refuse(entry: zipfile.ZipInfo, seen: set[str]) -> None:
    """Raise `BadArchive` for an entry that no archive of ours has."""
    name = entry.filename
    # `orig_filename` still has what the library has cut off or turned round.
    parts = entry.orig_filename.replace("\\", "/").split("/")
    if "\0" in entry.orig_filename or "\\" in entry.orig_filename:
        raise BadArchive(f"the name {entry.orig_filename!r} has signs that no file here has")
    if name.startswith("/") or ".." in parts or (parts and parts[0].endswith(":")):
        raise BadArchive(f"the file {name!r} would lie outside of the pack")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise BadArchive(f"{name!r} is a link or a device")
    if entry.flag_bits & 0x1:
        raise BadArchive(f"{name!r} is encrypted")
    if name.casefold() in seen:
        raise BadArchive(f"{name!r} is there twice")
    seen.add(name.casefold())


def _copy(data: IO[bytes], target: Path, most: int) -> int:
    """Copy what is really there, not what the archive says of its size."""
    written = 0
    with target.open("xb") as file:
        while chunk := data.read(_CHUNK):
            written += len(chunk)
            if written > most:
                raise BadArchive(f"it holds more than {MOST_BYTES // 1_000_000} MB")
            file.write(chunk)
    return written
