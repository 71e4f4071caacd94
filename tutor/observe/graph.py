"""The nodes of the autograd graph: found right after the op that made them, with their saves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from tutor.observe.log import Log
from tutor.observe.tensors import (
    Record,
    base_of,
    pointer_of,
    shape_of,
    storage_of,
    version_of,
)
from tutor.observe.tracebacks import clean_traceback
from tutor.observe.values import Values, dtype_name
from tutor.trace import events as ev
from tutor.trace.events import NONE, Save

if TYPE_CHECKING:
    from tutor.observe.tensors import Tensors

_KEY = "autograd_tutor"
_ACCUMULATE = "torch::autograd::AccumulateGrad"
_PYTHON_NODE = torch.autograd.function.BackwardCFunction

_raw_names: dict[type, tuple[str, ...]] = {}


_names: dict[type, str] = {}


def _name_of(node: Any) -> str:
    kind = type(node)
    name = _names.get(kind)
    if name is None:
        name = node.name()
        if kind.__name__ == name:  # a generated class: all of its nodes have its name
            _names[kind] = name
    return name


class Token:
    """Lives in `node.metadata` and dies with the node, which itself takes no weak reference."""

    __slots__ = ("deaths", "id")

    def __init__(self, number: int, deaths: list[int]) -> None:
        self.id = number
        self.deaths = deaths

    def __del__(self) -> None:
        self.deaths.append(self.id)

    def __deepcopy__(self, memo: object) -> None:
        return None


class Context:
    """What is known of the call whose nodes are being looked at."""

    __slots__ = ("args", "before", "inplace", "op", "outs")

    def __init__(
        self,
        op: int,
        args: Iterable[torch.Tensor] = (),
        outs: Iterable[torch.Tensor] = (),
        before: dict[int, int] | None = None,
        inplace: bool = False,
    ) -> None:
        self.op = op
        self.args = list(args)
        self.outs = list(outs)
        self.before = before or {}
        self.inplace = inplace


class Graph:
    """Finds nodes, gives them ids, and tells of them."""

    def __init__(self, log: Log, values: Values) -> None:
        self._log = log
        self._values = values
        self.tensors: Tensors
        self.deaths: list[int] = []
        self.prints: dict[int, list[tuple[str, str | None, int]]] = {}
        """node -> (save, fingerprint, version) of saves whose memory is checked at backward."""
        self.packed: set[int] = set()
        """Nodes with a save behind a hook: user code runs when the engine unpacks it."""
        self.relied_on: set[int] = set()
        """Counters of tensors that some node has saved."""
        self.context = Context(NONE)
        self.eager = True
        """Whether values of saves are sent with them: not once a run has been long."""
        self._next = 0

    def id_of(self, node: Any) -> int:
        """The id of a node, NONE for one that has not been seen."""
        try:
            token = node.metadata.get(_KEY)
        except Exception:
            return NONE
        return token.id if token is not None else NONE

    def note(self, root: Any) -> int:
        """The id of a node; it and what is new below it are told first."""
        known = self.id_of(root)
        if known != NONE:
            return known
        try:
            for child, _ in root.next_functions:
                if child is not None and self.id_of(child) == NONE:
                    break
            else:
                self._tell(root)
                return self._next - 1
        except Exception:
            return NONE
        # Children first, without recursion: a chain may be 100 000 nodes deep.
        pending: list[tuple[Any, bool]] = [(root, False)]
        while pending:
            node, expanded = pending.pop()
            if self.id_of(node) != NONE:
                continue
            if expanded:
                self._tell(node)
                continue
            pending.append((node, True))
            try:
                following = node.next_functions
            except Exception:
                continue
            for child, _ in following:
                if child is not None and self.id_of(child) == NONE:
                    pending.append((child, False))
        return self.id_of(root)

    def _tell(self, node: Any) -> None:
        number = self._next
        self._next += 1
        try:
            metadata = node.metadata
            metadata[_KEY] = Token(number, self.deaths)
            if len(metadata) > 1 and "traceback_" in metadata:
                metadata["traceback_"] = clean_traceback(metadata["traceback_"])
            name = _name_of(node)
            edges = tuple(
                [
                    (self.id_of(child) if child is not None else NONE, index)
                    for child, index in node.next_functions
                ]
            )
            sequence = min(node._sequence_nr(), 2**63 - 1)
        except Exception:
            return
        leaf = NONE
        saves: tuple[Save, ...] = ()
        if name == _ACCUMULATE:
            variable = node.variable
            record = self.tensors.peek(variable) or self.tensors.born(variable)
            leaf = record.uid
        else:
            saves = self._saves(number, node)
        self._log.add(ev.Node(number, name, sequence, self.context.op, edges, saves, leaf))
        if self.deaths:
            self.bury()

    def bury(self) -> None:
        """Tell of the nodes that died."""
        dead = tuple(self.deaths)
        self.deaths.clear()
        if dead:
            for number in dead:
                self.prints.pop(number, None)
                self.packed.discard(number)
            self._log.add(ev.Dead(dead))

    # -- saves -----------------------------------------------------------------------

    def raw(self, node: Any) -> list[tuple[str, Any]]:
        """(name, SavedTensor) of all that a node keeps; empty where it cannot be read.

        Only the raw holders are read: `_saved_x` would call unpack hooks, recompute
        checkpoints, and raise for a stale or freed tensor (mechanics, section a).
        """
        kind = type(node)
        names = _raw_names.get(kind)
        if names is None:
            names = tuple(n for n in dir(kind) if n.startswith("_raw_saved_"))
            _raw_names[kind] = names
        found: list[tuple[str, Any]] = []
        for name in names:
            try:
                held = getattr(node, name)
            except Exception:
                continue
            short = name.removeprefix("_raw_saved_")
            if isinstance(held, (tuple, list)):
                found += [(f"{short}[{index}]", item) for index, item in enumerate(held)]
            elif held is not None:
                found.append((short, held))
        return found

    def _saves(self, number: int, node: Any) -> tuple[Save, ...]:
        saves: list[Save] = []
        prints: list[tuple[str, str | None, int]] = []
        for name, holder in self.raw(node):
            try:
                held = holder.data
            except Exception:
                continue
            if held is None:
                continue
            if not isinstance(held, torch.Tensor) or holder.unpack_hook is not None:
                self.packed.add(number)
                saves.append(Save(name, NONE, NONE, NONE, NONE, (), "", "internal", True))
                continue
            save = self._save(name, held)
            saves.append(save)
            if save.role in ("input", "output", "alias"):
                prints.append((name, self._values.fingerprint(held), save.version))
        if prints:
            self.prints[number] = prints
        return tuple(saves)

    def _save(self, name: str, held: torch.Tensor) -> Save:
        context = self.context
        version = version_of(held)
        record: Record | None = None
        role = "internal"
        peek = self.tensors.peek
        for argument in context.args:
            if held is argument:
                record, role = peek(argument), "input"
                break
        storage = record.storage if record is not None else storage_of(held)
        if record is None:
            pointer = pointer_of(held)
            for result in context.outs:
                known = peek(result)
                if known is not None and pointer != NONE and known.pointer == pointer:
                    record, role = known, "output"
                    break
        if record is None:
            base = base_of(held)
            for other in (*context.args, *context.outs, *(() if base is None else (base,))):
                known = peek(other)
                if known is None or storage == NONE or known.storage != storage:
                    continue
                if other is base or version_of(other) == version:
                    record, role = known, "alias"
                    break
        number = held.dim() == 0 and len(context.args) < 2
        if record is None and not number:  # a wrapped number may lie where a dead tensor did
            known = peek(held)
            if known is not None and known.pointer == pointer_of(held):
                record, role = known, "input"
        if record is None:
            if context.inplace and name == "self":
                role = "copy"
            elif number:
                role = "constant"
        elif context.inplace and role in ("input", "alias"):
            # The op moved the counter after it had saved: what it kept is older.
            version = context.before.get(record.counter, version)
        if record is not None:
            self.relied_on.add(record.counter)
        return Save(
            name,
            record.uid if record is not None else NONE,
            record.counter if record is not None else NONE,
            storage,
            version,
            shape_of(held),
            dtype_name(held.dtype),
            role,
            False,
            self._values.read(held) if self.eager and held.numel() <= 64 else None,
        )
