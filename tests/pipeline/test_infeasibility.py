"""What is said where all records form one group, to the word."""

from types import SimpleNamespace

import numpy as np
import pytest

from aggopt.job import Privacy
from aggopt.pipeline.validate import privacy_guarantees
from aggopt.pipeline.validate.infeasibility import explain_single_group
from aggopt.privacy.ordered_attribute import Ordered


def closeness(name):
    distance = Ordered.of(np.array([1.0, 2.0, 3.0, 4.0]))
    return SimpleNamespace(attribute=name, distance=distance, trivial=False)


@pytest.fixture
def two(monkeypatch):
    """Two attributes, of which the first needs the larger t; what each reaches."""
    reach = {}
    held = [closeness("pay"), closeness("debt")]

    def reachable(distance, k, groups):
        assert (k, groups) == (3, 2)
        return reach[next(e.attribute for e in held if e.distance is distance)]

    monkeypatch.setattr(privacy_guarantees, "list_requirements", lambda held: held)
    monkeypatch.setattr(privacy_guarantees, "Closeness", SimpleNamespace)
    monkeypatch.setattr("aggopt.repair.feasibility.find_reachable", reachable)
    reach["pay"] = SimpleNamespace(t=0.25, bound=0.0)
    reach["debt"] = SimpleNamespace(t=0.125, bound=0.5)
    return held, reach


def test_the_attribute_that_needs_most_is_named(two):
    held, reach = two
    found = explain_single_group(held, Privacy(k=3, t=0.1, l=2, repair="merge"))
    assert found.problem == (
        "To keep t = 0.1 and l = 2, all records form one group. Two groups of 3 "
        "records or more are at t = 0.25 for 'pay' (aggopt.repair.smallest_t)."
    )
    assert found.fix == "promise a larger t under [privacy], above 0.25."
    reach["debt"] = SimpleNamespace(t=0.5, bound=0.5)
    found = explain_single_group(held, Privacy(k=3, t=0.1, repair="merge"))
    assert found.problem == (
        "To keep t = 0.1, all records form one group. At the least, two groups of 3 "
        "records or more are at t = 0.5 for 'debt' (aggopt.repair.smallest_t)."
    )
    assert found.fix == "promise a larger t under [privacy], above 0.5."


def test_another_repair_is_named_where_one_attribute_has_two_such_groups(two):
    held, _ = two
    enough = Privacy(k=3, t=0.25, repair="merge")
    assert explain_single_group(held[:1], enough).fix == (
        'try repair = "sweep" under [privacy], or promise a larger t under [privacy].'
    )
    assert (
        explain_single_group(held, enough).fix == "promise a larger t under [privacy]."
    )
    held[0].trivial = held[1].trivial = True
    assert explain_single_group(held, enough) is None
