# %% [markdown]
"""Mask a survey of households with sampling weights: k households share each value.

Persons of one household share its region.  If k counted persons, a household of five
could be a group of its own.

Run:  python examples/11_a_household_survey.py
"""

# %% 300 invented households
import numpy as np
import pandas as pd

import aggopt
from aggopt.measure.risk import household_risk, individual_risk

rng = np.random.default_rng(1)
sizes = rng.integers(1, 5, 300)
number, n = np.repeat(np.arange(300), sizes), sizes.sum()
survey = pd.DataFrame(
    {
        "household": number,
        "region": rng.choice(["north", "south"], 300)[number],
        "age": rng.integers(0, 95, n),
        "school": rng.choice(["primary", "secondary", "higher"], n),
        "income": rng.gamma(2.0, 900.0, n).round(0),
        "weight": rng.uniform(80, 240, 300).round(1)[number],
    }
)

# %% The role `unit` makes k count households
job = aggopt.Job(
    roles={
        "unit": ["household"],
        "stratum": ["region"],
        "quasi-identifier": ["age", "school"],
        "confidential": ["income"],
        "weight": ["weight"],
    },
    attributes={"school": {"order": ["primary", "secondary", "higher"]}},
    privacy={"k": 5},
)
release = aggopt.mask(survey, job)
print(release.audit)

# %% The risk of a person, and of a household, before and after
keys = ["region", "age", "school"]
for name, table in {"original": survey, "released": release.table}.items():
    combination = table.groupby(keys).ngroup().to_numpy()
    risk = individual_risk(combination, survey["weight"].to_numpy())
    shared = household_risk(risk, survey["household"].to_numpy())
    print(f"{name}: {risk.max():.2%} of a person, {shared.max():.2%} of a household")

# %% Age before and after
release.plot.before_after("age")
