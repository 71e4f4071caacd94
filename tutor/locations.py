"""Where the files that come with the package lie, and the learner's."""

from __future__ import annotations

import os
from pathlib import Path

DATA_VARIABLE = "AUTOGRAD_TUTOR_DATA"
LANGUAGE_VARIABLE = "AUTOGRAD_TUTOR_LANG"


def lessons_dir() -> Path:
    """The folder of the lessons: inside an installed package, else that of the checkout.

    The folder need not exist: a broken installation is for the caller to report.
    """
    package = Path(__file__).resolve().parent
    installed = package / "lessons"
    return installed if installed.is_dir() else package.parent / "lessons"


def data_dir() -> Path:
    """The folder of the learner's data: what the environment says, else the system's place."""
    told = os.environ.get(DATA_VARIABLE)
    if told:
        return Path(told).expanduser()
    from platformdirs import user_data_path

    return user_data_path("autograd-tutor", appauthor=False)


def packs_dir() -> Path:
    """The folder of the packs that the learner installed; it need not exist."""
    return data_dir() / "packs"


def language() -> str:
    """The language that the learner asked for ("" for that of the lessons)."""
    return os.environ.get(LANGUAGE_VARIABLE, "").strip()
