"""The assessment of tables with attributes of any types: all of them count."""

import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from encoding.mixed import TYPES, table
from measure.test_types import CATEGORIES, released
from refusals import refused

from aggopt import encode, measure
from aggopt.core.html import render_html_lines
from aggopt.errors import JobError, UnknownNameError
from aggopt.measure import (
    WHOLE,
    TypedPilParts,
    _dld,
    _linkage,
    assess,
    assess_types,
    correlation_error,
    mean_correlation_error,
)
from aggopt.measure.registry import TypedComparison
from aggopt.measure.types import TYPED
from aggopt.measure.types import frequencies as _frequencies

BEFORE = table(24, seed=7)
AFTER = released(BEFORE, 3, seed=7)
FOUND = assess(BEFORE, AFTER, TYPES)
BY_HAND = (
    pd.DataFrame({"age": [20, 30, 60, 70], "sex": list("ffmm"), "wed": list("yyny")}),
    pd.DataFrame({"age": [25, 25, 65, 65], "sex": list("ffmm"), "wed": list("yyyy")}),
)


def test_what_it_has_by_attribute_is_what_assess_types_finds() -> None:
    assert FOUND.types == assess_types(BEFORE, AFTER, TYPES)


def test_figures_of_the_whole_are_of_all_attributes() -> None:
    types = FOUND.types
    assert FOUND.linkage == types["linkage"]
    assert FOUND.dld == types["dld"]
    assert FOUND.il == types["embedded_il"] == FOUND.sse / FOUND.sst
    assert FOUND.sse / 24 == types["distance"]
    assert FOUND.sdid == np.mean([*types["sdid"].values()])
    assert FOUND.sdid_chance == np.mean([*types["sdid_chance"].values()])
    assert FOUND.dr == (FOUND.dld + FOUND.sdid) / 2
    assert FOUND.si == (FOUND.dr + FOUND.pil) / 2
    risks = ("highest_risk", "average_risk", "reidentifications")
    for name in (
        *risks,
        "linkage_limit",
        "linkage_blocks",
        "n",
        "d",
        "varying",
        "safety",
    ):
        assert getattr(FOUND, name) == getattr(types, name)
    assert (FOUND.d, FOUND.varying) == (5, 5)


def test_figures_of_numbers_are_those_of_the_numbers() -> None:
    alone = assess(BEFORE[["age"]], AFTER[["age"]])
    assert (FOUND.il1s, FOUND.sl) == (alone.il1s, alone.sl)
    assert FOUND.correlation_error == alone.correlation_error
    parts = FOUND.pil_parts
    assert isinstance(parts, TypedPilParts)
    for name in ("quantiles", "means", "variances", "covariances", "correlations"):
        assert getattr(parts, name) == getattr(alone.pil_parts, name)
    levels = np.mean([FOUND.types["pil"][name] for name in CATEGORIES])
    assert parts.levels == pytest.approx(levels)
    assert parts.pairs == FOUND.types["two_way_pil"]
    there = (parts.quantiles, parts.means, parts.variances, parts.levels, parts.pairs)
    assert FOUND.pil == parts.pil == pytest.approx(np.mean(there))


def test_by_hand() -> None:
    """Two pairs whose ages become their means; one record's wedding is not its own."""
    found = assess(*BY_HAND)
    assert (found.highest_risk, found.average_risk) == (0.5, 0.5)
    assert (found.linkage, found.linkage_limit, found.dld) == (0.5, 0.5, 0.5)
    assert found.sdid == pytest.approx((0 + 1 + 3 / 4) / 3)
    assert found.sdid_chance == pytest.approx((0 + 1 / 2 + 3 / 4) / 3)
    # 25 / 425 of the ages' variance; of weddings one record of four, against 3/4
    assert found.il == pytest.approx((25 / 425 + 0 + 1 / (3 / 4)) / 3)
    assert found.sst == pytest.approx(12)
    assert found.types["kappa"] == {"age": None, "sex": 1.0, "wed": 0.0}
    assert found.types["tv"]["wed"] == found.types["two_way"] == 0.25
    assert found.sl == 1.0
    assert measure.assess(*BY_HAND, delta=0.3).sl == 0.0
    assert measure.assess(*BY_HAND, safety=0.3).sdid == pytest.approx(
        (1 + 1 + 0.75) / 3
    )


