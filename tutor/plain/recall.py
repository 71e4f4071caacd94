"""The questions that earlier lessons left, asked again on a schedule."""

from __future__ import annotations

from tutor.lesson import Pack, Recall
from tutor.plain.prose import wrapped
from tutor.plain.talk import Talk
from tutor.progress import Progress


def due(pack: Pack, progress: Progress) -> list[tuple[str, Recall]]:
    """(lesson id, card) of what is to be asked now, the longest due first."""
    cards = {(x.id, card.id): (x, card) for x in pack.lessons.values() for card in x.recall}
    steps = {x.id: tuple(step.id for step in x.steps) for x in pack.lessons.values()}
    wanted = progress.due((lesson, card, steps[lesson]) for lesson, card in cards)
    return [(lesson, cards[lesson, card][1]) for lesson, card in wanted]


def ask_cards(talk: Talk, pack: Pack, progress: Progress) -> None:
    """Ask what is due, one card after the other, until the lines end."""
    cards = due(pack, progress)
    if not cards:
        talk.tell(["No question from earlier lessons is due."])
        return
    for lesson, card in cards:
        talk.say(*wrapped(f"Question: {card.ask}"), "Think, then press Enter.")
        if talk.ask() is None:
            return
        talk.say(*wrapped(f"Answer: {card.answer}"), "Did you know it? yes or no")
        said = talk.ask()
        if said is None:
            return
        progress.recalled(lesson, card.id, said.strip().lower() in ("y", "yes"))
    talk.tell(["That was all for now."])
