"""A margin spans several possible values, or the release says that it does not."""

import numpy as np
import pandas as pd
import pytest

import aggopt
from aggopt.job import Job
from aggopt.pipeline.aggregate.margins import (
    ASKED,
    NOTE,
    WARNING,
    make_margin_arguments,
)
from aggopt.pipeline.partition.partition_table import partition_table

N, K, DELTA = 100, 5, 0.3
RNG = np.random.default_rng(2)
UNITS = {"cents": 0.01, "years": 1.0, "money": 500.0, "children": 1.0}
FRAME = pd.DataFrame(
    {
        "cents": np.exp(8 + 0.6 * RNG.normal(size=N)).round(2),
        "years": np.rint(45 + 12 * RNG.normal(size=N)).clip(18, 95),
        "money": (np.exp(8 + 0.6 * RNG.normal(size=N)) / 500).round() * 500,
        "children": RNG.poisson(4, N),
    }
)
FEW = (
    "WARNING: {!r}: the secret margin spans at most {}. Where a wish decides, who "
    "subtracts distances from a published value has at most {} on either side of it, "
    "one of them an original, and may be left with that one alone. Set a wider margin "
    "under [aggregation], or aggregate by the mean."
)
SATISFACTION = {"method": "satisfaction", "delta": DELTA}


def stated(name, how) -> Job:
    return Job(
        roles={"quasi-identifier": [name]},
        privacy={"k": K},
        partition={"method": "mdav"},
        aggregation=how,
    )


def masked(name, **how):
    return aggopt.mask(FRAME[[name]], stated(name, how), secret="0" * 32)


def said(release) -> list[str]:
    return [note for note in release.notes if "margin" in note]


def width(name, how) -> float:
    """The widest margin that is added, in standard deviations."""
    given = partition_table(FRAME[[name]], stated(name, how), print, secret="0" * 32)
    return float((make_margin_arguments(given)["delta"] - how["delta"]).max())


def single(name, release, wide) -> tuple[int, int]:
    """Groups of which the margin leaves one candidate, and those where it is right."""
    x, c = FRAME[name].to_numpy(float), release.table[name].to_numpy(float)
    possible = np.arange(0, x.max() * 2, UNITS[name])
    one = right = 0
    for j in range(release.labels.max() + 1):
        own = release.labels == j
        away = np.abs(possible - c[own][0]) / x.std()
        left = possible[(away >= DELTA - 1e-4) & (away <= DELTA + wide + 1e-4)]
        one += len(left) == 1
        right += len(left) == 1 and left[0] in x[own]
    return one, right


@pytest.mark.parametrize("name", ["years", "money", "children"])
def test_a_margin_by_default_leaves_more_than_one_candidate(name) -> None:
    wide = max(0.15, min(1, 5 * UNITS[name] / FRAME[name].std(ddof=0)))
    assert wide > 0.3
    assert single(name, masked(name, **SATISFACTION), wide)[0] <= 1


@pytest.mark.parametrize("name", ["money", "children"])
def test_a_narrow_margin_gives_originals_away_and_that_is_said(name) -> None:
    release = masked(name, **SATISFACTION, margin=0.15)
    one, right = single(name, release, 0.15)
    assert right >= {"money": 1, "children": 4}[name]
    assert right >= 0.5 * one
    assert said(release) == [FEW.format(name, "1 possible value", 1), ASKED]


@pytest.mark.parametrize(
    ("name", "more", "few"),
    [
        ("cents", {}, None),
        ("years", {}, None),
        ("children", {}, "2 possible values"),
        ("cents", {"margin": 1e-6}, "1 possible value"),  # below what is published
        ("cents", {"margin": 4.9e-5}, "5 possible values"),
        ("cents", {"margin": 5.1e-5}, None),
        ("years", {"margin": 0.1}, "2 possible values"),
        ("children", {"margin": 3.0}, None),
    ],
)
def test_what_a_margin_spans_is_said(name, more, few) -> None:
    notes = said(masked(name, **SATISFACTION, **more))
    if few is None:
        assert notes == [NOTE]
    else:
        assert notes == [FEW.format(name, few, few[0]), ASKED]


def test_soft_wishes_keep_their_margin_and_promise_nothing() -> None:
    for how in ({}, {"importance": 0.5}, {"alpha": 0.8}):
        asked = {"method": "p3m", "delta": 0.1, **how}
        assert width("children", asked) <= 0.1
        assert said(masked("children", **asked)) == [ASKED]


@pytest.mark.parametrize("how", [{"importance": 0.51}, {"alpha": 0.81}])
@pytest.mark.parametrize("method", ["p3m", "p3m_onesided"])
def test_wishes_that_can_be_exact_get_the_wider_one(method, how) -> None:
    assert 0.8 < width("children", {"method": method, "delta": 0.1, **how}) <= 1
    assert 0.3 < width("years", {"method": method, "delta": 0.1, **how}) <= 5 / 11


@pytest.mark.parametrize("margin", [{}, {"margin": 0}])
def test_wishes_that_do_nothing_get_no_note(margin) -> None:
    for how in (
        {"method": "p3m", "alpha": 0.0},
        {"method": "p3m_onesided", "delta": 0},
        {"method": "satisfaction", "importance": 0.0},
    ):
        assert said(masked("years", **how, **margin)) == []
    acting = masked("years", method="p3m", alpha=0.01, **margin)
    assert said(acting) == [WARNING if margin else ASKED]


def test_only_attributes_that_are_at_risk_are_named() -> None:
    names = ["cents", "children"]
    job = Job(
        roles={"quasi-identifier": names},
        privacy={"k": K},
        partition={"method": "mdav"},
        aggregation={
            "method": "satisfaction",
            "delta": {"attributes": {"cents": DELTA, "children": 0}},
        },
    )
    assert said(aggopt.mask(FRAME[names], job)) == [NOTE]


def test_a_sweep_widens_margins_by_its_own_alpha() -> None:
    given = partition_table(
        FRAME[["children"]],
        stated("children", {"method": "p3m"}),
        print,
        secret="0" * 32,
    )
    soft, exact = (
        make_margin_arguments(given, alpha=alpha)["delta"].max() for alpha in (0.5, 0.9)
    )
    assert soft <= 0.2 < 0.9 < exact
