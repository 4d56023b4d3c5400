"""The README tells the truth: its Python runs, its job is a job, its tables hold."""

import re
import tomllib
from pathlib import Path

from tables import job, people
from typer.testing import CliRunner

from aggopt import Job
from aggopt.aggregate import AGGREGATORS
from aggopt.command.cli import app
from aggopt.job._earlier import KEPT
from aggopt.job._refusal import _methods
from aggopt.models import MODELS
from aggopt.partition import PARTITIONERS
from aggopt.privacy._model import REQUIREMENTS
from aggopt.repair._registry import REPAIRS
from aggopt.solvers import SOLVERS
from aggopt.solvers._solver import CLASSES

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_example_runs(capsys) -> None:
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("optimal\n")
    assert "DLD" in printed


def test_the_job_is_a_job() -> None:
    (text,) = blocks("toml")
    assert Job(**tomllib.loads(text)).aggregation.method == "p3m"


def test_it_says_which_tools_write(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    asked = job(aggregation={"method": "p3m"})
    Path("job.toml").write_text(asked.to_toml(), "utf-8")
    here = set(tmp_path.iterdir())
    given = ["job.toml", "people.csv"]
    run("compare-solvers", *given, "--solvers", "lagrangian")
    assert set(tmp_path.iterdir()) == here
    run("sweep", *given, "--alpha", "0.5", "--delta", "0.1", "--jobs", "1")
    written = {path.name for path in set(tmp_path.iterdir()) - here}
    assert written == {"sweep.csv", "sweep.png"}
    assert "Tools that write nothing" not in README
    assert "`sweep` writes `sweep.csv` and `sweep.png`" in README


def run(*words: str) -> None:
    assert CliRunner().invoke(app, words).exit_code == 0


def test_the_table_of_solvers_is_complete() -> None:
    section = README.split("## Solvers")[1].split("## ")[0]
    table = re.findall(
        r"^\| `([\w:]+)` \| ([^|]+) \| ([^|]+) \|", section, re.MULTILINE
    )
    assert [name for name, _, _ in table] == list(SOLVERS)
    kinds = (*CLASSES, *(name.upper() for name in MODELS))
    for name, takes, finds in table:
        named = {c for c in kinds if re.search(rf"\b{c}\b", takes)}
        assert named == {kind.upper() for kind in SOLVERS[name].takes}
        assert finds.startswith(SOLVERS[name].finds)


def test_how_to_choose_names_every_method_of_a_job() -> None:
    section = README.split("## How to choose")[1].split("## ")[0]
    uses = " ".join(re.findall(r"^\| [^|]+ \| (.*) \|$", section, re.MULTILINE))
    partitions = {"recommend", *_methods("partition", Job)} - {"recommended"}
    missing = [n for n in (*AGGREGATORS, *sorted(partitions)) if f"`{n}`" not in uses]
    assert missing == []


def test_the_page_on_privacy_says_what_every_partition_keeps() -> None:
    page = (Path(__file__).parent.parent / "docs" / "privacy.md").read_text("utf-8")
    section = page.split("## What keeps the requirements")[1]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ([^|]*) \|", section, re.MULTILINE)
    keeps = {n: kept for names, kept in rows for n in re.findall(r"\w+", names)}
    named = set(_methods("partition", Job)) - {"recommended"}  # names another
    assert set(keeps) == named
    for name, kept in keeps.items():
        method = KEPT if name == KEPT.name else PARTITIONERS[name]
        assert set(kept.split(", ")) == method.guarantees, name


def test_the_page_on_privacy_names_every_repair_and_every_requirement() -> None:
    page = (Path(__file__).parent.parent / "docs" / "privacy.md").read_text("utf-8")
    section = page.split("## What keeps the requirements")[1]
    rows = [row for row in section.splitlines() if row.startswith("| `repair = ")]
    assert {n for row in rows for n in re.findall(r'"([\w-]+)"', row)} == set(REPAIRS)
    assert [name for name in REQUIREMENTS if f"`{name}" not in page] == []


def test_documents_that_it_names_are_there() -> None:
    root = Path(__file__).parent.parent
    for path in re.findall(r"`((?:docs|examples|benchmarks|models)/[\w./-]*)`", README):
        assert (root / path).exists(), path
