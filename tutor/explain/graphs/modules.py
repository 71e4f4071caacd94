"""Which calls of modules made a node: from the user's stack and the library's frames below it.

A user's module is told by its `forward` on the stack, each call by its frame. Of torch's own
modules only the class is on the path, so where one call ends and the next begins is read from
the parameters' names, and from a call of the same function coming again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tutor.trace.events import NONE
from tutor.trace.state import NodeState, State
from tutor.trace.trace import Trace

_LIBRARY = "torch/nn/modules/"
_CONTAINER = "Sequential"


@dataclass(frozen=True, slots=True)
class Call:
    """A module's `forward` while it ran: its class, and the frame of a user's (NONE: torch's)."""

    kind: str
    frame: int = NONE


@dataclass(frozen=True, slots=True)
class Made:
    """What is known of the making of one node.

    `stems` are the names of the modules of its parameters, one for each call, "" if not known.
    """

    calls: tuple[Call, ...]
    stems: tuple[str, ...]
    op: int
    func: str


def makings(trace: Trace, state: State, nodes: Sequence[NodeState]) -> list[Made]:
    """How each of these nodes was made."""
    paths: dict[int, tuple[Call, ...]] = {}
    made: list[Made] = []
    for node in nodes:
        op = trace.op(node.event.op)
        via = op.event.via if op is not None else NONE
        if via not in paths:
            paths[via] = _library_calls(trace.vias.get(via, ()))
        calls = (*_user_calls(node), *paths[via])
        made.append(
            Made(calls, _stems(_label(state, node), calls), node.event.op, op.func if op else "")
        )
    return made


def instances(made: Sequence[Made]) -> list[tuple[int, ...]]:
    """For each node, a number for each call it was made in: equal numbers are the same call."""
    holders = {one.calls[-1].kind for one in made if one.calls and one.stems[-1]}
    numbers: list[tuple[int, ...]] = []
    following = 0
    current: list[int] = []
    calls: tuple[Call, ...] = ()
    stems: list[str] = []
    last: list[tuple[int, str]] = []
    """The call of a function that each module made last."""
    for one in made:
        same = 0
        while same < min(len(one.calls), len(calls)) and one.calls[same] == calls[same]:
            if not _continues(one, same, stems[same], last[same], holders):
                break
            same += 1
        early = _early(one, calls, same, stems, current)
        del current[same:], stems[same:], last[same:]
        for depth in range(same, len(one.calls)):
            current.append(following)
            following += 1
            stems.append(one.stems[depth])
            last.append((one.op, one.func))
        for depth in range(same):
            known = [stem for stem in (stems[depth], one.stems[depth]) if stem]
            stems[depth] = min(known, key=len, default="")
            last[depth] = (one.op, one.func)
        calls = one.calls
        numbers.append(tuple(current))
        for index in range(len(numbers) - 2, -1, -1) if early != NONE else ():
            before = numbers[index]
            if len(before) < same + 2 or before[same + 1] != early:
                break
            numbers[index] = (*current[: same + 2], *before[same + 2 :])
    return numbers


def _early(
    one: Made, calls: Sequence[Call], depth: int, stems: Sequence[str], current: Sequence[int]
) -> int:
    """The inner call that was under way when a name told that an outer one has begun, or NONE.

    The inner call goes to the outer one that begins: its first nodes had no names to tell by.
    """
    inner = depth + 1
    if min(len(one.calls), len(calls)) <= inner or one.calls[: inner + 1] != calls[: inner + 1]:
        return NONE
    return current[inner] if not stems[inner] else NONE


def _continues(
    one: Made, depth: int, stem: str, last: tuple[int, str], holders: Collection[str]
) -> bool:
    """Whether a node belongs to the call that the node before it was made in.

    `holders` are the classes that have parameters: a call of such a one is told by their names.
    """
    if one.calls[depth].frame != NONE:
        return True  # its frame says so
    if one.stems[depth] and stem:
        # A module may use the parameters of one inside it without calling that.
        mine, its = one.stems[depth] + ".", stem + "."
        return mine.startswith(its) or its.startswith(mine)
    innermost = depth == len(one.calls) - 1
    plain = innermost and one.calls[depth].kind not in holders
    return not (plain and one.op != last[0] and one.func == last[1])


def _user_calls(node: NodeState) -> tuple[Call, ...]:
    calls = []
    for place in node.site:
        parts = place.function.split(".")
        if len(parts) > 1 and parts[-1] == "forward":
            calls.append(Call(parts[-2], place.frame))
    return tuple(calls)


def _library_calls(frames: Sequence[tuple[str, str]]) -> tuple[Call, ...]:
    calls = []
    for file, function in frames:
        kind, _, name = function.rpartition(".")
        if name == "forward" and kind and file.startswith(_LIBRARY):
            calls.append(Call(kind))
    return tuple(calls)


def _label(state: State, node: NodeState) -> str:
    """The name inside its module of a parameter that a node leads to directly."""
    for target, _ in node.edges:
        leaf = state.nodes.get(target)
        if leaf is not None and leaf.event.leaf != NONE:
            tensor = state.tensors.get(leaf.event.leaf)
            if tensor is not None and tensor.meta.label:
                return tensor.meta.label
    return ""


def _stems(label: str, calls: Sequence[Call]) -> tuple[str, ...]:
    """The name of the module of each call, given the name of a parameter of the innermost.

    `net.layers.0.fc.weight` in Net, Block, Linear: `net`, `net.layers.0`, `net.layers.0.fc`.
    A list of modules has no `forward` of its own, so its name goes with its items' numbers.
    """
    parts = label.split(".")[:-1] if label else []
    stems: list[str] = []
    for depth in range(len(calls) - 1, -1, -1):
        stems.append(".".join(parts))
        if not parts:
            continue
        dropped = parts.pop()
        outer = calls[depth - 1].kind if depth else ""
        if dropped.isdigit() and outer != _CONTAINER and parts:
            parts.pop()
    return tuple(reversed(stems))
