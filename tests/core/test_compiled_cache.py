"""Caches of compiled loops outlive the version that wrote them."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

STATE = "from typing import NamedTuple\nclass {name}(NamedTuple):\n    x: float\n"
KERNEL = """
from aggopt.core.compiled import compiled
@compiled
def twice(state):
    return 2 * state.x
"""
RUN = "import kernel, state; print(kernel.twice(state.{name}(4.0)))"


def twice(folder: Path, name: str) -> str:
    (folder / "state.py").write_text(STATE.format(name=name))
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); {RUN.format(name=name)}"
    run = subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False
    )
    return run.stdout.strip() or run.stderr[-300:]


def test_a_cache_that_names_a_type_that_is_gone_is_made_anew(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    assert twice(tmp_path, "Before") == "8.0"
    assert list(tmp_path.rglob("*.nbi"))
    assert twice(tmp_path, "After") == "8.0"


def test_a_cache_that_cannot_be_emptied_is_left_alone():
    from aggopt.core.compiled import _forget

    class Cache:
        enabled = True

        def flush(self):
            raise PermissionError

        def disable(self):
            self.enabled = False

    made = SimpleNamespace(_cache=Cache())
    _forget(made)
    assert not made._cache.enabled
