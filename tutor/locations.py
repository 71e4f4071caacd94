"""Where the files that come with the package lie."""

from __future__ import annotations

from pathlib import Path


def lessons_dir() -> Path:
    """The folder of the lessons: inside an installed package, else that of the checkout.

    The folder need not exist: a broken installation is for the caller to report.
    """
    package = Path(__file__).resolve().parent
    installed = package / "lessons"
    return installed if installed.is_dir() else package.parent / "lessons"
