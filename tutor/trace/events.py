"""The events that a run emits: the only thing that crosses from a learner's process.

An event says one thing that happened; where it happened follows from the events before it
(`Enter`, `Leave` and `Line` keep the user's stack), so an event is small. Ids are integers
given by the observer and never reused within a run:

* `frame`: one activation of a user function (a module's top level too),
* `uid`: one tensor object, from birth to death,
* `counter`: one version counter, shared by a tensor, its views and its detached aliases,
* `node`: one autograd node, `op`: one call of a torch function, `run`: one backward pass.

`-1` stands for "none" or "not known" in every id. Storage keys are addresses: equal keys
mean shared memory only while both owners live, so always bound a comparison by time.
"""

from __future__ import annotations

import msgspec

NONE = -1


class Value(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a tensor held at one moment.

    `flat` holds all elements in row-major order where there are at most 64 (complex numbers
    as text), else None; `low`, `high` and `mean` are over the finite elements, None where
    there is none or the dtype has no order; `nonfinite` counts NaN and infinities.
    """

    shape: tuple[int, ...]
    dtype: str
    flat: tuple[float | int | bool | str, ...] | None
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    nonfinite: int = 0


class Save(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A tensor that a node keeps for its backward.

    `name` is torch's ("self", "other", "result"). `uid` is the saved tensor, or for an alias
    the tensor whose memory it shares, where that is one the run has seen, else NONE. `role` is
    "input", "output", "alias" (shares memory with an input or output), "copy" (a private clone,
    as in-place mul makes of its overwritten self), "constant" (a wrapped number) or "internal"
    (indices, masks, statistics).
    `version` is the counter's value when it was saved; `packed` says that a saved-tensor hook
    replaced the tensor, so that nothing more is known of it.
    """

    name: str
    uid: int
    counter: int
    storage: int
    version: int
    shape: tuple[int, ...]
    dtype: str
    role: str
    packed: bool = False
    value: Value | None = None


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Base of all events."""


# --- the run and its places -------------------------------------------------------------


class Start(Event, frozen=True, tag="start"):
    """The first event. `threads` is the number of intra-op threads."""

    torch: str
    python: str
    threads: int


class Text(Event, frozen=True, tag="text"):
    """The text of a user file, sent before the first place that names it."""

    file: str
    text: str
    role: str = "main"


class Enter(Event, frozen=True, tag="enter"):
    """A user frame became the innermost one (a call, or a generator resumed).

    `via` names the call path of library frames between the caller and this frame. `within` is
    the line where it already was when watching began (NONE: it begins now); in which iteration
    of the loops around that line is not known.
    """

    frame: int
    function: str
    file: str
    line: int
    via: int = NONE
    within: int = NONE


class Leave(Event, frozen=True, tag="leave"):
    """The innermost user frame returned, raised, or (`done=False`) yielded."""

    frame: int
    done: bool = True


class Line(Event, frozen=True, tag="line"):
    """A line of the innermost user frame is about to run."""

    frame: int
    line: int


class Via(Event, frozen=True, tag="via"):
    """Interns a path of library frames, outermost first, each (file tail, qualified name)."""

    via: int
    frames: tuple[tuple[str, str], ...]


class Thread(Event, frozen=True, tag="thread"):
    """The events that follow come from this thread (0 is the main one)."""

    thread: int
    name: str


class Bind(Event, frozen=True, tag="bind"):
    """A name in a user frame now means this tensor (NONE: no tensor any more).

    `name` may be dotted or indexed: `self.hidden[0]`.
    """

    frame: int
    name: str
    uid: int


class Mode(Event, frozen=True, tag="mode"):
    """Grad mode or inference mode changed."""

    grad: bool
    inference: bool


class Skipped(Event, frozen=True, tag="skipped"):
    """A stretch of the run that was folded, and whose single events are not kept.

    `lines` is how many lines ran in it; `first` and `last` are the iterations of the enclosing
    loops where it begins and ends, outermost first. No process sends it: a trace has it in the
    place of what it let go.
    """

    events: int
    lines: int
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()


# --- tensors and ops --------------------------------------------------------------------


class Tensor(Event, frozen=True, tag="tensor"):
    """A tensor was first seen, or what is said here of it changed.

    `node` is its grad_fn, `out` the output number there; `base` the tensor it is a view of.
    `kind` is the class name ("Tensor", "Parameter", …). `label` is a parameter's name inside
    its module ("net.0.weight"), or "".
    """

    uid: int
    shape: tuple[int, ...]
    dtype: str
    device: str
    requires_grad: bool
    leaf: bool
    node: int
    out: int
    counter: int
    version: int
    storage: int
    base: int = NONE
    kind: str = "Tensor"
    label: str = ""


class Op(Event, frozen=True, tag="op"):
    """A call of a torch function returned, or (`error`) raised.

    `func` is "torch.exp", "Tensor.mul_", "functional.linear"; `args` and `outs` are the
    tensors in and out, in order; `detail` the other arguments as text. `via` is the path of
    library frames between the user's line and the call (NONE for a direct call).
    `nested`: made inside a running backward pass.
    """

    op: int
    func: str
    args: tuple[int, ...]
    outs: tuple[int, ...]
    detail: str = ""
    via: int = NONE
    error: tuple[str, str] | None = None
    nested: bool = False


class Node(Event, frozen=True, tag="node"):
    """An autograd node was first seen, made by op `op`.

    `edges` are (node, input number) in the order of next_functions, NONE where an input needs
    no gradient. `leaf` is the variable of an AccumulateGrad node. `seq` is torch's sequence
    number, which is not a topological order. `inputs` are the uids of the op's tensor
    arguments that require grad.
    """

    node: int
    name: str
    seq: int
    op: int
    edges: tuple[tuple[int, int], ...]
    saves: tuple[Save, ...] = ()
    leaf: int = NONE


class Write(Event, frozen=True, tag="write"):
    """A version counter moved: tensor `uid` was written by op `op`.

    `op` is NONE for a write that no function call showed (found by a later reading).
    """

    counter: int
    uid: int
    storage: int
    before: int
    after: int
    op: int


class Contents(Event, frozen=True, tag="contents"):
    """What a tensor holds now: sent at birth, and after writes, as far as the budget allows."""

    uid: int
    value: Value


class Altered(Event, frozen=True, tag="altered"):
    """At a backward, the memory of a save no longer held what was saved, at the same version."""

    run: int
    node: int
    save: str
    storage: int


class Dead(Event, frozen=True, tag="dead"):
    """These nodes and tensor objects no longer exist.

    The death of a node is told at once, that of a tensor when the observer comes to count.
    """

    nodes: tuple[int, ...]
    tensors: tuple[int, ...] = ()


# --- backward ---------------------------------------------------------------------------


class BackwardStart(Event, frozen=True, tag="bwd"):
    """A backward pass begins. `kind` is "backward" or "grad"; `roots` are (tensor, node)."""

    run: int
    kind: str
    roots: tuple[tuple[int, int], ...]
    seeds: tuple[Value | None, ...]
    retain: bool
    create: bool
    inputs: tuple[int, ...] | None
    nested: bool = False


class Visit(Event, frozen=True, tag="visit"):
    """The engine reached a node: the gradient of each of its outputs (None: undefined)."""

    run: int
    node: int
    grads: tuple[Value | None, ...]


class Sent(Event, frozen=True, tag="sent"):
    """A node finished: the gradient it sent along each edge."""

    run: int
    node: int
    grads: tuple[Value | None, ...]


class Accumulate(Event, frozen=True, tag="acc"):
    """A backward pass added into a tensor's `.grad`."""

    run: int
    uid: int
    grad: int
    before: Value | None
    after: Value | None


class Grad(Event, frozen=True, tag="grad"):
    """`.grad` of a tensor changed other than by a backward (`how`: "set", "none", "write")."""

    uid: int
    grad: int
    value: Value | None
    how: str


class GradRead(Event, frozen=True, tag="gradread"):
    """The user's own code read `.grad` of a tensor and got this."""

    uid: int
    grad: int


class Freed(Event, frozen=True, tag="freed"):
    """A pass released what these nodes had saved."""

    run: int
    nodes: tuple[int, ...]


class Stale(Event, frozen=True, tag="stale"):
    """The save that made a pass fail: the counter reads `found` where the node kept `expected`.

    `found` of NONE means that the buffers were freed.
    """

    run: int
    node: int
    save: str
    found: int
    expected: int


class BackwardEnd(Event, frozen=True, tag="bwdend"):
    """A backward pass ended. `failing` is the node that raised; `results` what grad gave."""

    run: int
    ok: bool
    failing: int
    error: tuple[str, str] | None
    results: tuple[int, ...] = ()


# --- what came out ----------------------------------------------------------------------


class Output(Event, frozen=True, tag="out"):
    """Text that Python code wrote to stdout (1) or stderr (2)."""

    stream: int
    text: str


class Warned(Event, frozen=True, tag="warn"):
    """A warning was shown."""

    category: str
    message: str
    file: str
    line: int


class Raised(Event, frozen=True, tag="raised"):
    """The exception that ended the program, with its user frames, outermost first.

    `line`, `offset` and `text` of a SyntaxError are those of the error itself.
    `traceback` is what Python prints, without our frames.
    """

    kind: str
    message: str
    frames: tuple[tuple[str, int, str], ...]
    traceback: str


class Answer(Event, frozen=True, tag="answer"):
    """The answer to a probe. `status` is "ok" or "undecided"; `data` is JSON-like."""

    id: str
    status: str
    data: object = None


class Effect(Event, frozen=True, tag="effect"):
    """A script did something that outlives it: `kind` is "file", "connection", "process", "input".

    Temporary files do not count. Told in the script profile only.
    """

    kind: str
    what: str


class Unseen(Event, frozen=True, tag="unseen"):
    """From here something of the program runs out of the observer's sight.

    `what` is "torch.compile", "torch.jit.trace", "torch.jit.script", "torch.export", "torch.fx"
    (taken apart by torch, which would take the observer for a part of it), "process" (another
    process of the program), "worker" (one of a DataLoader), "torch.distributed" (what is
    exchanged with others), "torch.func" (values inside a transform; calls and graphs are seen) or
    "forward-mode" (tangents); `detail` may say more. Told once for each line of the program.
    """

    what: str
    detail: str = ""


class Truncated(Event, frozen=True, tag="trunc"):
    """Counts of what the observer left out for want of budget."""

    events: int = 0
    values: int = 0


class Finished(Event, frozen=True, tag="end"):
    """The program came to its end by itself: `how` is "ok", "error" or "exited"."""

    how: str
    code: int
    seconds: float


AnyEvent = (
    Start
    | Text
    | Enter
    | Leave
    | Line
    | Via
    | Thread
    | Bind
    | Mode
    | Skipped
    | Tensor
    | Op
    | Node
    | Write
    | Contents
    | Altered
    | Dead
    | BackwardStart
    | Visit
    | Sent
    | Accumulate
    | Grad
    | GradRead
    | Freed
    | Stale
    | BackwardEnd
    | Output
    | Warned
    | Raised
    | Answer
    | Effect
    | Unseen
    | Truncated
    | Finished
)
