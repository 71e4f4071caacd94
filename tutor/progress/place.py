"""Where the learner's progress lies."""

from __future__ import annotations

from pathlib import Path

from tutor.locations import DATA_VARIABLE as VARIABLE
from tutor.locations import data_dir

__all__ = ["VARIABLE", "data_dir", "progress_file"]


def progress_file() -> Path:
    """The file of the learner's progress."""
    return data_dir() / "progress.jsonl"
