"""A run that was killed is gone on with, as what it was, or not at all."""

import json
import os
import pickle
import re
import shutil
from pathlib import Path

import pytest
from folders import digest, job, masked, persons, put

import aggopt
from aggopt.core import stale_files as leftovers
from aggopt.engine.executors import local as engines
from aggopt.engine.runs import journal
from aggopt.engine.runs import output_folders as folders
from aggopt.engine.runs.journal import STAGE
from aggopt.engine.storage.scratch_files import STOP
from aggopt.errors import EngineError

STEPS = ["describe", "scatter", "group", "publish", "write", "sort", "recount", "hash"]
AGAIN = {"block": 30, "resume": True}


@pytest.fixture
def folder(tmp_path):
    """A folder of one file."""
    return put(tmp_path / "in", persons(60))


@pytest.fixture
def steps(monkeypatch):
    """The steps that are carried out."""
    found, each = [], engines.SerialExecutor.each

    def noted(self, step, *args):
        found.append(step)
        return each(self, step, *args)

    monkeypatch.setattr(engines.SerialExecutor, "each", noted)
    return found


def killed(folder, out, step, work=None, **sections):
    """Leave what a run leaves that is killed as this step begins."""

    def end(now, share):
        if now == step:
            raise ZeroDivisionError

    def nothing(*args, **how):
        """Do nothing: a killed process does not."""

    asked = job(engine={"block": 30, "work": work}, **sections)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folders, "remove_run", nothing)
        patch.setattr(folders, "STOP", "other")
        with pytest.raises(ZeroDivisionError):
            aggopt.mask(folder, asked, out=out, progress=end)


@pytest.fixture
def dead(monkeypatch):
    """What this process leaves counts as left by one that was killed."""
    monkeypatch.setattr(leftovers, "_is_alive", lambda pid, born: False)


def left(folder: Path) -> list[Path]:
    """Return the folders that are there for a moment."""
    return sorted(folder.glob("aggopt-*"))


@pytest.mark.usefixtures("dead")
@pytest.mark.parametrize("step", ["scatter", "publish", "recount"])
def test_a_run_goes_on_from_the_steps_that_are_done(folder, tmp_path, steps, step):
    killed(folder, tmp_path / "out", step)
    done, _ = steps.copy(), steps.clear()
    found = aggopt.mask(folder, job(engine=AGAIN), out=tmp_path / "out")
    assert steps[0] == step
    assert step not in done
    assert done + steps == STEPS
    assert left(tmp_path) == []
    secret = found.manifest["output"]["secret"]
    whole = aggopt.mask(folder, job(engine=AGAIN), out=tmp_path / "b", secret=secret)
    assert digest(found.path) == digest(whole.path)
    assert found.audit == whole.audit


@pytest.mark.usefixtures("dead")
def test_keys_that_had_their_name_before_the_kill_are_taken_back(folder, tmp_path):
    killed(folder, tmp_path / "out", "hash")
    (stage,) = tmp_path.glob(f"*{journal.STAGE}")
    (stage / journal.PRIVATE).rename(journal.make_private_path(tmp_path / "out"))
    found = aggopt.mask(folder, job(engine=AGAIN), out=tmp_path / "out")
    assert len([*found.private.glob("key-*")]) == 1
    assert left(tmp_path) == []


@pytest.mark.usefixtures("dead")
def test_what_could_be_gone_on_with_is_not_removed_unasked(folder, tmp_path, steps):
    killed(folder, tmp_path / "out", "publish")
    before = left(tmp_path)
    with pytest.raises(EngineError, match=re.escape(before[1].name)):
        masked(folder, job(engine={"block": 30}), tmp_path / "out")
    assert left(tmp_path) == before
    steps.clear()
    anew = {"block": 30, "resume": False}
    found = masked(folder, job(engine=anew), tmp_path / "out")
    assert steps[0] == "describe"
    assert left(tmp_path) == []
    assert "What a run had done for out was discarded." in found.notes


@pytest.mark.usefixtures("dead")
def test_what_is_of_another_folder_stays_and_is_named(folder, tmp_path):
    (tmp_path / "work").mkdir()
    killed(folder, tmp_path / "other", "group", work=str(tmp_path / "work"))
    (stage,) = left(tmp_path)
    work = left(tmp_path / "work")
    asked = job(engine={"block": 30, "work": str(tmp_path / "work")})
    found = masked(folder, asked, tmp_path / "out")
    assert left(tmp_path) == [stage]
    assert left(tmp_path / "work") == work
    said = f"{stage.name} has what a run had done for other: it stays until such a run "
    assert f"{said}goes on with it (--resume), or discards it." in found.notes


