"""Programs in, traces out: the warm processes, their limits, and every way a run may end."""

from tutor.run.cancel import Cancel
from tutor.run.limits import Limits
from tutor.run.runner import Runner

__all__ = ["Cancel", "Limits", "Runner"]
