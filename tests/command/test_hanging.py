"""Ctrl-C and SIGTERM end a command while code spins with the interpreter's lock."""

import json
import signal
import subprocess
import sys
import time

import pytest

OWN = """
import collections, itertools, pathlib

def spin(*data):
    pathlib.Path(__file__).with_name("began").touch()
    collections.deque(itertools.repeat(1), maxlen=0)

def solver(model, data):
    spin()

def partitioner(X, k):
    spin()
"""
JOB = """
[roles]
quasi_identifier = ["a", "b"]
[privacy]
k = 3
"""
SOLVER = '[aggregation]\nmethod = "p3m"\nsolver = "own.py:solver"\n'
PARTITIONER = '[partition]\nmethod = "own.py:partitioner"\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "number", "code"),
    [
        (SOLVER, signal.SIGINT, 130),
        (SOLVER, signal.SIGTERM, 143),
        (PARTITIONER, signal.SIGINT, -signal.SIGKILL),
        (PARTITIONER, signal.SIGTERM, -signal.SIGKILL),
    ],
)
def test_a_signal_ends_a_command_that_spins(tmp_path, section, number, code):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "job.toml").write_text(JOB + section)
    rows = "".join(f"{i * i % 17},{i * 7 % 13}\n" for i in range(40))
    (tmp_path / "table.csv").write_text(f"a,b\n{rows}")
    before = {*tmp_path.iterdir()}
    words = [sys.executable, "-m", "aggopt", "mask", "table.csv", "job.toml"]
    with subprocess.Popen(
        [*words, "--out", "out.csv", "--trust", "own.py", "--log", "run.jsonl"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        while not (tmp_path / "began").exists() and command.poll() is None:
            time.sleep(0.05)
        command.send_signal(number)
        said = command.communicate()[1]
    assert command.returncode == code
    assert "no release was written" in said
    log = tmp_path / "run.jsonl"
    last = json.loads(log.read_text().splitlines()[-1])
    assert last["exit"] == (137 if code == -signal.SIGKILL else code)
    assert "no release was written" in last["message"] + last.get("fix", "")
    assert {*tmp_path.iterdir()} - before <= {tmp_path / "began", log}
