"""A sparse gradient meets an optimizer, or an option of one, that cannot use it."""

from __future__ import annotations

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare

KIND = "sparse-grad"


def raised(history: History, failure: Failure) -> Finding | None:
    """An optimizer's step that failed while an embedding with `sparse=True` was in use."""
    if not failure.inside("torch/optim/") or "sparse" not in failure.message:
        return None
    used = [
        op
        for op in history.ops
        if bare(op.func) in ("embedding", "embedding_bag") and "sparse=True" in op.event.detail
    ]
    causes: list[FindingPlace | None] = []
    fixes: list[Fix | None] = []
    dense: dict[int, Edit | None] = {}
    for file, text in history.trace.texts.items():
        for layer in ("Embedding", "EmbeddingBag", "embedding", "embedding_bag"):
            for line in source.lines_calling(text, layer, "sparse"):
                causes.append(history.line_place("cause", file, line, note("sparse")))
                edit = edits.drop_keyword(text, file, line, "sparse")
                dense[line] = edit
    if dense:
        fixes.append(fix("dense", {"line": min(dense)}, *dense.values()))
    if not causes:
        causes = [history.place("cause", op.site, op.moment, note("sparse")) for op in used[-1:]]
    for op in history.ops:
        if op.func == "Optimizer.__init__":
            causes.append(history.place("cause", op.site, op.moment))
    optimizer = next((op for op in reversed(history.ops) if op.func == "Optimizer.step"), None)
    facts: dict[str, Fact] = {
        "optimizer": optimizer.event.detail if optimizer is not None else "The optimizer",
        "message": failure.message,
    }
    causes.append(history.place("cause", failure.site, failure.moment))
    return finding(
        KIND,
        "error",
        "plain",
        facts,
        cause=causes,
        witness=[history.place("witness", op.site, op.moment) for op in used[-1:]],
        surfaced=[surfaced(history)],
        fixes=fixes,
    )
