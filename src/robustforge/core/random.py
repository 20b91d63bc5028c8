"""The random stream of a run: xoshiro256++ in an array of four `uint64`, with uniforms, normals and choices.

A NumPy generator costs microseconds to pass into compiled code; this stream costs nothing, draws a uniform in under
2 ns and a normal in about 4 ns (ziggurat with 256 layers), and can be stored and continued to the bit.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from robustforge.core.compiler import compiled, inlined
from robustforge.core.portable_math import exp, log
from robustforge.errors import ProblemError

Stream = npt.NDArray[np.uint64]
Seed = int | np.random.SeedSequence | np.random.Generator | npt.NDArray[np.uint64] | None

_LAYERS = 256
_U17, _U23, _U45, _U19, _U41 = (np.uint64(k) for k in (17, 23, 45, 19, 41))
_U11 = np.uint64(11)
_LAYER_MASK = np.uint64(_LAYERS - 1)
_TO_UNIT = 2.0**-53


def stream(rng: Seed) -> Stream:
    """Return the stream that `rng` decides: an int or `SeedSequence` always the same, a `Generator` its next one.

    Args:
        rng: A non-negative int, a `SeedSequence`, a `Generator`, a stream, or `None` for fresh entropy.

    Example:
        >>> bool((stream(1) == stream(1)).all()), bool((stream(1) == stream(2)).all())
        (True, False)
    """
    if isinstance(rng, np.random.Generator):
        return rng.integers(0, 2**64, size=4, dtype=np.uint64)
    if isinstance(rng, np.random.SeedSequence):
        return np.asarray(rng.generate_state(4, np.uint64), dtype=np.uint64)
    if isinstance(rng, np.ndarray) and rng.dtype == np.uint64 and rng.shape == (4,):
        return rng.copy()
    if rng is None:
        return stream(np.random.SeedSequence())
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return stream(np.random.SeedSequence(int(rng)))
    raise ProblemError(
        "`rng` must be a non-negative int, a SeedSequence or a Generator", f"got {rng!r}", "Pass for instance rng=1"
    )


_TAIL, _AREA = 3.6541528853610088, 0.004928673233974655
"""Where the tail starts, and the area of each layer: with these, 256 layers fill exp(-x^2/2) up to its top."""


def _ziggurat() -> npt.NDArray[np.float64]:
    """Return the edges of the layers of equal area under exp(-x^2/2), the tail's first, 0 last."""
    x = [_AREA / exp(-0.5 * _TAIL * _TAIL), _TAIL]
    while len(x) < _LAYERS:
        x.append(math.sqrt(-2.0 * log(_AREA / x[-1] + exp(-0.5 * x[-1] * x[-1]))))
    return np.array([*x, 0.0])


_EDGES = _ziggurat()
_RATIOS = _EDGES[1:] / _EDGES[:-1]
_HEIGHTS = np.array([exp(-0.5 * x * x) for x in _EDGES.tolist()])


@compiled
def next_bits(r: Stream) -> np.uint64:
    """Advance the stream and return 64 random bits (xoshiro256++ of Blackman and Vigna)."""
    total = r[0] + r[3]
    result = ((total << _U23) | (total >> _U41)) + r[0]
    shifted = r[1] << _U17
    r[2] ^= r[0]
    r[3] ^= r[1]
    r[1] ^= r[2]
    r[0] ^= r[3]
    r[2] ^= shifted
    r[3] = (r[3] << _U45) | (r[3] >> _U19)
    return result


@compiled
def uniform(r: Stream) -> float:
    """Return a float uniform in [0, 1)."""
    return float(next_bits(r) >> _U11) * _TO_UNIT


@compiled
def below(r: Stream, n: int) -> int:
    """Return an int uniform in 0, ..., n - 1."""
    return int(uniform(r) * n)


@inlined
def _draw_layer(r: Stream) -> tuple[int, float]:
    """Return a layer, and where in it: from -1 to 1."""
    bits = next_bits(r)
    return int(bits & _LAYER_MASK), 2.0 * (float(bits >> _U11) * _TO_UNIT) - 1.0


@compiled
def normal(r: Stream) -> float:
    """Return a standard normal.

    This is short, so that it becomes a part of its callers; all but one draw in a hundred ends here.
    """
    layer, u = _draw_layer(r)
    if abs(u) < _RATIOS[layer]:
        return float(u * _EDGES[layer])
    return _normal_by_rejection(r, layer, u)


@compiled
def _normal_by_rejection(r: Stream, layer: int, u: float) -> float:
    """Return a normal where a draw may lie above the curve: in the tail, or after further draws."""
    while True:
        if layer == 0:
            while True:
                a = -log(1.0 - uniform(r)) / _TAIL
                b = -log(1.0 - uniform(r))
                if b + b > a * a:
                    return _TAIL + a if u > 0 else -_TAIL - a
        x = u * _EDGES[layer]
        height = _HEIGHTS[layer] + uniform(r) * (_HEIGHTS[layer + 1] - _HEIGHTS[layer])
        if height < exp(-0.5 * x * x):
            return float(x)
        layer, u = _draw_layer(r)
        if abs(u) < _RATIOS[layer]:
            return float(u * _EDGES[layer])


@compiled
def shuffle(r: Stream, items: npt.NDArray[np.int64]) -> None:
    """Put `items` into random order, in place."""
    for i in range(items.size - 1, 0, -1):
        k = below(r, i + 1)
        items[i], items[k] = items[k], items[i]


@compiled
def in_unit_ball(r: Stream, active: npt.NDArray[np.int64], out: npt.NDArray[np.float64]) -> None:
    """Write a point uniform in the unit ball of the active coordinates to `out`; the others become 0."""
    for i in range(out.size):
        out[i] = 0.0
    square = 0.0
    for i in active:
        z = normal(r)
        out[i] = z
        square += z * z
    factor = exp(log(uniform(r)) / active.size) / math.sqrt(square)
    for i in active:
        out[i] *= factor


@compiled
def in_unit_box(r: Stream, active: npt.NDArray[np.int64], out: npt.NDArray[np.float64]) -> None:
    """Write a point uniform in [-1, 1] of the active coordinates to `out`; the others become 0."""
    for i in range(out.size):
        out[i] = 0.0
    for i in active:
        out[i] = 2.0 * uniform(r) - 1.0
