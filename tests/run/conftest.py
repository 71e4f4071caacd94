import os
import tempfile

import pytest

from tests.run import tree
from tutor.run import Limits, Runner
from tutor.trace import snippet

FAKE = "tests.run.fake_observer"

QUICK = Limits(
    cpu_seconds=1,
    memory_bytes=300 * 1024 * 1024,
    file_bytes=1024 * 1024,
    descendants=60,
    interrupt_grace=0.3,
    output_bytes=4096,
    events=20_000,
    event_bytes=8 * 1024 * 1024,
)


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory):
    """Where no bytecode may be written beside the sources, each process would compile them.

    Output is buffered as it is by default, so that a line comes in one piece.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.delenv("PYTHONUNBUFFERED", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        yield


@pytest.fixture(scope="session", params=["fork", "spare"])
def shared_runner(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scratch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        with Runner(backend=request.param, observer=FAKE, limits=QUICK) as runner:
            yield runner
    # Whatever all the tests did: no folder of a run is left.
    assert list(folder.iterdir()) == []


@pytest.fixture
def runner(shared_runner):
    """A runner that, whatever a test did to it, runs the next program and leaves nothing."""
    yield shared_runner
    after = shared_runner.run(snippet("print('still here')"))
    assert (after.end.outcome, after.end.output) == ("ok", "still here\n")
    assert tree.wait_for(lambda: shared_runner.ready)
    # Of this runner there are a host, and a warden with a child that waits: three processes.
    host = shared_runner._link._process.pid
    assert tree.wait_for(lambda: len(tree.below(host)) == 2), tree.below(host)
    mine = tree.below(os.getpid())
    assert set(mine) >= {host, *tree.below(host)}
