"""Searches on the page: what to build, what drives its worst case, how it was found, what surrounds it, its price."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robustforge.formatting import percent, spread, within
from robustforge.heuristic import Heuristic, heuristic, heuristics
from robustforge.model.variables import Variable
from robustforge.report import design_figures
from robustforge.report.commands import search_commands
from robustforge.report.designs import Design, Surroundings
from robustforge.report.price import LEAST, Estimate
from robustforge.report.words import MINUS, MISSING, count, duration, moment, number, short, signed, typeset
from robustforge.store import SOLVE
from robustforge.tables import Record

PARTS = {
    "build": "What to build",
    "worst": "The worst case",
    "runs": "How the search went",
    "near": "Within the tolerances",
    "price": "The price of robustness",
}
"""What there is of each search, in this order."""

_STRONGEST, _LINES, _REASONS, _NAME = 12, 300, 10, 30


def design_record(place: int, design: Design, where: str) -> Record:
    """Return a search as it stands on the page.

    Args:
        place: Which of the searches it is, counted from 0.
        design: The search.
        where: The store that it is in.
    """
    key, high, attack = f"design-{place + 1}", design.file.sign > 0, design.attacked.runs if design.attacked else 0
    sides = ("highest", "lowest") if high else ("lowest", "highest")
    parts = {
        "worst": _worst(key, design),
        "runs": _runs(key, design),
        "near": _near(key, design),
        "price": _price(key, design),
    }
    return {
        "key": key,
        "name": design.name,
        "notice": notice(design),
        "aim": f"Sought: the design whose {sides[0]} value within its tolerances is {sides[1]}. {_set(design)}",
        "worst_word": sides[0],
        "facts": _facts(design),
        "details": _details(design),
        "variables": _variables(design) if design.is_found else [],
        "standing": _standing(design),
        "failures": _failures(design),
        "heuristic": [line.removeprefix("- ") for line in design.heuristic.describe(design.file.budget).splitlines()],
        "commands": search_commands(design.name, where, design.has_model, attack),
        "has_model": design.has_model,
        "is_attacked": attack > 0,
        "refuted": typeset(design.verdict.text) if design.verdict.kind == "warning" else "",
        **parts,
        "titles": PARTS,
        "parts": ["build", *(part for part in parts if parts[part])],
    }


def contents(records: Sequence[Record], is_alone: bool) -> list[tuple[str, str]]:
    """Return where things are: the searches, or the parts of one that the page is about alone."""
    if not is_alone:
        return [(record["key"], short(record["name"], _NAME)) for record in records]
    return [(f"{records[0]['key']}-{part}", PARTS[part]) for part in records[0]["parts"]]


def notice(design: Design) -> Record:
    """Return how far a search is, in words."""
    runs = f"{design.answer.runs:,} of {count(design.file.budget, 'run')}"
    if design.state == "finished":
        ending = "; ".join(each for each in design.answer.message.split("; ") if " failed, the first at x" not in each)
        text = f"{ending[:1].upper()}{ending[1:]}: {runs}."
        if not design.answer.success:
            return {"kind": "empty", "text": text}
        return {"kind": design.verdict.kind, "text": f"{text} {typeset(design.verdict.text)}"}
    words = {
        "running": f"At work: {runs} are there. What follows is how it stands.",
        "waiting": f"It waits for values: {runs} are there, and robustforge ask shows the points that come next.",
        "interrupted": f"Interrupted: {runs} are there. The command that began it goes on where it stopped.",
    }
    return {"kind": "running", "text": words[design.state]}


def _standing(design: Design) -> str:
    """Say what a design is that is no answer; empty if it is one."""
    if not design.is_found:
        return "There is no design yet: none has been judged by runs around it."
    if design.state != "finished":
        return "The best so far, which may change."
    return "" if design.answer.success else "This is no answer: it is only where the search ended."


def _set(design: Design) -> str:
    if sum(not each.tolerance.exact for each in design.file.variables.each) == 1:
        return ""
    if design.file.variables.kind == "box":
        return "Each variable can be anywhere within its tolerance, whatever the others do."
    return "The tolerances make a ball: not all variables are at the ends of theirs at once."


def _facts(design: Design) -> list[Record]:
    """Return the few figures that matter, each with a word on what it is."""
    answer, facts = design.answer, []
    if design.is_found:
        note = "if built exactly" if not math.isnan(answer.nominal) else "not run yet"
        facts += [("nominal value", _value(design, answer.nominal), note, "")]
        note = "to the search" if design.attacked else "to the search; not attacked"
        facts += [("worst value known", _value(design, answer.worst), note, "")]
    if design.attacked:
        facts += [("worst after the attack", _value(design, design.worst), _spent(design), design.verdict.kind)]
    failed = sum(number for _, number in design.reasons)
    words = f"{failed:,} without a value" if failed else "all with a value" if design.runs else "none yet"
    facts += [("runs of the model", f"{len(design.runs):,}", words, "")]
    return [{"name": name, "value": value, "note": note, "kind": kind} for name, value, note, kind in facts]


def _spent(design: Design) -> str:
    """Say what the attack took, and how much worse its value is."""
    assert design.attacked is not None
    runs, worse = f"by {count(design.attacked.runs, 'further run')}", f"{percent(design.verdict.rise)} worse"
    return f"{worse}, {runs}" if worse in design.verdict.text else runs


def _details(design: Design) -> list[Record]:
    """Return the settings."""
    policy = {"infeasible": "infeasible", "unknown": "left out", "raise": "the end of the search"}
    facts = [
        ("goal", f"{design.file.goal} the worst value"),
        ("budget", count(design.file.budget, "run")),
        ("heuristic", _heuristic_name(design.heuristic)),
        ("seed", str(design.file.seed)),
        ("a failed run is", policy[design.file.on_failure]),
        *([("known before", count(design.earlier, "point"))] if design.earlier else []),
        ("begun", f"{moment(design.begun)} UTC"),
        *([("time in the model", duration(design.seconds))] if design.seconds else []),
    ]
    return [{"name": name, "value": value} for name, value in facts]


def _variables(design: Design) -> list[Record]:
    rows = []
    for each in design.file.variables.each:
        value = design.answer.design[each.name]
        ends = each.built(value)
        low, high = (_built(each, value, end) if ends[0] < ends[1] else MISSING for end in ends)
        tolerance = str(each.tolerance).replace("/-", f" / {MINUS}")
        plain = {"name": each.name, "unit": each.unit, "tolerance": tolerance}
        rows.append(
            {**plain, "value": _built(each, value, value), "low": low, "high": high, "is_uncertain": ends[0] < ends[1]}
        )
    return rows


def _failures(design: Design) -> Record | None:
    reasons, last = design.reasons, design.last_failed
    if last is None:
        return None
    others = sum(number for _, number in reasons[_REASONS:])
    return {
        "text": f"{sum(n for _, n in reasons):,} of {count(len(design.runs), 'run')} had no value",
        "reasons": [{"text": text, "count": f"{number:,}"} for text, number in reasons[:_REASONS]],
        "others": f"and {count(others, 'run')} for {count(len(reasons) - _REASONS, 'other reason')}" if others else "",
        "last": f"run {last.number} of the {'search' if last.part == SOLVE else 'attack'}",
        "tail": last.tail.strip(),
    }


def _worst(key: str, design: Design) -> Record | None:
    """Return the worst point and what drives it; `None` if nothing is known within the tolerances."""
    near = design.near
    if near is None or near.worst is None:
        return None
    by_size = near.by_size
    names, changes = [near.names[k] for k in by_size], (design.file.sign * near.changes[by_size]).tolist()
    shown = slice(_STRONGEST)
    label = f"What drives the worst case of {design.name}: {names[0]} most, {signed(changes[0], 3)}."
    variables = {each.name: each for each in design.file.variables.each}
    rows = [
        {**_both(variables[name], design), "position": _position(float(near.positions[near.worst, k]))}
        for k, name in zip(by_size, names, strict=True)
    ]
    return {
        "value": "" if math.isinf(design.worst) else _value(design, design.worst),
        "svg": design_figures.drivers(f"{key}-drivers", label, names[shown], changes[shown]) if near.fitted > 1 else "",
        "title": "What drives it",
        "caption": _linear_words(near),
        "rows": rows[shown],
        "others": rows[_STRONGEST:],
    }


def _both(variable: Variable, design: Design) -> Record:
    """Return a variable of the design and of its worst point."""
    value = design.answer.design[variable.name]
    both = (_built(variable, value, each) for each in (value, design.worst_point[variable.name]))
    return {"name": variable.name, "unit": variable.unit, **dict(zip(("design", "worst"), both, strict=True))}


def _linear_words(near: Surroundings) -> str:
    """Say what the linear model is worth."""
    several = len(near.names)
    of = f"By a linear model of {count(near.fitted, 'run')} within the tolerances"
    if not near.is_trusted:
        return f"{of}: too few for {count(several, 'variable')}, so not to be trusted."
    rest = f" The {_STRONGEST} strongest of {several} variables." if several > _STRONGEST else ""
    return f"{of}: which way the value goes, and about how far; bends are not in it.{rest}"


def _runs(key: str, design: Design) -> Record | None:
    """Return how the search went; `None` before its first value."""
    told = [run for run in design.runs if run.part == SOLVE]
    if not any(math.isfinite(run.value) for run in told):
        return None
    points = [(run.number + 1, run.value) for run in sorted(told, key=lambda run: run.number)]
    worst = design.worst if design.is_found and math.isfinite(design.worst) else math.nan
    ends = [(max(at for at, _ in points), worst)] if not math.isnan(worst) else []
    known = [value for _, value in design.estimates if math.isfinite(value)]
    caption = f"The estimate is {number(known[-1])} after {count(len(told), 'run')}." if known else "No estimate yet."
    label = f"Values of the runs of {design.name}, and the estimate of its robust value. {caption}"
    svg = design_figures.convergence(f"{key}-convergence", label, points, design.estimates, ends, design.file.sign)
    return {"svg": svg, "title": "Runs, and the estimate", "caption": caption, "has_end": bool(ends)}


def _near(key: str, design: Design) -> Record | None:
    """Return the runs within the tolerances; `None` if there are none."""
    near = design.near
    if near is None or near.worst is None:
        return None
    kept = np.argsort(-near.values, kind="stable")[:_LINES]
    strongest = near.by_size[:_STRONGEST]
    names, positions, badness = [near.names[k] for k in strongest], near.positions[kept], near.values[kept]
    positions = positions[:, strongest]
    known = count(near.values.size, "run")
    caption = f"{known} within the tolerances." if kept.size == near.values.size else f"The worst {_LINES} of {known}."
    if len(names) < len(near.names):
        caption += f" The {_STRONGEST} variables of {len(near.names)} that change the value most."
    label = f"Runs within the tolerances of {design.name}. {caption}"
    if len(near.names) == 1:
        values = design.file.sign * badness
        svg = design_figures.across(f"{key}-near", label, names[0], positions[:, 0], values, badness)
    else:
        svg = design_figures.neighbourhood(f"{key}-near", label, names, positions, badness)
    return {"svg": svg, "title": "Runs around the design", "caption": caption, "is_single": len(near.names) == 1}


def _price(key: str, design: Design) -> Record | None:
    """Return what other tolerances would cost, without a figure if nothing can be said; `None` before a value."""
    trusted = 2 + sum(not each.tolerance.exact for each in design.file.variables.each)
    best, own = ([_bound(design, each, trusted) for each in line] for line in (design.price, design.own_price))
    known = {each.factor: each.value for each in best if not math.isnan(each.value)}
    if not known:
        return None
    if not any(known):
        return {"svg": "", "least": LEAST}
    attacked = design.worst if design.attacked and math.isfinite(design.worst) else None
    caption = _price_words(design, known)
    label = f"The price of robustness of {design.name}. {caption}"
    svg = design_figures.prices(f"{key}-price", label, best, own, attacked, design.file.sign)
    return {
        "svg": svg,
        "title": "Value under other tolerances",
        "caption": caption,
        "least": LEAST,
        "trusted": trusted,
        "is_faint": any(each.is_faint for each in (*best, *own)),
        "attack": count(design.attacked.runs, "further run") if design.attacked and attacked is not None else "",
    }


def _bound(design: Design, estimate: Estimate, trusted: int) -> design_figures.Bound:
    value, is_faint = _seen(design, estimate.value), estimate.factor > 0 and estimate.points < trusted
    return design_figures.Bound(estimate.factor, value, estimate.points, is_faint)


def _price_words(design: Design, known: dict[float, float]) -> str:
    """Say what the best designs are worth with and without tolerances, and how many designs were not compared."""
    text = f"Without tolerances, the best design has the value {number(known[0.0])}"
    text += f"; within the given ones, at best {number(known[1.0])}." if 1.0 in known else "."
    given = next((each for each in design.price if each.factor == 1), None)
    if given and given.left_out:
        left = f"{count(given.left_out, 'design')} {'is' if given.left_out == 1 else 'are'} left out"
        text += f" At the given tolerances, {left}: fewer than {given.least} runs lie around each."
    return text


def _seen(design: Design, value: float) -> float:
    """Return a value in the user's own sense; NaN if it is not finite."""
    return design.file.sign * value if math.isfinite(value) else math.nan


def _heuristic_name(chosen: Heuristic) -> str:
    """Return what a heuristic is called, if it is one of the ready-made ones."""
    return next((name for name in heuristics() if heuristic(name) == chosen), f"its own, {chosen.id}")


def _value(design: Design, value: float) -> str:
    """Return a value of the model with the digits that tell the nominal value from the worst one."""
    if not math.isfinite(value):
        return "infeasible" if math.isinf(value) else MISSING
    return typeset(within(value, spread(design.answer.nominal, design.answer.worst, design.worst), 4))


def _built(variable: Variable, value: float, shown: float) -> str:
    """Return a value of a variable with the digits that its tolerance around a design's value needs."""
    low, high = variable.built(value)
    return typeset(within(shown, high - low))


def _position(position: float) -> str:
    """Return where a point lies within a tolerance."""
    if abs(position) > 0.9995:
        return "highest" if position > 0 else "lowest"
    return signed(100 * position, 2) + "%" if round(100 * position) else "as designed"
