"""Caches of compiled loops outlive the version that wrote them."""

from pathlib import Path
from types import SimpleNamespace

from forked import Forks

STATE = "from typing import NamedTuple\nclass {name}(NamedTuple):\n    x: float\n"
KERNEL = """
from aggopt.core.compiled import compiled
@compiled
def twice(state):
    return 2 * state.x
"""
RUN = "import kernel, state; print(kernel.twice(state.{name}(4.0)))"


def twice(folder: Path, name: str, forked: Forks) -> str:
    (folder / "state.py").write_text(STATE.format(name=name))
    seen = f"sys.dont_write_bytecode = True; sys.path.insert(0, {str(folder)!r})"
    run = forked(f"import sys; {seen}; {RUN.format(name=name)}")
    return run.stdout.strip() or run.stderr[-300:]


def test_a_cache_that_names_a_type_that_is_gone_is_made_anew(tmp_path, forked):
    (tmp_path / "kernel.py").write_text(KERNEL)
    assert twice(tmp_path, "Before", forked) == "8.0"
    assert list(tmp_path.rglob("*.nbi"))
    assert twice(tmp_path, "After", forked) == "8.0"


def test_a_cache_that_cannot_be_emptied_is_left_alone():
    from aggopt.core.compiled import _clear_cache

    class Cache:
        enabled = True

        def flush(self):
            raise PermissionError

        def disable(self):
            self.enabled = False

    made = SimpleNamespace(_cache=Cache())
    _clear_cache(made)
    assert not made._cache.enabled
