"""`aggopt warm-up` compiles all; the progress line says when something compiles."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refused
from rich.console import Console

from aggopt import partition
from aggopt.aggregate.registry import AGGREGATORS
from aggopt.command import console, warm_up
from aggopt.command.console import COMPILING
from aggopt.core.deadline import compile_time
from aggopt.errors import EngineError, JobError

WITHOUT = {"correlated_blocks", "in_blocks", "recommend"}  # no kernels of their own


def test_every_method_is_called():
    called = set(warm_up.build_calls())
    methods = {
        name
        for name in partition.__all__
        if callable(function := getattr(partition, name))
        and not isinstance(function, type)
    }
    assert methods - WITHOUT <= called
    assert set(AGGREGATORS) <= called


@pytest.mark.parametrize("name", warm_up.JOBS)
def test_each_job_of_warm_up_makes_a_release(name):
    warm_up.build_calls()[f"mask, {name}"]()


def test_searches_with_weights_are_called_with_and_without_requirements():
    called = set(warm_up.build_calls())
    assert {
        "local_search with weights",
        "local_search with weights, under requirements",
    } <= called


def test_a_call_says_how_many_kernels_it_compiled(monkeypatch):
    def compiling():
        compile_time.begin("one")
        compile_time.begin("two")

    monkeypatch.setattr(warm_up, "build_calls", lambda: {"two": compiling, "none": int})
    assert warm_up._compile_by_call("two") == 2
    assert warm_up._compile_by_call("none") == 0


def test_a_cache_that_cannot_be_written_is_refused(monkeypatch):
    monkeypatch.setattr(warm_up, "build_calls", lambda: {"none": int})
    monkeypatch.setattr(compile_time, "homeless", 1)
    with refused(JobError, "NUMBA_CACHE_DIR"):
        warm_up._compile_by_call("none")


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((3, 4), "Compiled 7 kernels; later runs read them from a cache."),
        ((0, 0), "All kernels are compiled already."),
    ],
)
def test_the_command_says_what_it_did(monkeypatch, capsys, counts, said):
    made = [((i + 1) / 2, "mdav", count) for i, count in enumerate(counts)]
    monkeypatch.setattr(warm_up, "compile_kernels", lambda: iter(made))
    from aggopt.command.cli import warm_up as command

    command()
    assert capsys.readouterr().out.strip() == said
    command(as_json=True)
    assert json.loads(capsys.readouterr().out) == {"compiled": sum(counts)}


def test_a_folder_that_cannot_be_written_to_is_said_to_be_passed_over(
    monkeypatch, capsys, tmp_path
):
    from aggopt.command import show
    from aggopt.partition.merging_kernels import merge_groups

    kept = Path(merge_groups._cache.cache_path)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert warm_up.find_other_cache() is None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(kept.parent))
    assert warm_up.find_other_cache() is None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "nothere"))
    assert warm_up.find_other_cache() == kept
    show.print_warm_up(3, kept, as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "NUMBA_CACHE_DIR names cannot be written to" in said
    assert "Compiled 3 kernels" in said
    show.print_warm_up(3, kept, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found == {"compiled": 3, "kept_in": str(kept)}


INTERRUPTED = """
import signal, sys
from aggopt.command import cli, warm_up

def compiled():
    yield 0.5, "mdav", 3
    for _ in range({times}):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass
    raise KeyboardInterrupt

warm_up.compile_kernels = compiled
sys.argv = ["aggopt", "warm-up"]
cli.run_app()
"""


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (1, "Interrupted.\nTo fix: run it again; what was compiled is kept."),
        (2, "Interrupted twice: ended at once, what was compiled is kept."),
    ],
)
def test_interrupted_it_says_that_what_was_compiled_is_kept(times, said, forked):
    ended = forked(INTERRUPTED.format(times=times))
    assert ended.returncode == 130
    assert said in ended.stderr
    assert "release" not in ended.stderr


@pytest.mark.parametrize("terminal", [True, False])
def test_one_line_says_what_is_compiled_and_how_to_do_it_beforehand(
    monkeypatch, terminal
):
    shown = io.StringIO()
    to = Console(file=shown, force_terminal=terminal, width=200, highlight=False)
    monkeypatch.setattr(console, "_err", to)
    monkeypatch.setattr(console, "_announced", set())
    for _ in range(2):
        with console.track_progress() as told:
            told("partition", 0.25)
            with compile_time.passing():
                compile_time.begin("partition, mdav")
                compile_time.begin("solvers, lagrangian")
                compile_time.end()
    compile_time.begin("unheard")
    said = COMPILING.format("partition, mdav")
    assert "`aggopt warm-up`" in said
    assert shown.getvalue().count(said) == 1
    assert shown.getvalue().count("for their first use") == 1


def test_a_quiet_command_says_nothing_of_what_compiles(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(console, "_err", Console(file=shown))
    monkeypatch.setattr(console, "_announced", set())
    monkeypatch.setattr(console.out, "quiet", True)
    with console.track_progress(), compile_time.passing():
        compile_time.begin("partition, mdav")
        compile_time.end()
    assert shown.getvalue() == ""


CALLS_AND_OFFICE = """
import sys, warnings
from numba.core.dispatcher import Dispatcher
from aggopt.command.warm_up import build_calls

sys.path.insert(0, {benchmarks!r})
warnings.simplefilter("ignore")

def list_kernels():
    ours = [m for name, m in sys.modules.items() if name.startswith("aggopt.")]
    kernels = [k for m in ours for k in vars(m).values() if isinstance(k, Dispatcher)]
    return {{(k.__qualname__, types) for k in kernels for types in k.signatures}}

for call in build_calls().values():
    call()
before = list_kernels()
from _cold_start_office import mask_office_table, office_jobs
for name in office_jobs():
    mask_office_table(name)
print(len(before), list_kernels() - before)
"""


@pytest.fixture(scope="module")
def compiled():
    """Compile what warm-up compiles; print kernels that an office needs beyond it."""
    benchmarks = str(Path(__file__).parents[2] / "benchmarks")
    command = [sys.executable, "-c", CALLS_AND_OFFICE.format(benchmarks=benchmarks)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow  # compiles what is not compiled yet: minutes
def test_after_its_calls_no_job_of_an_office_reads_or_compiles_a_kernel(compiled):
    number, beyond = compiled.split(maxsplit=1)
    assert int(number) > 30
    assert beyond == "set()\n"


@pytest.mark.slow
def test_the_second_time_nothing_is_left_to_compile(compiled):
    command = [sys.executable, "-m", "aggopt", "warm-up"]
    again = subprocess.run(command, check=True, capture_output=True, text=True)
    assert again.stdout == "All kernels are compiled already.\n"


@pytest.mark.slow
def test_a_process_that_ends_too_early_is_an_error_with_advice(monkeypatch):
    monkeypatch.setattr(warm_up, "build_calls", lambda: {1: None})
    monkeypatch.setattr(warm_up, "_compile_by_call", os._exit)
    with refused(EngineError):
        list(warm_up.compile_kernels())
