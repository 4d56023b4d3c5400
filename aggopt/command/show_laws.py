"""Print the laws that user code keeps or breaks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aggopt.command.console import print_line
from aggopt.core.plural import plural

if TYPE_CHECKING:
    from aggopt.checks import Verdict
    from aggopt.command.check_code import CodeCheckResult


def print_laws(result: "CodeCheckResult") -> None:
    """Print a line for each law, and how many were kept."""
    print_line("\n".join(_format_laws(result)))


def _format_laws(result: "CodeCheckResult") -> Iterator[str]:
    yield f"{result.name}  sha256 {result.sha256}"
    for thing, verdicts in result.group_by_thing():
        yield f"{thing}:"
        yield from map(_format_law, verdicts)
        yield f"  {_count_endings(verdicts)}"
    if result.broken:
        yield f"{plural(result.broken, 'law')} broken: see docs/checks.md for each."
    else:
        yield "No law is broken."
    file = result.name.partition(".py")[0]
    yield (
        f"aggopt mask tries no law: it runs the file, if a job names it, with --trust "
        f"{file}.py, and counts its promises on what it writes."
    )


def _format_law(verdict: "Verdict") -> str:
    line = f"  {verdict.ending:<10}{verdict.law.name}"
    if verdict.ending == "broken":
        line += f"\n      {verdict.law.says}\n      Seen: {verdict.why}"
    elif verdict.why:
        line += f": {verdict.why}"
    return line


def _count_endings(verdicts: "list[Verdict]") -> str:
    endings = [verdict.ending for verdict in verdicts]
    seconds = sum(verdict.seconds for verdict in verdicts)
    counts = ", ".join(
        f"{endings.count(ending)} {ending}" for ending in dict.fromkeys(endings)
    )
    return f"{plural(len(verdicts), 'law')}: {counts}; {seconds:.1f} s"
