"""A solver's process that has lost its parent."""

import os
import subprocess
import sys

from aggopt.solvers._scratch import WHERE

ORPHAN = "from aggopt.solvers._child import _end_with; _end_with(parent=-1)"


def test_a_process_without_a_parent_ends_and_leaves_no_file(tmp_path) -> None:
    folder = tmp_path / "aggopt-x"
    folder.mkdir()
    (folder / "program.nl").write_text("values")
    ended = subprocess.run(
        [sys.executable, "-c", ORPHAN],
        env={**os.environ, WHERE: str(folder)},
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert not folder.exists()
