"""The README is short and tells the truth: its tables, and those moved, are complete.

That its code and commands run is in `test_pages.py`.
"""

import re
from pathlib import Path

import numpy as np
from PIL import Image
from tables import job, people
from typer.testing import CliRunner

from aggopt import Job
from aggopt.aggregate import AGGREGATORS
from aggopt.command.cli import app
from aggopt.job._refusal import list_methods
from aggopt.job.earlier_section import KEPT
from aggopt.models import MODELS
from aggopt.partition import PARTITIONERS
from aggopt.privacy.model import REQUIREMENTS
from aggopt.repair.registry import REPAIRS
from aggopt.solvers import SOLVERS
from aggopt.solvers.solver import CLASSES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text("utf-8")


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


PICTURES = re.compile(r'src(?:set)?="(?:docs/)?pictures/([\w-]+\.png)"')


def test_each_picture_is_shown_light_and_dark_as_it_is_drawn() -> None:
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md"))
    shown = PICTURES.findall(README) + PICTURES.findall(pages)
    drawn = {path.name for path in (ROOT / "docs/pictures").glob("*.png")}
    assert set(shown) == drawn
    light = {name for name in drawn if "-dark" not in name}
    assert drawn == light | {name.replace(".png", "-dark.png") for name in light}
    for name in drawn:
        corner = np.asarray(Image.open(ROOT / "docs/pictures" / name).convert("L"))[0]
        assert (corner.mean() < 128) == ("-dark" in name), name


def test_it_says_which_tools_write(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    asked = job(aggregation={"method": "p3m"})
    Path("job.toml").write_text(asked.to_toml(), "utf-8")
    here = set(tmp_path.iterdir())
    given = ["people.csv", "job.toml"]
    run("compare-solvers", *given, "--solvers", "lagrangian")
    assert set(tmp_path.iterdir()) == here
    run("sweep", *given, "--alpha", "0.5", "--delta", "0.1", "--jobs", "1")
    written = {path.name for path in set(tmp_path.iterdir()) - here}
    assert written == {"sweep.csv", "sweep.png"}
    assert "`sweep` writes `sweep.csv` and `sweep.png`" in page("job")


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


def test_which_method_names_every_method_of_a_job() -> None:
    section = page("methods").split("## Which solver")[0]
    uses = " ".join(re.findall(r"^\| [^|]+ \| (.*) \|$", section, re.MULTILINE))
    partitions = {"recommend", *list_methods("partition", Job)} - {"recommended"}
    missing = [n for n in (*AGGREGATORS, *sorted(partitions)) if f"`{n}`" not in uses]
    assert missing == []


def test_the_page_on_privacy_says_what_every_partition_keeps() -> None:
    section = page("privacy").split("## What keeps the requirements")[1]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ([^|]*) \|", section, re.MULTILINE)
    keeps = {n: kept for names, kept in rows for n in re.findall(r"\w+", names)}
    named = set(list_methods("partition", Job)) - {"recommended"}  # names another
    assert set(keeps) == named
    for name, kept in keeps.items():
        method = KEPT if name == KEPT.name else PARTITIONERS[name]
        assert set(kept.split(", ")) == method.guarantees, name


def test_the_page_on_privacy_names_every_repair_and_every_requirement() -> None:
    section = page("privacy").split("## What keeps the requirements")[1]
    rows = [row for row in section.splitlines() if row.startswith("| `repair = ")]
    assert {n for row in rows for n in re.findall(r'"([\w-]+)"', row)} == set(REPAIRS)
    assert [name for name in REQUIREMENTS if f"`{name}" not in page("privacy")] == []


def test_documents_that_it_names_are_there() -> None:
    for path in re.findall(r"`((?:docs|examples|benchmarks|models)/[\w./-]*)`", README):
        assert (ROOT / path).exists(), path
