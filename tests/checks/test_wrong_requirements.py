"""Wrong privacy models and repairs, each caught by the law that it breaks."""

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from checks.tried import caught

from aggopt.checks import _repairs, checks_of, report
from aggopt.partition import Partition
from aggopt.privacy.model import REQUIREMENTS
from aggopt.privacy.models.epsilon_m import Proximity
from aggopt.privacy.models.p_sensitive import Sensitivity
from aggopt.repair.registry import REPAIRS
from aggopt.solvers import Certificate, Status


@dataclass(frozen=True, eq=False)
class Holds(Sensitivity):
    def find_broken(self, records, starts):
        return np.zeros(len(starts) - 1, np.bool_)


@dataclass(frozen=True, eq=False)
class Inverted(Sensitivity):
    def find_broken(self, records, starts):
        return ~super().find_broken(records, starts)


@dataclass(frozen=True, eq=False)
class OneMore(Sensitivity):
    def find_broken(self, records, starts):
        return self.measure_groups(records, starts) <= self.asked


@dataclass(frozen=True, eq=False)
class OfOthers(Sensitivity):
    def find_broken(self, records, starts):
        return super().find_broken(records, starts) & (len(starts) > 3)


@dataclass(frozen=True, eq=False)
class OfTheFirst(Sensitivity):
    def measure_groups(self, records, starts):
        return super().measure_groups(records, starts) + records[starts[:-1]] % 2


@dataclass(frozen=True, eq=False)
class NeverShort(Sensitivity):
    def measure_shortfall(self, records, starts):
        return np.zeros(len(starts) - 1)


@dataclass(frozen=True, eq=False)
class Satisfied(Sensitivity):
    def is_satisfied(self, labels):
        return True


@dataclass(frozen=True, eq=False)
class Additive(Proximity):
    additive = True


@dataclass(frozen=True, eq=False)
class Hopeless(Sensitivity):
    def explain_infeasible(self, k):
        return replace_error()


def replace_error():
    from aggopt.errors import InfeasibleInputError

    return InfeasibleInputError("No groups satisfy it.", fix="ask for less.")


@dataclass(frozen=True, eq=False)
class FewerAreBetter(Sensitivity):
    def measure_groups(self, records, starts):
        return 10.0 - super().measure_groups(records, starts)

    def find_broken(self, records, starts):
        return self.measure_groups(records, starts) < self.asked


def sensitive(requirement):
    return replace(
        REQUIREMENTS["p"],
        requirement=lambda of, asked: requirement(of.name, of.codes, asked.p),
    )


def shown(of, asked):
    made = Sensitivity(of.name, of.codes, asked.p)
    object.__setattr__(made, "attribute", f"{of.name} {of.distinct}")
    return made


WRONG = [
    (Holds, "broken_is_what_found_shows"),
    (Inverted, "broken_is_what_found_shows"),
    (OneMore, "broken_is_what_found_shows"),
    (OfOthers, "each_group_is_judged_by_itself"),
    (OfTheFirst, "order_of_records_does_not_matter"),
    (NeverShort, "groups_fall_short_exactly_where_they_break_it"),
    (Satisfied, "the_check_says_what_the_groups_have"),
    (FewerAreBetter, "one_value_protects_least"),
    (Hopeless, "infeasible_is_proven"),
    (NeverShort, "merging_satisfies_it"),
]


@pytest.mark.parametrize(
    ("wrong", "law"), WRONG, ids=lambda x: getattr(x, "__name__", x)
)
def test_a_wrong_privacy_model_is_caught(wrong, law):
    caught(law, sensitive(wrong))


def test_one_that_says_it_is_additive_and_is_not_is_caught():
    wrong = replace(
        REQUIREMENTS["proximity"],
        requirement=lambda of, asked: Additive(
            of.name, of.numbers(), Fraction(5000), 2
        ),
    )
    caught("a_union_satisfies_what_its_groups_do", wrong)


def test_one_that_prints_values_is_caught():
    wrong = replace(REQUIREMENTS["p"], requirement=shown)
    assert "a value is printed" in caught("it_shows_no_record", wrong)


def spread(values, *, least=8000):
    return np.ptp(values) >= least


def inverted(values):
    return np.ptp(values) < 8000


def of_the_first(values):
    return values[0] >= 8000


