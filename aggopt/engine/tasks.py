"""What engines carry out: a step by its name, of one number, told what all know."""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any

from aggopt.engine.keeping import kept
from aggopt.engine.passes_in import described, scattered
from aggopt.engine.passes_of_blocks import grouped, published
from aggopt.engine.passes_of_borders import looked, parted
from aggopt.engine.passes_of_bounds import drawn_in
from aggopt.engine.passes_of_categories import chosen
from aggopt.engine.passes_of_dates import dates_counted
from aggopt.engine.passes_of_levels import levels_counted
from aggopt.engine.passes_of_shifts import solved, stated
from aggopt.engine.passes_out import hashed, recounted, sorted_out, written
from aggopt.engine.shares import noted
from aggopt.engine.strata import strata_counted
from aggopt.engine.strata_merged import centred
from aggopt.engine.two_levels import AGAIN, dealt
from aggopt.engine.workspace import StoppedError, handed_out
from aggopt.errors import AggoptError, DefectError, EngineError
from aggopt.partition._shared.result import INTERRUPTED

TASKS: dict[str, Callable[[int, Any], Any]] = {
    "strata": strata_counted,
    "levels": levels_counted,
    "dates": dates_counted,
    "describe": described,
    "centre": centred,
    "scatter": scattered,
    "keep": kept,
    "look": looked,
    "part": parted,
    "group": grouped,
    "state": stated,
    "solve": solved,
    "draw in": drawn_in,
    "choose": chosen,
    "publish": published,
    "write": written,
    "sort": sorted_out,
    "recount": recounted,
    "hash": hashed,
    **{again: partial(dealt, step) for step, again in AGAIN.items()},
}
ROUNDS = " 0123456789"  # behind the name of a step that is done more than once


def carried_out(step: str, number: int, known: Path) -> Any:
    """Return what a task returns: counts and figures, no record.

    Its arguments hold no value of a record, nor does an error: they stand in the logs
    of engines.

    Raises
    ------
    AggoptError
        As the step; an error of another kind is told by its type and line alone.
    """
    try:
        with noted(known.parent, number), _interrupts_raised():
            return TASKS[step.rstrip(ROUNDS)](number, handed_out(known))
    except (AggoptError, StoppedError, KeyboardInterrupt):
        raise
    except MemoryError:
        failed = EngineError(
            f"Step {step!r}, task {number}: there is not enough memory.",
            fix="choose a smaller block under [engine], or fewer processes.",
        )
    except Exception as error:
        failed = _told(step, number, error)
    raise failed  # not within the handler, which would chain it


@contextmanager
def _interrupts_raised() -> Iterator[None]:
    """End a task as Ctrl-C ends a search, which else warns and returns its best."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("error", INTERRUPTED)
        try:
            yield
        except UserWarning as warned:
            if str(warned) != INTERRUPTED:
                raise
            raise KeyboardInterrupt from None


def _told(step: str, number: int, error: Exception) -> EngineError:
    """Return an error without the words of another, which may quote records."""
    frame, line = list(walk_tb(error.__traceback__))[-1]
    where = f"line {line} of {Path(frame.f_code.co_filename).name}"
    said = f" ({error.strerror})" if isinstance(error, OSError) else ""
    kind = EngineError if isinstance(error, OSError) else DefectError
    return kind(
        f"Step {step!r}, task {number}, failed with a {type(error).__name__} in "
        f"{where}{said}; what it says is not repeated, because it may hold values of "
        "records.",
        fix="make room on the disk, if that is it; else report it with these words.",
    )