def test_tables_of_every_kind_are_measured_alike() -> None:
    for kind in (pl.from_pandas, pa.Table.from_pandas):
        assert assess(kind(BEFORE), kind(AFTER), TYPES) == FOUND
    assert assess(encode(BEFORE, TYPES), AFTER) == FOUND


def test_numbers_have_types_only_where_these_are_asked_for() -> None:
    X, Y = BEFORE[["age"]], AFTER[["age"]].astype(float)
    plain = assess(X, Y)
    assert plain.types is None
    assert assess(X.to_numpy(), Y.to_numpy()) == plain
    assert assess(pl.from_pandas(X), pl.from_pandas(Y)) == plain
    flags = np.array([[True], [False], [True]])
    assert assess(flags, flags).types is None
    assert assess(X.to_numpy().tolist(), Y.to_numpy().tolist()) == plain
    twice = pd.concat([X, X], axis=1)  # whose names no table of names has
    assert assess(twice, twice).types is None
    asked = assess(X, Y, {})
    assert list(asked.types.kinds.values()) == ["numeric"]
    assert asked.types["il"]["age"] == pytest.approx(plain.il)
    for name in ("dld", "linkage", "sdid", "sdid_chance", "pil", "il", "sl", "il1s"):
        assert asked[name] == pytest.approx(plain[name])
    assert (asked.pil_parts.levels, asked.pil_parts.pairs) == (None, None)
    assert assess(encode(X), Y) == asked


def test_correlations_are_those_of_the_numbers() -> None:
    more = [f.assign(pay=f["age"] ** 2 + i) for i, f in enumerate((BEFORE, AFTER))]
    alone = [frame[["age", "pay"]] for frame in more]
    found = assess(*more, TYPES)
    assert found.correlation_error == correlation_error(*alone) > 0
    assert found.mean_correlation_error == mean_correlation_error(*alone)
    assert "  Correlations " in str(found)
    assert "  largest change of one, of the numbers" in str(found)
    assert "  mean change of all pairs, of the numbers" in str(found)


def test_truth_values_and_text_are_names() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [True, False, True]})
    assert assess(frame, frame).types.kinds == {"x": "numeric", "y": "nominal"}


def test_names_alone_have_no_figures_of_numbers() -> None:
    found = assess(*(frame[["sex", "wed"]] for frame in BY_HAND))
    assert (found.il1s, found.sl) == (None, None)
    assert found.correlation_error is None
    assert found.mean_correlation_error is None
    parts = found.pil_parts
    assert (parts.quantiles, parts.means, parts.variances) == (None, None, None)
    assert found.pil == pytest.approx((parts.levels + parts.pairs) / 2)
    assert "  IL1s               none  mean" in str(found)
    assert "  SL                 none  values" in str(found)
    assert json.loads(found.to_json())["sl"] is None
    one = assess(*(frame[["sex"]] for frame in BY_HAND))
    assert (one.pil_parts.pairs, one.pil) == (None, one.pil_parts.levels)


def test_a_number_that_does_not_vary_has_no_distance_to_keep() -> None:
    flat = [frame.assign(age=7) for frame in BY_HAND]
    found = assess(*flat, delta=np.full((4, 1), 0.1))
    assert (found.sl, found.il1s, found.varying) == (None, None, 2)
    assert found.sdid == pytest.approx((1 + 3 / 4) / 2)


