"""Production rules: a grammar as text, in Backus-Naur form, as the paper's figure has it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from robustforge.core.component import Component, Field, Range, fields
from robustforge.representation.heuristic import Heuristic

if TYPE_CHECKING:
    from robustforge.representation.grammar import Grammar

Kind = Any  # a component class; mypy takes a class with abstract parts for none

_KINDS: dict[type, str] = {int: "integer", float: "number", bool: "yes/no", str: "choice"}


@dataclass(frozen=True)
class Production:
    """One way to derive a symbol: a terminal, then further symbols.

    Attributes:
        title: The alternative's name; empty where there is only one way.
        symbols: What has to be derived next, in order.
    """

    title: str
    symbols: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([*([self.title] if self.title else []), *(f"<{name}>" for name in self.symbols)])


@dataclass(frozen=True)
class Rule:
    """A production rule: a symbol, and the ways to derive it; a number or a choice has its values instead.

    Attributes:
        symbol: Its name, without the angle brackets.
        productions: The ways to derive a component.
        kind: What a value is: integer, number, yes/no or choice; empty for components.
        range: The numbers allowed.
        choices: The choices allowed.
        meaning: What it is, in one line.
    """

    symbol: str
    productions: tuple[Production, ...] = ()
    kind: str = ""
    range: Range | None = None
    choices: tuple[Any, ...] = ()
    meaning: str = ""

    def __str__(self) -> str:
        return " | ".join(map(str, self.productions)) if self.productions else _values(self)


class Rules:
    """Derives the rules of a grammar from its components.

    Args:
        grammar: The grammar.
        former: Whether to use the names of version 1 of the JSON format, which fingerprints are made of.
    """

    def __init__(self, grammar: Grammar, former: bool = False) -> None:
        self._grammar, self._former = grammar, former
        self._components: dict[str, Rule] = {}
        self._leaves: dict[str, Rule] = {}

    def collected(self) -> tuple[Rule, ...]:
        """Return all rules, those of components first, from the start symbol down."""
        self._collect(Heuristic)
        return (*self._components.values(), *self._leaves.values())

    def _collect(self, kind: Kind) -> None:
        name = self._symbol(kind)
        if name in self._components:
            return
        self._components[name] = Rule(name)  # holds its place
        productions = []
        for component in self._grammar.alternatives(kind):
            shown = self._shown(component)
            names = tuple(self._name(component, field) for field in shown)
            productions.append(Production(self._title(component) if kind.is_slot else "", names))
            for field, leaf in zip(shown, names, strict=True):
                if field.is_component:
                    self._collect(field.kind)
                else:
                    choices = tuple(map(field.former_value, field.choices)) if self._former else field.choices
                    kind_of_value = "word" if self._former and field.kind is str else _KINDS[field.kind]
                    self._leaves[leaf] = Rule(leaf, (), kind_of_value, field.range, choices, field.meaning)
        self._components[name] = Rule(name, tuple(productions))

    def _shown(self, component: Kind) -> list[Field]:
        """Return the fields of a component that have symbols: for fingerprints, constants have them, too."""
        grammar = self._grammar
        free = [field for field in grammar.fields(component) if not grammar.is_fixed_at_default(field)]
        return free if self._former else [field for field in free if not grammar.is_constant(component, field)]

    def _name(self, component: Kind, field: Field) -> str:
        """Return the symbol of a field: its own name, with its component's where others of that name differ."""
        if field.is_component:
            return self._symbol(field.kind)
        name = field.former.name if self._former else field.name
        return f"{self._title(component)} {name}" if name in self._ambiguous else name

    def _title(self, component: Kind) -> str:
        return str((self._former and component.former_title) or component.title)

    def _symbol(self, kind: Kind) -> str:
        return str((self._former and kind.is_slot and kind.former_symbol) or symbol(kind))

    @cached_property
    def _ambiguous(self) -> set[str]:
        """The names that mean different things in different components."""
        known: dict[str, set[Any]] = {}
        for component in self._grammar.components:
            for field in self._grammar.fields(component) if self._former else self._shown(component):
                name = field.former.name if self._former else field.name
                known.setdefault(name, set()).add((field.kind, field.range, field.choices))
        return {name for name, meanings in known.items() if len(meanings) > 1}


def symbol(kind: Kind) -> str:
    """Return the name of a component's kind in the rules."""
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__)
    return "Start" if kind is Heuristic else words


def _values(rule: Rule) -> str:
    if rule.choices:
        return " | ".join(map(value_words, rule.choices))
    assert rule.range is not None
    low, high = f"{rule.range.low:g}", f"{rule.range.high:g}"
    scale = ", logarithmic" if rule.range.log else ""
    return f"{rule.kind} {low}" if low == high else f"{rule.kind} {low} to {high}{scale}"


def value_words(value: float | bool | str) -> str:
    """Return a value of a heuristic for people: yes or no, a word, or a number in a few digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def derivation_tree(part: Component) -> dict[str, Any]:
    """Return a derivation tree: the grammar's symbol, the alternative chosen, its values, and the nodes below.

    Fields that were added to those of the paper are left out where they have their defaults.
    """
    slot = type(part).slot()
    inside = ((field, getattr(part, field.name)) for field in fields(type(part)))
    shown = [(field, value) for field, value in inside if not field.optional or value != field.default]
    return {
        "symbol": symbol(slot or type(part)),
        "choice": part.title if slot else None,
        "values": {field.name: value for field, value in shown if not field.is_component},
        "nodes": [derivation_tree(value) for field, value in shown if field.is_component],
    }
