"""Memory or room on the disk lacks, or a signal comes: exit code and files agree."""

import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shutil import copytree

import pytest
from tables import GRID, MEANS, ROLES_AND_K, people

import aggopt as package
from aggopt.job import Job

SOME, MANY = 3, 20  # calls of a command at which it is tried
PAGE = 4096  # bytes: a disk in memory has as many, or a multiple of them
FOLDERS = (str(Path(package.__file__).parent), "models")
# What begins and ends a command; what pydantic calls, whose errors have no cause; what
# the guardian does in place of a command that cannot.
SPARED = {
    "start.py",
    "cli.py",
    "interrupt.py",
    "guardian.py",
    "deferred_signals.py",
    "progress.py",
}
SECRETS = ("Person 1", "asthma")
SHIFTED = f'{MEANS}[aggregation]\nmethod = "p3m"\n'
OPTIMAL = f'{ROLES_AND_K}[partition]\nmethod = "optimal"\n'
JOBS = {"job": MEANS, "p3m": SHIFTED, "grid": GRID, "engine": ROLES_AND_K}
JOBS["optimal"] = OPTIMAL
MASK = ("mask", "people.csv", "job.toml", "--out", "masked.csv")
SWEEP = ("sweep", "people.csv", "p3m.toml", "--alpha", "0.5", "--delta", "0.1")
CHOOSE = ("choose", "people.csv", "job.toml", "--out", "c.html", "--k", "4")
SOLVERS = ("compare-solvers", "people.csv", "p3m.toml", "--solvers", "lagrangian")
OF_ONE = ("old.csv", "old2.csv", "--original", "people.csv")
OF_BOTH = ("people.csv", "old.csv", "job.toml")
TABLE = {"masked.csv", "masked.manifest.json", "masked.private.csv"}
COMMANDS = {
    "mask": ((*MASK, "--report", "masked.html"), {*TABLE, "masked.html"}),
    "check": (("check", "people.csv", "job.toml"), set()),
    "init": (("init", "people.csv", "--out", "new.toml"), {"new.toml"}),
    "convert": (("convert", "people.csv", "made"), {"made"}),
    "experiment": (("experiment", "grid.toml", "--out", "rows.csv"), {"rows.csv"}),
    "sweep": ((*SWEEP, "--jobs", "1"), {"sweep.csv", "sweep.png"}),
    "choose": ((*CHOOSE, "--jobs", "1"), {"c.html", "c.csv"}),
    "compare-solvers": (SOLVERS, set()),
    "report": (("report", *OF_BOTH, "--out", "page.html"), {"page.html"}),
    "risk": (("risk", *OF_BOTH), set()),
    "utility": (("utility", *OF_BOTH), set()),
    "assess": (("assess", *OF_BOTH), set()),
    "compare": (("compare", *OF_ONE), set()),
}
BESIDE = {"masked.manifest.json", "masked.private.csv"}
ENDINGS = {
    f"mask {ending}": ((*MASK[:-1], f"masked{ending}"), {f"masked{ending}", *BESIDE})
    for ending in (".parquet", ".xlsx", ".sav", ".dta", ".xpt")
}
FOLDER = ("mask", "parts", "engine.toml", "--out", "out", "--engine", "local")
EXPORT = ("export", "people.csv", "p3m.toml", "--attribute", "age", "--out", "age.nl")
WRITTEN = {
    **{name: given for name, given in COMMANDS.items() if given[1]},
    **ENDINGS,
    "folder": ((*FOLDER, "--jobs", "1"), {"out", "out.private"}),
    "export": (EXPORT, {"age.nl", "age.nl.key.json"}),
    "log": ((*MASK, "--log", "log.jsonl"), {*TABLE, "log.jsonl"}),
}
ROWS = ("experiment", "choose")  # what fails is a row, and the exit code is 1


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a table, jobs and releases."""
    folder = tmp_path_factory.mktemp("files")
    people().to_csv(folder / "people.csv", index=False)
    people(9).to_csv(folder / "few.csv", index=False)
    (folder / "parts").mkdir()
    people().to_parquet(folder / "parts" / "a.parquet")
    for name, text in JOBS.items():
        (folder / f"{name}.toml").write_text(text)
    for name in ("old.csv", "old2.csv"):
        release = package.mask(folder / "people.csv", Job.read(folder / "job.toml"))
        release.write(folder / name)
    return folder


@pytest.fixture
def here(files, tmp_path, monkeypatch):
    """A copy of these files, as working directory."""
    folder = copytree(files, tmp_path / "here")
    monkeypatch.chdir(folder)
    return folder


def is_ours(code):
    """Whether a function is of the package, and not spared."""
    path = Path(code.co_filename)
    in_package = code.co_filename.startswith(FOLDERS[0]) or FOLDERS[1] in path.parts
    return in_package and path.name not in SPARED and path.parent.name != "job"


CALLED = {}  # by the words of a command: the functions that it calls


def functions_called(run):
    """Return the functions of the package that a run calls, by their first call."""
    seen = {}

    def note(frame, event, argument):
        if event == "call" and is_ours(frame.f_code):
            seen.setdefault(frame.f_code)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return [code for code in seen if code.co_name != "<module>"]


def run_struck(run, code, strike):
    """Return what a run returns in which the first call of a function is struck."""

    def hook(frame, event, argument):
        if event == "call" and frame.f_code is code:
            sys.setprofile(None)
            strike()

    sys.setprofile(hook)
    try:
        return run()
    finally:
        sys.setprofile(None)


def lack_memory():
    raise MemoryError


def ends(here, aggopt, words, strike, count):
    """Yield the function struck, code, output, and names that are new, for each."""
    before = {path.name for path in here.iterdir()}
    if words not in CALLED:
        done = (0, 1)  # 1 if the answer is no: the two releases share small groups
        assert aggopt(*words)[0] in done  # and so nothing is imported or compiled later
        remove(here, before)
        CALLED[words] = functions_called(lambda: aggopt(*words))
        remove(here, before)
    codes = CALLED[words]
    for place in range(0, len(codes), -(-len(codes) // count)):
        code = codes[place]
        ended, out, err = run_struck(lambda: aggopt(*words), code, strike)
        made = {path.name for path in here.iterdir()} - before
        yield f"{code.co_filename} {code.co_name}", ended, out, err, made
        remove(here, before)


def remove(folder, kept):
    """Remove what is there and not among what is kept."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.relative_to(folder).parts[0] not in kept:
            path.rmdir() if path.is_dir() else path.unlink()


