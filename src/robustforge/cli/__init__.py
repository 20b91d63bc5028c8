"""The command line: solve, verify, breed, show what there is. Thin, on top of everything else.

Each command imports what it needs when it is called, so that `--help` answers before Numba is loaded. `records`,
`listings`, `grammars` and `evolutions` hold what the commands hand out; `screens`, `anatomy` and `live` show it.
"""

from __future__ import annotations

import secrets
import signal
import time
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from robustforge import __version__
from robustforge.cli import analysing, assessing, breeding, modelling, reporting
from robustforge.cli.frame import (
    BUDGET,
    FAILED,
    INTERRUPTED,
    SAMPLES,
    SEED,
    Commands,
    examples,
    give,
    grammar_options,
    json_option,
    output_option,
    problem_options,
    say,
    search_options,
)

if TYPE_CHECKING:
    from robustforge.problem import Problem


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=examples(
        "robustforge solve rastrigin --heuristic rpso+dd --seed 1 -o result.json",
        "robustforge verify result.json",
        "robustforge evolve rastrigin --dimension 10 --population 20 --generations 10",
    ),
)
@click.version_option(__version__, prog_name="robustforge")
def main() -> None:
    """Find designs whose worst case within their tolerances is best.

    Exit codes: 0 done, 1 the work failed, 2 the call was wrong, 130 interrupted.
    """


main.add_command(modelling.check)


@main.command(
    epilog=examples(
        "robustforge solve filter.toml --workers 2 --store filter.db",
        "robustforge solve rastrigin --heuristic rpso+dd --seed 1 -o result.json",
    )
)
@click.argument("problem", metavar="FILE.toml|PROBLEM")
@search_options
@modelling.file_options
@modelling.run_options
@problem_options
@output_option("result")
@json_option
@click.pass_context
def solve(
    ctx: click.Context,
    /,
    problem: str,
    heuristic: str | None,
    budget: int,
    seed: int | None,
    on_failure: str,
    output: str | None,
    as_json: bool,
    store: str | None,
    name: str | None,
    workers: int | None,
    keep: bool,
    accept_changes: bool,
    **options: Any,
) -> None:
    """Solve your own problem, in a problem file, or a test problem.

    Every run of your model is stored before its value is used: the same command again goes on where it stopped, however
    that happened. What the options say counts more than what the file says. --store, --name, --workers, --keep and
    --accept-changes are for problem files; --dimension, --variant, --variant-seed and --outside for test problems.

    Ctrl-C ends the search: the best design so far is printed and saved, and the exit code is 130.
    """
    from robustforge.cli import records, screens

    if modelling.is_problem_file(problem):
        modelling.refuse(ctx, "test problems", *options)
        changes = modelling.given(ctx, "heuristic", "budget", "seed", "on_failure", "workers", "name")
        modelling.solve_file(ctx, problem, store, keep, accept_changes, output, as_json, changes)
    modelling.refuse(ctx, "problem files", "store", "name", "workers", "keep", "accept_changes")
    records.check_folder(output)
    spec = {"name": problem, **options}
    made = records.build_problem(spec)
    seed = secrets.randbits(32) if seed is None else seed
    started = time.perf_counter()
    result, interrupted = _solved(made, budget=budget, heuristic=heuristic, rng=seed, on_failure=on_failure)
    if interrupted:
        result.message = f"interrupted; {result.message}"
    record = records.result_record(spec, heuristic, budget, seed, result, time.perf_counter() - started)
    saved = False
    try:
        saved = records.save(record, output)
    finally:  # a full disk must not take the answer along
        give(record, as_json, lambda: screens.show_result(record, _radius(made), output if saved else None))
    if interrupted:
        say("interrupted: this is the best so far", err=True)
        ctx.exit(INTERRUPTED)
    ctx.exit(0 if result.success else FAILED)


def _solved(made: Problem, **arguments: Any) -> tuple[Any, bool]:
    """Return the result of a search, and whether Ctrl-C ended it."""
    import robustforge as rf
    from robustforge.cli import log

    if log.on_terminal():
        return _solved_in_sight(made, **arguments)
    try:
        with log.lines(f"solve {made.name}"):
            return rf.minimize(made, **arguments), False
    except KeyboardInterrupt as error:
        result = getattr(error, "result", None)
        if result is None:
            raise
        return result, True


def _solved_in_sight(made: Problem, **arguments: Any) -> tuple[Any, bool]:
    """Do the same with a bar, by ask and tell: a callback would cost a whole result an iteration, 20 times the search.

    Ctrl-C is heard between two batches, where the search is in order.
    """
    import robustforge as rf
    from robustforge.cli import screens

    search = rf.Optimizer(made, **arguments)
    search.ask()  # may compile, which Ctrl-C may end; the points are asked for again below
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        with screens.progress(search.budget) as update:
            while not pressed and (batch := search.ask()):
                search.tell(batch.ids, [made(x) for x in batch.x])
                update(search.nfev)
    finally:
        signal.signal(signal.SIGINT, before)
    return search.result(), not search.over


