"""Compiles the kernels that a search needs, when it needs them: the engine, and those of its components.

A caller that will need many components compiles them beforehand, in several processes (`prepare_all`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Container, Iterator, Sequence
from functools import cache
from threading import Lock
from typing import Any

from numba import float64, int64, types

from robustforge.core.compiler import ROUTINES, announce, compiling, is_compiled
from robustforge.engine import ask_tell
from robustforge.engine.state_layout import SLOTS, STATE, kernel_address, routine_address

MIN_KERNELS_FOR_PROCESSES = 24
"""Kernels from which on it is faster to compile them in several processes, although each of them has to start."""

_LOCK = Lock()


def prepare() -> None:
    """Compile the engine, or read it from the cache. Once per process."""
    with _LOCK:  # `cache` alone lets two threads in
        _prepare()


@cache
def _prepare() -> None:
    with compiling(ask_tell.advance):
        ask_tell.advance.compile((STATE,))  # type: ignore[attr-defined]
    with compiling(ask_tell.find_near):
        ask_tell.find_near.compile((STATE, float64[::1]))  # type: ignore[attr-defined]


def prepare_run() -> None:
    """Compile the loop around a compiled objective, or read it from the cache. Once per process."""
    with _LOCK:
        _prepare_run()


@cache
def _prepare_run() -> None:
    step = types.FunctionType(int64(STATE))
    objective = types.FunctionType(float64(float64[::1], float64[::1]))
    with compiling(ask_tell.run):
        ask_tell.run.compile((STATE, step, objective, float64[::1], int64))  # type: ignore[attr-defined]
        ask_tell.run.disable_compile()  # type: ignore[attr-defined]


def prepare_all(among: Container[Any] | None = None) -> None:
    """Compile the engine and many components, in several processes where that is faster.

    Args:
        among: The components that may be needed; by default, all of the package.
    """
    missing = [
        kernel
        for kernel in _all_kernels()
        if (among is None or kernel[1] in among) and not is_compiled(getattr(kernel[1], kernel[2]))
    ]
    cores = _cores()
    if len(missing) >= MIN_KERNELS_FOR_PROCESSES and cores > 1:
        announce()
        _compile_in_processes(cores)
    prepare()
    prepare_run()
    for kernel in missing:
        kernel_address(*kernel)


_ahead: list[subprocess.Popen[bytes]] = []


def compile_ahead(names: Sequence[str]) -> None:
    """Compile kernels that are needed later in another process, while this one compiles what is needed first.

    Args:
        names: Kernels, as slot.component.kernel, or the state fields of routines. Those of components that are not in
            the package are compiled when they are needed.
    """
    waiting = [name for name in names if not all(map(is_compiled, _named_kernels(name)))]
    if waiting and not _ahead and _cores() > 1:
        announce()
        code = f"from robustforge.engine.kernels import compile_named; compile_named({waiting!r})"
        command = [sys.executable, "-c", code]
        _ahead.append(subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL))


def wait_for_ahead() -> None:
    """Wait for the other process, if there is one: what it has compiled is in the cache."""
    while _ahead:
        process = _ahead.pop()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


def compile_named(names: Sequence[str]) -> None:
    """Compile kernels by their names; end with the process that wants them, which holds the other end of stdin."""
    threading.Thread(target=_exit_at_end_of_input, daemon=True).start()
    for routine in ROUTINES:
        if routine.field in names:
            routine_address(routine)
    for slot, component, kernel in _all_kernels():
        record = next(name for name, kind in SLOTS.items() if kind is slot)
        if {f"{record}.{component.__name__}.{kernel}", f"second_search.{component.__name__}.{kernel}"} & set(names):
            kernel_address(slot, component, kernel)


def _exit_at_end_of_input() -> None:
    sys.stdin.read()
    os._exit(0)


def _named_kernels(name: str) -> Iterator[Any]:
    yield from (routine.kernel for routine in ROUTINES if routine.field == name)
    for slot, component, kernel in _all_kernels() if "." in name else ():
        record, title, wanted = name.split(".")
        if SLOTS[record] is slot and component.__name__ == title and kernel == wanted:
            yield getattr(component, kernel)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _all_kernels() -> Iterator[tuple[Any, Any, str]]:
    for slot in dict.fromkeys(SLOTS.values()):
        for component in slot.alternatives():
            if component.__module__.startswith("robustforge."):
                yield from ((slot, component, kernel) for kernel in slot.kernels)


def _compile_in_processes(count: int) -> None:
    """Have each process compile its part, into a shared cache; failures are compiled later in this process."""
    code = "from robustforge.engine.kernels import compile_part; compile_part({}, {})"
    parts = [
        subprocess.Popen([sys.executable, "-c", code.format(part, count)], stderr=subprocess.DEVNULL)
        for part in range(count)
    ]
    for process in parts:
        process.wait()


def compile_part(part: int, count: int) -> None:
    """Compile one of several parts of all kernels."""
    if part == 0:
        prepare()
    if part == count - 1:
        prepare_run()
    for routine in ROUTINES[part::count]:
        routine_address(routine)
    for slot, component, kernel in list(_all_kernels())[part::count]:
        kernel_address(slot, component, kernel)
