"""Settings of the user's code may have any name: none is an argument of the package."""

from collections.abc import Callable
from typing import Any

import pytest
from refusals import refused
from tables import people

import aggopt
from aggopt.errors import JobError

NAMES = (
    *("step", "X", "name", "function", "file", "labels", "x", "k", "args"),
    *("how", "data", "self", "origin", "kind", "given", "what", "told", "language"),
    *("scale", "records", "settings", "seed", "combine"),
)
CODE = {
    "model": """
def mine(a, b, c, *, {name}=1.0):
    import cvxpy as cp
    assert {name} == 2.0
    z = cp.Variable(len(c), name="c")
    return cp.Problem(cp.Minimize(cp.sum_squares(z[b] - a)))
""",
    "aggregation": """
def mine(a, b, *, {name}=1.0):
    import numpy as np
    assert {name} == 2.0
    return np.stack([a[b == j].mean(axis=0) for j in range(b.max() + 1)])
""",
    "partition": """
def mine(a, b, *, {name}=1.0):
    import numpy as np
    assert {name} == 2.0
    return np.minimum(np.arange(len(a)) // b, len(a) // b - 1)
""",
    "privacy": """
def mine(a, *, {name}=1.0):
    assert {name} == 2.0
    return True
""",
    "repair": """
def mine(a, b, c, *, {name}=1.0):
    assert {name} == 2.0
    return b * 0
""",
}


def written(kind: str, name: str) -> Callable[..., Any]:
    """Return a function of the kind that requires 2.0 of the setting."""
    found: dict[str, Any] = {}
    exec(CODE[kind].format(name=name), found)  # a name cannot be an argument else
    return found["mine"]


def job_with(kind: str, name: str) -> aggopt.Job:
    code = written(kind, name)
    sections: dict[str, Any] = {
        "roles": {
            "identifier": ["name"],
            "quasi-identifier": ["age", "income"],
            "confidential": ["illness"],
            "other": ["note"],
        },
        "privacy": {"k": 3},
        "partition": {"method": "mdav"},
    }
    if kind == "model":
        sections["aggregation"] = {"model": code, name: 2.0}
    elif kind == "repair":
        sections["privacy"] |= {"l": 2, "repair": {"method": code, name: 2.0}}
    elif kind == "privacy":
        own = {"method": code, "attributes": ["illness"], name: 2.0}
        sections["privacy"] |= {"own": [own], "repair": "merge"}
    else:
        sections[kind] = {"method": code, name: 2.0}
    return aggopt.Job(**sections)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", CODE)
def test_a_setting_of_any_name_works_or_is_refused_at_once(kind, name):
    if kind == "partition" and name in ("X", "k", "scale"):  # searches name these
        with refused(JobError):
            job_with(kind, name)
    else:
        aggopt.mask(people(), job_with(kind, name))
