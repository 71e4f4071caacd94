"""A write to one of several views that one call made, or to what they are views of."""

from __future__ import annotations

from tutor.explain import edits
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import Failure, History, bare, op_name
from tutor.explain.writes import MULTIPLE, multiple, refused
from tutor.trace import NONE

KIND = "inplace-multiview"


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused write to a view from unbind, split or chunk; or a use of one after a base's."""
    write = refused(history, failure)
    if write is not None and write.op.grad_mode:
        maker = multiple(history, write.target)
        node = history.last.nodes.get(write.target.meta.node)
        named = node is not None and node.name.startswith(MULTIPLE)
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
                )
            ],
        )
    return _base_written(history, failure)


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
        )
    return None
