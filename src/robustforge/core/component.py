"""What a component is: a frozen dataclass whose fields carry their ranges. The classes *are* the grammar.

A *slot* (`Network`, `Baseline`, ...) is a class derived from `Component` with `slot=True`; its *alternatives* are the
dataclasses derived from it, in the order in which they are written. Lists, JSON, help, random derivations and
conformance tests all come from here, so that adding a component is adding one class. Its compiled behaviour is a kernel
for each of the slot's *verbs*; the machine finds it by its address, in the slot's record in the state.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

import numpy as np

from robustforge.core.state import Plan
from robustforge.errors import HeuristicError


@dataclasses.dataclass(frozen=True)
class Range:
    """The values a number may take, and whether they are drawn on a logarithmic scale."""

    low: float
    high: float
    log: bool = False

    def __str__(self) -> str:
        return f"{self.low:g}-{self.high:g}{' (log)' if self.log else ''}"


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a component as the grammar sees it.

    Attributes:
        name: The attribute's name.
        kind: The Python type of its value: `int`, `float`, `bool`, `str` or a component class.
        range: The numbers allowed, for `int` and `float`.
        choices: The values allowed, for `bool` and `str`.
        meaning: One line for people.
        default: The value that leaves everything as it is in the paper; `MISSING` for the paper's own fields.
    """

    name: str
    kind: type
    range: Range | None
    choices: tuple[Any, ...]
    meaning: str
    default: Any

    @property
    def is_component(self) -> bool:
        """Whether the value is itself a component."""
        return issubclass(self.kind, Component)

    @property
    def is_choice(self) -> bool:
        """Whether the value is a component out of several that can stand there."""
        return issubclass(self.kind, Component) and self.kind.is_slot

    @property
    def optional(self) -> bool:
        """Whether the field came after the paper: it may be left out, and then changes nothing."""
        return self.default is not dataclasses.MISSING


class Component:
    """The root of all parts of a heuristic.

    Class attributes:
        title: The name in the grammar, in JSON and on screen.
        source: Where it comes from, as a citation.
        extension: Whether it goes beyond the grammar of the paper.
    """

    title: ClassVar[str] = ""
    source: ClassVar[str] = ""
    extension: ClassVar[bool] = False
    is_slot: ClassVar[bool] = False
    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """What a slot's components do: for each verb, the types of what its kernel takes after the state."""
    _alternatives: ClassVar[list[type[Component]]]

    def __init_subclass__(cls, slot: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.is_slot = slot
        if slot:
            cls._alternatives = []
        elif cls.slot() is not None:
            cls._alternatives.append(cls)

    def __post_init__(self) -> None:
        for field in fields(type(self)):
            object.__setattr__(self, field.name, _checked(type(self), field, getattr(self, field.name)))
        self.check()

    def check(self) -> None:
        """Raise `HeuristicError` if the fields do not go together; each is within its own range already."""

    def words(self) -> str:
        """Return what this part does, in plain words, with its numbers."""
        return self.title

    def resolved(self, plan: Plan) -> Mapping[str, float]:
        """Return the numbers that the kernels read, by field; a fraction becomes an integer of this run's `plan`."""
        return {field.name: float(getattr(self, field.name)) for field in fields(type(self)) if is_number(field)}

    @classmethod
    def slot(cls) -> type[Component] | None:
        """Return the slot this component belongs to, or `None` for a part that has no alternatives."""
        return next((base for base in cls.__mro__[1:] if base.__dict__.get("is_slot")), None)

    @classmethod
    def alternatives(cls) -> tuple[type[Component], ...]:
        """Return the components that can stand here: those of a slot, or the class itself."""
        return tuple(cls._alternatives) if cls.is_slot else (cls,)

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the class's docstring."""
        return (cls.__doc__ or "").strip().splitlines()[0]

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


def fields(cls: type[Component]) -> tuple[Field, ...]:
    """Return the fields of a component class, in order."""
    any_class: Any = cls  # dataclasses are hashable as classes, which mypy doubts
    return _fields(any_class)


@cache
def _fields(cls: Any) -> tuple[Field, ...]:
    if not dataclasses.is_dataclass(cls):
        return ()
    hints = get_type_hints(cls, include_extras=True)
    return tuple(_field(declared, hints[declared.name]) for declared in dataclasses.fields(cls))


def is_number(field: Field) -> bool:
    """Whether the kernels can read the field as a number: all but components and words."""
    return not field.is_component and field.kind is not str


@cache
def record(slot: Any) -> np.dtype[Any]:
    """Return the record type that holds the numbers and kernels of whichever component stands in a slot."""
    names: dict[str, Any] = {"used": np.float64}
    for component in slot.alternatives():
        names.update((name, np.float64) for name in numeric_names(component))
    names.update((verb, np.int64) for verb in slot.verbs)
    return np.dtype(list(names.items()), align=True)


def numeric_names(component: type[Component]) -> Iterator[str]:
    """Yield the names of the fields that a kernel reads; a word is read as the number of its choice."""
    return (field.name for field in fields(component) if not field.is_component)


def filled_record(slot: Any, chosen: Component | None, plan: Plan) -> np.ndarray[Any, Any]:
    """Return the slot's record with the chosen component's numbers, all 0 where the slot is empty."""
    values = np.zeros(1, record(slot))
    if chosen is None:
        return values
    values["used"] = 1.0
    numbers = dict(chosen.resolved(plan))
    for field in fields(type(chosen)):
        if field.kind is str:
            numbers[field.name] = field.choices.index(getattr(chosen, field.name))
    for name, number in numbers.items():
        if name not in (values.dtype.names or ()):
            raise HeuristicError(
                "a component added from outside the package must use fields that its slot has",
                f"{chosen.title} has {name!r}, {slot.__name__} has {', '.join(values.dtype.names or ())}",
                "Rename the field, or add the class to the slot's own file",
            )
        values[name] = number
    return values


def _field(declared: dataclasses.Field[Any], hint: Any) -> Field:
    kind: Any = hint
    metadata: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        kind, *extras = get_args(hint)
        metadata = tuple(extras)
    choices: tuple[Any, ...] = ()
    if get_origin(kind) is Literal:
        choices, kind = get_args(kind), str
    elif kind is bool:
        choices = (True, False)
    meaning = next((item for item in metadata if isinstance(item, str)), "")
    limits = next((item for item in metadata if isinstance(item, Range)), None)
    return Field(declared.name, kind, limits, choices, meaning, declared.default)


def _checked(cls: type[Component], field: Field, value: Any) -> Any:
    """Return the value in its field's own type, or raise with the rule that it breaks."""
    place = f"`{field.name}` of {cls.title or cls.__name__}"
    if field.is_component:
        if isinstance(value, field.kind):
            return value
        rule = f"{place} must be a {field.kind.__name__}"
    elif field.choices:
        if any(value is choice or (isinstance(value, str) and value == choice) for choice in field.choices):
            return value
        rule = f"{place} must be one of {', '.join(map(repr, field.choices))}"
    else:
        limits = field.range or Range(-math.inf, math.inf)
        number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        within = number and limits.low <= value <= limits.high
        if within and (field.kind is float or float(value).is_integer()):
            return field.kind(value)
        noun = "an integer" if field.kind is int else "a number"
        rule = f"{place} must be {noun} from {limits.low:g} to {limits.high:g}"
    raise HeuristicError(rule, f"got {value!r}", f"`robustforge components` lists what {cls.title or 'it'} takes")
