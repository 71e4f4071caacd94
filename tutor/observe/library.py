"""What the observer knows of torch's functions: their names, and how each must be handled."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import resolve_name


@dataclass(frozen=True, slots=True)
class Info:
    """How a call of one torch function is observed.

    `silent`: a reading of metadata, not an event. `writes`: may move version counters, so
    versions are read before and after. `inplace`: named as an in-place op (what it saves of
    its arguments has the version before the call). `python`: may call back into user code.
    `special` selects a handler of its own.
    """

    name: str
    silent: bool = False
    writes: bool = False
    inplace: bool = False
    python: bool = False
    special: str = ""
    hidden: str = ""
    """Writes some arguments past their counters: "fused", or where batch norm has them."""
    plain: bool = False
    """Written in C, writes nothing, and makes tensors of its own: the common case."""
    metadata: bool = False
    """A reading of metadata that cannot warn either."""


_SILENT = frozenset(
    [
        "shape",
        "dtype",
        "device",
        "layout",
        "requires_grad",
        "is_leaf",
        "grad_fn",
        "_version",
        "ndim",
        "itemsize",
        "nbytes",
        "is_cuda",
        "is_sparse",
        "is_quantized",
        "is_mps",
        "is_meta",
        "is_cpu",
        "is_xpu",
        "is_nested",
        "is_complex",
        "is_floating_point",
        "names",
        "output_nr",
        "retains_grad",
        "name",
        "_backward_hooks",
        "_base",
        "size",
        "dim",
        "numel",
        "nelement",
        "element_size",
        "stride",
        "storage_offset",
        "data_ptr",
        "is_contiguous",
        "is_pinned",
        "is_signed",
        "is_inference",
        "get_device",
        "type",
        "__len__",
        "__hash__",
        "__dir__",
        "ndimension",
        "is_set_to",
        "is_same_size",
        "is_conj",
        "is_neg",
        "untyped_storage",
        "storage",
        "_typed_storage",
        "storage_type",
        "_is_view",
        "is_shared",
        "has_names",
        "_post_accumulate_grad_hooks",
        "is_sparse_csr",
        "sparse_dim",
        "dense_dim",
        "__array_priority__",
        "is_autocast_enabled",
        "get_default_dtype",
        "is_tensor",
        "is_storage",
        "get_num_threads",
        "is_grad_enabled",
        "is_inference_mode_enabled",
        "_has_compatible_shallow_copy_type",
        "is_ipu",
        "is_maia",
        "is_mtia",
        "is_xla",
        "is_vulkan",
        "is_hpu",
        "is_mkldnn",
        "_record_function_exit",
        "compute_elementwise_output_logical_to_physical_perm",
        "_is_all_true",
        "_get_tracing_state",
        "is_nonzero_",
        "result_type",
        "can_cast",
        "promote_types",
        "_is_zerotensor",
        "_conj_physical_",
        "is_distributed",
        "_dimI",
        "_dimV",
        "_cdata",
    ]
)

_MAY_WARN = frozenset(["type", "storage", "_typed_storage", "storage_type", "names"])
"""Of those, the ones that may warn, and so must seem to be called by the user's line."""

# Attributes whose reading or setting says something; every other attribute is silent.
_SPECIAL_ATTRIBUTES = frozenset(["grad", "data", "T", "mT", "H", "mH", "real", "imag"])

_SPECIAL = {
    "Tensor.backward": "backward",
    "autograd.backward": "backward",
    "autograd.grad": "backward",
    "torch._C._set_grad_enabled": "mode",
    "torch.set_grad_enabled": "mode",
    "Tensor.requires_grad_": "flag",
    "Tensor.retain_grad": "retain",
    "Tensor.detach_": "flag",
}

# Write, though their names do not end with an underscore (or not to their tensor arguments).
_WRITERS = frozenset(
    [
        "batch_norm",
        "instance_norm",
        "native_batch_norm",
        "embedding",
        "embedding_bag",
        "rrelu",
        "swap_tensors",
    ]
)

_ALIASES = frozenset(["detach", "data", "view"])
"""Give a tensor that shares the counter of another without being a view of it (or may)."""

known_infos: dict[Any, Info] = {}
"""What `info_of` has found, by function."""


def info_of(func: Any) -> Info:
    """The `Info` of a torch function; never raises."""
    try:
        known = known_infos.get(func)
    except TypeError:  # unhashable
        return Info(str(func), silent=True)
    if known is None:
        try:
            known = _classify(func)
        except Exception:
            known = Info(str(getattr(func, "__name__", func)), writes=True, python=True)
        known_infos[func] = known
    return known