def test_distances_are_asked_of_each_number() -> None:
    before = BY_HAND[0].assign(height=[1.0, 2.0, 3.0, 4.0])
    after = BY_HAND[1].assign(height=[1.0, 2.0, 3.0, 4.0])
    found = assess(before, after, delta=[0.1, 0.0], importance=[1.0, 3.0])
    assert (found.sl, found.delta) == (1.0, None)
    assert assess(before, after, delta=0.1, importance=[1.0, 3.0]).sl == 0.25


def test_a_comparison_has_the_defaults_of_assess() -> None:
    made = TypedComparison.of(*BY_HAND)
    assert (made.safety, made.delta, made.importance, made.whole) == (
        0.05,
        0.1,
        1.0,
        WHOLE,
    )
    assert {pair.safety for pair in made.typed.attributes} == {0.05}
    assert (FOUND.safety, FOUND.delta) == (0.05, 0.1)


def test_a_comparison_keeps_the_safety_it_is_given() -> None:
    made = TypedComparison.of(*BY_HAND, safety=0.3)
    assert made.safety == 0.3
    assert {pair.safety for pair in made.typed.attributes} == {0.3}


def test_weights_that_are_given_count() -> None:
    types = {"sex": {"weight": 9.0}}
    heavy, even = assess(*BY_HAND, types), assess(*BY_HAND)
    assert heavy.types["il"] == pytest.approx(even.types["il"])
    assert heavy.il == pytest.approx(3 * even.il / 11)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (_linkage, "compute_linkage"),
        (_dld, "compute_dld"),
        (_frequencies, "_count_cells"),
    ],
)
def test_each_is_computed_once(module: Any, name: str, monkeypatch: Any) -> None:
    calls, real = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *a: (calls.append(name), real(*a))[1])
    assess(BEFORE, AFTER, TYPES)
    assert calls == [name]


def test_arguments_are_refused_before_work(monkeypatch: pytest.MonkeyPatch) -> None:
    never = lambda *_: pytest.fail("it worked")  # noqa: E731
    monkeypatch.setattr("aggopt.measure._typed_pair.encode", never)
    for wrong in ({"safety": -1}, {"whole": 0}):
        with pytest.raises(JobError):
            assess(BEFORE, AFTER, TYPES, **wrong)
    monkeypatch.undo()
    monkeypatch.setattr(_linkage, "compute_linkage", never)
    for wrong in ({"delta": -1.0}, {"importance": "much"}):
        with pytest.raises(JobError):
            assess(BEFORE, AFTER, TYPES, **wrong)
    one = assess  # of names alone a single number is nothing to refuse
    monkeypatch.undo()
    assert one(*(f[["sex"]] for f in BY_HAND), delta=[0.2], importance=[2]).sl is None


def test_each_figure_by_its_name() -> None:
    assert FOUND["il"] == FOUND.il
    assert FOUND.types["il"]["age"] != FOUND.il
    with refused(UnknownNameError):
        FOUND["types"]


def test_it_is_equal_hashed_and_pickled_by_its_figures() -> None:
    again = assess(BEFORE, AFTER, TYPES)
    assert again == FOUND
    assert len({again, FOUND}) == 1
    assert pickle.loads(pickle.dumps(FOUND)) == FOUND
    assert replace(FOUND, types=None) != FOUND
    assert assess(BEFORE, BEFORE, TYPES) != FOUND


def test_plain_values_have_a_map_for_each_attribute() -> None:
    plain = FOUND.to_dict()
    assert json.loads(FOUND.to_json()) == plain
    assert list(plain["attributes"]) == list(BEFORE)
    assert plain["attributes"]["sex"]["kappa"] == FOUND.types["kappa"]["sex"]
    assert plain["il"] == FOUND.il
    assert plain["pil_parts"]["levels"] == FOUND.pil_parts.levels
    assert plain["cramers_v"] == FOUND.types["cramers_v"]
    assert not {"types", "further"} & set(plain)
    assert (
        list(plain)[:4] == list(assess(BEFORE[["age"]], AFTER[["age"]]).to_dict())[:4]
    )


