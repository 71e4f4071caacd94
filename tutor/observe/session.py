"""One observed run: puts the stack, the mode and the hooks into library calls together."""

from __future__ import annotations

import contextlib
import inspect
import multiprocessing.process
import os
import sys
import types
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import torch
import torch.autograd.forward_ad
import torch.autograd.profiler
import torch.distributed
import torch.utils.checkpoint
import torch.utils.data.dataloader

from tutor.observe.aside import Engine, Region, regions, switches, take_out
from tutor.observe.census import Census
from tutor.observe.log import Log
from tutor.observe.mode import Watch
from tutor.observe.stack import Stack
from tutor.trace import events as ev
from tutor.trace.events import NONE
from tutor.trace.program import Program, snippet

T = TypeVar("T")
_workers = torch.utils.data.dataloader._MultiProcessingDataLoaderIter.__init__.__code__
_DisableTorchFunction = torch._C.DisableTorchFunction


class Session:
    """Watches this process from `start` to `stop`."""

    def __init__(
        self, program: Program, log: Log, namespace: dict[str, Any], folder: str | None = None
    ) -> None:
        files = {source.file: source.text for source in (*program.instead, *program.sources)}
        self._log = log
        self._told: set[tuple[object, ...]] = set()
        folders = _folders(program) if folder is None else (folder,)
        self.stack = Stack(log, files, folders, namespace)
        self.watch = Watch(log, self.stack)
        log.before = Census(log, self.watch.tensors, self.watch.graph).count
        self._uid_bound = self.watch.tensors.bound
        self.stack.bind_value = self._bound
        self.stack.on_touched = self._touched
        self.stack.on_module = self._label
        self.stack.on_thread = self._enter_thread
        self.stack.on_failure = self.watch.failed
        for source in program.instead:
            self.stack.announce(source.file, source.text, "module")
        for source in program.sources:
            self.stack.announce(source.file, source.text, source.role)
        self._hook_library()

    def start(self) -> None:
        """Begin to watch."""
        global _watching
        _watching = weakref.ref(self)
        self.watch.watch()
        self.stack.start()

    def stop(self) -> None:
        """End watching; what the process does from now on is not told."""
        global _watching
        _watching = None
        with contextlib.suppress(Exception):  # the program replaced what these call
            self.stack.stop()
        with contextlib.suppress(Exception):
            take_out(self.watch)  # the program may have left another mode on top of ours

    def aside(self, action: Callable[[], T]) -> T:
        """Do something of ours while the program waits, unseen."""
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            with torch._C.DisableTorchFunction():
                return action()
        finally:
            sys.settrace(tracer)

    def uid_of(self, tensor: Any) -> int:
        """The id of a living tensor in the trace, -1 if it was never seen."""
        return self.watch.tensors.known(tensor)

    def is_user(self, code: types.CodeType) -> bool:
        """Whether a frame with this code belongs to the user's files."""
        return self.stack.user_file(code) is not None

    # -- library calls that the mode does not see ------------------------------------------

    # Trace functions run while the mode is on: what they ask of tensors must pass it by.

    def _bound(self, tensor: torch.Tensor) -> int:
        if self.watch.blind:
            return NONE
        with _DisableTorchFunction():
            return self._uid_bound(tensor)

    def _touched(self, tensor: torch.Tensor) -> None:
        with torch._C.DisableTorchFunction():
            self.watch.tensors.touched(tensor)

    def _label(self, name: str, module: torch.nn.Module) -> None:
        with torch._C.DisableTorchFunction():
            self.watch.tensors.label(name, module)

    def _enter_thread(self) -> None:
        self.watch.watch()

    def _hook_library(self) -> None:
        stack = self.stack
        stack.on_return(torch.nn.Parameter.__new__.__code__, self._parameter)
        stack.on_return(torch.autograd.Function.apply.__func__.__code__, self._applied)  # type: ignore[attr-defined]

        stack.on_return(torch.nn.Module.load_state_dict.__code__, self._loaded)
        clip = inspect.unwrap(torch.nn.utils.clip_grad_norm_)
        stack.on_return(clip.__code__, self._clipped)
        stack.on_return(torch.autograd.graph._engine_run_backward.__code__, Engine(self.watch))
        for code, what in regions():
            stack.on_return(code, Region(self.watch, what, self.unseen))
        stack.on_return(multiprocessing.process.BaseProcess.start.__code__, self.process)
        group = inspect.unwrap(torch.distributed.init_process_group)
        stack.on_return(group.__code__, self._joined)
        self.watch.tensors.on_wrapped = self._wrapped
        stack.on_return(inspect.unwrap(torch.autograd.forward_ad.make_dual).__code__, self._dual)
        hooks = torch.autograd.graph.saved_tensors_hooks
        stack.on_return(hooks.__enter__.__code__, partial(self._packing, 1))
        stack.on_return(hooks.__exit__.__code__, partial(self._packing, -1))
        for code, name in switches():
            stack.on_return(code, partial(self._switched, name))
        profile = torch.autograd.profiler.profile
        stack.on_return(profile._start_trace.__code__, self._profiled)
        checkpoint = inspect.unwrap(torch.utils.checkpoint.checkpoint)
        stack.on_return(checkpoint.__code__, self._checkpointed)

    # -- what is not seen ------------------------------------------------------------------

    def unseen(self, what: str, frame: types.FrameType | None, detail: str = "") -> None:
        """Say that something runs out of our sight, once for each line of the user's."""
        while frame is not None and self.stack.user_file(frame.f_code) is None:
            frame = frame.f_back
        place = (what, frame and frame.f_code, frame and frame.f_lineno)
        if place not in self._told:
            self._told.add(place)
            if self.stack.threads:
                self._log.thread()
            self._log.add(ev.Unseen(what, detail))

    def process(self, frame: types.FrameType | None, result: Any = None) -> None:
        """Say that another process of the program begins, called for by this frame."""
        above = frame
        while above is not None and above.f_code is not _workers:
            above = above.f_back
        self.unseen("process" if above is None else "worker", frame)

    def _joined(self, frame: types.FrameType, result: Any) -> None:
        self.unseen("torch.distributed", frame, str(frame.f_locals.get("backend") or ""))

    def _wrapped(self) -> None:
        frame: types.FrameType | None = sys._getframe()
        outermost = None
        while frame is not None:  # one transform calls many lines: the first one says it
            if self.stack.user_file(frame.f_code) is not None:
                outermost = frame
            frame = frame.f_back
        self.unseen("torch.func", outermost)

    def _dual(self, frame: types.FrameType, result: Any) -> None:
        self.unseen("forward-mode", frame)

    def _packing(self, more: int, frame: types.FrameType, result: Any) -> None:
        self.watch.packing += more

    def _switched(self, name: str, frame: types.FrameType, result: Any) -> None:
        held = frame.f_locals.get("self")
        detail = str(getattr(held, "fast_dtype", "")) if "autocast" in name else ""
        self.watch.note(name, detail.removeprefix("torch."), frame)

    def _profiled(self, frame: types.FrameType, result: Any) -> None:
        # A profiler lists what we read among what the program computes: values are left out.
        self.watch.eager = self.watch.graph.eager = False
        self.watch.values.lean = True

    # -- library calls ---------------------------------------------------------------------

    def _loaded(self, frame: types.FrameType, result: Any) -> None:
        module = frame.f_locals.get("self")
        if isinstance(module, torch.nn.Module):
            held = [*module.parameters(), *module.buffers()]
            self._note("Module.load_state_dict", held, None, frame)

    def _clipped(self, frame: types.FrameType, result: Any) -> None:
        given = frame.f_locals.get("parameters")
        held = [p for p in given if isinstance(p, torch.Tensor)] if isinstance(given, list) else []
        self._note("utils.clip_grad_norm_", held, None, frame)

    def _checkpointed(self, frame: types.FrameType, result: Any) -> None:
        given = frame.f_locals
        reentrant = given.get("use_reentrant")
        detail = "reentrant" if reentrant in (True, None) else "non-reentrant"
        self._note("utils.checkpoint", given.get("args", ()), result, frame, detail)

    def _parameter(self, frame: types.FrameType, result: Any) -> None:
        if not isinstance(result, torch.Tensor):
            return
        source = frame.f_locals.get("data")
        args = [source] if isinstance(source, torch.Tensor) else []
        self._note("nn.Parameter", args, result, frame)

    def _applied(self, frame: types.FrameType, result: Any) -> None:
        if result is None:
            return
        given = frame.f_locals
        name = getattr(given.get("cls"), "__name__", "Function")
        self._note(f"Function.apply {name}", given.get("args", ()), result, frame)

    def _note(
        self, name: str, args: Any, result: Any, frame: types.FrameType, detail: str = ""
    ) -> None:
        try:
            with torch._C.DisableTorchFunction():
                self.watch.note_call(name, args, result, frame, detail)
        except Exception:
            self.watch.failed()


