# %% [markdown]
"""Attributes together, in blocks, one by one: less is lost, and less is protected.

k = 5 patients share all values of a release, then the values of each block, then each
value alone.  "unique" counts patients with a combination of values that no other has.

Run:  python examples/03_blocks_of_attributes.py
"""

# %% Three jobs for one table
from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

import aggopt

HERE = Path(__file__).parent
table = load_diabetes(as_frame=True, scaled=False).data[["age", "sex", "bmi", "bp"]]
blocks = aggopt.Job.read(HERE / "blocks.toml")
together = blocks.partition.model_copy(update={"attributes": "together"})
jobs = {
    "together": blocks.model_copy(update={"partition": together}),
    "in blocks": blocks,
    "one by one": aggopt.Job.read(HERE / "individual_ranking.toml"),
}

# %% Loss and risk of each
print(f"{'attributes':<12}{'k':>3}{'IL':>9}{'DLD':>9}{'SDID':>9}{'unique':>9}")
releases = {name: aggopt.mask(table, job) for name, job in jobs.items()}
for name, release in releases.items():
    found, measures = release.audit, release.measures
    shares = measures.il, measures.dld, measures.sdid, found.unique / found.records
    columns = "".join(f"{share:>9.1%}" for share in shares)
    print(f"{name:<12}{found.smallest:>3}{columns}")

# %% The last one, one attribute at a time
print(f"{release.audit}\n")
for part in release.manifest()["partition"]:
    proof = part["certificate"]
    print(f"{part['attributes'][0]}: {part['groups']} groups, {proof['status']}")

# %% Patients who are linked by distance, against the information that is lost
figure = Figure(figsize=(5, 3))
axes = figure.subplots()
for name, release in releases.items():
    axes.plot(release.measures.il, release.measures.dld, "o", label=name)
axes.set(xlabel="information loss (IL)", ylabel="linked to the nearest (DLD)")
axes.legend()
figure
