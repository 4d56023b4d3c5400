"""The command `app`: the local page."""

from pathlib import Path
from typing import Annotated

import typer

from aggopt.command import console
from aggopt.command.arguments import FILES, require_in_memory, require_no_table
from aggopt.command.interrupt import interrupts
from aggopt.errors import ResourceError

EXTRA = ("starlette", "uvicorn")


def run_page_command(
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="TABLE", help=f"A {FILES} file.", callback=require_in_memory
        ),
    ] = None,
    job: Annotated[
        Path | None,
        typer.Argument(
            metavar="JOB", help="The job, a TOML file.", callback=require_no_table
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(help="The first port to try.", min=1024, max=65000)
    ] = 8765,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser.")
    ] = True,
) -> None:
    """Open a page in the browser of this machine that leads from a table to a release.

    The page reads and writes below the current folder only, and nobody else can open
    it.  It shows the job and the command that make the same release without it.  It
    ends by Ctrl-C, by its button Quit, or after 60 minutes without a request.
    """
    try:
        from aggopt.app.start import run_page
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        raise ResourceError(
            f"The page needs {error.name}, which is not installed.",
            fix="pip install 'aggopt[app]'",
        ) from None
    interrupts.outcome = "the page has ended"
    run_page(
        table,
        job,
        console.print_line,
        console.print_command,
        port=port,
        opens_browser=browser,
    )
