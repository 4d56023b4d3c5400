# %% [markdown]
"""Solve one program with every nonlinear solver that is installed.

Each call of `aggopt.mask` draws new secret margins, which makes another program: the
objectives of two releases cannot be compared.  `compare` draws them once.

Run:  python examples/02_swap_the_solver.py
"""

# %% The solvers that take the program of P3M
from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

import aggopt
from aggopt.experiments.compare_solvers import compare
from aggopt.solvers import SOLVERS

JOB = Path(__file__).with_name("p3m.toml")
SLOW = "pyomo:scip"  # branches: for small tables
able = [s for s in SOLVERS.values() if s.fits("p3m", "NLP") and s.name != SLOW]
for solver in able:
    if not solver.installed:
        print(f"{solver.name:<14}not installed: {solver.install}")

# %% Each of them solves it
table = load_diabetes(as_frame=True, scaled=False).data[["age", "sex", "bmi", "bp"]]
here = [solver.name for solver in able if solver.installed]
rows = list(compare(table, aggopt.Job.read(JOB), here))
print(f"{'solver':<14}{'objective':>12}{'bound':>12}{'violation':>12}  status")
for row in rows:
    bound = "none" if row.bound is None else f"{row.bound:.6f}"
    print(
        f"{row.solver:<14}{row.objective:>12.6f}{bound:>12}"
        f"{row.violation:>12.1e}  {row.status}"
    )

# %% How exactly each of them keeps mean and variance
figure = Figure(figsize=(6, 2.4))
axes = figure.subplots()
axes.plot([max(row.violation, 1e-17) for row in rows], here, "o")
axes.set(xlabel="largest violation of a constraint", xscale="log")
figure
