"""Compiles what a search needs, when it needs it: the machine, and the kernels of its components by `kernel_address`.

Who will need many components compiles them beforehand, in several processes (`prepare_all`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Container, Iterator
from functools import cache
from threading import Lock
from typing import Any

from numba import float64, int64, types

from robustforge.components.descent import direction_away
from robustforge.components.surface import fit_iteratively, judge
from robustforge.core.compiler import address, announce, compiling, is_compiled
from robustforge.core.history import find_neighbours
from robustforge.engine import machine
from robustforge.engine.memory import SLOTS, STATE, kernel_address

WORTH_PROCESSES = 24
"""Kernels from which on it is faster to compile them in several processes, although each of them has to start."""

_LOCK = Lock()


def prepare() -> None:
    """Compile the machine, or read it from the cache. Once per process."""
    with _LOCK:  # `cache` alone lets two threads in
        _prepare()


@cache
def _prepare() -> None:
    with compiling(machine.advance):
        machine.advance.compile((STATE,))  # type: ignore[attr-defined]
    with compiling(machine.find_near):
        machine.find_near.compile((STATE, float64[::1]))  # type: ignore[attr-defined]


def prepare_run() -> None:
    """Compile the loop around a compiled objective, or read it from the cache. Once per process."""
    with _LOCK:
        _prepare_run()


@cache
def _prepare_run() -> None:
    step = types.FunctionType(int64(STATE))
    objective = types.FunctionType(float64(float64[::1], float64[::1]))
    with compiling(machine.run):
        machine.run.compile((STATE, step, objective, float64[::1], int64))  # type: ignore[attr-defined]
        machine.run.disable_compile()  # type: ignore[attr-defined]


@cache
def routine_address(name: str) -> int:
    """Return the address of what several kernels call."""
    return address(*_ROUTINES[name])


_ROUTINES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "neighbours": (find_neighbours, (STATE, float64[::1], int64)),
    "find_direction": (direction_away, (STATE, int64, int64, float64, float64)),
    "judge": (judge, (STATE,)),
    "fit_iteratively": (fit_iteratively, (STATE, int64, float64, float64)),
}


def prepare_all(among: Container[Any] | None = None) -> None:
    """Compile the machine and many components, in several processes where that is faster.

    Args:
        among: The components that may be needed; by default, all of the package.
    """
    missing = [
        kernel
        for kernel in _all_kernels()
        if (among is None or kernel[1] in among) and not is_compiled(getattr(kernel[1], kernel[2]))
    ]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(missing) >= WORTH_PROCESSES and cores > 1:
        announce()
        _compile_in_processes(cores)
    prepare()
    prepare_run()
    for kernel in missing:
        kernel_address(*kernel)


def _all_kernels() -> Iterator[tuple[Any, Any, str]]:
    for slot in dict.fromkeys(SLOTS.values()):
        for component in slot.alternatives():
            if component.__module__.startswith("robustforge."):
                yield from ((slot, component, verb) for verb in slot.verbs)


def _compile_in_processes(count: int) -> None:
    """Have each process compile its part, into the cache that all of them share; what fails is compiled here later."""
    code = "from robustforge.engine.compilation import compile_part; compile_part({}, {})"
    parts = [
        subprocess.Popen([sys.executable, "-c", code.format(part, count)], stderr=subprocess.DEVNULL)
        for part in range(count)
    ]
    for process in parts:
        process.wait()


def compile_part(part: int, count: int) -> None:
    """Compile one of several parts of all that there is to compile."""
    if part == 0:
        prepare()
    if part == count - 1:
        prepare_run()
        for name in _ROUTINES:
            routine_address(name)
    for slot, component, verb in list(_all_kernels())[part::count]:
        kernel_address(slot, component, verb)
