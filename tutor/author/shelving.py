"""Installing packs: they are fetched aside, looked through, shown, and only then put in place."""

from __future__ import annotations

import ast
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tutor.author.advice import codes_of
from tutor.author.archives import MOST_BYTES, BadArchive, unpack
from tutor.lesson import Pack, load_pack
from tutor.lesson.shelf import (
    KEPT,
    Shelved,
    digest_of,
    files_of,
    read_shelf,
    write_shelf,
)

SECONDS = 120
"""What git may take."""


class NotInstalled(ValueError):
    """A pack cannot be had or cannot be installed; the text says why."""


@dataclass(frozen=True)
class Offer:
    """A pack that lies ready to be installed, in a folder of its own."""

    pack: Pack
    folder: Path
    source: str
    digest: str

    @property
    def id(self) -> str:
        assert self.pack.info is not None
        return self.pack.info.id


@contextmanager
def offered(source: str) -> Iterator[Offer]:
    """Fetch a pack from a file, a folder, or a git repository (`URL@REVISION`).

    Raises `NotInstalled` where it cannot be had, or has faults.
    """
    with tempfile.TemporaryDirectory(prefix="autograd-tutor-pack-") as made:
        folder = Path(made) / "pack"
        folder.mkdir()
        try:
            _fetch(source, folder)
        except (BadArchive, OSError, tarfile.TarError) as error:
            raise NotInstalled(f"{source}: {error}") from error
        pack = load_pack(folder, torch="", shown="")
        errors = [fault.shown() for fault in pack.faults]
        if pack.info is None or errors:
            raise NotInstalled("\n".join([f"{source} is no sound pack:", *errors[:5]]))
        yield Offer(pack, folder, source, digest_of(folder))


def _fetch(source: str, into: Path) -> None:
    path = Path(source)
    if path.is_dir():
        found = path / "pack.yaml"
        if not found.is_file():
            raise NotInstalled(f"{source} is no pack: there is no pack.yaml in it.")
        size = 0
        for below, file in files_of(path):
            size += file.stat().st_size
            if size > MOST_BYTES:
                raise BadArchive(f"it holds more than {MOST_BYTES // 1_000_000} MB")
            (into / below).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, into / below)
    elif path.is_file():
        unpack(path, into)
    elif "@" in source or "://" in source:
        _fetch_git(source, into)
    else:
        raise NotInstalled(f"There is no file or folder {source}, and it is no git repository.")


def _fetch_git(source: str, into: Path) -> None:
    """What a repository holds at a revision: cloned without a checkout, read as an archive."""
    url, _, revision = source.rpartition("@")
    if not url or "/" in revision or ":" in revision:
        url, revision = source, "HEAD"
    if url.startswith("-") or revision.startswith("-") or not revision:
        raise NotInstalled(f"{source} is no repository and revision.")
    with tempfile.TemporaryDirectory() as clone:
        _git("clone", "--quiet", "--bare", "--", url, clone)
        packed = _git("--git-dir", clone, "archive", "--format=tar", revision)
    left = MOST_BYTES
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            if not member.isfile() or not KEPT.match(member.name):
                continue
            left -= member.size
            data = archive.extractfile(member)
            if left < 0 or data is None:
                raise BadArchive(f"it holds more than {MOST_BYTES // 1_000_000} MB")
            (into / member.name).parent.mkdir(parents=True, exist_ok=True)
            (into / member.name).write_bytes(data.read())


def _git(*words: str) -> bytes:
    # Only these ways of reaching a repository: others of git's run commands.
    allowed = {"GIT_ALLOW_PROTOCOL": "https:ssh:git:file", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", *words],
            capture_output=True,
            timeout=SECONDS,
            env={**os.environ, **allowed},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"git does not answer: {error}") from error
    if done.returncode != 0:
        told = done.stderr.decode(errors="replace").strip().splitlines()
        raise NotInstalled(f"git cannot fetch it: {told[-1] if told else 'no reason given'}")
    return done.stdout


# -- what it would run ------------------------------------------------------------------------


