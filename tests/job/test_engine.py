"""[engine] as text: what another engine takes is not in it."""

import pytest
from refusals import refused

from aggopt import Job
from aggopt.errors import JobError
from aggopt.job.release_job import has_engine, read_job_of_release

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


UNNAMED = {"local": "block = 9", "dask": "workers = 2\nblock = 9", "memory": ""}


@pytest.mark.parametrize("name", UNNAMED)
def test_a_job_of_a_release_may_leave_out_who_carried_it_out(tmp_path, name):
    file = tmp_path / "job.toml"
    said = job({}).to_toml().split("[engine]")[0]
    file.write_text(f"{said}[engine]\n{UNNAMED[name]}\n")
    assert read_job_of_release(file).engine.name == name
    assert not has_engine(file)
    file.write_text(f'{said}[engine]\nname = "dask"\n')
    assert read_job_of_release(file).engine.name == "dask"
    assert has_engine(file)


@pytest.mark.parametrize("said", ["jobs = 2\nworkers = 2", "nonsense = 1"])
def test_keys_that_no_engine_takes_are_refused_all_the_same(tmp_path, said):
    file = tmp_path / "job.toml"
    text = job({}).to_toml().split("[engine]")[0]
    file.write_text(f"{text}[engine]\n{said}\n")
    with pytest.raises(JobError):
        read_job_of_release(file)


@pytest.mark.parametrize(
    "keys",
    [{"jobs": 2}, {"name": "local", "workers": 2}, {"jobs": 2, "workers": 2}],
    ids=["memory", "local", "of two engines"],
)
def test_keys_of_another_engine_are_refused_with_its_name(keys):
    with refused(JobError):
        job(keys)
