"""The command `experiment`: a grid in a file in, rows out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aggopt.command import console
from aggopt.command.arguments import AsJson, Overwrite, Trust
from aggopt.command.causes import NO
from aggopt.command.interrupt import interrupts
from aggopt.core.plural import plural
from aggopt.errors import JobError

if TYPE_CHECKING:
    from aggopt.experiments.experiment import Experiment

ENDINGS = (".csv", ".parquet")
NUMBERS = ("k", "seed", "objective", "gap", "linkage", "pil")


Grid = Annotated[Path, typer.Argument(metavar="GRID", help="The grid, a TOML file.")]
Rows = Annotated[Path, typer.Option(help="The file for the rows: .csv or .parquet.")]
GridJobs = Annotated[
    int | None,
    typer.Option(
        help="Number of processes; -1 is one per core. Default: that of GRID."
    ),
]


def experiment(
    grid: Grid,
    out: Rows,
    trust: Trust,
    jobs: GridJobs = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Run all cells of GRID, and write a row for each cell and attribute to OUT.

    GRID has tables, roles, settings, seeds, time_limit, jobs and cache, as in
    docs/experiments.md; paths are relative to GRID.  The row of a cell that fails has
    the reason, and the exit code is then 1.  With a cache, finished cells are kept if
    you interrupt: run the command again to continue.
    """
    from aggopt.experiments.experiment import experiment as run_experiment
    from aggopt.experiments.grid import GridFile
    from aggopt.release.files.staging import check_places

    _require_ending(out)
    grid_file = GridFile.read(grid)
    inputs = (grid, *grid_file.tables.values())
    check_places(out, overwrite=overwrite, inputs=inputs)
    settings = {**grid_file.said} if jobs is None else {**grid_file.said, "jobs": jobs}
    cache = settings.get("cache")
    interrupts.outcome = (
        "name a cache in GRID to go on another time"
        if cache is None
        else f"cells that are done are kept in {cache}"
    )
    with console.track_progress(quiet=as_json) as report:
        rows = run_experiment(
            dict(grid_file.tables),
            **settings,
            on_error="row",
            trust=trust,
            progress=report,
        )
        write = rows.to_csv if out.suffix.lower() == ".csv" else rows.to_parquet
        with interrupts.announce_result(f"{out.name} is written"):
            write(out, overwrite=overwrite)
    failed = len(rows.failures)
    if as_json:
        console.print_json({"file": str(out), "rows": len(rows), "failed": failed})
    else:
        _print_rows(rows)
        console.print_line(f"Rows: {out}, {plural(len(rows), 'row')}")
    if failed:
        raise typer.Exit(NO)


def _print_rows(found: "Experiment") -> None:
    """Print the first rows, and why cells failed, each reason once."""
    header, rows = found.first_rows
    cell = [name for name in header if name in found.cell_columns]
    shown = [name for name in header if name != "error"]
    named = [dict(zip(header, row, strict=True)) for row in rows]
    for row in named:
        if row.get("error"):
            row["status"] = "failed"
    console.print_line(found.verdict)
    console.print_table(
        shown,
        [[row.get(name, "") for name in shown] for row in named],
        title="The first rows" if len(found) > len(rows) else "All rows",
        right=[j for j, name in enumerate(shown) if name in NUMBERS],
        keys=len(cell) + ("attribute" in shown),
    )
    by_message: dict[str, list[str]] = {}
    for row in found.failures:
        of = ", ".join(f"{name} = {row[name]}" for name in cell)
        by_message.setdefault(str(row["message"]), []).append(f"({of})")
    for message, cells in by_message.items():
        console.print_line(f"{', '.join(cells)} failed: {message}")


def _require_ending(out: Path) -> None:
    """Refuse a file that no rows are written to."""
    if out.suffix.lower() not in ENDINGS:
        raise JobError(
            f"{out.name} ends in neither {' nor '.join(ENDINGS)}.",
            fix="give it one of these endings.",
        )
