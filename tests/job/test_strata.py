"""What a job says of strata, and what of it would do nothing."""

import pytest
from refusals import refused
from stratified import KEYS, ROLES, within

from aggopt import Job
from aggopt.errors import JobError, UnknownNameError

MERGE = {"small": "merge"}
NO_STRATA = {**ROLES, "stratum": [], "other": KEYS}


def test_strata_are_kept_in_a_file_and_refused_where_small():
    job = within(strata={"keep": "overall"})
    again = Job.model_validate(job.model_dump(by_alias=True))
    assert again == job
    assert (job.strata.small, job.strata.keep) == ("refuse", "overall")
    assert "[strata]" in job.to_toml()
    assert "[strata]" not in within(roles=NO_STRATA).to_toml()


def test_the_combination_is_of_quasi_identifiers_and_strata():
    assert within().roles.combination == ("age", "income", "region", "sex")
    assert within().roles.released.stratum == ("region", "sex")


def test_a_section_without_strata_is_refused():
    with refused(JobError, "[strata]", "[roles]", "NAME"):
        within(roles=NO_STRATA, strata=MERGE)


@pytest.mark.parametrize(
    ("strata", "said"),
    [
        (MERGE, {"kind": "nominal"}),
        (MERGE, {"order": ["n", "s"], "weight": 2.0}),
        (MERGE, {"tree": {"all": ["n", "s"]}, "publish": "node"}),
        (MERGE, {}),
        ({}, {"order": ["n", "s"]}),
        ({"small": "drop"}, {"order": ["n", "s"]}),
    ],
)
def test_what_does_nothing_to_a_stratum_is_refused(strata, said):
    with refused(JobError, "[strata]"):
        within(strata=strata, attributes={"region": said})


def test_all_sections_of_columns_that_are_not_masked_are_named_at_once():
    roles = {"quasi-identifier": ["a"], "stratum": ["b c"], "confidential": ["d"]}
    sections = {"a": {"lower": 0}, "b c": {"kind": "nominal"}, "d": {"lower": 0}}
    with refused(JobError, '[attributes."b c"]', "[attributes.d]") as error:
        Job(roles=roles, attributes=sections, privacy={"k": 3})
    assert "[attributes.a]" not in str(error.value)
    with refused(UnknownNameError, "'e'", "a, b c"):
        Job(roles=roles, attributes={"d": {"lower": 0}, "e": {}}, privacy={"k": 3})


@pytest.mark.parametrize("said", [{"order": ["n", "s"]}, {"tree": {"all": ["n", "s"]}}])
def test_an_order_or_a_tree_of_strata_that_are_merged_survives_a_file(said):
    job = within(strata=MERGE, attributes={"region": said})
    assert Job.model_validate(job.model_dump(by_alias=True)) == job
