"""A benchmark is named as a module of the standard library, and hides it from none."""

import sys
from importlib import import_module
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_what_lies_beside_it_imports_the_standard_library_s(monkeypatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.delitem(sys.modules, "statistics", raising=False)
    found = import_module("statistics")
    assert found.mean([1, 2]) == 1.5
    assert Path(str(found.__file__)).parent != BENCHMARKS
    assert not hasattr(found, "PARTS")