def told(pack: Pack, source: str, digest: str) -> Iterator[str]:
    """What a person should know before trusting a pack, in lines."""
    info = pack.info
    assert info is not None
    yield f"{info.title} ({info.id} {info.version}), by {', '.join(info.authors)}"
    yield f"  from     {source}"
    yield f"  licence  {info.licence}"
    yield f"  holds    {len(pack.lessons)} lessons: {', '.join(pack.lessons)}"
    programs, imports = _programs(pack)
    yield f"  runs     {programs} programs, which import {', '.join(sorted(imports)) or 'nothing'}"
    unusual = sorted(imports & _REACHING)
    if unusual:
        yield f"  look     {', '.join(unusual)} can reach files, processes or the network"
    yield f"  digest   {digest}"


_REACHING = frozenset(
    word
    for line in (
        "asyncio builtins ctypes ftplib glob http importlib io multiprocessing os pathlib",
        "pickle platform pty requests runpy shelve shutil signal smtplib socket sqlite3 ssl",
        "subprocess sys tempfile threading urllib webbrowser",
        "open eval exec compile __import__",
    )
    for word in line.split()
)
"""Modules and functions that a lesson on gradients seldom needs."""


def _programs(pack: Pack) -> tuple[int, set[str]]:
    """How many programs a pack holds, and what they import or call that reaches out."""
    count, names = 0, set()
    for lesson in pack.lessons.values():
        for code in [lesson.setup, *(c for step in lesson.steps for c in codes_of(step))]:
            if not code.strip():
                continue
            count += 1
            try:
                tree = ast.parse(code)
            except (SyntaxError, ValueError, RecursionError):
                names.add("code that is not Python")
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    names.update(alias.name.split(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    names.add((node.module or ".").split(".")[0])
                elif isinstance(node, ast.Name) and node.id in _REACHING:
                    names.add(node.id)
    return count, names


# -- the shelf ----------------------------------------------------------------------------------


def install(offer: Offer, shelf: Path, *, trust: bool, taken: frozenset[str]) -> None:
    """Put a pack in its place; an older version of it makes room.

    `taken` are the lessons that others have. Raises `NotInstalled` where two would be confused.
    """
    double = sorted(taken & set(offer.pack.lessons))
    if double:
        raise NotInstalled(
            f"{', '.join(double)} would be there twice. Progress is kept by these names, so the "
            "pack needs names of its own."
        )
    assert offer.pack.info is not None
    shelf.mkdir(parents=True, exist_ok=True)
    place = shelf / offer.id
    with tempfile.TemporaryDirectory(prefix=".new-", dir=shelf) as made:
        fresh = Path(made) / "pack"
        shutil.copytree(offer.folder, fresh)
        old = Path(made) / "old"
        if place.exists():
            place.rename(old)
        try:
            fresh.rename(place)
        except OSError:
            if old.exists():
                old.rename(place)
            raise
    known = dict(read_shelf(shelf).packs)
    info = offer.pack.info
    known[offer.id] = Shelved(
        title=info.title,
        version=info.version,
        source=offer.source,
        trusted=offer.digest if trust else "",
    )
    write_shelf(shelf, known)


def remove(pack_id: str, shelf: Path) -> None:
    """Take a pack away; what was learned in it stays in the progress. Raises `NotInstalled`."""
    known = dict(read_shelf(shelf).packs)
    if pack_id not in known:
        raise NotInstalled(missing(pack_id, known))
    shutil.rmtree(shelf / pack_id, ignore_errors=True)
    del known[pack_id]
    write_shelf(shelf, known)


def trust(pack_id: str, shelf: Path) -> None:
    """Trust a pack as it lies there now. Raises `NotInstalled`."""
    known = dict(read_shelf(shelf).packs)
    if pack_id not in known:
        raise NotInstalled(missing(pack_id, known))
    digest = digest_of(shelf / pack_id)
    known[pack_id] = known[pack_id].model_copy(update={"trusted": digest})
    write_shelf(shelf, known)


def state_of(pack_id: str, known: Shelved, shelf: Path) -> str:
    """Whether a pack is opened, and why not."""
    place = shelf / pack_id
    if not place.is_dir():
        return "gone: its folder is not there"
    if not known.trusted:
        return "not trusted yet"
    if digest_of(place) != known.trusted:
        return "changed since it was trusted"
    return "trusted"


def missing(pack_id: str, known: dict[str, Shelved]) -> str:
    """What to say of a pack that is not installed."""
    names = ", ".join(sorted(known)) or "none"
    return f"No pack {pack_id} is installed. Installed: {names}."
