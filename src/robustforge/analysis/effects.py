"""Effects of components on the performance of heuristics: a functional analysis of variance.

Only the first generations are used. Their heuristics are independent random derivations, so that this is a designed
experiment; later heuristics are related by descent, and selection correlates their components.

The response is the rank of a heuristic among the random ones of its evolution, scaled from 0 (best) to 1 (worst). The
model is a mean, plus a main effect of each component, plus an interaction of each pair of components. Its functions are
orthonormal if the components are independent and have the frequencies with which they were drawn, so that the variance
of an effect is the sum of its squared coefficients (Sobol's decomposition). A component has no effect where it is not
applicable, so that the effect of a movement is not attributed to choices that exist only within it.

The model is fitted by ridge regression to two halves of the heuristics, and a variance is the product of the
coefficients of both. Noise, which the halves do not share, cancels, so that the estimate for a component without effect
is 0 on average. A random forest, decomposed in the same way, spreads an effect over all components that happen to be
correlated with it, and hardly detects an interaction without main effects. With so few alternatives a linear model does
both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from robustforge.analysis.dataset import EvolutionRecord
from robustforge.analysis.features import NOT_APPLICABLE, alternatives, feature_rows, shown_components
from robustforge.evolution.settings import from_stored
from robustforge.tables import Table

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

RESAMPLES = 100
MIN_HEURISTICS = 20
"""Minimum number of random heuristics for an estimate."""

_PENALTY, _PAIR_PENALTY = 3.0, 100.0
"""Ridge penalties of main effects and interactions, in numbers of additional heuristics without effect."""

_PERCENTILES = (5, 95)


def effects(evolutions: Sequence[EvolutionRecord], seed: int = 1, resamples: int = RESAMPLES) -> Table:
    """Return the fraction of the variance of the ranks of random heuristics that each component explains.

    Args:
        evolutions: Evolutions to pool.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap resamples.

    Returns:
        Rows of component, effect (a fraction from 0 to 1), low and high (its 90% interval), best and worst: the
        alternatives with the lowest and the highest rank, all else being equal; `None` if the effect is not
        significantly different from 0. The largest comes first. With fewer than `MIN_HEURISTICS` random heuristics the
        numbers are NaN.
    """
    return decomposition(evolutions, seed, resamples)[0]


def pairs(evolutions: Sequence[EvolutionRecord], seed: int = 1, resamples: int = RESAMPLES) -> Table:
    """Return the fraction of the variance that interactions of two components explain, beyond their main effects.

    With few heuristics the estimates and their intervals are strongly shrunk towards 0.

    Args:
        evolutions: Evolutions to pool.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap resamples.

    Returns:
        Rows of first, second, effect, low and high, as for `effects`; the largest comes first.
    """
    return decomposition(evolutions, seed, resamples)[1]


def decomposition(
    evolutions: Sequence[EvolutionRecord], seed: int = 1, resamples: int = RESAMPLES
) -> tuple[Table, Table]:
    """Return the tables of `effects` and `pairs` from one computation."""
    sample = _sample(evolutions)
    count = len(sample.keys)
    found = np.full((resamples, count, count), np.nan)
    levels = [np.zeros(len(names)) for names in sample.names]
    if len(sample.ranks) >= MIN_HEURISTICS and np.ptp(sample.ranks) == 0.0:
        found[:] = 0.0  # nothing to explain
    elif len(sample.ranks) >= MIN_HEURISTICS:
        model = _Model(sample)
        for number, rng in enumerate(np.random.default_rng(seed).spawn(resamples)):
            halves = [model.coefficients(rows) for rows in _halves(sample, rng)]
            found[number] = model.fractions(*halves)
            levels = [mean + new for mean, new in zip(levels, model.levels(halves[0] + halves[1]), strict=True)]
    effect = found.mean(axis=0)
    low, high = np.percentile(found, _PERCENTILES, axis=0)
    estimates = np.maximum([effect, low, high], 0.0)  # a negative estimate is noise
    return _effect_rows(sample, estimates, levels), _pair_rows(sample, estimates)


def _effect_rows(sample: _Sample, estimates: Floats, levels: list[Floats]) -> Table:
    rows = []
    for k, (key, names) in enumerate(zip(sample.keys, sample.names, strict=True)):
        effect, low, high = estimates[:, k, k].tolist()
        is_significant = len(names) > 1 and low > 0.0
        best, worst = (names[levels[k].argmin()], names[levels[k].argmax()]) if is_significant else (None, None)
        rows.append({"component": key, "effect": effect, "low": low, "high": high, "best": best, "worst": worst})
    return Table(sorted(rows, key=lambda row: -row["effect"]))


def _pair_rows(sample: _Sample, estimates: Floats) -> Table:
    rows = []
    for one, other in combinations(range(len(sample.keys)), 2):
        effect, low, high = estimates[:, one, other].tolist()
        names = {"first": sample.keys[one], "second": sample.keys[other]}
        rows.append({**names, "effect": effect, "low": low, "high": high})
    return Table(sorted(rows, key=lambda row: -row["effect"]))


@dataclass(frozen=True)
class _Sample:
    """Random heuristics as arrays.

    Attributes:
        keys: The components.
        names: The alternatives of each component that occur.
        codes: Index of the alternative of each heuristic (heuristics, components); -1 if not applicable.
        ranks: Ranks of the heuristics, scaled from 0 to 1.
        evolutions: Index of the evolution of each heuristic.
        ids: Index of each distinct heuristic, the same in several evolutions.
    """

    keys: list[str]
    names: list[list[str]]
    codes: Ints
    ranks: Floats
    evolutions: Ints
    ids: Ints


def _sample(evolutions: Sequence[EvolutionRecord]) -> _Sample:
    evolutions = [_unselected(evolution) for evolution in evolutions]
    rows = [row for evolution in evolutions for row in feature_rows(evolution)]
    keys = shown_components(rows)
    names = [_applicable([row[key] for row in rows], key) for key in keys]
    codes = np.full((len(rows), len(keys)), -1)
    for column, (key, known) in enumerate(zip(keys, names, strict=True)):
        codes[:, column] = [known.index(row[key]) if row[key] in known else -1 for row in rows]
    ranks = np.array([rank for evolution in evolutions for rank in _scaled_ranks(evolution)])
    numbers = np.array([number for number, evolution in enumerate(evolutions) for _ in evolution.heuristics], np.intp)
    ids = [evolved.heuristic.id for evolution in evolutions for evolved in evolution.heuristics]
    return _Sample(keys, names, codes, ranks, numbers, np.unique(ids, return_inverse=True)[1] if ids else numbers)


def _unselected(evolution: EvolutionRecord) -> EvolutionRecord:
    """Return an evolution with its random heuristics only."""
    initial = from_stored(evolution.settings).get("initial_heuristics", ())
    drawn = tuple(
        evolved for evolved in evolution.heuristics if evolved.generation == 0 and evolved.heuristic.id not in initial
    )
    return replace(evolution, heuristics=drawn)


def _applicable(found: list[str], key: str) -> list[str]:
    """Return the alternatives that occur, in order, without "not applicable"."""
    known = dict.fromkeys([*alternatives(key), *sorted(found)])
    return [name for name in known if name in found and name != NOT_APPLICABLE]


def _scaled_ranks(evolution: EvolutionRecord) -> list[float]:
    """Return the rank of each heuristic, best first, scaled from 0 to 1; those with equal means share theirs."""
    means = [evolved.means for evolved in evolution.heuristics]
    groups: dict[tuple[float, ...], list[int]] = {}
    for rank, found in enumerate(means):
        groups.setdefault(found, []).append(rank)
    shared = {found: sum(group) / len(group) for found, group in groups.items()}
    return [shared[found] / (len(means) - 1) if len(means) > 1 else 0.5 for found in means]


def _halves(sample: _Sample, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return a bootstrap resample in two disjoint halves, each with half of the heuristics of each evolution."""
    count = int(sample.ids.max()) + 1
    second = (rng.permutation(count) % 2 == 1)[sample.ids]
    halves: tuple[list[Ints], list[Ints]] = ([], [])
    for evolution in np.unique(sample.evolutions):
        for half, chosen in zip(halves, (~second, second), strict=True):
            part = np.flatnonzero((sample.evolutions == evolution) & chosen)
            half.append(rng.choice(part, part.size) if part.size else part)
    return np.concatenate(halves[0]), np.concatenate(halves[1])


