"""The common call: a function written in C, exact tensors in, one new tensor out.

Most calls of most programs are of this kind, so this is where the time of an observed loop goes.
What is told is what `Watch` would tell; anything out of the ordinary is handed back to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from tutor.observe.graph import (
    CHECKED,
    ENDLESS,
    KEY,
    NOTHING,
    Context,
    Token,
    node_names,
    raw_names,
)
from tutor.observe.library import Info
from tutor.observe.tensors import Record
from tutor.observe.values import DTYPES, WHOLE, dtype_name, whole
from tutor.trace import events as ev
from tutor.trace.events import NONE, Save, Value

if TYPE_CHECKING:
    from tutor.observe.mode import Watch

_Tensor = torch.Tensor
_Parameter = torch.nn.Parameter
_SCALARS = frozenset([int, float, bool, str, complex, type(None), torch.dtype, torch.device, slice])

Call = Callable[..., Any]


def plain_calls(watch: Watch) -> Call:
    """A function that calls for the program and tells of it, as `Watch.observed` does.

    Its names are local to it, because it is run for nearly every call of a program.
    """
    tensors, graph, values, stack, log = (
        watch.tensors,
        watch.graph,
        watch.values,
        watch.stack,
        watch.log,
    )
    records, versions, relate = tensors.records, tensors.versions, tensors.record
    known_record, add, note = records.get, log.add, graph.note
    grad_enabled, inference = torch.is_grad_enabled, torch.is_inference_mode_enabled
    strided = torch.strided
    is_user, via = stack.is_user, stack.via
    new_op, new_tensor, new_contents, new_record = ev.Op, ev.Tensor, ev.Contents, Record
    new_node, new_save = ev.Node, Save
    saved_tensor: Any = torch._C._autograd.SavedTensor
    fingerprint, relied_on = values.fingerprint, graph.relied_on.add

    def grow(
        function: Any,
        number: int,
        inputs: list[Any],
        uids: list[int],
        result: Any,
        record: Record,
        shape: tuple[int, ...],
        dtype: str,
    ) -> int:
        """The id of the node that a call made, told with what it keeps."""
        kind = type(function)
        name, kept = node_names.get(kind), raw_names.get(kind)
        if name is None or kept is None:
            return known_to_graph(number, inputs, result, function)
        edges: list[tuple[int, int]] = []
        for child, index in function.next_functions:
            if child is None:
                edges.append((NONE, index))
                continue
            token = child.metadata.get(KEY)
            if token is None:
                return known_to_graph(number, inputs, result, function)
            edges.append((token.id, index))
        metadata = function.metadata
        if metadata:  # anomaly mode keeps its traceback there
            return known_to_graph(number, inputs, result, function)
        saves: list[Save] = []
        prints: list[tuple[str, object, int]] = []
        eager = graph.eager
        for attribute, short in kept:
            holder: Any = getattr(function, attribute)
            if holder is None:
                continue
            if type(holder) is not saved_tensor:
                return known_to_graph(number, inputs, result, function)
            held = holder.data
            if held is None:
                continue
            if (
                type(held) is not _Tensor and type(held) is not _Parameter
            ) or holder.unpack_hook is not None:
                return known_to_graph(number, inputs, result, function)
            printed = fingerprint(held)
            version = held._version
            known = known_record(id(held))
            if known is not None and known.uid in uids:
                value = told(known, printed, held) if eager else None
                counter = known.counter
                meta = known.meta
                saves.append(
                    new_save(
                        short,
                        known.uid,
                        counter,
                        known.storage,
                        version,
                        meta[0],
                        meta[1],
                        "input",
                        False,
                        value,
                    )
                )
            elif held.data_ptr() == record.pointer and record.pointer:
                value = told(record, printed, held) if eager else None
                counter = record.uid
                saves.append(
                    new_save(
                        short,
                        counter,
                        counter,
                        record.storage,
                        version,
                        shape,
                        dtype,
                        "output",
                        False,
                        value,
                    )
                )
            else:
                value = told(record, printed, held) if eager else None
                graph.context = Context(number, inputs, (result,))
                save = graph.save(short, held, value)
                graph.context = NOTHING
                saves.append(save)
                if save.role in CHECKED:
                    prints.append((short, printed, version))
                continue
            relied_on(counter)
            prints.append((short, printed, version))
        sequence = function._sequence_nr()
        if sequence >= ENDLESS:
            sequence = ENDLESS - 1
        node = graph.next
        graph.next = node + 1
        metadata[KEY] = Token(node, graph.deaths)
        if prints:
            graph.prints[node] = prints
        add(new_node(node, name, sequence, number, tuple(edges), tuple(saves), NONE))
        return node

    def told(record: Record, printed: object, held: torch.Tensor) -> Value | None:
        """The value of a save: mostly the one that its tensor was told with."""
        if printed is None or type(printed) is str:
            return None
        if printed == record.plain:
            return record.value
        return whole(printed, tuple(held.shape), held.dtype)

    def known_to_graph(number: int, inputs: list[Any], result: Any, function: Any) -> int:
        graph.context = Context(number, inputs, (result,))
        node = note(function)
        graph.context = NOTHING
        return node

    def observed(info: Info, caller: Any, call: Call, func: Any, args: Any, kwargs: Any) -> Any:
        uids: list[int] = []
        inputs: list[Any] = []
        simple = ordinary = True
        try:
            for value in (*args, *kwargs.values()) if kwargs else args:
                kind = type(value)
                if kind is _Tensor or kind is _Parameter:
                    known = known_record(id(value))
                    if (
                        known is None
                        or value._version != versions.get(known.counter, NONE)
                        or (known.node == NONE and value.data_ptr() != known.pointer)
                    ):
                        known = relate(value)
                    inputs.append(value)
                    uids.append(known.uid)
                elif kind in _SCALARS:
                    simple = False
                else:
                    ordinary = False
                    break
            if (
                stack.threads
                or (kwargs and "out" in kwargs)
                or (grad_enabled(), inference()) != watch.modes
            ):
                ordinary = False
        except Exception:
            ordinary = False
        if not ordinary:
            return watch.observed(info, caller, call, func, args, kwargs)
        try:
            result = call(func, args, kwargs)
        except BaseException as error:
            watch.raised(info, caller, args, kwargs, inputs, error)
            raise
        try:
            if type(result) is not _Tensor:
                watch.tell(info, caller, args, kwargs, inputs, {}, result)
                return result
            known = known_record(id(result))
            if known is not None and known.uid in uids:  # one of the arguments, handed back
                watch.tell(info, caller, args, kwargs, inputs, {}, result)
                return result
            function: Any
            try:
                function = result.grad_fn
                requires = function is not None or result.requires_grad
                version = result._version
                pointer = result.data_ptr()
                storage = result.untyped_storage()._cdata
                dtype = result.dtype
                shape = tuple(result.shape)
                device = "cpu" if result.is_cpu else str(result.device)
                ordinary = not result._is_view()
            except Exception:
                ordinary = False
            if not ordinary:
                watch.tell(info, caller, args, kwargs, inputs, {}, result)
                return result
            number = watch.next_op()
            uid = tensors.next
            tensors.next = uid + 1
            eager = watch.eager
            add(
                new_op(
                    number,
                    info.name,
                    tuple(uids),
                    (uid,),
                    "" if simple or not eager else watch.detail(args, kwargs),
                    NONE if is_user(caller.f_code) else via(caller),
                    None,
                    watch.nesting > 0,
                )
            )
            record = new_record(uid, uid, version, pointer, storage)
            records[id(result)] = record
            versions[uid] = version
            kept_as = DTYPES.get(dtype) or dtype_name(dtype)
            value = None
            if eager and result.numel() <= WHOLE and device == "cpu" and result.layout is strided:
                elements = record.plain = result.tolist()
                value = record.value = whole(elements, shape, dtype)
            node = NONE
            if function is not None:
                token = function.metadata.get(KEY)
                if token is None:
                    node = grow(function, number, inputs, uids, result, record, shape, kept_as)
                else:
                    node = token.id
                record.node = node
            leaf = record.leaf = function is None
            meta = (
                shape,
                kept_as,
                device,
                requires,
                leaf,
                node,
                0,
                uid,
                version,
                storage,
                NONE,
                "Tensor",
                "",
            )
            record.meta = meta
            add(new_tensor(uid, *meta))
            if value is None:
                value = values.read(result)
            if value is not None:
                add(new_contents(uid, value))
            if graph.deaths:
                graph.bury()
        except Exception:
            watch.failed()
        return result

    return observed
