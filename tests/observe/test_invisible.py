"""The observer changes nothing: every program kept with the tests, traced and bare.

Compared are the exit, everything printed (results, warnings with file and line, tracebacks), and
at the end each tensor of the main module with its gradient, version and flags, and the state of
torch's random generator.
"""

from __future__ import annotations

import re

import pytest

from tests.programs import everything
from tutor.run import Runner
from tutor.trace import Trace, snippet

PROGRAMS = everything()

# What Python or torch itself forces: their texts quote frames of the interpreter's C stack.
QUOTES_THE_C_STACK = {"reproducer-ckpt-debug"}

EPILOGUE = """
import atexit, hashlib, sys, torch, warnings

def report():
    warnings.simplefilter("ignore")
    space = vars(sys.modules["__main__"])
    for name in sorted(space):
        for inner, value in parts(name, space[name]):
            try:
                told = (value.requires_grad, value.is_leaf, value._version, digest(value))
                grad = value.grad if value.is_leaf or value.retains_grad else None
                print("end", inner, *told, None if grad is None else (digest(grad), grad._version))
            except Exception as error:
                print("end", inner, type(error).__name__)
    print("end rng", hashlib.sha1(torch.get_rng_state().numpy().tobytes()).hexdigest())

def parts(name, value):
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, torch.nn.Module):
        try:
            yield from ((f"{name}.{inner}", p) for inner, p in value.named_parameters())
        except Exception:
            return

def digest(value):
    plain = value.detach()
    return hashlib.sha1(str(plain.tolist()).encode()).hexdigest()[:12], tuple(value.shape)

atexit.register(report)
"""


def seen(runner: Runner, code: str, observed: bool) -> tuple[object, ...]:
    program = snippet(code, setup=EPILOGUE, observed=observed, timeout=60.0)
    output = bytearray()
    trace: Trace = runner.run(program, on_output=lambda stream, data: output.extend(data))
    assert trace.end is not None
    end = trace.end
    text = told(bytes(output))
    for name in re.findall(r"(\w+) = torch\.empty\(", code):  # holds whatever memory held
        text = re.sub(rf"end {name} .*\n", "", text)
    return end.outcome, end.code, end.signal, text


def told(data: bytes) -> str:
    text = re.sub(r"0x[0-9a-f]+", "0x…", data.decode("utf-8", "replace"))
    # Anomaly mode quotes the frames that started the program; a bare run has them still. They
    # go first: the checkout itself may lie in a temporary folder.
    ours = r'  File "[^"]*/tutor/(?:run|observe)/[^"]*", line \d+, in .*\n.*\n(?:\s*\^+\n)?'
    text = re.sub(r'  File "<(?:frozen runpy|string)>".*\n', "", re.sub(ours, "", text))
    return re.sub(r"autograd-tutor-\w+|/tmp/\S+|pid \d+", "…", text)


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - QUOTES_THE_C_STACK))
def test_a_traced_run_is_a_bare_run(runner: Runner, name: str) -> None:
    assert seen(runner, PROGRAMS[name], True) == seen(runner, PROGRAMS[name], False)


@pytest.mark.parametrize("name", sorted(QUOTES_THE_C_STACK))
def test_a_quoted_c_stack_alone_may_differ(runner: Runner, name: str) -> None:
    bare, traced = (seen(runner, PROGRAMS[name], observed) for observed in (False, True))
    assert bare[:3] == traced[:3]
    ends = [
        [line for line in str(s[3]).splitlines() if line.startswith("end ")] for s in (bare, traced)
    ]
    assert ends[0] == ends[1] != []
