"""Categories that few originals have: counted, avoided, or refused where they are most.

The counts are done again here from the two tables alone.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt import Job
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.pipeline.review.report_data import read_report_data
from aggopt.release.report.release_report import render_report

K = 4
FREQUENCIES = {"method": "frequencies"}
OCCURRING = {"method": "plurality", "occurring": True}


def persons(n: int = 120, rare: int = 12) -> pd.DataFrame:
    """Persons with a town that is frequent, but of some a village of three."""
    rng = np.random.default_rng(3)
    towns = rng.choice([*"abcd"], n).astype(object)
    towns[:rare] = [f"village {i // 3}" for i in range(rare)]
    return pd.DataFrame({"age": rng.integers(20, 80, n), "town": towns})


def job(k: int = K, **sections: Any) -> Job:
    roles = {"quasi-identifier": ["age", "town"]}
    plain = {"roles": roles, "privacy": {"k": k}, "partition": {"method": "mdav"}}
    return Job(**{**plain, **sections})


def own(**how: Any) -> dict[str, Any]:
    return {"attributes": {"town": how}}


def spread() -> pd.DataFrame:
    """Persons of whom groups of two share a rare town, which they then publish."""
    frame = persons(rare=0)
    frame["age"] = np.arange(len(frame)) // 4 * 1000
    frame.loc[:2, "town"] = "mine"  # three of the first four
    frame.loc[4:6, "town"] = ["x", "x", "y"]
    frame.loc[7, "town"] = "y"
    return frame


def recounted(frame: pd.DataFrame, masked: pd.DataFrame) -> tuple[int, int]:
    """Return how many categories of fewer than k originals, and records of these."""
    had = frame["town"].value_counts()
    published = masked["town"].value_counts()
    rare = [name for name in published.index if had.get(name, 0) < K]
    return len(rare), int(published[rare].sum())


def test_rare_published_categories_are_counted() -> None:
    frame = spread()
    release = aggopt.mask(frame, job())
    categories, records = recounted(frame, release.table)
    assert categories == 2
    assert records == 8
    (found,) = release.audit.rare.values()
    assert (found.categories, found.records) == (categories, records)
    (said,) = [note for note in release.notes if "published categories" in note]
    assert said.startswith("'town': 2 published categories of 8 records")
    assert not any(value in str(release.notes) for value in ("mine", "'x'", "'y'"))
    assert release.manifest()["audit"]["rare"] == {
        "town": {"categories": 2, "records": 8}
    }


def test_a_report_of_the_files_says_which_are_rare(tmp_path: Path) -> None:
    spread().to_csv(tmp_path / "people.csv", index=False)
    release = aggopt.mask(tmp_path / "people.csv", job())
    release.write(tmp_path / "masked.csv")
    facts = read_report_data(tmp_path / "masked.csv")
    assert facts.rare == {"town": 2}
    assert f"published categories of fewer than k = {K} originals" in render_report(
        facts
    )


def test_rare_categories_are_avoided() -> None:
    frame = spread()
    release = aggopt.mask(frame, job(**own(rare="avoid")))
    assert recounted(frame, release.table) == (0, 0)
    assert release.audit.rare == {}
    assert set(release.table["town"]) <= set("abcd")


def test_of_a_tree_the_parent_is_published() -> None:
    frame = spread()
    tree = {"north": ["a", "b", "mine"], "south": ["c", "d", "x", "y"]}
    how = {"tree": tree, "publish": "node"}
    plain = aggopt.mask(frame, job(**own(**how)))
    assert set(plain.table["town"][:4]) == {"mine"}
    release = aggopt.mask(frame, job(**own(**how, rare="avoid")))
    assert set(release.table["town"][:4]) == {"north"}
    assert release.audit.rare == {}


def test_a_node_of_few_originals_is_rare_too() -> None:
    frame = spread()
    tree = {"north": ["mine"], "south": ["a", "b", "c", "d", "x", "y"]}
    release = aggopt.mask(frame, job(**own(tree=tree, publish="node", rare="avoid")))
    assert "mine" not in set(release.table["town"])
    assert "north" not in set(release.table["town"])


def test_units_are_counted_where_k_counts_them(tmp_path: Path) -> None:
    frame = persons(rare=0)
    frame.loc[:4, "town"] = "mine"  # five records of one household
    frame["home"] = np.arange(len(frame)) // 5
    roles = {"quasi-identifier": ["age", "town"], "unit": ["home"]}
    with_units = job(k=3, roles=roles, **own(rare="avoid"))
    release = aggopt.mask(frame, with_units)
    assert "mine" not in set(release.table["town"])
    release = aggopt.mask(frame, job(k=3, roles=roles, **own(rare="publish")))
    (note,) = [note for note in release.notes if "published categor" in note]
    assert "that of fewer than k = 3 units; " in note
    release.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "published categories of fewer than k = 3 units" in page


def test_most_rare_is_refused_unless_the_job_says_so() -> None:
    frame = persons(rare=70)
    with refused(TableError, "70", "120") as error:
        aggopt.mask(frame, job())
    assert "village" not in str(error.value)
    for rare in ("publish", "avoid"):
        release = aggopt.mask(frame, job(**own(rare=rare)))
        assert len(release.table) == 120
    assert aggopt.mask(persons(rare=60), job()).audit.holds


def test_all_rare_cannot_be_avoided() -> None:
    frame = persons(rare=120)
    with refused(InfeasibleInputError, "k = 4"):
        aggopt.mask(frame, job(**own(rare="avoid")))


@pytest.mark.parametrize(
    "sections",
    [
        {"attributes": {"age": {"rare": "avoid"}}},
        own(rare="avoid") | {"aggregation": {"categories": FREQUENCIES}},
        own(rare="avoid") | {"aggregation": {"categories": OCCURRING}},
    ],
)
def test_what_cannot_be_done_is_refused(sections: dict[str, Any]) -> None:
    with refused(JobError):
        aggopt.mask(persons(), job(**sections))


def test_plurality_avoids_what_it_is_told() -> None:
    made = aggopt.aggregate.plurality([*"aabbbc"], [0, 0, 0, 1, 1, 1], avoid="a")
    assert made.values.tolist() == [*"bbb", *"bbb"]
    with refused(JobError):
        aggopt.aggregate.plurality([*"abab"], [0, 0, 1, 1], avoid=[*"ab"])


def test_a_report_counts_them_and_names_none(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    release = aggopt.mask(spread(), job())
    release.report(page)
    text = page.read_text("utf-8")
    assert "published categories of fewer than k = 4 originals" in text
    avoiding = aggopt.mask(spread(), job(**own(rare="avoid")))
    avoiding.report(page, overwrite=True)
    assert "published categories of fewer than" not in page.read_text("utf-8")
