"""What holds for every heuristic that the grammar can derive, whatever it is made of."""

from __future__ import annotations

import numpy as np
import pytest

import robustforge as rf
from robustforge.components import (
    Capability,
    Clamp,
    DescentMovement,
    Final,
    Inner,
    InnerForm,
    Movement,
    Mutation,
    Network,
    NoMutation,
    Outer,
    PlainMovement,
    RandomSampling,
    Recommendation,
    RegressionSearch,
    RelocatingMovement,
    Relocation,
    Restart,
    Ring,
    Separability,
    Swarm,
)
from robustforge.components.velocity import Baseline, Inertia
from robustforge.core.component import Component, parts
from robustforge.representation.derivation_tree import nodes, replaced
from robustforge.representation.grammar import kinds
from shared import bowl, random_heuristic, same

SLOTS = [kind for kind in kinds() if kind.is_slot]
COMPONENTS = [component for slot in SLOTS for component in slot.alternatives()]
BOUNDS = {1: [(-3.0, 5.0)], 2: [(-3.0, 5.0)] * 2, 30: [(-3.0, 5.0)] * 30}


def heuristic_with(component: type[Component], group: int = 5, stopping: bool = True) -> rf.Heuristic:
    """Return a heuristic that uses the component, its numbers drawn at random."""
    made = rf.grammar("extended").derive(component, np.random.default_rng(7))
    built = _heuristic_around(made, group, stopping)
    if any(part == made for _, part in parts(built)):
        return built
    return _any_heuristic_with(made)  # of a slot that is not listed below


def _any_heuristic_with(made: Component) -> rf.Heuristic:
    """Return a heuristic that was derived at random until it has the slot of a component, with this component in it."""
    slot, rng = type(made).slot(), np.random.default_rng(7)
    for _ in range(1000):
        derived = rf.grammar("extended").random(rng)
        path = next((path for path, field, _ in nodes(derived) if field.kind is slot), None)
        if path is not None:
            return replaced(derived, path, made)
    raise AssertionError(f"no heuristic of the extended grammar has {made}")


def _heuristic_around(made: Component, group: int, stopping: bool) -> rf.Heuristic:
    """Return a small heuristic with a component in one of the slots that are known here."""
    inner = Inner(0.05, made if isinstance(made, InnerForm) else RandomSampling(), True, True, stopping)
    if isinstance(made, Outer) and not isinstance(made, Swarm):
        return rf.Heuristic(made, inner)
    if isinstance(made, (Restart, Recommendation)):
        search = rf.grammar("extended").derive(RegressionSearch, np.random.default_rng(7))
        return rf.Heuristic(search.replace(**{type(made).slot().__name__.lower(): made}), inner)
    if isinstance(made, (Separability, Final)):
        plain = rf.heuristic("rpso")
        return rf.Heuristic(plain.outer, plain.inner, **{type(made).slot().__name__.lower(): made})
    movement: Movement = made if isinstance(made, Movement) else PlainMovement()
    movement = RelocatingMovement(made) if isinstance(made, Relocation) else movement
    capability = Capability(
        made if isinstance(made, Baseline) else Inertia(1.0, 1.0, 0.9),
        movement,
        **({"clamp": made} if isinstance(made, Clamp) else {}),
    )
    mutation = made if isinstance(made, Mutation) else NoMutation()
    network = made if isinstance(made, Network) else Ring()
    return rf.Heuristic(Swarm(group, mutation, network, capability), inner)


def check_run(heuristic: rf.Heuristic, dimension: int, budget: int, seed: int) -> None:
    calls = []

    def counted(x: np.ndarray) -> float:
        calls.append(x)
        return bowl(x)

    bounds = BOUNDS.get(dimension, [(-3.0, 5.0)] * dimension)
    result = rf.minimize(counted, bounds, rf.Ball(0.5), budget, heuristic, seed)
    assert result.nfev == len(calls) == len(result.history)
    if heuristic.outer.title == "LEH search":
        assert result.nfev <= budget
        assert result.nfev == budget or "ended early" in result.message
    else:
        assert result.nfev == budget
    assert result.success
    assert ((result.x >= -3.0) & (result.x <= 5.0)).all()
    assert result.nominal_fun == bowl(result.x)
    near = np.linalg.norm(result.history.x - result.x, axis=1) <= 0.5 * (1 + 1e-9)
    assert result.fun == result.history.fun[near].max() == bowl(result.worst_x)
    assert result.fun >= result.nominal_fun


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda c: f"{c.slot().__name__}-{c.title}")
@pytest.mark.parametrize("dimension", [1, 2, 30])
def test_each_component_uses_its_budget_exactly(component, dimension):
    check_run(heuristic_with(component), dimension, 300, seed=3)


