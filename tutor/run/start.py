"""Starting a Python that finds this package, and nothing in the current folder by accident."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

_ROOT = str(Path(__file__).resolve().parents[2])

_PREPARE = """\
import sys
sys.path[:] = [entry for entry in sys.path if entry]
root = {root!r}
if root not in sys.path:
    sys.path.append(root)
{code}
"""


def start_python(
    code: str, descriptors: Sequence[int], stderr: IO[bytes] | None = None
) -> subprocess.Popen[bytes]:
    """Start `code` in a session of its own, with these descriptors and no standard streams.

    The empty entry that `-c` puts on the path goes before anything is imported: a learner's
    folder may well hold a `random.py`.
    """
    return subprocess.Popen(
        [sys.executable, "-c", _PREPARE.format(root=_ROOT, code=code)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        pass_fds=descriptors,
        start_new_session=True,
    )
