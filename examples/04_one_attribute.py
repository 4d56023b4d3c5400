# %% [markdown]
"""The optimal groups of one attribute, by three solvers, each with its certificate.

Sorted values are split into runs of k to 2k - 1, at least cost.

Run:  python examples/04_one_attribute.py
"""

# %% 300 incomes, in groups of 5 or more
import numpy as np
from matplotlib.figure import Figure

from aggopt import aggregate
from aggopt.partition import mdav, univariate

incomes = np.random.default_rng(0).lognormal(10, 0.7, size=300).round()
for solver in ("dynamic", "shortest_path", "cvxpy:highs"):
    result = univariate(incomes, k=5, solver=solver)
    certificate = result.certificate
    print(
        f"{solver:12} {certificate.status}: lost {certificate.objective:.6f}, "
        f"gap {certificate.gap:.0e}, {result.labels.max() + 1} groups"
    )

# %% A heuristic loses a little more
heuristic = aggregate.mean(incomes[:, None], mdav(incomes[:, None], k=5))
print(f"mdav         lost {heuristic.certificates[0].objective:.6f}")

# %% Each value and the mean of its group
masked = aggregate.mean(incomes[:, None], result.labels).values[:, 0]
order = np.argsort(incomes)
figure = Figure(figsize=(6, 3))
axes = figure.subplots()
axes.plot(incomes[order], ".", markersize=2, label="original")
axes.step(range(300), masked[order], where="mid", linewidth=1, label="published")
axes.set(xlabel="rank", ylabel="income", yscale="log")
axes.legend()
figure
