"""Bringing the observer into a process that waits for its program."""

from __future__ import annotations

import importlib
import weakref
from types import ModuleType


def load_observer(name: str) -> ModuleType:
    """The observer, with all that its programs will need imported. Nothing computes."""
    observer = importlib.import_module(name)
    observer.preload()
    _keep_at_exit()
    return observer


def _keep_at_exit() -> None:
    """Do not undo the imports when a program ends.

    torch registers a finalizer for each of its operator libraries; running them takes 40 ms
    at the end of each run, for a process that is about to vanish. Those of the program itself
    are registered later and do run.
    """
    registry = getattr(weakref.finalize, "_registry", {})
    for finalizer in tuple(registry):
        finalizer.atexit = False
