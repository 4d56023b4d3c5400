"""A privacy model of the user's: what its function is given, says, and is read as."""

import pickle
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
from refusals import refused
from tables import promising, salaried

import aggopt
from aggopt.core.plugins.loading import Origin
from aggopt.data.context.confidential_parts import OfPart
from aggopt.errors import JobError
from aggopt.privacy import recursive_cl
from aggopt.privacy.model import (
    OWN_MODELS,
    REQUIREMENTS,
    OwnJudge,
    OwnPrivacyModel,
    OwnRequirement,
)

PAY = np.array([1, 1, 5, 2, 9, 3])
LABELS = np.array([0, 0, 1, 1, 2, 2])


def spread(values, *, least=3):
    return np.ptp(values) >= least


def requirement(function, values=PAY, **settings):
    judge = OwnJudge(function, Origin("spread", "privacy_models", "object"))
    return OwnRequirement("pay", values, judge, settings)


def test_each_group_is_judged_by_its_own_values():
    seen = []

    def judge(values, whole, **how):
        seen.append((values.tolist(), whole.tolist(), how))
        return len(seen) != 2

    asked = requirement(judge, least=4)
    records, starts = np.array([3, 0, 5, 4]), np.array([0, 1, 4])
    assert asked.find_broken(records, starts).tolist() == [False, True]
    whole = PAY.tolist()
    assert seen == [([2], whole, {"least": 4}), ([1, 3, 9], whole, {"least": 4})]


def test_what_it_is_given_is_a_copy_or_cannot_be_changed():
    def greedy(values, whole):
        values[:] = 0
        with pytest.raises(ValueError, match="read-only"):
            whole[:] = 0
        return True

    values = PAY.copy()
    asked = requirement(greedy, values)
    assert asked.is_satisfied(LABELS)
    assert values.tolist() == PAY.tolist()
    values[0] = 7  # which the view alone forbids


def test_what_it_has_is_one_or_nothing():
    asked = requirement(spread)
    records, starts = np.arange(6), np.array([0, 2, 4, 6])
    assert asked.measure_groups(records, starts).tolist() == [0.0, 1.0, 1.0]
    short = asked.measure_shortfall(records, starts)
    assert (short.tolist(), short.dtype) == ([1.0, 0.0, 0.0], np.float64)
    assert asked.find_broken(records, starts).dtype == np.bool_
    assert asked.find_broken(records[:0], np.array([0])).tolist() == []
    assert (asked.n, asked.name, asked.required) == (6, "spread", 1.0)
    assert (asked.attribute, asked.model, asked.sign) == ("pay", OWN_MODELS, ">=")
    assert asked.explain_infeasible(2) is None  # all records together keep it
    assert requirement(spread, least=99).explain_infeasible(2) is None  # others might
    assert "9" not in repr(asked)


def test_the_check_says_who_counted():
    broken = requirement(spread).check(LABELS)
    assert (broken.holds, broken.found, broken.asked) == (False, 0.0, 1.0)
    assert (broken.groups, broken.broken, broken.worst) == (3, 1, 2)
    assert (broken.keeps, broken.promise) == ("", "spread")
    assert str(broken) == (
        "spread DOES NOT HOLD for 'pay', by object spread: 1 of 3 groups fails, the "
        "smallest of 2 records."
    )
    kept = requirement(spread, least=0).check(LABELS)
    assert kept.holds
    assert kept.counted_by == "object spread"
    assert str(kept) == "spread holds for 'pay', by object spread."


def test_values_that_stand_once_are_told_as_often_as_records_have_them():
    seen = []

    def judge(values, whole):
        seen.append((values.tolist(), whole.tolist(), whole.flags.writeable))
        return True

    own = OwnJudge(judge, Origin("judge", "privacy_models", "object"))
    asked = OwnRequirement("pay", np.array([1, 5]), own, {}, np.array([2, 3]))
    assert not asked.find_broken(np.array([1, 1, 0]), np.array([0, 2, 3])).any()
    whole = [1, 1, 5, 5, 5], False
    assert seen == [([5, 5], *whole), ([1], *whole)]
    assert "[" not in repr(asked)  # neither values nor counts


