"""The command ends with a code that says why, one for each cause."""

import re
from pathlib import Path

import pyarrow as pa
import pyreadstat
import pytest
from refusals import refused
from tables import ROLES_AND_K, people, put_partitioner

from aggopt import errors
from aggopt.command import cli, start
from aggopt.command.causes import CAUSES, INTERNAL, find_exit_code
from aggopt.command.interrupt import EXIT
from aggopt.engine.executors import tasks
from aggopt.release import release as release_module
from aggopt.release.files import staging
from aggopt.solvers import process_pool as _pool
from aggopt.solvers.solver import Solver

JOB = f'{ROLES_AND_K}[partition]\nmethod = "mdav"\n'
MASK = ("mask", "people.csv", "job.toml", "--out", "masked.csv")
GIVEN = {"people.csv", "job.toml"}
PAGE = Path(__file__).parents[2] / "docs" / "job.md"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table and a job, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def failing(error: BaseException):
    """Return a function that raises this, whatever it is called with."""

    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.parametrize(
    ("method", "code", "says"),
    [
        (lambda X, k, **_: X[:, 0].argsort(), 1, "k = 4 was promised"),
        (failing(MemoryError()), 3, "There is not enough memory for this."),
        (failing(RuntimeError("can't start new thread")), 3, "not enough memory"),
        (failing(PermissionError(13, "Permission denied")), 3, "Permission denied."),
        (failing(ZeroDivisionError("Ms Secret")), 5, "Internal error: ZeroDivision"),
        (failing(KeyboardInterrupt()), 130, "Interrupted."),
        (failing(SystemExit(143)), 143, "Ended by SIGTERM."),
    ],
)
def test_what_a_method_ends_with_is_the_cause(
    here, aggopt, monkeypatch, method, code, says
):
    put_partitioner(monkeypatch, "mdav", method)
    ended, out, err = aggopt(*MASK)
    assert (ended, out) == (code, "")
    assert says in err
    assert "Secret" not in err
    assert {path.name for path in here.iterdir()} == GIVEN


def test_all_done_is_0_and_words_that_cannot_be_used_are_2(here, aggopt):
    assert aggopt(*MASK)[0] == 0
    assert aggopt(*MASK)[0] == 2  # the release is there already
    assert aggopt("mask", "none.csv", "job.toml", "--out", "m.csv")[0] == 2
    assert aggopt("mask", "people.csv", "job.toml", "--out", "no/m.csv")[0] == 2
    assert aggopt("mask", "--none")[0] == 2


@pytest.mark.parametrize(
    ("place", "error", "says"),
    [
        ((release_module, "write_table"), OSError(28, "No space left"), "No space"),
        ((staging.tempfile, "mkstemp"), PermissionError(13, "Denied"), "Denied"),
    ],
)
def test_a_disk_or_a_folder_that_refuses_is_3(
    here, aggopt, monkeypatch, place, error, says
):
    monkeypatch.setattr(*place, failing(error))
    code, _, err = aggopt(*MASK)
    assert code == 3
    assert f"cannot be written: {says}" in err
    assert {path.name for path in here.iterdir()} == GIVEN


@pytest.mark.parametrize("error", [MemoryError(), KeyError("Ms Secret")])
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_release_that_is_written_is_no_failure_whatever_is_printed(
    here, aggopt, monkeypatch, error, words
):
    monkeypatch.setattr("aggopt.command.show.print_finished", failing(error))
    code, _, err = aggopt(*MASK, *words)
    name = type(error).__name__
    assert (code, err) == (0, f"The release is written; printing failed ({name}).\n")
    made = {"masked.csv", "masked.manifest.json", "masked.private.csv"}
    assert {path.name for path in here.iterdir()} == GIVEN | made


@pytest.mark.parametrize(
    ("reader", "table"),
    [
        ("pyarrow.csv.read_csv", "people.csv"),
        ("openpyxl.load_workbook", "people.xlsx"),
        ("pyreadstat.read_sav", "people.sav"),
        ("pyreadstat.write_sav", "people.parquet"),
    ],
)
def test_a_reader_or_writer_that_lacks_memory_is_3(
    here, aggopt, monkeypatch, reader, table
):
    people().to_excel("people.xlsx", index=False)
    people().to_parquet("people.parquet")
    pyreadstat.write_sav(people(), "people.sav")
    monkeypatch.setattr(reader, failing(MemoryError("Ms Secret")))
    code, out, err = aggopt("mask", table, "job.toml", "--out", "masked.sav")
    assert (code, out) == (3, "")
    assert "There is not enough memory for this." in err
    assert "Secret" not in err
    assert not list(here.glob("masked*"))


