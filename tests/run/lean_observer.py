"""The room's own observer, after the import of torch alone: a new process is there sooner."""

import importlib

from tutor.observe.child import execute, hurry

__all__ = ["execute", "hurry", "preload"]


def preload() -> None:
    for name in ("torch", "tutor.observe.ending", "tutor.observe.capture", "tutor.observe.session"):
        importlib.import_module(name)
