"""What a job says of units."""

import pytest
from households import OF_RECORDS, OF_UNITS, of

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
    with pytest.raises(JobError) as error:
        of(OF_UNITS, unit=False, units={"attributes": OF_UNITS})
    assert error.value.problem == "[units] is given, and no column has the role unit."


@pytest.mark.parametrize(
    ("named", "count"),
    [(["income"], 1), (["income", "income"], 2), ([*OF_UNITS, "income"], 3)],
)
def test_some_attributes_of_units_are_refused(named, count):
    with pytest.raises(JobError) as error:
        of(OF_UNITS, units={"attributes": named})
    assert error.value.problem == (
        f"[units] attributes names {count} of 2 quasi-identifiers, or one twice: those "
        "of units and those of records are not masked together."
    )


def test_an_attribute_that_is_none_is_refused():
    with pytest.raises(UnknownNameError, match="No quasi-identifier is called 'age'"):
        of(OF_UNITS, units={"attributes": ["age"]})


def test_the_risk_of_households_is_by_the_same_column():
    job = of(OF_RECORDS, risk={"unit": ["household"]})
    assert job.risk.unit == ("household",)
