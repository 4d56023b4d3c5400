"""The option --quiet, which every command takes."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from aggopt.command import console
from aggopt.command.environment import report_misspelt
from aggopt.errors import JobError

Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print nothing but errors; see the exit code.")
]


class Commands(typer.Typer):
    """Commands that take --quiet, whatever else they take."""

    def command(self, *args: Any, **given: Any) -> Callable[..., Any]:
        """Return what registers a function as a command, and returns it."""
        register = super().command(*args, **given)

        def registered(function: Callable[..., Any]) -> Callable[..., Any]:
            register(_hushed(function))
            return function

        return registered


def _in_paragraphs(text: str) -> str:
    """Return text with a line for each paragraph, for help to wrap as wide as it is.

    >>> _in_paragraphs("Mask  a table.")
    'Mask a table.'
    """
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _hushed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same with one option more."""

    @wraps(function)
    def run(*, quiet: bool = False, **given: Any) -> Any:
        if quiet and given.get("as_json"):
            raise JobError(
                "--quiet prints nothing, and --json one object: both are named.",
                fix="leave one of them out.",
            )
        console.hush(quiet)
        if not quiet:
            report_misspelt()
        return function(**given)

    own = inspect.signature(function)
    option = inspect.Parameter(
        "quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet
    )
    run.__annotations__ = {**function.__annotations__, "quiet": Quiet}
    parameters = [*own.parameters.values(), option]
    run.__doc__ = _in_paragraphs(inspect.getdoc(function) or "")
    run.__dict__["__signature__"] = own.replace(parameters=parameters)
    return run
