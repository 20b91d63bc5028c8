"""Components: frozen dataclasses whose fields carry their ranges. The classes *are* the grammar.

A *slot* (`Network`, `Baseline`, ...) is a class derived from `Component` with `slot=True`; its *alternatives* are the
dataclasses derived from it, in the order of their ranks. The grammar, JSON, lists, descriptions, pseudocode, random
derivations and conformance tests are derived from these classes, so that a new component is a new class. Its compiled
behaviour is one kernel for each name in the slot's *kernel interface*; the engine calls a kernel by its address, which
is in the slot's record in the state.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
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
class Former:
    """The name of a field, and of its choices, in version 1 of the JSON format.

    Former names stay part of a heuristic's identity and of a grammar's fingerprint, and files with them stay readable.
    """

    name: str
    choices: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Constant:
    """The value, in the grammar of the paper, of a parameter that the paper does not have."""

    value: Any


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a component as the grammar sees it.

    Attributes:
        name: The attribute's name.
        kind: The Python type of its value: `int`, `float`, `bool`, `str` or a component class.
        range: The numbers allowed, for `int` and `float`.
        choices: The values allowed, for `bool` and `str`.
        meaning: What it is, in one line.
        default: The value that reproduces the paper's behaviour; `MISSING` for the paper's own fields.
        former: Its name and choices in version 1 of the JSON format.
        constant: Its only value in the grammar of the paper, which does not have it as a parameter; or `MISSING`.
    """

    name: str
    kind: Any
    range: Range | None
    choices: tuple[Any, ...]
    meaning: str
    default: Any
    former: Former
    constant: Any

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
        """Whether the field was added to those of the paper: it may be left out, and then changes nothing."""
        return self.default is not dataclasses.MISSING

    def former_value(self, value: Any) -> Any:
        """Return a value as version 1 of the JSON format had it."""
        return self.former.choices[self.choices.index(value)] if self.former.choices else value


