"""The assessment: the same numbers, once each, and readable."""

import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, fields, replace
from inspect import signature

import numpy as np
import pytest
from refusals import refused

from aggopt import measure
from aggopt.core.html import render_html_lines
from aggopt.errors import JobError, UnknownNameError
from aggopt.measure import (
    MEASURES,
    _correlation_error,
    _dld,
    _linkage,
    _pil,
    _reidentification,
    _sdid,
    _sl,
)
from aggopt.measure.registry import TAKEN, Heading

RNG = np.random.default_rng(0)
X = np.c_[RNG.normal(size=(30, 3)), np.ones(30)]
Y = X + 0.1 * RNG.normal(size=X.shape)


def test_equals_the_measures() -> None:
    found = measure.assess(X, Y, safety=0.1, delta=0.2, importance=[1, 2, 3, 4])
    linked = measure.linkage(X, Y)
    assert found.highest_risk == measure.highest_risk(Y)
    assert found.average_risk == measure.average_risk(Y)
    assert found.reidentifications == measure.reidentifications(Y)
    assert found.linkage == linked.share
    assert found.linkage_limit == linked.limit
    assert found.linkage_blocks == linked.blocks
    assert found.sdid_chance == measure.sdid_chance(X, Y, safety=0.1)
    assert found.sse == measure.sse(X, Y)
    assert found.sst == measure.sst(X)
    assert found.il == measure.il(X, Y)
    assert found.il1s == measure.il1s(X, Y)
    assert found.pil_parts == measure.pil_parts(X, Y)
    assert found.pil == measure.pil(X, Y)
    assert found.correlation_error == measure.correlation_error(X, Y)
    assert found.mean_correlation_error == measure.mean_correlation_error(X, Y)
    assert found.dld == measure.dld(X, Y)
    assert found.sdid == measure.sdid(X, Y, safety=0.1)
    assert found.dr == measure.dr(X, Y, safety=0.1)
    assert found.si == measure.si(X, Y, safety=0.1)
    assert found.sl == measure.sl(X, Y, delta=0.2, importance=[1, 2, 3, 4])
    assert (found.n, found.d, found.varying) == (30, 4, 3)
    assert (found.safety, found.delta) == (0.1, 0.2)


def test_prints_how_correlations_changed() -> None:
    found = measure.assess(X, Y)
    largest, mean = found.correlation_error, found.mean_correlation_error
    assert f"  Correlations  {largest:>9.6g}  largest change of one\n" in str(found)
    assert f"    on average  {mean:>9.6g}  mean change of all pairs\n" in str(found)
    alone = measure.assess(X[:, :1], Y[:, :1])
    assert "  Correlations       none  largest change" in str(alone)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (_correlation_error, "_compute_changes"),
        (_dld, "compute_dld"),
        (_linkage, "compute_linkage"),
        (_pil, "compute_pil"),
        (_sdid, "compute_sdid_chance"),
        (_sdid, "compute_sdid"),
        (_reidentification, "compute_group_sizes"),
        (_sl, "compute_sl"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_computes_each_measure_once(module, name, monkeypatch) -> None:
    calls = []
    original = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *a: (calls.append(name), original(*a))[1])
    measure.assess(X, Y)
    assert calls == [name]


def test_arguments_are_refused_before_linkage_takes_its_time(monkeypatch) -> None:
    monkeypatch.setattr(
        _linkage, "compute_linkage", lambda *_: pytest.fail("it worked")
    )
    for wrong in ({"safety": -1}, {"delta": -1.0}, {"importance": "much"}):
        with pytest.raises(JobError):
            measure.assess(X, Y, **wrong)


def test_each_figure_has_the_name_of_its_measure() -> None:
    found = measure.assess(X, Y)
    for name, method in MEASURES.items():
        if method.of is not None:
            assert found[name] == getattr(found, name)
        else:
            assert name in ("record_risk", "interval_disclosure", "range_sse")
    for name in ("n", "record_risk", "linkage_limit", "further"):
        with refused(UnknownNameError):
            found[name]


FARTHEST = measure.Measure(
    name="farthest",
    when="how far the value that moved most did",
    function=lambda original, released: float(abs(original - released).max()),
    range="0..",
    better="lower",
    source="these tests",
    of=lambda tables: float(abs(tables.pair.difference).max()),
    heading=Heading.LOSS,
    percent=False,
)


@pytest.fixture
def one_more(monkeypatch) -> None:
    monkeypatch.setitem(MEASURES._methods, "farthest", FARTHEST)


def test_the_names_of_parts_and_arguments_are_taken() -> None:
    own = {field.name for field in fields(measure.Assessment)}
    found = {name for name, m in measure.MEASURES.items() if m.of}
    assert (own - found) | set(signature(measure.assess).parameters) == TAKEN


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_a_measure_of_such_a_name_is_refused(name) -> None:
    with pytest.raises(JobError, match=f"measure is called '{name}'") as error:
        replace(FARTHEST, name=name)
    assert error.value.fix == "give it another name."


