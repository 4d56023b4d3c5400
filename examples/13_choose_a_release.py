# %% [markdown]
"""Compare one job over several k, and take the point with the least loss.

Only figures of each release are kept.  The recommended point links at most 10 % of the
records.

Run:  python examples/13_choose_a_release.py
"""

# %% 442 patients and a job
from sklearn.datasets import load_diabetes

import aggopt

table = load_diabetes(as_frame=True, scaled=False).data[["age", "bmi", "bp"]]
job = aggopt.Job(
    roles={"quasi-identifier": ["age", "bmi", "bp"]},
    privacy={"k": 5},
    partition={"method": "mdav", "bound": "none"},
)

# %% Four k, with and without the correlations kept
choices = aggopt.choose(
    table, job, k=[3, 5, 10, 25], keep=["mean", "covariance"], at_most=0.1
)
print(choices)

# %% The map: further left is safer, further down loses less
choices.plot()
