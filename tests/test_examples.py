"""Every example runs as its head says; every job is a job; benchmarks find their names.

Benchmarks themselves take minutes to hours: here only what they import is looked up.
"""

import ast
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import TypeGuard

import pytest
from tables import people, smallest

import aggopt

EXAMPLES = Path(__file__).parent.parent / "examples"
BENCHMARKS = sorted(EXAMPLES.with_name("benchmarks").glob("*.py"))
ALONE = "04_one_attribute.py"  # in a process of its own: it starts soonest
SWAP = "02_swap_the_solver.py"
MIXED = "06_mixed_table.py"
ACCURACY = "07_privacy_against_accuracy.py"
SAYS = {
    "01_mask_a_table.py": "k = 5 holds on the masked attributes: 442 records",
    SWAP: "bound   violation  status",
    "03_blocks_of_attributes.py": "NOT 5-anonymous on the combination of all 4",
    ALONE: "shortest_path optimal: lost",
    "05_near_optimal.py": "no partition loses less than",
    MIXED: "k = 5 holds on the masked attributes: 400 records",
    "own_model.py": "judged by median_mean.py",
    "own_solver.py": "stretch.py:stretch    1.2489  nothing proven, 0 claimed",
    ACCURACY: "k      R2  rarest   linked    lost",
    "08_experiment.py": "all of it was in the cache: True",
    "09_a_folder.py": "k = 5 holds on the masked attributes: 2,000 records",
    "10_reproduce_a_table.py": "Tarragona   P3M       3     47.92",
    "own_partitioner.py": "mine.py:split of SHA-256",
    "11_a_household_survey.py": "the rarest in 5 units",
    "12_true_values.py": "k = 5 holds: 200 records",
    "13_choose_a_release.py": "point 7 (keep = covariance, k = 10)",
}


FOLDER = "09_a_folder.py"  # its processes read it, too: it has no cells


def test_every_script_is_listed() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("script", sorted({*SAYS} - {FOLDER}))
def test_an_example_is_shown_cell_by_cell(script: str) -> None:
    text = (EXAMPLES / script).read_text("utf-8")
    assert text.startswith('# %% [markdown]\n"""')
    cells = text.split("\n# %% ")[1:]
    assert len(cells) >= 2
    assert not any(" # %%" in cell for cell in cells)


LONG = pytest.param(ACCURACY, marks=pytest.mark.slow)


@pytest.mark.parametrize("script", [*(name for name in SAYS if name != ACCURACY), LONG])
def test_script(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_path(str(EXAMPLES / script), run_name="__main__")
    printed = capsys.readouterr().out
    assert SAYS[script] in printed
    if script in REQUIRE:
        REQUIRE[script](printed)


@pytest.mark.slow
def test_a_script_runs_as_its_head_says() -> None:
    script = EXAMPLES / ALONE
    run = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert SAYS[script.name] in run.stdout


def _require_one_program(printed: str) -> None:
    """No solver is below the optimum that the first one proved."""
    rows = [line.split() for line in printed.splitlines() if "optimal" in line]
    proven, *others = (float(objective) for _, objective, *_ in rows)
    assert rows[0][0] == "lagrangian"
    assert min(others) > proven - 1e-6


def _require_nodes(printed: str) -> None:
    """A tree publishes illnesses and what they have in common, and nothing else."""
    said = printed.split("illness: ")[1].splitlines()[0].split(", ")
    leaves = {"asthma", "flu", "attack", "weakness", "well"}
    assert set(said) <= leaves | {"lung", "heart", "none", "*"}
    assert not set(said) <= leaves


def _require_audited(printed: str) -> None:
    """Every release keeps its k, and a larger one links fewer records."""
    rows = [line.split() for line in printed.splitlines() if line.endswith("%")]
    assert len(rows) == 5
    assert all(int(rarest) >= int(k) for k, _, rarest, *_ in rows)
    linked = [float(row[3].rstrip("%")) for row in rows]
    assert linked == sorted(linked, reverse=True)
    alone = int(printed.split("Of 148 new records\n")[1].split()[0])
    assert 2 * alone > 148


REQUIRE = {
    SWAP: _require_one_program,
    MIXED: _require_nodes,
    ACCURACY: _require_audited,
}


@pytest.mark.parametrize("job", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.name)
def test_job(job: Path) -> None:
    assert aggopt.Job.read(job).privacy.k >= 2


def test_the_plainest_job_masks() -> None:
    release = aggopt.mask(people(), EXAMPLES / "means.toml")
    assert smallest(release.table) >= 3


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda p: p.name)
def test_benchmarks_import_what_there_is(file: Path) -> None:
    imported = [n for n in ast.walk(ast.parse(file.read_text("utf-8"))) if _ours(n)]
    for node in imported:
        module = import_module(str(node.module))
        for name in node.names:
            path = f"{node.module}.{name.name}"
            assert hasattr(module, name.name) or find_spec(path), path


def _ours(node: ast.AST) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and str(node.module).startswith("aggopt")
