# %% [markdown]
"""Mask a table of text, orders, trees, codes and numbers.

The job examples/mixed.toml says what no type tells: an order, a tree, which numbers
are codes.  A published category is one that the table has, or a node of its tree.

Run:  python examples/06_mixed_table.py
"""

# %% 400 people of an invented firm
from pathlib import Path

import numpy as np
import pandas as pd

import aggopt

JOB = Path(__file__).with_name("mixed.toml")
SCHOOL = ["primary", "secondary", "bachelor", "master"]
ILLNESS = ["well", "flu", "asthma", "weakness", "attack"]
N = 400


def staff() -> pd.DataFrame:
    """400 people of a made-up firm; schooling goes with age, salary with both."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 66, N)
    school = np.clip((age - 18) // 16 + rng.integers(0, 3, N), 0, 3)
    return pd.DataFrame(
        {
            "name": [f"Employee {i}" for i in range(N)],
            "age": age,
            "hours": rng.choice([20.0, 30.0, 37.5, 40.0], N),
            "school": np.array(SCHOOL)[school],
            "illness": rng.choice(ILLNESS, N, p=[0.7, 0.12, 0.08, 0.06, 0.04]),
            "district": rng.choice([101, 102, 205, 310], N),
            "married": rng.random(N) < age / 80,
            "salary": (2000 + 20 * age + 500 * school + rng.normal(0, 200, N)).round(),
        }
    )


# %% Each attribute keeps its type
people = staff()
release = aggopt.mask(people, JOB)
print(release.audit)
print(f"\n{'attribute':<10}{'levels':>8}{'published':>11}{'by':>14}  status")
for name, proof in release.certificates.items():
    counts = people[name].nunique(), release.table[name].nunique()
    print(f"{name:<10}{counts[0]:>8}{counts[1]:>11}{proof.solver:>14}  {proof.status}")

# %% The groups, and the nodes of the tree that are published
found = release.blocks[0].certificate
print(f"groups: {found.objective:.1f} lost, {found.bound:.1f} at least")
print(f"illness: {', '.join(sorted(release.table['illness'].unique()))}")

# %% Schooling before and after
release.plot.before_after("school")