class Component:
    """The root of all parts of a heuristic.

    Class attributes:
        title: Its name in the grammar, in JSON and on screen.
        former_title: Its title in version 1 of the JSON format, if that was another one.
        former_symbol: The symbol of a slot in the grammar at that time, if it was another one.
        source: Where it comes from, as a citation.
        extension: Whether it goes beyond the grammar of the paper.
        costly: Whether it takes milliseconds per evaluation by itself: for models that take longer.
        rank: Its position among the alternatives of its slot; equal ranks keep the order of definition. The order
            decides what a seed derives, so alternatives in different modules must have different ranks.
        key: The name of a slot in tables and files of results; by default that of its class, in lower case.
        label: The heading of a slot in tables.
        kernels: The kernel interface of a slot: for each kernel, the types of its arguments after the state.
        computed: Numbers of the slot's record beside the fields, which `parameters` computes from the `plan`.
        used: In the record of a slot, whether it has a component: 1 or 0.
    """

    title: ClassVar[str] = ""
    former_title: ClassVar[str] = ""
    former_symbol: ClassVar[str] = ""
    source: ClassVar[str] = ""
    extension: ClassVar[bool] = False
    costly: ClassVar[bool] = False
    rank: ClassVar[int] = 100
    is_slot: ClassVar[bool] = False
    key: ClassVar[str] = ""
    label: ClassVar[str] = ""
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    computed: ClassVar[Sequence[str]] = ()
    used: ClassVar[float]
    _alternatives: ClassVar[list[type[Component]]]

    def __init_subclass__(cls, slot: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.is_slot = slot
        if slot:
            cls._alternatives = []
            cls.key = cls.__dict__.get("key", cls.__name__.lower())
        elif cls.slot() is not None:
            cls._alternatives.append(cls)

    def __post_init__(self) -> None:
        for field in fields(type(self)):
            object.__setattr__(self, field.name, _checked(type(self), field, getattr(self, field.name)))
        self.check()

    def check(self) -> None:
        """Raise `HeuristicError` if the fields are incompatible; each is within its own range already."""

    def describe(self) -> str:
        """Return what this component does, with its numbers, as a phrase."""
        return self.title

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        """Return what this component does as lines of pseudocode, indented by two spaces per level.

        Args:
            facts: Numbers that follow from the budget and from other components, by name.
        """
        return [self.describe()]

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        """Return the sizes that the shapes of its arrays in the state refer to, by name."""
        return {}

    def initial_arrays(self, plan: Plan) -> Mapping[str, Any]:
        """Return the initial contents of its arrays in the state that are not zero, by name."""
        return {}

    def parameters(self, plan: Plan) -> Mapping[str, float]:
        """Return the numbers that the kernels read, by field; and the `computed` ones, in this run's `plan`."""
        return {field.name: float(getattr(self, field.name)) for field in fields(type(self)) if is_number(field)}

    @classmethod
    def slot(cls) -> type[Component] | None:
        """Return the slot this component belongs to, or `None` for a part that has no alternatives."""
        return next((base for base in cls.__mro__[1:] if base.__dict__.get("is_slot")), None)

    @classmethod
    def alternatives(cls) -> tuple[type[Component], ...]:
        """Return the components that are allowed here: those of a slot, or the class itself."""
        return tuple(sorted(cls._alternatives, key=lambda part: part.rank)) if cls.is_slot else (cls,)

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


def parts(component: Component) -> Iterator[tuple[Field, Component]]:
    """Yield the components inside a component, at all levels, the outermost first, with their fields."""
    for field in fields(type(component)):
        if field.is_component:
            part = getattr(component, field.name)
            yield field, part
            yield from parts(part)


def slots_and_parts(root: type[Component]) -> dict[type[Component], Field | None]:
    """Return every slot and part that a component can contain, from the top down, with the first field of that type.

    The root itself comes first, with `None`.
    """
    found: dict[type[Component], Field | None] = {root: None}

    def collect(kind: type[Component]) -> None:
        for component in kind.alternatives():
            for field in fields(component):
                if field.is_component and field.kind not in found:
                    found[field.kind] = field
                    collect(field.kind)

    collect(root)
    return found


def is_number(field: Field) -> bool:
    """Whether the kernels can read the field as a number: all but components and strings."""
    return not field.is_component and field.kind is not str


@cache
def record(slot: Any) -> np.dtype[Any]:
    """Return the record type that holds the numbers and kernels of whichever component occupies a slot."""
    names: dict[str, Any] = {"used": np.float64}
    for component in slot.alternatives():
        names.update((name, np.float64) for name in numeric_names(component))
    names.update((kernel, np.int64) for kernel in slot.kernels)
    return np.dtype(list(names.items()), align=True)


def numeric_names(component: type[Component]) -> Iterator[str]:
    """Yield the names of the numbers that a kernel reads; a string is read as the index of its choice."""
    yield from (field.name for field in fields(component) if not field.is_component)
    yield from component.computed


def codes(choices: Any) -> tuple[Any, ...]:
    """Return the numbers by which kernels know the choices of a field, `Literal[...]`, in their order."""
    return tuple(range(len(get_args(choices))))


@lru_cache(maxsize=1024)
def filled_record(slot: Any, chosen: Any, plan: Plan) -> np.ndarray[Any, Any]:
    """Return the slot's record with the parameters of the chosen component; all 0 if that is `None`. Not to be changed.

    Records are cached, since the same heuristic is often run again with the same plan.
    """
    values = np.zeros(1, record(slot))
    if chosen is None:
        return values
    values["used"] = 1.0
    numbers = dict(chosen.parameters(plan))
    for field in fields(type(chosen)):
        if field.kind is str:
            numbers[field.name] = field.choices.index(getattr(chosen, field.name))
    for name, number in numbers.items():
        if name not in (values.dtype.names or ()):
            raise HeuristicError(
                "a component added from outside the package must use the field names of its slot",
                f"{chosen.title} has {name!r}, {slot.__name__} has {', '.join(values.dtype.names or ())}",
                "Rename the field, or add the class to the module of the slot",
            )
        values[name] = number
    values.flags.writeable = False
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
    former = next((item for item in metadata if isinstance(item, Former)), Former(declared.name))
    constant = next((item.value for item in metadata if isinstance(item, Constant)), dataclasses.MISSING)
    return Field(declared.name, kind, limits, choices, meaning, declared.default, former, constant)


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
