"""What the tests share: small problems, random heuristics, and an objective in every guise."""

from __future__ import annotations

import signal

import pytest

from processes import Forks
from shared import bowl

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # so it is in what a script starts with &
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def compiled_bowl():
    return bowl


@pytest.fixture(scope="module")
def forks():
    """Commands that start at once."""
    made = Forks()
    yield made
    made.close()


LONGEST = (
    "test_cluster.py",
    "test_documents.py",
    "test_examples.py",
    "test_evolution_kills.py",
    "test_search_kills.py",
    "test_interrupted_models.py",
    "test_lost_stores.py",
    "test_problem_file_commands.py",
    "test_solve_file.py",
    "test_packaging.py",
)
"""Files that take minutes: they begin first, so that no worker is left alone with one at the end."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONGEST)
