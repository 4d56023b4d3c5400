"""Kernels that only kernels call are linked into their callers, and cached."""

import pytest

KERNELS = """
import sys
from numba.core import event
from aggopt.core.compiled import compiled, inlined, inner

class Seen(event.Listener):
    names = []
    def on_start(self, event): pass
    def on_end(self, event): self.names.append(event.data["dispatcher"].__name__)

event.register("numba:compile", Seen())

@inlined
def square(x):
    return x * x

@inner
def smooth(x):
    total = 0.0
    for i in range(len(x)):
        total += square(x[i]) / (i + 1)
    return total

@compiled
def first(x):
    return smooth(x) + 1

@compiled
def second(x):
    return smooth(x) - 1

@inner
def depth(n):
    if n <= 0:
        return 0
    return 1 + depth(n - 1)

@compiled
def recursive(n):
    return depth(n)

@inner
def even(n):
    if n == 0:
        return True
    return odd(n - 1)

@inner
def odd(n):
    if n == 0:
        return False
    return even(n - 1)

@compiled
def mutual(n):
    return even(n)

@inner
def checked(x):
    if len(x) > 2:
        raise ValueError("too long")
    return len(x)

@compiled
def refusing(x):
    return checked(x)
"""

CALL = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
import kernels
x = np.array([0.1, 0.7, 1.3])
{call}
"""


@pytest.fixture
def called(tmp_path, forked):
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)

    def run(call: str) -> str:
        ended = forked(CALL.format(folder=str(tmp_path), call=call))
        return ended.stdout.strip() or ended.stderr[-500:]

    return run


def test_kernels_compute_what_python_computes(called):
    expected = 0.1 * 0.1 / 1 + 0.7 * 0.7 / 2 + 1.3 * 1.3 / 3
    assert called("print(kernels.first(x))") == str(expected + 1)


@pytest.mark.slow
def test_a_cached_inner_kernel_serves_a_kernel_that_is_compiled_later(called):
    compiling = "print(kernels.{}(x) > 0, kernels.Seen.names)"
    assert called(compiling.format("first")) == "True ['square', 'smooth', 'first']"
    assert called(compiling.format("second")) == "False ['second']"
    assert called(compiling.format("first")) == "True []"
    assert called(compiling.format("second")) == "False []"


def test_a_kernel_that_only_kernels_call_has_no_machine_code(called):
    sizes = (
        "kernels.first(x)\n"
        "for name in ('smooth', 'first'):\n"
        "    (made,) = getattr(kernels, name).overloads.values()\n"
        "    print(made.library.serialize_using_object_code()[1])"
    )
    assert called(sizes) == "aggopt-linked\nobject"


def test_a_kernel_may_call_itself(called):
    for _ in ("compiled", "read from the cache"):
        assert called("print(kernels.recursive(5))") == "5"


def test_inner_kernels_that_call_each_other_are_refused(called):
    assert "is called by what it calls" in called("kernels.mutual(5)")


@pytest.mark.parametrize("time", ["compiled", "read from the cache"])
def test_an_error_of_an_inner_kernel_is_raised(called, time):
    call = (
        "try:\n    kernels.refusing(x)\nexcept ValueError as error:\n    print(error)"
    )
    for _ in range(1 + (time == "read from the cache")):
        assert called(call) == "too long"
