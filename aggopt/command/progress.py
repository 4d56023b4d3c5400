"""How far a command is, on standard error: a bar where someone watches, else lines."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

EVERY = 10.0  # seconds between lines
ENOUGH = 0.1  # share of a step that tells how fast the rest of it is


RISE = 1.1  # how far above an earlier one an estimate of what is left may be


class Steps:
    """The step that is being done, its share, and how long the rest of it takes.

    Its speed is measured from its first share on: before, processes start and compile
    the functions of their tasks.  `working` is the clock of that speed, which stops
    while something compiles; `compiling` names what does, or is None.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        working: Callable[[], float] | None = None,
    ):
        self.clock = clock
        self.start = clock()
        self.working = working or clock
        self.step = "read"
        self.share = 0.0
        self.begun = self.working()
        self.first = 0.0
        self.least_shown = math.inf  # seconds that were left of the step, as shown
        self.compiling: str | None = None

    def record(self, step: str, share: float) -> None:
        """Take note of the share of a step that is done."""
        if step != self.step or share < self.share or not self.first:
            self.begun = self.working()
            self.first = share
            self.least_shown = math.inf
        self.step = step
        self.share = share

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the step still takes at its speed.

        None before a tenth of it, and once all of it is done: the work after that has
        no share.
        """
        done = self.share - self.first
        if done < ENOUGH or self.share >= 1.0:
            return None
        return (self.working() - self.begun) * (1.0 - self.share) / done

    def __str__(self) -> str:
        """Return step, share, seconds since the start and seconds left of the step."""
        parts = [self.step, f"{100 * self.share:.0f} %"] if self.share else [self.step]
        parts.append(f"{format_duration(self.clock() - self.start)} since the start")
        if self.compiling is not None:
            parts.append(f"compiling loops ({self.compiling})")
        elif (left := self.seconds_left) is not None:
            parts.append(f"{self._estimate(left)} left of this step")
        return ", ".join(parts)

    def _estimate(self, left: float) -> str:
        """Return the time left in words, never more than was shown before."""
        limit = RISE * self.least_shown
        if left > limit:
            return f"more than {format_duration(limit)}"
        self.least_shown = min(self.least_shown, left)
        return f"about {format_duration(left)}"


def format_duration(seconds: float) -> str:
    """Return a time in words.

    >>> [format_duration(seconds) for seconds in (12.3, 200, 7500)]
    ['12 s', '3 min 20 s', '2 h 5 min']
    """
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60} min"


@contextmanager
def print_lines(steps: Steps, console: Console, every: float = EVERY) -> Iterator[None]:
    """Print a line each `every` seconds, from a thread, for pipes and logs."""
    over = threading.Event()

    def print_steps() -> None:
        while not over.wait(every):
            with suppress(OSError, ValueError):  # nobody reads it any more
                console.print(str(steps), markup=False, soft_wrap=True)

    thread = threading.Thread(target=print_steps, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Bar(AbstractContextManager[None]):
    """A bar on a terminal: the step, its share and the time that it still takes."""

    def __init__(self, steps: Steps, console: Console):
        self.steps = steps
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            console=console,
            transient=True,
        )
        self.task = self.bar.add_task(str(steps), total=1.0)

    def __enter__(self) -> None:
        """Show it."""
        self.bar.start()

    def __exit__(self, *_: object) -> None:
        """Take it away."""
        self.bar.stop()

    def update(self) -> None:
        """Show the step again."""
        text = str(self.steps)
        self.bar.update(self.task, description=text, completed=self.steps.share)
