"""Small folders of Parquet files, and what a release of one holds."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import aggopt
from aggopt import Job
from aggopt.engine.run import set_block_partition
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.mask import publish_partitioned
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.partitioned_table import Partitions
from aggopt.solvers import Certificate, Status

QUASI = ["age", "height", "income"]
ROLES = {
    "identifier": ["name"],
    "quasi-identifier": QUASI,
    "confidential": ["ill"],
    "other": ["note"],
}
SECRET = "0123456789abcdef" * 2


def persons(n: int, seed: int = 0) -> pd.DataFrame:
    """Persons in three clusters, with text beside them."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "name": [f"Person {seed}-{i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "height": 160 + 10 * cluster + rng.normal(size=n),
            "income": np.exp(cluster + rng.normal(size=n)),
            "ill": rng.choice(["flu", "none", "asthma"], n),
            "note": rng.choice(["a", "b"], n),
        }
    )


def put(folder: Path, *tables: pd.DataFrame, rows: int | None = None) -> Path:
    """Write a file of each table into a new folder."""
    folder.mkdir()
    for number, table in enumerate(tables):
        to = folder / f"in-{number}.parquet"
        table.to_parquet(to, index=False, row_group_size=rows)
    return folder


def job(k: int = 4, **sections: Any) -> Job:
    """Return a job for `persons`, in blocks of about 100."""
    engine = {"name": "local", "block": 100, **sections.pop("engine", {})}
    privacy = {"k": k, **sections.pop("privacy", {})}
    return Job(**{"roles": ROLES, **sections}, privacy=privacy, engine=engine)


def masked(folder: Path, asked: Job, out: Path, **how: Any) -> aggopt.FolderRelease:
    """Return the release of a folder, always with the same secret."""
    return aggopt.mask(folder, asked, out=out, secret=SECRET, **how)


def read(folder: Path) -> pd.DataFrame:
    """Return all files of a folder as one table."""
    files = sorted(folder.glob("*.parquet"))
    return pd.concat(map(pd.read_parquet, files), ignore_index=True)


def linked(
    folder: Path, release: aggopt.FolderRelease
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return originals and what is published of them, record by record, by the key."""
    key = read(release.private)
    keys = sorted(release.private.glob("key-*"))
    parts = [pd.read_parquet(path) for path in sorted(release.path.glob("*.parquet"))]
    held = [pd.read_parquet(path) for path in keys]
    rows = [p.iloc[k["released_record"]] for p, k in zip(parts, held, strict=True)]
    originals = pd.concat(
        pd.read_parquet(path).assign(
            input_file=path.name, input_record=np.arange(len(pd.read_parquet(path)))
        )
        for path in sorted(folder.glob("*.parquet"))
    )
    at = key.astype({"input_file": str}).reset_index()
    before = at.merge(originals, on=["input_file", "input_record"]).sort_values("index")
    return before.reset_index(drop=True), pd.concat(rows, ignore_index=True)


def of_same_groups(
    release: aggopt.FolderRelease, before: pd.DataFrame, asked: Job, kept: Any = None
) -> aggopt.Release:
    """Return what memory publishes of the groups of a folder's release.

    `before` are its originals as `linked` has them, of which it publishes those values
    that are `kept` (n, d), all when omitted.
    """
    own = before[[*asked.roles.dropped, *asked.roles.published]]
    labels = pd.factorize(read(release.private)["group"], sort=True)[0]
    proof = Certificate(Status.LOCAL, 0.0, None, 0.0, "", 0.0)
    columns = tuple(range(len(asked.roles.quasi_identifier)))
    made = Partitions((Block(columns, Partition(labels, proof)),), kept)
    plain = set_block_partition(Job(**{**dict(asked), "engine": {}}))
    return publish_partitioned(
        partition_table(own, plain, None, secret=SECRET, groups=made),
        lambda step, share: None,
    )


def digest(folder: Path) -> str:
    """Return the SHA-256 of all files of a release, in order."""
    whole = hashlib.sha256()
    for file in sorted(folder.glob("*.parquet")):
        whole.update(file.read_bytes())
    return whole.hexdigest()
