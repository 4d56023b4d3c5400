"""Means, deviations and totals of a report: by weight, and by stratum."""

import numpy as np
import pandas as pd
import pytest
from reading import Reader, table
from stratified import residents, within
from tables import MDAV

import aggopt
from aggopt.measure.safe_figures import round_figure
from aggopt.pipeline.review.report_data import read_report_data
from aggopt.release.report.facts import Facts
from aggopt.release.report.moments import WeightedMoments, compute_stratum_means
from aggopt.release.report.page import format_figure
from aggopt.release.report.release_report import collect_facts, render_report

BY_WEIGHT = (
    "Means, standard deviations and totals by sampling weight, and how far values "
    "moved, each record counted once"
)
NUMBERS = ["age", "income"]


def survey(seed: int, n: int = 240) -> pd.DataFrame:
    """Persons of four regions, whose weights go with their income."""
    rng = np.random.default_rng(seed)
    income = rng.gamma(2.0, 1e4, n).round(2)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": income,
            "region": rng.choice(["east", "north", "south", "west"], n),
            "weight": (5.0 + income / 1e3 * rng.uniform(0.5, 2.0, n)).round(3),
        }
    )


def asked(published: str = "group mean", unit=(), **sections) -> aggopt.Job:
    roles = {"quasi-identifier": NUMBERS, "stratum": ["region"], "weight": ["weight"]}
    roles["unit"] = list(unit)
    weights = {"published": published, "dominance": 1.0}
    return aggopt.Job(
        roles=roles,
        privacy={"k": 3},
        partition=MDAV,
        weights=weights,
        **{"output": {"digits": "full"}, **sections},
    )


def recount(values: pd.Series, weights: pd.Series) -> tuple[float, float, float]:
    """Return mean, deviation and total by weight, of the values that are there."""
    there = values.dropna()
    w = weights[there.index]
    total = (there * w).sum()
    mean = total / w.sum()
    return mean, ((there - mean) ** 2 * w).sum() ** 0.5 / w.sum() ** 0.5, total


def exact(facts: Facts, name: str) -> tuple[WeightedMoments, WeightedMoments]:
    column = facts.columns[name]
    return WeightedMoments.of(column.before, facts.weights), WeightedMoments.of(
        column.after, facts.weights
    )


@pytest.mark.parametrize("unit", [(), ("household",)])
@pytest.mark.parametrize("published", ["group mean", "drop"])
@pytest.mark.parametrize("seed", range(5))
def test_moments_of_a_report_equal_a_recount_by_weight(seed, published, unit):
    frame = survey(seed)
    for name in unit:
        frame[name] = frame.groupby("region").cumcount() // 2 * 4
        frame[name] += pd.factorize(frame["region"])[0]
    release = aggopt.mask(frame, asked(published, unit))
    facts = collect_facts(release, "masked.csv")
    rows = {row[0]: row[1:] for row in table(render_report(facts), BY_WEIGHT)}
    assert rows["attribute"][:6] == [
        *("mean before", "after", "sd before", "after", "total before", "after")
    ]
    for name in NUMBERS:
        sides = [recount(t[name], frame["weight"]) for t in (frame, release.table)]
        for found, expected in zip(exact(facts, name), sides, strict=True):
            assert [found.mean, found.deviation, found.total] == pytest.approx(
                expected, rel=1e-9
            )
        assert sides[0][0] == pytest.approx(sides[1][0], rel=1e-9)  # kept by weight
        shown = [
            format_figure(round_figure(f))
            for pair in zip(*sides, strict=True)
            for f in pair
        ]
        assert rows[name][:6] == shown
    weighted = recount(frame["income"], frame["weight"])[0]
    assert weighted > 1.1 * frame["income"].mean()


@pytest.mark.parametrize("seed", range(5))
def test_means_by_stratum_equal_a_recount_by_weight(seed):
    frame = survey(seed)
    release = aggopt.mask(frame, asked())
    facts = collect_facts(release, "masked.csv")
    codes, regions = pd.factorize(frame["region"])
    rows = table(render_report(facts), "Means by sampling weight by stratum (region)")
    found = {(row[0], row[1]): row[2:] for row in rows[1:]}
    assert set(found) == {(r, name) for r in regions for name in NUMBERS}
    for name in NUMBERS:
        column = facts.columns[name]
        for side, t in ((0, frame), (1, release.table)):
            values = column.before if side == 0 else column.after
            means, counts = compute_stratum_means(values, codes, facts.weights)
            for j, region in enumerate(regions):
                own = t[frame["region"] == region]
                expected = recount(own[name], frame["weight"])[0]
                assert means[j] == pytest.approx(expected, rel=1e-9)
                assert counts[j] == len(own)
                assert found[region, name][side] == format_figure(
                    round_figure(expected)
                )


