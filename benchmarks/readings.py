"""Where the paper can be read in more than one way: what each other reading, or another choice of numbers, costs.

    python benchmarks/readings.py 30 --runs 10         or 100; prints a table, two columns of which are in docs/paper.md

Paired: the same seeds for every row. The figure is the change of the mean excess over the paper's General column,
(ours - paper) / |paper| averaged over the ten problems, each cut at 3; its standard error is over the seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

import robustforge as rf
from robustforge.components import (
    Capability,
    DescentMovement,
    FullMovement,
    Inertia,
    LehRelocation,
    PlainMovement,
    RandomRelocation,
    WidthClamp,
)
from robustforge.core.state import Readings
from robustforge.engine import compilation, machine
from robustforge.verification import verify
from tune import paper_means

Setting = tuple[rf.Heuristic, Callable[[rf.Problem], Readings]]
DEFAULT = Readings()


def usual(_: rf.Problem) -> Readings:
    return DEFAULT


def read(**changes: float) -> Callable[[rf.Problem], Readings]:
    return lambda problem: replace(DEFAULT, **changes)


def in_x(problem: rf.Problem) -> Readings:
    return replace(DEFAULT, step_scale=1.0 / float(problem.geometry.radii[0]))


def with_capability(base: rf.Heuristic, **changes: object) -> rf.Heuristic:
    capability = base.outer.capability.replace(**changes)
    return base.replace(outer=base.outer.replace(capability=capability))


def with_inertia(base: rf.Heuristic, **changes: float) -> rf.Heuristic:
    return with_capability(base, baseline=base.outer.capability.baseline.replace(**changes))


def with_order(base: rf.Heuristic, order: str) -> rf.Heuristic:
    return base.replace(outer=base.outer.replace(order=order))


def with_neighbours(base: rf.Heuristic, itself: bool) -> rf.Heuristic:
    return base.replace(outer=base.outer.replace(network=base.outer.network.replace(itself=itself)))


def with_extent(base: rf.Heuristic, points: int) -> rf.Heuristic:
    return base.replace(inner=base.inner.replace(extent=points * 4 * base.outer.group / 2000))


def general_rows(base: rf.Heuristic) -> dict[str, Setting]:
    movement = base.outer.capability.movement
    assert movement.directions is not None
    bare = with_capability(base, movement=movement.replace(descent=movement.directions.replace(min_step=0.0)))
    rows: dict[str, Setting] = {
        "as it is": (base, usual),
        "no descent directions": (with_capability(base, movement=PlainMovement()), usual),
        "Min step = 0": (bare, usual),
        "Min step = 0, step rho d instead of a unit d": (bare, read(step_by_rho=True)),
        "Min step = 0, C3 in units of x instead of Gamma": (bare, in_x),
        "no direction after an early stop": (base, read(direction_after_stop=False)),
        "C1 = 1.5": (with_inertia(base, c1=1.5), usual),
        "C2 = 1.5": (with_inertia(base, c2=1.5), usual),
        "omega = 0.8": (with_inertia(base, omega=0.8), usual),
        "one particle after the other, as in Algorithm 1": (with_order(base, "in turn"), usual),
        "mutation of one dimension on average, not half": (base, read(mutated_dimensions=1.0)),
        "initial velocity in units of x": (base, read(first_speed_in_x=True)),
        "velocity clamp at 5% of the width (no retuning)": (with_capability(base, clamp=WidthClamp(0.05)), usual),
    }
    for points in (2, 3, 6, 8, 12, 20):
        rows[f"{points} points in an inner search"] = (with_extent(base, points), usual)
    if isinstance(movement, FullMovement):
        rows["no relocation"] = (with_capability(base, movement=DescentMovement(movement.descent)), usual)
    return rows


def stuck_rows(base: rf.Heuristic) -> dict[str, Setting]:
    """A setting in which particles leave the box and get stuck, so that relocation has something to do."""
    descent = base.outer.capability.movement.directions
    assert descent is not None
    leh = LehRelocation(10, 0.1, 0.2, 1, 2, 1)
    inner = base.inner.replace(n_dorm=True)
    wild = base.replace(
        outer=base.outer.replace(capability=Capability(Inertia(2.0, 2.0, 0.9), FullMovement(descent, leh))), inner=inner
    )
    return {
        "stuck: LEH relocation": (wild, usual),
        "stuck: no relocation": (with_capability(wild, movement=DescentMovement(descent)), usual),
        "stuck: random relocation": (with_capability(wild, movement=FullMovement(descent, RandomRelocation(1))), usual),
        "stuck: relocation forgets the personal best": (wild, read(relocation_resets_best=True)),
        "stuck: outside the box is not idle": (wild, read(outside_is_idle=False)),
    }


def champion_rows(dimension: int) -> dict[str, Setting]:
    """The general champion of the study, a larger swarm than the preset: orders, and who counts as a neighbour."""
    champion = rf.heuristic(f"champion/{dimension}d/general")
    return {
        f"champion: {order}, {'with its own best' if itself else 'others only'}": (
            with_neighbours(with_order(champion, order), itself),
            usual,
        )
        for order in ("together", "in turn")
        for itself in (True, False)
    }


def excess(setting: Setting, dimension: int, run: int) -> float:
    """Return the mean excess over the ten problems for one seed."""
    heuristic, readings = setting
    total = []
    for number, (name, mean) in enumerate(paper_means(dimension, "general").items()):
        problem = rf.problem(name, dimension)
        compiled = problem.compiled
        assert compiled is not None
        key = np.random.SeedSequence([7, number, run])
        search = rf.Optimizer(problem, None, 2000, heuristic, key, readings=readings(problem))
        while (why := machine.run(search.state, machine.advance, *compiled, 1000)) != machine.OVER:
            if why == machine.UNLINKED:
                search.link()
        value = verify(problem, search.result().x, 10_000, rng=key.spawn(1)[0], attack=False).sampled.fun
        total.append(min(3.0, (value - mean) / abs(mean)))
    return float(np.mean(total))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dimension", type=int, choices=(30, 100))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    compilation.prepare_all()
    base = rf.heuristic(f"paper/{args.dimension}d/general")
    with ThreadPoolExecutor(args.threads) as pool:
        for rows in (general_rows(base), champion_rows(args.dimension), stuck_rows(base)):
            first: np.ndarray | None = None
            for name, setting in rows.items():
                values = np.array(list(pool.map(lambda run: excess(setting, args.dimension, run), range(args.runs))))  # noqa: B023
                if first is None:
                    first = values
                    print(f"{name:52s} excess {values.mean():+.3f}", flush=True)
                    continue
                change = values - first
                error = change.std(ddof=1) / np.sqrt(change.size)
                print(f"{name:52s} change {change.mean():+.3f} +- {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
