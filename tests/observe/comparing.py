"""Runs a program traced and bare, and takes down all that a person or the program could tell.

The setup that goes before the program prints, at the very end of the process, every living tensor
(those too that only the graph or a stale frame keeps) with its gradient, counter and flags, the
state of the three random generators, and, sampled at each call and return in the user's file, how
many pieces of memory were held by tensors.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, fields

from tutor.run import Runner
from tutor.trace import snippet

EPILOGUE = '''
def _epilogue(sampled):
    import atexit, ctypes, gc, hashlib, random, sys
    import numpy, torch

    def digest(value):
        if type(value).__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl:
            return "opaque"
        try:
            plain = value.detach()
            if plain.layout is not torch.strided:
                plain = plain.coalesce().to_dense() if plain.is_sparse else plain.to_dense()
            data = str(plain.tolist()) if plain.numel() < 3000 else str(plain.double().sum().item())
            return hashlib.sha1(data.encode()).hexdigest()[:10]
        except Exception as error:
            return type(error).__name__

    def asked(action):
        try:
            return action()
        except Exception as error:
            return type(error).__name__

    def told(value):
        kind = type(value).__name__
        if torch._C._functorch.is_functorch_wrapped_tensor(value):
            return kind, "wrapped"
        grad = None
        if asked(lambda: value.is_leaf or value.retains_grad) is True:
            grad = asked(lambda: value.grad)
        node = asked(lambda: value.grad_fn)
        return (
            kind, asked(lambda: tuple(value.shape)), str(value.dtype),
            asked(lambda: value._version),
            asked(lambda: value.requires_grad), asked(lambda: value.is_leaf),
            node if node is None or isinstance(node, str) else asked(node.name),
            digest(value),
            grad if grad is None or isinstance(grad, str) else (digest(grad), grad._version),
        )

    def reached():
        """All tensors that live, those too that only C++ holds: gradients, bases, saves."""
        kind = type(str.upper)  # what the methods of nodes are
        objects = gc.get_objects()
        found = {id(o): o for o in objects if torch.Tensor in type(o).__mro__}
        pending, nodes = list(found.values()), {}
        pending += [o for o in objects if type(getattr(type(o), "_sequence_nr", 0)) is kind]
        del objects
        while pending:
            item = pending.pop()
            if isinstance(item, torch.autograd.graph.Node):
                if id(item) in nodes:
                    continue
                nodes[id(item)] = item
                more = [child for child, _ in item.next_functions]
                more.append(getattr(item, "variable", None))
                for name in dir(type(item)):
                    if name.startswith("_raw_saved_"):
                        held = asked(lambda: getattr(item, name))
                        held = held if isinstance(held, (tuple, list)) else [held]
                        more += [asked(lambda: one.data) for one in held]
            else:
                more = [asked(lambda: item.grad_fn), asked(lambda: item._base)]
                if asked(lambda: item.is_leaf or item.retains_grad) is True:
                    more.append(item.grad)
            for one in more:
                if isinstance(one, torch.Tensor) and id(one) not in found:
                    found[id(one)] = one
                    pending.append(one)
                elif isinstance(one, torch.autograd.graph.Node):
                    pending.append(one)
        return list(found.values())

    def emptied():
        # A backward that failed leaves its queue in the engine until the next one empties it.
        with torch.enable_grad():
            torch.ones((), requires_grad=True).backward()

    # So that what `torch.empty` gives is not what the memory happened to hold.
    ctypes.CDLL(None).mallopt(-6, 0x55)  # M_PERTURB
    counts = []

    def profile(frame, event, arg):
        """How many pieces of memory are held by tensors, wherever that changes."""
        ours = frame.f_code.co_varnames == ("func", "args", "kwargs")
        if frame.f_code.co_filename != "snippet.py" or ours:
            return
        if event not in ("call", "return", "c_call") or len(counts) >= 100:
            return
        # What the engine or a transform holds while it runs cannot be reached.
        running = torch._C._current_graph_task_id() != -1
        if running or torch._C._functorch.peek_interpreter_stack() is not None:
            return
        frame = arg = None
        with torch._C.DisableTorchFunction():
            emptied()
            held = len({asked(lambda: one.data_ptr()) for one in reached()})
        if not counts or counts[-1] != held:
            counts.append(held)

    def report():
        import warnings
        sys.setprofile(None)
        warnings.simplefilter("ignore")
        gc.collect()
        with torch._C.DisableTorchFunction():
            emptied()
            rows = sorted(repr(told(tensor)) for tensor in reached())
        if sampled:
            print("end living", max(counts, default=0), counts)
        for row in rows:
            print("end", row)
        print("end torch", hashlib.sha1(torch.get_rng_state().numpy().tobytes()).hexdigest())
        print("end python", hashlib.sha1(repr(random.getstate()).encode()).hexdigest())
        print("end numpy", hashlib.sha1(repr(numpy.random.get_state()).encode()).hexdigest())

    if sampled:
        sys.setprofile(profile)
    atexit.register(report)

_epilogue(SAMPLED)
del _epilogue
'''


@dataclass(frozen=True, slots=True)
class Seen:
    """What came out of one run."""

    end: tuple[str, int | None, int | None]
    warnings: list[tuple[str, str, int, str]]
    printed: str
    living: list[str]


def seen(
    runner: Runner, code: str, *, observed: bool, sampled: bool = True, **options: object
) -> Seen:
    """Run a program, and take down what came out."""
    setup = EPILOGUE.replace("SAMPLED", str(sampled))
    output = bytearray()
    program = snippet(code, setup=setup, observed=observed, timeout=60.0, **options)
    trace = runner.run(program, on_output=lambda stream, data: output.extend(data))
    end = trace.end
    assert end is not None
    lines = told(bytes(output).decode("utf-8", "replace")).splitlines()
    return Seen(
        (end.outcome, end.code, end.signal),
        [(w.category, w.file, w.line, told(w.message)) for w in trace.last.warnings],
        "\n".join(line for line in lines if not line.startswith("end ")),
        [line for line in lines if line.startswith("end ")],
    )


def told(text: str) -> str:
    """A text without what no two processes have in common: addresses, scratch folders, ids."""
    text = re.sub(r"0x[0-9a-f]+", "0x…", text)
    # Anomaly mode quotes the frames that started the program; a bare run has them still. They
    # go first: the checkout itself may lie in a temporary folder.
    ours = r'  File "[^"]*/tutor/(?:run|observe)/[^"]*", line \d+, in .*\n.*\n(?:\s*\^+\n)?'
    text = re.sub(r'  File "<(?:frozen runpy|string)>".*\n', "", re.sub(ours, "", text))
    text = re.sub(r"^USDT:.*\n", "", text, flags=re.M)  # torch's profiler, with the time
    return re.sub(r"autograd-tutor-\w+|/tmp/\S+|pid \d+", "…", text)


def differences(bare: Seen, traced: Seen) -> str:
    """What differs, as a person would want to read it; empty where nothing does."""
    found: list[str] = []
    for field in fields(Seen):
        left, right = (_rows(getattr(run, field.name)) for run in (bare, traced))
        found += difflib.unified_diff(left, right, f"{field.name}: bare", "traced", "", "", 1, "")
    return "\n".join(found)


def _rows(value: object) -> list[str]:
    if isinstance(value, str):
        return value.splitlines()
    return [str(row) for row in value] if isinstance(value, list) else [str(value)]
