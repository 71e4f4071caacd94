"""Runs one program under observation, in a process of its own.

`preload` is called once in a process that is forked later and must never compute: a parallel
kernel in the parent makes the child hang in its first (mechanics, section f). `execute` is
called once in each child.
"""

from __future__ import annotations

import builtins
import importlib
import linecache
import os
import random
import runpy
import sys
import time
import types
import warnings
from collections.abc import Callable
from importlib.machinery import BuiltinImporter, SourceFileLoader
from typing import TYPE_CHECKING, Any

from tutor.trace import events as ev
from tutor.trace.program import Program, Source

if TYPE_CHECKING:
    from tutor.observe.log import Log
    from tutor.observe.session import Session

PRELOADED = (
    "torch",
    "torch._dynamo",
    "torch._functorch.eager_transforms",
    "torch.utils.checkpoint",
    "torch._decomp.decompositions_for_jvp",
    "torch.autograd.gradcheck",
    "torch.optim",
    "torch.utils.data",
    "numpy",
    "tutor.observe.capture",
    "tutor.observe.ending",
    "tutor.observe.log",
    "tutor.observe.session",
    "tutor.observe.probes",
)
"""Modules that a first use would otherwise pay for in every child (design, fact 9)."""


def preload() -> None:
    """Import what programs need. Computes nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in PRELOADED:
            try:
                importlib.import_module(name)
            except ImportError:
                if name.startswith(("torch", "tutor")):
                    raise


def execute(program: Program, events_fd: int) -> int:
    """Run a program, write its events to the descriptor, and return its exit status."""
    # All that is needed after the program is imported before it: it may empty `sys.modules`.
    import torch

    from tutor.observe import ending
    from tutor.observe.capture import Capture
    from tutor.observe.log import Log
    from tutor.observe.session import Session

    clock = time.perf_counter
    began = clock()
    log = Log(events_fd)
    _logs.append(log)
    log.add(
        ev.Start(torch.__version__.split("+")[0], sys.version.split()[0], torch.get_num_threads())
    )
    namespace = _main_module(program)
    _settle(program)
    Capture(log).start()
    session = Session(program, log, namespace) if program.observed else None
    if session is not None and program.profile == "script":
        _watch_effects(log, session)
    how, code = "ok", 0
    known = len(sys.modules)
    start: Any = None
    error: BaseException | None = None
    try:
        if session is not None:
            session.start()
        if program.module is not None:
            _run_module(program.module, namespace)
        for source in program.sources:
            _run(source, namespace)
            if source.role == "setup":
                start = _snapshot(program, namespace, session)
    except SystemExit as stop:
        how, error = "exited", stop
    except BaseException as raised:
        how, code, error = "error", 1, raised
    if session is not None:
        session.stop()
    if isinstance(error, SystemExit):
        code = ending.exit_code(error)
    elif error is not None:
        code = ending.report(error, log, session)
    error = None
    _answer(program, namespace, start, session, log)
    ending.finish()
    log.add(ev.Finished(how, code, clock() - began))
    log.flush()
    log.closed = True  # What dies from here on is no part of the program's story.
    start = None
    files = session.stack.files if session is not None else ()
    ending.release(namespace, files, list(sys.modules)[known:], program.profile == "script")
    return code


_logs: list[Log] = []


def hurry() -> bool:
    """Send what waits, in a process that is about to be ended; called from a signal handler.

    False where that cannot be done now, in the middle of a frame.
    """
    if any(log.writing for log in _logs):
        return False
    for log in _logs:
        log.flush()
    return True


def warm() -> None:
    """Run one tiny observed program in a child that was forked ahead, to fault its pages in."""
    from tutor.observe.session import rehearse

    rehearse()


# -- the program as `python script.py` would see it ------------------------------------------


def _main_module(program: Program) -> dict[str, Any]:
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    namespace = module.__dict__
    namespace["__builtins__"] = builtins
    namespace["__annotations__"] = {}
    main = program.sources[-1].file if program.sources else program.module or "-m"
    sys.argv = [main if program.name is None else program.name, *program.argv]
    sys.path[0:1] = [_first_folder(program)]
    if program.sources:
        namespace["__file__"] = main
        namespace["__cached__"] = None
        if os.path.isfile(main):
            namespace["__loader__"] = SourceFileLoader("__main__", main)
        elif program.profile == "script":
            namespace["__loader__"] = BuiltinImporter
    if program.instead:
        _import_instead(program)
    for source in program.sources:
        lines = source.text.splitlines(keepends=True)
        if not os.path.exists(source.file):
            # Tracebacks and warnings quote the line; there is no file to read it from.
            linecache.cache[source.file] = (len(source.text), None, lines, source.file)
    return namespace


def _import_instead(program: Program) -> None:
    """Let imports of some files get another text than the one on disk."""
    texts = {os.path.abspath(source.file): source.text for source in program.instead}
    read, look = SourceFileLoader.get_data, SourceFileLoader.path_stats

    def get_data(self: SourceFileLoader, path: str) -> bytes:
        text = texts.get(os.path.abspath(path))
        return read(self, path) if text is None else text.encode()

    def path_stats(self: SourceFileLoader, path: str) -> Any:
        if os.path.abspath(path) in texts:
            raise OSError  # what was compiled before is of the file on disk
        return look(self, path)

    SourceFileLoader.get_data = get_data  # type: ignore[method-assign, assignment]
    SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign]
    for file, text in texts.items():
        lines = text.splitlines(keepends=True)
        linecache.cache[file] = (len(text), None, lines, file)


def _first_folder(program: Program) -> str:
    """`sys.path[0]`: where the script really lies; for one from standard input, wherever it is."""
    if program.profile == "snippet" or not program.sources:
        return os.getcwd()
    main = program.sources[-1].file
    return "" if main.startswith("<") else os.path.dirname(os.path.realpath(main))


def _watch_effects(log: Log, session: Session) -> None:
    import torch

    from tutor.observe.effects import Effects

    effects = Effects(log)
    effects.start()
    session.stack.on_return(
        torch.save.__code__, lambda frame, result: effects.wrote(frame.f_locals.get("f"))
    )


def _settle(program: Program) -> None:
    import torch

    if program.seed is not None:
        random.seed(program.seed)  # CPython seeds it anew in each forked child
    if program.profile == "snippet":
        torch.set_num_threads(1)
        for source in program.sources:
            # A process that the program spawns imports its main file again.
            if os.path.basename(source.file) == source.file and not os.path.exists(source.file):
                try:
                    with open(source.file, "x", encoding="utf-8") as stream:
                        stream.write(source.text)
                except OSError:
                    pass


def _run(source: Source, namespace: dict[str, Any]) -> None:
    namespace["__file__"] = source.file
    code = compile(source.text, source.file, "exec", dont_inherit=True)
    exec(code, namespace)


def _run_module(name: str, namespace: dict[str, Any]) -> None:
    """Run a module as `python -m` does: in `__main__` itself, which stays when it is over."""
    _, spec, code = runpy._get_module_details(name)  # type: ignore[attr-defined]
    sys.argv[0] = spec.origin
    namespace.update(
        __file__=spec.origin,
        __cached__=spec.cached,
        __doc__=None,
        __loader__=spec.loader,
        __package__=spec.parent,
        __spec__=spec,
    )
    exec(code, namespace)


def _snapshot(program: Program, namespace: dict[str, Any], session: Session | None) -> Any:
    if not program.probes and program.nudge is None:
        return None
    from tutor.observe import probes

    def take() -> Any:
        return probes.snapshot(namespace, program)

    return session.aside(take) if session is not None else take()


def _answer(
    program: Program, namespace: dict[str, Any], start: Any, session: Session | None, log: Log
) -> None:
    if program.probes:
        from tutor.observe import probes

        uid_of: Callable[[Any], int] = session.uid_of if session is not None else lambda tensor: -1
        for answer in probes.answer(program, namespace, start, uid_of):
            log.add(answer)
    log.flush()
