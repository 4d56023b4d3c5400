"""What is asked of groups before they are made, step by step and word for word."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from aggopt.data.context.confidential import Confidential
from aggopt.data.context.strata import RecordStrata
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError, JobError, TableError, UnknownNameError
from aggopt.job import Job, Repairing
from aggopt.job.roles import Roles
from aggopt.partition.registry import ConfidentialUse
from aggopt.pipeline.partition.strata import (
    LESS,
    require_kept,
    require_values_in_strata,
)
from aggopt.pipeline.validate import privacy_guarantees as guarantees
from aggopt.pipeline.validate.privacy_guarantees import (
    make_partitioner,
    require_guarantees,
)
from aggopt.pipeline.validate.units import unit_requirements
from aggopt.pipeline.waves.earlier_groups import (
    add_earlier_groups,
    require_earlier_groups,
)
from aggopt.privacy.models.l_diversity import Diversity

STRATA = RecordStrata(np.array([0, 0, 1, 1, 1]))


def test_whole_strata_keep_what_groups_within_them_are_to_keep() -> None:
    held = (
        Confidential("pay", np.arange(5), (Diversity("pay", np.arange(5), 2),)),
        Confidential("ill", STRATA.labels, (Diversity("ill", STRATA.labels, 2),)),
    )
    require_kept(held, None, True)
    require_kept(held, STRATA, False)
    require_kept(held[:1], STRATA, True)
    with refused(
        "Within strata no groups keep what is promised: distinct l >= 2 of 'ill' is "
        "not kept by 2 of 2 strata, each taken as one group.",
        LESS,
        InfeasibleInputError,
    ):
        require_kept(held, STRATA, True)


HOLED = np.array([[1.0, 1], [np.nan, 2], [3, 3], [4, 4], [np.nan, 5]])
VARIANCE = {"method": "mean", "keep": "variance"}
THERE = {  # policy, aggregation, what strata keep, categories: refused with what
    "filled": ("fill", {}, {}, (), "2 values that are not missing in 1"),
    "patterns": ("patterns", {}, {}, (), None),
    "a variance": ("patterns", VARIANCE, {}, (), "4 values that are not missing in 2"),
    "a variance of all": ("patterns", VARIANCE, {"keep": "overall"}, (), None),
    "a name": ("patterns", VARIANCE, {}, ("a",), None),
    "a name that is filled": ("fill", VARIANCE, {}, ("a",), "2 values that are not"),
}


@pytest.mark.parametrize("case", THERE)
def test_strata_have_as_many_values_as_they_need(case) -> None:
    policy, how, more, names, said = THERE[case]
    job = Job(
        roles={"quasi-identifier": ["a", "b"], "stratum": ["s"]},
        privacy={"k": 2},
        missing={"policy": policy},
        strata=more,
        **({"aggregation": how} if how else {}),
    )
    table = SimpleNamespace(domains=dict.fromkeys([*names, "b"]))
    require_values_in_strata(table, HOLED, job, None)
    require_values_in_strata(
        table, np.nan_to_num(HOLED[:, 1:]).repeat(2, 1), job, STRATA
    )
    if said is None:
        return require_values_in_strata(table, HOLED, job, STRATA)
    with pytest.raises(InfeasibleInputError, match=f"^'a' has fewer than {said}"):
        require_values_in_strata(table, HOLED, job, STRATA)


def test_an_attribute_that_a_stratum_has_nowhere_is_not_asked_of_it() -> None:
    strata = RecordStrata(np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    job = Job(
        roles={"quasi-identifier": ["a"], "stratum": ["s"]},
        privacy={"k": 2},
        missing={"policy": "patterns"},
        aggregation=VARIANCE,
    )
    whole = np.array([1.0, 2, 3, 4, *[np.nan] * 4])[:, None]
    require_values_in_strata(SimpleNamespace(domains={}), whole, job, strata)
    whole[4] = 1.0
    with pytest.raises(InfeasibleInputError, match=r"^'a' has fewer than 4 values"):
        require_values_in_strata(SimpleNamespace(domains={}), whole, job, strata)


def test_what_k_counts_is_asked_of_records_as_diversity() -> None:
    job = SimpleNamespace(privacy=SimpleNamespace(k=3))
    units = SimpleNamespace(of=np.array([0, 1, 1], np.intp), records=None)
    assert unit_requirements(job, None) == ()
    assert unit_requirements(job, SimpleNamespace(of=units.of, records="records")) == ()
    (found,) = unit_requirements(job, units)
    (asked,) = found.requirements
    assert (found.name, asked.attribute, asked.asked) == ("unit", "unit", 3)
    assert found.codes.tolist() == [0, 1, 1]
    assert found.codes.dtype == np.int64


def test_a_method_is_told_what_is_confidential(monkeypatch) -> None:
    heard = []

    def divide(X, *, k, progress, limit, secret):
        heard.append((X, k, progress, limit, secret))
        return "groups"

    method = SimpleNamespace(confides=ConfidentialUse.NONE, function=divide)
    known = SimpleNamespace(of=lambda how: method)
    monkeypatch.setattr(guarantees, "PARTITIONERS", known)
    monkeypatch.setattr(
        guarantees, "_confidential_arguments", lambda *of: {"secret": of}
    )
    how = SimpleNamespace(function="name", own=None)
    job = SimpleNamespace(partition=how, privacy="privacy")
    assert make_partitioner(job, "held") == "name"
    how.own = method
    assert make_partitioner(job, "held") is divide
    method.confides = None
    found = make_partitioner(job, "held")
    assert found("X", 3, progress="told", limit=5) == "groups"
    assert heard == [("X", 3, "told", 5, (method, "privacy", "held"))]


def test_what_is_said_of_an_attribute_that_is_not_confidential_is_refused() -> None:
    roles = {"quasi-identifier": ["a"], "confidential": ["ill"]}
    privacy = {"k": 2, "l": 2, "repair": "merge"}
    job = Job(roles=roles, privacy=privacy, partition={"method": "mdav"})
    require_guarantees(job)
    other = {"ills": "section"}
    wrong = job.model_copy(
        update={"privacy": job.privacy.model_copy(update={"confidential": other})}
    )
    with pytest.raises(UnknownNameError) as error:
        require_guarantees(wrong)
    named = UnknownNameError("confidential attribute", "ills", ("ill",))
    assert (error.value.problem, error.value.fix) == (named.problem, named.fix)
    with refused(
        "diverse_vmdav keeps l, and [privacy] states no l.",
        "state l under [privacy], or choose another method.",
        JobError,
    ):
        require_guarantees(
            Job(
                roles=roles,
                privacy={"k": 2},
                partition={"method": "diverse_vmdav"},
            )
        )


# --- groups of an earlier release

WHO = Roles(**{"quasi-identifier": ["age"], "unit": ["who"]})
WAVE = pd.DataFrame({"age": [1.0, 1, 2, 2, 3], "who": [7, 7, 5, 5, 6]})


@pytest.fixture
def kept(tmp_path):
    """Return a job that keeps the groups of a key, which is written here."""

    def made(groups):
        path = tmp_path / "first.private.csv"
        key = {"released_record": range(len(groups)), "group": groups}
        pd.DataFrame(key).to_csv(path, index=False)
        return Job(
            roles={"quasi-identifier": ["age"], "unit": ["who"]},
            privacy={"k": 2},
            partition={"keep_groups": str(path)},
        )

    return made


def of_wave():
    records = Table.of(WAVE, WHO)
    units = SimpleNamespace(of=np.array([1, 1, 0, 0, 2]), count=3, records=records)
    return Table.of(WAVE.iloc[[2, 0, 4]], WHO), units


def test_units_have_the_earlier_group_of_their_records(kept) -> None:
    table, units = of_wave()
    made = add_earlier_groups(kept([1, 1, 0, 0, 1]), table, None, units)
    assert made.partition.settings["labels"].tolist() == [0, 1, 1]
    several = kept([1, 0, 0, 0, 1])
    for look in (
        lambda: add_earlier_groups(several, table, None, units),
        lambda: require_earlier_groups(table, several, None, units),
    ):
        with refused(
            "first.private.csv has records of 1 unit of 3 in several groups.",
            "name the key of a release of which attributes of units were masked, "
            "too; or leave keep_groups out.",
            TableError,
        ):
            look()


def test_records_of_units_have_their_own_earlier_groups(kept) -> None:
    table = Table.of(WAVE, WHO)
    units = SimpleNamespace(of=np.array([1, 1, 0, 0, 2]), count=3, records=None)
    for given in (None, units):
        made = add_earlier_groups(kept([1, 0, 0, 1, 1]), table, None, given)
        assert made.partition.settings["labels"].tolist() == [1, 0, 0, 1, 1]


def test_earlier_groups_are_merged_and_otherwise_left_together(kept) -> None:
    table = Table.of(WAVE, WHO)
    job = kept([0, 0, 1, 1, 1])

    def mended(how):
        asked = job.privacy.model_copy(update={"repair": Repairing(method=how)})
        return job.model_copy(update={"privacy": asked})

    made = add_earlier_groups(mended("merge"), table)
    assert made.partition.settings["labels"].tolist() == [0, 0, 1, 1, 1]
    with refused(
        "The repair 'search' takes records out of the groups that [partition] "
        "keep_groups is to keep.",
        'set repair = "merge" under [privacy], which keeps them together.',
        JobError,
    ):
        add_earlier_groups(mended("search"), table)


def test_records_of_strata_that_were_dropped_have_no_earlier_group(kept) -> None:
    table = Table.of(WAVE.iloc[:4], WHO)
    strata = RecordStrata(np.zeros(4, np.intp), kept=np.array([1, 1, 0, 1, 1], bool))
    made = add_earlier_groups(kept([0, 1, 5, 1, 0]), table, strata)
    assert made.partition.settings["labels"].tolist() == [0, 1, 1, 0]
    same = add_earlier_groups(kept([0, 1, 1, 0]), table, strata)
    assert same.partition.settings["labels"].tolist() == [0, 1, 1, 0]
