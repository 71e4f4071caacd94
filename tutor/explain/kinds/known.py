"""An error that torch's own words place in a kind, where the state of the run could not."""

from __future__ import annotations

from tutor.explain import messages
from tutor.explain.build import finding
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import Failure, History
from tutor.explain.patterns import kind_of


def raised(history: History, failure: Failure) -> Finding | None:
    """The line that raised, with the general words of its kind."""
    kind = kind_of(failure.message)
    if kind is None or not messages.known(f"{kind}.known.title"):
        return None
    lines = [line.strip() for line in failure.message.strip().splitlines() if line.strip()]
    facts: dict[str, Fact] = {"error": failure.kind, "message": lines[0] if lines else kind}
    causes: list[FindingPlace | None] = []
    node = history.nodes.get(failure.run.failing) if failure.run is not None else None
    if node is not None and node.site:
        causes.append(history.place("cause", node.site, node.moment))
    causes.append(history.place("cause", failure.site, failure.moment))
    return finding(
        kind,
        "error",
        "known",
        facts,
        cause=causes,
        surfaced=[history.place("surfaced", failure.site, failure.moment)],
    )
