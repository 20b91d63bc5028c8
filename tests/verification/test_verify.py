"""`verify`: the sample is uniform, and the attack finds worst cases that are known from independent computations.

The truths are computed here from plain formulas of one variable, by dynamic programming over the squared radius, by
sorting (sawtooth), or in closed form (sphere, heaviside); nothing of the attack is used.
"""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest
from numba import njit

import robustforge as rf
from robustforge.errors import ObjectiveError, ProblemError
from robustforge.verification.api import Verification, verify
from robustforge.verification.knapsack import choose
from robustforge.verification.neighbourhood import Neighbourhood
from shared import bowl

SAMPLES = 5000


def rastrigin(x):
    t = x - 20.0
    return 10.0 + t**2 - 10.0 * np.cos(2.0 * np.pi * t)


def multipeak_f1(x):
    t = x + 5.0
    wave = np.sin(5.0 * np.pi * t)
    shape = np.where((t > 0.4) & (t <= 0.6), np.sqrt(np.abs(wave)), wave**6)
    return -np.exp(-2.0 * np.log(2.0) * ((t - 0.1) / 0.8) ** 2) * shape


def multipeak_f2(x):
    t = x - 10.0
    return 2.0 * np.sin(10.0 * np.exp(-0.2 * t) * t) * np.exp(-0.25 * t)


def branke(x):
    t = x + 5.0
    left = np.where((t >= -2.0) & (t < 0.0), 1.0 - (t + 1.0) ** 2, 0.0)
    right = np.where((t >= 0.0) & (t <= 2.0), 1.3 * 16.0 ** (-np.abs(2.0 - 2.0 * t)), 0.0)
    return 1.3 - left - right


TERMS = {
    "rastrigin": (rastrigin, 0.5, "sum"),
    "multipeak-f1": (multipeak_f1, 0.0625, "mean"),
    "multipeak-f2": (multipeak_f2, 0.5, "mean"),
    "branke": (branke, 0.5, "mean"),
}
"""The function of one variable, Gamma, and how the variables are put together."""

REFERENCES = {
    "rastrigin": {30: (20.0, 48.26), 100: (20.0, 49.19)},
    "multipeak-f1": {30: (-4.9, -0.907), 100: (-4.9, -0.971)},
    "multipeak-f2": {30: (10.522, -1.293), 100: (10.52025, -1.612)},
    "branke": {30: (-6.0, 0.3083), 100: (-6.0, 0.3025)},
    "pickelhaube": {30: (-25.0, 0.2469), 100: (-25.0, 0.2292)},
    "heaviside": {30: (-21.0, 0.4195), 100: (-20.0, 1.01)},
    "sawtooth": {30: (-4.915471, 0.1948), 100: (-4.889443, 0.1346)},
    "ackley": {30: (50.0, 4.424), 100: (50.0, 3.149)},
    "sphere": {30: (20.0, 1.0), 100: (20.0, 1.0)},
    "rosenbrock": {30: (10.0105, 36.30), 100: (10.9955, 56.12)},
}
"""The coordinate t of the best point t(1, ..., 1), and the worst case at the best point known, per dimension.

The coordinates are minima of scans of the worst cases below over t (for rosenbrock, of the attack's). At sawtooth's,
one more cliff is just out of reach: 0.2 / sqrt(3) and 0.2 / sqrt(5) from it, and 1e-6 more. Heaviside's touches the
cliff in 30 variables and lies on it in 100. Rosenbrock's best point in 30 variables is not on the diagonal: 36.30
there, 36.58 here.
"""


def worst_sum(name, x, units=1000):
    """The worst case of a sum, by dynamic programming: the best total for each number of units of squared radius."""
    term, radius, together = TERMS[name]
    steps = radius * np.sqrt(np.arange(units + 1) / units)
    best = np.full(units + 1, -np.inf)
    best[0] = 0.0
    for coordinate in x:
        gains = np.maximum(term(coordinate + steps), term(coordinate - steps))
        tops = np.maximum.accumulate(gains)
        after = np.full(units + 1, -np.inf)
        for k in np.flatnonzero(np.concatenate([[True], tops[1:] > tops[:-1]])):
            np.maximum(after[k:], best[: units + 1 - k] + gains[k], out=after[k:])
        best = after
    return best.max() / (x.size if together == "mean" else 1)


