"""The pages tell the truth: their code and their commands run, in the order they have.

A comment before a block says what is to be known of it:

    <!-- not run: why -->      it cannot run here; a command is still looked up
    <!-- slow: why -->         it runs in the slow test
    <!-- ends with: 1 -->      the exit code of its last command

A block without a language, after one that printed something, is what that printed (of
commands the last), with `...` for what is left out.  Blocks of TOML with a title are
files of that name; those with roles and a requirement are `job.toml`; others are
sections of a job, and are read as such.
"""

import os
import shutil
import tomllib
from collections.abc import Iterable
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
import tomlkit
from pages import PAGES, ROOT, Block, blocks, said
from tables import ROLES, people
from typer.main import get_command

import aggopt as package
from aggopt.command.cli import app
from aggopt.core.plugins.loading import trust_files

COMMANDS = get_command(app).commands  # type: ignore[attr-defined]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
TARGETS = {line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines()}
ALIKE = ELLIPSIS | NORMALIZE_WHITESPACE


def table() -> Any:
    """Return the people that pages speak of without making them."""
    rng = np.random.default_rng(4)
    frame = people(60).assign(note=rng.choice(["a", "b", "c"], 60))
    salary = (frame["income"] * rng.uniform(0.7, 1.3, 60)).round(2)
    return frame.assign(y=salary + frame["age"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table and a job, and a store of releases of them."""
    there = tmp_path_factory.mktemp("pages")
    (there / "store").mkdir()
    table().to_csv(there / "people.csv", index=False)
    job = package.Job(
        roles={**ROLES, "other": ["note", "y"]},
        privacy={"k": 3},
        partition={"method": "mdav"},
        aggregation={"method": "p3m"},
    )
    (there / "store" / "job.toml").write_text(job.to_toml(), "utf-8")
    release = package.mask(there / "people.csv", job)
    for name in ("masked.csv", "a.csv", "b.csv", "u.csv"):
        release.write(there / "store" / name)
    (there / "illness.csv").write_text("flu;lung;*\nasthma;lung;*\nnone;none;*\n")
    return there


def roles_for(sections: dict[str, Any]) -> dict[str, list[str]]:
    """Return roles in which the columns that a section of a job names have a part."""
    how = sections.get("aggregation", {}).get("categories", {})
    crossed = [name for names in how.get("cross", []) for name in names]
    asked, risk = how.get("importance", {}), sections.get("risk", {})
    beside = [*how.get("with", []), *risk.get("target", [])]
    return {
        "quasi-identifier": [*sections.get("attributes", {}), *crossed] or ["age"],
        "confidential": beside or ["illness"],
        "identifier": [*risk.get("unit", []), *filter(None, [risk.get("weight")])],
        "wish": [asked["column"]] if "column" in asked else [],
    }


class Reader:
    """Reads a page as a user would who does all that it says."""

    def __init__(self, page: str, here: Path, aggopt: Any, capsys: Any) -> None:
        self.page, self.here, self.aggopt, self.capsys = page, here, aggopt, capsys
        self.store = here / "store"
        self.brought: list[Path] = []
        self.printed: str | None = None
        X = table()[["age", "income"]].to_numpy()
        self.names: dict[str, Any] = {
            **{"np": np, "cp": cp, "pyo": pyo, "aggopt": package, "people": table()},
            **{
                "job": package.Job.read(self.store / "job.toml"),
                "X": X,
                "Y": X.round(-1),
            },
        }
        code = (b.text for b in blocks(page) if b.kind == "python" and "def " in b.text)
        (here / "mine.py").write_text("import cvxpy as cp\n" + "\n".join(code), "utf-8")

    def read(self, block: Block, *, slow: bool) -> None:
        runs = block.runs(slow=slow)
        if block.mark == "not run" and block.kind != "commands":
            self.printed = None
        elif block.kind == "printed":
            self.compare(block.text)
        elif block.kind == "commands":
            self.printed = self.run(block, runs=runs)
        elif block.kind == "toml":
            self.take(block)
        elif block.kind == "python":
            self.printed = self.execute(block.text) if runs else None
        elif not block.kind.startswith("{"):  # a directive of the site
            raise AssertionError(f"no block of {block.kind} is known")

    def execute(self, code: str) -> str:
        self.bring(path.name for path in self.store.iterdir() if path.name in code)
        self.capsys.readouterr()
        exec(compile(code, self.page, "exec"), self.names)
        return str(self.capsys.readouterr().out)

    def take(self, block: Block) -> None:
        sections = tomllib.loads(block.text)
        if block.title:
            (self.here / block.title).write_text(block.text, "utf-8")
        elif {"roles", "privacy"} <= sections.keys():
            (self.here / "job.toml").write_text(block.text, "utf-8")
            package.Job.read(self.here / "job.toml")
        else:
            roles = roles_for(sections)
            whole = {"roles": roles, "privacy": {"k": 5}, **sections}
            self.bring([sections.get("partition", {}).get("keep_groups", "none")])
            part = self.here / "part.toml"
            part.write_text(tomlkit.dumps(whole), "utf-8")
            with trust_files([self.here / "mine.py"]):
                package.Job.read(part)

    def run(self, block: Block, *, runs: bool) -> str | None:
        last = ""
        for words in block.commands:
            look_up(words)
            if runs and words[0] == "aggopt":
                made = words[words.index("--out") + 1] if "--out" in words else ""
                for path in self.brought:  # what is made here is no longer borrowed
                    if path.name.partition(".")[0] == made.partition(".")[0]:
                        path.unlink(missing_ok=True)
                self.bring(word for word in words[2:] if word != made)
                code, out, err = self.aggopt(*words[1:])
                if words[1] == "init":
                    self.decide(self.here / (made or "job.toml"))
                ends = block.why if block.mark == "ends with" else "0"
                assert code == 0 or str(code) == ends, f"{words}: {code}, {err}"
                last = out
        return last if runs else None

    def decide(self, written: Path) -> None:
        """Decide what init asks in a job that it wrote: columns are confidential."""
        job = tomlkit.parse(written.read_text("utf-8"))
        roles: Any = job["roles"]
        known = {name for names in roles.values() for name in names}
        asked = [name for name in table().columns if name not in known]
        roles["confidential"] = [*roles.get("confidential", []), *asked]
        written.write_text(tomlkit.dumps(job), "utf-8")

    def bring(self, words: Iterable[str]) -> None:
        """Bring releases that a page speaks of without making them."""
        for word in words:
            for path in self.store.glob(f"{word.partition('.')[0]}.*"):
                if not (self.here / path.name).exists():
                    self.brought.append(Path(shutil.copy(path, self.here)))

    def compare(self, text: str) -> None:
        """Compare with what was printed; formulas and quotations follow nothing."""
        if self.printed:
            checker = OutputChecker()
            assert checker.check_output(text, self.printed, ALIKE), self.printed
        self.printed = None


def look_up(words: list[str]) -> None:
    """Require that a command and all its options are there."""
    program, *given = words
    if program == "aggopt" and given and given[0] in COMMANDS:
        options = {o for p in COMMANDS[given[0]].params for o in p.opts}
        unknown = {w.partition("=")[0] for w in given if w[:2] == "--"} - options
        assert unknown <= {"--help"}, words
    elif program == "aggopt":
        assert not given or given[0][0] in "-.[", words
    elif program == "make":
        assert given[0] in TARGETS, words
    elif program == "python" and given[0] != "-m":
        assert (ROOT / given[0]).exists(), words
    elif program == "pip" and given[-1].startswith(("aggopt[", ".[")):
        extras = given[-1].split("[")[1].rstrip("]").split(",")
        assert {*extras} <= PYPROJECT["project"]["optional-dependencies"].keys(), words


def read(page: str, there: Path, aggopt: Any, capsys: Any, *, slow: bool) -> None:
    reader = Reader(page, there, aggopt, capsys)
    for block in blocks(page):
        reader.read(block, slow=slow)


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the folder, in which the test is."""
    there = Path(shutil.copytree(folder, tmp_path / "here"))
    monkeypatch.chdir(there)
    monkeypatch.setenv("COLUMNS", "100")
    return there


@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page: str, here: Path, aggopt, capsys) -> None:
    read(page, here, aggopt, capsys, slow=False)


SLOW = [page for page in PAGES if any(block.mark == "slow" for block in blocks(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", SLOW)
def test_what_takes_long_does_it_too(page: str, here: Path, aggopt, capsys) -> None:
    testdata = Path(os.environ.get("AGGOPT_DATA", "missing")) / "testdata.csv"
    if not testdata.exists():
        pytest.skip("set AGGOPT_DATA to the folder of the reference tables")
    shutil.copyfile(testdata, here / "testdata.csv")
    read(page, here, aggopt, capsys, slow=True)


@pytest.mark.parametrize("page", PAGES)
def test_commands_within_sentences_are_there(page: str) -> None:
    for words in said(page):
        look_up(words)
