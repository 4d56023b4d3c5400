"""Records that are published unchanged, recounted by a join of both files."""

import numpy as np
import pandas as pd
import pytest

import aggopt
from aggopt.pipeline.review.report_data import read_report_data as facts_of_file
from aggopt.pipeline.review.review_release import review_release

KIND = {"sex": {"kind": "nominal"}}
NAMES = ["age", "children", "sex"]


def survey(seed: int) -> pd.DataFrame:
    """Whole numbers of few values, so that many groups agree in part; some missing."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 200))
    frame = pd.DataFrame(
        {
            "person": [f"p{i}" for i in rng.permutation(n)],
            "age": 10.0 * rng.integers(2, 6, n),
            "children": rng.integers(0, 3, n).astype(float),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["north", "south"], n),
        }
    )
    if seed % 2:
        frame.loc[rng.random(n) < 0.03, "children"] = np.nan
    return frame


def job(seed: int) -> aggopt.Job:
    return aggopt.Job(
        **{
            "roles": {
                "quasi-identifier": NAMES,
                "identifier": ["person"],
                **({"stratum": ["region"]} if seed % 3 == 0 else {"other": ["region"]}),
            },
            "attributes": KIND,
            "missing": {"policy": "patterns" if seed % 2 else "refuse"},
            "partition": {"method": "mdav"},
            "privacy": {"k": 3 + seed % 3},
            "output": {"digits": "full"},
        }
    )


def unchanged_by_join(original, masked, key, strata) -> tuple[int, int]:
    """Return the records with all their own values, and those of identical groups.

    Groups are records that are published alike, in the same stratum.
    """
    key = key.assign(record=range(len(key)))
    both = (
        original[[*NAMES, *strata]]
        .join(key)
        .merge(
            masked[NAMES],
            left_on="released_record",
            right_index=True,
            suffixes=("", " released"),
        )
    )
    some = both[NAMES].notna().any(axis=1)
    alike = [
        both[name].isna() | (both[name] == both[f"{name} released"]) for name in NAMES
    ]
    published = [*(f"{name} released" for name in NAMES), *strata]
    groups = both.groupby(published, dropna=False)[NAMES]
    same = (groups.transform("nunique") == 1) | both[NAMES].isna()
    return int((np.logical_and.reduce(alike) & some).sum()), int(
        (same.all(axis=1) & some).sum()
    )


@pytest.mark.parametrize("seed", range(20))
def test_records_published_unchanged_equal_a_recount_by_a_join(seed, tmp_path):
    source, asked, written = survey(seed), job(seed), tmp_path / "masked.csv"
    source.to_csv(tmp_path / "people.csv", index=False)
    release = aggopt.mask(tmp_path / "people.csv", asked)
    files = release.write(written)
    recount = unchanged_by_join(
        source,
        pd.read_csv(written),
        pd.read_csv(files.private),
        asked.roles.stratum,
    )
    in_memory = release.audit.unchanged
    assert (in_memory.records, in_memory.identical) == recount
    of_files = review_release(tmp_path / "people.csv", written, asked).audit
    assert of_files.unchanged == in_memory
    assert facts_of_file(written).unchanged == recount[0]
    said = f"{recount[0]} of {len(source)} records "
    assert any(risk.startswith(said) for risk in of_files.seal.risks)


def test_the_tables_have_records_that_differ_from_their_group_and_are_unchanged():
    found = [aggopt.mask(survey(seed), job(seed)).audit.unchanged for seed in range(20)]
    assert sum(each.records > each.identical for each in found) >= 10
