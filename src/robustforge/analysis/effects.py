"""How much each component has to do with how good a heuristic is: an analysis of variance.

Only the first generations are used. Their heuristics are random derivations, independent of each other, so that this is
an experiment; later ones are relatives that selection has spread, whose components and numbers come together.

The response is the place of a heuristic among the random ones of its evolution, from 0 (best) to 1 (worst). It is
modelled as a mean, plus an effect of each component, plus one of each pair of components: functions that are
orthonormal if the components are independent of each other and have the shares with which they were drawn, so that the
variance of an effect is the sum of its squared coefficients (the functional analysis of variance of Sobol). Where a
component is not applicable it has no effect: what a movement does is not put down to the choices that exist only within
it.

The model is fitted to two halves of the heuristics, and a variance is the product of what both say: chance, which the
halves do not share, cancels, so that what has no effect gets 0 on average, and not a little more. The fit is a ridge
regression. A random forest, taken apart in the same way, divides an effect among all components that happen to go with
it, and hardly finds a pair of which neither does anything alone; with alternatives this few a linear model does both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from robustforge.analysis.components import NOT_APPLICABLE, alternatives, feature_rows, varying
from robustforge.analysis.evidence import Outcome
from robustforge.tables import Table

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

RESAMPLES = 100
LEAST = 20
"""Fewer heuristics say nothing about effects."""

_PENALTY, _PAIR_PENALTY = 3.0, 100.0
"""Coefficients are shrunk as if so many heuristics more had shown no effect; there are many pairs, so these more."""

_PERCENTILES = (5, 95)


def effects(outcomes: Sequence[Outcome], seed: int = 1, resamples: int = RESAMPLES) -> Table:
    """Return how much of the variance of the places of random heuristics each component explains.

    Args:
        outcomes: Evolutions, pooled as they are given.
        seed: Decides the resamples.
        resamples: How many there are.

    Returns:
        Rows of component, effect (a share from 0 to 1), low and high (its 90% interval), best and worst: the
        alternatives with the lowest and the highest place, all else being equal; `None` if no effect can be told from
        none. The strongest comes first. With fewer than `LEAST` random heuristics the numbers are NaN.
    """
    return decomposition(outcomes, seed, resamples)[0]


def pairs(outcomes: Sequence[Outcome], seed: int = 1, resamples: int = RESAMPLES) -> Table:
    """Return how much of the variance two components explain together, beyond what each does by itself.

    With few heuristics the shares of pairs, and their intervals, are shrunk a lot: what is above 0 may well be larger.

    Args:
        outcomes: Evolutions, pooled as they are given.
        seed: Decides the resamples.
        resamples: How many there are.

    Returns:
        Rows of first, second, effect, low and high, as for `effects`; the strongest comes first.
    """
    return decomposition(outcomes, seed, resamples)[1]


def decomposition(outcomes: Sequence[Outcome], seed: int = 1, resamples: int = RESAMPLES) -> tuple[Table, Table]:
    """Return the tables of `effects` and `pairs`, for the price of one."""
    sample = _sample(outcomes)
    count = len(sample.keys)
    found = np.full((resamples, count, count), np.nan)
    levels = [np.zeros(len(names)) for names in sample.names]
    if len(sample.places) >= LEAST and np.ptp(sample.places) == 0.0:
        found[:] = 0.0  # nothing to explain
    elif len(sample.places) >= LEAST:
        model = _Model(sample)
        for number, rng in enumerate(np.random.default_rng(seed).spawn(resamples)):
            halves = [model.coefficients(rows) for rows in _halves(sample, rng)]
            found[number] = model.shares(*halves)
            levels = [mean + new for mean, new in zip(levels, model.levels(halves[0] + halves[1]), strict=True)]
    effect = found.mean(axis=0)
    low, high = np.percentile(found, _PERCENTILES, axis=0)
    figures = np.maximum([effect, low, high], 0.0)  # a share below 0 is one by chance
    return _effect_rows(sample, figures, levels), _pair_rows(sample, figures)


def _effect_rows(sample: _Sample, figures: Floats, levels: list[Floats]) -> Table:
    rows = []
    for place, (key, names) in enumerate(zip(sample.keys, sample.names, strict=True)):
        effect, low, high = figures[:, place, place].tolist()
        several = len(names) > 1 and low > 0.0
        best, worst = (names[levels[place].argmin()], names[levels[place].argmax()]) if several else (None, None)
        rows.append({"component": key, "effect": effect, "low": low, "high": high, "best": best, "worst": worst})
    return Table(sorted(rows, key=lambda row: -row["effect"]))


def _pair_rows(sample: _Sample, figures: Floats) -> Table:
    rows = []
    for one, other in combinations(range(len(sample.keys)), 2):
        effect, low, high = figures[:, one, other].tolist()
        names = {"first": sample.keys[one], "second": sample.keys[other]}
        rows.append({**names, "effect": effect, "low": low, "high": high})
    return Table(sorted(rows, key=lambda row: -row["effect"]))


@dataclass(frozen=True)
class _Sample:
    """Heuristics as numbers.

    Attributes:
        keys: The components.
        names: The alternatives of each that occur.
        codes: Which of them each heuristic has (heuristics, components); -1 if the component is not applicable.
        places: Their places, from 0 to 1.
        runs: Which evolution they are of.
        ids: Equal for the same heuristic in several evolutions.
    """

    keys: list[str]
    names: list[list[str]]
    codes: Ints
    places: Floats
    runs: Ints
    ids: Ints


def _sample(outcomes: Sequence[Outcome]) -> _Sample:
    outcomes = [_unselected(outcome) for outcome in outcomes]
    rows = [row for outcome in outcomes for row in feature_rows(outcome)]
    keys = varying(rows)
    names = [_applicable([row[key] for row in rows], key) for key in keys]
    codes = np.full((len(rows), len(keys)), -1)
    for column, (key, known) in enumerate(zip(keys, names, strict=True)):
        codes[:, column] = [known.index(row[key]) if row[key] in known else -1 for row in rows]
    places = np.array([place for outcome in outcomes for place in _places(outcome)])
    runs = np.array([number for number, outcome in enumerate(outcomes) for _ in outcome.bred], np.intp)
    ids = [bred.heuristic.id for outcome in outcomes for bred in outcome.bred]
    return _Sample(keys, names, codes, places, runs, np.unique(ids, return_inverse=True)[1] if ids else runs)


def _unselected(outcome: Outcome) -> Outcome:
    """Return an evolution with its random heuristics alone."""
    known = outcome.settings.get("start", ())
    drawn = tuple(bred for bred in outcome.bred if bred.generation == 0 and bred.heuristic.id not in known)
    return replace(outcome, bred=drawn)


def _applicable(found: list[str], key: str) -> list[str]:
    """Return the alternatives that occur, in order; "not applicable" is none."""
    known = dict.fromkeys([*alternatives(key), *sorted(found)])
    return [name for name in known if name in found and name != NOT_APPLICABLE]


def _places(outcome: Outcome) -> list[float]:
    """Return the place of each heuristic, best first, from 0 to 1; those with equal means share theirs."""
    means = [bred.means for bred in outcome.bred]
    groups: dict[tuple[float, ...], list[int]] = {}
    for place, found in enumerate(means):
        groups.setdefault(found, []).append(place)
    shared = {found: sum(group) / len(group) for found, group in groups.items()}
    return [shared[found] / (len(means) - 1) if len(means) > 1 else 0.5 for found in means]


def _halves(sample: _Sample, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return a resample of the heuristics in two halves that share none, both with their part of each evolution."""
    count = int(sample.ids.max()) + 1
    second = (rng.permutation(count) % 2 == 1)[sample.ids]
    halves: tuple[list[Ints], list[Ints]] = ([], [])
    for run in np.unique(sample.runs):
        for half, chosen in zip(halves, (~second, second), strict=True):
            part = np.flatnonzero((sample.runs == run) & chosen)
            half.append(rng.choice(part, part.size) if part.size else part)
    return np.concatenate(halves[0]), np.concatenate(halves[1])