def limit_of_sum(name, x):
    """No worst case of a sum is above this: the least, over prices of squared radius, of what each term nets."""
    term, radius, together = TERMS[name]
    steps = radius * np.linspace(-1.0, 1.0, 4001) ** 3
    terms = term(x[:, None] + steps)
    low, high = 0.0, 1e6
    for _ in range(60):
        price = (low + high) / 2
        spent = np.sum(steps[np.argmax(terms - price * steps**2, axis=1)] ** 2)
        low, high = (price, high) if spent > radius**2 else (low, price)
    limit = high * radius**2 + np.sum(np.max(terms - high * steps**2, axis=1))
    return limit / (x.size if together == "mean" else 1)


def worst_sawtooth(x, radius=0.2):
    """The worst case of sawtooth: the k cheapest cliffs, which are the highest too, and slopes with what is left."""
    t = x + 5.0
    height = np.where((t >= -0.8) & (t < 0.2), t + 0.8, 0.0)
    order = np.argsort(0.2 - t[height > 0])
    away, heights = (0.2 - t[height > 0])[order], height[height > 0][order]
    best = 1.0 - height.mean()
    for k in range(away.size + 1):
        left = radius**2 - np.sum(away[:k] ** 2)
        if left < 0:
            break
        gain, limits = np.sum(heights[:k]), np.sort(heights[k:])
        for i, limit in enumerate(limits):
            step = min(limit, np.sqrt(left / (limits.size - i)))
            gain, left = gain + step, left - step**2
        best = max(best, 1.0 - (height.sum() - gain) / x.size)
    return best


def worst_heaviside(x, radius=1.0):
    """The worst case of heaviside: radially outwards, or over one cliff and outwards with what is left."""
    z = x + 20.0
    length = np.linalg.norm(z)
    outwards = (length + radius) ** 2 / 100.0
    if (z > 0).any():
        return 1.0 + outwards
    near = z[-z < radius]
    over = 1.0 + (np.sqrt(length**2 - near**2) + np.sqrt(radius**2 - near**2)) ** 2 / 100.0
    return max([outwards, *over])


def places(name, dimension):
    """Two random points of the box, the reference point, one beside it; of 100 variables, the first and the last."""
    problem = rf.problem(name, dimension)
    rng = np.random.default_rng(dimension)
    reference = np.full(dimension, REFERENCES[name][dimension][0])
    aside = rng.standard_normal(dimension)
    aside *= 0.7 * problem.geometry.radii[0] / np.linalg.norm(aside)
    found = [*rng.uniform(problem.lower, problem.upper, (2, dimension)), reference, reference + aside]
    return found if dimension < 100 else [found[0], found[-1]]


def checked(problem, x, **options):
    """Verify, and check the invariants."""
    found = verify(problem, x, options.pop("samples", SAMPLES), options.pop("rng", 1), **options)
    for case in (found.sampled, found.attacked):
        if case is not None:
            gaps = (case.x - x - problem.geometry.offset) / problem.space.scale
            assert problem.geometry.holds(gaps[None]).all()
            assert problem(case.x) == case.fun
    if found.attacked is not None:
        assert found.attacked.fun >= max(found.sampled.fun, found.nominal_fun)
    return found


@pytest.mark.parametrize("dimension", [30, 100])
def test_attack_is_exact_on_sphere(dimension):
    problem = rf.problem("sphere", dimension)
    for x in places("sphere", dimension):
        truth = (np.linalg.norm(x - 20.0) + 1.0) ** 2
        assert checked(problem, x).attacked.fun == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("dimension", [30, 100])
@pytest.mark.parametrize("name", sorted(TERMS))
def test_attack_finds_the_worst_case_of_additive_functions(name, dimension):
    problem = rf.problem(name, dimension)
    for x in places(name, dimension):
        truth, limit = worst_sum(name, x), limit_of_sum(name, x)
        found = checked(problem, x).attacked
        assert found.fun >= max(truth, limit) - 0.01 * abs(truth)
        assert found.fun <= limit + 1e-3 * abs(truth)  # the limit is one on a grid: up to 1.5e-4 with other seeds
        assert found.nfev < 100_000


