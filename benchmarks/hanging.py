"""Solvers that never return: 26 ways of hanging, and when each is ended.

python benchmarks/hanging.py [ENTRY ...]

Each way runs in a process of its own and is watched from outside.  A solver writes its
process number to a file and hangs.  "ended" counts from that moment until its process
is gone, for the slowest of all calls; "whole" is the time of the caller, imports
included.  "left" names files and processes that remain when the caller is gone.  The
time limit is in seconds, and where a method calls a solver many times, the limit of
all calls; a solver must be gone 3 seconds after it.  ENTRY limits the run to those
that are called by it.  Exit code 1 if a solver was late, or none was called.  Linux
only.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent.parent
SLACK = 3.0  # seconds after its limit in which a solver must be gone
TRIAL = 300.0  # seconds until a trial that does not end is stopped
TIDY = 2.0  # seconds in which the guardian may tidy after its owner is gone
MARK = "HANGING_TRIAL"  # variable that all processes of a trial have

SOLVERS = """
import collections, ctypes, itertools, os, pathlib, signal, sys, time

def begin():
    with open(pathlib.Path(__file__).with_name("begun"), "a") as begun:
        begun.write(f"{os.getpid()} {time.time()}\\n")

def sleeps(model, data, *, time_limit=None):
    begin()
    while True:
        time.sleep(1000)

def keeps_lock(model, data, *, time_limit=None):
    begin()
    collections.deque(itertools.repeat(1), maxlen=0)

def keeps_lock_in_c(model, data, *, time_limit=None):
    begin()
    ctypes.PyDLL(None).pause()

def frees_lock(model, data, *, time_limit=None):
    begin()
    while True:
        ctypes.CDLL(None).pause()

def spins_without_lock(model, data, *, time_limit=None):
    import numba
    @numba.njit(nogil=True)
    def spin(i):
        while i >= 0:
            i = (i + 1) % 1000
        return i
    spin(-1)
    begin()
    spin(1)

def ignores_limit(model, data, *, time_limit=None):
    begin()
    while True:
        sum(range(1000))

def ignores_signals(model, data, *, time_limit=None):
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    ignores_limit(model, data)

def catches_all(model, data, *, time_limit=None):
    begin()
    while True:
        try:
            while True:
                time.sleep(1)
        except BaseException:
            pass

def prints(model, data, *, time_limit=None):
    begin()
    while True:
        print("A line of a solver." * 50)

def eats_memory(model, data, *, time_limit=None):
    begin()
    blocks = []
    while True:
        try:
            blocks.append(bytearray(1 << 24))
        except MemoryError:
            time.sleep(0.01)

def forks(model, data, *, time_limit=None):
    begin()
    if os.fork() == 0:
        begin()
    while True:
        time.sleep(1000)
"""
PACKAGE = """
import own

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    own.keeps_lock(None, None)
"""
HIGHS = """
import os, own, sys

path, folder = sys.path, os.path.dirname(__file__)
sys.path = [each for each in path if each not in ("", folder)]
del sys.modules["highspy"]
import highspy

sys.path = path
highspy.Highs.run = lambda highs: own.{name}(None, None)
"""
PROGRAM = """#!/bin/sh
case "$*" in *-v*) echo "Ipopt 3.14.0"; exit;; esac
echo "$$ $(date +%s.%N)" >> {begun}
trap "" INT TERM HUP
while :; do sleep 1; done
"""
CALLER = """
import os, sys
sys.path.insert(0, os.getcwd())
import numpy as np
import own
from aggopt.errors import AggoptError
rng = np.random.default_rng(3)
try:
    {call}
except AggoptError as error:
    status = f"{{type(error).__name__}}: {{error.problem}}"
