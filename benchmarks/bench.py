"""Speed: one table, each row a ratio measured in one run. The unit is 2,000 calls of a NumPy sphere on 30 numbers.

    make bench            or: python benchmarks/bench.py [--no-curve]

Run it on a quiet machine. A row that is not met is marked, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import clarabel
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse

import robustforge as rf
from peers import PEERS, run_peer
from robustforge.core.min_norm_point import minimum_norm
from robustforge.core.random import stream
from robustforge.evolution import trial
from robustforge.representation.presets import default_name
from robustforge.simulator.worker_pool import model_workers
from robustforge.solver import StoredSearch
from robustforge.store import Store
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.sampling import ROUNDS


@dataclass
class Row:
    """One line of the table: what was measured, how much, and how much is allowed."""

    what: str
    measured: float
    allowed: float
    unit: str = "units"

    @property
    def met(self) -> bool:
        return self.measured <= self.allowed


def numpy_sphere(x: np.ndarray) -> float:
    return float(np.sum((x - 20.0) ** 2))


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_seconds(work: Callable[[], object], repeats: int = 7) -> float:
    work()
    return float(np.median([seconds_of(work) for _ in range(repeats)]))


def unit_of_work() -> None:
    x = np.linspace(15.0, 25.0, 30)
    for _ in range(2000):
        numpy_sphere(x)


def in_units(measure: Callable[[], float], repeats: int = 7) -> float:
    """Return the median of a measurement over the median of the unit, taken before and after it."""
    unit_of_work()
    before = [seconds_of(unit_of_work) for _ in range(repeats)]
    measure()
    ours = [measure() for _ in range(repeats)]
    after = [seconds_of(unit_of_work) for _ in range(repeats)]
    return float(np.median(ours) / np.median(before + after))


def beyond(dimension: int, problem: str) -> float:
    """Return the units of a run of the default: on a sum its coordinate search, elsewhere its regression search."""
    return solving(default_name(dimension), dimension, problem)


def solving(name: str, dimension: int, problem_name: str = "sphere") -> float:
    problem = rf.problem(problem_name, dimension)
    seeds = iter(range(1000))
    return in_units(lambda: seconds_of(lambda: rf.minimize(problem, heuristic=name, rng=next(seeds))))


def python_overhead(name: str, seed: int) -> float:
    """Return the seconds of a run beyond those of the same calls of the objective, made in a plain loop."""
    start = time.perf_counter()
    result = rf.minimize(numpy_sphere, [(15.0, 25.0)] * 30, rf.Ball(1.0), 2000, name, seed)
    wall = time.perf_counter() - start
    start = time.perf_counter()
    for x in result.history.x:
        numpy_sphere(x)
    return wall - (time.perf_counter() - start)


def overhead_share(peer: str) -> float:
    """Return our overhead as a share of a peer's, measured in turns."""
    problem = rf.problem("sphere", 30)
    pairs = []
    for seed in range(7):
        objective, theirs = run_peer(peer, problem, numpy_sphere, seed)
        assert objective.calls == 2000, (peer, objective.calls)
        pairs.append((python_overhead("rpso", seed), theirs))
    ours, others = np.median(np.array(pairs[1:]), axis=0)
    return float(ours / others)


