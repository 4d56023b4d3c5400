"""[engine] as text: what another engine takes is not in it."""

import pytest

from aggopt import Job

ENGINES = {
    "local": {"name": "local", "jobs": 2},
    "dask, workers": {"name": "dask", "workers": 2, "resume": True},
    "dask, a scheduler": {"name": "dask", "scheduler": "tls://host:8786"},
    "none": {},
}


def job(engine: dict) -> Job:
    """Return a job with this section."""
    roles = {"quasi-identifier": ["age"]}
    return Job(roles=roles, privacy={"k": 3}, engine=engine)


@pytest.mark.parametrize("named", ENGINES)
def test_a_job_of_an_engine_is_read_as_it_was_written(tmp_path, named):
    asked = job(ENGINES[named])
    (tmp_path / "job.toml").write_text(asked.to_toml())
    assert Job.read(tmp_path / "job.toml") == asked
    stated = asked.model_dump(mode="json", by_alias=True)
    assert Job(**stated) == asked
