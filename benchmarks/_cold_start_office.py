"""A table of a statistical office, and jobs that use what offices use."""

from typing import Any

import numpy as np
import pandas as pd

RECORDS = 400  # of a small survey: what a first user tries

PEOPLE = ["age", "income", "rent"]
REGIONS = ["north", "east", "south", "west"]


def office_table() -> pd.DataFrame:
    """Return persons in households with numbers, categories, weights and gaps."""
    rng = np.random.default_rng(0)
    household = np.sort(rng.integers(0, RECORDS // 2, RECORDS))
    income = np.round(rng.lognormal(10, 0.6, RECORDS))
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, RECORDS).astype(float),
            "income": income,
            "rent": np.round(0.3 * income * rng.uniform(0.5, 1.5, RECORDS)),
            "sex": rng.choice(["f", "m"], RECORDS),
            "region": rng.choice(REGIONS, RECORDS),
            "school": rng.choice(["low", "middle", "high"], RECORDS),
            "household": household,
            "weight": np.round(rng.uniform(1, 20, RECORDS), 1),
        }
    )
    frame["debt"] = frame["rent"].where(rng.random(RECORDS) > 0.1)
    return frame


def office_jobs() -> dict[str, dict[str, Any]]:
    """Return jobs by what they use; columns without a role are left out."""
    privacy = {"k": 5}
    bounds = {name: {"lower": 0} for name in PEOPLE}
    covariance = {"method": "mean", "keep": "covariance"}
    categories = {"method": "frequencies", "slack": 10}  # a few records
    return {
        "categories": {
            "roles": {"quasi-identifier": ["age", "income", "sex", "region", "school"]},
            "privacy": privacy,
            "attributes": {"school": {"order": ["low", "middle", "high"]}},
            "aggregation": {"method": "mean", "categories": categories},
        },
        "missing values": {
            "roles": {"quasi-identifier": ["age", "income", "debt"]},
            "privacy": privacy,
            "missing": {"policy": "patterns"},
        },
        "weights": {
            "roles": {"quasi-identifier": PEOPLE, "weight": "weight"},
            "privacy": privacy,
            "weights": {"published": "drop", "dominance": 0.6},
        },
        "units with weights": {
            "roles": {
                "quasi-identifier": PEOPLE,
                "unit": ["household"],
                "weight": "weight",
            },
            "privacy": privacy,
            "weights": {"published": "drop"},
        },
        "covariance with bounds": {
            "roles": {"quasi-identifier": PEOPLE},
            "privacy": privacy,
            "attributes": bounds,
            "aggregation": covariance,
        },
        "categories in blocks": {
            "roles": {"quasi-identifier": ["age", "income", "sex", "region"]},
            "privacy": {**privacy, "scope": "blocks"},
            "partition": {"attributes": [["age", "sex"], ["income", "region"]]},
        },
        "categories in strata": {
            "roles": {
                "quasi-identifier": ["age", "income", "region"],
                "stratum": ["sex"],
            },
            "privacy": privacy,
        },
    }


def mask_office_table(name: str) -> None:
    """Mask the table by one of the jobs."""
    import aggopt

    job = office_jobs()[name]
    columns = [
        column
        for role in job["roles"].values()
        for column in ([role] if isinstance(role, str) else role)
    ]
    aggopt.mask(office_table()[columns], aggopt.Job(**job))
