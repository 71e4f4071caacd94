"""The user's stack, by `sys.settrace`: frames entered and left, lines, names, tracebacks.

Only user files get line events. A file is the user's if it was given with the program or lies
beside it and not in an installed package.
"""

from __future__ import annotations

import dis
import os
import sys
import sysconfig
import threading
import tokenize
import types
from collections.abc import Callable
from typing import Any

import torch

from tutor.observe.aside import Engine, Region
from tutor.observe.library import trampoline_codes
from tutor.observe.log import Log
from tutor.observe.names import Target, targets_by_line
from tutor.observe.tensors import is_tensor
from tutor.observe.tracebacks import OURS, cut, forget
from tutor.trace import events as ev
from tutor.trace.events import NONE

_Line, _Enter, _Leave, _Bind = ev.Line, ev.Enter, ev.Leave, ev.Bind
_Tensor, _Parameter = torch.Tensor, torch.nn.Parameter
_GENERATOR = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
_YIELDS = frozenset(
    dis.opmap[name] for name in ("YIELD_VALUE", "SEND", "YIELD_FROM") if name in dis.opmap
)
_PACKAGE = os.path.dirname(OURS) + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))
_LETHAL = frozenset(["_exit", "kill", "abort", "execv", "execve", "string_at", "raise_signal"])
"""Names whose use may end the process at once: what waits is sent before each such line."""

ITEMS = 8
"""Items of a list or dict that are named, one level down."""


Handler = Callable[[types.FrameType, Any], None] | Region | Engine