print("STATUS", status)
"""
P3M = (
    "from aggopt.aggregate import p3m; "
    "status = p3m(rng.normal(size=(20, 1)), np.arange(20) // 5, delta=0.1, "
    "solver=own.{name}, time_limit={limit}).certificates[0].status"
)
CVXPY = (
    "import cvxpy as cp; from aggopt.solvers import solve; x = cp.Variable(2); "
    "status = solve(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]), 'cvxpy:clarabel', "
    "time_limit={limit}).status"
)
PYOMO = (
    "import pyomo.environ as pyo; from aggopt.solvers import solve; "
    "m = pyo.ConcreteModel(); m.x = pyo.Var(bounds=(1, 9), initialize=2); "
    "m.cost = pyo.Objective(expr=m.x**4); "
    "status = solve(m, 'pyomo:ipopt', time_limit={limit}).status"
)
UNIVARIATE = (
    "from aggopt.partition import univariate; "
    "status = univariate(rng.normal(size=40), 3, solver=own.{name}, "
    "time_limit={limit}).certificate.status"
)
OPTIMAL = (
    "from aggopt.partition import optimal; "
    "status = optimal(rng.normal(size=(60, 3)), 10, solver=own.{name}, "
    "time_limit={limit}).certificate.status"
)
PRICED = OPTIMAL.replace("solver=own.{name}, ", "")
REPAIR = (
    "from aggopt.repair import closeness; "
    "status = closeness(rng.normal(size=(48, 2)), np.arange(48) % 8, "
    "np.arange(48) // 3, 3, 0.2, solver=own.{name}, "
    "time_limit={limit}).certificate.status"
)
MERGED = REPAIR.replace("solver=own.{name}, ", "")
HEAD = """
[roles]
quasi-identifier = ["a"]
other = ["b", "c", "pay"]
[privacy]
k = 3
[partition]
method = "mdav"
"""
SHIFTED = HEAD + '[aggregation]\nmethod = "p3m"\nsolver = "{solver}"\ndelta = 0.1\n'
LIMITED = SHIFTED + "time_limit = {limit}\n"
REPAIRED = """
[roles]
quasi-identifier = ["a", "b", "c", "d"]
confidential = ["pay"]
[privacy]
k = 3
t = 0.1
[privacy.repair]
method = "merge-ilp"
solver = "own.py:{name}"
time_limit = {limit}
[partition]
method = "mdav"
"""
PARTITIONED = """
[roles]
quasi-identifier = ["a", "b", "c"]
other = ["pay"]
[privacy]
k = 10
[partition]
method = "optimal"
solver = "own.py:{name}"
time_limit = {limit}
"""
SOLVER = 'solver = "own.py:{name}"\n'
MASK = "mask table.csv job.toml --out out.csv --trust own.py"
COMPARE = (
    "compare-solvers table.csv job.toml --trust own.py --solvers own.py:{name} "
    "--time-limit {limit}"
)
SWEEP = (
    "sweep table.csv job.toml --trust own.py --delta 0.1 --alpha 1 --out swept --jobs 1"
)


@dataclass(frozen=True)
class Way:
    """One way of hanging: what hangs, what calls it, and the limit in seconds."""

    does: str
    entry: str
    call: str
    name: str = ""
    job: str = ""
    limit: float = 2.0
    highs: bool = False  # whether HiGHS itself does that

    def fill(self, text: str) -> str:
        """Return a text with the solver's name and the limit."""
        solver = f"own.py:{self.name}" if self.name else "pyomo:ipopt"
        return text.format(name=self.name, limit=self.limit, solver=solver)

    @property
    def words(self) -> list[str]:
        """The words of its process."""
        call = self.fill(self.call)
        if self.job:
            return [sys.executable, "-m", "aggopt", *call.split()]
        return [sys.executable, "-c", CALLER.format(call=call)]


