"""Ctrl-C that the compiler's callbacks lose is raised all the same."""

import ctypes
import signal
import sys

import pytest
from tables import job, people

import aggopt
from aggopt.core.deferred_signals import reraise_interrupts

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
