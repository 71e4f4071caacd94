"""Backward passes: which nodes ran, with which gradients, what was freed, where it failed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from tutor.observe.aside import is_on
from tutor.observe.graph import NOTHING, Context
from tutor.observe.library import Info
from tutor.observe.tensors import grad_of, storage_of, version_of
from tutor.observe.values import differs
from tutor.trace import events as ev
from tutor.trace.events import NONE, Value

if TYPE_CHECKING:
    from tutor.observe.mode import Watch

_ACCUMULATE = "torch::autograd::AccumulateGrad"
_PYTHON_NODE = torch.autograd.function.BackwardCFunction


class _Pass:
    """One running backward pass."""

    __slots__ = ("before", "failing", "handles", "leaves", "nodes", "number", "order", "retain")

    def __init__(self, number: int, retain: bool) -> None:
        self.number = number
        self.retain = retain
        self.nodes: dict[int, Any] = {}
        self.order: list[int] = []
        self.leaves: dict[int, torch.Tensor] = {}
        self.before: dict[int, tuple[Value | None, int, int]] = {}
        self.handles: list[Any] = []
        self.failing = NONE


class Passes:
    """Runs `backward` and `autograd.grad` under observation."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._next = 0
        self._depth = threading.local()

    def run(self, info: Info, caller: Any, call: Any, func: Any, args: Any, kwargs: Any) -> Any:
        """Call `func`, one of the functions that start the engine, and tell the pass."""
        watch = self._watch
        current: _Pass | None = None
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            with torch._C.DisableTorchFunction():
                current = self._begin(info, caller, args, kwargs)
        except Exception:
            watch.failed()
        finally:
            sys.settrace(tracer)
        watch.nesting += 1
        try:
            result = call(func, args, kwargs)
        except BaseException as error:
            sys.settrace(None)
            watch.nesting -= 1
            self._finish(current, error, None)
            raise
        watch.nesting -= 1
        sys.settrace(None)
        self._finish(current, None, result)
        return result

    # -- before ----------------------------------------------------------------------

    def _begin(self, info: Info, caller: Any, args: Any, kwargs: Any) -> _Pass:
        watch = self._watch
        inputs, _ = watch._look(info, args, kwargs)
        kind, roots, seeds, retain, create, wanted = _arguments(info.name, args, kwargs)
        number = self._next
        self._next += 1
        current = _Pass(number, retain)
        watch.note("autograd.grad" if kind == "grad" else "Tensor.backward", "", caller)
        del inputs
        known = []
        functions = []
        for root in roots:
            record = watch.tensors.record(root)
            function = root.grad_fn
            if function is None and root.requires_grad and root.is_leaf:
                known.append((record.uid, NONE))
                continue
            known.append((record.uid, watch.graph.note(function) if function is not None else NONE))
            if function is not None:
                functions.append(function)
        watch.log.add(
            ev.BackwardStart(
                number,
                kind,
                tuple(known),
                tuple(watch.values.read(s) if isinstance(s, torch.Tensor) else None for s in seeds),
                retain,
                create,
                tuple(watch.tensors.record(t).uid for t in wanted) if wanted is not None else None,
                watch.nesting > 0,
            )
        )
        self._walk(current, functions)
        self._compare(current)
        return current

    def _walk(self, current: _Pass, functions: Iterable[Any]) -> None:
        """Give every reachable node a prehook that notes when the engine comes by."""
        graph = self._watch.graph
        tensors = self._watch.tensors
        values = self._watch.values
        pending = list(functions)
        nodes = current.nodes
        while pending:
            node = pending.pop()
            number = graph.id_of(node)
            if number == NONE:
                number = graph.note(node)
            if number in nodes:
                continue
            nodes[number] = node
            calls_user = isinstance(node, _PYTHON_NODE) or number in graph.packed
            current.handles.append(
                node.register_prehook(partial(self._visit, current, number, calls_user))
            )
            if node.name() == _ACCUMULATE:
                variable = node.variable
                record = tensors.record(variable)
                current.leaves[number] = variable
                grad = grad_of(variable)
                current.before[number] = (
                    (values.read(grad), id(grad), version_of(grad))
                    if grad is not None
                    else (None, 0, NONE)
                )
                del record
            pending.extend(child for child, _ in node.next_functions if child is not None)

    def _compare(self, current: _Pass) -> None:
        """Find saves whose memory changed though their counter did not."""
        graph = self._watch.graph
        for number, node in current.nodes.items():
            prints = graph.prints.get(number)
            if not prints:
                continue
            held = dict(graph.raw(node))
            for name, old, version in prints:
                holder = held.get(name)
                if holder is None or old is None:
                    continue
                data = holder.data
                if not isinstance(data, torch.Tensor) or version_of(data) != version:
                    continue
                if differs(old, self._watch.values.fingerprint(data)):
                    self._watch.log.add(ev.Altered(current.number, number, name, storage_of(data)))

    # -- while it runs ---------------------------------------------------------------

    def _visit(self, current: _Pass, number: int, python: bool, grads: Any) -> None:
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            watch = self._watch
            if watch.stack.threads:
                watch.log.thread()
            current.order.append(number)
            current.failing = number
            values = watch.values
            with torch._C.DisableTorchFunction():  # the mode is on while the engine runs
                arrived = tuple([None if g is None else values.read(g) for g in grads])
            watch.log.add(ev.Visit(current.number, number, arrived))
        except Exception:
            self._watch.failed()
        finally:
            sys.settrace(tracer)
        if python and not is_on(self._watch):  # no tracer was on to see the engine start
            # The engine restores the mode after each node: ops of a backward written in
            # Python, and recomputed ones, are seen without our leaving it.
            self._watch.watch()

    # -- after -----------------------------------------------------------------------

    def _finish(self, current: _Pass | None, error: BaseException | None, result: Any) -> None:
        try:
            if current is not None:
                with torch._C.DisableTorchFunction():
                    self._tell_end(current, error, result)
        except Exception:
            self._watch.failed()
        finally:
            if current is not None:
                for handle in current.handles:
                    handle.remove()
                current.handles.clear()
                current.nodes.clear()

    def _tell_end(self, current: _Pass, error: BaseException | None, result: Any) -> None:
        watch = self._watch
        log = watch.log
        graph = watch.graph
        watch._check_modes()
        reached = set(current.order)
        failing = current.failing if error is not None else NONE
        if error is not None:
            self._why(current)
        for number, variable in current.leaves.items():
            before, identity, version = current.before[number]
            grad = grad_of(variable)
            if grad is None:
                continue
            if number not in reached or (id(grad) == identity and version_of(grad) == version):
                continue
            record = watch.tensors.record(variable)
            if id(grad) == identity:
                held = watch.tensors.record(grad)
                watch.tensors.versions[held.counter] = version_of(grad)
            else:  # made by the engine: no call showed its birth, and its id may be a dead one's
                held = watch.tensors.born(grad)
            record.grad = held.uid
            watch.tensors.grads[held.uid] = record.uid
            after = watch.values.read(grad)
            log.add(ev.Accumulate(current.number, record.uid, held.uid, before, after))
            if after is not None:
                log.add(ev.Contents(held.uid, after))
        watch.tensors.check_retained()
        freed = tuple(
            n
            for n in current.order
            if n not in current.leaves and not current.retain and n != failing
        )
        if freed:
            log.add(ev.Freed(current.number, freed))
        results: tuple[int, ...] = ()
        if isinstance(result, (tuple, list)):
            graph.context = Context(watch.ops - 1)
            results = tuple(
                watch.tensors.born(item).uid if isinstance(item, torch.Tensor) else NONE
                for item in result
            )
            graph.context = NOTHING
        told = None
        if error is not None:
            from tutor.observe.mode import _message

            told = (type(error).__name__, _message(error))
        log.add(ev.BackwardEnd(current.number, error is None, failing, told, results))
        if graph.deaths:
            graph.bury()

    def _why(self, current: _Pass) -> None:
        """Which save of the node that ran last cannot be used, by the state, not the message."""
        node = current.nodes.get(current.failing)
        if node is None:
            return
        graph = self._watch.graph
        expected = {name: version for name, _, version in graph.prints.get(current.failing, ())}
        freed = ""
        for name, holder in graph.raw(node):
            data = holder.data
            if data is None:
                if name in expected:
                    freed = freed or name
                continue
            if isinstance(data, torch.Tensor) and name in expected:
                found = version_of(data)
                if found != expected[name]:
                    self._watch.log.add(
                        ev.Stale(current.number, current.failing, name, found, expected[name])
                    )
                    return
        if freed:
            self._watch.log.add(ev.Stale(current.number, current.failing, freed, NONE, NONE))


