"""Ask and tell: in any order, in parts, at any time; and what is refused."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

import robustforge as rf
from robustforge.errors import ObjectiveError, ProblemError, TellError
from shared import bowl, same

ARGUMENTS = ([(-3, 5)] * 4, rf.Ball(0.5), 120, "rpso", 3)


def test_asking_again_returns_what_is_not_told_under_the_same_ids():
    search = rf.Optimizer(*ARGUMENTS)
    first = search.ask()
    assert len(first) == 20
    search.tell(first.ids[3:7], [bowl(x) for x in first.x[3:7]])
    again = search.ask()
    kept = [0, 1, 2, *range(7, 20)]
    assert again.ids.tolist() == first.ids[kept].tolist()
    assert np.array_equal(again.x, first.x[kept])
    search.tell(again.ids[::-1], [bowl(x) for x in again.x[::-1]])
    assert search.ask().ids[0] == 20


def test_an_asked_batch_is_a_copy():
    search, other = rf.Optimizer(*ARGUMENTS), rf.Optimizer(*ARGUMENTS)
    while batch := search.ask():
        values = [bowl(x) for x in batch.x]
        batch.x[:] = 0.0
        search.tell(batch.ids, values)
    while batch := other.ask():
        other.tell(batch.ids, [bowl(x) for x in batch.x])
    assert same(search.result(), other.result())


@pytest.mark.parametrize("ids", [[999], [-1], ["a"], [0.5]])
def test_unknown_ids(ids):
    search = rf.Optimizer(*ARGUMENTS)
    search.ask()
    with pytest.raises(TellError, match="pending point"):
        search.tell(ids, [1.0])


def test_repeated_ids_and_wrong_counts():
    search = rf.Optimizer(*ARGUMENTS)
    batch = search.ask()
    search.tell(batch.ids[0], 1.0)
    with pytest.raises(TellError, match="has a value already"):
        search.tell(batch.ids[0], 1.0)
    with pytest.raises(TellError, match="has a value already"):
        search.tell([batch.ids[1], batch.ids[1]], [1.0, 1.0])
    with pytest.raises(TellError, match="one value per id"):
        search.tell(batch.ids[1:3], [1.0])
    assert search.ask().ids.tolist() == batch.ids[1:].tolist()


def test_a_result_at_any_time_counts_what_was_told():
    search = rf.Optimizer(*ARGUMENTS)
    early = search.result()
    assert not early.success
    assert early.nfev == 0
    assert np.isnan(early.fun)
    batch = search.ask()
    search.tell(batch.ids[:5], [bowl(x) for x in batch.x[:5]])
    part = search.result()
    assert part.nfev == len(part.history) == 5
    assert part.history.fun.tolist() == [bowl(x) for x in batch.x[:5]]
    while batch := search.ask():
        search.tell(batch.ids, [bowl(x) for x in batch.x])
        assert search.result().nfev == search.nfev
    assert search.finished
    assert search.result().success
    assert len(search.ask()) == 0


def test_tell_after_the_end():
    search = rf.Optimizer(*ARGUMENTS)
    while batch := search.ask():
        search.tell(batch.ids, [bowl(x) for x in batch.x])
    with pytest.raises(TellError):
        search.tell([119], [0.0])


@pytest.mark.parametrize("budget", [0, 2, -5, 1.5, "many", True])
def test_bad_budgets(budget):
    with pytest.raises(ProblemError, match="budget"):
        rf.Optimizer([(0, 1)], rf.Ball(0.1), budget, "rpso")


def test_a_budget_too_small_for_one_inner_search():
    from robustforge.components import Inner

    large = rf.heuristic("descent-directions").replace(
        inner=Inner(1.0, rf.heuristic("rpso").inner.form, False, False, False)
    )
    assert rf.Optimizer([(0, 1)], rf.Ball(0.1), 3, large, 1).ask()  # in_ext = max(2, 3 / 4) = 2, and f(x)


def test_missing_uncertainty_and_bad_policies():
    with pytest.raises(ProblemError, match="uncertainty"):
        rf.Optimizer([(0, 1)])
    with pytest.raises(ValueError, match="on_failure"):
        rf.Optimizer([(0, 1)], rf.Ball(0.1), on_failure="ignore")
    with pytest.raises(ProblemError, match="retries"):
        rf.Optimizer([(0, 1)], rf.Ball(0.1), retries=-1)


@pytest.mark.parametrize(
    ("dimension", "budget", "name"),
    [
        (57, 2000, "30d/extended"),
        (58, 2000, "100d/extended"),
        (100, 3500, "30d/extended"),
        (5, 1000, "30d/extended"),
        (30, 1049, "100d/extended"),
        (5, 999, "100d/extended"),
        (300, 1800, "100d/extended"),
        (300, 1799, "30d/few"),
        (5, 499, "10d/few"),
        (30, 300, "10d/few"),
        (30, 299, "30d/few"),
    ],
)
def test_the_default_heuristic_depends_on_the_dimension_and_the_budget(dimension, budget, name):
    search = rf.Optimizer([(0, 1)] * dimension, rf.Ball(0.1), budget)
    assert search.heuristic == rf.heuristic(f"default/{name}")


def test_a_failed_search_stays_failed_and_keeps_what_it_has():
    search = rf.Optimizer(*ARGUMENTS)
    batch = search.ask()
    with pytest.raises(ObjectiveError) as caught:
        search.tell(batch.ids, [bowl(x) for x in batch.x[:-1]] + [np.nan])
    assert caught.value.result.nfev == 20
    assert np.array_equal(caught.value.x, batch.x[-1])
    for again in (search.ask, lambda: search.tell([20], [1.0])):
        with pytest.raises(ObjectiveError):
            again()
    assert search.result().nfev == 20


def test_failures_told_in_part_show_as_failures():
    search = rf.Optimizer(*ARGUMENTS, on_failure="infeasible")
    batch = search.ask()
    search.tell(batch.ids[:2], [np.nan, -np.inf])
    part = search.result()
    assert part.failures == 2
    assert np.isposinf(part.history.fun).all()


def test_a_problem_is_given_once():
    problem = rf.problem("sphere", 3)
    for call in (
        lambda: rf.Optimizer(problem, rf.Ball(5.0)),
        lambda: rf.Optimizer(problem, out_of_bounds="clip"),
        lambda: rf.minimize(problem, out_of_bounds="clip"),
    ):
        with pytest.raises(ProblemError, match="also passed"):
            call()


def test_a_budget_beyond_memory():
    with pytest.raises(ProblemError, match="memory"):
        rf.Optimizer([(0, 1)] * 30, rf.Ball(0.1), 10**30, "rpso")


def test_a_masked_value_that_is_told_is_a_failure():
    for masked in (np.ma.masked, [np.ma.masked], np.ma.array([5.0], mask=[True])):
        search = rf.Optimizer(*ARGUMENTS, on_failure="unknown")
        batch = search.ask()
        search.tell(batch.ids[:1], masked)
        assert np.isnan(search.values[0])
        search.tell(batch.ids[1:3], np.ma.array([1.0, 2.0], mask=[False, True]))
        assert (search.values[1], np.isnan(search.values[2])) == (1.0, True)
        search.tell(batch.ids[3:5], [Decimal("0.5"), np.float16(2.0)])
        assert (search.values[3], search.values[4]) == (0.5, 2.0)
    with pytest.raises(ProblemError, match="must have values above -inf"):
        rf.Optimizer(*ARGUMENTS, prior_evaluations=(np.zeros((1, 4)), np.ma.array([5.0], mask=[True])))


@pytest.mark.parametrize("bad", ["a", None, 1j, [None], 10**400, np.zeros((2, 2))])
def test_values_that_are_no_numbers(bad):
    search = rf.Optimizer(*ARGUMENTS)
    batch = search.ask()
    with pytest.raises(TellError, match="real numbers"):
        search.tell(batch.ids[0], bad)
    assert len(search.ask()) == 20


@pytest.mark.parametrize(
    "uncertainty", [rf.Ball(0.5), rf.Box(lower=0.2, upper=0.6), rf.Ball([0.5, 0.0, 0.5, 0.5])], ids=repr
)
def test_what_is_told_in_part_counts_where_it_is_near_and_only_there(uncertainty):
    search = rf.Optimizer([(-3, 5)] * 4, uncertainty, 400, "rpso", 3)
    geometry = search.problem.geometry
    while batch := search.ask():
        values = np.array([bowl(x) for x in batch.x])
        if np.isfinite(search.result().estimate) and len(batch) > 1:
            search.tell(batch.ids[:-1], values[:-1] + 1000.0)  # far above all else, near or not
            part = search.result()
            gaps = part.history.x - part.x - geometry.offset
            exact = (np.abs(gaps[:, geometry.radii == 0]) < 1e-8).all(axis=1)
            scaled = np.abs(gaps[:, geometry.radii > 0]) / geometry.radii[geometry.radii > 0]
            inside = scaled.max(axis=1) if geometry.is_box else np.linalg.norm(scaled, axis=1)
            known = part.history.fun[exact & (inside <= 1 + 1e-9)]
            assert part.fun == known.max()
            break
        search.tell(batch.ids, values)
    assert part.nfev == search.nfev + len(batch) - 1
