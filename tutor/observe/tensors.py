"""The tensors of a run: an id for each object, its version counter, what changed about it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from tutor.observe.library import TENSOR_TYPES
from tutor.observe.log import Log
from tutor.observe.values import Values, dtype_name
from tutor.trace import events as ev
from tutor.trace.events import NONE, Value

_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_Tensor = torch.Tensor
_own_dispatch: dict[type, bool] = {}


class Record:
    """What was last said of one tensor object."""

    __slots__ = (
        "base",
        "counter",
        "grad",
        "label",
        "leaf",
        "meta",
        "node",
        "plain",
        "pointer",
        "storage",
        "uid",
        "value",
        "version",
    )

    def __init__(
        self,
        uid: int,
        counter: int = NONE,
        version: int = NONE,
        pointer: int = NONE,
        storage: int = NONE,
    ) -> None:
        self.uid = uid
        self.counter = counter
        self.version = version
        self.node = NONE
        self.pointer = pointer
        self.storage = storage
        self.base = NONE
        self.grad = NONE
        self.leaf = False
        self.label = ""
        self.meta: tuple[Any, ...] = ()
        self.plain: object = None
        """The elements when it was made, where they were read whole; `value` tells of them."""
        self.value: Value | None = None


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor by its type, whatever it says of itself (`Mock(spec=Tensor)`).

    `isinstance` asks the value for its `__class__`, which may be code of the program, and may lie.
    """
    return issubclass(type(value), _Tensor)


def is_opaque(tensor: torch.Tensor) -> bool:
    """Whether a tensor's class takes over what reads its memory (fake tensors, wrappers)."""
    kind = type(tensor)
    known = _own_dispatch.get(kind)
    if known is None:
        default = torch._C._disabled_torch_dispatch_impl
        known = _own_dispatch[kind] = kind.__torch_dispatch__ is not default
    return known


def version_of(tensor: torch.Tensor) -> int:
    """The version, NONE for an inference tensor (it has none) or an unreadable one."""
    try:
        return tensor._version
    except Exception:
        return NONE


def pointer_of(tensor: torch.Tensor) -> int:
    """The address of the first element, NONE for a tensor without memory of its own."""
    try:
        if is_opaque(tensor):
            return NONE
        return tensor.data_ptr()
    except Exception:
        return NONE


def storage_of(tensor: torch.Tensor) -> int:
    """The address of the memory that a tensor lies in: a key while its owner lives."""
    try:
        if _is_wrapped(tensor) or is_opaque(tensor):
            return NONE
        return int(tensor.untyped_storage()._cdata)
    except Exception:
        return NONE


def shape_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """The shape; empty where it cannot be read (nested tensors)."""
    try:
        return tuple(tensor.shape)
    except Exception:
        return ()


