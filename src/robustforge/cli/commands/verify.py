"""`verify`: search for the worst case of a design."""

from __future__ import annotations

import os
from typing import Any

import click

from robustforge.cli.grouped_help import command, heading
from robustforge.cli.options import (
    COUNT,
    SAMPLES,
    SEED,
    execution,
    explicit_options,
    json_option,
    problem,
    problem_file,
    problem_options,
    refuse,
    store_options,
    verbosity_options,
)
from robustforge.cli.output import end_interrupted, print_payload
from robustforge.cli.signals import ended_by_signals
from robustforge.errors import ProblemError, StoreWriteError

_verification = heading("Verification")


@command(
    "robustforge verify filter.toml --budget 200",
    "robustforge verify result.json",
    "robustforge verify sphere --dimension 30 --x 20",
    "robustforge solve sphere --json | robustforge verify -",
)
@click.argument("target", metavar="FILE.toml|RESULT|PROBLEM")
@problem_file("--budget", type=COUNT, default=200, metavar="N", help="Number of further runs of the model.")
@store_options
@problem("--x", "design", metavar="X", help="Design to verify: 1,2.5,... or one number for all variables.")
@problem_options
@_verification("--samples", type=SAMPLES, default=1_000_000, metavar="N", help="Random points around the design.")
@_verification("--seed", type=SEED, default=1, metavar="N", help="Random seed of these points.")
@execution(
    "--workers", type=COUNT, metavar="N", show_default="from the file", help="Number of parallel runs of a model."
)
@json_option
@verbosity_options
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
    """Search for the worst case of a design.

    FILE.toml: attack the design that `solve` found for this problem file with --budget further runs of the model.
    The same command resumes; a larger budget continues the attack.

    RESULT: verify the design in a file that `solve -o` saved (- for stdin), by --samples random points and an attack,
    which take many evaluations.

    PROBLEM: verify the design --x of a test problem in the same way.
    """
    import robustforge as rf
    from robustforge.cli.load_problem import build_problem, default_dimension, is_problem_file, problem_spec
    from robustforge.cli.payloads import results
    from robustforge.cli.views.progress_bars import spinner
    from robustforge.cli.views.result_view import show_verification

    if is_problem_file(target):
        refuse(ctx, "test problems", *options, "design", "samples", "seed")
        verify_file(ctx, target, store, budget, as_json, explicit_options(ctx, "name", "workers"))
        return
    refuse(ctx, "problem files", "budget", "store", "name", "workers")

    named = explicit_options(ctx, *options)
    if design is None:
        results.check_alone(target, list(named))
        result = results.read_result(target)
        spec, x, known = result["problem"], result["x"], results.known_worst(result)
    else:
        given = options["dimension"]
        x, known = (
            results.parse_design(design, default_dimension(target) if given is None else given, given is not None),
            None,
        )
        spec = problem_spec(target, {**options, "dimension": len(x) or given})
    made = build_problem(spec)
    with spinner(f"evaluating {samples:,} points around the design, then attacking it"):
        found = rf.verify(made, x, samples=samples, rng=seed, prior_evaluations=results.known_point(made, known))
    payload = results.verification_payload(spec, x, known, samples, seed, found)
    print_payload(payload, as_json, lambda: show_verification(payload, float(made.geometry.radii.max())))


def verify_file(ctx: click.Context, target: str, store: str | None, budget: int, as_json: bool, changes: Any) -> None:
    """Attack the design that `solve` found for a problem file.

    Args:
        ctx: The context of the command, which Ctrl-C ends.
        target: The problem file.
        store: Its store, if one is named.
        budget: Further runs of the model.
        as_json: Whether the outcome is printed as JSON.
        changes: Entries of the file that options override.
    """
    from robustforge.cli.load_problem import check_model, model_runner, read_file, store_of
    from robustforge.cli.payloads import designs
    from robustforge.cli.views import design_view
    from robustforge.cli.views.progress_bars import model_runs
    from robustforge.solver import StoredAttack, StoredSearch
    from robustforge.store import Store

    file, where = read_file(target, **changes), store_of(target, store)
    check_model(file)
    if not os.path.exists(where):
        raise ProblemError(
            f"there is no design to verify: {where} does not exist", fix=f"Run `robustforge solve {target}` first"
        )
    attack, store_error = None, None
    try:
        with Store.open(where, durable=True) as opened:
            attack = StoredAttack(StoredSearch.reopen(file, opened))
            try:
                with (
                    ended_by_signals(),
                    model_runner(file, where, False) as submit,
                    model_runs(f"verify {file.name}", budget) as update,
                ):
                    total = max(budget, attack.stored)
                    attack.run(total, submit, lambda progress: update(progress.runs, progress.failures))
            except KeyboardInterrupt:
                end_interrupted(ctx, where)
    except StoreWriteError as error:
        if attack is None:
            raise
        store_error = error
    payload = designs.verified_payload(file, attack.result(), where, budget)
    print_payload(payload, as_json, lambda: design_view.show_verified(payload))
    if store_error is not None:
        raise store_error
