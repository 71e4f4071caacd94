"""`author preview`: what is saved is shown, by lines and in the app."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

from tests.author.packs import LESSON, write_pack
from tutor.app.preview import PreviewApp, PreviewServices
from tutor.author.previewing import Previewed, preview
from tutor.author.watching import Watch
from tutor.cli import main

STEPS = "- {id: hello, kind: read, text: Hello there.}\n" + LESSON.replace(
    "  hints:",
    """\
  mistakes:
    - id: one
      when: [{raises: none}]
      say: No.
      example: y = x * 1
  hints:""",
)


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return write_pack(tmp_path / "pack", {"a.b": STEPS})


def save(pack: Path, old: str, new: str) -> None:
    """Write as an editor does: a new file, put in the old one's place."""
    path = pack / "a" / "b.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.with_suffix(".tmp").write_text(text.replace(old, new), encoding="utf-8")
    path.with_suffix(".tmp").replace(path)


def test_a_save_is_noticed_once(pack: Path) -> None:
    watch = Watch(pack)
    assert not watch.changed()
    save(pack, "Hello", "Good day")
    assert watch.changed()
    assert not watch.changed()
    (pack / "a" / "new.yaml").write_text("", encoding="utf-8")
    assert watch.changed()
    (pack / "a" / "new.yaml").unlink()
    assert watch.changed()
    (pack / "a" / "notes.txt").write_text("no lesson", encoding="utf-8")
    assert not watch.changed()


class Console:
    """The two ends of a conversation, as a terminal has them."""

    def __init__(self, pack: Path, step: str = "") -> None:
        reading, self._writing = os.pipe()
        hearing, saying = os.pipe()
        self._heard = ""
        self._hearing = hearing
        source, target = os.fdopen(reading), os.fdopen(saying, "w")
        work = lambda: preview(Previewed(pack, "a.b"), step, source, target)  # noqa: E731
        self._thread = threading.Thread(target=work)
        self._thread.start()
        os.set_blocking(hearing, False)

    def type(self, line: str) -> None:
        os.write(self._writing, f"{line}\n".encode())

    def hears(self, text: str, seconds: float = 30.0) -> str:
        """Wait until a text was said; gives all that was said up to there."""
        end = time.monotonic() + seconds
        while text not in self._heard:
            assert time.monotonic() < end, f"{text!r} was not said in {self._heard!r}"
            try:
                self._heard += os.read(self._hearing, 65536).decode()
            except BlockingIOError:
                time.sleep(0.02)
        said, _, self._heard = self._heard.partition(text)
        return said

    def close(self) -> None:
        self.type("quit")
        self._thread.join(30)
        assert not self._thread.is_alive()


def test_plain_shows_what_was_saved_at_the_same_step(pack: Path) -> None:
    console = Console(pack)
    try:
        console.hears("Hello there.")
        save(pack, "Hello there.", "Good day.")
        began = time.monotonic()
        console.hears("Good day.")
        assert time.monotonic() - began < 20
        console.type("next")
        console.hears("Make the gradient 12.")
        save(pack, "kind: fix", "kind: fex")
        console.hears("E206 unknown-kind")
        console.hears("^~~")
        save(pack, "kind: fex", "kind: fix")
        said = console.hears("Make the gradient 12.")
        assert "Step 2 of 2" in said
    finally:
        console.close()


def test_the_app_shows_what_was_saved(pack: Path, tmp_path: Path) -> None:
    previewed = Previewed(pack, "a.b")

    async def look() -> None:
        services = PreviewServices(previewed.load()[0], tmp_path)
        app = PreviewApp(services, previewed, "mend", look=0.05)

        async def until(text: str) -> None:
            for _ in range(400):
                await asyncio.sleep(0.05)
                lines = app.screen._compositor.render_strips()
                seen = "\n".join("".join(s.text for s in strip) for strip in lines)
                if text in seen:
                    return
            raise AssertionError(f"{text!r} is not on the screen:\n{seen}")

        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            await until("Make the gradient 12.")
            save(pack, "Make the gradient 12.", "Let the slope be 12.")
            await until("Let the slope be 12.")
            await pilot.press("f2")
            await until("2 * x ** 2")
            await pilot.press("f3")
            await until("y = x * 1")
            save(pack, "kind: fix", "kind: fex")
            await until("unknown-kind")
            save(pack, "kind: fex", "kind: fix")
            await until("Read anew.")
        services.close()

    asyncio.run(look())


def test_what_cannot_be_previewed_is_refused(
    pack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson = str(pack / "a" / "b.yaml")
    assert main(["author", "preview", lesson, "--step", "nowhere"]) == 2
    assert "It has: hello, mend" in capsys.readouterr().err
    assert main(["author", "preview", lesson]) == 2
    assert "The app needs a terminal" in capsys.readouterr().err
    save(pack, "kind: fix", "kind: fex")
    assert main(["author", "preview", lesson, "--plain"]) == 2
    assert "E206" in capsys.readouterr().err
