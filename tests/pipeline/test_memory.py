"""A job for folders masks no table."""

import pytest
from tables import job, people

import aggopt
from aggopt.errors import JobError


@pytest.mark.parametrize("name", ["local", "dask"])
def test_a_table_is_not_masked_by_a_job_for_folders(name):
    with pytest.raises(JobError) as refused:
        aggopt.mask(people(), job(engine={"name": name}))
    assert refused.value.problem == (
        f"[engine] name = {name!r} masks a folder into another, and a table is to be "
        "masked."
    )
    assert refused.value.fix == (
        'name the folder to write, out = "masked"; or leave [engine] out.'
    )
