"""Pages with examples: what stands in their fences, and the packs these make."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.author.packs import HEAD, write_pack

_FENCE = re.compile(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HELLO = "- {id: only, kind: read, text: Hello.}\n"


def section(page: str, title: str) -> str:
    """The part of a page under a heading of the second level."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found is not None, f"the page has no part {title}"
    return found[1]


def build(folder: Path, text: str) -> Path:
    """The pack that the fences of a text describe, each adding to a small sound one.

    `yaml steps` are the steps of the lesson group.sample, `yaml lesson` keys of it that replace
    those of the head, `yaml NAME` a whole file; `sh` runs in the pack's folder.
    """
    fences = [(what, name or "", body) for what, name, body in _FENCE.findall(text)]
    assert fences, "no example"
    steps = next((body for _, name, body in fences if name == "steps"), _HELLO)
    head = HEAD.format(id="group.sample", title="Sample")
    for what, name, body in fences:
        if (what, name) == ("yaml", "lesson"):
            for key in re.findall(r"^(\w+):", body, re.MULTILINE):
                head = re.sub(rf"^{key}:.*\n(  .*\n)*", "", head, flags=re.MULTILINE)
            head = head.replace("steps:\n", body + "steps:\n")
    indented = "".join(f"  {line}\n" if line else "\n" for line in steps.splitlines())
    write_pack(folder, {"group.sample": head + indented})
    for what, name, body in fences:
        if what == "sh":
            subprocess.run(["sh", "-ec", body], cwd=folder, check=True, timeout=20)
        elif name not in ("steps", "lesson"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(body, encoding="utf-8")
    return folder
