"""What is said of a model of the user's that has no answer, or none shown best."""

from dataclasses import replace

import cvxpy as cp
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.errors import SolverError
from aggopt.pipeline.finish.notes import explain_stop
from aggopt.pipeline.validate.solver_answers import require_solved
from aggopt.solvers import Certificate, Status

OURS = Certificate(Status.INFEASIBLE, 1.0, None, 0.0, "highs", 0.1)
OWN = replace(OURS, judge="mine.py")
WISHES = (
    "name another solver in the job, allow it more time, or state other wishes "
    "(delta, alpha, margin)"
)
SETTINGS = "give your model other settings, or correct it"
WHY = (
    " The job names no limit: the solver ended by itself, and nothing shows that no "
    "values are better. Its word is taken where each variable has bounds, no number of "
    "the program is tiny or huge, and its gap is 1e-6 or less."
)


def whole(x, labels, sizes, *, reach=0):
    box = {"bounds": [-reach, reach]} if reach else {}
    c = cp.Variable(len(sizes), name="c", integer=True, **box)
    return cp.Problem(cp.Minimize(cp.sum(cp.abs(c[labels] - x))))


UNSATISFIABLE = f"no values satisfy all its constraints: {SETTINGS}"
UNSOLVED = f"name another solver in the job, allow it more time, or {SETTINGS}"


@pytest.mark.parametrize(
    "failed",
    [
        [OURS],
        [OWN, OURS],
        [OWN],
        [replace(OWN, status=Status.FAILED)],
        [replace(OWN, status=Status.FAILED), OWN],
    ],
)
def test_the_remedy_depends_on_whose_model_failed(failed) -> None:
    certificates = {f"attribute {j}": one for j, one in enumerate(failed)}
    solved = {"pay": replace(OURS, status=Status.OPTIMAL)}
    with refused(SolverError, "'attribute 0'"):
        require_solved(certificates | solved)


def test_a_limit_that_nobody_named_is_explained() -> None:
    stopped = replace(OWN, status=Status.UNPROVEN)
    own = job(aggregation={"model": whole})
    assert explain_stop(stopped, own) == WHY
    assert explain_stop(stopped, job()) == WHY
    at_its_own = explain_stop(replace(OWN, status=Status.LIMIT), own)
    assert (
        "no limit: it is one of the solver's own, or that of 600 seconds" in at_its_own
    )
    assert explain_stop(replace(OURS, status=Status.UNPROVEN), own) == ""
    assert explain_stop(replace(OWN, status=Status.GAP), own) == ""
    for named in ({"time_limit": 9.0}, {"options": {"mip_rel_gap": 0.1}}):
        limited = job(aggregation={"model": whole, "solver": "highs", **named})
        assert explain_stop(stopped, limited) == ""


def test_a_release_by_an_integer_program_says_why_it_is_not_shown_best() -> None:
    def notes(**settings):
        section = {"model": whole, "solver": "cvxpy:highs", **settings}
        release = aggopt.mask(people(9), job(aggregation=section))
        return release.certificates["age"].status, "\n".join(release.notes)

    status, said = notes()
    assert status is Status.UNPROVEN
    assert f"'age': cvxpy:highs {status}.{WHY}" in said
    status, said = notes(reach=9)
    assert status is Status.OPTIMAL
    assert WHY not in said