@pytest.mark.parametrize("dimension", [30, 100])
def test_attack_finds_the_worst_case_of_sawtooth(dimension):
    problem = rf.problem("sawtooth", dimension)
    for x in places("sawtooth", dimension):
        truth = worst_sawtooth(x)
        # in 100 variables at least 0.99999 with 20 other seeds
        assert truth * 0.99 <= checked(problem, x).attacked.fun <= truth * (1 + 1e-6)


@pytest.mark.parametrize("dimension", [30, 100])
def test_attack_finds_the_worst_case_of_heaviside(dimension):
    problem = rf.problem("heaviside", dimension)
    rng = np.random.default_rng(dimension)
    near = [np.full(dimension, t) + 0.2 * rng.standard_normal(dimension) for t in (-20.6, -20.9)]
    for x in [*places("heaviside", dimension)[1:], *near]:
        truth = worst_heaviside(x)
        assert truth * 0.99 <= checked(problem, x).attacked.fun <= truth * (1 + 1e-9)


@pytest.mark.parametrize("dimension", [30, 100])
@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_reference_optima(name, dimension):
    t, known = REFERENCES[name][dimension]
    found = checked(rf.problem(name, dimension), np.full(dimension, t))
    # at most 0.0077 (Rosenbrock in 30 variables, others 0.0006) with 20 other seeds
    assert found.attacked.fun == pytest.approx(known, rel=0.015)


@pytest.mark.parametrize("name", sorted(REFERENCES))
@pytest.mark.parametrize("dimension", [30, 100])
def test_no_design_is_better_than_the_known_optimum(name, dimension):
    """Of what a preset finds, and of points around the best point known, none has a worst case below the optimum's."""
    problem, (t, known) = rf.problem(name, dimension), REFERENCES[name][dimension]
    rng = np.random.default_rng(dimension)
    near = np.clip(t + rng.normal(0.0, 0.2, dimension) * problem.geometry.radii, problem.lower, problem.upper)
    for x in (rf.minimize(problem, heuristic=f"paper/{dimension}d/{name}", rng=1).x, near):
        # with 20 other sets of seeds always above by at least 0.055
        assert verify(problem, x, samples=2000, rng=1).attacked.fun >= known - 0.015 * abs(known)


@pytest.mark.parametrize(("name", "share"), [("sphere", 1 - 1e-6), ("rastrigin", 0.99), ("sawtooth", 0.75)])
def test_attack_on_rotated_problems(name, share):
    """A rotation about the centre of the box leaves the worst case as it is.

    A cliff of sawtooth that no sampled point is beyond stays unknown to the attack, hence its lower bar: of 25 designs
    with other rotations, 24 reached 0.98 and one 0.85; of rastrigin, all reached 1.
    """
    problem, n = rf.problem(name, 30, "rotated", seed=1), 30
    transposed, centre, z = problem.data[3 + n :].reshape(n, n), problem.data[2], places(name, n)[3]
    x = centre + (transposed * (z - centre)).sum(axis=1)
    assert problem(x) == pytest.approx(rf.problem(name, n)(z))  # it is that design
    truths = {"sphere": (np.linalg.norm(z - 20.0) + 1.0) ** 2, "sawtooth": worst_sawtooth(z)}
    truth = truths.get(name) or worst_sum(name, z)
    assert share * truth <= checked(problem, x, samples=100_000).attacked.fun <= 1.001 * truth


def test_an_additive_function_on_a_box():
    for name in ("rastrigin", "multipeak-f2"):
        term, radius, together = TERMS[name]
        whole = rf.problem(name, 20)
        problem = rf.Problem(lambda x, f=whole: f(x), zip(whole.lower, whole.upper, strict=True), rf.Box(radius))
        x = np.random.default_rng(3).uniform(whole.lower, whole.upper)
        grid = np.linspace(-radius, radius, 2001)
        terms = term(x[:, None] + grid).max(axis=1)
        truth = terms.sum() if together == "sum" else terms.mean()
        assert checked(problem, x, samples=100).attacked.fun >= truth - 1e-3 * abs(truth)


