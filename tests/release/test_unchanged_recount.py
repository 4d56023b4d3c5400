"""Records that are published unchanged, recounted by a join of both files."""

import numpy as np
import pandas as pd
import pytest

import aggopt
from aggopt.pipeline.review.report_data import read_report_data as facts_of_file
from aggopt.pipeline.review.review_release import assess_release

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


def unchanged_by_join(original, masked, key, strata):
    """Return the records unchanged and of identical groups, and both for each value.

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
    missing, some = both[NAMES].isna(), both[NAMES].notna().any(axis=1)
    released = both[[f"{name} released" for name in NAMES]].set_axis(NAMES, axis=1)
    equal = both[NAMES] == released
    groups = both.groupby(
        [*(f"{name} released" for name in NAMES), *strata], dropna=False
    )[NAMES]
    same = (groups.transform("nunique") == 1) & ~missing
    return (
        int(((equal | missing).all(axis=1) & some).sum()),
        int(((same | missing).all(axis=1) & some).sum()),
        equal.sum().to_dict(),
        (same & released.notna()).sum().to_dict(),
    )


@pytest.mark.parametrize("seed", range(20))
def test_records_published_unchanged_equal_a_recount_by_a_join(seed, tmp_path):
    source, asked, written = survey(seed), job(seed), tmp_path / "masked.csv"
    source.to_csv(tmp_path / "people.csv", index=False)
    release = aggopt.mask(tmp_path / "people.csv", asked)
    files = release.write(written)
    recount = unchanged_by_join(
        source, pd.read_csv(written), pd.read_csv(files.private), asked.roles.stratum
    )
    in_memory = release.audit.unchanged
    records, identical, cells, identical_cells = recount
    assert (in_memory.records, in_memory.identical) == (records, identical)
    assert in_memory.cells == cells
    assert in_memory.identical_cells == identical_cells
    of_files = assess_release(tmp_path / "people.csv", written, asked).audit
    assert of_files.unchanged == in_memory
    assert facts_of_file(written).unchanged == records
    said = f"{records} of {len(source)} records "
    assert any(risk.startswith(said) for risk in of_files.seal.risks)
    listed = ", ".join(f"{name!r} {count}" for name, count in cells.items() if count)
    assert (
        f"Values published unchanged, of {len(source)} in each column: {listed}."
        in of_files.disclosures
    )


def test_the_tables_have_records_that_differ_from_their_group_and_are_unchanged():
    found = [aggopt.mask(survey(seed), job(seed)).audit.unchanged for seed in range(20)]
    assert sum(each.records > each.identical for each in found) >= 10
    assert any(each.cells["age"] > each.identical_cells["age"] for each in found)
    assert any(each.cells["sex"] > each.identical_cells["sex"] for each in found)
