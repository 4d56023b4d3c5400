"""Nobody else hears or orders a cluster: by TLS, or on this machine alone."""

import shutil
import subprocess
from contextlib import contextmanager

import psutil
import pytest
from folders import digest, job, masked, persons, put
from refusals import refused

from aggopt.engine.executors import dask_cluster as dask_engine
from aggopt.errors import EngineError, JobError

distributed = pytest.importorskip(
    "distributed", reason="pip install 'aggopt[dask]' to run these"
)
pytestmark = pytest.mark.slow
HERE = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}


@pytest.fixture
def folder(tmp_path):
    """A folder of two files."""
    return put(tmp_path / "in", persons(130), persons(70, seed=1))


@pytest.fixture
def certified(tmp_path):
    """What Dask is told of certificates: one, which signs itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("apt install openssl to run this")
    own, key = tmp_path / "own.pem", tmp_path / "key.pem"
    words = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
    ]
    files = ["-keyout", str(key), "-out", str(own)]
    subprocess.run([openssl, *words, *files], check=True, capture_output=True)
    at = "distributed.comm.tls"
    found = {f"{at}.ca-file": str(own)}
    for who in ("scheduler", "worker", "client"):
        found |= {f"{at}.{who}.cert": str(own), f"{at}.{who}.key": str(key)}
    return found


@contextmanager
def scheduler(known):
    """Yield the address of a scheduler that has a worker, by TLS."""
    import dask
    from distributed.security import Security

    with dask.config.set(known):
        secure = Security(require_encryption=True)
        with distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            protocol="tls://",
            security=secure,
            memory_limit=0,
            **HERE,
        ) as cluster:
            yield cluster.scheduler_address


def listening():
    """Return the addresses at which this process and its children listen."""
    own = psutil.Process()
    return {
        connection.laddr.ip
        for process in (own, *own.children(recursive=True))
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    }


def test_a_scheduler_by_tls_gives_the_same_bytes(folder, certified, tmp_path):
    here = masked(folder, job(), tmp_path / "here")
    with scheduler(certified) as address:
        assert address.startswith("tls://127.0.0.1")
        engine = {"name": "dask", "scheduler": address}
        found = masked(folder, job(engine=engine), tmp_path / "out")
    assert digest(found.path) == digest(here.path)


def test_who_has_no_certificate_gets_no_answer(certified):
    import dask

    with scheduler(certified) as address:
        no_certificates = dask.config.set(dict.fromkeys(certified))
        refusal = pytest.raises(EngineError, match="name them in its configuration")
        with no_certificates, refusal:  # its message has the port, which is drawn
            dask_engine._connect_to_scheduler(address, False).__enter__()


def test_a_cluster_of_its_own_listens_on_this_machine_alone():
    before = listening()
    with dask_engine._start_cluster(1) as client:
        assert client.dashboard_link.startswith("http://127.0.0.1:")
        assert listening() - before <= {"127.0.0.1"}
        assert listening() >= {"127.0.0.1"}


def test_a_client_of_a_scheduler_in_clear_that_others_reach_is_refused(
    folder, tmp_path
):
    others = {"host": "0.0.0.0", "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(n_workers=0, **others) as cluster,
        distributed.Client(cluster) as client,
    ):
        address = client.scheduler_info()["address"]
        if "127.0.0.1" in address:
            pytest.skip("this machine has no other address")
        with refused(JobError):
            masked(
                folder, job(engine={"name": "dask"}), tmp_path / "out", client=client
            )
        with refused(EngineError):
            masked(
                folder,
                job(engine={"name": "dask", "insecure": True}),
                tmp_path / "out",
                client=client,
            )
