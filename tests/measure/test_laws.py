"""Every measure obeys the laws of `aggopt.checks`; and what else is known of each."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from measure.registry import MEASURES, Measure

from aggopt import measure
from aggopt.checks import parametrize_with_checks

in_blocks = partial(measure.linkage, whole=10)
in_blocks.excused = {"signs_do_not_matter": "the middle of an even number is a tie"}
assessed = partial(measure.assess)
assessed.excused = {"signs_do_not_matter": "pil and si are among its figures"}

every_measure = pytest.mark.parametrize("m", MEASURES.values(), ids=MEASURES)


def tables(seed: int = 0, n: int = 40, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated, skewed records without ties, and a noisy release of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.exponential(size=(n, d))
    return X, X + 0.15 * rng.normal(size=X.shape) * X.std(axis=0)


def grouped(X: np.ndarray, k: int = 4) -> np.ndarray:
    """Return the means of runs of k records, a release full of ties."""
    return np.repeat(X.reshape(-1, k, X.shape[1]).mean(axis=1), k, axis=0)


def test_every_public_measure_is_in_the_registry() -> None:
    kept = {"MEASURES", "WHOLE", "Assessment", "Linkage", "Measure", "PilParts"}
    kept |= {
        "assess",
        "assess_types",
        "TypedAssessment",
        "TypedPilParts",
    }  # see test_types.py
    kept |= {"criteria", "risk", "utility"}  # each has a file of tests
    assert set(measure.__all__) - kept == set(measure.MEASURES)
    assert set(measure.MEASURES) - {"pil_parts"} <= set(MEASURES)
    parts = {n.split(".")[1] for n in MEASURES if n.startswith("pil_parts.")}
    assert parts == set(measure.PilParts.__dataclass_fields__)


@pytest.mark.parametrize("name", measure.MEASURES)
def test_each_says_of_itself_what_others_derive(name: str) -> None:
    said = measure.MEASURES[name]
    assert said.function is getattr(measure, name)
    assert re.fullmatch(r"[01]\.\.(1|n|)", said.range)
    assert said.better in ("lower", "higher", "-")
    assert said.needs in ("both", "original", "released")
    assert said.heading is None or f"({said.better} is better)" in said.heading.value
    assert not said.when.endswith(".")
    first_author = re.match(r"[\w-]+( Emam)?", said.source)[0]
    assert first_author in said.function.__doc__ or name == "sdid_chance"


def test_the_page_lists_each_measure_with_its_range_and_direction() -> None:
    page = Path(__file__).parents[2] / "docs" / "measures.md"
    rows = re.findall(
        r"^\| (`\w+`(?:, `\w+`)*) \| (.*) \| (\S+) \| (\S+) \|$",
        page.read_text("utf-8"),
        re.MULTILINE,
    )
    listed = {
        name: (range_, better)
        for names, _, range_, better in rows
        for name in re.findall(r"\w+", names)
    }
    said = {name: (m.range, m.better) for name, m in measure.MEASURES.items()}
    assert listed == said


@parametrize_with_checks(*measure.MEASURES.values(), in_blocks, assessed)
def test_laws(check) -> None:
    check()


@every_measure
def test_release_of_the_original(m: Measure) -> None:
    X, _ = tables()
    if m.unchanged is not None:
        assert m.of(X, X) == m.unchanged


@every_measure
def test_every_record_twice(m: Measure) -> None:
    X, Y = tables()
    if m.doubled is not None:
        twice = m.of(np.vstack([X, X]), np.vstack([Y, Y]))
        assert twice == pytest.approx(m.doubled * m.of(X, Y), rel=1e-12)


def test_groups_of_k_link_at_most_one_record_each() -> None:
    X, _ = tables()
    assert measure.dld(X, grouped(X)) <= 1 / 4
    assert measure.linkage(X, grouped(X)).share <= 1 / 4
    assert measure.highest_risk(grouped(X)) == measure.average_risk(grouped(X)) == 1 / 4
    assert measure.reidentifications(grouped(X)) == len(X) / 4


def test_no_linkage_is_beyond_its_limit() -> None:
    rng = np.random.default_rng(9)
    for _ in range(20):
        X, Y = rng.integers(0, 4, (2, 25, 2))
        found = measure.linkage(X, Y)
        assert 0 < found.share <= found.limit == measure.average_risk(Y)
        assert measure.dld(X, Y) <= found.limit


def test_blocks_are_granted_to_the_intruder() -> None:
    X, Y = tables(n=200, d=2)
    far = X + 5 * (Y - X)
    whole = measure.linkage(X, far)
    blocks = [measure.linkage(X, far, whole=w) for w in (199, 50, 10, 1)]
    shares = [whole.share, *(b.share for b in blocks)]
    assert shares == sorted(shares)
    assert [whole.blocks, *(b.blocks for b in blocks)] == [1, 2, 4, 32, 200]
    assert blocks[-1].share == blocks[-1].limit == 1


def test_blocks_may_link_less_too() -> None:
    X, Y = [[4.0], [5.0], [3.0], [0.0]], [[5.0], [0.0], [2.0], [7.0]]
    shares = [measure.linkage(X, Y, whole=whole).share for whole in (4, 2)]
    assert shares == [0.5, 0.0]
    for said in (measure.linkage.__doc__, measure.assess.__doc__):
        assert "mostly" in " ".join(said.split())


def test_means_lose_the_within_group_share() -> None:
    X, _ = tables()
    assert 0 < measure.il(X, grouped(X)) < 1
    mean = np.broadcast_to(X.mean(axis=0), X.shape)
    assert measure.il(X, mean) == pytest.approx(1)
    assert measure.sse(X, mean) == pytest.approx(measure.sst(X))


def test_wider_intervals_disclose_more_and_longer_distances_satisfy_less() -> None:
    X, Y = tables()
    widths = [0, 0.01, 0.05, 0.2, 1.0, 10.0]
    risks = [measure.sdid(X, Y, safety=s) for s in widths]
    levels = [measure.sl(X, Y, delta=s) for s in widths]
    assert risks == sorted(risks)
    assert levels == sorted(levels, reverse=True)
    assert (risks[0], risks[-1], levels[0], levels[-1]) == (0, 1, 1, 0)


def test_relative_requests_are_shares_of_the_distance_from_the_mean() -> None:
    X, Y = tables()
    z = np.abs(X - X.mean(axis=0)) / X.std(axis=0)
    for share in (0.1, np.full(X.shape[1], 0.5)):
        request = {"relative": share}
        level = measure.sl(X, Y, delta=request, importance={"relative": 1})
        assert 0 < level < 1
        assert level == pytest.approx(measure.sl(X, Y, delta=share * z, importance=z))
        result = measure.assess(X, Y, delta=request, importance={"relative": 1})
        assert (result.sl, result.delta) == (level, None)


def test_only_ratios_of_weights_matter() -> None:
    X, Y = tables()
    w = np.random.default_rng(3).random(X.shape)
    level = measure.sl(X, Y, importance=w)
    assert measure.sl(X, Y, importance=1e308 * w) == pytest.approx(level)
    assert measure.sl(X, Y, importance=1e-300 * w) == pytest.approx(level)