def _arguments(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[str, list[torch.Tensor], list[Any], bool, bool, list[torch.Tensor] | None]:
    """kind, roots, seeds, retain, create, inputs of a call that starts the engine."""
    keys: tuple[str, ...]
    if name == "autograd.grad":
        keys = ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph")
        kind, seed_key, root_key = "grad", "grad_outputs", "outputs"
    elif name == "Tensor.backward":
        keys = ("outputs", "gradient", "retain_graph", "create_graph", "inputs")
        kind, seed_key, root_key = "backward", "gradient", "outputs"
    else:
        keys = (
            "tensors",
            "grad_tensors",
            "retain_graph",
            "create_graph",
            "grad_variables",
            "inputs",
        )
        kind, seed_key, root_key = "backward", "grad_tensors", "tensors"
    given = {**dict(zip(keys, args, strict=False)), **kwargs}
    create = bool(given.get("create_graph") or False)
    retain = given.get("retain_graph")
    wanted = given.get("inputs")
    return (
        kind,
        _list(given.get(root_key)),
        list(_sequence(given.get(seed_key))),
        create if retain is None else bool(retain),
        create,
        None if wanted is None else _list(wanted),
    )


def _sequence(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, torch.Tensor):
        return [value]
    try:
        return list(value)
    except TypeError:
        return []


def _list(value: Any) -> list[torch.Tensor]:
    return [item for item in _sequence(value) if isinstance(item, torch.Tensor)]
