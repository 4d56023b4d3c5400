"""Publish by a model of your own: three lines in Python, or a file that a job names.

Run:  python examples/own_model.py
"""

from pathlib import Path

import cvxpy as cp
from sklearn.datasets import load_diabetes

import aggopt

HERE = Path(__file__).parent / "own"
ROLES = {"quasi-identifier": ["age", "bmi"], "other": ["sex", "bp"]}


# %% A function that declares a program: its declaration judges its own answer.
def capped(x, labels, sizes, *, cap=1.0):
    c = cp.Variable(len(sizes), name="c")
    off = c[labels] - x
    return cp.Problem(
        cp.Minimize(cp.sum_squares(off)), [cp.abs(off) <= cap, sizes @ c == 0]
    )


def main() -> None:
    table = load_diabetes(as_frame=True, scaled=False).data[["age", "sex", "bmi", "bp"]]
    asked = {"model": capped, "cap": 1.5, "solver": "clarabel"}
    job = aggopt.Job(
        roles=ROLES,
        privacy={"k": 5},
        partition={"method": "mdav"},
        aggregation=asked,
    )
    tell(aggopt.mask(table, job))

    # %% A file with objective and violations of its own, which a job names.  It sees
    # the originals, and is run only because it is trusted here.
    tell(aggopt.mask(table, HERE / "job.toml", trust=[HERE / "median_mean.py"]))


def tell(release: aggopt.Release) -> None:
    for name, c in release.certificates.items():
        judge = str(c.judge).partition(" sha256")[0]
        print(f"{name:<5}{c.status.value:<10}{c.objective:9.3f}  judged by {judge}")


if __name__ == "__main__":
    main()