def base_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The tensor that this one is a view of."""
    try:
        return tensor._base if tensor._is_view() else None
    except Exception:
        return None


class Tensors:
    """The registry of living tensors, by object.

    Ids of dead objects are used again by the interpreter. A new result overwrites its
    predecessor's record; a tensor that no call showed being made is told from its predecessor
    by a version or an address that does not fit.
    """

    def __init__(self, log: Log, values: Values, node_of: Callable[[Any], int]) -> None:
        self._log = log
        self._values = values
        self._node_of = node_of
        self.records: dict[int, Record] = {}
        """id of a tensor object -> what was last said of it."""
        self.versions: dict[int, int] = {}
        self.grads: dict[int, int] = {}
        """uid of a tensor that is somebody's `.grad` -> that somebody's uid."""
        self.labels: dict[int, str] = {}
        """id of a parameter -> its name inside its module."""
        self.on_wrapped: Callable[[], None] = lambda: None
        """Called where a value cannot be read because a transform of torch.func wraps it."""
        self.retained: list[weakref.ref[torch.Tensor]] = []
        self._aliases: dict[int, weakref.ref[torch.Tensor]] = {}
        self.next = 0
        """The uid of the tensor that is seen next."""

    # -- identity --------------------------------------------------------------------

    def record(self, tensor: torch.Tensor) -> Record:
        """The record of a tensor, made (and told) if it was not known."""
        known = self.records.get(id(tensor))
        if known is not None:
            version = version_of(tensor)
            last = self.versions.get(known.counter, NONE)
            # A leaf may have been made by what no call shows (`from_numpy`) at a dead one's id.
            if version == last and (known.node != NONE or pointer_of(tensor) == known.pointer):
                return known
            if version > last and last != NONE and pointer_of(tensor) == known.pointer:
                # A write that no call showed: `set_`, a C++ function, a hidden helper.
                self.wrote(tensor, known, last, NONE)
                return known
        return self.born(tensor)

    def bound(self, tensor: torch.Tensor) -> int:
        """The uid of a tensor that a name was found to mean."""
        known = self.records.get(id(tensor))
        if known is not None:
            if pointer_of(tensor) == known.pointer:
                if version_of(tensor) == self.versions.get(known.counter, NONE):
                    return known.uid
            elif known.meta[:2] != (shape_of(tensor), dtype_name(tensor.dtype)):
                return self.born(tensor).uid
        return self.record(tensor).uid

    def touched(self, tensor: torch.Tensor) -> None:
        """Look at a tensor that is the object it was: it may have other memory (`set_`)."""
        known = self.records.get(id(tensor))
        if known is None or pointer_of(tensor) == known.pointer:
            return
        last = self.versions.get(known.counter, NONE)
        if version_of(tensor) != last:
            self.wrote(tensor, known, last, NONE)
        else:
            self.moved(tensor, known)
            self.tell(tensor, known)
            self.contents(tensor, known)

    def known(self, tensor: Any) -> int:
        """The uid of a tensor that has been seen, else NONE."""
        record = self.records.get(id(tensor))
        return record.uid if record is not None else NONE

    def peek(self, tensor: Any) -> Record | None:
        """The record of a tensor, without looking at the tensor."""
        return self.records.get(id(tensor))

    def born(self, tensor: torch.Tensor, source: Record | None = None) -> Record:
        """Tell of a new tensor. `source` is the one whose counter it shares by `detach`."""
        if type(tensor) in TENSOR_TYPES:
            return self._born(tensor, source)
        with torch._C.DisableTorchFunction():  # else the class's own code would be asked
            return self._born(tensor, source)

    def _born(self, tensor: torch.Tensor, source: Record | None) -> Record:
        record = Record(self.next)
        self.next += 1
        record.label = self.labels.get(id(tensor), "")
        base = base_of(tensor)
        record.pointer = pointer_of(tensor)
        record.storage = storage_of(tensor)
        record.version = version_of(tensor)
        if base is not None:
            parent = self.records.get(id(base)) or self.born(base)
            record.base = parent.uid
            record.counter = parent.counter
        elif source is not None:
            record.counter = source.counter
        else:
            record.counter = record.uid
        self.records[id(tensor)] = record
        if source is not None:
            self.forget_when_dead(tensor, record)
        if record.version != NONE:
            self.versions.setdefault(record.counter, record.version)
            if record.counter == record.uid:
                self.versions[record.counter] = record.version
        self.tell(tensor, record)
        self.contents(tensor, record)
        return record

    def forget_when_dead(self, tensor: torch.Tensor, record: Record) -> None:
        """Drop the record of an alias (`detach`, `.data`) with its object."""
        # An alias that dies leaves memory that others still have: what is made there next,
        # unseen (`from_numpy`), may have its id, its address and its version. Aliases alone:
        # `swap_tensors` refuses a tensor that has weak references.
        key, records = id(tensor), self.records

        def dead(_: object) -> None:
            if records.get(key) is record:
                del records[key]
            self._aliases.pop(key, None)

        self._aliases[key] = weakref.ref(tensor, dead)

    # -- telling ---------------------------------------------------------------------

    def tell(self, tensor: torch.Tensor, record: Record) -> None:
        """Say what torch says of a tensor now, unless it was said."""
        node, out, leaf, requires = NONE, 0, True, False
        try:
            requires = tensor.requires_grad
            function = tensor.grad_fn
            if function is not None:
                node = self._node_of(function)
                out = tensor.output_nr
                leaf = False
        except Exception:  # a stale view made under no_grad refuses
            leaf = False
        record.node = node
        record.leaf = leaf
        meta = (
            shape_of(tensor),
            dtype_name(tensor.dtype),
            "cpu" if tensor.is_cpu else str(tensor.device),
            requires,
            leaf,
            node,
            out,
            record.counter,
            version_of(tensor),
            record.storage,
            record.base,
            type(tensor).__name__,
            record.label,
        )
        if meta != record.meta:
            record.meta = meta
            self._log.add(ev.Tensor(record.uid, *meta))

    def contents(self, tensor: torch.Tensor, record: Record) -> None:
        """Say what a tensor holds now."""
        if _is_wrapped(tensor):
            self.on_wrapped()
            return
        if is_opaque(tensor):
            return
        value = self._values.read(tensor)
        if value is not None:
            self._log.add(ev.Contents(record.uid, value))

    def wrote(self, tensor: torch.Tensor, record: Record, before: int, op: int) -> None:
        """Say that a tensor's counter moved from `before` to what it is now."""
        after = version_of(tensor)
        self.versions[record.counter] = after
        pointer = pointer_of(tensor)
        if pointer != record.pointer:
            record.pointer = pointer
            record.storage = storage_of(tensor)
        self._log.add(ev.Write(record.counter, record.uid, record.storage, before, after, op))
        self.tell(tensor, record)
        base = base_of(tensor)
        if base is not None:
            parent = self.records.get(id(base))
            if parent is not None:
                self.tell(base, parent)
                self.contents(base, parent)
        self.contents(tensor, record)
        owner = self.grads.get(record.uid)
        if owner is not None:
            self._log.add(ev.Grad(owner, record.uid, self._values.read(tensor), "write"))

    def moved(self, tensor: torch.Tensor, record: Record) -> None:
        """Note where a tensor lies now, after a call that may have given it other memory."""
        record.pointer = pointer_of(tensor)
        record.storage = storage_of(tensor)

    def set_grad(self, tensor: torch.Tensor, how: str) -> None:
        """Say what `.grad` of a tensor is now."""
        record = self.record(tensor)
        grad = grad_of(tensor)
        if grad is None:
            record.grad = NONE
            self._log.add(ev.Grad(record.uid, NONE, None, how))
            return
        held = self.record(grad)
        record.grad = held.uid
        self.grads[held.uid] = record.uid
        self._log.add(ev.Grad(record.uid, held.uid, self._values.read(grad), how))

    def retain(self, tensor: torch.Tensor) -> None:
        """Remember a tensor whose `.grad` is filled though it is no leaf."""
        self.retained = [ref for ref in self.retained if ref() is not None]
        self.retained.append(weakref.ref(tensor))

    def check_retained(self) -> None:
        """Say what the last pass put into `.grad` of tensors that retain it."""
        for ref in self.retained:
            tensor = ref()
            if tensor is None:
                continue
            grad = grad_of(tensor)
            if grad is None:
                continue
            record = self.record(tensor)
            if self.record(grad).uid != record.grad or grad.requires_grad:
                self.set_grad(tensor, "retained")

    def label(self, name: str, module: torch.nn.Module) -> None:
        """Learn the names of a module's parameters and buffers."""
        if len(self.labels) > 20_000:
            return
        for inner, parameter in held_by(module):
            text = f"{name}.{inner}"
            known = self.labels.get(id(parameter), "")
            if known and (name == "self" or known == text):
                continue
            if known.endswith(f".{inner}") and known.count(".") > text.count("."):
                continue  # a part of a module got a name of its own: `for layer in self.layers`
            self.labels[id(parameter)] = text
            record = self.record(parameter)
            if record.label != text:
                record.label = text
                self.tell(parameter, record)


def held_by(module: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """(name, tensor) of all parameters, then buffers, of a module, as torch names them.

    Read past the methods of the class, which may be the program's own. Empty for a module whose
    `__init__` has not come to `super().__init__()` yet.
    """
    found: list[tuple[str, str, torch.Tensor]] = []
    seen: set[int] = set()
    pending: list[tuple[str, Any]] = [("", module)]
    while pending:
        prefix, inner = pending.pop()
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        own: dict[str, Any] = object.__getattribute__(inner, "__dict__")
        for table in ("_parameters", "_buffers"):
            for name, tensor in (own.get(table) or {}).items():
                if is_tensor(tensor) and id(tensor) not in seen:
                    seen.add(id(tensor))
                    found.append((table, prefix + name, tensor))
        children = (own.get("_modules") or {}).items()
        pending += [(f"{prefix}{name}.", m) for name, m in reversed(children) if m is not None]
    found.sort(key=lambda entry: entry[0] == "_buffers")
    return [(name, tensor) for _, name, tensor in found]


def grad_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """`.grad`, without the warning that reading it of a non-leaf gives."""
    try:
        if not tensor.is_leaf and not tensor.retains_grad:
            return None
        return tensor.grad
    except Exception:
        return None
