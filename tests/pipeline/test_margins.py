"""No published value lies at a distance from an original that somebody could try."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.aggregate import p3m, with_margins
from aggopt.aggregate.secret_margins import LEAST, find_step_in_deviations
from aggopt.core.standardise import Scale
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.experiments.compare_solvers import compare
from aggopt.experiments.sweep import sweep
from aggopt.job import Job
from aggopt.measure import sl
from aggopt.partition import mdav
from aggopt.pipeline.aggregate.margins import (
    NOTE,
    WARNING,
    _describe_narrow_margin,
    _find_steps,
    _iter_narrow_margin_notes,
    make_margin_arguments,
)
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.validate.distance_requests import require_agreement

N, K, DELTA = 100, 5, 0.3
ROLES = {"quasi-identifier": ["income"], "wish": ["insist"]}
UNREAD = {"quasi-identifier": ["income"], "identifier": ["insist"]}
NEAR = 5e-4  # standard deviations: half a step of what is tried
SCANNED = np.round(np.arange(0, 1.2, 0.001), 3)
DEMANDS = {"delta": DELTA, "importance": {"column": "insist"}}
WAYS = {
    "satisfaction": {"method": "satisfaction", "delta": DELTA},
    "demands": {"method": "p3m", **DEMANDS},
    "one-sided demands": {"method": "p3m_onesided", **DEMANDS},
    "all demand": {
        "method": "p3m_onesided",
        "delta": DELTA,
        "importance": 1.0,
        "alpha": 1.0,
    },
    "nearly demands": {"method": "p3m", **DEMANDS},
    "groups of one value": {"method": "p3m", "delta": DELTA, "alpha": 1.0},
}


def incomes(way: str) -> pd.DataFrame:
    """Incomes in cents; a record of every second group insists."""
    x = np.sort(np.exp(8 + 0.6 * np.random.default_rng(1).normal(size=N)).round(2))
    if way == "groups of one value":
        x = np.repeat(x[2::K], K)
    labels = mdav(x[:, None], K)
    insist = np.zeros(N)
    first = [np.flatnonzero(labels == j)[j % K] for j in range(labels.max() + 1)]
    insist[first[::2]] = 0.9999 if way == "nearly demands" else 1.0
    return pd.DataFrame({"income": x, "insist": insist})


def masked(way: str, **more):
    how = {**WAYS[way], **more}
    asked = Job(
        roles=ROLES if "insist" in str(how) else UNREAD,
        privacy={"k": K},
        partition={"method": "mdav"},
        aggregation=how,
    )
    frame = incomes(way)
    return frame["income"].to_numpy(), aggopt.mask(frame, asked)


def found(x, release) -> tuple[float, int]:
    """The distance at which most groups show an original, and how many do."""
    c = release.table["income"].to_numpy()
    near = np.abs((np.abs(c - x) / c.std())[:, None] - SCANNED) < NEAR
    shown = [near[release.labels == j].any(axis=0) for j in np.unique(release.labels)]
    hits = np.sum(shown, axis=0)
    return float(SCANNED[hits.argmax()]), int(hits.max())


@pytest.mark.parametrize("way", WAYS)
def test_no_distance_that_is_tried_finds_originals(way) -> None:
    x, release = masked(way)
    assert found(x, release)[1] <= 6  # of 20, in 1200 tries: chance alone gives 3
    assert NOTE in release.notes


@pytest.mark.parametrize("way", WAYS)
def test_without_a_margin_the_distance_is_found_and_that_is_said(way) -> None:
    x, release = masked(way, margin=0)
    distance, hits = found(x, release)
    assert hits >= 9
    assert distance == pytest.approx(DELTA, abs=0.001)
    assert WARNING in release.notes


def stated(frame, how) -> Job:
    role = "wish" if "insist" in str(how) else "identifier"
    roles = {"quasi-identifier": ["income", "age"], role: ["insist"]}
    mdav = {"method": "mdav"}
    return Job(roles=roles, privacy={"k": K}, partition=mdav, aggregation=how)


def two() -> pd.DataFrame:
    return incomes("demands").assign(age=np.random.default_rng(2).integers(18, 90, N))


@pytest.mark.parametrize("method", ["p3m", "p3m_onesided", "satisfaction"])
@pytest.mark.parametrize("delta", [0.1, 1.0, {"relative": 0.4}, {"column": "insist"}])
def test_margins_are_of_a_group_and_no_wider_than_said(method, delta) -> None:
    given = partition_table(
        two(), stated(two(), {"method": method, "delta": delta}), print
    )
    asked = given.asked["delta"]
    added = make_margin_arguments(given)["delta"] - asked
    for j in np.unique(given.labels):
        own, of = added[given.labels == j], asked[given.labels == j]
        for attribute in (0, 1):
            some = own[:, attribute]
            if method != "p3m":
                assert (some[of[:, attribute] == 0] == 0).all()
                some = some[of[:, attribute] > 0]
            assert np.ptp(some) < 1e-12 if some.size else True
            widest = max(0.1, of[:, attribute].max() / 2)
            if attribute == 1 and method == "satisfaction":
                widest = max(widest, 5 / two()["age"].std(ddof=0))
            assert (some >= LEAST * 0.999).all()
            assert (some <= widest + 1e-12).all()
    assert len(np.unique(added.round(9))) > 10


def test_wishes_are_measured_as_asked_and_satisfied() -> None:
    x, release = masked("demands")
    insist = incomes("demands")["insist"].to_numpy() == 1
    away = np.abs(release.table["income"].to_numpy() - x) / x.std()
    assert (away[insist] >= DELTA).all()
    weights = incomes("demands")[["insist"]].to_numpy()
    values = release.table[["income"]].to_numpy()
    asked = sl(x[:, None], values, delta=DELTA, importance=weights)
    assert release.measures.sl == asked == 1


def test_a_margin_of_its_own_width() -> None:
    how = {"method": "p3m", "delta": 0.1, "margin": 0.7}
    given = partition_table(two(), stated(two(), how), print)
    added = make_margin_arguments(given)["delta"] - 0.1
    assert 0.6 < added.max() <= 0.7
    with refused(JobError, "margin"):
        stated(two(), {**how, "margin": -0.1})
    with refused(JobError, "margin"):
        stated(two(), {"method": "mean", "margin": 0.1})


def test_each_block_has_margins_of_its_own_groups() -> None:
    how = {"method": "p3m", "delta": 0.1}
    asked = stated(two(), how).model_dump(by_alias=True)
    asked["privacy"]["scope"] = "blocks"
    asked["partition"]["attributes"] = "one by one"
    given = partition_table(two(), Job(**asked), print)
    added = make_margin_arguments(given)["delta"] - 0.1
    for j in (0, 1):
        of = pd.Series(added[:, j]).groupby(given.labels[:, j])
        assert (of.nunique() == 1).all()
        assert of.first().nunique() == len(of.first())


def test_demands_that_agree_only_without_a_margin_are_refused() -> None:
    x = np.array([0.0, 2, 4, 10, 12, 14, 20, 22, 24])
    frame = pd.DataFrame({"income": x, "insist": [1.0, 0, 1] + 6 * [0.0]})
    how = {"method": "p3m", "delta": 2 / x.std(), "importance": {"column": "insist"}}
    asked = {"roles": ROLES, "privacy": {"k": 3}, "partition": {"method": "mdav"}}
    with refused(InfeasibleInputError, "'income'", "margin = 0"):
        aggopt.mask(frame, Job(**asked, aggregation=how))
    release = aggopt.mask(frame, Job(**asked, aggregation={**how, "margin": 0}))
    assert release.table["income"][0] == pytest.approx(2.0, abs=1e-4)


def test_a_sweep_and_a_comparison_are_of_the_program_with_margins() -> None:
    how = {"method": "p3m", "delta": 0.5, "importance": 0.9, "alpha": 0.9}
    with_them, without = (
        next(iter(compare(two(), stated(two(), {**how, **more}), ["lagrangian"])))
        for more in ({}, {"margin": 0})
    )
    assert with_them.objective != pytest.approx(without.objective, rel=1e-3)
    grid = {"alpha": [0.9], "delta": [0.5], "jobs": 1}
    swept, plain = (
        next(iter(sweep(two(), stated(two(), {**how, **more}), **grid)))
        for more in ({}, {"margin": 0})
    )
    assert swept.sl > plain.sl + 0.1


def test_the_manifest_says_so(tmp_path) -> None:
    release = masked("satisfaction")[1]
    files = release.write(tmp_path / "masked.csv")
    kept = json.loads(files.manifest.read_text())
    assert NOTE in kept["notes"]
    assert "margin" in kept["job"]["aggregation"]


def test_the_helper_adds_margins_for_those_who_call_the_functions() -> None:
    X = two()[["income", "age"]].to_numpy(float)
    labels = mdav(X, K)
    asked = with_margins(X, labels, DELTA, seed=0)
    assert asked.shape == X.shape
    widest = np.maximum(0.15, 5 / X.std(axis=0) * [0.01, 1])  # cents, years
    assert ((asked >= DELTA) & (asked <= DELTA + widest)).all()
    assert asked[:, 1].max() > DELTA + 0.2
    assert (with_margins(X, labels, DELTA) != with_margins(X, labels, DELTA)).any()
    one, same = (with_margins(X, labels, {"relative": 0.3}, seed=4) for _ in "ab")
    assert (one == same).all()
    p3m(X, labels, delta=asked)
    for wrong in (-1, np.inf, "wide", True):
        with refused(JobError, "width of margins"):
            with_margins(X, labels, DELTA, width=wrong)
    with refused(JobError, "seed"):
        with_margins(X, labels, DELTA, seed=-1)


def test_distances_out_of_reach_and_none_at_all() -> None:
    for delta in (0, 5.0):
        _, release = masked("satisfaction", delta=delta)
        assert release.audit.holds
        assert (NOTE in release.notes) == (delta > 0)


def test_most_values_nearer_than_asked_are_said() -> None:
    plain, strong = ({"alpha": 0.5}, {"alpha": 1.0, "importance": 0.9})
    said = [
        [
            note
            for note in aggopt.mask(two(), stated(two(), how), secret=32 * "0").notes
            if "nearer" in note
        ]
        for how in (
            {"method": "p3m", "delta": 1.0, **plain},
            {"method": "p3m", "delta": 0.1, **strong},
            {"method": "satisfaction", "delta": 1.0},
        )
    ]
    assert said[0][0].endswith('or take method = "satisfaction".')
    assert said[1:] == [[], []]


def test_what_is_disclosed_is_said_before_methods() -> None:
    frame = pd.DataFrame({"income": np.append(np.arange(1.0, 9), 1e6)})
    roles, how = {"quasi-identifier": ["income"]}, {"method": "p3m", "delta": 0.1}
    asked = Job(roles=roles, privacy={"k": 3, "dominance": 0.5}, aggregation=how)
    notes = aggopt.mask(frame, asked).notes
    places = [
        next(i for i, note in enumerate(notes) if words in note)
        for words in ("One record makes up", "margin", "was chosen")
    ]
    assert places == sorted(places)


# --- each attribute has margins, demands and words of its own


PLAIN = np.zeros(9, int)
THIRDS = np.repeat([0, 1, 2], 3)
PAIR = np.array([0.0, 2, 4, 10, 12, 14, 20, 22, 24])  # demands of the first and third
APART = np.array([1.0, 0, 1] + 6 * [0.0])
AGREE = 2 / PAIR.std()
ONE = np.full(9, 7.0)
FINE = np.array([0.317, 1.001, 2.003, 3.109, 4.211, 5.783, 6.449, 7.937, 9.901])


def how(**more):
    asked = {"method": "satisfaction", "delta": 0.5, **more}
    roles = {"quasi-identifier": ["a"]}
    return Job(roles=roles, privacy={"k": 3}, aggregation=asked).aggregation


def given(columns, labels=THIRDS, importance=1.0):
    X = np.stack(list(columns.values()), axis=1)
    asked = {"importance": np.broadcast_to(importance, X.shape)}
    known = {"X": X, "scale": Scale.of(X), "asked": asked, "weights": None}
    return SimpleNamespace(**known, names=list(columns), labels_of_numbers=labels)


def warned(of, exact=True, **more):
    asked = np.full(of.X.shape, 0.5)
    return list(
        _iter_narrow_margin_notes(
            of, how(**more), asked, np.broadcast_to(exact, of.X.shape)
        )
    )


def test_only_what_varies_and_can_be_exact_is_warned_of() -> None:
    half = np.tile([0.0, 1, 0], 3)
    of = given({"one": ONE, "half": half, "also": half})
    assert warned(of) == [
        _describe_narrow_margin("half", 1),
        _describe_narrow_margin("also", 1),
    ]
    assert warned(of, [True, False, True]) == [_describe_narrow_margin("also", 1)]
    assert warned(given({"one": ONE}), margin=LEAST / 2) == []
    unit = given({"unit": np.tile([-1.0, 1.0], 4)}, np.repeat([0, 1], 4))
    assert Scale.of(unit.X).spread[0] == 1
    assert warned(unit) == [_describe_narrow_margin("unit", 1)]


def test_a_narrow_margin_is_counted_in_steps_as_fine_as_itself() -> None:
    of = given({"fine": FINE})
    narrow = 2.5e-3 / FINE.std()
    assert warned(of, margin=narrow) == [_describe_narrow_margin("fine", 3)]
    assert warned(of, margin=2 * narrow) == []


def test_five_steps_are_enough() -> None:
    whole = given({"whole": PAIR / 2})
    step = 1 / (PAIR / 2).std()
    assert warned(whole, margin=5 * step) == []
    assert warned(whole, margin=4.999 * step) == [_describe_narrow_margin("whole", 5)]


def test_each_attribute_has_groups_of_its_own() -> None:
    half = np.tile([0.0, 1, 0], 3)
    labels = np.stack([PLAIN, THIRDS], axis=1)
    of = given({"fine": FINE, "half": half}, labels)
    assert warned(of) == [_describe_narrow_margin("half", 1)]


def agreed(columns, importance, labels=THIRDS, more=0.01):
    of = given(columns, labels, importance)
    asked = np.full(of.X.shape, AGREE)
    _agree(of, asked, asked + more)


def _agree(of, distances, with_margins):
    require_agreement(
        of.names,
        of.scale.standardise(of.X),
        of.labels_of_numbers,
        of.asked["importance"],
        distances,
        with_margins,
        of.weights,
    )


def expect_refusal(*of):
    with refused(InfeasibleInputError) as error:
        agreed(*of)
    return error.value


def test_demands_that_a_margin_parts_are_refused_in_full() -> None:
    expect_refusal({"pay": PAIR}, APART[:, None])


def test_demands_agree_on_weighted_z_scores() -> None:
    w = np.array([0.25, 1, 1.75] * 3)
    known = given({"pay": PAIR}, importance=APART[:, None])
    of = SimpleNamespace(**{**vars(known), "weights": w, "scale": Scale.of(known.X, w)})
    asked = np.full(PAIR[:, None].shape, 2 / Scale.of(known.X, w).spread[0])
    _agree(of, asked, asked)
    with refused(InfeasibleInputError):
        _agree(of, asked, asked + 0.01)


def test_an_attribute_of_which_all_records_insist_is_looked_at() -> None:
    pairs = np.array([0.0, 4, 10, 14, 20, 24])
    away = np.full((6, 1), 2 / pairs.std())
    of = given({"pay": pairs}, np.repeat([0, 1, 2], 2))
    with refused(InfeasibleInputError, "'pay'"):
        _agree(of, away, away + 0.01)


def test_each_attribute_that_can_be_exact_has_its_own_step() -> None:
    half = np.tile([0.0, 1, 0], 3)
    of = given({"fine": FINE, "half": half}, importance=[0.1, 1.0])
    asked = np.full(of.X.shape, 0.5)
    p3m = how(method="p3m", alpha=0.5)
    own = find_step_in_deviations(half, half.std())
    assert _find_steps(of, p3m, asked).tolist() == [0.0, pytest.approx(own)]


@pytest.mark.parametrize("first", [ONE, PAIR[::-1]])
def test_an_attribute_is_looked_at_whatever_stands_before_it(first) -> None:
    ask = np.stack([APART if first is ONE else 0 * APART, APART], axis=1)
    expect_refusal({"first": first, "pay": PAIR}, ask)


def test_demands_that_agree_do_not_end_the_look() -> None:
    alone = np.array([1.0, 0, 0] + 6 * [0.0])
    ask = np.stack([alone, APART], axis=1)
    expect_refusal({"first": PAIR, "pay": PAIR}, ask)


def test_only_demands_of_the_same_group_meet() -> None:
    apart = np.array([0, 1, 1, 2, 2, 2, 0, 0, 1])
    agreed({"pay": PAIR}, APART[:, None], apart)
    labels = np.stack([apart, THIRDS], axis=1)
    ask = np.stack([APART, APART], axis=1)
    expect_refusal({"first": PAIR, "pay": PAIR}, ask, labels)


def test_wishes_that_are_no_demands_and_constants_are_left_alone() -> None:
    agreed({"pay": PAIR, "one": ONE}, np.stack([0.9 * APART, APART], axis=1))
    agreed({"one": ONE}, np.ones((9, 1)), PLAIN)
