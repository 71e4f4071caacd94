"""What a program can tell all the same: the list of docs/observing.md, each with its program.

A difference stays on the list only while it is there; and where Python or torch forces it, a bare
run with a tracer that only reads `f_locals`, or with a function mode that does nothing, shows it
just as well. Python 3.13 has another `f_locals`, which changes nothing.
"""

from __future__ import annotations

import sys

import pytest

from tests.observe.comparing import seen
from tutor.run import Runner

TRACER = """\
import sys
def _tracer(frame, event, arg):
    return _tracer
sys.settrace(_tracer)
"""

READER = TRACER.replace("    return", "    frame.f_locals\n    return")

MODE = """\
from torch.overrides import TorchFunctionMode
class _Mode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
_Mode().__enter__()
"""

LOCALS = pytest.mark.skipif(sys.version_info >= (3, 13), reason="f_locals is a view")

# name -> (what shows it as well, the program, what it prints bare, what it prints traced)
FORCED = {
    "the-tracer": (
        TRACER,
        "import sys\nprint(sys.gettrace() is None)\n",
        "True",
        "False",
    ),
    "the-function-mode": (
        MODE,
        "import torch\n"
        "from torch.overrides import _get_current_function_mode_stack, has_torch_function\n"
        "print(len(_get_current_function_mode_stack()), has_torch_function((torch.ones(1),)))\n",
        "0 False",
        "1 True",
    ),
    "a-dict-of-locals-is-kept-up-to-date": (
        READER,
        "def f():\n"
        "    x = 1\n"
        "    names = locals()\n"
        "    y = 2\n"
        "    names['x'] = 5\n"
        "    z = 3\n"
        "    return sorted(names), names['x']\n"
        "print(f())\n",
        "(['x'], 5)",
        "(['names', 'x', 'y', 'z'], 1)",
    ),
    "a-rebound-object-lives-to-the-next-line": (
        READER,
        "import torch, weakref\n"
        "def f(x):\n"
        "    y = x * 2\n"
        "    r = weakref.ref(y); y = y + 1; print(r() is None)\n"
        "    print(r() is None)\n"
        "f(torch.ones(1))\n",
        "True\nTrue",
        "False\nTrue",
    ),
    "one-reference-more-to-each-local": (
        READER,
        "import sys\ndef f(x):\n    return sys.getrefcount(x)\nprint(f(object()))\n",
        "2",
        "3",
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=LOCALS if FORCED[n][0] is READER else ()) for n in FORCED]
)
def test_what_python_and_torch_force(runner: Runner, name: str) -> None:
    cause, program, bare, traced = FORCED[name]
    assert printed(runner, program, observed=False) == bare
    assert printed(runner, program, observed=True) == traced
    assert printed(runner, cause + program, observed=False) == traced


def test_the_stack_has_frames_of_ours_around_a_call_of_torch(runner: Runner) -> None:
    program = (
        "import inspect, torch\n"
        "x = torch.ones(1, requires_grad=True)\n"
        "def hook(g):\n"
        "    files = [f.filename for f in inspect.stack()]\n"
        "    print(sum('observe' in f for f in files) > 0, files.count('snippet.py'))\n"
        "x.register_hook(hook)\n"
        "x.backward()\n"
    )
    # The child's own frame, that runs the program, is there in both.
    told = program.replace("sum('observe' in f", "sum('observe/mode' in f")
    assert printed(runner, told, observed=False) == "False 2"
    assert printed(runner, told, observed=True) == "True 3"


def test_more_of_the_tensors_that_live_have_an_object_in_python(runner: Runner) -> None:
    program = (
        "import gc, torch\n"
        "x = torch.ones(1, requires_grad=True)\n"
        "(x * 2).sum().backward()\n"
        "print(sum(type(o) is torch.Tensor for o in gc.get_objects()))\n"
    )
    # `.grad` was made by the engine; who reads it makes an object for it, which stays.
    before = int(printed(runner, program, observed=False))
    assert int(printed(runner, program, observed=True)) == before + 1
    read = program.replace("print(", "x.grad\nprint(")
    assert int(printed(runner, read, observed=False)) == before + 1


def test_nodes_carry_a_key_of_ours(runner: Runner) -> None:
    program = (
        "import torch\nprint(list((torch.ones(1, requires_grad=True) * 2).grad_fn.metadata))\n"
    )
    assert printed(runner, program, observed=False) == "[]"
    assert printed(runner, program, observed=True) == "['autograd_tutor']"


def test_a_tracer_of_the_programs_own_sees_the_handler_called(runner: Runner) -> None:
    program = (
        "import sys, torch\n"
        "names = set()\n"
        "def look(frame, event, arg):\n"
        "    names.add(frame.f_code.co_name)\n"
        "x = torch.ones(1)\n"
        "sys.settrace(look)\n"
        "x + 1\n"
        "sys.settrace(None)\n"
        "print(sorted(names))\n"
    )
    assert printed(runner, program, observed=False) == "[]"
    assert printed(runner, program, observed=True) == "['__torch_function__']"


def test_a_recursion_error_inside_torch_comes_a_few_frames_earlier(runner: Runner) -> None:
    program = (
        "import torch\n"
        "def deep(x, n):\n"
        "    try:\n"
        "        torch.nn.functional.relu(x)\n"
        "        return deep(x, n + 1)\n"
        "    except RecursionError:\n"
        "        return n\n"
        "x = torch.ones(1)\n"
        "print(deep(x, 0))\n"
    )
    bare, traced = (int(printed(runner, program, observed=which)) for which in (False, True))
    assert 0 <= bare - traced <= 16


def printed(runner: Runner, program: str, *, observed: bool) -> str:
    run = seen(runner, program, observed=observed, sampled=False)
    assert run.end[0] == "ok", run.printed
    return run.printed.strip()
