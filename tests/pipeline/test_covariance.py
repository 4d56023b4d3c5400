"""Jobs that keep the covariance: what is published, and what is refused before work."""

import re
from types import SimpleNamespace

import pytest
from refusals import refused
from tables import ROLES, job, people

import aggopt
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.pipeline.validate.preflight_checks import _require_names

KEEP = {"method": "mean", "keep": "covariance"}


def test_correlations_are_published_and_one_certificate_is_of_both():
    frame = people()
    asked = job(aggregation=KEEP, output={"digits": "full"})
    release = aggopt.mask(frame, asked)
    names = list(release.job.roles.quasi_identifier)
    before, after = frame[names].corr(), release.table[names].corr()
    assert after.to_numpy() == pytest.approx(before.to_numpy(), abs=1e-12)
    assert list(release.certificates) == [", ".join(names)]
    assert not any("one value only" in note for note in release.notes)


def test_a_constant_is_named_in_a_note_and_has_a_certificate_of_its_own():
    frame = people().assign(note=1)
    roles = {**ROLES, "quasi-identifier": ["note", *ROLES["quasi-identifier"]]}
    roles["other"] = [name for name in ROLES["other"] if name != "note"]
    release = aggopt.mask(frame, job(roles=roles, aggregation=KEEP))
    assert [name for name in release.notes if "one value only" in name] == [
        "'note' has one value only: kept as it is, weight zero."
    ]
    assert list(release.certificates) == ["note", ", ".join(ROLES["quasi-identifier"])]


@pytest.mark.usefixtures("no_work")
def test_attributes_apart_are_refused_before_work():
    apart = {"method": "mdav", "attributes": "one by one"}
    privacy = {"k": 3, "scope": "blocks"}
    said = 'keep = "covariance" is of attributes that are grouped together, and '
    said += "[partition] attributes puts the numbers into 2 blocks."
    with pytest.raises(JobError, match=re.escape(said)) as no:
        aggopt.mask(people(), job(partition=apart, privacy=privacy, aggregation=KEEP))
    assert no.value.fix == (
        'leave attributes out under [partition], or set keep = "variance".'
    )


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("k", "groups"), [(20, "2 groups"), (14, "2 groups")])
def test_fewer_groups_than_the_covariance_needs_are_refused_before_work(k, groups):
    said = f"40 records with k = {k} make {groups} at most, and a covariance matrix"
    with pytest.raises(
        InfeasibleInputError, match=f"{said} of rank 2 is kept by 3 or"
    ) as no:
        aggopt.mask(people(), job(k=k, aggregation=KEEP))
    assert no.value.fix == (
        'choose a smaller k, fewer quasi-identifiers, or keep = "variance".'
    )


def test_as_many_groups_as_it_needs_are_enough():
    release = aggopt.mask(people(), job(k=13, aggregation=KEEP))
    assert release.certificates["age, income"].status.value == "optimal"


def test_numbers_that_determine_each_other_count_once():
    frame = people()
    frame["income"] = 2.0 * frame["age"]
    release = aggopt.mask(frame, job(k=20, aggregation=KEEP))
    after = release.table
    assert after["income"].to_numpy() == pytest.approx(2 * after["age"], rel=1e-4)


def test_a_statistic_that_nothing_keeps_is_refused():
    with refused(JobError, "keep"):
        job(aggregation={"method": "mean", "keep": "everything"})


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (["town", "age", "income"], ["town", "age, income"]),
        (["age", "town", "income"], ["age, income", "town"]),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_categories_beside_numbers_have_certificates_in_the_order_of_the_roles(
    asked, named, apart
):
    frame = people().assign(town=["north", "south"] * 20)
    sections = {"roles": {**ROLES, "quasi-identifier": asked}}
    if apart:  # the numbers together, the category by itself
        blocks = [["income", "age"], ["town"]]
        sections["partition"] = {"method": "mdav", "attributes": blocks}
        sections["privacy"] = {"k": 3, "scope": "blocks"}
    release = aggopt.mask(frame, job(aggregation=KEEP, **sections))
    assert list(release.certificates) == named
    after = release.table[["age", "income"]].corr().to_numpy()
    before = frame[["age", "income"]].corr().to_numpy()
    assert after == pytest.approx(before, abs=1e-5)


def test_numbers_in_two_blocks_are_refused_beside_a_category():
    frame = people().assign(town=["north", "south"] * 20)
    roles = {**ROLES, "quasi-identifier": ["age", "town", "income"]}
    blocks = [["age", "town"], ["income"]]
    how = {"method": "mdav", "attributes": blocks}
    with refused(JobError):
        aggopt.mask(
            frame,
            job(
                roles=roles,
                partition=how,
                privacy={"k": 3, "scope": "blocks"},
                aggregation=KEEP,
            ),
        )


def test_all_numbers_that_are_not_named_are_said():
    keep = SimpleNamespace(parts=[("mean", ["b"])])
    with refused(JobError, "'a'", "'c'"):
        _require_names(keep, ("a", "b", "c"))
