"""The sections of a search: what to build, its worst case, convergence, neighbourhood, and price of robustness."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robustforge.formatting import (
    MINUS,
    MISSING,
    at_precision,
    count,
    date_and_time,
    duration,
    finite_range,
    number,
    percent,
    shorten,
    signed,
    with_minus_sign,
)
from robustforge.reporting import search_figures
from robustforge.reporting.command_lines import search_commands
from robustforge.reporting.search_data import NeighbourhoodData, SearchData
from robustforge.reporting.tolerance_tradeoff import MIN_POINTS, Estimate
from robustforge.representation import Heuristic
from robustforge.representation.presets import heuristic, heuristics
from robustforge.simulator.variables import Variable
from robustforge.store import SOLVE
from robustforge.tables import Record

PARTS = {
    "build": "Design",
    "worst": "The worst case",
    "convergence": "Convergence",
    "neighbourhood": "Within the tolerances",
    "price": "The price of robustness",
}
"""The parts of each search, in this order."""

_MAX_VARIABLES, _MAX_LINES, _MAX_REASONS, _NAME_LENGTH = 12, 300, 10, 30


def search_record(index: int, search: SearchData, where: str) -> Record:
    """Return a search as the page shows it.

    Args:
        index: The index of the search on the page.
        search: The search.
        where: The store that it is in.
    """
    key, attack_runs = f"search-{index + 1}", search.attacked.runs if search.attacked else 0
    worst, best = ("highest", "lowest") if search.file.sign > 0 else ("lowest", "highest")
    parts = {
        "worst": _worst_case(key, search),
        "convergence": _convergence(key, search),
        "neighbourhood": _neighbourhood(key, search),
        "price": _price(key, search),
    }
    return {
        "key": key,
        "name": search.name,
        "notice": notice(search),
        "goal": f"Goal: the design whose {worst} value within its tolerances is {best}. {_uncertainty_set(search)}",
        "worst_side": worst,
        "facts": _facts(search),
        "settings": _settings(search),
        "variables": _variables(search) if search.has_design else [],
        "status": _status(search),
        "failures": _failures(search),
        "heuristic": [line.removeprefix("- ") for line in search.heuristic.describe(search.file.budget).splitlines()],
        "commands": search_commands(search.name, where, search.has_model, attack_runs),
        "has_model": search.has_model,
        "is_attacked": attack_runs > 0,
        "warning": with_minus_sign(search.verdict.text) if search.verdict.kind == "warning" else "",
        **parts,
        "titles": PARTS,
        "parts": ["build", *(part for part in parts if parts[part])],
    }


def contents(records: Sequence[Record], is_alone: bool) -> list[tuple[str, str]]:
    """Return entries of the table of contents: the searches, or the parts of one that is alone on the page."""
    if not is_alone:
        return [(record["key"], shorten(record["name"], _NAME_LENGTH)) for record in records]
    return [(f"{records[0]['key']}-{part}", PARTS[part]) for part in records[0]["parts"]]


def notice(search: SearchData) -> Record:
    """Return the state of a search as a sentence, with the kind of its frame."""
    runs = f"{search.solution.runs:,} of {count(search.file.budget, 'run')}"
    if search.state == "finished":
        ending = search.solution.message
        text = f"{ending[:1].upper()}{ending[1:]}: {runs}."
        if not search.solution.success:
            return {"kind": "empty", "text": text}
        return {"kind": search.verdict.kind, "text": f"{text} {with_minus_sign(search.verdict.text)}"}
    sentences = {
        "running": f"Running: {runs} completed. The page shows the current state.",
        "waiting": f"Waiting for values: {runs} completed. robustforge ask prints the next points.",
        "interrupted": f"Interrupted: {runs} completed. The command that started the search resumes it.",
    }
    return {"kind": "running", "text": sentences[search.state]}


def _status(search: SearchData) -> str:
    """Return a remark on a design that is not final; empty for a final one."""
    if not search.has_design:
        return "There is no design yet: no candidate has been evaluated within its tolerances."
    if search.state != "finished":
        return "The best design so far, which may change."
    return "" if search.solution.success else "Not a solution: the search ended at this point."


def _uncertainty_set(search: SearchData) -> str:
    if sum(not each.tolerance.exact for each in search.file.variables.members) == 1:
        return ""
    if search.file.variables.kind == "box":
        return "Tolerances are independent: each variable can be anywhere within its own (a box)."
    return "Tolerances are joint: not all variables reach the ends of theirs at once (an ellipsoid)."


def _facts(search: SearchData) -> list[Record]:
    """Return the most important numbers, each with a short explanation."""
    solution, facts = search.solution, []
    if search.has_design:
        note = "if built exactly" if not math.isnan(solution.nominal) else "not run yet"
        facts += [("nominal value", _value(search, solution.nominal), note, "")]
        note = "by the search" if search.attacked else f"by the search; {solution.attack or 'not attacked'}"
        kind = "warning" if search.verdict.kind == "warning" and not search.attacked else ""
        facts += [("worst value found", _value(search, solution.worst), note, kind)]
    if search.attacked:
        facts += [("worst after the attack", _value(search, search.worst), _attack_note(search), search.verdict.kind)]
    failed = sum(amount for _, amount in search.failure_reasons)
    note = f"{failed:,} failed" if failed else "none failed" if search.runs else "none yet"
    facts += [("runs of the model", f"{len(search.runs):,}", note, "")]
    return [{"name": name, "value": value, "note": note, "kind": kind} for name, value, note, kind in facts]


def _attack_note(search: SearchData) -> str:
    """Return the number of runs of the attack, and how much worse its value is."""
    assert search.attacked is not None
    runs, worse = f"by {count(search.attacked.runs, 'further run')}", f"{percent(search.verdict.rise)} worse"
    return f"{worse}, {runs}" if worse in search.verdict.text else runs


def _settings(search: SearchData) -> list[Record]:
    policy = {"infeasible": "infeasible", "unknown": "ignored", "raise": "the end of the search"}
    facts = [
        ("objective", f"{search.file.goal} the worst value"),
        ("budget", count(search.file.budget, "run")),
        ("heuristic", _heuristic_name(search.heuristic)),
        ("seed", str(search.file.seed)),
        ("a failed run is", policy[search.file.on_failure]),
        *([("prior evaluations", f"{search.prior_evaluations:,}")] if search.prior_evaluations else []),
        ("started", f"{date_and_time(search.started)} UTC"),
        *([("time in the model", duration(search.seconds))] if search.seconds else []),
    ]
    return [{"name": name, "value": value} for name, value in facts]


def _variables(search: SearchData) -> list[Record]:
    rows = []
    for each in search.file.variables.members:
        value = search.solution.design[each.name]
        ends = each.built_range(value)
        low, high = (_variable_value(each, value, end) if ends[0] < ends[1] else MISSING for end in ends)
        row = {"name": each.name, "unit": each.unit, "tolerance": str(each.tolerance).replace("/-", f" / {MINUS}")}
        shown = _variable_value(each, value, value)
        rows.append({**row, "value": shown, "low": low, "high": high, "is_uncertain": ends[0] < ends[1]})
    return rows


def _failures(search: SearchData) -> Record | None:
    reasons, last = search.failure_reasons, search.last_failed
    if last is None:
        return None
    others = sum(amount for _, amount in reasons[_MAX_REASONS:])
    other_reasons = count(len(reasons) - _MAX_REASONS, "other reason")
    return {
        "text": f"{sum(amount for _, amount in reasons):,} of {count(len(search.runs), 'run')} failed",
        "reasons": [{"text": text, "count": f"{amount:,}"} for text, amount in reasons[:_MAX_REASONS]],
        "others": f"and {count(others, 'run')} for {other_reasons}" if others else "",
        "last": f"run {last.number} of the {'search' if last.part == SOLVE else 'attack'}",
        "output": last.tail.strip(),
    }


def _worst_case(key: str, search: SearchData) -> Record | None:
    """Return the worst point and what drives it; `None` without evaluations within the tolerances."""
    nearby = search.neighbourhood
    if nearby is None or nearby.worst is None:
        return None
    order = nearby.by_effect
    names, changes = [nearby.names[k] for k in order], (search.file.sign * nearby.changes[order]).tolist()
    shown = slice(_MAX_VARIABLES)
    label = f"What drives the worst case of {search.name}: {names[0]} most, {signed(changes[0], 3)}."
    figure = (f"{key}-sensitivity", label, names[shown], changes[shown])
    variables = {each.name: each for each in search.file.variables.members}
    rows = [
        {**_design_and_worst(variables[name], search), "position": _position(float(nearby.positions[nearby.worst, k]))}
        for k, name in zip(order, names, strict=True)
    ]
    return {
        "value": "" if math.isinf(search.worst) else _value(search, search.worst),
        "svg": search_figures.sensitivity(*figure) if nearby.fitted > 1 else "",
        "title": "Sensitivity",
        "caption": _linear_model_caption(nearby),
        "rows": rows[shown],
        "others": rows[_MAX_VARIABLES:],
    }


def _design_and_worst(variable: Variable, search: SearchData) -> Record:
    """Return the value of a variable in the design and at its worst point."""
    value = search.solution.design[variable.name]
    both = (_variable_value(variable, value, each) for each in (value, search.worst_point[variable.name]))
    return {"name": variable.name, "unit": variable.unit, **dict(zip(("design", "worst"), both, strict=True))}


def _linear_model_caption(nearby: NeighbourhoodData) -> str:
    """Return how the linear model was fitted, and how reliable it is."""
    variables = len(nearby.names)
    fit = f"A linear model of {count(nearby.fitted, 'run')} within the tolerances"
    if not nearby.is_reliable:
        return f"{fit}: too few for {count(variables, 'variable')}, so it is not reliable."
    rest = (
        f" The {_MAX_VARIABLES} of {variables} variables with the largest effects."
        if len(nearby.names) > _MAX_VARIABLES
        else ""
    )
    return f"{fit}: direction and approximate size of each effect, without curvature.{rest}"


def _convergence(key: str, search: SearchData) -> Record | None:
    """Return the convergence of the search; `None` before its first value."""
    runs = sorted((run for run in search.runs if run.part == SOLVE), key=lambda run: run.number)
    if not any(math.isfinite(run.value) for run in runs):
        return None
    points = [(run.number + 1, run.value) for run in runs]
    has_worst = search.has_design and math.isfinite(search.worst)
    worst = [(max(at for at, _ in points), search.worst)] if has_worst else []
    finite = [value for _, value in search.estimates if math.isfinite(value)]
    caption = f"The estimate is {number(finite[-1])} after {count(len(runs), 'run')}." if finite else "No estimate yet."
    label = f"Values of the runs of {search.name}, and the estimate of its robust value. {caption}"
    svg = search_figures.convergence(f"{key}-convergence", label, points, search.estimates, worst, search.file.sign)
    return {"svg": svg, "title": "Runs and estimate", "caption": caption, "has_worst": has_worst}


def _neighbourhood(key: str, search: SearchData) -> Record | None:
    """Return the runs within the tolerances; `None` without any."""
    nearby = search.neighbourhood
    if nearby is None or nearby.worst is None:
        return None
    kept = np.argsort(-nearby.values, kind="stable")[:_MAX_LINES]
    order = nearby.by_effect[:_MAX_VARIABLES]
    names, positions, costs = [nearby.names[k] for k in order], nearby.positions[kept][:, order], nearby.values[kept]
    runs = count(nearby.values.size, "run")
    caption = (
        f"{runs} within the tolerances." if kept.size == nearby.values.size else f"The worst {_MAX_LINES} of {runs}."
    )
    if len(names) < len(nearby.names):
        caption += f" The {_MAX_VARIABLES} of {len(nearby.names)} variables with the largest effects."
    label, figure = f"Runs within the tolerances of {search.name}. {caption}", f"{key}-neighbourhood"
    if len(nearby.names) == 1:
        values = search.file.sign * costs
        svg = search_figures.one_variable(figure, label, names[0], positions[:, 0], values, costs)
    else:
        svg = search_figures.neighbourhood(figure, label, names, positions, costs)
    return {"svg": svg, "title": "Runs around the design", "caption": caption, "is_single": len(nearby.names) == 1}


def _price(key: str, search: SearchData) -> Record | None:
    """Return the price of robustness, without a figure if no design can be compared; `None` before the first value."""
    reliable = 2 + sum(not each.tolerance.exact for each in search.file.variables.members)
    best, own = ([_bound(search, each, reliable) for each in line] for line in (search.price, search.own_price))
    known = {each.factor: each.value for each in best if not math.isnan(each.value)}
    if not known:
        return None
    if not any(known):
        return {"svg": "", "min_points": MIN_POINTS}
    attacked = search.worst if search.attacked and math.isfinite(search.worst) else None
    caption = _price_caption(search, known)
    label = f"The price of robustness of {search.name}. {caption}"
    svg = search_figures.price(f"{key}-price", label, best, own, attacked, search.file.sign)
    return {
        "svg": svg,
        "title": "Worst value under other tolerances",
        "caption": caption,
        "min_points": MIN_POINTS,
        "reliable": reliable,
        "has_faint": any(each.is_faint for each in (*best, *own)),
        "attack": count(search.attacked.runs, "further run") if search.attacked and attacked is not None else "",
    }


def _bound(search: SearchData, estimate: Estimate, reliable: int) -> search_figures.Bound:
    value = search.file.sign * estimate.value if math.isfinite(estimate.value) else math.nan
    is_faint = estimate.factor > 0 and estimate.points < reliable
    return search_figures.Bound(estimate.factor, value, estimate.points, is_faint)


def _price_caption(search: SearchData, known: dict[float, float]) -> str:
    """Return the values of the best designs with and without tolerances, and the number of designs left out."""
    text = f"Without tolerances, the best design has the value {number(known[0.0])}"
    text += f"; within the given ones, at best {number(known[1.0])}." if 1.0 in known else "."
    given = next((each for each in search.price if each.factor == 1), None)
    if given and given.left_out:
        left_out = f"{count(given.left_out, 'design')} {'is' if given.left_out == 1 else 'are'} left out"
        text += f" At the given tolerances, {left_out}, with fewer than {given.min_points} runs around each."
    return text


def _heuristic_name(chosen: Heuristic) -> str:
    """Return the name of a ready-made heuristic, or the id of any other."""
    return next((name for name in heuristics() if heuristic(name) == chosen), f"custom, {chosen.id}")


def _value(search: SearchData, value: float) -> str:
    """Return a value of the model, with enough digits to distinguish the nominal value from the worst one."""
    if not math.isfinite(value):
        return "infeasible" if math.isinf(value) else MISSING
    width = finite_range(search.solution.nominal, search.solution.worst, search.worst)
    return with_minus_sign(at_precision(value, width, 4))


def _variable_value(variable: Variable, value: float, shown: float) -> str:
    """Return a value of a variable, with the digits that its tolerance around the value of a design needs."""
    low, high = variable.built_range(value)
    return with_minus_sign(at_precision(shown, high - low))


def _position(position: float) -> str:
    """Return the position of a point within a tolerance."""
    if abs(position) > 0.9995:
        return "highest" if position > 0 else "lowest"
    return signed(100 * position, 2) + "%" if round(100 * position) else "as designed"
