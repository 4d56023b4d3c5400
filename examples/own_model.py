# %% [markdown]
"""Publish by a model of your own: three lines in Python, or a file that a job names.

Run:  python examples/own_model.py
"""

# %% A table of patients
from pathlib import Path

import cvxpy as cp
from sklearn.datasets import load_diabetes

import aggopt

columns = ["age", "sex", "bmi", "bp"]
table = load_diabetes(as_frame=True, scaled=False).data[columns]
roles = {"quasi-identifier": ["age", "bmi"], "other": ["sex", "bp"]}


def tell(release: aggopt.Release) -> None:
    for name, c in release.certificates.items():
        judge = str(c.judge).partition(" sha256")[0]
        print(f"{name:<5}{c.status.value:<10}{c.objective:9.3f}  judged by {judge}")


# %% A function that declares a program: its declaration judges its own answer
def capped(x, labels, sizes, *, cap=1.0):
    c = cp.Variable(len(sizes), name="c")
    off = c[labels] - x
    return cp.Problem(
        cp.Minimize(cp.sum_squares(off)), [cp.abs(off) <= cap, sizes @ c == 0]
    )


job = aggopt.Job(
    roles=roles,
    privacy={"k": 5},
    partition={"method": "mdav"},
    aggregation={"model": capped, "cap": 1.5, "solver": "clarabel"},
)
release = aggopt.mask(table, job)
tell(release)

# %% What its solver found of the constraints: those that bind have a multiplier
for name, c in release.certificates.items():
    binding = (c.multipliers["constraint 1"] > 1e-6).sum()
    print(f"{name:<5}{c.iterations} iterations, the cap binds {binding} records")

# %% A file with objective and violations of its own, which a job names.  It sees the
# originals, and is run only because it is trusted here
here = Path(__file__).parent / "own"
tell(aggopt.mask(table, here / "job.toml", trust=[here / "median_mean.py"]))

# %% Body mass index before and after, by the first model
release.plot.before_after("bmi")
