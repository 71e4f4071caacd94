"""The progress of a class as a table: a row for each learner and step."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime

from tutor.progress.history import DONE, Key
from tutor.progress.records import AnyRecord, Helped, Opened, Recalled, Skipped, Tried

COLUMNS = (
    "learner",
    "lesson",
    "step",
    "status",
    "tries",
    "hints",
    "solution shown",
    "first",
    "last",
)


def table(learners: Iterable[tuple[str, Iterable[AnyRecord]]]) -> str:
    """Comma-separated values with a heading, from (name, records) of each learner.

    `status` is "done", "skipped", "tried" or "opened"; `tries` counts up to the first that was
    done; times are UTC. Steps stand in the order in which the learner came to them.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, records in learners:
        steps: dict[Key, list[AnyRecord]] = {}
        for record in sorted(records, key=lambda record: record.at):
            if not isinstance(record, Recalled):
                steps.setdefault((record.lesson, record.step), []).append(record)
        for (lesson, step), known in steps.items():
            writer.writerow([_plain(cell) for cell in (name, lesson, step, *_row(known))])
    return out.getvalue()


def _row(records: list[AnyRecord]) -> tuple[str, ...]:
    tries = [record for record in records if isinstance(record, Tried)]
    done = next((place for place, one in enumerate(tries, 1) if one.status in DONE), None)
    helped = {record.what for record in records if isinstance(record, Helped)}
    if done is not None:
        status = "done"
    elif any(isinstance(record, Skipped) for record in records):
        status = "skipped"
    else:
        status = "tried" if tries else "opened"
    begun = next((record for record in records if isinstance(record, Opened)), records[0])
    return (
        status,
        str(len(tries) if done is None else done),
        str(len(helped - {"solution"})),
        "yes" if "solution" in helped else "no",
        _time(begun.at),
        _time(records[-1].at),
    )


def _time(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return ""


def _plain(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: the files are other people's."""
    return "'" + cell if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
