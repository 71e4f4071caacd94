"""autograd-tutor: shows what PyTorch autograd really did, and teaches from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tutor.attach import watch as watch

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Late: only who watches a region of their own process needs torch and the observer here.
    if name == "watch":
        from tutor.attach import watch

        return watch
    raise AttributeError(f"module 'tutor' has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext tutor` gives IPython the cell magic `%%explain`."""
    from tutor.attach.magic import load

    load(shell)
