"""Measures of typed attributes: against slow copies, laws, edges and refusals."""

import json
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from encoding.mixed import KINDS, ORDER, TYPES, table
from hypothesis import given
from hypothesis import strategies as st
from measure.slow_types import CATEGORIES, Slow
from refusals import refused

import aggopt
from aggopt import measure
from aggopt.core.html import render_html_lines
from aggopt.errors import AggoptError, JobError, TableError, UnknownNameError
from aggopt.measure import assess_types, types
from aggopt.measure._typed_pair import TypedPair, _compute_within_sse
from aggopt.measure.types import TYPED
from aggopt.measure.types.frequencies import Contingency

NODES = ["flu", "asthma", "attack", "weak", "y", "lung", "heart", "left", "x", "*"]
EACH = [name for name, m in TYPED.items() if m.by_attribute]
WHOLE = [name for name, m in TYPED.items() if m.of_table and not m.optional]
OF_ALL = ("il", "within", "unchanged", "sdid", "sdid_chance")  # numbers too


def released(frame: pd.DataFrame, k: int, seed: int = 0) -> pd.DataFrame:
    """Return a release in groups of k, of which some keep what they had."""
    rng = np.random.default_rng(seed)
    n, out = len(frame), frame.copy()
    group = np.arange(n) // k
    choices = {"school": ORDER, "illness": NODES}
    for name in frame:
        first = frame[name].to_numpy()[group * k]
        levels = choices.get(name, frame[name].unique())
        drawn = rng.choice(np.array(levels, dtype=first.dtype), n)[group * k]
        out[name] = np.where(rng.random(n)[group * k] < 0.6, first, drawn)
    return out


CASES = [(24, 1, 0), (24, 3, 1), (30, 5, 2), (25, 2, 3)]


@pytest.mark.parametrize(("n", "k", "seed"), CASES)
@pytest.mark.parametrize("safety", [0.05, 0.5])
def test_each_attribute_as_slowly_counted(
    n: int, k: int, seed: int, safety: float
) -> None:
    frame = table(n, seed)
    after = released(frame, k, seed)
    found = assess_types(frame, after, TYPES, safety=safety)
    slow = Slow(frame, after, aggopt.encode(frame, TYPES).weights)
    for name in EACH:
        for attribute in frame:
            expected: Any = None
            if attribute != "age" or name in OF_ALL:
                asked = (attribute, safety) if "sdid" in name else (attribute,)
                expected = pytest.approx(getattr(slow, name)(*asked), abs=1e-12)
            assert found[name][attribute] == expected, (name, attribute)


@pytest.mark.parametrize(("n", "k", "seed"), CASES)
@pytest.mark.parametrize("weights", ["variance", "range"])
def test_the_table_as_slowly_counted(n: int, k: int, seed: int, weights: str) -> None:
    frame = table(n, seed)
    if weights == "range":
        frame = frame.drop(columns="age")  # by range it is another distance
    after = released(frame, k, seed)
    own = {name: TYPES[name] for name in TYPES if name in frame}
    E = aggopt.encode(frame, own, weights=weights)
    found = assess_types(E, after)
    for name, expected in Slow(frame, after, E.weights).of_table().items():
        assert found[name] == pytest.approx(expected, abs=1e-12), name


def test_numbers_by_range_are_apart_by_their_difference() -> None:
    x, y = np.array([1.0, 2.0, 4.0, 9.0, 5.0]), np.array([1.5, 1.5, 10.0, 8.0, 5.0])
    E = aggopt.encode(pd.DataFrame({"x": x}), weights="range")
    after = pd.DataFrame({"x": y})
    gower = np.abs(x - y) / 8
    total = (np.abs(x[:, None] - x) / 8).sum() / 10
    assert types.distance(E, after) == pytest.approx(gower.mean())
    assert types.il(E, after)["x"] == pytest.approx(gower.sum() / total)
    apart = np.abs(x[:, None] - y)
    nearest = apart <= apart.min(axis=1, keepdims=True) + 1e-9
    linked = np.diag(nearest) / nearest.sum(axis=1)
    assert types.dld(E, after) == pytest.approx(linked.mean())


