"""The two consoles of the command, and the lines that every command prints."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from aggopt.command.interrupt import RELEASED, interrupts
from aggopt.command.log import log
from aggopt.command.progress import Bar, Steps, print_lines
from aggopt.core.deadline import compile_time
from aggopt.core.html import render_text_table, wrap_lines
from aggopt.core.text_formats import format_json

T = TypeVar("T")

COMPILING = (
    "Compiling loops ({}) for their first use on this machine; `aggopt warm-up` "
    "compiles those of all methods."
)


class _EscapingConsole(Console):
    """A console that prints names of files and columns as plain text.

    A terminal obeys escape sequences: colours, a title, a line over
    another.  Marks that turn the direction of text make a name look like another.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield the segments of a printed text, with control characters escaped."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else escape_control(segment.text)
            yield segment._replace(text=text)


_CONTROL = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape_control(text: str) -> str:
    """Return text with its control characters as escapes: a terminal shows them."""
    return _CONTROL.sub(_escape_match, text)


def _escape_match(match: re.Match[str]) -> str:
    """Return a control character as its escape sequence."""
    return match[0].encode("unicode_escape").decode("ascii")


class _BrokenPipeConsole(_EscapingConsole):
    """A console whose reader may stop reading: the work continues."""

    ends_blank = False  # whether the last line that was printed is a blank one

    def on_broken_pipe(self) -> None:
        """Throw the rest away."""
        _close_output()


def _close_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


out = _BrokenPipeConsole(highlight=False)
_err = _EscapingConsole(stderr=True, highlight=False)
_announced: set[str] = set()  # lines that a command prints once


def set_quiet(quiet: bool) -> None:
    """Print only errors from here on, or everything."""
    out.quiet = quiet


@contextmanager
def track_progress(*, quiet: bool = False) -> Iterator[Callable[[str, float], None]]:
    """Yield a function that takes note of the step and its share, which are shown.

    Where someone watches, by a bar; else, by a line each ten seconds.  If `quiet`,
    standard output is kept for the one JSON object: solvers print to standard error
    meanwhile, and steps are shown as lines.
    """
    steps = Steps(working=compile_time.now)
    bar = Bar(steps, _err) if _err.is_terminal and not (quiet or out.quiet) else None
    shown = bar or (nullcontext() if out.quiet else print_lines(steps, _err))

    def record_share(step: str, share: float) -> None:
        interrupts.raise_missed()
        steps.record(step, share)
        log.record_stage(step, share)
        if bar:
            bar.update()

    def record_compiling(part: str | None) -> None:
        steps.compiling = part
        if part is not None:
            log.record_compiling(part)
        if part is not None and not out.quiet:
            _announce_compiling(part)
        if bar:
            bar.update()

    clean = _replace_stdout() if quiet else nullcontext()
    with shown, clean, compile_time.reported_to(record_compiling):
        yield record_share
    interrupts.raise_missed()


def _announce_compiling(part: str) -> None:
    """Print, once per command, that loops are compiled."""
    if COMPILING in _announced:
        return
    _announced.add(COMPILING)
    with suppress(OSError, ValueError):  # nobody reads it any more
        _err.print(COMPILING.format(part), markup=False, soft_wrap=True)


@contextmanager
def _replace_stdout() -> Iterator[None]:
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    try:
        print(format_json(value), flush=True)
    except BrokenPipeError:
        _close_output()


def print_error(problem: str, fix: str) -> None:
    """Print a problem and its fix."""
    print_note(f"Error: {problem}", style="red")
    print_note(f"To fix: {fix}")


def print_note(text: str, style: str | None = None) -> None:
    """Print a line that changes nothing, on standard error."""
    folded = wrap_lines(text, _err.width) if _err.is_terminal else text
    _err.print(folded, markup=False, soft_wrap=True, style=style)


def publish_files(written: AbstractContextManager[Callable[[], T]]) -> T:
    """Let files appear; after that no message of an interrupt denies them.

    `written` are files written aside; the yielded function gives them their names.  The
    command then only reports it, and ignores signals meanwhile.
    """
    with written as commit, interrupts.announce_result(RELEASED):
        return commit()


def report_unprinted(error: Exception) -> None:
    """Report that the files of the command exist, and that printing failed."""
    done = interrupts.outcome[:1].upper() + interrupts.outcome[1:]
    print_note(f"{done}; printing failed ({type(error).__name__}).")
    if isinstance(error, OSError | UnicodeError):
        _close_output()


def print_line(text: str, style: str | None = None) -> None:
    """Print plain text; on a terminal, lines end between words."""
    columns = get_line_width()
    folded = text if columns is None else wrap_lines(text, columns)
    out.print(folded, markup=False, soft_wrap=True, style=style)
    out.ends_blank = False


def print_command(text: str) -> None:
    """Print a command to copy: one line, however long."""
    out.print(f"    {text}", markup=False, soft_wrap=True)
    out.ends_blank = False


def print_table(
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str = "",
    right: Collection[int] = (),
    keys: int = 1,
) -> None:
    """Print a table, columns at the positions `right` aligned to the right.

    In a terminal that is too narrow, columns follow below, after the first `keys` once
    more.
    """
    cells = [
        [escape_control(cell) if isinstance(cell, str) else cell for cell in row]
        for row in (header, *rows)
    ]
    shown = render_text_table(
        cells[0], cells[1:], right=right, width=get_line_width(), keys=keys
    )
    if title:
        print_line(title if out.ends_blank else f"\n{title}", style="bold")
        shown += "\n"
    out.print(shown, markup=False, soft_wrap=True)
    out.ends_blank = bool(title)


def get_line_width() -> int | None:
    """Return how many characters a line may have; None in a file or a pipe."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return None
