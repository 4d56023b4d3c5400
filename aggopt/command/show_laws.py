"""What the command prints of code that was held to laws."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aggopt.command.console import line
from aggopt.core.plural import plural

if TYPE_CHECKING:
    from aggopt.checks import Verdict
    from aggopt.command.check_code import CheckedCode


def laws(found: "CheckedCode") -> None:
    """Print a line for each law, and how many were kept."""
    line("\n".join(_lines(found)))


def _lines(found: "CheckedCode") -> Iterator[str]:
    yield f"{found.name}  sha256 {found.sha256}"
    for thing, verdicts in found.of_things():
        yield f"{thing}:"
        yield from map(_law, verdicts)
        yield f"  {_counts(verdicts)}"
    if found.broken:
        yield f"{plural(found.broken, 'law')} broken: see docs/checks.md for each."
    else:
        yield "No law is broken."
    file = found.name.partition(".py")[0]
    yield (
        f"aggopt mask tries no law: it runs the file, if a job names it, with --trust "
        f"{file}.py, and counts its promises on what it writes."
    )


def _law(verdict: "Verdict") -> str:
    line = f"  {verdict.ending:<10}{verdict.law.name}"
    if verdict.ending == "broken":
        line += f"\n      {verdict.law.says}\n      Seen: {verdict.why}"
    elif verdict.why:
        line += f": {verdict.why}"
    return line


def _counts(verdicts: "list[Verdict]") -> str:
    endings = [verdict.ending for verdict in verdicts]
    seconds = sum(verdict.seconds for verdict in verdicts)
    counts = ", ".join(
        f"{endings.count(ending)} {ending}" for ending in dict.fromkeys(endings)
    )
    return f"{plural(len(verdicts), 'law')}: {counts}; {seconds:.1f} s"
