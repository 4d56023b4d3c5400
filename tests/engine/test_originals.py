"""What originals say of a folder's release equals a recount by the private key."""

import numpy as np
import pandas as pd
import pytest
from folders import linked, masked, put, read

import aggopt
from aggopt.engine.report_data import read_folder_report

NAMES = ["age", "children", "sex"]
POLICIES = ("refuse", "patterns", "fill")


def survey(n: int, seed: int) -> pd.DataFrame:
    """Whole numbers of few values, so that many groups agree in part; some missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": 10.0 * rng.integers(2, 12, n),
            "children": rng.integers(0, 3, n).astype(float),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["north", "south"], n),
        }
    )
    if seed % 3:
        for name in ("age", "children"):
            frame.loc[rng.random(n) < 0.1, name] = np.nan
    return frame


def asked(seed: int) -> aggopt.Job:
    region = {"stratum": ["region"]} if seed % 2 else {"other": ["region"]}
    return aggopt.Job(
        **{
            "roles": {"quasi-identifier": NAMES, **region},
            "attributes": {"sex": {"kind": "nominal"}},
            "missing": {"policy": POLICIES[seed % 3]},
            "privacy": {"k": 3 + seed % 3},
            "engine": {"name": "local", "block": 100},
            "output": {"digits": "full"},
        }
    )


def same_values(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return which values are equal, up to rounding, of those that are there."""
    near = {name: np.isclose(one[name], other[name]) for name in ("age", "children")}
    return pd.DataFrame({**near, "sex": one["sex"] == other["sex"]})


@pytest.mark.parametrize("seed", range(6))
def test_values_unchanged_or_filled_in_equal_a_recount_by_the_key(seed, tmp_path):
    tables = survey(150, seed), survey(120, seed + 10 if seed % 3 else seed + 12)
    release = masked(put(tmp_path / "in", *tables), asked(seed), tmp_path / "out")
    before, after = linked(tmp_path / "in", release)
    before, after = before[NAMES], after[NAMES]
    gone, near = before.isna(), same_values(before, after)
    groups = before.groupby(read(release.private)["group"].to_numpy())
    alike = (groups.transform("nunique") == 1) & ~gone
    some = ~gone.all(axis=1)
    found = release.audit.unchanged
    assert found.records == ((near | gone).all(axis=1) & some).sum()
    assert found.identical == ((alike | gone).all(axis=1) & some).sum()
    assert found.cells == near.sum().to_dict()
    assert found.identical_cells == (alike & after.notna()).sum().to_dict()
    assert found.moved == (alike & after.notna() & ~near).sum().to_dict()
    assert found.records > 0
    in_each_column = ", ".join(f"{n!r} {c}" for n, c in near.sum().items() if c)
    assert (
        f"Values published unchanged, of {len(before)} in each column: "
        f"{in_each_column}." in release.audit.disclosures
    )
    made = (gone & after.notna()).sum()
    holes = release.audit.missing
    assert (holes.imputed_in if holes else {}) == made[made > 0].to_dict()
    assert bool(made.any()) == (POLICIES[seed % 3] == "fill")
    stated = read_folder_report(release.path)
    assert stated.unchanged == found.records
    assert stated.filled == made[made > 0].to_dict()
    said = f"{found.records} of {len(before)} records "
    assert any(risk.startswith(said) for risk in release.audit.seal.risks)


def test_the_public_page_of_a_folder_tells_what_was_filled_in(tmp_path):
    folder = put(tmp_path / "in", survey(150, 2), survey(120, 5))
    release = masked(folder, asked(2), tmp_path / "out")
    page = release.report(tmp_path / "report.html").read_text("utf-8")
    counts = release.audit.missing.imputed_in
    said = ", ".join(f"{name} {count}" for name, count in counts.items())
    assert f"values were filled in: {said}." in page
    assert any(f"'age' {counts['age']}" in note for note in release.notes)
