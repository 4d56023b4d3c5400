"""Formulas of docs/mathematics that the code relies on without computing both sides."""

import numpy as np
import pytest

from aggopt.models.shared.runs import RunCost, compute_run_costs

KINDS = [("sse", "any"), ("sae", "any"), ("maxdist", "any"), ("sse", "integer")]


def apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(((one - other) ** 2).sum())


def sse(*records: np.ndarray) -> float:
    group = np.vstack(records)
    return float(((group - group.mean(axis=0)) ** 2).sum())


@pytest.mark.parametrize(("cost", "centroids"), KINDS)
def test_costs_of_runs_satisfy_the_quadrangle_inequality(
    cost: str, centroids: str
) -> None:
    rng = np.random.default_rng(0)
    how = RunCost(cost, centroids, 1.0)
    for _ in range(300):
        n = int(rng.integers(4, 14))
        x = np.sort(np.round(rng.normal(size=n) * rng.choice([1, 3, 20]), 1))
        i, k, j, m = np.sort(rng.choice(n + 1, 4, replace=False))
        tails, heads = np.array([i, k, i, k]), np.array([j, m, m, j])
        one, other, long, short = compute_run_costs(x, tails, heads, how)
        assert one + other <= long + short + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_changes_of_groups_change_sse_as_the_page_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, d = rng.integers(2, 7, 3)
    A, B, D = (rng.normal(size=(size, 3)) for size in (a, b, d))
    i, j, a0, b0, d0 = A[0], B[0], A.mean(axis=0), B.mean(axis=0), D.mean(axis=0)
    before = sse(A) + sse(B)

    moved = b / (b + 1) * apart(i, b0) - a / (a - 1) * apart(i, a0)
    assert sse(A[1:]) + sse(B, i) - before == pytest.approx(moved)

    f = 1 / a + 1 / b
    swapped = apart(j, a0) - apart(i, a0) + apart(i, b0) - apart(j, b0)
    swapped -= apart(i, j) * f
    found = sse(A[1:], j) + sse(B[1:], i) - before
    assert found == pytest.approx(swapped)

    turned = apart(a0, b0) + apart(i, b0) - apart(i, a0)
    slope = 4 * (apart(a0, b0) - f * turned + f**2 * apart(i, b0))
    least = turned - f * apart(i, b0) - f * apart(j, b0)
    assert found >= least - np.sqrt(slope * apart(j, b0)) - 1e-9

    chained = -a / (a - 1) * apart(i, a0) + apart(i, b0) - apart(j, b0)
    chained += d / (d + 1) * apart(j, d0) - apart(i, j) / b
    after = sse(A[1:]) + sse(B[1:], i) + sse(D, j)
    assert after - before - sse(D) == pytest.approx(chained)
