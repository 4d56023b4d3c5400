"""What is no plain file is refused wherever a file is read, and never waited for."""

import json
import os
import socket

import pytest
from tables import job, people

import aggopt
from aggopt import Job
from aggopt.errors import JobError, TableError
from aggopt.pipeline.review.review_release import assess_release

ODD = {
    "pipe": (os.mkfifo, "is a named pipe and no plain file"),
    "device": (lambda path: os.symlink("/dev/null", path), "is a device and no plain"),
    "socket": (
        lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
        "is a socket and no plain file",
    ),
    "folder": (os.mkdir, "is a directory"),
}


@pytest.fixture(params=ODD)
def odd(request, tmp_path, monkeypatch):
    """Put what is no file at a place; return what is said of it."""
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    make, says = ODD[request.param]

    def put(name):
        if os.path.exists(name):
            os.unlink(name)
        make(name)
        return says

    return put


@pytest.mark.filterwarnings("ignore:unclosed")
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_tables(odd, name):
    says = odd(name)
    with pytest.raises(TableError, match=says):
        aggopt.mask(name, job())


@pytest.mark.filterwarnings("ignore:unclosed")
def test_jobs(odd):
    says = odd("job.toml")
    with pytest.raises(JobError, match=says):
        Job.read("job.toml")


@pytest.mark.filterwarnings("ignore:unclosed")
@pytest.mark.parametrize("name", ["m.manifest.json", "m.private.csv"])
def test_keys_and_manifests(odd, tmp_path, name):
    people().to_csv("t.csv", index=False)
    aggopt.mask("t.csv", job()).write("m.csv")
    says = odd(name)
    with pytest.raises(TableError, match=says):
        assess_release(tmp_path / "t.csv", tmp_path / "m.csv", job())


@pytest.mark.filterwarnings("ignore:unclosed")
def test_manifests_that_are_repeated(odd):
    says = odd("m.manifest.json")
    with pytest.raises(TableError, match=says):
        aggopt.repeat("m.manifest.json", people(), "again.csv")


def test_a_link_to_a_plain_file_is_fine(tmp_path):
    people().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "job.toml").write_text(job().to_toml())
    for name in ("t.csv", "job.toml"):
        (tmp_path / f"link-{name}").symlink_to(tmp_path / name)
    asked = Job.read(tmp_path / "link-job.toml")
    release = aggopt.mask(tmp_path / "link-t.csv", asked)
    assert json.loads(json.dumps(release.manifest()))["audit"]["holds"]