@pytest.mark.parametrize("seed", range(4))
def test_the_assignment_is_the_best_of_all(seed: int) -> None:
    frame = table(6, seed)[["age", "sex", "illness"]]
    after = released(frame, 2, seed)
    E = aggopt.encode(frame, {"illness": TYPES["illness"]})
    slow = Slow(frame, after, E.weights)
    costs = np.array(slow.embedded())
    ways = [list(way) for way in permutations(range(6))]
    totals = [costs[range(6), way].sum() for way in ways]
    best = [w for w, t in zip(ways, totals, strict=True) if t <= min(totals) + 1e-9]
    before = list(zip(*slow.x.values(), strict=True))
    shares = [
        np.mean(
            [
                sum(
                    (before[h], slow.rows[h]) == (before[i], slow.rows[way[i]])
                    for h in range(6)
                )
                / before.count(before[i])
                / slow.rows.count(slow.rows[way[i]])
                for i in range(6)
            ]
        )
        for way in best
    ]
    found = types.linkage(E, after)
    assert found.share == pytest.approx(max(shares))
    assert found.limit == len(set(slow.rows)) / 6


def test_each_function_finds_what_the_assessment_does() -> None:
    frame = table(20)
    after = released(frame, 2)
    found = assess_types(frame, after, TYPES)
    for name, said in TYPED.items():
        alone = getattr(types, name)(frame, after, TYPES)
        if said.optional:  # no attribute has what it measures
            assert alone is None
        else:
            assert (alone.share if name == "linkage" else alone) == found[name]
        assert said.function is getattr(types, name)
        assert re.fullmatch(r"(-1|0)\.\.1?", said.range)
        assert said.better in ("lower", "-")
        author = re.match(r"[\w-]+", said.source)[0]
        assert author in said.function.__doc__
        assert (said.by_attribute is None) != (said.of_table is None)


def test_the_page_lists_each_measure_with_its_range_and_direction() -> None:
    page = Path(__file__).parents[2] / "docs" / "measures-of-types.md"
    row = re.compile(r"^\| `types\.(\w+)` \| .* \| (\S+) \| (\S+) \|$", re.MULTILINE)
    listed = {name: said for name, *said in row.findall(page.read_text("utf-8"))}
    assert listed == {name: [m.range, m.better] for name, m in TYPED.items()}


# laws

FRAME = table(24, seed=7)
AFTER = released(FRAME, 3, seed=7)
FOUND = assess_types(FRAME, AFTER, TYPES)


