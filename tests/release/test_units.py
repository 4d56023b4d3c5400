"""Units in the place of records: counts, risks, and what is told of whole units."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest

from aggopt.job import Privacy
from aggopt.job.roles import Roles
from aggopt.release.audit.audit import audit_release
from aggopt.release.audit.counts import Count
from aggopt.release.audit.result import make_rare_combination_error
from aggopt.release.audit.risk_limits import check_counted_limits
from aggopt.release.audit.risks import record_risks
from aggopt.release.audit.unprotected_columns import (
    describe_linked_units,
    find_compositions,
    find_linking_columns,
)

LABELS = np.array([0, 0, 0, 1, 1, 2])
UNITS = np.array([0, 0, 1, 1, 2, 0])


def describe(published, units, k) -> list[str]:
    return describe_linked_units(find_compositions(published, units), k)


def test_each_unit_counts_once_in_each_of_its_combinations():
    found = Count.of(["age"], LABELS, 2, UNITS)
    assert (found.combinations, found.rarest, found.rare, found.unique) == (3, 1, 1, 1)
    assert (found.total, found.pairs, found.what) == (3, 5, "unit")
    assert found.average_risk == 3 / 5
    plain = Count.of(["age"], LABELS, 2)
    assert (plain.rarest, plain.total, plain.what) == (1, 6, "record")
    assert plain.average_risk == 3 / 6


@pytest.mark.parametrize("seed", range(5))
def test_a_unit_is_rare_once_however_many_combinations_it_has(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"group": rng.integers(0, 40, 120)})
    table["unit"] = rng.integers(0, 50, 120)
    table = table.sort_values("group", ignore_index=True)
    labels = pd.factorize(table["group"])[0]
    found = Count.of(["age"], labels, 4, table["unit"].to_numpy())
    size = table.groupby("group")["unit"].transform("nunique")
    assert found.total == table["unit"].nunique()
    assert found.rare == table["unit"][size < 4].nunique()
    assert found.unique == table["unit"][size == 1].nunique()
    of_pairs = (1 / size)[~table.duplicated()]
    assert found.average_risk == pytest.approx(of_pairs.mean(), rel=1e-12)
    said = f"{found.unique:,} of {found.total:,} units {'is' * (found.unique == 1)}"
    assert found.rarity(4).startswith(said)


def test_what_is_too_rare_is_said_in_units():
    assert (
        "stands in 1 unit, and k = 2"
        in make_rare_combination_error(
            Count.of(["age"], LABELS, 2, UNITS), 2, "combination"
        ).problem
    )


@pytest.mark.parametrize(
    ("units", "risk"),
    [(None, [1 / 3] * 3 + [1 / 2] * 2 + [1]), (UNITS, [1 / 2] * 5 + [1])],
)
def test_the_risk_of_a_record_is_by_units(units, risk):
    frame = nw.from_native(pd.DataFrame({"age": LABELS}))
    assert record_risks(frame, ["age"], units).tolist() == risk


def test_units_are_compared_by_all_of_their_records():
    published = np.array([0, 1, 1, 0, 0, 1])  # units 0 and 1 have {0, 1}, 2 {0}, 3 {1}
    units = np.array([0, 0, 1, 1, 2, 3])
    assert describe(published, units, 1) == []
    assert describe(published, units, 2) == [
        "Units are not published. If somebody knew which records belong to one unit, "
        "the combinations of its records would make 2 of 4 units unique, and put 2 "
        "into groups smaller than 2. If a published column tells how large a unit is, "
        "make it a stratum."
    ]
    assert "2 of 4 units" in describe(published, units, 3)[0]
    assert "and put 4 into" in describe(published, units, 3)[0]
    assert describe(published[:4], units[:4], 2) == []
    sizes = np.array([0, 0, 0, 0])
    assert "1 of 2 units" not in describe(sizes, np.array([0, 0, 1, 1]), 3)[0]
    assert "2 of 2 units" in describe(sizes, np.array([0, 0, 0, 1]), 2)[0]


def test_an_audit_says_how_many_units_are_unique_and_of_how_many():
    frame = pd.DataFrame({"a": [1, 1, 2, 2, 1, 1, 2, 2], "b": [1, 1, 1, 1, 2, 2, 2, 2]})
    frame.loc[7, "b"] = 1  # so that ("a", "b") = (2, 2) has one unit
    roles = Roles(**{"quasi-identifier": ["a", "b"]})
    units = np.array([0, 1, 2, 3, 0, 1, 2, 3])
    privacy = Privacy(k=2, scope="blocks", average_risk=0.6)
    found = audit_release(frame, roles, privacy, [["a"], ["b"]], units=units)
    assert found.records == 8
    assert (found.whole.unique, found.whole.total, found.whole.pairs) == (1, 4, 7)
    assert "1 of 4 units is unique" in found.seal.heading
    assert "1 of 4 units is unique" in found.warning
    (limit,) = check_counted_limits(privacy, found.whole, None)
    assert limit.risk == 4 / 7
    assert "4 combinations of 7 pairs of a unit and a combination" in str(limit)


def household(seed):
    """Return combinations, units, and columns: of persons, of units, of regions."""
    rng = np.random.default_rng(seed)
    units = np.sort(rng.integers(0, 40, 90))
    of_unit, of_region = rng.integers(0, 60, 40)[units], rng.integers(0, 2, 40)[units]
    columns = {"own": rng.integers(0, 9, 90), "where": of_region, "income": of_unit}
    return rng.integers(0, 3, 90), units, columns


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 4])
def test_a_column_with_one_value_for_each_unit_links_its_records(seed, k):
    published, units, columns = household(seed)
    found = find_linking_columns(find_compositions(published, units), units, columns, k)
    members = pd.DataFrame({"p": published, "u": units}).groupby("u")["p"]
    kinds = members.agg(lambda own: tuple(sorted(own)))
    shared = kinds.map(kinds.value_counts())
    pairs = pd.DataFrame({"u": units, "w": columns["where"], "i": columns["income"]})
    alone = pairs.groupby(["w", "i"])["u"].transform("nunique") == 1
    linked = alone.groupby(units).all() & (members.size() > 1)
    assert (found.linked, found.total) == (linked.sum(), len(kinds))
    assert found.unique == (linked & (shared == 1)).sum()
    assert found.rare == (linked & (shared < k)).sum()
    assert "own" not in found.columns
    assert found.columns[0] == "income"


def test_columns_that_no_unit_is_alone_with_link_nothing():
    published, units, columns = household(0)
    for names in ([], ["own"], ["where"]):
        few = {name: columns[name] for name in names}
        assert (
            find_linking_columns(find_compositions(published, units), units, few, 3)
            is None
        )
    assert find_linking_columns(published, np.arange(90), columns, 3) is None
    assert (
        find_linking_columns(np.zeros(90, int), np.arange(90) // 2, columns, 3) is None
    )


@pytest.mark.parametrize("role", ["confidential", "other"])
def test_the_seal_is_amber_if_a_column_links_the_records_of_rare_units(role):
    frame = pd.DataFrame(
        {"sex": [1, 1, 1, 2, 2, 2, 1, 2], "pay": [7, 7, 8, 8, 9, 9, 3, 3]}
    )
    units = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    roles = Roles(**{"quasi-identifier": ["sex"], role: ["pay"]})
    found = audit_release(frame, roles, Privacy(k=2), units=units)
    link = "'pay' shows which records belong to one unit, and 2 of 4 units are unique"
    assert found.holds
    assert found.seal.state == "amber"
    assert link in " ".join([found.seal.heading, *found.seal.risks])
    assert link in found.verdict
    varied = frame.assign(pay=range(8))
    free = audit_release(varied, roles, Privacy(k=2), units=units)
    assert free.linking is None
    assert (free.seal.state == "green") is (role == "confidential")
