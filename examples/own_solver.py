# %% [markdown]
"""Solve by a solver of your own, and by one that cvxpy has and aggopt does not list.

What they find is judged by the model.  What they say that it proves is a claim; a bound
stands beside it only where aggopt works it out itself.

Run:  python examples/own_solver.py
"""

# %% Records in groups
from pathlib import Path

import cvxpy as cp
import numpy as np

from aggopt.aggregate import by_model, p3m
from aggopt.core.plugins.loading import trust_files

here = Path(__file__).parent / "own"
X = np.sort(np.random.default_rng(0).normal(size=(30, 1)), axis=0)
labels = np.arange(30) // 5


# %% A function of model and data; it returns centroids, and a bound if it has one
def means(model, data):
    return np.bincount(data.labels, data.x) / data.sizes


def capped(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    off = c[labels] - x
    return cp.Problem(cp.Minimize(cp.sum_squares(off)), [cp.abs(off) <= 2])


# %% One in a file, one in Python, one that cvxpy has
with trust_files([here / "stretch.py"]):
    stretched = p3m(X, labels, solver=f"{here / 'stretch.py'}:stretch")
for made in (
    stretched,
    by_model(X, labels, capped, solver=means),
    by_model(X, labels, capped, solver="cvxpy:OSQP"),
):
    (c,) = made.certificates
    claim = "" if c.claimed is None else f", {c.claimed.bound:g} claimed"
    bound = "nothing" if c.bound is None else f"{c.bound:.4f}"
    print(f"{c.solver:<20}{c.objective:8.4f}  {bound} proven{claim}")
