"""What the learner chose for the look of the app: theme and signs, kept in one small file."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

GLYPHS = ("unicode", "ascii")


@dataclass(frozen=True, slots=True)
class Settings:
    """The look of the app."""

    theme: str = "tutor-dark"
    """The name of a theme."""
    glyphs: str = "unicode"
    """ "unicode", or "ascii" for fonts that lack the signs."""
    live: bool = False
    """Whether code runs by itself when typing pauses."""


def settings_file() -> Path:
    """Where the settings lie; AUTOGRAD_TUTOR_CONFIG names another folder."""
    folder = os.environ.get("AUTOGRAD_TUTOR_CONFIG")
    if folder:
        return Path(folder) / "settings.json"
    import platformdirs

    return Path(platformdirs.user_config_dir("autograd-tutor", appauthor=False)) / "settings.json"


def load(path: Path) -> tuple[Settings, str]:
    """The settings, and a notice where the file says something that cannot be used."""
    default = replace(Settings(), glyphs=default_glyphs())
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default, ""
    except (OSError, ValueError) as error:
        return default, f"The settings in {path} cannot be read ({error}); the usual ones are used."
    if not isinstance(data, dict):
        return default, f"The settings in {path} are not a mapping; the usual ones are used."
    chosen, faults = asdict(default), []
    for name, value in data.items():
        if name not in chosen:
            faults.append(f"{name} is not a setting")
        elif type(value) is not type(chosen[name]) or (name == "glyphs" and value not in GLYPHS):
            faults.append(f"{name} cannot be {value!r}")
        else:
            chosen[name] = value
    notice = f"In {path}: {'; '.join(faults)}. The usual is used there." if faults else ""
    return Settings(**chosen), notice


def save(path: Path, settings: Settings) -> None:
    """Write the settings. Raises OSError where the folder cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(settings), indent=2) + "\n", encoding="utf-8")
    os.replace(part, path)


def default_glyphs() -> str:
    """ASCII where the terminal's encoding lacks the signs, or the environment asks for it."""
    asked = os.environ.get("AUTOGRAD_TUTOR_GLYPHS", "")
    if asked in GLYPHS:
        return asked
    encoding = (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "")
    poor = encoding not in ("utf8", "") or os.environ.get("TERM") in ("linux", "dumb")
    return "ascii" if poor else "unicode"
