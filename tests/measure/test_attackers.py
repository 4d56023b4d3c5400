"""What an attacker reaches who knows published strata, weights and units."""

import numpy as np
import pandas as pd
import pytest
from reading import Reader
from refusals import refused

import aggopt
from aggopt import measure
from aggopt.errors import AggoptError, TableError
from aggopt.pipeline.review.review_release import assess_release
from aggopt.release.report.page import format_share as percent
from aggopt.release.report.page import round_share
from aggopt.release.report.release_report import collect_facts, render_report
from tests.measure.recounted import attacks, attribution

NAMES = ["a", "b", "c"]
SHOWN = {"Nearest record": "dld", "One-to-one assignment": "linkage"}  # in a report
WAYS = ("strata", "weights", "both", "both, as they are")


def drawn(seed: int) -> tuple[pd.DataFrame, dict, dict]:
    """Return a table, and the roles and sections of its job."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 130))
    frame = pd.DataFrame(rng.normal(size=(n, 3)).round(3), columns=NAMES)
    way = WAYS[seed % len(WAYS)]
    roles, sections = {"quasi-identifier": NAMES}, {}
    if way != "weights":
        frame["region"] = rng.permutation(np.arange(n) % 4)
        roles["stratum"] = ["region"]
    if way == "both, as they are":
        frame["weight"] = rng.permutation(np.arange(n) % 2) + 1.5
        sections["weights"] = {"published": "as is"}
    elif way != "strata":
        frame["weight"] = rng.uniform(1, 9, n).round(2)
    if "weight" in frame:
        roles["weight"] = ["weight"]
    return frame, roles, sections


@pytest.mark.parametrize("seed", range(20))
def test_attacks_equal_a_recount_by_pandas_and_numpy(seed) -> None:
    frame, roles, sections = drawn(seed)
    release = aggopt.mask(frame, aggopt.Job(roles=roles, privacy={"k": 3}, **sections))
    found = release.measures
    columns = [c for c in ("region", "weight") if c in release.table]
    before = [c for c in columns if c == "region" or "as they are" in WAYS[seed % 4]]
    expected = attacks(frame, release.table, NAMES, columns, before=before)
    for name, share in expected.items():
        assert getattr(found, name) == pytest.approx(share, abs=1e-9), name
    assert found.linkage_limit == pytest.approx(found.average_risk, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_attribution_equals_a_recount_by_pandas_and_numpy(seed) -> None:
    frame, roles, sections = drawn(seed)
    rng = np.random.default_rng(seed)
    near = frame["a"] + 2 * frame.get("region", 0)
    frame["income"] = (near + rng.normal(scale=0.3, size=len(frame))).round(1) + 0.0
    frame["illness"] = np.where(near > rng.normal(size=len(frame)), "flu", "none")
    roles["confidential"] = ["income", "illness"]
    sections["risk"] = {"target": roles["confidential"]}
    release = aggopt.mask(frame, aggopt.Job(roles=roles, privacy={"k": 3}, **sections))
    table = release.table
    columns = [c for c in ("region", "weight") if c in table]
    before = [c for c in columns if c == "region" or "as they are" in WAYS[seed % 4]]
    for name, found in release.risks.totals["attribution"].items():
        expected = attribution(table, frame[name], [*NAMES, *columns], before)
        stated = found["share"], found["chance"]
        assert stated == pytest.approx(expected, abs=1e-9), name
        direct = measure.risk.attribution(
            table[[*NAMES, *columns]],
            frame[name],
            known=table[before] if before else None,
        )
        assert (direct.share, direct.chance) == stated


def test_functions_take_what_is_known() -> None:
    frame, roles, _ = drawn(0)
    table = aggopt.mask(frame, aggopt.Job(roles=roles, privacy={"k": 3})).table
    X, Y, known = frame[NAMES], table[NAMES], table[["region"]]
    expected = attacks(frame, table, NAMES, ["region"])
    typed = measure.types
    for of in (measure, typed):
        linked = of.linkage(X, Y, known=known)
        assert linked.share == pytest.approx(expected["linkage"], abs=1e-9)
        assert linked.limit == pytest.approx(expected["linkage_limit"], abs=1e-9)
        assert of.dld(X, Y, known=known) == pytest.approx(expected["dld"], abs=1e-9)
    risk = (expected["dld"] + expected["sdid"]) / 2
    assert measure.dr(X, Y, known=known["region"]) == pytest.approx(risk, abs=1e-9)
    score = (risk + measure.pil(X, Y)) / 2
    assert measure.si(X, Y, known=known["region"]) == pytest.approx(score, abs=1e-9)
    found = measure.assess(X, Y, known=known)
    assert found.reidentifications == len(table.drop_duplicates([*NAMES, "region"]))
    by_type = typed.assess_types(X, Y, known=known)
    assert by_type["linkage"] == pytest.approx(expected["linkage"], abs=1e-9)
    assert by_type.reidentifications == found.reidentifications


@pytest.mark.parametrize("seed", range(5))
def test_chance_of_intervals_is_among_records_that_share_what_is_known(seed) -> None:
    rng = np.random.default_rng(seed)
    n, types = 40, {"size": {"order": [0, 1, 2, 3]}}
    known = rng.integers(0, 4, n)
    X = pd.DataFrame({"size": rng.integers(0, 4, n), "sex": rng.choice(["f", "m"], n)})
    Y = X.iloc[rng.permutation(n)].reset_index(drop=True)
    Y["age"], X["age"] = rng.normal(size=(2, n)).round(1)
    same = np.equal.outer(known, known) / np.bincount(known)[known][:, None] / n
    apart = {
        name: np.abs(np.subtract.outer(X[name].to_numpy(), Y[name].to_numpy()))
        for name in ("size", "age")
    }
    expected = {
        "size": same[apart["size"] <= 0.5 * 3].sum(),
        "sex": same[np.equal.outer(X["sex"].to_numpy(), Y["sex"].to_numpy())].sum(),
        "age": same[apart["age"] <= 0.5 * X["age"].std() * (1 + 1e-9)].sum(),
    }
    found = measure.types.sdid_chance(X, Y, types, safety=0.5, known=known)
    assert found == pytest.approx(expected, abs=1e-9)
    numbers = measure.sdid_chance(X[["age"]], Y[["age"]], safety=0.5, known=known)
    assert numbers == pytest.approx(expected["age"], abs=1e-9)
    overall = measure.assess(X, Y, types, safety=0.5, known=known)
    assert overall.sdid_chance == pytest.approx(
        np.mean(list(expected.values())), abs=1e-9
    )


def test_known_columns_have_an_entry_for_each_record() -> None:
    with refused(TableError):
        measure.dld([[0.0], [1.0]], [[0.0], [1.0]], known=["north"])
    with refused(TableError):
        measure.assess([[0.0], [1.0]], [[0.0], [1.0]], units=[1, 2, 3])


def test_who_knows_a_region_finds_its_records() -> None:
    """1200 records in 60 regions: nearly the limit is reached, not one in a hundred."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1200, 3)), columns=NAMES)
    frame["region"] = np.arange(1200) % 60
    roles = {"quasi-identifier": NAMES, "stratum": ["region"]}
    release = aggopt.mask(frame, aggopt.Job(roles=roles, privacy={"k": 5}))
    table = release.table
    assert release.measures.linkage == pytest.approx(0.2)
    assert release.measures.dld > 0.18
    assert measure.linkage(frame[NAMES], table[NAMES]).share < 0.03


