"""The nodes of the autograd graph: found right after the op that made them, with their saves."""

from __future__ import annotations

from collections.abc import Sequence
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
from tutor.observe.values import Values, dtype_name, whole
from tutor.trace import events as ev
from tutor.trace.events import NONE, Save, Value

if TYPE_CHECKING:
    from tutor.observe.tensors import Tensors

KEY = "autograd_tutor"
CHECKED = frozenset(["input", "output", "alias"])
"""Roles of saves whose memory others have too, so that it may change past the counter."""

_Tensor = torch.Tensor
_ACCUMULATE = "torch::autograd::AccumulateGrad"
_PYTHON_NODE = torch.autograd.function.BackwardCFunction

raw_names: dict[type, tuple[tuple[str, str], ...]] = {}
"""The class of a node -> (attribute, name) of each tensor that it may keep."""


node_names: dict[type, str] = {}

ENDLESS = 2**63
"""Sequence numbers beyond this do not fit into an event; AccumulateGrad has 2**64 - 1."""


def _name_of(node: Any) -> str:
    kind = type(node)
    name = node_names.get(kind)
    if name is None:
        name = node.name()
        if kind.__name__ == name:  # a generated class: all of its nodes have its name
            node_names[kind] = name
    return name


def _raw_names_of(kind: type) -> tuple[tuple[str, str], ...]:
    found = tuple(
        (name, name.removeprefix("_raw_saved_"))
        for name in dir(kind)
        if name.startswith("_raw_saved_")
    )
    raw_names[kind] = found
    return found


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
        args: Sequence[torch.Tensor] = (),
        outs: Sequence[torch.Tensor] = (),
        before: dict[int, int] | None = None,
        inplace: bool = False,
    ) -> None:
        self.op = op
        self.args = args
        self.outs = outs
        self.before = before or {}
        self.inplace = inplace


NOTHING = Context(NONE)
"""No call: what is found now was made by something that no call showed."""


