"""The state as compiled code sees it: the address of a table that says, for each field, where its array is.

Python writes the table (`StateTable`), kernels read `s.name` from it. Nobody counts references in kernels: the table
keeps its arrays alive as long as it lives itself. (Numba's own mutable structures would do the same, but count
references at every access and compile a constructor of a hundred arguments: some seconds of the first use.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from robustforge.core.state import Array, StateField


class StateType(types.Type):
    """The compiled type of a state; one instance serves all heuristics.

    Attributes:
        fields: The compiled type of each field's array, by name.
    """

    def __init__(self, declared: Iterable[StateField]) -> None:
        self.fields = {field.name: field.numba_type for field in declared}
        super().__init__(name="State")  # short, for it is a part of every symbol; the cache's fingerprint does the rest


register_model(StateType)(models.OpaqueModel)


class StateTable:
    """A state as Python holds it: a table of its arrays, which compiled code reads by its address.

    Args:
        kind: The compiled type.
        arrays: The arrays of the fields, in their order, contiguous.
    """

    def __init__(self, kind: StateType, arrays: Mapping[str, Array]) -> None:
        self.kind, self._arrays = kind, tuple(arrays.values())
        words = [word for array in self._arrays for word in _entry(array)]
        self._table = np.array(words, dtype=np.uint64)
        self.address = self._table.ctypes.data


def _entry(array: Array) -> tuple[int, ...]:
    """Return an array as Numba lays it out: nobody who owns it, its size, where it is, its shape and its strides."""
    return (0, 0, array.size, array.itemsize, array.__array_interface__["data"][0], *array.shape, *array.strides)


def _length(array: types.Array) -> int:
    """Return the bytes of an array's entry."""
    return 8 * (5 + 2 * int(array.ndim))


@typeof_impl.register(StateTable)
def _type_of(table: StateTable, context: Any) -> StateType:
    return table.kind


@unbox(StateType)
def _unbox(kind: StateType, table: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(table, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)


@infer_getattr
class _Attributes(AttributeTemplate):
    """What `s.name` is to a kernel: the array of that name."""

    key = StateType

    def generic_resolve(self, kind: StateType, name: str) -> Any:
        return kind.fields.get(name)


@lower_getattr_generic(StateType)
def _load(context: Any, builder: Any, kind: StateType, state: Any, name: str) -> Any:
    array = context.get_value_type(kind.fields[name])
    place = cgutils.pointer_add(builder, state, _offsets(kind)[name])
    return builder.load(builder.bitcast(place, array.as_pointer()))


@cache
def _offsets(kind: StateType) -> dict[str, int]:
    """Return where in the table the entry of each field begins."""
    ends = np.cumsum([_length(array) for array in kind.fields.values()]).tolist()
    return dict(zip(kind.fields, [0, *ends[:-1]], strict=True))
