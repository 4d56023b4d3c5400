"""What each privacy model makes of its keys and of an attribute."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from refusals import refused

from aggopt.core.section import Section
from aggopt.errors import JobError
from aggopt.privacy.exact_order import Numbers
from aggopt.privacy.model import REQUIREMENTS, PrivacyModel, require_distinct_keys
from aggopt.privacy.nested import Nested

CODES = np.array([0, 1, 2, 3, 0])


@dataclass
class Given:
    """An attribute of five records, as a table and a job would give it."""

    treatment: object
    name: str = "pay"
    codes: np.ndarray = field(default_factory=CODES.copy)

    def levels(self):
        return self.codes // 2

    def distance(self):
        return Nested.equal(self.codes)

    def numbers(self):
        return Numbers.of([1, 2, 3, 4], self.codes)


def made(name, treatment=None, **keys):
    model = REQUIREMENTS[name]
    given = Given(treatment or model.treatment())
    return model.requirement(given, model.settings(**keys)), given


@pytest.mark.parametrize("name", ["l", "t", "p", "proximity", "dissimilarity"])
def test_nothing_is_made_of_what_is_not_asked_for(name):
    with pytest.raises(ValueError, match=f"^No {name} is required.$"):
        made(name)


def test_l_is_of_values_or_of_levels():
    found, given = made("l", l=3, diversity="recursive", c=2.5)
    assert (found.attribute, found.required_l, found.kind) == ("pay", 3, "recursive")
    assert (found.c, found.values, found.n) == (2.5, None, 5)
    assert found.codes is given.codes
    levels, _ = made("l", REQUIREMENTS["l"].treatment(levels=2), l=2)
    assert levels.codes.tolist() == [0, 0, 1, 1, 0]
    assert (levels.values, levels.kind, levels.c) == (4, "distinct", None)


def test_l_and_its_keys():
    model = REQUIREMENTS["l"]
    for keys in ({"l": 2, "diversity": "recursive"}, {"l": 2, "c": 2.0}):
        with pytest.raises(ValueError, match=r"^diversity = .recursive. and c go tog"):
            model.check(model.settings(**keys))
    both = model.settings(l=2, diversity="recursive", c=2.0)
    model.check(both)
    entropy = model.settings(l=2, diversity="entropy")
    model.check(entropy)
    assert model.sense(entropy, []) == "in the sense of entropy diversity"
    assert (model.simple(entropy, []), model.simple(both, [])) == (True, False)


def test_t_has_the_distance_of_the_attribute():
    model = REQUIREMENTS["t"]
    treatments = [model.treatment(distance=d) for d in ("equal", "ordered", "equal")]
    found, _ = made("t", treatments[0], t=0.25)
    assert (found.attribute, found.t, found.kind, found.n) == ("pay", 0.25, "equal", 5)
    assert isinstance(found.distance, Nested)
    asked = model.settings(t=0.25)
    assert model.sense(asked, treatments) == "by the equal and ordered distance"
    assert model.simple(asked, treatments[1:2])
    assert not model.simple(asked, treatments)


def test_p_proximity_and_dissimilarity():
    p, given = made("p", p=3)
    assert (p.attribute, p.p, p.n, p.required) == ("pay", 3, 5, 3.0)
    assert p.codes is given.codes
    near, _ = made("proximity", proximity={"epsilon": 0.1, "m": 2, "relative": True})
    assert (near.attribute, near.epsilon, near.m) == ("pay", Fraction(1, 10), 2)
    assert (near.relative, near.n, near.required) == (True, 5, 2.0)
    far, _ = made(
        "dissimilarity", dissimilarity={"epsilon": {"pay": 0.1}, "delta": 0.3}
    )
    assert (far.attribute, far.epsilon) == ("pay", Fraction(1, 10))
    assert (far.delta, far.n, far.required) == (Fraction(3, 10), 5, 0.3)
    assert far.numbers.values == near.numbers.values == (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("name", "more"), [("proximity", {"m": 2}), ("dissimilarity", {"delta": 0.5})]
)
def test_an_attribute_without_its_epsilon_is_refused(name, more):
    with refused(JobError):
        made(name, **{name: {"epsilon": {"age": 1.0}, **more}})


def test_a_model_that_says_nothing_more_is_simple():
    model = REQUIREMENTS["p"]
    asked = model.settings(p=2)
    assert model.check(asked) is None
    assert model.simple(asked, []) is True
    assert model.sense(asked, []) == ""


def test_limits_of_closeness_and_what_it_keeps():
    found, _ = made("t", REQUIREMENTS["t"].treatment(distance="equal"), t=0.5)
    assert found.limits.tolist() == Nested.equal(CODES).limits(0.5).tolist()
    assert found.describe_kept(0.25) == "t of at least 0.25, rounded up"
    assert not found.trivial


def test_a_tree_may_be_left_out():
    treatment = REQUIREMENTS["t"].treatment
    assert treatment(tree={"a": ["x", "y"]}).tree == {"a": ["x", "y"]}
    assert treatment(tree=None).tree is None


def test_a_model_that_nothing_would_audit_is_refused_as_it_is_declared():
    with refused(JobError):
        PrivacyModel(name="alpha", when="never", rank=35, settings=Section)


def test_a_model_owns_the_key_of_its_name_and_those_of_its_settings():
    class Keys(Section):
        beta: float = 1.0

    made = PrivacyModel(
        name="alpha",
        when="never",
        rank=35,
        settings=Keys,
        requirement=REQUIREMENTS["t"].requirement,
    )
    assert made.keys == {"alpha", "beta"}
    of_records = PrivacyModel(name="k", when="always", rank=1, settings=Section)
    assert of_records.requirement is None


class _Shared(Section):
    range: int = 1


class _Alone(Section):
    range: int = 2


def _reading(name: str, section: type[Section]) -> PrivacyModel:
    return PrivacyModel(
        name=name,
        when="",
        settings=Section,
        treatment=section,
        requirement=lambda of, asked: None,
    )


def test_two_models_do_not_read_one_key_of_an_attribute_differently():
    first, other = _reading("first", _Shared), _reading("other", _Alone)
    require_distinct_keys([first, _reading("same", _Shared)], {"missing"})
    require_distinct_keys(REQUIREMENTS.values(), {"missing"})
    with refused(JobError, "'other'", "'range'", "'first'"):
        require_distinct_keys([first, other], {"missing"})
    with refused(JobError, "'first'", "'range'"):
        require_distinct_keys([first], {"range"})
