"""What the learner did and wrote, on the disk as it happens."""

from tutor.progress.exchange import export, merge
from tutor.progress.history import Key, StepStatus
from tutor.progress.log import read
from tutor.progress.place import data_dir, progress_file
from tutor.progress.progress import Progress
from tutor.progress.records import Tried
from tutor.progress.table import table

__all__ = [
    "Key",
    "Progress",
    "StepStatus",
    "Tried",
    "data_dir",
    "export",
    "merge",
    "progress_file",
    "read",
    "table",
]
