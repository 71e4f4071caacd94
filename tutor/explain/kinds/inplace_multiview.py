"""A write to one of several views that one call made, or to what they are views of."""

from __future__ import annotations

from tutor.explain import edits, rewrites
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.custom import function_of
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare, op_name
from tutor.explain.writes import MULTIPLE, multiple, refused
from tutor.trace import NONE, Place
from tutor.trace.state import OpState, TensorState

KIND = "inplace-multiview"


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused write to a view from unbind, split or chunk; or a use of one after a base's."""
    write = refused(history, failure)
    if write is not None and write.op.grad_mode:
        maker = multiple(history, write.target)
        node = history.nodes.get(write.target.meta.node)
        named = node is not None and node.name.startswith(MULTIPLE)
        if maker is not None and _later_function(history, write.target, maker):
            return None
        if maker is None and not (named and write.target.meta.base != NONE):
            return None
        witness: FindingPlace | None = None
        if maker is not None:
            witness = history.place("witness", maker.site, maker.moment, note("several-views"))
            made = bare(maker.func)
        else:
            assert node is not None
            witness = history.place("witness", node.site, node.moment, note("several-views"))
            made = op_name(node.name)
        facts: dict[str, Fact] = {
            "tensor": history.name(write.target.uid, write.op.moment),
            "writer": write.name,
            "maker": "iterating over it" if made == "__iter__" else made,
        }
        here = failure.site[-1]
        text = history.text(here.file)
        return finding(
            KIND,
            "error",
            "view",
            facts,
            cause=[history.place("cause", failure.site, failure.moment, note("writes-view"))],
            witness=[witness],
            surfaced=[surfaced(history)],
            fixes=[
                fix(
                    "out-of-place",
                    {"line": here.line},
                    edits.out_of_place(text, here.file, here.line),
                ),
                *_copies(history, write.target, here),
            ],
        )
    return _base_written(history, failure)


def _later_function(history: History, target: TensorState, maker: OpState) -> bool:
    """Whether a custom Function, or a module's hook, handed the view on after it was made."""
    node = history.nodes.get(target.meta.node)
    if node is None or node.moment <= maker.moment:
        return False
    return node.name.startswith("BackwardHookFunction") or (
        function_of(history, node.name) is not None
    )


def _copies(history: History, target: TensorState, here: Place) -> list[Fix | None]:
    """The view's name gets a copy of its own before the write."""
    text = history.text(here.file)
    names = [n.name for n in target.names if n.frame == here.frame]
    return [
        fix(
            "clone-name",
            {"line": here.line, "name": name},
            rewrites.clone_name(text, here.file, here.line, name),
        )
        for name in names[-1:]
    ]


def _base_written(history: History, failure: Failure) -> Finding | None:
    """A view from such a call is used after its base, or a sister, was written."""
    op = failure.op
    for uid in op.event.args if op is not None else ():
        target = history.tensor(uid)
        maker = multiple(history, target) if target is not None else None
        if target is None or maker is None or not maker.grad_mode:
            continue
        writes = [w for w in history.writes(target.meta.counter) if w.moment > maker.moment]
        if not writes:
            continue
        last = writes[-1]
        written = history.trace.op(last.op)
        there = last.site[-1] if last.site else None
        edit = (
            edits.out_of_place(history.text(there.file), there.file, there.line) if there else None
        )
        facts: dict[str, Fact] = {
            "tensor": history.name(uid, failure.moment),
            "writer": bare(written.func) if written is not None else "a write",
            "maker": bare(maker.func),
        }
        return finding(
            KIND,
            "error",
            "base",
            facts,
            cause=[history.place("cause", last.site, last.moment, note("writes-base"))],
            witness=[history.place("witness", maker.site, maker.moment, note("several-views"))],
            surfaced=[surfaced(history)],
            fixes=[fix("out-of-place", {"line": there.line if there else 0}, edit)],
        )
    return None
