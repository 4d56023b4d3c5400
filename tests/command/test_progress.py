"""How far a command is: steps, shares and time left, on terminals and in pipes."""

import io
import threading
import time

import pytest
from rich.console import Console

from aggopt.command import console, progress
from aggopt.command.progress import Bar, Steps, format_duration, print_lines


class Clock:
    """One that only the test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_step_says_its_share_and_the_time_that_it_takes(clock) -> None:
    steps = Steps(clock)
    assert str(steps) == "read, 0 s since the start"
    clock.now += 4
    steps.record("partition", 0.0)
    clock.now += 30
    steps.record("partition", 0.25)
    clock.now += 30
    assert str(steps) == "partition, 25 %, 1 min 4 s since the start"
    steps.record("partition", 0.5)
    assert str(steps) == (
        "partition, 50 %, 1 min 4 s since the start, about 1 min 0 s left of this step"
    )
    steps.record("partition", 1.0)
    assert steps.seconds_left is None  # what goes on has no share


def test_the_time_left_is_of_the_step_alone(clock) -> None:
    steps = Steps(clock)
    clock.now += 500
    steps.record("aggregate", 0.5)
    assert (
        steps.seconds_left is None
    )  # what was done before it was first told is no speed
    clock.now += 10
    steps.record("aggregate", 0.505)
    assert steps.seconds_left is None
    steps.record("aggregate", 0.75)
    assert steps.seconds_left == 10
    steps.record("aggregate", 0.1)  # it began anew
    assert steps.seconds_left is None


def test_what_processes_compile_is_no_speed(clock) -> None:
    steps = Steps(clock)
    steps.record("group", 0.0)
    clock.now += 120
    for share in (0.02, 0.1):
        steps.record("group", share)
        assert steps.seconds_left is None
        clock.now += 1
    steps.record("group", 0.15)
    assert steps.seconds_left == pytest.approx(2 * 0.85 / 0.13)


def test_what_compiles_is_named_and_is_no_speed(clock) -> None:
    working = Clock()
    steps = Steps(clock, working)
    steps.record("partition", 0.1)
    for now in (clock, working):
        now.now += 10
    steps.record("partition", 0.5)
    assert str(steps).endswith("10 s since the start, about 12 s left of this step")
    steps.compiling = "partition, mdav"
    clock.now += 60  # while the other clock stands still
    assert str(steps).endswith("since the start, compiling loops (partition, mdav)")
    steps.compiling = None
    assert str(steps).endswith(
        "1 min 10 s since the start, about 12 s left of this step"
    )


def test_the_time_left_never_rises_by_more_than_a_tenth(clock) -> None:
    steps = Steps(clock)
    steps.record("partition", 0.01)
    seen = []
    for share, seconds in ((0.2, 10), (0.25, 30), (0.3, 40), (0.6, 5), (0.9, 60)):
        clock.now += seconds
        steps.record("partition", share)
        seen.append(str(steps).rpartition("since the start, ")[2])
        clock.now += 7  # and nothing is told meanwhile
        seen.append(str(steps).rpartition("since the start, ")[2])
    assert seen == [
        "about 42 s left of this step",
        "more than 46 s left of this step",
        "more than 46 s left of this step",
        "more than 46 s left of this step",
        "more than 46 s left of this step",
        "more than 46 s left of this step",
        "more than 46 s left of this step",
        "more than 46 s left of this step",
        "about 19 s left of this step",
        "about 20 s left of this step",
    ]
    steps.record("aggregate", 0.01)
    clock.now += 500
    steps.record("aggregate", 0.5)
    assert str(steps).endswith("about 8 min 30 s left of this step")  # of another step


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"),
     (3600, "1 h 0 min"), (90_000, "25 h 0 min")],
)  # fmt: skip
def test_times_are_in_words(seconds, says) -> None:
    assert format_duration(seconds) == says


def test_pipes_get_a_line_now_and_then(clock) -> None:
    to = Console(file=io.StringIO(), width=20)
    steps, before = Steps(clock), {*threading.enumerate()}
    steps.record("partition [bold]", 0.5)
    with print_lines(steps, to, every=0.005):
        (printing,) = {*threading.enumerate()} - before
        while to.file.getvalue().count("\n") < 2:
            time.sleep(0.002)
    assert to.file.getvalue().startswith("partition [bold], 50 %, 0 s since the start")
    assert not printing.is_alive()


def test_a_pipe_that_nobody_reads_stops_nothing() -> None:
    closed = io.StringIO()
    closed.close()
    with print_lines(Steps(), Console(file=closed), every=0.001):
        time.sleep(0.01)


def test_a_terminal_shows_a_bar(clock) -> None:
    to = Console(file=io.StringIO(), force_terminal=True, width=100)
    steps = Steps(clock)
    bar = Bar(steps, to)
    with bar:
        steps.record("partition", 0.5)
        clock.now += 10
        bar.update()
        bar.bar.refresh()
        assert bar.bar.tasks[0].completed == 0.5
    assert "partition, 50 %, 10 s since the start" in to.file.getvalue()
    assert "━" in to.file.getvalue()


@pytest.mark.parametrize(
    ("terminal", "quiet", "hushed", "shows"),
    [
        (True, False, False, "bar"),
        (True, True, False, "lines"),
        (True, False, True, "nothing"),
        (False, False, False, "lines"),
        (False, False, True, "nothing"),
    ],
    ids=["terminal", "terminal and json", "quiet terminal", "pipe", "quiet pipe"],
)
def test_what_is_shown_where(monkeypatch, terminal, quiet, hushed, shows) -> None:
    to = Console(file=io.StringIO(), force_terminal=terminal)
    shown = ["nothing"]
    monkeypatch.setattr(console, "_err", to)
    monkeypatch.setattr(console.out, "quiet", hushed)
    for name, of in (("bar", Bar), ("lines", print_lines)):

        def made(*given, name=name, of=of):
            shown[:] = [name]
            return of(*given)

        monkeypatch.setattr(console, of.__name__, made)
    with console.track_progress(quiet=quiet) as told:
        told("partition", 0.5)
    assert shown == [shows]
    assert progress.EVERY == 10