class Graph:
    """Finds nodes, gives them ids, and tells of them."""

    def __init__(self, log: Log, values: Values) -> None:
        self._add = log.add
        self._values = values
        self.tensors: Tensors
        self.deaths: list[int] = []
        self.prints: dict[int, list[tuple[str, object, int]]] = {}
        """node -> (save, fingerprint, version) of saves whose memory is checked at backward."""
        self.packed: set[int] = set()
        """Nodes with a save behind a hook: user code runs when the engine unpacks it."""
        self.relied_on: set[int] = set()
        """Counters of tensors that some node has saved."""
        self.context = NOTHING
        self.eager = True
        """Whether values of saves are sent with them: not once a run has been long."""
        self.next = 0

    def id_of(self, node: Any) -> int:
        """The id of a node, NONE for one that has not been seen."""
        try:
            token = node.metadata.get(KEY)
        except Exception:
            return NONE
        return token.id if token is not None else NONE

    def note(self, root: Any) -> int:
        """The id of a node; it and what is new below it are told first."""
        try:
            metadata = root.metadata
            token = metadata.get(KEY)
            if token is not None:
                known: int = token.id
                return known
            edges: list[tuple[int, int]] = []
            for child, index in root.next_functions:
                if child is None:
                    edges.append((NONE, index))
                    continue
                token = child.metadata.get(KEY)
                if token is None:
                    break
                edges.append((token.id, index))
            else:
                self._tell(root, metadata, tuple(edges))
                return self.next - 1
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

    def _tell(
        self, node: Any, metadata: Any = None, edges: tuple[tuple[int, int], ...] | None = None
    ) -> None:
        number = self.next
        self.next += 1
        try:
            if metadata is None:
                metadata = node.metadata
            metadata[KEY] = Token(number, self.deaths)
            if len(metadata) > 1 and "traceback_" in metadata:
                metadata["traceback_"] = clean_traceback(metadata["traceback_"])
            name = node_names.get(type(node)) or _name_of(node)
            if edges is None:
                edges = tuple(
                    [
                        (self.id_of(child) if child is not None else NONE, index)
                        for child, index in node.next_functions
                    ]
                )
            sequence = node._sequence_nr()
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
        if sequence >= ENDLESS:
            sequence = ENDLESS - 1
        self._add(ev.Node(number, name, sequence, self.context.op, edges, saves, leaf))
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
            self._add(ev.Dead(dead))

    # -- saves -----------------------------------------------------------------------

    def raw(self, node: Any) -> list[tuple[str, Any]]:
        """(name, SavedTensor) of all that a node keeps; empty where it cannot be read.

        Only the raw holders are read: `_saved_x` would call unpack hooks, recompute
        checkpoints, and raise for a stale or freed tensor (mechanics, section a).
        """
        found: list[tuple[str, Any]] = []
        names = raw_names.get(type(node))
        if names is None:
            names = _raw_names_of(type(node))
        for attribute, short in names:
            try:
                held = getattr(node, attribute)
            except Exception:
                continue
            if isinstance(held, (tuple, list)):
                found += [(f"{short}[{index}]", item) for index, item in enumerate(held)]
            elif held is not None:
                found.append((short, held))
        return found

    def _saves(self, number: int, node: Any) -> tuple[Save, ...]:
        holders = self.raw(node)
        if not holders:
            return ()
        saves: list[Save] = []
        prints: list[tuple[str, object, int]] = []
        context, values = self.context, self._values
        records = self.tensors.records.get
        for name, holder in holders:
            try:
                held = holder.data
                if held is None:
                    continue
                kind = type(held)
                if (
                    kind is not _Tensor and not isinstance(held, _Tensor)
                ) or holder.unpack_hook is not None:
                    self.packed.add(number)
                    saves.append(Save(name, NONE, NONE, NONE, NONE, (), "", "internal", True))
                    continue
            except Exception:
                continue
            save: Save | None = None
            printed = values.fingerprint(held)
            value = None
            if self.eager and printed is not None and type(printed) is not str:
                value = whole(printed, tuple(held.shape), held.dtype)
            if not context.inplace:  # the common cases, without asking what is known
                for argument in context.args:
                    if held is argument:
                        known = records(id(held))
                        if known is not None:
                            save = Save(
                                name,
                                known.uid,
                                known.counter,
                                known.storage,
                                held._version,
                                known.meta[0],
                                known.meta[1],
                                "input",
                                False,
                                value,
                            )
                            self.relied_on.add(known.counter)
                        break
            if save is None:
                save = self.save(name, held, value)
            saves.append(save)
            if save.role in CHECKED:
                prints.append((name, printed, save.version))
        if prints:
            self.prints[number] = prints
        return tuple(saves)

    def save(self, name: str, held: torch.Tensor, value: Value | None) -> Save:
        """What is known of a tensor that a node keeps, looked for among all that the call had."""
        context = self.context
        version = version_of(held)
        record: Record | None = None
        role = "internal"
        records = self.tensors.records
        peek = records.get
        for argument in context.args:
            if held is argument:
                record, role = peek(id(argument)), "input"
                break
        if record is not None:
            storage = record.storage
        else:
            storage = storage_of(held)
            pointer = pointer_of(held)
            for result in context.outs:
                known = peek(id(result))
                if known is not None and pointer != NONE and known.pointer == pointer:
                    record, role = known, "output"
                    break
        if record is None:
            base = base_of(held)
            for other in (*context.args, *context.outs, *(() if base is None else (base,))):
                known = peek(id(other))
                if known is None or storage == NONE or known.storage != storage:
                    continue
                if other is base or version_of(other) == version:
                    record, role = known, "alias"
                    break
        number = record is None and held.dim() == 0 and len(context.args) < 2
        if record is None and not number:  # a wrapped number may lie where a dead tensor did
            known = peek(id(held))
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
            value,
        )
