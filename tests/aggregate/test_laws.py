"""Every aggregation obeys the laws of `aggopt.checks`, and its objective is true."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from aggopt import aggregate
from aggopt.aggregate import AGGREGATORS, Aggregation, mean
from aggopt.checks import parametrize_with_checks
from aggopt.core.standardise import Scale

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


@parametrize_with_checks(
    *AGGREGATORS.values(), *(partial(mean, **further) for further in KEEP)
)
def test_laws(check):
    check()


def test_every_public_aggregation_is_found_and_has_an_objective_to_be_judged_by():
    public = {
        value
        for value in vars(aggregate).values()
        if inspect.isfunction(value) and value.__annotations__["return"] is Aggregation
    }
    public.remove(aggregate.by_model)  # of a model of the user's
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


def test_what_is_kept_is_said():
    said = {c.id: section(*c.values).keeps for c in CASES if c.values[0] in OBJECTIVES}
    both = {"mean", "variance"}
    assert said == {
        "mean": {"mean"},
        "mean-variance": both,
        "mean-covariance": {*both, "covariance"},
        "median": set(),
    }


def test_the_objective_of_all_is_the_sum_of_what_each_loses():
    masked = mean(X, LABELS, keep="covariance")
    scale = Scale.of(X)
    Z, published = scale.standardise(X), scale.standardise(masked.values)
    own = {
        of: proof
        for names, proof in masked.name_certificates("012").items()
        for of in names
    }
    assert own["0"] is own["1"]
    assert own["0"].objective == pytest.approx(((Z - published) ** 2).sum())


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


def test_a_name_that_no_aggregation_has_is_no_attribute():
    assert not hasattr(aggregate, "mode")
