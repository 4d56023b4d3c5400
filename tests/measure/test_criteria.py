"""Singling out, linkability and inference: by hand, planted leaks, and a control."""

import importlib.util
from math import sqrt
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from aggopt.errors import JobError, TableError, UnknownNameError
from aggopt.measure import criteria

PEOPLE = pd.DataFrame(
    {"age": [20.0, 30, 40, 50, 60, 70], "sex": [*"ffmmfm"], "ill": [*"aabbab"]}
)
OUTSIDE = pd.DataFrame({"age": [21.0, 69], "sex": [*"fm"], "ill": [*"ba"]})


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """Return the benchmark, which plants the leaks."""
    path = Path(__file__).parents[2] / "benchmarks" / "criteria.py"
    spec = importlib.util.spec_from_file_location("criteria_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [7, 12.5])
def test_the_interval_has_the_shares_that_a_score_test_accepts(share, n):
    low, high = criteria.wilson_interval(share, n, 0.95)
    z = 1.959963984540054
    for end in (low, high):
        if 0 < end < 1:
            assert abs(share - end) == pytest.approx(
                z * sqrt(end * (1 - end) / n), abs=1e-6
            )
    assert low <= share <= high


def test_every_record_of_a_table_that_is_not_masked_is_singled_out():
    known = PEOPLE[["age", "sex"]]
    found = criteria.singling_out(known, known, OUTSIDE[["age", "sex"]])
    assert (found.rate, found.helps) == (1.0, True)
    n = len(PEOPLE)
    assert found.chance == pytest.approx((1 - 1 / n) ** (n - 1) / n)


def test_predicates_of_groups_single_out_whom_they_match_alone():
    """Two groups: of sex f, whose mean 30 one person has, and of m, whose mean none."""
    original = pd.DataFrame({"age": [20.0, 30, 40, 10, 50, 70], "sex": [*"fffmmm"]})
    means = original.groupby("sex")["age"].transform("mean")
    released = original.assign(age=means.round(1))
    outside = original.assign(age=[1.0, 2, 3, 43.3, 5, 6])
    found = criteria.singling_out(original, released, outside)
    # 30, and 30 with f, have one person; 43.3, f, m and 43.3 with m none, or three
    assert (found.attacks, found.rate) == (6, 2 / 6)
    assert found.control == pytest.approx(2 / 6)  # 43.3, and 43.3 with m
    assert found.chance == pytest.approx((5 / 6) ** 5)
    everybody = pd.concat([outside.assign(age=43.3)] * 2)
    limited = criteria.singling_out(original, released, everybody)
    assert limited.control == limited.chance


def test_a_record_of_somebody_else_is_not_singled_out():
    known = PEOPLE[["age"]]
    found = criteria.singling_out(known, known[::-1], OUTSIDE[["age"]])
    assert (found.rate, found.helps) == (0.0, False)


def make_attack(**changes: float) -> criteria.AttackResult:
    """Return the attacks of an example of Newcombe (1998): 56 of 70, 48 of 80."""
    shares = {"rate": 56 / 70, "chance": 0.1, "control": 48 / 80, "level": 0.95}
    return criteria.AttackResult("linkability", "", 70, 80, **(shares | changes))


def test_the_interval_of_the_excess_is_the_published_one_of_a_difference():
    attack = make_attack()
    assert attack.excess == pytest.approx((0.8 - 0.6) / 0.4)
    ends = [end * 0.4 for end in attack.excess_interval]
    assert ends == pytest.approx([0.0524, 0.3339], abs=5e-5)


def test_a_release_helps_above_the_control_and_above_chance():
    assert make_attack().helps
    assert not make_attack(control=0.75).helps
    assert not make_attack(chance=0.75).helps


def test_levels_are_divided_among_the_attacks():
    quiet = criteria.assess(PEOPLE, PEOPLE, OUTSIDE, secret="ill", level=0.9)
    levels = [attack.level for attack in quiet.attacks]
    assert levels == pytest.approx([1 - 0.1 / 4] * 4)


def test_a_rounded_number_equals_whatever_is_rounded_to_it():
    original = pd.DataFrame({"x": [1.04, 2.13, 3.26, 4.38]})
    found = criteria.singling_out(original, original.round(1), original[:1] + 0.5)
    assert found.rate == 1.0


def test_two_sources_link_if_they_lead_to_one_record_of_a_group():
    """The first group has two records, and the second four."""
    x = pd.DataFrame({"a": [0.0, 0, 9, 9, 9, 9], "b": [1.0, 1, 5, 5, 5, 5]})
    outside = pd.DataFrame({"a": [0.1, 0.1], "b": [1.0, 5.0]})
    found = criteria.linkability(x, x, outside)
    assert found.rate == pytest.approx((2 * 1 / 2 + 4 * 1 / 4) / 6)
    assert found.control == pytest.approx((1 / 2 + 0) / 2)
    assert found.chance == pytest.approx(1 / 6)


def test_a_secret_is_guessed_from_the_other_records_that_are_as_near():
    original = PEOPLE.assign(ill=[*"aabbbb"])
    released = original.assign(age=[30.0, 30, 30, 60, 60, 60])[["age", "ill"]]
    found = criteria.inference(
        original[["age", "ill"]], released, OUTSIDE[["age", "ill"]], "ill"
    )
    assert found.rate == pytest.approx((1 / 2 + 1 / 2 + 0 + 1 + 1 + 1) / 6)
    assert found.control == pytest.approx((1 / 3 + 0) / 2)  # b near a a b, a near b b b
    assert found.chance == pytest.approx((2 * 1 / 5 + 4 * 3 / 5) / 6)


def test_a_secret_number_is_guessed_within_the_safety_interval():
    original = pd.DataFrame({"a": [0.0, 0, 0, 9, 9, 9], "s": [1.0, 1.1, 9, 2, 5, 8]})
    outside = pd.DataFrame({"a": [0.0], "s": [1.05]})
    found = criteria.inference(original, original, outside, "s", safety=0.05)
    width = 0.05 * original["s"].std()
    assert 0.1 <= width < 1
    assert found.rate == pytest.approx((1 / 2 + 1 / 2) / 6)
    assert found.control == pytest.approx(2 / 3)


def test_figures_depend_on_no_unit_and_on_no_order(benchmark):
    original, control = benchmark.split(benchmark.draw_people(150, 3), 3)
    names = [*"abcde", "sex", "job"]
    masked = benchmark.mask_groups(original, names, 5)
    order = np.random.default_rng(0).permutation(len(original))
    units = {"a": 1024.0, "b": 0.125}

    def measure(*tables: pd.DataFrame) -> list[float]:
        attack = criteria.inference(*tables, "ill")
        known = [table.drop(columns="ill") for table in tables]
        link = criteria.linkability(*known, sets=(["a", "sex"], ["b", "job"]))
        return [attack.rate, attack.control, attack.chance, link.rate, link.control]

    others = (original.iloc[order], masked.iloc[order], control[::-1])
    scaled = [t.assign(**{n: t[n] * units[n] for n in units}) for t in others]
    assert measure(*scaled) == pytest.approx(measure(original, masked, control))


@pytest.mark.smoke
def test_ten_planted_leaks_are_found_and_the_release_without_one_helps_nobody(
    benchmark,
):
    leaks = benchmark.find_leaks(n=300, attacks=200)
    assert len(leaks) == 10
    assert [name for name, found in leaks.items() if not found.helps] == []
    original, control = benchmark.split(benchmark.draw_people(300, 0), 0)
    masked = benchmark.mask_groups(original, [*"abcde", "sex", "job"], 5)
    quiet = criteria.assess(original, masked, control, secret="ill", attacks=200)
    assert [attack.name for attack in quiet.attacks if attack.helps] == []
    assert quiet.to_dict()["control_records"] == 30
    assert "HELPS" not in str(quiet)


@pytest.mark.slow
def test_no_excess_is_claimed_on_releases_of_twenty_tables(benchmark):
    claims = []
    for name, people, secret in benchmark.iter_tables(Path("none")):
        original, control = benchmark.split(people[:600], 1)
        names = [column for column in people if column not in secret]
        masked = benchmark.mask_groups(original, names, 5)
        found = criteria.assess(original, masked, control, secret=secret, attacks=200)
        claims += [name] * found.helps
    assert claims == []


def test_an_attacker_of_missing_and_constant_values_finds_figures():
    original = PEOPLE.assign(age=[20.0, np.nan, 40, 50, np.nan, 70], same=1.0)
    found = criteria.assess(
        original, original, OUTSIDE.assign(same=1.0), secret=["ill", "sex"]
    )
    assert all(0 <= attack.rate <= 1 for attack in found.attacks)


REFUSED = {
    "no table": lambda: criteria.assess(PEOPLE, PEOPLE, "people.csv"),
    "no records": lambda: criteria.assess(PEOPLE, PEOPLE, OUTSIDE[:0]),
    "other columns": lambda: criteria.assess(PEOPLE, PEOPLE, OUTSIDE[["age"]]),
    "other numbers of records": lambda: criteria.assess(PEOPLE, PEOPLE[1:], OUTSIDE),
    "no such secret": lambda: criteria.assess(PEOPLE, PEOPLE, OUTSIDE, secret="wage"),
    "everything secret": lambda: criteria.assess(
        PEOPLE, PEOPLE, OUTSIDE, secret=["age", "sex", "ill"]
    ),
    "a level of one": lambda: criteria.assess(PEOPLE, PEOPLE, OUTSIDE, level=1),
    "no attacks": lambda: criteria.assess(PEOPLE, PEOPLE, OUTSIDE, attacks=0),
    "one source": lambda: criteria.linkability(
        PEOPLE[["age"]], PEOPLE[["age"]], OUTSIDE[["age"]]
    ),
    "sources in common": lambda: criteria.linkability(
        PEOPLE, PEOPLE, OUTSIDE, sets=(["age"], ["age", "sex"])
    ),
    "no such predicate": lambda: criteria.singling_out(
        PEOPLE, PEOPLE, OUTSIDE, by="size"
    ),
    "no order": lambda: criteria.singling_out(
        PEOPLE[["sex"]], PEOPLE[["sex"]], OUTSIDE[["sex"]], by="by order"
    ),
    "nothing known": lambda: criteria.inference(
        PEOPLE[["ill"]], PEOPLE[["ill"]], OUTSIDE[["ill"]], "ill"
    ),
    "no secret value": lambda: criteria.inference(
        PEOPLE, PEOPLE, OUTSIDE.assign(ill=None), "ill"
    ),
    "no share": lambda: criteria.wilson_interval(1.5, 10),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    with refused((JobError, TableError, UnknownNameError)):
        REFUSED[case]()
