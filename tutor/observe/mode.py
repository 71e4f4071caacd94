"""The function mode: sees every call of a torch function, and what each did."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from tutor.observe.aside import past_ours
from tutor.observe.graph import NOTHING, Context, Graph
from tutor.observe.library import (
    Info,
    heard,
    info_of,
    known_infos,
    known_trampolines,
    original_of,
    trampoline,
)
from tutor.observe.log import Log
from tutor.observe.passes import Passes
from tutor.observe.plain import plain_calls
from tutor.observe.stack import Stack
from tutor.observe.tensors import Record, Tensors, is_tensor, version_of
from tutor.observe.values import Values
from tutor.trace import events as ev
from tutor.trace.events import NONE

_NO_KWARGS: dict[str, Any] = {}
_known = known_infos.get
_trampolines = known_trampolines.get
_gettrace, _settrace, _getframe = sys.gettrace, sys.settrace, sys._getframe
_grad_enabled = torch.is_grad_enabled
_inference_enabled = torch.is_inference_mode_enabled
_Tensor = torch.Tensor
_ONLY_TENSOR = (torch.Tensor,)  # what a method's own tensor counts as, though it is no subclass
_handle = torch.overrides.handle_torch_function.__code__


EAGER = 1000
"""Calls after which a run counts as long, and only what causes rest on is still sent whole."""


TALKATIVE = 800
"""Calls after which what libraries do with grad mode off is told only where it may matter."""


class Watch(TorchFunctionMode):
    """Emits an `Op` for each call, with the nodes, writes and tensors that came of it."""

    def __init__(self, log: Log, stack: Stack) -> None:
        super().__init__()
        self.log = log
        self.stack = stack
        self.values = Values()
        self.graph = Graph(log, self.values)
        self.tensors = Tensors(log, self.values, self.graph.note)
        self.graph.tensors = self.tensors
        self.passes = Passes(self)
        self.ops = 0
        self.nesting = 0
        self.packing = 0
        """How many hooks for saved tensors are on: any call may run code of the program then."""
        self.blind = 0
        """Not zero in a call that may be packing: its nodes are not finished, and not looked at."""
        self.failures = 0
        self.talkative = True
        self.eager = True
        self.modes = (True, False)
        self._plain = plain_calls(self)
        stack.handler = Watch.__torch_function__.__code__

    def watch(self) -> None:
        """Put the mode on in this thread."""
        self.__enter__()  # type: ignore[no-untyped-call]

    # -- the handler -----------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            info = _known(func)
        except TypeError:  # unhashable
            info = None
        if info is not None and (
            info.metadata
            or (info.special == "gradget" and not self.stack.is_user(_getframe(1).f_code))
        ):  # optimizers and modules look at these all the time
            return func(*args, **kwargs) if kwargs else func(*args)
        tracer = _gettrace()
        _settrace(None)  # our own Python calls need no events
        caller = _getframe(1)
        code = caller.f_code
        if code is _handle:
            while caller.f_code is _handle and caller.f_back is not None:
                caller = caller.f_back.f_back or caller.f_back
            code = caller.f_code
        way = _trampolines((id(code), caller.f_lasti))
        if way is not None and way[2] is code and way[1] is caller.f_globals:
            call = way[0]
        else:
            call = trampoline(caller)
        if kwargs is None:
            kwargs = _NO_KWARGS
        unheard = None
        foreign = types and types != _ONLY_TENSOR
        if foreign:  # what we ask of the program's own classes must not run their code
            unheard = torch._C.DisableTorchFunction()
            unheard.__enter__()
            call = heard(call)
        try:
            if info is None:
                info = info_of(func)
            if info.plain and not foreign and not self.packing:
                if self.talkative or _grad_enabled() or self.stack.is_user(code):
                    return self._plain(info, caller, call, func, args, kwargs)
                return self._quiet(info, caller, call, func, args, kwargs)
            if info.silent:
                return call(func, args, kwargs)
            if info.special:
                _settrace(past_ours(tracer))
                return self._special(info, caller, call, func, args, kwargs)
            return self.observed(info, caller, call, func, args, kwargs, tracer)
        finally:
            _settrace(tracer)
            if unheard is not None:
                unheard.__exit__(None, None, None)

    def observed(
        self,
        info: Info,
        caller: Any,
        call: Any,
        func: Any,
        args: Any,
        kwargs: Any,
        tracer: Any = None,
    ) -> Any:
        """Call a function, and tell what it did."""
        if info.python and caller.f_code is getattr(func, "__code__", None):
            func = original_of(func)
            info = info_of(func)
        quiet = not (self.talkative or info.python or _grad_enabled())
        if quiet and not self.stack.is_user(caller.f_code):
            return self._quiet(info, caller, call, func, args, kwargs)
        try:
            inputs, before = self._look(info, args, kwargs)
        except Exception:
            self.failed()
            inputs, before = [], {}
        if info.python or self.packing:
            sys.settrace(past_ours(tracer))
        packing = bool(self.packing)
        self.blind += packing
        try:
            result = call(func, args, kwargs)
        except BaseException as error:
            sys.settrace(None)
            self.raised(info, caller, args, kwargs, inputs, error)
            raise
        finally:
            self.blind -= packing
        sys.settrace(None)
        try:
            self.tell(info, caller, args, kwargs, inputs, before, result)
        except Exception:
            self.failed()
        return result

    def _quiet(self, info: Info, caller: Any, call: Any, func: Any, args: Any, kwargs: Any) -> Any:
        """Call a function for library code with grad mode off, in a run that has been long.

        An optimizer's temporaries and statistics can cause nothing: only a write into a tensor
        that requires grad, or whose counter some node has relied on, is told.
        """
        targets: list[tuple[torch.Tensor, Record, int]] = []
        if info.inplace and args and type(args[0]) is _Tensor:
            record = self.tensors.peek(args[0])
            if record is not None:
                targets.append((args[0], record, version_of(args[0])))
        elif info.writes or (kwargs and "out" in kwargs):
            for tensor in _tensors((*args, *kwargs.values())):
                record = self.tensors.peek(tensor)
                if record is not None:
                    targets.append((tensor, record, version_of(tensor)))
        try:
            result = call(func, args, kwargs)
        except BaseException as error:
            self.raised(info, caller, args, kwargs, [t for t, _, _ in targets], error)
            raise
        if not targets and not info.hidden:
            return result
        try:
            moved: list[tuple[torch.Tensor, Record, int]] = []
            for tensor, record, before in targets:
                version = version_of(tensor)
                if info.hidden or version == before:
                    continue
                if tensor.requires_grad or record.counter in self.graph.relied_on:
                    moved.append((tensor, record, before))
                else:
                    self.tensors.versions[record.counter] = version
            if moved or info.hidden:
                number = self.ops
                self.ops += 1
                uids = tuple([record.uid for _, record, _ in targets])
                self.log.add(ev.Op(number, info.name, uids, (), "", self.via(caller)))
                for tensor, record, before in moved:
                    if self.tensors.versions.get(record.counter) != version_of(tensor):
                        self.tensors.wrote(tensor, record, before, number)
                if info.hidden:
                    self._hidden_writes(info, args, kwargs, number)
        except Exception:
            self.failed()
        return result

    def failed(self) -> None:
        """Count a failure of ours that was kept from the program."""
        # Never into the program. Counted, so that a test can insist on none.
        self.failures += 1
        if _DEBUG:
            import traceback

            traceback.print_exc(file=sys.__stderr__)

    def next_op(self) -> int:
        """The number of the call that is told now."""
        number = self.ops
        self.ops = number + 1
        if number == TALKATIVE:
            self.talkative = False
        elif number == EAGER:
            self.eager = self.graph.eager = False
            self.values.lean = True
        return number

    # -- before ----------------------------------------------------------------------

    def _look(
        self, info: Info, args: Any, kwargs: Any
    ) -> tuple[list[torch.Tensor], dict[int, int]]:
        """The tensors among the arguments, and the versions of those that may be written."""
        if self.stack.threads:
            self.log.thread()
        self._check_modes()
        inputs: list[torch.Tensor] = []
        for value in args:
            if isinstance(value, _Tensor):
                inputs.append(value)
            elif type(value) in (list, tuple):
                _flatten(value, inputs)
        for value in kwargs.values():
            if isinstance(value, _Tensor):
                inputs.append(value)
            elif type(value) in (list, tuple):
                _flatten(value, inputs)
        before: dict[int, int] = {}
        records = self.tensors.record
        if info.writes or "out" in kwargs:
            for tensor in inputs:
                record = records(tensor)
                before[record.counter] = version_of(tensor)
        else:
            for tensor in inputs:
                records(tensor)
        return inputs, before

    def _check_modes(self) -> None:
        modes = (_grad_enabled(), _inference_enabled())
        if modes != self.modes:
            self.modes = modes
            self.log.add(ev.Mode(*modes))

    # -- after -----------------------------------------------------------------------

    def tell(
        self,
        info: Info,
        caller: Any,
        args: Any,
        kwargs: Any,
        inputs: list[torch.Tensor],
        before: dict[int, int],
        result: Any,
    ) -> None:
        tensors = self.tensors
        log = self.log
        if self.stack.threads:  # another one may have told something while this call ran
            log.thread()
        number = self.next_op()
        outs: list[torch.Tensor] = []
        if isinstance(result, _Tensor):
            outs.append(result)
        elif isinstance(result, (list, tuple)):
            _flatten(result, outs)
        written: list[tuple[torch.Tensor, Record, int]] = []
        seen: set[int] = set()
        for tensor in inputs if before else ():
            record = tensors.peek(tensor)
            if record is None or record.counter in seen:
                continue
            old = before.get(record.counter, NONE)
            if old != NONE and version_of(tensor) != old:
                seen.add(record.counter)
                written.append((tensor, record, old))
        position = len(log.events)
        context = Context(number, inputs, outs, before, info.inplace)
        self.graph.context = context
        fresh: list[int] = []
        source: Record | None = None
        if info.name in ("Tensor.detach", "torch.detach") and inputs:
            source = tensors.peek(inputs[0])
        elif info.name == "Tensor.view" and inputs and outs and not outs[0]._is_view():
            source = tensors.peek(inputs[0])  # as another dtype: the same counter, but no base
        same = {id(tensor) for tensor in inputs}
        ids: list[int] = []
        for tensor in outs:
            known = tensors.peek(tensor)
            if id(tensor) in same and known is not None:
                ids.append(known.uid)
                continue
            if source is not None and source.version == NONE:
                source = None
            record = tensors.born(tensor, source)
            if info.name == "Tensor.data":
                tensors.forget_when_dead(tensor, record)
            same.add(id(tensor))
            fresh.append(record.uid)
            ids.append(record.uid)
        for tensor, record, old in written:
            tensors.wrote(tensor, record, old, number)
        if info.hidden:
            self._hidden_writes(info, args, kwargs, number)
        if info.inplace or written:
            for tensor in inputs[:1]:
                known = tensors.peek(tensor)
                if known is not None:
                    tensors.tell(tensor, known)
        op = ev.Op(
            number,
            info.name,
            tuple(self._uid(tensor) for tensor in inputs),
            tuple(ids),
            self.detail(args, kwargs) if self.eager else "",
            self.via(caller),
            None,
            self.nesting > 0,
        )
        # The op comes before what it made: nodes, births and writes refer to it.
        log.events.insert(min(position, len(log.events)), op)
        self.graph.context = NOTHING
        if self.graph.deaths:
            self.graph.bury()

    def _hidden_writes(self, info: Info, args: Any, kwargs: Any, number: int) -> None:
        """Tell of what a call wrote without moving a counter: `before` equals `after`."""
        if info.hidden == "fused":
            targets = args[0] if args else kwargs.get("self", ())
        else:
            places = {"functional": (1, 2, 5), "torch": (3, 4, 5)}[info.hidden]
            names = ("running_mean", "running_var", "training")
            found = [
                kwargs.get(name, args[place] if place < len(args) else None)
                for name, place in zip(names, places, strict=True)
            ]
            targets = found[:2] if found[2] else ()
        for tensor in targets:
            if not isinstance(tensor, _Tensor):
                continue
            record = self.tensors.record(tensor)
            version = version_of(tensor)
            self.log.add(
                ev.Write(record.counter, record.uid, record.storage, version, version, number)
            )
            self.tensors.contents(tensor, record)

    def _uid(self, tensor: torch.Tensor) -> int:
        record = self.tensors.peek(tensor)
        return record.uid if record is not None else NONE

    def raised(
        self,
        info: Info,
        caller: Any,
        args: Any,
        kwargs: Any,
        inputs: list[torch.Tensor],
        error: BaseException,
    ) -> None:
        try:
            if self.stack.threads:
                self.log.thread()
            number = self.ops
            self.ops += 1
            self.log.add(
                ev.Op(
                    number,
                    info.name,
                    tuple(self._uid(tensor) for tensor in inputs),
                    (),
                    self.detail(args, kwargs),
                    self.via(caller),
                    (type(error).__name__, _message(error)),
                    self.nesting > 0,
                )
            )
        except Exception:
            self.failed()

    def via(self, caller: Any) -> int:
        """The path of library frames from the nearest user frame to a call of this frame."""
        stack = self.stack
        if stack.user_file(caller.f_code) is not None:
            return NONE
        return stack.via(caller)

    def detail(self, args: Any, kwargs: Any) -> str:
        parts: list[str] = []
        for value in args:
            if not isinstance(value, _Tensor):
                text = _plain(value)
                if text:
                    parts.append(text)
        for name, value in kwargs.items():
            if not isinstance(value, _Tensor):
                text = _plain(value)
                if text:
                    parts.append(f"{name}={text}")
        return ", ".join(parts)[:200]

    # -- functions with a meaning of their own -------------------------------------------

    def _special(
        self, info: Info, caller: Any, call: Any, func: Any, args: Any, kwargs: Any
    ) -> Any:
        special = info.special
        if special == "backward":
            return self.passes.run(info, caller, call, func, args, kwargs)
        result: Any
        if special == "gradget":
            result = call(func, args, kwargs)
            if not self.stack.is_user(caller.f_code):
                return result
            self._guard(self._grad_read, args[0], result)
            return result
        if special in ("gradset", "graddelete"):
            self._guard(self._look, info, args, kwargs)
            try:
                result = call(func, args, kwargs)
            except BaseException as error:
                self.raised(info, caller, args, kwargs, _tensors(args), error)
                raise
            value = args[1] if len(args) > 1 else None
            self._guard(self.tensors.set_grad, args[0], "none" if value is None else "set")
            return result
        if special == "record":
            name = next((a for a in args if isinstance(a, str)), "")
            if name.startswith("Optimizer."):
                self._guard(self._optimizer, name.split("#")[0], caller)
            return call(func, args, kwargs)
        if special == "mode" and not self.eager:
            result = call(func, args, kwargs)
            self._guard(self._check_modes)
            return result
        tracer = sys.gettrace()
        result = self.observed(info, caller, call, func, args, kwargs, tracer)
        if special == "retain":
            self._guard(self.tensors.retain, args[0])
        elif special in ("flag", "dataset"):
            self._guard(self._retell, args[0])
        elif special == "mode":
            self._guard(self._check_modes)
        return result

    def _guard(self, action: Any, *arguments: Any) -> None:
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            action(*arguments)
        except Exception:
            self.failed()
        finally:
            sys.settrace(tracer)

    def _retell(self, tensor: torch.Tensor) -> None:
        record = self.tensors.peek(tensor) or self.tensors.record(tensor)
        self.tensors.moved(tensor, record)
        self.tensors.tell(tensor, record)
        self.tensors.contents(tensor, record)

    def _grad_read(self, tensor: torch.Tensor, grad: Any) -> None:
        record = self.tensors.record(tensor)
        held = NONE
        if isinstance(grad, _Tensor):
            held = self.tensors.record(grad).uid
            if record.grad != held:
                self.tensors.set_grad(tensor, "set")
        self.log.add(ev.GradRead(record.uid, held))

    def note(self, name: str, detail: str, caller: Any, args: Iterable[torch.Tensor] = ()) -> None:
        """Tell of a call that is no torch function, with the tensors that it is about."""
        number = self.ops
        self.ops += 1
        uids = tuple([self.tensors.record(tensor).uid for tensor in args])
        self.log.add(
            ev.Op(number, name, uids, (), detail, self.via(caller), None, self.nesting > 0)
        )

    def _optimizer(self, name: str, caller: Any) -> None:
        """`Optimizer.step` or `.zero_grad`: with all parameters that the optimizer holds."""
        frame = caller
        for _ in range(5):
            owner = frame.f_locals.get("self")
            if isinstance(owner, torch.optim.Optimizer):
                held = [p for group in owner.param_groups for p in group["params"]]
                self.note(name, type(owner).__name__, caller, held)
                return
            if frame.f_back is None:
                break
            frame = frame.f_back
        self.note(name, "", caller)

    def note_call(self, name: str, args: Any, result: Any, frame: Any, detail: str = "") -> None:
        """Tell of a library call that the mode does not see (`Parameter`, `Function.apply`)."""
        self._check_modes()  # those inside it are over
        inputs: list[torch.Tensor] = []
        _flatten(list(args), inputs)
        for tensor in inputs:
            self.tensors.record(tensor)
        plain = (detail,) if detail else ()
        self.tell(Info(name), frame.f_back or frame, plain, {}, inputs, {}, result)


_DEBUG = False
_PRINTABLE = (int, float, bool, str, torch.dtype, torch.device, torch.memory_format)


def _plain(value: Any, depth: int = 0) -> str:
    if value is None or isinstance(value, _PRINTABLE):
        return repr(value)[:60]
    if isinstance(value, slice):
        return ":".join(
            "" if v is None else _plain(v)
            for v in (value.start, value.stop, value.step)[: 2 + (value.step is not None)]
        )
    if value is Ellipsis:
        return "..."
    if type(value) in (tuple, list) and depth < 2 and len(value) <= 8:
        parts = [_plain(v, depth + 1) for v in value]
        return f"({', '.join(p for p in parts if p)})" if any(parts) else ""
    return ""


def _flatten(values: Any, into: list[torch.Tensor], depth: int = 0) -> None:
    for value in values:
        if is_tensor(value):
            into.append(value)
        elif depth < 2:  # by the methods of the exact types: a subclass may have its own
            kind = type(value)
            if issubclass(kind, list):
                _flatten(list.__iter__(value), into, depth + 1)
            elif issubclass(kind, tuple):
                _flatten(tuple.__iter__(value), into, depth + 1)
            elif issubclass(kind, dict):
                _flatten(dict.values(value), into, depth + 1)


def _tensors(values: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    _flatten(values, found)
    return found


def _message(error: BaseException) -> str:
    try:
        return str(error)[:4000]
    except Exception:
        return "<the message could not be read>"
