# %% [markdown]
"""Go through a grid of methods and solvers: certificates and measures of every cell.

Cells that are done are kept in a folder: a second run, or one after Ctrl-C, goes on.
Cells of this script begin with `# %%`: an editor that knows them runs one at a time.

Run:  python examples/08_experiment.py
"""

# %% A table, and what is tried on it
from tempfile import TemporaryDirectory

from sklearn.datasets import load_diabetes

import aggopt

table = load_diabetes(as_frame=True, scaled=False).data[["age", "bmi"]].head(60)
roles = {"quasi-identifier": ["age", "bmi"]}
grid = {
    "k": [3, 5],
    "partition": ["mdav", "cbfs"],
    "aggregation": ["mean", {"method": "p3m", "solver": "uno"}],
}

# %% Name a folder of your own to go on another day
with TemporaryDirectory() as folder:
    found = aggopt.experiment({"diabetes": table}, grid, roles=roles, cache=folder)
    again = aggopt.experiment({"diabetes": table}, grid, roles=roles, cache=folder)
print(found)
print(f"The second time all of it was in the cache: {again == found}")

# %% The rows are a table: which method leaves least for an attacker, or loses least
best = found.to_pandas().groupby(["k", "aggregation"])["pil"].min()
print(best.round(3).to_string())

# %% Risk against loss of each cell
found.plot("linkage", "pil")