def test_a_folder_that_a_process_lacks_the_memory_to_read_is_3(
    here, aggopt, monkeypatch
):
    (here / "parts").mkdir()
    people().drop(columns="name").to_parquet("parts/a.parquet")
    (here / "job.toml").write_text(ROLES_AND_K.replace('identifier = ["name"]', ""))
    lacking = pa.ArrowMemoryError("malloc of size 480000000 failed")
    monkeypatch.setattr("pyarrow.parquet.ParquetFile", failing(lacking))
    words = ("mask", "parts", "job.toml", "--out", "out")
    code, _, err = aggopt(*words, "--engine", "local", "--jobs", "1")
    assert code == 3
    assert "not enough memory" in err
    assert not (here / "out").exists()


@pytest.mark.parametrize("name", ["people.csv", "job.toml"])
def test_a_file_that_may_not_be_read_is_3(here, aggopt, monkeypatch, name):
    real = Path.stat

    def stat(path, **how):
        if path.name == name:
            raise PermissionError(13, "Permission denied")
        return real(path, **how)

    monkeypatch.setattr(Path, "stat", stat)
    code, _, err = aggopt(*MASK)
    assert code == 3
    assert "Permission denied" in err


def test_a_library_that_cannot_be_loaded_is_3(here, aggopt, monkeypatch):
    step = "aggopt.pipeline.partition.partition_table.partition_blocks"
    monkeypatch.setattr(step, failing(OSError("LLVM was not loaded")))
    code, _, err = aggopt(*MASK)
    assert code == 3
    assert "The system refuses a resource that aggopt needs, such as memory." in err
    assert {path.name for path in here.iterdir()} == GIVEN


def test_memory_that_is_known_to_lack_is_3(here, aggopt, monkeypatch):
    monkeypatch.setattr("aggopt.core.memory.find_available_memory", lambda: 0)
    exact = '[partition]\nmethod = "optimal"\n'
    (here / "job.toml").write_text(ROLES_AND_K + exact)
    code, _, err = aggopt(*MASK)
    assert code == 3
    assert "of memory" in err


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (MemoryError(), 3, "there is not enough memory"),
        (OSError(28, "No space left on device"), 3, "No space left on device"),
        (ZeroDivisionError("Ms Secret"), 5, "failed with a ZeroDivisionError"),
    ],
)
def test_what_a_task_of_an_engine_ends_with_is_the_cause(
    here, aggopt, monkeypatch, error, code, says
):
    monkeypatch.setitem(tasks.TASKS, "describe", failing(error))
    (here / "parts").mkdir()
    people().drop(columns="name").to_parquet("parts/a.parquet")
    roles = ROLES_AND_K.replace('identifier = ["name"]', "")
    (here / "job.toml").write_text(roles)
    words = ("mask", "parts", "job.toml", "--out", "out")
    ended, _, err = aggopt(*words, "--engine", "local", "--jobs", "1")
    assert ended == code
    assert says in err
    assert "Secret" not in err
    assert not (here / "out").exists()


def test_a_solver_that_is_missing_is_4(here, aggopt, monkeypatch):
    monkeypatch.setattr(Solver, "lacks", "it is not here")
    named = '[aggregation]\nmethod = "p3m"\nsolver = "uno"\n'
    (here / "job.toml").write_text(JOB + named)
    code, _, err = aggopt(*MASK)
    assert code == 4
    assert "is not installed" in err


def test_no_process_for_a_solver_is_of_the_resources(here, monkeypatch, own_process):
    lacking = OSError(11, "Resource temporarily unavailable")
    monkeypatch.setattr(_pool.subprocess, "Popen", failing(lacking))
    with refused(errors.SolverError, "No process") as raised:
        _pool.Session(()).call(abs, -1, limit=1.0)
    assert raised.value.exit_code == 3


def test_every_code_of_an_error_has_a_cause():
    kinds = [errors.AggoptError]
    for kind in kinds:  # which grows
        kinds += kind.__subclasses__()
    assert {kind.exit_code for kind in kinds} == {1, 2, 3, 4, 5}
    assert find_exit_code(KeyError()) == INTERNAL == start.BAD
    assert EXIT == start.EXIT


def test_help_and_page_have_every_code_and_its_meaning(aggopt):
    shown = re.sub(r"\s+", " ", aggopt("--help")[1])
    page = PAGE.read_text(encoding="utf-8")
    for code, (name, meaning) in CAUSES.items():
        assert f"{code} {meaning}" in shown
        assert f"| {code} | {name} | {meaning} |" in page
    assert "Exit codes:" in cli.app.info.help
