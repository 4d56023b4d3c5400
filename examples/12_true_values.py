# %% [markdown]
"""Publish true statements: ranges and nodes of a tree that contain each original.

Means are values that nobody may have.  A range or a node holds for each record of its
group.

Run:  python examples/12_true_values.py
"""

# %% 200 invented persons
import numpy as np
import pandas as pd

import aggopt

rng = np.random.default_rng(0)
people = pd.DataFrame(
    {
        "age": rng.integers(18, 80, 200),
        "job": rng.choice(["nurse", "doctor", "smith", "baker"], 200),
    }
)
tree = {"care": ["nurse", "doctor"], "craft": ["smith", "baker"]}

# %% Groups of least loss by true values
job = aggopt.Job(
    roles={"quasi-identifier": ["age", "job"]},
    attributes={
        "age": {"publish": "range"},
        "job": {"tree": tree, "publish": "ancestor"},
    },
    privacy={"k": 5},
    partition={"method": "generalising"},
)
release = aggopt.mask(people, job)
print(release.audit)
print(release.table.head(5).to_string(index=False))

# %% Its certificate: the share of the loss that other groups could save at most
groups = release.blocks[0].certificate
print(f"{groups.objective:.3f} lost, {groups.bound:.3f} at least: {groups.status}")

# %% The sizes of the groups
release.plot.groups()
