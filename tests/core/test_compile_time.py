"""No limit of time counts compilation, and who asks hears of it."""

import ctypes
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tables import job, people

import aggopt
from aggopt import aggregate
from aggopt.aggregate import _mean, _median
from aggopt.algorithms import runs as _runs
from aggopt.algorithms.lagrangian import solve as lagrangian
from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.core.deadline import CompileClock, Deadline, compile_time
from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.models import p3m
from aggopt.partition import _mdav, local_search, mdav, univariate
from aggopt.partition._local_search import search
from aggopt.solvers import Status

LABELS = np.arange(12) // 4
SLOW = 0.3  # seconds that something takes to compile
ROUNDING = 1e-6  # of clocks that are subtracted


def slowly(real, clock):
    """The same function, as if it were compiled when it is called."""

    def compiled(*given, **named):
        with compile_time.passing():
            clock.sleep(SLOW)
        return real(*given, **named)

    return compiled


ROUNDING = 1e-6  # of clocks that are subtracted


def test_the_clock_stands_still_while_kernels_compile():
    own = CompileClock()
    outer, before = time.perf_counter(), own.now()
    with own.passing(), own.passing():
        began, within = time.perf_counter(), own.now()
        time.sleep(SLOW)
        assert own.now() == within
        slept = time.perf_counter() - began
    passed = own.now() - before
    assert 0 <= passed <= time.perf_counter() - outer - slept + ROUNDING


def test_a_deadline_does_not_count_it(ticking):
    clock = Deadline(SLOW / 2)
    with compile_time.passing():
        ticking.sleep(SLOW)
    assert not clock.over
    ticking.sleep(SLOW / 2)
    assert clock.over


def test_local_search_has_its_time_whatever_compiles(monkeypatch, ticking):
    X = np.random.default_rng(0).normal(size=(60, 2))
    shares: list[float] = []
    once = local_search(X, 3).certificate.seconds
    descend = search.Search.descend
    monkeypatch.setattr(search.Search, "descend", slowly(descend, ticking))
    again = local_search(X, 3, progress=shares.append).certificate
    assert again.status is Status.LOCAL
    assert again.seconds < once + SLOW / 2


def test_p3m_has_its_time_whatever_compiles(monkeypatch, ticking):
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=24), np.arange(24) // 4
    data = p3m.Data((x - x.mean()) / x.std(), labels, x * 0 + 1.5, x * 0 + 0.01, 0.5)
    program = build_separable_program(data)
    freely = lagrangian.solve_separable(program)
    meets = slowly(lagrangian.is_in_every_group, ticking)
    monkeypatch.setattr(lagrangian, "is_in_every_group", meets)
    found = lagrangian.solve_separable(program, time_limit=freely.seconds + SLOW / 2)
    assert freely.nodes > 1
    assert (found.status, found.nodes) == (freely.status, freely.nodes)
    assert found.seconds < freely.seconds + SLOW / 2


@pytest.mark.parametrize(
    ("call", "module", "within"),
    [
        (lambda x: univariate(x, 3), _runs, "solve_runs"),
        (lambda x: mdav(x[:, None], 3), _mdav, "mdav_labels"),
        (lambda x: aggregate.mean(x[:, None], LABELS), _mean, "read_float_records"),
        (lambda x: aggregate.median(x[:, None], LABELS), _median, "read_float_records"),
    ],
)
def test_seconds_that_were_spent_leave_it_out(
    call, module, within, monkeypatch, ticking
):
    real = getattr(module, within)

    def compiled_for(spent, counted):
        def called(*given, **named):
            with compile_time.passing():
                ticking.sleep(spent)
            ticking.sleep(counted)
            return real(*given, **named)

        return called

    monkeypatch.setattr(module, within, compiled_for(100.0, 2.0))
    certificates = call(np.arange(12.0)).certificates
    assert [c.seconds for c in certificates] == [pytest.approx(2.0, abs=0.1)]


def test_there_is_no_other_clock():
    files = Path(aggopt.__file__).parent.rglob("*.py")
    asking = {file.name for file in files if "perf_counter" in file.read_text()}
    assert asking == {"deadline.py"}


def test_a_listener_hears_what_compiles_and_the_end():
    own, heard = CompileClock(kernels=4), []
    with own.reported_to(heard.append), own.passing():
        own.begin("outer")
        with own.passing():
            own.begin("inner")
            own.end()  # of what the other one calls
        own.end()
    own.begin("unheard")
    assert heard == ["outer", "inner", None]
    assert own.compiled == 3


# --- ctrl-C that the compiler's callbacks lose is raised all the same


CHILD = """
import signal
from numba.core.codegen import JITCodeLibrary

hooks = {"compile": "_object_compiled_hook", "load": "_object_getbuffer_hook"}
hook = hooks[WHEN]
real = getattr(JITCodeLibrary, hook).__func__
pressed = []

def press(cls, *given):  # within a callback through ctypes
    if not pressed:
        pressed.append(1)
        signal.raise_signal(signal.SIGINT)
    return real(cls, *given)

setattr(JITCodeLibrary, hook, classmethod(press))
signal.signal(signal.SIGINT, signal.default_int_handler)
from aggopt.core.compiled import compiled

def twice(x):
    return x + x

try:
    compiled(twice)(3)
except KeyboardInterrupt:
    print("heard")
assert pressed
print(compiled(twice)(3))
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize("when", ["compile", "load"])
def test_ctrl_c_while_a_kernel_compiles_is_heard(tmp_path, forked, when):
    file = tmp_path / "child.py"
    file.write_text(CHILD.replace("WHEN", repr(when)))
    found = forked(f"import runpy\nrunpy.run_path({str(file)!r})")
    assert found.stdout == "heard\n6\n", found.stderr
    assert "Exception ignored on calling ctypes callback" in found.stderr


def lost(number: int) -> None:
    """Raise a signal where what its handler raises is printed and forgotten."""
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))()


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)


def test_what_is_lost_is_raised_at_the_end(quiet):
    steps = []

    @reraise_interrupts()
    def go_on():
        lost(signal.SIGINT)
        steps.append("went on")

    with pytest.raises(KeyboardInterrupt):
        go_on()
    assert steps == ["went on"]


def test_an_interrupt_goes_before_what_fails_because_of_it(quiet):
    @reraise_interrupts()
    def fail():
        lost(signal.SIGINT)
        raise RuntimeError

    with pytest.raises(KeyboardInterrupt):
        fail()


def test_an_interrupt_that_is_raised_is_raised_once():
    calls = []

    def handler(*_):
        calls.append(1)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    try:
        with (
            pytest.raises(KeyboardInterrupt),
            reraise_interrupts(),
            reraise_interrupts(),
        ):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == [1]


def test_a_handler_that_does_not_raise_is_called_once():
    calls = []
    before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    try:
        with reraise_interrupts():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == [1]


@pytest.mark.parametrize("step", ["read", "aggregate", "measure"])
def test_masking_raises_what_was_lost_at_any_step(quiet, step):
    pressed = []

    def press(at, _):
        if at == step and not pressed:
            pressed.append(at)
            lost(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        aggopt.mask(people(30), job(), progress=press)
    assert pressed == [step]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
