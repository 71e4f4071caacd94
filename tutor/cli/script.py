"""What `explain` is asked to run: a file, a module, a folder, an archive, or standard input."""

from __future__ import annotations

import io
import os
import sys
import tokenize
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tutor.trace import Program

MOST_LINES = 100_000
"""A source with more lines than this is refused."""

MOST_BYTES = 8 * 1024 * 1024
"""And one with more bytes, of which no more are read: it may be a device without an end."""

STDIN = "<stdin>"


def module_program(name: str, args: tuple[str, ...], timeout: float | None) -> Program:
    """A module, as `python -m` runs it. Raises `click.UsageError` for what is no name of one."""
    from tutor.trace import Program

    if name.endswith(".py") and Path(name).is_file():
        raise click.UsageError(f"{name} is a file, not a module. Leave -m out.")
    if not all(part.isidentifier() for part in name.split(".")):
        raise click.UsageError(f"{name!r} is no name of a module. One looks like package.module.")
    folder = _surroundings(name, *args)
    return Program(
        (), profile="script", argv=args, module=name, cwd=folder, timeout=timeout, seed=None
    )


def file_program(file: str, args: tuple[str, ...], timeout: float | None) -> Program:
    """A script, as `python FILE` runs it. Raises `click.ClickException` with what to do."""
    from tutor.trace import Program, Source

    folder = _surroundings(file, *args)
    if file == "-":
        if sys.stdin.isatty():
            click.echo(
                "Type or paste the script, then press Ctrl-D on a line of its own.", err=True
            )
        path, text = STDIN, decoded(sys.stdin.buffer.read(MOST_BYTES + 1), "Standard input")
    else:
        path, text = _found(Path(file))
    return Program(
        (Source(path, text),),
        profile="script",
        argv=args,
        cwd=folder,
        timeout=timeout,
        seed=None,
        name=file,
    )


def _surroundings(*words: str) -> str:
    """The current folder, where it is there and all words are text. Raises `ClickException`."""
    try:
        folder = os.getcwd()
    except OSError:
        raise click.ClickException(
            "The folder that you are in is no longer there. Go to another one."
        ) from None
    for word in (folder, *words):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise click.ClickException(
                f"{word!a} is not UTF-8, as names and words must be here. Rename it."
            ) from None
    return folder


def read_script(path: Path) -> str:
    """The text of a script's file. Raises `click.ClickException` with what to do."""
    return decoded(_bytes(path), str(path))


def _found(path: Path) -> tuple[str, str]:
    """Absolute path and text of what runs: a file, or the `__main__.py` of a folder or archive."""
    whole = os.path.abspath(path)
    main = os.path.join(whole, "__main__.py")
    if path.is_dir():
        if not os.path.isfile(main):
            raise click.ClickException(
                f"{path} is a folder without a __main__.py. Name the script in it."
            )
        return main, decoded(_bytes(Path(main)), os.path.join(path, "__main__.py"))
    data = _bytes(path)
    if zipfile.is_zipfile(io.BytesIO(data)):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                data = archive.read("__main__.py")
        except (KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
            raise click.ClickException(f"{path} is an archive without a __main__.py.") from None
        return main, decoded(data, os.path.join(path, "__main__.py"))
    return whole, decoded(data, str(path))


def _bytes(path: Path) -> bytes:
    if path.is_dir():
        raise click.ClickException(f"{path} is a folder. Name the script in it.")
    try:
        with path.open("rb") as file:
            # An archive may be large; what is no regular file may have no end.
            return file.read() if path.is_file() else file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise click.ClickException(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise click.ClickException(f"{path} cannot be read: {why}.") from None


def decoded(data: bytes, name: str) -> str:
    """The text of a source, decoded as Python would. Raises `click.ClickException`."""
    if name.endswith(".ipynb"):
        bare = name.removesuffix(".ipynb")
        raise click.ClickException(
            f"{name} is a notebook. Make a script of it, and explain that:\n"
            f"  jupyter nbconvert --to script {name}\n"
            f"  autograd-tutor explain {bare}.py\n"
            "Take out of the script what only a notebook has: lines with get_ipython()."
        )
    if b"\0" in data:
        raise click.ClickException(f"{name} holds NUL bytes: it is no Python source.")
    if len(data) > MOST_BYTES:
        raise click.ClickException(
            f"{name} is larger than {MOST_BYTES // (1024 * 1024)} MiB, "
            "which is the most that can be explained."
        )
    rows = iter(data.splitlines(keepends=True))
    try:
        encoding, _ = tokenize.detect_encoding(lambda: next(rows, b""))
    except SyntaxError as error:
        problem = str(error).removeprefix("unknown encoding: ")
        if problem == str(error):
            raise _not_utf8(name) from None
        raise click.ClickException(
            f"{name} says that its encoding is {problem}, which Python does not know."
        ) from None
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        if encoding.startswith("utf-8"):
            raise _not_utf8(name) from None
        raise click.ClickException(
            f"{name} says that its encoding is {encoding}, and is not written in it."
        ) from None
    count = text.count("\n") + 1
    if count > MOST_LINES:
        raise click.ClickException(
            f"{name} has {count} lines; at most {MOST_LINES} can be explained."
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _not_utf8(name: str) -> click.ClickException:
    return click.ClickException(
        f"{name} is not UTF-8, and does not say what else it is. Save it as UTF-8."
    )