@main.command(
    epilog=examples(
        "robustforge verify filter.toml --budget 200",
        "robustforge verify result.json",
        "robustforge verify sphere --dimension 30 --x 20",
        "robustforge solve sphere --json | robustforge verify -",
    )
)
@click.argument("target", metavar="FILE.toml|RESULT|PROBLEM")
@click.option("--budget", type=click.IntRange(min=1), default=200, metavar="N", help="Further runs of a model.")
@modelling.file_options
@click.option("--workers", type=modelling.WORKERS, metavar="N", show_default="of the file", help="Runs at a time.")
@click.option("--x", "design", metavar="X", help="A design: 1,2.5,... or one number for all variables.")
@problem_options
@click.option("--samples", type=SAMPLES, default=1_000_000, metavar="N", help="Random points around the design.")
@click.option("--seed", type=SEED, default=1, metavar="N", help="Decides the random points.")
@json_option
@click.pass_context
def verify(
    ctx: click.Context,
    /,
    target: str,
    budget: int,
    store: str | None,
    name: str | None,
    workers: int | None,
    design: str | None,
    samples: int,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Look for the true worst case of a design.

    Of a problem file, it is the design that `solve` came to, and --budget further runs of the model are spent on it;
    the same command with a larger budget goes on. Otherwise it is the design that `solve` saved, or with --x any design
    of a test problem, and --samples points and an attack are evaluated, which takes thousands of evaluations.
    """
    import robustforge as rf
    from robustforge.cli import records, screens

    if modelling.is_problem_file(target):
        modelling.refuse(ctx, "test problems", *options, "design", "samples", "seed")
        modelling.verify_file(ctx, target, store, budget, as_json, modelling.given(ctx, "name", "workers"))
        return
    modelling.refuse(ctx, "problem files", "budget", "store", "name", "workers")

    given = [key for key in options if ctx.get_parameter_source(key) is not ParameterSource.DEFAULT]
    if design is None:
        records.check_alone(target, given)
        result = records.read_result(target)
        spec, x, known = result["problem"], result["x"], records.known_worst(result)
    else:
        x, known = records.parse_design(design, options["dimension"], "dimension" in given), None
        spec = {"name": target, **options, "dimension": len(x) or options["dimension"]}
    made = records.build_problem(spec)
    with screens.waiting(f"trying {samples:,} points around the design, then climbing"):
        found = rf.verify(made, x, samples=samples, rng=seed, known=records.known_point(made, known))
    record = records.verification_record(spec, x, known, samples, seed, found)
    give(record, as_json, lambda: screens.show_verification(record, _radius(made)))


for _command in (
    modelling.ask,
    modelling.tell,
    breeding.evolve,
    breeding.runs,
    breeding.champion,
    assessing.assess,
    assessing.compare,
    analysing.analyse,
    reporting.report,
    assessing.reproduce,
):
    main.add_command(_command)


@main.command(epilog=examples("robustforge problems"))
@json_option
def problems(as_json: bool) -> None:
    """List the test problems."""
    from robustforge.cli import listings, screens

    rows = listings.problem_rows()
    give(rows, as_json, lambda: screens.show_problems(rows))


@main.command(epilog=examples("robustforge heuristics"))
@json_option
def heuristics(as_json: bool) -> None:
    """List the ready-made heuristics."""
    from robustforge.cli import listings, screens

    rows = listings.heuristic_rows()
    give(rows, as_json, lambda: screens.show_heuristics(rows))


@main.command(epilog=examples("robustforge show rpso+dd", "robustforge show rpso+dd -o mine.json"))
@click.argument("heuristic")
@click.option("--budget", type=BUDGET, default=2000, metavar="N", help="Evaluations that it is shown for.")
@output_option("heuristic")
@json_option
def show(heuristic: str, budget: int, output: str | None, as_json: bool) -> None:
    """Show a heuristic: its tree, in words, and as pseudo-code.

    HEURISTIC is the name of a ready-made one, or a .json file. The pseudo-code is the paper's Algorithm 1 as this
    heuristic runs it, with every choice and number filled in.
    """
    import robustforge as rf
    from robustforge.cli import anatomy, listings, records

    records.check_folder(output)
    chosen = rf.heuristic(heuristic)
    if output:
        chosen.save(output)
    record = listings.heuristic_record(heuristic, chosen, budget)
    give(record, as_json, lambda: anatomy.show_heuristic(record, output))


@main.command(epilog=examples("robustforge components", "robustforge components network"))
@click.argument("slot", required=False)
@json_option
def components(slot: str | None, as_json: bool) -> None:
    """List the parts that heuristics are made of.

    With SLOT, only those that can stand in it.
    """
    from robustforge.cli import listings, screens

    rows = listings.component_rows(slot)
    give(rows, as_json, lambda: screens.show_components(rows))


@main.command(
    epilog=examples("robustforge grammar extended", "robustforge grammar --only network=global,ring --fix group=20")
)
@click.argument("name", default="paper")
@grammar_options
@json_option
def grammar(name: str, only: tuple[str, ...], without: tuple[str, ...], fix: tuple[str, ...], as_json: bool) -> None:
    """Show the rules that heuristics are derived by.

    NAME is paper, the paper's own rules, or extended, with what was added to them. Each restriction can be given
    several times.
    """
    from robustforge.cli import anatomy, grammars

    record = grammars.grammar_record(grammars.parse_grammar(name, only, without, fix))
    give(record, as_json, lambda: anatomy.show_grammar(record))


@main.command(name="help", epilog=examples("robustforge help", "robustforge help models", "robustforge help solve"))
@click.argument("topic", required=False)
@click.pass_context
def help_on(ctx: click.Context, /, topic: str | None) -> None:
    """Show a document or the help of a command.

    Without TOPIC, lists the documents. On a terminal a document is laid out; elsewhere it is printed as Markdown.
    """
    from robustforge.cli import documents

    if topic is None:
        documents.show_topics()
    elif command := main.get_command(ctx, topic):
        with click.Context(command, info_name=topic, parent=ctx.parent) as inside:
            say(command.get_help(inside))
    else:
        documents.show_document(documents.document(topic, main.list_commands(ctx)))


def _radius(made: Problem) -> float:
    return float(made.geometry.radii.max())
