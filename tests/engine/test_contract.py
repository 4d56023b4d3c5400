"""The table of folders in docs/input-folders.md, row by row."""

import numpy as np
import pandas as pd
import pytest
from contract_rows import rows_of
from folders import ROLES, job, masked, persons, put

from aggopt.engine.validate import values
from aggopt.errors import AggoptError, PrivacyError

CLOSE = {"t": 0.4, "distance": "equal"}
DIVERSE = {"l": 2, "repair": "merge"}
WITHIN = {"roles": {**ROLES, "stratum": ["note"], "other": []}}
WEIGHED = {"roles": {**ROLES, "weight": ["note"], "other": []}}
TOWNS = {
    "roles": {
        **ROLES,
        "quasi-identifier": ["age", "note"],
        "other": ["height", "income"],
    }
}
PATTERNS = {"policy": "patterns"}
EXACT = {"method": "frequencies", "slack": "exact"}
HEAVY = np.where(np.arange(60) == 7, 1e3, 1.0)


def differing(values):
    """Whether a group has several values."""
    return len(set(values)) > 1


def told(values, whole):
    """Say yes, whatever all records have."""
    return True


def beside(values, **sections):
    """Return 60 persons with values as notes, and a job."""
    return persons(60).assign(note=values), job(**sections)


def holed(values, **sections):
    """Return the same, the heights of the first six missing."""
    table, asked = beside(values, **sections)
    return table.assign(height=table["height"].where(np.arange(60) > 5)), asked


def noted(*first):
    """Return notes: two strata, the first records of another."""
    found = pd.Series(["a", "b"] * 30, dtype=object)
    found.iloc[: len(first)] = first
    return found


CASES = {
    "t, kept by merging": beside("a", privacy={**CLOSE, "repair": "merge"}),
    "t without a repair": beside("a", privacy=CLOSE),
    "l of values that not every block has": (
        persons(60).sort_values("income").assign(ill=["flu"] * 40 + ["none"] * 20),
        job(privacy=DIVERSE, engine={"block": 15}),
    ),
    "l of a value that all have": (persons(60).assign(ill="flu"), job(privacy=DIVERSE)),
    "a privacy model of the user's": beside(
        "a", privacy={"own": differing, "repair": "merge"}
    ),
    "a privacy model with `whole`, of more than 20,000,000 records": beside(
        "a", privacy={"own": told, "repair": "merge"}
    ),
    "a privacy model, a function that no module has": beside(
        "a", privacy={"own": lambda values: True, "repair": "merge"}
    ),
    "levels of confidential text": beside(
        "a", privacy={"l": 2, "repair": "merge", "confidential": {"ill": {"levels": 3}}}
    ),
    "strata": beside(noted(), **WITHIN),
    "strata of fewer than k records": beside(noted("c", "c"), **WITHIN),
    "strata of fewer than k records, left out": beside(
        noted("c", "c"), **WITHIN, strata={"small": "drop"}
    ),
    "strata of fewer than k records, merged": beside(
        noted("c", "c"), **WITHIN, strata={"small": "merge"}
    ),
    "a missing stratum": beside(noted(None), **WITHIN),
    "a variance to be kept in each stratum": beside(
        noted(), **WITHIN, aggregation={"method": "mean", "keep": "variance"}
    ),
    "sampling weights": beside(np.arange(60.0) + 9, **WEIGHED),
    "a weight of 0": beside(np.arange(60.0), **WEIGHED),
    "a weight that is most of all": beside(HEAVY, **WEIGHED),
    "weights that are published unchanged": beside(
        np.ones(60), **WEIGHED, weights={"published": "as is"}
    ),
    "a category among quasi-identifiers": beside(noted(), **TOWNS),
    "a category with more than 1000 levels": (
        persons(2100).assign(note=np.arange(2100).astype(str)),
        job(**TOWNS),
    ),
    "a category of a name for most records": beside(
        [f"note {i}" for i in range(60)], **TOWNS
    ),
    "a missing name": beside(noted(None), **TOWNS),
    "a missing name, filled": beside(noted(None), **TOWNS, missing={"policy": "fill"}),
    "a category, and weights": beside(
        noted(), roles={**TOWNS["roles"], "other": ["height"], "weight": ["income"]}
    ),
    "a category, and weights, with exact frequencies": beside(
        noted(),
        roles={**TOWNS["roles"], "other": ["height"], "weight": ["income"]},
        aggregation={"method": "mean", "categories": EXACT},
    ),
    "missing numbers, moved by P3M": holed(
        "a", missing=PATTERNS, aggregation={"method": "p3m"}
    ),
    "missing numbers, and weights": holed(
        np.arange(60.0) + 9, **WEIGHED, missing=PATTERNS
    ),
    "missing numbers, filled within strata": holed(
        noted(), **WITHIN, missing={"policy": "fill"}
    ),
    "missing numbers, filled within strata, in one stratum almost all": holed(
        np.where(np.arange(60) < 8, "a", "b"), **WITHIN, missing={"policy": "fill"}
    ),
    "missing numbers, their covariance kept": holed(
        "a", missing=PATTERNS, aggregation={"method": "mean", "keep": "covariance"}
    ),
    "a number below its bound": (
        persons(60).assign(age=[-1, *[50] * 59]),
        job(attributes={"age": {"lower": 0}}),
    ),
    **{
        f"a bound, and the {keep} of means": beside(
            "a",
            attributes={"age": {"lower": 0}},
            aggregation={"method": "mean", "keep": keep},
        )
        for keep in ("variance", "covariance")
    },
}


TABLE = rows_of("Folders for an engine")


def test_the_page_and_the_tests_list_the_same_folders():
    assert list(TABLE) == list(CASES)
    assert {outcome for outcome, _ in TABLE.values()} == {"refused", "masked"}


@pytest.mark.parametrize("name", CASES)
def test_a_folder_is_masked_or_refused_as_the_page_says(name, tmp_path, monkeypatch):
    if "20,000,000" in name:
        monkeypatch.setattr(values, "MOST_RECORDS", 59)
    table, asked = CASES[name]
    outcome, says = TABLE[name]
    folder = put(tmp_path / "in", table)
    if outcome == "masked":
        found = masked(folder, asked, tmp_path / "out")
        assert says in "\n".join([*found.notes, str(found.audit)])
        return
    with pytest.raises(AggoptError) as refusal:
        masked(folder, asked, tmp_path / "out")
    assert not isinstance(refusal.value, PrivacyError)
    assert says in str(refusal.value)
    assert refusal.value.fix
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