COUNTS = [SOME, pytest.param(MANY, marks=pytest.mark.slow)]


# What is struck while it iterates is never closed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_memory_that_lacks_is_the_cause_and_leaves_nothing(here, aggopt, name, count):
    words, files = COMMANDS[name]
    for place, code, out, err, made in ends(here, aggopt, words, lack_memory, count):
        said = f"{place}: {code} {err}"
        assert not [secret for secret in SECRETS if secret in out + err], said
        assert "nternal error" not in out + err, said
        if code == 0 or (code == 1 and name in ROWS):
            assert files <= made, said  # what else is left, the next run removes
            continue
        assert code == 3, said
        assert "There is not enough memory" in err, said
        assert "To fix: " in err, said
        assert made <= (files if name == "sweep" else set()), said


@contextmanager
def short_files(here, room):
    """Let no file have more bytes than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield here
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(here, room):
    """Work on a disk of this many bytes, on which all that is given is linked."""
    size = max(room // PAGE, 1) * PAGE
    disk = here.parent / "disk"
    disk.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a disk; run it as root")
    try:
        for path in here.iterdir():
            (disk / path.name).symlink_to(path)
        os.chdir(disk)
        yield disk
    finally:
        os.chdir(here)
        subprocess.run(["umount", str(disk)], check=True)


def full_at(here, aggopt, words, limit, count):
    """Yield bytes of room, code, output and the new names and texts, for each."""
    before = {path.name for path in here.iterdir()}
    assert aggopt(*words)[0] == 0
    made = {*here.rglob("*")} - {path for name in before for path in here.rglob(name)}
    need = sum(path.stat().st_size + PAGE for path in made if path.is_file())
    remove(here, before)
    for share in range(count):
        with limit(here, share * need // count) as folder:
            code, out, err = aggopt(*words)
            made = {path.name: path for path in folder.iterdir()}
            new = {name: made[name] for name in made.keys() - before}
            log = new["log.jsonl"].read_text() if "log.jsonl" in new else ""
        yield share * need // count, code, out, err, set(new), log
        remove(here, before)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("limit", [short_files, small_disk])
@pytest.mark.parametrize("name", WRITTEN)
def test_a_disk_that_is_full_is_the_cause_and_leaves_nothing(
    here, aggopt, name, limit, count
):
    words, files = WRITTEN[name]
    for room, code, out, err, made, log in full_at(here, aggopt, words, limit, count):
        said = f"{room}: {code} {err}"
        assert not [secret for secret in SECRETS if secret in out + err], said
        assert all(json.loads(line) for line in log.splitlines()), said
        if code == 0:
            assert (err, made) == ("", files), said
            continue
        assert code == 3, said
        assert "room" in err.split("To fix: ")[1], said
        kept = {"log": {"log.jsonl"}, "sweep": {"sweep.csv"}}.get(name, set())
        assert made <= kept, said
        assert ("kept in sweep.csv" in err) == ("sweep.csv" in made), said


def test_a_disk_that_is_full_leaves_earlier_files_as_they_are(here, aggopt):
    words = (*MASK[:-1], "old.csv", "--overwrite")
    old = {path.name: path.read_bytes() for path in here.glob("old.*")}
    for room in range(0, 2**14, 2**10):
        with short_files(here, room):
            code, _, err = aggopt(*words)
        same = {name for name in old if (here / name).read_bytes() == old[name]}
        if code == 0:
            break
        assert (code, same) == (3, set(old)), f"{room}: {err}"


SIGNALLED = {
    **{name: COMMANDS[name] for name in ("mask", "init", "sweep", "report")},
    "optimal": (("mask", "few.csv", "optimal.toml", *MASK[3:]), TABLE),
    "folder": WRITTEN["folder"],
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", SIGNALLED)
def test_a_signal_at_any_call_ends_the_command_by_its_code(
    here, aggopt, name, number, count
):
    words, files = SIGNALLED[name]
    strike = partial(signal.raise_signal, number)
    for place, code, out, err, made in ends(here, aggopt, words, strike, count):
        said = f"{place}: {code} {err} {made}"
        assert "Traceback" not in out + err, said
        if code == 0:
            assert (err, made) == ("", files), said
            continue
        assert code == 128 + number, said
        if name == "sweep":
            assert made in (set(), files), said
        else:
            assert not files & made, said
        assert all(each in err for each in made - files), said  # what is kept