@pytest.mark.parametrize("group", [2, 3, 5, 50])
@pytest.mark.parametrize("network", Network.alternatives(), ids=lambda c: c.title)
def test_each_network_works_for_small_and_large_swarms(network, group):
    check_run(heuristic_with(network, group=group), 2, 400, seed=4)


@pytest.mark.parametrize("seed", range(150))
def test_random_heuristics_use_their_budget_exactly(seed):
    check_run(random_heuristic(seed), [1, 2, 5, 30][seed % 4], [3, 50, 333][seed % 3], seed)


@pytest.mark.parametrize("seed", range(40))
def test_heuristics_of_the_letter_use_their_budget_exactly(seed):
    heuristic = rf.grammar("letter").random(np.random.default_rng(seed))
    check_run(heuristic, [1, 2, 5, 30][seed % 4], [5, 50, 333][seed % 3], seed)


@pytest.mark.parametrize("seed", range(60))
def test_compiled_python_and_ask_tell_give_the_same_bits(seed):
    heuristic, dimension = random_heuristic(1000 + seed), [1, 2, 30][seed % 3]
    arguments = (BOUNDS[dimension], rf.Ball(0.5), 200, heuristic, seed)
    compiled = rf.minimize(bowl, *arguments)
    python = rf.minimize(lambda x: bowl(x), *arguments)
    assert same(compiled, python)
    search = rf.Optimizer(*arguments)
    order = np.random.default_rng(seed)
    while batch := search.ask():
        for k in order.permutation(len(batch)):  # one by one, in any order
            search.tell(batch.ids[k], bowl(batch.x[k]))
    assert same(compiled, search.result())


@pytest.mark.parametrize("seed", range(20))
def test_vectorized_and_callbacks_change_no_bit(seed):
    heuristic = random_heuristic(2000 + seed)
    arguments = (BOUNDS[2], rf.Ball(0.5), 150, heuristic, seed)
    plain = rf.minimize(bowl, *arguments)
    seen = []
    watched = rf.minimize(bowl, *arguments, callback=seen.append)
    assert same(plain, watched)
    assert [r.nit for r in seen] == list(range(1, len(seen) + 1))
    together = rf.minimize(
        lambda xs: np.array([bowl(np.ascontiguousarray(x)) for x in xs.T]), *arguments, vectorized=True
    )
    assert same(plain, together)


@pytest.mark.parametrize("seed", range(20))
def test_another_seed_gives_another_run(seed):
    heuristic = random_heuristic(3000 + seed)
    one = rf.minimize(bowl, BOUNDS[2], rf.Ball(0.5), 100, heuristic, rng=1)
    again = rf.minimize(bowl, BOUNDS[2], rf.Ball(0.5), 100, heuristic, rng=1)
    other = rf.minimize(bowl, BOUNDS[2], rf.Ball(0.5), 100, heuristic, rng=2)
    assert same(one, again)
    assert not np.array_equal(one.history.x, other.history.x)


@pytest.mark.parametrize("seed", range(100))
def test_json_round_trips(seed):
    heuristic = random_heuristic(4000 + seed)
    back = rf.Heuristic.from_json(heuristic.to_json())
    assert back == heuristic
    assert hash(back) == hash(heuristic)
    assert back.id == heuristic.id


def test_nobody_can_spend_an_evaluation_and_it_does_not_hang():
    """A box smaller than the ball: everything is near everything, so the history always says enough."""
    heuristic = heuristic_with(DescentMovement)
    lazy = Inner(0.05, RandomSampling(), n_dorm=True, n_pbest=True, stopping=True)
    relocation = rf.grammar("paper").derive(Relocation, np.random.default_rng(1))
    outer = heuristic.outer.replace(capability=Capability(Inertia(2.0, 2.0, 1.0), RelocatingMovement(relocation)))
    result = rf.minimize(bowl, [(0.9, 1.1)], rf.Ball(5.0), 500, rf.Heuristic(outer, lazy), rng=1)
    assert result.nfev == 500
