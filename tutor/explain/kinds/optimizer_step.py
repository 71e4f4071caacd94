"""Parameters changed (step, load_state_dict, soft update) before a backward that needs them."""

from __future__ import annotations

from tutor.explain import edits
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.carried import detach_fixes
from tutor.explain.finding import Edit, Fact, Finding, Fix
from tutor.explain.history import Failure, History, bare, op_name
from tutor.explain.stale import Stale, in_forward, loaded_by, parameter_of, stale, stepped_by
from tutor.trace import NONE

KIND = "optimizer-step-stale"


def raised(history: History, failure: Failure) -> Finding | None:
    """A stale save whose memory is a leaf that requires grad, written outside of any forward."""
    trouble = stale(history, failure)
    if trouble is None or trouble.write is None:
        return None
    parameter = parameter_of(history, trouble)
    optimizer = stepped_by(history, trouble.op)
    if parameter == NONE:
        return None
    if not optimizer and in_forward(history, trouble.write):
        return None
    if trouble.op is not None and bare(trouble.op.func) == "embedding":
        return None
    write, node = trouble.write, trouble.node
    name = history.name(parameter, node.moment)
    facts: dict[str, Fact] = {
        "tensor": name,
        "op": node.name,
        "saver": op_name(node.name),
        "found": trouble.found,
        "expected": trouble.expected,
        "writer": bare(trouble.op.func) if trouble.op is not None else "a write",
    }
    if optimizer:
        variant, facts["optimizer"] = "step", optimizer
    elif loaded_by(history, trouble.op):
        variant = "load"
    else:
        variant = "update"
    told: dict[str, Fact] = {"tensor": name, "expected": trouble.expected}
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=[
            history.place(
                "cause",
                write.site,
                write.moment,
                note("writes", tensor=name, before=write.before, after=write.after),
            )
        ],
        witness=[history.place("witness", node.site, node.moment, note("saves", **told))],
        surfaced=[surfaced(history, note("wanted", found=trouble.found, **told))],
        fixes=_fixes(history, trouble),
    )


def _fixes(history: History, trouble: Stale) -> list[Fix | None]:
    write = trouble.write
    assert write is not None
    found: list[Fix | None] = []
    # The graph carried over from an earlier iteration: cut it there, and nothing is stale.
    retaining = trouble.run.site[-1] if trouble.run.event.retain and trouble.run.site else None
    drop: Edit | None = None
    if retaining is not None:
        drop = edits.drop_keyword(
            history.text(retaining.file), retaining.file, retaining.line, "retain_graph"
        )
    found += detach_fixes(history, trouble.run, trouble.node.event.node, drop)
    backward = trouble.run.site
    for place in reversed(write.site):
        for target in reversed(backward):
            if place.frame == target.frame and place.file == target.file:
                text = history.text(place.file)
                moved = edits.move_after(text, place.file, place.line, target.line)
                moved = moved or edits.move_block_after(text, place.file, place.line, target.line)
                facts: dict[str, Fact] = {"line": place.line, "target": target.line}
                found.append(fix("move-after-backward", facts, moved))
                return found
    return found
