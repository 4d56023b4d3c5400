"""Check whether user code obeys the laws of its kind, and print the laws it breaks."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aggopt.checks.law import Verdict
from aggopt.command.console import print_line
from aggopt.core.plugins.loading import load_plugin, trust_files
from aggopt.core.plural import plural


@dataclass(frozen=True)
class CodeCheckResult:
    """The check of a file of code.

    Attributes
    ----------
    name, sha256
        The path as named, and the SHA-256 of the bytes that were run.
    verdicts
        How the trial of each thing in it by each law ended.
    """

    name: str
    sha256: str
    verdicts: tuple[Verdict, ...]

    @property
    def broken(self) -> int:
        """How many laws are broken."""
        return sum(verdict.ending == "broken" for verdict in self.verdicts)

    def group_by_thing(self) -> Iterator[tuple[str, list[Verdict]]]:
        """Yield the verdicts on each object, by its name."""
        for thing in dict.fromkeys(verdict.thing for verdict in self.verdicts):
            yield (
                thing,
                [verdict for verdict in self.verdicts if verdict.thing == thing],
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "code": self.name,
            "sha256": self.sha256,
            "broken": self.broken,
            "laws": [
                {
                    "thing": verdict.thing,
                    "law": verdict.law.name,
                    "says": verdict.law.says,
                    "ending": verdict.ending.value,
                    "why": verdict.why,
                    "seconds": round(verdict.seconds, 3),
                }
                for verdict in self.verdicts
            ],
        }


def check_code_file(name: str) -> CodeCheckResult:
    """Run `file.py` or `file.py:object`, and check it by the laws of its kind.

    A relative path is seen from the working directory: the caller named the file, and
    no job did.

    Raises
    ------
    JobError
        The file cannot be read, or fails; or nothing in it is what laws are of.
    UnknownNameError
        It has no such object.
    """
    from aggopt.checks import report

    file = name[: name.rindex(".py") + 3]
    with trust_files([file]):
        thing, origin = load_plugin("models", name, beside=Path.cwd())
        verdicts = tuple(report(thing))
    return CodeCheckResult(origin.name, str(origin.sha256), verdicts)


def print_laws(result: CodeCheckResult) -> None:
    """Print a line for each law, and how many were kept."""
    print_line("\n".join(_format_laws(result)))


def _format_laws(result: CodeCheckResult) -> Iterator[str]:
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


def _format_law(verdict: Verdict) -> str:
    line = f"  {verdict.ending:<10}{verdict.law.name}"
    if verdict.ending == "broken":
        line += f"\n      {verdict.law.says}\n      Seen: {verdict.why}"
    elif verdict.why:
        line += f": {verdict.why}"
    return line


def _count_endings(verdicts: list[Verdict]) -> str:
    endings = [verdict.ending for verdict in verdicts]
    seconds = sum(verdict.seconds for verdict in verdicts)
    counts = ", ".join(
        f"{endings.count(ending)} {ending}" for ending in dict.fromkeys(endings)
    )
    return f"{plural(len(verdicts), 'law')}: {counts}; {seconds:.1f} s"
