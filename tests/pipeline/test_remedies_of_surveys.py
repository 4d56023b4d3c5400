"""A weighted survey of households: each remedy of a refusal works, once it is followed.

A refusal's `fix` has one remedy or several, with "; or " between them.  Here stands, in
the same order, what a reader makes of each.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import aggopt
from aggopt import Job
from aggopt.errors import AggoptError
from aggopt.inspection.collect_errors import find_obstacles

OF_HOUSEHOLDS = ["size", "region", "income", "rent"]
OF_PERSONS = ["age", "sex"]
BLOCKS = {"k": 3, "scope": "blocks"}
UNITS = {"attributes": OF_HOUSEHOLDS}

Sections = dict[str, Any]


def survey(households: int = 60, seed: int = 7) -> pd.DataFrame:
    """Persons of households with one weight, as surveys have them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, households)
    of = np.repeat(np.arange(households), sizes)
    return pd.DataFrame(
        {
            "household_id": 10_001 + of,
            "weight": rng.uniform(80, 240, households).round(2)[of],
            "size": sizes[of],
            "region": rng.choice(["north", "south"], households)[of],
            "income": rng.lognormal(10, 0.5, households).astype(int)[of],
            "rent": rng.lognormal(6, 0.4, households).astype(int)[of],
            "age": rng.integers(1, 90, len(of)),
            "sex": rng.choice(["f", "m"], len(of)),
            "ill": rng.choice(["yes", "no"], len(of)),
        }
    )


def job(quasi: list[str], *, weight: str = "weight", **sections: Any) -> Job:
    """Return a job that masks these columns; the weights have the role `weight`."""
    own = {"household_id", "weight", "ill", *quasi}
    roles: dict[str, list[str]] = {
        "quasi-identifier": quasi,
        "confidential": ["ill"],
        "drop": [name for name in survey(1) if name not in own],
    }
    unit = sections.pop("unit", "unit")
    stratum = sections.pop("stratum", [])
    for role, names in ((weight, ["weight"]), (unit, ["household_id"])):
        roles[role] = [*roles.get(role, []), *names]
    roles["stratum"] = stratum
    roles["drop"] = [name for name in roles["drop"] if name not in stratum]
    plain = {"privacy": {"k": 3}, "partition": {"method": "mdav"}}
    return Job(**{"roles": roles, **plain, **sections})


