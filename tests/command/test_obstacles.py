"""The law of `aggopt check`: what mask refuses before any work, all of it at once."""

from collections.abc import Callable
from copy import deepcopy
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import tomlkit

import aggopt
from aggopt.data.readers.read import read_as_text
from aggopt.errors import AggoptError
from aggopt.inspection.collect_errors import find_obstacles

Sections = dict[str, Any]
ORDER, TREE = ["low", "middle", "high"], {"lung": ["flu"], "heart": ["attack"]}


def persons(n: int = 40) -> pd.DataFrame:
    """Persons whose columns are of all types."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "name": [f"Person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "income": rng.gamma(2.0, 1e4, n),
            "town": [*"abcd"] * (n // 4),
            "odd": ["rare"] * 2 + ["usual"] * (n - 2),
            "school": rng.choice(ORDER, n),
            "ill": rng.choice(["flu", "attack"], n),
            "born": pd.date_range("1950-01-01", periods=n).astype(str),
            "salary": rng.gamma(2.0, 1e4, n),
            "far": rng.uniform(0, 0.1, n),
        }
    )


def sections() -> Sections:
    """Return a job that masks them."""
    quasi = ["age", "income", "town", "odd", "school", "ill", "born"]
    return {
        "roles": {
            "identifier": ["name", "far"],
            "quasi-identifier": quasi,
            "confidential": ["salary"],
            "other": [],
            "wish": [],
        },
        "attributes": {
            "school": {"order": ORDER},
            "ill": {"tree": TREE},
            "born": {"kind": "date"},
        },
        "privacy": {"k": 5},
        "partition": {"method": "mdav"},
        "aggregation": {"method": "mean", "categories": {"method": "plurality"}},
    }


class Single(NamedTuple):
    """One thing that is wrong: of what, what it does, what is said of it."""

    of: str
    spoils: Callable[[pd.DataFrame, Sections], Any]
    says: str


def put(name: str, rows: Any, value: Any) -> Callable[[pd.DataFrame, Sections], Any]:
    def spoils(frame: pd.DataFrame, _: Sections) -> None:
        frame[name] = frame[name].astype(object)
        frame.loc[rows, name] = value

    return spoils


def say(section: str, **keys: Any) -> Callable[[pd.DataFrame, Sections], Any]:
    return lambda _, job: job[section].update(keys)


def named(frame: pd.DataFrame, job: Sections) -> None:
    frame["town"] = frame["name"]


def categories(**keys: Any) -> Callable[[pd.DataFrame, Sections], Any]:
    return lambda _, job: job["aggregation"].update(categories=keys)


def unread(_: pd.DataFrame, job: Sections) -> None:
    job["roles"]["identifier"].remove("far")
    job["roles"]["wish"] = ["far"]


def weighed(_: pd.DataFrame, job: Sections) -> None:
    job["attributes"]["town"] = {"weight": 2.0}
    job["privacy"]["scope"] = "blocks"
    job["partition"]["attributes"] = "one by one"


FREQUENCIES, P3M = {"method": "frequencies"}, {"method": "p3m"}
SINGLES = {
    "a hole among numbers": Single("age", put("age", 3, None), "'age': 1 missing"),
    "a hole among names": Single("town", put("town", 3, None), "1 value is missing"),
    "a hole among dates": Single("born", put("born", 3, None), "'born': 1 missing"),
    "infinity": Single("income", put("income", 3, np.inf), "'income': 1 infinite"),
    "few words among numbers": Single("age", put("age", [3, 4], "x"), "('age': 2)"),
    "no level": Single("school", put("school", 3, "none"), "is not in the order"),
    "no leaf": Single("ill", put("ill", 3, "none"), "is not in the tree"),
    "no date": Single("born", put("born", 3, "2021-02-30"), "does not spell dates"),
    "names of records": Single("town", named, "as of an identifier"),
    "k": Single("k", say("privacy", k=50), "k = 50, but there are only 40 records"),
    "no role": Single(
        "extra", lambda f, _: f.insert(0, "extra", 1), "No role is declared for 'extra'"
    ),
    "no column": Single(
        "other", say("roles", other=["gone"]), "The roles name 'gone', which"
    ),
    "blocks": Single(
        "partition", say("partition", attributes="one by one"), "in 7 blocks, each"
    ),
    "a weight": Single("partition", weighed, "'town' is grouped by itself"),
    "a slack": Single(
        "categories", categories(**FREQUENCIES, slack=1), "within slack = 1 of as often"
    ),
    "a table beside": Single(
        "categories", categories(**FREQUENCIES, **{"with": ["age"]}), "which is masked"
    ),
    "a distance of levels": Single(
        "categories", categories(method="wish", delta=2.0), "delta is out of reach"
    ),
    "l without a repair": Single("l", say("privacy", l=2), "does not guarantee l"),
    "l": Single(
        "l", say("privacy", l=60, repair="merge"), "all 40 records together have 40"
    ),
    "a distance": Single(
        "aggregation", say("aggregation", **P3M, delta=30.0), "out of reach in 40 of 40"
    ),
    "an option": Single(
        "aggregation",
        say("aggregation", **P3M, solver="uno", options={"log_level": 3}),
        "log_level",
    ),
    "an unread wish": Single("wish", unread, "'far' has the role wish"),
}
APART = {  # pairs of which one undoes the other
    frozenset({"k", "a distance"}),
    frozenset({"k", "a slack"}),
    frozenset({"a weight", "l"}),
    frozenset({"a weight", "l without a repair"}),
}
PAIRS = [
    (one, other)
    for one, other in combinations(SINGLES, 2)
    if SINGLES[one].of != SINGLES[other].of and frozenset({one, other}) not in APART
]


def found(folder: Path, *names: str) -> list[str]:
    """Return the problems that check lists where these things are wrong."""
    frame, job = persons(), deepcopy(sections())
    for name in names:
        SINGLES[name].spoils(frame, job)
    frame.to_csv(folder / "in.csv", index=False)
    (folder / "job.toml").write_text(tomlkit.dumps(job))
    path, asked = folder / "in.csv", aggopt.Job.read(folder / "job.toml")
    table = read_as_text(path, asked.input)
    return [each.problem for each in find_obstacles(path, table, asked)]


def test_nothing_is_wrong_at_first(tmp_path):
    assert found(tmp_path) == []


@pytest.mark.parametrize("name", SINGLES)
def test_what_mask_refuses_is_the_one_obstacle(tmp_path, name):
    (problem,) = found(tmp_path, name)
    assert SINGLES[name].says in problem
    with pytest.raises(AggoptError) as error:
        aggopt.mask(tmp_path / "in.csv", tmp_path / "job.toml")
    assert error.value.problem == problem


@pytest.mark.parametrize("pair", PAIRS[::7], ids=" and ".join)
def test_two_obstacles_are_both_said_and_nothing_else(tmp_path, pair):
    problems = found(tmp_path, *pair)
    for name in pair:
        assert any(SINGLES[name].says in problem for problem in problems)
    assert len(problems) == 2
