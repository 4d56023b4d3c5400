# %% [markdown]
"""Mask a table by a partition method of your own, as a function and from a file.

Cells begin with `# %%`: an editor that knows them runs one at a time, as a notebook.

Run:  python examples/own_partitioner.py
"""

# %% A table: 300 people of a made-up town
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import aggopt
from aggopt.errors import UntrustedCodeError

rng = np.random.default_rng(0)
age = rng.integers(18, 90, 300)
people = pd.DataFrame({"age": age, "income": 400 * age + rng.normal(0, 5e3, 300)})
roles = {"quasi-identifier": ["age", "income"]}


# %% A method: neighbours along the first attribute.  What it returns is counted
def split(X, k, *, reverse=False):
    """Return the group of each record, k or more of them in each."""
    rank = np.argsort(np.argsort(-X[:, 0] if reverse else X[:, 0]))
    return np.minimum(rank // k, len(X) // k - 1)


job = aggopt.Job(roles=roles, privacy={"k": 5}, partition={"method": split})
release = aggopt.mask(people, job)
print(release.audit)
print(release.blocks[0].certificate)

# %% The same from a file, which a job names: it runs only if its caller trusts it
CODE = """
import numpy as np

def split(X, k, *, reverse=False):
    rank = np.argsort(np.argsort(-X[:, 0] if reverse else X[:, 0]))
    return np.minimum(rank // k, len(X) // k - 1)
"""
JOB = """
[roles]
quasi-identifier = ["age", "income"]
[privacy]
k = 5
[partition]
method = "mine.py:split"
reverse = true
"""
with TemporaryDirectory() as folder:
    code, file = Path(folder, "mine.py"), Path(folder, "job.toml")
    code.write_text(CODE)
    file.write_text(JOB)
    try:
        aggopt.mask(people, file)
    except UntrustedCodeError as refused:
        print(f"Refused: {refused.problem}")
    release = aggopt.mask(people, file, trust=[code])

# %% The manifest says which bytes made the release
(origin,) = release.manifest()["code"]
print(f"{origin['name']} of SHA-256 {origin['sha256'][:12]}...: {release.audit}")

# %% The sizes of its groups
release.plot.groups()