def test_a_rotated_bowl_on_a_box_is_worst_at_a_corner():
    """Unequal sides, an exact variable, and all corners for comparison.

    Of 60 such bowls, the attack finds the worst corner of 58, and of one a corner with 0.91 of its value.
    """
    n, rng = 8, np.random.default_rng(2)
    down, up = np.full(n, 0.3), np.linspace(0.0, 0.7, n)
    down[0] = 0.0
    offsets = np.array(list(itertools.product(*zip(-down[1:], up[1:], strict=True)))) @ np.eye(n)[1:]
    shares = []
    for shape, x in zip(rng.standard_normal((5, n, n)), rng.uniform(-1, 1, (5, n)), strict=True):
        problem = rf.Problem(
            lambda x, a=shape: float(((a @ x) ** 2).sum()), [(-3, 3)] * n, rf.Box(lower=down, upper=up)
        )
        truth = np.sum(((x + offsets) @ shape.T) ** 2, axis=1).max()
        shares.append(checked(problem, x, samples=500).attacked.fun / truth)
    assert max(shares) == pytest.approx(1.0, rel=1e-9)
    assert np.sort(shares)[2] == pytest.approx(1.0, rel=1e-9)
    assert min(shares) >= 0.75


def test_an_ellipsoid_with_an_exact_variable():
    radii = np.array([0.5, 0.0, 2.0, 1.0])
    problem = rf.Problem(bowl, [(-9, 9)] * 4, rf.Ball(radii))
    x = np.array([1.0, 3.0, 1.0, 1.0])
    found = checked(problem, x)
    assert found.nominal_fun == 4.0
    assert found.attacked.fun == pytest.approx(8.0, rel=1e-6)  # two units along the longest axis


def test_points_are_clipped_if_that_is_the_policy():
    problem = rf.Problem(bowl, [(1, 2)] * 5, rf.Ball(0.5), out_of_bounds="clip")
    x = np.array([1.0, 2.0, 2.0, 1.5, 1.0])
    found = checked(problem, x)
    for case in (found.sampled, found.attacked):
        assert (case.x >= 1.0).all()
        assert (case.x <= 2.0).all()
    assert found.attacked.fun == pytest.approx(2.0 + (0.5 + 0.5) ** 2, rel=1e-6)


def test_nothing_outside_the_bounds_is_evaluated_under_shrink():
    def wary(x):
        assert (np.abs(x) <= 1.0 + 1e-12).all()
        return float(x @ x)

    problem = rf.Problem(wary, [(-1, 1)] * 3, rf.Ball(0.25), out_of_bounds="shrink")
    assert checked(problem, np.full(3, 0.75), samples=300).attacked.fun == pytest.approx((0.75 * 3**0.5 + 0.25) ** 2)
    with pytest.raises(ProblemError, match=r"shrunken bounds; x\[1\] is 0\.8"):
        verify(problem, [0.0, 0.8, 0.0], 10)


@pytest.mark.parametrize("uncertainty", [rf.Ball([0.5, 1.0, 0.0]), rf.Box(lower=[0.1, 0.2, 0], upper=[0.1, 0.4, 0])])
def test_samples_are_uniform_in_the_set(uncertainty):
    problem = rf.Problem(bowl, [(-9, 9)] * 3, uncertainty)
    neighbourhood = Neighbourhood(problem, np.array([1.0, 2.0, 3.0]))
    points = neighbourhood.sample(20_000, np.arange(1, 5, dtype=np.uint64))
    units = neighbourhood.to_unit(points)
    gaps = (points - [1.0, 2.0, 3.0] - problem.geometry.offset) / problem.space.scale
    assert problem.geometry.holds(gaps).all()
    assert (points[:, 2] == 3.0).all()
    # errors are larger than those of independent points, since most come from others: with 20 other seeds, 0.015 and
    # 0.025 at most
    assert np.abs(units.mean(axis=0)).max() < 0.04
    spread = 1 / 3 if problem.geometry.is_box else 1 / 4
    assert np.mean(units**2, axis=0) == pytest.approx([spread] * 2, abs=0.05)
    assert np.allclose(neighbourhood.to_points(units), points)


