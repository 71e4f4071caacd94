"""The observer in a person's own process: `with tutor.watch() as run:`, and `%%explain`."""

from tutor.attach.region import Run, watch

__all__ = ["Run", "watch"]
