"""The state: declared once, typed for mypy, and laid out as declared."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import robustforge
from robustforge.core.component import Component, record
from robustforge.core.state import Plan, state_parts
from robustforge.engine.state_layout import FIELDS, SLOTS, allocate

PACKAGE = Path(robustforge.__file__).parent
KERNELS = [path for part in ("core", "components", "engine") for path in sorted((PACKAGE / part).glob("*.py"))]


def slot_accesses(tree):
    """Yield each `s.slot[0]` with the statement that it is in."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt) and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            whole = statement.test if isinstance(statement, (ast.If, ast.While)) else statement
            for node in () if isinstance(whole, ast.For) else ast.walk(whole):
                match node:
                    case ast.Subscript(value=ast.Attribute(value=ast.Name(id="s"), attr=name)) if name in SLOTS:
                        yield name, statement


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_records_of_slots_are_bound_to_a_class(path):
    """So that mypy checks what is read from them: `p: Ring = s.network[0]`. A whole record may be copied."""
    classes = {part.__name__: slot for slot in set(SLOTS.values()) for part in (slot, *slot.alternatives())}
    for name, statement in slot_accesses(ast.parse(path.read_text())):
        if isinstance(statement, ast.AnnAssign):
            assert classes[ast.unparse(statement.annotation)] is SLOTS[name], ast.unparse(statement)
        else:
            copied = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Subscript)
            assert copied, f"line {statement.lineno}: {ast.unparse(statement)}"


def test_a_field_has_one_owner_and_a_meaning():
    names = [field.name for field in FIELDS]
    assert len(names) == len(set(names))
    assert all(field.meaning and field.owner.__doc__ for field in FIELDS)
    assert {field.owner for field in FIELDS} <= set(state_parts())


def test_every_field_is_used():
    text = "".join(path.read_text() for path in KERNELS)
    assert [field.name for field in FIELDS if f"s.{field.name}" not in text] == []


def test_every_size_is_provided_by_a_component():
    """A name that is misspelt in a shape would be 0 in every plan."""
    named = {size for field in FIELDS for size in field.shape.sizes if isinstance(size, str)}
    text = "".join(path.read_text() for path in KERNELS)
    assert [name for name in named if not hasattr(Plan, name) and f'"{name}": ' not in text] == []


def test_arrays_have_the_declared_shapes():
    plan = Plan(dimension=3, uncertain=2, budget=10, agents=4, sizes=(("particles", 4), ("inner_members", 2)))
    arrays = allocate(plan).arrays
    assert arrays["x"].shape == (4, 3)
    assert arrays["certain"].shape == (1,)
    assert arrays["informant"].shape == (4,)
    assert arrays["inner_x"].shape == (8, 3)
    assert arrays["archive_x"].shape == (0, 3)
    assert all(not np.any(arrays[field.name].view(np.uint8)) for field in FIELDS if arrays[field.name].size)


def test_a_record_has_the_parameters_of_all_alternatives_and_the_kernels():
    for slot in set(SLOTS.values()):
        assert issubclass(slot, Component)
        assert {"used", *slot.kernels} <= set(record(slot).names)


@pytest.mark.slow
def test_a_misspelt_field_is_a_type_error(tmp_path):
    source = tmp_path / "kernel.py"
    source.write_text(
        "from robustforge.components.network import NetworkState, Ring\n\n\n"
        "def kernel(s: NetworkState) -> None:\n"
        "    p: Ring = s.network[0]\n"
        "    print(p.include_self, s.informant, s.counters[0].agents)\n"
        "    print(p.include_sel, s.informants, s.counters[0].agent)\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--follow-imports=silent",
        "--cache-dir",
        str(tmp_path / "cache"),
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent.parent)
    assert done.stdout.count("kernel.py:7: error") == 3, done.stdout
    assert "kernel.py:6" not in done.stdout
