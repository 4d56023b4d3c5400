"""Print whether `mask` would begin, with all obstacles and notes."""

from collections.abc import Iterator

from aggopt.command.console import print_line, print_table
from aggopt.command.progress import format_duration
from aggopt.core.memory import format_size
from aggopt.core.plural import plural
from aggopt.engine.resource_check import RunNeeds
from aggopt.inspection.check import CheckResult


def print_check(result: CheckResult) -> None:
    """Print a line for each column, all obstacles with their remedies, and notes."""
    if result.records is not None:
        columns = plural(len(result.columns), "column")
        print_line(f"{plural(result.records, 'record')}, {columns}")
    rows = list(_format_columns(result))
    if rows:
        print_table(("column", "role", "entries"), rows)
    print_line("\n".join(_format_check(result)))


def _format_check(result: CheckResult) -> Iterator[str]:
    for number, obstacle in enumerate(result.obstacles, start=1):
        yield f"Obstacle {number}: {obstacle.problem}"
        after = result.obstacles[number:][:1]
        if not after or after[0].fix != obstacle.fix:  # said once for all that share it
            yield f"    To fix: {obstacle.fix}"
    yield from (f"Note: {note}" for note in result.notes)
    if result.needs is not None:
        yield _format_needs(result.needs)
    if result.obstacles:
        yield f"aggopt mask would refuse: {plural(len(result.obstacles), 'obstacle')}."
    else:
        yield "Nothing stands in the way: aggopt mask would begin."


def _format_needs(needs: RunNeeds) -> str:
    """Return how much memory, disk and processor time a run takes."""
    per_process = format_size(needs.process)
    count = needs.processes
    memory = f"{per_process} of memory for each process"
    if count is not None:
        processes = f"{plural(count, 'process', 'processes')} of {per_process}"
        memory = f"{format_size(needs.memory)} of memory ({processes})"
    return (
        f"A run needs about {memory}, {format_size(needs.disk)} of disk for files in "
        f"between, and {format_duration(needs.seconds)} of processor time."
    )


def _format_columns(result: CheckResult) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each column: its role, its entries, and its obstacles.

    If the roles of the job are refused, each is a question mark.
    """
    numbers: dict[str | None, list[str]] = {}
    for number, obstacle in enumerate(result.obstacles, start=1):
        numbers.setdefault(obstacle.column, []).append(str(number))
    unread = "?" if not any(role for _, role in result.columns) else "no role"
    for look, role in result.columns:
        refused = ", ".join(numbers.get(look.name, ()))
        end = f"  (obstacle {refused})" if refused else ""
        yield repr(look.name), role or unread, f"{look}{end}"
