"""Stepping aside: what torch takes apart itself (compiles, traces, exports) is not observed inside.

A compiler or tracer would take the observer's handler for a part of the program: dynamo would
try to compile it, the jit would record what it reads. So the function mode leaves the stack of
modes while such a function runs, no line is followed, and the trace says so (`Unseen`).
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from tutor.observe.library import trampoline_codes
from tutor.observe.tracebacks import OURS

if TYPE_CHECKING:
    from tutor.observe.mode import Watch

_count = torch._C._len_torch_function_stack
_pop: Callable[[], Any] = torch._C._pop_torch_function_stack
_push: Callable[[Any], None] = torch._C._push_on_torch_function_stack
LocalTrace = Callable[[types.FrameType, str, Any], Any]


class Region:
    """A library function that is not observed inside: `what` is its name for people."""

    def __init__(
        self, watch: Watch, what: str, told: Callable[[str, types.FrameType], None]
    ) -> None:
        self._watch = watch
        self._what = what
        self._told = told

    def enter(self, frame: types.FrameType) -> LocalTrace:
        """Step aside until this frame of the function ends; its local trace function."""
        self._told(self._what, frame)
        below = take_out(self._watch)
        tracer = sys.gettrace()
        sys.settrace(_nothing)

        def local(frame: types.FrameType, event: str, arg: Any) -> Any:
            frame.f_trace_lines = False
            if event == "return":
                sys.settrace(tracer)
                if below is not None:
                    _put_back(self._watch, below)
            return local

        return local


class Engine:
    """`_engine_run_backward`: what hooks and Python nodes call while the engine runs is observed.

    The handler of `backward` has taken the mode off; the engine hands on to each node the modes
    that are on when it starts.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def enter(self, frame: types.FrameType) -> LocalTrace | None:
        """Put the mode on until this frame of the function ends; its local trace function."""
        watch = self._watch
        if not watch.nesting or is_on(watch):
            return None
        _push(watch)

        def local(frame: types.FrameType, event: str, arg: Any) -> Any:
            frame.f_trace_lines = False
            if event == "return":
                take_out(watch)
            return local

        return local


def is_on(mode: Any) -> bool:
    """Whether a function mode is on in this thread."""
    return any(torch._C._get_function_stack_at(i) is mode for i in range(_count()))


def past_ours(tracer: Any) -> Any:
    """A tracer of the program's own, spared the frames through which we call for the program."""
    if tracer is None or getattr(tracer, "__func__", tracer).__module__.startswith("tutor."):
        return tracer

    def witness(frame: types.FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code in trampoline_codes or code.co_filename.startswith(OURS):
            return None
        return tracer(frame, event, arg)

    return witness


def _nothing(frame: types.FrameType, event: str, arg: Any) -> None:
    return None


def take_out(watch: Watch) -> int | None:
    """Take a mode out of this thread's stack of modes; how many lie below it, None if it is not on.

    By the stack itself: `__enter__` and `__exit__` of the program's modes must not run.
    """
    above: list[Any] = []
    found: int | None = None
    while _count():
        mode = _pop()
        if mode is watch:
            found = _count()
            break
        above.append(mode)
    for mode in reversed(above):
        _push(mode)
    return found


def _put_back(watch: Watch, below: int) -> None:
    above: list[Any] = []
    while _count() > below:
        above.append(_pop())
    _push(watch)
    for mode in reversed(above):
        _push(mode)


def regions() -> Iterator[tuple[types.CodeType, str]]:
    """(code, name for people) of torch's functions that compile, trace or export a program.

    Those of modules that nobody has imported are left out: importing them takes seconds.
    """
    for module, path, what in _REGIONS:
        loaded = sys.modules.get(module)
        found: Any = loaded
        for part in path.split("."):
            found = getattr(found, part, None)
        if found is None:
            continue
        yield inspect.unwrap(found).__code__, what
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    if dynamo is not None:
        made = dynamo._TorchDynamoContext.__call__.__code__.co_consts
        for code in made:
            if isinstance(code, types.CodeType) and code.co_name in ("compile_wrapper", "_fn"):
                yield code, "torch.compile"


_REGIONS = (
    ("torch.jit._trace", "trace", "torch.jit.trace"),
    ("torch.jit._trace", "trace_module", "torch.jit.trace"),
    ("torch.jit._trace", "_get_trace_graph", "torch.jit.trace"),
    ("torch.jit._script", "script", "torch.jit.script"),
    ("torch.export", "export", "torch.export"),
    ("torch.fx._symbolic_trace", "Tracer.trace", "torch.fx"),
    ("torch.fx.experimental.proxy_tensor", "_MakefxTracer.trace", "torch.fx"),
)


def switches() -> Iterator[tuple[types.CodeType, str]]:
    """(code, name for people) of what turns on a mode of torch that its functions do not show."""
    anomaly = torch.autograd.anomaly_mode
    yield inspect.unwrap(torch.amp.autocast_mode.autocast.__enter__).__code__, "autocast"
    yield inspect.unwrap(torch.amp.autocast_mode.autocast.__exit__).__code__, "autocast ends"
    yield anomaly.detect_anomaly.__enter__.__code__, "detect_anomaly"
    yield anomaly.detect_anomaly.__exit__.__code__, "detect_anomaly ends"
    yield anomaly.set_detect_anomaly.__init__.__code__, "set_detect_anomaly"
