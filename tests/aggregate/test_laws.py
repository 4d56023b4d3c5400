"""Laws of every aggregation: a new one is found by its file and judged here."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from aggopt import aggregate
from aggopt.aggregate import AGGREGATORS, Aggregation, mean
from aggopt.core.standardise import Scale
from aggopt.errors import JobError, TableError

rng = np.random.default_rng(13)
X = rng.gamma(2.0, size=(24, 3)) * [1.0, 500.0, 0.01]
X[:, 2] = 7.1
LABELS = rng.permutation(np.arange(24) // 4)
KEEP = [{"keep": "variance"}, {"keep": "covariance"}]
FURTHER = {"mean": KEEP}  # settings that change what is returned
CASES = [
    pytest.param(name, further, id="-".join([name, *further.values()]))
    for name in AGGREGATORS
    for further in ({}, *FURTHER.get(name, []))
]
cases = pytest.mark.parametrize(("name", "further"), CASES)


def squared(z: np.ndarray, published: np.ndarray) -> float:
    return sum((a - b) ** 2 for a, b in zip(z, published, strict=True))


def absolute(z: np.ndarray, published: np.ndarray) -> float:
    return sum(abs(a - b) for a, b in zip(z, published, strict=True))


APART = [case for case in CASES if case.values[1].get("keep") != "covariance"]
by_itself = pytest.mark.parametrize(("name", "further"), APART)
OBJECTIVES = {"mean": squared, "median": absolute}  # of those without a model


def section(name: str, further: dict[str, Any]) -> Any:
    return AGGREGATORS[name].settings(method=name, **further)


def aggregated(name: str, further: dict[str, Any]) -> Callable[..., Aggregation]:
    settings = section(name, further).settings
    return lambda X, labels: AGGREGATORS[name].function(X, labels, **settings)


def test_every_public_aggregation_is_found_and_has_an_objective_to_be_judged_by():
    public = {
        value
        for value in vars(aggregate).values()
        if inspect.isfunction(value) and value.__annotations__["return"] is Aggregation
    }
    assert public == {method.function for method in AGGREGATORS.values()}
    judged = {name for name, method in AGGREGATORS.items() if method.model}
    assert judged | set(OBJECTIVES) == set(AGGREGATORS)


@pytest.mark.parametrize("name", AGGREGATORS)
def test_it_says_of_itself_what_others_derive(name):
    method = AGGREGATORS[name]
    assert method.function.__name__ == name
    assert getattr(aggregate, name) is method.function
    assert method.when
    assert not method.when.endswith(".")
    assert method.certificate
    taken = inspect.signature(method.function).parameters
    assert set(section(name, {}).settings) <= set(taken)


@cases
def test_one_value_for_a_group_and_attribute(name, further):
    masked = aggregated(name, further)(X, LABELS)
    assert masked.centroids.shape == (6, 3)
    assert (masked.values == masked.centroids[LABELS]).all()
    assert np.isfinite(masked.values).all()


@cases
def test_units_and_origin_do_not_matter(name, further):
    of = aggregated(name, further)
    there = of(X * 8 + [64.0, -2.0, 0.0], LABELS).values
    assert there == pytest.approx(of(X, LABELS).values * 8 + [64.0, -2.0, 0.0], 1e-6)


@cases
def test_the_order_of_records_and_the_numbers_of_groups_do_not_matter(name, further):
    of, order = aggregated(name, further), rng.permutation(24)
    values = of(X, LABELS).values
    assert of(X[order], LABELS[order]).values == pytest.approx(values[order], 1e-6)
    renamed = np.array([3, 5, 0, 1, 4, 2])[LABELS]
    assert of(X, renamed).values == pytest.approx(values, 1e-6)


@by_itself
def test_each_attribute_is_aggregated_by_itself(name, further):
    of = aggregated(name, further)
    values = of(X, LABELS).values
    assert of(X[:, [1, 2, 0]], LABELS).values == pytest.approx(values[:, [1, 2, 0]])
    assert of(X[:, [0]], LABELS).values == pytest.approx(values[:, [0]])


@cases
def test_it_keeps_what_its_settings_say(name, further):
    values, keeps = aggregated(name, further)(X, LABELS).values, section(name, further)
    assert keeps.keeps <= {"mean", "variance", "covariance"}
    if "mean" in keeps.keeps:
        assert values.mean(axis=0) == pytest.approx(X.mean(axis=0))
    if "variance" in keeps.keeps:
        assert values.std(axis=0) == pytest.approx(X.std(axis=0))
    if "covariance" in keeps.keeps:
        assert np.cov(values.T) == pytest.approx(np.cov(X.T), rel=1e-9)


def test_what_is_kept_is_said():
    said = {c.id: section(*c.values).keeps for c in CASES if c.values[0] in OBJECTIVES}
    both = {"mean", "variance"}
    assert said == {
        "mean": {"mean"},
        "mean-variance": both,
        "mean-covariance": {*both, "covariance"},
        "median": set(),
    }


@cases
def test_a_constant_attribute_is_kept_to_the_last_bit(name, further):
    masked = aggregated(name, further)(X, LABELS)
    assert (masked.values[:, 2] == 7.1).all()
    assert proof_of(masked, 2).objective == 0


def proof_of(masked: Aggregation, j: int) -> Any:
    """Return the certificate that attribute j has a part in."""
    return next(c for own, c in masked.named("012").items() if str(j) in own)


def test_the_objective_of_all_is_the_sum_of_what_each_loses():
    masked = mean(X, LABELS, keep="covariance")
    scale = Scale.of(X)
    Z, published = scale.standardise(X), scale.standardise(masked.values)
    assert proof_of(masked, 0) is proof_of(masked, 1)
    assert proof_of(masked, 0).objective == pytest.approx(((Z - published) ** 2).sum())


@by_itself
def test_the_objective_is_that_of_the_values_and_the_bound_is_below(name, further):
    masked = aggregated(name, further)(X, LABELS)
    scale, method = Scale.of(X), AGGREGATORS[name]
    Z, published = scale.standardise(X), scale.standardise(masked.values)
    for j in (0, 1):
        certificate = masked.certificates[j]
        if method.model is None:
            found = OBJECTIVES[name](Z[:, j], published[:, j])
        else:
            found = by_model(method.model, Z[:, j], scale.standardise(masked.centroids))
        assert certificate.objective == pytest.approx(found, rel=1e-6, abs=1e-6)
        assert certificate.bound <= certificate.objective
        assert certificate.gap < 1e-5
        assert certificate.status.value == "optimal"


def by_model(model: Any, z: np.ndarray, centroids: np.ndarray) -> float:
    """The model's own objective, with the wishes that are asked by default."""
    importance = 1.0 if model.name == "satisfaction" else 0.001
    weight = 1.0 if model.name == "satisfaction" else 0.5
    wishes = np.full(24, 0.1), np.full(24, importance)
    data = model.data(z, LABELS, *wishes, weight)
    j = int(np.argmin([abs(data.means - c).sum() for c in centroids.T]))
    return model.objective(data, model.point(data, centroids[:, j].copy()))


@cases
def test_what_cannot_be_aggregated_is_refused(name, further):
    of = aggregated(name, further)
    holed = X.copy()
    holed[3, 1] = np.nan
    with pytest.raises(TableError, match="missing or infinite"):
        of(holed, LABELS)
    with pytest.raises(JobError, match="skip a group number"):
        of(X, LABELS * 2)
    with pytest.raises(JobError, match=r"labels have shape \(23,\)"):
        of(X, LABELS[1:])


def test_a_name_that_no_aggregation_has_is_no_attribute():
    assert not hasattr(aggregate, "mode")