def _classify(func: Any) -> Info:
    short = getattr(func, "__name__", None) or str(func)
    owner = getattr(func, "__self__", None)
    if short in ("__get__", "__set__", "__delete__") and owner is not None:
        attribute = getattr(owner, "__name__", "?")
        name = f"Tensor.{attribute}"
        if attribute == "grad":
            return Info(name, special=f"grad{short.strip('_')}")
        if attribute == "data":
            return Info(
                name + (" =" if short == "__set__" else ""), special=f"data{short.strip('_')}"
            )
        if attribute == "requires_grad" and short == "__set__":
            return Info(name + " =", special="flag")
        if attribute in _SPECIAL_ATTRIBUTES:
            return Info(name + ("" if short == "__get__" else " ="), writes=short == "__set__")
        return Info(name, silent=True, metadata=short == "__get__" and attribute in _SILENT)
    name = _name(func, short)
    if "_record_function_enter" in short:
        return Info(name, special="record")
    if "_record_function_exit" in short or short in _SILENT:
        return Info(name, silent=True, metadata=short in _SILENT - _MAY_WARN)
    special = _SPECIAL.get(name, "")
    python = isinstance(func, types.FunctionType)
    inplace = (
        (short.endswith("_") and not short.endswith("__"))
        or short == "__setitem__"
        or (
            short.startswith("__i")
            and short.endswith("__")
            and short not in ("__int__", "__index__", "__invert__")
        )
    )
    writes = inplace or short in _WRITERS or (python and not special)
    hidden = ""
    if short.startswith("_fused_"):
        hidden = "fused"
    elif short in ("batch_norm", "instance_norm"):
        hidden = "functional" if name.startswith("functional.") else "torch"
    plain = not (writes or python or special or hidden) and short not in _ALIASES
    return Info(name, False, writes, inplace, python, special, hidden, plain)


def _name(func: Any, short: str) -> str:
    if short == "_set_grad_enabled":
        return "torch._C._set_grad_enabled"
    module = getattr(func, "__module__", None) or ""
    qualified = getattr(func, "__qualname__", "") or ""
    if qualified.startswith(("TensorBase.", "Tensor.")):
        return "Tensor." + short
    if qualified.startswith("_VariableFunctionsClass.") or module == "torch":
        return "torch." + short
    if module in ("torch._C._nn", "torch.nn.functional"):
        return "functional." + short
    if module == "torch.autograd":
        return "autograd." + short
    if module == "torch.nn.init":
        return "init." + short
    try:
        resolved = resolve_name(func)
    except Exception:
        resolved = None
    return (resolved or f"{module}.{qualified or short}").removeprefix("torch.")


TENSOR_TYPES = (torch.Tensor, torch.nn.Parameter)
"""The exact classes that may be read without calling anybody's `__torch_function__`."""


# -- calling a function as if the user's own line called it --------------------------------

exec(  # One line, so that every instruction of it maps to the line that is put in below.
    compile(
        "def _template(func, args, kwargs): return func(*args, **kwargs)\n",
        "<call>",
        "exec",
        dont_inherit=True,
    ),
    globals(),
)
_TEMPLATE: types.CodeType = globals()["_template"].__code__

Trampoline = types.FunctionType
# By the identity of the code: equal code of two files would share a file name otherwise.
known_trampolines: dict[tuple[int, int], tuple[Any, Any, types.CodeType]] = {}
trampoline_codes: set[types.CodeType] = set()


def original_of(func: Any) -> Any:
    """What a function that the program put in the place of a method of Tensor stands for.

    The handler is given what the class has under the method's name now, which may be the
    program's function that is calling the method that it replaced.
    """
    for name, value in vars(torch.Tensor).items():
        if value is func:
            return getattr(torch._C.TensorBase, name, func)
    return func


def heard(call: Any) -> Any:
    """The call with the classes of its arguments listening again, which the handler shut out."""

    def listening(func: Any, args: Any, kwargs: Any) -> Any:
        with torch._C._EnableTorchFunction():
            return call(func, args, kwargs)

    return listening


def trampoline(frame: types.FrameType) -> Any:
    """A function `(func, args, kwargs)` whose frame looks like this one's current line.

    A warning raised in C++ is charged to the file and line of the innermost Python frame, and
    to the once-a-place registry in that frame's globals; through the trampoline all three are
    the caller's own.
    """
    code = frame.f_code
    key = (id(code), frame.f_lasti)
    known = known_trampolines.get(key)
    if known is not None and known[1] is frame.f_globals and known[2] is code:
        return known[0]
    line = frame.f_lineno or code.co_firstlineno
    made = _TEMPLATE.replace(
        co_filename=code.co_filename, co_firstlineno=line, co_name=code.co_name
    )
    call = types.FunctionType(made, frame.f_globals)
    trampoline_codes.add(made)
    if len(known_trampolines) > 50_000:
        known_trampolines.clear()
        trampoline_codes.clear()
    known_trampolines[key] = (call, frame.f_globals, code)
    return call
