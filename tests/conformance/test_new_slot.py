"""A slot that is defined in a separate file is found by the grammar, the engine, the command line and the analysis."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs/howto/add-slot.md"

ANNEALING = '''
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from cooling import Cooling
from robustforge.components import LehSearch
from robustforge.components.leh_search import _move_leh
from robustforge.core.compiler import call, compiled


@compiled
def _move_and_cool(s):
    cooling = s.cooling[0]
    call(cooling.cool, s)
    _move_leh(s)


@dataclass(frozen=True)
class Annealing(LehSearch):
    """A search with a slot that no other has."""

    title: ClassVar[str] = "Annealing"
    rank: ClassVar[int] = 99
    cooling: Annotated[Cooling, "the cooling"]
    move: ClassVar[Any] = staticmethod(_move_and_cool)

    def initial_arrays(self, plan):
        return {**super().initial_arrays(plan), "temperature": 1.0}
'''

PROGRAM = """
import json
import sys

sys.path.insert(0, sys.argv[1])
import numpy as np

import annealing
import cooling
import robustforge as rf
from robustforge.analysis.features import COMPONENTS, alternatives, features
from robustforge.cli.payloads.catalogue import component_rows
from robustforge.engine.state_layout import FIELDS

base = rf.heuristic("rpso")
search = annealing.Annealing(20, 0.1, 0.1, 1, 2, cooling=cooling.GeometricCooling(0.9))
mine = base.replace(outer=search)
rng = np.random.default_rng(1)
optimizer = rf.Optimizer([(-1, 1)] * 2, rf.Ball(0.1), budget=100, heuristic=mine, rng=1)
while not optimizer.finished:
    batch = optimizer.ask()
    optimizer.tell(batch.ids, (batch.x**2).sum(axis=1))
derived = [rf.grammar("extended").derive(rf.Heuristic, rng) for _ in range(100)]
print(json.dumps({
    "temperature": float(optimizer.arrays["temperature"][0]),
    "json": rf.Heuristic.from_json(mine.to_json()) == mine,
    "components": [mine.components()["cooling"], base.components()["cooling"]],
    "label": COMPONENTS["cooling"],
    "alternatives": alternatives("cooling"),
    "features": [features(mine, 2000)["cooling"], features(base, 2000)["cooling"]],
    "listed": [each["title"] for row in component_rows("cooling") for each in row["components"]],
    "derived": any(each.components()["cooling"] == "Geometric" for each in derived),
    "state": [field.name for field in FIELDS if field.name in ("cooling", "temperature")],
}))
"""


def test_a_slot_is_one_file_and_one_field(tmp_path):
    block = re.search(r"```python\n( *# cooling\.py\n.*?)```", GUIDE.read_text(), re.DOTALL)
    assert block is not None
    lines = [line[3:] for line in block[1].splitlines()]
    (tmp_path / "cooling.py").write_text("\n".join(lines))
    (tmp_path / "annealing.py").write_text(ANNEALING)
    done = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert 0.9**100 < printed.pop("temperature") < 0.9**5  # the kernel of the slot was called
    assert printed == {
        "json": True,
        "components": ["Geometric", "na"],
        "label": "Cooling",
        "alternatives": ["None", "Geometric", "Not applicable"],
        "features": ["Geometric", "Not applicable"],
        "listed": ["None", "Geometric"],
        "derived": True,
        "state": ["cooling", "temperature"],
    }
