"""A solver's process: what it says, and how it ends."""

import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import require_solver

from aggopt.errors import AggoptError
from aggopt.models import univariate
from aggopt.solvers import SOLVERS, Status, _child
from aggopt.solvers._scratch import WHERE

ORPHAN = "from aggopt.solvers._child import _end_with; _end_with(parent=-1)"


def asked(time_limit=None, options=None):
    data = univariate.Data(np.arange(6.0) ** 2, 2, "sse")
    scip = SOLVERS["pyomo:scip"]
    return _child.answer_apart(univariate.MODEL, data, scip, None, time_limit, options)


@pytest.mark.usefixtures("own_process")
def test_a_refusal_there_is_one_here() -> None:
    require_solver("pyomo:scip")
    with pytest.raises(AggoptError, match="nonsense"):
        asked(options={"nonsense": 1})


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize(
    ("does", "status"), [("exit 3", Status.FAILED), ("exec sleep 9", Status.LIMIT)]
)
def test_one_that_aborts_has_failed_and_one_that_takes_too_long_is_ended(
    tmp_path, monkeypatch, does, status
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(_child, "GRACE", 0.1)
    found = asked(time_limit=0.1)
    assert (found.reading, found.status) == (None, status)


def test_a_process_without_a_parent_ends_and_leaves_no_file(tmp_path) -> None:
    folder = tmp_path / "aggopt-x"
    folder.mkdir()
    (folder / "program.nl").write_text("values")
    ended = subprocess.run(
        [sys.executable, "-c", ORPHAN],
        env={**os.environ, WHERE: str(folder)},
        timeout=600,
        check=False,
    )
    assert ended.returncode == 1
    assert not folder.exists()