WAYS = [
    Way("sleeps for ever", "p3m", P3M, "sleeps"),
    Way("iterates in C with the lock", "p3m", P3M, "keeps_lock"),
    Way("waits in a C library with the lock", "p3m", P3M, "keeps_lock_in_c"),
    Way("waits in a C library without the lock", "p3m", P3M, "frees_lock"),
    Way("spins in a kernel without the lock", "p3m", P3M, "spins_without_lock"),
    Way("catches every exception", "p3m", P3M, "catches_all"),
    Way("forks, and both sleep", "p3m", P3M, "forks"),
    Way("a package of cvxpy, with the lock", "solve", CVXPY),
    Way("a program of Pyomo, ignores SIGTERM", "solve", PYOMO),
    Way("iterates in C with the lock", "univariate", UNIVARIATE, "keeps_lock"),
    Way("iterates in C with the lock", "optimal", OPTIMAL, "keeps_lock", limit=20.0),
    Way("ignores its limit", "closeness", REPAIR, "ignores_limit", limit=6.0),
    Way("ignores its limit", "aggopt mask", MASK, "ignores_limit", LIMITED),
    Way("ignores every signal", "aggopt mask", MASK, "ignores_signals", LIMITED),
    Way("prints without end", "aggopt mask", MASK, "prints", LIMITED),
    Way("eats memory", "aggopt mask", MASK, "eats_memory", LIMITED),
    Way("a program of Pyomo", "aggopt mask", MASK, "", LIMITED),
    Way("with the lock, repair", "aggopt mask", MASK, "keeps_lock", REPAIRED, 10.0),
    Way("with the lock, optimal", "aggopt mask", MASK, "keeps_lock", PARTITIONED, 20.0),
    Way(
        "iterates in C with the lock", "compare-solvers", COMPARE, "keeps_lock", SHIFTED
    ),
    Way("sleeps, repair", "compare-solvers", COMPARE, "sleeps", REPAIRED, 10.0),
    Way("iterates in C with the lock", "sweep", SWEEP, "keeps_lock", LIMITED),
    Way("HiGHS keeps the lock", "optimal", PRICED, "keeps_lock", highs=True),
    Way("HiGHS frees the lock", "closeness", MERGED, "frees_lock", "", 6.0, True),
    Way(
        "HiGHS keeps the lock, optimal",
        "aggopt mask",
        MASK,
        "keeps_lock",
        PARTITIONED.replace(SOLVER, ""),
        highs=True,
    ),
    Way(
        "HiGHS prints without end, repair",
        "aggopt mask",
        MASK,
        "prints",
        REPAIRED.replace(SOLVER, ""),
        limit=6.0,
        highs=True,
    ),
]


@dataclass(frozen=True)
class Trial:
    """What was seen of one way."""

    ended: float | None  # seconds; None if nothing hung
    whole: float
    status: str
    left: str

    def is_in_time(self, limit: float) -> bool:
        """Whether the solver hung, was ended in time, and nothing is left."""
        in_time = self.ended is not None and self.ended <= limit + SLACK
        return in_time and not self.left


def try_way(way: Way) -> Trial:
    """Run one way in a folder of its own and watch it."""
    with tempfile.TemporaryDirectory() as name:
        folder, mark = Path(name), uuid.uuid4().hex
        lay_out(folder, way)
        environment = {
            **os.environ,
            MARK: mark,
            "PYTHONPATH": os.pathsep.join([str(folder), str(HERE)]),
            "PATH": f"{folder}:{os.environ['PATH']}",
            "TMPDIR": str(folder / "tmp"),
            "AGGOPT_SCRATCH": str(folder / "tmp"),
        }
        before = {*folder.iterdir()}
        started = time.time()
        with (folder / "said").open("w+") as said:
            process = subprocess.Popen(
                way.words, cwd=folder, env=environment, stdout=said, stderr=said
            )
            ended = watch(process, folder / "begun", started)
        whole = time.time() - started
        text = (folder / "said").read_text(errors="replace")
        left = left_over(mark, folder, before)
        return Trial(ended, whole, status_of(process.returncode, text, folder), left)


def lay_out(folder: Path, way: Way) -> None:
    """Write the code, the job and the table of a way into a folder."""
    (folder / "tmp").mkdir()
    (folder / "own.py").write_text(SOLVERS)
    if way.call is CVXPY:
        (folder / "clarabel.py").write_text(PACKAGE)
    if way.highs:
        (folder / "highspy.py").write_text(HIGHS.format(name=way.name))
    program = folder / "ipopt"
    program.write_text(PROGRAM.format(begun=folder / "begun"))
    program.chmod(0o700)
    (folder / "job.toml").write_text(way.fill(way.job))
    frame = table_to_merge() if "[privacy.repair]" in way.job else table()
    frame.to_csv(folder / "table.csv", index=False)


def table() -> pd.DataFrame:
    """Return 60 records of three numbers and a pay."""
    numbers = np.random.default_rng(3).normal(size=(60, 3))
    return pd.DataFrame(numbers, columns=["a", "b", "c"]).assign(pay=np.arange(60) % 8)