def figures(found: Any, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return all figures, flat."""
    each = {(m, a): v for m in EACH for a, v in found[m].items()}
    flat = each | {(m, ""): found[m] for m in WHOLE}
    found = {key: v for key, v in flat.items() if v is not None}
    return {key: v for key, v in found.items() if key[0] not in without}


def test_a_table_released_as_it_is() -> None:
    found = assess_types(FRAME, FRAME, TYPES)
    one = {"unchanged", "truth", "sdid", "kappa", "mutual_information"}
    by_chance = ("dld", "linkage", "sdid_chance")
    for (name, _), figure in figures(found, without=by_chance).items():
        assert figure == (1.0 if name in one else 0.0), name
    assert found["dld"] == found["linkage"] == found.linkage_limit


def test_the_order_of_records_does_not_matter() -> None:
    order = np.random.default_rng(0).permutation(24)
    found = assess_types(FRAME.iloc[order], AFTER.iloc[order], TYPES)
    assert figures(found) == pytest.approx(figures(FOUND), rel=1e-12, abs=1e-12)
    assert found.reidentifications == FOUND.reidentifications


def test_the_order_of_attributes_does_not_matter() -> None:
    turned = list(FRAME)[::-1]
    found = assess_types(FRAME[turned], AFTER[list(FRAME)], TYPES)
    assert list(found.kinds) == turned
    assert figures(found) == pytest.approx(figures(FOUND), rel=1e-12, abs=1e-12)


def test_names_of_levels_do_not_matter() -> None:
    new = {"f": "3", "m": "1", "x": "2", "p": "R", "q": "Q", "r": "P"}
    for j, name in enumerate([*ORDER, *NODES[:8]]):
        new[name] = f"{(7 * j) % 16:02}"
    tree = {
        new["lung"]: [new["flu"], new["asthma"]],
        new["heart"]: {new["left"]: [new["attack"], new["weak"]]},
        "x": [new["y"]],
    }
    renamed = {
        "school": {"order": [new[name] for name in ORDER]},
        "illness": {"tree": tree, "weight": 2.0},
        "place": {"distances": {"R": {"Q": 1.0, "P": 2.0}, "Q": {"P": 1.5}}},
    }

    def called(frame: pd.DataFrame) -> pd.DataFrame:
        columns = {a: frame[a].map(lambda v: new.get(v, v)) for a in CATEGORIES}
        columns["illness"] = columns["illness"].where(frame["illness"] != "x", "x")
        return frame.assign(**columns)

    found = assess_types(called(FRAME), called(AFTER), renamed)
    assert figures(found) == pytest.approx(figures(FOUND), rel=1e-12, abs=1e-12)


def test_every_record_twice() -> None:
    def twice(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([frame, frame], ignore_index=True)

    found = assess_types(twice(FRAME), twice(AFTER), TYPES)
    surer, halved = ("pil", "two_way_pil"), ("dld", "linkage")
    rest = figures(found, without=surer + halved)
    assert rest == pytest.approx(figures(FOUND, without=surer + halved), abs=1e-12)
    for name in halved:
        assert found[name] == pytest.approx(FOUND[name] / 2)
    assert found.highest_risk == FOUND.highest_risk / 2
    assert found.average_risk == FOUND.average_risk / 2
    assert found["pil"]["sex"] > FOUND["pil"]["sex"] > 0


def test_what_differs_in_no_record_weighs_nothing() -> None:
    def wider(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(one="a", seven=7)

    found = assess_types(wider(FRAME), wider(AFTER), TYPES)
    for name in WHOLE:
        assert found[name] == pytest.approx(FOUND[name]), name
    assert (found.d, found.varying) == (7, 5)


def test_numbers_alone_have_the_figures_of_numbers() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3)) * [1, 1e6, 1e-6] + [0, 1e9, 5]
    Y = np.repeat(X.reshape(-1, 4, 3).mean(axis=1), 4, axis=0)
    found, plain = assess_types(X, Y), measure.assess(X, Y)
    assert found["dld"] == pytest.approx(plain.dld)
    assert found["linkage"] == pytest.approx(plain.linkage)
    assert found["embedded_il"] == pytest.approx(plain.il)
    assert found["embedded_within"] == pytest.approx(plain.il)  # group means
    assert np.mean([*found["sdid"].values()]) == pytest.approx(plain.sdid)
    risks = ("highest_risk", "average_risk", "reidentifications", "linkage_limit")
    for name in risks:
        assert getattr(found, name) == getattr(plain, name)
    assert all(found[name] is None for name in ("two_way", "cramers_v"))


def test_what_is_published_loses_up_to_twice_what_the_groups_do() -> None:
    """Of attributes that are names, levels nearest to all: Proposition 4."""
    E = aggopt.encode(FRAME[["sex", "school", "place"]], {"school": TYPES["school"]})
    groups = aggopt.partition.mdav(E, 3)
    columns = {
        each.name: aggopt.aggregate.plurality(each, groups).values
        for each in E.attributes
    }
    after = pd.DataFrame(columns, index=FRAME.index)
    loss, largest = 24 * types.distance(E, after), groups.sizes.max()
    least = groups.loss * largest / (largest - 1)
    assert least - 1e-9 <= loss <= 2 * groups.loss + 1e-9


# edges


def test_one_level_and_one_number() -> None:
    flat = pd.DataFrame({"x": ["a"] * 4, "y": [7.0] * 4, "z": ["b"] * 4})
    found = assess_types(flat, flat)
    assert found["il"] == found["within"] == {"x": 0, "y": 0, "z": 0}
    assert found["unchanged"] == found["sdid"] == {"x": 1, "y": 1, "z": 1}
    for name in ("kappa", "ebil", "tv", "pil"):
        assert found[name] == {"x": 0, "y": None, "z": 0}
    assert found["embedded_il"] == found["embedded_within"] == found["distance"] == 0
    for name in ("cramers_v", "two_way", "two_way_pil", "mutual_information"):
        assert found[name] is None
    assert found["dld"] == found["linkage"] == 1 / 4
    assert (found.varying, found.reidentifications, found.highest_risk) == (0, 1, 0.25)


def test_the_share_of_an_only_level_has_no_sampling_variance() -> None:
    same = pd.DataFrame({"school": ["none"] * 4})
    found = assess_types(same, same.assign(school="all"), {"school": {"order": ORDER}})
    assert found["pil"] == {"school": 0.0}
    assert (found["tv"], found["kappa"]) == ({"school": 1.0}, {"school": 0.0})


def test_one_record() -> None:
    one = pd.DataFrame({"x": ["a"], "y": [7.0]})
    found = assess_types(one, one.assign(y=8.0))
    assert (found["dld"], found["linkage"], found.highest_risk) == (1, 1, 1)
    assert found["sdid"] == {"x": 1.0, "y": 0.0}


def test_all_released_alike() -> None:
    flat = FRAME.assign(age=40, sex="f", school="some", illness="*", place="p")
    found = assess_types(FRAME, flat, TYPES)
    assert set(found["within"].values()) == {1.0}
    assert found["kappa"]["sex"] == pytest.approx(0)
    assert all(found["ebil"][name] == pytest.approx(1) for name in CATEGORIES)
    assert found["truth"]["illness"] == 1
    assert found["dld"] == pytest.approx(1 / 24)
    assert found["mutual_information"] == 0


def test_levels_that_are_lower_in_an_order_are_not_true_of_higher_ones() -> None:
    school = pd.DataFrame({"school": ["some", "much", "all"]})
    lowest = school.assign(school="none")
    found = types.truth(school, lowest, {"school": {"order": ORDER}})
    assert found == {"school": 0.0}


def test_association_of_tables_whose_figures_are_known() -> None:
    x = np.array([0, 0, 1, 1])
    for y, v in (([0, 0, 1, 1], 1.0), ([0, 1, 0, 1], 0.0), ([5, 5, 5, 5], 0.0)):
        found = Contingency.of(x, np.array(y))
        assert found.cramers_v == v
        assert found.information == pytest.approx(v * np.log(2), abs=0)
    assert Contingency.of(np.repeat(x, 3), np.tile([0, 1, 2], 4)).cramers_v == 0


def test_what_is_released_for_a_record_may_be_a_level_that_none_has() -> None:
    """Its coordinates are none of those in which the records differ."""
    frame = pd.DataFrame({"school": ["none", "some", "none", "some"]})
    E = aggopt.encode(frame, {"school": {"order": ORDER}}, weights="range")
    assert E.shape == (4, 1)
    found = types.distance(E, pd.DataFrame({"school": ["all"] * 4}))
    assert found == pytest.approx((1 + 2 / 3) / 2)


# what is shown

TEXT = str(FOUND)


def test_prints_a_row_for_each_attribute_and_the_whole_below() -> None:
    head, _, header, *rows = TEXT.splitlines()
    assert head == "Records: 24. Attributes: 5, 5 of them vary."
    assert header.split() == ["Attribute", "kind", "IL", "within", "EBIL", "TV", "PIL"]
    labels = "Attribute kind unchanged kappa true SDID by chance"
    assert (rows[5], rows[6].split()) == ("", labels.split())
    for part in (rows[:5], rows[7:12]):
        assert [row.split()[:2] for row in part] == [
            [name, kind] for name, kind in zip(FRAME, KINDS, strict=True)
        ]
    share = f"{100 * FOUND['dld']:.2f} %"
    assert f"  DLD           {share:>9}  records linked to the nearest" in rows
    assert f"{FOUND['kappa']['sex']:.4g}" in rows[8]
    assert f"{100 * FOUND['tv']['sex']:.2f} %" in rows[1]
    assert FOUND._repr_html_() == render_html_lines(TEXT)
    assert rows[13:15] == [
        f"  highest risk  {100 * FOUND.highest_risk:>7.2f} %  1 / smallest group",
        f"  average risk  {100 * FOUND.average_risk:>7.2f} %  "
        f"{FOUND.reidentifications} groups / records",
    ]
    assert f"; at most {100 * FOUND.linkage_limit:.2f} %" in rows[15]
    alone = str(assess_types(FRAME[["age"]], AFTER[["age"]]))
    assert "TV of pairs" not in alone
    assert "in 3 blocks; at most" in str(assess_types(FRAME, AFTER, TYPES, whole=10))


def test_plain_values_survive_json() -> None:
    plain = json.loads(FOUND.to_json())
    assert plain == FOUND.to_dict()
    assert plain["attributes"]["sex"] == {
        "kind": "nominal",
        "varies": True,
        **{name: FOUND[name]["sex"] for name in EACH},
    }
    assert {name: plain[name] for name in WHOLE} == {n: FOUND[n] for n in WHOLE}
    assert plain["n"] == 24
    assert {FOUND} == {FOUND}


def test_no_level_is_shown() -> None:
    frame = pd.DataFrame({"x": ["SECRET", "HIDDEN"] * 4, "n": [98765, 1] * 4})
    found = assess_types(frame, frame[::-1].reset_index(drop=True))
    for text in (str(found), found.to_json(), repr(found), found._repr_html_()):
        assert not re.search("SECRET|HIDDEN|98765", text)


# refusals


def expect_refusal(kind: type[AggoptError], *given: Any, **more: Any) -> str:
    with refused(kind) as caught:
        assess_types(*given, **more)
    return str(caught.value)


def test_wrong_arguments_are_refused_before_work(monkeypatch: Any) -> None:
    monkeypatch.setattr(
        "aggopt.measure._typed_pair.encode", lambda *_: pytest.fail("it worked")
    )
    expect_refusal(JobError, FRAME, AFTER, TYPES, safety=-1)
    expect_refusal(JobError, FRAME, AFTER, TYPES, whole=0)


def test_other_refusals() -> None:
    E = aggopt.encode(FRAME, TYPES)
    expect_refusal(JobError, E, AFTER, TYPES)
    expect_refusal(TableError, FRAME, AFTER.assign(age=1e200), TYPES)
    expect_refusal(TableError, FRAME, AFTER.assign(sex="SECRET"), TYPES)
    with refused(UnknownNameError, "'kapa'"):
        FOUND["kapa"]
    with pytest.raises(AttributeError, match=r"types' has no attribute 'nothing'"):
        _ = types.nothing


def test_nearness_by_chance_is_as_wide_as_it_is_asked() -> None:
    before = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    after = pd.DataFrame({"x": [1.5] * 4})
    assert types.sdid_chance(before, after) == {"x": 0.0}
    assert types.sdid_chance(before, after, safety=0.5) == {"x": 0.5}
    assert types.sdid_chance(before, after, safety=2.0) == {"x": 1.0}


# --- typed measures where a boundary, a default or a rounding decides


SCHOOL = {"school": {"order": ["low", "middle", "high"]}}
COUNT = st.integers(1, 10**5)


def named(**columns: str) -> pd.DataFrame:
    """Return a table of columns whose values are single letters."""
    return pd.DataFrame({name: list(text) for name, text in columns.items()})


def test_a_number_that_does_not_vary_is_disclosed_only_as_it_is() -> None:
    flat = pd.DataFrame({"x": [7.0] * 4})
    assert types.sdid(flat, flat.assign(x=7.04)) == {"x": 0.0}
    assert types.sdid(flat, flat) == {"x": 1.0}


def test_safety_and_blocks_of_a_measure_called_alone_are_its_own() -> None:
    school = pd.DataFrame({"school": ["low", "middle", "high"] * 2})
    lower = school.assign(school="low")
    assert types.sdid(school, lower, SCHOOL)["school"] == pytest.approx(1 / 3)
    wide = types.sdid(school, lower, SCHOOL, safety=0.5)
    assert wide["school"] == pytest.approx(2 / 3)
    assert types.linkage(school, school, SCHOOL, whole=4).blocks == 2
    assert types.linkage(school, school, SCHOOL).blocks == 1


def test_an_assessment_counts_records_and_says_in_how_many_blocks() -> None:
    school = pd.DataFrame({"school": ["low", "middle", "high"] * 2})
    found = assess_types(school, school, SCHOOL, whole=4)
    assert (found.n, found.linkage_blocks, found.safety) == (6, 2, 0.05)
    assert "in 2 blocks; at most" in str(found)
    assert "blocks" not in str(assess_types(school, school, SCHOOL))


def test_two_levels_have_an_entropy() -> None:
    assert types.ebil(named(x="ffmm"), named(x="mmmm")) == {"x": 1.0}


@given(st.lists(COUNT, min_size=2, max_size=6), st.lists(COUNT, min_size=1, max_size=6))
def test_independent_columns_leave_all_of_the_entropy(a, b) -> None:
    table = Contingency(
        sum(a) * sum(b),
        np.outer(a, b).ravel(),
        np.repeat(np.multiply(a, sum(b)), len(b)),
        np.tile(np.multiply(b, sum(a)), len(a)),
        len(a),
        len(b),
    )
    assert table.left / table.entropy == pytest.approx(1, rel=1e-12)
    assert table.left <= table.entropy


@given(st.lists(COUNT, min_size=2, max_size=6))
def test_what_is_a_function_of_another_has_no_more_than_all_of_v(counts) -> None:
    of = np.array(counts)
    table = Contingency(sum(counts), of, of, of, len(of), len(of))
    assert 1 - 1e-12 <= table.cramers_v <= 1


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 1.1, 1e9 + 0.1])
def test_equal_records_have_no_sum_of_squares(value: float) -> None:
    for n in range(2, 8):
        assert _compute_within_sse(np.full((n, 1), value), np.zeros(n, np.intp)) == 0.0


def test_what_varies_little_varies() -> None:
    light = {"x": {"weight": 0.01}}
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 3.0]})
    found = assess_types(frame, frame, light)
    assert (found.varying, found.d) == (1, 2)


def test_what_does_not_vary_has_no_coordinate_and_a_flat_table_one() -> None:
    flat = pd.DataFrame({"x": [7.0] * 4, "y": list("aaaa")})
    pair = TypedPair.of(flat, flat)
    assert [each.points[0].shape for each in pair.attributes] == [(4, 0), (4, 0)]
    assert pair.embedded.original.shape == (4, 1)
    assert {each.safety for each in pair.attributes} == {0.05}


def test_values_out_of_reach_are_refused_and_the_farthest_is_not() -> None:
    frame = pd.DataFrame({"x": [-1.0, 1.0], "y": [-1.0, 1.0]})
    assert assess_types(frame, frame.assign(x=1e100))["unchanged"]["x"] == 0.0
    with refused(TableError, "'x'", "'y'", "100"):
        assess_types(frame, frame.assign(x=1.1e100, y=-1.1e100))
