"""Every example runs as its head says, and every job in the folder is a job."""

import subprocess
import sys
from pathlib import Path

import pytest
from tables import people, smallest

import aggopt

EXAMPLES = Path(__file__).parent.parent / "examples"
SAYS = {
    "01_mask_a_table.py": "k = 5 holds on the masked attributes: 442 records",
    "02_swap_the_solver.py": "cvxpy:uno     age",
    "03_blocks_of_attributes.py": "NOT 5-anonymous on the combination of all 4",
    "04_one_attribute.py": "shortest_path optimal: lost",
    "05_near_optimal.py": "no partition loses less than",
}


def test_every_script_is_listed() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("script", SAYS)
def test_script(script: str) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", EXAMPLES / script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert SAYS[script] in run.stdout


@pytest.mark.parametrize("job", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.name)
def test_job(job: Path) -> None:
    assert aggopt.Job.read(job).privacy.k >= 2


def test_the_plainest_job_masks() -> None:
    release = aggopt.mask(people(), EXAMPLES / "means.toml")
    assert smallest(release.table) >= 3
