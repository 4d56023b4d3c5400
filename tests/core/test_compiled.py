"""Compiled code that Python calls hands back a number, or nothing.

Python code runs when it hands back arrays or named tuples.  An interrupt that waits
meanwhile is raised in the midst of that, and what comes of it is a SystemError or a
crash: Ctrl-C must stop a job in good order.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.errors import NumbaError

import aggopt
from aggopt.core.compiled import compiled, unrefcounted
from aggopt.core.deadline import compile_time

ROOT = Path(aggopt.__file__).parent
WRAPPED = {"compiled", "unrefcounted"}  # kernels that Python calls
BARE = {"inner", "inlined", "unrefcounted_inner", "unrefcounted_inlined"}
PLAIN = {"None", "bool", "float", "int", "np.uint64"}

INTERRUPTED = """
import operator, _thread
from functools import partial

import numpy as np
from aggopt.models import p3m
from aggopt.algorithms.lagrangian.dual_optimum import _maximise
from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.lagrangian.program import compute_implied_box

x = np.array([-1.0, -1.0, 1.0, 1.0])
data = p3m.Data(x, np.array([0, 0, 1, 1]), x * 0 + 0.1, x * 0 + 0.1, 0.5)
program = build_separable_program(data)
box = compute_implied_box(program)
climb = partial(_maximise, program, box, np.zeros(3), np.ones(2), 1e-9, 40)
climb()
try:  # nothing but C between the interrupt and what climb hands back
    list(map(operator.call, [_thread.interrupt_main, climb]))
except KeyboardInterrupt:
    print("stopped")
"""

CACHED = """
from numba.core import event
from aggopt.core.compiled import compiled, inner

class Seen(event.Listener):
    names = []
    def on_start(self, event): pass
    def on_end(self, event): self.names.append(event.data["dispatcher"].__name__)

@inner
def add(x, n):
    return x + n

@compiled
def call(x, n):
    return add(add(x, 1), -1) + add(x, n)  # of one type, constants or not

event.register("numba:compile", Seen())
print(call(3.0, 3), Seen.names)
"""

Function = ast.FunctionDef


@cache
def tree(module: str) -> ast.Module:
    path = ROOT.parent.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text()) if file.exists() else ast.Module([], [])


def modules() -> Iterator[str]:
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        yield name.removesuffix(".__init__")


def is_compiled(node: ast.AST) -> bool:
    return isinstance(node, Function) and any(
        isinstance(way, ast.Name) and way.id in (*WRAPPED, *BARE)
        for way in node.decorator_list
    )


def kernels(module: str) -> dict[str, Function]:
    return {node.name: node for node in tree(module).body if is_compiled(node)}


def in_python(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every node that is not part of a compiled function."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not is_compiled(child):
            yield from in_python(child)


def names(module: str) -> dict[str, set[str]]:
    """Return all that each name stands for, somewhere in a module, by full names."""
    meant = {name: {f"{module}.{name}"} for name in kernels(module)}
    for node in ast.walk(tree(module)):
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            whole = f"{node.module}.{alias.name}"
            meant.setdefault(alias.asname or alias.name, set()).add(whole)
    return meant


def called(module: str) -> Iterator[str]:
    """Yield the full name of each kernel that Python code in a module mentions."""
    meant = names(module)
    for node in in_python(tree(module)):
        if isinstance(node, ast.Name):
            yield from filter(is_kernel, meant.get(node.id, ()))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            homes = meant.get(node.value.id, ())
            yield from filter(is_kernel, (f"{home}.{node.attr}" for home in homes))


def is_kernel(name: str) -> bool:
    home, _, function = name.rpartition(".")
    return function in kernels(home)


def returned(kernel: str) -> str:
    home, _, name = kernel.rpartition(".")
    annotation = kernels(home)[name].returns
    return ast.unparse(annotation) if annotation else "?"


@pytest.fixture(scope="module")
def met() -> set[str]:
    """Return the full names of all kernels that Python code mentions."""
    return {kernel for module in modules() for kernel in called(module)}


def test_what_python_calls_hands_back_a_number_or_nothing(met: set[str]) -> None:
    assert not {kernel for kernel in met if returned(kernel) not in PLAIN}


def test_only_what_python_calls_has_a_wrapper_for_it(met: set[str]) -> None:
    for module in modules():
        for name, kernel in kernels(module).items():
            (way,) = (way.id for way in kernel.decorator_list)
            assert way in (WRAPPED if f"{module}.{name}" in met else BARE), name


def test_every_kernel_says_in_one_line_what_it_does() -> None:
    found = [
        f"{module}.{name}"
        for module in modules()
        for name, kernel in kernels(module).items()
        if not (ast.get_docstring(kernel) or "").partition("\n")[0].endswith((".", ":"))
    ]
    assert found == []


def test_the_cache_serves_a_later_process_which_compiles_nothing(
    tmp_path, forked
) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(CACHED)
    runs = [forked(f"import runpy\nrunpy.run_path({str(file)!r})") for _ in range(2)]
    assert [run.stdout for run in runs] == ["9.0 ['add', 'call']\n", "9.0 []\n"]


def test_it_works_where_no_cache_can_be_written(monkeypatch) -> None:
    njit = numba.njit

    def refuse(*given, cache: bool = False, **options):
        if cache:
            raise RuntimeError("no locator available")
        return njit(*given, **options)

    monkeypatch.setattr(numba, "njit", refuse)
    for name in ("kernels", "homeless"):
        monkeypatch.setattr(compile_time, name, 0)

    @compiled
    def twice(x):
        return x + x

    assert twice(2.0) == 4.0
    assert (compile_time.kernels, compile_time.homeless) == (1, 1)


def test_kernels_that_borrow_make_no_arrays() -> None:
    @unrefcounted
    def one(x):
        return np.ones_like(x)[0]

    with pytest.raises(NumbaError, match="array passed into"):
        one(np.zeros(3))


def test_the_kernels_of_the_local_search_borrow() -> None:
    files = list(ROOT.glob("partition/_local_search/*_kernels.py"))
    assert len(files) == 3
    counted = re.compile(r"^@(compiled|inner|inlined)$", re.MULTILINE)
    assert not [file for file in files if counted.search(file.read_text())]


def test_kernels_are_found_however_they_are_called(met: set[str]) -> None:
    assert {
        # of one alias for several
        "aggopt.partition._local_search.search_kernels.anneal",
        "aggopt.partition._optimal.subset_row_kernels.find_triples",  # handed on
        "aggopt.algorithms.lagrangian.dual_function.bound_dual",  # by its name
        "aggopt.algorithms.lagrangian.sweep_line._write_pieces",  # in its own module
    } <= met
    assert "aggopt.algorithms.lagrangian.dual_function.evaluate_dual" not in met


def test_an_interrupt_that_waits_for_compiled_code_is_raised(forked) -> None:
    run = forked(INTERRUPTED)
    assert (run.returncode, run.stdout, run.stderr) == (0, "stopped\n", "")
