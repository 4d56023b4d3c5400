"""What partition methods say of themselves is so: none needs a line here."""

from inspect import signature
from typing import get_args

import numpy as np
import pytest
from tables import people

import aggopt
from aggopt import Job, partition
from aggopt.partition import (
    PARTITIONERS,
    Partition,
    in_blocks,
    local_search,
    loss_bound,
)
from aggopt.partition.registry import (
    AttributeUse,
    Bound,
    ConfidentialUse,
    list_block_methods,
    list_initial_methods,
    list_inner_methods,
)
from aggopt.privacy import distinct_l, t_closeness

RNG = np.random.default_rng(11)
X = RNG.normal(size=(24, 3))
WAGE = RNG.permutation(24).astype(float)
ASKED = {"k": 3, "l": 2, "t": 0.3}
COMMON = {"method", "attributes", "weights", "bound"}  # of jobs, whatever the method


def made(name):
    """Return the groups that a method makes, of what it takes."""
    method = PARTITIONERS[name]
    given = [X[:, 0] if method.takes is AttributeUse.ONE else X]
    if method.confides is not ConfidentialUse.NONE:
        given.append(WAGE)
    asked = {kind: ASKED[kind] for kind in method.guarantees}
    return method.function(*given, **asked)


@pytest.mark.parametrize("name", PARTITIONERS)
def test_it_returns_a_partition_that_keeps_what_it_guarantees(name):
    found, method = made(name), PARTITIONERS[name]
    assert isinstance(found, Partition)
    assert found.shape == (X.shape if method.takes is AttributeUse.EACH else (24,))
    sizes = found.sizes
    assert sizes[sizes > 0].min() >= ASKED["k"]
    if "l" in method.guarantees:
        assert distinct_l(found, WAGE) >= ASKED["l"]
    if "t" in method.guarantees:
        assert t_closeness(found, WAGE) <= ASKED["t"]


@pytest.mark.parametrize("name", PARTITIONERS)
def test_its_bound_is_what_it_says(name):
    certificate = made(name).certificate
    assert certificate.bound <= certificate.objective
    if PARTITIONERS[name].guarantees & {"t", "l"}:
        assert loss_bound(X, 3, bound="none") <= certificate.bound
    elif PARTITIONERS[name].bound is Bound.PAIRS:
        assert certificate.bound == pytest.approx(loss_bound(X, 3))
    elif PARTITIONERS[name].bound is Bound.OWN:
        assert certificate.gap <= 1e-6


@pytest.mark.parametrize("name", PARTITIONERS)
def test_its_settings_are_arguments_with_the_same_defaults(name):
    method = PARTITIONERS[name]
    takes = signature(method.function).parameters
    for key, field in method.settings.model_fields.items():
        if key in COMMON:
            continue
        default = takes[key].default
        stated = field.get_default(call_default_factory=True)
        assert default in (None, stated), key


@pytest.mark.parametrize("name", PARTITIONERS)
def test_it_goes_by_its_name_everywhere(name):
    method = PARTITIONERS[name]
    assert getattr(partition, name) is method.function
    assert method.function.__name__ == name
    assert name in dir(partition)
    (literal,) = get_args(method.settings.model_fields["method"].annotation)
    assert literal == name
    assert method.when
    assert not method.when.endswith(".")


@pytest.mark.parametrize("name", list_block_methods())
def test_a_job_masks_by_it(name):
    roles = {"identifier": ["name"], "quasi-identifier": ["age"]}
    frame = people(30)[["name", "age"]]
    release = aggopt.mask(frame, Job(**asked(roles, name)))
    assert release.audit.smallest >= 3
    assert release.job.partition.method == name


def asked(roles, name):
    return {"roles": roles, "privacy": {"k": 3}, "partition": {"method": name}}


@pytest.mark.parametrize("name", list_block_methods())
def test_blocks_are_partitioned_by_it(name):
    found = in_blocks(X, 3, [[0], [1], [2]], method=name)
    same = in_blocks(X, 3, [[0], [1], [2]], method=PARTITIONERS[name].function)
    assert found.sizes[found.sizes > 0].min() >= 3
    assert (found == same).all()


def test_those_that_others_begin_with_take_records_as_they_are():
    for name in {*list_initial_methods(), *list_inner_methods()}:
        assert "scale" in signature(PARTITIONERS[name].function).parameters
    for name in list_initial_methods():
        first = PARTITIONERS[name].function(X, 3)
        assert local_search(X, 3, initial=name, time_limit=0).loss <= first.loss + 1e-9


def test_what_is_no_method_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'mdva'"):
        _ = partition.mdva
    assert {"Partition", "in_blocks", "recommend"} <= set(partition.__all__)