def test_missing_values_have_no_weight():
    values, weights = np.array([1.0, np.nan, 4.0]), np.array([2.0, 50.0, 1.0])
    expected = recount(pd.Series(values), pd.Series(weights))
    found = WeightedMoments.of(values, weights)
    assert [found.mean, found.deviation, found.total] == pytest.approx(expected)
    nothing = WeightedMoments.of(values[1:2], weights[1:2])
    assert np.isnan([nothing.mean, nothing.deviation, nothing.total]).all()


def test_a_report_of_files_is_by_the_weights_of_the_originals(tmp_path):
    frame = survey(0)
    frame.to_csv(tmp_path / "people.csv", index=False)
    release = aggopt.mask(tmp_path / "people.csv", asked("drop"))
    release.write(tmp_path / "masked.csv")
    facts = read_report_data(tmp_path / "masked.csv", original=tmp_path / "people.csv")
    for name in NUMBERS:
        expected = recount(frame[name], frame["weight"])
        found = exact(facts, name)
        for each in found:
            assert each.mean == pytest.approx(expected[0], rel=1e-9)
            assert each.total == pytest.approx(expected[2], rel=1e-9)


def test_a_report_of_the_file_alone_is_by_its_own_weights(tmp_path):
    frame = survey(0)
    for published, caption in (
        ("group mean", BY_WEIGHT),
        (
            "drop",
            "Means and standard deviations, and how far values moved; each record "
            "counts once, since the file has no weights",
        ),
    ):
        to = tmp_path / f"{published[:4]}.csv"
        aggopt.mask(frame, asked(published)).write(to)
        masked = pd.read_csv(to)
        rows = table(render_report(read_report_data(to)), caption)
        ones = pd.Series(1.0, masked.index)
        for row in rows[1:]:
            figures = recount(masked[row[0]], masked.get("weight", ones))
            assert row[1:] == [
                format_figure(round_figure(f)) for f in figures[: len(row) - 1]
            ]


def test_without_weights_nothing_is_said_of_totals():
    release = aggopt.mask(residents(), within())
    page = render_report(collect_facts(release, "masked.csv"))
    plain = "Means and standard deviations, and how far values moved"
    assert "total" not in " ".join(table(page, plain)[0])
    rows = table(page, "Means by stratum (region, sex)")
    assert {row[0] for row in rows[1:]} == {"n, f", "n, m", "s, f", "s, m"}
    hidden = [row for row in rows[1:] if row[0] == "n, f"]  # it has eight records
    assert [(row[2], row[4]) for row in hidden] == [("", "")] * 2
    assert all(row[3] for row in hidden)


def test_of_many_strata_those_are_shown_thatmost():
    frame = survey(3, 600)
    frame["region"] = [f"r{j % 30}" for j in range(len(frame))]
    how = {"aggregation": {"method": "p3m"}, "strata": {"keep": "overall"}}
    release = aggopt.mask(frame, asked(**how))
    page = render_report(collect_facts(release, "masked.csv"))
    caption = (
        "Means by sampling weight by stratum (region): the 20 of 60 that moved most"
    )
    rows = table(page, caption)[1:]
    moved = [float(row[4]) for row in rows]
    assert len(rows) == 20
    assert moved == sorted(moved, reverse=True)
    assert moved[0] > 0
    assert "Means by stratum" in Reader(page).text


def test_merged_strata_are_compared_with_care():
    small = residents(m_f=2)
    found = Reader(
        render_report(
            collect_facts(
                aggopt.mask(small, within(strata={"small": "merge"})), "m.csv"
            )
        )
    ).text
    assert "Safe: comparisons between strata" not in found
    assert (
        "With care: comparisons between strata (region, sex): small strata were merged"
        in found
    )
