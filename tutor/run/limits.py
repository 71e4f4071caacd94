"""How much of the machine a snippet may use, and how much of a run is kept."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run. The first four and `events` hold in the snippet profile only.

    `memory_bytes` bounds what each process adds to a fresh one, and their sum;
    `descendants` the processes alive at one time beside the program itself.
    `output_bytes` is what is kept of the output (its first and its last half);
    a run that sends more than `events` events or `event_bytes` bytes of them is ended. A script
    may send as many as it likes, since of a long run the first and the last ones are kept;
    it is ended where more than `living` tensors, graph nodes and the like have to be kept at one
    time, or where its events are so large that they have `event_bytes` bytes more than usual.
    """

    cpu_seconds: int = 60
    memory_bytes: int = 2048 * MIB
    file_bytes: int = 64 * MIB
    descendants: int = 32
    interrupt_grace: float = 2.0
    """Seconds between Ctrl-C and the end of a script that does not stop by itself."""
    output_bytes: int = 256 * 1024
    events: int = 2_000_000
    event_bytes: int = 256 * MIB
    living: int = 6_000_000