def test_a_written_release_is_attacked_as_it_was_in_memory(tmp_path) -> None:
    frame, roles, sections = drawn(2)
    frame.to_csv(tmp_path / "people.csv", index=False)
    job = aggopt.Job(roles=roles, privacy={"k": 3}, **sections)
    release = aggopt.mask(tmp_path / "people.csv", job)
    release.write(tmp_path / "masked.csv")
    again = assess_release(
        tmp_path / "people.csv", tmp_path / "masked.csv", job
    ).measures
    assert again is not None
    for name in ("linkage", "linkage_limit", "dld", "dr", "si"):
        assert getattr(again, name) == pytest.approx(getattr(release.measures, name))


@pytest.mark.parametrize("seed", range(10))
def test_a_link_is_right_if_it_reaches_the_unit(seed) -> None:
    rng = np.random.default_rng(seed)
    n = 90
    frame = pd.DataFrame(rng.normal(size=(n, 3)).round(3), columns=NAMES)
    frame["household"] = np.sort(rng.integers(0, 40, n))
    frame[NAMES] += 0.01 * rng.normal(size=(40, 3))[frame["household"]]
    roles = {"quasi-identifier": NAMES, "unit": ["household"]}
    columns = []
    if seed % 2:
        frame["region"], columns = frame["household"] % 2, ["region"]
        roles["stratum"] = columns
    release = aggopt.mask(frame, aggopt.Job(roles=roles, privacy={"k": 3}))
    expected = attacks(frame, release.table, NAMES, columns, ["household"], columns)
    for name, share in expected.items():
        assert getattr(release.measures, name) == pytest.approx(share, abs=1e-9), name
    page = render_report(collect_facts(release, "masked.csv"))
    shown = {row[0]: row[2:] for row in Reader(page).tables["Attacks"]}
    limit, chance = expected["linkage_limit"], expected["linkage_chance"]
    for attack, name in SHOWN.items():
        figures = round_share(expected[name]), round_share(chance), limit
        assert shown[attack] == [percent(each) for each in figures]


