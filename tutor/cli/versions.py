"""Which versions are installed, read without importing what they belong to."""

from __future__ import annotations

import platform
import re
from importlib import metadata


def python_version() -> str:
    """The version of the interpreter that runs us."""
    return platform.python_version()


def torch_version() -> str | None:
    """The version of torch that a run would import, None where there is none."""
    return installed("torch")


def installed(distribution: str) -> str | None:
    """The version of an installed distribution."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def required(distribution: str) -> str:
    """What our own package asks of a distribution, like `==8.2.8`; empty where it is not known."""
    try:
        lines = metadata.requires("autograd-tutor") or []
    except metadata.PackageNotFoundError:
        return ""
    for line in lines:
        name = re.match(r"[A-Za-z0-9._-]+", line)
        if name and name[0].lower() == distribution and "extra ==" not in line:
            return line[len(name[0]) :].strip()
    return ""


def at_least(version: str, wanted: tuple[int, ...]) -> bool:
    """Whether a version like `2.13.0+cpu` is not older than these numbers."""
    numbers: list[int] = []
    for part in version.split("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers[: len(wanted)]) >= wanted
