"""The command `experiment`: a grid in a file in, rows out."""

from pathlib import Path
from typing import Annotated

import typer

from aggopt.command import console
from aggopt.command.arguments import AsJson, Overwrite, Trust
from aggopt.command.causes import NO
from aggopt.command.interrupt import interrupts
from aggopt.core.plural import plural
from aggopt.errors import JobError

ENDINGS = (".csv", ".parquet")


Grid = Annotated[Path, typer.Argument(metavar="GRID", help="The grid, a TOML file.")]
Rows = Annotated[Path, typer.Option(help="Where to write: .csv or .parquet.")]
Jobs = Annotated[
    int | None,
    typer.Option(help="Processes, in place of GRID's; -1 means one per core."),
]


def experiment(
    grid: Grid,
    out: Rows,
    trust: Trust,
    jobs: Jobs = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Go through GRID and write a row for each cell and attribute to OUT.

    GRID says tables, roles, what to go through, seeds, time_limit, jobs and cache, as
    docs/experiments.md has them; paths are seen from it.  A cell that fails is a row
    that says why, and the exit code is then 1.  With a cache, cells that are done are
    kept if you interrupt: run it again to go on.
    """
    from aggopt.experiments._grid import GridFile
    from aggopt.experiments.experiment import experiment as found_in
    from aggopt.release.files.staging import check_places

    _require_ending(out)
    asked = GridFile.read(grid)
    inputs = (grid, *asked.tables.values())
    check_places(out, overwrite=overwrite, inputs=inputs)
    said = {**asked.said} if jobs is None else {**asked.said, "jobs": jobs}
    kept = said.get("cache")
    interrupts.outcome = (
        "name a cache in GRID to go on another time"
        if kept is None
        else f"cells that are done are kept in {kept}"
    )
    with console.progress(quiet=as_json) as report:
        found = found_in(
            dict(asked.tables), **said, on_error="row", trust=trust, progress=report
        )
        write = found.to_csv if out.suffix.lower() == ".csv" else found.to_parquet
        with interrupts.result(f"{out.name} is written"):
            write(out, overwrite=overwrite)
    failed = len(found.failures)
    if as_json:
        console.as_json({"file": str(out), "rows": len(found), "failed": failed})
    else:
        console.line(f"{found}\n{out}: {plural(len(found), 'row')}")
    if failed:
        raise typer.Exit(NO)


def _require_ending(out: Path) -> None:
    """Refuse a file that no rows are written to."""
    if out.suffix.lower() not in ENDINGS:
        raise JobError(
            f"{out.name} ends in neither {' nor '.join(ENDINGS)}.",
            fix="give it one of these endings.",
        )
