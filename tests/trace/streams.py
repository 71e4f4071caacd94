"""Streams of events for the tests: any events, and those of small plausible runs."""

from __future__ import annotations

import types
import typing
from typing import Any

import msgspec
from hypothesis import strategies as st

from tutor.trace import events as ev

EVENT_TYPES: tuple[type[ev.Event], ...] = typing.get_args(ev.AnyEvent)

SOURCE = (
    "total = 0\nfor i in range(3):\n    for j in range(2):\n        total += i\n    total += 1\n"
)

_ids = st.integers(min_value=-1, max_value=4)
_texts = st.sampled_from(["", "b", "<module>", "fn", "snippet.py", "self.hidden[0]", "ÿ→"])
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner, max_size=2),
    max_leaves=4,
)


def _of_type(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type. Ids are few, so that events often speak of the same things."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is int:
        return _ids
    if hint is float:
        return st.floats(allow_nan=False, width=32)
    if hint is bool:
        return st.booleans()
    if hint is str:
        return _texts
    if hint is type(None):
        return st.none()
    if hint is object:
        return _json
    if origin in (typing.Union, types.UnionType):
        return st.one_of([_of_type(arg) for arg in args])
    if origin is tuple and args[-1] is Ellipsis:
        return st.lists(_of_type(args[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*[_of_type(arg) for arg in args])
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = typing.get_type_hints(hint)
        fields = [field.name for field in msgspec.structs.fields(hint)]
        return st.builds(hint, *[_of_type(hints[name]) for name in fields])
    raise TypeError(f"no values for {hint!r}: add a case")


def event_of(kind: type[ev.Event]) -> st.SearchStrategy[Any]:
    """Events of one type, made from its fields, so that a new type needs nothing here."""
    if kind is ev.Text:
        return st.builds(ev.Text, _texts, st.sampled_from(["", SOURCE, "x = ("]))
    return _of_type(kind)


any_event: st.SearchStrategy[ev.AnyEvent] = st.one_of([event_of(kind) for kind in EVENT_TYPES])
any_events: st.SearchStrategy[list[ev.AnyEvent]] = st.lists(any_event, max_size=40)


def tensor(uid: int, *, counter: int = ev.NONE, version: int = 0, node: int = ev.NONE) -> ev.Tensor:
    """A float vector of two elements, with a counter of its own unless one is named."""
    return ev.Tensor(
        uid=uid,
        shape=(2,),
        dtype="float32",
        device="cpu",
        requires_grad=node != ev.NONE,
        leaf=node == ev.NONE,
        node=node,
        out=0,
        counter=uid if counter == ev.NONE else counter,
        version=version,
        storage=1000 + uid,
    )


def save(counter: int, version: int, name: str = "other") -> ev.Save:
    """A saved input of two floats."""
    return ev.Save(name, counter, counter, 1000 + counter, version, (2,), "float32", "input")


def founding_run() -> list[ev.AnyEvent]:
    """`b *= b` five times in a function, then a backward: what issue threads ask about.

    Written out by hand after a real run:

        def fn(b):              # line 1
            for i in range(5):  # line 2
                b *= b          # line 3
        x = ...                 # line 4
        y = x * 1.0             # line 5
        fn(y)                   # line 6
        y.sum().backward()      # line 7
    """
    text = "def fn(b):\n    for i in range(5):\n        b *= b\nx = 1\ny = x\nfn(y)\ny.sum()\n"
    out: list[ev.AnyEvent] = [
        ev.Start("2.13.0", "3.11", 1),
        ev.Text("snippet.py", text),
        ev.Enter(0, "<module>", "snippet.py", 1),
        ev.Line(0, 1),
        ev.Line(0, 4),
        tensor(1),
        ev.Bind(0, "x", 1),
        ev.Line(0, 5),
        ev.Op(0, "Tensor.mul", (1,), (2,)),
        tensor(2, node=10),
        ev.Node(10, "MulBackward0", 1, 0, ((ev.NONE, 0),), (save(1, 0, "self"),)),
        ev.Bind(0, "y", 2),
        ev.Line(0, 6),
        ev.Enter(1, "fn", "snippet.py", 1),
        ev.Bind(1, "b", 2),
    ]
    for i in range(5):
        out += [
            ev.Line(1, 2),
            ev.Line(1, 3),
            ev.Op(1 + i, "Tensor.mul_", (2, 2), (2,)),
            ev.Write(2, 2, 1002, i, i + 1, 1 + i),
            ev.Node(11 + i, "MulBackward0", 2 + i, 1 + i, ((10 + i, 0),), (save(2, i),)),
        ]
    out += [
        ev.Line(1, 2),
        ev.Leave(1),
        ev.Line(0, 7),
        ev.Op(6, "Tensor.sum", (2,), (3,)),
        ev.Node(16, "SumBackward0", 7, 6, ((15, 0),)),
        tensor(3, node=16),
        ev.BackwardStart(0, "backward", ((3, 16),), (None,), False, False, None),
        ev.Visit(0, 16, (None,)),
        ev.Visit(0, 15, (None,)),
        ev.Stale(0, 15, "other", 5, 4),
        ev.BackwardEnd(0, False, 15, ("RuntimeError", "one of the variables ...")),
        ev.Output(2, "Traceback ..."),
        ev.Raised("RuntimeError", "one of ...", (("snippet.py", 7, "<module>"),), "Traceback ..."),
        ev.Finished("error", 1, 0.01),
    ]
    return out
