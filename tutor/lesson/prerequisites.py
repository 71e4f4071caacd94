"""What lessons teach and need: concepts nobody explains, and needs that cannot be met in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tutor.lesson.document import Document
from tutor.lesson.faults import Fault, did_you_mean
from tutor.lesson.lesson import Concept, Lesson


def prerequisites(
    lessons: Mapping[str, Lesson],
    documents: Mapping[str, Document],
    concepts: Mapping[str, Concept] | None,
    whole: bool = True,
) -> Iterator[Fault]:
    """Faults of `teaches` and `requires`; `concepts` is None where the glossary has faults.

    Where not the `whole` pack could be read, nobody knows what the rest teaches.
    """
    order = list(lessons)
    teachers = first_teachers(lessons)
    cycles = dict.fromkeys(map(_rotated, _cycles(_needs(lessons, teachers), order)))
    in_a_cycle = {
        (here, there)
        for cycle in cycles
        for here, there in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    }
    for cycle in cycles:
        yield _cycle_fault(cycle, lessons, documents, teachers)
    for lesson_id, lesson in lessons.items():
        document = documents[lesson_id]
        for key, names in (("teaches", lesson.teaches), ("requires", lesson.requires)):
            for index, concept in enumerate(names):
                if concepts is not None and concept not in concepts:
                    message = f'concepts.yaml has no "{concept}"'
                    near = did_you_mean(concept, sorted(concepts))
                    yield document.fault((key, index), "E403", message, help=near)
        for index, concept in enumerate(lesson.requires):
            teacher = teachers.get(concept)
            if concepts is not None and concept not in concepts:
                continue
            if teacher is None and not whole:
                continue
            if teacher is None:
                message = f'needs "{concept}", which no lesson teaches'
                yield document.fault(("requires", index), "E401", message)
            elif (lesson_id, teacher) in in_a_cycle:
                continue
            elif order.index(teacher) >= order.index(lesson_id):
                message = f'needs "{concept}", first taught in {teacher}'
                yield document.fault(("requires", index), "E401", message)


def first_teachers(lessons: Mapping[str, Lesson]) -> dict[str, str]:
    """For each concept the lesson that teaches it first."""
    teachers: dict[str, str] = {}
    for lesson_id, lesson in lessons.items():
        for concept in lesson.teaches:
            teachers.setdefault(concept, lesson_id)
    return teachers


def _needs(lessons: Mapping[str, Lesson], teachers: Mapping[str, str]) -> dict[str, list[str]]:
    return {
        lesson_id: [teachers[c] for c in lesson.requires if c in teachers]
        for lesson_id, lesson in lessons.items()
    }


def _cycles(needs: Mapping[str, list[str]], order: list[str]) -> Iterator[tuple[str, ...]]:
    """Ways from a lesson back to itself, shortest first from each lesson."""
    for start in order:
        came_from: dict[str, str] = {}
        pending = [start]
        for here in pending:
            for there in needs[here]:
                if there == start:
                    way = [here]
                    while way[-1] != start:
                        way.append(came_from[way[-1]])
                    yield tuple(reversed(way))
                    pending.clear()
                    break
                if there not in came_from:
                    came_from[there] = here
                    pending.append(there)


def _rotated(cycle: tuple[str, ...]) -> tuple[str, ...]:
    """The same cycle, from its first lesson in alphabetical order on."""
    least = cycle.index(min(cycle))
    return cycle[least:] + cycle[:least]


def _cycle_fault(
    cycle: tuple[str, ...],
    lessons: Mapping[str, Lesson],
    documents: Mapping[str, Document],
    teachers: Mapping[str, str],
) -> Fault:
    first = cycle[0]
    parts = []
    index = 0
    for here, there in zip(cycle, (*cycle[1:], first), strict=True):
        requires = lessons[here].requires
        concept = next(c for c in requires if teachers.get(c) == there)
        if here == first:
            index = requires.index(concept)
        teacher = "teaches it itself" if there == here else f"{there} teaches it"
        parts.append(f'{here} needs "{concept}" ({teacher})')
    return documents[first].fault(
        ("requires", index), "E402", ", ".join(parts), help="take one of these out of requires:"
    )
