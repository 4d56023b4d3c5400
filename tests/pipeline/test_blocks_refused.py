"""Refusals of blocks and of weights; settings of the user's code of any name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import refused
from tables import PAIRS, ROLES, WAYS, WIDE, job, people, smallest, wide, wide_job

import aggopt
from aggopt.errors import JobError, SolverError, TableError, UnknownNameError
from aggopt.solvers import Solver

SEVERAL = [way for way in WAYS if len(way[1]) > 1]


@pytest.mark.parametrize(("how", "blocks"), SEVERAL)
def test_blocks_do_not_promise_the_combination(no_work, how, blocks):
    with refused(JobError) as refusal:
        aggopt.mask(wide(), wide_job(partition=how, scope="combination"))
    problem, fix = refusal.value.problem, refusal.value.fix
    assert (
        f"{how['method']} is to group 5 quasi-identifiers in {len(blocks)}" in problem
    )
    alone = how["method"] in ("univariate", "individual_ranking")
    assert ('method = "mdav"' if alone else 'attributes = "together"') in fix


@pytest.mark.parametrize("attributes", ["together", PAIRS, {"correlation": 0.8}])
@pytest.mark.parametrize("scope", ["combination", "blocks"])
def test_univariate_takes_one_attribute(no_work, scope, attributes):
    how = {"method": "univariate", "attributes": attributes}
    with refused(JobError, "individual_ranking"):
        aggopt.mask(wide(), wide_job(partition=how, scope=scope))


@pytest.mark.parametrize(
    "attributes",
    [
        [["age"], ["height", "weight"]],
        [[*WIDE], ["age"]],
        [[*WIDE, "agee"]],
        [[*WIDE, "illness"]],
        [[*WIDE], []],
        [],
    ],
)
def test_blocks_name_each_quasi_identifier_once(no_work, attributes):
    how = {"method": "mdav", "attributes": attributes}
    with refused(JobError):
        aggopt.mask(wide(), wide_job(partition=how))


@pytest.mark.parametrize("method", ["individual_ranking", "univariate"])
def test_a_solver_of_the_partition_is_looked_for_first(no_work, method, monkeypatch):
    def asked(**settings):
        ways = {} if method == "individual_ranking" else {"attributes": "one by one"}
        return wide_job(partition={"method": method, **ways, **settings})

    with refused(UnknownNameError, "'dinamic'"):
        aggopt.mask(wide(), asked(solver="dinamic"))
    with refused(JobError, "LP"):
        aggopt.mask(wide(), asked(solver="uno"))
    with refused(JobError, "'print_level'"):
        aggopt.mask(wide(), asked(solver="cvxpy:highs", options={"print_level": 3}))
    with refused(JobError):
        aggopt.mask(wide(), asked(time_limit=3.0))
    monkeypatch.setattr(Solver, "lacks", "no package dynamite")
    with refused(SolverError):
        aggopt.mask(wide(), asked(solver="dynamic"))


WHOLE = {"method": "individual_ranking", "centroids": "integer"}


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"output": {"round_integers": True}, "aggregation": {"method": "median"}},
        {
            "output": {"round_integers": True},
            "aggregation": {"method": "mean", "keep": "variance"},
        },
    ],
)
def test_groups_for_whole_numbers_need_whole_numbers_published(no_work, sections):
    with refused(JobError, "round_integers = true"):
        aggopt.mask(wide(), wide_job(partition=WHOLE, **sections))


def test_groups_for_whole_numbers_are_for_columns_of_them(no_work):
    rounded = wide_job(partition=WHOLE, output={"round_integers": True})
    with refused(JobError, "'height'", "'weight'", "'income'"):
        aggopt.mask(wide(), rounded)


def test_groups_for_whole_numbers_publish_them():
    frame = wide().round().astype(dict.fromkeys(WIDE, int))
    asked = wide_job(partition=WHOLE, output={"round_integers": True})
    kinds = aggopt.mask(frame, asked).table[list(WIDE)].dtypes
    assert set(map(str, kinds)) == {"int64"}


def test_an_attribute_that_a_partition_refuses_is_named():
    frame = wide()
    frame["debt"] = np.append(-(10.0 ** np.arange(59)), 0)
    asked = wide_job(partition={"method": "individual_ranking", "solver": "highs"})
    with refused(TableError, "'debt'"):
        aggopt.mask(frame, asked)


# --- weights that would weigh nothing are refused before any work


FRAME = people().assign(place=["a", "b", "c", "d"] * 10)
QUASI = ["age", "income", "place"]
BLOCKS = {"k": 3, "scope": "blocks"}


def asked(quasi: list[str], way: Any = "together", **sections: Any) -> Any:
    others = ["note", *({"age", "income", "place"} - set(quasi))]
    roles = {**ROLES, "quasi-identifier": quasi, "other": others}
    weights = sections.pop("weights", "variance")
    how = {"method": "mdav", "attributes": way, "weights": weights}
    return job(roles=roles, partition=how, **sections)


def weight(name: str, by: float = 2.0) -> dict[str, Any]:
    return {"attributes": {name: {"weight": by}}}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    "wrong",
    [
        asked(["age"], **weight("age")),
        asked(QUASI, [["income", "place"], ["age"]], privacy=BLOCKS, **weight("age")),
        asked(QUASI, "one by one", privacy=BLOCKS, **weight("age", 0.5)),
    ],
)
def test_a_weight_of_what_is_grouped_by_itself(wrong: Any) -> None:
    with pytest.raises(JobError) as refusal:
        aggopt.mask(FRAME, wrong)
    assert refusal.value.problem == (
        "[attributes.age] weight is of distances beside those of other attributes, and "
        "'age' is grouped by itself."
    )
    assert refusal.value.fix == "group several attributes together, or leave it out."


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("quasi", "way", "seen"),
    [
        (["place"], "together", "1 category of the job is grouped each by itself"),
        (
            ["place", "work"],
            "one by one",
            "2 categories of the job are grouped each by itself",
        ),
    ],
)
def test_weights_of_categories_each_by_itself(
    quasi: list[str], way: str, seen: str
) -> None:
    frame = FRAME.assign(work=["x", "y"] * 20)
    wrong = asked(quasi, way, privacy=BLOCKS, weights="range")
    if "work" not in quasi:
        frame = frame.drop(columns="work")
    with pytest.raises(JobError) as refusal:
        aggopt.mask(frame, wrong)
    assert refusal.value.problem == (
        f'[partition] weights = "range" is of attributes beside each other, and {seen}.'
    )
    assert refusal.value.fix == "group several attributes together, or leave it out."


@pytest.mark.parametrize(
    "right",
    [
        asked(["age"], **weight("age", 1.0)),
        asked(QUASI, **weight("age")),
        asked(QUASI, [["age", "place"], ["income"]], privacy=BLOCKS, **weight("age")),
        asked(["age"], weights="range"),
        asked(["place", "age"], "one by one", privacy=BLOCKS, weights="range"),
        asked(QUASI, [["age", "place"], ["income"]], privacy=BLOCKS, weights="range"),
        asked(["place"]),
    ],
)
def test_weights_that_act(right: Any) -> None:
    release = aggopt.mask(FRAME, right)
    for block in release.blocks:
        names = [right.roles.quasi_identifier[j] for j in block.columns]
        assert smallest(release.table, names) >= 3


# --- settings of the user's code may have any name: none is an argument of the package


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
