"""Tasks that executors run: a named step, for one number, with the shared state."""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any

from aggopt.core.memory import is_lack_of_memory
from aggopt.engine.state.shuffle import AGAIN, shuffle_region
from aggopt.engine.steps import (
    attribute_values,
    block,
    describe,
    number_programs,
    write,
)
from aggopt.engine.steps.categories import choose_category
from aggopt.engine.steps.feasible_blocks import check_feasible
from aggopt.engine.steps.merge_small_strata import sum_stratum_centres
from aggopt.engine.steps.strata import count_part_strata
from aggopt.engine.storage import scratch_files
from aggopt.errors import AggoptError, DefectError, EngineError
from aggopt.partition.shared.result import INTERRUPTED

TASKS: dict[str, Callable[[int, Any], Any]] = {
    "strata": count_part_strata,
    "levels": attribute_values.count_levels,
    "dates": attribute_values.count_dates,
    "describe": describe.describe_part,
    "centre": sum_stratum_centres,
    "scatter": describe.scatter_part,
    "keep": check_feasible,
    "group": block.partition_block,
    "state": number_programs.write_programs,
    "solve": number_programs.solve_attribute,
    "draw in": number_programs.solve_bounded_means,
    "choose": choose_category,
    "publish": block.publish_block,
    "write": write.write_part,
    "sort": write.sort_equal_records,
    "recount": write.count_place,
    "hash": write.hash_file,
    **{again: partial(shuffle_region, step) for step, again in AGAIN.items()},
}
ROUNDS = " 0123456789"  # behind the name of a step that is done more than once


def run_step(step: str, number: int, path: Path) -> Any:
    """Return the result of one task of a step: counts and figures, no record.

    Its arguments and its errors hold no value of a record, because engines log both.

    Raises
    ------
    AggoptError
        As the step; of an error of another kind, type and line only.
    """
    try:
        with scratch_files.write_progress_in(path.parent, number), _raise_interrupts():
            return TASKS[step.rstrip(ROUNDS)](number, scratch_files.load_state(path))
    except (AggoptError, scratch_files.StoppedError, KeyboardInterrupt):
        raise
    except Exception as error:
        failed = _make_error_without_values(step, number, error)
    raise failed  # not within the handler, which would chain it


@contextmanager
def _raise_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt in a task whose search Ctrl-C has ended."""
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


def _make_error_without_values(step: str, number: int, error: Exception) -> EngineError:
    """Return an error with type and line of another, without its text."""
    if is_lack_of_memory(error):
        return EngineError(
            f"Step {step!r}, task {number}: there is not enough memory.",
            fix="choose a smaller block under [engine], or fewer processes.",
        )
    frame, line = list(walk_tb(error.__traceback__))[-1]
    where = f"line {line} of {Path(frame.f_code.co_filename).name}"
    text = f" ({error.strerror})" if isinstance(error, OSError) else ""
    kind = EngineError if isinstance(error, OSError) else DefectError
    return kind(
        f"Step {step!r}, task {number}, failed with a {type(error).__name__} in "
        f"{where}{text}; what it says is not repeated, because it may hold values of "
        "records.",
        fix="make room on the disk, if that is it; else report it with these words.",
    )
