"""What the first frame waits for: nothing but textual and the screen itself."""

from __future__ import annotations

import subprocess
import sys

FIRST_FRAME = """
import asyncio, sys
from tutor.app.app import TutorApp
from tutor.app.real import RealServices

class Watched(TutorApp):
    async def _painted(self):
        print("at the first frame:", *sorted(heavy & set(sys.modules)))
        await super()._painted()
        print("later:", *sorted({"torch"} & set(sys.modules)))

heavy = {"torch", "pydantic", "yaml", "pygments", "markdown_it", "tutor.run", "tutor.trace"}

async def main():
    services = RealServices()
    services.start = lambda: None
    async with Watched(services).run_test(size=(120, 40)) as pilot:
        await pilot.pause(1.0)

asyncio.run(main())
"""


def test_nothing_heavy_is_loaded_before_the_first_frame_and_torch_never(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FRAME],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"AUTOGRAD_TUTOR_DATA": str(tmp_path), "PATH": "", "HOME": str(tmp_path)},
    )
    assert done.stdout.splitlines() == ["at the first frame:", "later:"]


async def test_the_runner_starts_after_the_first_frame(make, services):
    frames: list[str] = []
    app = make(None)
    services.start = lambda: frames.append(f"started {app.first_frame is not None}")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
    assert frames == ["started True"]
