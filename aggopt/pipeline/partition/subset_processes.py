"""Process strata in several processes, with the results of one process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from aggopt.core.processes import run_in_processes

Part = TypeVar("Part")
Made = TypeVar("Made")


@dataclass(frozen=True)
class _NumberedTask(Generic[Part, Made]):
    """A task that returns the number of its part, too."""

    task: Callable[[Part], Made]

    def __call__(self, part: tuple[int, Part]) -> tuple[int, Made]:
        number, own = part
        return number, self.task(own)


def map_in_processes(
    task: Callable[[Part], Made],
    parts: Sequence[Part],
    jobs: int,
    on_progress: Callable[[float], Any],
) -> list[Made]:
    """Return the result of a task for each part, in their order, from `jobs` processes.

    `on_progress` receives the share of the parts that is done.
    """
    found: dict[int, Made] = {}
    for number, made in run_in_processes(_NumberedTask(task), enumerate(parts), jobs):
        found[number] = made
        on_progress(len(found) / len(parts))
    return [found[number] for number in range(len(parts))]