BOTH = [*OF_HOUSEHOLDS, *OF_PERSONS]
DIVERSE = {"k": 3, "l": 2, "repair": "merge"}
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "attributes of both, k of the combination": (
        {"quasi": BOTH, "weight": "drop", "units": UNITS},
        [
            {"quasi": BOTH, "weight": "drop", "units": UNITS, "privacy": BLOCKS},
            {"quasi": OF_HOUSEHOLDS, "weight": "drop", "units": UNITS},
            {"quasi": BOTH},
        ],
    ),
    "attributes of both, and weights": (
        {"quasi": BOTH, "units": UNITS, "privacy": BLOCKS},
        [
            {"quasi": BOTH, "weight": "drop", "units": UNITS, "privacy": BLOCKS},
            {"quasi": BOTH, "privacy": BLOCKS},
        ],
    ),
    "attributes of units, and weights": (
        {"quasi": OF_HOUSEHOLDS, "units": UNITS, "weights": {"dominance": 0.7}},
        [
            {"quasi": OF_HOUSEHOLDS, "weight": "drop", "units": UNITS},
            {"quasi": OF_HOUSEHOLDS, "weights": {"dominance": 0.7}},
        ],
    ),
    "attributes of units, and l": (
        {"quasi": OF_HOUSEHOLDS, "weight": "drop", "units": UNITS, "privacy": DIVERSE},
        [
            {"quasi": OF_HOUSEHOLDS, "weight": "drop", "units": UNITS},
            {"quasi": OF_HOUSEHOLDS, "weight": "drop", "privacy": DIVERSE},
        ],
    ),
    "attributes of units, and weights and l": (
        {"quasi": OF_HOUSEHOLDS, "units": UNITS, "privacy": DIVERSE},
        [
            {"quasi": OF_HOUSEHOLDS, "weight": "drop", "units": UNITS},
            {"quasi": OF_HOUSEHOLDS, "privacy": DIVERSE},
        ],
    ),
    "an attribute of persons said to be of units": (
        {
            "quasi": [*OF_HOUSEHOLDS, "age"],
            "weight": "drop",
            "units": {"attributes": [*OF_HOUSEHOLDS, "age"]},
        },
        [
            {"quasi": OF_HOUSEHOLDS, "weight": "drop", "units": UNITS},
            {"quasi": [*OF_HOUSEHOLDS, "age"], "weight": "drop"},
        ],
    ),
    "households that nobody named": (
        {"quasi": OF_HOUSEHOLDS, "weight": "drop", "unit": "identifier"},
        [
            {"quasi": OF_HOUSEHOLDS, "weight": "drop", "units": UNITS},
            {"quasi": OF_HOUSEHOLDS, "weight": "drop", "unit": "drop"},
        ],
    ),
    "weights, and blocks": (
        {
            "quasi": OF_HOUSEHOLDS,
            "unit": "drop",
            "privacy": BLOCKS,
            "partition": {"method": "mdav", "attributes": "one by one"},
        },
        [
            {
                "quasi": OF_HOUSEHOLDS,
                "unit": "drop",
                "privacy": BLOCKS,
                "partition": {"method": "mdav", "attributes": "one by one"},
                "weights": {"published": "drop"},
            },
            {
                "quasi": OF_HOUSEHOLDS,
                "unit": "drop",
                "weight": "drop",
                "privacy": BLOCKS,
                "partition": {"method": "mdav", "attributes": "one by one"},
            },
        ],
    ),
    "weights that tell": (
        {"quasi": BOTH, "unit": "drop", "weights": {"published": "as is"}},
        [{"quasi": BOTH, "unit": "drop", "weights": {"published": "drop"}}],
    ),
    "what is said of weights, and there are none": (
        {"quasi": BOTH, "weight": "drop", "weights": {"dominance": 0.7}},
        [
            {"quasi": BOTH, "weights": {"dominance": 0.7}},
            {"quasi": BOTH, "weight": "drop"},
        ],
    ),
    "what is said of units, and there are none": (
        {"quasi": OF_HOUSEHOLDS, "weight": "drop", "unit": "drop", "units": UNITS},
        [
            {"quasi": OF_HOUSEHOLDS, "weight": "drop", "units": UNITS},
            {"quasi": OF_HOUSEHOLDS, "weight": "drop", "unit": "drop"},
        ],
    ),
    "pseudonyms of units whose records are masked": (
        {"quasi": BOTH, "units": {"published": "pseudonym"}},
        [
            {
                "quasi": ["region", "income", "rent"],
                "weight": "drop",
                "stratum": ["size"],
                "units": {
                    "attributes": ["region", "income", "rent"],
                    "published": "pseudonym",
                },
            },
            {"quasi": BOTH, "units": {"published": "drop"}},
        ],
    ),
    "strata to be merged, and units": (
        {
            "quasi": ["income", "rent", *OF_PERSONS],
            "stratum": ["region"],
            "strata": {"small": "merge"},
        },
        [{"quasi": ["income", "rent", *OF_PERSONS], "stratum": ["region"]}],
    ),
    "blocks of attributes of records, and units": (
        {
            "quasi": BOTH,
            "weights": {"published": "drop"},
            "privacy": BLOCKS,
            "partition": {"method": "mdav", "attributes": "one by one"},
        },
        [{"quasi": BOTH, "weights": {"published": "drop"}, "privacy": BLOCKS}],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_remedy_works(case: str, tmp_path: Path) -> None:
    asked, mended = CASES[case]
    frame, path = survey(), tmp_path / "survey.parquet"
    frame.to_parquet(path)
    with pytest.raises(AggoptError) as error:
        aggopt.mask(frame, job(**asked))
    assert len(error.value.fix.split("; or ")) == len(mended)
    for sections in mended:
        made = job(**sections)
        assert find_obstacles(path, pa.Table.from_pandas(frame), made) == ()
        assert aggopt.mask(frame, made).audit.holds


def test_check_names_one_remedy_where_units_and_weights_are_masked(
    tmp_path: Path,
) -> None:
    frame, path = survey(), tmp_path / "survey.parquet"
    frame.to_parquet(path)
    made = job(BOTH, units=UNITS, privacy=BLOCKS)
    (only,) = find_obstacles(path, pa.Table.from_pandas(frame), made)
    assert "list 'weight' as drop, and leave [weights] out" in only.fix