def test_the_result_depends_on_the_seed_only(monkeypatch):
    problem, x = rf.problem("rastrigin", 30), np.full(30, 20.1)
    first = verify(problem, x, 50_000, 5)
    for cores in (1, 3):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        again = verify(problem, x, 50_000, 5)
        for one, other in ((first.sampled, again.sampled), (first.attacked, again.attacked)):
            assert (one.fun, one.nfev) == (other.fun, other.nfev)
            assert np.array_equal(one.x, other.x)
    assert verify(problem, x, 50_000, 6, attack=False).sampled.fun != first.sampled.fun


def test_python_and_compiled_objectives_have_the_same_result():
    bounds, ball, x = [(-3, 5)] * 6, rf.Ball(0.5), np.linspace(0.0, 1.0, 6)
    fast = verify(rf.Problem(bowl, bounds, ball), x, 3000, 2)
    slow = verify(rf.Problem(bowl.py_func, bounds, ball), x, 3000, 2)
    assert fast.nominal_fun == slow.nominal_fun
    for one, other in ((fast.sampled, slow.sampled), (fast.attacked, slow.attacked)):
        assert (one.fun, one.nfev) == (other.fun, other.nfev)
        assert np.array_equal(one.x, other.x)


def test_infinity_is_a_valid_worst_value():
    @njit
    def walled(x):
        return np.inf if x[0] > 1.2 else x[0]

    for fun in (walled, walled.py_func):
        found = checked(rf.Problem(fun, [(-2, 2)] * 3, rf.Ball(0.5)), np.ones(3), samples=2000)
        assert found.nominal_fun == 1.0
        assert found.sampled.fun == found.attacked.fun == np.inf
        assert found.sampled.x[0] > 1.2


def test_the_attack_finds_an_infinity_that_the_sample_misses():
    def walled(x):
        return np.inf if x[7] > 0.499 else 0.0

    found = checked(rf.Problem(walled, [(-2, 2)] * 20, rf.Ball(0.5)), np.zeros(20), samples=50)
    assert found.sampled.fun == 0.0
    assert found.attacked.fun == np.inf


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_failures_name_the_point(bad):
    @njit
    def failing(x, bad=bad):
        return bad if x[1] < -0.2 else 1.0

    for fun in (failing, failing.py_func):
        with pytest.raises(ObjectiveError, match=r"at x = .* it returned NaN or -inf") as caught:
            verify(rf.Problem(fun, [(-2, 2)] * 2, rf.Ball(0.5)), [0.0, 0.0], 1000, 1)
        assert caught.value.x[1] < -0.2


def test_an_objective_must_return_numbers():
    problem = rf.Problem(lambda x: "high", [(-2, 2)] * 2, rf.Ball(0.5))
    with pytest.raises(ObjectiveError, match="'high', which is not a real number"):
        verify(problem, [0.0, 0.0], 10)
    lenient = rf.Problem(lambda x: np.array([x.sum()]), [(-2, 2)] * 2, rf.Ball(0.5))
    assert verify(lenient, [1.0, 0.5], 10, 1).attacked.fun == pytest.approx(1.5 + 0.5 * 2**0.5)


def test_objectives_may_modify_their_argument():
    @njit
    def spoil(x):
        total = x.sum()
        x[:] = 99.0
        return total

    for fun in (spoil, spoil.py_func):
        found = verify(rf.Problem(fun, [(-2, 2)] * 2, rf.Ball(0.5)), [1.0, 0.5], 10, 1)
        assert found.attacked.x.sum() == pytest.approx(1.5 + 0.5 * 2**0.5)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([20.0] * 3, "one number per variable; its shape is \\(3,\\), not \\(2,\\)"),
        ([[20.0, 20.0]], "one number per variable"),
        ([20.0, np.nan], "`x` must be finite; x\\[1\\] is nan"),
        ([20.0, 26.0], "within the bounds; x\\[1\\] is 26, its bounds are \\(15, 25\\)"),
        ("here", "an array of numbers; got 'here'"),
    ],
)
def test_invalid_designs(x, message):
    with pytest.raises(ProblemError, match=message):
        verify(rf.problem("sphere", 2), x)


