"""Solve one job with every nonlinear solver that is installed: one word changes.

Run:  python examples/02_swap_the_solver.py
"""

from pathlib import Path

from sklearn.datasets import load_diabetes

import aggopt
from aggopt.solvers import SOLVERS

JOB = Path(__file__).with_name("p3m.toml")


def main() -> None:
    table = load_diabetes(as_frame=True, scaled=False).data[["age", "sex", "bmi", "bp"]]
    job = aggopt.Job.read(JOB)
    print(f"{'solver':<14}{'attribute':<11}{'objective':>12}{'violation':>12}  status")
    for name, solver in SOLVERS.items():
        if not solver.fits("p3m", "NLP") or name == "pyomo:scip":  # for small tables
            continue
        if not solver.installed:
            print(f"{name:<14}not installed: {solver.install}")
            continue
        aggregation = job.aggregation.model_copy(update={"solver": name})
        release = aggopt.mask(
            table, job.model_copy(update={"aggregation": aggregation})
        )
        for attribute, c in release.certificates.items():
            print(
                f"{c.solver:<14}{attribute:<11}{c.objective:>12.6f}"
                f"{c.violation:>12.1e}  {c.status}"
            )


if __name__ == "__main__":
    main()
