"""All that can be learned here: the lessons of the package, then those of installed packs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tutor.lesson.pack import Pack, load_pack
from tutor.lesson.shelf import trusted_packs
from tutor.locations import language, lessons_dir, packs_dir


def load_course() -> Pack:
    """The package's own pack with the tracks of all trusted packs behind its own."""
    spoken = language()
    own = load_pack(lessons_dir(), language=spoken)
    others = [load_pack(place, language=spoken) for _, place in trusted_packs(packs_dir())]
    return joined(own, others) if others else own


def joined(first: Pack, others: Sequence[Pack]) -> Pack:
    """One pack with the tracks of several.

    A lesson whose id is taken stays out, with the reason: progress is kept by ids.
    """
    whole = first
    for other in others:
        if other.info is None or whole.info is None:
            whole = replace(whole, faults=(*whole.faults, *other.faults))
            continue
        taken = set(whole.lessons) | set(whole.skipped)
        fresh = {name: x for name, x in other.lessons.items() if name not in taken}
        double = {
            name: f"another pack has a lesson {name}" for name in other.lessons if name in taken
        }
        tracks = []
        for track in other.info.tracks:
            lessons = tuple(name for name in track.lessons if name not in double)
            if lessons:
                known = {"lessons": lessons, "id": f"{other.info.id}-{track.id}"}
                title = f"{other.info.title}: {track.title}"
                tracks.append(track.model_copy(update={**known, "title": title}))
        info = whole.info.model_copy(update={"tracks": (*whole.info.tracks, *tracks)})
        whole = replace(
            whole,
            info=info,
            concepts={**other.concepts, **whole.concepts},
            lessons={**whole.lessons, **fresh},
            documents={**other.documents, **whole.documents},
            faults=(*whole.faults, *other.faults),
            skipped={**whole.skipped, **other.skipped, **double},
        )
    return whole
