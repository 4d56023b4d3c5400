"""Laws of a model's fallback and of its impossible data."""

from aggopt.checks._model import HELD, LIMIT, TriedModel
from aggopt.checks.law import not_tried, require
from aggopt.errors import AggoptError, JobError, SolverError
from aggopt.solvers import choose, solve


def a_fallback_is_feasible(f: TriedModel) -> None:
    """What it falls back on, found without a solver, misses no constraint."""
    if f.model.fallback is None:
        not_tried("it has no fallback")
    reading = f.model.fallback(f.data)
    if reading is None:
        not_tried("it has no fallback for its small data")
    missed = f.model.violation(f.data, f.at(reading))
    require(missed < HELD, f"it misses by {missed:.3g}")


def impossible_data_end_without_an_answer(f: TriedModel) -> None:
    """Data that it calls impossible are refused, or end without a usable point."""
    if f.model.impossible is None:
        not_tried("it gives no impossible data")
    try:
        data = f.model.impossible()
    except AggoptError:
        return
    for language in f.model.languages:
        try:
            solver = choose(None, f.kind, language=language)
        except (JobError, SolverError) as none:
            not_tried(f"{none.problem} {none.fix}")
        problem = f.model.build(data, language)
        status = solve(problem, solver.name, time_limit=LIMIT).status
        require(not status.usable, f"in {language} they end as {status.value}")
