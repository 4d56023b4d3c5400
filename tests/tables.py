"""Small tables that the tests of the pipeline share."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from aggopt import Job
from aggopt.partition import PARTITIONERS

ROLES = {
    "identifier": ["name"],
    "quasi-identifier": ["age", "income"],
    "confidential": ["illness"],
    "other": ["note"],
}

ROLES_AND_K = """
[roles]
identifier = ["name"]
quasi-identifier = ["age", "income"]
confidential = ["illness"]
other = ["note"]
[privacy]
k = 4
"""  # as a job file has them
MEANS = f'{ROLES_AND_K}[partition]\nmethod = "mdav"\n'
GRID = """
tables = {people = "people.csv"}
roles = {quasi-identifier = ["age", "income"], other = ["name", "illness", "note"]}
[grid]
k = [4]
partition = ["mdav"]
"""  # as a file of an experiment has it


def people(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """Persons with an identifier, two quasi-identifiers and text beside them."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "name": [f"Person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "illness": rng.choice(["flu", "none", "asthma"], n),
            "income": rng.gamma(2.0, 1e4, n),
            "note": rng.choice(["007", "1.10", "a, b", 'q"q'], n),
        }
    )


def job(k: int = 3, **sections: Any) -> Job:
    """Return a job for `people`."""
    plain = {"roles": ROLES, "privacy": {"k": k}, "partition": MDAV}
    return Job(**{**plain, **sections})


MDAV = {"method": "mdav"}
WIDE = ("age", "height", "weight", "income", "debt")
PAIRS = [["height", "weight"], ["income", "debt"], ["age"]]
ONE_BY_ONE = [[name] for name in WIDE]
WAYS = [
    ({"method": "mdav", "attributes": PAIRS}, PAIRS),
    ({"method": "cbfs", "attributes": "one by one"}, ONE_BY_ONE),
    ({"method": "univariate", "attributes": "one by one"}, ONE_BY_ONE),
    ({"method": "individual_ranking"}, ONE_BY_ONE),
    ({"method": "mdav", "attributes": {"correlation": 0.8}}, sorted(PAIRS)),
    ({"method": "mdav", "attributes": "together"}, [list(WIDE)]),
]


def wide(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Persons with five quasi-identifiers, two pairs of them correlated."""
    rng = np.random.default_rng(seed)
    height, income = rng.normal(170, 10, n), rng.gamma(2.0, 1e4, n)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "height": height,
            "weight": height - 100 + rng.normal(0, 3, n),
            "income": income,
            "debt": 2 * income + rng.normal(0, 1e3, n),
            "illness": rng.choice(["flu", "none", "asthma"], n),
        }
    )


def wide_job(k: int = 3, *, scope: str = "blocks", **sections: Any) -> Job:
    """Return a job for `wide`."""
    roles = {"quasi-identifier": list(WIDE), "confidential": ["illness"]}
    plain = {"roles": roles, "privacy": {"k": k, "scope": scope}, "partition": MDAV}
    return Job(**{**plain, **sections})


def smallest(table: Any, names: tuple[str, ...] = ("age", "income")) -> int:
    """Records that share the rarest combination, counted by a plain dictionary."""
    counts: dict[tuple[Any, ...], int] = {}
    for row in zip(*(list(table[name]) for name in names), strict=True):
        counts[row] = counts.get(row, 0) + 1
    return min(counts.values())


TREE = {"well": ["none"], "ill": ["flu", "asthma"]}


def salaried(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """People with a confidential number that goes with their income."""
    rng = np.random.default_rng(seed)
    frame = people(n, seed)
    return frame.assign(salary=(frame["income"] * rng.uniform(0.7, 1.3, n)).round(2))


def promising(of: str = "salary", /, k: int = 3, **sections: Any) -> Job:
    """Return a job for `salaried`; keys of [privacy] are passed by name."""
    others = {"salary", "illness"} - {of}
    roles = {**ROLES, "confidential": [of], "other": ["note", *others]}
    named = ("partition", "aggregation", "input", "output")
    rest = {name: sections.pop(name) for name in named if name in sections}
    return Job(
        **{"roles": roles, "privacy": {"k": k, **sections}, "partition": MDAV, **rest}
    )


def put_partitioner(monkeypatch: Any, name: str, function: Any) -> None:
    """Let another function carry out the partition method of this name."""
    method = replace(PARTITIONERS[name], function=function)
    monkeypatch.setitem(PARTITIONERS._methods, name, method)
