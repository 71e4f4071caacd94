"""The lesson format: models, loading with places, checks and how they are decided."""

from tutor.lesson.checks import Check, Evidence, Outcome
from tutor.lesson.course import load_course
from tutor.lesson.faults import Fault
from tutor.lesson.lesson import Concept, Lesson, PackInfo, Recall, Reference, Track
from tutor.lesson.pack import Pack, load_lesson, load_pack
from tutor.lesson.steps import (
    AnyStep,
    Blank,
    Break,
    Choice,
    ChoiceStep,
    CodeStep,
    Fill,
    Fix,
    Hint,
    Mistake,
    Option,
    Order,
    Predict,
    Question,
    Read,
    Run,
    Write,
)

__all__ = [
    "AnyStep",
    "Blank",
    "Break",
    "Check",
    "Choice",
    "ChoiceStep",
    "CodeStep",
    "Concept",
    "Evidence",
    "Fault",
    "Fill",
    "Fix",
    "Hint",
    "Lesson",
    "Mistake",
    "Option",
    "Order",
    "Outcome",
    "Pack",
    "PackInfo",
    "Predict",
    "Question",
    "Read",
    "Recall",
    "Reference",
    "Run",
    "Track",
    "Write",
    "load_course",
    "load_lesson",
    "load_pack",
]