def table_to_merge() -> pd.DataFrame:
    """Return records whose best t-close unions HiGHS alone does not prove in seconds.

    So the solver that is named is asked for them.
    """
    rng = np.random.default_rng(2)
    numbers = rng.normal(size=(120, 4))
    pay = rng.permutation(np.arange(120) % 30)
    return pd.DataFrame(numbers, columns=["a", "b", "c", "d"]).assign(pay=pay)


def watch(
    process: subprocess.Popen[bytes], begun: Path, started: float
) -> float | None:
    """Wait until a process ends; return the longest life of a hanging solver."""
    gone: dict[tuple[int, float], float] = {}
    while True:
        over = process.poll() is not None
        lines = begun.read_text().splitlines() if begun.exists() else []
        for line in lines:
            pid, since = line.split()
            key = int(pid), float(since)
            if key not in gone and not is_alive(key[0]):
                gone[key] = time.time()
        if over and len(gone) >= len(lines):
            break
        if time.time() - started > TRIAL:
            process.kill()
            process.wait()
            return TRIAL if lines else None
        time.sleep(0.02)
    return max((end - since for (_, since), end in gone.items()), default=None)


def is_alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def left_over(mark: str, folder: Path, before: set[Path]) -> str:
    """Return the processes and the files that a trial left, in words."""
    until = time.monotonic() + TIDY
    while (processes := marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    results = ("begun", "said", "out.", "swept.")
    new = {p for p in folder.iterdir() if not p.name.startswith(results)} - before
    new |= {*(folder / "tmp").iterdir()}
    files = sorted(path.name for path in new if path.name != "__pycache__")
    number = [f"{len(processes)} processes"] if processes else []
    return ", ".join(number + files)


def marked(mark: str) -> list[int]:
    """Return the processes of a trial."""
    numbers = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = Path(f"/proc/{entry}/environ").read_bytes()
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environment and is_alive(int(entry)):
            numbers.append(int(entry))
    return numbers


def status_of(code: int, said: str, folder: Path) -> str:
    """Return the status that the caller got, or the exit code and what was written."""
    for line in said.splitlines():
        if line.startswith("STATUS "):
            return line.removeprefix("STATUS ")
    manifest = folder / "out.manifest.json"
    if manifest.exists():
        statuses = sorted(set(find_statuses(json.loads(manifest.read_text()))))
        return f"exit {code}: {'; '.join(statuses)}"
    if code == 0 and "not answer" in said:
        return "exit 0: the solver did not answer"
    first = next((line for line in said.splitlines()[::-1] if "fix" not in line), "")
    return f"exit {code}" if code == 0 else f"exit {code}: {first.strip()[:60]}"


def find_statuses(facts: object) -> list[str]:
    """Return every status in a manifest."""
    if isinstance(facts, list):
        return [status for each in facts for status in find_statuses(each)]
    if not isinstance(facts, dict):
        return []
    inner = [status for each in facts.values() for status in find_statuses(each)]
    status = facts.get("status")
    return [*inner, status] if isinstance(status, str) else inner


def main() -> None:
    ways = [way for way in WAYS if not sys.argv[1:] or way.entry in sys.argv[1:]]
    table = Table("the solver", "called by", title="Solvers that never return")
    for heading in ("limit", "ended", "whole"):
        table.add_column(heading, justify="right")
    table.add_column("status")
    table.add_column("left")
    late = idle = 0
    for way in ways:
        trial = try_way(way)
        late += not trial.is_in_time(way.limit)
        idle += trial.ended is None
        ended = "nothing hung" if trial.ended is None else f"{trial.ended:.1f}"
        figures = f"{way.limit:g}", ended, f"{trial.whole:.1f}"
        table.add_row(
            way.does, way.entry, *figures, trial.status, trial.left or "nothing"
        )
        print(way.does, way.entry, *figures, trial, file=sys.stderr, flush=True)
    Console(width=150).print(table)
    print(
        f"{len(ways)} ways; {len(ways) - late} ended within limit + {SLACK:g} s; "
        f"{idle} show nothing, as no solver was called."
    )
    if late:
        sys.exit(1)


if __name__ == "__main__":
    main()
