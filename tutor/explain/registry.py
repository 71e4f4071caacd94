"""The kinds of finding that can be recognised, in the order in which they are asked.

An error has one explanation: the first kind that recognises it, special kinds before general
ones, `other` last. What went wrong in silence is looked for by every kind that knows how.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tutor.explain.finding import Finding
from tutor.explain.history import Failure, History
from tutor.explain.kinds import (
    backward_call,
    checkpoint,
    complex_loss,
    custom_function,
    custom_op,
    data_bypass,
    disconnected,
    double_backward,
    dtype_no_grad,
    engine,
    forward_mode,
    freed_graph,
    freeze_ignored,
    functional_transform,
    grad_accumulation,
    grad_assignment,
    grad_none,
    gradcheck,
    graph_memory,
    hook_misuse,
    inference_tensor,
    inplace_leaf,
    inplace_multiview,
    inplace_saved,
    inplace_special_view,
    known,
    missing_detach,
    nan_grad,
    no_derivative,
    no_grad_fn,
    nonleaf_copy,
    nonscalar_backward,
    numpy_on_grad,
    optimizer_misuse,
    optimizer_step,
    other,
    out_argument,
    overlapping_memory,
    requires_grad_flag,
    retain_grad,
    saved_hooks,
    shape_broadcast,
    silent_checkpoint,
    silent_complex,
    silent_hooks,
    silent_inplace,
    silent_transforms,
    sparse_grad,
    stale_optimizer,
    unregistered_module,
    unused_input,
    zero_grad_op,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of trouble: its id, the lesson that teaches it, how it is recognised.

    `raised` explains the error that ended a run; `ran` finds what happened without one.
    """

    id: str
    lesson: str | None = None
    raised: Callable[[History, Failure], Finding | None] | None = None
    ran: Callable[[History], list[Finding]] | None = None


KINDS: tuple[Kind, ...] = (
    Kind("optimizer-step-stale", "inplace.optimizer-step", optimizer_step.raised),
    Kind("inplace-saved", "inplace.version-counter", inplace_saved.raised),
    Kind("freed-graph", "backward.freed", freed_graph.raised),
    Kind(
        "functional-transform",
        "higher.transforms",
        functional_transform.raised,
        silent_transforms.ran,
    ),
    Kind("custom-function", "function.first", custom_function.raised, custom_function.ran),
    Kind("hook-misuse", "hooks.grad", hook_misuse.raised, silent_hooks.ran),
    Kind("checkpoint", "engine.memory-threads-complex", checkpoint.raised, silent_checkpoint.ran),
    Kind("double-backward", "higher.create-graph", double_backward.raised, double_backward.ran),
    Kind("no-grad-fn", "off.detach-clone", no_grad_fn.raised),
    Kind("complex-loss", "engine.memory-threads-complex", complex_loss.raised, silent_complex.ran),
    Kind("nonscalar-backward", "backward.vector", nonscalar_backward.raised),
    Kind("unused-input", "backward.grad-fn", unused_input.raised),
    Kind("inference-tensor", "off.no-grad-inference", inference_tensor.raised),
    Kind("numpy-on-grad", "off.detach-clone", numpy_on_grad.raised),
    Kind("requires-grad-flag", "basics.requires-grad", requires_grad_flag.raised),
    Kind("overlapping-memory", "inplace.views", overlapping_memory.raised),
    Kind("inplace-multiview", "inplace.views", inplace_multiview.raised),
    Kind("inplace-special-view", "inplace.views", inplace_special_view.raised),
    Kind("inplace-leaf", "inplace.leaf-rule", inplace_leaf.raised),
    Kind("out-argument", None, out_argument.raised),
    Kind("dtype-no-grad", "basics.requires-grad", dtype_no_grad.raised),
    Kind("nonleaf-copy", "basics.leaf-or-not", nonleaf_copy.raised),
    Kind("sparse-grad", None, sparse_grad.raised),
    Kind("unregistered-module", None, unregistered_module.raised, unregistered_module.ran),
    Kind("retain-grad", "basics.leaf-or-not", retain_grad.raised, retain_grad.ran),
    Kind("grad-none-nonleaf", "basics.leaf-or-not", grad_none.raised, grad_none.nonleaf_ran),
    Kind("grad-none-disconnected", "off.detach-clone", ran=disconnected.ran),
    Kind("data-bypass", "inplace.data-trap", ran=data_bypass.ran),
    Kind("nan-grad", "numbers.nan-where", nan_grad.raised, nan_grad.ran),
    Kind("silent-inplace", "inplace.what-is-saved", ran=silent_inplace.ran),
    Kind("missing-detach", "off.detach-clone", ran=missing_detach.ran),
    Kind("stale-optimizer", None, ran=stale_optimizer.ran),
    Kind("freeze-ignored", "off.eval-freeze", ran=freeze_ignored.ran),
    Kind("graph-memory", "backward.leak", ran=graph_memory.ran),
    Kind("shape-broadcast", "basics.broadcast", ran=shape_broadcast.ran),
    Kind("zero-grad-op", "numbers.dead", ran=zero_grad_op.ran),
    Kind("grad-accumulation", "basics.accumulate", ran=grad_accumulation.ran),
    Kind("backward-call", "backward.vector", backward_call.raised),
    Kind("grad-assignment", None, grad_assignment.raised),
    Kind("no-derivative", None, no_derivative.raised),
    Kind("forward-mode", "higher.forward-mode", forward_mode.raised),
    Kind("gradcheck", "numbers.gradcheck", gradcheck.raised),
    Kind("optimizer-misuse", None, optimizer_misuse.raised),
    Kind("saved-hooks", "hooks.saved", saved_hooks.raised),
    Kind("custom-op", None, custom_op.raised),
    Kind("engine", "engine.memory-threads-complex", engine.raised),
    Kind("anomaly", "numbers.anomaly"),
    # Torch's words alone place an error where the recognisers above knew nothing.
    Kind("known", None, known.raised),
    Kind("other", None, other.raised),
)

BY_ID: dict[str, Kind] = {kind.id: kind for kind in KINDS}


def lesson_of(kind: str) -> str | None:
    """The lesson that teaches a kind, whether it is installed or not."""
    known = BY_ID.get(kind)
    return known.lesson if known is not None else None