def test_of_some_records_the_check_says_who_counted():
    part = OfPart(requirement(spread), np.array([0, 1, 2]))
    found = part.check(np.zeros(3, np.intp))
    assert (found.holds, found.counted_by, found.worst) == (True, "object spread", 3)
    assert not part.check(np.array([0, 0, 1])).holds


@pytest.mark.parametrize("said", [True, np.True_, False, np.False_])
def test_true_and_false_are_taken(said):
    assert requirement(lambda values: said).is_satisfied(LABELS) == bool(said)


@pytest.mark.parametrize("said", [1, None, np.array([True])])
def test_anything_else_is_refused(said):
    with refused(JobError):
        requirement(lambda values: said).is_satisfied(LABELS)


class Pay:
    """An attribute as an own model reads it."""

    name = "pay"
    counts = np.ones(6, np.int64)

    def entries(self):
        return PAY


def test_a_function_is_adopted_and_asks_with_its_settings():
    model = REQUIREMENTS.adopt(spread)
    assert isinstance(model, OwnPrivacyModel)
    assert (model.name, model.when) == ("spread", "a privacy model of your own")
    assert model.origin.kind == "privacy_models"
    assert model.origin.where == "object"
    assert list(model.settings.model_fields) == []
    plain = model.requirement(Pay(), None)
    assert (plain.settings, plain.judge) == ({}, model.function)
    assert model.concerns("pay")
    assert list(model.attributes(None)) == []
    asking = model.asking({"least": 4}, ("pay", "rent"))
    asked = asking.requirement(Pay(), None)
    assert asked.counts is Pay.counts
    assert (asked.attribute, asked.settings) == ("pay", {"least": 4})
    assert asked.values is PAY
    assert asked.judge is model.function
    assert asking.attributes(None) == ("pay", "rent")
    assert (asking.concerns("rent"), asking.concerns("age")) == (True, False)
    every = asking.asking({}, None)
    assert (every.only, every.concerns("age"), list(every.attributes(None))) == (
        None,
        True,
        [],
    )
    again = pickle.loads(pickle.dumps(asking))
    assert again.concerns("rent")
    assert REQUIREMENTS["p"].concerns("age")


@pytest.mark.parametrize("taken", ["method", "attributes"])
def test_keys_of_the_section_are_no_settings(taken):
    space: dict = {}
    exec(f"def judge(values, *, {taken}=1): return True", space)
    with pytest.raises(JobError, match=f"judge takes {taken}, which a job has"):
        REQUIREMENTS.adopt(space["judge"])


def test_no_model_has_the_key_of_those():
    assert OWN_MODELS == "own"
    assert OWN_MODELS in REQUIREMENTS.taken


def test_the_example_of_two_kinds_is_kept_and_audited():
    """With no refused value it is `recursive_cl`, counted by the package."""
    example = Path(__file__).parents[2] / "examples" / "own" / "kinds_of_diversity.py"
    kinds = run_path(str(example))["kinds_of_diversity"]
    frame = salaried(60)
    frame["salary"] = np.arange(60) % 4
    own = {"method": kinds, "c1": 2, "l": 2, "c2": 0.2, "refused": [3]}
    release = aggopt.mask(frame, promising(own=[own], repair="merge"))
    groups = release.labels
    assert recursive_cl(groups, frame["salary"], 2) >= 2
    shares = (frame["salary"] == 3).groupby(groups).mean()
    assert shares.min() >= 0.2
    assert len(shares) > 1
    for rows in np.random.default_rng(0).integers(0, 3, (50, 6)):
        for length in (1, 2, 3):
            expected = recursive_cl([0] * 6, rows, 2) >= length
            assert kinds(rows, c1=2, l=length) == expected
