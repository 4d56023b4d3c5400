"""A solver that lies, in each way that one can, is caught by the law that it breaks."""

from dataclasses import dataclass, replace

import pytest

from aggopt.checks import Ending, Trial, _solvers
from aggopt.checks._solvers import LAWS, TriedSolver
from aggopt.models import MODELS
from aggopt.solvers import SOLVERS, Status

HIGHS = SOLVERS["cvxpy:highs"]
BY_NAME = {law.name: law for law in LAWS}


@dataclass(frozen=True, eq=False)
class Lying(TriedSolver):
    """HiGHS, whose word is changed on its way."""

    def ended(self, problem, **how):
        return self.changed(super().ended(problem, **self.options(how)))

    def options(self, how):
        return how

    def changed(self, outcome):
        return outcome


class LyingBound(Lying):
    def changed(self, outcome):
        return replace(outcome, bound=outcome.bound and outcome.bound * 0.9 + 1)


class WeakBound(Lying):
    def changed(self, outcome):
        return replace(outcome, bound=outcome.bound and -1000.0)


class AllOptimal(Lying):
    def changed(self, outcome):
        return replace(outcome, status=Status.OPTIMAL, bound=0.0)


class NeverSure(Lying):
    def changed(self, outcome):
        return replace(outcome, status=Status.LIMIT)


class FailsInstead(Lying):
    def changed(self, outcome):
        return replace(outcome, status=Status.FAILED)


class NoLimit(Lying):
    def options(self, how):
        return {"time_limit": 0.6} if how.get("time_limit", 9) < 1 else how


class AnyOption(Lying):
    def options(self, how):
        return {k: v for k, v in how.items() if k != "options"}


class Forgetful(Lying):
    seen = 0

    def changed(self, outcome):
        type(self).seen += 1
        return replace(outcome, bound=outcome.bound and outcome.bound - self.seen)


class Deaf(Lying):
    def ended(self, problem, **how):
        try:
            return super().ended(problem, **how)
        except BaseException:
            return None


class AtTheEdge(Lying):
    def ended(self, problem, **how):
        found = super().ended(problem, **how)
        for variable in problem.variables():
            variable.save_value(variable.value * 0.0)
        return found


def verdict(law, tried):
    return Trial(BY_NAME[law], tried.name, None, tried).verdict()


WRONG = [
    (AtTheEdge, "known_optima_are_found"),
    (FailsInstead, "known_optima_are_found"),
    (NeverSure, "known_optima_are_found"),
    (LyingBound, "it_proves_no_more_than_is_so"),
    (WeakBound, "it_proves_no_more_than_is_so"),
    (AllOptimal, "infeasible_is_said"),
    (FailsInstead, "infeasible_is_said"),
    (AllOptimal, "unbounded_is_said"),
    (AllOptimal, "a_time_limit_is_kept"),
    (AnyOption, "unknown_options_are_refused"),
    (Forgetful, "it_repeats_itself"),
]


@pytest.mark.parametrize(
    ("wrong", "law"), WRONG, ids=lambda x: getattr(x, "__name__", x)
)
def test_a_wrong_solver_is_caught(wrong, law):
    found = verdict(law, wrong("wrong", HIGHS, {}))
    assert found.ending is Ending.BROKEN, str(found)


def test_one_that_takes_its_time_is_caught(monkeypatch):
    monkeypatch.setattr(_solvers, "SOON", 0.5)
    found = verdict("a_time_limit_is_kept", NoLimit("wrong", HIGHS, {}))
    assert "it took" in found.why


def test_a_local_one_that_states_a_bound_is_caught():
    local = replace(HIGHS, finds="a local optimum")
    found = verdict("it_proves_no_more_than_is_so", TriedSolver("wrong", local, {}))
    assert "it is local, and states a bound" in found.why


def test_one_that_takes_what_there_is_not_is_caught():
    wrong = replace(HIGHS, takes=frozenset({"LP", "nothing"}))
    found = verdict("it_says_what_it_takes", TriedSolver("wrong", wrong, {}))
    assert "it takes nothing, which is nothing" in found.why


@dataclass(frozen=True, eq=False)
class Answering(TriedSolver):
    """The Lagrangian method, whose answers are changed on their way."""

    change: object = None

    @property
    def models(self):
        return ["p3m"]

    @property
    def answers(self):
        return [(tried, self.change(tried, a)) for tried, a in super().answers]


def answers(**what):
    return lambda tried, answer: replace(answer, **what)


def shifted(tried, answer):
    return replace(answer, reading=answer.reading + 0.1)


def lying(tried, answer):
    return replace(answer, bound=answer.bound + 1)


def stretched(tried, answer):
    return replace(answer, reading=tried.data.renormalised[::-1].copy())


@pytest.mark.parametrize(
    ("change", "law"),
    [
        (answers(status=Status.INFEASIBLE), "answers_of_models_are_points"),
        (answers(reading=None), "answers_of_models_are_points"),
        (shifted, "answers_of_models_are_points"),
        (lying, "bounds_of_models_hold"),
        (stretched, "bounds_of_models_hold"),
    ],
)
def test_a_wrong_answer_to_a_model_is_caught(change, law):
    assert "p3m" in MODELS
    wrong = Answering("wrong", SOLVERS["lagrangian"], {}, change)
    found = verdict(law, wrong)
    assert found.ending is Ending.BROKEN, str(found)
