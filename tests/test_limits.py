"""Each test has a limit of time, and no test is judged by the clock."""

import os
import re
import subprocess
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_info

ROOT = Path(__file__).parents[1]
HANGING = """
import ctypes
import time

import pytest


def deadlock(library):
    mutex = ctypes.create_string_buffer(64)
    while True:
        library.pthread_mutex_lock(mutex)


@pytest.fixture
def slow_end():
    yield
    time.sleep(1000)


def test_sleeps(): time.sleep(1000)
def test_keeps_the_lock(): deadlock(ctypes.PyDLL(None))
def test_releases_the_lock(): deadlock(ctypes.CDLL(None))
def test_ends_slowly(slow_end): raise ValueError
"""


def test_whatever_hangs_is_reported_with_its_stack_and_the_run_goes_on(tmp_path):
    (tmp_path / "test_hanging.py").write_text(HANGING)
    limits = ["-o", "timeout=1", "-o", "faulthandler_timeout=2"]
    here = ["-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *here, *limits, "-n2", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    failed = set(re.findall(r"^FAILED \S+::(\w+)", run.stdout, re.MULTILINE))
    tests = set(re.findall(r"def (test_\w+)", HANGING))
    assert failed == tests, run.stdout + run.stderr
    stacks = run.stdout + run.stderr
    for where in ("time.sleep(1000)", "in deadlock", "in slow_end"):
        assert where in stacks


def test_the_limits_are_on_in_this_run(pytestconfig):
    limit = float(pytestconfig.getini("timeout"))
    assert 60 <= limit < float(pytestconfig.getini("faulthandler_timeout"))
    assert pytestconfig.getini("faulthandler_exit_on_timeout")


def test_hypothesis_asks_no_clock():
    inherited = settings(max_examples=3)
    assert inherited.deadline is None
    assert HealthCheck.too_slow in inherited.suppress_health_check


def test_linear_algebra_has_one_thread_unless_the_caller_names_more():
    wanted = int(os.environ["OPENBLAS_NUM_THREADS"])
    pools = [each for each in threadpool_info() if each["internal_api"] == "openblas"]
    assert {each["num_threads"] for each in pools} <= {wanted}
