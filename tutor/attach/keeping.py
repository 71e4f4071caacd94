"""Where the trace of a watched region is kept."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from tutor.trace import Trace


def save(trace: Trace, place: Path | None) -> Path:
    """Write a trace to a file: this one, or a new one in the folder for temporary files."""
    from tutor.trace import file

    if place is None:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        number, name = tempfile.mkstemp(f"-{stamp}.trace", "autograd-tutor-")
        os.close(number)
        place = Path(name)
    file.save(trace, place)
    return place
