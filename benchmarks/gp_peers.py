"""Searches by Gaussian processes, as users of surrogate models would write them: what few runs are compared with.

The process has a Matern-5/2 kernel with a length per variable, a scale and a noise, all by maximum likelihood
(scikit-learn). Failed runs count as the worst value seen. All searches recommend robustly: the design with the best
worst case of the mean plus one standard deviation. That was chosen on 14 problems of the suite for training, with two
runs of `gp-ei` each, so differences are rough: without `meshing` and `control-loop`, the mean regrets at 50 and 100
runs were 11.0 and 5.6% by the mean alone, 9.0 and 4.8% with half a deviation, 9.0 and 3.8% with one, 10.4 and 3.5%
with two; with them, half a deviation was best at 50 runs and two at 100, and one was worse than the mean alone at
100. Limiting outliers by the quartiles helped at 50 runs and did much harm at 100, so it is not done.

- `gp-ei`: Latin hypercube, then the point of the highest expected improvement of the nominal objective.
- `stableopt`: Bogunovic, Scarlett, Jegelka and Cevher 2018: the design with the best optimistic worst case; of its
  neighbourhood, the point with the worst pessimistic value is evaluated.
- `lhs-gp`: a Latin hypercube of the whole budget.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import norm, qmc

import robustforge as rf

CONFIDENCE = 2.0
"""Standard deviations of StableOpt's bounds, as in its authors' experiments."""

CAUTION = 1.0
"""Standard deviations that are added to the mean in a recommendation."""

_REFITTED = 1.1
"""The kernel is fitted again when there are so many times as many points."""


class Process:
    """A Gaussian process on the points of a search, scaled to the unit cube of the bounds."""

    def __init__(self, dimension: int, rng: np.random.Generator) -> None:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        lengths = np.full(dimension, 0.5)
        kernel = ConstantKernel(1.0, (1e-2, 1e3)) * Matern(lengths, (0.03, 30.0), nu=2.5)
        self._kernel: Any = kernel + WhiteKernel(1e-6, (1e-8, 1e-2))
        self._regressor, self._rng, self._fitted_to = GaussianProcessRegressor, rng, 0

    def fit(self, points: np.ndarray, values: np.ndarray, again: bool = False) -> None:
        """Fit to points in the unit cube (k, n) and their values, of which failures are infinite."""
        finite = values[np.isfinite(values)]
        clean = np.where(np.isfinite(values), values, finite.max() if finite.size else 0.0)
        self.centre, self.scale = float(clean.mean()), float(clean.std()) or 1.0
        again = again or len(points) >= _REFITTED * self._fitted_to or len(points) < 20
        restarts = 1 if again and len(points) < 60 else 0
        process = self._regressor(
            self._kernel,
            optimizer="fmin_l_bfgs_b" if again else None,
            n_restarts_optimizer=restarts,
            random_state=int(self._rng.integers(2**31)),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            process.fit(points, (clean - self.centre) / self.scale)
        if again:
            self._kernel, self._fitted_to = process.kernel_, len(points)
        self.least = float(((clean - self.centre) / self.scale).min())
        self._lengths = np.atleast_1d(process.kernel_.k1.k2.length_scale)
        self._signal = float(process.kernel_.k1.k1.constant_value)
        self._points, self._weights = points / self._lengths, process.alpha_
        inverse_root = solve_triangular(process.L_, np.eye(len(points)), lower=True)
        self._inverse_root = np.ascontiguousarray(inverse_root.T)

    def _covariances(self, points: np.ndarray) -> np.ndarray:
        scaled = points / self._lengths
        squares = (scaled * scaled).sum(1)[:, None] + (self._points * self._points).sum(1)
        squares -= 2.0 * scaled @ self._points.T
        distances = np.sqrt(5.0 * np.maximum(squares, 0.0))
        return self._signal * (1.0 + distances + distances * distances / 3.0) * np.exp(-distances)

    def mean_and_deviation(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        covariances = self._covariances(points)
        explained = covariances @ self._inverse_root
        variances = self._signal - (explained * explained).sum(1)
        return covariances @ self._weights, np.sqrt(np.maximum(variances, 1e-12))


class Neighbours:
    """The uncertainty set in the unit cube of the bounds."""

    def __init__(self, problem: rf.Problem, rng: np.random.Generator) -> None:
        self.n, self.is_box, self._rng = problem.dimension, problem.geometry.is_box, rng
        self.radii = problem.geometry.radii / (problem.upper - problem.lower)

    def project(self, units: np.ndarray) -> np.ndarray:
        """Return differences, in units of the set, moved into it."""
        if self.is_box:
            return np.clip(units, -1.0, 1.0)
        return units / np.maximum(np.linalg.norm(units, axis=-1, keepdims=True), 1.0)

    def sample(self, count: int) -> np.ndarray:
        """Return differences in units of the set: none, along the axes, on the surface (count, n)."""
        axes = np.concatenate([np.zeros((1, self.n)), np.eye(self.n), -np.eye(self.n)])
        if self.is_box:
            drawn = self._rng.choice([-1.0, 1.0], (count, self.n))
            inner = self._rng.random(drawn.shape) < 0.2
            drawn = np.where(inner, self._rng.uniform(-1.0, 1.0, drawn.shape), drawn)
        else:
            drawn = self._rng.standard_normal((count, self.n))
            drawn /= np.linalg.norm(drawn, axis=1)[:, None]
            drawn *= np.where(self._rng.random(count) < 0.2, self._rng.random(count), 1.0)[:, None]
        return np.concatenate([axes, drawn])[: max(count, len(axes))]


class Emulated:
    """Robust optimisation of a function of many points, such as the mean of a process, in the unit cube."""

    def __init__(self, neighbours: Neighbours, rng: np.random.Generator) -> None:
        self.set, self.rng, self.n = neighbours, rng, neighbours.n

    def worst(self, function: Any, designs: np.ndarray, units: np.ndarray) -> np.ndarray:
        """Return the worst value of each design (k, n) over differences (m, n)."""
        points = designs[:, None, :] + self.set.radii * units
        return function(points.reshape(-1, self.n)).reshape(len(designs), -1).max(1)

    def worst_difference(self, function: Any, design: np.ndarray, rounds: int = 3) -> tuple[np.ndarray, float]:
        """Return the worst difference of one design, in units of the set, and its value."""
        units = self.set.sample(200 + 20 * self.n)
        size = 0.5
        for number in range(rounds + 1):
            values = function(design + self.set.radii * units)
            top = units[np.argsort(-values)[:5]]
            if number < rounds:
                moved = np.repeat(top, 20 + 2 * self.n, axis=0)
                units = np.concatenate([top, self.set.project(moved + size * self.rng.standard_normal(moved.shape))])
                size *= 0.4
        return top[0], float(values.max())

    def best_design(self, function: Any, starts: np.ndarray, width: int, rounds: int) -> np.ndarray:
        """Return the design whose worst value is least.

        Candidates are judged over few differences first; the best of them over those that turned out to be the worst.

        Args:
            function: Values of points (k, n).
            starts: Designs to start from, besides random ones (j, n).
            width: Random candidates.
            rounds: Rounds of local changes.
        """
        units = self.set.sample(2 * self.n + 8)
        near = np.clip(np.repeat(starts, 3, axis=0) + 0.05 * self.rng.standard_normal((3 * len(starts), self.n)), 0, 1)
        designs = np.concatenate([self.rng.random((width, self.n)), starts, near])
        values = self.worst(function, designs, units)
        keep = 12
        size = 0.1
        for number in range(rounds):
            designs = designs[np.argsort(values)[:keep]]
            if number % 2 == 0:  # what is worst for these few is what to judge by
                found = [self.worst_difference(function, each, 2)[0] for each in designs[:3]]
                units = np.concatenate([np.array(found), units])
            moved = np.repeat(designs, 6 + self.n, axis=0)
            steps = size * self.rng.standard_normal(moved.shape)
            steps *= self.rng.random(moved.shape) < max(0.5, 2.0 / self.n)
            designs = np.concatenate([designs, np.clip(moved + steps, 0.0, 1.0)])
            values = self.worst(function, designs, units)
            size *= 0.75
        designs = designs[np.argsort(values)[:keep]]
        final = [self.worst_difference(function, each, 2)[1] for each in designs]
        return designs[int(np.argmin(final))]


class GaussianProcessSearch:
    """What the searches have in common: evaluations, the process, and the recommendation."""

    def __init__(self, problem: rf.Problem, seed: int) -> None:
        self.problem, self.rng = problem, np.random.default_rng(seed)
        self.n = problem.dimension
        self.points, self.values = np.empty((0, self.n)), np.empty(0)
        self.process = Process(self.n, self.rng)
        self.emulated = Emulated(Neighbours(problem, self.rng), self.rng)

    def evaluate(self, point: np.ndarray) -> None:
        x = self.problem.lower + (self.problem.upper - self.problem.lower) * point
        self.points = np.concatenate([self.points, point[None]])
        self.values = np.append(self.values, float(self.problem(x)))

    def latin_hypercube(self, count: int) -> np.ndarray:
        return qmc.LatinHypercube(self.n, rng=self.rng, optimization="random-cd").random(count)

    def best_points(self, count: int) -> np.ndarray:
        """Return the best points evaluated, within the bounds."""
        return np.clip(self.points[np.argsort(self.values, kind="stable")[:count]], 0.0, 1.0)

    def recommend(self) -> np.ndarray:
        """Return the design whose worst case is best by a cautious forecast."""
        self.process.fit(self.points, self.values, again=True)
        design = self.emulated.best_design(
            lambda points: self.bound(points, CAUTION), self.best_points(20), width=1500, rounds=14
        )
        return np.asarray(self.problem.lower + (self.problem.upper - self.problem.lower) * design)

    def bound(self, points: np.ndarray, deviations: float) -> np.ndarray:
        """Return the mean of the process plus a number of standard deviations."""
        mean, deviation = self.process.mean_and_deviation(points)
        return mean + deviations * deviation

    def run(self, budgets: Sequence[int]) -> dict[int, np.ndarray]:
        """Return the recommended design after each number of evaluations."""
        for point in self.latin_hypercube(min(2 * self.n + 4, budgets[0] // 2)):
            self.evaluate(point)
        designs = {}
        for budget in sorted(budgets):
            while len(self.values) < budget:
                self.process.fit(self.points, self.values)
                self.evaluate(self.propose())
            designs[budget] = self.recommend()
        return designs

    def propose(self) -> np.ndarray:
        raise NotImplementedError


class ExpectedImprovement(GaussianProcessSearch):
    def propose(self) -> np.ndarray:
        """Return the point of the highest expected improvement."""
        best = self.best_points(10)
        near = np.repeat(best, 30, axis=0)
        near = near + 0.05 * self.rng.standard_normal(near.shape)
        points = np.concatenate([self.rng.random((1500, self.n)), np.clip(near, 0.0, 1.0)])
        size = 0.05
        for _ in range(4):
            improvement = self.expected_improvement(points)
            points = points[np.argsort(-improvement)[:8]]
            moved = np.repeat(points, 40, axis=0)
            steps = size * self.rng.standard_normal(moved.shape)
            steps *= self.rng.random(moved.shape) < max(0.5, 2.0 / self.n)
            points = np.concatenate([points, np.clip(moved + steps, 0.0, 1.0)])
            size *= 0.4
        return points[int(np.argmax(self.expected_improvement(points)))]

    def expected_improvement(self, points: np.ndarray) -> np.ndarray:
        """Return its logarithm, which tells points apart where the improvement is tiny."""
        mean, deviation = self.process.mean_and_deviation(points)
        z = (self.process.least - mean) / deviation
        plain = np.log(np.maximum(norm.pdf(z) + z * norm.cdf(z), 1e-300))
        tail = norm.logpdf(z) - 2.0 * np.log(np.maximum(np.abs(z), 1.0))
        return np.log(deviation) + np.where(z > -6.0, plain, tail)


class StableOpt(GaussianProcessSearch):
    def propose(self) -> np.ndarray:
        """Return the worst point, by the upper bound, around the design that is best by the lower bound."""
        design = self.emulated.best_design(
            lambda points: self.bound(points, -CONFIDENCE), self.best_points(15), width=400, rounds=5
        )
        unit, _ = self.emulated.worst_difference(lambda points: self.bound(points, CONFIDENCE), design)
        return np.asarray(design + self.emulated.set.radii * unit)


def _gp_ei(problem: rf.Problem, budgets: Sequence[int], seed: int) -> dict[int, np.ndarray]:
    return ExpectedImprovement(problem, seed).run(budgets)


def _stableopt(problem: rf.Problem, budgets: Sequence[int], seed: int) -> dict[int, np.ndarray]:
    return StableOpt(problem, seed).run(budgets)


def _lhs_gp(problem: rf.Problem, budgets: Sequence[int], seed: int) -> dict[int, np.ndarray]:
    designs = {}
    for budget in budgets:
        search = GaussianProcessSearch(problem, seed)
        for point in search.latin_hypercube(budget):
            search.evaluate(point)
        designs[budget] = search.recommend()
    return designs


GP_PEERS = {"gp-ei": _gp_ei, "stableopt": _stableopt, "lhs-gp": _lhs_gp}
