"""Folders with problem files, and models that hang."""

from __future__ import annotations

from pathlib import Path

import pytest
from spring_problem import AWK, HEAD, SHELL, SLOW, end_of, problem


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to be in, with a problem file whose model is awk, and one without a model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # so that what is left behind is seen
    (tmp_path / "model.awk").write_text(AWK)
    problem("spring")
    problem("lab", model="")
    return tmp_path


@pytest.fixture
def slow(folder, forks):
    """A model that hangs after so many runs, and the answer of one that does not."""
    problem("quick", 'name = "spring"\n' + HEAD)
    problem("spring", model=SHELL, script=SLOW)
    Path("log").touch()

    def begin(runs, *arguments, **how):
        Path("slow").write_text(str(runs))
        Path("pids").unlink(missing_ok=True)
        pid = forks.start(*(arguments or ("solve", "spring.toml")), **how)
        return lambda number=0: end_of(forks, pid, number)

    return begin