# The first three have attributes of units alone.
UNIT_WAYS = ("units", "units and strata", "pseudonyms", "units and records", "weights")


def drawn_of_units(seed: int) -> tuple[pd.DataFrame, dict, list[str]]:
    """Return households of one to four, what their job says, and published columns."""
    rng, way = np.random.default_rng(seed), UNIT_WAYS[seed % len(UNIT_WAYS)]
    m = int(rng.integers(24, 40))
    sizes = 1 + rng.permutation(np.arange(m) % 4)
    of = np.repeat(np.arange(m), sizes)
    frame = pd.DataFrame(rng.normal(size=(m, 3)).round(3)[of], columns=NAMES)
    frame["household"], columns = of, []
    roles = {"quasi-identifier": NAMES, "unit": ["household"]}
    sections = {"roles": roles, "privacy": {"k": 3}, "units": {"attributes": NAMES}}
    if way in ("units and strata", "pseudonyms"):
        column = {"units and strata": np.arange(m) % 3, "pseudonyms": sizes}[way]
        frame["region"], columns = column[of], ["region"]
        roles["stratum"] = columns
    if way == "pseudonyms":
        sections["units"]["published"] = "pseudonym"
    if way == "units and records":
        frame["c"] = rng.normal(size=len(of)).round(3)
        sections["units"]["attributes"] = ["a", "b"]
        sections["privacy"]["scope"] = "blocks"
    if way == "weights":
        frame["weight"], columns = rng.uniform(1, 9, m).round(2)[of], ["weight"]
        roles["weight"] = columns
        del sections["units"]
    order = rng.permutation(len(of))
    return frame.iloc[order].reset_index(drop=True), sections, columns


@pytest.mark.parametrize("seed", range(20))
def test_attacks_on_units_equal_a_recount_by_pandas_and_numpy(seed) -> None:
    frame, sections, columns = drawn_of_units(seed)
    release = aggopt.mask(frame, aggopt.Job(**sections))
    table, found = release.table, release.measures
    before = [name for name in columns if name == "region"]
    expected = attacks(frame, table, NAMES, columns, ["household"], before)
    for name, share in expected.items():
        assert getattr(found, name) == pytest.approx(share, abs=1e-9), name
    published = {*NAMES, *columns, *table.filter(["pseudonym"])}
    assert {*table.columns} == published
    assert not any(table[name].equals(frame[name]) for name in NAMES)


@pytest.mark.parametrize("seed", [seed for seed in range(20) if seed % 5 < 3])
def test_no_attack_on_whole_units_beats_what_is_stated(seed) -> None:
    """Whoever knows a household looks for its nearest among those that it may be."""
    frame, sections, columns = drawn_of_units(seed)
    release = aggopt.mask(frame, aggopt.Job(**sections))
    table, units = release.table, frame["household"].to_numpy()
    x, y = (
        each[NAMES].to_numpy() / frame[NAMES].std().to_numpy()
        for each in (frame, table)
    )
    apart = ((x[:, None] - y) ** 2).sum(2)
    known = np.zeros(len(table)) if not columns else table["region"].to_numpy()
    apart[~np.equal.outer(known, known)] = np.inf
    for distance in (np.where(np.isinf(apart), np.inf, 0.0), apart):
        near = np.isclose(distance, distance.min(axis=1, keepdims=True), rtol=1e-9)
        right = (near & np.equal.outer(units, units)).sum(axis=1) / near.sum(axis=1)
        stated = max(release.measures.linkage, release.measures.dld)
        assert right.mean() <= stated + 1e-9
        assert right.mean() <= release.measures.linkage_limit + 1e-9


def test_attributes_of_units_are_masked_whatever_their_unit() -> None:
    """No column is of units and published as it is: those that are named are masked."""
    frame, sections, _ = drawn_of_units(1)
    unmasked = {**sections["roles"], "quasi-identifier": ["a", "b"], "other": ["c"]}
    with refused(AggoptError, "quasi-identifier"):
        aggopt.mask(frame, aggopt.Job(**{**sections, "roles": unmasked}))


def test_records_in_blocks_stay_in_their_class() -> None:
    frame, roles, _ = drawn(0)
    table = aggopt.mask(frame, aggopt.Job(roles=roles, privacy={"k": 3})).table
    X, Y, known = frame[NAMES], table[NAMES], table["region"]
    at_once = measure.linkage(X, Y, known=known)
    by_class = measure.linkage(X, Y, known=known, whole=len(X) - 1)
    assert (by_class.share, by_class.blocks) == (at_once.share, at_once.blocks == 1)
    assert measure.linkage(X, Y, known=known, whole=10).blocks > 4