def test_prints_a_row_for_each_attribute_and_each_figure_once() -> None:
    assert str(assess(*BY_HAND)).splitlines() == SHOWN
    assert FOUND._repr_html_() == render_html_lines(str(FOUND))
    more = assess(*BY_HAND).table([("seen", 0.25, "by all")])
    assert "75 % by chance\n  seen            25.00 %  by all\n\nLoss" not in more
    assert "  seen            25.00 %  by all\n\nLoss" in more


SHOWN = [
    "Records: 4. Attributes: 3, 3 of them vary.",
    "",
    "Attribute  kind     IL        within   EBIL      TV       PIL",
    "age        numeric  5.88 %    5.88 %",
    "sex        nominal  0.00 %    0.00 %   0.00 %    0.00 %   0.00 %",
    "wed        nominal  133.33 %  66.67 %  100.00 %  25.00 %  75.18 %",
    "",
    "Attribute  kind     unchanged  kappa  true      SDID      by chance",
    "age        numeric  0.00 %                      0.00 %    0.00 %",
    "sex        nominal  100.00 %   1      100.00 %  100.00 %  50.00 %",
    "wed        nominal  75.00 %    0      75.00 %   75.00 %   75.00 %",
    "",
    "Risk (lower is better)",
    "  highest risk    50.00 %  1 / smallest group",
    "  average risk    50.00 %  2 groups / records",
    "  re-identified         2  records expected: sum of 1 / group size",
    "  linkage         50.00 %  one-to-one assignment; at most 50.00 %",
    "  DLD             50.00 %  records linked to the nearest",
    "  SDID            58.33 %  values within 0.05 standard deviations, or level"
    "s as near; 41.67 % by chance",
    "",
    "Loss (lower is better)",
    "  IL              46.41 %  SSE 5.56863 / SST 12",
    "  IL1s            14.85 %  mean |difference| / (sqrt(2) S), of the numbers",
    "  Correlations       none  largest change of one, of the numbers",
    "    on average       none  mean change of all pairs, of the numbers",
    "  within          24.18 %  how much the groups lose, of all attributes",
    "  distance          1.392  how far records are from what is released for them",
    "",
    "Tables of two attributes that are no numbers",
    "  TV of pairs     25.00 %  TV of the tables of two attributes, mean over pairs",
    "  PIL of pairs    50.12 %  PIL of the tables of two attributes, mean over pairs",
    "  change of V      0.5774  change of Cramer's V of two attributes, mean ove"
    "r pairs",
    "  MI ratio              0  mutual information, released over original, sums"
    " over pairs",
    "",
    "Figures of the literature (lower is better)",
    "  DR              54.17 %  (DLD + SDID) / 2",
    "  PIL             41.49 %  mean of the parts below",
    "    quantiles    100.00 %",
    "    means          0.00 %",
    "    variances     19.74 %",
    "    covariances      none",
    "    correlations     none",
    "    levels        37.59 %",
    "    pairs         50.12 %",
    "  SI              47.83 %  (DR + PIL) / 2",
    "",
    "Satisfaction (higher is better)",
    "  SL             100.00 %  values at least 0.1 standard deviations away, of"
    " the numbers",
]


def test_what_a_table_of_numbers_prints_has_no_empty_section() -> None:
    text = str(assess(BEFORE[["age"]], AFTER[["age"]]))
    assert "Tables of two" not in text
    assert "Attribute " not in text
    assert "of the numbers" not in text


def test_every_figure_of_the_table_is_shown_somewhere() -> None:
    headed = {name for name, m in TYPED.items() if m.heading and m.of_table}
    as_numbers = {"linkage", "dld", "embedded_il"}
    assert headed | as_numbers == {name for name, m in TYPED.items() if m.of_table}
    assert all(m.heading for m in TYPED.values() if m.by_attribute)
