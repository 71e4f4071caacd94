"""What is sent to the process that runs a learner's code: the sources and the questions.

Everything here is plain data. It crosses a process boundary as msgpack, is decoded by its
type on the other side, and never carries code objects or pickles.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Role = Literal["setup", "main"]


class Source(msgspec.Struct, frozen=True):
    """One piece of user code, run in `__main__` in the order given.

    `file` is the name that tracebacks and places show: an absolute path for a script,
    `"snippet.py"` or `"setup.py"` for a lesson. Line numbers of each source begin at 1.
    """

    file: str
    text: str
    role: Role = "main"


class Probe(msgspec.Struct, frozen=True):
    """A question that the learner's process answers after the program has ended.

    `kind` selects the question (see `tutor.observe.probes`), `args` are its arguments.
    Answered also after an exception, as far as the program came.
    """

    id: str
    kind: str
    args: dict[str, object] = {}


class Nudge(msgspec.Struct, frozen=True):
    """Move a leaf, right after the setup ran, by `step` along a seeded unit direction."""

    name: str
    seed: int
    step: float


class Program(msgspec.Struct, frozen=True):
    """A run that can be repeated: what to execute, how, and what to ask afterwards.

    `profile` is "snippet" (scratch folder, limits, one thread, seeded `random`) or "script"
    (the caller's folder, environment and input, no limits but `timeout`). `argv` follows
    `sys.argv[0]`, which is `name`, or the file where that is None; `module` runs a module by
    name as `python -m` does (then `sources` is empty).
    `instead` are texts that imports get in place of what is on disk, by absolute path.
    `timeout` is in seconds, None for none. `observed=False` runs the program bare, for
    measurements and for comparing with an observed run.
    """

    sources: tuple[Source, ...]
    profile: Literal["snippet", "script"] = "snippet"
    argv: tuple[str, ...] = ()
    module: str | None = None
    cwd: str | None = None
    timeout: float | None = 10.0
    seed: int | None = 0
    probes: tuple[Probe, ...] = ()
    nudge: Nudge | None = None
    observed: bool = True
    instead: tuple[Source, ...] = ()
    name: str | None = None

    @property
    def main(self) -> str:
        """The text of the last source: what the learner wrote (empty for a module)."""
        return self.sources[-1].text if self.sources else ""


def snippet(code: str, *, setup: str = "", file: str = "snippet.py", **options: object) -> Program:
    """A lesson's or playground's program: optional setup, then the learner's code."""
    sources = [Source("setup.py", setup, "setup")] if setup.strip() else []
    sources.append(Source(file, code))
    return Program(tuple(sources), **options)  # type: ignore[arg-type]
