"""A solver of integer programs that is ended with its limit, and one of the user's."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refused

from aggopt.errors import JobError
from aggopt.models import univariate
from aggopt.solvers import SOLVERS, Status
from aggopt.solvers import process_pool as _pool
from aggopt.solvers import run_solver as _ask
from aggopt.solvers.options import require_limited

OURS = SOLVERS["cvxpy:highs"]


def choose(model, data, *, time_limit=None):
    return np.array([data.limit if time_limit is None else time_limit])


def unlimited(model, data):
    return np.array([7])


@dataclass(frozen=True)
class Judge:
    """A model of which every point misses a constraint by its first entry less 7."""

    name: str = "judge"
    origin: None = None

    def point(self, data, reading):
        return reading

    def violation(self, data, at):
        return float(at[0]) - 7


def test_one_of_this_package_is_asked_apart(monkeypatch):
    seen = []
    monkeypatch.setattr(_ask, "run_apart", lambda *asked: seen.append(asked))
    _ask.run_with_hard_limit("model", "data", OURS, 2.0, {"a": 1})
    assert seen == [("model", "data", OURS, None, 2.0, {"a": 1})]


def test_one_of_the_users_is_asked_here_for_a_limit_if_it_takes_one():
    own, data = SOLVERS.adopt(choose), SimpleNamespace(limit=3)
    found = _ask.run_with_hard_limit(Judge(), data, own, 5, {"mip_rel_gap": 0.0})
    assert (found.reading.tolist(), found.status) == ([5], Status.LOCAL)
    assert _ask.run_with_hard_limit(
        Judge(), data, own, None, None
    ).reading.tolist() == [3]
    without = SOLVERS.adopt(unlimited)
    found = _ask.run_with_hard_limit(Judge(), data, without, 5, None)
    assert (found.reading.tolist(), found.solver) == ([7], "unlimited")


def test_an_answer_that_misses_a_constraint_is_none():
    own = SOLVERS.adopt(choose)
    found = _ask.run_with_hard_limit(Judge(), SimpleNamespace(), own, 8, None)
    assert (found.reading, found.status) == (None, Status.FAILED)
    nothing = SOLVERS.adopt(lambda model, data: None)
    assert _ask.run_with_hard_limit(Judge(), None, nothing, 8, None).reading is None


def test_a_limit_that_code_does_not_take_is_refused():
    own = SOLVERS.adopt(unlimited)
    with refused(JobError, "time_limit"):
        require_limited(own, 5.0)
    require_limited(own, None)
    require_limited(SOLVERS.adopt(choose), 5.0)
    require_limited(replace(OURS, time_limit=None), 5.0)


@pytest.mark.usefixtures("own_process")
def test_a_solver_whose_limit_has_no_name_here_is_killed_at_its_limit(monkeypatch):
    monkeypatch.setattr(_pool, "GRACE", -2.0)  # before it can answer
    data = univariate.Data(np.arange(6.0) ** 2, 2, "sse")
    unknown = replace(SOLVERS["cvxpy:highs"], name="cvxpy:SCIPY", time_limit=None)
    found = _ask.run_solver(univariate.MODEL, data, unknown, None, time_limit=2.0)
    assert (found.reading, found.status) == (None, Status.UNANSWERED)