class _Model:
    """The mean, an effect of each component, and one of each pair, as columns of a linear model.

    Args:
        sample: What it is a model of.
    """

    def __init__(self, sample: _Sample) -> None:
        self._places, self._bases = sample.places, [_basis(codes) for codes in sample.codes.T]
        padded = [np.vstack([basis, np.zeros(basis.shape[1])]) for basis in self._bases]  # row -1: not applicable
        single = np.hstack([rows[codes] for rows, codes in zip(padded, sample.codes.T, strict=True)])
        owners = np.repeat(np.arange(len(sample.keys)), [basis.shape[1] for basis in self._bases])
        one, other = np.triu_indices(owners.size, 1)
        apart = owners[one] != owners[other]
        one, other = one[apart], other[apart]
        self._columns = np.hstack([single, single[:, one] * single[:, other]])
        self._components = np.concatenate([owners, owners[one]]), np.concatenate([owners, owners[other]])
        self._single = slice(0, owners.size)
        self._penalties = np.repeat([_PENALTY, _PAIR_PENALTY], [owners.size, one.size])
        applicable = (sample.codes >= 0).astype(np.float64)
        self._weights: Floats = applicable.T @ applicable / len(applicable) / sample.places.var()

    def coefficients(self, rows: Ints) -> Floats:
        """Return what fits these heuristics best (columns,): pairs beyond all components, components without pairs."""
        single, columns, places = self._single, self._columns[rows], self._places[rows]
        columns -= columns.mean(axis=0)
        products, moments = columns.T @ columns, columns.T @ (places - places.mean())
        products[np.diag_indices_from(products)] += self._penalties
        found: Floats = np.linalg.solve(products, moments)
        found[single] = np.linalg.solve(products[single, single], moments[single])
        return found

    def shares(self, one: Floats, other: Floats) -> Floats:
        """Return the shares in the variance by the coefficients of two halves (components, components).

        Those of single components are on the diagonal, those of pairs above it. What is not applicable to some
        heuristics explains nothing of them.
        """
        found = np.zeros_like(self._weights)
        np.add.at(found, self._components, one * other)
        return found * self._weights

    def levels(self, coefficients: Floats) -> list[Floats]:
        """Return how far each alternative of each component is from the mean place."""
        ends = np.cumsum([basis.shape[1] for basis in self._bases])
        parts = np.split(coefficients[self._single], ends[:-1])
        return [basis @ part for basis, part in zip(self._bases, parts, strict=True)]


def _basis(codes: Ints) -> Floats:
    """Return functions of a component's alternatives (alternatives, functions), orthonormal by their shares.

    With the constant function there are as many as alternatives; it is left out.
    """
    counts = np.bincount(codes[codes >= 0])
    roots = np.sqrt(counts / max(counts.sum(), 1))
    directions = np.linalg.qr(np.column_stack([roots, np.eye(roots.size)])[:, : roots.size]).Q
    functions: Floats = directions[:, 1:] / roots[:, None]
    return functions
