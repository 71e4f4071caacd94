"""Programs that other tests run: real situations, their repairs, healthy ones, reproducers."""

from __future__ import annotations

from pathlib import Path

import yaml

_TESTS = Path(__file__).parent.parent


def load(path: Path) -> object:
    return yaml.load(
        path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )


def everything() -> dict[str, str]:
    """Name -> text of every program kept with the tests."""
    found: dict[str, str] = {}
    for path in sorted((_TESTS / "cases").glob("[0-9]*.py")):
        found[path.stem] = path.read_text(encoding="utf-8")
        answer = load(path.with_suffix(".yaml"))
        assert isinstance(answer, dict)
        if answer.get("fixed_code"):
            found[f"{path.stem}-repaired"] = answer["fixed_code"]
    for path in sorted((_TESTS / "healthy").glob("[0-9]*.py")):
        found[f"healthy-{path.stem}"] = path.read_text(encoding="utf-8")
    for entry in load(_TESTS / "programs" / "reproducers.yaml"):
        found[f"reproducer-{entry['id']}"] = entry["reproducer"]
    return found
