"""What to call a tensor, a node, a call: the learner's own names first."""

from __future__ import annotations

from tutor.app.model.values import number, shape_text
from tutor.trace.events import NONE, Save
from tutor.trace.state import Named, NodeState, Place, State, TensorState

NUMBERED = 4000
"""Nodes up to which each gets its rank as a number; beyond, the observer's id is used."""


def short_name(named: Named) -> str:
    """The name, and the function that knows it where that is not the top level."""
    inner = "" if named.function in ("<module>", "") else f" (in {named.function})"
    return named.name + inner


def all_names(tensor: TensorState, most: int = 3) -> tuple[str, ...]:
    """Every name the tensor has or had, the present ones first, each once."""
    ordered = sorted(tensor.names, key=lambda n: (n.until is not None, n.since))
    return tuple(dict.fromkeys(short_name(n) for n in ordered))[:most]


def tensor_name(state: State, uid: int) -> str:
    """The best single name: a present one, a module's label, one it had, else ""."""
    tensor = state.tensors.get(uid)
    if tensor is None:
        return ""
    present = state.names_of(uid)
    if present:
        return min(present, key=len)
    if tensor.meta.label:
        return tensor.meta.label
    past = all_names(tensor, 1)
    return past[0] if past else ""


def tensor_words(state: State, uid: int) -> str:
    """A name, or a description of a tensor that has none."""
    name = tensor_name(state, uid)
    if name:
        return name
    tensor = state.tensors.get(uid)
    return f"unnamed {shape_text(tensor.meta.shape)}" if tensor else "a tensor"


def save_words(state: State, save: Save) -> str:
    """Which tensor a save holds."""
    if save.role == "constant":
        flat = save.value.flat if save.value else None
        return number(flat[0]) if flat and len(flat) == 1 else "a constant"
    if save.role == "copy":
        return f"its own copy {shape_text(save.shape)}"
    name = tensor_name(state, save.uid) if save.uid != NONE else ""
    if name:
        return name
    if save.role == "internal":
        return f"{shape_text(save.shape)} of its own"
    return f"a tensor {shape_text(save.shape)}"


def place_text(place: Place, main: str = "") -> str:
    """As in line 7, with the rounds of its loops ("line 7·3"), and its file where it is another."""
    rounds = "".join(f"·{n}" for n in place.iteration)
    where = f"line {place.line}{rounds}"
    if main and place.file != main:
        where = f"{file_words(place.file)} {where}"
    return where


def file_words(path: str) -> str:
    """A file as the learner knows it: the setup above the code has no name there."""
    return "setup" if path == "setup.py" else short_file(path)


def short_file(path: str) -> str:
    """The last part of a path."""
    return path.rsplit("/", 1)[-1]


def op_name(func: str) -> str:
    """The last part of a function's name: "mul_" of "Tensor.mul_", "pow" of "Tensor.__pow__"."""
    name = func.rsplit(".", 1)[-1]
    if name.startswith("__") and name.endswith("__"):
        return {"__setitem__": "[…] =", "__getitem__": "[…]"}.get(name, name.strip("_"))
    return name


def numbers(state: State) -> dict[int, int]:
    """A number for each node that is not a leaf's, in the order they were made, from 1."""
    nodes = [n for n in state.nodes.values() if n.event.leaf == NONE]
    if len(nodes) > NUMBERED:
        return {n.event.node: n.event.node for n in nodes}
    nodes.sort(key=lambda n: (n.moment, n.event.node))
    return {node.event.node: rank for rank, node in enumerate(nodes, 1)}


def outputs(state: State) -> dict[int, list[int]]:
    """For each node, the named tensors that it made and that still point to it."""
    table: dict[int, list[int]] = {}
    for uid, tensor in state.tensors.items():
        known = tensor.names or tensor.meta.label
        if known and tensor.meta.node != NONE and (state.names_of(uid) or tensor.meta.label):
            table.setdefault(tensor.meta.node, []).append(uid)
    return table


def node_title(node: NodeState) -> str:
    """The name that torch gives to the node, without the C++ name space."""
    return node.name.rsplit("::", 1)[-1]
