"""The trace of a run: events, their wire format, and the fold that gives the state.

Nothing here imports torch or a screen; every other room builds on this one.
"""

from tutor.trace.events import NONE, AnyEvent, Save, Value
from tutor.trace.program import Nudge, Probe, Program, Source, snippet
from tutor.trace.state import Place, Site, State
from tutor.trace.trace import End, Trace

__all__ = [
    "NONE",
    "AnyEvent",
    "End",
    "Nudge",
    "Place",
    "Probe",
    "Program",
    "Save",
    "Site",
    "Source",
    "State",
    "Trace",
    "Value",
    "snippet",
]
