"""Places with a least number of guests: both declarations, and every partition."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import require_solver
from generalised import draw_kinds, find_best, has_kinds, make_data, make_table

from aggopt.errors import InfeasibleInputError, JobError, TableError, UnknownNameError
from aggopt.models import generalised_loss as model
from aggopt.solvers import SOLVERS, Status, solve

SEEDS = range(12)


def weights_of(table, seed):
    return np.random.default_rng(seed).integers(1, 4, len(table)).astype(float)


@pytest.mark.parametrize("name", ["cvxpy:highs", "pyomo:highs"])
@pytest.mark.parametrize("required", ["k", "weights", "kinds"])
def test_the_program_finds_the_best_of_all_partitions(name, required):
    require_solver(name)
    for seed in SEEDS:
        table, k = make_table(seed, largest=7)
        weights = weights_of(table, seed) if required == "weights" else None
        kinds, l = draw_kinds(table, seed) if required == "kinds" else (None, 1)  # noqa: E741
        data = make_data(table, k, weights=weights, kinds=kinds, l=l)
        problem = model.build(data, SOLVERS[name].language)
        outcome = solve(problem, name, time_limit=60)
        at = model.point(data, model.numbers(problem, data))
        assert outcome.status is Status.OPTIMAL or data.costs.min() == 0
        assert model.MODEL.violation(data, at) < 1e-6
        best = find_best(table, k, weights, has_kinds(kinds, l))
        assert model.objective(data, at) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("language", model.LANGUAGES)
def test_multipliers_of_the_linear_program_prove_its_optimum(language):
    met = 0
    for seed in SEEDS:
        table, k = make_table(seed, largest=7)
        kinds, l = draw_kinds(table, seed) if seed % 2 else (None, 1)  # noqa: E741
        data = make_data(table, k, "any", weights_of(table, seed), kinds, l)
        problem = model.build(data, language)
        relaxed = solve(problem, f"{language}:highs").bound
        at = model.point(data, model.numbers(problem, data))
        assert model.MODEL.violation(data, at) < 1e-6
        proven = model.proven(data, model.multipliers(problem, data))
        assert proven == pytest.approx(relaxed, abs=1e-5)
        best = find_best(table, k, weights_of(table, seed), has_kinds(kinds, l))
        assert proven <= best + 1e-9
        met += proven >= best - 1e-5
    assert met >= len(SEEDS) / 4


def test_any_prices_prove_no_more_than_the_best_partition():
    rng = np.random.default_rng(0)
    for seed in range(30):
        table, k = make_table(seed, largest=8)
        weights = weights_of(table, seed) if seed % 2 else None
        kinds, l = draw_kinds(table, seed) if seed % 3 else (None, 1)  # noqa: E741
        data = make_data(table, k, weights=weights, kinds=kinds, l=l)
        best = find_best(table, k, weights, has_kinds(kinds, l))
        for spread in (0.1, 1.0, 5.0):
            prices = spread * rng.normal(size=len(data.count)) + rng.uniform(0, 2)
            assert model.proven(data, prices) <= best + 1e-9
            capped = keep_below(data, spread)
            if capped is not None:
                assert model.proven(capped, prices) <= best + 1e-9
    assert model.proven(data, np.full(len(data.count), np.nan)) == 0.0


def keep_below(data, cap):
    """Return the data with boxes that lose less than a cap; None of none for some."""
    keep = data.loss < cap
    pairs = keep[data.box]
    if len(np.unique(data.combination[pairs])) < len(data.count):
        return None
    box = (np.cumsum(keep) - 1)[data.box[pairs]]
    parts = {"box": box, "combination": data.combination[pairs]}
    return replace(data, **parts, loss=data.loss[keep], cap=cap)


def test_violations_by_hand():
    data = model.example()
    z = model.publish_all_alike(data)
    assert z.tolist() == [0, 0, 0, 0, 0, 0, 2, 2, 1]
    at = model.point(data, z)
    assert at.y.tolist() == [0, 0, 0, 0, 1]
    assert model.MODEL.violation(data, at) == 0
    assert model.objective(data, at) == 15.0
    one_short = z - np.eye(9)[8]
    missed = model.violations(data, model.Point(one_short, at.y))
    assert {n for n, amount in missed.items() if amount} == {"cover"}
    few = model.Point(np.eye(9)[0], np.array([1.0, 0, 0, -0.25, 1.5]))
    missed = model.violations(data, few)
    wrong = {"cover": 2, "enough": 3, "share": 0.5, "whole": 0.5}
    none = {"present": 0, "counted": 0, "kinds": 0, "sign": 0}
    assert missed == {"open": 0.5} | none | wrong
    closed = model.violations(data, model.Point(-z, 0 * at.y))
    assert closed["sign"] == 2
    assert model.violations(data, model.Point(z, 0 * at.y))["open"] == 2


def test_violations_of_kinds_by_hand():
    data = replace(model.example(), kind=np.array([0, 1, 1]), l=2)
    box, kind = data.counted
    assert box.tolist() == [0, 1, 2, 2, 3, 4, 4]
    assert kind.tolist() == [0, 1, 0, 1, 1, 0, 1]
    at = model.point(data, model.publish_all_alike(data))
    assert at.x.tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert model.MODEL.violation(data, at) == 0
    missed = model.violations(data, at._replace(x=np.eye(7)[0]))
    assert {n: v for n, v in missed.items() if v} == {
        "present": 1, "counted": 1, "kinds": 2,
    }  # fmt: skip
    assert model.violations(data, at._replace(x=-at.x))["sign"] == 1
    assert model.violations(data, at._replace(x=at.x / 2))["whole"] == 0.5


def test_a_box_of_few_records_restricts_no_price():
    data = model.example()
    lowered = model.make_prices_feasible(data, np.array([-9.0, -9.0, 20.0]))
    assert lowered[2] > 10  # alone, or with one more: -9 + 20 <= 2 * 3 fails


def test_data_that_state_no_program_are_refused():
    data = model.example()
    with pytest.raises(UnknownNameError, match="did you mean 'any'"):
        replace(data, shares="an")
    with pytest.raises(InfeasibleInputError, match="choose k from 1 to 5"):
        replace(data, k=6)
    for change, says in (
        ({"box": data.box[::-1]}, "not numbered"),
        ({"combination": np.array([0, 1, 0, 0, 1, 2, 0, 1, 2])}, "twice"),
        ({"combination": np.array([0, 1, 0, 1, 0, 1, 0, 1, 3])}, "does not exist"),
        ({"count": np.array([2, 2, 1, 1])}, "in no box"),
        ({"count": np.array([2, 2, 0])}, "no record"),
        ({"count": np.array([2.0, 2.0, 1.0])}, "whole numbers"),
        ({"cap": -1.0}, "cap = -1.0"),
        ({"kind": np.array([0, 1])}, "one for each combination"),
        ({"kind": np.array([0, 2, 2])}, "without gaps"),
    ):
        with pytest.raises(JobError, match=says):
            replace(data, **change)
    for l in (0, 3, 1.5):  # noqa: E741
        with pytest.raises(InfeasibleInputError, match="choose l from 1 to 2"):
            replace(data, kind=np.array([0, 1, 1]), l=l)
    with pytest.raises(TableError, match="below 0"):
        replace(data, loss=data.loss - 1)
    with pytest.raises(TableError, match="5 boxes"):
        replace(data, loss=data.loss[1:])
    with pytest.raises(TableError, match="weight"):
        replace(data, weight=np.array([1.0, 0.0, 1.0]))