def conic_ratio() -> float:
    """Return our time for (Soc) with 40 points in 100 dimensions as a share of Clarabel's."""
    rng = np.random.default_rng(1)
    units = rng.standard_normal((40, 100)) + 0.5
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    room = np.zeros((40, 40))
    rest = (room, room.copy(), np.zeros(40), np.zeros(40, np.int64), np.zeros((2, 40)), np.zeros(100))
    ours = median_seconds(lambda: minimum_norm(units, 40, *rest), 50)
    above = sparse.csc_matrix(np.hstack([units, -np.ones((40, 1))]))
    cone = sparse.csc_matrix(np.vstack([np.zeros((1, 101)), np.hstack([-np.eye(100), np.zeros((100, 1))])]))
    matrix = sparse.vstack([above, cone]).tocsc()
    right = np.concatenate([np.zeros(40), [1.0], np.zeros(100)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(40), clarabel.SecondOrderConeT(101)]
    cost, zero = np.append(np.zeros(100), 1.0), sparse.csc_matrix((101, 101))
    theirs = median_seconds(lambda: clarabel.DefaultSolver(zero, cost, matrix, right, cones, settings).solve(), 9)
    return ours / theirs


def estimate_share(dimension: int, blocks: int = 6) -> float:
    """Return what the worst of many samples costs, over the ten problems, as a share of doing it with fresh normals."""
    total = dict.fromkeys((1, ROUNDS), 0.0)
    for name in rf.problems():
        problem = rf.problem(name, dimension)
        around = Neighbourhood(problem, problem.lower + 0.3 * (problem.upper - problem.lower))
        best = dict.fromkeys(total, np.inf)
        for _ in range(7):  # in turns, so that both meet the same machine
            for rounds in total:
                bits = stream(1)
                work = partial(around.worst_of_sample, around.block, bits, 64, rounds)
                best[rounds] = min(best[rounds], seconds_of(lambda: [work() for _ in range(blocks)]))  # noqa: B023
        for rounds in total:
            total[rounds] += best[rounds]
    return total[ROUNDS] / total[1]


def random_heuristics(dimension: int, each: int = 20) -> float:
    """Return the mean cost of a run of a random heuristic of the paper's grammar, over the ten problems, in units."""
    grammar, problems = rf.grammar("paper"), [rf.problem(name, dimension) for name in rf.problems()]
    drawn = [grammar.random(np.random.default_rng(seed)) for seed in range(each * len(problems))]

    def once() -> float:
        start = time.perf_counter()
        for number, heuristic in enumerate(drawn):
            rf.minimize(problems[number % len(problems)], heuristic=heuristic, rng=number)
        return (time.perf_counter() - start) / len(drawn)

    return in_units(once, 1)


def share_outside() -> float:
    """Return the share of the core-seconds of an evolution that are not spent in `minimize` and the re-estimate."""
    inside = []

    def counted(work: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*args: object, **options: object) -> object:
            start = time.thread_time()
            try:
                return work(*args, **options)
            finally:
                inside.append(time.thread_time() - start)  # one append is one step, also between threads

        return wrapped

    whole = {"minimize": trial.minimize, "sample_offsets": trial.sample_offsets}
    worst_at = trial.Neighbourhood.worst_at
    settings = {"population": 30, "generations": 4, "repeats": 10, "final_repeats": 20}
    cores = os.cpu_count() or 1
    try:
        for name, work in whole.items():
            setattr(trial, name, counted(work))
        trial.Neighbourhood.worst_at = counted(worst_at)
        start = time.perf_counter()
        rf.evolve(rf.problem("rastrigin", 30), grammar="paper", **settings)
        wall = time.perf_counter() - start
    finally:
        for name, work in whole.items():
            setattr(trial, name, work)
        trial.Neighbourhood.worst_at = worst_at
    return 1.0 - sum(inside) / (wall * cores)


def command_seconds(*command: str) -> float:
    return min(_once(command) for _ in range(5))


def _once(command: tuple[str, ...]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    return time.perf_counter() - start


FIRST_SOLVE = "import robustforge as rf; rf.minimize(rf.problem('sphere', 30), rng=1)"


EVERYTHING = """
from robustforge.engine import kernels
from robustforge.verification import neighbourhood
kernels.compile_part(0, 1), neighbourhood.prepare()
"""


def empty_cache_seconds(code: str) -> float:
    """Return the seconds that a program takes whose kernels were never compiled, on one core."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ROBUSTFORGE_CACHE": folder, "ROBUSTFORGE_QUIET": "1"}
        command = [sys.executable, "-c", code]
        return seconds_of(lambda: subprocess.run(command, check=True, capture_output=True, env=environment))


def first_answer() -> list[Row]:
    """Return what the first answer takes where nothing was compiled before: by itself, and beside everything."""
    first, everything = empty_cache_seconds(FIRST_ANSWER), empty_cache_seconds(EVERYTHING)
    return [
        Row(
            "first answer with an empty cache, fraction of the time to compile everything", first / everything, 0.4, ""
        ),
        Row("(the same in seconds; goal: 10)", first, np.inf, "s"),
    ]


FIRST_ANSWER = "import robustforge as rf; rf.minimize(lambda x: float(sum(x * x)), [(-5, 5)] * 10, rf.Ball(0.5), rng=1)"


def per_evaluation(name: str | None, problem: rf.Problem, budget: int, repeats: int = 1) -> float:
    """Return the seconds of an evaluation in a search of this budget, all compiled before."""
    rf.minimize(problem, heuristic=name, budget=1000, rng=1)
    runs = [seconds_of(lambda: rf.minimize(problem, heuristic=name, budget=budget, rng=k)) for k in range(repeats)]  # noqa: B023
    return min(runs) / budget


def growth() -> list[Row]:
    """Return how the cost of an evaluation grows with the budget, by budgets in turn."""
    table = []
    cases = [("paper/30d/general", "sphere"), ("champion/30d/general", "sphere"), (None, "sphere"), (None, "ackley")]
    for name, of in cases:
        problem = rf.problem(of, 30)
        ratio = per_evaluation(name, problem, 200_000) / per_evaluation(name, problem, 2000, 7)
        what = f"time per evaluation, budget 200,000 over 2,000, {name or 'default'}, {of} 30D"
        table.append(Row(what, ratio, 4.0, "times"))
    for name in ("paper/30d/general", None):
        problem = rf.problem("ackley", 10)
        ratio = per_evaluation(name, problem, 10**6) / per_evaluation(name, problem, 2000, 7)
        what = f"time per evaluation, budget 10^6 over 2,000, {name or 'default'}, ackley 10D"
        table.append(Row(what, ratio, 10.0, "times"))
    wide = rf.problem("ackley", 1000)
    many = in_units(lambda: seconds_of(lambda: rf.minimize(wide, budget=500, rng=1)), 3)
    table.append(Row("500 evaluations of 1,000 variables by the default", many, 20.0))
    return table


def interrupt_delay() -> float:
    """Return the longest time until Ctrl-C takes effect, at several times in a search of 10^6 evaluations."""
    code = (
        "import robustforge as rf, signal, threading, time, os, sys; p = rf.problem('sphere', 10); "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "  # it may be ignored in the background
        "rf.minimize(p, heuristic='paper/30d/general', budget=500, rng=1); sent = []\n"
        "def send():\n    sent.append(time.perf_counter()); os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Timer(float(sys.argv[1]), send).start()\n"
        "try:\n    rf.minimize(p, heuristic='paper/30d/general', budget=10**6, rng=1)\n"
        "except KeyboardInterrupt:\n    print(time.perf_counter() - sent[0])"
    )
    found = [
        subprocess.run([sys.executable, "-c", code, moment], check=True, capture_output=True, text=True).stdout
        for moment in ("0.5", "1.5", "3")
    ]
    return max(map(float, found))


MODEL = """
budget = 150
heuristic = "rpso"
[variables]
a = { bounds = [0, 1], tolerance = 0.1 }
b = { bounds = [1, 2], tolerance = "5%" }
[model]
command = ["/bin/echo", "{a}", "{b}", "\\n1.5"]
result.pattern = "(1.5)"
"""


def model_overhead() -> float:
    """Return the milliseconds that a run of a user's model costs beyond a bare start of its program, in the median."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "model.toml"
        path.write_text(MODEL)
        file = rf.read_problem_file(path)
        moments: list[float] = []
        with Store.open(Path(folder) / "model.db", durable=True) as store, model_workers(file.model, 1) as submit:
            StoredSearch.open(file, store).solve(submit, lambda search: moments.append(time.perf_counter()))
    bare = median_seconds(lambda: subprocess.run(["/bin/echo", "1.5"], capture_output=True, check=True), 50)
    return float(np.median(np.diff(moments)) - bare) * 1e3


def rows() -> list[Row]:
    seeds = iter(range(1000))
    callable_row = in_units(lambda: python_overhead("paper/30d/general", next(seeds)))
    table = [
        Row("2,000 evaluations, rpso, 20 particles, 30D, compiled objective", solving("rpso", 30), 0.5),
        Row("the same with paper/30d/general (DD)", solving("paper/30d/general", 30), 1.5),
        Row("paper/100d/general (DD+LEH) in 100D", solving("paper/100d/general", 100), 5.0),
        Row("paper/30d/general, Python callable, overhead", callable_row, 1.5),
        Row("(Soc), 40 points in 100D, fraction of Clarabel's time", conic_ratio(), 1 / 20, ""),
        Row("robustforge --help", command_seconds("-m", "robustforge.cli", "--help"), 0.3, "s"),
        Row("import and first solve, compiled before", command_seconds("-c", FIRST_SOLVE), 1.5, "s"),
    ]
    for dimension, regression, coordinate in ((30, 3.0, 0.4), (100, 12.0, 1.2)):
        table.append(Row(f"regression search, {dimension}D", beyond(dimension, "ackley"), regression))
        table.append(Row(f"coordinate search, {dimension}D", beyond(dimension, "sphere"), coordinate))
    table.extend(first_answer())
    table.extend(growth())
    table.append(
        Row("longest delay before Ctrl-C takes effect in a search of 10^6 evaluations", interrupt_delay(), 0.5, "s")
    )
    for dimension, allowed in ((30, 6.0), (100, 30.0)):
        what = f"a run of a random heuristic of the paper's grammar, {dimension}D, mean"
        table.append(Row(what, random_heuristics(dimension), allowed))
    for dimension in (30, 100):
        what = f"worst of 10^6 samples, ten problems, {dimension}D, fraction of the time to draw normals"
        table.append(Row(what, estimate_share(dimension), 0.6, ""))
    table.append(Row("overhead of a run of a user's model", model_overhead(), 15.0, "ms"))
    table.append(
        Row("fraction of core-seconds of an evolution outside engine and re-estimate", share_outside(), 0.15, "")
    )
    for name in PEERS:
        share = 1.0 if name == "pyswarms" else 0.2
        table.append(Row(f"our overhead, fraction of that of {name}", overhead_share(name), share, ""))
    table.append(Row("(the unit, in ms)", median_seconds(unit_of_work) * 1e3, np.inf, "ms"))
    return table


def print_curve(console: Console) -> None:
    """Print how time and memory grow with the budget, each in a process of its own."""
    table = Table("budget", "us per evaluation", "peak memory", title="paper/30d/general on sphere, 30D")
    for budget in (2_000, 20_000, 200_000):
        command = [sys.executable, __file__, "--one", str(budget)]
        seconds, memory = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        table.add_row(f"{budget:,}", f"{float(seconds) / budget * 1e6:.1f}", f"{float(memory) / 1024:.0f} MB")
    console.print(table)


def one_budget(budget: int) -> None:
    problem = rf.problem("sphere", 30)
    rf.minimize(problem, budget=100, heuristic="paper/30d/general", rng=1)
    start = time.perf_counter()
    rf.minimize(problem, budget=budget, heuristic="paper/30d/general", rng=1)
    seconds = time.perf_counter() - start
    status = Path("/proc/self/status")  # where there is one: getrusage would count the parent before it became this
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if status.exists():
        peak = int(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1])
    print(seconds, peak)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-curve", action="store_true")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        one_budget(args.one)
        return 0
    console = Console(width=110)
    table = Table("what", "measured", "at most", "", title="robustforge, warm; one core, an evolution on all")
    measured = rows()
    for row in measured:
        limit = "" if row.allowed == np.inf else f"{row.allowed:g}"
        mark = "" if row.allowed == np.inf else ("met" if row.met else "[bold red]NOT MET[/]")
        table.add_row(row.what, f"{row.measured:.3g} {row.unit}".rstrip(), limit, mark)
    console.print(table)
    if not args.no_curve:
        print_curve(console)
    return 0 if all(row.met for row in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
