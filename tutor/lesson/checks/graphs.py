"""Checks on the graph: which nodes lead where, and what they keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from tutor.lesson.checks.body import Body, Names, Path, together
from tutor.lesson.checks.evidence import Evidence, Missing, Outcome, decided, question
from tutor.lesson.checks.tensors import needs_one
from tutor.lesson.checks.words import listed
from tutor.lesson.model import Model
from tutor.trace import NONE, Probe, Save, State
from tutor.trace.state import NodeState

LEAF = "leaf "
DRAWN = 60
"""Nodes written out in a sentence at most."""


class Count(Model):
    """How many there may be."""

    max: int | None = Field(None, description="So many at most.")
    min: int | None = Field(None, description="So many at least.")

    def admits(self, number: int) -> bool:
        """Whether this number is within."""
        return (self.max is None or number <= self.max) and (self.min is None or number >= self.min)

    def __str__(self) -> str:
        parts = [] if self.min is None else [f"at least {self.min}"]
        if self.max is not None:
            parts.append(f"at most {self.max}")
        return " and ".join(parts)


class Graph(Body):
    """What lies between a tensor and the leaves.

    Names are torch's (`ExpBackward0`); `leaf x` is the leaf that `x` names.
    """

    of: Path = Field(description="The tensor whose graph is looked at.")
    path: Names | None = Field(
        None, description="Nodes on some way down, in order, others may lie between."
    )
    tree: str | None = Field(None, description="The whole graph: MulBackward0(leaf x).")
    has: Names | None = Field(None, description="Nodes that must be there.")
    lacks: Names | None = Field(None, description="Nodes that must not.")
    leaves: Names | None = Field(None, description="The names of all its leaves.")
    nodes: Count | None = Field(None, description="How many nodes there are.")
    freed: bool | None = Field(
        None, description="Whether a backward has freed what the nodes had saved."
    )

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        needs_one(self, ("path", "tree", "has", "lacks", "leaves", "nodes", "freed"))
        return self

    def _named(self) -> tuple[str, ...]:
        """The names of the leaves that are spoken of."""
        items = (*(self.path or ()), *(self.has or ()), *(self.lacks or ()))
        spoken = [item.removeprefix(LEAF) for item in items if item.startswith(LEAF)]
        spoken += self.leaves or ()
        if self.tree is not None:
            parts = self.tree.replace("(", ",").replace(")", ",").split(",")
            spoken += [p.strip().removeprefix(LEAF) for p in parts if p.strip().startswith(LEAF)]
        return tuple(dict.fromkeys(spoken))

    def asks(self) -> tuple[Probe, ...]:
        return tuple(question("tensor", of=name) for name in (self.of, *self._named()))

    def says(self) -> str:
        parts = []
        if self.path is not None:
            parts.append(f"leads through {', then '.join(self.path)}")
        if self.tree is not None:
            parts.append(f"is {self.tree}")
        if self.has is not None:
            parts.append(f"has {listed(self.has)}")
        if self.lacks is not None:
            parts.append(f"has no {listed(self.lacks, 'or')}")
        if self.leaves is not None:
            parts.append(f"ends in {listed(self.leaves)} and no other leaf")
        if self.nodes is not None:
            parts.append(f"has {self.nodes} nodes")
        if self.freed is not None:
            parts.append("was freed by a backward" if self.freed else "was not freed")
        return f"the graph of `{self.of}` {listed(parts)}"

    def judge(self, evidence: Evidence) -> Outcome:
        root = evidence.traced(self.of).meta.node
        state = evidence.state
        below = list(state.walk(root)) if root != NONE else []
        uids = {name: evidence.traced(name).uid for name in self._named()}
        names = {uid: name for name, uid in uids.items()}
        drawn = draw(state, root, names)
        outcomes = []

        def found(holds: bool, wanted: str, got: str = "") -> None:
            outcomes.append(decided(holds, f"the graph of `{self.of}` {wanted}", got or drawn))

        def present(item: str) -> bool:
            return any(_is(node, item, uids) for node in below)

        if self.path is not None:
            found(leads(state, root, self.path, uids), f"leads through {', then '.join(self.path)}")
        if self.tree is not None:
            whole = draw(state, root, names, limit=10 * DRAWN)
            found(_bare(self.tree) == _bare(whole), f"is {self.tree}", whole)
        if self.has is not None:
            found(all(map(present, self.has)), f"has {listed(self.has)}")
        if self.lacks is not None:
            found(not any(map(present, self.lacks)), f"has no {listed(self.lacks, 'or')}")
        if self.leaves is not None:
            ends = {node.event.leaf for node in below if node.event.leaf != NONE}
            found(ends == {uids[name] for name in self.leaves}, f"ends in {listed(self.leaves)}")
        if self.nodes is not None:
            found(self.nodes.admits(len(below)), f"has {self.nodes} nodes", f"{len(below)} nodes")
        if self.freed is not None:
            outcomes.append(self._freed(below))
        return together(outcomes)

    def _freed(self, below: Sequence[NodeState]) -> Outcome:
        keeping = [node for node in below if node.saves]
        freed = [node for node in keeping if node.freed != NONE]
        if self.freed:
            wanted = f"a backward has been through the graph of `{self.of}` and freed it"
            went = any(node.visited for node in below)
            held = [node.name for node in keeping if node.freed == NONE]
            got = f"{listed(held)} still keeps what it saved" if held else "freed"
            return decided(
                went and not held, wanted, got if went else "no backward has been through it"
            )
        wanted = f"the graph of `{self.of}` still keeps what it saved"
        return decided(not freed, wanted, f"{listed([n.name for n in freed])} was freed")


def leads(state: State, root: int, items: Sequence[str], uids: dict[str, int]) -> bool:
    """Whether some way down from a node passes these items in order (gaps allowed)."""
    pending, seen = [(root, 0)], set()
    while pending:
        number, index = pending.pop()
        node = state.nodes.get(number)
        if node is None or (number, index) in seen:
            continue
        seen.add((number, index))
        if _is(node, items[index], uids):
            index += 1
            if index == len(items):
                return True
        pending.extend((target, index) for target, _ in node.edges if target != NONE)
    return False


def draw(state: State, root: int, names: dict[int, str], limit: int = DRAWN) -> str:
    """The graph below a node as nested text, `… ` where it is cut at `limit` nodes."""
    left = limit
    parts: list[str] = []
    pending: list[int | str] = [root]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        node = state.nodes.get(item)
        left -= 1
        if node is None or left < 0:
            parts.append("nothing" if item == root else "…")
            continue
        parts.append(_label(state, node, names))
        targets = [target for target, _ in node.edges if target != NONE]
        if targets:
            pending.append(")")
            for index, target in enumerate(reversed(targets)):
                pending.append(target)
                pending.append(", " if index < len(targets) - 1 else "(")
    return "".join(parts)


def _label(state: State, node: NodeState, names: dict[int, str]) -> str:
    leaf = node.event.leaf
    if leaf == NONE:
        return node.name
    known = names.get(leaf) or next(iter(state.names_of(leaf)), None)
    if known is None:
        tensor = state.tensors.get(leaf)
        known = (tensor.meta.label if tensor else "") or "without a name"
    return f"{LEAF}{known}"


def _is(node: NodeState, item: str, uids: dict[str, int]) -> bool:
    if item.startswith(LEAF):
        return node.event.leaf != NONE and node.event.leaf == uids.get(item.removeprefix(LEAF))
    return node.name == item


def _bare(text: str) -> str:
    return "".join(text.split())


class Saved(Body):
    """What a node keeps for its backward.

    The node is the one that made tensor `of`, or the latest one that has this name.
    """

    of: str = Field(description="A tensor, for the node that made it, or the name of a node.")
    names: Names | None = Field(
        None, description="The names of all that it saved, as torch has them: self, result."
    )
    count: int | None = Field(None, description="How many tensors it saved.")
    save: str | None = Field(None, description="The name of one save that the rest is about.")
    role: Literal["input", "output", "alias", "copy", "constant", "internal"] | None = Field(
        None, description="What was saved: the node's input, its result, a copy."
    )
    version: int | None = Field(None, description="The version at which it was saved.")
    state: Literal["live", "stale", "freed", "packed"] | None = Field(
        None, description="Whether it can still be used."
    )
    shares_storage_with: Path | None = Field(None, description="A tensor whose memory it keeps.")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        asked = ("names", "count", "save", "role", "version", "state", "shares_storage_with")
        needs_one(self, asked)
        return self

    @property
    def by_name(self) -> bool:
        """Whether `of` is the name of a node, not of a tensor."""
        return "Backward" in self.of or "::" in self.of

    def asks(self) -> tuple[Probe, ...]:
        names = [] if self.by_name else [self.of]
        if self.shares_storage_with is not None:
            names.append(self.shares_storage_with)
        return tuple(question("tensor", of=name) for name in names)

    def says(self) -> str:
        parts = []
        if self.names is not None:
            parts.append(f"keeps {listed(self.names)}")
        if self.count is not None:
            parts.append(f"keeps {self.count} tensors")
        if self.save is not None or self.role is not None:
            what = f"`{self.save}`" if self.save else "something"
            parts.append(f"keeps {what}" + (f", {_ROLES[self.role]}" if self.role else ""))
        if self.version is not None:
            parts.append(f"kept it at version {self.version}")
        if self.state is not None:
            parts.append(f"finds what it kept {self.state}")
        if self.shares_storage_with is not None:
            parts.append(f"keeps memory of `{self.shares_storage_with}`")
        where = self.of if self.by_name else f"the node of `{self.of}`"
        return f"{where} {listed(parts)}"

    def judge(self, evidence: Evidence) -> Outcome:
        node = self._node(evidence)
        state, saves = evidence.state, node.saves
        outcomes = []

        def found(holds: bool, wanted: str) -> None:
            outcomes.append(decided(holds, f"{node.name} {wanted}", kept(state, node)))

        if self.names is not None:
            wanted = f"keeps {listed(self.names)}"
            found(sorted(s.name for s in saves) == sorted(self.names), wanted)
        if self.count is not None:
            found(len(saves) == self.count, f"keeps {self.count} tensors")
        fits = [s for s in saves if self._fits(s, evidence, node)]
        if {"save", "role", "version", "state", "shares_storage_with"} & self.model_fields_set:
            found(bool(fits), self.says().split(" ", 1)[1] if self.by_name else self.says())
        return together(outcomes)

    def _fits(self, save: Save, evidence: Evidence, node: NodeState) -> bool:
        """Whether this one save is the one spoken of."""
        state = evidence.state
        if self.shares_storage_with is not None:
            owner = evidence.traced(self.shares_storage_with)
            if save.storage != owner.meta.storage:
                return False
        return (
            (self.save is None or save.name == self.save)
            and (self.role is None or save.role == self.role)
            and (self.version is None or save.version == self.version)
            and (self.state is None or state.save_state(node, save) == self.state)
        )

    def _node(self, evidence: Evidence) -> NodeState:
        state = evidence.state
        if self.by_name:
            known: Iterable[NodeState] = (n for n in state.nodes.values() if n.name == self.of)
            latest = max(known, key=lambda n: n.moment, default=None)
            if latest is None:
                raise Missing(f"the run made no {self.of}")
            return latest
        number = evidence.traced(self.of).meta.node
        node = state.nodes.get(number)
        if node is None:
            raise Missing(f"no node made `{self.of}`")
        return node


_ROLES = {
    "input": "the input itself",
    "output": "the result itself",
    "alias": "memory of an input or of the result",
    "copy": "a copy of its own",
    "constant": "a constant",
    "internal": "something of its own",
}


def kept(state: State, node: NodeState) -> str:
    """What a node keeps, in words."""
    if not node.saves:
        return "it keeps nothing"
    parts = [
        f"{save.name} ({_ROLES.get(save.role, save.role)}, version {save.version}, "
        f"{state.save_state(node, save)})"
        for save in node.saves
    ]
    return f"it keeps {listed(parts)}"
