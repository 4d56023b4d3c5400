"""The checklists of CONTRIBUTING.md: their files are added to a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\S+) (.+?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PARTS = {  # each checklist by its heading
    heading: part
    for heading, part in re.findall(
        r"^### (An? .+?)\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE
    )
}
LAWS = {  # the tests that hold what a checklist adds, and those of them that can
    "A model": ("tests/models/test_contract.py", "midrange or every_file"),
    "A solver": ("tests/solvers/test_classes.py", "osqp"),
    "A partitioner": ("tests/partition/test_laws.py", "rings and groups_have"),
    "A repair": ("tests/repair/test_laws.py", "pooled"),
    "An aggregator": ("tests/aggregate/test_laws.py", "midrange and not objective"),
    "A privacy model": ("tests/privacy/test_laws.py", "alpha"),
    "A measure": ("tests/measure/test_laws.py", "largest_shift"),
    "A format of files": ("tests/data/test_formats.py", "feather and not known"),
    "A section of a report": ("tests/release/report/test_sections.py", "sizes"),
    "A key of the job": ("tests/job/test_keys.py", "AttributeKeys"),
}


def blocks(heading: str, kind: str) -> dict[str, str]:
    """Return the blocks of a checklist whose first line says `kind="..."`, by that."""
    return {
        said[len(kind) + 2 : -1]: text
        for _, said, text in BLOCK.findall(PARTS[heading])
        if said.startswith(f"{kind}=")
    }


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the checkout to which the files of all checklists are added."""
    to = tmp_path_factory.mktemp("checkout")
    for folder in (".ci", "aggopt", "models", "tests"):
        shutil.copytree(ROOT / folder, to / folder, symlinks=True)
    shutil.copy2(ROOT / "pyproject.toml", to)
    for heading in PARTS:
        for path, text in blocks(heading, "title").items():
            assert not (to / path).exists(), path
            (to / path).parent.mkdir(exist_ok=True)
            (to / path).write_text(text, "utf-8")
        for place, text in blocks(heading, "edit").items():
            path, line = place.split('" after="')
            before, line, after = (to / path).read_text("utf-8").partition(f"{line}\n")
            assert line, place
            (to / path).write_text(before + line + text + after, "utf-8")
    return to


def run(there: Path, *words: str) -> str:
    """Run Python in the copy, and nothing of the checkout; return what it printed."""
    ended = subprocess.run(
        [sys.executable, "-B", *words],
        cwd=there,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(there), f"{there}/tests"])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    return ended.stdout


def test_every_kind_has_a_checklist() -> None:
    assert tuple(PARTS) == tuple(LAWS)


@pytest.fixture(scope="module")
def printed(scratch: Path) -> list[str]:
    """Return what fails of what each checklist says then holds, and the solvers."""
    then = {heading: "".join(blocks(heading, "then").values()) for heading in PARTS}
    (scratch / "then.json").write_text(json.dumps(then), "utf-8")
    return run(scratch, "-c", EACH + READERS).split(APART)


APART = "\f"  # between what is printed
EACH = """
import json, pathlib, traceback
from tables import job, people

found = {}
for heading, then in json.loads(pathlib.Path("then.json").read_text("utf-8")).items():
    try:
        exec(then, {"job": job, "people": people})
        found[heading] = ""
    except BaseException:
        found[heading] = traceback.format_exc()
print(json.dumps(found), end="\\f")
"""


@pytest.mark.parametrize("heading", PARTS)
def test_one_file_adds_one(printed: list[str], heading: str) -> None:
    """What the checklist says of it then holds, without another line."""
    assert len(blocks(heading, "title")) == len(blocks(heading, "then")) == 1
    assert json.loads(printed[0])[heading] == ""


def test_a_key_that_acts_in_memory_and_in_folders_touches_at_most_eight_files() -> None:
    edits = {place.partition('"')[0] for place in blocks("A key of the job", "edit")}
    assert len(edits | blocks("A key of the job", "title").keys()) <= 8


READERS = """
import sys
from pathlib import Path
from aggopt.inspection.draft import propose_job
from aggopt.errors import JobError
from aggopt.solvers import SOLVERS, choose_solver

people().to_csv("people.csv", index=False)
text = propose_job(Path("people.csv"), Path("job.toml")).text
(line,) = [line for line in text.splitlines() if '"midrange"' in line]
assert line.endswith("least largest error within each group")
try:
    job(aggregation={"method": "midrange", "alpha": 0.5})
except JobError as refused:
    assert "method = 'midrange' takes no alpha" in refused.problem
else:
    raise SystemExit("midrange takes no alpha")
assert choose_solver("osqp", "QP").name == "cvxpy:osqp"
assert choose_solver(None, "QP").name == "cvxpy:clarabel"
sys.argv = ["aggopt", "solvers", "--json"]
from aggopt.command.cli import run_app
try:
    run_app()
except SystemExit as ended:
    assert not ended.code
"""


def test_readers_are_shown_what_was_added(printed: list[str]) -> None:
    """In the template, in refusals and in the list of solvers."""
    assert json.loads(printed[1])["cvxpy:osqp"]["takes"] == ["QP"]


def test_the_files_have_the_style_of_the_others(scratch: Path) -> None:
    added = {path for heading in PARTS for path in blocks(heading, "title")}
    added |= {
        path
        for heading in PARTS
        for place in blocks(heading, "edit")
        if (path := place.partition('"')[0]).endswith(".py")
    }
    run(scratch, "-m", "ruff", "check", "--no-cache", *added)
    run(scratch, "-m", "ruff", "format", "--no-cache", "--check", *added)


@pytest.mark.slow
def test_the_laws_hold_what_was_added(scratch: Path) -> None:
    words = (f"({file.split('/')[1]} and ({which}))" for file, which in LAWS.values())
    files = sorted({file for file, _ in LAWS.values()})
    quiet = ("-q", "-p", "no:cacheprovider", "-k", " or ".join(words))
    quiet = (*quiet, "--rewrite-messages")  # which list the new methods, too
    held = run(scratch, "-m", "pytest", *quiet, *files)
    assert int(re.findall(r"(\d+) passed", held)[0]) >= len(LAWS)
