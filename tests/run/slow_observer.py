"""The fake observer after an import that takes its time."""

import time

from tests.run import fake_observer
from tests.run.fake_observer import execute

__all__ = ["execute", "preload"]


def preload() -> None:
    fake_observer.preload()
    time.sleep(1.0)
