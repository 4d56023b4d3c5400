"""Every privacy model in a job: kept by merging, audited, refused when misspelled."""

from fractions import Fraction

import numpy as np
import pytest
from refusals import refused
from tables import promising, salaried, smallest

import aggopt
from aggopt import privacy
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.privacy.exact_order import Numbers
from aggopt.privacy.model import REQUIREMENTS
from aggopt.privacy.models.epsilon_m import Proximity
from aggopt.repair.merge_until_satisfied import merge_until_satisfied


def paid(n=60):
    """People whose salaries are multiples of 4000."""
    frame = salaried(n)
    return frame.assign(salary=frame["salary"] // 4000 * 4000)


QIS = ["age", "income"]
PROXIMITY = {"epsilon": 4000, "m": 2}
DISSIMILARITY = {"epsilon": 2000.5, "delta": 0.5}

ASKED = {
    "l": ({"l": 3}, lambda g, v: privacy.distinct_l(g, v) >= 3),
    "t": ({"t": 0.2}, lambda g, v: privacy.t_closeness(g, v) <= 0.2),
    "p": ({"p": 3}, lambda g, v: privacy.p_sensitive(g, v) >= 3),
    "proximity": (
        {"proximity": PROXIMITY},
        lambda g, v: privacy.epsilon_m(g, v, 4000) >= 2,
    ),
    "dissimilarity": (
        {"dissimilarity": DISSIMILARITY},
        lambda g, v: privacy.dissimilarity(g, v, 2000.5) >= 0.5,
    ),
}


def test_every_model_is_tried_here():
    assert {"k", *ASKED} == set(REQUIREMENTS)


@pytest.mark.parametrize("name", ASKED)
def test_a_promise_is_kept_by_merging_and_audited(tmp_path, name):
    asked, holds = ASKED[name]
    frame = paid()
    assert not holds(aggopt.mask(frame, promising()).labels, frame["salary"])
    release = aggopt.mask(frame, promising(**asked, repair="merge"))
    assert holds(release.table[QIS], release.table["salary"])
    assert smallest(release.table) >= 3
    assert release.audit.groups > 1
    (check,) = release.audit.promises
    assert check.holds
    assert f"{check.promise} {check.sign} " in release.audit.verdict
    files = release.write(tmp_path / "masked.csv")
    stated = files.manifest.read_text()
    assert check.promise in stated
    assert aggopt.Job.read(_saved(tmp_path, release.job)) == release.job


def _saved(folder, job):
    path = folder / "job.toml"
    path.write_text(job.to_toml())
    return path


@pytest.mark.parametrize("name", ASKED)
def test_a_promise_that_nothing_keeps_is_refused_before_any_work(name):
    asked, _ = ASKED[name]
    with pytest.raises(JobError, match=f"does not guarantee {name} of") as error:
        aggopt.mask(salaried(), promising(**asked))
    assert f"{name} = " in error.value.problem
    roles = {"quasi-identifier": QIS, "other": ["name", "illness", "note", "salary"]}
    job = aggopt.Job(roles=roles, privacy={"k": 3, **asked, "repair": "merge"})
    with refused(JobError):
        aggopt.mask(salaried(), job)
    with refused(JobError):
        promising(**asked, scope="blocks")


@pytest.mark.parametrize("name", [n for n in ASKED if len(n) > 3])
def test_a_misspelled_model_is_named(name):
    asked, _ = ASKED[name]
    with pytest.raises(JobError, match=f"did you mean '{name}'"):
        promising(**{name[:-2] + name[-1]: asked[name]})


@pytest.mark.parametrize(
    "asked",
    [
        {"proximity": {"epsilon": 1, "mm": 2}},
        {"proximity": {"epsilon": 1}},
        {"proximity": {"epsilon": -1, "m": 2}},
        {"proximity": {"epsilon": 1, "m": 1}},
        {"proximity": 3},
        {"dissimilarity": {"epsilon": 1, "delta": 0.0}},
        {"dissimilarity": {"epsilon": 1, "delta": 2.0}},
        {"p": 1},
        {"p": 2.5},
        {"p": 2, "distance": "equal"},
    ],
)
def test_keys_of_the_models(asked):
    with refused(JobError):
        promising(**asked)


def test_epsilon_may_be_one_for_each_attribute():
    frame = salaried()
    roles = {
        "identifier": ["name"],
        "quasi-identifier": ["age"],
        "confidential": ["salary", "income"],
        "other": ["illness", "note"],
    }
    asked = {"epsilon": {"salary": 2000, "income": 3000}, "m": 2}
    job = aggopt.Job(
        roles=roles,
        privacy={"k": 3, "proximity": asked, "repair": "merge"},
        partition={"method": "mdav"},
    )
    release = aggopt.mask(frame, job)
    for name, epsilon in asked["epsilon"].items():
        assert privacy.epsilon_m(release.table[["age"]], frame[name], epsilon) >= 2
    only = {"k": 3, "proximity": {"epsilon": {"salary": 1}, "m": 2}, "repair": "merge"}
    with refused(JobError):
        aggopt.mask(frame, job.model_validate({"roles": roles, "privacy": only}))


def test_text_has_no_proximity():
    job = promising("illness", proximity=PROXIMITY, repair="merge")
    with refused(TableError, "'illness'"):
        aggopt.mask(salaried(), job)


def test_a_crowd_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(
        "aggopt.pipeline.partition.partition_table.partition_blocks", None
    )
    for asked in ({"proximity": {"epsilon": 10**6, "m": 2}},):
        with refused(InfeasibleInputError, "60"):
            aggopt.mask(salaried(), promising(**asked, repair="merge"))


def test_merging_that_ends_with_one_group_that_fails_is_refused():
    numbers = Numbers.of([0, -1, 5, 1], np.arange(4))
    asked = Proximity("pay", numbers, Fraction(1), 2)
    assert asked.is_satisfied(np.array([0, 1, 0, 1]))
    X = np.arange(4.0)[:, None]
    with refused(InfeasibleInputError, "DOES", "NOT", "HOLD"):
        merge_until_satisfied(X, np.array([0, 0, 1, 1]), [asked])
    assert merge_until_satisfied(X, np.array([0, 1, 0, 1]), [asked]).tolist() == [
        0,
        1,
        0,
        1,
    ]
