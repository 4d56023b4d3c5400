# %% [markdown]
"""How near to the best a partition is: the published heuristic, a search, a proof.

A bound is proven: no groups of 3 or more lose less.

Run:  python examples/05_near_optimal.py
"""

# %% 200 records of three attributes, and a bound
import numpy as np
from matplotlib.figure import Figure

from aggopt import aggregate
from aggopt.partition import local_search, loss_bound, mdav, optimal

X = np.random.default_rng(0).gamma(2.0, size=(200, 3))
heuristic = aggregate.mean(X, mdav(X, k=3))
lost = {"mdav": sum(certificate.objective for certificate in heuristic.certificates)}
print(f"mdav          lost {lost['mdav']:.3f}; no partition loses less than ", end="")
print(f"{loss_bound(X, k=3):.3f}")

# %% A search finds better groups, and `optimal` proves its own
for name, result in {
    "local_search": local_search(X, k=3),
    "optimal": optimal(X, k=3, time_limit=20),
}.items():
    found = result.certificate
    lost[name] = found.objective
    print(
        f"{name:13} lost {found.objective:.3f}; no partition loses less than "
        f"{found.bound:.3f}: {found.status}"
    )

# %% The loss of each, and the last bound
figure = Figure(figsize=(5, 2))
axes = figure.subplots()
axes.barh(list(lost), list(lost.values()), height=0.6)
axes.axvline(found.bound, color="#d55e00", linestyle="--", label="bound")
axes.set(xlabel="sum of squared distances", xlim=(0.8 * found.bound, None))
axes.legend()
figure
