"""Categories away from those of records that ask for it, frequencies kept."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from aggopt.aggregate import frequencies, plurality, wish
from aggopt.errors import JobError, UnknownNameError
from aggopt.solvers import Status

LEVELS = ["low", "middle", "high"]


def table(seed: int, n: int = 15) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.arange(n) // 3)
    return rng.choice(LEVELS, n), groups, rng.choice([0.1, 1.0], n)


def apart(one: Any, two: Any, ordered: bool) -> float:
    if not ordered:
        return float(one != two)
    return abs(LEVELS.index(one) - LEVELS.index(two)) / 2


def off(column: Any, values: Any) -> int:
    before, after = (list(v) for v in (column, values))
    return max(abs(before.count(c) - after.count(c)) for c in LEVELS)


@pytest.mark.parametrize("solver", ["cvxpy:highs", "pyomo:highs"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("delta", [None, 1.0])
def test_no_choice_within_the_budget_leaves_less_unmet(solver, seed, delta) -> None:
    column, groups, insist = table(seed)
    ordered, best = delta is not None, np.inf
    given: dict[str, Any] = {"order": LEVELS} if ordered else {}
    base = frequencies(column, groups, slack=3, **given).certificate.objective
    for names in product(LEVELS, repeat=5):
        values = np.array(names)[groups]
        away = [apart(a, b, ordered) for a, b in zip(column, values, strict=True)]
        if off(column, values) <= 3 and sum(away) <= 1.3 * base + 1e-9:
            asked = (delta or 1e-9) > np.array(away)
            best = min(best, float(insist @ asked))
    told: Any = {"importance": insist, "delta": delta, "slack": 3, "budget": 1.3}
    found = wish(column, groups, solver=solver, **given, **told)
    proof = found.certificate
    assert proof.status is Status.OPTIMAL
    assert proof.objective == pytest.approx(best)
    assert proof.bound == pytest.approx(best)
    assert proof.solver == solver
    assert off(column, found.values) <= 3
    pairs = zip(column, found.values, strict=True)
    assert sum(apart(a, b, ordered) for a, b in pairs) <= 1.3 * base + 1e-9


def test_a_budget_of_a_tenth_more_and_a_slack_of_four_are_the_usual_ones() -> None:
    column, groups, insist = table(7, 60)
    plain = wish(column, groups, importance=insist)
    said = wish(column, groups, importance=insist, budget=1.1, slack=4)
    assert plain.certificate.objective == said.certificate.objective
    wide = wish(column, groups, importance=insist, budget=2)
    assert wide.certificate.objective < plain.certificate.objective
    other = wish(column, groups, importance=insist, delta=0.01)
    assert other.certificate.objective == plain.certificate.objective


def test_without_time_for_wishes_the_frequencies_are_kept_at_least_loss() -> None:
    column, groups, insist = table(8, 60)
    found = wish(column, groups, importance=insist, options={"time_limit": 1e-9})
    kept = frequencies(column, groups)
    assert found.certificate.status is Status.LIMIT
    assert off(column, found.values) <= 4
    lost = int((found.values != column).sum())
    assert lost <= 1.1 * kept.certificate.objective


def test_where_no_choice_keeps_frequencies_the_status_says_so() -> None:
    column = np.array(["a"] * 7 + ["b"] * 8)
    found = wish(column, np.arange(15) // 5, slack=1, budget=2)
    assert found.certificate.status is Status.INFEASIBLE
    assert (found.values == plurality(column, np.arange(15) // 5).values).all()


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({}, JobError),
        ({"budget": 0.9}, JobError),
        ({"budget": True}, JobError),
        ({"budget": 2, "delta": 1.1}, JobError),
        ({"budget": 2, "delta": [1.0] * 3}, JobError),
        ({"budget": 2, "delta": -1.0}, JobError),
        ({"importance": "much"}, JobError),
        ({"importance": [np.nan] * 15}, JobError),
        ({"budget": 2, "slack": -1}, JobError),
        ({"budget": 2, "solver": "slots"}, JobError),
        ({"budget": 2, "solver": "slot"}, UnknownNameError),
        ({"budget": 2, "time_limit": 0}, JobError),
        ({"budget": 2, "seed": -1}, JobError),
    ],
)
def test_what_makes_no_sense_is_refused(how: Any, error: Any) -> None:
    column, groups, _ = table(0)
    with refused(error):
        wish(column, groups, **how)


def test_an_order_makes_equal_wishes_a_choice() -> None:
    column, groups, _ = table(1)
    ranked = pd.Series(pd.Categorical(column, LEVELS, ordered=True))
    assert wish(ranked, groups, delta=1.0).certificate.objective >= 0
