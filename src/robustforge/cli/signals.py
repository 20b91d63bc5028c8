"""Ctrl-C and SIGTERM: how they end the work of a command."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptible_once() -> Iterator[None]:
    """Handle the first Ctrl-C only: a second one would interrupt the clean-up after the first."""

    def once(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is once:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM, which batch systems send, end the work as Ctrl-C does."""

    def end(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        with interruptible_once():
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def counted_interrupts() -> Iterator[list[int]]:
    """Collect Ctrl-C in a list instead of raising, for a loop that checks it where its state is consistent."""
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: interrupts.append(number))
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
