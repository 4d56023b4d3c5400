"""Memory lacks at any call: exit code and files agree."""

import sys
from pathlib import Path

import pytest
from tables import GRID, MEANS, people

import aggopt as package

SOME, MANY = 5, 60  # calls of a command at which it is tried
FOLDERS = (str(Path(package.__file__).parent), "models")
# What begins and ends a command; what pydantic calls, whose errors have no cause; what
# the guardian does in place of a command that cannot.
SPARED = {"cli.py", "interrupt.py", "guardian.py", "deferred_signals.py", "progress.py"}
SECRETS = ("Person 1", "asthma")
SHIFTED = f'{MEANS}[aggregation]\nmethod = "p3m"\n'
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
ROWS = ("experiment", "choose")  # what fails is a row, and the exit code is 1


@pytest.fixture
def here(tmp_path, monkeypatch, aggopt):
    """A folder with a table, jobs and releases, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    for name, text in [("job", MEANS), ("p3m", SHIFTED), ("grid", GRID)]:
        (tmp_path / f"{name}.toml").write_text(text)
    for name in ("old.csv", "old2.csv"):
        assert aggopt(*MASK[:-1], name)[0] == 0
    return tmp_path


def is_ours(code):
    """Whether a function is of the package, and not spared."""
    path = Path(code.co_filename)
    in_package = code.co_filename.startswith(FOLDERS[0]) or FOLDERS[1] in path.parts
    return in_package and path.name not in SPARED and path.parent.name != "job"


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
    done = (0, 1)  # 1 if the answer is no: the two releases share small groups
    assert aggopt(*words)[0] in done  # and so nothing is imported or compiled later
    remove(here, before)
    codes = functions_called(lambda: aggopt(*words))
    remove(here, before)
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
