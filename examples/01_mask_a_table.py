# %% [markdown]
"""Mask a data frame: roles, a requirement, an audited release.

The table has 442 diabetes patients in their original units, with an invented name each.

Run:  python examples/01_mask_a_table.py
"""

# %% The table
from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn.datasets import load_diabetes

import aggopt

bundle = load_diabetes(as_frame=True, scaled=False)
patients = bundle.data[["age", "sex", "bmi", "bp"]].assign(progression=bundle.target)
patients["name"] = [f"Patient {i}" for i in range(len(patients))]

# %% The job and the release
job = aggopt.Job(
    roles={
        "identifier": ["name"],  # dropped
        "quasi-identifier": ["age", "sex", "bmi", "bp"],  # masked
        "confidential": ["progression"],  # published unchanged
    },
    privacy={"k": 5},
    aggregation={"method": "mean", "keep": "variance"},
)
release = aggopt.mask(patients, job)
print(release.audit)
print(release.measures)

# %% Body mass index before and after
release.plot.before_after("bmi")

# %% How often attacks succeed
release.plot.risk()

# %% The files: one to publish, and a manifest and a key to keep
with TemporaryDirectory() as folder:
    files = release.write(Path(folder) / "patients.csv")
    print(sorted(path.name for path in Path(folder).iterdir()))
