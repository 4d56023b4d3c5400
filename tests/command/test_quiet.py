"""--quiet prints nothing but errors, --json one object: of every command."""

import json
from pathlib import Path

import pandas as pd
import pytest
import typer
from tables import ROLES_AND_K, people

from aggopt.command import cli, console, demo, show_experiments
from aggopt.pipeline.programs import export as exported
from aggopt.release.files.output_paths import ReleaseFiles

JOB = f'{ROLES_AND_K}[partition]\nmethod = "mdav"\n'
MASK = ("mask", "people.csv", "job.toml", "--out", "masked.csv")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table and a job, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    yield tmp_path
    console.set_quiet(False)


def test_every_command_can_be_quiet_and_print_json() -> None:
    commands = typer.main.get_command(cli.app).commands
    pages = {"app"}  # serves a page until it is stopped
    for name in commands.keys() - pages:
        command = commands[name]
        options = {word for option in command.params for word in option.opts}
        assert {"--quiet", "--json", "--log"} <= options, name


def test_quiet_prints_nothing_but_does_it(here, aggopt) -> None:
    assert aggopt(*MASK, "--quiet") == (0, "", "")
    assert len(pd.read_csv("masked.csv")) == 40
    words = ("assess", "people.csv", "masked.csv", "job.toml")
    assert aggopt(*words, "--quiet") == (0, "", "")
    assert "k = 4 holds" in aggopt(*words)[1]
    assert aggopt("init", "people.csv", "--out", "n.toml", "--quiet") == (0, "", "")


def test_quiet_still_says_errors_and_the_exit_code(here, aggopt) -> None:
    code, out, err = aggopt("mask", "no.csv", *MASK[2:], "--quiet")
    assert (code, out) == (2, "")
    assert "There is no file no.csv." in err
    people().drop(columns="name").to_csv("masked.csv", index=False)
    words = ("assess", "people.csv", "masked.csv", "job.toml", "--same-order")
    assert aggopt(*words, "--quiet") == (1, "", "")


@pytest.mark.parametrize("words", [("--quiet", "--json"), ("--json", "--quiet")])
def test_quiet_and_json_are_not_both(here, aggopt, words) -> None:
    code, out, _ = aggopt(*MASK, *words)
    assert code == 2
    assert "both are named" in json.loads(out)["error"]
    assert not (here / "masked.csv").exists()


def test_init_as_json(here, aggopt) -> None:
    code, out, err = aggopt("init", "people.csv", "--out", "new.toml", "--json")
    said = json.loads(out)
    assert (code, err) == (0, "")
    assert said["job"] == "new.toml"
    keys = {"problem", "fix", "column", "code"}
    assert all(keys == set(each) for each in said["undecided"])
    undecided = {each["column"] for each in said["undecided"]}
    assert undecided == {"note", "illness", "income"}


def test_demo_as_json(here, aggopt, monkeypatch) -> None:
    import aggopt as package

    release = package.mask(people(), package.Job.read("job.toml"))
    files = ReleaseFiles.of_table(here / "patients.csv")
    compared = {"P3M": release.measures}
    shown = demo.DemoResult(release, compared, files, here / "it.png")
    monkeypatch.setattr(demo, "run_demo", lambda *_, **__: shown)
    code, out, _ = aggopt("demo", "--json")
    said = json.loads(out)
    assert code == 0
    assert said["files"]["picture"] == str(here / "it.png")
    assert said["files"]["table"] == str(here / "patients.csv")
    assert said["compared"]["P3M"]["il"] == release.measures.il
    assert said["audit"]["holds"] is True


def test_sweep_as_json(here, aggopt, monkeypatch) -> None:
    monkeypatch.setattr(show_experiments, "draw_sweep", lambda *_: None)
    how = '[aggregation]\nmethod = "p3m"\nsolver = "lagrangian"\n'
    (here / "job.toml").write_text(JOB + how)
    grid = ("--alpha", "0.5", "--delta", "0.1", "--jobs", "1", "--out", "s")
    code, out, err = aggopt("sweep", "people.csv", "job.toml", *grid, "--json")
    said = json.loads(out)
    assert (code, err) == (0, "")
    assert said["files"] == {"table": "s.csv", "picture": "s.png"}
    assert [(p["alpha"], p["delta"]) for p in said["points"]] == [(0.5, 0.1)]
    kept = pd.read_csv("s.csv")["linkage"].tolist()
    assert [p["linkage"] for p in said["points"]] == pytest.approx(kept)


def test_export_as_json(here, aggopt, monkeypatch) -> None:
    made = exported.ExportedProgram(Path("a.nl"), Path("a.nl.key.json"))
    monkeypatch.setattr(exported, "export", lambda *_, **__: made)
    words = ("export", "people.csv", "job.toml", "--attribute", "age", "--out", "a.nl")
    code, out, _ = aggopt(*words, "--json")
    assert code == 0
    files = {"program": "a.nl", "key": "a.nl.key.json"}
    assert json.loads(out) == {"attribute": "age", "files": files}
