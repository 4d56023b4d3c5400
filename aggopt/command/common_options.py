"""The options and the environment variables of every command."""

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from aggopt.command import console
from aggopt.command.log import log
from aggopt.core.regular_files import resolve_path
from aggopt.errors import JobError

Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print nothing but errors; see the exit code.")
]
LogFile = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="Note each stage, and how it ends, in a new file of JSON lines.",
    ),
]
OPTIONS = {"quiet": (Quiet, False), "log_file": (LogFile, None)}


class Commands(typer.Typer):
    """Commands that take --quiet and --log, whatever else they take."""

    def command(
        self, name: str | None = None, *args: Any, **options: Any
    ) -> Callable[..., Any]:
        """Return a decorator that registers a function as a command of this name."""
        register = super().command(name, *args, **options)

        def wrap_and_register(function: Callable[..., Any]) -> Callable[..., Any]:
            register(_add_options(function, name or function.__name__))
            return function

        return wrap_and_register


def _join_paragraphs(text: str) -> str:
    """Return text with a line for each paragraph, which help wraps to its width.

    >>> _join_paragraphs("Mask  a table.")
    'Mask a table.'
    """
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _add_options(function: Callable[..., Any], command: str) -> Callable[..., Any]:
    """Return the function of a command with two more options."""

    @wraps(function)
    def run_command(
        *, quiet: bool = False, log_file: Path | None = None, **arguments: Any
    ) -> Any:
        if quiet and arguments.get("as_json"):
            raise JobError(
                "--quiet prints nothing, and --json one object: both are named.",
                fix="leave one of them out.",
            )
        if log_file is not None:
            _require_other(log_file, arguments)
            log.open(log_file, command)
        console.set_quiet(quiet)
        if not quiet:
            report_misspelt()
        return function(**arguments)

    signature = inspect.signature(function)
    added = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
        )
        for name, (kind, default) in OPTIONS.items()
    ]
    kinds = {name: kind for name, (kind, _) in OPTIONS.items()}
    run_command.__annotations__ = {**function.__annotations__, **kinds}
    parameters = [*signature.parameters.values(), *added]
    run_command.__doc__ = _join_paragraphs(inspect.getdoc(function) or "")
    run_command.__dict__["__signature__"] = signature.replace(parameters=parameters)
    return run_command


def _require_other(file: Path, arguments: dict[str, Any]) -> None:
    """Refuse a log in the place of another file that the command names."""
    if resolve_path(file) in {
        resolve_path(path) for path in _iter_paths(arguments.values())
    }:
        raise JobError(
            f"{file} is named twice: as the log, and for something else.",
            fix="name a file of its own: --log FILE.",
        )


def _iter_paths(values: Iterable[Any]) -> Iterator[Path]:
    for value in values:
        if isinstance(value, Path):
            yield value
        elif isinstance(value, list):
            yield from _iter_paths(value)


PREFIX = "AGGOPT_"
VARIABLES = {
    "AGGOPT_ACCEPT": "tests rewrite the files of messages that they compare",
    "AGGOPT_DATA": "the folder of the reference tables",
    "AGGOPT_REQUIRE_IPOPT": "tests of IPOPT fail without it",
    "AGGOPT_DDI_SCHEMA": "codebook.xsd of DDI 2.5: tests validate codebooks by it",
    "AGGOPT_SCRATCH": "the folder of a solver that runs in a process of its own",
}


def find_misspelt() -> Iterator[str]:
    """Yield a sentence for each variable that nothing reads, with the nearest one."""
    for name in sorted(os.environ):
        if name.upper().startswith(PREFIX) and name not in VARIABLES:
            near = get_close_matches(name.upper(), VARIABLES, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            yield (
                f"Note: nothing reads the variable {name}. {hint}"
                f"aggopt reads {', '.join(VARIABLES)}."
            )


def report_misspelt() -> None:
    """Print these sentences on standard error."""
    for sentence in find_misspelt():
        console.print_note(sentence)