@pytest.mark.parametrize("samples", [0, -1, 2.5, True, "many"])
def test_invalid_samples(samples):
    with pytest.raises(ProblemError, match="`samples` must be an integer of at least 1"):
        verify(rf.problem("sphere", 2), [20.0, 20.0], samples)


def test_the_problem_must_be_a_problem():
    with pytest.raises(ProblemError, match="`problem` must be a Problem"):
        verify(bowl, [20.0, 20.0])


def test_one_variable_and_one_sample():
    found = checked(rf.problem("rastrigin", 1), np.array([20.25]), samples=1)
    assert found.attacked.fun == pytest.approx(rastrigin(20.25 + np.linspace(-0.5, 0.5, 100_001)).max(), rel=1e-6)


def test_without_an_attack_and_as_a_string():
    x = np.full(2, 20.0)
    found = verify(rf.problem("sphere", 2), x, 1000, 1, attack=False)
    assert isinstance(found, Verification)
    assert found.attacked is None
    assert "attack" not in str(found)
    text = str(verify(rf.problem("sphere", 2), x, 1000, 1))
    assert "nominal value        0\n" in text
    assert "(1000 points)" in text
    assert "attacked worst case  1 " in text


def test_the_knapsack_is_solved():
    rng = np.random.default_rng(0)
    for _ in range(50):
        costs = [np.concatenate([[0.0], rng.uniform(0.0, 0.8, 3)]) for _ in range(5)]
        gains = [np.concatenate([[0.0], rng.uniform(0.0, 1.0, 3)]) for _ in range(5)]
        chosen = choose(costs, gains)
        assert sum(cost[k] for cost, k in zip(costs, chosen, strict=True)) <= 1.0 + 1e-9
        every = itertools.product(range(4), repeat=5)
        feasible = [picks for picks in every if sum(cost[k] for cost, k in zip(costs, picks, strict=True)) <= 1.0]
        best = max(sum(gain[k] for gain, k in zip(gains, picks, strict=True)) for picks in feasible)
        assert sum(gain[k] for gain, k in zip(gains, chosen, strict=True)) == pytest.approx(best, rel=1e-9)


def test_masked_values_are_failures():
    problem = rf.Problem(lambda x: np.ma.masked, [(-2, 2)] * 2, rf.Ball(0.5))
    with pytest.raises(ObjectiveError, match="a masked value"):
        verify(problem, [0.0, 0.0], 10)
    vectorized = rf.Problem(
        lambda xs: np.ma.array(xs.sum(axis=0), mask=xs[0] > 0.1), [(-2, 2)] * 2, rf.Ball(0.5), vectorized=True
    )
    with pytest.raises(ObjectiveError, match="NaN or -inf") as caught:
        verify(vectorized, [0.0, 0.0], 100, 1)
    assert caught.value.x[0] > 0.1


def test_a_vectorized_objective_is_called_for_many_points_at_once():
    calls = []

    def columns(xs):
        calls.append(xs.shape[1])
        return np.sin(3 * xs).sum(axis=0) + (xs**2).sum(axis=0)

    def one(x):
        return float(columns(x[:, None])[0])

    arguments = ([(-2, 2)] * 5, rf.Box([0.5] * 5))
    plain = verify(rf.Problem(one, *arguments), [0.5] * 5, 10_000, 1)
    singly, calls[:] = len(calls), []
    problem = rf.Problem(columns, *arguments, vectorized=True)
    found = verify(problem, [0.5] * 5, 10_000, 1)
    assert (found.sampled.fun, found.attacked.fun) == (plain.sampled.fun, plain.attacked.fun)
    assert sum(calls) == singly > 10_000
    assert len(calls) < singly / 50
    assert problem([0.5] * 5) == one(np.full(5, 0.5))
