"""What the command prints of a table and a job that it checked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aggopt.command.console import line
from aggopt.core.plural import many

if TYPE_CHECKING:
    from aggopt.command.check import Checked

NAME = 30  # characters of a name, beyond which others are not moved to the right


def checked(found: "Checked") -> None:
    """Print a line for each column, all obstacles with their remedies, and notes."""
    line("\n".join(_lines(found)))


def _lines(found: "Checked") -> Iterator[str]:
    if found.records is not None:
        yield f"{many(found.records, 'record')}, {many(len(found.columns), 'column')}"
    yield from _of_columns(found)
    for number, each in enumerate(found.obstacles, start=1):
        yield f"Obstacle {number}: {each.problem}"
        after = found.obstacles[number:][:1]
        if not after or after[0].fix != each.fix:  # said once for all that share it
            yield f"    To fix: {each.fix}"
    yield from (f"Note: {note}" for note in found.notes)
    if found.obstacles:
        yield f"aggopt mask would refuse: {many(len(found.obstacles), 'obstacle')}."
    else:
        yield "Nothing stands in the way: aggopt mask would begin."


def _of_columns(found: "Checked") -> Iterator[str]:
    numbers: dict[str | None, list[str]] = {}
    for number, each in enumerate(found.obstacles, start=1):
        numbers.setdefault(each.column, []).append(str(number))
    rows = [(repr(look.name), role or "no role", look) for look, role in found.columns]
    wide = max((len(name) for name, _, _ in rows), default=0)
    for name, role, look in rows:
        refused = ", ".join(numbers.get(look.name, ()))
        end = f"  (obstacle {refused})" if refused else ""
        yield f"  {name:<{min(wide, NAME)}}  {role:<16}  {look}{end}"