_watching: weakref.ref[Session] | None = None


def _forked() -> None:
    session = _watching() if _watching is not None else None
    if session is not None:
        try:
            session.process(sys._getframe())
        except Exception:
            session.watch.failed()


os.register_at_fork(after_in_parent=_forked)


def _folders(program: Program) -> tuple[str, ...]:
    """Where the user's files lie: beside the script, and around it, if it is run from there."""
    if program.profile != "script":
        return ()
    here = os.path.realpath(os.getcwd())
    if not program.sources or program.sources[-1].file.startswith("<"):
        return (here,)
    main = program.sources[-1].file
    beside = (os.path.dirname(os.path.abspath(main)), os.path.dirname(os.path.realpath(main)))
    within = here != os.sep and beside[1].startswith(here + os.sep)
    return (*dict.fromkeys(beside), *([here] if within else []))


def rehearse() -> None:
    """Observe a tiny program into nowhere, so that a real run finds everything warm.

    Touches no random state. The engine's sequence numbers move on, which nothing shows.
    """
    read, write = os.pipe()
    try:
        log = Log(write)
        namespace: dict[str, Any] = {"__name__": "__warm__"}
        program = snippet(
            "import torch\nx = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()\n"
        )
        session = Session(program, log, namespace)
        session.start()
        try:
            exec(compile(program.main, program.sources[-1].file, "exec"), namespace)
        finally:
            session.stop()
        log.flush()
    finally:
        os.close(read)
        os.close(write)
