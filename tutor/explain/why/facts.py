"""What a message tells in numbers and names: versions, op, shape, dtype."""

from __future__ import annotations

import re

from tutor.explain.finding import Fact

_DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}
_COUNTS = ("found", "expected", "index", "got")
_TRANSPOSED = re.compile(r"(?:T|Transpose|AsStrided|Permute)(?:Backward\d*)?$")


def facts(raw: dict[str, str], *, anomaly: bool) -> dict[str, Fact]:
    """The named groups of a wording as facts; `anomaly`: anomaly mode was on.

    `found` and `expected` are versions or sizes as they stand; `writes` counts versions;
    `leaf`, `weight` and `blind` are there where they are true.
    """
    told: dict[str, Fact] = {}
    for name, value in raw.items():
        text = _bare(value)
        if name != "shape" and not text:
            continue
        told[name] = int(text) if name in _COUNTS and re.fullmatch(r"-?\d+", text) else text
    kind = told.pop("type", None)
    if isinstance(kind, str):
        told |= _type(kind)
    found, expected = told.get("found"), told.get("expected")
    if isinstance(found, int) and isinstance(expected, int):
        told["writes"] = f"{found - expected} write{'s' if found - expected != 1 else ''}"
        if "op" not in told:
            told["leaf"] = True
    op, shape = told.get("op"), told.get("shape")
    if _TRANSPOSED.search(str(op)) and str(shape).count(",") == 1:
        told["weight"] = True  # a Linear layer's, transposed: a view of a parameter
    if not anomaly:
        told["blind"] = True
    return told


def _bare(value: str) -> str:
    """A group's text in one line, without the signs that end its sentence."""
    text = re.sub(r"torch\.Size\((\[.*?\])\)", r"\1", " ".join(value.split()))
    text = text.rstrip(".,;:'\"")
    return text[:-1] if text.endswith(")") and text.count(")") > text.count("(") else text


def _type(name: str) -> dict[str, Fact]:
    """Dtype and device of `torch.cuda.FloatTensor`."""
    parts = name.split(".")
    told: dict[str, Fact] = {}
    base = parts[-1].removesuffix("Tensor").removesuffix("Type")
    if base in _DTYPES:
        told["dtype"] = _DTYPES[base]
    if len(parts) > 2:
        told["device"] = parts[-2]
    return told
