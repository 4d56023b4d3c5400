"""What a job says of units."""

import pytest
from households import OF_RECORDS, OF_UNITS, of
from refusals import refused

from aggopt import Job
from aggopt.errors import JobError, UnknownNameError


@pytest.mark.parametrize("quasi", [OF_UNITS, OF_RECORDS])
def test_units_survive_a_file(quasi):
    job = of(quasi)
    assert Job.model_validate(job.model_dump(by_alias=True)) == job
    assert "[units]" in job.to_toml()
    assert "[units]" not in of(quasi, unit=False).to_toml()
    assert job.roles.dropped == ("household",)
    assert job.roles.released.unit == ()


def test_a_section_without_units_is_refused():
    with refused(JobError, "[units]"):
        of(OF_UNITS, unit=False, units={"attributes": OF_UNITS})


@pytest.mark.parametrize("named", [["income", "income"], [*OF_UNITS, "income"]])
def test_an_attribute_of_units_that_is_named_twice_is_refused(named):
    with refused(JobError, "[units]"):
        of(OF_UNITS, units={"attributes": named})


def test_some_attributes_of_units_take_a_promise_of_each_kind():
    with refused(JobError):
        of(OF_UNITS, units={"attributes": ["income"]})
    asked = {"k": 3, "scope": "blocks"}
    job = of(OF_UNITS, units={"attributes": ["income"]}, privacy=asked)
    assert job.units.apart(job.roles)
    assert not of(OF_UNITS).units.apart(job.roles)
    assert not of(OF_RECORDS).units.apart(job.roles)


def test_an_attribute_that_is_none_is_refused():
    with refused(UnknownNameError, "'age'"):
        of(OF_UNITS, units={"attributes": ["age"]})


def test_the_risk_of_households_is_by_the_same_column():
    job = of(OF_RECORDS, risk={"unit": ["household"]})
    assert job.risk.unit == ("household",)