@pytest.mark.usefixtures("dead")
def test_what_is_of_another_job_is_discarded_where_that_is_asked(folder, tmp_path):
    (tmp_path / "work").mkdir()
    killed(folder, tmp_path / "out", "group", work=str(tmp_path / "work"))
    with pytest.raises(EngineError, match="has not the same job"):
        masked(folder, job(3, engine={"block": 30}), tmp_path / "out")
    masked(folder, job(3, engine={"block": 30, "resume": False}), tmp_path / "out")
    assert left(tmp_path) == left(tmp_path / "work") == []


@pytest.mark.usefixtures("dead")
def test_a_run_is_found_whatever_folder_was_for_its_files(folder, tmp_path, steps):
    (tmp_path / "work").mkdir()
    killed(folder, tmp_path / "out", "group", work=str(tmp_path / "work"))
    steps.clear()
    aggopt.mask(folder, job(engine=AGAIN), out=tmp_path / "out")
    assert steps[0] == "group"
    assert left(tmp_path) == left(tmp_path / "work") == []


@pytest.mark.usefixtures("dead")
@pytest.mark.parametrize("name", ["run", "done-scatter"])
@pytest.mark.parametrize(
    "holds",
    [b"", b"no JSON", b"\xff", b"[" * 100_000, b'["4"]', b'[{"n": 1}]'],
    ids=["empty", "other", "no text", "nested", "of another type", "of a class"],
)
def test_a_damaged_journal_is_refused_in_words(folder, tmp_path, name, holds):
    killed(folder, tmp_path / "out", "publish")
    work, stage = before = left(tmp_path)
    at = (stage if name == "run" else work) / name
    at.write_bytes(holds)
    with pytest.raises(EngineError, match=f"{name} is damaged"):
        aggopt.mask(folder, job(engine=AGAIN), out=tmp_path / "out")
    assert left(tmp_path) == before
    masked(folder, job(engine={"block": 30, "resume": False}), tmp_path / "out")
    assert left(tmp_path) == []


class Code:
    """What a pickle runs when it is read."""

    def __init__(self, makes: Path) -> None:
        self.makes = makes

    def __reduce__(self):
        """Make a folder where it is read."""
        return os.mkdir, (str(self.makes),)


@pytest.mark.usefixtures("dead")
@pytest.mark.parametrize("name", ["run", "done-scatter"])
def test_code_in_a_journal_is_not_run(folder, tmp_path, name):
    killed(folder, tmp_path / "out", "publish")
    work, stage = left(tmp_path)
    code = pickle.dumps(Code(tmp_path / "made"))
    ((stage if name == "run" else work) / name).write_bytes(code)
    with pytest.raises(EngineError, match="damaged"):
        aggopt.mask(folder, job(engine=AGAIN), out=tmp_path / "out")
    assert not (tmp_path / "made").exists()


@pytest.mark.usefixtures("dead")
def test_a_step_that_no_run_has_is_damage(folder, tmp_path):
    killed(folder, tmp_path / "out", "publish")
    (left(tmp_path)[0] / "done-made up").write_text("[]")
    with pytest.raises(EngineError, match="done-made up is damaged"):
        aggopt.mask(folder, job(engine=AGAIN), out=tmp_path / "out")


ASKED = {
    "solve": {"aggregation": {"method": "p3m"}},
    "keep 1": {"privacy": {"l": 2, "repair": "merge"}},
    "choose": {
        "roles": {
            "quasi-identifier": ["age", "note"],
            "drop": ["name", "height", "income", "ill"],
        },
        "attributes": {"note": {"kind": "nominal"}},
        "aggregation": {
            "method": "mean",
            "categories": {"method": "frequencies", "slack": 5},
        },
    },
}


@pytest.mark.usefixtures("dead")
@pytest.mark.parametrize("step", ASKED)
def test_proofs_and_refusals_are_gone_on_with(folder, tmp_path, steps, step):
    asked = {"engine": AGAIN, **ASKED[step]}
    killed(folder, tmp_path / "out", "write", **ASKED[step])
    assert step in steps
    steps.clear()
    found = aggopt.mask(folder, job(**asked), out=tmp_path / "out")
    assert step not in steps
    secret = found.manifest["output"]["secret"]
    whole = aggopt.mask(folder, job(**asked), out=tmp_path / "b", secret=secret)
    assert digest(found.path) == digest(whole.path)
    assert found.audit == whole.audit
    assert proofs(found) == proofs(whole)


