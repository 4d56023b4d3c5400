"""Tables of which some quasi-identifiers are missing: published as missing."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from drawn import examples
from holed import KEEP, QUASI, asked, of_numbers, persons, rarest, rows
from hypothesis import given
from hypothesis import strategies as st

import aggopt
from aggopt.core.standardise import Scale


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(persons(), asked())


def test_each_combination_with_its_holes_stands_in_k_records(release, tmp_path):
    assert rarest(release.table) >= 4
    written = release.write(tmp_path / "masked.csv").table
    text = pd.read_csv(written, dtype=str, keep_default_na=False)
    assert min(Counter(map(tuple, text[QUASI].values)).values()) >= 4
    assert release.audit.smallest == rarest(release.table)


def test_holes_stay_holes_and_what_is_lost_beside_is_counted(release):
    before, after = persons()[QUASI].isna(), release.table[QUASI].isna()
    assert not (before & ~after).to_numpy().any()
    missing = release.audit.missing
    assert missing.cells == after.to_numpy().sum()
    assert missing.suppressed == (after & ~before).to_numpy().sum() > 0
    assert missing.patterns == len(set(map(tuple, after.values)) - {(False,) * 4})
    assert (missing.imputed, missing.compatible) == (0, None)
    assert missing.least >= 4
    stated = release.manifest()["audit"]["missing"]
    assert stated["suppressed"] == missing.suppressed
    assert f"{missing.suppressed} values of the original are suppressed" in str(
        release.notes
    )
    json.dumps(release.manifest(), allow_nan=False)


def test_a_value_is_the_mean_of_the_group_and_certified_attribute_by_attribute(release):
    frame, labels = persons(), release.labels
    for name in ("age", "income"):
        kept = release.table[name].notna().to_numpy()
        x = frame[name].to_numpy()[kept]
        means = pd.Series(x).groupby(labels[kept]).transform("mean").to_numpy()
        np.testing.assert_allclose(
            release.table[name].to_numpy()[kept], means, rtol=1e-4
        )
        lost = ((x - means) ** 2).sum() / x.var()
        assert release.certificates[name].objective == pytest.approx(lost, rel=1e-6)
        assert release.certificates[name].bound == release.certificates[name].objective


def test_groups_lie_within_patterns_and_their_bounds_add_up(release):
    labels, holes = release.labels, release.table[QUASI].isna().to_numpy()
    for group in range(labels.max() + 1):
        assert len(np.unique(holes[labels == group], axis=0)) == 1
    (block,) = release.blocks
    parts = block.partition.certificates
    assert len(parts) == len(np.unique(holes, axis=0))
    assert block.certificate.bound == pytest.approx(sum(p.bound for p in parts))
    assert 0 < block.certificate.bound <= block.certificate.objective


def test_distances_are_standardised_once_for_the_whole_table():
    frame = persons(80, 0.0)[["age", "income"]]
    frame.loc[:29, "income"] = np.nan
    release = aggopt.mask(frame, of_numbers(["age", "income"], 4))
    Z = Scale.of(frame.to_numpy()).standardise(frame.to_numpy())
    lost = 0.0
    for group in range(release.labels.max() + 1):
        own = Z[release.labels == group]
        own = own[:, ~np.isnan(own[0])]
        lost += ((own - own.mean(axis=0)) ** 2).sum()
    assert release.blocks[0].certificate.objective == pytest.approx(lost)


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 5]), st.sampled_from([0.05, 0.3]))
@examples(5)
def test_k_holds_strictly_whatever_is_missing(seed, k, share):
    frame = persons(40, share, seed)
    found = aggopt.mask(frame, asked(k))
    assert rarest(found.table) >= k
    order = np.random.default_rng(seed).permutation(40)
    again = aggopt.mask(frame.iloc[order].reset_index(drop=True), asked(k))
    assert rarest(again.table) >= k
    turned = aggopt.mask(frame, asked(k, QUASI[::-1]))
    assert rarest(turned.table) >= k


def test_the_measures_are_of_the_records_of_which_nothing_is_missing(release):
    before, after = persons()[QUASI], release.table[QUASI]
    both = (before.notna() & after.notna()).all(axis=1)
    expected = aggopt.measure.assess(before[both], after[both])
    assert release.measures.il == pytest.approx(expected.il)
    assert release.measures.dld == pytest.approx(expected.dld)
    assert release.measures.reidentifications == release.audit.groups
    assert f"on the {both.sum()} of 120 records of which nothing" in str(release.notes)


def test_nothing_is_measured_where_no_record_is_complete():
    frame = pd.DataFrame(
        {"a": [1.0, 2, 3, 4] + [np.nan] * 4, "b": [np.nan] * 4 + [1.0, 2, 3, 4]}
    )
    release = aggopt.mask(frame, of_numbers(["a", "b"], 2))
    assert release.measures is None
    assert release.audit.missing.suppressed == 0


def test_the_figure_called_compatible_is_counted_record_by_record():
    release = aggopt.mask(
        persons(60), asked(missing={**KEEP, "report_compatible": True})
    )
    there = rows(release.table)
    agreeing = [
        sum(
            all(
                a is None or b is None or a == b
                for a, b in zip(one, other, strict=True)
            )
            for other in there
        )
        for one in there
    ]
    assert release.audit.missing.compatible == min(agreeing) >= release.audit.smallest
    assert (
        f"{min(agreeing)} records would share the rarest combination: a figure"
        in str(release.notes)
    )
