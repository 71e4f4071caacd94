"""Where the learner's data lie."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_data_path

VARIABLE = "AUTOGRAD_TUTOR_DATA"


def data_dir() -> Path:
    """The folder of the learner's data: what the environment says, else the system's place."""
    told = os.environ.get(VARIABLE)
    return Path(told).expanduser() if told else user_data_path("autograd-tutor", appauthor=False)


def progress_file() -> Path:
    """The file of the learner's progress."""
    return data_dir() / "progress.jsonl"