def proofs(release):
    """Return the certificates that a manifest states, without their seconds."""
    text = json.dumps(release.manifest["certificates"])
    return re.sub(r'"seconds": [^,}]*', "", text)


@pytest.mark.usefixtures("dead")
def test_a_folder_whose_name_is_no_text_is_gone_on_with(folder, tmp_path, steps):
    out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/o\xff"))
    killed(folder, out, "publish")
    steps.clear()
    aggopt.mask(folder, job(engine=AGAIN), out=out)
    assert steps[0] == "publish"


@pytest.mark.usefixtures("dead")
def test_what_was_left_for_another_folder_stays(folder, tmp_path, steps):
    killed(folder, tmp_path / "other", "publish")
    steps.clear()
    masked(folder, job(engine=AGAIN), tmp_path / "out")
    assert steps[0] == "describe"
    assert len(left(tmp_path)) == 2


def test_what_a_process_that_lives_has_is_left_alone(folder, tmp_path, steps):
    killed(folder, tmp_path / "out", "publish")
    steps.clear()
    masked(folder, job(engine=AGAIN), tmp_path / "out")
    assert steps[0] == "describe"
    assert len(left(tmp_path)) == 2


def other_job(folder, monkeypatch):
    """Ask for another k."""
    return job(3, engine=AGAIN)


def other_input(folder, monkeypatch):
    """Touch a file."""
    os.utime(folder / "in-0.parquet", (1, 1))
    return job(engine=AGAIN)


def other_versions(folder, monkeypatch):
    """Have another NumPy."""
    monkeypatch.setattr(journal, "list_versions", lambda packages: {"numpy": "0.1"})
    return job(engine=AGAIN)


@pytest.mark.usefixtures("dead")
@pytest.mark.parametrize(
    ("change", "what"),
    [(other_job, "job"), (other_input, "input"), (other_versions, "versions")],
    ids=["job", "input", "versions"],
)
def test_a_run_of_something_else_is_refused(
    folder, tmp_path, monkeypatch, change, what
):
    killed(folder, tmp_path / "out", "publish")
    asked, before = change(folder, monkeypatch), left(tmp_path)
    with pytest.raises(EngineError, match=f"{re.escape(before[1].name)} .*{what}"):
        aggopt.mask(folder, asked, out=tmp_path / "out")
    assert left(tmp_path) == before


@pytest.mark.usefixtures("dead")
def test_another_secret_is_refused(folder, tmp_path):
    killed(folder, tmp_path / "out", "publish")
    with pytest.raises(EngineError, match="has not the same secret"):
        masked(folder, job(engine=AGAIN), tmp_path / "out")


@pytest.mark.usefixtures("dead")
def test_who_carries_out_may_change(folder, tmp_path, steps):
    killed(folder, tmp_path / "out", "group")
    steps.clear()
    asked = job(engine=AGAIN | {"jobs": 1, "work": str(tmp_path)})
    aggopt.mask(folder, asked, out=tmp_path / "out")
    assert steps[0] == "group"


@pytest.mark.usefixtures("dead")
def test_half_of_what_was_left_is_of_no_use(folder, tmp_path, steps):
    killed(folder, tmp_path / "out", "write")
    shutil.rmtree(left(tmp_path)[0])
    steps.clear()
    aggopt.mask(folder, job(engine=AGAIN), out=tmp_path / "out")
    assert steps[0] == "describe"
    assert left(tmp_path) == []


def test_what_is_half_removed_is_not_gone_on_with(folder, tmp_path):
    def stop(step, share):
        if step == "group":
            raise ZeroDivisionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leftovers.shutil, "rmtree", lambda *args, **how: None)
        with pytest.raises(ZeroDivisionError):
            masked(folder, job(engine=AGAIN), tmp_path / "out", progress=stop)
    stage, work = sorted(left(tmp_path), key=lambda path: not path.name.endswith(STAGE))
    assert (work / STOP).exists()
    assert leftovers.find_abandoned_runs(tmp_path) == []
    assert not work.name.startswith("aggopt-run-")
    assert not stage.name.startswith("aggopt-run-")
