"""What the command prints of a table and a job that it checked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aggopt.command.console import line, table
from aggopt.command.progress import lasting
from aggopt.core.memory import format_size
from aggopt.core.plural import plural

if TYPE_CHECKING:
    from aggopt.command.check import Checked
    from aggopt.engine.resource_check import RunNeeds


def checked(found: "Checked") -> None:
    """Print a line for each column, all obstacles with their remedies, and notes."""
    if found.records is not None:
        line(
            f"{plural(found.records, 'record')}, {plural(len(found.columns), 'column')}"
        )
    rows = list(_rows(found))
    if rows:
        table(("column", "role", "entries"), rows)
    line("\n".join(_lines(found)))


def _lines(found: "Checked") -> Iterator[str]:
    for number, each in enumerate(found.obstacles, start=1):
        yield f"Obstacle {number}: {each.problem}"
        after = found.obstacles[number:][:1]
        if not after or after[0].fix != each.fix:  # said once for all that share it
            yield f"    To fix: {each.fix}"
    yield from (f"Note: {note}" for note in found.notes)
    if found.needs is not None:
        yield _said_of_needs(found.needs)
    if found.obstacles:
        yield f"aggopt mask would refuse: {plural(len(found.obstacles), 'obstacle')}."
    else:
        yield "Nothing stands in the way: aggopt mask would begin."


def _said_of_needs(needs: "RunNeeds") -> str:
    """Return how much memory, disk and processor time a run takes."""
    each, count = format_size(needs.process), needs.processes
    memory = f"{each} of memory for each process"
    if count is not None:
        processes = f"{plural(count, 'process', 'processes')} of {each}"
        memory = f"{format_size(needs.memory)} of memory ({processes})"
    return (
        f"A run needs about {memory}, {format_size(needs.disk)} of disk for files in "
        f"between, and {lasting(needs.seconds)} of processor time."
    )


def _rows(found: "Checked") -> Iterator[tuple[str, str, str]]:
    """Yield a row for each column: its role, its entries, and its obstacles.

    If the roles of the job are refused, each is a question mark.
    """
    numbers: dict[str | None, list[str]] = {}
    for number, each in enumerate(found.obstacles, start=1):
        numbers.setdefault(each.column, []).append(str(number))
    unread = "?" if not any(role for _, role in found.columns) else "no role"
    for look, role in found.columns:
        refused = ", ".join(numbers.get(look.name, ()))
        end = f"  (obstacle {refused})" if refused else ""
        yield repr(look.name), role or unread, f"{look}{end}"
