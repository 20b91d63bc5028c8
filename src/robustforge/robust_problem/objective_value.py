"""Converts objective values to floats, and decides which count as failures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_REAL_KINDS = "fiub"
"""NumPy's kinds of real numbers: floats of all sizes, integers and booleans."""


class NoNumberError(Exception):
    """A returned or reported value is not a real number. Never leaves the package.

    Attributes:
        reason: What it is instead, as the end of "it returned ...".
        is_masked: Whether it is a masked value: an evaluation that has none, as NaN is.
    """

    def __init__(self, reason: str, is_masked: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.is_masked = reason, is_masked


def as_number(value: Any) -> float:
    """Return a value as a float.

    Accepted are real numbers of any type, rounded to the nearest float: those of Python and NumPy (booleans are 0 and
    1), `Decimal`, `Fraction`, and whatever has `__float__`, such as a scalar tensor; and a list, a tuple or an array
    with exactly one of them. Refused are complex numbers, also those without an imaginary part, strings, masked values,
    and what is too large for a float. NaN and infinities are floats; what they mean is not decided here.

    Raises:
        NoNumberError: It is not a real number.

    Example:
        >>> from decimal import Decimal
        >>> as_number(Decimal("0.5")), as_number([True]), as_number(np.float16(0.25))
        (0.5, 1.0, 0.25)
    """
    if type(value) is float:
        return value
    item = _only_item(value)
    try:
        with np.errstate(over="ignore"):
            number = float(item)
        if math.isinf(number) and item != number:
            raise OverflowError
    except OverflowError:
        raise NoNumberError(f"{_short(value)}, which is too large") from None
    except Exception as error:  # whatever a foreign __float__ raises
        raise NoNumberError(f"{_short(value)}, which is not a real number") from error
    return number


def as_numbers(values: Any, count: int) -> Floats:
    """Return the values of several points as floats; NaN where a value is masked (count,).

    Each of them may be what `as_number` accepts.

    Raises:
        NoNumberError: Their number is wrong, or one of them is not a real number.
    """
    if isinstance(values, (list, tuple)):  # NumPy would make 0 or NaN, with a warning, of what is masked in it
        if len(values) != count:
            raise NoNumberError(f"{len(values)} values for {_points(count)}")
        return np.array([_or_nan(each) for each in values], dtype=np.float64)
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    array = np.asarray(values)
    if array.shape != (count,) or array.dtype.kind not in _REAL_KINDS + "O":
        raise NoNumberError(f"an array of shape {array.shape} and type {array.dtype} for {_points(count)}")
    found: Floats
    if array.dtype.kind == "O" or array.dtype.itemsize > 8:  # a long double may be too large
        hidden = np.zeros(count, np.bool_) if masked is None else masked
        found = np.array([np.nan if gone else _or_nan(each) for each, gone in zip(array, hidden, strict=True)])
    else:
        found = array.astype(np.float64)
        if masked is not None:
            found[masked] = np.nan
    return found


def _or_nan(value: Any) -> float:
    """Return a value as a float, NaN if it is masked."""
    try:
        return as_number(value)
    except NoNumberError as error:
        if error.is_masked:
            return math.nan
        raise


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count} points"


def _only_item(value: Any) -> Any:
    """Return what can be converted: the one item of a list or an array, or the value itself."""
    while isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise NoNumberError("a masked value", is_masked=True)
    if isinstance(value, (np.ndarray, np.generic)):
        if value.size != 1 or value.dtype.kind not in _REAL_KINDS + "O":
            raise NoNumberError(f"{_short(value)}, which is not a real number")
        item = np.asarray(value).reshape(())[()]
        return _only_item(item) if value.dtype.kind == "O" else item
    if isinstance(value, (str, bytes, bytearray)):
        raise NoNumberError(f"{_short(value)}, which is not a real number")
    if hasattr(value, "item") and hasattr(value, "__array__"):  # a tensor, or a table's column
        return _item_of(value)
    return value


def _item_of(value: Any) -> Any:
    try:
        return value.item()
    except Exception as error:
        raise NoNumberError(f"{_short(value)}, which is not a real number") from error


def _short(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a foreign __repr__
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
