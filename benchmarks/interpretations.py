"""What each interpretation of the paper costs where its text can be read in more than one way, and some parameters.

    python benchmarks/interpretations.py 30 --runs 10         or 100; prints the table of docs/explanation/paper.md

Paired: the same seeds for every row. The figure is the change of the mean excess over the paper's General column,
(ours - paper) / |paper| averaged over the ten problems, each cut at 3; its standard error is over the seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import robustforge as rf
from robustforge.components import (
    Capability,
    Clan,
    DescentMovement,
    FullMovement,
    GaussianMutation,
    Inertia,
    LehRelocation,
    PlainMovement,
    RandomRelocation,
    RangeClamp,
)
from robustforge.engine import kernels
from robustforge.representation.letter import letter_variant
from robustforge.verification import verify
from tune import paper_means

Setting = rf.Heuristic | Callable[[rf.Problem], rf.Heuristic]
"""A heuristic, or a function that returns the one for a problem."""

BUDGET = 2000
SWITCHES = {
    "at least 4 points in an inner search": {"min_inner_points": 4},
    "largest extent: budget / (2 x swarm size)": {"min_searches": 2},
    "directions also without a search": {"direction_without_search": True},
    "no direction after an early stop": {"direction_after_stop": False},
    "all of a clan know all leaders": {"followers_know_leaders": True},
    "mutation after relocation": {"mutation_after_relocation": True},
    "relocation forgets the personal best": {"relocation_resets_best": True},
    "outside the box is not idle": {"outside_is_idle": False},
    "mutation of one dimension on average, not half": {"mutated_dimensions": 1.0},
    "initial velocity in units of x": {"first_speed_in_x": True},
    "step rho d instead of a unit d": {"step_by_rho": True},
}
"""One row for each switch of an interpretation, away from its default; `step_scale` depends on the problem."""


def read(base: rf.Heuristic, **switches: float) -> rf.Heuristic:
    return base.replace(interpretation=rf.Interpretation(**switches))


def in_x(base: rf.Heuristic) -> Setting:
    """Return the heuristic with C3 in units of x instead of Gamma."""
    return lambda problem: read(base, step_scale=1.0 / float(problem.geometry.radii[0]))


def with_outer(base: rf.Heuristic, **changes: object) -> rf.Heuristic:
    return base.replace(outer=base.outer.replace(**changes))


def with_capability(base: rf.Heuristic, **changes: object) -> rf.Heuristic:
    return with_outer(base, capability=base.outer.capability.replace(**changes))


def with_inertia(base: rf.Heuristic, **changes: float) -> rf.Heuristic:
    return with_capability(base, baseline=base.outer.capability.baseline.replace(**changes))


def with_neighbours(base: rf.Heuristic, include_self: bool) -> rf.Heuristic:
    return with_outer(base, network=base.outer.network.replace(include_self=include_self))


def with_extent(base: rf.Heuristic, points: int) -> rf.Heuristic:
    return base.replace(inner=base.inner.replace(extent=points * 4 * base.outer.agents / BUDGET))


def general_rows(base: rf.Heuristic) -> dict[str, Setting]:
    """The preset of the general case: parameters, steps, and the letter as a whole."""
    movement = base.outer.capability.movement
    assert movement.directions is not None
    bare = with_capability(base, movement=movement.replace(descent=movement.directions.replace(min_step=0.0)))
    rows: dict[str, Setting] = {
        "as it is": base,
        "the letter": letter_variant(base),
        "no descent directions": with_capability(base, movement=PlainMovement()),
        "Min step = 0": bare,
        "Min step = 0, step rho d instead of a unit d": read(bare, step_by_rho=True),
        "Min step = 0, C3 in units of x instead of Gamma": in_x(bare),
        "no direction after an early stop": read(base, direction_after_stop=False),
        "C1 = 1.5": with_inertia(base, c1=1.5),
        "C2 = 1.5": with_inertia(base, c2=1.5),
        "omega = 0.8": with_inertia(base, omega=0.8),
        "asynchronous moves, as in Algorithm 1": with_outer(base, update_order="asynchronous"),
        "mutation of one dimension on average, not half": read(base, mutated_dimensions=1.0),
        "initial velocity in units of x": read(base, first_speed_in_x=True),
        "velocity clamp at 5% of the width (no retuning)": with_capability(base, clamp=RangeClamp(0.05)),
    }
    for points in (2, 3, 6, 8, 12, 20):
        rows[f"{points} points in an inner search"] = with_extent(base, points)
    if isinstance(movement, FullMovement):
        rows["no relocation"] = with_capability(base, movement=DescentMovement(movement.descent))
    return rows


def switch_rows(base: rf.Heuristic) -> dict[str, Setting]:
    """Twelve particles that wander, so that every switch has something to decide: clans, mutation, relocation."""
    descent = base.outer.capability.movement.directions
    assert descent is not None
    movement = FullMovement(descent.replace(c3=0.3, min_step=0.0), LehRelocation(10, 0.1, 0.2, 1, 2, 2))
    capability = Capability(Inertia(1.0, 1.0, 0.6), movement)
    clans = with_outer(base, swarm_size=12, network=Clan(), mutation=GaussianMutation(0.3, 0.3), capability=capability)
    swarm = with_extent(clans, 3)
    swarm = swarm.replace(inner=swarm.inner.replace(n_dorm=True))
    randomly = {
        dorm: with_capability(swarm, movement=FullMovement(movement.descent, RandomRelocation(dorm))) for dorm in (1, 5)
    }
    return {
        "clans: as it is": swarm,
        "clans: the letter": letter_variant(swarm),
        **{f"clans: {words}": read(swarm, **changes) for words, changes in SWITCHES.items()},
        "clans: C3 in units of x instead of Gamma": in_x(swarm),
        "clans: asynchronous": with_outer(swarm, update_order="asynchronous"),
        "clans: amplitude 0.1, not 0.3": with_outer(swarm, mutation=GaussianMutation(0.3, 0.1)),
        "clans: random relocation, Dorm 1": randomly[1],
        "clans: random relocation, Dorm 5": randomly[5],
    }


def stuck_rows(base: rf.Heuristic) -> dict[str, Setting]:
    """A setting in which particles leave the box and get stuck, so that relocation has something to do."""
    descent = base.outer.capability.movement.directions
    assert descent is not None
    capability = Capability(Inertia(2.0, 2.0, 0.9), FullMovement(descent, LehRelocation(10, 0.1, 0.2, 1, 2, 1)))
    wild = with_outer(base, capability=capability).replace(inner=base.inner.replace(n_dorm=True))
    return {
        "stuck: LEH relocation": wild,
        "stuck: no relocation": with_capability(wild, movement=DescentMovement(descent)),
        "stuck: random relocation": with_capability(wild, movement=FullMovement(descent, RandomRelocation(1))),
        "stuck: relocation forgets the personal best": read(wild, relocation_resets_best=True),
        "stuck: outside the box is not idle": read(wild, outside_is_idle=False),
    }


def champion_rows(dimension: int) -> dict[str, Setting]:
    """The general champion of the study, a larger swarm than the preset: orders, and who counts as a neighbour."""
    champion = rf.heuristic(f"champion/{dimension}d/general")
    rows: dict[str, Setting] = {
        f"champion: {order}, {'own best included' if include_self else 'others only'}": with_neighbours(
            with_outer(champion, update_order=order), include_self
        )
        for order in ("synchronous", "asynchronous")
        for include_self in (True, False)
    }
    return {**rows, "champion: the letter": letter_variant(champion)}


def excess(setting: Setting, dimension: int, run: int, names: list[str]) -> float:
    """Return the mean excess over the problems for one seed."""
    total = []
    for number, (name, mean) in enumerate(paper_means(dimension, "general").items()):
        if name not in names:
            continue
        problem, key = rf.problem(name, dimension), np.random.SeedSequence([7, number, run])
        heuristic = setting if isinstance(setting, rf.Heuristic) else setting(problem)
        x = rf.minimize(problem, budget=BUDGET, heuristic=heuristic, rng=key).x
        value = verify(problem, x, 10_000, rng=key.spawn(1)[0], attack=False).sampled.fun
        total.append(min(3.0, (value - mean) / abs(mean)))
    return float(np.mean(total))


def print_rows(rows: dict[str, Setting], values: Callable[[Setting], np.ndarray]) -> None:
    """Print the excess of the first row, and the change of each other one."""
    first: np.ndarray | None = None
    for name, setting in rows.items():
        found = values(setting)
        if first is None:
            first = found
            print(f"{name:55s} excess {found.mean():+.3f}", flush=True)
            continue
        change = found - first
        error = change.std(ddof=1) / np.sqrt(change.size) if change.size > 1 else np.nan
        print(f"{name:55s} change {change.mean():+.3f} +- {error:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dimension", type=int, choices=(30, 100))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--problems", nargs="+", default=list(rf.problems()), choices=rf.problems())
    args = parser.parse_args()
    kernels.prepare_all()
    base = rf.heuristic(f"paper/{args.dimension}d/general")
    with ThreadPoolExecutor(args.threads) as pool:

        def values(setting: Setting) -> np.ndarray:
            return np.array(
                list(pool.map(lambda run: excess(setting, args.dimension, run, args.problems), range(args.runs)))
            )

        for rows in (general_rows(base), switch_rows(base), champion_rows(args.dimension), stuck_rows(base)):
            print_rows(rows, values)


if __name__ == "__main__":
    main()
