"""Whether a lesson that was named on the command line is there."""

from __future__ import annotations

from difflib import get_close_matches

import click

from tutor.locations import lessons_dir


def require_lesson(named: str | None) -> None:
    """Refuse a name that is no lesson's or no step's of it.

    Raises `click.ClickException` with the nearest names.
    """
    if not named:
        return
    lesson, _, step = named.partition("/")
    folder = lessons_dir()
    track, _, name = lesson.partition(".")
    if name and not step and (folder / track / f"{name}.yaml").is_file():
        return
    # Only now is the pack worth reading: a lesson may go by an earlier name.
    from tutor.lesson import load_course

    pack = load_course()
    found = pack.lesson(lesson)
    if found is not None:
        steps = [one.id for one in found.steps]
        if not step or any(step in (one.id, *one.was) for one in found.steps):
            return
        near = get_close_matches(step, steps, n=3, cutoff=0.4) or steps
        raise click.ClickException(
            f"The lesson {lesson} has no step {step!r}. Some that it has: {', '.join(near)}."
        )
    near = get_close_matches(lesson, pack.lessons, n=3, cutoff=0.4) or list(pack.lessons)[:3]
    raise click.ClickException(f"There is no lesson {lesson!r}. Some that are: {', '.join(near)}.")


def first_lesson() -> str | None:
    """The lesson to begin with; None for a learner who has begun, or where there is none."""
    from tutor.progress import progress_file

    if progress_file().exists():
        return None
    import yaml

    try:
        info = yaml.safe_load((lessons_dir() / "pack.yaml").read_text(encoding="utf-8"))
        first = info["tracks"][0]["lessons"][0]
    except (OSError, ValueError, yaml.YAMLError, LookupError, TypeError):
        return None  # the app says what is wrong with the pack
    return first if isinstance(first, str) else None