@pytest.mark.usefixtures("one_more")
def test_a_measure_that_has_no_attribute_is_shown_and_kept_by_its_name() -> None:
    found = measure.assess(X, Y)
    far = found["farthest"]
    assert found.further == (("farthest", far),)
    assert far == pytest.approx((abs(X - Y)[:, :3] / X[:, :3].std(axis=0)).max())
    assert f"  farthest      {far:>9.6g}  how far the value that" in str(found)
    assert json.loads(found.to_json())["farthest"] == far
    assert "further" not in found.to_dict()
    assert replace(found, dld=0.5)["farthest"] == far
    assert measure.farthest is FARTHEST.function


def test_a_name_that_no_measure_has_is_no_attribute() -> None:
    assert not hasattr(measure, "farthest")


def test_an_assessment_can_stand_in_a_set() -> None:
    found = measure.assess(X, Y)
    assert len({found, measure.assess(X, Y)}) == 1


def test_defaults_are_those_of_the_measures() -> None:
    found = measure.assess(X, Y)
    assert found.si == measure.si(X, Y)
    assert found.sl == measure.sl(X, Y)


def plain(found: measure.Assessment) -> dict[str, object]:
    left_out = ("further", "types", "own")
    return {name: v for name, v in asdict(found).items() if name not in left_out}


def test_plain_values_survive_json() -> None:
    found = measure.assess(X, Y)
    assert json.loads(found.to_json()) == found.to_dict() == plain(found)
    assert {type(v) for v in found.to_dict().values()} == {float, int, dict}
    lone = measure.assess(X[:, :1], Y[:, :1], delta=[0.1])
    assert json.loads(lone.to_json())["pil_parts"]["covariances"] is None
    assert json.loads(lone.to_json())["delta"] is None


def test_json_is_strict_and_can_be_read_by_people() -> None:
    found = measure.assess(X, Y)
    assert found.to_json() == json.dumps(plain(found), indent=2)
    assert json.loads(replace(found, il=np.nan).to_json())["il"] is None


@pytest.mark.parametrize(
    "of", [measure.sdid, measure.sdid_chance, measure.dr, measure.si]
)
def test_within_a_twentieth_of_a_standard_deviation_unless_said_otherwise(
    of: Callable[..., float],
) -> None:
    assert of(X, Y) == of(X, Y, safety=0.05) != of(X, Y, safety=0.06)


def test_a_notebook_shows_the_same_table() -> None:
    found = measure.assess(X, Y)
    assert found._repr_html_() == render_html_lines(str(found))


def test_prints_risks_that_others_measured_below_its_own() -> None:
    shown = measure.assess(X, Y).table([("seen", 0.25, "by all"), ("met", 1, "")])
    _, _, rest = shown.partition("by chance\n")
    assert rest.startswith(
        "  seen            25.00 %  by all\n  met            100.00 %\n\nLoss"
    )


def test_prints_as_a_table() -> None:
    result = measure.assess(
        [[0.0, 3.0], [2.0, 0.0], [4.0, 5.0], [6.0, 7.0]],
        [[1.0, 1.5], [1.0, 1.5], [5.0, 6.0], [5.0, 6.0]],
    )
    assert str(result).splitlines() == [
        "Records: 4. Attributes: 2, 2 of them vary.",
        "",
        "Risk (lower is better)",
        "  highest risk    50.00 %  1 / smallest group",
        "  average risk    50.00 %  2 groups / records",
        "  re-identified         2  records expected: sum of 1 / group size",
        "  linkage         50.00 %  one-to-one assignment; at most 50.00 %",
        "  DLD             50.00 %  records linked to the nearest",
        "  SDID             0.00 %  values within 0.05 standard deviations; "
        "0.00 % by chance",
        "",
        "Loss (lower is better)",
        "  IL              22.15 %  SSE 1.77196 / SST 8",
        "  IL1s            28.49 %  mean |difference| / (sqrt(2) S)",
        "  Correlations   0.265026  largest change of one",
        "    on average   0.265026  mean change of all pairs",
        "",
        "Figures of the literature (lower is better)",
        "  DR              25.00 %  (DLD + SDID) / 2",
        "  PIL             49.19 %  mean of the parts below",
        "    quantiles    100.00 %",
        "    means          0.00 %",
        "    variances     40.48 %",
        "    covariances   12.05 %",
        "    correlations  93.44 %",
        "  SI              37.10 %  (DR + PIL) / 2",
        "",
        "Satisfaction (higher is better)",
        "  SL             100.00 %  values at least 0.1 standard deviations away",
    ]


def test_says_in_how_many_blocks_the_records_were_linked() -> None:
    shown = str(measure.assess(X, Y, whole=20))
    assert "one-to-one assignment in 2 blocks; at most 100.00 %" in shown


def test_prints_what_is_not_there() -> None:
    shown = str(measure.assess(X[:, :1], Y[:, :1], delta=[0.1]))
    assert "    correlations     none\n" in shown
    assert shown.endswith(" %  values at the distance asked for")


def test_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        measure.assess(X, Y).dld = 0.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        measure.linkage(X, Y).share = 0.0  # type: ignore[misc]
