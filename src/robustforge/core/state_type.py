"""The state as compiled code sees it: the address of a table with the address of each field's array.

Python writes the table (`StateTable`), kernels read `s.name` from it. Kernels do no reference counting: the table
owns the arrays. (Numba's own mutable structures would do the same, but count
references at every access and compile a constructor of a hundred arguments: some seconds of the first use.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any
from zlib import crc32

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

from robustforge.core.state import Array, Plan, StateField

APART = ("history_x", "history_f")
"""Arrays that results refer to: allocated separately, so that the rest can be freed."""


class StateType(types.Type):
    """The compiled type of a state; one instance serves all heuristics.

    Attributes:
        fields: The compiled type of each field's array, by name.
    """

    def __init__(self, declared: Iterable[StateField]) -> None:
        self.fields = {field.name: field.numba_type for field in declared}
        layout = crc32(" ".join(f"{name}:{kind}" for name, kind in self.fields.items()).encode())
        super().__init__(name=f"State{layout:08x}")  # short, because it is a part of every symbol


register_model(StateType)(models.OpaqueModel)


class StateTable:
    """A state as Python holds it: a table of its arrays, which compiled code reads by its address.

    Args:
        kind: The compiled type.
        layout: The memory layout of its arrays.

    Attributes:
        arrays: The arrays, zeroed, by the names of their fields.
        address: Where the table is.
    """

    def __init__(self, kind: StateType, layout: Layout) -> None:
        memory = np.zeros(layout.bytes + _ALIGNED, np.uint8)
        start = -memory.ctypes.data % _ALIGNED
        self.kind, self._table = kind, layout.table + np.uint64(memory.ctypes.data + start) * layout.is_address
        self.arrays: dict[str, Array] = {
            name: np.ndarray(shape, dtype, memory, start + offset) for name, dtype, shape, offset in layout.arrays
        }
        for name, dtype, shape, word in layout.apart:
            array = np.zeros(shape, dtype)
            self.arrays[name], self._table[word] = array, array.ctypes.data
        self.address = self._table.ctypes.data


_ALIGNED = 64


@dataclass(frozen=True)
class Layout:
    """The memory layout of the arrays of a plan.

    Attributes:
        table: The table, with distances from the start of the memory in the place of addresses.
        is_address: Which words of it these are: 1 there, 0 elsewhere.
        arrays: For each array: name, element type, shape, and distance from the start.
        apart: For each array that has memory of its own, as results keep it: name, element type, shape, and the word
            of the table that its address goes to.
        bytes: How much memory it takes.
    """

    table: Array
    is_address: Array
    arrays: list[tuple[str, Any, tuple[int, ...], int]]
    apart: list[tuple[str, Any, tuple[int, ...], int]]
    bytes: int


def layout_of(declared: Iterable[StateField], plan: Plan) -> Layout:
    """Return the memory layout of the arrays of these fields, in the sizes of a plan."""
    words: list[int] = []
    address_words: list[int] = []
    arrays, apart, offset = [], [], 0
    for field in declared:
        shape, dtype = field.shape.of(plan), np.dtype(field.dtype)
        size = math.prod(shape)
        strides = [dtype.itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape))]
        word = len(words) + 4
        words += [0, 0, size, dtype.itemsize, offset, *shape, *strides]  # no owner; size, address, shape, strides
        if field.name in APART:
            apart.append((field.name, dtype, shape, word))
            continue
        address_words.append(word)
        arrays.append((field.name, dtype, shape, offset))
        offset += -(-size * dtype.itemsize // _ALIGNED) * _ALIGNED
    is_address = np.zeros(len(words), np.uint64)
    is_address[address_words] = 1
    return Layout(np.array(words, np.uint64), is_address, arrays, apart, offset)


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
    """Resolves `s.name` to the array of that name."""

    key = StateType

    def generic_resolve(self, kind: StateType, name: str) -> Any:
        return kind.fields.get(name)


@lower_getattr_generic(StateType)
def _load(context: Any, builder: Any, kind: StateType, state: Any, name: str) -> Any:
    field = kind.fields[name]
    pointer = cgutils.pointer_add(builder, state, _offsets(kind)[name])
    entry = builder.load(builder.bitcast(pointer, context.get_value_type(field).as_pointer()))
    array = cgutils.create_struct_proxy(field)(context, builder, value=entry)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)  # no owner, so that references are not counted
    return array._getvalue()


@cache
def _offsets(kind: StateType) -> dict[str, int]:
    """Return the offset of each field's entry in the table."""
    ends = np.cumsum([_length(array) for array in kind.fields.values()]).tolist()
    return dict(zip(kind.fields, [0, *ends[:-1]], strict=True))
