"""A headless Chromium over its debugging pipe: no library, no port, no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def found() -> str | None:
    """The browser that is installed, if any."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of one browser, and what it complained about or asked the network for."""

    def __init__(self, program: str, profile: Path) -> None:
        into, self._write = os.pipe()
        self._read, out = os.pipe()

        def descriptors() -> None:  # the browser reads from 3 and writes to 4
            high_in, high_out = os.dup(into), os.dup(out)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self._process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--no-first-run", "--disable-background-networking", "--disable-extensions",
             "--disable-dev-shm-usage", f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=descriptors,
        )  # fmt: skip
        os.close(into)
        os.close(out)
        self._buffer = b""
        self._number = 0
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session: str | None = None
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """Ask the browser, and wait for its answer."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        session = getattr(self, "_session", None)
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == number:
                if "error" in told:
                    raise RuntimeError(told["error"]["message"])
                return told["result"]

    def _next(self) -> Any:
        while b"\0" not in self._buffer:
            data = os.read(self._read, 1 << 16)
            if not data:
                raise RuntimeError("the browser ended")
            self._buffer += data
        head, self._buffer = self._buffer.split(b"\0", 1)
        told = json.loads(head)
        self._note(told.get("method"), told.get("params", {}))
        return told

    def _note(self, method: str | None, params: Any) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def open(self, page: Path) -> None:
        """Show a file, and wait until it is there."""
        self.complaints.clear()
        self.requests.clear()
        self.call("Page.navigate", url=page.as_uri())
        for _ in range(200):
            if self.run("document.readyState === 'complete' && location.protocol === 'file:'"):
                return
            time.sleep(0.02)
        raise TimeoutError("the page did not load")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        told = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(told["exceptionDetails"]["text"])
        return told["result"].get("value")

    def press(self, key: str) -> None:
        """A key, as typed by a person."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._process.wait(timeout=10)
        os.close(self._write)
        os.close(self._read)
