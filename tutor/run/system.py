"""The services of the system that this machine runs."""

from __future__ import annotations

import sys

if sys.platform == "linux":
    from tutor.run.linux import (
        ADOPTS,
        HURRY,
        adopt_orphans,
        descendants,
        die_with_parent,
        end_when_closed,
        limit_memory,
        mark,
        marked,
        new_mark,
        offer_to_oom_killer,
        oom_kills,
        proportional,
        resident,
        stay_when_closed,
        widen,
    )
else:
    from tutor.run.posix import (
        ADOPTS,
        HURRY,
        adopt_orphans,
        descendants,
        die_with_parent,
        end_when_closed,
        limit_memory,
        mark,
        marked,
        new_mark,
        offer_to_oom_killer,
        oom_kills,
        proportional,
        resident,
        stay_when_closed,
        widen,
    )

__all__ = [
    "ADOPTS",
    "HURRY",
    "adopt_orphans",
    "descendants",
    "die_with_parent",
    "end_when_closed",
    "limit_memory",
    "mark",
    "marked",
    "new_mark",
    "offer_to_oom_killer",
    "oom_kills",
    "proportional",
    "resident",
    "stay_when_closed",
    "widen",
]
