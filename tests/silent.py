"""Solvers asked, and tables masked, in a process that marks whose output is whose."""

import ctypes
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from aggopt.checks import _solvers as programs
from aggopt.checks._model import LIMIT, TriedModel
from aggopt.command import cli
from aggopt.models import MODELS
from aggopt.solvers import SOLVERS, solve
from aggopt.solvers.process_pool import inside
from aggopt.solvers.run_solver import run_apart
from aggopt.solvers.solver import CLASSES, Solver

MARK = "--- "


def prints(model, data):
    """Answer as a solver that prints: by Python, by C, and without a buffer."""
    print("A line of Python.")
    ctypes.CDLL(None).puts(b"A line of C.")
    os.write(1, b"A line without a buffer.\n")
    return data.renormalised


def ask_each(names: Sequence[str], *, here: bool) -> None:
    """Ask solvers for all that they take, here or apart; write a mark before each."""
    inside.is_worker = here
    for name in names:
        begin(name)
        if name == "prints":
            ask_for_model("p3m", SOLVERS.adopt(prints))
            continue
        solver = SOLVERS[name]
        for kind in filter(solver.fits, CLASSES):
            ask_for_programs(kind, solver)
        for model in filter(solver.fits, MODELS):
            if solver.language is None:
                ask_for_model(model, solver)
    begin("end")


def ask_for_programs(kind: str, solver: Solver) -> None:
    for program in (programs.build_known_program, programs.build_infeasible_program):
        solve(program(solver.language, kind), solver.name, time_limit=LIMIT)
    if kind == "MILP":
        solve(programs.build_knapsack(solver.language), solver.name, time_limit=0.1)


def ask_for_model(name: str, solver: Solver) -> None:
    data = TriedModel.of(MODELS[name], {}, name).data
    start = getattr(data, "means", None)
    limit = LIMIT if solver.time_limit else None
    run_apart(MODELS[name], data, solver, start, limit, None)


def mask_each(names: Sequence[str]) -> None:
    """Mask by a job for each solver as the command does, with --json."""
    for name in names:
        begin(name)
        job = f"{name.replace(':', '-')}.toml"
        sys.argv = ["aggopt", "mask", "people.csv", job, "--out", f"{job}.csv"]
        sys.argv += ["--json"]
        with suppress(SystemExit):
            cli.run_app()
    begin("end")


def begin(name: str) -> None:
    """Write a mark, after all that was printed before."""
    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
    os.write(1, f"{MARK}{name}\n".encode())


def sections(run) -> dict[str, str]:
    """Return what a process wrote after each mark, at its end included."""
    assert run.returncode == 0, run.stderr
    before, *parts = run.stdout.split(MARK)
    assert before == ""
    return dict(part.split("\n", 1) for part in parts)