def asks_nothing(values):
    return True


def whole_number(values):
    return int(np.ptp(values) >= 8000)


class Once:
    """A function that remembers."""

    def __init__(self):
        self.calls = 0

    def __call__(self, values):
        self.calls += 1
        return self.calls % 3 != 0


WRONG_FUNCTIONS = [
    (inverted, "one_value_protects_least"),
    (of_the_first, "order_of_records_does_not_matter"),
    (asks_nothing, "some_groups_break_it"),
    (whole_number, "broken_is_what_found_shows"),
    (Once(), "each_group_is_judged_by_itself"),
]


@pytest.mark.parametrize(
    ("wrong", "law"), WRONG_FUNCTIONS, ids=lambda x: getattr(x, "__name__", x)
)
def test_a_wrong_function_that_judges_groups_is_caught(wrong, law):
    caught(law, wrong)


def test_a_function_that_judges_groups_keeps_the_laws():
    for thing in (spread, partial(spread, least=4000)):
        endings = {verdict.law.name: verdict.ending for verdict in report(thing)}
        assert endings.pop("a_union_satisfies_what_its_groups_do") == "not tried"
        assert set(endings.values()) == {"kept"}
    assert "least=4000" in next(checks_of(thing)).thing
    caught("merging_satisfies_it", partial(spread, leest=1))


MERGE = REPAIRS["merge"]


def repairing(change, of=MERGE, **what):
    return replace(of, function=change, **what)


def not_at_all(given, labels, how):
    return None


def too_small(given, labels, how):
    labels = labels.copy()
    labels[0] = labels.max() + 1
    return Partition(np.unique(labels, return_inverse=True)[1], certified(1.0))


def certified(objective, bound=0.0, violation=0.0):
    return Certificate(Status.LIMIT, objective, bound, violation, "claimed", 0.0)


def with_certificate(change):
    def function(given, labels, how):
        found = MERGE.function(given, labels, how)
        return found and Partition(found.labels, change(found.certificate))

    return function


def one_group(given, labels, how):
    found = MERGE.function(given, np.zeros(len(labels), np.intp), how)
    from aggopt.core.record_weights import compute_sse
    from aggopt.partition.shared.scaling import scale_records

    whole = np.zeros(len(labels), np.intp)
    assert found is None
    return Partition(whole, certified(compute_sse(scale_records(given.X), whole)))


def in_place(given, labels, how):
    found = MERGE.function(given, labels, how)
    if found is not None:
        labels[:] = found.labels
    return found


def by_chance(given, labels, how):
    start = np.random.permutation(labels)
    return MERGE.function(given, start, how) or Partition(start, certified(1.0))


def slow(given, labels, how):
    time.sleep(0.3 if how.time_limit else 0.0)
    return MERGE.function(given, labels, how)


def by_pay(given, labels, how):
    (asked,) = given.requirements
    return Partition(asked.distance.place.astype(np.intp), certified(1.0))


WRONG_REPAIRS = [
    (repairing(not_at_all), "it_keeps_k_and_what_it_adds"),
    (repairing(too_small), "it_keeps_k_and_what_it_adds"),
    (
        repairing(with_certificate(lambda c: certified(c.objective / 2))),
        "certificate_is_true",
    ),
    (
        repairing(with_certificate(lambda c: certified(c.objective, c.objective * 2))),
        "certificate_is_true",
    ),
    (
        repairing(with_certificate(lambda c: certified(c.objective, None, 0.1))),
        "certificate_is_true",
    ),
    (repairing(one_group), "groups_that_satisfy_it_lose_nothing"),
    (repairing(in_place), "groups_are_left_alone"),
    (repairing(by_chance), "repeats_itself"),
    (repairing(by_pay, REPAIRS["merge-ilp"]), "it_leaves_what_it_says"),
]


@pytest.mark.parametrize(
    ("wrong", "law"), WRONG_REPAIRS, ids=lambda x: getattr(x, "name", x)
)
def test_a_wrong_repair_is_caught(wrong, law):
    caught(law, wrong)


def test_a_repair_that_ignores_its_limit_is_caught(monkeypatch):
    monkeypatch.setattr(_repairs, "SOON", 0.1)
    wrong = repairing(slow, settings=REPAIRS["search"].settings)
    caught("a_time_limit_is_kept", wrong)