class _Model:
    """A linear model with a mean, main effects of components, and interactions of pairs.

    Args:
        sample: The heuristics.
    """

    def __init__(self, sample: _Sample) -> None:
        self._ranks, self._bases = sample.ranks, [_basis(codes) for codes in sample.codes.T]
        padded = [np.vstack([basis, np.zeros(basis.shape[1])]) for basis in self._bases]  # row -1: not applicable
        single = np.hstack([rows[codes] for rows, codes in zip(padded, sample.codes.T, strict=True)])
        owners = np.repeat(np.arange(len(sample.keys)), [basis.shape[1] for basis in self._bases])
        one, other = np.triu_indices(owners.size, 1)
        differ = owners[one] != owners[other]
        one, other = one[differ], other[differ]
        self._columns = np.hstack([single, single[:, one] * single[:, other]])
        self._components = np.concatenate([owners, owners[one]]), np.concatenate([owners, owners[other]])
        self._single = slice(0, owners.size)
        self._penalties = np.repeat([_PENALTY, _PAIR_PENALTY], [owners.size, one.size])
        applicable = (sample.codes >= 0).astype(np.float64)
        self._weights: Floats = applicable.T @ applicable / len(applicable) / sample.ranks.var()

    def coefficients(self, rows: Ints) -> Floats:
        """Return the coefficients fitted to these heuristics (columns,).

        Interactions are fitted together with the main effects, main effects without interactions.
        """
        single, columns, ranks = self._single, self._columns[rows], self._ranks[rows]
        columns -= columns.mean(axis=0)
        ranks = ranks - ranks.mean()
        found = _ridge(columns, ranks, self._penalties)
        found[single] = _ridge(columns[:, single], ranks, self._penalties[single])
        return found

    def fractions(self, one: Floats, other: Floats) -> Floats:
        """Return the explained fractions of the variance from the coefficients of two halves (components, components).

        Main effects are on the diagonal, interactions above it. A component explains nothing of the heuristics to
        which it is not applicable.
        """
        found = np.zeros_like(self._weights)
        np.add.at(found, self._components, one * other)
        return found * self._weights

    def levels(self, coefficients: Floats) -> list[Floats]:
        """Return the difference of each alternative of each component to the mean rank."""
        ends = np.cumsum([basis.shape[1] for basis in self._bases])
        parts = np.split(coefficients[self._single], ends[:-1])
        return [basis @ part for basis, part in zip(self._bases, parts, strict=True)]


def _ridge(columns: Floats, ranks: Floats, penalties: Floats) -> Floats:
    """Return the coefficients of a ridge regression, in its dual form where there are fewer rows than columns."""
    if len(columns) < penalties.size:
        weighted = columns / penalties
        gram = weighted @ columns.T
        return np.asarray(weighted.T @ np.linalg.solve(gram + np.eye(len(gram)), ranks), np.float64)
    products = columns.T @ columns
    products[np.diag_indices_from(products)] += penalties
    return np.asarray(np.linalg.solve(products, columns.T @ ranks), np.float64)


def _basis(codes: Ints) -> Floats:
    """Return functions of a component's alternatives (alternatives, functions), orthonormal by their frequencies.

    Together with the constant function, which is left out, they form a basis.
    """
    counts = np.bincount(codes[codes >= 0])
    roots = np.sqrt(counts / max(counts.sum(), 1))
    directions = np.linalg.qr(np.column_stack([roots, np.eye(roots.size)])[:, : roots.size]).Q
    functions: Floats = directions[:, 1:] / roots[:, None]
    return functions
