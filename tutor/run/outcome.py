"""How a run ended, told from what its warden saw and what its events say."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from tutor.run.limits import MIB, Limits
from tutor.run.protocol import TOO_MANY, TOO_MUCH
from tutor.trace import Trace
from tutor.trace.trace import Outcome

_HOW: dict[str, Outcome] = {"ok": "ok", "error": "error", "exited": "exited"}

_NO_MEMORY = ("MemoryError", "OutOfMemoryError")
_TORCH_NO_MEMORY = "DefaultCPUAllocator: "


@dataclass(frozen=True, slots=True)
class Gone:
    """What is known when the child is no more. `code` is negative for a signal.

    `warden` is False where the watching process died first, so that nothing else is known;
    `oom` says that the system ended processes for want of memory meanwhile.
    """

    code: int | None
    reason: bytes
    left: int
    warden: bool = True
    oom: bool = False


Verdict = tuple[Outcome, int | None, int | None, str]
"""Outcome, exit code, signal, message."""


def judge(trace: Trace, gone: Gone, limits: Limits) -> Verdict:
    """What a run that nobody stopped came to."""
    code = gone.code
    if not gone.warden:
        message = "The process that watched over it was killed, most likely by the program."
        return "killed", None, None, message
    if gone.reason == TOO_MANY:
        message = f"It had more than {limits.descendants} processes at one time."
        return "killed", None, int(signal.SIGKILL), message
    if gone.reason == TOO_MUCH:
        message = f"It and its processes used more than {limits.memory_bytes // MIB} MiB."
        return "out-of-memory", None, int(signal.SIGKILL), message
    if code is not None and code < 0:
        return _signalled(-code, gone.oom, limits)
    left = f"{gone.left} of its processes still ran and were ended." if gone.left else ""
    finished = trace.finished
    if finished is None:
        said = "It ended without a last event: by os._exit, or with its descriptors closed."
        return "exited", code, None, f"{said} {left}".strip()
    outcome = _HOW.get(finished.how, "garbled")
    if outcome == "error" and _lacked_memory(trace):
        outcome = "out-of-memory"
    return outcome, code, None, left


def stopped(verdict: Verdict, gone: Gone) -> Verdict:
    """What a run that we ended came to: the reason is ours, code and signal are its own."""
    outcome, _, _, message = verdict
    code = -signal.SIGKILL if gone.code is None else gone.code
    return (outcome, None, int(-code), message) if code < 0 else (outcome, code, None, message)


def _signalled(number: int, oom: bool, limits: Limits) -> Verdict:
    if number == signal.SIGXCPU:
        message = f"It used more than {limits.cpu_seconds} s of processor time."
        return "timeout", None, number, message
    if number == signal.SIGKILL and oom:
        return "out-of-memory", None, number, "The system ended it because memory ran out."
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return "killed", None, number, f"It was ended by {name}."


def _lacked_memory(trace: Trace) -> bool:
    """The exception that ended it says that memory was refused."""
    raised = trace.raised
    if raised is None:
        return False
    kind = raised.kind.rpartition(".")[2]
    return kind in _NO_MEMORY or (kind == "RuntimeError" and _TORCH_NO_MEMORY in raised.message)