class FileInfo:
    """What is known of one user file: its names, and the lines that bind them."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.targets = targets_by_line(text)


class Frame:
    """One activation of a user function, and the local trace function for it.

    Holds no reference to the interpreter's frame, so that it keeps nothing alive.
    """

    __slots__ = (
        "bound",
        "generator",
        "id",
        "is_module",
        "items",
        "lethal",
        "pending",
        "stack",
        "suspended",
        "targets",
    )

    def __init__(self, stack: Stack, number: int, known: _Code, file: FileInfo) -> None:
        self.stack = stack
        self.id = number
        self.targets = file.targets
        self.is_module = known.is_module
        self.lethal = known.lethal
        self.generator = known.generator
        self.pending: tuple[Target, ...] | None = None
        self.bound: dict[str, int] = {}
        self.items: set[str] = set()
        """Names that mean a container, items of which have been named."""
        self.suspended = False

    def trace(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        """The local trace function. Anything of ours that fails must not reach the program."""
        stack = self.stack
        log = stack.log
        if stack.threads:
            log.thread()
        if event == "line":
            if self.pending is not None:
                try:
                    stack.bind(self.pending, self, frame)
                except Exception:  # it would reach the program and end the tracing
                    stack.on_failure()
            line = frame.f_lineno
            log.add(_Line(self.id, line))
            self.pending = self.targets.get(line)
            if self.lethal:
                log.flush()
            elif len(log.events) > 256:
                log.tick()
        elif event == "return":
            if self.pending is not None:
                stack.look(self, frame)
                self.pending = None
            if self.generator:
                self.suspended = frame.f_code.co_code[frame.f_lasti] in _YIELDS
            log.add(_Leave(self.id, not self.suspended))
            stack.pop(self)
        elif event == "exception":
            stack.cut(arg[1], arg[2])
        return self.trace


class Stack:
    """All user frames of the program, by thread."""

    def __init__(
        self, log: Log, files: dict[str, str], folders: tuple[str, ...], main: dict[str, Any]
    ) -> None:
        self.log = log
        self.files: dict[str, FileInfo] = {}
        self.threads = False
        self.handler: types.CodeType | None = None
        """The code of the function mode's handler, which is entered at every call of torch."""
        self.main = main
        self.bind_value: Callable[[Any], int] = lambda value: NONE
        self.on_touched: Callable[[Any], None] = lambda value: None
        self.on_module: Callable[[str, Any], None] = lambda name, value: None
        self._folders = tuple(folder.rstrip(os.sep) + os.sep for folder in folders)
        self._codes: dict[int, _Code] = {}
        self._returns: dict[types.CodeType, Handler] = {}
        self._local = threading.local()
        self._local.frames = []
        self._main_frames: list[Frame] = self._local.frames
        self._next = 1
        self._main_bound: dict[str, int] = {}
        self._main_items: set[str] = set()
        self._vias: dict[tuple[int, ...], int] = {}
        self._kept: list[types.CodeType] = []
        self.on_thread: Callable[[], None] = lambda: None
        self.on_failure: Callable[[], None] = lambda: None
        self.unwritten: Callable[[str], str | None] = lambda file: None
        """The text of a user source that is no file: a cell of a notebook."""
        for file, text in files.items():
            self._add_file(file, text)

    def _add_file(self, file: str, text: str) -> FileInfo:
        info = self.files[file] = FileInfo(file, text)
        return info

    def announce(self, file: str, text: str, role: str) -> None:
        """Send the text of a user file."""
        self.log.add(ev.Text(file, text, role))

    # -- reading ---------------------------------------------------------------------

    @property
    def frames(self) -> list[Frame]:
        """The user frames of this thread, outermost first."""
        try:
            frames: list[Frame] = self._local.frames
        except AttributeError:
            frames = self._local.frames = []
        return frames

    def user_file(self, code: types.CodeType) -> FileInfo | None:
        """The user file that this code belongs to, None for everybody else's."""
        return self.known(code).file

    def is_user(self, code: types.CodeType) -> bool:
        """Whether this code belongs to a user file."""
        known = self._codes.get(id(code))
        if known is None or known.code is not code:
            known = self.known(code)
        return known.file is not None

    def known(self, code: types.CodeType) -> _Code:
        """What is known of a code object."""
        known = self._codes.get(id(code))
        if known is not None and known.code is code:
            return known
        ours = code in trampoline_codes or code.co_filename.startswith(OURS)
        file = None if ours else self._classify(code.co_filename)
        # By identity from here on: hashing a code object walks all of it.
        known = self._codes[id(code)] = _Code(code, file, ours, self._returns.get(code))
        return known

    def _classify(self, file: str) -> FileInfo | None:
        known = self.files.get(file)
        if known is not None:
            return known
        unwritten = self.unwritten(file)
        if unwritten is not None:
            self.log.add(ev.Text(file, unwritten, "module"))
            return self._add_file(file, unwritten)
        if not self._folders or file.startswith("<"):
            return None
        path = os.path.abspath(file)
        if not path.startswith(self._folders) or "site-packages" in path:
            return None
        if path.startswith((_PACKAGE, _TORCH, *_LIBRARIES)):
            return None
        try:
            text = _source_text(path)
        except OSError:
            return None
        info = FileInfo(file, text)
        self.files[file] = info
        self.log.add(ev.Text(file, text, "module"))
        return info

    def look_up(self, file: str) -> None:
        """Tell the text of a user file of which nothing has run."""
        self._classify(file)

    def via(self, frame: types.FrameType | None) -> int:
        """The path of library frames from the nearest user frame to this one, interned."""
        path: list[int] = []
        codes = self._codes
        while frame is not None and len(path) < 40:
            code = frame.f_code
            known = codes.get(id(code))
            if known is None or known.code is not code:
                known = self.known(code)
            if known.file is not None:
                break
            if not known.ours:
                path.append(id(code))
            frame = frame.f_back
        if not path:
            return NONE
        key = tuple(path)
        number = self._vias.get(key)
        if number is None:
            number = self._vias[key] = len(self._vias)
            through = [codes[one].code for one in reversed(path)]
            self._kept.extend(through)  # ids stay those of these codes
            self.log.add(
                ev.Via(number, tuple((_tail(c.co_filename), c.co_qualname) for c in through))
            )
        return number

    # -- tracing ---------------------------------------------------------------------

    def start(self) -> None:
        """Watch this thread and those that start later."""
        threading.settrace(self.call)
        sys.settrace(self.call)

    def stop(self) -> None:
        """Stop watching."""
        sys.settrace(None)
        threading.settrace(None)

    def on_return(self, code: types.CodeType, handler: Handler) -> None:
        """Call `handler(frame, result)` when a library function with this code returns.

        A `Region` or the `Engine` is entered when the function is called, and left at its end.
        """
        self._returns[code] = handler

    def call(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        """The global trace function: called when any Python function is entered."""
        code = frame.f_code
        if code is self.handler:
            return None
        known = self._codes.get(id(code))
        if known is None or known.code is not code:
            known = self.known(code)
        info = known.file
        if info is None:
            handler = known.handler
            if handler is None:
                return None
            return (
                handler.enter(frame) if isinstance(handler, (Region, Engine)) else _Return(handler)
            )
        if known.generator:
            record = getattr(frame.f_trace, "__self__", None)
            if isinstance(record, Frame) and record.suspended:
                record.suspended = False
                self._push(record, known, NONE)
                return record.trace
        if known.is_module and frame.f_globals is self.main:
            record = Frame(self, 0, known, info)
            record.bound = self._main_bound  # setup and program share their names
            record.items = self._main_items
            self._push(record, known, NONE)
            return record.trace
        record = Frame(self, self._next, known, info)
        self._next += 1
        back = frame.f_back
        via = NONE
        if back is not None and not self.is_user(back.f_code):
            via = self.via(back)
        self._push(record, known, via)
        if known.arguments:
            try:
                self._bind_arguments(record, known.arguments, frame.f_locals)
            except Exception:
                self.on_failure()
        return record.trace

    def look(self, record: Frame, frame: types.FrameType) -> None:
        """Say what the last statement of a frame bound, if it was one that binds."""
        if record.pending is not None:
            self._guarded(self.bind, record.pending, record, frame)

    def cut(self, error: BaseException, traceback: types.TracebackType) -> None:
        """Take our frames out of a traceback that the program may print."""
        self._guarded(forget, error)
        self._guarded(cut, traceback)

    def _guarded(self, action: Callable[..., object], *arguments: object) -> None:
        # An exception in a trace function would reach the program and end the tracing.
        try:
            action(*arguments)
        except Exception:
            self.on_failure()

    def _push(self, record: Frame, known: _Code, via: int) -> None:
        if threading.get_ident() != self._first:
            if not self.threads:
                self.threads = True
            self.log.thread()
            if not hasattr(self._local, "seen"):
                self._local.seen = True
                self.on_thread()
        elif self.threads:
            self.log.thread()
        (self.frames if self.threads else self._main_frames).append(record)
        self.log.add(_Enter(record.id, known.name, known.filename, known.line, via))

    _first = threading.get_ident()

    def pop(self, record: Frame) -> None:
        """Forget a frame that returned, and any above it whose return was not seen."""
        frames = self.frames if self.threads else self._main_frames
        while frames:
            if frames.pop() is record:
                break

    def _bind_arguments(
        self, record: Frame, names: tuple[str, ...], values: dict[str, Any]
    ) -> None:
        for name in names:
            value = values.get(name, _MISSING)
            kind = type(value)
            if kind is _Tensor or kind is _Parameter:
                self._set(record, name, value)
            elif kind not in _PLAIN:
                self._bind_one(record, name, value, name == "self")

    def bind(self, pending: tuple[Target, ...], record: Frame, frame: types.FrameType) -> None:
        """Look at what the last statement of a frame bound, and say what changed."""
        values = frame.f_globals if record.is_module else frame.f_locals
        for target in pending:
            if target.kept:
                self._touched(record, values.get(target.name))
            value = values.get(target.name, _MISSING)
            if target.attr is None:
                kind = type(value)
                name = target.name
                if kind is _Tensor or kind is _Parameter:
                    if name in record.items:
                        self._drop_items(record, name)
                    uid = self.bind_value(value)
                    if record.bound.get(name) != uid and uid != NONE:
                        record.bound[name] = uid
                        self.log.add(_Bind(record.id, name, uid))
                    continue
                if kind is int:  # a loop's counter
                    if name in record.bound or name in record.items:
                        self._unbind(record, name)
                    continue
                if value is _MISSING and not record.is_module:
                    value = frame.f_globals.get(target.name, _MISSING)
                self._bind_one(record, target.name, value, False)
            elif value is not _MISSING:
                try:
                    own = object.__getattribute__(value, "__dict__")
                except AttributeError:
                    continue
                inner = own.get(target.attr, _MISSING)
                if inner is _MISSING and issubclass(type(value), torch.nn.Module):
                    for held in ("_parameters", "_buffers"):  # absent before super().__init__()
                        inner = own.get(held, {}).get(target.attr, inner)
                self._bind_one(record, target.text, inner, False)

    def _touched(self, record: Frame, value: Any) -> None:
        """Look whether a method that a statement called gave a tensor other memory (`set_`)."""
        if is_tensor(value):
            self.on_touched(value)

    def _bind_one(self, record: Frame, name: str, value: Any, shallow: bool) -> None:
        kind = type(value)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            if name in record.items:
                self._drop_items(record, name)
            self._set(record, name, value)
        elif kind in _PLAIN:
            self._unbind(record, name)
        elif kind is list or kind is tuple:
            self._unbind(record, name)
            for index, item in enumerate(value[:ITEMS]):
                if is_tensor(item):
                    record.items.add(name)
                    self._set(record, f"{name}[{index}]", item)
        elif kind is dict:
            self._unbind(record, name)
            for index, (key, item) in enumerate(value.items()):
                if index >= ITEMS:
                    break
                if is_tensor(item) and type(key) in (str, int):
                    record.items.add(name)
                    self._set(record, f"{name}[{key!r}]", item)
        elif is_tensor(value):
            self._unbind(record, name)
            self._set(record, name, value)
        else:
            self._unbind(record, name)
            if issubclass(kind, torch.nn.Module) and not shallow:
                self.on_module(name, value)

    def _set(self, record: Frame, name: str, tensor: Any) -> None:
        uid = self.bind_value(tensor)
        if uid != NONE and record.bound.get(name) != uid:
            record.bound[name] = uid
            self.log.add(ev.Bind(record.id, name, uid))

    def _unbind(self, record: Frame, name: str) -> None:
        if name in record.bound:
            del record.bound[name]
            self.log.add(ev.Bind(record.id, name, NONE))
        if name in record.items:
            self._drop_items(record, name)

    def _drop_items(self, record: Frame, name: str) -> None:
        """Forget the items of a container that a name no longer means."""
        record.items.discard(name)
        bound = record.bound
        stem = name + "["
        for other in [n for n in bound if n.startswith(stem)]:
            del bound[other]
            self.log.add(ev.Bind(record.id, other, NONE))


class _Code:
    """What is known of one code object: whose it is, and what is to be done at its return."""

    __slots__ = (
        "arguments",
        "code",
        "file",
        "filename",
        "generator",
        "handler",
        "is_module",
        "lethal",
        "line",
        "name",
        "ours",
    )

    def __init__(
        self,
        code: types.CodeType,
        file: FileInfo | None,
        ours: bool,
        handler: Handler | None,
    ) -> None:
        self.code = code
        self.file = file
        self.ours = ours
        self.handler = handler
        self.name = code.co_qualname.replace("<locals>.", "")
        self.filename = code.co_filename
        self.line = code.co_firstlineno
        self.is_module = code.co_name == "<module>"
        self.generator = bool(code.co_flags & _GENERATOR)
        self.lethal = not _LETHAL.isdisjoint(code.co_names)
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
        self.arguments = code.co_varnames[:count]


class _Return:
    """A local trace function that only reports the return of one library frame."""

    __slots__ = ("handler",)

    def __init__(self, handler: Callable[[types.FrameType, Any], None]) -> None:
        self.handler = handler

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        frame.f_trace_lines = False
        if event == "return":
            self.handler(frame, arg)
        return self


def _paths(*names: str) -> tuple[str, ...]:
    found = sysconfig.get_paths()
    return tuple(os.path.abspath(found[name]) for name in names if name in found)


def _source_text(path: str) -> str:
    """A file as Python reads it, or as well as it can be read. Raises OSError."""
    try:
        with tokenize.open(path) as stream:
            return stream.read()
    except (SyntaxError, UnicodeDecodeError):
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()


_LIBRARIES = _paths("stdlib", "platstdlib", "purelib", "platlib")
_MISSING = object()
_PLAIN = (int, float, str, bool, type(None), bytes, complex, type(_MISSING))


def _tail(file: str) -> str:
    """`torch/optim/sgd.py` for a file in torch, else the last two parts of the path."""
    if file.startswith(_TORCH):
        return "torch" + file[len(_TORCH) :].replace(os.sep, "/")
    return "/".join(file.replace(os.sep, "/").split("/")[-2:])
